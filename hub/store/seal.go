package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"beckon/hub"
)

// head is where a message's history stood when it was sealed. It stays in the
// seal when the message is purged.
type head struct {
	messageID string
	seq       int64
	hash      []byte
}

func scanHead(r scanner) (h head, err error) {
	err = r.Scan(&h.messageID, &h.seq, &h.hash)
	return h, err
}

// MarshalJSON writes [id, seq, hash].
func (h head) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]any{h.messageID, h.seq, hex.EncodeToString(h.hash)})
}

// UnmarshalJSON reads [id, seq, hash].
func (h *head) UnmarshalJSON(b []byte) (err error) {
	var digest string
	if err := json.Unmarshal(b, &[]any{&h.messageID, &h.seq, &digest}); err != nil {
		return err
	}
	h.hash, err = hex.DecodeString(digest)
	return err
}

// sealHash chains a batch of heads to the seal before. Each part has a fixed
// width or its length in front.
func sealHash(prev []byte, at int64, heads []head) []byte {
	h := sha256.New()
	h.Write([]byte("beckon seal 1\n"))
	number := func(n int64) { h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	part := func(b []byte) {
		number(int64(len(b)))
		h.Write(b)
	}
	part(prev)
	number(at)
	number(int64(len(heads)))
	for _, x := range heads {
		part([]byte(x.messageID))
		number(x.seq)
		part(x.hash)
	}
	return h.Sum(nil)
}

const (
	sqlUnsealed = `SELECT id, head_seq, head_hash FROM message WHERE sealed_seq < head_seq ORDER BY id LIMIT $1`
	sqlLastSeal = `SELECT n, hash FROM seal ORDER BY n DESC LIMIT 1`
	sqlSealed   = `UPDATE message SET sealed_seq = $2 WHERE id = $1`
	sqlAddSeal  = `INSERT INTO seal (n, at, hash, heads) VALUES ($1, $2, $3, $4)`
)

// Seal takes the heads of up to limit messages whose history grew since they
// were sealed last, and appends one row to the hub chain. It returns how many
// heads it took; with none, it adds no row.
func (s *Store) Seal(ctx context.Context, now time.Time, limit int) (int, error) {
	n := 0
	err := s.do(ctx, "seal", func(t *tx) error {
		var heads []head
		if err := t.query(collect(&heads, scanHead), sqlUnsealed, limit); err != nil {
			return err
		}
		if len(heads) == 0 {
			return nil
		}
		var last int64
		var prev []byte
		if err := t.get(sqlLastSeal, nil, &last, &prev); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		text, err := json.Marshal(heads)
		if err != nil {
			return err
		}
		at := ms(now)
		if _, err := t.exec(sqlAddSeal, last+1, at, sealHash(prev, at, heads), string(text)); err != nil {
			return err
		}
		for _, h := range heads {
			if _, err := t.exec(sqlSealed, h.messageID, h.seq); err != nil {
				return err
			}
		}
		n = len(heads)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// seal is one row of the hub chain.
type seal struct {
	n, at int64
	hash  []byte
	heads []head
}

func scanSeal(r scanner) (x seal, err error) {
	var text []byte
	if err := r.Scan(&x.n, &x.at, &x.hash, &text); err != nil {
		return x, err
	}
	if err := json.Unmarshal(text, &x.heads); err != nil {
		return x, fmt.Errorf("seal %d: heads: %w", x.n, err)
	}
	return x, nil
}

// VerifySeals checks the whole hub chain, and that every sealed head is still
// the event of that number of its message. Heads of purged messages stand in
// the chain only. It reads a row for every head ever sealed.
func (s *Store) VerifySeals(ctx context.Context) error {
	var prev []byte
	for n := int64(1); ; n++ {
		// One seal at a time: a page of them may be large.
		page, err := all(ctx, s, scanSeal, `SELECT n, at, hash, heads FROM seal WHERE n >= $1 ORDER BY n LIMIT 1`, n)
		if err != nil {
			return fmt.Errorf("verify seals: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		if err := s.verifySeal(ctx, page[0], n, prev); err != nil {
			return fmt.Errorf("verify seals: seal %d: %w", n, err)
		}
		prev = page[0].hash
	}
}

func (s *Store) verifySeal(ctx context.Context, x seal, n int64, prev []byte) error {
	if x.n != n {
		return fmt.Errorf("missing, the next one is %d", x.n)
	}
	if string(sealHash(prev, x.at, x.heads)) != string(x.hash) {
		return errors.New("chain is broken")
	}
	for _, h := range x.heads {
		var hash []byte
		err := s.get(ctx, `SELECT hash FROM event WHERE message_id = $1 AND seq = $2`, []any{h.messageID, h.seq}, &hash)
		if errors.Is(err, hub.ErrNotFound) {
			err = s.purged(ctx, h.messageID)
		} else if err == nil && string(hash) != string(h.hash) {
			err = errors.New("is another than the sealed one")
		}
		if err != nil {
			return fmt.Errorf("event %d of %s: %w", h.seq, h.messageID, err)
		}
	}
	return nil
}

// purged returns an error if the message is still there, though its event is
// not.
func (s *Store) purged(ctx context.Context, id string) error {
	err := s.get(ctx, `SELECT id FROM message WHERE id = $1`, []any{id}, new(string))
	switch {
	case err == nil:
		return errors.New("is missing")
	case errors.Is(err, hub.ErrNotFound):
		return nil
	}
	return err
}

// Erase takes content and salt away from a message's history, for good. The
// chain still verifies. What came in about it goes as well. It leaves the message
// itself.
func (s *Store) Erase(ctx context.Context, messageID string) error {
	return s.do(ctx, "erase", func(t *tx) error {
		n, err := t.exec(`UPDATE event SET content = NULL, salt = NULL WHERE message_id = $1`, messageID)
		if err == nil && n == 0 {
			err = fmt.Errorf("events of %s: %w", messageID, hub.ErrNotFound)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM inbound WHERE message_id = $1`, messageID)
		}
		return err
	})
}
