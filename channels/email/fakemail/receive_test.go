package fakemail_test

import (
	"context"
	"fmt"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	gomail "github.com/wneessen/go-mail"

	"beckon/channels/email/fakemail"
)

// TestReceive: what go-mail sends is taken apart and has no fault.
func TestReceive(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	m := sent(t, s, func(m *gomail.Msg) {
		m.Subject("[Q-7F3K2M] Grüße, 本番へ?")
		m.SetGenHeader("References", "<a@hub.test> <b@hub.test>")
		m.SetGenHeader("In-Reply-To", "<b@hub.test>")
	})
	if len(m.Problems) > 0 {
		t.Errorf("problems: %q", m.Problems)
	}
	for _, c := range []struct{ name, got, want string }{
		{"envelope sender", m.EnvelopeFrom, verp},
		{"envelope recipient", m.EnvelopeTo, alice},
		{"From", m.From.Address, self},
		{"Reply-To", m.ReplyTo.Address, token},
		{"To", m.To[0].Name, "Alice Ng"},
		{"Subject", m.Subject, "[Q-7F3K2M] Grüße, 本番へ?"},
		{"Message-ID", m.MessageID, "q-101.r-alice.1@hub.test"},
		{"References", strings.Join(m.References, " "), "a@hub.test b@hub.test"},
		{"text", m.Text, golden(t, "ask-select.txt")},
		{"HTML", m.HTML, golden(t, "ask-select.html")},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.name, c.got, c.want)
		}
	}
	if mails := s.Mails("ALICE@phone.test"); len(mails) != 1 {
		t.Errorf("%d mails in Alice's mailbox, want 1", len(mails))
	}
}

// TestReceiveMany: each recipient has a copy, also one who had no mailbox.
func TestReceiveMany(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	raw := "From: a@hub.test\r\nTo: x@y.test\r\nDate: Mon, 30 Nov 2026 14:01:00 +0000\r\nMessage-ID: <1@hub.test>\r\nSubject: hi\r\n\r\nhello\r\n..dots\r\n"
	if err := smtp.SendMail(s.Addr(), nil, "a@hub.test", []string{alice, "x@y.test"}, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{alice, "x@y.test"} {
		mails := s.Mails(who)
		if len(mails) != 1 || mails[0].Text != "hello\n..dots\n" || mails[0].EnvelopeTo != who || string(mails[0].Raw) != raw {
			t.Errorf("%s has %+v", who, mails)
		}
	}
}

// TestLogin: a client that insists on a login gets one.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	c, err := smtp.Dial(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Auth(smtp.PlainAuth("", "anybody", "anything", "127.0.0.1")); err != nil {
		t.Errorf("login: %v", err)
	}
}

