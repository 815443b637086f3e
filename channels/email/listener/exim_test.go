package listener_test

import (
	"context"
	"errors"
	"fmt"
	"net/smtp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"beckon/channels/email/listener"
	"beckon/channels/email/mailtest"
)

// A real mail server hands on mail for us, by TCP and by a socket, and keeps
// what we can't take until we can.
func TestExim(t *testing.T) {
	t.Parallel()
	for name, conf := range map[string]listener.Config{
		"tcp":    {},
		"socket": {Addr: filepath.Join(short(t), "lmtp"), SocketMode: 0o666},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
			h := new(hub)
			r := run(t, conf, h)
			e := mailtest.StartExim(t, mailtest.EximOptions{LMTP: d.LMTPAddr, Other: r.addr, OtherUsers: []string{"hub"}})
			send := func(from, subject string, to ...string) {
				t.Helper()
				if err := smtp.SendMail(e.Addr, nil, from, to, mailtest.Text("Approve\n.\n..", "Subject: "+subject)); err != nil {
					t.Fatalf("%s: %v", subject, err)
				}
			}

			send("alice@example.test", "one", "hub+q.token@example.test")
			got := h.wait(t, 1)[0]
			if got.From != "alice@example.test" || !slices.Equal(got.To, []string{"hub+q.token@example.test"}) ||
				!strings.HasSuffix(string(got.Raw), "Subject: one\r\n\r\nApprove\r\n.\r\n..\r\n") {
				t.Errorf("the mail: %+v\n%s", got, got.Raw)
			}

			// Two of ours and one of somebody else's in one mail.
			send("alice@example.test", "two", "hub@example.test", "hub+c.x@example.test", "bob@example.test")
			to := h.wait(t, 2)[1].To
			slices.Sort(to)
			if !slices.Equal(to, []string{"hub+c.x@example.test", "hub@example.test"}) {
				t.Errorf("the recipients: %q", to)
			}

			// It fails twice, then it goes.
			failures := 0
			h.mu.Lock()
			h.handle = func(context.Context, listener.Mail) error {
				h.mu.Lock()
				defer h.mu.Unlock()
				if failures++; failures <= 2 {
					return errors.New("the database is away")
				}
				return nil
			}
			h.mu.Unlock()
			send("alice@example.test", "three", "hub@example.test")
			h.wait(t, 3)

			// The hub is away, and comes back.
			h.mu.Lock()
			h.handle = nil
			h.mu.Unlock()
			r.stop()
			send("alice@example.test", "four", "hub@example.test")
			conf := conf
			conf.Addr = r.addr
			run(t, conf, h)
			h.wait(t, 4)

			// What we refuse comes back to its sender as a bounce, and a bounce to us
			// is taken.
			h.mu.Lock()
			h.accept = func(rcpt string) (bool, error) { return strings.HasPrefix(rcpt, "hub+b.7@"), nil }
			h.mu.Unlock()
			send("bob@example.test", "five", "hub+q.unknown@example.test")
			err := mailtest.Eventually(func() error {
				for _, m := range d.Mails("bob", "INBOX") {
					if strings.Contains(string(m.Raw), "no such address here") && strings.Contains(string(m.Raw), "multipart/report") {
						return nil
					}
				}
				return fmt.Errorf("bob has no bounce\n%s", e.Log())
			})
			if err != nil {
				t.Error(err)
			}
			send("hub+b.7@example.test", "six", "nosuchuser@example.test")
			bounce := h.wait(t, 5)[4]
			if bounce.From != "" || !slices.Equal(bounce.To, []string{"hub+b.7@example.test"}) ||
				!strings.HasPrefix(string(bounce.Raw), "Return-Path: <>\r\n") || !strings.Contains(string(bounce.Raw), "Action: failed") {
				t.Errorf("the bounce: %+v\n%s", bounce, bounce.Raw)
			}
		})
	}
}
