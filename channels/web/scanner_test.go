package web_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// state writes down all that is kept of some messages.
func (w *world) state(ids []string) string {
	w.t.Helper()
	var b strings.Builder
	for _, id := range ids {
		m := w.message(id)
		events, err := w.hub.Events(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %v %v\n", m.Envelope.Title, m.Status, m.Checklist, m.ResolvedAt)
		for _, e := range events {
			if e.Kind != "posted" { // by the hub itself, at any time
				fmt.Fprintf(&b, "  %s\n", e.Kind)
			}
		}
	}
	return b.String()
}

// everything submits one of each, some of them ended.
func (w *world) everything() []string {
	ids := []string{
		w.submit(nil), w.submit(map[string]any{"request": inputRequest()}), w.submit(map[string]any{"request": map[string]any{"mode": "confirm"}}),
		w.submit(task()), w.submit(richAsk()), w.submit(hugeData()), w.submit(map[string]any{"type": "notify", "request": nil}),
		w.submit(map[string]any{"title": "Answered"}), w.submit(map[string]any{"title": "Withdrawn"}),
	}
	w.answer(ids[7], "alice", 1)
	w.cancel(ids[8])
	return ids
}

var linkRE = regexp.MustCompile(`(?:href|src|action|formaction|data-page|data-watch)="([^"]*)"`)

// links are the hub's own addresses that a page holds, forms' included.
func links(base, page string) []string {
	var out []string
	for _, m := range linkRE.FindAllStringSubmatch(page, -1) {
		u, err := url.Parse(html.UnescapeString(m[1]))
		if err == nil && (u.Host == "" || strings.HasPrefix(u.String(), base)) && u.Path != "" {
			out = append(out, u.RequestURI())
		}
	}
	return out
}

// A GET, HEAD, prefetch or OPTIONS of every address that the hub makes changes
// nothing (rule 6).
func TestLinksChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	ids := w.everything()
	before := w.state(ids)
	kinds := []struct {
		method string
		header http.Header
	}{
		{"GET", nil},
		{"HEAD", nil},
		{"OPTIONS", nil},
		{"GET", http.Header{"Sec-Purpose": {"prefetch"}, "Purpose": {"prefetch"}, "X-Moz": {"prefetch"}}},
		{"GET", http.Header{"Sec-Purpose": {"prefetch;prerender"}}},
	}
	for _, person := range []string{"alice", "carol"} {
		v := w.visit(person, "")
		seen := map[string]bool{}
		queue := []string{"/", "/?show=all", "/signout", strings.TrimPrefix(w.link(person, ""), base)}
		for _, id := range ids {
			queue = append(queue, strings.TrimPrefix(w.dir.ReviewURL(id), base), strings.TrimPrefix(w.link(person, id), base))
		}
		for len(queue) > 0 {
			path := queue[0]
			queue = queue[1:]
			if seen[path] {
				continue
			}
			seen[path] = true
			for _, k := range kinds {
				got := fetch(v, k.method, path, k.header)
				if k.method == "GET" {
					queue = append(queue, links(base, got.body)...)
				}
				// A browser that only fetches ahead is not signed in.
				ahead := k.header != nil && strings.HasPrefix(path, "/l/")
				left := strings.HasSuffix(path, "/watch") // before there was an answer, maybe
				if got.StatusCode >= 500 && !ahead && !left {
					t.Errorf("%s %s: %d", k.method, path, got.StatusCode)
				}
			}
		}
		for _, want := range []string{"/watch", "/i/" + ids[0] + "/watch", "/i/" + ids[0] + "/answer", "/i/" + ids[3] + "/complete", "/i/" + ids[5] + "/part/1"} {
			if !seen[want] && person == "alice" {
				t.Errorf("%s was not found", want)
			}
		}
	}
	if after := w.state(ids); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// fetch makes a request that a stream does not hold up.
func fetch(v *visitor, method, path string, header http.Header) reply {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if strings.HasSuffix(path, "/watch") && method == http.MethodGet {
		time.AfterFunc(20*time.Millisecond, cancel) // somebody who leaves again
	}
	r := httptest.NewRequestWithContext(ctx, method, v.origin+path, nil)
	for k, vs := range header {
		r.Header[k] = vs
	}
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	v.mux.ServeHTTP(w, r)
	return reply{w.Result(), w.Body.String()}
}

// A scanner that runs scripts, opens every link of a mail, follows every link
// from there and points at everything changes nothing, and sends no form.
func TestScanner(t *testing.T) {
	browser := startChrome(t)
	w := serve(t)
	ids := w.everything()
	before := w.state(ids)
	win := open(t, browser, "scanner", 1280)
	queue := []string{w.link("alice", "")}
	for _, id := range ids {
		queue = append(queue, w.link("alice", id), w.dir.ReviewURL(id))
	}
	seen := map[string]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] || !strings.HasPrefix(at, w.dir.PublicURL) {
			continue
		}
		seen[at] = true
		win.run(chromedp.Navigate(at))
		queue = append(queue, eval(win, chromedp.Evaluate[[]string](`(() => {
			for (const d of document.querySelectorAll("details")) d.open = true;
			for (const el of document.querySelectorAll("*")) {
				for (const kind of ["pointerover", "mouseover", "mouseenter", "mousemove", "touchstart"]) el.dispatchEvent(new Event(kind, {bubbles: true}));
				if (el.focus) el.focus();
			}
			for (const kind of ["visibilitychange", "scroll", "pageshow"]) { document.dispatchEvent(new Event(kind)); dispatchEvent(new Event(kind)); }
			return [...document.links].map(a => a.href.split("#")[0]);
		})()`))...)
	}
	if len(seen) < 2*len(ids)+3 {
		t.Errorf("only %d pages were opened", len(seen))
	}
	if n := w.posts.Load(); n != 0 {
		t.Errorf("%d forms were sent", n)
	}
	if after := w.state(ids); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
