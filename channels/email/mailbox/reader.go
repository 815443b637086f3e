package mailbox

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Reader reads one mailbox. Make it with [New] and call Run.
type Reader struct {
	conf   Config
	hooks  Hooks
	log    *slog.Logger
	dialer func(ctx context.Context, addr string) (net.Conn, error)

	// Of the goroutine that runs Run, and kept from one connection to the next:
	// how often mails were tried, and what became of those that are to be moved.
	attempts map[string]*attempt
	filing   map[string]Disposition

	noList atomic.Bool // a connection ended when all folders were listed

	mu      sync.Mutex
	last    time.Time
	problem string
	until   time.Time // the lease holds
}

// attempt is how often a mail was tried in vain, and when it is tried again.
type attempt struct {
	handled, fetched, slow int
	next                   time.Time
}

// New says what is wrong with the config, all of it; it connects to nothing yet.
func New(conf Config, hooks Hooks) (*Reader, error) {
	conf, err := conf.prepare()
	if err != nil {
		return nil, err
	}
	if hooks.Handle == nil || hooks.LoadCursor == nil || hooks.SaveCursor == nil {
		return nil, errors.New("a mailbox needs Handle, LoadCursor and SaveCursor")
	}
	if hooks.Log == nil {
		hooks.Log = slog.Default()
	}
	return &Reader{
		conf:     conf,
		hooks:    hooks,
		log:      hooks.Log.With("mailbox", conf.Username),
		dialer:   dialTCP,
		attempts: make(map[string]*attempt),
		filing:   make(map[string]Disposition),
		problem:  "the mailbox has not been read yet",
	}, nil
}

// Run reads the mailbox until ctx ends, and returns ctx's error.
func (r *Reader) Run(ctx context.Context) error {
	wait := backoff{t: r.conf.Timing}
	for ctx.Err() == nil {
		mine, err := r.take(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && !mine:
			// Another hub reads; that it does is that hub's to prove.
			r.say(true, "")
			sleep(ctx, jitter(r.conf.Timing.Lease/3))
			continue
		case err == nil:
			err = r.lead(ctx, &wait)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t := explain("read the mailbox", err)
		pause := wait.after(t.kind)
		r.report(t, pause)
		sleep(ctx, pause)
	}
	return ctx.Err()
}

// report logs a trouble and keeps it for Alive.
func (r *Reader) report(t *trouble, pause time.Duration) {
	switch t.kind {
	case lost:
		r.log.Info("another hub reads the mailbox now")
		return
	case auth:
		r.log.Error("the mailbox can't be read", "err", t, "again_in", pause.Round(time.Second))
	default:
		r.log.Warn("the mailbox can't be read", "err", t, "again_in", pause.Round(time.Second))
	}
	r.say(false, t.text)
}

// Alive returns when the reader last caught up with the mailbox, or last saw
// that another hub has the lease, and what is wrong now, "" for nothing. The
// first is the zero time before that.
func (r *Reader) Alive() (last time.Time, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.problem
}

// say keeps what Alive returns.
func (r *Reader) say(well bool, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if well {
		r.last = time.Now()
	}
	r.problem = problem
}

// take takes or renews the lease.
func (r *Reader) take(ctx context.Context) (bool, error) {
	if r.hooks.Lease == nil {
		return true, nil
	}
	ttl := r.conf.Timing.Lease
	until := time.Now().Add(ttl)
	ctx, cancel := context.WithTimeout(ctx, ttl/3)
	defer cancel()
	mine, err := r.hooks.Lease(ctx, ttl)
	if err != nil {
		return false, newTrouble(ours, err, "the hub can't say who reads the mailbox: %s", oneLine(err.Error()))
	}
	if mine {
		r.mu.Lock()
		r.until = until
		r.mu.Unlock()
	}
	return mine, nil
}

// errLost ends a connection when another hub may be reading.
var errLost = newTrouble(lost, nil, "another hub reads the mailbox now")

// mine is nil while the lease holds. The process may have been asleep.
func (r *Reader) mine() error {
	if r.hooks.Lease == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().After(r.until) {
		return errLost
	}
	return nil
}

// lead reads with one connection, and renews the lease meanwhile. It returns why
// the connection ended.
func (r *Reader) lead(ctx context.Context, wait *backoff) error {
	if r.hooks.Lease == nil {
		return r.session(ctx, wait)
	}
	held, drop := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for sleep(held, r.conf.Timing.Lease/3) {
			if mine, err := r.take(held); err == nil && !mine || err != nil && r.mine() != nil {
				drop(errLost)
				return
			}
		}
	})
	err := r.session(held, wait)
	if cause := context.Cause(held); cause != nil {
		err = cause
	}
	drop(nil)
	renewing.Wait()
	if !errors.Is(err, errLost) {
		// Whoever can connect shall read, and at once.
		free, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.conf.Timing.Lease/3)
		defer cancel()
		if _, err := r.hooks.Lease(free, 0); err != nil {
			r.log.Debug("the lease of the mailbox stays until it runs out", "err", err)
		}
	}
	return err
}

// session connects and reads until the connection ends.
func (r *Reader) session(ctx context.Context, wait *backoff) error {
	c, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close(ctx)
	s := &session{r: r, c: c}
	if err := s.open(ctx); err != nil {
		return explain("look for the folders", err)
	}
	for first := true; ; first = false {
		if err := s.round(ctx, first); err != nil {
			return err
		}
		wait.well()
		r.say(true, s.problems())
		for next := r.soonest(time.Now().Add(r.conf.Timing.CatchUp)); time.Now().Before(next); next = r.soonest(next) {
			if err := c.wait(ctx, r.conf.Timing, time.Until(next)); err != nil {
				return explain("wait for mail", err)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := s.catchUp(ctx, s.folders[0]); err != nil {
				return err
			}
			r.say(true, s.problems())
		}
	}
}

// soonest returns the time of the next mail that is to be tried again, if that
// comes before a time.
func (r *Reader) soonest(t time.Time) time.Time {
	for _, a := range r.attempts {
		if a.next.Before(t) {
			t = a.next
		}
	}
	return t
}

// tried counts a try in vain and says when the next is due.
func (r *Reader) tried(key string) *attempt {
	a := r.attempts[key]
	if a == nil {
		a = new(attempt)
		r.attempts[key] = a
	}
	wait := r.conf.Timing.Retry
	for range a.handled + a.fetched + a.slow {
		wait *= 6
	}
	a.next = time.Now().Add(min(wait, time.Hour))
	return a
}

// errHandler is why a handler's context ended.
var errHandler = errors.New("the handler took too long")

// handle calls the handler, which may panic. slow: it used up its time.
func (r *Reader) handle(ctx context.Context, m Mail) (d Disposition, slow bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.conf.Timing.Handle, errHandler)
	defer cancel()
	defer func() { slow = context.Cause(ctx) == errHandler }()
	defer recovered(&err)
	d, err = r.hooks.Handle(ctx, m)
	return d, false, err
}

// setAside records a mail that can't be handled.
func (r *Reader) setAside(ctx context.Context, m Mail, cause error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, r.conf.Timing.Handle)
	defer cancel()
	defer recovered(&err)
	if r.hooks.SetAside == nil {
		return r.hooks.SaveCursor(ctx, m.Folder, m.Cursor)
	}
	return r.hooks.SetAside(ctx, m, cause)
}
