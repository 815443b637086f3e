package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
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

func (s *session) age() time.Duration { return time.Since(time.Unix(s.Issued, 0)) }

// hash names the session in a history, where the session itself must not be.
func (s *session) hash() string {
	sum := sha256.Sum256([]byte("beckon session " + s.ID))
	return hex.EncodeToString(sum[:8])
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

// signIn sets the cookie of a new session. What reaches one message is sent to
// that message's page only.
func (c *Channel) signIn(w http.ResponseWriter, link grant) {
	now := time.Now()
	ttl := ListSession
	if link.Message != "" {
		ttl = MessageSession
	}
	g := grant{
		Version: grantVersion, Person: link.Person, Message: link.Message,
		Issued: now.Unix(), Expires: now.Add(ttl).Unix(), ID: newID(),
	}
	http.SetCookie(w, c.cookie(g.Message, seal(c.desk.Keys(cookieKeys), g), int(ttl/time.Second)))
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
	var best *session
	for _, whole := range []bool{true, false} {
		for _, ck := range r.CookiesNamed(c.cookieName(whole)) {
			g, err := open(c.desk.Keys(cookieKeys), ck.Value)
			if err != nil || (g.Message == "") != whole || g.ID == "" {
				continue
			}
			s := &session{grant: g, person: c.desk.Directory().People[g.Person]}
			if s.person == nil || !s.reaches(message) {
				continue
			}
			if best == nil || s.Issued > best.Issued {
				best = s
			}
		}
	}
	return best
}

// signOut forgets the sign-in in this browser. The session holds no state here,
// so a stolen cookie would live until it expires; replacing the key ends all.
func (c *Channel) signOut(w http.ResponseWriter, r *http.Request, _ *session) {
	http.SetCookie(w, c.cookie("", "", -1))
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
