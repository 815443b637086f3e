package email

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"beckon/hub"

	gosmtp "github.com/wneessen/go-mail/smtp"
)

const (
	// sendTimeout bounds one mail when the caller sets no earlier end.
	sendTimeout = time.Minute
	// dialTimeout bounds what comes before the first mail: the connection, TLS and
	// the login. It leaves time for the mail itself.
	dialTimeout = 15 * time.Second
	// maxConnections is how many mails go out at once: many servers allow no more
	// than a handful for one account.
	maxConnections = 4
	// maxIdle is how long a connection is kept that nobody needs, and maxReuse for
	// how many mails: servers close it after some minutes, or some fifty.
	maxIdle  = 20 * time.Second
	maxReuse = 40
	// freshFor is how long a connection is trusted without asking whether it still is
	// one.
	freshFor    = 2 * time.Second
	quitTimeout = time.Second
)

// tokenSource gives access tokens for XOAUTH2.
type tokenSource interface {
	Token(ctx context.Context) (string, error)
}

// refuser is a [tokenSource] that wants to hear of a token that a server did not
// take, so that it asks for another.
type refuser interface{ Refused(token string) }

// mailer hands mail to the server. It keeps connections while [mailer.tend] runs,
// and closes each after its mail otherwise.
type mailer struct {
	conf   *smtpSection
	log    *slog.Logger
	oauth  bool           // sign in with access tokens
	tokens tokenSource    // where they come from
	roots  *x509.CertPool // nil: those of the system
	idleIn time.Duration
	slots  chan struct{} // holds a token for each connection in use

	mu     sync.Mutex
	idle   []*conn
	tended bool
}

func newMailer(conf *smtpSection, log *slog.Logger) *mailer {
	return &mailer{conf: conf, log: log, idleIn: maxIdle, slots: make(chan struct{}, maxConnections)}
}

// conn is one connection that has logged in.
type conn struct {
	raw  net.Conn // below TLS, for the deadlines
	smtp *gosmtp.Client
	used time.Time
	sent int
	old  bool // it was kept from an earlier mail
}

// outgoing is one mail on its way: to whom, and where bounces go.
type outgoing struct {
	from, to string
	data     []byte
	// begin is called when all that can be refused was taken, and the server is
	// about to be told DATA. Its error stops the mail.
	begin func(context.Context) error
}

// send hands one mail to the server and returns what it said. An error is a
// [*sendError], or the context's own.
func (m *mailer) send(ctx context.Context, o outgoing) (said string, err error) {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	for {
		c, err := m.take(ctx)
		if err != nil {
			return "", m.because(ctx, err)
		}
		said, err := m.transact(ctx, c, o)
		if err == nil {
			if ctx.Err() == nil {
				m.give(c)
			} else {
				m.close(c) // its deadline may be about to be set to the past
			}
			return said, nil
		}
		// A connection that was kept may be dead, or its server may have had
		// enough of it; the mail has not left.
		if e, ok := errors.AsType[*sendError](err); ok && c.old && e.stale() && ctx.Err() == nil {
			m.close(c)
			continue
		}
		if e, ok := errors.AsType[*sendError](err); ok && e.clean() && c.reset(ctx) {
			m.give(c)
		} else {
			m.close(c)
		}
		return "", m.because(ctx, err)
	}
}

// because says that the context ended, when that is why something failed.
func (m *mailer) because(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if e, ok := errors.AsType[*sendError](err); ok {
		if e.maybe && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return e
		}
		return fmt.Errorf("email: %s: %w", e.stage, ctx.Err())
	}
	return ctx.Err()
}

// transact is one mail transaction (RFC 5321 §3.3).
func (m *mailer) transact(ctx context.Context, c *conn, o outgoing) (string, error) {
	stop := c.limit(ctx, sendTimeout)
	defer stop()
	if size, err := strconv.Atoi(extension(c.smtp, "SIZE")); err == nil && size > 0 && len(o.data) > size { // RFC 1870
		return "", &sendError{stage: stageMail, code: 552, enhanced: "5.3.4", text: "the mail has " + strconv.Itoa(len(o.data)) + " bytes, and the server takes " + strconv.Itoa(size)}
	}
	utf8 := !isASCII(o.to) || !isASCII(o.from)
	if utf8 && !has(c.smtp, "SMTPUTF8") {
		return "", &sendError{stage: stageRcpt, code: 553, enhanced: "5.6.7", text: "the server does not take addresses with letters beyond ASCII (SMTPUTF8)"}
	}
	// Not asked for otherwise: a server further on that does not know it would
	// have to refuse the mail.
	c.smtp.SkipSMTPUTF8(!utf8)
	if err := c.smtp.Mail("<" + o.from + ">"); err != nil {
		return "", failed(stageMail, err)
	}
	if err := c.smtp.Rcpt("<" + o.to + ">"); err != nil {
		return "", failed(stageRcpt, err)
	}
	if err := o.begin(ctx); err != nil {
		return "", &sendError{stage: stageNote, err: err}
	}
	w, err := c.smtp.Data()
	if err != nil {
		return "", failed(stageData, err)
	}
	if _, err := w.Write(o.data); err != nil {
		// Without the dot at its end the server has no mail, but it may be on its
		// way already.
		e := failed(stageBody, err)
		e.maybe = true
		return "", e
	}
	if err := w.Close(); err != nil {
		e := failed(stageEnd, err)
		e.maybe = e.code == 0 // whatever the server said, it did not reach us
		return "", e
	}
	said := ""
	if d, ok := w.(*gosmtp.DataCloser); ok {
		said = d.ServerResponse()
	}
	c.used = time.Now()
	c.sent++
	return said, nil
}

