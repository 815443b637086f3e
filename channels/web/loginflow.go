package web

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"beckon/templates"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// flowLife is how long somebody may take at the provider.
const flowLife = 10 * time.Minute

// flow is one company login on its way. It is kept in a signed cookie, so that
// only the browser that began it can finish it.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // PKCE
	To       string `json:"t"` // where it leads
	Expires  int64  `json:"e"` // unix seconds, exclusive
}

const (
	loginPath    = "/oidc"
	startPath    = loginPath + "/start"
	callbackPath = loginPath + "/callback"
)

func (c *Channel) callbackURL() string { return c.desk.Directory().PublicURL + callbackPath }

// flowCookie is sent when the provider leads back here, which is navigation
// from another site, so it must be lax.
func (c *Channel) flowCookie(value string, life time.Duration) *http.Cookie {
	name := "beckon-oidc"
	if c.secureCookies() {
		name = "__Secure-beckon-oidc"
	}
	return &http.Cookie{
		Name: name, Value: value, Path: loginPath, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: c.secureCookies(), SameSite: http.SameSiteLaxMode,
	}
}

// startLogin leads to the provider. It decides nothing and remembers nothing
// but the cookie, so GET is fine.
func (c *Channel) startLogin(w http.ResponseWriter, r *http.Request) {
	to, _ := localPath(r.URL.Query().Get("to"))
	p, err := c.login.discover(r.Context())
	if err != nil {
		c.refuseLogin(w, r, to, "down", err)
		return
	}
	f := flow{
		State: newID(), Nonce: newID(), Verifier: oauth2.GenerateVerifier(), To: to,
		Expires: time.Now().Add(flowLife).Unix(),
	}
	conf := p.conf
	conf.RedirectURL = c.callbackURL()
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if r.URL.Query().Has("other") { // or the provider would take the same account again
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	http.SetCookie(w, c.flowCookie(seal(c.desk.Keys(loginKeys), f), flowLife))
	http.Redirect(w, r, conf.AuthCodeURL(f.State, options...), http.StatusSeeOther)
}

// finishLogin is where the provider leads back to. A state works once, in the
// browser that it was made for.
func (c *Channel) finishLogin(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := c.flow(r, q.Get("state"))
	if f == nil {
		c.refuseLogin(w, r, "/", "stale", errors.New("no such login was begun in this browser"))
		return
	}
	http.SetCookie(w, c.flowCookie("", -time.Second))
	if !c.login.used.add(f.State, time.Unix(f.Expires, 0)) {
		c.refuseLogin(w, r, f.To, "stale", errors.New("the login was finished before"))
		return
	}
	p, err := c.login.discover(r.Context())
	if err != nil {
		c.refuseLogin(w, r, f.To, "down", err)
		return
	}
	if iss := q.Get("iss"); iss != c.login.issuer && (iss != "" || p.sendsIss) { // RFC 9207, 2.4
		c.refuseLogin(w, r, f.To, "failed", errors.New("the answer comes from another issuer"))
		return
	}
	code := q.Get("code")
	if code == "" || q.Has("error") {
		c.refuseLogin(w, r, f.To, "denied", errors.New("the provider answers "+cut(q.Get("error"))))
		return
	}
	who, err := c.login.identify(r.Context(), p, c.callbackURL(), code, f)
	if err != nil {
		c.refuseLogin(w, r, f.To, kindOf(err), err)
		return
	}
	person := byEmail(c.desk.Directory(), who.email)
	if person == nil {
		c.refuseLogin(w, r, f.To, "stranger", errors.New("nobody in the directory has the address "+cut(who.email)))
		return
	}
	g := grant{Person: person.ID, By: byLogin, Issuer: c.login.issuer}
	if !who.authTime.IsZero() {
		g.AuthTime = who.authTime.Unix()
	}
	c.enter(w, r, g, f.To)
}

// flow returns the login that this browser has begun and that the state belongs
// to, or nil.
func (c *Channel) flow(r *http.Request, state string) *flow {
	for _, ck := range r.CookiesNamed(c.flowCookie("", 0).Name) {
		body, err := unseal(c.desk.Keys(loginKeys), ck.Value)
		if err != nil {
			continue
		}
		var f flow
		if json.Unmarshal(body, &f) != nil || time.Now().Unix() >= f.Expires || f.State == "" {
			continue
		}
		if subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) == 1 {
			return &f
		}
	}
	return nil
}

// kindOf picks the words for an error of identify. Somebody who is not in the
// directory and somebody whose address is not verified read the same.
func kindOf(err error) string {
	switch {
	case errors.Is(err, errDown):
		return "down"
	case errors.Is(err, errNoEmail):
		return "stranger"
	}
	return "failed"
}

// loginStatus is the HTTP status of each refusal.
func loginStatus(kind string) int {
	switch kind {
	case "down":
		return http.StatusServiceUnavailable
	case "stale":
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// refuseLogin says why nobody was signed in; the log has the reason.
func (c *Channel) refuseLogin(w http.ResponseWriter, r *http.Request, to, kind string, err error) {
	level := slog.LevelInfo
	if kind == "down" || kind == "failed" {
		level = slog.LevelWarn
	}
	c.log.LogAttrs(r.Context(), level, "company login refused", slog.String("kind", kind), slog.Any("err", err))
	c.offer(w, r, loginStatus(kind), &templates.SignInPage{Kind: kind, To: to})
}

// maxUsedStates bounds what is remembered of finished logins.
const maxUsedStates = 4096

// usedStates remembers which logins were finished, until their cookies run out.
// When it is full it forgets the oldest, and after a restart all: then the
// provider's own rule holds, by which a code works once.
type usedStates struct {
	mu    sync.Mutex
	until map[string]time.Time
	order []string
}

func newUsedStates() *usedStates { return &usedStates{until: map[string]time.Time{}} }

// add reports whether the state is new.
func (u *usedStates) add(state string, until time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for len(u.order) > 0 && (len(u.order) >= maxUsedStates || !now.Before(u.until[u.order[0]])) {
		delete(u.until, u.order[0])
		u.order = u.order[1:]
	}
	if _, known := u.until[state]; known {
		return false
	}
	u.until[state] = until
	u.order = append(u.order, state)
	return true
}
