package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/outbox"
)

// lanesOf lists the lanes of a prefix that have something to be done.
func (r *rows) lanesOf(prefix string) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err != nil {
			return nil, r.err
		}
		var out []string
		for _, d := range r.all {
			if (d.State == hub.Pending || d.State == hub.Running) && len(d.Lane) > len(prefix) && d.Lane[:len(prefix)] == prefix && !slices.Contains(out, d.Lane) {
				out = append(out, d.Lane)
			}
		}
		return out, nil
	}
}

// family is an outbox with a fixed lane and a family "call:".
func family(t *testing.T, r *rows, work workerFunc) *bench {
	t.Helper()
	l := new(logs)
	o := outbox.New(r, outbox.Options{
		Log: slog.New(slog.NewTextHandler(l, nil)), Lanes: []outbox.Lane{{Name: "web"}},
		Families: []outbox.Family{{Prefix: "call:", Concurrency: 2, Pending: r.lanesOf("call:")}},
	})
	b := &bench{Outbox: o, rows: r, logs: l, stop: func() error { return nil }}
	b.run(t, work)
	return b
}

func (b *bench) run(t *testing.T, work workerFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Outbox.Run(ctx, work) }()
	b.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = b.stop() })
}

func (b *bench) names() (out []string) {
	for _, h := range b.Health() {
		out = append(out, h.Lane)
	}
	return out
}

// A lane of a family is there while it has something to do.
func TestFamilyComesAndGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		b := family(t, r, r.done)
		synctest.Wait()
		if got := b.names(); !slices.Equal(got, []string{"web"}) {
			t.Errorf("lanes at rest: %q", got)
		}
		b.due("call:b", "m1", time.Now())
		b.due("call:a", "m2", time.Now().Add(10*time.Minute))
		synctest.Wait()
		if d, _ := r.get("m1"); d.State != hub.Done {
			t.Errorf("due now: %s", d.State)
		}
		if got := b.names(); !slices.Equal(got, []string{"web", "call:a", "call:b"}) {
			t.Errorf("lanes: %q", got)
		}
		time.Sleep(2 * time.Minute)
		if got := b.names(); !slices.Equal(got, []string{"web", "call:a"}) {
			t.Errorf("lanes once one is idle: %q", got)
		}
		time.Sleep(8 * time.Minute)
		synctest.Wait()
		if d, _ := r.get("m2"); d.State != hub.Done {
			t.Errorf("due later: %s", d.State)
		}
		time.Sleep(2 * time.Minute)
		if got := b.names(); !slices.Equal(got, []string{"web"}) {
			t.Errorf("lanes at rest again: %q", got)
		}
		b.due("call:b", "m3", time.Now())
		synctest.Wait()
		if d, _ := r.get("m3"); d.State != hub.Done {
			t.Errorf("in a lane that had ended: %s", d.State)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.due("call:c", "m4", time.Now()) // too late: it waits for the next process
		if b.logs.count("does not exist") != 0 {
			t.Errorf("log: %s", b.logs)
		}
	})
}

// What waits when the process starts, and what nobody told the outbox of, is
// found; a store that fails then only delays it.
func TestFamilyIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		r.add("call:old", "m1", time.Now())
		b := family(t, r, r.done)
		synctest.Wait()
		if d, _ := r.get("m1"); d.State != hub.Done {
			t.Errorf("from before: %s", d.State)
		}
		r.add("call:other", "m2", time.Now())
		r.fail(errors.New("disk"))
		time.Sleep(90 * time.Second)
		r.fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if d, _ := r.get("m2"); d.State != hub.Done {
			t.Errorf("from another process: %s", d.State)
		}
		if b.logs.count("the store fails") == 0 {
			t.Error("nothing is logged of a store that fails")
		}
		_ = b.stop()
	})
}

// Due may come before Run.
func TestFamilyBeforeRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		o := outbox.New(r, outbox.Options{Families: []outbox.Family{{Prefix: "call:", Pending: func(context.Context) ([]string, error) { return nil, nil }}}})
		b := &bench{Outbox: o, rows: r}
		b.due("call:x", "m1", time.Now())
		b.run(t, r.done)
		synctest.Wait()
		if d, _ := r.get("m1"); d.State != hub.Done {
			t.Errorf("state %s", d.State)
		}
		_ = b.stop()
	})
}

// Due that comes while an idle lane is about to end keeps it: nothing waits for
// the next minute's look.
func TestFamilyRace(t *testing.T) {
	t.Parallel()
	for _, in := range []time.Duration{0, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := newRows()
			b := family(t, r, r.done)
			b.due("call:a", "m1", time.Now())
			synctest.Wait()
			var due time.Time
			once := sync.OnceFunc(func() {
				due = time.Now().Add(in)
				b.due("call:a", "m2", due)
			})
			idle := func(lane string) {
				if lane == "call:a" {
					once()
				}
			}
			r.idle.Store(&idle)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if d, at := r.get("m2"); d.State != hub.Done || at[0].Sub(due) > 200*time.Millisecond {
				t.Errorf("in %s: %s, begun %v, due %s", in, d.State, at, due)
			}
			_ = b.stop()
		})
	}
}

// rounds scales by BECKON_ROUNDS.
func rounds(small int) int {
	if n, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return small
}

// Many deliveries to one host that never answers keep no other host waiting.
func TestFamilyOfADeadHost(t *testing.T) {
	t.Parallel()
	n := rounds(500)
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		for i := range n {
			r.add("call:dead", fmt.Sprint("d", i), time.Now())
		}
		var hanging, most atomic.Int64
		b := family(t, r, func(ctx context.Context, d hub.Delivery) error {
			if d.Lane != "call:dead" {
				return r.finish(d, hub.Done, d.Due, false)
			}
			if h := hanging.Add(1); h > most.Load() {
				most.Store(h)
			}
			defer hanging.Add(-1)
			<-ctx.Done()
			return r.finish(d, hub.Pending, time.Now().Add(time.Hour), false)
		})
		synctest.Wait()
		for i := range 20 {
			began := time.Now()
			m := fmt.Sprint("live", i)
			b.due("call:live", m, began)
			synctest.Wait()
			if d, at := r.get(m); d.State != hub.Done || len(at) != 1 || at[0].Sub(began) > time.Second {
				t.Fatalf("round %d: %s at %v, due %s", i, d.State, at, began)
			}
			time.Sleep(10 * time.Second)
		}
		if most.Load() != 2 {
			t.Errorf("%d at a time to one host, want 2", most.Load())
		}
		_ = b.stop()
	})
}
