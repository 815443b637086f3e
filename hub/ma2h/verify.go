package ma2h

import (
	"crypto/ed25519"
	"crypto/hmac"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Why something that was signed is not to be trusted. Every failure of a
// [Verifier] wraps exactly one of these.
var (
	ErrSignatureHeader = errors.New("malformed signature header")
	ErrDocument        = errors.New("malformed document")
	ErrUnsignable      = errors.New("a 0.2 response can't be signed for push")
	ErrNoKey           = errors.New("no key to verify with")
	ErrNoCallbackURL   = errors.New("no callback URL to verify against")
	ErrWindow          = errors.New("signed too long ago or in the future")
	ErrSignature       = errors.New("signature mismatch")
	ErrReplay          = errors.New("signature was seen before")
	ErrReplayCache     = errors.New("can't tell whether the signature was seen before")
	ErrAddressee       = errors.New("addressed to somebody else")
)

const (
	// DefaultWindow is how far a signature's time may be off when the hub
	// advertises nothing (spec §9.2).
	DefaultWindow = 120 * time.Second
	// LegacyWindow is the same at 0.1, which fixes it (0.1 §9).
	LegacyWindow = 5 * time.Minute
)

// A ReplayCache remembers the ids of accepted signatures. It must be safe for
// concurrent use, and shared by all receivers of one callback URL.
type ReplayCache interface {
	// Add remembers jti at least until the given time and reports whether it
	// was new at now. An error says that it can't tell; then nothing is accepted.
	Add(jti string, now, until time.Time) (fresh bool, err error)
}

// Verifier checks what a hub signed. The zero value with keys and a
// CallbackURL is ready to use; don't copy it afterwards. It is safe for
// concurrent use.
type Verifier struct {
	Secrets     [][]byte            // HMAC secrets; two while rotating
	Ed25519Keys []ed25519.PublicKey // for 0.3 and later
	// Window is the hub's replay_window_seconds; 0 means [DefaultWindow]. At 0.1
	// it is always [LegacyWindow].
	Window time.Duration
	// CallbackURL is the callback.url of the ask or task, letter by letter.
	// Needed from 0.3 on.
	CallbackURL string
	// Replays refuses a signature that comes twice; nil means a cache in the
	// memory of this Verifier. At 0.1 there is no id to remember.
	Replays ReplayCache

	own MemoryReplays
}

// Verify checks a pushed Response: header is the value of its
// [SignatureHeader], body the bytes as received. The version in the body picks
// the algorithm, never the look of the signature; 0.2 is refused. The digest is
// recomputed from body. Act on the Response once, by InReplyTo and ResolutionID:
// a hub that got no answer sends it again with another signature. The error
// wraps one of the errors of this package.
func (v *Verifier) Verify(header string, body []byte, now time.Time) (*Response, error) {
	sig, err := ParseSignatureHeader(header)
	if err != nil {
		return nil, err
	}
	var s signable
	if err := decode(body, &s, sentDepth, responseTree); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	minor, err := parseVersion(s.Version)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	switch {
	case minor == 2:
		return nil, ErrUnsignable
	case minor < 2:
		err = v.checkLegacy(sig, body, now)
	default:
		err = v.checkPush(sig, &s, now)
	}
	if err != nil {
		return nil, err
	}
	r, err := ParseResponse(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if minor >= 3 {
		err = v.remember(sig, now)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// checkLegacy checks the signature of 0.1: an HMAC over time and raw body.
func (v *Verifier) checkLegacy(sig Signature, body []byte, now time.Time) error {
	if len(v.Secrets) == 0 {
		return ErrNoKey
	}
	if !near(sig.Time, now, LegacyWindow) {
		return ErrWindow
	}
	got, ok := decodeHexMAC(sig.V1)
	if !ok || !v.macMatches(legacyInput(sig.T, body), got) {
		return ErrSignature
	}
	return nil
}

func (v *Verifier) checkPush(sig Signature, s *signable, now time.Time) error {
	if v.CallbackURL == "" {
		return ErrNoCallbackURL
	}
	c, err := s.context(v.CallbackURL, sig.JTI, sig.T)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return v.checkContext(sig, c, now)
}

// checkContext checks the signature over a context of 0.3 or later.
func (v *Verifier) checkContext(sig Signature, c interface{ Canonical() ([]byte, error) }, now time.Time) error {
	if len(v.Secrets) == 0 && len(v.Ed25519Keys) == 0 {
		return ErrNoKey
	}
	if sig.JTI == "" {
		return fmt.Errorf("%w: jti is required", ErrSignatureHeader)
	}
	if !near(sig.Time, now, v.window()) {
		return ErrWindow
	}
	msg, err := c.Canonical()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	got, ok := DecodeMAC(sig.V1)
	if !ok || !v.macMatches(msg, got) && !v.ed25519Matches(msg, got) {
		return ErrSignature
	}
	return nil
}

// VerifyDirective checks a directive of an inbox entry: signature as it stands
// beside the directive, with or without the name of the header, and raw as
// received. self is the agent's own id: a directive for another is
// [ErrAddressee], however well it is signed (spec §13.4). Act on it once, by its
// ID.
func (v *Verifier) VerifyDirective(signature string, raw []byte, self string, now time.Time) (*Directive, error) {
	sig, err := ParseSignatureHeader(trimHeaderName(signature))
	if err != nil {
		return nil, err
	}
	d, err := ParseDirective(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	c, err := directiveContext(d, raw, sig.JTI, sig.T)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if err := v.checkContext(sig, c, now); err != nil {
		return nil, err
	}
	if d.To != "agent:"+self {
		return nil, ErrAddressee
	}
	if err := v.remember(sig, now); err != nil {
		return nil, err
	}
	return d, nil
}

// VerifyAck checks an ack that a hub pushed (spec §14.4).
func (v *Verifier) VerifyAck(header string, raw []byte, now time.Time) (*Ack, error) {
	sig, err := ParseSignatureHeader(header)
	if err != nil {
		return nil, err
	}
	a, err := ParseAck(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	c, err := ackContext(a, sig.JTI, sig.T)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if err := v.checkContext(sig, c, now); err != nil {
		return nil, err
	}
	if err := v.remember(sig, now); err != nil {
		return nil, err
	}
	return a, nil
}

func trimHeaderName(s string) string {
	name, value, ok := strings.Cut(s, ":")
	if ok && strings.EqualFold(strings.TrimSpace(name), SignatureHeader) {
		return value
	}
	return s
}

func (v *Verifier) window() time.Duration {
	if v.Window > 0 {
		return v.Window
	}
	return DefaultWindow
}

// near reports whether t is at most w before or after now.
func near(t, now time.Time, w time.Duration) bool {
	return !t.Before(now.Add(-w)) && !t.After(now.Add(w))
}

// macMatches tries all secrets, each in constant time.
func (v *Verifier) macMatches(msg, got []byte) (ok bool) {
	for _, secret := range v.Secrets {
		// An empty secret is a mistake in the config, never a key.
		if len(secret) > 0 && hmac.Equal(mac(secret, msg), got) {
			ok = true
		}
	}
	return ok
}

func (v *Verifier) ed25519Matches(msg, got []byte) bool {
	for _, key := range v.Ed25519Keys {
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, msg, got) {
			return true
		}
	}
	return false
}

// remember refuses a signature that was accepted before. It is asked last, so that
// only what was truly signed takes up room. A signature stays valid for at most
// two windows from now.
func (v *Verifier) remember(sig Signature, now time.Time) error {
	cache := v.Replays
	if cache == nil {
		cache = &v.own
	}
	fresh, err := cache.Add(sig.JTI, now, now.Add(2*v.window()+time.Second))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrReplayCache, err)
	case !fresh:
		return ErrReplay
	}
	return nil
}

// MemoryReplays is a [ReplayCache] in memory. The zero value is ready to use.
type MemoryReplays struct {
	mu    sync.Mutex
	until map[string]time.Time
	sweep time.Time
}

// Add implements [ReplayCache]. It never fails.
func (m *MemoryReplays) Add(jti string, now, until time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until == nil {
		m.until = make(map[string]time.Time)
	}
	if now.After(m.sweep) {
		for old, end := range m.until {
			if now.After(end) {
				delete(m.until, old)
			}
		}
		m.sweep = now.Add(time.Minute)
	}
	if end, seen := m.until[jti]; seen && !now.After(end) {
		return false, nil
	}
	m.until[jti] = until
	return true, nil
}
