package email

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"beckon/hub"
)

// found writes findings as an operator reads them, a line each. Each must say what
// was seen or what to do.
func found(t *testing.T, findings []hub.Finding) string {
	t.Helper()
	var s []string
	for _, f := range findings {
		word := "ok"
		if !f.OK {
			word = "NO"
		}
		if f.Msg == "" {
			t.Errorf("%s %s says nothing", word, f.What)
		}
		s = append(s, word+" "+f.What+": "+f.Msg)
	}
	return strings.Join(s, "\n")
}

// asked is what a check of sending alone finds.
func asked(w *world, live bool) string {
	w.ch.checks, w.ch.conf.IMAP = nil, nil
	return found(w.t, w.ch.Check(w.t.Context(), live))
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
		"all is well": {o: peerOptions{tls: tlsStart}, want: []string{"ok SMTP login at", "as hub@example.com, TLS by STARTTLS", "ok answers: come to addresses such as hub+qxxxxxxxxxxxxxxxxxxxx@example.com"}},
		"live, received": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.ch.awaitSelf = func(_ context.Context, id string) error {
				if got := parsed(w.t, w.peer.only().raw).Header.Get("Message-Id"); got != "<"+id+">" {
					return errors.New("another mail: " + got)
				}
				return nil
			}
		}, want: []string{"ok SMTP login", "ok a mail from hub@example.com to hub+q", "sent and received"}, mails: 1},
		"live, lost": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.ch.awaitSelf = func(context.Context, string) error { return context.DeadlineExceeded }
		}, want: []string{"NO a mail from hub@example.com to hub+q", "it was sent and did not arrive within 1 s", "a filter", "plus: off"}, mails: 1},
		"live, unseen": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.ch.awaitSelf = func(context.Context, string) error { return errors.New("the mailbox is closed") }
		}, want: []string{"it was sent, and whether it arrived can't be seen: the mailbox is closed"}, mails: 1},
		"live, refused": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.peer.fault(func(p *peer) { p.onMail = func(string) error { return refuse(553, 5, 7, 1, "not yours") } })
		}, want: []string{"NO a mail from hub@example.com to hub+q", "lets the hub send nothing with the envelope address hub+b…, to which bounces come (553 not yours); have it let the hub send as that, or set plus to off"}},
		"live, refused at the end": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.peer.fault(func(p *peer) {
				p.onData = func(net.Conn, []byte) error {
					return refuse(554, 5, 2, 252, "SendAsDenied; hub@example.com not allowed to send as hub+b")
				}
			})
		}, want: []string{"lets the hub send nothing with the envelope address hub+b…"}},
		"live, refused for another reason": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.peer.fault(func(p *peer) {
				p.onData = func(net.Conn, []byte) error { return refuse(554, 5, 7, 1, "looks like spam") }
			})
		}, want: []string{"NO a mail from hub@example.com to hub+q", "the mail is refused: 554 5.7.1 looks like spam"}},
		"live, no sender without plus": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.ch.own.plus = ""
			w.peer.fault(func(p *peer) { p.onMail = func(string) error { return refuse(553, 5, 7, 1, "not yours") } })
		}, want: []string{"takes no mail from hub@example.com (553 5.7.1 not yours); look at from"}},
		"live, no plus addresses": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.peer.fault(func(p *peer) { p.onRcpt = func(string) error { return refuse(550, 5, 1, 1, "no such user") } })
		}, want: []string{"takes no mail for that address (550 no such user); have it let mail in for hub+anything (plus addressing), or set plus to off"}},
		"live, not even its own": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.ch.own.plus = ""
			w.peer.fault(func(p *peer) { p.onRcpt = func(string) error { return refuse(550, 5, 1, 1, "no such user") } })
		}, want: []string{"NO a mail from hub@example.com to hub@example.com:", "look at from, which must be a mailbox of the hub's own"}},
		"live, put off": {o: peerOptions{tls: tlsNone}, live: true, change: func(w *world) {
			w.peer.fault(func(p *peer) { p.onRcpt = func(string) error { return refuse(451, 4, 7, 1, "greylisted") } })
		}, want: []string{"puts the mail off: 451 4.7.1 greylisted"}},
		"wrong password":    {o: peerOptions{tls: tlsNone}, change: func(w *world) { w.peer.secret = "x" }, want: []string{"NO SMTP login", "smtp.password"}},
		"unreachable":       {o: peerOptions{tls: tlsNone}, change: func(w *world) { _ = w.peer.ln.Close() }, want: []string{"ok SMTP login", "not tested, since it can't be reached"}},
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
				kind, token, _ := w.ch.parseAddress(m.to)
				from, bounces, _ := w.ch.parseAddress(m.from)
				if kind != tokenReply || token == "" || from != tokenVERP || bounces == "" {
					t.Errorf("a mail went from %s to %s", m.from, m.to)
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
