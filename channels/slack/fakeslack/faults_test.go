package fakeslack_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"beckon/channels/slack/fakeslack"
)

// TestFaults: how calls fail, and whether they had an effect.
func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fault  fakeslack.Fault
		is     func(error) bool
		posted bool
	}{
		{"an error code", fakeslack.Fault{Error: "fatal_error"}, saying("fatal_error"), false},
		{"an error code after the effect", fakeslack.Fault{Error: "internal_error", Effect: true}, saying("internal_error"), true},
		{"429", fakeslack.Fault{RetryAfter: 7 * time.Second}, func(err error) bool {
			e, ok := errors.AsType[*slack.RateLimitedError](err)
			return ok && e.RetryAfter == 7*time.Second
		}, false},
		{"503", fakeslack.Fault{Status: 503}, status(503), false},
		{"500 after the effect", fakeslack.Fault{Status: 500, Effect: true}, status(500), true},
		{"time-out before the effect", fakeslack.Fault{Hang: true}, timeout, false},
		{"time-out after the effect", fakeslack.Fault{Hang: true, Effect: true}, timeout, true},
		{"reset", fakeslack.Fault{Reset: true}, func(err error) bool { return err != nil && !timeout(err) }, false},
		{"reset after the effect", fakeslack.Fault{Reset: true, Effect: true}, func(err error) bool { return err != nil && !timeout(err) }, true},
		{"half an answer", fakeslack.Fault{Garbage: true, Effect: true}, func(err error) bool { return err != nil }, true},
		{"slow", fakeslack.Fault{Delay: time.Second, Error: "late"}, timeout, false},
		{"of another method", fakeslack.Fault{Method: "chat.update", Error: "x"}, func(err error) bool { return err == nil }, true},
		{"with other arguments", fakeslack.Fault{Error: "x", When: func(a url.Values) bool { return a.Get("channel") == "C1" }}, func(err error) bool { return err == nil }, true},
		{"later", fakeslack.Fault{Error: "x", Skip: 1}, func(err error) bool { return err == nil }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakeslack.Options{})
			c := client(t, s, slack.OptionHTTPClient(&http.Client{Transport: transport(t), Timeout: 200 * time.Millisecond}))
			if tt.fault.Method == "" {
				tt.fault.Method = "chat.postMessage"
			}
			lift := s.Fail(tt.fault)
			_, _, err := c.PostMessageContext(within(t), approval, slack.MsgOptionText("a", false))
			if !tt.is(err) {
				t.Errorf("error = %v", err)
			}
			if n := len(s.Messages(approval)); (n == 1) != tt.posted {
				t.Errorf("%d messages, posted should be %v", n, tt.posted)
			}
			lift()
			if _, _, err := c.PostMessageContext(within(t), approval, slack.MsgOptionText("b", false)); err != nil {
				t.Errorf("after it was lifted: %v", err)
			}
		})
	}
}

// TestFaultTimes: a fault wears out.
func TestFaultTimes(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	s.Fail(fakeslack.Fault{Method: "auth.test", Error: "internal_error", Skip: 1, Times: 2})
	want := []any{nil, "internal_error", "internal_error", nil}
	for i, code := range want {
		if m, _ := callAPI(t, s, "auth.test", obj{}); m["error"] != code {
			t.Errorf("call %d: %v, want %v", i, m["error"], code)
		}
	}
	if calls := s.Calls("auth.test"); len(calls) != 4 || calls[1].Effect || calls[1].Error != "internal_error" {
		t.Errorf("calls = %+v", calls)
	}
}

func transport(t *testing.T) *http.Transport {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func saying(code string) func(error) bool {
	return func(err error) bool { return err != nil && err.Error() == code }
}

func status(code int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[slack.StatusCodeError](err)
		return ok && e.Code == code
	}
}

func timeout(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && e.Timeout()
}
