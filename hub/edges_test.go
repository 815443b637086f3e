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

	"github.com/go-json-experiment/json/jsontext"
)

// A Response speaks the version that its message declared, at most ours, and
// answers to the name that the agent knows.
func TestResponseVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for declared, want := range map[string]string{
		"0.0": "0.0", "0.1": "0.1", "0.2": "0.2", "0.3": "0.3", "0.4": "0.4", "0.5": "0.5", "0.6": "0.5", "0.10": "0.5",
	} {
		s := w.submit(ask(func(d doc) { d["ma2h_version"], d["id"] = declared, "mine-"+declared }))
		name := s.Message.ID
		if declared < "0.2" && len(declared) == 3 {
			name = "mine-" + declared
		}
		w.answer(hub.Answer{MessageID: s.Message.ID, Option: 1})
		if r := w.response(s.Message.ID); r.Version != want || r.InReplyTo != name || s.Ack.ID != name {
			t.Errorf("%s: %s in reply to %s, ack %s", declared, r.Version, r.InReplyTo, s.Ack.ID)
		}
	}
}

// An attempt whose lease ran out records nothing over the one that took its
// place.
func TestAttemptAfterItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.stopOutbox()
	id := w.submit(ask(chatty)).Message.ID
	claim := func(at time.Time) hub.Delivery {
		ds, err := w.s.Claim(t.Context(), "chat", at, time.Minute, 1)
		if err != nil || len(ds) != 1 {
			t.Fatalf("claimed %+v, %v", ds, err)
		}
		return ds[0]
	}
	first := claim(time.Now())
	second := claim(time.Now().Add(2 * time.Minute))
	for i, d := range []hub.Delivery{first, second} {
		if err := w.h.Work(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		s, err := w.h.Inspect(t.Context(), id)
		if want := []hub.DeliveryState{hub.Running, hub.Done}[i]; err != nil || s.Deliveries[0].State != want || len(s.Postings) != i {
			t.Errorf("after attempt %d: %+v, %+v, %v", d.Attempts, s.Deliveries[0], s.Postings, err)
		}
	}
}

// What may have been sent once stays so, whatever later attempts say, until it
// is done.
func TestMaybeSentStays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		first  error
		second error
		posts  int
		end    string
	}{
		{"a time-out the channel knew of", &hub.DeliveryError{Code: "timeout", MaybeSent: true}, errors.New("refused"), 3, "answered"},
		{"a time-out of its own", context.DeadlineExceeded, errors.New("refused"), 3, "answered"},
		{"no doubt", errors.New("refused"), errors.New("refused"), 2, "answered"},
		{"given up after the answer", context.DeadlineExceeded, permanent("not_invited"), 2, "delivery_failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(d *hub.Directory) { d.Routes[2].Post = d.Routes[2].Post[:1] })
				answered := false
				w.chat.failing(func(r hub.PostRequest) error {
					switch {
					case r.Attempt == 1:
						return tt.first
					case r.Attempt == 2 && (!answered || tt.end == "delivery_failed"):
						return tt.second
					}
					return nil
				})
				id := w.submit(ask(chatty)).Message.ID
				if tt.end != "delivery_failed" {
					time.Sleep(10 * time.Second) // the second attempt is over, the third is due 12 to 18 s later
				}
				synctest.Wait()
				answered = true
				w.answer(hub.Answer{MessageID: id, Option: 1})
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				if got := w.chat.order(); len(got) != tt.posts {
					t.Errorf("%d posts, want %d", len(got), tt.posts)
				}
				// Nobody is unreachable who has answered.
				if got := w.kinds(id); slices.Contains(got, "unreachable") || !slices.Contains(got, tt.end) {
					t.Errorf("history %q", got)
				}
				w.stop()
			})
		})
	}
}

