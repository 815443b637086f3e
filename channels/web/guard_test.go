package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/ma2h"
)

func TestLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	keys := w.desk.Keys(web.LinkKeys)
	path := func(link string) string { return strings.TrimPrefix(link, base) }
	later := time.Now().Add(time.Hour)
	good := path(web.Link(keys, base, "alice", id, later))
	tests := []struct {
		name, method, path string
		status             int
		text               string
		cookies            int
	}{
		{"good", "GET", good, 303, "", 1},
		{"again", "GET", good, 303, "", 1},
		{"a scanner's HEAD", "HEAD", good, 303, "", 0},
		{"expired", "GET", path(web.Link(keys, base, "alice", id, time.Now().Add(-time.Second))), 410, "This link has run out", 0},
		{"changed", "GET", good[:len(good)-2] + "AA", 404, "This link does not work", 0},
		{"cut", "GET", good[:len(good)-9], 404, "This link does not work", 0},
		{"another spelling", "GET", good + "%0A", 404, "This link does not work", 0},
		{"empty", "GET", "/l/x", 404, "This link does not work", 0},
		{"another hub's key", "GET", path(web.Link([][]byte{[]byte("another")}, base, "alice", id, later)), 404, "This link does not work", 0},
		{"signed for another purpose", "GET", path(web.Link(w.desk.Keys("cookies"), base, "alice", id, later)), 404, "This link does not work", 0},
		{"an old key still verifies", "GET", path(web.Link(keys[len(keys)-1:], base, "alice", id, later)), 303, "", 1},
		{"somebody who left", "GET", path(web.Link(keys, base, "dave", id, later)), 410, "belongs to nobody here", 0},
		{"posted", "POST", good, 405, "Nothing happens at this address", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := newVisitor(t, w.page, base).do(tt.method, tt.path, nil)
			wantStatus(t, got, tt.status)
			wantText(t, got, tt.text)
			if n := len(got.Cookies()); n != tt.cookies {
				t.Errorf("%d cookies, want %d", n, tt.cookies)
			}
		})
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, base string
		scoped     bool
		cookie     string
		path       string
		secure     bool
		maxAge     time.Duration
	}{
		{"list over https", base, false, "__Host-beckon", "/", true, web.ListSession},
		{"message over https", base, true, "__Secure-beckon-item", "/i/", true, web.MessageSession},
		{"list on loopback", "http://127.0.0.1:8420", false, "beckon", "/", false, web.ListSession},
		{"message on loopback", "http://127.0.0.1:8420", true, "beckon-item", "/i/", false, web.MessageSession},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.base)
			id, path := "", tt.path
			if tt.scoped {
				id = w.submit(nil)
				path += id
			}
			c := w.visit("alice", id).cookies[0]
			if c.Name != tt.cookie || c.Path != path || c.Secure != tt.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Domain != "" || c.MaxAge != int(tt.maxAge.Seconds()) {
				t.Errorf("got %s", c)
			}
		})
	}
}

// Rule 9: a link reaches that person, and that message only.
func TestScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	one, two := w.submit(nil), w.submit(map[string]any{"title": "Another question"})
	v := w.visit("alice", one)
	wantStatus(t, v.get("/i/"+one), http.StatusOK)
	// A browser would not even send the cookie elsewhere; somebody else may.
	v.cookies[0].Path = "/"
	form := withForm(v.get("/i/"+one).body, url.Values{"option": {"1"}})
	for i, got := range []reply{v.get("/"), v.get("/i/" + two), v.get("/i/msg_unknown"), v.do("POST", "/i/"+two+"/answer", form)} {
		wantStatus(t, got, http.StatusUnauthorized)
		wantText(t, got, []string{"Sign in by your link", "Nothing has been recorded yet"}[i/3], "beckon link NAME")
		wantNoText(t, got, "Another question", two, "Alice")
	}
	if w.message(two).Status != ma2h.Open {
		t.Error("a sign-in for one message answered another")
	}
	// The same page for what exists and what does not.
	stranger := newVisitor(t, w.page, base)
	if a, b := stranger.get("/i/"+one), stranger.get("/i/msg_unknown"); a.body != b.body || a.StatusCode != b.StatusCode {
		t.Error("the sign-in page tells which messages exist")
	}
	if a, b := w.visit("alice", "").get("/i/msg_unknown"), w.visit("alice", "").get("/i/msg_other"); a.StatusCode != 404 || b.StatusCode != 404 {
		t.Errorf("got %d and %d", a.StatusCode, b.StatusCode)
	}
}

