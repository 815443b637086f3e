package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/api"
	"beckon/hub/client"
	"beckon/hub/ma2h"
	"beckon/hub/outbox"
	"beckon/hub/store"
	"beckon/hub/waiter"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const deploybot = "deploybot/dev-team"

// world is a real hub behind a real socket that can be cut and started again on
// the same address.
type world struct {
	t    testing.TB
	hub  *hub.Hub
	addr string
	srv  *http.Server
	done chan error
	end  func()

	// before sees every request first, and answers it by returning true.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

type quiet struct{}

func (quiet) Post(_ context.Context, r hub.PostRequest) (hub.Posted, error) {
	return hub.Posted{Ref: r.DeliveryID}, nil
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := newWorldAt(t, filepath.Join(t.TempDir(), "beckon.db"))
	t.Cleanup(w.end)
	return w
}

// newWorldAt is newWorld over a database that may be there already. End it.
func newWorldAt(t testing.TB, path string) *world {
	t.Helper()
	st, err := store.Open(t.Context(), path, store.Options{Synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	d := &hub.Directory{
		PublicURL: "http://hub.test", Limits: hub.DefaultLimits, Retention: 30 * 24 * time.Hour,
		People: map[string]*hub.Person{"alice": {ID: "alice", Name: "Alice Ng", Location: time.UTC}},
		Agents: map[string]*hub.Agent{deploybot: {
			ID: deploybot, Tokens: []hub.TokenHash{hub.HashToken("agent-token")},
			Directors: []string{"alice"}, InboxKey: hub.NewSecret(string(hubShare)),
		}},
		Operators: map[string]*hub.Operator{
			"ops": {ID: "ops", Tokens: []hub.TokenHash{hub.HashToken("operator-token")}},
		},
		Routes: []hub.Route{{Name: "all", Ask: []string{"alice"}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "web", Person: "alice"}}},
		}}},
		Channels: map[string]bool{"web": true},
	}
	box := outbox.New(st, outbox.Options{Lanes: []outbox.Lane{{Name: "web"}, {Name: hub.LaneClock}}})
	w := &world{t: t}
	w.hub = hub.New(hub.Options{Store: st, Notifier: waiter.New(), Outbox: box, Keys: hub.KeyRing{make([]byte, 32)}}, d)
	w.hub.SetChannels(map[string]hub.Channel{"web": quiet{}})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- box.Run(ctx, w.hub) }()
	w.start("127.0.0.1:0")
	w.end = func() {
		w.stop()
		cancel()
		<-ran
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	return w
}

func (w *world) start(addr string) {
	w.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.addr = l.Addr().String()
	a := api.New(api.Options{Hub: w.hub, Version: "test"})
	w.srv = api.Server(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if f := w.before.Load(); f != nil && (*f)(rw, r) {
			return
		}
		a.ServeHTTP(rw, r)
	}), slog.New(slog.DiscardHandler), a.Drain)
	w.done = make(chan error, 1)
	go func(s *http.Server) { w.done <- s.Serve(l) }(w.srv)
}

// stop cuts all connections.
func (w *world) stop() {
	w.srv.Close()
	<-w.done
}

// watch tells of every request.
func (w *world) watch(seen chan<- struct{}) {
	w.intercept(func(http.ResponseWriter, *http.Request) bool {
		seen <- struct{}{}
		return false
	})
}

func (w *world) intercept(f func(http.ResponseWriter, *http.Request) bool) { w.before.Store(&f) }

func (w *world) client(opts ...client.Option) *client.Client {
	return w.as("agent-token", opts...)
}

