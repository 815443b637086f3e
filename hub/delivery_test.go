package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// chatty goes to #deploys at once, to alice after ten minutes and to bob after
// an hour.
func chatty(d doc) { delete(d, "tags") }

func (c *chat) order() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.posts)
}

func (c *chat) failing(f func(hub.PostRequest) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = f
}

func permanent(code string) error {
	return &hub.DeliveryError{Code: code, Msg: "invite the app to the channel", Permanent: true}
}

func TestEscalation(t *testing.T) {
	t.Parallel()
	const room, alice, bob = "chat:#deploys", "chat:alice", "chat:bob"
	tests := []struct {
		name    string
		fail    func(hub.PostRequest) error
		message func(doc)
		answer  time.Duration // 0: nobody answers
		after   time.Duration
		posts   []string
		history string
	}{
		{"each in its time", nil, nil, 0, 2 * time.Hour, []string{room, alice, bob}, "submitted posted posted posted"},
		{"not after an answer", nil, nil, 5 * time.Minute, 2 * time.Hour, []string{room}, "submitted posted answered"},
		{"at once when the first failed for good", func(r hub.PostRequest) error {
			if r.Target.Place != "" {
				return permanent("not_invited")
			}
			return nil
		}, nil, 0, time.Second, []string{room, alice}, "submitted delivery_failed posted"},
		{
			"nobody left", func(hub.PostRequest) error { return permanent("not_invited") }, nil, 0, time.Second,
			[]string{room, alice, bob},
			"submitted delivery_failed delivery_failed delivery_failed unreachable",
		},
		{
			"a notify goes no further once it has arrived", nil, func(d doc) { delete(d, "request"); d["type"] = "notify" }, 0, 2 * time.Hour,
			[]string{room},
			"submitted posted",
		},
		{"a notify moves on when it has not", func(r hub.PostRequest) error {
			if r.Target.Place != "" {
				return permanent("not_invited")
			}
			return nil
		}, func(d doc) { delete(d, "request"); d["type"] = "notify" }, 0, 2 * time.Hour, []string{room, alice}, "submitted delivery_failed posted"},
		{"a notify moves on while it has not", func(r hub.PostRequest) error {
			if r.Target.Place != "" {
				return &hub.DeliveryError{Code: "rate_limited", After: 4 * time.Minute}
			}
			return nil
		}, func(d doc) { delete(d, "request"); d["type"] = "notify" }, 0, 11 * time.Minute, []string{room, room, room, alice}, "submitted posted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.chat.failing(tt.fail)
				id := w.submit(ask(func(d doc) {
					chatty(d)
					if tt.message != nil {
						tt.message(d)
					}
				})).Message.ID
				if tt.answer > 0 {
					time.Sleep(tt.answer)
					w.answer(hub.Answer{MessageID: id, Option: 1})
				}
				time.Sleep(tt.after)
				synctest.Wait()
				if got := w.chat.order(); !slices.Equal(got, tt.posts) {
					t.Errorf("posts %q, want %q", got, tt.posts)
				}
				if got := strings.Join(w.kinds(id), " "); got != tt.history {
					t.Errorf("history %q, want %q", got, tt.history)
				}
				body, err := w.h.Body(t.Context(), w.message(id), true)
				if err != nil {
					t.Fatal(err)
				}
				unreachable := strings.HasSuffix(tt.history, "unreachable")
				if strings.Contains(string(body), `"unreachable":true`) != unreachable {
					t.Errorf("body %s", body)
				}
				w.stop()
			})
		})
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(d *hub.Directory) { d.Routes[2].Post = d.Routes[2].Post[:1] })
		n := 0
		w.chat.failing(func(r hub.PostRequest) error {
			if n++; n != r.Attempt {
				t.Errorf("call %d is attempt %d", n, r.Attempt)
			}
			return errors.New("connection refused")
		})
		id := w.submit(ask(chatty)).Message.ID
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n != hub.MaxAttempts {
			t.Errorf("%d attempts", n)
		}
		dead, err := w.h.Deliveries(t.Context(), hub.DeliveryQuery{State: hub.Dead, Limit: 10})
		if err != nil || len(dead) != 1 || dead[0].LastError != "connection refused" || dead[0].LastCode != "error" {
			t.Fatalf("dead %+v, %v", dead, err)
		}
		attempts, err := w.h.Attempts(t.Context(), id)
		if err != nil || len(attempts) != hub.MaxAttempts {
			t.Fatalf("%d attempts kept, %v", len(attempts), err)
		}
		for i := 1; i < len(attempts); i++ {
			wait := attempts[i].StartedAt.Sub(attempts[i-1].EndedAt)
			if wait < 4*time.Second || wait > 24*time.Minute {
				t.Errorf("waited %s before attempt %d", wait, i+1)
			}
		}
		w.chat.failing(nil)
		if _, err := w.h.Retry(t.Context(), "ops", id, dead[0].Seq); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.chat.seen(); len(got) != 1 {
			t.Errorf("copies after the retry %q", got)
		}
		if _, err := w.h.Retry(t.Context(), "ops", id, dead[0].Seq); hub.CodeOf(err) != ma2h.CodeInvalidField {
			t.Errorf("retry of a done delivery: %v", err)
		}
		w.stop()
	})
}

