package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

// The server is killed, restarted, and drops connections; mail that arrives
// meanwhile is read once it is back.
func TestServerComesAndGoes(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	d.Deliver("", text("one"), "hub@example.test")
	h.expect(t, "one")
	d.Kick("hub")
	d.Deliver("", text("two"), "hub@example.test")
	h.expect(t, "one", "two")
	d.Kill()
	r.problem(t, "connect to "+d.IMAPAddr, "refused")
	d.Restart()
	d.Deliver("", text("three"), "hub@example.test")
	h.expect(t, "one", "two", "three")
	r.caughtUp(t)
	r.problem(t)
	lies(t, d, "Hub/Processed", "one", "two", "three")
}

// A server that hangs is noticed by the next look at the mailbox, in IDLE and
// out of it, and left within the deadline.
func TestServerFreezes(t *testing.T) {
	t.Parallel()
	for name, asleep := range map[string]bool{"in idle": false, "from the start": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
			h, conf := newHub(), config(d)
			conf.Timing.Command = 300 * time.Millisecond
			conf.Timing.CatchUp = 100 * time.Millisecond
			conf.Backfill = time.Hour
			if asleep {
				d.Freeze()
			}
			r := run(t, conf, h.hooks(t))
			if !asleep {
				r.caughtUp(t)
				d.Freeze()
			}
			r.problem(t, "the server has not answered for 300ms")
			d.Thaw()
			d.Deliver("", text("one"), "hub@example.test")
			h.expect(t, "one")
		})
	}
}

// The server freezes at any moment of handling mail: nothing is lost, nothing
// has an effect twice.
func TestServerFreezesAtWork(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h, conf := newHub(), config(d)
	conf.Timing.Command = time.Second
	var thaws sync.WaitGroup
	defer thaws.Wait()
	h.decide = func(_ context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
		if m.UID%4 == 0 && h.called(m.Key) == 1 {
			d.Freeze()
			thaws.Go(func() {
				<-time.After(1500 * time.Millisecond)
				d.Thaw()
			})
		}
		return mailbox.Processed, nil
	}
	run(t, conf, h.hooks(t)).caughtUp(t)
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprint("mail ", i))
		d.Append("hub", "INBOX", time.Time{}, text(want[i]))
	}
	h.expect(t, want...)
	lies(t, d, "Hub/Processed", want...)
}

// proxy is a line between a reader and a server, that can be slow and can be cut.
type proxy struct {
	net.Listener
	server string
	delay  time.Duration // for every read, both ways

	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
	down  int // bytes to the client until the line is cut; 0 is never
}

func newProxy(t *testing.T, server string, delay time.Duration) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, server: server, delay: delay}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		limit := p.down
		p.mu.Unlock()
		p.wg.Go(func() { p.pass(server, client, 0) })
		p.wg.Go(func() { p.pass(client, server, limit) })
	}
}

// pass carries bytes one way until the line is cut.
func (p *proxy) pass(to, from net.Conn, limit int) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 512)
	for total := 0; ; {
		n, err := from.Read(b)
		if p.delay > 0 {
			<-time.After(p.delay)
		}
		if total += n; limit > 0 && total > limit {
			n -= total - limit
			err = io.EOF
		}
		if _, werr := to.Write(b[:max(n, 0)]); err != nil || werr != nil {
			return
		}
	}
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// cutAfter lets so many bytes through to the client on every new connection.
func (p *proxy) cutAfter(n int) {
	p.mu.Lock()
	p.down = n
	p.mu.Unlock()
	p.cut()
}

func TestSlowLine(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	p := newProxy(t, d.IMAPAddr, 20*time.Millisecond)
	h, conf := newHub(), config(d)
	conf.Addr = p.Addr().String()
	run(t, conf, h.hooks(t)).caughtUp(t)
	d.Append("hub", "INBOX", time.Time{}, text("one"), text("two"), text("three"))
	h.expect(t, "one", "two", "three")
	lies(t, d, "Hub/Processed", "one", "two", "three")
}

