package hub

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"beckon/hub/ma2h"
)

// Pusher delivers Responses to the URLs that agents named (spec §8.3).
type Pusher interface {
	// Push makes one attempt. It signs with a fresh time and id, and returns nil
	// for a 2xx. Another error than a [*DeliveryError] counts as temporary; a
	// permanent one is not tried again.
	Push(ctx context.Context, p Push) error
}

// URLChecker is a [Pusher] that can say beforehand what is wrong with a URL. The
// error's text goes on from the name of the field.
type URLChecker interface {
	CheckURL(raw string) error
}

// Push is one attempt at delivering a Response.
type Push struct {
	MessageID  string
	DeliveryID string // stable over retries
	URL        string // as the agent sent it, letter by letter: it is signed
	Minor      int    // of the version that the Response is in; picks the form of the signature
	Body       []byte // the Response, exactly as every read sends it

	Scheme     string // "hmac", "bearer", "apikey", or "" for no credential
	Credential Secret // of bearer and apikey
	Signing    Secret // of hmac-sha256
	Algorithm  string // "hmac-sha256", or "ed25519" for the hub's own key
}

// How long a Response is pushed (spec §8.3: at least 5 attempts, and both
// advertised): whichever ends first. With the waits of an attempt's failures
// that is about two hours, unless the receiver asks for longer ones.
const (
	MaxPushAttempts = MaxAttempts
	MaxPushDuration = 24 * time.Hour
)

// PushRules are what the config says of all pushes.
type PushRules struct {
	RefuseV01     bool // a push of a 0.1 message is refused instead of signed in the way of 0.1
	AllowLoopback bool // for development: to this machine, also by plain HTTP
}

// CallbackHost is a host that an agent's pushes may go to.
type CallbackHost struct {
	// Host is host or host:port, lower case. Without a port it is that of https,
	// or on a loopback host any.
	Host string
	// Sign is the name in the agent's Secrets of the key that signs, or
	// [SignEd25519].
	Sign string
}

// SignEd25519 in place of the name of a secret: the hub's own key signs.
const SignEd25519 = "ed25519"

// PushLanes begins the names of the lanes of pushes; each host has one.
const PushLanes = LaneCallback + ":"

// PushConcurrency is how many pushes go to one host at a time.
const PushConcurrency = 4

