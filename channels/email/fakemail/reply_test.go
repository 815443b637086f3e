package fakemail_test

import (
	"bytes"
	"flag"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jhillyerd/enmime/v2"
	gomail "github.com/wneessen/go-mail"

	"beckon/channels/email/fakemail"
)

var update = flag.Bool("update", false, "write the golden files")

// TestReply: in every style and on every way, a reply reaches the hub with what
// makes it a reply, and another MIME reader finds the text in it.
func TestReply(t *testing.T) {
	t.Parallel()
	ways := []struct {
		network string
		lmtp    bool
	}{{"tcp", true}, {"unix", true}, {"tcp", false}}
	for _, way := range ways {
		h, addr := startHub(t, way.network, way.lmtp, nil)
		s := start(t, fakemail.Options{Hub: addr, HubSMTP: !way.lmtp})
		m := sent(t, s, func(m *gomail.Msg) { m.SetGenHeader("References", "<root@hub.test>") })
		for i, style := range fakemail.Styles() {
			text := "2\nLet me see it — 本番 first."
			if err := s.Reply(within(t), m, text, style); err != nil {
				t.Fatalf("%v %s: %v", way, style, err)
			}
			got := h.all()[i]
			env, err := enmime.ReadEnvelope(bytes.NewReader(got.raw))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{
				"from": alice, "to": token, "From": `"Alice Ng" <alice@phone.test>`, "To": `"deploybot" <` + token + `>`,
				"Subject": "Re: [Q-7F3K2M] Ship web-app 2.3 to production?", "In-Reply-To": "<q-101.r-alice.1@hub.test>",
				"References": "<root@hub.test> <q-101.r-alice.1@hub.test>", "Authentication-Results": "",
			}
			has := map[string]string{"from": got.from, "to": got.to}
			for name := range want {
				if name != "from" && name != "to" {
					has[name] = env.GetHeader(name)
				}
			}
			if diff := cmp.Diff(want, has); diff != "" {
				t.Errorf("%v %s (-want +got):\n%s", way, style, diff)
			}
			if len(env.Errors) > 0 {
				t.Errorf("%s: %v", style, env.Errors[0])
			}
			plain := strings.ReplaceAll(env.Text, "\r\n", "\n")
			if !strings.HasPrefix(plain, text+"\n") {
				t.Errorf("%s: the text part is\n%s", style, plain)
			}
			if (env.HTML == "") != (style == fakemail.Plain) {
				t.Errorf("%s: HTML of %d bytes", style, len(env.HTML))
			}
			for _, part := range []string{plain, env.HTML} {
				if part != "" && !strings.Contains(part, "Hold for review") {
					t.Errorf("%s does not quote the mail:\n%s", style, part)
				}
			}
		}
		all := s.Mails(alice)
		last := all[len(all)-1]
		if len(all) != 5 || !last.Sent || last.Err != nil || !strings.Contains(last.Said, "250") || len(last.Problems) > 0 {
			t.Errorf("%v: what Alice sent is not kept: %q %v %q", way, last.Said, last.Err, last.Problems)
		}
	}
}

// small is a mail with something of everything.
const small = `<!DOCTYPE html><html><head><title>t</title><style>.a { color: red }</style></head><body class="bg">
<div style="display: none">Not seen.</div>
<h1>Ship it?</h1><p>All <b>green</b>, see <a href="https://ci.example.com/812">the run</a>
and <i>nothing</i> else.<br>Two lines.</p><pre>a
  b</pre><table><tr><td>1.</td><td id="one"><span class="x y" style="display:block">Yes</span><span>At once.</span></td></tr>
<tr><td>2.</td><td>No</td></tr></table><ul><li>one</li><li>two</li></ul></body></html>`

