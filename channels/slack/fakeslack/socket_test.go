package fakeslack_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"beckon/channels/slack/fakeslack"
)

// dial opens a socket and reads its hello.
func dial(t *testing.T, s *fakeslack.Server) *websocket.Conn {
	t.Helper()
	url := api(t, s, "apps.connections.open", obj{})["url"].(string)
	conn, resp, err := websocket.DefaultDialer.DialContext(within(t), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	if m := readFrame(t, conn); m["type"] != "hello" {
		t.Fatalf("first frame: %v", m)
	}
	return conn
}

func readFrame(t *testing.T, conn *websocket.Conn) map[string]any {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	var m map[string]any
	if err := conn.ReadJSON(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTickets: an address works once.
func TestTickets(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	url := api(t, s, "apps.connections.open", obj{})["url"].(string)
	for i, want := range []int{101, 401} {
		conn, resp, _ := websocket.DefaultDialer.DialContext(within(t), url, nil)
		if conn != nil {
			defer func() { _ = conn.Close() }()
		}
		if resp.StatusCode != want {
			t.Errorf("dial %d: HTTP %d, want %d", i, resp.StatusCode, want)
		}
		_ = resp.Body.Close()
	}
}

// TestSockets: ten connections, which take turns; the eleventh is turned away.
func TestSockets(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true, AckTimeout: time.Minute})
	var conns []*websocket.Conn
	for range 10 {
		conns = append(conns, dial(t, s))
	}
	url := api(t, s, "apps.connections.open", obj{})["url"].(string)
	extra, resp, err := websocket.DefaultDialer.DialContext(within(t), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	defer func() { _ = extra.Close() }()
	if m := readFrame(t, extra); m["reason"] != "too_many_websockets" {
		t.Errorf("eleventh: %v", m)
	}
	for range 20 {
		must(t)(s.Person("alice").Reply(approval, "", "hi"))
	}
	for i, c := range conns {
		for range 2 {
			m := readFrame(t, c)
			if m["type"] != "events_api" {
				t.Fatalf("connection %d: %v", i, m)
			}
			_ = c.WriteJSON(obj{"envelope_id": m["envelope_id"]})
		}
	}
	if _, err := s.WaitDelivery(within(t), func(d fakeslack.Delivery) bool { return d.Acked }); err != nil {
		t.Error(err)
	}
	s.KillSockets()
	if err := s.WaitSockets(within(t), 0); err != nil {
		t.Error(err)
	}
}

// TestSocketRetries: an event that is not acknowledged comes again at once, after
// a minute and after five, and then no more; so does one that nobody was
// connected for. A click is not repeated.
func TestSocketRetries(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{AckTimeout: 30 * time.Millisecond, NoRateLimits: true})
	must(t)(s.Person("alice").Reply(approval, "", "nobody is there"))
	tries := func(n int) {
		t.Helper()
		if _, err := s.WaitDelivery(within(t), func(d fakeslack.Delivery) bool { return d.Attempts == n && d.Reason == "no_connection" }); err != nil {
			t.Fatalf("%d attempts: %v; %+v", n, err, s.Deliveries())
		}
	}
	tries(2)
	conn := dial(t, s)
	s.Advance(time.Minute)
	m := readFrame(t, conn)
	if m["retry_attempt"] != 2.0 || m["retry_reason"] != "timeout" {
		t.Errorf("second retry: %v %v", m["retry_attempt"], m["retry_reason"])
	}
	first := m["envelope_id"]
	// The sleep until the last retry begins only after this attempt has failed.
	if _, err := s.WaitDelivery(within(t), func(d fakeslack.Delivery) bool { return d.Attempts == 3 && d.Reason == "http_timeout" }); err != nil {
		t.Fatal(err)
	}
	var last map[string]any
	for last == nil {
		s.Advance(5 * time.Minute)
		last = readFrame(t, conn)
	}
	if last["retry_attempt"] != 3.0 || last["envelope_id"] == first {
		t.Errorf("last retry: %v", last)
	}
	_ = conn.WriteJSON(obj{"envelope_id": last["envelope_id"]})
	if _, err := s.WaitDelivery(within(t), func(d fakeslack.Delivery) bool { return d.Acked && d.Attempts == 4 }); err != nil {
		t.Error(err)
	}

	ts := api(t, s, "chat.postMessage", obj{"channel": approval, "text": "?", "blocks": []any{actions(button())}})["ts"].(string)
	if _, err := s.Person("alice").Click(within(t), approval, ts, "a"); !errors.Is(err, fakeslack.ErrNoAck) {
		t.Errorf("a click that is not acknowledged: %v", err)
	}
	if _, err := s.Person("alice").WaitSight(within(t), func(x fakeslack.Sight) bool { return x.Kind == "notice" }); err != nil {
		t.Error(err)
	}
}

// TestAcks: what is wrong about an acknowledgement, and acks that get lost.
func TestAcks(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{AckTimeout: 100 * time.Millisecond, NoRateLimits: true})
	conn := dial(t, s)
	ts := api(t, s, "chat.postMessage", obj{"channel": approval, "text": "?", "blocks": []any{actions(button())}})["ts"].(string)
	click := func(reply func(id any)) error {
		t.Helper()
		done := make(chan error, 1)
		go func() {
			_, err := s.Person("alice").Click(context.Background(), approval, ts, "a")
			done <- err
		}()
		for {
			m := readFrame(t, conn)
			if m["type"] != "interactive" {
				_ = conn.WriteJSON(obj{"envelope_id": m["envelope_id"]})
				continue
			}
			reply(m["envelope_id"])
			return <-done
		}
	}
	if err := click(func(id any) { _ = conn.WriteJSON(obj{"envelope_id": id}) }); err != nil {
		t.Errorf("plain ack: %v", err)
	}
	big := obj{"text": strings.Repeat("a", 20<<10)}
	if err := click(func(id any) { _ = conn.WriteJSON(obj{"envelope_id": id, "payload": big}) }); !errors.Is(err, fakeslack.ErrNoAck) {
		t.Errorf("20 KB: %v", err)
	}
	if err := click(func(any) { _ = conn.WriteJSON(obj{"envelope_id": "nothing"}) }); !errors.Is(err, fakeslack.ErrNoAck) {
		t.Errorf("unknown envelope: %v", err)
	}
	if p := s.Problems(); len(p) < 2 || !strings.Contains(p[0], "dropped") || !strings.Contains(p[1], "unknown: nothing") {
		t.Errorf("problems = %q", p)
	}
	s.HoldAcks(1)
	if err := click(func(id any) { _ = conn.WriteJSON(obj{"envelope_id": id}) }); !errors.Is(err, fakeslack.ErrNoAck) {
		t.Errorf("a lost ack: %v", err)
	}
	if err := click(func(id any) { _ = conn.WriteJSON(obj{"envelope_id": id}) }); err != nil {
		t.Errorf("the next ack: %v", err)
	}
}

