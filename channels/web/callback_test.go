package web_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Somebody who can make a browser open an address gains nothing by it.
func TestCallbackAttacks(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, base), startEvil(t)
	w.useLogin(loginYAML(e.url))
	mallory, victim := newVisitor(t, w.page, base), newVisitor(t, w.page, base)
	begun := begin(t, mallory, "/")
	mallorys := e.approve(begun)
	own, err := url.Parse(e.approve(begin(t, victim, "/")))
	if err != nil {
		t.Fatal(err)
	}
	with := func(pairs ...string) string {
		q := own.Query()
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		return "/oidc/callback?" + q.Encode()
	}
	tests := []struct {
		name, path string
		v          *visitor
		status     int
	}{
		{"without a cookie", mallorys, newVisitor(t, w.page, base), 400},
		{"login CSRF: mallory's answer in the victim's browser", mallorys, victim, 400},
		{"no state", with("state", ""), victim, 400},
		{"another state", with("state", "AAAAAAAAAAAAAAAAAAAAAA"), victim, 400},
		{"nothing", "/oidc/callback", victim, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.v.get(tt.path)
			wantStatus(t, got, tt.status)
			wantText(t, got, "This sign-in can’t be finished")
			wantStatus(t, tt.v.get("/"), http.StatusUnauthorized)
		})
	}
	// None of it has disturbed what the victim had begun.
	cookies := victim.cookies
	wantStatus(t, victim.get(own.RequestURI()), http.StatusSeeOther)
	wantText(t, victim.get("/"), "Alice Ng")

	// The victim's own answer again, with the cookie put back, and a new code.
	victim.cookies = cookies
	again := e.approve(e.url + "/auth?" + url.Values{"state": {own.Query().Get("state")}, "nonce": {strings.Repeat("n", 20)}, "code_challenge": {strings.Repeat("c", 20)}}.Encode())
	for _, path := range []string{own.RequestURI(), again} {
		got := victim.get(path)
		wantStatus(t, got, http.StatusBadRequest)
		wantStatus(t, victim.get("/"), http.StatusUnauthorized)
	}

	// The victim's code in mallory's browser: another verifier and nonce.
	v := newVisitor(t, w.page, base)
	stolen, err := url.Parse(e.approve(begin(t, v, "/")))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(begun)
	if err != nil {
		t.Fatal(err)
	}
	got := mallory.get("/oidc/callback?" + url.Values{"code": {stolen.Query().Get("code")}, "state": {u.Query().Get("state")}}.Encode())
	wantStatus(t, got, http.StatusForbidden)
	wantStatus(t, mallory.get("/"), http.StatusUnauthorized)
}

// What the provider itself refuses, and who says so.
func TestProviderRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, query, want string
		sendsIss          bool
	}{
		{"denied", "error=access_denied", "Example Login did not say who you are", false},
		{"denied with a code", "error=access_denied&code=CODE", "Example Login did not say who you are", false},
		{"no code", "", "Example Login did not say who you are", false},
		{"another issuer's answer", "code=CODE&iss=https://login.example.org", "could not be verified", false},
		{"an answer without the issuer that it promises", "code=CODE", "could not be verified", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, e := newWorld(t, base), startEvil(t)
			e.describe = func(d map[string]any) { d["authorization_response_iss_parameter_supported"] = tt.sendsIss }
			w.useLogin(loginYAML(e.url))
			v := newVisitor(t, w.page, base)
			u, err := url.Parse(e.approve(begin(t, v, "/")))
			if err != nil {
				t.Fatal(err)
			}
			query := strings.Replace(tt.query, "CODE", u.Query().Get("code"), 1)
			got := v.get("/oidc/callback?state=" + u.Query().Get("state") + "&" + query)
			wantStatus(t, got, http.StatusForbidden)
			wantText(t, got, tt.want)
			wantStatus(t, v.get("/"), http.StatusUnauthorized)
		})
	}
}

// HMAC of a token as the page makes it, to try cookies that nobody else could
// make.
func sign(key []byte, v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return b64(append(m.Sum(nil), body...))
}

// A login that was begun too long ago, or under another key, can't be finished.
func TestFlowCookie(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, base), startEvil(t)
	w.useLogin(loginYAML(e.url))
	state, nonce, verifier := strings.Repeat("s", 22), strings.Repeat("n", 22), strings.Repeat("v", 43)
	flow := func(life time.Duration, key []byte) string {
		return sign(key, map[string]any{"s": state, "n": nonce, "v": verifier, "t": "/", "e": time.Now().Add(life).Unix()})
	}
	key := w.desk.Keys("login")[0]
	sum := sha256.Sum256([]byte(verifier))
	tests := []struct {
		name, cookie string
		status       int
	}{
		{"too late", flow(-time.Second, key), 400},
		{"another key", flow(time.Minute, []byte("another")), 400},
		{"a key for another purpose", flow(time.Minute, w.desk.Keys("cookies")[0]), 400},
		{"nonsense", "nonsense", 400},
		{"a good one", flow(time.Minute, key), 303},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVisitor(t, w.page, base)
			v.keep(&http.Cookie{Name: "__Secure-beckon-oidc", Path: "/oidc", Value: tt.cookie})
			asked := url.Values{"state": {state}, "nonce": {nonce}, "code_challenge_method": {"S256"}, "code_challenge": {b64(sum[:])}, "redirect_uri": {base + "/oidc/callback"}}
			wantStatus(t, v.get(e.approve(e.url+"/auth?"+asked.Encode())), tt.status)
		})
	}
}
