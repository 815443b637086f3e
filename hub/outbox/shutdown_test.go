package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/outbox"
)

func TestShutdownIsNotAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		work := func(ctx context.Context, d hub.Delivery) error {
			if d.MessageID == "quick" {
				time.Sleep(2 * time.Second)
				return r.done(ctx, d)
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), outbox.ErrShutdown) || !errors.Is(ctx.Err(), context.Canceled) {
				t.Errorf("cause %v, error %v", context.Cause(ctx), ctx.Err())
			}
			return r.finish(d, hub.Pending, time.Now(), true)
		}
		b := start(t, r, work, outbox.Lane{Name: "slack", Concurrency: 2})
		b.due("slack", "quick", time.Now())
		b.due("slack", "slow", time.Now())
		b.due("slack", "waits", time.Now())
		time.Sleep(time.Second)
		synctest.Wait()
		begin := time.Now()
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("Run took %s to end, want the grace of 5s", took)
		}
		if d, _ := r.get("quick"); d.State != hub.Done {
			t.Errorf("quick is %s, want done within the grace", d.State)
		}
		if d, _ := r.get("slow"); d.State != hub.Pending || d.Attempts != 0 {
			t.Errorf("slow is %s with %d attempts, want pending with 0", d.State, d.Attempts)
		}
		if d, at := r.get("waits"); d.State != hub.Pending || len(at) != 0 {
			t.Errorf("waits is %s, attempts %v: claimed during the shutdown", d.State, at)
		}
	})
}

func TestShutdownIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		release := make(chan struct{})
		work := func(ctx context.Context, d hub.Delivery) error {
			<-release
			return r.done(ctx, d)
		}
		b := start(t, r, work, outbox.Lane{Name: "slack"})
		b.due("slack", "m", time.Now())
		synctest.Wait()
		begin := time.Now()
		err := b.stop()
		if took := time.Since(begin); took != 15*time.Second {
			t.Errorf("Run took %s to end", took)
		}
		if err == nil || !strings.Contains(err.Error(), "1 deliveries still run") {
			t.Errorf("err = %v", err)
		}
		close(release)
	})
}

func TestIdleShutdownIsImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newRows(), nil, outbox.Lane{Name: "a"}, outbox.Lane{Name: "b"})
		synctest.Wait()
		begin := time.Now()
		if err := b.stop(); err != nil || time.Since(begin) != 0 {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}
