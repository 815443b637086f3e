package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"beckon/hub"
)

// gather is how long a busy lane waits for more slots to come free before it
// claims, so that a claim's transaction pays for several deliveries.
const gather = 10 * time.Millisecond

// pause is how long a lane waits when something is due that a claim did not
// give it, such as what another process has just taken.
const pause = 100 * time.Millisecond

// lane is one queue and its loop.
type lane struct {
	Lane
	store Store
	opt   *Options
	log   *slog.Logger

	slots   chan struct{}  // holds a token for each delivery that may start
	working sync.WaitGroup // deliveries that run
	signal  chan struct{}  // next has become earlier

	// retire asks whether a lane that has nothing left may end; nil: it never does.
	retire func(*lane) bool

	mu      sync.Mutex
	next    time.Time // when the loop means to look again; zero while it looks
	empty   bool      // the last look found nothing to be done, now or later
	news    bool      // Due has said something since that look began
	alive   time.Time
	failing bool
	running int
}

func newLane(c Lane, s Store, opt *Options) *lane {
	if c.Concurrency <= 0 {
		c.Concurrency = DefaultConcurrency
	}
	l := &lane{
		Lane: c, store: s, opt: opt, log: opt.Log.With("lane", c.Name),
		slots: make(chan struct{}, c.Concurrency), signal: make(chan struct{}, 1),
	}
	for range c.Concurrency {
		l.slots <- struct{}{}
	}
	return l
}

// wake makes the lane look at its deliveries by then.
func (l *lane) wake(at time.Time) {
	l.mu.Lock()
	l.news = true
	earlier := l.next.IsZero() || at.Before(l.next)
	if earlier {
		l.next = at
	}
	l.mu.Unlock()
	if earlier {
		select {
		case l.signal <- struct{}{}:
		default: // one is on its way, and the loop reads next when it comes
		}
	}
}

// run looks, works and sleeps until ctx ends. Deliveries run under work.
func (l *lane) run(ctx, work context.Context, w Worker) {
	t := trouble{log: l.log, op: "claim"}
	for {
		more, err := l.look(ctx, work, w)
		if ctx.Err() != nil {
			return
		}
		l.looked(err)
		switch {
		case err != nil:
			if !sleep(ctx, t.failed(err)) {
				return
			}
		case more:
			t.over()
		default:
			t.over()
			if l.retire != nil && l.retire(l) || !l.sleep(ctx) {
				return
			}
		}
	}
}

// look claims what is due and starts it. It reports true when there may be more
// that is due; otherwise l.next says when to look again.
func (l *lane) look(ctx, work context.Context, w Worker) (more bool, err error) {
	free := l.take(ctx)
	if free == 0 {
		return false, nil // ctx has ended
	}
	l.mu.Lock()
	l.next, l.news = time.Time{}, false // what Due says from now on is news
	l.mu.Unlock()

	// A claim that is committed but not returned would wait for its lease, so
	// the end of ctx does not interrupt it.
	c, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	now := time.Now()
	claimed, err := l.store.Claim(c, l.Name, now, l.opt.Lease, free)
	for range free - len(claimed) {
		l.slots <- struct{}{}
	}
	for _, d := range claimed {
		l.start(work, w, d, now.Add(l.opt.Lease))
	}
	if err != nil {
		return false, fmt.Errorf("claim deliveries: %w", err)
	}
	if len(claimed) == free {
		return true, nil
	}
	next, ok, err := l.store.NextDue(c, l.Name)
	if err != nil {
		return false, fmt.Errorf("read when the next delivery is due: %w", err)
	}
	l.plan(next, ok, len(claimed) > 0)
	l.mu.Lock()
	l.empty = !ok
	l.mu.Unlock()
	return false, nil
}

