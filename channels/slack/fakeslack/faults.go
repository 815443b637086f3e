package fakeslack

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Fault makes calls of a method go wrong. Fields add up: {Effect, Hang} carries
// the call out and never answers.
type Fault struct {
	Method string                     // "chat.postMessage", or "response_url"; "" is every method
	When   func(args url.Values) bool // further condition on the arguments; nil is always
	Skip   int                        // how many calls go well first
	Times  int                        // how many calls go wrong then; 0 is until the fault is lifted

	Effect bool // the call is carried out before it goes wrong

	Delay      time.Duration // of the machine's time, before the answer
	Error      string        // answer {"ok":false,"error":Error}
	RetryAfter time.Duration // answer 429 with Retry-After
	Status     int           // answer with this HTTP status and no JSON
	Hang       bool          // never answer: the caller runs into its timeout
	Reset      bool          // reset the connection
	Garbage    bool          // answer 200 with half a JSON document
}

// fault is a Fault in force.
type fault struct {
	Fault
	seen, done int
}

// Fail puts a fault in force and returns what lifts it.
func (s *Server) Fail(f Fault) (lift func()) {
	x := &fault{Fault: f}
	s.locked(func() { s.faults = append(s.faults, x) })
	return func() {
		s.locked(func() { s.faults = slices.DeleteFunc(s.faults, func(y *fault) bool { return y == x }) })
	}
}

// ClearFaults lifts every fault.
func (s *Server) ClearFaults() { s.locked(func() { s.faults = nil; s.holdAcks = 0 }) }

// HoldAcks makes the next n acknowledgements over sockets get lost, as if they
// never arrived; -1 loses all of them, 0 none.
func (s *Server) HoldAcks(n int) { s.locked(func() { s.holdAcks = n }) }

// takeFault finds the fault that a call runs into.
func (s *Server) takeFault(c *call) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Method != "" && f.Method != c.method || f.When != nil && !f.When(c.args) {
			continue
		}
		f.seen++
		if f.seen <= f.Skip || f.Times > 0 && f.done >= f.Times {
			continue
		}
		f.done++
		return f
	}
	return nil
}

func (f *fault) errorName() string {
	switch {
	case f.Error != "":
		return f.Error
	case f.RetryAfter > 0:
		return "ratelimited"
	case f.Hang:
		return "hang"
	case f.Reset:
		return "reset"
	case f.Garbage:
		return "garbage"
	case f.Status != 0:
		return "status"
	}
	return ""
}

func (f *fault) httpStatus() int {
	switch {
	case f.Hang, f.Reset:
		return 0
	case f.RetryAfter > 0:
		return http.StatusTooManyRequests
	case f.Status != 0:
		return f.Status
	}
	return http.StatusOK
}

// inject answers as the fault says.
func (s *Server) inject(w http.ResponseWriter, r *http.Request, f *fault) {
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
	}
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
		panic(http.ErrAbortHandler)
	case f.Reset:
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch {
	case f.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Round(time.Second).Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(object{"ok": false, "error": "ratelimited"})
	case f.Status != 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte("<html>" + http.StatusText(f.Status) + "</html>"))
	case f.Garbage:
		_, _ = w.Write([]byte(`{"ok":true,"channel":"C0`))
	default:
		_ = json.NewEncoder(w).Encode(object{"ok": false, "error": f.Error})
	}
}
