package hub_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

func TestSubmitAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		s := w.submit(ask(nil))
		id := s.Message.ID
		want := ma2h.SubmitAck{
			ID: id, Status: ma2h.Open,
			PollURL: "https://beckon.example.com/v1/messages/" + id, ReviewURL: "https://beckon.example.com/i/" + id,
		}
		if s.Ack != want || s.Replayed || s.Warnings != nil {
			t.Errorf("ack %+v, replayed %v, warnings %q", s.Ack, s.Replayed, s.Warnings)
		}
		synctest.Wait()
		if got := w.kinds(id); !slices.Equal(got, []string{"submitted", "posted"}) {
			t.Errorf("history %q", got)
		}
		for _, person := range []string{"alice", "bob"} { // alice got a copy, bob may answer
			cards, err := w.h.Desk("web").List(t.Context(), person, hub.ListQuery{Open: true, Limit: 10})
			if err != nil || len(cards) != 1 || !cards[0].MayAnswer {
				t.Errorf("%s's list: %v, %v", person, cards, err)
			}
		}
		cards, err := w.h.Desk("web").List(t.Context(), "carol", hub.ListQuery{Limit: 10})
		if err != nil || len(cards) != 0 {
			t.Errorf("carol's list: %v, %v", cards, err)
		}
		_, err = w.h.Desk("web").Card(t.Context(), id, "carol", hub.Page)
		if hub.CodeOf(err) != ma2h.CodeNotFound {
			t.Errorf("carol reads it: %v", err)
		}
		w.stop()
	})
}

func TestSubmitNotify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s := w.submit(message("notify", nil))
	if s.Ack.Status != ma2h.Delivered {
		t.Errorf("status %s", s.Ack.Status)
	}
	if o := w.answer(hub.Answer{MessageID: s.Message.ID, Option: 1}); o.Kind != hub.Refused || o.Reason != hub.ReasonNotify {
		t.Errorf("an answer to it: %+v", o)
	}
}

func TestSubmitRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory) {
		d.Limits.Body, d.Limits.Parts, d.Limits.Part, d.Limits.Options, d.Limits.Fields = 100, 2, 50, 3, 2
		d.Limits.Envelope = 4000
	})
	in := func(path, key string, v any) func(doc) { return func(d doc) { d.in(path)[key] = v } }
	tests := []struct {
		name   string
		change func(doc)
		want   string
	}{
		{"agent of somebody else", in("agent", "id", "other/bot"), "agent_id_mismatch agent.id"},
		{"expired", func(d doc) { d["expires_at"] = "2020-01-01T00:00:00Z" }, "invalid_field expires_at"},
		{"expired in Go's zero year", func(d doc) { d["expires_at"] = "0001-01-01T00:00:00Z" }, "invalid_field expires_at"},
		{"after the last year", func(d doc) { d["expires_at"] = "9999-12-31T23:59:59-00:01" }, "validation_error expires_at"},
		{"long body", func(d doc) { d["body"] = strings.Repeat("x", 101) }, "invalid_field body"},
		{"many parts", func(d doc) { p := doc{"kind": "text", "text": "x"}; d["context"] = []doc{p, p, p} }, "invalid_field context"},
		{"large part", func(d doc) {
			d["context"] = []doc{{"kind": "text", "text": "x"}, {"kind": "text", "text": strings.Repeat("x", 51)}}
		}, "invalid_field context[1]"},
		{"many options", in("request", "options", []doc{
			{"value": "a", "label": "A"}, {"value": "b", "label": "B"}, {"value": "c", "label": "C"}, {"value": "d", "label": "D"},
		}), "invalid_field request.options"},
		{
			"push", in("request", "callback", doc{"mode": "push", "url": "https://agent.example.com/x", "auth": doc{"scheme": "hmac", "secret_ref": "env:X"}}),
			"invalid_field request.callback.url",
		},
		{"default that is no option", in("request", "default_on_expire", "later"), "invalid_field request.default_on_expire"},
		{"nested schema", func(d doc) {
			d["request"] = doc{"mode": "input", "schema": doc{"type": "object", "properties": doc{"a": doc{"type": "object"}}}}
		}, "invalid_field request.schema.properties.a.type"},
		{"default that doesn't fit the schema", func(d doc) {
			d["request"] = doc{"mode": "input", "default_on_expire": doc{"a": 1}, "schema": doc{"type": "object", "properties": doc{"a": doc{"type": "string"}}}}
		}, "invalid_field request.default_on_expire"},
		{"too large in all", func(d doc) { d["client_ref"] = strings.Repeat("x", 5000) }, "invalid_field "},
		{"no key", func(d doc) { delete(d, "idempotency_key") }, "validation_error idempotency_key"},
		{"major 1", func(d doc) { d["ma2h_version"] = "1.0" }, "version_not_supported ma2h_version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.h.Submit(t.Context(), w.agent(deploybot), ask(tt.change).raw())
			if got := codeAndField(err); got != tt.want {
				t.Errorf("%q, want %q (%v)", got, tt.want, err)
			}
		})
	}
	if list, err := w.h.List(t.Context(), hub.ListQuery{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("%d messages were stored, %v", len(list), err)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	old := func(d doc) { d["ma2h_version"] = "0.1" }
	tests := []struct {
		name   string
		first  func(doc)
		second func(doc)
		want   string // "" for the original ack
	}{
		{"the same", nil, nil, ""},
		{"another run", nil, func(d doc) { d.in("agent")["run_id"] = "run_2" }, ""},
		{"another title", nil, func(d doc) { d["title"] = "x" }, "idempotency_conflict idempotency_key"},
		{"an unknown field more", nil, func(d doc) { d["extra"] = 1 }, "idempotency_conflict idempotency_key"},
		{"a shape that is wrong by now", nil, func(d doc) { d["title"] = 7 }, "idempotency_conflict idempotency_key"},
		{"0.1: another payload", old, func(d doc) { old(d); d["title"] = "x" }, ""},
		{
			"0.1: same id and payload", func(d doc) { old(d); delete(d, "idempotency_key"); d["id"] = "mine" },
			func(d doc) { old(d); delete(d, "idempotency_key"); d["id"] = "mine" }, "",
		},
		{
			"0.1: same id, another payload", func(d doc) { old(d); delete(d, "idempotency_key"); d["id"] = "mine" },
			func(d doc) { old(d); delete(d, "idempotency_key"); d["id"] = "mine"; d["title"] = "x" }, "idempotency_conflict id",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			build := func(change func(doc)) doc {
				d := ask(change)
				if d["idempotency_key"] != nil {
					d["idempotency_key"] = "the key"
				}
				return d
			}
			first := w.submit(build(tt.first))
			got, err := w.h.Submit(t.Context(), w.agent(deploybot), build(tt.second).raw())
			if tt.want != "" {
				if codeAndField(err) != tt.want {
					t.Errorf("%v, want %s", err, tt.want)
				}
				return
			}
			if err != nil || !got.Replayed || got.Ack != first.Ack {
				t.Errorf("second: %+v, %v; first %+v", got, err, first.Ack)
			}
			if list, _ := w.h.List(t.Context(), hub.ListQuery{Limit: 10}); len(list) != 1 {
				t.Errorf("%d messages are stored", len(list))
			}
		})
	}
}

// A replay comes before expiry, limits and routes, and has the status of now.
func TestReplayLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(d *hub.Directory) { d.Limits.OpenMessages = 1 })
		d := ask(func(d doc) { d["expires_at"] = ma2h.FormatTime(time.Now().Add(time.Minute)) })
		first := w.submit(d)
		if s := w.submit(d); !s.Replayed || s.Ack != first.Ack {
			t.Errorf("at the limit: %+v", s.Ack)
		}
		if _, err := w.h.Submit(t.Context(), w.agent(deploybot), ask(nil).raw()); hub.CodeOf(err) != ma2h.CodeRateLimited {
			t.Errorf("one more than the limit: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := w.submit(d); !s.Replayed || s.Ack.ID != first.Ack.ID || s.Ack.Status != ma2h.Expired {
			t.Errorf("after expiry: %+v", s.Ack)
		}
		w.submit(ask(nil)) // the expired one makes room
		w.stop()
	})
}

