package hub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// ChainHead is where a message's history ends: the number of events and the
// hash of the last.
type ChainHead struct {
	Seq  int64
	Hash [sha256.Size]byte
}

// Event is one line of a message's history. Events chain by hash over salted
// hashes of their content, so that content and salt can be erased later while
// the chain still verifies.
type Event struct {
	MessageID   string
	Seq         int64 // 1 for the first
	At          time.Time
	Kind        string // "submitted", "posted", "answered", …
	Content     []byte // JSON; nil once erased
	Salt        []byte // 16 random bytes; nil once erased
	ContentHash [sha256.Size]byte
	Hash        [sha256.Size]byte
}

// NewEvent appends to the chain that ends at head and returns the event and the
// new head. Content is marshalled to JSON.
func NewEvent(head ChainHead, messageID, kind string, at time.Time, content any) (Event, ChainHead, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return Event{}, head, fmt.Errorf("event %s of %s: %w", kind, messageID, err)
	}
	e := Event{
		MessageID: messageID, Seq: head.Seq + 1, At: at.UTC().Truncate(time.Millisecond),
		Kind: kind, Content: body, Salt: make([]byte, 16),
	}
	rand.Read(e.Salt)
	e.ContentHash = contentHash(e.Salt, body)
	e.Hash = e.chain(head.Hash)
	return e, ChainHead{Seq: e.Seq, Hash: e.Hash}, nil
}

// chain hashes what can never be erased: the predecessor, the place, the time,
// the kind and the hash of the content. Each part has a fixed width or its
// length in front.
func (e *Event) chain(prev [sha256.Size]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write([]byte("beckon event 1\n"))
	h.Write(prev[:])
	var n [8]byte
	for _, s := range []string{e.MessageID, e.Kind} {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, v := range []int64{e.Seq, e.At.UnixMilli()} {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	h.Write(e.ContentHash[:])
	h.Sum(sum[:0])
	return sum
}

func contentHash(salt, content []byte) (sum [sha256.Size]byte) {
	m := hmac.New(sha256.New, salt)
	m.Write(content)
	m.Sum(sum[:0])
	return sum
}

// VerifyChain checks a message's whole history against its head. Erased
// content is skipped; its hash still counts.
func VerifyChain(events []Event, head ChainHead) error {
	var prev [sha256.Size]byte
	for i := range events {
		e := &events[i]
		if e.Seq != int64(i+1) {
			return fmt.Errorf("event %d of %s: is number %d", i+1, e.MessageID, e.Seq)
		}
		if e.Salt != nil && contentHash(e.Salt, e.Content) != e.ContentHash {
			return fmt.Errorf("event %d of %s: content was changed", e.Seq, e.MessageID)
		}
		if e.chain(prev) != e.Hash {
			return fmt.Errorf("event %d of %s: chain is broken", e.Seq, e.MessageID)
		}
		prev = e.Hash
	}
	if head.Seq != int64(len(events)) || head.Hash != prev {
		return fmt.Errorf("history has %d events, head says %d, or another last hash", len(events), head.Seq)
	}
	return nil
}
