package email

import (
	"bytes"
	"flag"
	"maps"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// at is a time of the day that golden mails are from.
func at(hour, minute int) time.Time { return time.Date(2026, 12, 1, hour, minute, 0, 0, time.UTC) }

// onDay runs f in a bubble at 07:50 UTC of that day.
func onDay(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at(7, 50)))
		f(t)
	})
}

// writer is a channel that never sends.
func writer(t *testing.T, change ...func(*section)) *Channel {
	t.Helper()
	conf := section{
		From: "hub@example.com", SMTP: smtpSection{Host: "smtp.example.com"},
		IMAP: &imapSection{Host: "imap.example.com", Password: hub.NewSecret("secret")},
	}
	for _, f := range change {
		f(&conf)
	}
	c := build(sectionOf(t, conf), channeltest.NewDesk(channeltest.Directory()))
	if c == nil {
		t.Fatal("no channel was made")
	}
	return c
}

// ask is an open ask of Alice.
func ask(change ...func(*hub.Card)) *hub.Card {
	c := channeltest.Ask("msg_01JE3ZK7Q8")
	c.AcceptedAt, c.ExpiresAt = at(7, 49), at(10, 0)
	for _, f := range change {
		f(c)
	}
	return c
}

func ended(d hub.Decision) func(*hub.Card) {
	return func(c *hub.Card) { c.Status, c.Decision, c.MayAnswer = d.Resolution, &d, false }
}

// drafts are mails of every kind, as the channel is asked for them.
func drafts() map[string]draft {
	const root = "beckon.aaaaaaaaaaaaaaaaaaaa@example.com"
	answered := hub.Decision{Resolution: ma2h.Answered, Actor: "human:alice", ActorName: "Alice Ng", At: at(7, 52), Via: "email", Choice: "Hold for review", Option: 2, Comment: "Not before lunch."}
	byBob := answered
	byBob.Actor, byBob.ActorName, byBob.Via = "human:bob", "Bob Roy", "slack"
	first := func(c *hub.Card) draft { return draft{kind: templates.MailAsk, card: c} }
	next := func(k templates.MailKind, c *hub.Card) draft { return draft{kind: k, card: c, root: root} }
	told := func(n notice, o *hub.Outcome, c *hub.Card) draft {
		d := draft{card: c, root: root, answers: n.Kind != noticeDoubt, after: []string{"CAF=abc@mail.gmail.com"}}
		if n.Kind == noticeDoubt {
			d.after = nil
		}
		if err := fillNotice(&d, &n, o); err != nil {
			panic(err)
		}
		return d
	}
	return map[string]draft{
		"ask": first(ask()),
		"ask-other-script": first(ask(func(c *hub.Card) {
			c.Title, c.Body = "要把 web-app 2.3 發布到生產環境嗎？所有檢查都通過了，只有一次遷移", "所有檢查都通過了。"
		})),
		"ask-input": first(ask(func(c *hub.Card) {
			c.Mode, c.Options, c.OnExpire = ma2h.Input, nil, ""
			c.Fields = []hub.Field{
				{Name: "note", Title: "Release note", Type: hub.FieldString, Required: true},
				{Name: "notify", Title: "notify", Type: hub.FieldBoolean},
			}
		})),
		"task": first(ask(func(c *hub.Card) {
			c.Type, c.Mode, c.Options, c.OnExpire, c.Instructions = ma2h.Task, "", nil, "", "Rotate it."
			c.Checklist = []ma2h.ChecklistItem{{Text: "Make a key", Done: true}, {Text: "Store it"}}
		})),
		"notify": first(ask(func(c *hub.Card) {
			c.Type, c.Status, c.Mode, c.Options, c.MayAnswer, c.CanAnswer, c.CanDecline = ma2h.Notify, ma2h.Delivered, "", nil, false, false, false
		})),
		"sensitive": first(ask(func(c *hub.Card) {
			c.Hidden, c.PageOnly, c.Body, c.Options, c.OnExpire = true, true, "", nil, ""
		})),
		"remind":   next(templates.MailRemind, ask()),
		"recorded": next(templates.MailEnded, ask(ended(answered))),
		"answered": next(templates.MailEnded, ask(ended(byBob))),
		"expired":  next(templates.MailEnded, ask(ended(hub.Decision{Resolution: ma2h.Expired, Actor: "system:default_on_expire", At: at(10, 0), Via: "clock", Choice: "Hold for review", Option: 2, Defaulted: true}))),
		"withdrawn": next(templates.MailEnded, ask(ended(hub.Decision{
			Resolution: ma2h.Cancelled, Actor: "agent:deploybot/dev-team", ActorName: "deploybot/dev-team", At: at(7, 40), Via: "api",
		}))),
		"late":        told(notice{Kind: noticeOutcome}, &hub.Outcome{Kind: hub.AlreadyResolved, Status: ma2h.Answered, Decision: &byBob}, ask(ended(byBob))),
		"not-allowed": told(notice{Kind: noticeOutcome}, &hub.Outcome{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, May: []string{"Bob Roy"}}, ask()),
		"unclear":     told(notice{Kind: noticeUnclear, Reading: &reply.Reading{Why: reply.WhyHedged}}, nil, ask()),
		"empty":       told(notice{Kind: noticeUnclear, Reading: &reply.Reading{Why: reply.WhyEmpty}}, nil, ask()),
		"unreadable":  told(notice{Kind: noticeUnreadable}, nil, ask()),
		"doubt":       told(notice{Kind: noticeDoubt, From: "eve@gmail.com"}, nil, ask()),
		"hostile":     first(hostile(evil)),
	}
}

