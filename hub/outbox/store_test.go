package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/outbox"
	"beckon/hub/store"
)

var _ outbox.Store = (*store.Store)(nil)

// database is a real store with messages of one post each.
type database struct {
	*testing.T
	*store.Store
}

func openDatabase(t *testing.T, path string) *database {
	t.Helper()
	// The tests don't pull the plug, so they need no fsync.
	s, err := store.Open(t.Context(), path, store.Options{Synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	return &database{t, s}
}

// submit keeps a message with a post that is due at a time.
func (d *database) submit(due time.Time) (messageID string) {
	d.Helper()
	raw := []byte(`{"ma2h_version":"0.5","type":"notify","created_at":"2026-12-01T12:00:00Z",` +
		`"agent":{"id":"bot","run_id":"1","runtime":"cli"},"title":"Done"}`)
	env, err := ma2h.Parse(raw)
	if err != nil {
		d.Fatal(err)
	}
	now := time.Now()
	m := &hub.Message{
		ID: hub.NewMessageID(now), AgentID: "bot", Envelope: env, Raw: raw, Status: ma2h.Delivered,
		Version: 1, AcceptedAt: now, ResolvedAt: now, NextDelivery: 2,
	}
	c := &hub.Change{MessageID: m.ID, At: now, Insert: m, Deliveries: []hub.Delivery{{
		MessageID: m.ID, Seq: 1, Kind: hub.KindPost, Lane: "slack", Target: hub.Target{Channel: "slack", Place: "#ops"},
		Posting: -1, State: hub.Pending, Due: due, CreatedAt: now,
	}}}
	var e hub.Event
	if e, m.Head, err = hub.NewEvent(m.Head, m.ID, "submitted", now, nil); err != nil {
		d.Fatal(err)
	}
	c.Events = []hub.Event{e}
	if err := d.Apply(d.Context(), c); err != nil {
		d.Fatal(err)
	}
	return m.ID
}

// finish records how an attempt ended, as the hub does, also after ctx ended.
func (d *database) finish(ctx context.Context, del hub.Delivery, state hub.DeliveryState, code string, uncounted bool) error {
	ctx = context.WithoutCancel(ctx)
	m, err := d.Message(ctx, del.MessageID)
	if err != nil {
		return err
	}
	return d.Apply(ctx, &hub.Change{
		MessageID: m.ID, At: time.Now(), Expect: m.Version, Patch: hub.PatchOf(m),
		Finish: &hub.Finish{Seq: del.Seq, N: del.Attempts, State: state, Due: time.Now(), Code: code, Uncounted: uncounted},
	})
}

func (d *database) delivery(id string) hub.Delivery {
	d.Helper()
	s, err := d.Snapshot(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	return s.Deliveries[0]
}

func (d *database) attempts(id string) []hub.Attempt {
	d.Helper()
	a, err := d.Attempts(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	return a
}

// run runs an outbox over the database until stop.
func (d *database) run(work workerFunc) (o *outbox.Outbox, stop func()) {
	o = outbox.New(d.Store, outbox.Options{Lanes: []outbox.Lane{{Name: "slack", Concurrency: 8}}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx, work) }()
	return o, func() {
		cancel()
		if err := <-ended; err != nil {
			d.Error(err)
		}
	}
}

func TestStoreGetsEverythingDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDatabase(t, filepath.Join(t.TempDir(), "beckon.db"))
		defer d.Close()
		const many = 200
		var mu sync.Mutex
		done := make(map[string]int, many+1)
		ids := make([]string, 0, many+1)
		for i := range many {
			ids = append(ids, d.submit(time.Now().Add(time.Duration(i%3)*time.Hour)))
		}
		o, stop := d.run(func(ctx context.Context, del hub.Delivery) error {
			mu.Lock()
			done[del.MessageID]++
			mu.Unlock()
			return d.finish(ctx, del, hub.Done, "ok", false)
		})
		time.Sleep(30 * time.Minute) // the lane sleeps now
		id := d.submit(time.Now())
		ids = append(ids, id)
		o.Due("slack", time.Now())
		synctest.Wait()
		if del := d.delivery(id); del.State != hub.Done {
			t.Errorf("announced by Due, and %s", del.State)
		}
		time.Sleep(2 * time.Hour)
		stop()
		for _, id := range ids {
			if done[id] != 1 {
				t.Errorf("%s was done %d times", id, done[id])
			}
			if del := d.delivery(id); del.State != hub.Done || del.Attempts != 1 {
				t.Errorf("%s is %s after %d attempts", id, del.State, del.Attempts)
			}
		}
	})
}

func TestStoreLeaseExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDatabase(t, filepath.Join(t.TempDir(), "beckon.db"))
		defer d.Close()
		id := d.submit(time.Now())
		begin := time.Now()
		var tries atomic.Int64
		_, stop := d.run(func(ctx context.Context, del hub.Delivery) error {
			if a := d.attempts(id); len(a) != int(tries.Load())+1 || !a[len(a)-1].EndedAt.IsZero() {
				t.Errorf("the attempt is not written before the work begins: %+v", a)
			}
			if tries.Add(1) == 1 {
				return errors.New("the end can't be recorded")
			}
			if !del.MaybeSent {
				t.Error("the second attempt does not know that the first may have sent it")
			}
			return d.finish(ctx, del, hub.Done, "ok", false)
		})
		time.Sleep(2 * time.Minute)
		stop()
		a := d.attempts(id)
		if len(a) != 2 || a[0].Code != store.CodeInterrupted || a[1].Code != "ok" {
			t.Fatalf("attempts: %+v", a)
		}
		if gap := a[1].StartedAt.Sub(begin); gap != time.Minute {
			t.Errorf("tried again after %s, want the lease of 1m", gap)
		}
		if del := d.delivery(id); del.State != hub.Done {
			t.Errorf("delivery is %s", del.State)
		}
	})
}

// A restart in the middle of an attempt: what ran is due again at once, and a
// shutdown counts no attempt.
func TestStoreRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "beckon.db")
		d := openDatabase(t, path)
		stopped, killed := d.submit(time.Now()), d.submit(time.Now())
		_, stop := d.run(func(ctx context.Context, del hub.Delivery) error {
			<-ctx.Done()
			if del.MessageID == killed {
				return fmt.Errorf("as if the process had died: %w", ctx.Err())
			}
			return d.finish(ctx, del, hub.Pending, "shutdown", true)
		})
		time.Sleep(time.Second)
		stop()
		if del := d.delivery(stopped); del.State != hub.Pending || del.Attempts != 0 {
			t.Errorf("stopped: %s with %d attempts", del.State, del.Attempts)
		}
		if del := d.delivery(killed); del.State != hub.Running {
			t.Errorf("killed: %s", del.State)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}

		d = openDatabase(t, path)
		defer d.Close()
		begin := time.Now()
		_, stop = d.run(func(ctx context.Context, del hub.Delivery) error {
			return d.finish(ctx, del, hub.Done, "ok", false)
		})
		time.Sleep(time.Second)
		stop()
		for _, id := range []string{stopped, killed} {
			del, a := d.delivery(id), d.attempts(id)
			if del.State != hub.Done || len(a) != 2 || a[1].StartedAt.Before(begin) {
				t.Errorf("%s: %s, attempts %+v", id, del.State, a)
			}
		}
	})
}
