package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Whoever signs out is signed out: the sign-ins by links to other messages,
// which have paths of their own, end as well.
func TestSignOutEndsAll(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{base, "http://127.0.0.1:8420"} {
		w := newWorld(t, origin)
		one, two := w.submit(nil), w.submit(nil)
		out := func(v *visitor, from, action string) {
			page := v.get(from)
			wantStatus(t, page, http.StatusOK)
			wantStatus(t, v.do("POST", action, url.Values{"csrf": {csrfOf(page.body)}}), http.StatusSeeOther)
			for _, path := range []string{"/", "/i/" + one, "/i/" + two, "/i/" + two + "/watch"} {
				wantStatus(t, v.get(path), http.StatusUnauthorized)
			}
		}
		v := w.visit("alice", one)
		v.open(w.link("alice", two))
		out(v, "/i/"+one, "/i/"+one+"/signout")
		v.open(w.link("alice", two)) // signing in again works at once
		v.open(w.link("alice", ""))
		out(v, "/", "/signout")

		// And whoever is taken over from: nothing of theirs stays behind.
		v.open(w.link("alice", one))
		v.open(w.link("alice", ""))
		wantText(t, v.get(strings.TrimPrefix(w.link("bob", two), origin)), "You are now signed in as Bob Roy")
		wantText(t, v.get("/i/"+two), "Bob Roy Sign out")
		wantStatus(t, v.get("/i/"+one), http.StatusUnauthorized)
		wantStatus(t, v.get("/"), http.StatusUnauthorized)

		// A cookie that anybody could set takes away nothing that comes later.
		v = w.visit("alice", "")
		v.keep(&http.Cookie{Name: map[bool]string{true: "__Host-beckon-ended", false: "beckon-ended"}[origin == base], Value: "99999999999999", Path: "/"})
		wantStatus(t, v.get("/"), http.StatusOK)
	}
}
