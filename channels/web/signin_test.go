package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/waiter"
)

func TestLoginSection(t *testing.T) {
	t.Parallel()
	const at = "beckon.yaml:6:"
	tests := []struct {
		name, yaml string
		want       string // "" for fine
	}{
		{"the least", `oidc: {issuer: "https://login.example.com", client_id: x}`, ""},
		{"everything", `oidc: {issuer: "https://login.example.com/", client_id: x, client_secret: "env:OIDC_SECRET", name: L, scopes: [openid, email, groups]}`, ""},
		{"on this machine", `oidc: {issuer: "http://127.0.0.1:5556/dex", client_id: x}`, ""},
		{"on this machine by name", `oidc: {issuer: "http://localhost:5556", client_id: x}`, ""},
		{"on this machine by IPv6", `oidc: {issuer: "http://[::1]:5556", client_id: x}`, ""},
		{"no issuer", `oidc: {client_id: x}`, at + "11: channels.web.oidc.issuer: is missing"},
		{"in the clear", `oidc: {issuer: "http://login.example.com", client_id: x}`, at + "20: channels.web.oidc.issuer: must begin with https://"},
		{"a name that looks like this machine", `oidc: {issuer: "http://localhost.example.com", client_id: x}`, "must begin with https://"},
		{"no URL", `oidc: {issuer: login.example.com, client_id: x}`, "must be a plain URL"},
		{"with a query", `oidc: {issuer: "https://login.example.com?x=y", client_id: x}`, "must be a plain URL"},
		{"with a password", `oidc: {issuer: "https://a:b@login.example.com", client_id: x}`, "must be a plain URL"},
		{"another scheme", `oidc: {issuer: "ftp://login.example.com", client_id: x}`, "must begin with https://"},
		{"no client", `oidc: {issuer: "https://login.example.com"}`, "channels.web.oidc.client_id: is missing"},
		{"the secret itself", `oidc: {issuer: "https://login.example.com", client_id: x, client_secret: hunter2}`, "must be env:NAME or file:/path"},
		{"a secret that is not set", `oidc: {issuer: "https://login.example.com", client_id: x, client_secret: "env:OTHER"}`, "OTHER is not set"},
		{"an unknown key", `oidc: {issuer: "https://login.example.com", client: x}`, "client"},
		{"scopes without openid", `oidc: {issuer: "https://login.example.com", client_id: x, scopes: [email]}`, `channels.web.oidc.scopes: must have "openid"`},
		{"two scopes in one", `oidc: {issuer: "https://login.example.com", client_id: x, scopes: [openid, "a b"]}`, at + "80: channels.web.oidc.scopes"},
		{"a name of two lines", `oidc: {issuer: "https://login.example.com", client_id: x, name: "a\nb"}`, "channels.web.oidc.name: must be plain text"},
	}
	w := newWorld(t, base)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, c := section(t, "    "+tt.yaml+"\n")
			page := web.New(s, w.desk)
			err := c.Err()
			if tt.want == "" {
				if err != nil || page == nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if err == nil || page != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}

// The page offers what there is, and nothing of it depends on what somebody
// looks for.
func TestOffers(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, base), startEvil(t)
	id := w.submit(nil)
	stranger := func() *visitor { return newVisitor(t, w.page, base) }

	got := stranger().get("/i/" + id)
	wantText(t, got, "Sign in by your link", "beckon link NAME")
	wantNoText(t, got, "/oidc/", "<form")
	if got := stranger().get("/oidc/start"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a login that there is not begins with %d", got.StatusCode)
	}

	w.useLogin(loginYAML(e.url))
	w.hub.SetChannels(map[string]hub.Channel{web.Name: w.page, "email": new(dm)})
	known, unknown := stranger().get("/i/"+id), stranger().get("/i/msg_unknown")
	for _, got := range []reply{known, unknown, stranger().get("/"), stranger().do("POST", "/i/"+id+"/answer", url.Values{"option": {"1"}})} {
		wantStatus(t, got, http.StatusUnauthorized)
		wantText(t, got, "Continue with Example Login", "Or by a link", "Send me a link", "beckon link NAME")
		wantNoText(t, got, "Alice", "Bob", "Ship web-app")
	}
	if a, b := strings.ReplaceAll(known.body, id, "ID"), strings.ReplaceAll(unknown.body, "msg_unknown", "ID"); a != b {
		t.Errorf("the page tells which messages exist:\n%s\n%s", a, b)
	}
	if !strings.Contains(known.body, `href="/oidc/start?to=/i/`+id+`"`) {
		t.Error("the company login forgets what was wanted")
	}
	if got := stranger().get("/i/%22%3E%3Cb%3E"); strings.Contains(got.body, "<b>") || !strings.Contains(got.body, `href="/oidc/start?to=/"`) {
		t.Errorf("an id that can't be one: %s", got.body)
	}
	// Where it leads is on our own list.
	for _, to := range []string{"https://evil.example/", "//evil.example", "/oidc/start", "/i/../signout"} {
		v := stranger()
		back := e.approve(v.get("/oidc/start?to=" + url.QueryEscape(to)).Header.Get("Location"))
		if got := v.get(back).Header.Get("Location"); got != "/" {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}

// A scanner, a preview or a browser that guesses uses nothing up and signs
// nobody in.
func TestNobodyVisits(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, base), startEvil(t)
	id := w.submit(nil)
	w.useLogin(loginYAML(e.url))
	v := newVisitor(t, w.page, base)
	link := strings.TrimPrefix(w.link("alice", id), base)
	back := e.approve(begin(t, v, "/"))
	begun := v.cookies
	tests := []struct {
		name, method, path string
		header             http.Header
		status             int
	}{
		{"HEAD of a link", "HEAD", link, nil, 303},
		{"prefetch of a link", "GET", link, http.Header{"Sec-Purpose": {"prefetch"}}, 503},
		{"prerender of a link", "GET", link, http.Header{"Sec-Purpose": {"prefetch;prerender"}}, 503},
		{"preview of a link", "GET", link, http.Header{"Purpose": {"preview"}}, 503},
		{"an old Firefox's prefetch", "GET", link, http.Header{"X-Moz": {"prefetch"}}, 503},
		{"HEAD of the login", "HEAD", "/oidc/start", nil, 405},
		{"prefetch of the login", "GET", "/oidc/start", http.Header{"Sec-Purpose": {"prefetch"}}, 503},
		{"HEAD of the way back", "HEAD", back, nil, 405},
		{"prefetch of the way back", "GET", back, http.Header{"Sec-Purpose": {"prefetch"}}, 503},
		{"POST of the way back", "POST", back, nil, 405},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v.header = tt.header
			got := v.do(tt.method, tt.path, nil)
			wantStatus(t, got, tt.status)
			if c := got.Cookies(); len(c) != 0 {
				t.Errorf("cookies: %v", c)
			}
		})
	}
	v.header, v.cookies = nil, begun
	for range 3 {
		got := newVisitor(t, w.page, base).get(link)
		if wantStatus(t, got, 303); len(got.Cookies()) != 1 {
			t.Errorf("cookies: %v", got.Cookies())
		}
	}
	wantStatus(t, v.get(back), http.StatusSeeOther)
	wantText(t, v.get("/"), "Alice Ng")
}