// TestReplyForms keeps every shape of a reply as a golden file.
func TestReplyForms(t *testing.T) {
	t.Parallel()
	h, addr := startHub(t, "tcp", true, nil)
	s := start(t, fakemail.Options{Hub: addr, AuthservID: "mx.hub.test"})
	date := time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)
	formatted := sent(t, s, func(m *gomail.Msg) {
		m.SetDateWithValue(date)
		m.SetBodyString(gomail.TypeTextPlain, "Ship it?\n")
		m.AddAlternativeString(gomail.TypeTextHTML, small)
	})
	send(t, s, question(t, func(m *gomail.Msg) {
		m.SetDateWithValue(date)
		m.SetBodyString(gomail.TypeTextPlain, "Ship it?\n\n  1. Yes\n  2. No\n\n> From the log:\n> ok\n")
	}))
	bare := s.Mails(alice)[1]
	var n int
	for _, style := range fakemail.Styles() {
		for _, c := range []struct {
			name string
			m    fakemail.Mail
			text string
		}{
			{"formatted", formatted, "2\n\nRead the migration first, please."},
			{"bare", bare, " 1 <b>\n>not a quote\nFrom here on " + strings.Repeat("very ", 20) + "long."},
			{"empty", formatted, ""},
		} {
			if err := s.Reply(within(t), c.m, c.text, style); err != nil {
				t.Fatal(err)
			}
			compare(t, "reply-"+string(style)+"-"+c.name+".eml", h.all()[n].raw)
			n++
		}
	}
}

// TestCaseForms keeps every case as a golden file.
func TestCaseForms(t *testing.T) {
	t.Parallel()
	h, addr := startHub(t, "tcp", true, nil)
	s := start(t, fakemail.Options{Hub: addr, AuthservID: "mx.hub.test"})
	m := sent(t, s, func(m *gomail.Msg) {
		m.SetDateWithValue(time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC))
		m.SetBodyString(gomail.TypeTextPlain, "Ship it?\n")
	})
	var n int
	for _, c := range s.Cases() {
		for _, style := range fakemail.Styles() {
			if style != fakemail.Apple && c.Case != fakemail.CaseAway {
				continue
			}
			if err := s.Try(within(t), m, c.Case, "", style); err != nil {
				t.Fatalf("%s: %v", c.Case, err)
			}
			compare(t, "case-"+string(c.Case)+"-"+string(style)+".eml", h.all()[n].raw)
			n = len(h.all())
		}
	}
}

var (
	anyID    = regexp.MustCompile(`(?i)<[a-z2-7]{26}@`)
	anyDate  = regexp.MustCompile(`(?m)(^(?:Date|Arrival-Date|Will-Retry-Until): |ESMTP;\s+)\w{3}, \d+ \w{3} \d{4} [\d:]{8} [-+]\d{4}`)
	anyUntil = regexp.MustCompile(`until (=\r?\n)?\d+ \w+ \d{4}`)
	anyBound = regexp.MustCompile(`boundary="?([A-Za-z0-9]{26,})"?`)
)

