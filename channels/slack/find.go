package slack

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"sync"
	"time"

	"beckon/hub"
)

// eventType names the metadata of the hub's messages. Whoever is in the
// workspace may read metadata, so it holds names only
// (https://docs.slack.dev/messaging/message-metadata).
const eventType = "beckon_delivery"

// How far back a copy is looked for.
const (
	findPage  = 100
	findPages = 20
	findEarly = 10 * time.Second // what the clocks may differ by
)

// key names one copy towards Slack, the same at every attempt.
type key struct {
	delivery   string
	generation int
}

func keyOf(delivery string, generation int) key {
	return key{delivery: delivery, generation: generation}
}

// uuid is the client_msg_id: a UUID of version 5 (RFC 9562, 5.5) over the key. That
// Slack drops a second message with the same one is not documented, though its
// errors say so; nothing here relies on it alone.
func (k key) uuid() string {
	h := sha1.New() // a name, not a secret
	h.Write([]byte("beckon slack delivery\n" + k.delivery + "\n" + strconv.Itoa(k.generation)))
	b := h.Sum(nil)[:16]
	b[6] = b[6]&0x0f | 0x50
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

type metadata struct {
	Type    string `json:"event_type"`
	Payload struct {
		Delivery   string `json:"delivery"`
		Generation int    `json:"generation"`
	} `json:"event_payload"`
}

func (k key) metadata() string {
	var m metadata
	m.Type, m.Payload.Delivery, m.Payload.Generation = eventType, k.delivery, k.generation
	b, err := json.Marshal(m)
	if err != nil {
		return "" // can't happen: two strings and a number
	}
	return string(b)
}

// standing is a message of a conversation's history.
type standing struct {
	TS          string          `json:"ts"`
	Thread      string          `json:"thread_ts"`
	Bot         string          `json:"bot_id"`
	ClientMsgID string          `json:"client_msg_id"`
	Metadata    json.RawMessage `json:"metadata"` // others' may have any shape
}

func (s *standing) is(k key, bot string) bool {
	if s.Bot == "" || s.Bot != bot {
		return false // anybody may put our name into metadata
	}
	if s.ClientMsgID == k.uuid() {
		return true
	}
	var m metadata
	return json.Unmarshal(s.Metadata, &m) == nil && m.Type == eventType &&
		m.Payload.Delivery == k.delivery && m.Payload.Generation == k.generation
}

// doubts are the deliveries that Slack limited. Such a message was seen to
// arrive all the same (https://github.com/Yelp/elastalert/issues/1345), so the
// next attempt looks first. A restart forgets them: Slack documents no such
// thing.
type doubts struct {
	mu  sync.Mutex
	ids map[string]bool
}

const maxDoubts = 1000

func (d *doubts) add(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids == nil || len(d.ids) >= maxDoubts {
		d.ids = map[string]bool{}
	}
	d.ids[id] = true
}

// take reports whether a delivery is in doubt, and forgets it.
func (d *doubts) take(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.ids[id]
	delete(d.ids, id)
	return was
}

// look finds the copy that an earlier attempt may have left; nil when there is
// none, or when the app may not read there. Then only the client_msg_id keeps a
// second copy away, and somebody reached twice is better than nobody.
func (c *Channel) look(ctx context.Context, m *outgoing) (*hub.Posted, error) {
	if m.place.id == "" {
		c.log.Warn("an earlier attempt may have posted, and the channel's id is not known to look; posting again",
			"delivery", m.key.delivery)
		return nil, nil
	}
	me, err := c.api.whoami(ctx)
	if err != nil {
		return nil, err
	}
	method, args := "conversations.history", url.Values{}
	if m.thread != "" {
		method = "conversations.replies"
		args.Set("ts", m.thread)
	}
	args.Set("channel", m.place.id)
	args.Set("oldest", strconv.FormatInt(m.since.Add(-findEarly).Unix(), 10)+".000000")
	args.Set("include_all_metadata", "true")
	args.Set("limit", itoa(findPage))
	for range findPages {
		var out struct {
			Messages []standing `json:"messages"`
			Metadata struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err := c.api.call(ctx, method, args, &out)
		if slackSaid(err, "missing_scope", "not_in_channel", "channel_not_found", "thread_not_found", "not_allowed_token_type", "access_denied") {
			c.log.Warn("an earlier attempt may have posted, and the app can't look; posting again", "delivery", m.key.delivery, "err", err)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range out.Messages {
			if s := &out.Messages[i]; s.is(m.key, me.Bot) {
				return &hub.Posted{Ref: m.place.id + "/" + s.TS, Thread: orWord(s.Thread, s.TS)}, nil
			}
		}
		if out.Metadata.Next == "" {
			return nil, nil
		}
		args.Set("cursor", out.Metadata.Next)
	}
	c.log.Warn("an earlier attempt may have posted, and there is too much to look through; posting again", "delivery", m.key.delivery)
	return nil, nil
}