// A copy that is posted again goes into the thread of the first.
func TestRepostKeepsTheThread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var threads []string
		w.chat.failing(func(r hub.PostRequest) error {
			threads = append(threads, r.Target.Place+r.Thread)
			return nil
		})
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		if n, err := w.h.Repost(t.Context(), "ops", id, true); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		synctest.Wait()
		if !slices.Equal(threads, []string{"#deploys", "#deploysth"}) {
			t.Errorf("threads %q", threads)
		}
		w.stop()
	})
}

// A notify is for those who get a copy; who might have answered an ask on its
// route has nothing to do with it.
func TestNotifyAudience(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(message("notify", nil)).Message.ID
	for person, want := range map[string]bool{"alice": true, "bob": false} {
		cards, err := w.h.Desk("web").List(t.Context(), person, hub.ListQuery{Limit: 10})
		_, cerr := w.h.Desk("web").Card(t.Context(), id, person, hub.Page)
		if err != nil || (len(cards) == 1) != want || (cerr == nil) != want {
			t.Errorf("%s: %d cards, %v, %v", person, len(cards), err, cerr)
		}
	}
}

// Whoever can't be stored takes no place among the open messages.
func TestFailedSubmitIsNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory) { d.Limits.OpenMessages = 1 })
	s := &failing{Store: w.s, err: errors.New("disk full")}
	h := hub.New(hub.Options{Store: s, Notifier: &told{}, Outbox: outboxFunc(func() {})}, w.h.Directory())
	for range 3 {
		if _, err := h.Submit(t.Context(), w.agent(deploybot), ask(nil).raw()); hub.CodeOf(err) != ma2h.CodeUnavailable {
			t.Fatal(err)
		}
	}
	s.err = nil
	if _, err := h.Submit(t.Context(), w.agent(deploybot), ask(nil).raw()); err != nil {
		t.Errorf("after the disk is back: %v", err)
	}
}

// A replay is found under the sender's own names only, and only under those
// that its version has.
func TestReplayOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	old := ask(func(d doc) { d["ma2h_version"], d["id"] = "0.1", "mine"; delete(d, "idempotency_key") })
	w.submit(old)
	first := ask(nil)
	w.submit(first)
	tests := []struct {
		name, agent string
		change      func(doc)
		want        string
	}{
		{"another agent's name on my key", deploybot, func(d doc) { d.in("agent")["id"] = "other/bot" }, "agent_id_mismatch agent.id"},
		{"my key used by another agent", "other/bot", func(d doc) { d.in("agent")["id"] = "other/bot"; d["title"] = 7 }, "validation_error title"},
		{"an id above 0.1", deploybot, func(d doc) { d["id"], d["idempotency_key"], d["title"] = "mine", "new", 7 }, "validation_error title"},
	}
	for _, tt := range tests {
		d := ask(func(d doc) { d["idempotency_key"] = first["idempotency_key"]; tt.change(d) })
		if _, err := w.h.Submit(t.Context(), w.agent(tt.agent), d.raw()); codeAndField(err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// A limit is the most that is allowed, not the first that is not.
func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	part := func(n int) func(doc) {
		return func(d doc) {
			d["context"] = []doc{{"kind": "text", "text": "0123", "metadata": jsontext.Value(`{"m":"` + strings.Repeat("x", n-12) + `"}`)}}
		}
	}
	list := func(n int) func(doc) {
		return func(d doc) {
			items := make([]doc, n)
			for i := range items {
				items[i] = doc{"text": fmt.Sprint("step ", i)}
			}
			d["type"], d["action"] = "task", doc{"instructions": "x", "checklist": items}
			delete(d, "request")
		}
	}
	body := func(n int) func(doc) { return func(d doc) { d["body"] = strings.Repeat("x", n) } }
	size := len(ask(func(d doc) { d["idempotency_key"] = "key-of-its-own" }).raw())
	w := newWorld(t, func(d *hub.Directory) {
		d.Limits.Body, d.Limits.Part, d.Limits.Options, d.Limits.Envelope = 100, 50, 4, size+400
	})
	whole := func(n int) func(doc) {
		return func(d doc) {
			d["idempotency_key"] = "key-of-its-own"
			d["client_ref"] = strings.Repeat("x", 400+n-len(`,"client_ref":""`))
		}
	}
	for _, tt := range []struct {
		name  string
		make  func(int) func(doc)
		most  int
		field string
	}{{"body", body, 100, "body"}, {"part", part, 50, "context[0]"}, {"checklist", list, 4, "action.checklist"}, {"envelope", whole, 0, ""}} {
		if _, err := w.h.Submit(t.Context(), w.agent(deploybot), ask(tt.make(tt.most+1)).raw()); codeAndField(err) != "invalid_field "+tt.field {
			t.Errorf("%s, one more: %v", tt.name, err)
		}
		if _, err := w.h.Submit(t.Context(), w.agent(deploybot), ask(tt.make(tt.most)).raw()); err != nil {
			t.Errorf("%s at the limit: %v", tt.name, err)
		}
	}
}

// An expiry is tried once, when it may run, and is nothing that agents are shown
// as a delivery.
func TestExpiryIsOneAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(func(d doc) { d["expires_at"] = ma2h.FormatTime(time.Now().Add(time.Minute)) })).Message.ID
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		attempts, err := w.s.Attempts(t.Context(), id)
		n := 0
		for _, a := range attempts {
			if a.Seq == 1 {
				n++
			}
		}
		m := w.message(id)
		if err != nil || n != 1 || m.Status != ma2h.Expired {
			t.Errorf("%s after %d attempts, %v", m.Status, n, err)
		}
		if late := m.ResolvedAt.Sub(m.ExpiresAt); late != time.Millisecond {
			t.Errorf("expired %v late", late)
		}
		body, err := w.h.Body(t.Context(), m, true)
		if err != nil || strings.Contains(string(body), "expire\"") || !strings.Contains(string(body), `"target":"web:alice"`) {
			t.Errorf("body %s, %v", body, err)
		}
		w.stop()
	})
}

