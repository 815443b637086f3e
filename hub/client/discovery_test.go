package client_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// TestDiscovery: the document is read as far as an agent needs it, and of the
// keys those that check Ed25519 signatures.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Ed25519: hubKey(t)})
	c := b.client(client.Trust{})
	d, err := c.Discovery(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in := d.Inbound
	if d.Version != "0.5" || d.ReplayWindow != 300 || !slices.Equal(d.SignatureAlgs, []string{"ed25519"}) || !slices.Equal(d.CallbackAuth, []string{"hmac"}) ||
		in == nil || !in.Enabled || in.MaxBatch != 32 || in.VisibilityTimeout != 60 || in.RetentionDays != 30 || in.PollURL != b.srv.URL+"/v1/inbox" ||
		d.Ack == nil || !d.Ack.Enabled || d.Presence == nil || d.Presence.Freshness != 90 {
		t.Errorf("%+v, %+v", d, in)
	}
	if want := b.key.Ed25519.Public().(ed25519.PublicKey); len(d.Keys) != 1 || !want.Equal(d.Keys[0]) {
		t.Errorf("keys %v", d.Keys)
	}

	// Keys of other kinds are for others.
	good := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	tests := []struct {
		doc  string
		keys int // -1: an error
	}{
		{`{"ma2h_version":"0.5"}`, 0},
		{`{"ma2h_version":"0.5","jwks":{}}`, 0},
		{`{"ma2h_version":"0.5","jwks":{"keys":[]},"new":{"a":[1]}}`, 0},
		{`{"ma2h_version":"0.5","jwks":{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}}`, 0},
		{`{"ma2h_version":"0.5","jwks":{"keys":[{"kty":"OKP","crv":"X25519","x":"` + good + `"}]}}`, 0},
		{`{"ma2h_version":"0.5","jwks":{"keys":[{"kty":"OKP","crv":"Ed25519","use":"enc","x":"` + good + `"}]}}`, 0},
		{`{"ma2h_version":"0.5","jwks":{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"},{"kty":"OKP","crv":"Ed25519","x":"!"}]}}`, 0},
		{`{"ma2h_version":"0.5","jwks":{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + good + `"},{"kty":"OKP","crv":"Ed25519","use":"sig","x":"` + good + `"}]}}`, 2},
		{`{}`, -1},
		{`{"ma2h_version":"0.5","jwks":[]}`, -1},
		{`<html>`, -1},
	}
	for _, tt := range tests {
		b.set(func() {
			b.answer = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(tt.doc)); return true }
		})
		d, err := c.Discovery(t.Context())
		if (err != nil) != (tt.keys < 0) || err == nil && len(d.Keys) != tt.keys {
			t.Errorf("%s: %+v, %v", tt.doc, d, err)
		}
	}
}

// TestReplayWindowOfTheHub: the window is the hub's, within reason, unless the
// agent has one of its own.
func TestReplayWindowOfTheHub(t *testing.T) {
	t.Parallel()
	key := ma2h.SigningKey{Ed25519: hubKey(t)}
	tests := []struct {
		hub    int // seconds
		own    time.Duration
		ok, no time.Duration
	}{
		{0, 0, 110 * time.Second, 130 * time.Second},
		{300, 0, 290 * time.Second, 310 * time.Second},
		{1 << 40, 0, 890 * time.Second, 910 * time.Second},
		{300, time.Minute, 50 * time.Second, 70 * time.Second},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.hub, tt.own), func(t *testing.T) {
			t.Parallel()
			b := newMailbox(t, key)
			b.window = tt.hub
			v := b.client(client.Trust{HubKeys: true, Window: tt.own}).Verifier(callbackURL)
			for _, age := range []time.Duration{tt.ok, tt.no} {
				p := signedAt(t, key, fmt.Sprintf(answered, "0.5"), time.Now().Add(-age))
				_, err := v.Verify(p.header[0], p.body, time.Now())
				if want := age == tt.no; errors.Is(err, ma2h.ErrWindow) != want || !want && err != nil {
					t.Errorf("%v: %v", age, err)
				}
			}
		})
	}
}

