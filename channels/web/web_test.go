package web_test

import (
	crand "crypto/rand"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/ma2h"
)

const base = "https://beckon.example.com"

func rand() string { return crand.Text() }

func wantStatus(t *testing.T, got reply, want int) {
	t.Helper()
	if got.StatusCode != want {
		t.Fatalf("got %d, want %d: %s", got.StatusCode, want, got.text())
	}
}

func wantText(t *testing.T, got reply, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got.text(), w) {
			t.Errorf("the page does not say %q:\n%s", w, got.text())
		}
	}
}

func wantNoText(t *testing.T, got reply, bad ...string) {
	t.Helper()
	for _, b := range bad {
		if strings.Contains(got.body, b) {
			t.Errorf("the page holds %q:\n%s", b, got.text())
		}
	}
}

func TestAnswerSelect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"expires_at": time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)})
	v := w.visit("alice", "")

	list := v.get("/")
	wantStatus(t, list, http.StatusOK)
	wantText(t, list, "Ship web-app 2.3", "deploybot/dev-team · web-app · high", "then: Hold for review")

	page := v.get("/i/" + id)
	wantText(t, page, "Ship to prod now Deploy immediately.", "Applied if nobody answers", "Asked of: Alice Ng, Bob Roy", id)

	after := v.send(id, "answer", url.Values{"option": {"2"}, "comment": {"After\r\nlunch."}})
	wantStatus(t, after, http.StatusOK)
	wantText(t, after, "Hold for review You answered Hold for review at", "on the page", "After lunch.", "Recorded: Hold for review.")
	wantNoText(t, after, "<button class=\"choice\"")

	m := w.message(id)
	resp, err := ma2h.ParseResponse(m.Response)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status != ma2h.Answered || string(resp.Response.Value) != `"hold"` || resp.Response.Actor != "human:alice" || resp.Response.Comment != "After\nlunch." {
		t.Errorf("got %s %+v", m.Status, resp.Response)
	}
	wantText(t, v.get("/"), "Nothing waits for you now.", "Lately", "You answered Hold for review")

	// Rule 2: a late answer changes nothing and is told who answered what.
	bob := w.visit("bob", "")
	late := bob.do("POST", "/i/"+id+"/answer", withForm(bob.get("/").body, url.Values{"option": {"1"}, "comment": {"ship it"}, "nonce": {rand()}}))
	wantStatus(t, late, http.StatusConflict)
	wantText(t, late, "Alice Ng answered Hold for review at", "on the page. Your click changed nothing.", "What you had typed, not recorded", "ship it")
}

// withForm adds the CSRF token of any page of the same sign-in.
func withForm(page string, f url.Values) url.Values {
	h := hidden(page)
	for k, vs := range f {
		h[k] = vs
	}
	return h
}

func TestAnswerInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"request": inputRequest()})
	v := w.visit("alice", "")
	page := v.get("/i/" + id)
	wantText(t, page, "Release note What users read.", "at most 500 characters", "a whole number, 1 to 9")
	for _, want := range []string{`type="password" autocomplete="off"`, `type="date"`, `inputmode="numeric"`, `type="radio" name="f2" value="medium"`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the form lacks %s", want)
		}
	}

	bad := v.send(id, "answer", url.Values{"f1": {"Fixes <b>"}, "f3": {"many"}, "f4": {"true"}, "f6": {"s3cret-value"}, "comment": {"soon"}})
	wantStatus(t, bad, http.StatusUnprocessableEntity)
	wantText(t, bad, "must be a number", "Fixes <b>", "soon")
	wantNoText(t, bad, "s3cret-value")
	if !strings.Contains(bad.body, `value="many"`) || !strings.Contains(bad.body, `name="f4" value="true" checked`) {
		t.Errorf("what was typed is lost:\n%s", bad.body)
	}
	if w.message(id).Status != ma2h.Open {
		t.Fatal("an invalid answer resolved the ask")
	}

	good := v.send(id, "answer", url.Values{"f1": {"Fixes"}, "f2": {"low"}, "f3": {"3"}, "f4": {"false"}, "f5": {"2026-12-24"}, "f6": {"s3cret-value"}})
	wantStatus(t, good, http.StatusOK)
	wantText(t, good, "Release note Fixes", "Replicas 3", "••••")
	wantNoText(t, good, "s3cret-value")
	resp, err := ma2h.ParseResponse(w.message(id).Response)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(resp.Response.Value), `{"note":"Fixes","risk":"low","replicas":3,"notify":false,"when":"2026-12-24","api_key":"s3cret-value"}`; got != want {
		t.Errorf("value %s, want %s", got, want)
	}
}

func TestDecline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	got := w.visit("bob", id).send(id, "decline", url.Values{"reason": {"Not mine."}})
	wantText(t, got, "Declined You declined at", "Not mine.", "Recorded: declined.")
	if m := w.message(id); m.Status != ma2h.Declined {
		t.Errorf("status %s", m.Status)
	}
	must := w.submit(map[string]any{"request": func() map[string]any {
		r := selectRequest()
		r["permissions"] = map[string]any{"allow_ignore": false}
		return r
	}()})
	v := w.visit("bob", must)
	wantNoText(t, v.get("/i/"+must), "Decline to answer")
	refused := v.send(must, "decline", nil)
	wantStatus(t, refused, http.StatusForbidden)
	wantText(t, refused, "This can't be declined.")
}

func TestTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(task())
	v := w.visit("alice", id)
	page := v.get("/i/" + id)
	wantText(t, page, "Generate a key of at least 32 characters", "Done when: The webhook test event returns 200.")
	saved := v.send(id, "tick", url.Values{"step": {"2"}})
	wantText(t, saved, "Progress saved. The task stays open.")
	if !strings.Contains(saved.body, `name="step" value="2" checked`) {
		t.Error("the tick is not shown")
	}
	if m := w.message(id); m.Status != ma2h.Open || !m.Checklist[1].Done || m.Checklist[0].Done {
		t.Errorf("got %s %v", m.Status, m.Checklist)
	}
	done := v.send(id, "complete", url.Values{"step": {"1", "2"}, "comment": {"Key 7 is live."}})
	wantText(t, done, "You marked it done at", "Key 7 is live.")
	if m := w.message(id); m.Status != ma2h.Completed {
		t.Errorf("status %s", m.Status)
	}

	other := w.submit(task())
	cant := w.visit("bob", other).send(other, "dismiss", url.Values{"reason": {"No access."}, "step": {"1"}})
	wantText(t, cant, "You said that it can't be done", "No access.")
}

// A double click has one effect, and both clicks show the same (rule 12).
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v := w.visit("alice", id)
	f := hidden(v.get("/i/" + id).body)
	f.Set("option", "1")
	for range 2 {
		got := v.do("POST", "/i/"+id+"/answer", f)
		wantStatus(t, got, http.StatusSeeOther)
	}
	events, err := w.hub.Events(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if got := strings.Join(kinds, " "); got != "submitted answered" {
		t.Errorf("history is %q", got)
	}
	if !strings.Contains(string(events[1].Content), `"by":"personal link"`) || strings.Contains(string(events[1].Content), v.cookies[0].Value) {
		t.Errorf("evidence: %s", events[1].Content)
	}
}

func TestMayNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v := w.visit("carol", "")
	page := v.get("/i/" + id)
	wantText(t, page, "You can read this. Only Alice Ng, Bob Roy can answer this.", "Ship to prod now")
	got := v.do("POST", "/i/"+id+"/answer", withForm(page.body, url.Values{"option": {"1"}, "nonce": {rand()}}))
	wantStatus(t, got, http.StatusForbidden)
	wantText(t, got, "Only Alice Ng, Bob Roy can answer this. Ask one of them.")
	if w.message(id).Status != ma2h.Open {
		t.Error("somebody who may not answer did")
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
	for _, got := range []reply{v.get("/"), v.get("/i/" + two), v.get("/i/msg_unknown"), v.do("POST", "/i/"+two+"/answer", form)} {
		wantStatus(t, got, http.StatusUnauthorized)
		wantText(t, got, "Sign in by your link", "beckon link NAME")
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
		{"no token", nil, with("csrf", ""), 403, "This form is too old"},
		{"somebody else's token", nil, with("csrf", hidden(bob.get("/i/"+id).body).Get("csrf")), 403, "This form is too old"},
		{"too much", nil, with("comment", strings.Repeat("x", 257<<10)), 413, "That is too much text"},
		{"no form at all", map[string]string{"Content-Type": "text/plain"}, url.Values{}, 403, "This form is too old"},
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

func csrfOf(page string) string { return hidden(page).Get("csrf") }

func TestHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v := w.visit("alice", "")
	want := map[string]string{
		"Content-Security-Policy":    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
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
		wantNoText(t, got, "<script", " style=")
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

func TestListPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	for range 53 {
		w.submit(map[string]any{"title": "Open one"})
	}
	for range 23 {
		w.submit(map[string]any{"title": "News", "type": "notify", "request": nil})
	}
	v := w.visit("alice", "")
	count := func(r reply, s string) int { return strings.Count(r.text(), s) }
	first := v.get("/")
	if o, n := count(first, "Open one"), count(first, "News"); o != 50 || n != 20 {
		t.Errorf("the first page has %d open and %d news", o, n)
	}
	next := func(r reply, label string) reply {
		t.Helper()
		i := strings.Index(r.body, ">"+label)
		if i < 0 {
			t.Fatalf("no link %q", label)
		}
		j := strings.LastIndex(r.body[:i], `href="`)
		href, _, _ := strings.Cut(r.body[j+6:], `"`)
		return v.get(strings.ReplaceAll(href, "&amp;", "&"))
	}
	if o := count(next(first, "Older ones"), "Open one"); o != 3 {
		t.Errorf("the second page has %d open ones, want 3", o)
	}
	if n := count(next(first, "Earlier"), "News"); n != 3 {
		t.Errorf("the second page has %d news, want 3", n)
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"type": "notify", "request": nil, "title": "Nightly digest"})
	v := w.visit("alice", "")
	page := v.get("/i/" + id)
	wantText(t, page, "Nightly digest", "for information")
	got := v.do("POST", "/i/"+id+"/answer", withForm(page.body, url.Values{"option": {"1"}}))
	wantText(t, got, "This is for information only")
}

func TestSectionErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "web"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "web", "item.html"), []byte("line one\n{{.Broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs []string
	ch := web.New(hub.Section{
		Decode: func(v any) bool { return setField(v, dir) },
		Errorf: func(field, format string, args ...any) { errs = append(errs, field+": "+sprintf(format, args...)) },
	}, w.desk)
	if ch != nil || len(errs) != 1 || !strings.Contains(errs[0], "item.html:2") {
		t.Errorf("got %v, errors %q", ch, errs)
	}
}
