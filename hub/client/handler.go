package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"beckon/hub/ma2h"
)

// ErrRefused is what [HandlerOptions.OnResponse] wraps when no later try can
// mend it, such as a state that this agent did not seal. The hub is told so and
// does not push the Response again; it stays readable by [Client.Get].
var ErrRefused = errors.New("refused")

// DefaultMaxBody is how many bytes of a pushed Response are read at most: far
// more than hubs let a state and an answer have.
const DefaultMaxBody = 8 << 20

// ResponseVerifier checks a pushed Response: a [Verifier] of this package, which
// can read the hub's keys, or a [ma2h.Verifier].
type ResponseVerifier interface {
	Verify(header string, body []byte, now time.Time) (*ma2h.Response, error)
}

// HandlerOptions say how [Handler] works. Verifier and OnResponse must be set.
type HandlerOptions struct {
	// Verifier knows the keys and the callback URL: the string that the agent
	// put into its messages, since what a proxy makes of it can't be told.
	Verifier ResponseVerifier
	// Dedup lets each Response through once, by in_reply_to and resolution_id.
	// Nil is a memory of this process. A process whose life is short wants
	// [FileDedup], and [FileReplays] in its Verifier.
	Dedup Dedup
	// OnResponse acts on a Response that was verified and is new. The hub is told
	// that it was delivered once this has returned nil; until then, and after an
	// error, it comes again, unless the error wraps [ErrRefused]. Its context does
	// not end when the hub hangs up: what was begun is finished, and the hub hears
	// of it when it tries again. The state in a Response is not to be trusted
	// before [OpenState] has opened it.
	OnResponse func(ctx context.Context, r *ma2h.Response) error
	// MaxBody is how many bytes a body may have; 0 is DefaultMaxBody.
	MaxBody int64
	// Log gets a line for what is refused and what fails; nil is nowhere. It never
	// gets a value, a comment or a state.
	Log *slog.Logger
}

// Handler takes the Responses that a hub pushes to a callback URL (spec §8.3,
// §9.2), at every version but 0.2, which can't be signed. It answers
//
//   - 200 when OnResponse has acted on the Response, now or before;
//   - 400, 401, 405, 409, 413, 415 and 422 for what is not an authentic Response,
//     and never will be: the hub does not repeat it;
//   - 500 when OnResponse failed or the keys could not be had, and 503 while
//     another delivery of the same Response is being acted on: the hub repeats it.
//
// It panics when it is made without a Verifier or OnResponse. The server must
// bound how long a request takes to arrive (ReadTimeout). Credentials of a
// callback (bearer, apikey) are for a gateway in front; only the signature says
// who sent it.
func Handler(o HandlerOptions) http.Handler {
	if o.Verifier == nil || o.OnResponse == nil {
		panic("client.Handler: Verifier and OnResponse must be set")
	}
	if o.Dedup == nil {
		o.Dedup = &MemoryDedup{}
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &handler{o}
}

type handler struct{ o HandlerOptions }

// pushError is a failure with what the hub is told of it.
type pushError struct {
	status int
	says   string
	err    error
}

func (e *pushError) Error() string {
	if e.err == nil {
		return e.says
	}
	return e.says + ": " + e.err.Error()
}

func (e *pushError) Unwrap() error { return e.err }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	err := h.take(w, r)
	if err == nil {
		_, _ = io.WriteString(w, "ok\n")
		return
	}
	level := slog.LevelWarn
	if err.status >= 500 && err.status != http.StatusServiceUnavailable {
		level = slog.LevelError
	}
	h.o.Log.Log(r.Context(), level, "a pushed response was not taken", "status", err.status, "err", err)
	switch err.status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(err.status)
	_, _ = io.WriteString(w, err.says+"\n")
}

func (h *handler) take(w http.ResponseWriter, r *http.Request) *pushError {
	body, bad := h.read(w, r)
	if bad != nil {
		return bad
	}
	// Two headers could mean two things.
	headers := r.Header.Values(ma2h.SignatureHeader)
	if len(headers) != 1 {
		return &pushError{http.StatusUnauthorized, "one " + ma2h.SignatureHeader + " header is needed", nil}
	}
	resp, err := h.o.Verifier.Verify(headers[0], body, time.Now())
	if err != nil {
		return unverified(err)
	}
	ctx := context.WithoutCancel(r.Context())
	_, err = h.o.Dedup.Once(ctx, responseKey(resp), func(ctx context.Context) error { return h.o.OnResponse(ctx, resp) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrBusy):
		return &pushError{http.StatusServiceUnavailable, "it is being acted on; come back", fmt.Errorf("response to %s: %w", resp.InReplyTo, err)}
	case errors.Is(err, ErrRefused):
		return &pushError{http.StatusUnprocessableEntity, "the agent refuses it", fmt.Errorf("response to %s: %w", resp.InReplyTo, err)}
	}
	return &pushError{http.StatusInternalServerError, "the agent failed; come back", fmt.Errorf("response to %s: %w", resp.InReplyTo, err)}
}

func (h *handler) read(w http.ResponseWriter, r *http.Request) ([]byte, *pushError) {
	if r.Method != http.MethodPost {
		return nil, &pushError{http.StatusMethodNotAllowed, "only POST", nil}
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, &pushError{http.StatusUnsupportedMediaType, "the body must be application/json", nil}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &pushError{http.StatusRequestEntityTooLarge, "the body is too large", nil}
	}
	if err != nil {
		return nil, &pushError{http.StatusBadRequest, "the body did not arrive", err}
	}
	return body, nil
}

// unverified says whether another try of the hub may end better.
func unverified(err error) *pushError {
	is := func(kinds ...error) bool {
		for _, k := range kinds {
			if errors.Is(err, k) {
				return true
			}
		}
		return false
	}
	switch {
	case is(ma2h.ErrSignatureHeader, ma2h.ErrDocument, ma2h.ErrUnsignable):
		return &pushError{http.StatusBadRequest, "it is not a signed Response", err}
	case is(ma2h.ErrSignature, ma2h.ErrWindow):
		return &pushError{http.StatusUnauthorized, "the signature does not hold", err}
	case is(ma2h.ErrReplay):
		return &pushError{http.StatusConflict, "the signature was seen before", err}
	}
	return &pushError{http.StatusInternalServerError, "the agent can't verify it now; come back", err}
}

// responseKey is what a Response is acted on once by (spec §8.3).
func responseKey(r *ma2h.Response) string {
	return fmt.Sprintf("response %q %q", r.InReplyTo, r.ResolutionID)
}