// evil is agent text that is dangerous in a header, in HTML or in plain text.
const evil = "x\r\nBcc: evil@example.com\r\n\r\n<script>alert(1)</script><img src=x> \u202Edlrow =?UTF-8?Q?Bcc:?= [Q-000000] https://evil.example/ \"@evil.example>,<a@b> " +
	"\r\n--beckon-boundary--\r\n.\r\nQUIT\r\n"

// hostile is a card all of whose text is s.
func hostile(s string) *hub.Card {
	return ask(func(c *hub.Card) {
		c.Title, c.Body, c.AgentID, c.Project, c.RunID, c.OnExpire, c.AskedTeam = s, s, s, s, s, s, s
		c.Tags, c.AskedOf = []string{s}, []string{s}
		for i := range c.Options {
			c.Options[i].Label, c.Options[i].Description, c.Options[i].Value = s, s, s
		}
		c.Context = []hub.CardPart{{Text: s}, {File: &ma2h.File{URI: s, Name: s, MimeType: s}}}
	})
}

// compose writes the mail of a draft for Alice.
func compose(t *testing.T, c *Channel, d draft) []byte {
	t.Helper()
	d.person = c.desk.Directory().People["alice"]
	d.delivery = "dlv_01JE3ZK7Q8-1"
	id := c.messageID(d.delivery, d.generation)
	m := &sentMail{Message: d.card.MessageID, Person: "alice", Ref: id, Root: orWord(d.root, id)}
	raw, err := c.compose(t.Context(), &d, m, mail.Address{Name: "Alice Ng", Address: "alice@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestGoldenMails holds the bytes that are sent.
func TestGoldenMails(t *testing.T) {
	got := map[string][]byte{}
	onDay(t, func(t *testing.T) {
		c := writer(t)
		for name, d := range drafts() {
			raw := compose(t, c, d)
			checkBytes(t, name, raw)
			got[name] = raw
		}
		if _, body, err := c.Preview(ask()); err != nil {
			t.Error(err)
		} else {
			got["preview"] = body
		}
	})
	for _, name := range slices.Sorted(maps.Keys(got)) {
		path := filepath.Join("testdata", "mail", name+".eml")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got[name], 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v (-update writes it)", err)
		}
		if d := cmp.Diff(string(want), string(got[name])); d != "" {
			t.Errorf("%s (-want +got; -update writes it):\n%s", path, d)
		}
	}
	if files, err := filepath.Glob("testdata/mail/*.eml"); err != nil || len(files) != len(got) {
		t.Errorf("%d golden files for %d mails (%v): an old one may be left", len(files), len(got), err)
	}
}

// headers are all that a mail has, in the order of [net/mail].
func headers(d *draft) []string {
	names := []string{
		"Auto-Submitted", "Content-Language", "Content-Type", "Date", "Feedback-Id", "From", "List-Id", "Message-Id", "Mime-Version", "Reply-To", "Subject", "To",
		"X-Auto-Response-Suppress", "X-Beckon-Message", "X-Hub-Instance", "X-Ms-Reactions",
	}
	if d != nil && d.root != "" {
		names = append(names, "In-Reply-To", "References")
	}
	slices.Sort(names)
	return names
}

// checkBytes holds what is true of every mail on the wire (RFC 5322 §2.1.1, RFC
// 5321 §4.5.3.1).
func checkBytes(t testing.TB, name string, raw []byte) {
	t.Helper()
	if bytes.Contains(bytes.ReplaceAll(raw, []byte("\r\n"), nil), []byte("\n")) || bytes.Contains(bytes.ReplaceAll(raw, []byte("\r\n"), nil), []byte("\r")) {
		t.Errorf("%s: a line does not end in CRLF", name)
	}
	for line := range bytes.SplitSeq(raw, []byte("\r\n")) {
		if len(line) > 998 {
			t.Errorf("%s: a line of %d bytes", name, len(line))
		}
		if bytes.ContainsFunc(line, func(r rune) bool { return r >= 0x80 || r < ' ' && r != '\t' }) {
			t.Errorf("%s: a byte that some server would not pass on: %q", name, line)
		}
	}
}

// TestHeadersHoldNoAgentText holds that whatever an agent writes, a mail has the
// same headers, once each, and two parts.
func TestHeadersHoldNoAgentText(t *testing.T) {
	t.Parallel()
	c := writer(t)
	all := drafts()
	names := slices.Sorted(maps.Keys(all))
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(\r\n|\n|\r|[ -~]|=\?UTF-8\?Q\?=0D=0A\?=|[éא語]|\x00|\x{202E}|\x{2028}){0,200}`), rapid.Just(evil))
	rapid.Check(t, func(rt *rapid.T) {
		d := all[rapid.SampledFrom(names).Draw(rt, "kind")]
		card := hostile(text.Draw(rt, "text"))
		card.MessageID, card.Type, card.Status, card.Decision, card.Mode, card.Fields = d.card.MessageID, d.card.Type, d.card.Status, d.card.Decision, d.card.Mode, d.card.Fields
		if d.card.Decision != nil {
			decision := *d.card.Decision
			decision.Choice, decision.Comment, decision.ActorName = card.Title, card.Title, card.Title
			card.Decision = &decision
		}
		d.card = card
		raw := compose(t, c, d)
		checkBytes(t, "mail", raw)
		m := parsed(t, raw)
		var got []string
		for name, values := range m.Header {
			if len(values) != 1 {
				rt.Fatalf("%s is there %d times\n%s", name, len(values), raw)
			}
			got = append(got, name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(headers(&d), got); diff != "" {
			rt.Fatalf("other headers (-want +got):\n%s\n%s", diff, raw)
		}
		if a, err := m.Header.AddressList("From"); err != nil || len(a) != 1 || a[0].Address != "hub@example.com" {
			rt.Fatalf("From is %q: %v", m.Header.Get("From"), err)
		}
		subject := decodeSubject(t, m.Header.Get("Subject"))
		if strings.ContainsAny(subject, "\r\n\x00") || !strings.Contains(subject, "[Q-") {
			rt.Fatalf("the subject is %q", subject)
		}
		if plain, rich := parts(t, raw); plain == "" || rich == "" {
			rt.Fatal("a part is empty")
		}
	})
}
