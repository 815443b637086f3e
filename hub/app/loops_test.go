package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/store"
	"beckon/hub/waiter"
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

// What nobody picked up is said, and what is past its retention goes, without
// anybody asking for it.
func TestHousekeeping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "beckon.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		bot := &hub.Agent{ID: "bot/dev"}
		d := &hub.Directory{
			PublicURL: "https://beckon.example.com", Limits: hub.DefaultLimits, Retention: 24 * time.Hour,
			People: map[string]*hub.Person{}, Agents: map[string]*hub.Agent{bot.ID: bot}, Routes: []hub.Route{{Name: "all"}},
		}
		h := hub.New(hub.Options{Store: s, Notifier: waiter.New(), Outbox: nowhere{}, Keys: hub.KeyRing{make([]byte, 32)}}, d)
		a := &App{log: slog.New(slog.DiscardHandler), store: s, hub: h}
		sent, err := h.Submit(t.Context(), bot, []byte(`{"ma2h_version":"0.5","type":"ask","created_at":"2026-12-01T10:00:00Z","idempotency_key":"k",
			"title":"Ship?","agent":{"id":"bot/dev","run_id":"r","runtime":"cli"},"request":{"mode":"confirm"}}`))
		if err == nil {
			_, err = h.Resolve(t.Context(), bot, sent.Message.ID, []byte(`{"resolution":"answered","value":"approve"}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			a.housekeeping(ctx)
			close(done)
		}()
		for _, tt := range []struct {
			after time.Duration
			track hub.TrackState
			gone  bool
		}{
			{23 * time.Hour, hub.TrackNone, false},
			{90 * time.Minute, hub.TrackExpired, false},
			{23 * time.Hour, hub.TrackExpired, false},
			{2 * time.Hour, "", true},
		} {
			time.Sleep(tt.after)
			synctest.Wait()
			m, err := s.Message(t.Context(), sent.Message.ID)
			if errors.Is(err, hub.ErrGone) != tt.gone || err == nil && m.Track.State != tt.track {
				t.Errorf("%s later: %+v, %v", tt.after, m, err)
			}
		}
		cancel()
		<-done
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
