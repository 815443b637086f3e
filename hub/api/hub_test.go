package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/admin"
	"beckon/hub/api"
	"beckon/hub/ma2h"

	"github.com/prometheus/client_golang/prometheus"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := w.do("GET", "/.well-known/ma2h", "", "").want(http.StatusOK, "")
	want := map[string]any{
		"ma2h_version": "0.5", "max_body_bytes": 65536.0, "max_part_bytes": 65536.0, "max_context_parts": 32.0,
		"max_envelope_bytes": 262144.0, "idempotency_key_ttl_seconds": 86400.0, "retention_days": 30.0,
		"inbound.enabled": true, "inbound.poll_url": "https://beckon.example.com/v1/inbox",
		"inbound.ack_url": "https://beckon.example.com/v1/inbox/ack", "inbound.max_batch": 32.0,
		"inbound.visibility_timeout_seconds": 60.0, "inbound.retention_days": 30.0, "inbound.webhook_supported": false,
		"ack.enabled": true, "ack.signature_algs": nil, "presence.enabled": true, "presence.freshness_seconds": 90.0,
		"max_note_characters":   2000.0,
		"replay_window_seconds": 300.0, "rate_limit.requests_per_minute": 600.0, "rate_limit.inbox_depth": 1000.0,
	}
	for path, v := range want {
		if got := r.field(path); got != v {
			t.Errorf("%s = %v, want %v", path, got, v)
		}
	}
	for _, off := range []string{
		"sessions", "inter_agent", "callback_auth_schemes", "signature_algs", "callbacks", "jwks",
		"inbound.session_param", "inbound.stream_url",
	} {
		if r.field(off) != nil {
			t.Errorf("%s is announced but does not exist", off)
		}
	}
	if algs := fmt.Sprint(r.field("inbound.signature_algs")); algs != "[hmac-sha256]" {
		t.Errorf("directives are signed by %s", algs)
	}
	validShared(t, sharedSchema(t, "capability.schema.json"), r.body)
}

func TestDiscoveryFollowsTheDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	d := newDirectory()
	d.Limits.Envelope, d.Limits.RequestsPerMinute, d.Limits.OpenMessages = 1000, 0, 0
	d.Retention = 0
	w.hub.SetDirectory(d)
	r := w.do("GET", "/.well-known/ma2h", "", "").want(http.StatusOK, "")
	if r.field("max_envelope_bytes") != 1000.0 || r.field("rate_limit") != nil || r.field("retention_days") != nil {
		t.Errorf("not the directory in force: %s", r.body)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var broken error
	checks := []admin.Check{{Name: "outbox", OK: true, LastSeconds: 3}}
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) {
		o.Ready = func(context.Context) error { return broken }
		o.Health = func() []admin.Check { return append([]admin.Check(nil), checks...) }
	})
	w.do("GET", "/healthz", "", "").want(http.StatusOK, "")
	w.do("HEAD", "/healthz", "", "").want(http.StatusOK, "")
	if r := w.do("GET", "/readyz", "", "").want(http.StatusOK, ""); r.field("ready") != true {
		t.Error(r.body)
	}

	broken = errors.New("disk /secret/path is full")
	r := w.do("GET", "/readyz", "", "").want(http.StatusServiceUnavailable, "")
	if r.field("ready") != false || !strings.Contains(r.body, `{"name":"store","ok":false}`) {
		t.Errorf("does not name the store: %s", r.body)
	}
	if strings.Contains(r.body, "secret") {
		t.Errorf("shows the error to everybody: %s", r.body)
	}
	if !strings.Contains(w.log.String(), "/secret/path") {
		t.Error("does not log why it is not ready")
	}
	broken = nil
	checks[0].OK = false
	w.do("HEAD", "/readyz", "", "").want(http.StatusServiceUnavailable, "")
	w.do("GET", "/healthz", "", "").want(http.StatusOK, "")

	checks[0].OK = true
	w.api.Drain()
	if r := w.do("GET", "/readyz", "", "").want(http.StatusServiceUnavailable, ""); !strings.Contains(r.body, `"serve"`) {
		t.Errorf("ready while it shuts down: %s", r.body)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil))
	w.do("GET", "/v1/messages/"+id, deployToken, "").want(200, "")
	w.do("GET", "/v1/messages/msg_none", deployToken, "").want(404, ma2h.CodeNotFound)
	w.do("BREW", "/v1/messages/"+id, deployToken, "").want(405, ma2h.CodeMethodNotAllowed)
	w.do("GET", "/somewhere/secret-path", "", "").want(404, ma2h.CodeNotFound)
	r := w.do("GET", "/metrics", "", "").want(200, "")
	for _, line := range []string{
		`beckon_http_requests_total{code="202",method="POST",route="/v1/messages"} 1`,
		`beckon_http_requests_total{code="200",method="GET",route="/v1/messages/{id}"} 1`,
		`beckon_http_requests_total{code="404",method="GET",route="/v1/messages/{id}"} 1`,
		`beckon_http_requests_total{code="405",method="other",route="none"} 1`,
		`beckon_http_requests_total{code="404",method="GET",route="none"} 1`,
		`beckon_http_refusals_total{code="not_found"} 2`,
		`beckon_polls_parked 0`,
		`beckon_http_request_seconds_count{route="/v1/messages/{id}"} 2`,
	} {
		if !strings.Contains(r.body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	for _, secret := range []string{id, "secret-path", deploybot, "BREW"} {
		if strings.Contains(r.body, secret) {
			t.Errorf("a label holds %q", secret)
		}
	}
}

// TestPanic: a panic is a 500 with the request id, one log line with the stack,
// and the next request is served.
func TestPanic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) {
		o.Pages = map[string]http.Handler{
			"GET /boom/{token}": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("kaboom") }),
		}
	})
	r := w.send("GET", "/boom/s3cret?t=s3cret", "", "", "X-Request-Id: trace-1")
	if r.status != http.StatusInternalServerError || r.body != "internal error, request id trace-1\n" {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	log := w.log.String()
	for _, want := range []string{`"panic":"a string"`, "hub_test.go", `"request_id":"trace-1"`, `"status":500`, "/boom/{token}"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q: %s", want, log)
		}
	}
	if strings.Contains(log, "s3cret") || strings.Contains(log, "kaboom") {
		t.Errorf("the log has the path or query of a page, or what it threw: %s", log)
	}
	w.do("GET", "/healthz", "", "").want(200, "")
}

// TestPanicAfterHalfAnAnswer: the connection is cut, so that the half does not
// look whole.
func TestPanicAfterHalfAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) {
		o.Pages = map[string]http.Handler{
			"GET /half": http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(http.StatusOK)
				panic("kaboom")
			}),
		}
	})
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // as net/http compares
			t.Errorf("recovered %v, want http.ErrAbortHandler", v)
		}
	}()
	w.send("GET", "/half", "", "")
}

// failing is a hub whose reads fail as a broken disk makes them.
type failing struct{ *hub.Hub }

func (failing) Get(context.Context, string, string) (*hub.Message, error) {
	return nil, errors.New("read /var/lib/beckon.db: input/output error")
}

func (failing) Submit(context.Context, *hub.Agent, []byte) (*hub.Submitted, error) {
	return nil, &hub.Error{Code: ma2h.CodeUnavailable, Op: "submit", Msg: "the store is busy", RetryAfter: 1500 * time.Millisecond}
}

