package mailtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Tokens gives out access tokens as an OAuth provider does (RFC 6749), and tells
// a [Dovecot] whose they are (RFC 7662, by GET as Dovecot asks).
type Tokens struct {
	URL          string // token endpoint
	ClientID     string
	ClientSecret string

	server *httptest.Server

	mu      sync.Mutex
	life    time.Duration
	rotate  bool
	down    int // HTTP status instead of an answer
	user    string
	refresh string
	given   int
	live    map[string]string // access token to address
	grants  []string          // grant types asked for
}

// StartTokens starts one that ends with the test. Its tokens are for the user
// and live for an hour; the first refresh token is "refresh-0" and stays valid.
func StartTokens(tb testing.TB, user string) *Tokens {
	tb.Helper()
	t := &Tokens{
		ClientID: "beckon", ClientSecret: "client-secret",
		life: time.Hour, user: Address(user), refresh: "refresh-0", live: make(map[string]string),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", t.token)
	mux.HandleFunc("GET /introspect", t.introspect)
	t.server = httptest.NewServer(mux)
	tb.Cleanup(t.server.Close)
	t.URL = t.server.URL + "/token"
	return t
}

func (t *Tokens) introspectURL() string { return t.server.URL + "/introspect" }

// Issue makes an access token out of hand.
func (t *Tokens) Issue() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.issue()
}

func (t *Tokens) issue() string {
	t.given++
	token := fmt.Sprintf("access-%d", t.given)
	t.live[token] = t.user
	return token
}

// ExpireAll makes every access token invalid, whatever life it was given.
func (t *Tokens) ExpireAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.live)
}

// Live sets how long new access tokens are said to live; 0 leaves it unsaid.
func (t *Tokens) Live(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life = d
}

// Rotate makes every refresh replace the refresh token and void the old one.
func (t *Tokens) Rotate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotate = true
}

// Fail answers every request for a token with an HTTP status, until it is 0.
func (t *Tokens) Fail(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down = status
}

// Refresh returns the refresh token that is valid now.
func (t *Tokens) Refresh() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refresh
}

// Void makes the refresh token worthless, as when somebody takes consent back.
func (t *Tokens) Void() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh = "void"
}

// Revoke makes the refresh token and the client's secret worthless.
func (t *Tokens) Revoke() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh, t.ClientSecret = "revoked", "revoked"
}

// Grants returns the grant types that were asked for so far.
func (t *Tokens) Grants() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.grants...)
}

func (t *Tokens) token(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	grant := r.PostFormValue("grant_type")
	t.grants = append(t.grants, grant)
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": "no token for you"})
	}
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	answer := map[string]any{"token_type": "Bearer"}
	switch {
	case t.down != 0:
		http.Error(w, "out of order", t.down)
		return
	case id != t.ClientID || secret != t.ClientSecret:
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	case grant == "client_credentials":
	case grant == "refresh_token" && r.PostFormValue("refresh_token") == t.refresh:
		if t.rotate {
			t.refresh = fmt.Sprintf("refresh-%d", t.given+1)
			answer["refresh_token"] = t.refresh
		}
	default:
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	answer["access_token"] = t.issue()
	if t.life > 0 {
		answer["expires_in"] = int(t.life.Seconds())
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (t *Tokens) introspect(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{"active": "false"}
	if address, ok := t.live[r.FormValue("token")]; ok {
		answer = map[string]string{"active": "true", "email": address}
	}
	_ = json.NewEncoder(w).Encode(answer)
}
