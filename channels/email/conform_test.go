package email

import (
	"bytes"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"beckon/channels/channeltest"
)

// bench makes the world of one conformance test.
func bench(t *testing.T, desk *channeltest.Desk) (*world, channeltest.Bench) {
	w := startWorld(t, desk, peerOptions{tls: tlsNone}, func(c *section) { c.PlainLinks = true })
	of := func(id string) []received {
		var out []received
		for _, m := range w.peer.got() {
			if parsed(t, m.raw).Header.Get(messageHeader) == id {
				out = append(out, m)
			}
		}
		return out
	}
	return w, channeltest.Bench{
		Channel: w.ch, Target: toAlice,
		// A mail that comes twice is one, by its Message-ID; what follows is none.
		Copies: func(t *testing.T, id string) int {
			ids := map[string]bool{}
			for _, m := range of(id) {
				if h := parsed(t, m.raw).Header; h.Get("In-Reply-To") == "" {
					ids[h.Get("Message-ID")] = true
				}
			}
			return len(ids)
		},
		Read: func(t *testing.T, id string) channeltest.Seen {
			var seen channeltest.Seen
			for _, m := range of(id) {
				plain, rich := parts(t, m.raw)
				head, _, _ := bytes.Cut(m.raw, []byte("\r\n\r\n"))
				seen.Text += plain + "\n"
				// Nothing interprets the plain text.
				seen.Raw += string(head) + "\n" + rich + "\n"
			}
			return seen
		},
		Secrets: []string{w.peer.secret, "imap-secret"},
		Break: func(*testing.T) {
			w.peer.secret = "another"
		},
	}
}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T, desk *channeltest.Desk) channeltest.Bench {
		_, b := bench(t, desk)
		return b
	})
}

// TestErrorsHoldNoSecret breaks sending in every way there is.
func TestErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*peer){
		"login":          func(p *peer) { p.secret = "another" },
		"login by LOGIN": func(p *peer) { p.secret, p.mechs = "another", []string{"LOGIN"} },
		"no login":       func(p *peer) { p.mechs = []string{"NTLM"} },
		"sender":         func(p *peer) { p.onMail = func(string) error { return &smtp.SMTPError{Code: 550, Message: "no"} } },
		"connection":     func(p *peer) { p.onMail = func(string) error { p.drop(); return nil } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, nil, peerOptions{tls: tlsNone})
			secret := w.peer.secret
			fault(w.peer)
			_, err := w.post(channeltest.Ask("msg_a"))
			if err == nil {
				t.Fatal("the mail went out")
			}
			if all := err.Error() + w.logs.String(); strings.Contains(all, secret) {
				t.Errorf("the password shows: %s", strings.ReplaceAll(all, secret, "«secret»"))
			}
		})
	}
}
