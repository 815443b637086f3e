package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"beckon/hub"
	"beckon/hub/api"
)

// Pages count by the client's address, and learn it from a trusted proxy only.
func TestPagesSeeTheClient(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, peer, forwarded, want string
	}{
		{"no proxy", "203.0.113.9:4711", "", "203.0.113.9"},
		{"a header from anybody", "203.0.113.9:4711", "198.51.100.1", "203.0.113.9"},
		{"a trusted proxy", "192.0.2.1:4711", "198.51.100.1", "198.51.100.1"},
		{"invented in front of it", "192.0.2.1:4711", "10.9.9.9, 198.51.100.1", "198.51.100.1"},
		{"two trusted proxies", "192.0.2.1:4711", "2001:db8::7, 192.0.2.2", "2001:db8::7"},
		{"nonsense", "192.0.2.1:4711", "unknown", "192.0.2.1"},
		{"no address", "@", "", "@"},
	}
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) {
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		o.Pages = map[string]http.Handler{"GET /who/{name}": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.PathValue("name")+" "+r.RemoteAddr)
		})}
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/who/me", http.NoBody)
			r.RemoteAddr = tt.peer
			if tt.forwarded != "" {
				r.Header.Set("X-Forwarded-For", tt.forwarded)
			}
			got := httptest.NewRecorder()
			w.api.ServeHTTP(got, r)
			if got.Body.String() != "me "+tt.want || r.RemoteAddr != tt.peer {
				t.Errorf("got %q, want %q; the request says %q now", got.Body, tt.want, r.RemoteAddr)
			}
		})
	}
}
