package fakemail_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	gomail "github.com/wneessen/go-mail"
	"go.uber.org/goleak"

	"beckon/channels/email/fakemail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	alice = "alice@phone.test"
	token = "hub+qk7m2x4c9v1p8s3tdz5w@hub.test"
	verp  = "hub+b.q101.r7.9f3c2a@hub.test"
	self  = "hub@hub.test"
)

// start makes a world with Alice and Sam in it.
func start(t *testing.T, o fakemail.Options) *fakemail.Server {
	t.Helper()
	if o.People == nil {
		o.People = []fakemail.Person{
			{Name: "Alice Ng", Address: alice, Zone: time.FixedZone("SGT", 8*3600)},
			{Name: "Sam Mate", Address: "sam@phone.test"},
		}
	}
	s, err := fakemail.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// question is a mail as the hub sends one; change alters it.
func question(t *testing.T, change ...func(*gomail.Msg)) *gomail.Msg {
	t.Helper()
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	for _, err := range []error{
		m.EnvelopeFrom(verp), m.FromFormat("deploybot (via Beckon)", self), m.AddToFormat("Alice Ng", alice), m.ReplyToFormat("deploybot", token),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m.Subject("[Q-7F3K2M] Ship web-app 2.3 to production?")
	m.SetDate()
	m.SetMessageIDWithValue("q-101.r-alice.1@hub.test")
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(gomail.TypeTextPlain, golden(t, "ask-select.txt"))
	m.AddAlternativeString(gomail.TypeTextHTML, golden(t, "ask-select.html"))
	for _, f := range change {
		f(m)
	}
	return m
}

// golden is a mail that the hub would send.
func golden(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "templates", "testdata", "email", name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.HasSuffix(name, ".txt") {
		_, text, _ = strings.Cut(text, "\n\n") // the subject
	}
	return text
}

// send sends by go-mail, as the hub does.
func send(t *testing.T, s *fakemail.Server, m *gomail.Msg) {
	t.Helper()
	if err := deliver(t.Context(), s.Addr(), m); err != nil {
		t.Fatal(err)
	}
}

func deliver(ctx context.Context, addr string, m *gomail.Msg) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return err
	}
	c, err := gomail.NewClient(host, gomail.WithPort(n), gomail.WithTLSPolicy(gomail.NoTLS))
	if err != nil {
		return err
	}
	return c.DialAndSendWithContext(ctx, m)
}

// sent sends the question and returns it as it lies in Alice's mailbox.
func sent(t *testing.T, s *fakemail.Server, change ...func(*gomail.Msg)) fakemail.Mail {
	t.Helper()
	send(t, s, question(t, change...))
	m, err := s.WaitFor(within(t), func(m fakemail.Mail) bool { return m.Person == alice })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var errTemporary = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try later"}

// taken is a mail that the hub's server took, one for each recipient.
type taken struct {
	from, to string
	raw      []byte
}

// hub is the receiving server of a hub: it knows a few addresses.
type hub struct {
	mu    sync.Mutex
	mails []taken
	got   func(taken) error // what is said to each recipient, with LMTP
}

func (h *hub) all() []taken {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]taken(nil), h.mails...)
}

type hubSession struct {
	h    *hub
	from string
	to   []string
}

func (c *hubSession) Mail(from string, _ *smtp.MailOptions) error { c.from = from; return nil }

func (c *hubSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	switch to {
	case token, verp, self:
		c.to = append(c.to, to)
		return nil
	}
	return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such address here"}
}

func (c *hubSession) each(r io.Reader, said func(string, error)) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for _, to := range c.to {
		t := taken{c.from, to, raw}
		err := error(nil)
		if c.h.got != nil {
			err = c.h.got(t)
		}
		if err == nil {
			c.h.mu.Lock()
			c.h.mails = append(c.h.mails, t)
			c.h.mu.Unlock()
		}
		said(to, err)
	}
	return nil
}

func (c *hubSession) Data(r io.Reader) error {
	var errs []error
	err := c.each(r, func(_ string, err error) { errs = append(errs, err) })
	return errors.Join(append(errs, err)...)
}

func (c *hubSession) LMTPData(r io.Reader, s smtp.StatusCollector) error {
	return c.each(r, s.SetStatus)
}

func (c *hubSession) Reset()        { *c = hubSession{h: c.h} }
func (c *hubSession) Logout() error { return nil }

// startHub serves LMTP or SMTP at a port or a Unix socket.
func startHub(t *testing.T, network string, lmtp bool, got func(taken) error) (*hub, string) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "hub") // t.TempDir can be too long for a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		addr = filepath.Join(dir, "lmtp.sock")
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{got: got}
	srv := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &hubSession{h: h}, nil }))
	srv.Domain, srv.LMTP = "mx.hub.test", lmtp
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("end the hub's server: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("the hub's server: %v", err)
		}
	})
	return h, l.Addr().String()
}