// TestDisconnect: what is asked to leave gets no new envelopes; pings come.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{PingInterval: 20 * time.Millisecond, SocketLife: 400 * time.Millisecond})
	old := dial(t, s)
	var pings sync.WaitGroup
	pings.Add(1)
	var once sync.Once
	old.SetPingHandler(func(string) error { once.Do(pings.Done); return nil })
	s.Disconnect("refresh_requested")
	if m := readFrame(t, old); m["type"] != "disconnect" || m["reason"] != "refresh_requested" {
		t.Errorf("frame: %v", m)
	}
	next := dial(t, s)
	for range 3 {
		must(t)(s.Person("alice").Reply(approval, "", "hi"))
		if m := readFrame(t, next); m["type"] != "events_api" {
			t.Errorf("frame: %v", m)
		}
	}
	if m := readFrame(t, next); m["reason"] != "refresh_requested" {
		t.Errorf("at the end of its life: %v", m)
	}
	go func() { _, _, _ = old.ReadMessage() }() // to notice pings
	pings.Wait()
	s.Advance(10 * time.Second)
	if err := s.WaitSockets(within(t), 0); err != nil {
		t.Error("ten seconds after they were asked to go: ", err)
	}
}

// TestHTTPRetries: what makes a request fail, and what stops the retries.
func TestHTTPRetries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer http.HandlerFunc
		reason string
		tries  int
	}{
		{"server error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "http_error", 4},
		{"no retry", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Slack-No-Retry", "1")
			w.WriteHeader(500)
		}, "http_error", 1},
		{"too slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "http_timeout", 4},
		{"hang up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "connection_failed", 4},
		{"in circles", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusTemporaryRedirect) }, "too_many_redirects", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nums := make(chan string, 50)
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the server notices a client that has gone
				nums <- r.Header.Get("X-Slack-Retry-Num") + r.Header.Get("X-Slack-Retry-Reason")
				tt.answer(w, r)
			}))
			t.Cleanup(hub.Close)
			o := fakeslack.Example()
			o.Apps[0].RequestURL = hub.URL
			o.AckTimeout = 300 * time.Millisecond
			o.RetryDelays = []time.Duration{0, time.Millisecond, 2 * time.Millisecond}
			s := start(t, o)
			must(t)(s.Person("alice").Reply(approval, "", "hi"))
			d, err := s.WaitDelivery(within(t), func(d fakeslack.Delivery) bool { return d.Attempts == tt.tries && d.Reason != "" && !d.Acked })
			if err != nil || d.Reason != tt.reason {
				t.Fatalf("delivery = %+v, %v", d, err)
			}
			if first := <-nums; first != "" {
				t.Errorf("the first attempt says it is a retry: %s", first)
			}
		})
	}
}

// TestSetRequestURL: an address that does not echo the challenge is refused.
func TestSetRequestURL(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	t.Cleanup(hub.Close)
	if err := s.SetRequestURL(within(t), s.App().ID, hub.URL); err == nil {
		t.Error("accepted")
	}
	if err := s.SetRequestURL(within(t), "A0", hub.URL); err == nil {
		t.Error("an unknown app was accepted")
	}
}