// covers reports whether a URL leads to the host.
func (c *CallbackHost) covers(u *url.URL) bool {
	host, port := c.Host, ""
	if h, p, err := net.SplitHostPort(c.Host); err == nil {
		host, port = h, p
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if !strings.EqualFold(host, u.Hostname()) {
		return false
	}
	if port == "" {
		return loopbackHost(host) || portOf(u) == "443"
	}
	return port == portOf(u)
}

func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// loopbackHost reports whether a host is this machine by its name alone.
func loopbackHost(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// callbackField is where the callback of an envelope stands.
func callbackField(e *ma2h.Envelope) string {
	if e.Action != nil {
		return "action.callback"
	}
	return "request.callback"
}

// wantsPush reports whether the Response goes to a URL.
func wantsPush(e *ma2h.Envelope) bool {
	cb := callbackOf(e)
	return cb != nil && cb.Mode == "push"
}

// pushOf says how the Response to an envelope is pushed: nil when it is not, and
// a refusal when it can't be. It is asked at submit and again at each attempt,
// for the config may have changed (spec §9.4).
func (d *Directory) pushOf(a *Agent, e *ma2h.Envelope) (*Push, error) {
	if !wantsPush(e) {
		return nil, nil
	}
	cb, field := callbackOf(e), callbackField(e)
	minor := min(e.Minor, ma2h.MaxMinor)
	switch {
	case d.Push == nil:
		return nil, refuse(ma2h.CodeInvalidField, field+".url", "this hub does not push; leave callback out and read the Response by GET with ?wait=60")
	case minor == 2, minor < 2 && d.Push.RefuseV01:
		return nil, refuse(ma2h.CodeVersion, field+".mode", "this hub does not push in version 0.%d; send 0.3 or later, or use pull", minor)
	}
	host, err := d.pushHost(a, cb.URL, field)
	if err != nil {
		return nil, err
	}
	p := &Push{URL: cb.URL, Minor: minor, Algorithm: ma2h.AlgHMAC}
	at := field + ".url"
	if auth := cb.Auth; auth != nil {
		p.Scheme = auth.Scheme
		switch {
		case auth.Scheme != "hmac":
			ref := auth.TokenRef
			if minor < 2 && ref == "" { // 0.1 has no rule which of the two it is
				ref = auth.SecretRef
			}
			if p.Credential, err = a.secret(ref, field+".auth.token_ref"); err != nil {
				return nil, err
			}
		case auth.SecretRef != "" || minor >= 2: // at 0.1 it may be left out
			// Spec §9.2: this secret signs, whatever the host's is.
			p.Signing, err = a.secret(auth.SecretRef, field+".auth.secret_ref")
			return p, err
		}
	}
	switch {
	case host.Sign != SignEd25519:
		p.Signing, err = a.secret(host.Sign, at)
		return p, err
	case minor < 2:
		return nil, refuse(ma2h.CodeInvalidField, at, "a 0.1 Response is signed with a secret, and this host has none (agents.%s.callbacks: sign)", a.ID)
	}
	p.Algorithm = ma2h.AlgEd25519
	return p, nil
}

// read is [Directory.read], with what whoever pushes says of the URL.
func (h *Hub) read(d *Directory, agent *Agent, raw []byte, at time.Time) (*Message, error) {
	m, err := d.read(agent, raw, at)
	if err != nil || !wantsPush(m.Envelope) {
		return m, err
	}
	if c, ok := h.pusher.(URLChecker); ok {
		if err := c.CheckURL(callbackOf(m.Envelope).URL); err != nil {
			return nil, refuse(ma2h.CodeInvalidField, callbackField(m.Envelope)+".url", "%v", err)
		}
	}
	return m, nil
}

// pushHost finds the host that a callback may go to.
func (d *Directory) pushHost(a *Agent, raw, field string) (*CallbackHost, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return nil, refuse(ma2h.CodeInvalidField, field+".url", "must be a URL such as https://agent.example.com/ma2h")
	}
	local := d.Push.AllowLoopback && loopbackHost(u.Hostname())
	switch {
	case u.User != nil:
		return nil, refuse(ma2h.CodeInvalidField, field+".url", "must not hold a user or password; use auth")
	case u.Scheme != "https" && (u.Scheme != "http" || !local):
		return nil, refuse(ma2h.CodeInvalidField, field+".url", "must begin with https://")
	case loopbackHost(u.Hostname()) && !local:
		return nil, refuse(ma2h.CodeInvalidField, field+".url", "leads to the hub's own machine (callbacks.allow_loopback is for development)")
	}
	found := -1
	if a != nil {
		found = slices.IndexFunc(a.Callbacks, func(c CallbackHost) bool { return c.covers(u) })
	}
	if found < 0 {
		return nil, refuse(ma2h.CodeInvalidField, field+".url",
			"%s is no callback host of this agent; the operator adds it to agents.%s.callbacks", hostPort(u), agentID(a))
	}
	return &a.Callbacks[found], nil
}

func agentID(a *Agent) string {
	if a == nil {
		return "ID"
	}
	return a.ID
}

// secret finds one of the agent's secrets by the name that a message uses. The
// name is not repeated: somebody may have written the secret in its place.
func (a *Agent) secret(ref, field string) (Secret, error) {
	s := a.Secrets[strings.TrimPrefix(ref, "env:")]
	if s.IsZero() {
		return Secret{}, refuse(ma2h.CodeInvalidField, field, "names no secret of this agent; the operator adds it to agents.%s.secrets", a.ID)
	}
	return s, nil
}

// hostPort is a URL's host with its port, unless that is the one of https.
func hostPort(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	return host
}

// pushTarget names where a push goes: by its host, which has a lane of its own,
// so that one that does not answer keeps no other waiting.
func pushTarget(e *ma2h.Envelope) Target {
	host := "?"
	if u, err := url.Parse(callbackOf(e).URL); err == nil && u.Host != "" {
		host = hostPort(u)
	}
	return Target{Channel: LaneCallback, Place: host}
}

// addPush enqueues the push of a Response.
func addPush(m *Message, c *Change) {
	if wantsPush(m.Envelope) {
		c.Deliveries = append(c.Deliveries, m.newDelivery(KindCallback, pushTarget(m.Envelope), -1, c.At, c.At))
	}
}

// Codes of an attempt at a push that the hub gives itself.
const (
	codeNotPushed = "callback_refused"
)

func (h *Hub) tryPush(ctx context.Context, dir *Directory, s *Snapshot, d *Delivery) attempt {
	m := s.Message
	agent := dir.Agents[m.AgentID]
	if agent == nil {
		return attempt{state: Dead, code: codeNotPushed, msg: "the agent is not in the config any more"}
	}
	p, err := dir.pushOf(agent, m.Envelope)
	switch {
	case err == nil && h.pusher == nil:
		err = refuse(ma2h.CodeInvalidField, "", "this hub does not push")
	case err == nil && (p == nil || m.Response == nil):
		return attempt{state: Dropped, code: codeNotWanted}
	}
	if err != nil {
		return attempt{state: Dead, code: codeNotPushed, msg: err.Error()}
	}
	p.MessageID, p.DeliveryID, p.Body = m.ID, d.ID(), m.Response
	if err := h.pusher.Push(ctx, *p); err != nil {
		return endedPush(ctx, d, err)
	}
	return attempt{state: Done, code: codeOK, pushed: true}
}

// endedPush decides what follows from a failed push. The cap of spec §8.3 is on
// all attempts, so that a wait that the receiver asks for counts too.
func endedPush(ctx context.Context, d *Delivery, err error) attempt {
	a := ended(ctx, d, err)
	if a.code == codeInterrupted || a.state == Dead {
		return a
	}
	a.uncounted = false
	a.after = max(a.after, backoff(d.Attempts))
	switch {
	case d.Attempts >= MaxPushAttempts:
		a.state = Dead
	case time.Since(d.CreatedAt)+a.after > MaxPushDuration:
		a.state, a.msg = Dead, a.msg+" (pushed for "+MaxPushDuration.String()+")"
	}
	return a
}

// recordPush writes down a push that arrived. The receiver's 2xx is how the
// agent got its answer, unless it has read it before (spec §14.2).
func (h *Hub) recordPush(s *Snapshot, c *Change, d *Delivery) error {
	content := map[string]any{"via": "push", "target": d.Target.String(), "attempt": d.Attempts}
	if s.Message.Track.State != TrackNone {
		return s.Message.record(c, "pushed", content)
	}
	t := s.Message.Track
	t.State, t.DeliveredAt = TrackDelivered, c.At
	return h.advance(s, c, t, "delivered_to_agent", content)
}
