package email

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"beckon/hub"
)

// asked is what a check finds, a line each.
func asked(w *world, live bool) string {
	w.ch.checks = nil // sending alone
	var s []string
	for _, f := range w.ch.Check(w.t.Context(), live) {
		line := "ok " + f.What
		if !f.OK {
			line = "NO " + f.What + ": " + f.Msg
			if f.Msg == "" {
				w.t.Errorf("%s says not what to do", f.What)
			}
		}
		s = append(s, line)
	}
	return strings.Join(s, "\n")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		o      peerOptions
		change func(*world)
		live   bool
		want   []string
		mails  int
	}{
		"all is well": {o: peerOptions{tls: tlsStart}, want: []string{"ok SMTP login at", "TLS by STARTTLS", "ok answers come to addresses such as hub+qxxxxxxxxxxxxxxxxxxxx@example.com"}},
		"live":        {o: peerOptions{tls: tlsWhole}, live: true, want: []string{"ok SMTP login", "ok a mail from hub@example.com to itself, sent"}, mails: 1},
		"live, received": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.ch.awaitSelf = func(_ context.Context, id string) error {
				if got := parsed(w.t, w.peer.only().raw).Header.Get("Message-Id"); got != "<"+id+">" {
					return errors.New("another mail: " + got)
				}
				return nil
			}
		}, want: []string{"sent and received"}, mails: 1},
		"live, lost": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.ch.awaitSelf = func(context.Context, string) error { return errors.New("nothing came") }
		}, want: []string{"NO a mail from hub@example.com to itself: it was sent and did not arrive", "Junk"}, mails: 1},
		"live, refused": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.peer.onMail = func(string) error { return refuse(553, 5, 7, 1, "not yours") }
		}, want: []string{"NO a mail from hub@example.com to itself", "look at from"}},
		"wrong password":    {o: peerOptions{tls: tlsNone}, change: func(w *world) { w.peer.secret = "x" }, want: []string{"NO SMTP login", "smtp.password"}},
		"unreachable":       {o: peerOptions{tls: tlsNone}, change: func(w *world) { _ = w.peer.ln.Close() }, want: []string{"ok SMTP login", "not tested"}},
		"unreachable, live": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) { _ = w.peer.ln.Close() }, want: []string{"NO SMTP login", "can't be reached"}},
		"a bad address": {o: peerOptions{tls: tlsNone}, change: func(w *world) {
			w.desk.Directory().People["bob"].Email = "nonsense"
		}, want: []string{"NO mail to Bob Roy", "no address"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, nil, tt.o)
			secret := w.peer.secret
			if tt.change != nil {
				tt.change(w)
			}
			got := asked(w, tt.live)
			for _, s := range tt.want {
				if !strings.Contains(got, s) {
					t.Errorf("want %q in\n%s", s, got)
				}
			}
			if strings.Contains(got, secret) {
				t.Error("it shows the password")
			}
			if n := len(w.peer.got()); n != tt.mails {
				t.Errorf("%d mails went out, want %d", n, tt.mails)
			}
			for _, m := range w.peer.got() {
				if m.to != "hub@example.com" {
					t.Errorf("a mail went to %s", m.to)
				}
			}
		})
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	card := ask(func(c *hub.Card) { c.Reader, c.MayAnswer, c.Title = nil, false, "Größer? 語" })
	kind, body, err := w.ch.Preview(card)
	if err != nil || kind != "message/rfc822" {
		t.Fatalf("a preview of kind %q: %v", kind, err)
	}
	if n := len(w.peer.got()); n != 0 {
		t.Errorf("%d mails went out", n)
	}
	plain, rich := parts(t, body)
	if !strings.Contains(plain, "To answer, reply to this mail with 1, 2 or 3") || !strings.Contains(rich, "mailto:") {
		t.Errorf("it is not what somebody gets who may answer:\n%s", plain)
	}
	if !bytes.Contains(body, []byte("Größer? 語")) {
		t.Error("it can't be read as it stands")
	}
	if card.MayAnswer || card.Reader != nil {
		t.Error("the card was changed")
	}
	// Its token answers nothing.
	addr := strings.Trim(parsed(t, body).Header.Get("Reply-To"), "<>")
	if m, _, _, err := w.ch.findAddress(t.Context(), addr); m != nil || err != nil {
		t.Errorf("the token of a preview leads to %+v: %v", m, err)
	}
}
