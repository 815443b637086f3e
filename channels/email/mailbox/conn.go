package mailbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// conn is a connection that is logged in. Everything that waits for the server
// goes through do, which ends the wait when it takes too long.
type conn struct {
	client *imapclient.Client
	raw    net.Conn
	limit  time.Duration // for an answer
	caps   imap.CapSet
	wake   chan struct{} // holds one signal: mails came or went
	noIdle bool          // the server refused IDLE
}

// errSlow is why a wait ended.
var errSlow = errors.New("no answer")

// do calls f, which waits for the server. When f takes longer than limit, or ctx
// ends, the connection is closed beneath it, which is the only thing that ends
// a wait in go-imap.
func (c *conn) do(ctx context.Context, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	return cutOff(ctx, c.raw, limit, f)
}

// cutOff calls f and closes the connection when ctx ends.
func cutOff(ctx context.Context, raw net.Conn, limit time.Duration, f func() error) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = raw.Close() // not the TLS layer's Close, which may wait for the peer
	})
	err := f()
	if stop() {
		return err
	}
	<-closed
	if cause := context.Cause(ctx); !errors.Is(cause, errSlow) {
		return cause
	}
	return newTrouble(network, errSlow, "the server has not answered for %s", limit)
}

// step is do with the usual limit.
func (c *conn) step(ctx context.Context, f func() error) error { return c.do(ctx, c.limit, f) }

// close ends the connection, politely if the server still listens.
func (c *conn) close(ctx context.Context) {
	if ctx.Err() == nil {
		_ = c.do(ctx, time.Second, func() error { return c.client.Logout().Wait() })
	}
	_ = c.raw.Close()
	_ = c.client.Close()
}

// dial connects, with TLS as configured, and reads the server's greeting.
func (r *Reader) dial(ctx context.Context) (*conn, error) {
	limit := r.conf.Timing.Command
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	raw, err := r.dialer(ctx, r.conf.Addr)
	if err != nil {
		if errors.Is(context.Cause(ctx), errSlow) {
			err = newTrouble(network, err, "connect to %s: no answer within %s; is the address right, and does a firewall let it through?", r.conf.Addr, limit)
		}
		return nil, err
	}
	c := &conn{raw: raw, limit: limit, wake: make(chan struct{}, 1)}
	err = cutOff(ctx, raw, limit, func() error { return c.greet(r.conf) })
	if err != nil {
		_ = raw.Close()
		if c.client != nil {
			_ = c.client.Close()
		}
		return nil, err
	}
	return c, nil
}

// greet makes the client on the bare connection.
func (c *conn) greet(conf Config) error {
	options := &imapclient.Options{
		TLSConfig: tlsConfig(conf),
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			// The client waits for these, so they must not wait.
			Mailbox: func(d *imapclient.UnilateralDataMailbox) {
				if d.NumMessages != nil {
					c.signal()
				}
			},
			Fetch: swallow,
		},
	}
	switch conf.Security {
	case TLS:
		// The handshake is bounded as everything is: the bare connection is closed.
		secured := tls.Client(c.raw, options.TLSConfig)
		if err := secured.Handshake(); err != nil {
			return err
		}
		c.client = imapclient.New(secured, options)
	case StartTLS:
		client, err := imapclient.NewStartTLS(c.raw, options)
		if err != nil {
			var no *imap.Error
			if errors.As(err, &no) {
				return newTrouble(network, err, "the server takes no STARTTLS there: %s; is the port right, or is security to be tls?", serverSays(no))
			}
			return err
		}
		c.client = client
	default:
		c.client = imapclient.New(c.raw, options)
	}
	return c.client.WaitGreeting()
}

// swallow reads a FETCH answer that nobody asked for. The client would do so by
// itself, but would go on after an error, when its other goroutine has the
// stream.
func swallow(m *imapclient.FetchMessageData) {
	for item := m.Next(); item != nil; item = m.Next() {
		part, ok := item.(imapclient.FetchItemDataBodySection)
		if !ok || part.Literal == nil {
			continue
		}
		if n, err := io.Copy(io.Discard, part.Literal); err != nil || n < part.Literal.Size() {
			return
		}
	}
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// quiet takes back the signal that may be there.
func (c *conn) quiet() {
	select {
	case <-c.wake:
	default:
	}
}

// tlsConfig is what the connection's TLS needs: the name to look for in the
// certificate.
func tlsConfig(conf Config) *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if conf.TLS != nil {
		t = conf.TLS.Clone()
	}
	if t.ServerName == "" {
		t.ServerName, _, _ = net.SplitHostPort(conf.Addr)
	}
	return t
}

// dialTCP opens a connection that notices within two minutes when its other end
// is gone.
func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: time.Minute, Interval: 20 * time.Second, Count: 3,
	}}
	return d.DialContext(ctx, "tcp", addr)
}

// wait sleeps until mails came or went, at most d, in IDLE if the server has it.
func (c *conn) wait(ctx context.Context, t Timing, d time.Duration) error {
	if c.noIdle || !c.caps.Has(imap.CapIdle) {
		return c.poll(ctx, min(d, t.Poll))
	}
	var idle *imapclient.IdleCommand
	err := c.step(ctx, func() (err error) {
		idle, err = c.client.Idle()
		return err
	})
	var no *imap.Error
	if errors.As(err, &no) {
		c.noIdle = true
		return c.poll(ctx, min(d, t.Poll))
	}
	if err != nil {
		return fmt.Errorf("begin to wait for mail: %w", err)
	}
	c.pause(ctx, min(d, t.Idle))
	err = c.step(ctx, func() error { return errors.Join(idle.Close(), idle.Wait()) })
	if errors.As(err, &no) {
		c.noIdle = true // a server that says NO at the end of IDLE does not do it well
		return nil
	}
	return err
}

// poll waits without IDLE. NOOP makes the server say what is new.
func (c *conn) poll(ctx context.Context, d time.Duration) error {
	c.pause(ctx, d)
	return c.step(ctx, func() error { return c.client.Noop().Wait() })
}

// pause sleeps until there is a signal, the connection ends, d is over or ctx
// ends.
func (c *conn) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.wake:
	case <-t.C:
	case <-c.client.Closed():
	case <-ctx.Done():
	}
}
