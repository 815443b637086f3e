package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"beckon/channels/web"
	"beckon/config"
	"beckon/hub"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	clientID     = "beckon"
	clientSecret = "a-client-secret"
)

// users are the accounts of a provider.
type users map[string]*storage.User

func (u users) GetUserByID(id string) *storage.User         { return u[id] }
func (u users) GetUserByUsername(name string) *storage.User { return u[name] }
func (users) ExampleClientID() string                       { return "service" }

// startProvider runs a real OpenID provider, that of zitadel/oidc, and returns
// its issuer. Its login page is as small as it can be.
func startProvider(t *testing.T, redirect string, accounts users) string {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	st := storage.NewStorageWithClients(accounts, map[string]*storage.Client{
		clientID: storage.WebClient(clientID, clientSecret, redirect),
	})
	p, err := op.NewProvider(&op.Config{CryptoKey: [32]byte{1}, CodeMethodS256: true}, st,
		op.StaticIssuer(srv.URL), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", p)
	back, intercept := op.AuthCallbackURL(p), op.NewIssuerInterceptor(p.IssuerFromRequest)
	mux.HandleFunc("POST /login/username", intercept.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("authRequestID")
		if err := st.CheckUsernamePassword(r.FormValue("username"), r.FormValue("password"), id); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, back(r.Context(), id), http.StatusFound)
	}))
	mux.HandleFunc("GET /login/username", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="?%s"><input name="username"><input name="password"><button>Sign in</button></form>`, r.URL.RawQuery)
	})
	return srv.URL
}

// signInAt signs in at the real provider, where /oidc/start has led, and returns
// where the provider leads back to.
func signInAt(t *testing.T, location, user string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var last string
	client := http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if last = r.URL.String(); r.URL.Path == "/oidc/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(location)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(last, "/login/username") {
		t.Fatalf("the provider answers %s at %s", resp.Status, last)
	}
	resp, err = client.PostForm(last, url.Values{"username": {user}, "password": {"verysecure"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	u, err := url.Parse(last)
	if err != nil || u.Path != "/oidc/callback" {
		t.Fatalf("the provider answers %s at %s", resp.Status, last)
	}
	return u.RequestURI()
}

// section is a web section as the config reads it; errors are those of the
// config.
func section(t *testing.T, yaml string) (hub.Section, *config.Config) {
	t.Helper()
	text := "people:\n  alice: {}\nroutes: [{ask: [alice], post: [{web: alice}]}]\nchannels:\n  web:\n" + yaml
	c, err := config.Parse("beckon.yaml", []byte(text), []hub.Factory{web.Factory}, func(name string) (string, bool) {
		return clientSecret, name == "OIDC_SECRET"
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.Sections[web.Name], c
}

// useLogin gives the world's page a company login.
func (w *world) useLogin(yaml string) {
	w.t.Helper()
	s, c := section(w.t, yaml)
	page := web.New(s, w.desk)
	if err := c.Err(); err != nil {
		w.t.Fatal(err)
	}
	w.use(page)
}

// use replaces the page, and gives people addresses.
func (w *world) use(page hub.Channel) {
	w.page = page
	w.hub.SetChannels(map[string]hub.Channel{web.Name: page})
	w.dir.People["alice"].Email = "Alice.Ng@Example.com"
	w.dir.People["bob"].Email = "bob@example.com"
}

func loginYAML(issuer string) string {
	return "    oidc: {issuer: \"" + issuer + "\", client_id: " + clientID + ", client_secret: \"env:OIDC_SECRET\", name: Example Login}\n"
}

func account(name, email string, verified bool) *storage.User {
	return &storage.User{ID: name, Username: name, Password: "verysecure", Email: email, EmailVerified: verified}
}

// begin opens the sign-in page and follows its button; it returns where the
// provider is.
func begin(t *testing.T, v *visitor, at string) string {
	t.Helper()
	page := v.get(at)
	_, rest, _ := strings.Cut(page.body, `href="/oidc/start`)
	query, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("no company login is offered: %s", page.text())
	}
	got := v.get("/oidc/start" + strings.ReplaceAll(query, "&amp;", "&"))
	wantStatus(t, got, http.StatusSeeOther)
	return got.Header.Get("Location")
}

