package fakeslack

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// socket is one Socket Mode connection
// (https://docs.slack.dev/apis/events-api/using-socket-mode).
type socket struct {
	conn    *websocket.Conn
	writeMu sync.Mutex
	leaving bool // asked to disconnect, so it gets no new envelopes; app.sockMu
}

// frame is an envelope on its way to an app.
type frame struct {
	EnvelopeID string  `json:"envelope_id"`
	Payload    any     `json:"payload"`
	Type       string  `json:"type"`
	Accepts    bool    `json:"accepts_response_payload"`
	Attempt    *int    `json:"retry_attempt,omitempty"`
	Reason     *string `json:"retry_reason,omitempty"`
}

func (k *socket) write(v any) error {
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	_ = k.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	return k.conn.WriteJSON(v)
}

// serveSocket takes a connection that has a ticket nobody has used.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var a *app
	s.locked(func() {
		if x := s.appByID(q.Get("app_id")); x != nil && x.tickets[q.Get("ticket")] {
			delete(x.tickets, q.Get("ticket"))
			a = x
		}
	})
	if a == nil {
		http.Error(w, "invalid ticket", http.StatusUnauthorized)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	k := &socket{conn: conn}
	if !s.spawn(func() { s.runSocket(a, k, q.Get("debug_reconnects") == "true") }) {
		_ = conn.Close()
	}
}

// runSocket says hello, pings, and reads acknowledgements until the connection
// or the server ends.
func (s *Server) runSocket(a *app, k *socket, shortLife bool) {
	defer func() { _ = k.conn.Close() }()
	n, ok := a.addSocket(k)
	if !ok {
		_ = k.write(disconnect("too_many_websockets"))
		return
	}
	defer s.locked(s.touch)
	defer a.dropSocket(k)
	life := s.opts.SocketLife
	if shortLife {
		life = 6 * time.Minute // what debug_reconnects does
	}
	err := k.write(object{
		"type": "hello", "num_connections": n, "connection_info": object{"app_id": a.ID},
		"debug_info": object{"host": "applink-1", "build_number": 200, "approximate_connection_time": int(life.Seconds())},
	})
	if err != nil {
		return
	}
	s.locked(s.touch)
	done := make(chan struct{})
	var keeper sync.WaitGroup
	keeper.Go(func() { s.keepSocket(a, k, life, done) })
	defer keeper.Wait()
	defer close(done)
	for {
		_, raw, err := k.conn.ReadMessage()
		if err != nil {
			return
		}
		s.takeAck(a, raw)
	}
}

// keepSocket pings, and asks the connection to go when its life is over.
func (s *Server) keepSocket(a *app, k *socket, life time.Duration, done <-chan struct{}) {
	ping := time.NewTicker(s.opts.PingInterval)
	defer ping.Stop()
	end := time.NewTimer(life)
	defer end.Stop()
	for {
		select {
		case <-done:
			return
		case <-s.ctx.Done():
			_ = k.conn.Close()
			return
		case <-ping.C:
			_ = k.conn.WriteControl(websocket.PingMessage, []byte("Ping from fakeslack"), time.Now().Add(time.Second))
		case <-end.C:
			s.askToGo(a, k, "refresh_requested")
		}
	}
}

func disconnect(reason string) object {
	return object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "applink-1"}}
}

// addSocket counts a connection, unless there are ten.
func (a *app) addSocket(k *socket) (n int, ok bool) {
	a.sockMu.Lock()
	defer a.sockMu.Unlock()
	if len(a.sockets) >= maxSockets {
		return len(a.sockets), false
	}
	a.sockets = append(a.sockets, k)
	return len(a.sockets), true
}

func (a *app) dropSocket(k *socket) {
	a.sockMu.Lock()
	defer a.sockMu.Unlock()
	a.sockets = slices.DeleteFunc(a.sockets, func(x *socket) bool { return x == k })
}

func (a *app) leave(k *socket) {
	a.sockMu.Lock()
	defer a.sockMu.Unlock()
	k.leaving = true
}

