package client

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Capability is what a hub says of itself (spec §8.0). A leg that it does not
// offer is nil.
type Capability struct {
	Version       string       `json:"ma2h_version"`
	MaxBody       int          `json:"max_body_bytes"`
	MaxPart       int          `json:"max_part_bytes"`
	MaxParts      int          `json:"max_context_parts"`
	MaxEnvelope   int          `json:"max_envelope_bytes"` // a name of this hub's own
	AuthSchemes   []string     `json:"auth_schemes"`
	CallbackAuth  []string     `json:"callback_auth_schemes"` // none: the hub pushes nothing
	SignatureAlgs []string     `json:"signature_algs"`        // of pushed Responses
	RateLimit     *RateLimit   `json:"rate_limit"`
	RetentionDays int          `json:"retention_days"`
	ReplayWindow  int          `json:"replay_window_seconds"`
	Inbound       *Inbound     `json:"inbound"`
	Ack           *Leg         `json:"ack"`
	Presence      *PresenceLeg `json:"presence"`

	// Keys are the hub's Ed25519 keys, from its JWK set (RFC 8037); other keys
	// are left out.
	Keys []ed25519.PublicKey `json:"-"`
	// Body is all of it, as it came.
	Body jsontext.Value `json:"-"`
}

// RateLimit is what an agent may send at most.
type RateLimit struct {
	RequestsPerMinute int `json:"requests_per_minute"`
	InboxDepth        int `json:"inbox_depth"` // open messages
}

// Leg is a part of the protocol that a hub may offer.
type Leg struct {
	Enabled bool `json:"enabled"`
}

// Inbound is the leg of directives (spec §13).
type Inbound struct {
	Enabled           bool     `json:"enabled"`
	PollURL           string   `json:"poll_url"`
	AckURL            string   `json:"ack_url"`
	MaxBatch          int      `json:"max_batch"`
	VisibilityTimeout int      `json:"visibility_timeout_seconds"`
	RetentionDays     int      `json:"retention_days"`
	SignatureAlgs     []string `json:"signature_algs"`
}

// PresenceLeg says how old an "online" may be (spec §15).
type PresenceLeg struct {
	Enabled   bool `json:"enabled"`
	Freshness int  `json:"freshness_seconds"`
}

// Discovery reads the capability document, which needs no credential.
func (c *Client) Discovery(ctx context.Context) (*Capability, error) {
	a, err := c.do(ctx, discoveryCall)
	if err != nil {
		return nil, err
	}
	return readCapability(a.body)
}

var discoveryCall = call{op: opDiscovery, method: http.MethodGet, path: "/.well-known/ma2h"}

func readCapability(body []byte) (*Capability, error) {
	out := &Capability{Body: body}
	var w struct {
		Keys struct {
			Keys []jwk `json:"keys"`
		} `json:"jwks"`
	}
	err := errors.Join(json.Unmarshal(body, out), json.Unmarshal(body, &w))
	if err != nil || out.Version == "" {
		return nil, unreadable(opDiscovery, err)
	}
	for _, k := range w.Keys.Keys {
		if key, ok := k.ed25519(); ok {
			out.Keys = append(out.Keys, key)
		}
	}
	return out, nil
}

// jwk is a public key as RFC 7517 and RFC 8037 write it.
type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Use string `json:"use"`
}

// ed25519 returns the key if it is one that checks Ed25519 signatures.
func (k jwk) ed25519() (ed25519.PublicKey, bool) {
	if k.Kty != "OKP" || k.Crv != "Ed25519" || k.Use != "" && k.Use != "sig" {
		return nil, false
	}
	b, err := base64.RawURLEncoding.DecodeString(k.X)
	return b, err == nil && len(b) == ed25519.PublicKeySize
}

// window is how far a signature's time may be off: what the hub says, within
// reason.
func (d *Capability) window() time.Duration {
	if d.ReplayWindow <= 0 {
		return ma2h.DefaultWindow
	}
	return min(time.Duration(min(d.ReplayWindow, 1<<20))*time.Second, maxWindow)
}
