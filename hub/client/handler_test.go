package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

const (
	callbackURL = "https://agent.example.com/ma2h?x=%2f"
	answered    = `{"ma2h_version":"%s","in_reply_to":"msg_1","resolution_id":"res_1","agent":{"id":"deploybot/dev-team","run_id":"r"},` +
		`"resolution":"answered","response":{"value":"ship","actor":"human:alice","resolved_at":"2026-12-01T10:00:00.000Z",` +
		`"comment":"secret comment"},"defaulted":false,"state":{"sealed":"secret state"}}`
)

// push is one delivery of a Response by a hub that has a key.
type push struct {
	method, contentType string
	header              []string
	body                []byte
}

func signedAt(t testing.TB, key ma2h.SigningKey, body string, at time.Time) push {
	t.Helper()
	header, err := ma2h.SignResponse(key, callbackURL, []byte(body), at, ma2h.NewJTI())
	if err != nil {
		t.Fatal(err)
	}
	return push{http.MethodPost, "application/json", []string{header}, []byte(body)}
}

func signed(t testing.TB, key ma2h.SigningKey, body string) push {
	t.Helper()
	return signedAt(t, key, body, time.Now())
}

func (p push) to(h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(p.method, "/anything", bytes.NewReader(p.body))
	if p.contentType != "" {
		r.Header.Set("Content-Type", p.contentType)
	}
	for _, v := range p.header {
		r.Header.Add(ma2h.SignatureHeader, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func secretVerifier() *ma2h.Verifier {
	return &ma2h.Verifier{Secrets: [][]byte{[]byte("older"), hubShare}, CallbackURL: callbackURL}
}

// TestHandler: every version and algorithm that a hub may push in comes through
// once, however often it is delivered.
func TestHandler(t *testing.T) {
	t.Parallel()
	edKey := hubKey(t)
	bySecret, byKey := ma2h.SigningKey{Secret: hubShare}, ma2h.SigningKey{Ed25519: edKey}
	for _, tt := range []struct {
		version string
		key     ma2h.SigningKey
	}{{"0.1", bySecret}, {"0.3", bySecret}, {"0.3", byKey}, {"0.4", bySecret}, {"0.5", bySecret}, {"0.5", byKey}} {
		t.Run(fmt.Sprintf("%s %t", tt.version, tt.key.Ed25519 != nil), func(t *testing.T) {
			t.Parallel()
			v := secretVerifier()
			v.Ed25519Keys = []ed25519.PublicKey{edKey.Public().(ed25519.PublicKey)}
			var got []*ma2h.Response
			h := client.Handler(client.HandlerOptions{Verifier: v, OnResponse: func(_ context.Context, r *ma2h.Response) error {
				got = append(got, r)
				return nil
			}})
			body := fmt.Sprintf(answered, tt.version)
			for range 3 { // the hub did not hear our 200
				if w := signed(t, tt.key, body).to(h); w.Code != http.StatusOK {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			if len(got) != 1 || got[0].InReplyTo != "msg_1" || string(got[0].Response.Value) != `"ship"` || string(got[0].State) != `{"sealed":"secret state"}` {
				t.Fatalf("%+v", got)
			}
			// Another resolution id is another Response.
			if w := signed(t, tt.key, strings.Replace(body, "res_1", "res_2", 1)).to(h); w.Code != http.StatusOK || len(got) != 2 {
				t.Errorf("%d, %d", w.Code, len(got))
			}
		})
	}
}

// TestHandlerRefuses: what is not an authentic Response never gets through, the
// hub is told whether to try again, and neither answer nor log hold its content.
func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	key := ma2h.SigningKey{Secret: hubShare}
	body := fmt.Sprintf(answered, "0.5")
	honest := func(change func(*push)) push {
		p := signed(t, key, body)
		change(&p)
		return p
	}
	edit := func(old, with string) func(*push) {
		return func(p *push) {
			changed := bytes.Replace(p.body, []byte(old), []byte(with), 1)
			if bytes.Equal(changed, p.body) {
				t.Fatalf("no %s", old)
			}
			p.body = changed
		}
	}
	twice := honest(func(*push) {})
	tests := []struct {
		name string
		push push
		want int
	}{
		{"GET", honest(func(p *push) { p.method = http.MethodGet }), 405},
		{"PUT", honest(func(p *push) { p.method = http.MethodPut }), 405},
		{"a form", honest(func(p *push) { p.contentType = "application/x-www-form-urlencoded" }), 415},
		{"no type", honest(func(p *push) { p.contentType = "" }), 415},
		{"a charset", honest(func(p *push) { p.contentType = "application/json; charset=utf-8" }), 200},
		{"large", honest(func(p *push) { p.body = append(p.body, bytes.Repeat([]byte(" "), 4096)...) }), 413},
		{"no body", honest(func(p *push) { p.body = nil }), 400},
		{"no JSON", honest(func(p *push) { p.body = []byte("<html>") }), 400},
		{"no signature", honest(func(p *push) { p.header = nil }), 401},
		{"two signatures", honest(func(p *push) { p.header = append(p.header, p.header[0]) }), 401},
		{"half a signature", honest(func(p *push) { p.header[0] = "t=1" }), 400},
		{"value changed", honest(edit("ship", "shiq")), 401},
		{"comment changed", honest(edit("comment\":\"secret", "comment\":\"Secret")), 401},
		{"actor changed", honest(edit("alice", "mallory")), 401},
		{"state changed", honest(edit("secret state", "Secret state")), 401},
		{"state dropped", honest(edit(`"state"`, `"stata"`)), 401},
		{"message changed", honest(edit("msg_1", "msg_2")), 401},
		{"resolution id changed", honest(edit("res_1", "res_2")), 401},
		{"resolution changed", honest(edit(`"resolution":"answered"`, `"resolution":"declined"`)), 401},
		{"time of the answer changed", honest(edit("10:00:00", "10:00:01")), 401},
		{"version changed", honest(edit(`"0.5"`, `"0.4"`)), 401},
		{"0.2", honest(edit(`"0.5"`, `"0.2"`)), 400},
		{"2.0", honest(edit(`"0.5"`, `"2.0"`)), 400},
		{"a duplicate name", honest(edit(`"value":"ship"`, `"value":"hold","value":"ship"`)), 400},
		{"another key", signed(t, ma2h.SigningKey{Secret: []byte("another")}, body), 401},
		{"too old", signedAt(t, key, body, time.Now().Add(-3*time.Minute)), 401},
		{"from the future", signedAt(t, key, body, time.Now().Add(3*time.Minute)), 401},
		{"signed, but no Response", signed(t, key, strings.Replace(body, `"resolution":"answered"`, `"resolution":"done"`, 1)), 400},
		{"honest", twice, 200},
		{"the same again", twice, 409},
	}
	var log bytes.Buffer
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log.Reset()
			called := false
			v := secretVerifier()
			h := client.Handler(client.HandlerOptions{
				Verifier: v, MaxBody: 4096, Log: slog.New(slog.NewTextHandler(&log, nil)),
				OnResponse: func(context.Context, *ma2h.Response) error { called = true; return nil },
			})
			if tt.want == 409 {
				tt.push.to(h)
				called = false
			}
			w := tt.push.to(h)
			if w.Code != tt.want || called != (tt.want == 200) {
				t.Errorf("%d %s, called %t, want %d", w.Code, w.Body, called, tt.want)
			}
			if (w.Code == 405) != (w.Header().Get("Allow") == "POST") {
				t.Errorf("%d, Allow: %s", w.Code, w.Header().Get("Allow"))
			}
			said := w.Body.String() + log.String()
			if strings.Contains(said, "secret") || strings.Contains(said, "mallory") || (log.Len() > 0) != (w.Code != 200) {
				t.Errorf("it says %s", said)
			}
		})
	}
}

// TestHandlerFails: a failure of the agent's own has the hub come back, and what
// comes back is new; a refusal has not.
func TestHandlerFails(t *testing.T) {
	t.Parallel()
	key, body := ma2h.SigningKey{Secret: hubShare}, fmt.Sprintf(answered, "0.5")
	calls := 0
	var fail error
	h := client.Handler(client.HandlerOptions{Verifier: secretVerifier(), OnResponse: func(context.Context, *ma2h.Response) error {
		calls++
		return fail
	}})
	for _, tt := range []struct {
		err  error
		code int
	}{
		{errors.New("the disk is full of secrets"), 500},
		{fmt.Errorf("the state: %w", client.ErrRefused), 422},
		{nil, 200},
	} {
		fail = tt.err
		if w := signed(t, key, body).to(h); w.Code != tt.code || strings.Contains(w.Body.String(), "secrets") {
			t.Errorf("%v: %d %s", tt.err, w.Code, w.Body)
		}
	}
	fail = errors.New("called again")
	if w := signed(t, key, body).to(h); w.Code != 200 || calls != 3 {
		t.Errorf("%d after %d calls", w.Code, calls)
	}

	for name, o := range map[string]client.HandlerOptions{
		"no key":          {Verifier: &ma2h.Verifier{CallbackURL: callbackURL}},
		"no callback URL": {Verifier: &ma2h.Verifier{Secrets: [][]byte{hubShare}}},
		"no replay cache": {Verifier: &ma2h.Verifier{Secrets: [][]byte{hubShare}, CallbackURL: callbackURL, Replays: &client.FileReplays{}}},
		"no dedup":        {Verifier: secretVerifier(), Dedup: &client.FileDedup{}},
	} {
		o.OnResponse = func(context.Context, *ma2h.Response) error { t.Error("called"); return nil }
		if w := signed(t, key, body).to(client.Handler(o)); w.Code != 500 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for name, o := range map[string]client.HandlerOptions{
		"no verifier": {OnResponse: func(context.Context, *ma2h.Response) error { return nil }},
		"no function": {Verifier: secretVerifier()},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", name)
				}
			}()
			client.Handler(o)
		}()
	}
}

