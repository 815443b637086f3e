package fakeslack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Delivery is one thing that was sent to an app, as the log keeps it.
type Delivery struct {
	Kind     string // "events_api", "interactive", "slash_commands"
	Type     string // such as "block_actions", "message", "/beckon"
	EventID  string
	Payload  json.RawMessage
	Attempts int
	Acked    bool
	Reason   string        // why the last attempt failed
	Took     time.Duration // until the acknowledgement
}

// Deliveries lists what was sent to apps so far, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		out[i] = *d
	}
	return out
}

// WaitDelivery waits until a delivery that want accepts is in the log.
func (s *Server) WaitDelivery(ctx context.Context, want func(Delivery) bool) (Delivery, error) {
	var got Delivery
	err := s.wait(ctx, func() bool {
		i := slices.IndexFunc(s.deliveries, func(d *Delivery) bool { return want(*d) })
		if i >= 0 {
			got = *s.deliveries[i]
		}
		return i >= 0
	})
	return got, err
}

// app is an installed app and its connections.
type app struct {
	App
	tokenError string          // token_revoked, account_inactive
	tickets    map[string]bool // of socket addresses that are not used yet

	sockMu  sync.Mutex
	sockets []*socket
	next    int // the socket that gets the next envelope

	pending map[string]chan json.RawMessage // acks that are awaited, by envelope

	queue chan *outgoing // events in the order in which they happened
}

func newApp(a App) *app {
	return &app{
		App: a, tickets: map[string]bool{}, pending: map[string]chan json.RawMessage{}, queue: make(chan *outgoing, 4096),
	}
}

func (s *Server) appByBot(botID string) *app {
	for _, a := range s.apps {
		if a.BotID == botID {
			return a
		}
	}
	return nil
}

func (a *app) botProfile(s *Server) object {
	return object{
		"id": a.BotID, "app_id": a.ID, "user_id": a.BotUser, "name": a.Name, "deleted": false, "updated": s.lastTS / 1e6,
		"team_id": s.team.ID, "icons": object{"image_36": "", "image_48": "", "image_72": ""},
	}
}

// SetRequestURL moves an app (by id) to HTTP, or to Socket Mode with "". As in
// Slack's settings, a new URL is verified first: it must echo a challenge.
func (s *Server) SetRequestURL(ctx context.Context, appID, to string) error {
	a := s.appByID(appID)
	if a == nil {
		return fmt.Errorf("fakeslack: no app %q", appID)
	}
	if to != "" {
		challenge := randomHex(24)
		body, _ := json.Marshal(object{"token": a.VerificationToken, "challenge": challenge, "type": "url_verification"})
		reply, _, err := s.post(ctx, a, to, "application/json", body, 0, "")
		if err != nil {
			return fmt.Errorf("fakeslack: verify %s: %w", to, err)
		}
		var m struct {
			Challenge string `json:"challenge"`
		}
		if json.Unmarshal(reply, &m) != nil && strings.TrimSpace(string(reply)) == challenge {
			m.Challenge = challenge
		}
		if m.Challenge != challenge {
			return fmt.Errorf("fakeslack: verify %s: it did not answer with the challenge", to)
		}
	}
	s.locked(func() { a.RequestURL = to })
	return nil
}