// TestProblems: each fault is named once, and the mail is kept all the same.
func TestProblems(t *testing.T) {
	t.Parallel()
	const good = "From: a@hub.test\r\nTo: b@y.test\r\nDate: Mon, 30 Nov 2026 14:01:00 +0000\r\nMessage-ID: <1@hub.test>\r\nSubject: hi\r\n"
	tests := []struct{ name, raw, want string }{
		{"none", good + "\r\nhello\r\n", ""},
		{"long line", good + "\r\n" + strings.Repeat("x", 999) + "\r\n", "998 octets"},
		{"longest line", good + "\r\n" + strings.Repeat("x", 998) + "\r\n", ""},
		{"bare line feed", good + "\r\na\nb\r\n", "stands alone"},
		{"bare carriage return", good + "\r\na\rb\r\n", "stands alone"},
		{"NUL", good + "\r\na\x00b\r\n", "NUL"},
		{"8-bit header", good + "X-Name: Gr\xc3\xbc\xc3\x9fe\r\n\r\nhello\r\n", "SMTPUTF8"},
		{"8-bit body", good + "\r\nGr\xc3\xbc\xc3\x9fe\r\n", "does not say so"},
		{"said 8-bit body", good + "Content-Transfer-Encoding: 8bit\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n", ""},
		{"two subjects", good + "Subject: again\r\n\r\nhello\r\n", "Subject stands there 2 times"},
		{"no id", strings.Replace(good, "Message-ID", "X-ID", 1) + "\r\nhello\r\n", "no Message-Id"},
		{"bad id", strings.Replace(good, "<1@hub.test>", "1", 1) + "\r\nhello\r\n", "is not one id"},
		{"no date", strings.Replace(good, "Date", "X-Date", 1) + "\r\nhello\r\n", "Date:"},
		{"no sender", strings.Replace(good, "From", "X-From", 1) + "\r\nhello\r\n", "no From"},
		{"bad sender", strings.Replace(good, "a@hub.test", "nobody", 1) + "\r\nhello\r\n", "no list of addresses"},
		{"several senders", strings.Replace(good, "a@hub.test", "a@hub.test, c@hub.test", 1) + "\r\nhello\r\n", "several From"},
		{"long local part", good + "Reply-To: " + strings.Repeat("x", 65) + "@hub.test\r\n\r\nhello\r\n", "65 octets"},
		{"no header", "hello\r\n", "can't be read"},
		{"no boundary", good + "Content-Type: multipart/alternative\r\n\r\nhello\r\n", "no boundary"},
		{"cut off", good + "Content-Type: multipart/alternative; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nhello\r\n", "parts between"},
		{"bad type", good + "Content-Type: text/plain; charset\r\n\r\nhello\r\n", "Content-Type"},
		{"unknown encoding", good + "Content-Transfer-Encoding: rot13\r\n\r\nhello\r\n", "rot13"},
		{"unknown charset", good + "Content-Type: text/plain; charset=klingon\r\n\r\nhello\r\n", "klingon"},
		{"bad encoded word", strings.Replace(good, "hi", "=?klingon?q?a?=", 1) + "\r\nhello\r\n", "Subject can't be decoded"},
	}
	s := start(t, fakemail.Options{})
	for i, tt := range tests {
		who := fmt.Sprintf("p%d@y.test", i)
		if err := sendRaw(s.Addr(), who, tt.raw); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		mails := s.Mails(who)
		if len(mails) != 1 {
			t.Fatalf("%s: %d mails", tt.name, len(mails))
		}
		got := strings.Join(mails[0].Problems, "; ")
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: problems %q, want one with %q", tt.name, got, tt.want)
		}
		if n := len(mails[0].Problems); n > 1 && tt.name != "no header" {
			t.Errorf("%s: %d problems: %q", tt.name, n, got)
		}
	}
}

// TestCharsets: text is read as its label says.
func TestCharsets(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	tests := []struct{ label, encoding, body, want string }{
		{"utf-8", "base64", "R3LDvMOfZQ==", "Grüße"},
		{"iso-8859-1", "quoted-printable", "Gr=FC=DFe", "Grüße"},
		{"windows-1252", "8bit", "\x93Ja\x94", "“Ja”"},
		{"iso-2022-jp", "7bit", "\x1b$B>5G'\x1b(B", "承認"},
		{"us-ascii", "8bit", "Gr\xff", "Grÿ"}, // browsers and mail programs read it as windows-1252
	}
	for i, tt := range tests {
		who := fmt.Sprintf("c%d@y.test", i)
		raw := "From: a@hub.test\r\nDate: Mon, 30 Nov 2026 14:01:00 +0000\r\nMessage-ID: <1@hub.test>\r\nContent-Type: text/plain; charset=" + tt.label +
			"\r\nContent-Transfer-Encoding: " + tt.encoding + "\r\n\r\n" + tt.body + "\r\n"
		if err := sendRaw(s.Addr(), who, raw); err != nil {
			t.Fatal(err)
		}
		m := s.Mails(who)[0]
		if got := strings.TrimSpace(m.Text); got != tt.want || len(m.Problems) > 0 {
			t.Errorf("%s: %q %q, want %q", tt.label, got, m.Problems, tt.want)
		}
	}
}

// sendRaw sends bytes as they are, line ends too, and by SMTP as it was in 1982.
func sendRaw(addr, to, raw string) error {
	c, err := textproto.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, step := range []struct {
		say  string
		want int
	}{{"", 220}, {"HELO x.test\r\n", 250}, {"MAIL FROM:<a@hub.test>\r\n", 250}, {"RCPT TO:<" + to + ">\r\n", 250}, {"DATA\r\n", 354}, {raw + ".\r\n", 250}} {
		if _, err := c.W.WriteString(step.say); err != nil {
			return err
		}
		if err := c.W.Flush(); err != nil {
			return err
		}
		if _, _, err := c.ReadResponse(step.want); err != nil {
			return err
		}
	}
	return nil
}

