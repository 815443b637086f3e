package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/admin"
	"beckon/hub/api"
	"beckon/hub/ma2h"
	"beckon/hub/outbox"
	"beckon/hub/store"
	"beckon/hub/waiter"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if parkPolls() { // the benchmark's client process
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	deploybot = "deploybot/dev-team"
	otherbot  = "other/bot"

	deployToken   = "deploy-token-1"
	otherToken    = "other-token-1"
	operatorToken = "operator-token-1"
)

// world is the API over a real hub with a real store and outbox. Channel "web"
// takes everything; "chat" refuses everything for good.
type world struct {
	t    testing.TB
	dir  *hub.Directory
	hub  *hub.Hub
	st   *store.Store
	api  *api.API
	log  *logBuffer
	spec *spec
}

func newDirectory() *hub.Directory {
	agent := func(id, token string) *hub.Agent {
		return &hub.Agent{ID: id, Tokens: []hub.TokenHash{hub.HashToken(token)}}
	}
	d := &hub.Directory{
		PublicURL: "https://beckon.example.com", Limits: hub.DefaultLimits, Retention: 30 * 24 * time.Hour,
		People: map[string]*hub.Person{
			"alice": {ID: "alice", Name: "Alice Ng", Location: time.UTC},
			"bob":   {ID: "bob", Name: "Bob Roy", Location: time.UTC},
		},
		Agents: map[string]*hub.Agent{
			deploybot: agent(deploybot, deployToken), otherbot: agent(otherbot, otherToken),
		},
		Operators: map[string]*hub.Operator{
			"ops": {ID: "ops", Tokens: []hub.TokenHash{hub.HashToken(operatorToken)}},
		},
		Channels: map[string]bool{"web": true, "chat": true},
	}
	d.Routes = []hub.Route{
		{Name: "chat", Match: &hub.Match{Tags: []string{"chat"}}, Ask: []string{"alice"}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "chat", Place: "#deploys"}}},
		}},
		{Name: "closed", Match: &hub.Match{Tags: []string{"closed"}}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "web", Person: "alice"}}},
		}},
		{Name: "web", Ask: []string{"alice"}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "web", Person: "alice"}}},
		}},
	}
	return d
}

