package email

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"

	"beckon/channels/email/inbound"
	"beckon/channels/email/listener"
)

// listen makes the part that a mail server hands answers to.
func (c *Channel) listen() error {
	conf := c.conf.Listen
	if conf == nil {
		return nil
	}
	lc := listener.Config{Addr: strings.TrimPrefix(conf.Address, "unix:"), Protocol: listener.Protocol(conf.Protocol)}
	var before once
	l, err := listener.New(lc, listener.Hooks{
		Accept: c.accepts,
		Handle: func(ctx context.Context, m listener.Mail) error {
			_, err := c.receive(ctx, arrival{
				raw: m.Raw, envelope: inbound.Envelope{Known: true, From: m.From, To: m.To}, last: !before.first(m.Raw),
			})
			return err
		},
		Log: c.log,
	})
	if err != nil {
		return err
	}
	c.listener = l
	c.parts = append(c.parts, l.Run)
	return nil
}

// accepts reports whether mail for an address is ours: a token that is known,
// whatever became of its message, an address for bounces, or From itself.
func (c *Channel) accepts(ctx context.Context, addr string) (bool, error) {
	folded, err := foldAddress(addr)
	if err == nil && (folded == c.own.address() || folded == c.own.local+"@"+c.own.reply) {
		return true, nil
	}
	m, _, _, err := c.findAddress(ctx, addr)
	if err != nil {
		return false, errors.Join(errLookUp, err)
	}
	return m != nil, nil
}

// once remembers mails that came lately, by their bytes: a mail server that is
// told to come again sends the same. The zero once has seen none.
type once struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool
}

// maxOnce bounds it. When it is full it forgets everything, and a mail is told to
// come again once more than needed.
const maxOnce = 1000

func (o *once) first(raw []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := sha256.Sum256(raw)
	if o.seen[sum] {
		return false
	}
	if o.seen == nil || len(o.seen) >= maxOnce {
		o.seen = make(map[[sha256.Size]byte]bool)
	}
	o.seen[sum] = true
	return true
}

// Alive says when the hub last had proof that it hears of answers, and what is
// wrong now.
func (c *Channel) Alive() (last time.Time, problem string) {
	if c.listener != nil {
		last, problem = c.listener.Alive()
	}
	if c.mailbox == nil {
		return last, problem
	}
	read, trouble := c.mailbox.Alive()
	if c.listener == nil || read.Before(last) {
		last = read
	}
	switch {
	case problem == "":
		problem = trouble
	case trouble != "":
		problem += "; " + trouble
	}
	return last, problem
}
