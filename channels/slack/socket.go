package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Socket Mode, with a client of our own
// (https://docs.slack.dev/apis/events-api/using-socket-mode). The library's
// acknowledges before anything is recorded, never acknowledges what it can't
// decode, closes a connection before it has the next, and answers no question
// about how it is.
const (
	// socketCount is how many connections each hub has. Slack gives any payload
	// to any of them, so that one may go without anybody noticing. Slack allows
	// ten to an app.
	socketCount = 2
	// pingEvery is how often the hub asks whether anybody is there, and deafAfter
	// how long it believes so without a sign.
	pingEvery = 10 * time.Second
	deafAfter = 30 * time.Second
	// helloWithin bounds the opening of a connection.
	helloWithin = 10 * time.Second
	// partWithin is how long a connection that was told to go is listened to
	// beside its successor: Slack closes it about ten seconds after a warning.
	partWithin = 15 * time.Second
	// retryMin and retryMax bound the wait before a connection is tried again.
	retryMin = 250 * time.Millisecond
	retryMax = 30 * time.Second
	// steady is how long a connection must have lasted for the next one to be
	// opened without a wait.
	steady     = 10 * time.Second
	maxFrame   = 4 << 20 // bytes
	maxAck     = 20_000  // bytes: Slack drops a larger one without a word
	writeLimit = 5 * time.Second
)

func socketName(n int) string { return "socket " + itoa(n+1) }

// listenSockets keeps the connections open until ctx ends.
func (in *inbound) listenSockets(ctx context.Context) error {
	var wg sync.WaitGroup
	for n := range socketCount {
		wg.Go(func() { in.keepSocket(ctx, n) })
	}
	wg.Wait()
	return nil
}

// keepSocket keeps one connection: when it is told to go, the next one is open
// before the old one is let go.
func (in *inbound) keepSocket(ctx context.Context, n int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	log := in.log.With("socket", n+1)
	wait := retryMin
	for ctx.Err() == nil {
		s, err := in.openSocket(ctx, log)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			in.ill.set(socketName(n), "no connection to Slack: "+err.Error())
			log.Warn("no connection to Slack; it is tried again", "err", err, "wait", wait)
			if e, ok := errors.AsType[*apiError](err); ok && e.Code == codeLimited {
				wait = min(max(wait, e.After), 2*retryMax)
			}
			if !sleep(ctx, wait/2+rand.N(wait)) {
				return
			}
			wait = min(2*wait, retryMax)
			continue
		}
		in.ill.set(socketName(n), "")
		opened := time.Now()
		wg.Go(func() { s.serve(ctx) })
		select {
		case <-ctx.Done():
			return
		case reason := <-s.leave:
			log.Info("a connection to Slack ends", "reason", reason, "after", time.Since(opened).Round(time.Second))
			if reason == "too_many_websockets" || reason == "link_disabled" {
				in.ill.set(socketName(n), remedyFor(reason))
				wait = max(wait, 5*time.Second)
			}
		}
		if time.Since(opened) >= steady {
			wait = retryMin
			continue
		}
		if !sleep(ctx, wait/2+rand.N(wait)) {
			return
		}
		wait = min(2*wait, retryMax)
	}
}

func remedyFor(reason string) string {
	if reason == "link_disabled" {
		return "Socket Mode is switched off in the Slack app's settings"
	}
	return "Slack allows ten connections to an app, and they are taken: too many hubs or tests have its app token"
}

// socket is one open connection.
type socket struct {
	in    *inbound
	conn  *websocket.Conn
	log   *slog.Logger
	leave chan string // gets the reason, once, when another must take over

	mu    sync.Mutex
	told  bool           // leave has its reason
	deeds sync.WaitGroup // that are to be acknowledged
}