// pick is the connection that gets the next envelope: they take turns, as any
// payload may come over any of them.
func (a *app) pick() *socket {
	a.sockMu.Lock()
	defer a.sockMu.Unlock()
	for range a.sockets {
		a.next++
		if k := a.sockets[a.next%len(a.sockets)]; !k.leaving {
			return k
		}
	}
	return nil
}

func (a *app) list() []*socket {
	a.sockMu.Lock()
	defer a.sockMu.Unlock()
	return slices.Clone(a.sockets)
}

func (a *app) closeSockets() {
	for _, k := range a.list() {
		_ = k.conn.Close()
	}
}

// Sockets counts the open connections of the first app.
func (s *Server) Sockets() int { return len(s.apps[0].list()) }

// WaitSockets waits until the first app has n open connections.
func (s *Server) WaitSockets(ctx context.Context, n int) error {
	return s.wait(ctx, func() bool { return s.Sockets() == n })
}

// Disconnect asks every connection of the first app to go, for the reason
// "warning", "refresh_requested" or "link_disabled"; ten seconds later it is cut.
func (s *Server) Disconnect(reason string) {
	for _, k := range s.apps[0].list() {
		s.askToGo(s.apps[0], k, reason)
	}
}

// askToGo asks a connection to go and cuts it ten seconds later, which is about
// what Slack gives after a warning. After anything but a warning it gets no new
// envelopes.
func (s *Server) askToGo(a *app, k *socket, reason string) {
	if reason != "warning" {
		a.leave(k)
	}
	until := s.clock.now().Add(10 * time.Second)
	_ = k.write(disconnect(reason))
	s.spawn(func() {
		if s.clock.sleep(s.ctx, until) == nil {
			_ = k.conn.Close()
		}
	})
}

// KillSockets cuts every connection without a word.
func (s *Server) KillSockets() {
	for _, a := range s.apps {
		a.closeSockets()
	}
}

// SendFrame writes any JSON to one connection of the first app, for frames that
// a client does not know.
func (s *Server) SendFrame(v any) error {
	k := s.apps[0].pick()
	if k == nil {
		return &errNoAck{reason: "no_connection"}
	}
	return k.write(v)
}

// takeAck hands an acknowledgement to whoever waits for it.
func (s *Server) takeAck(a *app, raw []byte) {
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.Unmarshal(raw, &ack); err != nil || ack.EnvelopeID == "" {
		s.problem("a frame from %s is no acknowledgement", a.ID)
		return
	}
	if s.holdAcks != 0 {
		if s.holdAcks > 0 {
			s.holdAcks--
		}
		return
	}
	if len(raw) >= maxAckBytes {
		s.problem("the acknowledgement of %s has %d bytes and was dropped", ack.EnvelopeID, len(raw))
		return
	}
	waiting := a.pending[ack.EnvelopeID]
	if waiting == nil {
		s.problem("acknowledged twice, too late, or unknown: %s", ack.EnvelopeID)
		return
	}
	delete(a.pending, ack.EnvelopeID)
	waiting <- ack.Payload
}

// attemptSocket sends one envelope, with an id of its own, and waits for its
// acknowledgement.
func (s *Server) attemptSocket(ctx context.Context, a *app, o *outgoing, retry int, reason string) (json.RawMessage, error) {
	k := a.pick()
	if k == nil {
		return nil, &errNoAck{reason: "no_connection"}
	}
	f := frame{EnvelopeID: newUUID(), Payload: o.payload, Type: o.log.Kind, Accepts: o.accepts}
	if o.log.Kind == "events_api" {
		if retry > 0 {
			reason = "timeout"
		}
		f.Attempt, f.Reason = &retry, &reason
	}
	ack := make(chan json.RawMessage, 1)
	s.locked(func() { a.pending[f.EnvelopeID] = ack })
	err := k.write(f)
	o.onItsWay()
	if err != nil {
		s.locked(func() { delete(a.pending, f.EnvelopeID) })
		return nil, &errNoAck{reason: "connection_failed"}
	}
	timer := time.NewTimer(s.opts.AckTimeout)
	defer timer.Stop()
	select {
	case payload := <-ack:
		return payload, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	s.locked(func() { delete(a.pending, f.EnvelopeID) })
	return nil, &errNoAck{reason: "http_timeout"}
}
