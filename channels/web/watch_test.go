package web_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/waiter"
)

// wakeful is a desk whose cards wake those who watch them.
type wakeful struct {
	*channeltest.Desk
	*waiter.Waiter
}

func (d wakeful) Watch(topic string) (<-chan struct{}, func()) { return d.Subscribe(topic) }

// put shows a card, and wakes.
func (d wakeful) put(c *hub.Card) {
	next := *c
	d.Put(&next)
	d.Wake(c.MessageID)
	d.Wake(hub.ListTopic(channeltest.Reader))
}

// pipe is a connection that a stream is written to.
type pipe struct {
	mu       sync.Mutex
	header   http.Header
	status   int
	text     bytes.Buffer
	deadline time.Time
	broken   bool
}

func (p *pipe) Header() http.Header { return p.header }
func (p *pipe) WriteHeader(s int)   { p.status = s }
func (p *pipe) FlushError() error   { return nil }

func (p *pipe) SetWriteDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	return nil
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		return 0, http.ErrHandlerTimeout
	}
	return p.text.Write(b)
}

// cut makes later writes fail.
func (p *pipe) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
}

// took returns what was written since the last call.
func (p *pipe) took() string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.text.String()
	p.text.Reset()
	return s
}

// watcher is somebody who keeps streams open, within a bubble.
type watcher struct {
	t    *testing.T
	desk wakeful
	v    *visitor
	srv  *http.Server
}

func newWatcher(t *testing.T) *watcher {
	desk := wakeful{channeltest.NewDesk(channeltest.Directory()), waiter.New()}
	base := desk.Directory().PublicURL
	v := newVisitor(t, web.New(hub.Section{}, desk), base)
	v.open(web.Link(desk.Keys(web.LinkKeys), base, channeltest.Reader, "", time.Now().Add(time.Hour)))
	return &watcher{t: t, desk: desk, v: v, srv: &http.Server{}}
}

// watch opens a stream; ended is closed when the hub has ended it.
func (w *watcher) watch(path string) (p *pipe, ended <-chan struct{}, leave func()) {
	w.t.Helper()
	ctx := context.WithValue(w.t.Context(), http.ServerContextKey, w.srv)
	ctx, cancel := context.WithCancel(ctx)
	r := httptest.NewRequestWithContext(ctx, "GET", w.v.origin+path, nil)
	for _, c := range w.v.cookies {
		r.AddCookie(c)
	}
	p = &pipe{header: http.Header{}, status: http.StatusOK}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.v.mux.ServeHTTP(p, r)
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return p, done, cancel
}