// The same new key from many connections at once makes one message.
func TestSubmitRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	d := ask(nil).raw()
	const n = 32
	ids := make(chan string, n)
	for range n {
		go func() {
			s, err := w.h.Submit(t.Context(), w.agent(deploybot), d)
			if err != nil {
				ids <- err.Error()
				return
			}
			ids <- s.Ack.ID
		}()
	}
	first := <-ids
	for range n - 1 {
		if id := <-ids; id != first {
			t.Fatalf("ids %q and %q", first, id)
		}
	}
	w.answer(hub.Answer{MessageID: first, Option: 1})
	w.h.SetDirectory(func() *hub.Directory { d := directory(); d.Limits.OpenMessages = 1; return d }())
	w.submit(ask(nil)) // the failed inserts gave their places back
}

func TestGet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s := w.submit(ask(func(d doc) {
		d["ma2h_version"], d["id"] = "0.1", "mine"
		d["unknown"], d["status"], d["beckon"] = "x", "answered", doc{"a": 1}
		d["state"] = doc{"b": "é", "a": 1}
	}))
	if s.Ack.ID != "mine" || !strings.HasSuffix(s.Ack.PollURL, "/v1/messages/mine") || !strings.HasSuffix(s.Ack.ReviewURL, "/i/"+s.Message.ID) {
		t.Errorf("ack %+v", s.Ack)
	}
	for _, id := range []string{"mine", s.Message.ID} {
		m, err := w.h.Get(t.Context(), deploybot, id)
		if err != nil {
			t.Fatal(err)
		}
		body, err := w.h.Body(t.Context(), m, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, no := range []string{"unknown", "beckon", "answered"} {
			if strings.Contains(string(body), no) {
				t.Errorf("body has %q: %s", no, body)
			}
		}
		if !strings.Contains(string(body), `"id":"mine"`) || !strings.Contains(string(body), `"status":"open"`) || !strings.Contains(string(body), `é`) {
			t.Errorf("body %s", body)
		}
	}
	_, other := w.h.Get(t.Context(), "other/bot", s.Message.ID)
	_, unknown := w.h.Get(t.Context(), "other/bot", "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV")
	if hub.CodeOf(other) != ma2h.CodeNotFound || hub.CodeOf(unknown) != ma2h.CodeNotFound {
		t.Errorf("another agent: %v, %v", other, unknown)
	}
	want := strings.ReplaceAll(unknown.Error(), "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV", s.Message.ID)
	if other.Error() != want {
		t.Errorf("another's and unknown differ: %v, %v", other, unknown)
	}
	var e *hub.Error
	if !errors.As(other, &e) || e.Message != nil {
		t.Errorf("the refusal holds the message: %+v", e)
	}
}

// An agent's own id that is the hub's id of another message of that agent would
// name two messages. Somebody else's id is a name like any other.
func TestAliasThatIsAHubID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.stopOutbox() // a post that runs would keep the message
	old := func(id string) doc {
		return ask(func(d doc) { d["ma2h_version"], d["id"], d["idempotency_key"] = "0.1", id, "key of "+id })
	}
	mine := w.submit(ask(nil)).Message.ID
	if _, err := w.h.Submit(t.Context(), w.agent(deploybot), old(mine).raw()); codeAndField(err) != "idempotency_conflict id" {
		t.Errorf("my own: %v", err)
	}
	if _, err := w.h.Cancel(t.Context(), w.agent(deploybot), mine); err != nil {
		t.Fatal(err)
	}
	if n, err := w.s.Purge(t.Context(), time.Now().Add(time.Hour), time.Minute, 10); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := w.h.Submit(t.Context(), w.agent(deploybot), old(mine).raw()); codeAndField(err) != "idempotency_conflict id" {
		t.Errorf("my own that is gone: %v", err)
	}
	theirs := ask(func(d doc) { d.in("agent")["id"] = "other/bot" })
	s, err := w.h.Submit(t.Context(), w.agent("other/bot"), theirs.raw())
	if err != nil {
		t.Fatal(err)
	}
	named := w.submit(old(s.Message.ID))
	for range 2 {
		m, err := w.h.Get(t.Context(), deploybot, s.Message.ID)
		if err != nil || m.ID != named.Message.ID {
			t.Errorf("theirs as a name of mine: %v, %v", m, err)
		}
		if m, err := w.h.Get(t.Context(), "other/bot", s.Message.ID); err != nil || m.ID != s.Message.ID {
			t.Errorf("theirs: %v, %v", m, err)
		}
		if again := w.submit(old(s.Message.ID)); !again.Replayed || again.Ack != named.Ack {
			t.Errorf("replay: %+v", again.Ack)
		}
	}
}