// compare holds a mail against its golden file, without what is new each time.
func compare(t *testing.T, name string, raw []byte) {
	t.Helper()
	got := strings.ReplaceAll(string(raw), "\r\n", "\n")
	for i, b := range anyBound.FindAllStringSubmatch(got, -1) {
		got = strings.ReplaceAll(got, b[1], "boundary-"+string(rune('a'+i)))
	}
	got = anyID.ReplaceAllString(got, "<id@")
	got = anyDate.ReplaceAllString(got, "${1}Tue, 01 Dec 2026 14:00:00 +0800")
	got = anyUntil.ReplaceAllString(got, "until 8 December 2026")
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestCases: who each case is from, who gets it, and what marks it.
func TestCases(t *testing.T) {
	t.Parallel()
	type copyOf struct{ From, To string }
	tests := []struct {
		c      fakemail.Case
		style  fakemail.Style
		copies []copyOf // envelopes
		from   string   // the header
		marks  []string
	}{
		{fakemail.CaseAway, fakemail.Plain, []copyOf{{"", verp}}, alice, []string{"Auto-Submitted: auto-replied (vacation)", "Subject: Auto: [Q-7F3K2M]"}},
		{fakemail.CaseAway, fakemail.Gmail, []copyOf{{"", verp}}, alice, []string{"X-Autoreply: yes"}},
		{fakemail.CaseAway, fakemail.Outlook, []copyOf{{"", token}}, alice, []string{"X-Auto-Response-Suppress: All", "Subject: Automatic reply:"}},
		{fakemail.CaseBounced, fakemail.Apple, []copyOf{{"", verp}}, "MAILER-DAEMON@mail.test", []string{"report-type=delivery-status", "Action: failed", "Status: 5.1.1", "Final-Recipient: rfc822; " + alice, "Message-ID: <q-101.r-alice.1@hub.test>"}},
		{fakemail.CaseDelayed, fakemail.Apple, []copyOf{{"", verp}}, "MAILER-DAEMON@mail.test", []string{"Action: delayed", "Status: 4.4.1", "Will-Retry-Until:", "text/rfc822-headers"}},
		{fakemail.CaseOther, fakemail.Apple, []copyOf{{"alice@private.test", token}}, "alice@private.test", []string{"dmarc=pass"}},
		{fakemail.CaseForwarded, fakemail.Apple, []copyOf{{"sam@phone.test", token}}, "sam@phone.test", []string{"In-Reply-To: <q-101.r-alice.1@hub.test>"}},
		{fakemail.CaseTwice, fakemail.Apple, []copyOf{{alice, token}, {alice, self}, {alice, token}}, alice, []string{"Cc: \"deploybot (via Beckon)\" <hub@hub.test>"}},
		{fakemail.CaseReaction, fakemail.Apple, []copyOf{{alice, token}}, alice, []string{"text/vnd.google.email-reaction+json", `"emoji":"=F0=9F=91=8D"`}},
		{fakemail.CaseForged, fakemail.Apple, []copyOf{{"mailer@elsewhere.test", token}}, alice, []string{"dmarc=fail"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.c)+" "+string(tt.style), func(t *testing.T) {
			t.Parallel()
			h, addr := startHub(t, "tcp", true, nil)
			s := start(t, fakemail.Options{Hub: addr, AuthservID: "mx.hub.test"})
			m := sent(t, s)
			if err := s.Try(within(t), m, tt.c, "2", tt.style); err != nil {
				t.Fatal(err)
			}
			var copies []copyOf
			for _, g := range h.all() {
				copies = append(copies, copyOf{g.from, g.to})
				if !bytes.Equal(g.raw, h.all()[0].raw) {
					t.Error("the copies differ")
				}
			}
			if diff := cmp.Diff(tt.copies, copies); diff != "" {
				t.Errorf("deliveries (-want +got):\n%s", diff)
			}
			raw := string(h.all()[0].raw)
			msg, err := mail.ReadMessage(strings.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			if from, err := mail.ParseAddress(msg.Header.Get("From")); err != nil || from.Address != tt.from {
				t.Errorf("From is %v, %v; want %s", from, err, tt.from)
			}
			unfolded := strings.ReplaceAll(raw, "\r\n ", " ")
			for _, mark := range tt.marks {
				if !strings.Contains(unfolded, mark) {
					t.Errorf("%q is missing in\n%s", mark, raw)
				}
			}
			if all := s.Mails(alice); all[1].Case != tt.c || len(all[1].Problems) > 0 {
				t.Errorf("it is kept as %q with problems %q", all[1].Case, all[1].Problems)
			}
		})
	}
}

// TestRefused: what the hub's server says is passed on and kept.
func TestRefused(t *testing.T) {
	t.Parallel()
	_, addr := startHub(t, "tcp", true, func(g taken) error {
		if g.to == self {
			return errTemporary
		}
		return nil
	})
	s := start(t, fakemail.Options{Hub: addr})
	m := sent(t, s)
	tests := []struct {
		name string
		do   func() error
		want []string
		said string
	}{
		{"unknown address", func() error {
			x := m
			x.ReplyTo = &mail.Address{Address: "hub+unknown@hub.test"}
			return s.Reply(within(t), x, "2", fakemail.Apple)
		}, []string{"hub+unknown@hub.test", "550 5.1.1 no such address here"}, ""},
		{"one of two", func() error { return s.Try(within(t), m, fakemail.CaseTwice, "2", fakemail.Apple) }, []string{self, "451 4.3.0", "try later"}, token + ": 250"},
	}
	for _, tt := range tests {
		err := tt.do()
		for _, w := range tt.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", tt.name, err, w)
			}
		}
		all := s.Mails(alice)
		last := all[len(all)-1]
		if last.Err == nil || !strings.Contains(last.Said, tt.said) || tt.said == "" && last.Said != "" {
			t.Errorf("%s: kept with %v and %q", tt.name, last.Err, last.Said)
		}
	}
}

