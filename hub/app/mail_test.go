package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/smtp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"beckon/channels/email/mailtest"
)

// mailYAML is a hub that reaches alice and bob by mail: %s are the database, the
// SMTP and the IMAP server.
const mailYAML = `
listen: 127.0.0.1:0
store: %s
people:
  alice: {name: Alice Ng, email: alice@example.test, tz: Asia/Singapore}
  bob: {name: Bob Roy, email: bob@example.test, tz: Europe/Paris}
  ghost: {name: Gus Ghost, email: nosuchuser@example.test}
agents:
  deploybot/dev-team: {token: env:BOT}
  other/bot: {token: env:OTHER}
operators:
  ops: {token: env:OPS}
limits: {requests_per_minute: 0, open_messages: 0}
channels:
  email:
    from: hub@example.test
    smtp: {host: %s, port: %s, tls: none}
    imap: {host: %s, port: %s, tls: none, user: hub@example.test, password: env:MAIL, processed: Processed, rejected: Rejected, unmatched: Unmatched, failed: Failed}
routes:
  - match: {tags: ghost}
    ask: [ghost, bob]
    post: [{email: ghost}, {email: bob, after: 1h}]
  - ask: [alice, bob]
    post: [{email: alice}, {email: bob}]
`

// office is a hub between a real MTA and a real mailbox.
type office struct {
	*process
	dovecot *mailtest.Dovecot
	exim    *mailtest.Exim
	yaml    string
}

// An own MX hands answers to the hub itself: known addresses only, and it keeps
// what the hub can't take.
func TestAnswerByOwnMX(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "lmtp")
	o := &office{dovecot: mailtest.StartDovecot(t, mailtest.DovecotOptions{})}
	o.exim = mailtest.StartExim(t, mailtest.EximOptions{LMTP: o.dovecot.LMTPAddr, Other: socket, OtherUsers: []string{"hub"}})
	smtpHost, smtpPort, _ := net.SplitHostPort(o.exim.Addr)
	o.yaml = fmt.Sprintf(mailYAML, filepath.Join(t.TempDir(), "beckon.db"), smtpHost, smtpPort, "127.0.0.1", "1")
	i := strings.Index(o.yaml, "    imap: ")
	j := i + strings.Index(o.yaml[i:], "\n")
	o.yaml = o.yaml[:i] + "    listen: {address: 'unix:" + socket + "'}" + o.yaml[j:]
	o.process = start(t, parse(t, o.yaml))
	err := mailtest.Eventually(func() error { // so that exim's user may connect
		info, err := os.Stat(socket)
		switch {
		case err != nil:
			return err
		case info.Mode().Perm() != 0o660:
			return fmt.Errorf("the socket is %s", info.Mode()) // the hub has not set it up yet
		}
		return os.Chmod(socket, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	id := o.submit(envelope("k1", nil))
	asked := o.mails("alice", 1)[0]
	o.reply("alice@example.test", asked, "hold\n")
	if resolution, value, _ := o.response(id); resolution != "answered by human:alice" || value != "hold" {
		t.Errorf("got %s %q", resolution, value)
	}
	if text := plain(t, o.mails("alice", 2)[1]); !strings.HasPrefix(text, "Recorded: Hold for review.") {
		t.Errorf("confirmation:\n%s", text)
	}
	for addr, want := range map[string]string{
		"hub@example.test": "", "hub+qaaaaaaaaaaaaaaaaaaaa@example.test": "550", "somebody@example.test": "550",
		strings.ToUpper(strings.Trim(asked.Header.Get("Reply-To"), "<>")): "",
	} {
		err := mailtest.LMTP("unix", socket, "x@example.test", mailtest.Text("hello"), addr)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("mail to %s: %v, want %q", addr, err, want)
		}
	}
}

// shortDir is a folder for a socket, whose path must be short, that everybody may
// enter.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bk")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{dovecot: mailtest.StartDovecot(t, mailtest.DovecotOptions{})}
	o.exim = mailtest.StartExim(t, mailtest.EximOptions{LMTP: o.dovecot.LMTPAddr})
	smtpHost, smtpPort, _ := net.SplitHostPort(o.exim.Addr)
	imapHost, imapPort, _ := net.SplitHostPort(o.dovecot.IMAPAddr)
	o.yaml = fmt.Sprintf(mailYAML, filepath.Join(t.TempDir(), "beckon.db"), smtpHost, smtpPort, imapHost, imapPort)
	o.process = start(t, parse(t, o.yaml))
	return o
}

