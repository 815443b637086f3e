package fakemail

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// session is one client's connection to the mail server of everybody.
type session struct {
	s    *Server
	from string
	utf8 bool
	to   []string
}

var _ smtp.AuthSession = (*session)(nil)

// AuthMechanisms offers a login, for clients that insist; any is right.
func (c *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, _ string) error { return nil }), nil
}

func (c *session) Mail(from string, o *smtp.MailOptions) error {
	c.from, c.utf8 = from, o != nil && o.UTF8
	return nil
}

func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = append(c.to, to)
	return nil
}

// Data keeps a copy for each recipient, and hands on what is the hub's.
func (c *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read the mail: %w", err)
	}
	at := time.Now()
	var hub []string
	for _, to := range c.to {
		if host := c.s.opts.HubHost; host != "" && strings.EqualFold(hostOf(to), host) {
			hub = append(hub, to)
			continue
		}
		m := parse(bytes.Clone(raw), c.utf8)
		m.EnvelopeFrom, m.EnvelopeTo, m.At = c.from, to, at
		c.s.keep(to, m)
	}
	if len(hub) == 0 {
		return nil
	}
	if _, err := c.s.handHub(c.s.ctx, c.from, hub, c.s.stamped(raw, c.from, c.from, at)); err != nil {
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 4, 0}, Message: oneLine(err.Error())}
	}
	return nil
}

func (c *session) Reset() { c.from, c.utf8, c.to = "", false, nil }

func (c *session) Logout() error { return nil }
