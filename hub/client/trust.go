package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"sync"
	"time"

	"beckon/hub/ma2h"
)

// Trust says what a hub's signatures are checked with (spec §9.2, §9.7). At
// least one of Secrets, Keys and HubKeys must be set.
type Trust struct {
	Secrets [][]byte            // for HMAC, shared with the hub; two while rotating
	Keys    []ed25519.PublicKey // for Ed25519, got by another way than from the hub
	// HubKeys takes the Ed25519 keys that the hub publishes, and its replay
	// window. They are as good as the connection that they come by. They are read
	// when first needed, and again, once a minute at most, when a signature does
	// not hold, so that the hub may change its key.
	HubKeys bool
	// Window is how far the time of a signature may be off: 0 is the hub's with
	// HubKeys, and else [ma2h.DefaultWindow].
	Window time.Duration
	// Replays refuses a signature that comes twice. Nil is a memory of this
	// process; one whose life is short wants [FileReplays].
	Replays ma2h.ReplayCache
}

// Limits of trust.
const (
	maxWindow     = 15 * time.Minute
	readKeysEvery = time.Minute
	readKeysIn    = 10 * time.Second
)

// WithTrust sets what [Client.Inbox], [Client.Receive] and [Client.Verifier]
// check signatures with.
func WithTrust(t Trust) Option { return func(c *Client) { c.trust = t } }

// Trusting returns a client like c that checks signatures with t: for whoever
// learns what to trust only by talking to the hub.
func (c *Client) Trusting(t Trust) *Client {
	out := *c
	out.trust = t
	out.inbox = out.Verifier("")
	return &out
}

// Verifier checks what one hub signs. It is safe for concurrent use.
type Verifier struct {
	c       *Client
	url     string
	replays ma2h.MemoryReplays

	reading sync.Mutex // held while the hub's keys are read
	mu      sync.Mutex // guards what follows
	v       *ma2h.Verifier
	known   bool      // v has the hub's keys, if they are wanted
	tried   time.Time // when they were asked for last
}

// Verifier makes a Verifier of the client's [Trust]. CallbackURL is the
// callback.url of one's asks and tasks, letter by letter; it may be "" for
// directives and for 0.1.
func (c *Client) Verifier(callbackURL string) *Verifier {
	v := &Verifier{c: c, url: callbackURL, known: !c.trust.HubKeys}
	v.v = v.with(c.trust.Keys, c.trust.Window)
	return v
}

func (v *Verifier) with(keys []ed25519.PublicKey, window time.Duration) *ma2h.Verifier {
	out := &ma2h.Verifier{
		Secrets: v.c.trust.Secrets, Ed25519Keys: keys, Window: window, CallbackURL: v.url, Replays: v.c.trust.Replays,
	}
	if out.Replays == nil {
		out.Replays = &v.replays
	}
	return out
}

// Verify checks a pushed Response as [ma2h.Verifier.Verify] does. An error that
// wraps none of that package's says that the hub's keys could not be read.
func (v *Verifier) Verify(header string, body []byte, now time.Time) (*ma2h.Response, error) {
	return verify(context.Background(), v, func(m *ma2h.Verifier) (*ma2h.Response, error) {
		return m.Verify(header, body, now)
	})
}

// VerifyDirective checks a directive for the client's agent as
// [ma2h.Verifier.VerifyDirective] does.
func (v *Verifier) VerifyDirective(ctx context.Context, signature string, raw []byte, now time.Time) (*ma2h.Directive, error) {
	return verify(ctx, v, func(m *ma2h.Verifier) (*ma2h.Directive, error) {
		return m.VerifyDirective(signature, raw, v.c.agentID, now)
	})
}

// verify checks with the keys at hand, and once more if a refusal may be due to
// keys or a window that the hub has changed. What was refused was not remembered
// as seen.
func verify[T any](ctx context.Context, v *Verifier, check func(*ma2h.Verifier) (T, error)) (T, error) {
	m, err := v.current(ctx, false)
	if err != nil {
		var zero T
		return zero, err
	}
	out, err := check(m)
	if !v.c.trust.HubKeys || !errors.Is(err, ma2h.ErrSignature) && !errors.Is(err, ma2h.ErrWindow) {
		return out, err
	}
	again, readErr := v.current(ctx, true)
	if readErr != nil || again == m {
		return out, err
	}
	return check(again)
}

// current returns what to check with. It asks the hub for its keys when they are
// not known; and also when they are, if anew, but only now and then: whoever
// sends signatures that don't hold can't make this ask for ever.
func (v *Verifier) current(ctx context.Context, anew bool) (*ma2h.Verifier, error) {
	if m, ok := v.atHand(anew); ok {
		return m, nil
	}
	v.reading.Lock()
	defer v.reading.Unlock()
	if m, ok := v.atHand(anew); ok { // somebody else has read them
		return m, nil
	}
	v.mu.Lock()
	v.tried = time.Now()
	v.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readKeysIn)
	defer cancel()
	a, err := v.c.once(ctx, discoveryCall)
	if err != nil {
		return nil, err
	}
	d, err := readCapability(a.body)
	if err != nil {
		return nil, err
	}
	window := v.c.trust.Window
	if window == 0 {
		window = d.window()
	}
	m := v.with(slices.Concat(v.c.trust.Keys, d.Keys), window)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.v, v.known = m, true
	return m, nil
}

func (v *Verifier) atHand(anew bool) (*ma2h.Verifier, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.v, v.known && (!anew || time.Since(v.tried) < readKeysEvery)
}