// TestBounds: the oldest mails go, by number and by size.
func TestBounds(t *testing.T) {
	t.Parallel()
	subjects := func(mails []fakemail.Mail) string {
		var out []string
		for _, m := range mails {
			out = append(out, m.Subject)
		}
		return strings.Join(out, "")
	}
	mail := func(name string, size int) string {
		return "From: a@hub.test\r\nSubject: " + name + "\r\n\r\n" + strings.Repeat("x\r\n", size/3)
	}
	tests := []struct {
		name            string
		o               fakemail.Options
		mails           [][3]any // to, subject, size
		alice, somebody string
	}{
		{"number", fakemail.Options{MaxMails: 2}, [][3]any{{alice, "a", 1}, {"x@y.test", "b", 1}, {alice, "c", 1}, {alice, "d", 1}}, "cd", "b"},
		{"size", fakemail.Options{MaxBytes: 3000}, [][3]any{{"x@y.test", "a", 900}, {alice, "b", 900}, {alice, "c", 900}, {"x@y.test", "d", 900}}, "bc", "d"},
		{"one too large", fakemail.Options{MaxBytes: 3000}, [][3]any{{alice, "a", 900}, {"x@y.test", "b", 9000}}, "", "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.o)
			for _, m := range tt.mails {
				if err := smtp.SendMail(s.Addr(), nil, "a@hub.test", []string{m[0].(string)}, []byte(mail(m[1].(string), m[2].(int)))); err != nil {
					t.Fatal(err)
				}
			}
			if got := subjects(s.Mails(alice)); got != tt.alice {
				t.Errorf("Alice has %q, want %q", got, tt.alice)
			}
			if got := subjects(s.Mails("x@y.test")); got != tt.somebody {
				t.Errorf("the other has %q, want %q", got, tt.somebody)
			}
		})
	}
}

// TestWaitFor: it ends with its mail, with its context and with the server.
func TestWaitFor(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.WaitFor(ended, func(fakemail.Mail) bool { return true }); err == nil {
		t.Error("nothing came, and WaitFor returns")
	}
	got := make(chan error, 1)
	go func() {
		_, err := s.WaitFor(t.Context(), func(m fakemail.Mail) bool { return m.Subject == "never" })
		got <- err
	}()
	send(t, s, question(t))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: %v", err)
	}
}

// TestCloseWhileConnected: a client that stays connected does not hold Close up.
func TestCloseWhileConnected(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	c, err := smtp.Dial(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Hello("x.test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Noop(); err == nil {
		t.Error("the connection is still served")
	}
}

// TestOptions: what can't be is said.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []fakemail.Options{
		{People: []fakemail.Person{{Name: "A", Address: "not an address"}}},
		{Listen: "127.0.0.1:99999"},
	} {
		if s, err := fakemail.New(o); err == nil {
			_ = s.Close()
			t.Errorf("%+v is taken", o)
		}
	}
}

// TestHubHost: what the hub writes to itself comes back to it.
func TestHubHost(t *testing.T) {
	t.Parallel()
	h, addr := startHub(t, "tcp", true, nil)
	s := start(t, fakemail.Options{Hub: addr, HubHost: "hub.test", AuthservID: "mx.hub.test"})
	raw := "From: hub@hub.test\r\nSubject: test\r\n\r\nhello\r\n"
	if err := smtp.SendMail(s.Addr(), nil, verp, []string{token, alice}, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	got := h.all()
	if len(got) != 1 || got[0].to != token || got[0].from != verp || !strings.HasSuffix(string(got[0].raw), raw) {
		t.Errorf("the hub got %+v", got)
	}
	if !strings.HasPrefix(string(got[0].raw), "Authentication-Results: mx.hub.test;") {
		t.Errorf("it is not stamped: %s", got[0].raw)
	}
	if len(s.Mails(alice)) != 1 || len(s.Mails(token)) != 0 {
		t.Error("mail for people and for the hub is mixed up")
	}
	if err := smtp.SendMail(s.Addr(), nil, verp, []string{"nobody@hub.test"}, []byte(raw)); err == nil || !strings.Contains(err.Error(), "no such address here") {
		t.Errorf("the hub's refusal is %v", err)
	}
}

// TestTimes: a person's clock is that of their zone.
func TestTimes(t *testing.T) {
	t.Parallel()
	h, addr := startHub(t, "tcp", true, nil)
	s := start(t, fakemail.Options{Hub: addr})
	m := sent(t, s, func(m *gomail.Msg) { m.SetDateWithValue(time.Date(2026, 12, 1, 15, 40, 0, 0, time.UTC)) })
	if err := s.Reply(within(t), m, "2", fakemail.Apple); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(h.all(), func(g taken) bool { return strings.Contains(string(g.raw), "On Dec 1, 2026, at 11:40=E2=80=AFPM,") }) {
		t.Errorf("the attribution has another time:\n%s", h.all()[0].raw)
	}
}
