// Package outbox gets each delivery done at least once.
//
// Deliveries are rows that the store keeps. The outbox runs one loop a lane (a
// channel, the callbacks, the clock): it claims what is due, as much as the
// lane has free slots for, runs each delivery in a goroutine of its own, and
// then sleeps until the next one is due or [Outbox.Due] names an earlier time.
// Nothing polls but for one safety look a minute. Lanes share nothing, so one
// that hangs slows no other. Lanes that nobody can name beforehand, such as one
// for each host that is called back, come and go with their deliveries: see
// [Family].
//
// A claim is a lease, and the store writes the attempt with it, before anything
// is dialled. Whoever does the work records how it ended. When that record is
// missing (the process died, the worker panicked, the database was away), the
// lease runs out and the delivery is claimed again: a copy may then be made
// twice, but none is lost. That an attempt failed is recorded by the worker and
// is no failure here. When the store fails, the lane tries again with growing
// pauses and says so once.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"beckon/hub"
)

var _ hub.Outbox = (*Outbox)(nil)

// ErrShutdown is the cause of a delivery's cancelled context when the process
// stops. Such an attempt did not fail. A delivery that took too long has a
// context that ended with [context.DeadlineExceeded] instead.
var ErrShutdown = errors.New("the hub is shutting down")

// Store keeps the deliveries.
type Store interface {
	// Claim takes up to limit deliveries of a lane that are due at now, the
	// longest due first: those that are pending, and those that are running
	// under a lease that has run out. Each becomes running with a lease until
	// now+lease, Attempts grows by one, and the attempt is written; all of it is
	// durable when Claim returns.
	Claim(ctx context.Context, lane string, now time.Time, lease time.Duration, limit int) ([]hub.Delivery, error)
	// NextDue returns when the lane's next delivery is due, or the next lease
	// runs out; false when there is none.
	NextDue(ctx context.Context, lane string) (time.Time, bool, error)
	// Recover makes what a dead process left running due again, and returns how
	// many deliveries that were. It is called once, before the first claim.
	Recover(ctx context.Context, now time.Time) (int, error)
}

// Worker does a claimed delivery and records how it ended. An error means that
// not even that could be recorded. It must return soon after ctx ends.
type Worker interface {
	Work(ctx context.Context, d hub.Delivery) error
}

// Lane is a queue of its own.
type Lane struct {
	Name        string
	Concurrency int // deliveries at a time; 0: [DefaultConcurrency]
}

// Family is a set of lanes that come and go: each begins with Prefix, starts when
// something is due in it and ends when nothing is left.
type Family struct {
	Prefix      string
	Concurrency int // of each lane; 0: [DefaultConcurrency]
	// Pending lists the lanes that have deliveries to be done, at the start and
	// once a minute.
	Pending func(context.Context) ([]string, error)
}

// DefaultConcurrency is how many deliveries of a lane run at a time where the
// lane says nothing.
const DefaultConcurrency = 8

// Options are what an Outbox is built from. Zero fields take the default.
type Options struct {
	Log      *slog.Logger
	Lanes    []Lane
	Families []Family
	// Lease is how long a claim lasts: how long a delivery waits whose end
	// nobody recorded. Default 60 s.
	Lease time.Duration
	// Timeout ends the context of one attempt. It must leave the worker time to
	// record the end within the lease. Default 30 s, at most half of Lease.
	Timeout time.Duration
	// Grace is how long deliveries may go on when the process stops, before
	// their contexts are cancelled. Default 5 s.
	Grace time.Duration
	// Stop is how long Run waits for cancelled deliveries to return. Default
	// 10 s.
	Stop time.Duration
}

const (
	// safetyLook is how long a lane sleeps at most. It bounds the harm of a lost
	// wake-up, of a clock that was set, and of another process's deliveries.
	safetyLook = time.Minute
	// storeTimeout bounds one call to the store.
	storeTimeout = 10 * time.Second
)

func (o *Options) defaults() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lease <= 0 {
		o.Lease = time.Minute
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	o.Timeout = min(o.Timeout, o.Lease/2)
	if o.Grace <= 0 {
		o.Grace = 5 * time.Second
	}
	if o.Stop <= 0 {
		o.Stop = 10 * time.Second
	}
}

// Outbox gets deliveries done. It is safe for concurrent use; Run may be called
// once.
type Outbox struct {
	opt   Options
	store Store
	fixed map[string]*lane
	order []*lane // as in Options

	mu      sync.Mutex
	grown   map[string]*lane // of families
	start   func(*lane)      // runs a lane; nil unless Run runs
	unknown map[string]bool  // lanes that Due has complained about
}