// An operator may withdraw asks, as an agent may.
func TestWithdrawIsForAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, typ := range []string{"task", "notify"} {
		id := w.submit(message(typ, func(d doc) {
			if typ == "task" {
				d["action"] = doc{"instructions": "x"}
			}
		})).Message.ID
		if _, err := w.h.Withdraw(t.Context(), "ops", id); hub.CodeOf(err) != ma2h.CodeValidation {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// A wild Retry-After does not put a delivery off for years.
func TestWildRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(d *hub.Directory) { d.Routes[2].Post = d.Routes[2].Post[:1] })
		w.chat.failing(func(r hub.PostRequest) error {
			return &hub.DeliveryError{Code: "rate_limited", After: 100 * 365 * 24 * time.Hour}
		})
		w.submit(ask(chatty))
		time.Sleep(3*time.Hour + time.Minute)
		synctest.Wait()
		if n := len(w.chat.order()); n != 4 {
			t.Errorf("%d posts in three hours, want 4", n)
		}
		w.stop()
	})
}

// A post that fails while the answer comes in is not tried again.
func TestNoPostAfterTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var id string
		submitted := make(chan struct{})
		w.chat.failing(func(hub.PostRequest) error {
			<-submitted
			w.answer(hub.Answer{MessageID: id, Option: 1})
			return errors.New("connection refused")
		})
		id = w.submit(ask(chatty)).Message.ID
		close(submitted)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		s, err := w.h.Inspect(t.Context(), id)
		if got := w.chat.order(); len(got) != 1 || err != nil || s.Deliveries[0].State != hub.Dropped {
			t.Errorf("posts %q, %+v, %v", got, s.Deliveries[0], err)
		}
		w.stop()
	})
}

// A target who has left the directory by the time of their copy is one that
// failed for good: the next one gets it at once.
func TestTargetHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		d := directory()
		delete(d.People, "alice")
		w.h.SetDirectory(d)
		w.chat.failing(func(r hub.PostRequest) error {
			if r.Person == nil || r.Person.ID != "bob" {
				t.Errorf("%s was asked as %+v", r.Target, r.Person)
			}
			return nil
		})
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		s, err := w.h.Inspect(t.Context(), id)
		if err != nil || s.Deliveries[1].State != hub.Dead || s.Deliveries[1].LastCode != "no_person" {
			t.Errorf("%+v, %v", s.Deliveries, err)
		}
		if got := w.chat.order(); !slices.Equal(got, []string{"chat:#deploys", "chat:bob"}) {
			t.Errorf("posts %q", got)
		}
		w.stop()
	})
}

