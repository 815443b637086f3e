package outbox_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"beckon/hub"
)

// rows is a store in memory with the semantics of the real one, and a worker
// that records ends in it.
type rows struct {
	mu       sync.Mutex
	all      []*hub.Delivery
	err      error // what every call fails with
	claims   int   // calls of Claim
	nextDues int   // calls of NextDue
	recovers int
	idle     atomic.Pointer[func(lane string)] // called when NextDue has found nothing, before it says so
	byID     map[string]*hub.Delivery          // a message has one delivery here
	attempts map[string][]time.Time            // when a message's attempts were claimed
}

func newRows() *rows {
	return &rows{byID: make(map[string]*hub.Delivery), attempts: make(map[string][]time.Time)}
}

// add inserts a delivery that is due at a time, as a committed change would.
func (r *rows) add(lane, message string, due time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID[message] == nil {
		r.byID[message] = new(hub.Delivery)
		r.all = append(r.all, r.byID[message])
	}
	*r.byID[message] = hub.Delivery{MessageID: message, Seq: 1, Kind: hub.KindPost, Lane: lane, State: hub.Pending, Due: due}
}

func (r *rows) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *rows) calls() (claims, nextDues int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.claims, r.nextDues
}

func (r *rows) Claim(_ context.Context, lane string, now time.Time, lease time.Duration, limit int) ([]hub.Delivery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims++
	if r.err != nil {
		return nil, r.err
	}
	var due []*hub.Delivery
	for _, d := range r.all {
		if d.Lane == lane && (d.State == hub.Pending || d.State == hub.Running) && !d.Due.After(now) {
			due = append(due, d)
		}
	}
	slices.SortStableFunc(due, func(a, b *hub.Delivery) int { return a.Due.Compare(b.Due) })
	var out []hub.Delivery
	for _, d := range due[:min(limit, len(due))] {
		d.State, d.Due = hub.Running, now.Add(lease)
		d.Attempts++
		r.attempts[d.MessageID] = append(r.attempts[d.MessageID], now)
		out = append(out, *d)
	}
	return out, nil
}

func (r *rows) NextDue(_ context.Context, lane string) (next time.Time, ok bool, err error) {
	defer func() {
		if f := r.idle.Load(); !ok && f != nil {
			(*f)(lane)
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextDues++
	if r.err != nil {
		return time.Time{}, false, r.err
	}
	for _, d := range r.all {
		if d.Lane == lane && (d.State == hub.Pending || d.State == hub.Running) && (!ok || d.Due.Before(next)) {
			next, ok = d.Due, true
		}
	}
	return next, ok, nil
}

func (r *rows) Recover(_ context.Context, now time.Time) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recovers++
	if r.err != nil {
		return 0, r.err
	}
	for _, d := range r.all {
		if d.State == hub.Running {
			d.State, d.Due = hub.Pending, now
			n++
		}
	}
	return n, nil
}

// finish records how an attempt ended; only while it is the running one.
func (r *rows) finish(d hub.Delivery, state hub.DeliveryState, due time.Time, uncounted bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.byID[d.MessageID]
	if row == nil {
		return hub.ErrNotFound
	}
	if row.State != hub.Running || row.Attempts != d.Attempts {
		return hub.ErrStale
	}
	row.State, row.Due = state, due
	if uncounted {
		row.Attempts--
	}
	return nil
}

// get returns a delivery as it stands, and when its attempts began.
func (r *rows) get(message string) (hub.Delivery, []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.byID[message]
	if row == nil {
		return hub.Delivery{}, nil
	}
	return *row, slices.Clone(r.attempts[message])
}

func (r *rows) count(state hub.DeliveryState) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.all {
		if row.State == state {
			n++
		}
	}
	return n
}

// workerFunc is a Worker.
type workerFunc func(ctx context.Context, d hub.Delivery) error

func (f workerFunc) Work(ctx context.Context, d hub.Delivery) error { return f(ctx, d) }

// done records success.
func (r *rows) done(_ context.Context, d hub.Delivery) error {
	return r.finish(d, hub.Done, d.Due, false)
}
