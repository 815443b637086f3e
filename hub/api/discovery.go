package api

import (
	"crypto/ed25519"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// replayWindow is how long a signature that the hub makes may be used (spec
// §9.2), and keyTTL the least that an idempotency key is remembered (§8.1).
const (
	replayWindow = 5 * time.Minute
	keyTTL       = 24 * time.Hour
)

// capability is the body of GET /.well-known/ma2h (spec §8.0). A leg that is
// off has no object: sessions and what agents say to each other; and callbacks,
// where the hub does not push.
type capability struct {
	Version         string     `json:"ma2h_version"`
	MaxBody         int        `json:"max_body_bytes"`
	MaxPart         int        `json:"max_part_bytes"`
	MaxParts        int        `json:"max_context_parts"`
	AuthSchemes     []string   `json:"auth_schemes"`
	CallbackSchemes []string   `json:"callback_auth_schemes,omitzero"`
	SignatureAlgs   []string   `json:"signature_algs,omitzero"`
	RateLimit       *rateLimit `json:"rate_limit,omitzero"`
	RetentionDays   int        `json:"retention_days,omitzero"`
	ReplayWindow    int        `json:"replay_window_seconds"`
	Inbound         inbound    `json:"inbound"`
	Ack             enabled    `json:"ack"` // nothing is pushed, so no signature_algs
	Presence        presence   `json:"presence"`

	// Under names of ours.
	MaxEnvelope int        `json:"max_envelope_bytes"`
	MaxOptions  int        `json:"max_options"`
	MaxFields   int        `json:"max_fields"`
	MaxWait     int        `json:"max_wait_seconds"`
	MaxNote     int        `json:"max_note_characters"`
	KeyTTL      int        `json:"idempotency_key_ttl_seconds"`
	Callbacks   *callbacks `json:"callbacks,omitzero"`
	JWKS        *jwkSet    `json:"jwks,omitzero"`
}

// inbound is the leg of directives (spec §13). Exactly one algorithm signs them.
type inbound struct {
	Enabled       bool     `json:"enabled"`
	PollURL       string   `json:"poll_url"`
	AckURL        string   `json:"ack_url"`
	MaxBatch      int      `json:"max_batch"`
	Visibility    int      `json:"visibility_timeout_seconds"`
	RetentionDays int      `json:"retention_days,omitzero"`
	SignatureAlgs []string `json:"signature_algs"`
	Webhook       bool     `json:"webhook_supported"`
}

type enabled struct {
	Enabled bool `json:"enabled"`
}

type presence struct {
	Enabled   bool  `json:"enabled"`
	Freshness int64 `json:"freshness_seconds"`
}

// callbacks says how long the hub pushes a Response (spec §8.3, §8.6).
type callbacks struct {
	MaxAttempts int      `json:"max_attempts"`
	MaxSeconds  int      `json:"max_duration_seconds"`
	Versions    []string `json:"versions"` // that may ask for a push
}

// jwkSet holds the public keys that the hub signs with (RFC 7517, RFC 8037).
type jwkSet struct {
	Keys []jwk `json:"keys"`
}

type jwk struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// jwkOf describes a key; its id is the thumbprint of RFC 7638.
func jwkOf(k ed25519.PublicKey) jwk {
	x := base64.RawURLEncoding.EncodeToString(k)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return jwk{
		KeyType: "OKP", Curve: "Ed25519", X: x, ID: base64.RawURLEncoding.EncodeToString(sum[:]), Use: "sig", Algorithm: "EdDSA",
	}
}

type rateLimit struct {
	RequestsPerMinute int `json:"requests_per_minute,omitzero"`
	InboxDepth        int `json:"inbox_depth,omitzero"` // open messages of an agent
}

// discovery is GET /.well-known/ma2h.
func (a *API) discovery(x *exchange, _ *http.Request) error {
	d := a.o.Hub.Directory()
	l := d.Limits
	c := capability{
		Version: "0." + strconv.Itoa(ma2h.MaxMinor),
		MaxBody: l.Body, MaxPart: l.Part, MaxParts: l.Parts,
		AuthSchemes:   []string{"bearer", "apikey"},
		RetentionDays: int(d.Retention / (24 * time.Hour)),
		ReplayWindow:  int(replayWindow / time.Second),
		MaxEnvelope:   l.Envelope, MaxOptions: l.Options, MaxFields: l.Fields,
		MaxWait: maxWait, MaxNote: hub.MaxNoteRunes, KeyTTL: int(keyTTL / time.Second),
		Inbound: inbound{
			Enabled: true, PollURL: d.PublicURL + "/v1/inbox", AckURL: d.PublicURL + "/v1/inbox/ack",
			MaxBatch: hub.MaxBatch, Visibility: int(hub.VisibilityTimeout / time.Second),
			RetentionDays: int(d.Retention / (24 * time.Hour)), SignatureAlgs: []string{ma2h.AlgHMAC},
		},
		Ack:      enabled{true},
		Presence: presence{Enabled: true, Freshness: int64(hub.PresenceFreshness / time.Second)},
	}
	if d.Push != nil {
		a.announcePushes(&c, d.Push)
	}
	if l.RequestsPerMinute > 0 || l.OpenMessages > 0 {
		c.RateLimit = &rateLimit{RequestsPerMinute: l.RequestsPerMinute, InboxDepth: l.OpenMessages}
	}
	x.Header().Set("Cache-Control", "public, max-age=60")
	return writeJSON(x, http.StatusOK, c)
}

func (a *API) announcePushes(c *capability, rules *hub.PushRules) {
	c.CallbackSchemes = []string{"hmac", "bearer", "apikey"}
	c.SignatureAlgs = []string{ma2h.AlgHMAC}
	c.Callbacks = &callbacks{
		MaxAttempts: hub.MaxPushAttempts, MaxSeconds: int(hub.MaxPushDuration / time.Second),
		Versions: []string{"0.1", "0.3", "0.4", "0.5"},
	}
	if rules.RefuseV01 {
		c.Callbacks.Versions = c.Callbacks.Versions[1:]
	}
	if len(a.o.SigningKeys) == 0 {
		return
	}
	c.SignatureAlgs = append(c.SignatureAlgs, ma2h.AlgEd25519)
	c.JWKS = &jwkSet{}
	for _, k := range a.o.SigningKeys {
		c.JWKS.Keys = append(c.JWKS.Keys, jwkOf(k))
	}
}

//go:embed openapi.yaml
var openAPIDoc []byte

// openAPI is GET /openapi.yaml.
func (a *API) openAPI(x *exchange, _ *http.Request) error {
	x.Header().Set("Cache-Control", "public, max-age=60")
	writeBytes(x, http.StatusOK, "application/yaml", openAPIDoc)
	return nil
}
