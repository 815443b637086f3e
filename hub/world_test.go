package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/outbox"
	"beckon/hub/store"
	"beckon/hub/waiter"
)

const deploybot = "deploybot/dev-team"

// world is a hub with a real store and outbox, and two channels: "web", whose
// copies are live, and "chat", whose copies must be updated.
type world struct {
	t    testing.TB
	h    *hub.Hub
	s    *store.Store
	chat *chat
	// stopOutbox ends the outbox alone, stop everything.
	stopOutbox, stop func()
}

// people and routes that the tests share: alice and bob are asked in #deploys,
// then by chat after ten minutes; "web" goes to the page only.
func directory() *hub.Directory {
	d := &hub.Directory{
		PublicURL: "https://beckon.example.com", Limits: hub.DefaultLimits, Retention: 30 * 24 * time.Hour,
		People: map[string]*hub.Person{}, Agents: map[string]*hub.Agent{},
	}
	for id, name := range map[string]string{"alice": "Alice Ng", "bob": "Bob Roy", "carol": "Carol Sim"} {
		d.People[id] = &hub.Person{ID: id, Name: name, Location: time.UTC}
	}
	for _, id := range []string{deploybot, "other/bot"} {
		d.Agents[id] = &hub.Agent{ID: id}
	}
	alice, bob := hub.Target{Channel: "chat", Person: "alice"}, hub.Target{Channel: "chat", Person: "bob"}
	d.Routes = []hub.Route{
		{Name: "web", Match: &hub.Match{Tags: []string{"web"}}, Ask: []string{"alice", "bob"}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "web", Person: "alice"}}},
		}},
		{Name: "closed", Match: &hub.Match{Tags: []string{"closed"}}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "web", Person: "alice"}}},
		}},
		{Name: "chat", Ask: []string{"alice", "bob"}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "chat", Place: "#deploys"}}},
			{Targets: []hub.Target{alice}, After: 10 * time.Minute},
			{Targets: []hub.Target{bob}, After: time.Hour},
		}},
	}
	return d
}

func newWorld(t testing.TB, change func(*hub.Directory)) *world {
	t.Helper()
	return newWorldWith(t, change, nil)
}