// The whole way with a real provider: from a message's page to an answer whose
// history says how its author was identified.
func TestRealProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	issuer := startProvider(t, base+"/oidc/callback", users{
		"alice": account("alice", "alice.ng@example.COM", true),
		"bob":   account("bob", "bob@example.com", false),
		"zoe":   account("zoe", "zoe@example.com", true),
	})
	w.useLogin(loginYAML(issuer))
	id := w.submit(nil)

	v := newVisitor(t, w.page, base)
	wantText(t, v.get("/i/"+id), "Sign in", "Continue with Example Login")
	back := signInAt(t, begin(t, v, "/i/"+id), "alice")
	state := v.cookies[0]
	got := v.get(back)
	wantStatus(t, got, http.StatusSeeOther)
	if to := got.Header.Get("Location"); to != "/i/"+id {
		t.Errorf("leads to %q", to)
	}
	if len(v.cookies) != 1 || v.cookies[0].Name != "__Host-beckon" || v.cookies[0].MaxAge != 12*3600 {
		t.Errorf("cookies: %v", v.cookies)
	}
	wantText(t, v.get("/"), "Alice Ng", "Ship web-app 2.3 to production?")
	wantText(t, v.send(id, "answer", url.Values{"option": {"1"}}), "Ship to prod now You answered at")
	events, err := w.hub.Events(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	content := string(events[len(events)-1].Content)
	for _, want := range []string{`"by":"oidc"`, `"issuer":"` + issuer + `"`, `"auth_time":"20`, `"session_age_s":0`, `"scope":"list"`} {
		if !strings.Contains(content, want) {
			t.Errorf("the evidence has no %s: %s", want, content)
		}
	}

	// The same address again, with the cookie that it was used with.
	thief := newVisitor(t, w.page, base)
	thief.keep(state)
	again := thief.get(back)
	wantStatus(t, again, http.StatusBadRequest)
	wantText(t, again, "This sign-in can’t be finished")
	wantStatus(t, thief.get("/"), http.StatusUnauthorized)

	for _, user := range []string{"bob", "zoe"} { // not verified; not in the directory
		v := newVisitor(t, w.page, base)
		got := v.get(signInAt(t, begin(t, v, "/"), user))
		wantStatus(t, got, http.StatusForbidden)
		wantText(t, got, "This account opens nothing here", "Ask whoever runs this hub", "Take another account")
		wantNoText(t, got, "Bob", "bob@", "zoe@")
		wantStatus(t, v.get("/"), http.StatusUnauthorized)
		other := v.get("/oidc/start?to=/&other=1").Header.Get("Location")
		if !strings.Contains(other, "prompt=select_account") {
			t.Errorf("another account is asked for by %s", other)
		}
	}
}

// Check says what an operator has to mend.
func TestCheckLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	issuer := startProvider(t, base+"/oidc/callback", nil)
	check := func(issuer string) string {
		w.useLogin(loginYAML(issuer))
		var lines []string
		for _, f := range w.page.(hub.Checker).Check(context.Background(), false) {
			lines = append(lines, fmt.Sprintf("%v %s %s", f.OK, f.What, f.Msg))
		}
		return strings.Join(lines, "\n")
	}
	good := check(issuer)
	want := "true oidc discovery \ntrue oidc keys \ntrue oidc redirect URL to register: " + base + "/oidc/callback "
	if good != want {
		t.Errorf("got %q, want %q", good, want)
	}
	if got := check(issuer + "/"); !strings.Contains(got, "did not match the issuer URL returned by provider") {
		t.Errorf("another spelling of the issuer: %q", got)
	}
	nobody := httptest.NewServer(http.NotFoundHandler())
	if got := check(nobody.URL); !strings.Contains(got, "false oidc discovery") || !strings.Contains(got, "404") {
		t.Errorf("no provider there: %q", got)
	}
	nobody.Close()
	if got := check(nobody.URL); !strings.Contains(got, "connection refused") {
		t.Errorf("nothing there: %q", got)
	}
	if got := newWorld(t, base).page.(hub.Checker).Check(context.Background(), false); got != nil {
		t.Errorf("without a login: %v", got)
	}
}