func (w *world) as(token string, opts ...client.Option) *client.Client {
	w.t.Helper()
	tr := &http.Transport{}
	w.t.Cleanup(tr.CloseIdleConnections)
	c, err := client.New("http://"+w.addr, token, deploybot, append([]client.Option{
		client.WithHTTPClient(&http.Client{Transport: tr}),
	}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func ask(key string) []byte {
	return fmt.Appendf(nil, `{"ma2h_version":"0.5","type":"ask","created_at":"2026-12-01T10:00:00Z",
 "agent":{"id":%q,"run_id":"r","runtime":"cli"},"title":"Ship it?","idempotency_key":%q,"state":{"a<b":1},
 "request":{"mode":"select","options":[{"value":"ship","label":"Ship"},{"value":"hold","label":"Hold"}]}}`, deploybot, key)
}

func (w *world) answer(id string) {
	o, err := w.hub.Desk("web").Answer(context.Background(), hub.Answer{
		MessageID: id, Actor: "human:alice", Verb: hub.VerbAnswer, Option: 1, Receipt: hub.Receipt{Channel: "web", Key: id},
	})
	if err != nil || o.Kind != hub.Accepted {
		w.t.Errorf("answer: %+v, %v", o, err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, ctx := w.client(), t.Context()
	ack, err := c.Submit(ctx, ask("k"))
	if err != nil || ack.Status != ma2h.Open || len(ack.Warnings) != 0 {
		t.Fatalf("%+v, %v", ack, err)
	}
	m, err := c.Get(ctx, ack.ID, client.ReadOptions{Beckon: true})
	if err != nil || m.Title != "Ship it?" || m.Beckon == nil || len(m.Beckon.Deliveries) == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := c.Get(ctx, ack.ID, client.ReadOptions{Since: time.Now().Add(time.Second)}); !errors.Is(err, client.ErrUnchanged) {
		t.Errorf("since: %v", err)
	}
	w.answer(ack.ID)
	m, err = c.Wait(ctx, ack.ID)
	if err != nil || m.Status != ma2h.Answered || string(m.Response.Response.Value) != `"ship"` || string(m.Response.State) != `{"a<b":1}` {
		t.Fatalf("%+v, %v", m, err)
	}
	if client.StatusCode(m.Status) != 0 {
		t.Errorf("exit code %d", client.StatusCode(m.Status))
	}
	_, err = c.Cancel(ctx, ack.ID)
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Code != ma2h.CodeAlreadyTerminal || e.ID != ack.ID || e.Resolution != ma2h.Answered || client.ExitCode(err) != 7 {
		t.Errorf("late cancel: %#v", err)
	}
	l, err := c.List(ctx, client.Query{Status: ma2h.Answered, Limit: 1})
	if err != nil || len(l.Messages) != 1 || l.Messages[0].ID != ack.ID || l.Messages[0].ResolvedAt.IsZero() {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := c.Resolve(ctx, ack.ID, ma2h.ResolveRequest{Resolution: ma2h.Declined}); client.ExitCode(err) != 7 {
		t.Errorf("resolve: %v", err)
	}
	d, err := c.Discovery(ctx)
	if err != nil || d.Version != "0.5" || d.MaxEnvelope == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := c.Stats(ctx); client.ExitCode(err) != 7 {
		t.Errorf("an agent's stats: %v", err)
	}
}

func TestOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, ops := t.Context(), w.as("operator-token")
	ack, err := w.client().Submit(ctx, ask("k"))
	if err != nil {
		t.Fatal(err)
	}
	if ms, err := ops.Messages(ctx, client.Query{Agent: deploybot}); err != nil || len(ms.Messages) != 1 {
		t.Errorf("%+v, %v", ms, err)
	}
	if d, err := ops.Inspect(ctx, ack.ID); err != nil || d.Route != "all" || len(d.Deliveries) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if h, err := ops.Events(ctx, ack.ID); err != nil || !h.Verified || len(h.Events) == 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if ds, err := ops.Deliveries(ctx, client.DeliveryQuery{Channel: "web"}); err != nil || len(ds.Deliveries) != 1 {
		t.Errorf("%+v, %v", ds, err)
	}
	if _, err := ops.Post(ctx, ack.ID, true); err != nil {
		t.Error(err)
	}
	if _, err := ops.Retry(ctx, ack.ID, 99); client.ExitCode(err) != 7 {
		t.Errorf("retry of nothing: %v", err)
	}
	if s, err := ops.Stats(ctx); err != nil || s.Version != "test" {
		t.Errorf("%+v, %v", s, err)
	}
	if r, err := ops.Withdraw(ctx, ack.ID); err != nil || r.Status != ma2h.Cancelled {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSubmitIsRepeated: the same bytes go out again after a lost ack, a 503 and
// a 429, and the hub has one message.
func TestSubmitIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var tries atomic.Int32
	var bodies [4]string
	w.intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		n := tries.Add(1)
		b, _ := io.ReadAll(r.Body)
		bodies[n-1] = string(b)
		r.Body = io.NopCloser(strings.NewReader(string(b)))
		switch n {
		case 1: // taken, and the ack is lost
			if _, err := w.hub.Submit(context.Background(), w.hub.Directory().Agents[deploybot], b); err != nil {
				t.Error(err)
			}
			panic(http.ErrAbortHandler)
		case 2:
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusTooManyRequests)
			return true
		case 3:
			rw.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	began := time.Now()
	ack, err := w.client().Submit(t.Context(), ask("once"))
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("took %v although Retry-After was 1 s", took)
	}
	for _, b := range bodies {
		if b != string(ask("once")) {
			t.Errorf("sent %q", b)
		}
	}
	l, err := w.client().List(t.Context(), client.Query{})
	if err != nil || len(l.Messages) != 1 || l.Messages[0].ID != ack.ID {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestNotRepeated: what the hub may have done, and can't know again, is not sent
// twice; nor is what it refused.
func TestNotRepeated(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		call   func(context.Context, *client.Client) error
		status int
		tries  int32
	}{
		{"submit without a key", func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, []byte(`{"type":"notify"}`))
			return err
		}, 502, 1},
		{"submit without a key, not taken", func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, []byte(`{"type":"notify"}`))
			return err
		}, 503, 2},
		{"submit with a key", func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, ask("k"))
			return err
		}, 500, 2},
		{"refused submit", func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, ask("k"))
			return err
		}, 400, 1},
		{"resolve", func(ctx context.Context, c *client.Client) error {
			_, err := c.Resolve(ctx, "x", ma2h.ResolveRequest{Resolution: ma2h.Declined})
			return err
		}, 500, 1},
		{"cancel", func(ctx context.Context, c *client.Client) error {
			_, err := c.Cancel(ctx, "x")
			return err
		}, 500, 2},
		{"post again", func(ctx context.Context, c *client.Client) error {
			_, err := c.Post(ctx, "x", true)
			return err
		}, 500, 1},
		{"redirect", func(ctx context.Context, c *client.Client) error {
			_, err := c.List(ctx, client.Query{})
			return err
		}, 302, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				tries.Add(1)
				rw.Header().Set("Location", "http://elsewhere.test/")
				rw.WriteHeader(tt.status)
			}))
			defer s.Close()
			c, err := client.New(s.URL, "t", deploybot, client.WithHTTPClient(s.Client()), client.WithAttempts(2))
			if err != nil {
				t.Fatal(err)
			}
			err = tt.call(t.Context(), c)
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != tt.status || tries.Load() != tt.tries {
				t.Errorf("%d tries, want %d: %v", tries.Load(), tt.tries, err)
			}
		})
	}
}