// The line is cut after every number of bytes that the server sent: in the
// greeting, in an answer, in the middle of a mail.
func TestLineIsCutAnywhere(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	p := newProxy(t, d.IMAPAddr, 0)
	h, conf := newHub(), config(d)
	conf.Addr = p.Addr().String()
	run(t, conf, h.hooks(t)).caughtUp(t)
	var want []string
	for n := 10; n < 3000; n += 97 {
		p.cutAfter(n)
		s := fmt.Sprint("cut after ", n)
		d.Deliver("", text(s), "hub@example.test")
		want = append(want, s)
	}
	p.cutAfter(0)
	h.expect(t, want...)
	err := mailtest.Eventually(func() error {
		if n := len(d.Mails("hub", "Hub/Processed")); n != len(want) {
			return fmt.Errorf("%d mails were moved, want %d", n, len(want))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if len(h.asides()) != 0 {
		t.Errorf("set aside: %v", h.asides())
	}
}

// The hub is killed at every step of every mail, and begins again with what it
// had stored: each mail takes effect once and ends where it belongs.
func TestHubIsKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h, conf := newHub(), config(d)
	first := run(t, conf, h.hooks(t))
	first.caughtUp(t)
	first.stop()
	var want []string
	for _, step := range []string{"before the handler", "in the handler", "after the commit", "after the move"} {
		for i := range 3 {
			want = append(want, fmt.Sprint(step, " ", i))
			d.Append("hub", "INBOX", time.Time{}, text(want[len(want)-1]))
		}
		for range 6 { // more lives than it takes
			ctx, kill := context.WithCancel(context.Background())
			hooks := h.hooks(t)
			hooks.Handle = func(ctx context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
				if step == "before the handler" {
					h.mu.Lock()
					h.calls[m.Key]++
					h.mu.Unlock()
					if h.called(m.Key) < 2 {
						kill()
						return "", ctx.Err()
					}
				}
				if step == "in the handler" && h.called(m.Key) < 1 {
					kill()
				}
				disposition, err := h.handle(ctx, m)
				if step == "after the commit" && h.called(m.Key) < 2 {
					kill()
				}
				return disposition, err
			}
			r, err := mailbox.New(conf, hooks)
			if err != nil {
				t.Fatal(err)
			}
			life := time.AfterFunc(20*time.Second, kill)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = r.Run(ctx)
			}()
			if step == "after the move" {
				_ = mailtest.Eventually(func() error {
					if len(d.Mails("hub", "Hub/Processed")) == 0 && ctx.Err() == nil {
						return errors.New("nothing was moved yet")
					}
					return nil
				})
				kill()
			} else {
				// Killed by its handler, or at the end of its work.
				_ = mailtest.Eventually(func() error {
					if last, _ := r.Alive(); last.IsZero() && ctx.Err() == nil {
						return errors.New("it is still at it")
					}
					return nil
				})
				kill()
			}
			<-ended
			life.Stop()
		}
	}
	run(t, conf, h.hooks(t)).caughtUp(t)
	got := h.bodies(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("mails %q took effect, want %q", got, want)
	}
	lies(t, d, "INBOX")
	if n := len(d.Mails("hub", "Hub/Processed")); n != len(want) {
		t.Errorf("%d mails were moved, want %d", n, len(want))
	}
}

// lease gives one mailbox to one of several readers.
type lease struct {
	mu    sync.Mutex
	owner string
	until time.Time
	err   error
}

func (l *lease) hook(owner string) func(context.Context, time.Duration) (bool, error) {
	return func(_ context.Context, ttl time.Duration) (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := time.Now()
		switch {
		case l.err != nil:
			return false, l.err
		case l.owner != owner && now.Before(l.until):
			return false, nil
		case ttl == 0:
			l.until = time.Time{}
			return false, nil
		}
		l.owner, l.until = owner, now.Add(ttl)
		return true, nil
	}
}

func (l *lease) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owner
}

// Two hubs read one mailbox: one of them does, and when it goes the other takes
// over where it was.
func TestOneReaderOfTwo(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h, l := newHub(), new(lease)
	conf := config(d)
	conf.Timing.Lease = 600 * time.Millisecond
	readers := make(map[string]reader)
	handled := make(map[string]int)
	for _, name := range []string{"a", "b"} {
		hooks := h.hooks(t)
		hooks.Lease = l.hook(name)
		hooks.Handle = func(ctx context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
			disposition, err := h.handle(ctx, m)
			h.mu.Lock()
			handled[name]++
			h.mu.Unlock()
			return disposition, err
		}
		readers[name] = run(t, conf, hooks)
	}
	for _, r := range readers {
		r.caughtUp(t) // whoever does not read is well too
	}
	d.Append("hub", "INBOX", time.Time{}, text("one"), text("two"))
	h.expect(t, "one", "two")
	lies(t, d, "Hub/Processed", "one", "two")
	leader := l.holder()
	other := map[string]string{"a": "b", "b": "a"}[leader]
	h.mu.Lock()
	if handled[other] != 0 {
		t.Errorf("%s handled %d mails without the lease", other, handled[other])
	}
	h.mu.Unlock()

	readers[leader].stop() // gives the lease back
	d.Deliver("", text("three"), "hub@example.test")
	h.expect(t, "one", "two", "three")
	if l.holder() != other {
		t.Errorf("%s has the lease, want %s", l.holder(), other)
	}

	// Somebody takes the lease away: it stops at once, and comes back.
	l.mu.Lock()
	l.owner, l.until = "c", time.Now().Add(time.Hour)
	l.mu.Unlock()
	err := mailtest.Eventually(func() error {
		if d.Doveadm("who", "-1", "hub@example.test") != "username service proto pid ip\n" && len(d.Doveadm("who", "-1", "hub@example.test")) > 60 {
			return errors.New("it is still connected")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	d.Deliver("", text("four"), "hub@example.test")
	l.mu.Lock()
	l.until = time.Time{}
	l.mu.Unlock()
	h.expect(t, "one", "two", "three", "four")

	// The store that keeps the lease is away for longer than the lease holds.
	l.mu.Lock()
	l.err = errors.New("no database")
	l.mu.Unlock()
	readers[other].problem(t, "the hub can't say who reads the mailbox: no database")
	l.mu.Lock()
	l.err = nil
	l.mu.Unlock()
	d.Deliver("", text("five"), "hub@example.test")
	h.expect(t, "one", "two", "three", "four", "five")
}

// A server with no room for another connection is left alone for a while, and
// is no reason to doubt the password.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{MostConnections: 1})
	h, conf := newHub(), config(d)
	first := run(t, conf, h.hooks(t))
	first.caughtUp(t)
	second := run(t, conf, newHub().hooks(t))
	second.problem(t, "the server says it has too much to do", "Maximum number of connections")
	first.stop()
	second.caughtUp(t)
}