// An expiry that is claimed too early, as after a clock was set back, waits for
// its time.
func TestEarlyExpiryWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.stopOutbox()
	expires := time.Now().UTC().Add(time.Hour).Truncate(time.Millisecond)
	id := w.submit(ask(func(d doc) { d["expires_at"] = ma2h.FormatTime(expires) })).Message.ID
	ds, err := w.s.Claim(t.Context(), hub.LaneClock, expires.Add(time.Hour), time.Minute, 1)
	if err != nil || len(ds) != 1 {
		t.Fatalf("claimed %+v, %v", ds, err)
	}
	if err := w.h.Work(t.Context(), ds[0]); err != nil {
		t.Fatal(err)
	}
	s, err := w.h.Inspect(t.Context(), id)
	if err != nil || s.Message.Status != ma2h.Open {
		t.Fatalf("%s, %v", s.Message.Status, err)
	}
	for _, d := range s.Deliveries {
		if late := d.Due.Sub(expires); d.Kind == hub.KindExpire && (d.State != hub.Pending || d.Attempts != 0 || late < -time.Second || late > time.Second) {
			t.Errorf("%+v", d)
		}
	}
}

// An agent learns why nothing arrived, and not where people are.
func TestExtrasHoldNoAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.chat.failing(func(hub.PostRequest) error {
			return &hub.DeliveryError{Code: "rejected", Msg: "550 5.1.1 <alice.ng@example.com>: no such user; see #deploys", Permanent: true}
		})
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		body, err := w.h.Body(t.Context(), w.message(id), true)
		if err != nil || strings.Contains(string(body), "alice.ng") || strings.Contains(string(body), "example.com\"") ||
			!strings.Contains(string(body), "no such user; see #deploys") {
			t.Errorf("%s, %v", body, err)
		}
		w.stop()
	})
}

// What expires now has expired (spec §8.1: equality too).
func TestExpiryIsLaterThanNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for offset, want := range map[time.Duration]string{0: "invalid_field expires_at", time.Millisecond: "<nil>"} {
			d := ask(func(d doc) { d["expires_at"] = ma2h.FormatTime(time.Now().Add(offset)) })
			if _, err := w.h.Submit(t.Context(), w.agent(deploybot), d.raw()); codeAndField(err) != want {
				t.Errorf("%s from now: %v, want %s", offset, err, want)
			}
		}
		w.stop()
	})
}

// A cancel at expires_at itself still counts (spec §8.8), and a poll under the
// agent's own name wakes as soon as one under the hub's.
func TestCancelAtExpiryWakesAlias(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.stopOutbox()
		w.submit(ask(func(d doc) {
			d["ma2h_version"], d["id"], d["expires_at"] = "0.1", "mine", ma2h.FormatTime(time.Now().Add(30*time.Second))
		}))
		start := time.Now()
		ended := make(chan ma2h.Status, 1)
		go func() {
			m, err := w.h.Wait(t.Context(), deploybot, "mine", time.Minute)
			if err != nil || time.Since(start) != 30*time.Second {
				t.Errorf("the poll ended after %v, %v", time.Since(start), err)
			}
			ended <- m.Status
		}()
		time.Sleep(30 * time.Second)
		if r, err := w.h.Cancel(t.Context(), w.agent(deploybot), "mine"); err != nil || r.Status != ma2h.Cancelled || r.ID != "mine" {
			t.Errorf("cancel: %+v, %v", r, err)
		}
		if s := <-ended; s != ma2h.Cancelled {
			t.Errorf("the poll says %s", s)
		}
		w.stop()
	})
}
