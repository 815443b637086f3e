package email

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// sentMail is what is known of a mail by its token, its envelope, its Message-ID or
// its tag. It goes when the message is purged.
type sentMail struct {
	Message    string `json:"m"`
	Person     string `json:"p"`
	Generation int    `json:"g,omitempty"`
	// Ref is the Message-ID of the mail, and Root that of the first mail of its
	// thread, which is the posting's Ref. Neither is there for a tag or a token.
	Ref   string `json:"r,omitempty"`
	Root  string `json:"o,omitempty"`
	State string `json:"s,omitempty"` // of a Message-ID: see the states
}

// The states of a mail; "" is one that did not go out.
const (
	stateBegun = "begun" // the server may have it
	stateSent  = "sent"  // the server has it
)

// Kinds of key in the hub's state. Secrets are kept as hashes, so that whoever
// reads the database can answer nothing.
const (
	keyReply = "q/" // hash of a reply token
	keyVERP  = "b/" // hash of a VERP token
	keyID    = "i/" // hash of a Message-ID, ours or a relay's alias of it
	keyTag   = "t/" // tag of a subject
)

func hashed(kind, secret string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(secret)))
	return kind + base64.RawURLEncoding.EncodeToString(sum[:])
}

// row reads one row; nil when there is none.
func (c *Channel) row(ctx context.Context, key string) (*sentMail, error) {
	value, err := c.desk.State().GetState(ctx, Name, key)
	if err != nil {
		return nil, fmt.Errorf("email: look up: %w", err)
	}
	var m sentMail
	if value == "" || json.Unmarshal([]byte(value), &m) != nil {
		return nil, nil
	}
	return &m, nil
}

func (c *Channel) putRow(ctx context.Context, key string, m *sentMail) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("email: note what is sent: %w", err)
	}
	if err := c.desk.State().PutStateFor(ctx, m.Message, Name, key, string(b)); err != nil {
		return fmt.Errorf("email: note what is sent: %w", err)
	}
	return nil
}

// findAddress finds what an address of ours was made for, by its token. Nil: none
// is known; ours then tells whether it has the shape of one of ours. kind is
// [tokenReply] or [tokenVERP].
func (c *Channel) findAddress(ctx context.Context, addr string) (m *sentMail, kind rune, ours bool, err error) {
	kind, token, ours := c.parseAddress(addr)
	if token == "" {
		return nil, 0, ours, nil
	}
	key := keyReply
	if kind == tokenVERP {
		key = keyVERP
	}
	m, err = c.row(ctx, hashed(key, token))
	return m, kind, ours || m != nil, err
}

// findMessageID finds the mail by its Message-ID, without < and >, or by the one
// that a relay gave it. Nil: none is known; ours then tells whether it has the shape
// of one of ours.
func (c *Channel) findMessageID(ctx context.Context, id string) (m *sentMail, ours bool, err error) {
	folded, ours := c.parseMessageID(id)
	if folded == "" {
		return nil, false, nil
	}
	m, err = c.row(ctx, hashed(keyID, folded))
	if m != nil && m.State == "" {
		m = nil // it never went out
	}
	return m, ours || m != nil, err
}

// findTag finds the thread of a tag such as "Q-7F3K2M", nil for none.
func (c *Channel) findTag(ctx context.Context, tag string) (*sentMail, error) {
	tag = strings.ToUpper(strings.Trim(tag, "[] \t"))
	if !strings.HasPrefix(tag, "Q-") || len(tag) > 16 {
		return nil, nil
	}
	return c.row(ctx, keyTag+tag)
}

// tagOf returns the tag of a person's thread, and takes it when nobody has it.
func (c *Channel) tagOf(ctx context.Context, messageID, person string, generation int) (string, error) {
	tags := c.tags(messageID, person)
	for _, tag := range tags {
		m, err := c.row(ctx, keyTag+tag)
		if err != nil {
			return "", err
		}
		if m != nil && (m.Message != messageID || m.Person != person) {
			continue // somebody else's
		}
		if m != nil && m.Generation == generation {
			return tag, nil
		}
		return tag, c.putRow(ctx, keyTag+tag, &sentMail{Message: messageID, Person: person, Generation: generation})
	}
	return tags[len(tags)-1], nil // it leads to somebody else's thread; the token still leads here
}

// noteMail writes down what leads from an answer or a bounce to a mail that is
// about to go out.
func (c *Channel) noteMail(ctx context.Context, m *sentMail, token string) error {
	if c.own.plus == "" {
		return nil // no address of ours has a token
	}
	key := hashed(keyReply, token)
	known, err := c.row(ctx, key)
	if err != nil {
		return err
	}
	if known == nil {
		if err := c.putRow(ctx, key, &sentMail{Message: m.Message, Person: m.Person, Generation: m.Generation}); err != nil {
			return err
		}
	}
	return c.putRow(ctx, hashed(keyVERP, c.verpToken(m.Ref)), &sentMail{
		Message: m.Message, Person: m.Person, Generation: m.Generation, Ref: m.Ref, Root: m.Root,
	})
}

// noteState writes down how far a mail is.
func (c *Channel) noteState(ctx context.Context, m *sentMail, state string) error {
	m.State = state
	return c.putRow(ctx, hashed(keyID, m.Ref), m)
}