// openSocket opens a connection and waits for its hello.
func (in *inbound) openSocket(ctx context.Context, log *slog.Logger) (*socket, error) {
	var out struct {
		URL string `json:"url"`
	}
	a := in.c.api
	if _, err := a.do(ctx, a.app, "apps.connections.open", nil, &out); err != nil {
		return nil, err
	}
	// The address holds a ticket, so no error may quote it.
	u, err := url.Parse(out.URL)
	if err != nil || u.Scheme != "wss" && (u.Scheme != "ws" || a.url == slackURL) {
		return nil, errors.New("apps.connections.open: the address is no wss URL")
	}
	dialer := websocket.Dialer{HandshakeTimeout: helloWithin}
	if a.url == slackURL {
		dialer.Proxy = http.ProxyFromEnvironment
	}
	dial, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	conn, resp, err := dialer.DialContext(dial, out.URL, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("dial: %w", unquoted(err))
	}
	s := &socket{in: in, conn: conn, log: log, leave: make(chan string, 1)}
	conn.SetReadLimit(maxFrame)
	if err := s.hello(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// unquoted is an error of the dialer without the URL.
func unquoted(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}

// frame is what Slack sends over a socket.
type frame struct {
	Type       string          `json:"type"`
	EnvelopeID string          `json:"envelope_id"`
	Payload    json.RawMessage `json:"payload"`
	Accepts    bool            `json:"accepts_response_payload"`
	Attempt    int             `json:"retry_attempt"`
	Reason     string          `json:"reason"`          // of disconnect
	Count      int             `json:"num_connections"` // of hello
}

// hello waits for the first frame.
func (s *socket) hello(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	if err := s.conn.SetReadDeadline(time.Now().Add(helloWithin)); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	var f frame
	_, raw, err := s.conn.ReadMessage()
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	switch err := lenient(raw, &f); {
	case err != nil || f.Type != "hello" && f.Type != "disconnect":
		return errors.New("hello: something else came")
	case f.Type == "disconnect":
		return errors.New("hello: " + remedyFor(f.Reason))
	}
	s.in.heardNow()
	if f.Count > 8 {
		s.log.Warn("Slack allows ten connections to an app; others have its app token too", "connections", f.Count)
	}
	return nil
}

// alive puts off the moment at which the connection counts as deaf.
func (s *socket) alive() {
	s.in.heardNow()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told {
		_ = s.conn.SetReadDeadline(time.Now().Add(s.in.deaf))
	}
}

// part says that another connection must take over. This one is listened to a
// little longer.
func (s *socket) part(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told {
		return
	}
	s.told = true
	s.leave <- reason
	_ = s.conn.SetReadDeadline(time.Now().Add(partWithin))
}

// stopReading ends the reading at once, for good.
func (s *socket) stopReading() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = true
	_ = s.conn.SetReadDeadline(time.Now())
}

// serve reads until the connection or ctx ends. When ctx ends, what has come is
// acknowledged before the connection is closed.
func (s *socket) serve(ctx context.Context) {
	defer func() { _ = s.conn.Close() }()
	defer s.deeds.Wait()
	stop := context.AfterFunc(ctx, s.stopReading)
	defer stop()
	s.conn.SetPingHandler(func(data string) error {
		s.alive()
		err := s.conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeLimit))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	s.conn.SetPongHandler(func(string) error { s.alive(); return nil })
	s.alive()
	done := make(chan struct{})
	var pinger sync.WaitGroup
	pinger.Go(func() { s.ping(done) })
	defer pinger.Wait()
	defer close(done)
	for ctx.Err() == nil {
		_, raw, err := s.conn.ReadMessage()
		if err != nil {
			if ctx.Err() == nil {
				s.part(endOf(err))
			}
			return
		}
		s.alive()
		s.take(ctx, raw)
	}
}

// endOf names the end of a connection.
func endOf(err error) string {
	if ne, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && ne.Timeout() {
		return "deaf"
	}
	return "closed"
}

// ping asks for a sign of life: not every Slack pings by itself.
func (s *socket) ping(done <-chan struct{}) {
	t := time.NewTicker(s.in.beat)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-t.C:
			// A failure shows as the read that ends.
			_ = s.conn.WriteControl(websocket.PingMessage, []byte("beckon"), time.Now().Add(writeLimit))
		}
	}
}

// take takes one frame. Every envelope is acknowledged, also one that makes no
// sense: Slack would send it three times more.
func (s *socket) take(ctx context.Context, raw []byte) {
	var f frame
	if err := lenient(raw, &f); err != nil {
		s.log.Warn("a frame from Slack is no JSON object", "bytes", len(raw))
		return
	}
	switch f.Type {
	case "hello":
		return
	case "disconnect":
		s.part(cutTo(line(f.Reason, "(no reason)"), 40))
		return
	}
	if f.EnvelopeID == "" {
		return
	}
	s.deeds.Go(func() {
		ack, err := s.in.receive(ctx, "socket", f.Type, f.Attempt, f.Payload)
		if err != nil {
			return // the hub stops: Slack keeps an event, and tells a person to click again
		}
		s.acknowledge(&f, ack)
	})
}

func (s *socket) acknowledge(f *frame, payload any) {
	out := map[string]any{"envelope_id": f.EnvelopeID}
	if payload != nil && f.Accepts {
		out["payload"] = payload
	}
	b, err := json.Marshal(out)
	if err == nil && len(b) >= maxAck {
		err = errors.New("it is larger than Slack takes")
	}
	if err != nil {
		s.log.Error("an acknowledgement can't be written", "kind", f.Type, "err", err)
		b = []byte(`{"envelope_id":` + string(mustQuote(f.EnvelopeID)) + `}`)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if err := s.conn.WriteMessage(websocket.TextMessage, b); err != nil {
		s.log.Info("an acknowledgement did not go out: the connection is gone", "kind", f.Type)
	}
}

func mustQuote(s string) []byte {
	b, _ := json.Marshal(s) // a string always can
	return b
}