// TestHandlerOverSockets: over real connections, with a hub that hangs up while
// the agent works and comes back meanwhile and later; and many at once.
func TestHandlerOverSockets(t *testing.T) {
	t.Parallel()
	key, body := ma2h.SigningKey{Secret: hubShare}, fmt.Sprintf(answered, "0.5")
	began, finish := make(chan struct{}), make(chan struct{})
	var calls, ended atomic.Int32
	s := httptest.NewServer(client.Handler(client.HandlerOptions{
		Verifier: secretVerifier(), Dedup: &client.FileDedup{Dir: t.TempDir()},
		OnResponse: func(ctx context.Context, _ *ma2h.Response) error {
			calls.Add(1)
			close(began)
			<-finish
			if ctx.Err() == nil {
				ended.Add(1)
			}
			return ctx.Err()
		},
	}))
	defer s.Close()
	post := func(ctx context.Context) (int, http.Header) {
		p := signed(t, key, body)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(p.body))
		if err != nil {
			t.Error(err)
			return 0, nil
		}
		r.Header.Set("Content-Type", p.contentType)
		r.Header.Set(ma2h.SignatureHeader, p.header[0])
		resp, err := s.Client().Do(r)
		if err != nil {
			return 0, nil
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, resp.Header
	}
	ctx, hangUp := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if code, _ := post(ctx); code != 0 {
			t.Errorf("the first hears %d", code)
		}
	})
	<-began
	hangUp()
	wg.Wait()
	if code, h := post(t.Context()); code != 503 || h.Get("Retry-After") == "" {
		t.Errorf("meanwhile %d, %v", code, h)
	}
	close(finish)
	for code := 503; code != 200; {
		if code, _ = post(t.Context()); code != 200 && code != 503 {
			t.Fatalf("later %d", code)
		}
	}
	for range 20 {
		wg.Go(func() {
			if code, _ := post(t.Context()); code != 200 && code != 503 {
				t.Errorf("of many: %d", code)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 1 || ended.Load() != 1 {
		t.Errorf("%d calls, %d ended well", calls.Load(), ended.Load())
	}
}

// TestHandlerWithHubKeys: the hub's published keys verify, and a hub that is not
// there is no reason to refuse for good.
func TestHandlerWithHubKeys(t *testing.T) {
	t.Parallel()
	key := ma2h.SigningKey{Ed25519: hubKey(t)}
	b := newMailbox(t, key)
	calls := 0
	handler := func(c *client.Client) http.Handler {
		return client.Handler(client.HandlerOptions{
			Verifier:   c.Verifier(callbackURL),
			OnResponse: func(context.Context, *ma2h.Response) error { calls++; return nil },
		})
	}
	body := fmt.Sprintf(answered, "0.5")
	h := handler(b.client(byKeys))
	b.set(func() {
		b.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(502); return true }
	})
	if w := signed(t, key, body).to(h); w.Code != 500 {
		t.Errorf("without the hub: %d %s", w.Code, w.Body)
	}
	b.set(func() { b.answer = nil })
	// 200 s is within the hub's window, and not within the usual one.
	if w := signedAt(t, key, body, time.Now().Add(-200*time.Second)).to(h); w.Code != 200 || calls != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	forged := signed(t, ma2h.SigningKey{Ed25519: hubKey(t)}, strings.Replace(body, "res_1", "res_2", 1))
	if w := forged.to(h); w.Code != 401 || calls != 1 {
		t.Errorf("forged: %d %s", w.Code, w.Body)
	}
	// Keys that are pinned need no hub.
	pinned := client.Trust{Keys: []ed25519.PublicKey{key.Ed25519.Public().(ed25519.PublicKey)}}
	b.srv.Close()
	if w := signed(t, key, body).to(handler(b.client(pinned))); w.Code != 200 || calls != 2 {
		t.Errorf("pinned: %d %s", w.Code, w.Body)
	}
}