func newWorld(t testing.TB, change func(*hub.Directory, *api.Options)) *world {
	t.Helper()
	w := &world{t: t, dir: newDirectory(), log: &logBuffer{}, spec: readSpec(t)}
	o := api.Options{Version: "test"}
	if change != nil {
		change(w.dir, &o)
	}
	var err error
	w.st, err = store.Open(t.Context(), filepath.Join(t.TempDir(), "beckon.db"), store.Options{Synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	box := outbox.New(w.st, outbox.Options{Lanes: []outbox.Lane{{Name: "web"}, {Name: "chat"}, {Name: hub.LaneClock}}})
	w.hub = hub.New(hub.Options{Store: w.st, Notifier: waiter.New(), Outbox: box, Keys: hub.KeyRing{make([]byte, 32)}}, w.dir)
	w.hub.SetChannels(map[string]hub.Channel{"web": willing{}, "chat": unwilling{}})
	if o.Hub == nil {
		o.Hub = w.hub
	}
	o.Log = slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Ready = cmpFunc(o.Ready, w.st.Ping)
	o.Stats = w.stats
	w.api = api.New(o)

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- box.Run(ctx, w.hub) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("outbox: %v", err)
		}
		if err := w.st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

func cmpFunc(f, otherwise func(context.Context) error) func(context.Context) error {
	if f != nil {
		return f
	}
	return otherwise
}

func (w *world) stats(ctx context.Context) (*admin.Stats, error) {
	s, err := w.st.Stats(ctx)
	if err != nil {
		return nil, err
	}
	out := &admin.Stats{Open: s.Open, Unsealed: s.Unsealed}
	for _, l := range s.Lanes {
		v := admin.Lane{Lane: l.Lane, State: l.State, Count: l.Count, Due: l.Due}
		out.Lanes = append(out.Lanes, v)
	}
	return out, nil
}

type willing struct{}

func (willing) Post(_ context.Context, r hub.PostRequest) (hub.Posted, error) {
	return hub.Posted{Ref: r.DeliveryID}, nil
}

type unwilling struct{}

func (unwilling) Post(context.Context, hub.PostRequest) (hub.Posted, error) {
	return hub.Posted{}, &hub.DeliveryError{Code: "not_invited", Msg: "invite the app to #deploys", Permanent: true}
}

// logBuffer keeps the log of a test.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// in is the same world for a subtest, which then fails alone.
func (w *world) in(t testing.TB) *world {
	sub := *w
	sub.t = t
	return &sub
}

// reply is what the API answered.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// do makes a request and holds the answer against openapi.yaml. Headers come as
// "Name: value"; a token is sent as bearer unless it is empty.
func (w *world) do(method, target, token, body string, headers ...string) *reply {
	w.t.Helper()
	rep := w.send(method, target, token, body, headers...)
	path, _, _ := strings.Cut(target, "?")
	w.spec.check(w.t, method, path, rep)
	return rep
}

// send is do for what is not in openapi.yaml: a page.
func (w *world) send(method, target, token, body string, headers ...string) *reply {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Add(name, value)
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return &reply{t: w.t, status: rec.Code, header: rec.Header(), body: rec.Body.String()}
}

// field reads a value of a JSON answer by a dotted path, nil if there is none.
func (r *reply) field(path string) any {
	r.t.Helper()
	var v any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		r.t.Fatalf("not JSON: %v: %s", err, r.body)
	}
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func (r *reply) text(path string) string {
	r.t.Helper()
	s, _ := r.field(path).(string)
	return s
}

// want checks status and error code ("" for none).
func (r *reply) want(status int, code ma2h.Code) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	if code != "" && r.text("error.code") != string(code) {
		r.t.Fatalf("code %q, want %q: %s", r.text("error.code"), code, r.body)
	}
	return r
}

// ask is an envelope of deploybot's, changed by fields. A nil value removes one.
func ask(fields map[string]any) string {
	e := map[string]any{
		"ma2h_version": "0.5", "type": "ask", "created_at": "2026-12-01T10:00:00Z",
		"agent": map[string]any{"id": deploybot, "run_id": "run_1", "runtime": "cli"},
		"title": "Ship it?", "idempotency_key": fmt.Sprintf("key-%d", keys.next()),
		"request": map[string]any{"mode": "select", "options": []any{
			map[string]any{"value": "ship", "label": "Ship now"}, map[string]any{"value": "hold", "label": "Hold"},
		}},
	}
	return envelope(e, fields)
}

func task(fields map[string]any) string {
	e := map[string]any{
		"ma2h_version": "0.5", "type": "task", "created_at": "2026-12-01T10:00:00Z",
		"agent": map[string]any{"id": deploybot, "run_id": "run_1", "runtime": "cli"},
		"title": "Rotate the key", "idempotency_key": fmt.Sprintf("key-%d", keys.next()),
		"action": map[string]any{"instructions": "Rotate it.", "checklist": []any{map[string]any{"text": "made", "done": false}}},
	}
	return envelope(e, fields)
}

func notify(fields map[string]any) string {
	e := map[string]any{
		"ma2h_version": "0.5", "type": "notify", "created_at": "2026-12-01T10:00:00Z",
		"agent": map[string]any{"id": deploybot, "run_id": "run_1", "runtime": "cli"}, "title": "Digest",
	}
	return envelope(e, fields)
}

func envelope(e, fields map[string]any) string {
	for name, v := range fields {
		if v == nil {
			delete(e, name)
			continue
		}
		e[name] = v
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// with returns the request of ask with more members.
func with(members map[string]any) map[string]any {
	r := map[string]any{"mode": "select", "options": []any{
		map[string]any{"value": "ship", "label": "Ship now"}, map[string]any{"value": "hold", "label": "Hold"},
	}}
	for name, v := range members {
		r[name] = v
	}
	return r
}

// keys gives each test envelope a key of its own.
var keys counter

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// submit sends an envelope of deploybot's and returns the id.
func (w *world) submit(envelope string) string {
	w.t.Helper()
	return w.do("POST", "/v1/messages", deployToken, envelope).want(http.StatusAccepted, "").text("id")
}

// answer is what Alice does on the page.
func (w *world) answer(id string, option int) {
	w.t.Helper()
	o, err := w.hub.Desk("web").Answer(w.t.Context(), hub.Answer{
		MessageID: id, Actor: "human:alice", Verb: hub.VerbAnswer, Option: option,
		Receipt: hub.Receipt{Channel: "web", Key: id},
	})
	if err != nil || o.Kind != hub.Accepted {
		w.t.Fatalf("answer: %+v, %v", o, err)
	}
}