// Whoever signs in where somebody else was is that person from then on, and
// reads it.
func TestSwitchPerson(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		scoped bool // the second link reaches one message
		oidc   bool // the second sign-in is the company login
	}{
		{"a link for the list", false, false},
		{"a link for a message", true, false},
		{"the company login", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, e := newWorld(t, base), startEvil(t)
			w.useLogin(loginYAML(e.url))
			e.claim = func(c map[string]any) { c["email"] = "bob@example.com" }
			id := w.submit(nil)
			v := w.visit("alice", "")
			before := v.cookies[0].Value
			var got reply
			to := "/"
			switch {
			case tt.oidc:
				got = v.get(e.approve(v.get("/oidc/start?to=/").Header.Get("Location")))
			case tt.scoped:
				got, to = v.get(strings.TrimPrefix(w.link("bob", id), base)), "/i/"+id
			default:
				got = v.get(strings.TrimPrefix(w.link("bob", ""), base))
			}
			wantStatus(t, got, http.StatusOK)
			wantText(t, got, "You are now signed in as Bob Roy", "Until now Alice Ng was signed in", "Go on as Bob Roy")
			if !strings.Contains(got.body, `href="`+to+`"`) {
				t.Errorf("the page does not lead to %s: %s", to, got.body)
			}
			for _, c := range v.cookies {
				if c.Value == before {
					t.Error("the browser keeps the other person's sign-in")
				}
			}
			if tt.scoped {
				wantStatus(t, v.get("/"), http.StatusUnauthorized)
			} else {
				wantText(t, v.get("/"), "Bob Roy")
			}
			wantText(t, v.send(id, "answer", url.Values{"option": {"1"}}), "You answered")
			if d := w.message(id); !strings.Contains(string(d.Response), "human:bob") {
				t.Errorf("answered by somebody else: %s", d.Response)
			}
		})
	}
	// The same person again is no switch, and the sign-in is a new one.
	w := newWorld(t, base)
	v := w.visit("alice", "")
	before := v.cookies[0].Value
	got := v.get(strings.TrimPrefix(w.link("alice", ""), base))
	wantStatus(t, got, http.StatusSeeOther)
	if v.cookies[0].Value == before {
		t.Error("a sign-in keeps the session that there was")
	}
}