// New returns an outbox that Run starts. Two lanes of one name are one, with
// the concurrency of the first.
func New(s Store, o Options) *Outbox {
	o.defaults()
	out := &Outbox{
		opt: o, store: s,
		fixed: make(map[string]*lane), grown: make(map[string]*lane), unknown: make(map[string]bool),
	}
	for _, c := range o.Lanes {
		if out.fixed[c.Name] != nil {
			continue
		}
		l := newLane(c, s, &out.opt)
		out.fixed[c.Name] = l
		out.order = append(out.order, l)
	}
	return out
}

// maxUnknown bounds how many lane names Due remembers to have complained about.
const maxUnknown = 100

// Due says that the lane has something due at a time; call it after commit. It
// is cheap, never blocks and may come before Run. A lane of a family starts with
// it. For a lane that does not exist it logs once and does nothing: the rows
// wait in the store for a process that has the lane.
func (o *Outbox) Due(name string, at time.Time) {
	if l := o.fixed[name]; l != nil {
		l.wake(at)
		return
	}
	o.mu.Lock()
	if l := o.grow(name); l != nil {
		l.wake(at) // under the mutex, so that the lane can't end meanwhile
		o.mu.Unlock()
		return
	}
	first := !o.unknown[name] && len(o.unknown) < maxUnknown
	if first {
		o.unknown[name] = true
	}
	o.mu.Unlock()
	if first {
		o.opt.Log.Warn("deliveries wait for a lane that does not exist", "lane", name)
	}
}

// Run gets deliveries done until ctx ends. It then claims nothing more, gives
// what is running Options.Grace to finish, cancels it with [ErrShutdown] as the
// cause, and returns when all of it has returned, or an error after
// Options.Stop. There is no other error.
func (o *Outbox) Run(ctx context.Context, w Worker) error {
	if !o.recover(ctx) {
		return nil
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(ErrShutdown)

	var wg sync.WaitGroup
	start := func(l *lane) {
		wg.Go(func() {
			l.run(ctx, work, w)
			l.working.Wait()
		})
	}
	for _, l := range o.order {
		start(l)
	}
	wg.Go(func() { o.tend(ctx, start) })
	returned := make(chan struct{})
	go func() { // ends with the lanes; Run waits for it, if only for so long
		wg.Wait()
		close(returned)
	}()

	<-ctx.Done()
	if within(returned, o.opt.Grace) {
		return nil
	}
	cancel(ErrShutdown)
	if within(returned, o.opt.Stop) {
		return nil
	}
	n := 0
	for _, l := range o.all() {
		n += l.inFlight()
	}
	return fmt.Errorf("stop outbox: %d deliveries still run %s after they were cancelled", n, o.opt.Stop)
}

// within reports whether c was closed in time.
func within(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// recover makes what a dead process left due again, and reports false when ctx
// ended before the store would do it.
func (o *Outbox) recover(ctx context.Context) bool {
	t := trouble{log: o.opt.Log, op: "recover"}
	for {
		c, cancel := context.WithTimeout(ctx, storeTimeout)
		n, err := o.store.Recover(c, time.Now())
		cancel()
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			t.over()
			if n > 0 {
				o.opt.Log.Info("deliveries were left running and are due again", "count", n)
			}
			return true
		}
		if !sleep(ctx, t.failed(err)) {
			return false
		}
	}
}

// LaneHealth says how a lane is.
type LaneHealth struct {
	Lane        string
	Concurrency int
	InFlight    int
	// Alive is the last proof of life: a claim that the store answered, or a
	// delivery that returned. An idle lane gives one a minute; the lane is deaf
	// when it gives none for several. Zero before the first.
	Alive time.Time
	// Failing: the store's last answer to the lane was an error.
	Failing bool
}

// Age is how long ago the last proof of life was, 0 before the first.
func (h LaneHealth) Age(now time.Time) time.Duration {
	if h.Alive.IsZero() {
		return 0
	}
	return max(0, now.Sub(h.Alive))
}

// Health says how each lane is, in the order of Options.Lanes, and then those of
// families that are there now, by name.
func (o *Outbox) Health() []LaneHealth {
	lanes := o.all()
	out := make([]LaneHealth, 0, len(lanes))
	for _, l := range lanes {
		out = append(out, l.health())
	}
	return out
}
