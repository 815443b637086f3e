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
