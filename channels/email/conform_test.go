package email

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/mail"
	"strconv"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"beckon/channels/channeltest"
	"beckon/channels/email/mailtest"
	"beckon/hub"
	"beckon/hub/ma2h"
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

// tellingDesk does what the hub does after an answer: it tells the person what
// became of it, by a delivery.
type tellingDesk struct {
	hub.Desk
	w *world
}

func (d tellingDesk) Answer(ctx context.Context, a hub.Answer) (hub.Outcome, error) {
	o, err := d.Desk.Answer(ctx, a)
	if err != nil || o.Repeated || a.Notice == nil {
		return o, err
	}
	card, err := d.Card(ctx, a.MessageID, a.Notice.Person, hub.Export)
	if err != nil {
		return o, err
	}
	asked, err := d.w.asked(a.MessageID)
	if err != nil {
		return o, err
	}
	posting, err := d.FindPosting(ctx, Name, strings.Trim(asked.Header.Get("Message-ID"), "<>"))
	if err != nil {
		return o, err
	}
	return o, d.w.ch.Tell(ctx, hub.TellRequest{
		DeliveryID: "dlv_" + a.Receipt.Key, Attempt: 1, Person: card.Reader, Card: card, Posting: posting, Outcome: &o, Data: a.Notice.Data,
	})
}

// asked is the mail that a message came in.
func (w *world) asked(id string) (*mail.Message, error) {
	for _, m := range w.peer.got() {
		p, err := mail.ReadMessage(bytes.NewReader(m.raw))
		if err != nil {
			return nil, err
		}
		if p.Header.Get(messageHeader) == id && p.Header.Get("In-Reply-To") == "" {
			return p, nil
		}
	}
	return nil, errors.New("no mail asks " + id)
}

// replies is alice's answer to a message, as a phone writes it, and the address
// that it goes to.
func (w *world) replies(t *testing.T, id, text string) (raw []byte, to string) {
	t.Helper()
	asked, err := w.asked(id)
	if err != nil {
		t.Fatal(err)
	}
	to = strings.Trim(asked.Header.Get("Reply-To"), "<>")
	return mailtest.Text(text+"\n\nSent from my phone\n\nOn Tue, 1 Dec 2026 at 10:00, Beckon <hub@example.com> wrote:\n> The choices:\n>   1. Ship to prod now\n>   3. Abort the change",
		"From: Alice Ng <alice@example.com>", "To: "+to, "Subject: Re: "+asked.Header.Get("Subject"), "Date: Tue, 1 Dec 2026 10:05:00 +0800",
		"Message-ID: <"+rand.Text()+"@phone.example.com>", "In-Reply-To: "+asked.Header.Get("Message-ID"), "Content-Type: text/plain; charset=utf-8"), to
}

// ways are the ways that a reply comes in by. Each hands one over and returns what
// whoever hands it over is told.
func ways() map[string]func(t *testing.T, w *world) (hand func(raw []byte, to string) error) {
	return map[string]func(t *testing.T, w *world) (hand func(raw []byte, to string) error){
		"a mailbox": func(t *testing.T, w *world) func([]byte, string) error {
			return func(raw []byte, _ string) error {
				f, err := w.ch.receive(t.Context(), arrival{raw: raw, cursor: &hub.Cursor{Channel: Name, Key: "cursor/INBOX", Value: rand.Text()}})
				if err == nil && f != filed {
					t.Errorf("the reply is put into folder %v", f)
				}
				return err
			}
		},
		"an own mail server": func(t *testing.T, w *world) func([]byte, string) error {
			at := "127.0.0.1:" + freePort(t)
			w.again(nil, func(c *section) { c.PlainLinks, c.IMAP, c.Listen = true, nil, &listenSection{Address: at} })
			w.run()
			w.until("the channel listens", func() bool { return w.ch.listener.Addr() != "" })
			return func(raw []byte, to string) error { return mailtest.LMTP("tcp", at, "alice@example.com", raw, to) }
		},
	}
}

// TestConformance holds the channel to the suite with somebody who replies.
func TestConformance(t *testing.T) {
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channeltest.Run(t, func(t *testing.T, desk *channeltest.Desk) channeltest.Bench {
				w, b := bench(t, desk)
				hand := way(t, w)
				w.ch.desk = tellingDesk{w.ch.desk, w}
				b.Channel = w.ch
				b.Answer = func(t *testing.T, id string, option int) string {
					raw, to := w.replies(t, id, strconv.Itoa(option))
					before := len(w.peer.got())
					if err := hand(raw, to); err != nil {
						t.Fatal(err)
					}
					told := w.peer.got()[before:]
					if len(told) != 1 {
						t.Fatalf("%d mails say what became of it\n%s", len(told), w.logs)
					}
					plain, _ := parts(t, told[0].raw)
					return plain
				}
				if strings.HasSuffix(t.Name(), "/nothing_known_to_be_recorded") {
					// Nobody is told on the spot, since the mail comes again: see
					// TestReplyThatCantBeRecorded.
					b.Answer = nil
				}
				return b
			})
		})
	}
}

// A reply that the hub can't record stays where it is and comes again. Nobody hears
// of the failure, and once it has passed everything is as if it had not been.
func TestReplyThatCantBeRecorded(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := bench(t, nil)
			hand := way(t, w)
			w.ch.desk = tellingDesk{w.ch.desk, w}
			w.mustPost(channeltest.Ask("msg_a"))
			raw, to := w.replies(t, "msg_a", "2")
			w.desk.Say(func(hub.Answer) (hub.Outcome, error) { return hub.Outcome{}, errors.New("disk canary") })
			for range 3 {
				if err := hand(raw, to); err == nil {
					t.Error("the reply was taken")
				} else if _, refused := errors.AsType[*smtp.SMTPError](err); refused && (!strings.Contains(err.Error(), "come again later") || strings.Contains(err.Error(), "canary")) {
					t.Errorf("the mail server is told %v", err)
				}
			}
			if n := len(w.peer.got()); n != 1 {
				t.Errorf("%d mails went out, want the first alone", n)
			}
			w.desk.Say(func(a hub.Answer) (hub.Outcome, error) {
				return hub.Outcome{Kind: hub.Counted, MessageID: a.MessageID, Verb: a.Verb, Status: ma2h.Open}, nil
			})
			for range 2 {
				if err := hand(raw, to); err != nil {
					t.Error(err)
				}
			}
			if n := len(w.desk.Answers()); n != 1 {
				t.Errorf("%d answers reached the hub, want 1", n)
			}
			told := w.peer.got()[1:]
			if len(told) != 1 {
				t.Fatalf("%d mails say what became of it, want 1", len(told))
			}
			if plain, _ := parts(t, told[0].raw); !strings.Contains(plain, "vote") {
				t.Errorf("the person is told\n%s", plain)
			}
		})
	}
}

// TestErrorsHoldNoSecret breaks sending in every way there is.
func TestErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*peer){
		"login":          func(p *peer) { p.secret = "another" },
		"login by LOGIN": func(p *peer) { p.secret, p.mechs = "another", []string{"LOGIN"} },
		"no login":       func(p *peer) { p.mechs = []string{"NTLM"} },
		"sender": func(p *peer) {
			p.fault(func(p *peer) { p.onMail = func(string) error { return &smtp.SMTPError{Code: 550, Message: "no"} } })
		},
		"connection": func(p *peer) { p.fault(func(p *peer) { p.onMail = func(string) error { p.drop(); return nil } }) },
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