// 429 waits for Retry-After, and that is no failed attempt (rule 14).
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var calls []time.Time
		w.chat.failing(func(r hub.PostRequest) error {
			calls = append(calls, time.Now())
			if len(calls) <= 20 {
				return &hub.DeliveryError{Code: "rate_limited", Msg: "slow down", After: 7 * time.Second}
			}
			return nil
		})
		id := w.submit(ask(chatty)).Message.ID
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(calls) != 21 {
			t.Fatalf("%d calls", len(calls))
		}
		for i := 1; i < len(calls); i++ {
			if d := calls[i].Sub(calls[i-1]); d < 7*time.Second || d > 8*time.Second {
				t.Errorf("call %d came after %s", i, d)
			}
		}
		s, err := w.h.Inspect(t.Context(), id)
		if err != nil || s.Deliveries[0].State != hub.Done || s.Deliveries[0].Attempts != 1 {
			t.Errorf("delivery %+v, %v", s.Deliveries[0], err)
		}
		w.stop()
	})
}

// A post that is put off while the message ends is dropped there and then.
func TestPutOffAndEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.chat.gate = make(chan struct{})
		w.chat.failing(func(hub.PostRequest) error {
			return &hub.DeliveryError{Code: "rate_limited", Msg: "slow down", After: time.Hour}
		})
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait() // the post is under way
		w.answer(hub.Answer{MessageID: id, Option: 1})
		close(w.chat.gate)
		synctest.Wait()
		s, err := w.h.Inspect(t.Context(), id)
		if err != nil || s.Deliveries[0].State != hub.Dropped || s.Deliveries[0].LastCode != "not_wanted" {
			t.Errorf("%+v, %v", s.Deliveries[0], err)
		}
		w.stop()
	})
}

// A target that puts us off for ever is given up in the end.
func TestRetryAfterForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(d *hub.Directory) { d.Routes[2].Post = d.Routes[2].Post[:1] })
		w.chat.failing(func(hub.PostRequest) error {
			return &hub.DeliveryError{Code: "rate_limited", Msg: "slow down", After: time.Hour}
		})
		id := w.submit(ask(chatty)).Message.ID
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		if s, err := w.h.Inspect(t.Context(), id); err != nil || s.Deliveries[0].State != hub.Pending || s.Deliveries[0].Attempts != 0 {
			t.Errorf("after 23 h: %+v, %v", s.Deliveries[0], err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if s, err := w.h.Inspect(t.Context(), id); err != nil || s.Deliveries[0].State != hub.Dead {
			t.Errorf("after 47 h: %+v, %v", s.Deliveries[0], err)
		}
		if got := w.kinds(id); got[len(got)-1] != "unreachable" {
			t.Errorf("history %q", got)
		}
		w.stop()
	})
}