// A key that is taken out ends every link and sign-in that it signed; one that
// is only no longer the first does not.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, base), startEvil(t)
	old, fresh := make([]byte, hub.MinKeyBytes), []byte(strings.Repeat("k", hub.MinKeyBytes))
	yaml := loginYAML(e.url)
	restart := func(ring ...[]byte) {
		w.hub = hub.New(hub.Options{Store: w.store, Notifier: waiter.New(), Outbox: idle{}, Keys: ring}, w.dir)
		w.desk = w.hub.Desk(web.Name)
		w.useLogin(yaml)
	}
	restart(old)
	id := w.submit(nil)
	link, scoped := strings.TrimPrefix(w.link("alice", ""), base), strings.TrimPrefix(w.link("alice", id), base)
	byLink, byScoped, byLogin, begun := w.visit("alice", ""), w.visit("alice", id), newVisitor(t, w.page, base), newVisitor(t, w.page, base)
	wantStatus(t, byLogin.get(e.approve(begin(t, byLogin, "/"))), http.StatusSeeOther)
	back := e.approve(begin(t, begun, "/"))
	form := withForm(byLink.get("/i/"+id).body, url.Values{"option": {"1"}})

	check := func(name string, signedIn, opens int) {
		t.Helper()
		again := func(v *visitor) *visitor {
			n := newVisitor(t, w.page, base)
			n.cookies = v.cookies
			return n
		}
		for what, got := range map[string]reply{
			"list by link": again(byLink).get("/"), "message by link": again(byScoped).get("/i/" + id), "list by login": again(byLogin).get("/"),
		} {
			if got.StatusCode != signedIn {
				t.Errorf("%s: %s is %d, want %d", name, what, got.StatusCode, signedIn)
			}
		}
		for what, path := range map[string]string{"link": link, "scoped link": scoped} {
			if got := newVisitor(t, w.page, base).get(path); got.StatusCode != opens {
				t.Errorf("%s: the %s is %d, want %d", name, what, got.StatusCode, opens)
			}
		}
	}
	check("before", 200, 303)
	restart(fresh, old)
	check("a new first key", 200, 303)
	restart(fresh)
	check("the old key is gone", 401, 404)
	gone := newVisitor(t, w.page, base)
	gone.cookies = byLink.cookies
	wantStatus(t, gone.do("POST", "/i/"+id+"/answer", form), http.StatusUnauthorized)
	unfinished := newVisitor(t, w.page, base)
	unfinished.cookies = begun.cookies
	wantStatus(t, unfinished.get(back), http.StatusBadRequest)
}

// A sign-in ends with what it rests on: the person's place in the directory, or
// the login in the config.
func TestSignInEnds(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, base), startEvil(t)
	w.useLogin(loginYAML(e.url))
	v := newVisitor(t, w.page, base)
	wantStatus(t, v.get(e.approve(begin(t, v, "/"))), http.StatusSeeOther)
	wantStatus(t, v.get("/"), http.StatusOK)

	after := *w.dir
	after.People = map[string]*hub.Person{"bob": w.dir.People["bob"]}
	w.hub.SetDirectory(&after)
	wantStatus(t, v.get("/"), http.StatusUnauthorized)
	w.hub.SetDirectory(w.dir)
	wantStatus(t, v.get("/"), http.StatusOK)

	for name, page := range map[string]hub.Channel{
		"no login any more": web.New(hub.Section{}, w.desk),
		"another login": func() hub.Channel {
			s, _ := section(t, loginYAML("https://login.example.org"))
			return web.New(s, w.desk)
		}(),
	} {
		other := newVisitor(t, page, base)
		other.cookies = v.cookies
		if got := other.get("/"); got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
	// Two people with one address, which the config refuses, are nobody.
	w.dir.People["bob"].Email = w.dir.People["alice"].Email
	v = newVisitor(t, w.page, base)
	wantStatus(t, v.get(e.approve(begin(t, v, "/"))), http.StatusForbidden)
}

// The sign-in at a company runs out after a shift, whatever its own life.
func TestLoginLife(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, base), startEvil(t)
	w.useLogin(loginYAML(e.url))
	key := w.desk.Keys("cookies")[0]
	session := func(expires time.Duration) *visitor {
		v := newVisitor(t, w.page, base)
		v.keep(&http.Cookie{Name: "__Host-beckon", Path: "/", Value: sign(key, map[string]any{
			"v": 1, "p": "alice", "s": "id", "b": "oidc", "o": e.url, "i": time.Now().UnixMilli(), "e": time.Now().Add(expires).Unix(),
		})})
		return v
	}
	wantStatus(t, session(time.Minute).get("/"), http.StatusOK)
	wantStatus(t, session(-time.Second).get("/"), http.StatusUnauthorized)
}
