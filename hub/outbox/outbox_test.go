package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"beckon/hub"
	"beckon/hub/outbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logs is what an outbox logged.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// count returns how many lines hold the text.
func (l *logs) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// bench is an outbox that runs over a store in memory.
type bench struct {
	*outbox.Outbox
	rows *rows
	logs *logs
	stop func() error // ends Run and returns what it returned
}

// start runs an outbox in a synctest bubble, until stop or the test's end.
func start(t *testing.T, r *rows, work workerFunc, lanes ...outbox.Lane) *bench {
	t.Helper()
	l := new(logs)
	o := outbox.New(r, outbox.Options{Log: slog.New(slog.NewTextHandler(l, nil)), Lanes: lanes})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx, work) }()
	b := &bench{Outbox: o, rows: r, logs: l}
	b.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = b.stop() })
	return b
}

func (b *bench) due(lane, message string, at time.Time) {
	b.rows.add(lane, message, at)
	b.Due(lane, at)
}

func TestDoneWhenDue(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
	}{
		{"now", 0},
		{"long ago", -time.Hour},
		{"in a second", time.Second},
		{"in 24 hours", 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRows()
				b := start(t, r, r.done, outbox.Lane{Name: "slack"})
				synctest.Wait()
				begin := time.Now()
				b.due("slack", "m", begin.Add(tt.after))
				time.Sleep(max(0, tt.after) + time.Millisecond)
				synctest.Wait()
				d, attempts := r.get("m")
				if d.State != hub.Done || len(attempts) != 1 {
					t.Fatalf("state %s after %d attempts, want done after 1", d.State, len(attempts))
				}
				if late := attempts[0].Sub(begin.Add(max(0, tt.after))); late != 0 {
					t.Errorf("claimed %s after it was due", late)
				}
			})
		})
	}
}

func TestFoundAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		r.add("email", "m", time.Now().Add(-time.Minute))
		start(t, r, r.done, outbox.Lane{Name: "email"})
		synctest.Wait()
		if d, _ := r.get("m"); d.State != hub.Done {
			t.Errorf("state %s, want done", d.State)
		}
	})
}

func TestEarlierDueWakesASleepingLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		begin := time.Now()
		r.add("slack", "late", begin.Add(50*time.Second))
		b := start(t, r, r.done, outbox.Lane{Name: "slack"})
		synctest.Wait()
		b.due("slack", "later still", begin.Add(55*time.Second))
		b.due("slack", "early", begin.Add(10*time.Second))
		synctest.Wait()
		claims, _ := r.calls()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if d, at := r.get("early"); d.State != hub.Done || !at[0].Equal(begin.Add(10*time.Second)) {
			t.Errorf("early: state %s, attempts %v", d.State, at)
		}
		if d, _ := r.get("late"); d.State != hub.Pending {
			t.Errorf("late: state %s before it is due", d.State)
		}
		if now, _ := r.calls(); now != claims+1 {
			t.Errorf("%d claims for one delivery", now-claims)
		}
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if n := r.count(hub.Done); n != 3 {
			t.Errorf("%d of 3 done", n)
		}
	})
}

// An idle lane looks once a minute and does nothing else.
func TestIdleLaneOnlyLooksOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		r.add("clock", "far", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
		b := start(t, r, r.done, outbox.Lane{Name: "clock"})
		b.Due("clock", time.Date(292277026596, 1, 1, 0, 0, 0, 0, time.UTC))
		synctest.Wait()
		claims, nextDues := r.calls()
		time.Sleep(time.Hour)
		synctest.Wait()
		c, n := r.calls()
		if c-claims > 60 || n-nextDues > 60 {
			t.Errorf("%d claims and %d reads in an idle hour, want at most 60", c-claims, n-nextDues)
		}
		if c-claims < 59 {
			t.Errorf("%d safety looks in an hour, want 59 or 60", c-claims)
		}
		if age := b.Health()[0].Age(time.Now()); age > time.Minute {
			t.Errorf("an idle lane's proof of life is %s old", age)
		}
	})
}

// A delivery whose Due call was lost is found by the safety look.
func TestSafetyLookFindsWhatNobodyAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		start(t, r, r.done, outbox.Lane{Name: "slack"})
		synctest.Wait()
		r.add("slack", "m", time.Now())
		time.Sleep(time.Minute)
		synctest.Wait()
		if d, _ := r.get("m"); d.State != hub.Done {
			t.Errorf("state %s, want done", d.State)
		}
	})
}

