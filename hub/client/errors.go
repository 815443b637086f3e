package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// Error is a refusal by the hub, or its failure (5xx).
type Error struct {
	Op         string
	Status     int       // of HTTP
	Code       ma2h.Code // one that the client knows; see Raw
	Raw        string    // the code as the hub sent it, "" if it sent none
	Message    string    // the hub's words
	RetryAfter time.Duration
	RequestID  string // finds the request in the hub's log

	// Of the message that a late cancel or resolve is about (409).
	ID         string
	Resolution ma2h.Status
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%s)", e.Op, e.Message, e.Code)
	if e.Status >= 500 && e.RequestID != "" && !strings.Contains(e.Message, e.RequestID) {
		s += ", request id " + e.RequestID
	}
	return s
}

// UnreachableError says that there was no answer. Unless Unsent, the hub may
// have done what it was asked to.
type UnreachableError struct {
	Op     string
	Host   string
	Unsent bool
	Err    error
}

func (e *UnreachableError) Error() string {
	err := e.Err
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the URL would come a second time
	}
	return fmt.Sprintf("%s: no answer from %s: %v", e.Op, e.Host, err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// UsageError says that the client was set up or called wrong.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// ErrStillOpen is what [Client.Wait] returns when its context ends before the
// message does.
var ErrStillOpen = errors.New("still open")

// ErrUnchanged is what [Client.Get] returns when the status has not changed
// since the time asked about.
var ErrUnchanged = errors.New("unchanged")

// refusal reads an error body. What is not one, as from a proxy, is described by
// its status.
func refusal(op string, resp *http.Response, body []byte) *Error {
	e := &Error{
		Op: op, Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id"),
		RetryAfter: readRetryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	var b ma2h.ErrorBody
	if json.Unmarshal(body, &b) == nil {
		e.Raw, e.Message, e.ID, e.Resolution = string(b.Error.Code), b.Error.Message, b.ID, b.Resolution
	}
	e.Code = knownCode(op, resp.StatusCode, ma2h.Code(e.Raw))
	switch {
	case e.Message != "":
	case resp.StatusCode/100 == 3:
		e.Message = "the hub's URL leads to another place, which is not followed; use the URL of the hub itself"
	default:
		e.Message = fmt.Sprintf("status %d without a reason", resp.StatusCode)
	}
	return e
}

// knownCode returns code if it belongs to the status, and otherwise what the
// call would have got without the refinement (spec §8.5).
func knownCode(op string, status int, code ma2h.Code) ma2h.Code {
	conflict := ma2h.CodeAlreadyTerminal
	switch op {
	case opSubmit:
		conflict = ma2h.CodeIdempotencyConflict
	case opAck:
		conflict = ma2h.CodeNotAcknowledgeable
	}
	known := map[int][]ma2h.Code{ // the base code first
		400: {ma2h.CodeValidation, ma2h.CodeVersion},
		401: {ma2h.CodeUnauthenticated},
		403: {ma2h.CodeNotAuthorized, ma2h.CodeAgentMismatch},
		404: {ma2h.CodeNotFound},
		405: {ma2h.CodeMethodNotAllowed},
		409: {conflict, ma2h.CodeIdempotencyConflict, ma2h.CodeAlreadyTerminal, ma2h.CodeNotAcknowledgeable},
		410: {ma2h.CodeGone},
		415: {ma2h.CodeUnsupportedMediaType},
		422: {ma2h.CodeInvalidField, ma2h.CodeUnknownDestination},
		429: {ma2h.CodeRateLimited},
		502: {ma2h.CodeUnavailable},
		503: {ma2h.CodeUnavailable},
		504: {ma2h.CodeUnavailable},
	}[status]
	for _, k := range known {
		if k == code {
			return code
		}
	}
	switch {
	case known != nil:
		return known[0]
	case status >= 500:
		return ma2h.CodeInternal
	}
	return ma2h.CodeValidation
}

// readRetryAfter reads seconds or an HTTP date, 0 when it is neither.
func readRetryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return min(time.Duration(min(n, 1<<20))*time.Second, maxRetryAfter)
	}
	if t, err := http.ParseTime(s); err == nil && t.After(now) {
		return min(t.Sub(now), maxRetryAfter)
	}
	return 0
}

// retryable reports whether the same call may end better: the network, 5xx and
// 429, and never another 4xx (spec §8.1).
func retryable(err error, r repeat) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch {
		case e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable:
			return true
		case e.Status >= 500:
			return r == always
		}
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false // somebody must mend it
	}
	e, ok := errors.AsType[*UnreachableError](err)
	return ok && (r == always || e.Unsent)
}

// pauseFor is how long to wait after the given try: it doubles from a quarter
// second, is jittered by half, and is never shorter than Retry-After.
func pauseFor(err error, try int) time.Duration {
	p := min(firstPause<<min(try-1, 10), maxPause)
	p = p/2 + rand.N(p/2+1)
	if e, ok := errors.AsType[*Error](err); ok {
		p = max(p, e.RetryAfter)
	}
	return p
}

// sleep reports whether it slept the whole of d.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// The exit codes of the command line.
const (
	ExitAnswered    = 0 // or completed, or nothing to wait for
	ExitInternal    = 1
	ExitUsage       = 2 // or a config that is wrong
	ExitDeclined    = 3 // or dismissed
	ExitExpired     = 4 // also when a default was applied
	ExitCancelled   = 5
	ExitOpen        = 6
	ExitRefused     = 7
	ExitUnreachable = 8
)

// StatusCode returns the exit code for a message of this status.
func StatusCode(s ma2h.Status) int {
	switch s {
	case ma2h.Answered, ma2h.Completed, ma2h.Delivered:
		return ExitAnswered
	case ma2h.Declined, ma2h.Dismissed:
		return ExitDeclined
	case ma2h.Expired:
		return ExitExpired
	case ma2h.Cancelled:
		return ExitCancelled
	case ma2h.Open:
		return ExitOpen
	}
	return ExitInternal
}

// ExitCode returns the exit code for an error of this package, 0 for nil.
func ExitCode(err error) int {
	if err == nil {
		return ExitAnswered
	}
	if errors.Is(err, ErrStillOpen) {
		return ExitOpen
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return ExitUsage
	}
	if e, ok := errors.AsType[*Error](err); ok {
		switch {
		case e.Status/100 == 3: // the URL is not that of the hub
			return ExitUsage
		case e.Code == ma2h.CodeUnavailable:
			return ExitUnreachable
		case e.Status >= 500:
			return ExitInternal
		}
		return ExitRefused
	}
	if _, ok := errors.AsType[*UnreachableError](err); ok {
		return ExitUnreachable
	}
	return ExitInternal
}
