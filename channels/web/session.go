package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
)

// How long a sign-in lasts. One that reaches a single message may live longer
// than one that reaches everything.
const (
	ListSession    = 12 * time.Hour
	MessageSession = 7 * 24 * time.Hour
)

// session is a sign-in that a request has proved.
type session struct {
	grant
	person *hub.Person
}

func (s *session) whole() bool { return s.Message == "" }

// reaches reports whether the sign-in may open a message.
func (s *session) reaches(id string) bool { return s.whole() || s.Message == id }

func (s *session) scope() string {
	if s.whole() {
		return "list"
	}
	return "message"
}

func (s *session) age() time.Duration { return max(0, time.Since(time.UnixMilli(s.Issued))) }

// hash names the session in a history, where the session itself must not be.
func (s *session) hash() string {
	sum := sha256.Sum256([]byte("beckon session " + s.ID))
	return hex.EncodeToString(sum[:8])
}

// evidence says how the person was identified, and how long ago; it is kept
// with the history of what they answer. It holds no address and no credential.
func (s *session) evidence(userAgent string) []byte {
	e := struct {
		By        string `json:"by"`
		Via       string `json:"via,omitempty"`
		Issuer    string `json:"issuer,omitempty"`
		AuthTime  string `json:"auth_time,omitempty"`
		Scope     string `json:"scope"`
		Session   string `json:"session"`
		Age       int64  `json:"session_age_s"`
		UserAgent string `json:"user_agent,omitempty"`
	}{
		By: s.By, Via: s.Via, Issuer: s.Issuer, Scope: s.scope(), Session: s.hash(),
		Age: int64(s.age() / time.Second), UserAgent: userAgent,
	}
	if s.AuthTime != 0 {
		e.AuthTime = time.Unix(s.AuthTime, 0).UTC().Format(time.RFC3339)
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic("web: evidence always marshals: " + err.Error())
	}
	return b
}

// secureCookies reports whether people reach the hub over HTTPS.
func (c *Channel) secureCookies() bool {
	return strings.HasPrefix(c.desk.Directory().PublicURL, "https://")
}

// cookieName depends on scope and scheme: a browser keeps a __Host- cookie only
// from a secure origin, for path "/" and without a domain.
func (c *Channel) cookieName(whole bool) string {
	switch {
	case c.secureCookies() && whole:
		return "__Host-beckon"
	case c.secureCookies():
		return "__Secure-beckon-item"
	case whole:
		return "beckon"
	}
	return "beckon-item"
}

// signIn starts the session that a link or a login has earned, under an id that
// nobody had before, and sets its cookie. What reaches one message is sent to
// that message's page only. Where another person had signed in for the whole
// list, all of their sign-ins in this browser end.
func (c *Channel) signIn(w http.ResponseWriter, r *http.Request, g grant) (now, was *session) {
	if was = c.session(r, ""); was != nil && was.Person == g.Person {
		was = nil
	}
	at, ended := time.Now().UnixMilli(), c.ended(r)
	if was != nil {
		ended = at
		c.endAll(w, at)
	}
	ttl := ListSession
	if g.Message != "" {
		ttl = MessageSession
	}
	g.Version, g.Issued, g.ID = grantVersion, max(at, ended+1), newID()
	g.Expires = time.UnixMilli(at).Add(ttl).Unix()
	http.SetCookie(w, c.cookie(g.Message, seal(c.desk.Keys(cookieKeys), g), int(ttl/time.Second)))
	now = &session{grant: g, person: c.desk.Directory().People[g.Person]}
	c.log.LogAttrs(r.Context(), slog.LevelInfo, "signed in", slog.String("person", g.Person),
		slog.String("by", g.By), slog.String("scope", now.scope()), slog.String("session", now.hash()))
	return now, was
}

func (c *Channel) cookie(message, value string, maxAge int) *http.Cookie {
	path := "/"
	if message != "" {
		path = itemPath(message)
	}
	return &http.Cookie{
		Name: c.cookieName(message == ""), Value: value, Path: path, MaxAge: maxAge,
		HttpOnly: true, Secure: c.secureCookies(), SameSite: http.SameSiteLaxMode,
	}
}

// session returns the newest sign-in that a request carries and that reaches
// message ("" for the list), or nil. Somebody who opens another person's link
// after their own acts as that person, and the page says who that is.
func (c *Channel) session(r *http.Request, message string) *session {
	ended := c.ended(r)
	var best *session
	for _, whole := range []bool{true, false} {
		for _, ck := range r.CookiesNamed(c.cookieName(whole)) {
			g, err := open(c.desk.Keys(cookieKeys), ck.Value)
			if err != nil || (g.Message == "") != whole || g.ID == "" {
				continue
			}
			s := &session{grant: g, person: c.desk.Directory().People[g.Person]}
			if s.person == nil || s.Issued <= ended || !s.reaches(message) || !c.trusts(g) {
				continue
			}
			if best == nil || s.Issued > best.Issued {
				best = s
			}
		}
	}
	return best
}

// trusts reports whether the way that somebody signed in by is still one: a
// company login that was taken out of the config opens nothing any more.
func (c *Channel) trusts(g grant) bool {
	return g.By != byLogin || c.login != nil && c.login.issuer == g.Issuer
}

// endedName names the cookie that says when somebody signed out in this browser.
// Sign-ins for a message have a path each, which a sign-out elsewhere can't
// name; so they stay, and what is older than this opens nothing.
func (c *Channel) endedName() string {
	if c.secureCookies() {
		return "__Host-beckon-ended"
	}
	return "beckon-ended"
}

// ended is when every sign-in before ended in this browser, in unix
// milliseconds; 0 for never. It can only take away, so it is not signed.
func (c *Channel) ended(r *http.Request) int64 {
	var last int64
	for _, ck := range r.CookiesNamed(c.endedName()) {
		if at, err := strconv.ParseInt(ck.Value, 10, 64); err == nil && at <= time.Now().Add(time.Minute).UnixMilli() { // no clock is exact
			last = max(last, at)
		}
	}
	return last
}

// endAll ends every sign-in that this browser has.
func (c *Channel) endAll(w http.ResponseWriter, at int64) {
	http.SetCookie(w, c.cookie("", "", -1))
	ck := c.cookie("", strconv.FormatInt(at, 10), int(MessageSession/time.Second))
	ck.Name = c.endedName()
	http.SetCookie(w, ck)
}

// signOut forgets every sign-in in this browser. The session holds no state
// here, so a stolen cookie would live until it expires; replacing the key ends
// all.
func (c *Channel) signOut(w http.ResponseWriter, r *http.Request, s *session) {
	// What was issued in this millisecond, or just after, ends as well.
	c.endAll(w, max(time.Now().UnixMilli(), s.Issued))
	if id := r.PathValue("id"); id != "" {
		http.SetCookie(w, c.cookie(id, "", -1))
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// csrf is the token that a session's forms carry.
func (c *Channel) csrf(s *session) string {
	return base64.RawURLEncoding.EncodeToString(mac(c.desk.Keys(csrfKeys)[0], []byte(s.ID)))
}

func (c *Channel) csrfOK(s *session, token string) bool {
	got, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return false
	}
	ok := false
	for _, k := range c.desk.Keys(csrfKeys) {
		if hmac.Equal(got, mac(k, []byte(s.ID))) {
			ok = true
		}
	}
	return ok
}

// newID returns 128 random bits.
func newID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func itemPath(id string) string { return "/i/" + url.PathEscape(id) }