// take returns a connection that is kept, or a new one.
func (m *mailer) take(ctx context.Context) (*conn, error) {
	for {
		m.mu.Lock()
		n := len(m.idle)
		if n == 0 {
			m.mu.Unlock()
			return m.dial(ctx)
		}
		c := m.idle[n-1]
		m.idle = m.idle[:n-1]
		m.mu.Unlock()
		c.old = true
		if time.Since(c.used) < freshFor || c.alive(ctx) {
			return c, nil
		}
		m.close(c)
	}
}

// give keeps a connection for the next mail.
func (m *mailer) give(c *conn) {
	m.mu.Lock()
	keep := m.tended && c.sent < maxReuse
	if keep {
		m.idle = append(m.idle, c)
	}
	m.mu.Unlock()
	if !keep {
		m.close(c)
	}
}

// close says good-bye. What that leads to is nobody's business: the mail is done.
func (m *mailer) close(c *conn) {
	_ = c.raw.SetDeadline(time.Now().Add(quitTimeout))
	_ = c.smtp.Quit()
	_ = c.raw.Close()
}

// tend closes what is not needed any more, until ctx ends; then all of it.
func (m *mailer) tend(ctx context.Context) error {
	m.mu.Lock()
	m.tended = true
	m.mu.Unlock()
	t := time.NewTicker(max(m.idleIn/4, 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			m.drop(func(c *conn) bool { return time.Since(c.used) >= m.idleIn })
		case <-ctx.Done():
			m.mu.Lock()
			m.tended = false
			m.mu.Unlock()
			m.drop(func(*conn) bool { return true })
			return nil
		}
	}
}

func (m *mailer) drop(which func(*conn) bool) {
	m.mu.Lock()
	var old []*conn
	m.idle = slices.DeleteFunc(m.idle, func(c *conn) bool {
		if which(c) {
			old = append(old, c)
			return true
		}
		return false
	})
	m.mu.Unlock()
	for _, c := range old {
		m.close(c)
	}
}

// limit ends what the connection waits for when ctx ends or time is up.
func (c *conn) limit(ctx context.Context, d time.Duration) (stop func()) {
	end := time.Now().Add(d)
	if t, ok := ctx.Deadline(); ok && t.Before(end) {
		end = t
	}
	_ = c.raw.SetDeadline(end)
	cancel := context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(time.Unix(1, 0)) })
	return func() { cancel() }
}

// alive asks whether the server is still there.
func (c *conn) alive(ctx context.Context) bool {
	stop := c.limit(ctx, dialTimeout)
	defer stop()
	return c.smtp.Noop() == nil
}

// reset gives up a transaction, so that the next can begin.
func (c *conn) reset(ctx context.Context) bool {
	stop := c.limit(ctx, quitTimeout)
	defer stop()
	return c.smtp.Reset() == nil
}

// dial opens a connection and logs in.
func (m *mailer) dial(ctx context.Context) (*conn, error) {
	c, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	stop := c.limit(ctx, dialTimeout)
	defer stop()
	if err := m.login(ctx, c); err != nil {
		_ = c.raw.Close()
		return nil, err
	}
	c.used = time.Now()
	return c, nil
}

// connect opens a connection that is private, as far as the config says.
func (m *mailer) connect(ctx context.Context) (*conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	addr := net.JoinHostPort(m.conf.Host, strconv.Itoa(int(m.conf.Port)))
	raw, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &sendError{stage: stageDial, err: err}
	}
	c := &conn{raw: raw}
	stop := c.limit(ctx, dialTimeout)
	defer stop()
	if err := m.greet(c); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

func (m *mailer) greet(c *conn) (err error) {
	conf := &tls.Config{ServerName: m.conf.Host, MinVersion: tls.VersionTLS12, RootCAs: m.roots}
	top := c.raw
	if m.conf.TLS == tlsWhole {
		secure := tls.Client(c.raw, conf)
		if err := secure.Handshake(); err != nil {
			return &sendError{stage: stageTLS, err: err}
		}
		top = secure
	}
	if c.smtp, err = gosmtp.NewClient(top, m.conf.Host); err != nil {
		return failed(stageDial, err)
	}
	if err := c.smtp.Hello(m.conf.Helo); err != nil {
		return failed(stageDial, err)
	}
	if m.conf.TLS != tlsStart {
		return nil
	}
	if !has(c.smtp, "STARTTLS") {
		return &sendError{stage: stageTLS, err: errNoStartTLS}
	}
	if err := c.smtp.StartTLS(conf); err != nil {
		if _, said := errors.AsType[*textproto.Error](err); said {
			return failed(stageTLS, err)
		}
		return &sendError{stage: stageTLS, err: err}
	}
	return nil
}

func extension(c *gosmtp.Client, name string) string {
	_, value := c.Extension(name)
	first, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	return first
}

func has(c *gosmtp.Client, name string) bool {
	ok, _ := c.Extension(name)
	return ok
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// temporary is what waits for better times.
func temporary(code, msg string, err error) *hub.DeliveryError {
	return &hub.DeliveryError{Code: code, Msg: msg, Err: err}
}

// permanent is what trying again does not mend.
func permanent(code, msg string) *hub.DeliveryError {
	return &hub.DeliveryError{Code: code, Msg: msg, Permanent: true}
}