// Shutdown is not a failed attempt (rule 14): the delivery is pending again,
// with its attempts as before.
func TestShutdownIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.chat.gate = make(chan struct{})
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		w.stopOutbox()
		s, err := w.s.Snapshot(context.WithoutCancel(t.Context()), id)
		if err != nil {
			t.Fatal(err)
		}
		if d := s.Deliveries[0]; d.State != hub.Pending || d.Attempts != 0 || d.LastCode != "interrupted" || !d.MaybeSent {
			t.Errorf("delivery %+v", d)
		}
		w.stop()
	})
}

func TestRepost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.chat.failing(func(r hub.PostRequest) error {
			if r.Target.Place != "" && r.Generation == 0 {
				return permanent("not_invited")
			}
			return nil
		})
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		n, err := w.h.Repost(t.Context(), "ops", id, false)
		if err != nil || n != 1 { // alice has hers, bob's waits
			t.Fatalf("reposted %d, %v", n, err)
		}
		synctest.Wait()
		if n, err = w.h.Repost(t.Context(), "ops", id, true); err != nil || n != 2 {
			t.Fatalf("reposted %d of all, %v", n, err)
		}
		synctest.Wait()
		if got := w.chat.order(); strings.Join(got, " ") != "chat:#deploys chat:alice chat:#deploys chat:#deploys chat:alice" &&
			strings.Join(got, " ") != "chat:#deploys chat:alice chat:#deploys chat:alice chat:#deploys" {
			t.Errorf("posts %q", got)
		}
		w.answer(hub.Answer{MessageID: id, Option: 1})
		if _, err := w.h.Repost(t.Context(), "ops", id, true); hub.CodeOf(err) != ma2h.CodeInvalidField {
			t.Errorf("repost of an answered ask: %v", err)
		}
		synctest.Wait()
		for ref, text := range w.chat.seen() {
			if !strings.HasPrefix(text, "answered") {
				t.Errorf("copy %s says %s", ref, text)
			}
		}
		w.stop()
	})
}

// A post whose end nobody saw may stand; it is tried again even after the
// answer, so that the copy is found and told the truth.
func TestMaybeSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.chat.failing(func(r hub.PostRequest) error {
			if r.Attempt == 1 {
				return &hub.DeliveryError{Code: "timeout", Msg: "no answer in time", MaybeSent: true}
			}
			return nil
		})
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		w.answer(hub.Answer{MessageID: id, Option: 1})
		time.Sleep(time.Minute)
		synctest.Wait()
		got := w.chat.seen()
		if len(got) != 1 {
			t.Fatalf("copies %q", got)
		}
		for _, text := range got {
			if !strings.HasPrefix(text, "answered") {
				t.Errorf("copy says %s", text)
			}
		}
		w.stop()
	})
}

func TestCardHidesWhatIsSensitive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(func(d doc) {
		d["sensitive"], d["body"], d["client_ref"] = true, "the secret body", "ref-1"
		d["state"] = doc{"blob": "opaque"}
	})).Message.ID
	desk := w.h.Desk("web")
	export, err := desk.Card(t.Context(), id, "alice", hub.Export)
	if err != nil {
		t.Fatal(err)
	}
	page, err := desk.Card(t.Context(), id, "alice", hub.Page)
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%+v", *export); !export.Hidden || strings.Contains(s, "secret body") || strings.Contains(s, "Ship to prod") {
		t.Errorf("export %s", s)
	}
	if s := fmt.Sprintf("%+v", *page); page.Hidden || !strings.Contains(s, "secret body") || strings.Contains(s, "opaque") || strings.Contains(s, "ref-1") {
		t.Errorf("page %s", s)
	}
	w.answer(hub.Answer{MessageID: id, Option: 1, Comment: "the secret comment"})
	export, err = desk.Card(t.Context(), id, "alice", hub.Export)
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%+v %+v", *export, *export.Decision); strings.Contains(s, "secret") || strings.Contains(s, "Ship to prod") || export.Decision.ActorName != "Alice Ng" {
		t.Errorf("export after the answer %s", s)
	}
	events, err := w.h.Events(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if strings.Contains(string(e.Content), "secret") || strings.Contains(string(e.Content), "ship") {
			t.Errorf("history %s: %s", e.Kind, e.Content)
		}
	}
}
