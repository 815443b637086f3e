package web_test

import (
	"crypto"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// twoKeys are what evil providers sign with: their own key, and another.
var twoKeys = sync.OnceValue(func() [2]*rsa.PrivateKey {
	var keys [2]*rsa.PrivateKey
	for i := range keys {
		k, err := rsa.GenerateKey(crand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		keys[i] = k
	}
	return keys
})

// evil is a provider that does everything right but for what a test changes.
type evil struct {
	t   *testing.T
	url string
	key *rsa.PrivateKey

	describe func(doc map[string]any)      // changes the discovery document
	claim    func(claims map[string]any)   // changes the ID token
	sign     func(claims string) string    // instead of RS256 by key
	reply    func(token map[string]any)    // changes the token endpoint's answer
	token    http.HandlerFunc              // instead of the token endpoint
	userinfo map[string]any                // nil: it has nothing to say
	codes    map[string]url.Values         // authorization requests by code
	secret   func(r *http.Request) bool    // how the client proves itself
	keys     func(keys []any) (served any) // changes the key set
}

func startEvil(t *testing.T) *evil {
	t.Helper()
	e := &evil{t: t, key: twoKeys()[0], codes: map[string]url.Values{}}
	e.secret = func(r *http.Request) bool {
		id, secret, ok := r.BasicAuth()
		return ok && id == clientID && secret == clientSecret
	}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	e.url = srv.URL
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := map[string]any{
			"issuer": e.url, "authorization_endpoint": e.url + "/auth", "token_endpoint": e.url + "/token",
			"jwks_uri": e.url + "/keys", "userinfo_endpoint": e.url + "/me",
			"id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256"},
		}
		if e.describe != nil {
			e.describe(doc)
		}
		writeJSON(w, http.StatusOK, doc)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		keys := []any{map[string]any{
			"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig", "n": b64(e.key.N.Bytes()), "e": b64(big.NewInt(int64(e.key.E)).Bytes()),
		}}
		if e.keys != nil {
			writeJSON(w, http.StatusOK, e.keys(keys))
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"keys": keys})
	})
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer an-access-token" || e.userinfo == nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		writeJSON(w, http.StatusOK, e.userinfo)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if e.token != nil {
			e.token(w, r)
			return
		}
		e.redeem(w, r)
	})
	return e
}

// redeem is a token endpoint that is strict about the client, the code, PKCE and
// the redirect URL.
func (e *evil) redeem(w http.ResponseWriter, r *http.Request) {
	asked := e.codes[r.FormValue("code")]
	delete(e.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !e.secret(r) || asked == nil || r.FormValue("grant_type") != "authorization_code" ||
		asked.Get("code_challenge_method") != "S256" || b64(sum[:]) != asked.Get("code_challenge") ||
		r.FormValue("redirect_uri") != asked.Get("redirect_uri") {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "a-client-secret"})
		return
	}
	now := time.Now()
	claims := map[string]any{
		"iss": e.url, "sub": "248289", "aud": clientID, "nonce": asked.Get("nonce"), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"auth_time": now.Add(-time.Minute).Unix(), "email": "alice.ng@example.com", "email_verified": true,
	}
	if e.claim != nil {
		e.claim(claims)
	}
	for k, v := range claims {
		if v == nil {
			delete(claims, k)
		}
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	body := string(raw)
	if extra, ok := claims["+"]; ok { // JSON that no map can hold
		delete(claims, "+")
		raw, _ = json.Marshal(claims)
		body = strings.TrimSuffix(string(raw), "}") + "," + extra.(string) + "}"
	}
	idToken := e.rs256(e.key, "k1", body)
	if e.sign != nil {
		idToken = e.sign(body)
	}
	answer := map[string]any{"access_token": "an-access-token", "token_type": "Bearer", "expires_in": 60, "id_token": idToken}
	if e.reply != nil {
		e.reply(answer)
	}
	writeJSON(w, http.StatusOK, answer)
}

