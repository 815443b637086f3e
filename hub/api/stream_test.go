package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"beckon/hub"
)

// An event stream of a page lasts for minutes on purpose; like a poll, it must
// not count among the durations.
func TestStreamsAreNotTimed(t *testing.T) {
	t.Parallel()
	serve := func(contentType string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
		})
	}
	a := New(Options{Hub: hub.New(hub.Options{}, &hub.Directory{}), Pages: map[string]http.Handler{
		"GET /watch": serve("text/event-stream"), "GET /page": serve("text/html"),
	}})
	for _, path := range []string{"/watch", "/page"} {
		a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), `beckon_http_request_seconds_count{route="GET /page"} 1`) {
		t.Error("the page is not among the durations")
	}
	if strings.Contains(w.Body.String(), `beckon_http_request_seconds_count{route="GET /watch"}`) {
		t.Error("the stream is among the durations")
	}
}