func TestForgery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v, bob := w.visit("alice", ""), w.visit("bob", "")
	good := hidden(v.get("/i/" + id).body)
	good.Set("option", "1")
	with := func(k, val string) url.Values {
		f := url.Values{}
		for k, vs := range good {
			f[k] = vs
		}
		f.Set(k, val)
		return f
	}
	tests := []struct {
		name   string
		header map[string]string
		form   url.Values
		status int
		text   string
	}{
		{"from another site", map[string]string{"Sec-Fetch-Site": "cross-site"}, good, 403, "This came from another site"},
		{"from a sibling site", map[string]string{"Sec-Fetch-Site": "same-site"}, good, 403, "This came from another site"},
		{"another origin in an old browser", map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.example"}, good, 403, "This came from another site"},
		{"no token", nil, with("csrf", ""), 403, "made for an earlier sign-in"},
		{"somebody else's token", nil, with("csrf", hidden(bob.get("/i/"+id).body).Get("csrf")), 403, "made for an earlier sign-in"},
		{"too much", nil, with("comment", strings.Repeat("x", 257<<10)), 413, "That is too much text"},
		{"no form at all", map[string]string{"Content-Type": "text/plain"}, url.Values{}, 403, "made for an earlier sign-in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v.header = http.Header{}
			for k, val := range tt.header {
				v.header.Set(k, val)
			}
			got := v.do("POST", "/i/"+id+"/answer", tt.form)
			v.header = http.Header{}
			wantStatus(t, got, tt.status)
			wantText(t, got, tt.text)
			if w.message(id).Status != ma2h.Open {
				t.Fatal("a forged form answered")
			}
		})
	}
	// What our own Referrer-Policy makes of the origin in an old browser.
	v.header = http.Header{"Origin": {"null"}, "Sec-Fetch-Site": {""}}
	wantStatus(t, v.do("POST", "/i/"+id+"/answer", good), http.StatusSeeOther)
}

func TestLeftTheDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v := w.visit("alice", "")
	after := *w.dir
	after.People = map[string]*hub.Person{"bob": w.dir.People["bob"]}
	w.hub.SetDirectory(&after)
	wantStatus(t, v.get("/"), http.StatusUnauthorized)
	wantStatus(t, v.get("/i/"+id), http.StatusUnauthorized)
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	for _, tt := range []struct{ scope, action string }{{"", "/signout"}, {id, "/i/" + id + "/signout"}} {
		v := w.visit("alice", tt.scope)
		page := v.get("/i/" + id)
		if tt.scope == "" {
			page = v.get("/")
			wantStatus(t, v.do("GET", tt.action, nil), http.StatusMethodNotAllowed)
		}
		if !strings.Contains(page.body, `action="`+tt.action+`"`) {
			t.Errorf("the page offers no %s", tt.action)
		}
		v.do("POST", tt.action, url.Values{"csrf": {csrfOf(page.body)}})
		wantStatus(t, v.get("/i/"+id), http.StatusUnauthorized)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v := w.visit("alice", "")
	want := map[string]string{
		"Content-Security-Policy":    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"Referrer-Policy":            "no-referrer",
		"X-Content-Type-Options":     "nosniff",
		"X-Robots-Tag":               "noindex",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Cache-Control":              "no-store",
	}
	replies := map[string]reply{
		"list": v.get("/"), "item": v.get("/i/" + id), "signin": newVisitor(t, w.page, base).get("/"),
		"404": v.get("/i/a/b/c"), "405": v.get("/i/" + id + "/answer"), "link": v.get("/l/x"),
	}
	for name, got := range replies {
		for k, val := range want {
			if got.Header.Get(k) != val {
				t.Errorf("%s: %s is %q", name, k, got.Header.Get(k))
			}
		}
		wantNoText(t, got, "<script>", " style=", " onclick=", "javascript:")
		if n := strings.Count(got.body, "<script"); n != strings.Count(got.body, `<script src="/assets/web.js?v=`) {
			t.Errorf("%s: %d scripts", name, n)
		}
	}
	_, css, _ := strings.Cut(replies["list"].body, `rel="stylesheet" href="`)
	css, _, _ = strings.Cut(css, `"`)
	sheet := v.get(css)
	if sheet.StatusCode != 200 || !strings.Contains(sheet.Header.Get("Cache-Control"), "immutable") || sheet.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%s: %d %v", css, sheet.StatusCode, sheet.Header)
	}
	if old := v.get("/assets/web.css?v=old"); strings.Contains(old.Header.Get("Cache-Control"), "immutable") {
		t.Error("a sheet of another version is kept for ever")
	}
}

// Rule 6: whatever is fetched, in whatever way, decides nothing.
func TestGetNeverDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	ask, job := w.submit(nil), w.submit(task())
	v := w.visit("alice", "")
	for _, id := range []string{ask, job} {
		form := hidden(v.get("/i/" + id).body)
		form.Set("option", "1")
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"} {
			for _, action := range []string{"answer", "decline", "complete", "dismiss", "tick"} {
				got := v.do(method, "/i/"+id+"/"+action+"?"+form.Encode(), nil)
				wantStatus(t, got, http.StatusMethodNotAllowed)
				if got.Header.Get("Allow") != "POST" {
					t.Errorf("Allow is %q", got.Header.Get("Allow"))
				}
			}
		}
		v.get("/i/" + id + "?" + form.Encode())
		v.do("HEAD", "/i/"+id, nil)
		if m := w.message(id); m.Status != ma2h.Open || m.Version != 1 {
			t.Errorf("%s: %s, version %d", id, m.Status, m.Version)
		}
	}
}

func csrfOf(page string) string { return hidden(page).Get("csrf") }
