package fakemail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Options say what a [Server] is. The zero value takes mail for anybody and
// has nobody to hand replies to.
type Options struct {
	People []Person // who has a mailbox from the start; others get one with their first mail

	// Hub is where what people write goes: host:port, or the path of a Unix
	// socket. It may also be set later, with SetHub.
	Hub     string
	HubSMTP bool // the hub speaks SMTP there, otherwise LMTP

	// HubHost is the host of the hub's own addresses. Mail to it that comes to
	// the mail server of everybody, as when the hub writes to itself, goes on to
	// the hub.
	HubHost string

	Listen string // for mail to people; 127.0.0.1 and a free port if empty

	// AuthservID is the name of the hub's receiving server (RFC 8601 section
	// 2.5). If set, what goes to the hub carries an Authentication-Results of it.
	AuthservID string

	MaxMails int // in a mailbox, 500 if zero; the oldest goes first
	MaxBytes int // in all mailboxes together, 64 MiB if zero
}

// Person is somebody with a mailbox.
type Person struct {
	Name    string
	Address string
	Zone    *time.Location // of the phone, UTC if nil
}

// maxMail bounds one mail, in bytes. Providers take 20 to 35 MB.
const maxMail = 25 << 20

// Server is one world of mail. Its methods may be called from any goroutine.
type Server struct {
	opts     Options
	listener *connListener
	smtp     *smtp.Server
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced on every change
	hub     string
	boxes   map[string]*box
	order   []string // keys of boxes, as they came
	bytes   int
	lastID  int
}

// box is one person's mailbox.
type box struct {
	Person
	mails  []*Mail
	unread map[string]bool // by mail
	news   int             // counts what changed
}

// New starts the mail server of everybody. Close ends it.
func New(o Options) (*Server, error) {
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:0")
	o.MaxMails = cmp.Or(o.MaxMails, 500)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	s := &Server{opts: o, changed: make(chan struct{}), hub: o.Hub, boxes: map[string]*box{}}
	for _, p := range o.People {
		if _, err := mail.ParseAddress(p.Address); err != nil {
			return nil, fmt.Errorf("fakemail: the address %q of %s: %w", p.Address, p.Name, err)
		}
		s.box(p.Address).Person = withDefaults(p)
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("fakemail: listen: %w", err)
	}
	s.listener = newConnListener(l)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{s: s}, nil }))
	s.smtp.Domain = "mail.test"
	s.smtp.MaxMessageBytes = maxMail
	s.smtp.MaxRecipients = 100
	s.smtp.AllowInsecureAuth = true
	s.smtp.EnableSMTPUTF8 = true
	s.smtp.EnableDSN = true
	s.smtp.ReadTimeout, s.smtp.WriteTimeout = 5*time.Minute, time.Minute
	s.smtp.ErrorLog = log.New(io.Discard, "", 0)
	s.wg.Go(func() { _ = s.smtp.Serve(s.listener) })
	return s, nil
}

func withDefaults(p Person) Person {
	p.Address = key(p.Address)
	p.Name = cmp.Or(p.Name, p.Address)
	if p.Zone == nil {
		p.Zone = time.UTC
	}
	return p
}

// Close ends every connection and waits for all goroutines. Streams of the page
// end too, so that the HTTP server can be shut down after it.
func (s *Server) Close() error {
	s.cancel()
	ended := make(chan error, 1)
	s.wg.Go(func() { ended <- s.smtp.Shutdown(context.Background()) })
	err := s.listener.end()
	err = errors.Join(err, <-ended)
	s.wg.Wait()
	if errors.Is(err, net.ErrClosed) || errors.Is(err, smtp.ErrServerClosed) {
		return nil
	}
	return err
}

// Addr is where the mail server takes mail: host:port, plain SMTP.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// SetHub says where replies go from now on; see [Options.Hub].
func (s *Server) SetHub(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub = addr
}

// key is what an address is known by: here, upper and lower case are the same.
func key(address string) string { return strings.ToLower(strings.TrimSpace(address)) }

// box finds a mailbox or makes it; s.mu is held, or nobody else has s yet.
func (s *Server) box(address string) *box {
	k := key(address)
	b := s.boxes[k]
	if b == nil {
		b = &box{Person: withDefaults(Person{Address: k}), unread: map[string]bool{}}
		s.boxes[k] = b
		s.order = append(s.order, k)
	}
	return b
}

// keep puts a mail into a person's mailbox and throws out what is too much.
func (s *Server) keep(address string, m *Mail) Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.box(address)
	s.lastID++
	m.ID, m.Person = "m"+strconv.Itoa(s.lastID), b.Address
	// What the hub answers may be here before what it answers is kept.
	at := len(b.mails)
	for at > 0 && b.mails[at-1].At.After(m.At) {
		at--
	}
	b.mails = slices.Insert(b.mails, at, m)
	s.bytes += len(m.Raw)
	if !m.Sent {
		b.unread[m.ID] = true
	}
	b.news++
	for len(b.mails) > s.opts.MaxMails {
		s.drop(b)
	}
	for s.bytes > s.opts.MaxBytes {
		if oldest := s.oldest(m); oldest != nil {
			s.drop(oldest)
			continue
		}
		break // it alone is more than all may be
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return *m
}

// drop throws out the oldest mail of a mailbox; s.mu is held.
func (s *Server) drop(b *box) {
	s.bytes -= len(b.mails[0].Raw)
	delete(b.unread, b.mails[0].ID)
	b.mails = slices.Delete(b.mails, 0, 1)
	b.news++
}

// oldest finds the mailbox with the oldest mail but for one; s.mu is held.
func (s *Server) oldest(but *Mail) *box {
	var found *box
	for _, k := range s.order {
		b := s.boxes[k]
		if len(b.mails) == 0 || b.mails[0] == but {
			continue
		}
		if found == nil || b.mails[0].At.Before(found.mails[0].At) {
			found = b
		}
	}
	return found
}

// Mails lists what a person got and sent, oldest first.
func (s *Server) Mails(address string) []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[key(address)]
	if b == nil {
		return nil
	}
	out := make([]Mail, 0, len(b.mails))
	for _, m := range b.mails {
		out = append(out, *m)
	}
	return out
}

// WaitFor waits until somebody has got a mail that want accepts, and returns the
// first such. It runs under the server's lock: want must not call the server.
func (s *Server) WaitFor(ctx context.Context, want func(Mail) bool) (Mail, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		for _, k := range s.order {
			for _, m := range s.boxes[k].mails {
				if !m.Sent && want(*m) {
					got := *m
					s.mu.Unlock()
					return got, nil
				}
			}
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return Mail{}, fmt.Errorf("fakemail: wait for a mail: %w", context.Cause(ctx))
		case <-s.ctx.Done():
			return Mail{}, errors.New("fakemail: wait for a mail: the server is closed")
		case <-changed:
		}
	}
}

// connListener knows its open connections, so that they can be ended. The SMTP
// server closes them as well but does not wait for whoever serves them.
type connListener struct {
	net.Listener
	mu    sync.Mutex
	conns map[*trackedConn]bool // nil once it ended
}

type trackedConn struct {
	net.Conn
	l *connListener
}

func newConnListener(l net.Listener) *connListener {
	return &connListener{Listener: l, conns: map[*trackedConn]bool{}}
}

func (l *connListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := &trackedConn{c, l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	l.conns[t] = true
	return t, nil
}

func (c *trackedConn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// end closes the listener and every connection.
func (l *connListener) end() error {
	l.mu.Lock()
	open := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close()
	}
	return l.Close()
}
