package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Listener takes mail. Make it with [New] and call Run.
type Listener struct {
	conf  Config
	hooks Hooks
	log   *slog.Logger

	mu      sync.Mutex
	addr    net.Addr // while it listens
	problem string
}

// New says what is wrong with the config, all of it; it listens to nothing yet.
func New(conf Config, hooks Hooks) (*Listener, error) {
	conf, err := conf.prepare()
	if err != nil {
		return nil, err
	}
	if hooks.Accept == nil || hooks.Handle == nil {
		return nil, errors.New("a mail listener needs Accept and Handle")
	}
	if hooks.Log == nil {
		hooks.Log = slog.Default()
	}
	return &Listener{conf: conf, hooks: hooks, log: hooks.Log.With("listener", conf.Addr), problem: "it does not listen yet"}, nil
}

// Addr returns where it listens, "" when it does not.
func (l *Listener) Addr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addr == nil {
		return ""
	}
	return l.addr.String()
}

// Alive returns now while it listens, since the mail server keeps what does not
// get through, and what is wrong else.
func (l *Listener) Alive() (last time.Time, problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addr != nil {
		last = time.Now()
	}
	return last, l.problem
}

func (l *Listener) state(addr net.Addr, problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addr, l.problem = addr, problem
}

// Run takes mail until ctx ends, and returns ctx's error, or why it can't
// listen. Mail that is being handled then may be finished, for [Config.Grace];
// whoever is in the middle of something is told to come again.
func (l *Listener) Run(ctx context.Context) error {
	ln, err := l.listen(ctx)
	if err != nil {
		err = fmt.Errorf("take mail at %s: %w", l.conf.Addr, err)
		l.state(nil, err.Error())
		return err
	}
	l.state(ln.Addr(), "")
	l.log.Info("mail is taken", "addr", ln.Addr().String(), "protocol", string(l.conf.Protocol))
	defer l.state(nil, "it does not listen any more")

	// Handlers live a little longer than ctx.
	handlers, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	conns := &conns{Listener: ln, most: l.conf.MaxConnections, open: make(map[*conn]struct{})}
	server := l.server(handlers)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(conns) }()
	select {
	case err = <-ended:
		err = fmt.Errorf("take mail at %s: %w", l.conf.Addr, err)
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.shutDown(server, conns, stop)
	if ctx.Err() != nil {
		<-ended
	}
	return err
}

// shutDown ends every connection: those that wait for a command at once, those
// whose mail is being handled when that is done, and all of them after a while.
func (l *Listener) shutDown(server *smtp.Server, conns *conns, stop context.CancelFunc) {
	conns.drain()
	grace, cancel := context.WithTimeout(context.Background(), l.conf.Grace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		l.log.Warn("mail is being handled and is cut off; it comes again", "err", err)
		stop()
	}
	conns.cut()
	conns.wg.Wait()
}

// server is the protocol, which go-smtp speaks.
func (l *Listener) server(ctx context.Context) *smtp.Server {
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{l: l, ctx: ctx, peer: peer(c.Conn()), helo: c.Hostname()}, nil
	}))
	s.LMTP = l.conf.Protocol == LMTP
	s.Domain = l.conf.Name
	s.MaxRecipients = l.conf.MaxRecipients
	s.MaxMessageBytes = l.conf.MaxSize
	s.MaxLineLength = l.conf.MaxLine
	s.ReadTimeout = l.conf.Idle
	s.WriteTimeout = l.conf.Write
	s.EnableSMTPUTF8 = true
	s.ErrorLog = errorLog{l.log}
	return s
}

// peer names the other end.
func peer(c net.Conn) string {
	if addr := c.RemoteAddr(); addr.Network() == "tcp" {
		return addr.String()
	}
	return "unix"
}

// errorLog takes what go-smtp has to say.
type errorLog struct{ log *slog.Logger }

func (e errorLog) Printf(format string, v ...any) {
	e.log.Warn("a mail connection failed", "err", strings.TrimSpace(fmt.Sprintf(format, v...)))
}

func (e errorLog) Println(v ...any) {
	e.log.Warn("a mail connection failed", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}

// conns is a listener that knows its connections.
type conns struct {
	net.Listener
	most int
	wg   sync.WaitGroup // one for each connection until go-smtp closes it

	mu       sync.Mutex
	open     map[*conn]struct{}
	draining bool
}

// Accept returns the next connection, and turns those away that are too many.
func (c *conns) Accept() (net.Conn, error) {
	for {
		raw, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if one := c.add(raw); one != nil {
			return one, nil
		}
		// A new connection's buffer takes this at once.
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = raw.Write([]byte("421 4.3.2 too many connections, come again later\r\n"))
		_ = raw.Close()
	}
}

// add counts a connection in, or returns nil.
func (c *conns) add(raw net.Conn) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.most || c.draining {
		return nil
	}
	one := &conn{Conn: raw, all: c}
	c.open[one] = struct{}{}
	c.wg.Add(1)
	return one
}

// drain makes every connection that waits for a command hang up, with the reply
// that it is time to come again (421), and every other one as soon as it waits.
func (c *conns) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	for one := range c.open {
		one.drain()
	}
}

// cut closes every connection.
func (c *conns) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.open {
		_ = one.Conn.Close()
	}
}

// conn is one connection.
type conn struct {
	net.Conn
	all    *conns
	closed sync.Once

	mu       sync.Mutex
	draining bool
}

// Write sends a reply, each line by itself. The line that offers CHUNKING is left
// out: go-smtp hands a mail that is sent in chunks to the session in a goroutine
// that may outlive it, and can then take the end of one mail for the end of the
// next.
func (c *conn) Write(p []byte) (int, error) {
	if string(p) == "250-CHUNKING\r\n" {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// SetReadDeadline sets the deadline, unless there is no more to be read.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		t = time.Unix(1, 0)
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
}

// Close closes the connection and counts it out. go-smtp calls it when nothing
// of the connection is left, or on the way there.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() {
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		delete(c.all.open, c)
		c.all.wg.Done()
	})
	return err
}
