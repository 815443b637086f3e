package client_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// mailbox is a hub's leg of directives as spec §8.7 has it: what was handed out
// is hidden for a while, and comes again under a new signature until it is acked.
type mailbox struct {
	t   testing.TB
	srv *httptest.Server

	mu         sync.Mutex
	key        ma2h.SigningKey
	visibility time.Duration
	queue      []*letter
	notes      map[string]string
	polls      int
	acks       int
	// mangle changes an entry on its way.
	mangle func(directive, signature string) (string, string)
	// answer takes a request first; true says that it was answered.
	answer func(http.ResponseWriter, *http.Request) bool
	window int
}

type letter struct {
	id     string
	raw    []byte
	hidden time.Time
}

// hubKey makes a key of the hub.
func hubKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newMailbox(t testing.TB, key ma2h.SigningKey) *mailbox {
	t.Helper()
	b := &mailbox{t: t, key: key, visibility: time.Minute, notes: map[string]string{}, window: 300}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/inbox", b.drain)
	mux.HandleFunc("POST /v1/inbox/ack", b.ack)
	mux.HandleFunc("GET /.well-known/ma2h", b.discovery)
	b.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.answer == nil || !b.answer(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(b.srv.Close)
	return b
}

func (b *mailbox) client(trust client.Trust, opts ...client.Option) *client.Client {
	b.t.Helper()
	c, err := client.New(b.srv.URL, "agent-token", deploybot, append([]client.Option{
		client.WithHTTPClient(b.srv.Client()), client.WithTrust(trust), client.WithAttempts(1),
	}, opts...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// set changes the mailbox under its lock.
func (b *mailbox) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// send puts a directive into the mailbox.
func (b *mailbox) send(id, title string) {
	b.put(id, fmt.Appendf(nil, `{"ma2h_version":"0.5","type":"directive","id":%q,"from":"human:alice","to":"agent:%s",`+
		`"created_at":"2026-12-01T10:00:00Z","title":%q,"body":"Until I say otherwise.","priority":"high","tags":["freeze"],`+
		`"context":[{"kind":"data","data":{"n":1e2,"s":"<&>"}}],"x_new":"not signed"}`, id, deploybot, title))
}

func (b *mailbox) put(id string, raw []byte) {
	b.set(func() { b.queue = append(b.queue, &letter{id: id, raw: raw}) })
}

// appear ends the time for which what was handed out is hidden.
func (b *mailbox) appear() {
	b.set(func() {
		for _, l := range b.queue {
			l.hidden = time.Time{}
		}
	})
}

func (b *mailbox) waiting() (n int) {
	b.set(func() { n = len(b.queue) })
	return n
}

func (b *mailbox) drain(w http.ResponseWriter, r *http.Request) {
	b.polls++
	if r.Header.Get("Authorization") != "Bearer agent-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	most, err := strconv.Atoi(r.FormValue("max"))
	if err != nil {
		most = 32
	}
	now := time.Now()
	out := []byte(`{"messages":[`)
	n := 0
	for _, l := range b.queue {
		if n == most || now.Before(l.hidden) {
			continue
		}
		l.hidden = now.Add(b.visibility)
		sig, err := ma2h.SignDirective(b.key, l.raw, now, ma2h.NewJTI())
		if err != nil {
			b.t.Error(err)
		}
		directive := string(l.raw)
		if b.mangle != nil {
			directive, sig = b.mangle(directive, sig)
		}
		if n++; n > 1 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"directive":%s,"signature":%q}`, directive, sig)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(out, `]}`...))
}

func (b *mailbox) ack(w http.ResponseWriter, r *http.Request) {
	b.acks++
	var body struct {
		IDs  []string `json:"ids"`
		Note string   `json:"note"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.IDs) == 0 {
		b.t.Errorf("ack: %+v, %v", body, err)
	}
	n := 0
	for _, id := range body.IDs {
		i := slices.IndexFunc(b.queue, func(l *letter) bool { return l.id == id })
		if i >= 0 {
			b.queue = slices.Delete(b.queue, i, i+1)
			b.notes[id] = body.Note
			n++
		}
	}
	fmt.Fprintf(w, `{"acked":%d}`, n)
}

func (b *mailbox) discovery(w http.ResponseWriter, _ *http.Request) {
	alg, keys := ma2h.AlgHMAC, ""
	if b.key.Ed25519 != nil {
		alg = ma2h.AlgEd25519
		keys = jwkOf(b.key.Ed25519)
	}
	fmt.Fprintf(w, `{"ma2h_version":"0.5","replay_window_seconds":%d,"callback_auth_schemes":["hmac"],"signature_algs":[%q],`+
		`"inbound":{"enabled":true,"poll_url":"%[3]s/v1/inbox","ack_url":"%[3]s/v1/inbox/ack","max_batch":32,`+
		`"visibility_timeout_seconds":60,"retention_days":30,"signature_algs":[%[2]q]},"ack":{"enabled":true},`+
		`"presence":{"enabled":true,"freshness_seconds":90},"jwks":{"keys":[%[4]s]}}`, b.window, alg, b.srv.URL, keys)
}

func jwkOf(key ed25519.PrivateKey) string {
	return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA","kid":"1","x":%q}`,
		base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)))
}
