package hub_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// gated is a store whose answers to a change that ends a message a test holds
// back.
type gated struct {
	hub.Store
	mu   sync.Mutex
	gate chan error // what to say instead; nil lets the change through
}

func (g *gated) Apply(ctx context.Context, c *hub.Change) error {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil && c.Patch != nil && c.Patch.Status.Terminal() {
		if err := <-gate; err != nil {
			return err
		}
	}
	return g.Store.Apply(ctx, c)
}

// An answer that finds its agent waiting is delivered in the same change.
func TestAnswerToAParkedPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(chatty)).Message.ID
		got := make(chan *hub.Message, 2)
		for range 2 {
			go func() {
				m, err := w.h.Wait(t.Context(), deploybot, id, time.Minute)
				if err != nil {
					t.Error(err)
				}
				got <- m
			}()
		}
		synctest.Wait()
		w.answer(hub.Answer{MessageID: id, Option: 1})
		for range 2 {
			if m := <-got; m.Track.State != hub.TrackDelivered || !m.Track.DeliveredAt.Equal(m.ResolvedAt) {
				t.Errorf("track %+v of what ended at %s", m.Track, m.ResolvedAt)
			}
		}
		synctest.Wait()
		if got := strings.Join(w.kinds(id), " "); got != "submitted posted answered delivered_to_agent" {
			t.Errorf("history %s", got)
		}
		if w.chat.updates != 1 || !strings.HasSuffix(w.copies()[0], " [delivered-to-agent ]") {
			t.Errorf("%d updates, copies %q", w.chat.updates, w.copies())
		}
		w.stop()
	})
}

// A poll whose time is up while an answer that counts on it is being stored goes
// home with that answer, and never with "open".
func TestPollThatAnAnswerCountsOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		says   []error // what the store says to the change, in turn
		status ma2h.Status
		track  hub.TrackState
	}{
		{"stored", []error{nil}, ma2h.Answered, hub.TrackDelivered},
		{"stale first", []error{hub.ErrStale, nil}, ma2h.Answered, hub.TrackDelivered},
		{"not stored", []error{errors.New("disk full")}, ma2h.Open, hub.TrackNone},
	} {
		for _, end := range []string{"time is up", "shutdown"} {
			t.Run(tt.name+", "+end, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := &gated{}
					w := newWorldWith(t, nil, func(o *hub.Options) {
						g.Store = o.Store
						o.Store = g
					})
					id := w.submit(ask(nil)).Message.ID
					synctest.Wait()
					g.mu.Lock()
					g.gate = make(chan error)
					g.mu.Unlock()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					got := make(chan *hub.Message, 1)
					go func() {
						m, err := w.h.Wait(ctx, deploybot, id, time.Minute)
						if err != nil {
							t.Error(err)
						}
						got <- m
					}()
					synctest.Wait()
					answered := make(chan struct{})
					go func() {
						defer close(answered)
						_, _ = w.h.Desk("web").Answer(t.Context(), hub.Answer{MessageID: id, Actor: "human:alice", Verb: hub.VerbAnswer, Option: 1})
					}()
					synctest.Wait()
					if end == "shutdown" {
						cancel()
					} else {
						time.Sleep(2 * time.Minute)
					}
					synctest.Wait()
					select {
					case m := <-got:
						t.Fatalf("the poll went home with %s", m.Status)
					default:
					}
					for _, err := range tt.says {
						g.gate <- err
					}
					<-answered
					status, track := tt.status, tt.track
					m := <-got
					if len(tt.says) > 1 && m.Status == ma2h.Open { // it left between the two, and counts for nothing
						status, track = ma2h.Open, hub.TrackNone
					}
					if m.Status != status {
						t.Errorf("the poll got %s, want %s", m.Status, status)
					}
					if m := w.message(id); m.Track.State != track {
						t.Errorf("track %+v, want %q", m.Track, track)
					}
					w.stop()
				})
			})
		}
	}
}

// A poll that has ended counts for nothing.
func TestAnswerAfterAPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(nil)).Message.ID
		if m, err := w.h.Wait(t.Context(), deploybot, id, time.Second); err != nil || m.Status != ma2h.Open {
			t.Fatalf("%+v, %v", m, err)
		}
		w.answer(hub.Answer{MessageID: id, Option: 1})
		if m := w.message(id); m.Track.State != hub.TrackNone {
			t.Errorf("track %+v, though nobody waits", m.Track)
		}
		w.stop()
	})
}