func TestInternalErrors(t *testing.T) {
	t.Parallel()
	inner := newWorld(t, nil)
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) { o.Hub = failing{inner.hub} })
	r := w.do("GET", "/v1/messages/msg_1", deployToken, "", "X-Request-Id: find.me").want(500, ma2h.CodeInternal)
	if got := r.text("error.message"); got != "internal error, request id find.me" {
		t.Errorf("message %q", got)
	}
	if n := strings.Count(w.log.String(), "input/output error"); n != 1 {
		t.Errorf("logged %d times, want once: %s", n, w.log)
	}
	r = w.do("POST", "/v1/messages", deployToken, ask(nil)).want(503, ma2h.CodeUnavailable)
	if r.header.Get("Retry-After") != "2" || r.text("error.message") != "the store is busy" {
		t.Errorf("Retry-After %q, %s", r.header.Get("Retry-After"), r.body)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tests := []struct {
		name, sent string
		taken      bool
	}{
		{"plain", "abc-1.2_3", true},
		{"64 characters", strings.Repeat("a", 64), true},
		{"65 characters", strings.Repeat("a", 65), false},
		{"line end", "abc\ndef", false},
		{"quote", `ab"c`, false},
		{"not ASCII", "é", false},
		{"none", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			headers := []string{}
			if tt.sent != "" {
				headers = append(headers, "X-Request-Id: "+tt.sent)
			}
			got := w.do("GET", "/healthz", "", "", headers...).header.Get("X-Request-Id")
			if (got == tt.sent) != tt.taken || got == "" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestLogHoldsNoContent: what agents write and what opens doors stays out.
func TestLogHoldsNoContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(map[string]any{
		"title": "XTITLE", "body": "XBODY", "state": map[string]any{"k": "XSTATE"}, "client_ref": "XREF",
		"context": []any{map[string]any{"kind": "text", "text": "XCONTEXT"}},
	}))
	w.do("POST", "/v1/messages", deployToken, `{"title":"XTITLE"`).want(400, ma2h.CodeValidation)
	w.do("GET", "/v1/messages/"+id+"?include=beckon&x=XQUERY", deployToken, "").want(200, "")
	w.do("GET", "/v1/messages/XQUERY%20", deployToken, "").want(404, "")
	w.do("POST", "/v1/messages/"+id+"/resolve", deployToken, `{"resolution":"answered","value":"XVALUE","comment":"XCOMMENT"}`)
	w.do("GET", "/v1/messages", "XTOKEN", "").want(401, "")
	log := w.log.String()
	for _, secret := range []string{"XTITLE", "XBODY", "XSTATE", "XREF", "XCONTEXT", "XQUERY", "XVALUE", "XCOMMENT", "XTOKEN", deployToken} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	if !strings.Contains(log, `"message":"`+id+`"`) || !strings.Contains(log, `"who":"`+deploybot+`"`) {
		t.Errorf("the log does not say who asked for what: %s", log)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tests := []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/", 404, ""},
		{"GET", "/v1", 404, ""},
		{"GET", "/v1/messages/", 404, ""},
		{"GET", "/v1/messages/a/b/c", 404, ""},
		{"GET", "/admin/v1/", 404, ""},
		{"PUT", "/v1/messages", 405, "GET, POST"},
		{"HEAD", "/v1/messages", 405, "GET, POST"},
		{"OPTIONS", "/v1/messages", 405, "GET, POST"},
		{"DELETE", "/v1/messages/msg_1", 405, "GET"},
		{"GET", "/v1/messages/msg_1/cancel", 405, "POST"},
		{"GET", "/v1/messages/msg_1/resolve", 405, "POST"},
		{"POST", "/healthz", 405, "GET, HEAD"},
		{"POST", "/.well-known/ma2h", 405, "GET, HEAD"},
		{"BREW", "/v1/messages", 405, "GET, POST"},
		{"POST", "/admin/v1/stats", 405, "GET"},
		{"OPTIONS", "/nowhere", 404, ""},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := w.in(t)
			code := ma2h.CodeNotFound
			if tt.status == 405 {
				code = ma2h.CodeMethodNotAllowed
			}
			r := w.do(tt.method, tt.path, deployToken, "").want(tt.status, code)
			if got := strings.Join(r.header.Values("Allow"), ", "); got != tt.allow {
				t.Errorf("Allow %q, want %q", got, tt.allow)
			}
		})
	}
}

// TestMetricsOfPushes: pushes are counted together, whatever hosts agents have.
func TestMetricsOfPushes(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	o := api.NewObserver(r)
	o.Attempted(hub.PushLanes+"a.example.com", "ok", time.Second)
	o.Attempted(hub.PushLanes+"b.example.com", "ok", time.Second)
	o.Attempted("slack", "ok", time.Second)
	o.Directed("web", hub.Refused)
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) { o.Registry = r })
	body := w.do("GET", "/metrics", "", "").want(200, "").body
	for _, line := range []string{
		`beckon_attempts_total{code="ok",lane="callback"} 2`, `beckon_attempts_total{code="ok",lane="slack"} 1`,
		`beckon_attempt_seconds_count{lane="callback"} 2`, `beckon_directives_total{outcome="refused",via="web"} 1`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}
