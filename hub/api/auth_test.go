package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/api"
	"beckon/hub/ma2h"
)

func TestAuth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tests := []struct {
		name, path string
		headers    []string
		status     int
		code       ma2h.Code
	}{
		{"bearer", "/v1/messages", []string{"Authorization: Bearer " + deployToken}, 200, ""},
		{"scheme in lower case", "/v1/messages", []string{"Authorization: bearer " + deployToken}, 200, ""},
		{"API key", "/v1/messages", []string{"X-API-Key: " + deployToken}, 200, ""},
		{"both the same", "/v1/messages", []string{"Authorization: Bearer " + deployToken, "X-API-Key: " + deployToken}, 200, ""},
		{"API key behind a proxy's Basic", "/v1/messages", []string{"Authorization: Basic eDp5", "X-API-Key: " + deployToken}, 200, ""},
		{"two different", "/v1/messages", []string{"Authorization: Bearer " + deployToken, "X-API-Key: " + otherToken}, 400, ma2h.CodeValidation},
		{"two different, one wrong", "/v1/messages", []string{"Authorization: Bearer " + deployToken, "X-API-Key: nonsense"}, 400, ma2h.CodeValidation},
		{"two Authorizations", "/v1/messages", []string{"Authorization: Bearer " + deployToken, "Authorization: Bearer " + otherToken}, 400, ma2h.CodeValidation},
		{"none", "/v1/messages", nil, 401, ma2h.CodeUnauthenticated},
		{"empty bearer", "/v1/messages", []string{"Authorization: Bearer "}, 401, ma2h.CodeUnauthenticated},
		{"Basic", "/v1/messages", []string{"Authorization: Basic " + deployToken}, 401, ma2h.CodeUnauthenticated},
		{"no scheme", "/v1/messages", []string{"Authorization: " + deployToken}, 401, ma2h.CodeUnauthenticated},
		{"wrong", "/v1/messages", []string{"Authorization: Bearer nonsense"}, 401, ma2h.CodeUnauthenticated},
		{"a prefix", "/v1/messages", []string{"Authorization: Bearer " + deployToken[:5]}, 401, ma2h.CodeUnauthenticated},
		{"in the query", "/v1/messages?access_token=" + deployToken, nil, 401, ma2h.CodeUnauthenticated},
		{"operator on /v1", "/v1/messages", []string{"Authorization: Bearer " + operatorToken}, 403, ma2h.CodeNotAuthorized},
		{"operator on /admin", "/admin/v1/messages", []string{"Authorization: Bearer " + operatorToken}, 200, ""},
		{"operator by API key", "/admin/v1/messages", []string{"X-API-Key: " + operatorToken}, 200, ""},
		{"agent on /admin", "/admin/v1/messages", []string{"Authorization: Bearer " + deployToken}, 403, ma2h.CodeNotAuthorized},
		{"nobody on /admin", "/admin/v1/stats", nil, 401, ma2h.CodeUnauthenticated},
		{"wrong on /admin", "/admin/v1/stats", []string{"X-API-Key: nonsense"}, 401, ma2h.CodeUnauthenticated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			r := w.do("GET", tt.path, "", "", tt.headers...).want(tt.status, tt.code)
			if (r.header.Get("WWW-Authenticate") != "") != (tt.status == 401) {
				t.Errorf("WWW-Authenticate %q", r.header.Get("WWW-Authenticate"))
			}
		})
	}
}

// TestNoEmptyToken: an agent whose token came out empty is nobody's way in.
func TestNoEmptyToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory, _ *api.Options) {
		d.Agents["blank"] = &hub.Agent{ID: "blank", Tokens: []hub.TokenHash{hub.HashToken("")}}
	})
	w.do("GET", "/v1/messages", "", "").want(401, ma2h.CodeUnauthenticated)
	w.do("GET", "/v1/messages", "", "", "Authorization: Bearer ").want(401, ma2h.CodeUnauthenticated)
}

// TestRateLimit: the bucket empties, says when to come back, keeps to itself,
// fills again with time, and begins anew when the limit changes.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(d *hub.Directory, _ *api.Options) { d.Limits.RequestsPerMinute = 60 })
		get := func(token string) *reply { return w.do("GET", "/v1/messages", token, "") }
		for i := range 10 {
			if get(deployToken).status != 200 {
				t.Fatalf("request %d was refused", i)
			}
		}
		r := get(deployToken).want(429, ma2h.CodeRateLimited)
		if r.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q, want 1", r.header.Get("Retry-After"))
		}
		get(otherToken).want(200, "")
		time.Sleep(time.Second)
		get(deployToken).want(200, "")
		get(deployToken).want(429, ma2h.CodeRateLimited)

		d := newDirectory()
		d.Limits.RequestsPerMinute = 5
		w.hub.SetDirectory(d)
		for range 5 {
			get(deployToken).want(200, "")
		}
		r = get(deployToken).want(429, ma2h.CodeRateLimited)
		if r.header.Get("Retry-After") != "12" {
			t.Errorf("Retry-After %q, want 12", r.header.Get("Retry-After"))
		}
		time.Sleep(10 * time.Minute) // forgotten and full again
		get(deployToken).want(200, "")
		d = newDirectory()
		d.Limits.RequestsPerMinute = 0
		w.hub.SetDirectory(d)
		for range 50 {
			get(deployToken).want(200, "")
		}
	})
}

// TestFailuresAreLimited: an address gets so many 401s a minute; a good
// credential from there still works, and another address is not held back.
func TestFailuresAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *hub.Directory, o *api.Options) {
			o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // httptest's address
		})
		from := func(addr string) string { return "X-Forwarded-For: " + addr }
		for range 30 {
			w.do("GET", "/v1/messages", "nonsense", "", from("10.9.9.9, 2001:db8::1")).want(401, ma2h.CodeUnauthenticated)
		}
		r := w.do("GET", "/v1/messages", "nonsense", "", from("10.0.0.7, 2001:db8::2")).want(429, ma2h.CodeRateLimited)
		if n, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || n < 1 || n > 2 {
			t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
		}
		w.do("GET", "/v1/messages", deployToken, "", from("2001:db8::1")).want(200, "")
		w.do("GET", "/v1/messages", "nonsense", "", from("2001:db8:0:1::1")).want(401, ma2h.CodeUnauthenticated)
		time.Sleep(2 * time.Second)
		w.do("GET", "/v1/messages", "nonsense", "", from("2001:db8::1")).want(401, ma2h.CodeUnauthenticated)
	})
}

// TestForwardedForIsNotBelieved: without a trusted proxy the header changes
// nothing.
func TestForwardedForIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	last := 0
	for i := range 40 {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/messages", http.NoBody)
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.0.0.%d", i))
		rec := httptest.NewRecorder()
		w.api.ServeHTTP(rec, r)
		last = rec.Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("status %d after 40 failures, want 429", last)
	}
}