func newWorldWith(t testing.TB, change func(*hub.Directory), options func(*hub.Options)) *world {
	t.Helper()
	d := directory()
	if change != nil {
		change(d)
	}
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "beckon.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	box := outbox.New(s, outbox.Options{
		Lanes: []outbox.Lane{{Name: "web"}, {Name: "chat"}, {Name: hub.LaneClock}},
		Families: []outbox.Family{{
			Prefix: hub.PushLanes, Concurrency: hub.PushConcurrency,
			Pending: func(ctx context.Context) ([]string, error) { return s.Lanes(ctx, hub.PushLanes) },
		}},
	})
	o := hub.Options{Store: s, Notifier: waiter.New(), Outbox: box, Keys: hub.KeyRing{make([]byte, 32)}}
	if options != nil {
		options(&o)
	}
	h := hub.New(o, d)
	w := &world{t: t, h: h, s: s, chat: &chat{}}
	h.SetChannels(map[string]hub.Channel{"web": web{}, "chat": w.chat})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- box.Run(ctx, h) }()
	w.stopOutbox = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("outbox: %v", err)
		}
	})
	w.stop = sync.OnceFunc(func() {
		w.stopOutbox()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// web stands in for a channel that shows its copies live.
type web struct{}

func (web) Post(_ context.Context, r hub.PostRequest) (hub.Posted, error) {
	return hub.Posted{Ref: r.DeliveryID}, nil
}

// chat keeps its copies by reference, as the text that a reader would see.
type chat struct {
	mu     sync.Mutex
	copies map[string]string
	posts  []string
	fail   func(hub.PostRequest) error
	gate   chan struct{} // when set, Post waits for it
	// updating, when set, makes Update say that it begins and wait for leave.
	updating chan chan struct{}
	updates  int
	silent   bool // the copies don't show the track
}

func (c *chat) ShowsTrack() bool { return !c.silent }

func (c *chat) Post(ctx context.Context, r hub.PostRequest) (hub.Posted, error) {
	if c.gate != nil {
		select {
		case <-c.gate:
		case <-ctx.Done():
			return hub.Posted{}, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posts = append(c.posts, r.Target.String())
	if c.fail != nil {
		if err := c.fail(r); err != nil {
			return hub.Posted{}, err
		}
	}
	if c.copies == nil {
		c.copies = map[string]string{}
	}
	c.copies[r.DeliveryID] = copyOf(r.Card)
	return hub.Posted{Ref: r.DeliveryID, Thread: "th"}, nil
}

func (c *chat) Update(_ context.Context, r hub.UpdateRequest) error {
	if c.updating != nil {
		leave := make(chan struct{})
		c.updating <- leave
		<-leave
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates++
	c.copies[r.Posting.Ref] = copyOf(r.Card)
	return nil
}

func copyOf(c *hub.Card) string {
	if d := c.Decision; d != nil {
		s := fmt.Sprintf("%s: %s by %s via %s %q", d.Resolution, d.Choice, d.ActorName, d.Via, d.Comment)
		if c.Track != nil && c.Track.State != hub.TrackNone {
			s = fmt.Sprintf("%s [%s %s]", s, c.Track.State, c.Track.AckNote)
		}
		return s
	}
	return string(c.Status) + ": " + c.Title
}

func (c *chat) seen() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]string{}
	for k, v := range c.copies {
		out[k] = v
	}
	return out
}

// doc is an envelope under construction.
type doc map[string]any

func ask(change func(doc)) doc {
	return message("ask", func(d doc) {
		d["request"] = doc{"mode": "select", "options": []doc{
			{"value": "ship", "label": "Ship to prod now"}, {"value": "hold", "label": "Hold for review"},
		}}
		if change != nil {
			change(d)
		}
	})
}

var keys atomic.Int64

func message(typ string, change func(doc)) doc {
	d := doc{
		"ma2h_version": "0.5", "type": typ, "created_at": "2026-12-01T09:00:00Z", "title": "Ship web-app 2.3?",
		"agent":           doc{"id": deploybot, "run_id": "run_1", "runtime": "cli"},
		"idempotency_key": "k" + strconv.FormatInt(keys.Add(1), 10), "tags": []string{"web"},
	}
	if change != nil {
		change(d)
	}
	return d
}

func (d doc) in(path string) doc { return d[path].(doc) }

func (d doc) raw() []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
}

func (w *world) agent(id string) *hub.Agent { return w.h.Directory().Agents[id] }

func (w *world) submit(d doc) *hub.Submitted {
	w.t.Helper()
	s, err := w.h.Submit(w.t.Context(), w.agent(deploybot), d.raw())
	if err != nil {
		w.t.Fatalf("submit: %v", err)
	}
	return s
}

func (w *world) answer(a hub.Answer) hub.Outcome {
	w.t.Helper()
	if a.Verb == "" {
		a.Verb = hub.VerbAnswer
	}
	if a.Actor == "" {
		a.Actor = "human:alice"
	}
	o, err := w.h.Desk("web").Answer(w.t.Context(), a)
	if err != nil {
		w.t.Fatalf("answer: %v", err)
	}
	return o
}

func (w *world) message(id string) *hub.Message {
	w.t.Helper()
	s, err := w.h.Inspect(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Message
}

func (w *world) response(id string) *ma2h.Response {
	w.t.Helper()
	r, err := ma2h.ParseResponse(w.message(id).Response)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// kinds lists a message's history after checking its chain.
func (w *world) kinds(id string) []string {
	w.t.Helper()
	events, err := w.h.Events(w.t.Context(), id)
	if err != nil {
		w.t.Fatalf("history: %v", err)
	}
	var out []string
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func codeAndField(err error) string {
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return string(e.Code) + " " + e.Field
	}
	if e, ok := errors.AsType[*ma2h.Error](err); ok {
		return string(e.Code) + " " + e.Field
	}
	return fmt.Sprint(err)
}

// rounds scales a long test by BECKON_ROUNDS.
func rounds(t testing.TB, small int) int {
	n, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS"))
	if err != nil || n < 1 {
		return small
	}
	t.Logf("%d rounds", n)
	return n
}
