package client_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		status     int
		header     string // Retry-After
		code       ma2h.Code
		exit       int
		after      time.Duration
	}{
		{"refusal", `{"error":{"code":"not_found","message":"no such message"}}`, 404, "", ma2h.CodeNotFound, 7, 0},
		{"unknown 422", `{"error":{"code":"bad_moon","message":"m"}}`, 422, "", ma2h.CodeInvalidField, 7, 0},
		{"unknown 409 of a list", `{"error":{"code":"new","message":"m"}}`, 409, "", ma2h.CodeAlreadyTerminal, 7, 0},
		{"code of another status", `{"error":{"code":"not_found","message":"m"}}`, 403, "", ma2h.CodeNotAuthorized, 7, 0},
		{"unknown status", `{}`, 418, "", ma2h.CodeValidation, 7, 0},
		{"proxy's page", `<html>`, 502, "", ma2h.CodeUnavailable, 8, 0},
		{"internal", `{"error":{"code":"internal","message":"internal error"}}`, 500, "", ma2h.CodeInternal, 1, 0},
		{"rate limit", `{"error":{"code":"rate_limited","message":"m"}}`, 429, "7", ma2h.CodeRateLimited, 7, 7 * time.Second},
		{"absurd Retry-After", `{}`, 429, "99999999999", ma2h.CodeRateLimited, 7, 7 * 24 * time.Hour},
		{"huge Retry-After", `{}`, 429, "9999999", ma2h.CodeRateLimited, 7, 7 * 24 * time.Hour},
		{"empty", ``, 401, "", ma2h.CodeUnauthenticated, 7, 0},
		{"redirect", ``, 301, "", ma2h.CodeValidation, 2, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("X-Request-Id", "req-1")
				if tt.header != "" {
					rw.Header().Set("Retry-After", tt.header)
				}
				rw.WriteHeader(tt.status)
				io.WriteString(rw, tt.body)
			}))
			defer s.Close()
			c, err := client.New(s.URL, "secret-token", deploybot, client.WithHTTPClient(s.Client()), client.WithAttempts(1))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.List(t.Context(), client.Query{})
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Code != tt.code || e.Status != tt.status || e.RetryAfter != tt.after || e.RequestID != "req-1" {
				t.Errorf("%#v", err)
			}
			if client.ExitCode(err) != tt.exit {
				t.Errorf("exit code %d, want %d", client.ExitCode(err), tt.exit)
			}
			if strings.Contains(err.Error(), "secret-token") || e.Message == "" {
				t.Errorf("says %q", err)
			}
		})
	}
}

// TestBadCertificate: what no later try can mend ends a wait at once.
func TestBadCertificate(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	defer s.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c, err := client.New(s.URL, "t", deploybot, client.WithHTTPClient(&http.Client{Transport: tr}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Wait(t.Context(), "msg_1"); client.ExitCode(err) != 8 || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("exit %d: %v", client.ExitCode(err), err)
	}
}

// TestAnswersAreBounded: an endless answer is an error, not memory.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		b := []byte(strings.Repeat(" ", 1<<20))
		for {
			if _, err := rw.Write(b); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	c, err := client.New(s.URL, "t", deploybot, client.WithHTTPClient(s.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.List(t.Context(), client.Query{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url, token string
		opts             []client.Option
		ok               bool
	}{
		{"https", "https://beckon.example.com", "t", nil, true},
		{"path and slash", "https://example.com/hub/", "t", nil, true},
		{"loopback", "http://127.0.0.1:8420", "t", nil, true},
		{"loopback of IPv6", "http://[::1]:8420", "t", nil, true},
		{"localhost", "http://localhost:8420", "t", nil, true},
		{"plain http", "http://beckon.example.com", "t", nil, false},
		{"plain http here, shouted", "HTTP://LOCALHOST:8420", "t", nil, true},
		{"plain http to a name that looks like here", "http://localhost.example.com", "t", nil, false},
		{"no scheme", "127.0.0.1:8420", "t", nil, false},
		{"plain http on purpose", "http://hub:8420", "t", []client.Option{client.WithPlainHTTP()}, true},
		{"no scheme", "beckon.example.com", "t", nil, false},
		{"empty", "", "t", nil, false},
		{"password", "https://u:hunter2@example.com", "t", nil, false},
		{"query", "https://example.com?x=hunter2", "t", nil, false},
		{"not a URL", "https://exa mple.com/hunter2", "t", nil, false},
		{"token with a line end", "https://example.com", "hunter2\n", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := client.New(tt.url, tt.token, deploybot, tt.opts...)
			if (err == nil) != tt.ok {
				t.Fatalf("error %v", err)
			}
			if err != nil && (client.ExitCode(err) != 2 || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("exit %d: %v", client.ExitCode(err), err)
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	want := map[ma2h.Status]int{
		ma2h.Answered: 0, ma2h.Completed: 0, ma2h.Delivered: 0, ma2h.Declined: 3, ma2h.Dismissed: 3,
		ma2h.Expired: 4, ma2h.Cancelled: 5, ma2h.Open: 6, "new": 1,
	}
	for s, code := range want {
		if got := client.StatusCode(s); got != code {
			t.Errorf("%s: %d, want %d", s, got, code)
		}
	}
	if client.ExitCode(nil) != 0 || client.ExitCode(errors.New("x")) != 1 {
		t.Error("nil is 0 and anything else 1")
	}
}