// TestAckAndPresence speak as spec §14.3 and §15.3 have it.
func TestAckAndPresence(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	c := b.client(client.Trust{}, client.WithAttempts(2))
	tries := 0
	var asked string
	respond := func(status int, body string) {
		tries = 0
		b.set(func() {
			b.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if tries++; tries == 1 {
					w.WriteHeader(http.StatusBadGateway) // the answer is lost: both may be repeated
					return true
				}
				raw := make([]byte, r.ContentLength+1)
				n, _ := r.Body.Read(raw)
				asked = r.Method + " " + r.URL.EscapedPath() + " " + string(raw[:n])
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
				return true
			}
		})
	}
	respond(200, `{"ma2h_version":"0.5","type":"ack","in_reply_to":"msg_1","by":"agent:deploybot/dev-team",`+
		`"acked_at":"2026-12-01T10:00:00Z","note":"On it.","resolution_id":"res_1"}`)
	a, err := c.Ack(t.Context(), "msg_1", "On it.")
	if err != nil || a.InReplyTo != "msg_1" || a.Note == nil || *a.Note != "On it." || asked != `POST /v1/messages/msg_1/ack {"note":"On it."}` {
		t.Errorf("%+v, %v, asked %s", a, err, asked)
	}
	respond(409, `{"error":{"code":"too_early","message":"it is open"}}`)
	_, err = c.Ack(t.Context(), "msg/1", "")
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != ma2h.CodeNotAcknowledgeable || asked != `POST /v1/messages/msg%2F1/ack {}` {
		t.Errorf("%v, asked %s", err, asked)
	}
	respond(200, `{"ok":true}`)
	if _, err = c.Ack(t.Context(), "msg_1", ""); err == nil || !strings.Contains(err.Error(), "is the URL right") {
		t.Errorf("%v", err)
	}
	for _, err := range []error{
		func() error { _, err := c.Ack(t.Context(), "", ""); return err }(),
		func() error { _, err := c.Ack(t.Context(), "msg_1", "\xff"); return err }(),
		func() error { _, err := c.Presence(t.Context(), ""); return err }(),
	} {
		if client.ExitCode(err) != client.ExitUsage {
			t.Errorf("%v", err)
		}
	}

	respond(200, `{"agent_id":"deploybot/dev-team","state":"online","last_seen":"2026-12-01T10:00:00Z","freshness_seconds":90}`)
	p, err := c.Presence(t.Context(), deploybot)
	if err != nil || p.State != "online" || p.FreshnessSeconds != 90 || asked != "GET /v1/agents/deploybot%2Fdev-team/presence " {
		t.Errorf("%+v, %v, asked %s", p, err, asked)
	}
	respond(200, `{"agent_id":"deploybot/dev-team","state":"about","freshness_seconds":90}`)
	if _, err = c.Presence(t.Context(), deploybot); err == nil {
		t.Error("a state that there is not")
	}
}

// TestDeliveryOfAMessage: the agent sees what became of its Response.
func TestDeliveryOfAMessage(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	b.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte(`{"ma2h_version":"0.5","id":"msg_1","type":"ask","status":"declined","title":"x","created_at":"2026-12-01T10:00:00Z",` +
			`"delivery":{"state":"acknowledged","delivered_at":"2026-12-01T10:00:01Z","acknowledged_at":"2026-12-01T10:00:02Z",` +
			`"ack":{"ma2h_version":"0.5","type":"ack","in_reply_to":"msg_1","by":"agent:deploybot/dev-team","acked_at":"2026-12-01T10:00:02Z","note":"ok"}}}`))
		return true
	}
	m, err := b.client(client.Trust{}).Get(t.Context(), "msg_1", client.ReadOptions{})
	if err != nil || m.Delivery == nil || m.Delivery.State != "acknowledged" || m.Delivery.AcknowledgedAt.Sub(m.Delivery.DeliveredAt) != time.Second || *m.Delivery.Ack.Note != "ok" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestSubmitRetryAfter: a call does not come back before it is asked to. If that
// is too long to sit it out, it ends with what the hub said.
func TestSubmitRetryAfter(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	n := 0
	b.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		n++
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	_, err := b.client(client.Trust{}, client.WithAttempts(5)).Submit(t.Context(), ask("k"))
	if e, ok := errors.AsType[*client.Error](err); !ok || e.RetryAfter != time.Hour || n != 1 {
		t.Errorf("%v after %d tries", err, n)
	}
	b.set(func() {
		b.answer = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(`{}`)); return true }
	})
	if ack, err := b.client(client.Trust{}).Submit(t.Context(), ask("k")); ack != nil || err == nil || !strings.Contains(err.Error(), "is the URL right") {
		t.Errorf("an ack without an id: %+v, %v", ack, err)
	}
}