func (s *Server) appByID(id string) *app {
	for _, a := range s.apps {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// outgoing is one thing on its way to an app.
type outgoing struct {
	log     *Delivery
	payload any
	accepts bool // an acknowledgement may carry a payload
	form    url.Values

	once sync.Once
	sent chan struct{} // closed when the first attempt is on its way
}

func (o *outgoing) onItsWay() { o.once.Do(func() { close(o.sent) }) }

func (s *Server) newOutgoing(kind, typ, eventID string, payload any, accepts bool) *outgoing {
	raw, _ := json.Marshal(payload)
	d := &Delivery{Kind: kind, Type: typ, EventID: eventID, Payload: raw}
	s.deliveries = capped(s.deliveries, d)
	return &outgoing{log: d, payload: json.RawMessage(raw), accepts: accepts, sent: make(chan struct{})}
}

// errNoAck is that an app did not acknowledge.
type errNoAck struct {
	reason  string // as x-slack-retry-reason says it
	noRetry bool
}

func (e *errNoAck) Error() string { return "not acknowledged: " + e.reason }

// attempt sends once and waits for the acknowledgement.
func (s *Server) attempt(ctx context.Context, a *app, o *outgoing, retry int, reason string) (json.RawMessage, error) {
	var httpURL string
	s.locked(func() {
		o.log.Attempts++
		httpURL = a.urlFor(o.log.Kind)
	})
	defer o.onItsWay()
	began := time.Now()
	var reply json.RawMessage
	var err error
	if httpURL == "" {
		reply, err = s.attemptSocket(ctx, a, o, retry, reason)
	} else {
		reply, err = s.attemptHTTP(ctx, a, httpURL, o, retry, reason)
	}
	s.locked(func() {
		o.log.Took = time.Since(began)
		var no *errNoAck
		if errors.As(err, &no) {
			o.log.Reason = no.reason
		}
		o.log.Acked = o.log.Acked || err == nil
		s.touch()
	})
	s.opts.Log.Info("delivery", "kind", o.log.Kind, "type", o.log.Type, "retry", retry, "acked", err == nil)
	return reply, err
}

func (a *app) urlFor(kind string) string {
	switch {
	case kind == "interactive" && a.InteractivityURL != "":
		return a.InteractivityURL
	case kind == "slash_commands" && a.CommandsURL != "":
		return a.CommandsURL
	}
	return a.RequestURL
}

func (s *Server) attemptHTTP(ctx context.Context, a *app, to string, o *outgoing, retry int, reason string) (json.RawMessage, error) {
	raw, _ := json.Marshal(o.payload)
	kind, body := "application/json", raw
	switch o.log.Kind {
	case "interactive":
		kind, body = "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(raw)}}.Encode())
	case "slash_commands":
		kind, body = "application/x-www-form-urlencoded", []byte(o.form.Encode())
	}
	reply, noRetry, err := s.post(ctx, a, to, kind, body, retry, reason)
	if no, ok := err.(*errNoAck); ok {
		no.noRetry = noRetry
	}
	return reply, err
}

// Sign returns the two headers of a signed request: the time in seconds and the
// signature (https://docs.slack.dev/authentication/verifying-requests-from-slack).
func Sign(secret string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", timestamp, body)
	return timestamp, "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// post sends a signed request; it is acknowledged by a 2xx within the time.
// Requests are signed with the machine's time, whatever the fake's is.
func (s *Server) post(ctx context.Context, a *app, to, kind string, body []byte, retry int, reason string) (json.RawMessage, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.AckTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, false, &errNoAck{reason: "unknown_error"}
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	ts, sig := Sign(a.SigningSecret, time.Now(), body)
	r.Header.Set("X-Slack-Request-Timestamp", ts)
	r.Header.Set("X-Slack-Signature", sig)
	if retry > 0 {
		r.Header.Set("X-Slack-Retry-Num", itoa(retry))
		r.Header.Set("X-Slack-Retry-Reason", reason)
	}
	redirects := 0
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		if redirects++; redirects > 2 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	resp, err := client.Do(r)
	switch {
	case err != nil && redirects > 2:
		return nil, false, &errNoAck{reason: "too_many_redirects"}
	case err != nil && ctx.Err() != nil:
		return nil, false, &errNoAck{reason: "http_timeout"}
	case err != nil:
		return nil, false, &errNoAck{reason: "connection_failed"}
	}
	defer func() { _ = resp.Body.Close() }()
	noRetry := resp.Header.Get("X-Slack-No-Retry") == "1"
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, noRetry, &errNoAck{reason: "http_timeout"}
	case err != nil:
		return nil, noRetry, &errNoAck{reason: "connection_failed"}
	case resp.StatusCode/100 != 2:
		return nil, noRetry, &errNoAck{reason: "http_error"}
	}
	return bytes.TrimSpace(reply), noRetry, nil
}

// runQueue sends an app its events in order, and retries those that are not
// acknowledged. It ends with the server.
func (s *Server) runQueue(a *app) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case o := <-a.queue:
			s.wg.Go(func() { s.sendEvent(a, o) })
			// The next one follows when this one is on its way, so that an app
			// sees them in order as long as nothing is retried.
			select {
			case <-o.sent:
			case <-time.After(50 * time.Millisecond):
			case <-s.ctx.Done():
				return
			}
		}
	}
}

// sendEvent tries an event up to four times.
func (s *Server) sendEvent(a *app, o *outgoing) {
	_, err := s.attempt(s.ctx, a, o, 0, "")
	for i, d := range s.opts.RetryDelays {
		no, ok := err.(*errNoAck)
		if !ok || no.noRetry {
			return
		}
		if s.clock.sleep(s.ctx, s.clock.now().Add(d)) != nil {
			return
		}
		_, err = s.attempt(s.ctx, a, o, i+1, no.reason)
	}
}