func TestManyAtOnceShareClaims(t *testing.T) {
	const many, slots = 10_000, 16
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		var running, most atomic.Int64
		work := func(ctx context.Context, d hub.Delivery) error {
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			// Ends come one by one, not in step.
			time.Sleep(time.Duration(1+len(d.MessageID)%7) * time.Millisecond)
			return r.done(ctx, d)
		}
		for i := range many {
			r.add("slack", fmt.Sprintf("%0*d", 1+i%11, i), time.Now())
		}
		start(t, r, work, outbox.Lane{Name: "slack", Concurrency: slots})
		begin := time.Now()
		for r.count(hub.Done) < many {
			time.Sleep(100 * time.Millisecond)
			if time.Since(begin) > time.Minute {
				t.Fatalf("%d of %d done after a minute", r.count(hub.Done), many)
			}
		}
		if claims, _ := r.calls(); claims > many/(slots/2)+10 {
			t.Errorf("%d claims for %d deliveries, want at most one for %d", claims, many, slots/2)
		}
		if n := most.Load(); n != slots {
			t.Errorf("at most %d ran at a time, want %d", n, slots)
		}
	})
}

func TestHungLaneSlowsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		release := make(chan struct{})
		work := func(ctx context.Context, d hub.Delivery) error {
			if d.Lane == "hung" {
				<-release // heeds no context
			}
			return r.done(ctx, d)
		}
		b := start(t, r, work, outbox.Lane{Name: "hung", Concurrency: 2}, outbox.Lane{Name: "good", Concurrency: 2})
		for i := range 10 {
			b.due("hung", fmt.Sprint("h", i), time.Now())
		}
		synctest.Wait()
		for i := range 100 {
			begin := time.Now()
			b.due("good", fmt.Sprint("g", i), begin)
			synctest.Wait()
			if d, _ := r.get(fmt.Sprint("g", i)); d.State != hub.Done || time.Since(begin) != 0 {
				t.Fatalf("delivery %d of the good lane: %s after %s", i, d.State, time.Since(begin))
			}
			time.Sleep(3 * time.Second)
		}
		h := b.Health()
		if h[0].InFlight != 2 || h[0].Age(time.Now()) < 4*time.Minute {
			t.Errorf("hung lane: %d in flight, alive %s ago", h[0].InFlight, h[0].Age(time.Now()))
		}
		if h[1].InFlight != 0 || h[1].Age(time.Now()) > time.Minute {
			t.Errorf("good lane: %d in flight, alive %s ago", h[1].InFlight, h[1].Age(time.Now()))
		}
		close(release)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := r.count(hub.Done); n != 110 {
			t.Errorf("%d of 110 done after the lane came back", n)
		}
	})
}

// One stuck slot does not hold up the others of its lane.
func TestStuckSlotLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		release := make(chan struct{})
		work := func(ctx context.Context, d hub.Delivery) error {
			if strings.HasPrefix(d.MessageID, "stuck") {
				<-release
			}
			return r.done(ctx, d)
		}
		b := start(t, r, work, outbox.Lane{Name: "slack", Concurrency: 8})
		for i := range 7 {
			b.due("slack", fmt.Sprint("stuck", i), time.Now())
		}
		synctest.Wait()
		begin := time.Now()
		for i := range 20 {
			b.due("slack", fmt.Sprint("m", i), time.Now())
		}
		for r.count(hub.Done) < 20 && time.Since(begin) < 10*time.Second {
			time.Sleep(time.Millisecond)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("20 deliveries took %s through the slot that is left", d)
		}
		close(release)
	})
}

func TestPanicIsAnUnrecordedEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		var tries atomic.Int64
		work := func(ctx context.Context, d hub.Delivery) error {
			switch tries.Add(1) {
			case 1:
				panic("what an agent wrote")
			case 2:
				var none []int
				none[d.Attempts]++
			}
			return r.done(ctx, d)
		}
		b := start(t, r, work, outbox.Lane{Name: "slack", Concurrency: 1})
		b.due("slack", "m", time.Now())
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		d, at := r.get("m")
		if d.State != hub.Done || len(at) != 3 {
			t.Fatalf("state %s after %d attempts, want done after 3", d.State, len(at))
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap != time.Minute {
				t.Errorf("attempt %d came %s after the one before, want the lease of 1m", i+1, gap)
			}
		}
		if b.logs.count("a delivery panicked") != 2 || b.logs.count("outbox_test.go") != 2 {
			t.Errorf("want two panics logged with their stacks:\n%s", b.logs)
		}
		if b.logs.count("what an agent wrote") != 0 {
			t.Errorf("the log holds what was thrown:\n%s", b.logs)
		}
		if b.logs.count("index out of range") == 0 {
			t.Errorf("the log does not say what the runtime threw:\n%s", b.logs)
		}
	})
}

func TestUnrecordedEndComesBackWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		var tries atomic.Int64
		work := func(ctx context.Context, d hub.Delivery) error {
			if tries.Add(1) == 1 {
				return errors.New("disk full")
			}
			return r.done(ctx, d)
		}
		b := start(t, r, work, outbox.Lane{Name: "slack"})
		b.due("slack", "m", time.Now())
		time.Sleep(time.Minute)
		synctest.Wait()
		if d, at := r.get("m"); d.State != hub.Done || len(at) != 2 || at[1].Sub(at[0]) != time.Minute {
			t.Errorf("state %s, attempts at %v; want done by a second one after the lease", d.State, at)
		}
	})
}

func TestRecoveredAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		r.add("slack", "m", time.Now())
		// A process that died while it worked.
		if _, err := r.Claim(t.Context(), "slack", time.Now(), time.Minute, 1); err != nil {
			t.Fatal(err)
		}
		start(t, r, r.done, outbox.Lane{Name: "slack"})
		synctest.Wait()
		if d, at := r.get("m"); d.State != hub.Done || len(at) != 2 {
			t.Errorf("state %s after %d attempts, want done by the second at once", d.State, len(at))
		}
	})
}

func TestAttemptHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		var cause, err atomic.Value
		work := func(ctx context.Context, d hub.Delivery) error {
			begin := time.Now()
			<-ctx.Done()
			if took := time.Since(begin); took != 30*time.Second {
				t.Errorf("the context ended after %s", took)
			}
			cause.Store(context.Cause(ctx))
			err.Store(ctx.Err())
			return r.done(ctx, d)
		}
		b := start(t, r, work, outbox.Lane{Name: "slack"})
		b.due("slack", "m", time.Now())
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if e, _ := err.Load().(error); !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("ctx.Err() = %v", e)
		}
		if c, _ := cause.Load().(error); errors.Is(c, outbox.ErrShutdown) || !strings.Contains(fmt.Sprint(c), "30s") {
			t.Errorf("cause = %v", c)
		}
	})
}

func TestStoreTroubleIsSaidOnceAndOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		b := start(t, r, r.done, outbox.Lane{Name: "slack"})
		synctest.Wait()
		for range 2 {
			r.fail(errors.New("database is locked"))
			before, _ := r.calls()
			b.due("slack", "m", time.Now())
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			claims, _ := r.calls()
			if n := claims - before; n < 20 || n > 60 {
				t.Errorf("%d tries in 10 minutes of trouble", n)
			}
			if !b.Health()[0].Failing {
				t.Error("health does not say that the store fails")
			}
			r.fail(nil)
			time.Sleep(31 * time.Second)
			synctest.Wait()
			if d, _ := r.get("m"); d.State != hub.Done {
				t.Errorf("state %s after the trouble", d.State)
			}
			if b.Health()[0].Failing {
				t.Error("health says that the store still fails")
			}
		}
		if a, o := b.logs.count("the store fails"), b.logs.count("the store works again"); a != 2 || o != 2 {
			t.Errorf("two troubles, logged %d times as begun and %d as over:\n%s", a, o, b.logs)
		}
	})
}

func TestStoreTroubleAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		r.fail(errors.New("database is locked"))
		r.add("slack", "m", time.Now())
		b := start(t, r, r.done, outbox.Lane{Name: "slack"})
		time.Sleep(time.Minute)
		if claims, _ := r.calls(); claims != 0 {
			t.Errorf("claimed before Recover")
		}
		r.fail(nil)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if d, _ := r.get("m"); d.State != hub.Done {
			t.Errorf("state %s after the trouble", d.State)
		}
		if n := b.logs.count("the store fails"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, b.logs)
		}
	})
}

func TestUnknownLaneIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newRows(), nil, outbox.Lane{Name: "slack"})
		for range 5 {
			b.Due("slakc", time.Now())
			b.Due("fax", time.Now())
		}
		if a, c := b.logs.count("lane=slakc"), b.logs.count("lane=fax"); a != 1 || c != 1 {
			t.Errorf("logged %d and %d times:\n%s", a, c, b.logs)
		}
	})
}

// What is claimed elsewhere between a look at what is due and the claim must
// not make the lane spin.
func TestDueButNotClaimableDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &unclaimable{rows: newRows()}
		r.add("slack", "m", time.Now())
		o := outbox.New(r, outbox.Options{Lanes: []outbox.Lane{{Name: "slack"}}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.Run(ctx, workerFunc(r.done)) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if claims, _ := r.calls(); claims > 101 {
			t.Errorf("%d claims in 10 s", claims)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

type unclaimable struct{ *rows }

func (u *unclaimable) Claim(ctx context.Context, lane string, _ time.Time, lease time.Duration, limit int) ([]hub.Delivery, error) {
	return u.rows.Claim(ctx, lane, time.Time{}, lease, limit)
}
