package listener_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"beckon/channels/email/listener"
	"beckon/channels/email/mailtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hub stands for what knows addresses and takes mail.
type hub struct {
	mu     sync.Mutex
	mails  []listener.Mail
	calls  int
	handle func(ctx context.Context, m listener.Mail) error // nil: it is taken
	accept func(rcpt string) (bool, error)                  // nil: hub@example.test, with and without a detail
}

func (h *hub) hooks(t testing.TB) listener.Hooks {
	return listener.Hooks{
		Accept: func(_ context.Context, rcpt string) (bool, error) {
			h.mu.Lock()
			accept := h.accept
			h.mu.Unlock()
			if accept != nil {
				return accept(rcpt)
			}
			local, domain, _ := strings.Cut(strings.ToLower(rcpt), "@")
			user, _, _ := strings.Cut(local, "+")
			return user == "hub" && domain == mailtest.Domain, nil
		},
		Handle: func(ctx context.Context, m listener.Mail) error {
			h.mu.Lock()
			h.calls++
			handle := h.handle
			h.mu.Unlock()
			if handle != nil {
				if err := handle(ctx, m); err != nil {
					return err
				}
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.mails = append(h.mails, m)
			return nil
		},
		Log: slog.New(slog.NewTextHandler(logTo{t}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// logTo writes a log that shows when a test fails.
type logTo struct{ testing.TB }

func (w logTo) Write(p []byte) (int, error) {
	w.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (h *hub) taken() []listener.Mail {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mails)
}

func (h *hub) called() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

// wait waits for n mails.
func (h *hub) wait(t *testing.T, n int) []listener.Mail {
	t.Helper()
	var got []listener.Mail
	err := mailtest.Eventually(func() error {
		if got = h.taken(); len(got) != n {
			return fmt.Errorf("%d mails were taken, want %d", len(got), n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// running is a listener that runs.
type running struct {
	*listener.Listener
	network, addr string
	stop          func() // waits for its end; may be called twice
}

// run runs a listener until the test ends, or stop is called.
func run(t *testing.T, conf listener.Config, h *hub) running {
	t.Helper()
	if conf.Addr == "" {
		conf.Addr = "127.0.0.1:0"
	}
	l, err := listener.New(conf, h.hooks(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	t.Cleanup(stop)
	r := running{Listener: l, network: "tcp", stop: stop}
	if strings.HasPrefix(conf.Addr, "/") {
		r.network = "unix"
	}
	err = mailtest.Eventually(func() error {
		if r.addr = l.Addr(); r.addr == "" {
			_, problem := l.Alive()
			return errors.New(problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// client speaks line by line.
type client struct {
	t *testing.T
	net.Conn
	text *textproto.Reader
}

// dial connects and reads the greeting.
func (r running) dial(t *testing.T) *client {
	t.Helper()
	conn, err := net.Dial(r.network, r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{t, conn, textproto.NewReader(bufio.NewReader(conn))}
}

// reads reads a reply and fails the test if it does not begin like this.
func (c *client) reads(want string) string {
	c.t.Helper()
	code, text, err := c.text.ReadResponse(0)
	if got := fmt.Sprint(code, " ", text); err != nil || !strings.HasPrefix(got, want) {
		c.t.Fatalf("the reply is %q, %v; want %s", got, err, want)
	}
	return text
}

// says sends a line and reads the reply.
func (c *client) says(line, want string) string {
	c.t.Helper()
	if _, err := c.Write([]byte(line + "\r\n")); err != nil {
		c.t.Fatal(err)
	}
	return c.reads(want)
}

// begin greets.
func (r running) begin(t *testing.T) *client {
	t.Helper()
	c := r.dial(t)
	c.reads("220 beckon LMTP")
	c.says("LHLO mx.example.test", "250")
	return c
}

func TestConversation(t *testing.T) {
	t.Parallel()
	h := new(hub)
	r := run(t, listener.Config{MaxSize: 5000, MaxRecipients: 3}, h)
	c := r.dial(t)
	c.reads("220 beckon LMTP")
	c.says("EHLO mx", "500")
	c.says("MAIL FROM:<alice@example.test>", "502")
	can := strings.Split(c.says("LHLO mx.example.test", "250"), "\n")
	for _, want := range []string{"8BITMIME", "SMTPUTF8", "SIZE 5000", "PIPELINING", "ENHANCEDSTATUSCODES"} {
		if !slices.Contains(can, want) {
			t.Errorf("it does not say %s: %q", want, can)
		}
	}
	for _, cap := range can {
		if strings.HasPrefix(cap, "AUTH") || cap == "STARTTLS" {
			t.Errorf("it says %s", cap)
		}
	}
	c.says("AUTH PLAIN AGEAYg==", "5")
	c.says("RCPT TO:<hub@example.test>", "502")
	c.says("MAIL FROM:<alice@example.test> SIZE=6000", "552 5.3.4")
	c.says("MAIL FROM:<alice@example.test> BODY=8BITMIME SMTPUTF8", "250")
	c.says("RCPT TO:<stranger@example.test>", "550 5.1.1 no such address here")
	c.says("RCPT TO:<hub@elsewhere.test>", "550 5.1.1")
	c.says("RCPT TO:<postmaster>", "550 5.1.1")
	c.says("DATA", "502") // nobody to take it
	c.says("RCPT TO:<HUB+Q.Token@example.test>", "250")
	c.says("RCPT TO:<stranger@example.test>", "550")
	c.says("RCPT TO:<hub@example.test>", "250")
	c.says("RCPT TO:<hub@example.test>", "250")
	c.says("RCPT TO:<hub+d@example.test>", "452 4.5.3")
	c.says("DATA", "354")
	c.says("From: Ålice <alice@example.test>\r\n\r\nHällo\r\n..dot\r\n.", "250 2.0.0 <HUB+Q.Token@example.test>")
	c.reads("250 2.0.0 <hub@example.test>")
	c.reads("250 2.0.0 <hub@example.test>")

	// Another one, of the null sender, in the same connection.
	c.says("MAIL FROM:<>", "250")
	c.says("RCPT TO:<hub+b.7@example.test>", "250")
	c.says("RSET", "250")
	c.says("MAIL FROM:<>", "250")
	c.says("RCPT TO:<hub+b.8@example.test>", "250")
	c.says("DATA", "354")
	c.says("Subject: failed\r\n\r\n.", "250")
	c.says("QUIT", "221")

	got := h.taken()
	if len(got) != 2 {
		t.Fatalf("%d mails", len(got))
	}
	m := got[0]
	if m.From != "alice@example.test" || !slices.Equal(m.To, []string{"HUB+Q.Token@example.test", "hub@example.test"}) ||
		m.Helo != "mx.example.test" || !strings.HasPrefix(m.Peer, "127.0.0.1:") || time.Since(m.At) > time.Minute {
		t.Errorf("the envelope: %+v", m)
	}
	if want := "Return-Path: <alice@example.test>\r\nDelivered-To: HUB+Q.Token@example.test\r\nDelivered-To: hub@example.test\r\n" +
		"From: Ålice <alice@example.test>\r\n\r\nHällo\r\n.dot\r\n"; string(m.Raw) != want {
		t.Errorf("the mail is %q, want %q", m.Raw, want)
	}
	if m := got[1]; m.From != "" || !slices.Equal(m.To, []string{"hub+b.8@example.test"}) || !strings.HasPrefix(string(m.Raw), "Return-Path: <>\r\n") {
		t.Errorf("the bounce: %+v", m)
	}
}

// What the handler says is what the mail server is told.
func TestReplies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3000)
	for name, tc := range map[string]struct {
		accept func(string) (bool, error)
		handle func(context.Context, listener.Mail) error
		body   string
		rcpt   string
		data   string
		calls  int
	}{
		"taken":    {rcpt: "250", data: "250 2.0.0", calls: 1},
		"error":    {handle: func(context.Context, listener.Mail) error { return errors.New("secret of the database") }, rcpt: "250", data: "451 4.3.0 <hub@example.test> can't take the mail now", calls: 1},
		"panic":    {handle: func(context.Context, listener.Mail) error { panic("oh") }, rcpt: "250", data: "451 4.3.0", calls: 1},
		"too slow": {handle: func(ctx context.Context, _ listener.Mail) error { <-ctx.Done(); return ctx.Err() }, rcpt: "250", data: "451 4.3.0", calls: 1},
		"refused": {handle: func(context.Context, listener.Mail) error {
			return fmt.Errorf("x: %w", &listener.Refusal{Msg: "not this\r\n250 one\x00 é"})
		}, rcpt: "250", data: "554 5.6.0 <hub@example.test> not this 250 one", calls: 1},
		"not known":      {accept: func(string) (bool, error) { return false, nil }, rcpt: "550 5.1.1"},
		"look-up":        {accept: func(string) (bool, error) { return false, errors.New("secret of the database") }, rcpt: "451 4.3.0"},
		"look-up panics": {accept: func(string) (bool, error) { panic("oh") }, rcpt: "451 4.3.0"},
		"too big":        {body: strings.Repeat("short line\r\n", 1000), rcpt: "250", data: "552 5.3.4"},
		"long line":      {body: long, rcpt: "250", data: "554 5.6.0 <hub@example.test> a line of the mail is longer than 2000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hub{handle: tc.handle, accept: tc.accept}
			r := run(t, listener.Config{MaxSize: 5000, MaxLine: 2000, Handle: 100 * time.Millisecond}, h)
			c := r.begin(t)
			c.says("MAIL FROM:<alice@example.test>", "250")
			reply := c.says("RCPT TO:<hub@example.test>", tc.rcpt)
			if tc.data != "" {
				c.says("DATA", "354")
				reply = c.says("Subject: x\r\n\r\n"+tc.body+"\r\n.", tc.data)
			}
			if strings.Contains(reply, "secret") {
				t.Errorf("the reply tells too much: %q", reply)
			}
			if n := h.called(); n != tc.calls {
				t.Errorf("the handler was called %d times, want %d", n, tc.calls)
			}
			if taken := len(h.taken()); (taken == 1) != (name == "taken") {
				t.Errorf("%d mails were taken", taken)
			}
			if name != "long line" {
				c.says("NOOP", "250") // the connection goes on
			}
		})
	}
}

// A mail that does not come in whole is never handled.
func TestMailIsCutShort(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(c *client){
		"data": func(c *client) {
			c.says("DATA", "354")
			fmt.Fprint(c, "Subject: x\r\n\r\nApprove\r\n")
		},
		"a dot that is not alone": func(c *client) {
			c.says("DATA", "354")
			fmt.Fprint(c, "Subject: x\r\n\r\nApprove\r\n.\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := new(hub)
			r := run(t, listener.Config{}, h)
			c := r.begin(t)
			c.says("MAIL FROM:<alice@example.test>", "250")
			c.says("RCPT TO:<hub@example.test>", "250")
			send(c)
			c.Close()
			r.stop() // waits for its connections
			if n := h.called(); n != 0 {
				t.Errorf("the handler was called %d times", n)
			}
		})
	}
}

// Chunks are not offered, and whoever sends them all the same is told so.
func TestChunks(t *testing.T) {
	t.Parallel()
	h := new(hub)
	r := run(t, listener.Config{}, h)
	c := r.dial(t)
	c.reads("220")
	if can := c.says("LHLO mx.example.test", "250"); strings.Contains(can, "CHUNKING") {
		t.Errorf("it offers chunks: %q", can)
	}
	c.says("MAIL FROM:<alice@example.test>", "250")
	c.says("RCPT TO:<hub@example.test>", "250")
	c.says("RCPT TO:<hub+b.1@example.test>", "250")
	fmt.Fprint(c, "BDAT 14 LAST\r\nSubject: x\r\n\r\n")
	c.reads("502 5.5.1 <hub@example.test> BDAT is not offered here")
	c.reads("502 5.5.1 <hub+b.1@example.test>")
	c.says("QUIT", "221")
	if n := h.called(); n != 0 {
		t.Errorf("the handler was called %d times", n)
	}
}

func TestSMTP(t *testing.T) {
	t.Parallel()
	h := new(hub)
	r := run(t, listener.Config{Protocol: listener.SMTP, Name: "mail.example.test"}, h)
	c := r.dial(t)
	c.reads("220 mail.example.test ESMTP")
	c.says("EHLO mx", "250")
	c.says("MAIL FROM:<alice@example.test>", "250")
	c.says("RCPT TO:<hub@example.test>", "250")
	c.says("RCPT TO:<hub+b.1@example.test>", "250")
	c.says("DATA", "354")
	c.says("Subject: x\r\n\r\n.", "250")
	h.mu.Lock()
	h.handle = func(context.Context, listener.Mail) error { return errors.New("not now") }
	h.mu.Unlock()
	c.says("MAIL FROM:<alice@example.test>", "250")
	c.says("RCPT TO:<hub@example.test>", "250")
	c.says("DATA", "354")
	c.says("Subject: x\r\n\r\n.", "451 4.3.0")
	if got := h.taken(); len(got) != 1 || len(got[0].To) != 2 {
		t.Errorf("mails %+v", got)
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	h := new(hub)
	r := run(t, listener.Config{MaxConnections: 2}, h)
	first, second := r.begin(t), r.begin(t)
	r.dial(t).reads("421 4.3.2 too many connections")
	second.says("QUIT", "221")
	err := mailtest.Eventually(func() error {
		conn, err := net.Dial(r.network, r.addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && !strings.HasPrefix(line, "220") {
			err = errors.New(line)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	first.says("NOOP", "250")
}

// Whoever says nothing, or stops in the middle, is hung up on.
func TestSilence(t *testing.T) {
	t.Parallel()
	h := new(hub)
	r := run(t, listener.Config{Idle: 200 * time.Millisecond}, h)
	c := r.begin(t)
	c.reads("421 4.4.2")
	c = r.begin(t)
	c.says("MAIL FROM:<alice@example.test>", "250")
	c.says("RCPT TO:<hub@example.test>", "250")
	c.says("DATA", "354")
	fmt.Fprint(c, "Subject: x\r\n\r\nApprove")
	c.reads("451 4.3.0 <hub@example.test> the mail did not come in whole")
	if n := h.called(); n != 0 {
		t.Errorf("the handler was called %d times", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := new(hub)
	r := run(t, listener.Config{}, h)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for j := range 5 {
				raw := mailtest.Text("Approve", fmt.Sprintf("Subject: %d.%d", i, j))
				if err := mailtest.LMTP(r.network, r.addr, "alice@example.test", raw, "hub@example.test", "hub+x@example.test"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(h.taken()); n != 100 {
		t.Errorf("%d mails were taken, want 100", n)
	}
}
