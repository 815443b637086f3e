package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// How a stream of events is kept. A beat keeps proxies from cutting it, and
// shows the hub that somebody is still there; a stream ends after a while, and
// the browser opens another.
const (
	streamBeat  = 25 * time.Second
	streamLife  = 5 * time.Minute
	streamWrite = 15 * time.Second // how long one write may take
	// listGap is how long changes of a list are gathered before they are told.
	listGap = time.Second
	// maxStreams is how many streams one person may have open. A page that is
	// not in view has none.
	maxStreams = 16
)

// streams counts the open streams, and ends all of them when the server that
// serves them begins to shut down. Nobody else could: a server waits for its
// requests, and these end only when the browser leaves.
type streams struct {
	mu   sync.Mutex
	open map[string]int // by person
	once sync.Once
	end  chan struct{} // closed at shutdown
}

func newStreams() *streams {
	return &streams{open: map[string]int{}, end: make(chan struct{})}
}

// take counts one more stream of a person, unless there are too many.
func (s *streams) take(person string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[person] >= maxStreams {
		return false
	}
	s.open[person]++
	return true
}

func (s *streams) release(person string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[person]--; s.open[person] == 0 {
		delete(s.open, person)
	}
}

// endWith makes the streams end with the server that a request came by.
func (s *streams) endWith(r *http.Request) {
	if srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		s.once.Do(func() { srv.RegisterOnShutdown(func() { close(s.end) }) })
	}
}

// change is one event: what a page compares itself with.
type change struct {
	Revision string      `json:"revision"`
	Status   ma2h.Status `json:"status,omitempty"`
	last     bool        // nothing more will change
}

// watchItem tells when a message changes. What it is told by is the sign-in's
// cookie; the address holds no credential.
func (c *Channel) watchItem(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	c.stream(w, r, id, watched{topic: func(*session) string { return id }, look: func(s *session) (change, error) {
		card, err := c.desk.Card(r.Context(), id, s.Person, hub.Page)
		if err != nil {
			return change{}, err
		}
		return change{Revision: itemRevision(card), Status: card.Status, last: settled(card)}, nil
	}})
}

// watchList tells when something comes to a person's list, or ends.
func (c *Channel) watchList(w http.ResponseWriter, r *http.Request) {
	c.stream(w, r, "", watched{
		gap:   listGap,
		topic: func(s *session) string { return hub.ListTopic(s.Person) },
		look: func(s *session) (change, error) {
			rev, err := c.listRevision(r.Context(), s.Person)
			return change{Revision: rev}, err
		},
	})
}

// settled reports that nothing more will change on a message's page: it has
// ended, and its agent has the answer or never will.
func settled(card *hub.Card) bool {
	return card.Status != ma2h.Open && (card.Track == nil || card.Track.State != hub.TrackNone)
}

func itemRevision(card *hub.Card) string {
	return strconv.FormatInt(card.Revision, 10) + "-" + string(card.Status)
}

// watched is what a stream tells of.
type watched struct {
	topic func(*session) string
	look  func(*session) (change, error)
	gap   time.Duration // how long changes are gathered
}

// stream serves text/event-stream to whoever is signed in for a message, or for
// the list when id is empty. It holds no connection to the database while it
// waits, and looks again only after it was woken.
func (c *Channel) stream(w http.ResponseWriter, r *http.Request, id string, what watched) {
	s := c.session(r, id)
	if s == nil {
		http.Error(w, "Sign in first.", http.StatusUnauthorized)
		return
	}
	if _, err := what.look(s); err != nil {
		c.streamError(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would gather events otherwise
	if r.Method == http.MethodHead {
		return
	}
	if !c.streams.take(s.Person) {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Retry-After", "60")
		http.Error(w, "Too many pages are being kept up to date.", http.StatusTooManyRequests)
		return
	}
	defer c.streams.release(s.Person)
	c.streams.endWith(r)
	out := newEventWriter(w)
	defer out.close()
	if !out.write("retry: 3000\n\n") {
		return
	}
	c.follow(r, id, what, out)
}

// follow writes events until the stream has to end. It subscribes before it
// looks, so that no change falls in between.
func (c *Channel) follow(r *http.Request, id string, what watched, out *eventWriter) {
	end := time.NewTimer(streamLife + rand.N(streamLife/5)) // not all at once
	defer end.Stop()
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	told := ""
	for {
		// Each time: the sign-in may have run out, or the person have left.
		s := c.session(r, id)
		if s == nil {
			return
		}
		woken, cancel := c.desk.Watch(what.topic(s))
		now, err := what.look(s)
		if err != nil || (now.Revision != told && !out.event("change", now)) || now.last {
			cancel()
			return
		}
		told = now.Revision
		ok := wait(r, c.streams.end, woken, beat.C, end.C, out)
		cancel()
		if !ok {
			return
		}
		if what.gap > 0 {
			gap := time.NewTimer(what.gap)
			ok := wait(r, c.streams.end, gap.C, beat.C, end.C, out)
			gap.Stop()
			if !ok {
				return
			}
		}
	}
}

// wait returns true when it was woken, false when the stream has to end.
func wait[T any](r *http.Request, shutdown <-chan struct{}, woken <-chan T, beat, end <-chan time.Time, out *eventWriter) bool {
	for {
		select {
		case <-woken:
			return true
		case <-beat:
			if !out.write(": \n\n") {
				return false
			}
		case <-end:
			return false
		case <-shutdown:
			return false
		case <-r.Context().Done():
			return false
		}
	}
}

func (c *Channel) streamError(w http.ResponseWriter, r *http.Request, err error) {
	switch hub.CodeOf(err) {
	case ma2h.CodeNotFound, ma2h.CodeGone, ma2h.CodeNotAuthorized:
		http.Error(w, "There is nothing here for you.", http.StatusNotFound)
	default:
		if r.Context().Err() == nil {
			c.log.ErrorContext(r.Context(), "watch", "err", err)
		}
		http.Error(w, "This could not be read just now.", http.StatusServiceUnavailable)
	}
}

// eventWriter writes to one stream, each time with a new deadline in place of
// the server's, which is made for answers that end.
type eventWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	return &eventWriter{w: w, rc: http.NewResponseController(w)}
}

// write reports whether the browser is still there. The deadline lies beyond
// the next beat, since one that passes ends a stream of HTTP/2.
func (o *eventWriter) write(s string) bool {
	err := o.rc.SetWriteDeadline(time.Now().Add(streamBeat + streamWrite))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	if _, err := o.w.Write([]byte(s)); err != nil {
		return false
	}
	return o.rc.Flush() == nil
}

func (o *eventWriter) event(name string, v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		panic("web: an event always marshals: " + err.Error())
	}
	return o.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, b))
}

// close leaves the connection without a deadline of ours.
func (o *eventWriter) close() { _ = o.rc.SetWriteDeadline(time.Time{}) }