// TestWaitSurvives: a wait goes on through a hub that is restarted, connections
// that are cut, and a hub that answers 5xx.
func TestWaitSurvives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	ack, err := c.Submit(t.Context(), ask("k"))
	if err != nil {
		t.Fatal(err)
	}
	polls := make(chan struct{}, 100)
	var n atomic.Int32
	w.intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		polls <- struct{}{}
		if n.Add(1) == 2 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	type result struct {
		m   *client.Message
		err error
	}
	got := make(chan result, 1)
	go func() {
		m, err := c.Wait(t.Context(), ack.ID)
		got <- result{m, err}
	}()
	<-polls
	w.stop()
	addr := w.addr
	time.Sleep(300 * time.Millisecond) // some tries find nobody
	w.start(addr)
	<-polls // the 503
	<-polls
	w.answer(ack.ID)
	r := <-got
	if r.err != nil || r.m.Status != ma2h.Answered {
		t.Errorf("%+v, %v", r.m, r.err)
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	ack, err := c.Submit(t.Context(), ask("k"))
	if err != nil {
		t.Fatal(err)
	}
	// One poll is answered as by a hub that shuts down, the next is held.
	var n atomic.Int32
	w.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if n.Add(1) == 1 {
			r.URL.RawQuery = ""
		}
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
	defer cancel()
	m, err := c.Wait(ctx, ack.ID)
	if !errors.Is(err, client.ErrStillOpen) || m == nil || m.Status != ma2h.Open || client.ExitCode(err) != 6 {
		t.Errorf("%+v, %v", m, err)
	}
	if n.Load() > 3 {
		t.Errorf("%d polls: it rushed", n.Load())
	}
	if _, err := c.Wait(t.Context(), "msg_none"); client.ExitCode(err) != 7 {
		t.Errorf("unknown id: %v", err)
	}
	w.stop()
	ctx2, cancel2 := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel2()
	if _, err := c.Wait(ctx2, ack.ID); client.ExitCode(err) != 8 {
		t.Errorf("nobody there: %v, exit %d", err, client.ExitCode(err))
	}
	w.start(w.addr)
}
