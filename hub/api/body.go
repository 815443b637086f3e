package api

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// bodyTimeout is how long a request body may take to arrive, unless Options say
// otherwise. Who sends slower is told so and cut off.
const bodyTimeout = 15 * time.Second

// readJSON reads a JSON body of at most limit bytes as it came. One that is
// too long is an invalid_field, 422 and not 413 (spec §8.6).
func (a *API) readJSON(x *exchange, r *http.Request, what string, limit int) ([]byte, error) {
	if err := checkContentType(r); err != nil {
		return nil, err
	}
	tooLong := &hub.Error{
		Code: ma2h.CodeInvalidField,
		Msg:  fmt.Sprintf("the %s is larger than %d bytes, the most that this hub takes", what, limit),
	}
	// MaxBytesReader makes the server close the connection when the body goes on,
	// and so slowly that the client still reads why. That is also why a body that
	// announces its size is not refused before it is read.
	body := http.MaxBytesReader(x.ResponseWriter, r.Body, int64(limit))
	buf := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), int64(limit))+bytes.MinRead))
	_, err := buf.ReadFrom(body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLong
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		x.Header().Set("Connection", "close")
		return nil, &hub.Error{
			Code: ma2h.CodeValidation, Err: err,
			Msg: fmt.Sprintf("the %s did not arrive within %v", what, a.o.BodyTimeout),
		}
	}
	if err != nil {
		return nil, &hub.Error{Code: ma2h.CodeValidation, Msg: "the " + what + " is cut off", Err: err}
	}
	setReadDeadline(x, 0)
	return buf.Bytes(), nil
}

// checkContentType takes application/json in UTF-8, which is also what no
// Content-Type means, and no compression: a compressed body would need a limit
// of its own.
func checkContentType(r *http.Request) error {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return &hub.Error{
			Code: ma2h.CodeUnsupportedMediaType,
			Msg:  "this hub takes no Content-Encoding; send the JSON as it is",
		}
	}
	v := r.Header.Get("Content-Type")
	if v == "" {
		return nil
	}
	t, params, err := mime.ParseMediaType(v)
	if err != nil || t != "application/json" {
		return &hub.Error{
			Code: ma2h.CodeUnsupportedMediaType,
			Msg:  "the body must be JSON; send it with Content-Type: application/json",
		}
	}
	if c := params["charset"]; c != "" && !strings.EqualFold(c, "utf-8") {
		return &hub.Error{
			Code: ma2h.CodeUnsupportedMediaType, Msg: "JSON is UTF-8; leave the charset out",
		}
	}
	return nil
}

// pathID returns the {id} of the path, decoded once; "" when the route has none.
func pathID(r *http.Request) string {
	id := r.PathValue("id")
	if id == "" || r.URL.RawPath == "" {
		return id // chi matched the path as it was decoded
	}
	decoded, err := url.PathUnescape(id)
	if err != nil {
		return id
	}
	return decoded
}

// messageID is pathID for a handler: a string that can't be an id is a message
// that does not exist, like any other.
func messageID(r *http.Request) (string, error) {
	id := pathID(r)
	if !validID(id) {
		return "", notFound()
	}
	return id, nil
}

// notFound is the 404 of a message, the same for one that is not there and for
// one that is somebody else's (spec §8.2).
func notFound() error {
	return &hub.Error{Code: ma2h.CodeNotFound, Msg: "no such message"}
}

// hideNotFound gives every 404 of the hub the same words, so that nobody learns
// from them which ids exist.
func hideNotFound(err error) error {
	if err != nil && hub.CodeOf(err) == ma2h.CodeNotFound {
		return notFound()
	}
	return err
}

// query reads the query string and says which parameter is wrong.
type query struct {
	v   url.Values
	err error
}

func newQuery(r *http.Request) *query {
	v, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{v: v}
	if err != nil {
		q.fail("query", "is not a valid query string")
	}
	return q
}

func (q *query) fail(name, format string, args ...any) {
	if q.err == nil {
		q.err = &hub.Error{Code: ma2h.CodeValidation, Field: name, Msg: fmt.Sprintf(format, args...)}
	}
}

// oneOf returns the parameter if it is one of the allowed values, or "".
func oneOf[T ~string](q *query, name string, allowed ...T) T {
	s := T(q.v.Get(name))
	if s == "" {
		return ""
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		if s == a {
			return s
		}
		names[i] = string(a)
	}
	q.fail(name, "must be %s", orList(names))
	return ""
}

// number returns a whole number from lo on, or def when there is none; more
// than hi counts as hi.
func (q *query) number(name string, def, lo, hi int) int {
	s := q.v.Get(name)
	if s == "" {
		return def
	}
	n, err := strconv.Atoi(s)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(s, "-") {
		n, err = hi, nil
	}
	if err != nil || n < lo {
		q.fail(name, "must be a whole number, %d or more", lo)
		return def
	}
	return min(n, hi)
}

// cursor returns a cursor that a list has given out.
func (q *query) cursor() string {
	s := q.v.Get("cursor")
	if s != "" && !validID(s) {
		q.fail("cursor", "is not one that this hub gave out")
	}
	return s
}

// instant returns a time, zero when there is none.
func (q *query) instant(name string) time.Time {
	s := q.v.Get(name)
	if s == "" {
		return time.Time{}
	}
	// "+" of an offset that was not escaped arrives as a space.
	t, err := ma2h.ParseTime(strings.ReplaceAll(s, " ", "+"))
	if err != nil {
		q.fail(name, "%v", err)
	}
	return t
}