func isDone(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestWatchItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(t)
		c := channeltest.Ask("msg_a")
		c.Revision = 1
		w.desk.put(c)
		p, ended, _ := w.watch("/i/msg_a/watch")
		if got := p.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Fatalf("%d %s", p.status, got)
		}
		const open = "retry: 3000\n\nevent: change\ndata: {\"revision\":\"1-open\",\"status\":\"open\"}\n\n"
		if got := p.took(); got != open {
			t.Errorf("at first %q", got)
		}
		if left := time.Until(p.deadline); left < 25*time.Second || left > time.Minute {
			t.Errorf("the next write has %s", left)
		}
		w.desk.put(c) // the same again
		if got := p.took(); got != "" {
			t.Errorf("nothing changed, and yet %q", got)
		}
		c.Revision = 2
		w.desk.put(c)
		if got := p.took(); got != "event: change\ndata: {\"revision\":\"2-open\",\"status\":\"open\"}\n\n" {
			t.Errorf("after a change %q", got)
		}
		time.Sleep(26 * time.Second)
		if got := p.took(); got != ": \n\n" {
			t.Errorf("after 26 s %q", got)
		}
		c.Revision, c.Status, c.MayAnswer = 3, ma2h.Answered, false
		c.Decision = &hub.Decision{Resolution: ma2h.Answered, At: time.Now(), Comment: "canary", Choice: "canary"}
		w.desk.put(c)
		got := p.took()
		if !strings.Contains(got, `{"revision":"3-answered","status":"answered"}`) || strings.Contains(got, "canary") {
			t.Errorf("at the end %q", got)
		}
		if !isDone(ended) {
			t.Error("the stream goes on after the end")
		}
		if n := w.desk.Waiting(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(w *watcher, p *pipe, leave func())
	}{
		{"after some minutes", func(*watcher, *pipe, func()) { time.Sleep(6*time.Minute + time.Second) }},
		{"when the browser leaves", func(_ *watcher, _ *pipe, leave func()) { leave() }},
		{"when the browser is gone without a word", func(_ *watcher, p *pipe, _ func()) { p.cut(); time.Sleep(26 * time.Second) }},
		{"at shutdown", func(w *watcher, _ *pipe, _ func()) {
			if err := w.srv.Shutdown(context.Background()); err != nil {
				w.t.Error(err)
			}
		}},
		{"when the person leaves the directory", func(w *watcher, _ *pipe, _ func()) {
			delete(w.desk.Directory().People, channeltest.Reader)
			w.desk.Wake("msg_a")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatcher(t)
				w.desk.put(channeltest.Ask("msg_a"))
				p, ended, leave := w.watch("/i/msg_a/watch")
				if time.Sleep(4 * time.Minute); isDone(ended) {
					t.Fatal("it ended by itself")
				}
				tt.end(w, p, leave)
				if !isDone(ended) {
					t.Error("the stream goes on")
				}
				if n := w.desk.Waiting(); n != 0 {
					t.Errorf("%d subscriptions are left", n)
				}
				if !p.deadline.IsZero() {
					t.Error("the connection keeps our deadline")
				}
			})
		})
	}
}

func TestWatchList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(t)
		p, _, _ := w.watch("/watch")
		first := p.took()
		if strings.Count(first, "event: change") != 1 {
			t.Fatalf("at first %q", first)
		}
		// A burst is told once.
		for _, id := range []string{"msg_a", "msg_b", "msg_c"} {
			w.desk.put(channeltest.Ask(id))
		}
		time.Sleep(2 * time.Second)
		if got := p.took(); strings.Count(got, "event: change") != 1 {
			t.Errorf("after three new ones %q", got)
		}
		c := channeltest.Ask("msg_b")
		c.Status = ma2h.Cancelled
		w.desk.put(c)
		time.Sleep(2 * time.Second)
		if got := p.took(); strings.Count(got, "event: change") != 1 || strings.Contains(got, "msg_") {
			t.Errorf("after one ended %q", got)
		}
	})
}

func TestWatchRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(t)
		w.desk.put(channeltest.Ask("msg_a"))
		if p, ended, _ := w.watch("/i/msg_b/watch"); p.status != http.StatusNotFound || !isDone(ended) {
			t.Errorf("an unknown message: %d", p.status)
		}
		got := w.v.do("HEAD", "/i/msg_a/watch", nil)
		if got.StatusCode != 200 || got.body != "" {
			t.Errorf("HEAD: %d %q", got.StatusCode, got.body)
		}
		var leave func()
		for range 16 {
			_, _, leave = w.watch("/i/msg_a/watch")
		}
		p, ended, _ := w.watch("/watch")
		if p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") == "" || !isDone(ended) {
			t.Errorf("one too many: %d", p.status)
		}
		leave()
		synctest.Wait()
		if p, ended, _ := w.watch("/watch"); p.status != http.StatusOK || isDone(ended) {
			t.Errorf("one in place of another: %d", p.status)
		}
		w.v.cookies = nil
		if p, ended, _ := w.watch("/i/msg_a/watch"); p.status != http.StatusUnauthorized || !isDone(ended) || strings.Contains(p.took(), "event:") {
			t.Errorf("nobody: %d", p.status)
		}
	})
}