func (*evil) rs256(key *rsa.PrivateKey, kid, claims string) string {
	signed := b64(fmt.Appendf(nil, `{"alg":"RS256","kid":%q}`, kid)) + "." + b64([]byte(claims))
	sum := sha256.Sum256([]byte(signed))
	sig, err := rsa.SignPKCS1v15(crand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return signed + "." + b64(sig)
}

// approve is what somebody does at the provider: it returns where that leads
// back to.
func (e *evil) approve(location string) string {
	e.t.Helper()
	u, err := url.Parse(location)
	if err != nil || !strings.HasPrefix(location, e.url+"/auth?") {
		e.t.Fatalf("the login begins at %q", location)
	}
	q := u.Query()
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(q.Get(name)) < 20 {
			e.t.Fatalf("%s is %q", name, q.Get(name))
		}
	}
	code := crand.Text()
	e.codes[code] = q
	return "/oidc/callback?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// What a provider says is believed only if all of it holds.
func TestProviderIsVerified(t *testing.T) {
	t.Parallel()
	set := func(name string, v any) func(*evil) {
		return func(e *evil) { e.claim = func(c map[string]any) { c[name] = v } }
	}
	signed := func(f func(e *evil, claims string) string) func(*evil) {
		return func(e *evil) { e.sign = func(claims string) string { return f(e, claims) } }
	}
	const (
		unverified = "could not be verified"
		stranger   = "nobody with your account’s verified e-mail address"
		down       = "does not answer this hub"
	)
	tests := []struct {
		name string
		do   func(*evil)
		want string // what the page says; "" for signed in
	}{
		{"all is well", func(*evil) {}, ""},
		{"capital letters", set("email", "ALICE.NG@EXAMPLE.COM"), ""},
		{"verified as a string", set("email_verified", "true"), ""},
		{"several audiences and the right party", func(e *evil) {
			e.claim = func(c map[string]any) { c["aud"], c["azp"] = []string{"other", clientID}, clientID }
		}, ""},
		{"the e-mail at UserInfo only", func(e *evil) {
			e.claim = func(c map[string]any) { c["email"], c["email_verified"] = nil, nil }
			e.userinfo = map[string]any{"sub": "248289", "email": "alice.ng@example.com", "email_verified": true}
		}, ""},
		{"the secret in the form", func(e *evil) {
			e.describe = func(d map[string]any) {
				d["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
			}
			e.secret = func(r *http.Request) bool {
				return r.FormValue("client_id") == clientID && r.FormValue("client_secret") == clientSecret && r.Header.Get("Authorization") == ""
			}
		}, ""},

		{"wrong issuer", set("iss", "https://login.example.org"), unverified},
		{"no issuer", set("iss", nil), unverified},
		{"another issuer by another spelling", set("+", `"Iss":"https://login.example.org"`), unverified},
		{"wrong audience", set("aud", "another-client"), unverified},
		{"no audience", set("aud", nil), unverified},
		{"several audiences and no party", set("aud", []string{"other", clientID}), unverified},
		{"several audiences and another party", func(e *evil) {
			e.claim = func(c map[string]any) { c["aud"], c["azp"] = []string{"other", clientID}, "other" }
		}, unverified},
		{"another party", set("azp", "other"), unverified},
		{"wrong nonce", set("nonce", "another nonce of the same sort"), unverified},
		{"no nonce", set("nonce", nil), unverified},
		{"expired", set("exp", time.Now().Add(-time.Minute).Unix()), unverified},
		{"no expiry", set("exp", nil), unverified},
		{"not yet valid", set("nbf", time.Now().Add(time.Hour).Unix()), unverified},
		{"no subject", set("sub", nil), unverified},
		{"an access token of somebody else", set("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), unverified},

		{"not signed", signed(func(_ *evil, c string) string { return b64([]byte(`{"alg":"none"}`)) + "." + b64([]byte(c)) + "." }), unverified},
		{"signed by the public key", signed(func(e *evil, c string) string {
			der, err := x509.MarshalPKIXPublicKey(&e.key.PublicKey)
			if err != nil {
				panic(err)
			}
			s := b64([]byte(`{"alg":"HS256","kid":"k1"}`)) + "." + b64([]byte(c))
			m := hmac.New(sha256.New, der)
			m.Write([]byte(s))
			return s + "." + b64(m.Sum(nil))
		}), unverified},
		{"signed by another key", signed(func(e *evil, c string) string { return e.rs256(twoKeys()[1], "k1", c) }), unverified},
		{"signed by an unknown key", signed(func(e *evil, c string) string { return e.rs256(twoKeys()[1], "k2", c) }), unverified},
		{"changed after signing", signed(func(e *evil, c string) string {
			head, _, _ := strings.Cut(e.rs256(e.key, "k1", c), ".")
			_, sig, _ := strings.Cut(strings.TrimPrefix(e.rs256(e.key, "k1", strings.Replace(c, "alice.ng", "mallory", 1)), head+"."), ".")
			return head + "." + b64([]byte(c)) + "." + sig
		}), unverified},
		{"no ID token", func(e *evil) { e.reply = func(a map[string]any) { delete(a, "id_token") } }, unverified},
		{"half an ID token", func(e *evil) { e.reply = func(a map[string]any) { a["id_token"] = "e30.e30" } }, unverified},

		{"not verified", set("email_verified", false), stranger},
		{"not verified, as a string", set("email_verified", "false"), stranger},
		{"nothing about being verified", set("email_verified", nil), stranger},
		{"verified as a number", set("email_verified", 1), stranger},
		{"an unknown e-mail", set("email", "mallory@example.com"), stranger},
		{"a Kelvin sign", set("email", "\u212Aim@example.com"), stranger},
		{"an empty e-mail", set("email", ""), stranger},
		{"no e-mail anywhere", func(e *evil) {
			e.claim = func(c map[string]any) { c["email"] = nil }
			e.userinfo = map[string]any{"sub": "248289"}
		}, stranger},
		{"no UserInfo to ask", func(e *evil) {
			e.claim = func(c map[string]any) { c["email"] = nil }
			e.describe = func(d map[string]any) { delete(d, "userinfo_endpoint") }
		}, stranger},
		{"not verified at UserInfo", func(e *evil) {
			e.claim = func(c map[string]any) { c["email"] = nil } // verified, but of nothing
			e.userinfo = map[string]any{"sub": "248289", "email": "alice.ng@example.com", "email_verified": false}
		}, stranger},
		{"UserInfo of somebody else", func(e *evil) {
			e.claim = func(c map[string]any) { c["email"] = nil }
			e.userinfo = map[string]any{"sub": "1", "email": "alice.ng@example.com", "email_verified": true}
		}, unverified},
		{"two e-mails", set("email", []string{"mallory@example.com", "alice.ng@example.com"}), unverified},
		{"two e-mails by the same name", func(e *evil) {
			e.claim = func(c map[string]any) { c["email"], c["+"] = "mallory@example.com", `"email":"alice.ng@example.com"` }
		}, unverified},
		{"two e-mails by two spellings", func(e *evil) {
			e.claim = func(c map[string]any) {
				c["email"], c["+"] = "mallory@example.com", `"Email":"alice.ng@example.com","EMAIL":"alice.ng@example.com"`
			}
		}, stranger},

		{"an error instead of tokens", func(e *evil) { e.secret = func(*http.Request) bool { return false } }, unverified},
		{"down", func(e *evil) {
			e.token = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
		}, down},
		{"hung up", func(e *evil) {
			e.token = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}, down},
		{"a redirect that would take the secret along", func(e *evil) {
			e.token = func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery != "" {
					e.t.Error("the redirect was followed")
					return
				}
				http.Redirect(w, r, "/token?again", http.StatusTemporaryRedirect)
			}
		}, unverified},
		{"an endless answer", func(e *evil) {
			e.reply = func(a map[string]any) { a["padding"] = strings.Repeat("x", 2<<20) }
		}, unverified},
		{"endless keys", func(e *evil) {
			e.keys = func(keys []any) any { return map[string]any{"padding": strings.Repeat("x", 2<<20), "keys": keys} }
		}, unverified},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, e := newWorld(t, base), startEvil(t)
			tt.do(e)
			w.useLogin(loginYAML(e.url))
			w.dir.People["carol"].Email = "kim@example.com"
			v := newVisitor(t, w.page, base)
			got := v.get(e.approve(begin(t, v, "/")))
			if tt.want == "" {
				wantStatus(t, got, http.StatusSeeOther)
				wantText(t, v.get("/"), "Alice Ng")
				return
			}
			if got.StatusCode < 400 {
				t.Errorf("status %d", got.StatusCode)
			}
			wantText(t, got, tt.want)
			wantNoText(t, got, "alice", "mallory", clientSecret)
			if len(v.cookies) != 0 {
				t.Errorf("cookies: %v", v.cookies)
			}
			wantStatus(t, v.get("/"), http.StatusUnauthorized)
		})
	}
}

// A provider that describes itself badly is not used at all.
func TestDiscoveryIsVerified(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		doc  map[string]any
	}{
		{"another issuer", map[string]any{"issuer": "https://login.example.org"}},
		{"a token endpoint in the clear", map[string]any{"token_endpoint": "http://login.example.org/token"}},
		{"no token endpoint", map[string]any{"token_endpoint": ""}},
		{"keys in the clear", map[string]any{"jwks_uri": "http://login.example.org/keys"}},
		{"a login that is a script", map[string]any{"authorization_endpoint": "javascript:alert(1)"}},
		{"UserInfo in the clear", map[string]any{"userinfo_endpoint": "http://login.example.org/me"}},
		{"PKCE in the clear only", map[string]any{"code_challenge_methods_supported": []string{"plain"}}},
		{"endless", map[string]any{"padding": strings.Repeat("x", 2<<20)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, e := newWorld(t, base), startEvil(t)
			e.describe = func(doc map[string]any) { maps.Copy(doc, tt.doc) }
			w.useLogin(loginYAML(e.url))
			v := newVisitor(t, w.page, base)
			got := v.get("/oidc/start?to=/")
			wantStatus(t, got, http.StatusServiceUnavailable)
			wantText(t, got, "The login can’t be reached", "Example Login does not answer this hub")
			if len(v.cookies) != 0 {
				t.Errorf("cookies: %v", v.cookies)
			}
		})
	}
}
