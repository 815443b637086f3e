package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A channel that went deaf is noticed and started again (rule 15).
func TestRunner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := &runner{name: "chat", log: slog.New(slog.DiscardHandler), run: func(ctx context.Context) error {
			switch runs++; runs {
			case 1:
				return errors.New("connection lost")
			case 2:
				panic("a fault in the channel")
			case 3:
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		problem := func() string {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.problem
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			r.keep(ctx)
			close(done)
		}()
		for i, want := range []string{"connection lost", "panic of type string", "ended by itself"} {
			synctest.Wait()
			if got := problem(); got != want {
				t.Errorf("after run %d: %q", i+1, got)
			}
			time.Sleep(restartAfter)
		}
		synctest.Wait()
		if runs != 4 || problem() != "" {
			t.Errorf("run %d, problem %q", runs, problem())
		}
		cancel()
		<-done
	})
}

// What a channel says of itself is in the health: that it hears nobody, or what
// keeps it from hearing.
func TestRunnerPulse(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tests := []struct {
		name    string
		last    time.Time
		says    string
		failed  string
		ok      bool
		seconds int64
		problem string
	}{
		{name: "alive", last: now.Add(-3 * time.Second), ok: true, seconds: 3},
		{name: "can't tell", ok: true, seconds: -1},
		{name: "deaf", last: now.Add(-4 * time.Minute), seconds: 240, problem: "no sign of life for 4m0s"},
		{name: "in trouble", last: now.Add(-time.Second), says: "revoked", seconds: 1, problem: "revoked"},
		{name: "ended", last: now.Add(-time.Second), says: "revoked", failed: "panic", seconds: 1, problem: "panic"},
	}
	for _, tt := range tests {
		r := &runner{name: "chat", problem: tt.failed, alive: func() (time.Time, string) { return tt.last, tt.says }}
		c := r.check(now)
		if c.OK != tt.ok || c.LastSeconds != tt.seconds || c.Problem != tt.problem {
			t.Errorf("%s: %+v", tt.name, c)
		}
		if age, ok := r.age(now); ok == tt.last.IsZero() || ok && int64(age.Seconds()) != tt.seconds {
			t.Errorf("%s: age %s, %v", tt.name, age, ok)
		}
	}
	if c := (&runner{name: "chat"}).check(now); !c.OK || c.LastSeconds != -1 {
		t.Errorf("a channel without a pulse: %+v", c)
	}
}
