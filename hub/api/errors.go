package api

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// Status returns the HTTP status of a refusal (spec §8.5), 500 for a code that
// is not in the table.
func Status(code ma2h.Code) int {
	switch code {
	case ma2h.CodeValidation, ma2h.CodeVersion:
		return http.StatusBadRequest
	case ma2h.CodeUnauthenticated:
		return http.StatusUnauthorized
	case ma2h.CodeAgentMismatch, ma2h.CodeNotAuthorized:
		return http.StatusForbidden
	case ma2h.CodeNotFound:
		return http.StatusNotFound
	case ma2h.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case ma2h.CodeIdempotencyConflict, ma2h.CodeAlreadyTerminal, ma2h.CodeNotAcknowledgeable:
		return http.StatusConflict
	case ma2h.CodeGone:
		return http.StatusGone
	case ma2h.CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case ma2h.CodeInvalidField, ma2h.CodeUnknownDestination:
		return http.StatusUnprocessableEntity
	case ma2h.CodeRateLimited:
		return http.StatusTooManyRequests
	case ma2h.CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// refuse writes the error body for err. It is the only place that does.
func (a *API) refuse(x *exchange, r *http.Request, err error) {
	x.err = err
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		x.WriteHeader(statusClientGone)
		return
	}
	x.code = hub.CodeOf(err)
	status := Status(x.code)
	body := ma2h.ErrorBody{Error: ma2h.ErrorDetail{Code: x.code, Message: text(err)}}
	if status == http.StatusInternalServerError {
		body.Error = ma2h.ErrorDetail{
			Code: ma2h.CodeInternal, Message: "internal error, request id " + x.id,
		}
	}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		if e.RetryAfter > 0 {
			x.Header().Set("Retry-After", retryAfter(e.RetryAfter))
		}
		if m := e.Message; m != nil && e.Code == ma2h.CodeAlreadyTerminal {
			body.ID, body.Status, body.Resolution = m.ID, m.Status, m.Status
			if m.AgentID == x.who {
				body.ID = m.VisibleID()
			}
		}
	}
	if status == http.StatusTooManyRequests && x.Header().Get("Retry-After") == "" {
		x.Header().Set("Retry-After", "1") // spec §8.5: always there
	}
	if x.page {
		writeBytes(x, status, "text/plain; charset=utf-8", []byte(body.Error.Message+"\n"))
		return
	}
	b, err := json.Marshal(body)
	if err != nil {
		// The message is not UTF-8; the code says enough.
		a.log.LogAttrs(r.Context(), slog.LevelError, "error body", slog.String("request_id", x.id), slog.Any("err", err))
		b = []byte(`{"error":{"code":"` + string(body.Error.Code) + `","message":"refused"}}`)
	}
	writeBytes(x, status, "application/json", b)
}

// text says what is wrong to whoever asked: the field and the message, without
// the operation and the cause, which are for the log.
func text(err error) string {
	field, msg := "", ""
	if e, ok := errors.AsType[*hub.Error](err); ok {
		field, msg = e.Field, e.Msg
	}
	if e, ok := errors.AsType[*ma2h.Error](err); ok && msg == "" {
		field, msg = e.Field, e.Msg
	}
	if field != "" && !strings.HasPrefix(msg, field+":") {
		msg = field + ": " + msg
	}
	return msg
}

// retryAfter writes d in whole seconds, rounded up.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10)
}

// orList writes "a", "a or b", "a, b or c".
func orList(s []string) string {
	switch len(s) {
	case 0:
		return "nothing"
	case 1:
		return s[0]
	}
	return strings.Join(s[:len(s)-1], ", ") + " or " + s[len(s)-1]
}
