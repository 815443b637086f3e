package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"beckon/hub/client"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// session is a client of the hub, and what is known of the hub's answering.
type session struct {
	*client.Client
	pulse *pulse
}

// pulse watches the requests of a client: down says that the last one did not
// get through.
type pulse struct {
	down atomic.Bool
	next http.RoundTripper
}

// RoundTrip passes the request on. The hub is up again as soon as a request has
// reached it: the answer to a long poll may take a minute.
func (p *pulse) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		if i.Err == nil {
			p.down.Store(false)
		}
	}}
	resp, err := p.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if r.Context().Err() == nil {
		p.down.Store(err != nil || resp.StatusCode >= 500)
	}
	return resp, err
}

// noAnswer is what the line on the terminal says meanwhile.
const noAnswer = "the hub does not answer, trying again"

// call calls the hub. While it does not answer and the call is tried again, a
// terminal says so.
func call[T any](sh *shell, s *session, f func() (T, error)) (T, error) {
	stop := sh.spin(func() string {
		if s.pulse.down.Load() {
			return noAnswer
		}
		return ""
	})
	defer stop()
	return f()
}

// isOperator reports whether err is the hub saying that the credential is an
// operator's, which /v1 does not take.
func isOperator(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == http.StatusForbidden && e.Code == ma2h.CodeNotAuthorized
}

// asEither calls the hub as an agent, and as an operator if that is whose the
// credential is.
func asEither[T any](sh *shell, s *session, agent, operator func() (T, error)) (T, error) {
	out, err := call(sh, s, agent)
	if !isOperator(err) {
		return out, err
	}
	out, again := call(sh, s, operator)
	if isOperator(again) { // neither takes it
		return out, err
	}
	return out, again
}

// pageSize is how many rows are asked for at once; it is the hub's limit.
const pageSize = 200

// pages gathers rows from as many pages as it takes for limit of them, and
// reports whether there are more.
func pages[T any](ctx context.Context, limit int, page func(ctx context.Context, cursor string, n int) ([]T, string, error)) (rows []T, more bool, err error) {
	rows = []T{}
	for cursor := ""; ; {
		var some []T
		if some, cursor, err = page(ctx, cursor, min(limit-len(rows), pageSize)); err != nil {
			return nil, false, err
		}
		rows = append(rows, some...)
		if len(rows) > limit {
			return rows[:limit], true, nil
		}
		if cursor == "" || len(rows) == limit {
			return rows, cursor != "", nil
		}
	}
}

// printJSON prints v as one line.
func (sh *shell) printJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return sh.print(string(b))
}
