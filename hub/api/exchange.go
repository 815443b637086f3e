package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// statusClientGone is what the log and the metrics say of a request whose
// client left before there was an answer. Nobody receives it.
const statusClientGone = 499

// exchange is one request on its way through the API: the response writer, and
// what the log and the metrics will say. It is kept small because a parked poll
// holds one for up to a minute.
type exchange struct {
	http.ResponseWriter
	id      string // of the request
	route   string // pattern, never the path
	who     string // agent or operator, once authenticated
	message string // id of the message that it is about
	code    ma2h.Code
	err     error // why it was refused or failed
	start   time.Time
	status  int
	poll    bool // waited on purpose: its duration says nothing
	page    bool // a channel's page, which people read
}

// WriteHeader notes the status and sets the headers that every answer has: only
// now, since a parked poll would hold them.
func (x *exchange) WriteHeader(status int) {
	if x.status < 200 { // nothing yet, or a 1xx
		x.status = status
		h := x.Header()
		h.Set("X-Request-Id", x.id)
		h.Set("X-Content-Type-Options", "nosniff")
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write is a 200 if no status was written.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status < 200 {
		x.WriteHeader(http.StatusOK)
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap lets an [http.ResponseController] reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// ServeHTTP serves a request and says so, once, when it is over.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, id: requestID(r), start: time.Now()}
	if r.ContentLength != 0 {
		// Also for a body that no handler reads: the server reads the rest of
		// it before the next request, and would wait forever.
		setReadDeadline(x, a.o.BodyTimeout)
	}
	defer a.finish(x, r)
	a.mux.ServeHTTP(x, r)
}

// finish turns a panic into a 500, counts and logs.
func (a *API) finish(x *exchange, r *http.Request) {
	v := recover()
	abort := v == http.ErrAbortHandler //nolint:errorlint // compared as net/http does
	if v != nil && !abort {
		a.log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelError, "panic",
			slog.String("request_id", x.id), slog.String("route", x.route),
			slog.String("panic", thrown(v)), slog.String("stack", string(debug.Stack())))
		if x.status == 0 {
			a.refuse(x, r, &hub.Error{Code: ma2h.CodeInternal, Op: "serve", Msg: "panic"})
		} else {
			abort = true // the answer is half written; don't let it look whole
		}
	}
	if x.status == 0 && v == nil {
		x.WriteHeader(http.StatusOK) // as net/http would for a silent handler
	}
	if x.route == "" {
		x.route = "none"
	}
	took := time.Since(x.start)
	a.metrics.observe(x, r.Method, took)
	a.logAccess(x, r, took)
	if abort {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
}

// thrown says what a panic threw. Only the runtime's own errors are sure to hold
// nothing that an agent or a person wrote.
func thrown(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T", v)
}

func (a *API) logAccess(x *exchange, r *http.Request, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case x.status >= 500:
		level = slog.LevelError
	case x.route == "/healthz" || x.route == "/readyz" || x.route == "/metrics":
		level = slog.LevelDebug
	}
	ctx := context.WithoutCancel(r.Context())
	if !a.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs, slog.String("request_id", x.id), slog.String("method", methodLabel(r.Method)),
		slog.String("route", x.route), slog.Int("status", x.status), slog.Duration("took", took))
	if x.who != "" {
		attrs = append(attrs, slog.String("who", x.who))
	}
	if x.message != "" {
		attrs = append(attrs, slog.String("message", x.message))
	}
	if x.code != "" {
		attrs = append(attrs, slog.String("code", string(x.code)))
	}
	if x.status >= 500 && x.err != nil {
		attrs = append(attrs, slog.Any("err", x.err))
	}
	a.log.LogAttrs(ctx, level, "request", attrs...)
}

// requestID takes the client's id if it can do no harm in a log, or mints one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) < 1 || len(id) > 64 {
		return rand.Text()
	}
	for i := range len(id) {
		if !idByte(id[i]) {
			return rand.Text()
		}
	}
	return id
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '.' || c == '_' || c == '-'
}

// validID reports whether s has the shape of a message id or alias
// ([A-Za-z0-9._~-]{1,128}); no other string is ever looked up.
func validID(s string) bool {
	if len(s) < 1 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		if !idByte(s[i]) && s[i] != '~' {
			return false
		}
	}
	return true
}

// writeJSON writes v as the whole answer.
func writeJSON(x *exchange, status int, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return &hub.Error{Code: ma2h.CodeInternal, Op: "write answer", Msg: "internal error", Err: err}
	}
	writeBytes(x, status, "application/json", b)
	return nil
}

// writeBytes writes b as the whole answer, which no cache may keep unless the
// handler said so. A client that has gone is no error of ours.
func writeBytes(x *exchange, status int, contentType string, b []byte) {
	h := x.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	x.WriteHeader(status)
	_, _ = x.Write(b)
}

// setReadDeadline bounds how long the rest of the request may take to arrive;
// zero takes the bound away. A connection without deadlines, as in tests, is
// left alone.
func setReadDeadline(x *exchange, d time.Duration) {
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	if err := http.NewResponseController(x.ResponseWriter).SetReadDeadline(t); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		x.Header().Set("Connection", "close")
	}
}