// take waits for a free slot and returns how many it took, all that are free;
// 0 when ctx has ended. A busy lane gathers at least half of its slots if that
// takes no time to speak of.
func (l *lane) take(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case <-l.slots:
	}
	n := 1 + l.takeFree()
	if n*2 < l.Concurrency {
		t := time.NewTimer(gather)
		defer t.Stop()
		for n*2 < l.Concurrency {
			select {
			case <-l.slots:
				n++
				continue
			case <-t.C:
			case <-ctx.Done():
			}
			break
		}
		n += l.takeFree()
	}
	if ctx.Err() != nil {
		for range n {
			l.slots <- struct{}{}
		}
		return 0
	}
	return n
}

func (l *lane) takeFree() (n int) {
	for {
		select {
		case <-l.slots:
			n++
		default:
			return n
		}
	}
}

// plan sets when the lane looks again.
func (l *lane) plan(next time.Time, ok, progress bool) {
	now := time.Now()
	if latest := now.Add(safetyLook); !ok || next.After(latest) {
		next = latest
	}
	if earliest := now.Add(pause); !progress && next.Before(earliest) && !next.After(now) {
		next = earliest
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next.IsZero() || next.Before(l.next) {
		l.next = next
	}
}

// sleep waits until l.next, which Due may make earlier meanwhile. It reports
// false when ctx has ended.
func (l *lane) sleep(ctx context.Context) bool {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		l.mu.Lock()
		next := l.next
		l.mu.Unlock()
		// A wall clock that was set back must not make the lane sleep longer.
		t.Reset(min(time.Until(next), safetyLook))
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		case <-l.signal:
		}
	}
}

// start runs a delivery that holds a slot, and gives the slot back.
func (l *lane) start(work context.Context, w Worker, d hub.Delivery, leaseEnds time.Time) {
	l.mu.Lock()
	l.running++
	l.mu.Unlock()
	l.working.Go(func() {
		err := l.work(work, w, d)
		if err != nil {
			l.log.Error("the end of a delivery is not recorded; it is tried again when its lease runs out",
				"message", d.MessageID, "seq", d.Seq, "kind", d.Kind, "attempt", d.Attempts, "err", err)
			l.wake(leaseEnds)
		}
		l.mu.Lock()
		l.running--
		if err == nil {
			l.alive = time.Now()
		}
		l.mu.Unlock()
		l.slots <- struct{}{} // never blocks: this delivery took it
	})
}

// work does one delivery within the time limit. A panic is an error.
func (l *lane) work(ctx context.Context, w Worker, d hub.Delivery) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.opt.Timeout,
		fmt.Errorf("the delivery took more than %s: %w", l.opt.Timeout, context.DeadlineExceeded))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
			l.log.Error("a delivery panicked", "message", d.MessageID, "seq", d.Seq, "kind", d.Kind,
				"err", err, "stack", string(debug.Stack()))
		}
	}()
	return w.Work(ctx, d)
}

// panicked says what was thrown. Only the runtime's own errors are sure to hold
// nothing that an agent or a person wrote.
func panicked(p any) error {
	if err, ok := p.(runtime.Error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic of type %T", p)
}

func (l *lane) looked(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing = err != nil
	if err == nil {
		l.alive = time.Now()
	}
}

func (l *lane) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

func (l *lane) health() LaneHealth {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LaneHealth{
		Lane: l.Name, Concurrency: l.Concurrency, InFlight: l.running,
		Alive: l.alive, Failing: l.failing,
	}
}

// trouble is how long a store has failed in a row. It logs when that begins and
// when it ends.
type trouble struct {
	log   *slog.Logger
	op    string
	count int
}

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// failed returns how long to wait before the next try: doubling, with up to
// half of it left to chance so that lanes don't come back in step.
func (t *trouble) failed(err error) time.Duration {
	if t.count == 0 {
		t.log.Error("the store fails; trying again", "op", t.op, "err", err)
	}
	d := min(firstRetry<<min(t.count, 10), lastRetry)
	t.count++
	return d/2 + rand.N(d/2)
}

func (t *trouble) over() {
	if t.count > 0 {
		t.log.Info("the store works again", "op", t.op, "failures", t.count)
	}
	t.count = 0
}

// sleep waits for d and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
