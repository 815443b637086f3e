package slack

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
)

// client calls a server that answers as f says.
func client(t *testing.T, f http.HandlerFunc) *api {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	a := newAPI(section{BotToken: hub.NewSecret("xoxb-canary"), APIURL: s.URL + "/api"}, slog.New(slog.DiscardHandler))
	t.Cleanup(a.http.CloseIdleConnections)
	return a
}

// TestNoRedirect: the token follows nobody.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host got a request with %d bytes of Authorization", len(r.Header.Get("Authorization")))
	}))
	t.Cleanup(other.Close)
	a := client(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if err := a.call(t.Context(), "auth.test", nil, nil); !slackSaid(err, "http_307") {
		t.Errorf("err = %v", err)
	}
}

// TestBounded: an answer without end does not fill the memory.
func TestBounded(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	a := client(t, func(w http.ResponseWriter, _ *http.Request) {
		n, _ := io.WriteString(w, `{"ok":true,"x":"`)
		chunk := strings.Repeat("x", 1<<20)
		for n < 8*maxAnswer {
			m, err := io.WriteString(w, chunk)
			if n += m; err != nil {
				break
			}
		}
		written <- n
	})
	var out struct{}
	if err := a.call(t.Context(), "auth.test", nil, &out); !slackSaid(err, codeBroken) {
		t.Errorf("err = %v", err)
	}
	if n := <-written; n > 4*maxAnswer {
		t.Errorf("%d bytes were read", n)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body, code string
		maybe            bool
	}{
		{"ok", `{"ok":true}`, "", false},
		{"no JSON", `<html>xoxb-canary</html>`, codeBroken, true},
		{"empty", ``, codeBroken, true},
		{"null", `null`, "unknown_error", false},
		{"an array", `[]`, codeBroken, true},
		{"a word", `{"ok":false,"error":"not_in_channel"}`, "not_in_channel", false},
		{"no word", `{"ok":false}`, "unknown_error", false},
		{"a sentence for a word", `{"ok":false,"error":"<b>xoxb-canary</b> is wrong"}`, "unknown_error", false},
		{"errors as text (slack-go#1446)", `{"ok":false,"error":"invalid_blocks","errors":"x","response_metadata":{"messages":["[ERROR] y"]}}`, "invalid_blocks", false},
		{"messages that are no list", `{"ok":false,"error":"fatal_error","response_metadata":{"messages":"y"}}`, "fatal_error", true},
		{"another shape", `{"ok":true,"user_id":7}`, codeBroken, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := client(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) })
			var out identity
			err := a.call(t.Context(), "auth.test", nil, &out)
			if tt.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*apiError](err)
			if !ok || e.Code != tt.code || e.MaybeDone != tt.maybe {
				t.Fatalf("err = %#v, want %s, maybe done %v", err, tt.code, tt.maybe)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error repeats the answer: %v", err)
			}
		})
	}
}

// TestRetryAfter: a method that Slack limits rests, and no other; a strange
// Retry-After is neither endless nor nothing.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		header   string
		min, max time.Duration
	}{
		{"7", 6 * time.Second, 7 * time.Second},
		{"", time.Second, 10 * time.Second},
		{"0", time.Second, 10 * time.Second},
		{"-3", time.Second, 10 * time.Second},
		{"Wed, 21 Oct 2026 07:28:00 GMT", time.Second, 10 * time.Second},
		{"99999999999999999999", time.Second, 10 * time.Second},
		{"999999999", time.Hour - time.Second, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.header, func(t *testing.T) {
			t.Parallel()
			calls := 0
			a := client(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "auth.test") {
					_, _ = io.WriteString(w, `{"ok":true}`)
					return
				}
				calls++
				w.Header().Set("Retry-After", tt.header)
				w.WriteHeader(http.StatusTooManyRequests)
			})
			for range 2 {
				err := a.call(t.Context(), "chat.update", nil, nil)
				e, ok := errors.AsType[*apiError](err)
				if !ok || e.Code != codeLimited || e.After < tt.min || e.After > tt.max {
					t.Errorf("err = %#v", err)
				}
			}
			if calls != 1 {
				t.Errorf("%d calls of a method that rests", calls)
			}
			if err := a.call(t.Context(), "auth.test", nil, nil); err != nil {
				t.Errorf("another method rests too: %v", err)
			}
		})
	}
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	a := client(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := a.call(ctx, "auth.test", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// TestRespond: a response_url is used for Slack's own addresses only, and never
// shows.
func TestRespond(t *testing.T) {
	t.Parallel()
	w := startWorld(t, fakeslack.Options{NoRateLimits: true}, nil)
	for _, u := range []string{
		"http://evil.example/actions/T0/1/canary", w.slack.URL() + "0/actions/canary", "https://hooks.slack.com/actions/canary", "canary", "://canary",
	} {
		err := w.ch.api.respond(t.Context(), u, map[string]any{"text": "x"})
		if !slackSaid(err, "invalid_url") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", u, err)
		}
	}
	gone := w.slack.URL() + "/actions/T0/1/canary"
	if err := w.ch.api.respond(t.Context(), gone, map[string]any{"text": "x"}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("err = %v", err)
	}
	w.slack.Close()
	w.ch.api.http.CloseIdleConnections()
	if err := w.ch.api.respond(t.Context(), gone, map[string]any{"text": "x"}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("err = %v", err)
	}
	slack := newAPI(section{BotToken: hub.NewSecret("xoxb-1")}, slog.New(slog.DiscardHandler))
	for u, want := range map[string]bool{
		"https://hooks.slack.com/actions/T0/1/x": true, "http://hooks.slack.com/actions/x": false,
		"https://hooks.slack.com.evil.example/x": false, "https://a@hooks.slack.com/x": false, "https://slack.com/x": false,
	} {
		if slack.own(u) != want {
			t.Errorf("own(%s) = %v", u, !want)
		}
	}
}