// mails waits until a person has n mails, and returns them parsed, oldest first.
func (o *office) mails(user string, n int) []*mail.Message {
	o.t.Helper()
	var out []*mail.Message
	err := mailtest.Eventually(func() error {
		out = nil
		all := o.dovecot.Mails(user, "INBOX")
		for _, m := range all {
			parsed, err := mail.ReadMessage(bytes.NewReader(m.Raw))
			if err != nil {
				return err
			}
			out = append(out, parsed)
		}
		if len(out) < n {
			return fmt.Errorf("%s has %d mails, want %d", user, len(out), n)
		}
		return nil
	})
	if err != nil {
		o.t.Fatalf("%v\nexim:\n%s", err, o.exim.Log())
	}
	return out
}

// reply answers a mail as a phone does.
func (o *office) reply(from string, m *mail.Message, text string, headers ...string) {
	o.t.Helper()
	to, err := mail.ParseAddress(m.Header.Get("Reply-To"))
	if err != nil {
		o.t.Fatalf("reply-to: %v", err)
	}
	raw := strings.Join(append([]string{
		"From: <" + from + ">", "To: <" + to.Address + ">", "Subject: Re: " + m.Header.Get("Subject"),
		"Message-ID: <" + fmt.Sprint(time.Now().UnixNano()) + "@phone.test>", "In-Reply-To: " + m.Header.Get("Message-ID"),
		"Date: " + time.Now().Format(time.RFC1123Z), "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
	}, headers...), "\r\n") + "\r\n\r\n" + strings.ReplaceAll(text, "\n", "\r\n")
	if err := smtp.SendMail(o.exim.Addr, nil, from, []string{to.Address}, []byte(raw)); err != nil {
		o.t.Fatalf("send a reply: %v", err)
	}
}

