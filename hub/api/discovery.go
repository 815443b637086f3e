package api

import (
	_ "embed"
	"net/http"
	"strconv"
	"time"

	"beckon/hub/ma2h"
)

// replayWindow is how long a signature that the hub makes may be used (spec
// §9.2), and keyTTL the least that an idempotency key is remembered (§8.1).
const (
	replayWindow = 5 * time.Minute
	keyTTL       = 24 * time.Hour
)

// capability is the body of GET /.well-known/ma2h (spec §8.0). A leg that is
// off has no object, and what does not exist yet is not announced: callbacks
// and their signatures.
type capability struct {
	Version       string     `json:"ma2h_version"`
	MaxBody       int        `json:"max_body_bytes"`
	MaxPart       int        `json:"max_part_bytes"`
	MaxParts      int        `json:"max_context_parts"`
	AuthSchemes   []string   `json:"auth_schemes"`
	RateLimit     *rateLimit `json:"rate_limit,omitzero"`
	RetentionDays int        `json:"retention_days,omitzero"`
	ReplayWindow  int        `json:"replay_window_seconds"`

	// Under names of ours.
	MaxEnvelope int `json:"max_envelope_bytes"`
	MaxOptions  int `json:"max_options"`
	MaxFields   int `json:"max_fields"`
	MaxWait     int `json:"max_wait_seconds"`
	KeyTTL      int `json:"idempotency_key_ttl_seconds"`
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
		MaxWait: maxWait, KeyTTL: int(keyTTL / time.Second),
	}
	if l.RequestsPerMinute > 0 || l.OpenMessages > 0 {
		c.RateLimit = &rateLimit{RequestsPerMinute: l.RequestsPerMinute, InboxDepth: l.OpenMessages}
	}
	x.Header().Set("Cache-Control", "public, max-age=60")
	return writeJSON(x, http.StatusOK, c)
}

//go:embed openapi.yaml
var openAPIDoc []byte

// openAPI is GET /openapi.yaml.
func (a *API) openAPI(x *exchange, _ *http.Request) error {
	x.Header().Set("Cache-Control", "public, max-age=60")
	writeBytes(x, http.StatusOK, "application/yaml", openAPIDoc)
	return nil
}
