package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/outbox"
	"beckon/hub/store"
	"beckon/hub/waiter"
)

// idle is an outbox that never gets anything done: the page needs none.
type idle struct{}

func (idle) Due(string, time.Time) {}

// world is a real hub over a real store, with the page as its channel.
type world struct {
	t     *testing.T
	store *store.Store
	hub   *hub.Hub
	dir   *hub.Directory
	desk  hub.Desk
	page  hub.Channel
	// posts counts the forms that browsers sent, in a world on a socket.
	posts *atomic.Int64
}

func newWorld(t *testing.T, publicURL string) *world {
	t.Helper()
	return buildWorld(t, publicURL, false)
}

// buildWorld makes a world; a busy one gets its deliveries done, so that copies
// are recorded and time runs out by itself.
func buildWorld(t *testing.T, publicURL string, busy bool) *world {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "beckon.db"), store.Options{Synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	sgt := time.FixedZone("Asia/Singapore", 8*3600)
	dir := &hub.Directory{
		PublicURL: publicURL,
		People: map[string]*hub.Person{
			"alice": {ID: "alice", Name: "Alice Ng", Location: sgt},
			"bob":   {ID: "bob", Name: "Bob Roy", Location: time.UTC},
			"carol": {ID: "carol", Name: "Carol Diaz", Location: time.UTC},
		},
		Teams:  map[string][]string{"oncall": {"alice", "bob"}},
		Agents: map[string]*hub.Agent{"deploybot/dev-team": {ID: "deploybot/dev-team"}},
		Limits: hub.DefaultLimits,
		Routes: []hub.Route{{
			Name: "routes[0]", Ask: []string{"alice", "bob"},
			Post: []hub.Entry{{Targets: []hub.Target{
				{Channel: "web", Person: "alice"}, {Channel: "web", Person: "bob"}, {Channel: "web", Person: "carol"},
			}}},
		}},
		Channels: map[string]bool{"web": true},
	}
	w := &world{t: t, dir: dir, store: st}
	var box hub.Outbox = idle{}
	real := outbox.New(st, outbox.Options{Lanes: []outbox.Lane{{Name: hub.LaneClock}, {Name: web.Name}}})
	if busy {
		box = real
	}
	w.hub = hub.New(hub.Options{
		Store: st, Notifier: waiter.New(), Outbox: box, Keys: hub.KeyRing{make([]byte, hub.MinKeyBytes)},
	}, dir)
	w.desk = w.hub.Desk(web.Name)
	w.page = web.New(hub.Section{}, w.desk)
	w.hub.SetChannels(map[string]hub.Channel{web.Name: w.page})
	if busy {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- real.Run(ctx, w.hub) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("outbox: %v", err)
			}
		})
	}
	return w
}

// submit sends an envelope whose fields replace those of a plain select ask.
func (w *world) submit(fields map[string]any) string {
	w.t.Helper()
	env := map[string]any{
		"ma2h_version": "0.5", "type": "ask", "created_at": "2026-12-01T00:00:00Z",
		"agent":           map[string]any{"id": "deploybot/dev-team", "run_id": "run_1", "runtime": "cli", "project": "web-app"},
		"title":           "Ship web-app 2.3 to production?",
		"body":            "All checks passed. One migration adds an index on `orders` (about 40 s of lock).",
		"priority":        "high",
		"idempotency_key": rand(),
		"request":         selectRequest(),
	}
	maps.Copy(env, fields)
	for k, v := range env {
		if v == nil {
			delete(env, k)
		}
	}
	raw, err := json.Marshal(env)
	if err != nil {
		w.t.Fatal(err)
	}
	got, err := w.hub.Submit(w.t.Context(), w.dir.Agents["deploybot/dev-team"], raw)
	if err != nil {
		w.t.Fatalf("submit: %v", err)
	}
	return got.Message.ID
}

func selectRequest() map[string]any {
	return map[string]any{
		"mode": "select", "default_on_expire": "hold",
		"options": []map[string]any{
			{"value": "ship", "label": "Ship to prod now", "description": "Deploy immediately."},
			{"value": "hold", "label": "Hold for review", "description": "Wait for a human PR review."},
			{"value": "abort", "label": "Abort the change", "description": "Revert and close."},
		},
	}
}

func inputRequest() map[string]any {
	return map[string]any{"mode": "input", "schema": json.RawMessage(`{"type":"object","properties":{
		"note":{"type":"string","title":"Release note","description":"What users read.","maxLength":500},
		"risk":{"type":"string","title":"Risk","enum":["low","medium","high"]},
		"replicas":{"type":"integer","title":"Replicas","minimum":1,"maximum":9},
		"notify":{"type":"boolean","title":"Notify users"},
		"when":{"type":"string","format":"date","title":"Not before"},
		"api_key":{"type":"string","title":"API key","x-ma2h-sensitive":true}
	},"required":["note","replicas"]}`)}
}

func task() map[string]any {
	return map[string]any{
		"type": "task", "request": nil, "title": "Rotate API_SIGNING_KEY in the prod vault",
		"action": map[string]any{
			"instructions": "Generate a key of **at least 32** characters and store it.",
			"checklist":    []map[string]any{{"text": "Generate a new key", "done": false}, {"text": "Update prod", "done": false}},
			"verification": "The webhook test event returns 200.",
		},
	}
}

// answer chooses an option for somebody.
func (w *world) answer(id, person string, option int) {
	w.t.Helper()
	o, err := w.desk.Answer(w.t.Context(), hub.Answer{
		MessageID: id, Actor: "human:" + person, Verb: hub.VerbAnswer, Option: option, Comment: "By " + person + ".",
		Receipt: hub.Receipt{Key: rand(), Evidence: []byte("{}")},
	})
	if err != nil || o.Kind != hub.Accepted {
		w.t.Fatalf("answer: %+v, %v", o, err)
	}
}

// cancel withdraws a message, as its agent does.
func (w *world) cancel(id string) {
	w.t.Helper()
	if _, err := w.hub.Cancel(w.t.Context(), w.dir.Agents["deploybot/dev-team"], id); err != nil {
		w.t.Fatal(err)
	}
}

// link is a personal link, as the operator's command makes it.
func (w *world) link(person, id string) string {
	return web.Link(w.desk.Keys(web.LinkKeys), w.dir.PublicURL, person, id, time.Now().Add(time.Hour))
}

// visit is a person who has opened a link.
func (w *world) visit(person, id string) *visitor {
	w.t.Helper()
	v := newVisitor(w.t, w.page, w.dir.PublicURL)
	v.open(w.link(person, id))
	return v
}

// message reads a message as an operator does.
func (w *world) message(id string) *hub.Message {
	w.t.Helper()
	s, err := w.hub.Inspect(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Message
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// setField fills in the section's only key, as the config's decoder would.
func setField(v any, dir string) bool {
	reflect.ValueOf(v).Elem().FieldByName("Templates").SetString(dir)
	return true
}