// plain is the text part of a mail.
func plain(t testing.TB, m *mail.Message) string {
	t.Helper()
	b, err := io.ReadAll(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	i := strings.Index(s, "text/plain")
	if i < 0 {
		t.Fatalf("no text part in:\n%s", s)
	}
	_, s, _ = strings.Cut(s[i:], "\r\n\r\n")
	s, _, _ = strings.Cut(s, "\r\n--")
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(s)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// response waits for an agent's answer.
func (o *office) response(id string) (resolution, value, comment string) {
	o.t.Helper()
	status, b := o.do("GET", "/v1/messages/"+id+"?wait=30", botToken, "")
	var m struct {
		Status   string
		Response struct {
			Response struct{ Value, Comment, Actor string }
		}
	}
	if status != http.StatusOK || json.Unmarshal(b, &m) != nil {
		o.t.Fatalf("read: %d %s", status, b)
	}
	return m.Status + " by " + m.Response.Response.Actor, m.Response.Response.Value, m.Response.Response.Comment
}

// The main job by mail, over a real MTA and a real mailbox: submit, mail, reply,
// answer, confirmation.
func TestAnswerByMail(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.submit(envelope("k1", nil))
	asked := o.mails("alice", 1)[0]
	if text := plain(t, asked); !strings.Contains(text, "1. Ship to prod now") || !strings.Contains(text, "2. Hold for review") {
		t.Errorf("the mail says:\n%s", text)
	}

	// Somebody else with the same token, first, and then nonsense.
	o.reply("eve@example.test", asked, "1\n")
	doubt := plain(t, o.mails("alice", 2)[1])
	if !strings.Contains(doubt, "another address") || !strings.Contains(doubt, "not recorded") {
		t.Errorf("doubt:\n%s", doubt)
	}
	o.reply("alice@example.test", asked, "What does it do?\n")
	if help := plain(t, o.mails("alice", 3)[2]); !strings.Contains(help, "couldn't read that as one of the choices") {
		t.Errorf("help:\n%s", help)
	}
	if _, b := o.do("GET", "/v1/messages/"+id, botToken, ""); !bytes.Contains(b, []byte(`"status":"open"`)) {
		t.Errorf("the ask is not open any more: %s", b)
	}

	o.reply("Alice@Example.TEST", asked, "2\n\nLet's get a human eye on it.\n\nSent from my phone\n\nOn Tue, 1 Dec 2026, Beckon wrote:\n> 1. Ship to prod now\n")
	resolution, value, comment := o.response(id)
	if resolution != "answered by human:alice" || value != "hold" || comment != "Let's get a human eye on it." {
		t.Errorf("got %s %q %q", resolution, value, comment)
	}
	recorded := o.mails("alice", 4)[3]
	if text := plain(t, recorded); !strings.HasPrefix(text, "Recorded: Hold for review.") {
		t.Errorf("confirmation:\n%s", text)
	}
	if refs := recorded.Header.Get("References"); !strings.Contains(refs, asked.Header.Get("Message-ID")) {
		t.Errorf("the confirmation is in another thread: %s", refs)
	}
	bob := o.mails("bob", 2)
	if text := plain(t, bob[1]); !strings.Contains(text, "Alice Ng answered Hold for review") {
		t.Errorf("bob reads:\n%s", text)
	}
	o.reply("bob@example.test", bob[0], "1\n")
	if text := plain(t, o.mails("bob", 3)[2]); !strings.Contains(text, "Alice Ng answered Hold for review") {
		t.Errorf("late:\n%s", text)
	}
	if _, again, _ := o.response(id); again != "hold" {
		t.Errorf("the answer is %q now", again)
	}
	var in struct {
		Inbound []struct {
			Channel, Account string
			Raw              []byte
		}
	}
	if status, b := o.do("GET", "/admin/v1/messages/"+id+"/inbound", opsToken, ""); status != http.StatusOK || json.Unmarshal(b, &in) != nil || len(in.Inbound) != 4 ||
		!bytes.Contains(in.Inbound[0].Raw, []byte("From: <eve@example.test>")) || in.Inbound[0].Account != "hub@example.test" {
		t.Errorf("what came in: %d %s", status, b)
	}
	o.folder("Processed", 3)
	o.folder("Rejected", 1)
	o.folder("INBOX", 0)
}

// An empty reply of Outlook's, which quotes the mail without any mark and not as
// its text part has it, is no answer, not even to a question that takes any text.
func TestEmptyReplyByOutlook(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.submit(envelope("k1", func(m map[string]any) {
		m["request"] = map[string]any{"mode": "input", "schema": map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
		}}
	}))
	asked := o.mails("alice", 1)[0]
	quote := regexp.MustCompile(`(?m)^Or open the page: (\S+)\r?$`).ReplaceAllString(plain(t, asked), "Or open the page<${1}>")
	o.reply("alice@example.test", asked, "\n\n________________________________\nFrom: Beckon <hub@example.test>\nSent: Tuesday, December 1, 2026 7:20:20 PM\n"+
		"To: Alice Ng <alice@example.test>\nSubject: "+asked.Header.Get("Subject")+"\n\n"+strings.ReplaceAll(quote, "-- reply above this line --", ""))
	if help := plain(t, o.mails("alice", 2)[1]); !strings.Contains(help, "Nothing has been recorded") {
		t.Errorf("help:\n%s", help)
	}
	o.reply("alice@example.test", asked, "Falcon\n")
	if status, value := o.form(id); status != "answered" || value != `{"name":"Falcon"}` {
		t.Errorf("got %s %s", status, value)
	}
}

// form waits for a form's answer.
func (o *office) form(id string) (status, value string) {
	o.t.Helper()
	_, b := o.do("GET", "/v1/messages/"+id+"?wait=30", botToken, "")
	var m struct {
		Status   string
		Response struct {
			Response struct{ Value json.RawMessage }
		}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		o.t.Fatal(err)
	}
	return m.Status, string(m.Response.Response.Value)
}

// folder waits until a folder of the hub's mailbox has n mails.
func (o *office) folder(name string, n int) {
	o.t.Helper()
	err := mailtest.Eventually(func() error {
		if got := len(o.dovecot.Mails("hub", name)); got != n {
			return fmt.Errorf("folder %s has %d mails, want %d", name, got, n)
		}
		return nil
	})
	if err != nil {
		o.t.Error(err)
	}
}

// A bounce from a real MTA shows on the message and moves on to the next target.
func TestBouncedMail(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.submit(envelope("k1", func(m map[string]any) { m["tags"] = []string{"ghost"} }))
	asked := o.mails("bob", 1)[0] // due in an hour, but for the bounce
	status, b := o.do("GET", "/admin/v1/messages/"+id+"/events", opsToken, "")
	if status != http.StatusOK || !bytes.Contains(b, []byte(`"bounced"`)) {
		t.Errorf("history: %d %s", status, b)
	}
	o.reply("bob@example.test", asked, "ship\n")
	if resolution, value, _ := o.response(id); resolution != "answered by human:bob" || value != "ship" {
		t.Errorf("got %s %q", resolution, value)
	}
}