// TestNotSent: what can't be sent is an error and leaves nothing behind.
func TestNotSent(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	m := sent(t, s)
	nobody := m
	nobody.ReplyTo = nil
	quiet := m
	quiet.EnvelopeFrom = ""
	tests := []struct {
		name string
		do   func() error
		want string
	}{
		{"style", func() error { return s.Reply(within(t), m, "2", "telex") }, `no style "telex"`},
		{"style of a case", func() error { return s.Try(within(t), m, fakemail.CaseAway, "", "telex") }, `no style "telex"`},
		{"case", func() error { return s.Try(within(t), m, "smoke", "", fakemail.Apple) }, `no case "smoke"`},
		{"nobody to reply to", func() error { return s.Reply(within(t), nobody, "2", fakemail.Apple) }, "nobody to reply to"},
		{"no envelope sender", func() error { return s.Try(within(t), quiet, fakemail.CaseBounced, "", fakemail.Apple) }, "RFC 5321"},
		{"nobody to tell", func() error {
			x := nobody
			x.EnvelopeFrom = ""
			return s.Try(within(t), x, fakemail.CaseAway, "", fakemail.Apple)
		}, "names nobody"},
		{"bad address", func() error { return s.Write(within(t), alice, "nobody", "s", "t", fakemail.Apple) }, "no address"},
		{"style of a new mail", func() error { return s.Write(within(t), alice, token, "s", "t", "telex") }, `no style "telex"`},
	}
	for _, tt := range tests {
		if err := tt.do(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if n := len(s.Mails(alice)); n != 1 {
		t.Errorf("%d mails, want the one", n)
	}
	if err := s.Reply(within(t), m, "2", fakemail.Apple); err == nil || !strings.Contains(err.Error(), "no address of the hub's server") {
		t.Errorf("without a hub: %v", err)
	}
	s.SetHub("127.0.0.1:1")
	if err := s.Reply(within(t), m, "2", fakemail.Apple); err == nil || !strings.Contains(err.Error(), "can't be reached") {
		t.Errorf("with a dead hub: %v", err)
	}
	if n := len(s.Mails(alice)); n != 3 {
		t.Errorf("%d mails, want the two that were sent as well", n)
	}
}

// TestWrite: a mail to somebody here arrives there; one to the hub begins a thread.
func TestWrite(t *testing.T) {
	t.Parallel()
	h, addr := startHub(t, "tcp", true, nil)
	s := start(t, fakemail.Options{Hub: addr})
	if err := s.Write(within(t), alice, "Sam <SAM@phone.test>", "lunch", "at noon?", fakemail.Plain); err != nil {
		t.Fatal(err)
	}
	if got := s.Mails("sam@phone.test"); len(got) != 1 || got[0].Subject != "lunch" || !strings.HasPrefix(got[0].Text, "at noon?\n") {
		t.Errorf("Sam has %+v", got)
	}
	if len(h.all()) != 0 {
		t.Error("the hub got what is Sam's")
	}
	if err := s.Write(within(t), alice, token, "Re: [Q-7F3K2M]", "hold", fakemail.Apple); err != nil {
		t.Fatal(err)
	}
	if got := h.all(); len(got) != 1 || got[0].to != token || strings.Contains(string(got[0].raw), "In-Reply-To") {
		t.Errorf("the hub got %+v", got)
	}
}
