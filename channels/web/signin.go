package web

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"beckon/templates"
)

// signInRoutes are the ways in and out.
func (c *Channel) signInRoutes() map[string]http.Handler {
	h := map[string]http.Handler{
		"GET /l/{token}":       c.page(c.visit(c.openLink)),
		"/l/{token}":           c.page(c.notAllowed("GET, HEAD")),
		"GET /signin":          c.page(c.showSignIn),
		"POST /signin":         c.page(c.askForLink),
		"/signin":              c.page(c.notAllowed("GET, HEAD, POST")),
		"POST /signout":        c.form(c.signOut, c.notSignedOut),
		"/signout":             c.page(c.notAllowed("POST")),
		"POST /i/{id}/signout": c.form(c.signOut, c.notSignedOut),
		"/i/{id}/signout":      c.page(c.notAllowed("POST")),
	}
	if c.login != nil {
		h["GET "+startPath] = c.page(c.visit(c.startLogin))
		h["GET "+callbackPath] = c.page(c.visit(c.finishLogin))
		for _, p := range []string{startPath, callbackPath} {
			h["HEAD "+p] = c.page(c.notAllowed("GET"))
			h[p] = c.page(c.notAllowed("GET"))
		}
	}
	return h
}

// visit passes on what a person does. A browser that only guesses where they
// will go next is told to come back when they do: it would sign them in as the
// owner of any link that a page of somebody else's has on it.
func (c *Channel) visit(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
			if v := strings.ToLower(r.Header.Get(name)); strings.Contains(v, "prefetch") || strings.Contains(v, "preview") {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		f(w, r)
	}
}

// openLink signs in by a personal link. Scanners that fetch the links of a mail
// change nothing: the link is not used up, and HEAD gets no cookie.
func (c *Channel) openLink(w http.ResponseWriter, r *http.Request) {
	g, err := open(c.desk.Keys(LinkKeys), r.PathValue("token"))
	to := "/"
	if g.Message != "" {
		to = itemPath(g.Message)
	}
	switch {
	case errors.Is(err, errExpired) && c.offers():
		c.offer(w, r, http.StatusGone, &templates.SignInPage{Kind: "expired", To: to})
		return
	case errors.Is(err, errExpired):
		c.problem(http.StatusGone, "link-expired")(w, r)
		return
	case err != nil || g.ID != "":
		c.problem(http.StatusNotFound, "link-invalid")(w, r)
		return
	case c.desk.Directory().People[g.Person] == nil:
		c.problem(http.StatusGone, "link-gone")(w, r)
		return
	}
	if r.Method == http.MethodHead {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	if g.By == "" {
		g.By = byLink
	}
	c.enter(w, r, g, to)
}

// enter signs in and leads to where somebody wanted to go. Whoever was somebody
// else in this browser before is told so first.
func (c *Channel) enter(w http.ResponseWriter, r *http.Request, g grant, to string) {
	now, was := c.signIn(w, r, g)
	if was == nil {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	c.render(w, r, http.StatusOK, "signin", &templates.SignInPage{
		Page: c.base(now, g.Message), Kind: "switched", To: to, Was: was.person,
	})
}

// offers reports whether there is a way to sign in without a link at hand.
func (c *Channel) offers() bool { return c.login != nil || len(c.desk.LinkSenders()) > 0 }

// offer shows a page with the ways to sign in that there are. It says nothing
// of what anybody is looking for, and knows nothing of who they are.
func (c *Channel) offer(w http.ResponseWriter, r *http.Request, status int, p *templates.SignInPage) {
	p.Page = c.base(nil, "")
	if p.To == "" {
		p.To = "/"
	}
	if c.login != nil {
		p.Login, p.Start = c.login.name, startPath+"?to="+p.To
	}
	p.Links = len(c.desk.LinkSenders()) > 0
	c.render(w, r, status, "signin", p)
}

// signInPage is the same for everything that needs a sign-in, so that it tells
// nothing of what there is.
func (c *Channel) signInPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Link realm="beckon"`) // RFC 9110 wants a challenge with a 401
	to := "/"
	if id := r.PathValue("id"); validID(id) {
		to = itemPath(id)
	}
	c.offer(w, r, http.StatusUnauthorized, &templates.SignInPage{To: to})
}

// lapsed is that page for somebody whose answer was not taken, since they have
// not signed in any more.
func (c *Channel) lapsed(w http.ResponseWriter, r *http.Request, lost string) {
	w.Header().Set("WWW-Authenticate", `Link realm="beckon"`)
	to := "/"
	if id := r.PathValue("id"); validID(id) {
		to = itemPath(id)
	}
	c.offer(w, r, http.StatusUnauthorized, &templates.SignInPage{Kind: "lapsed", To: to, Lost: lost})
}

// notSignedOut takes a sign-out that was made for another sign-in.
func (c *Channel) notSignedOut(w http.ResponseWriter, r *http.Request, s *session) {
	if s == nil {
		c.signInPage(w, r)
		return
	}
	c.problem(http.StatusForbidden, "form-old")(w, r)
}

// showSignIn is the same page for somebody who looks for it.
func (c *Channel) showSignIn(w http.ResponseWriter, r *http.Request) {
	to, _ := localPath(r.URL.Query().Get("to"))
	c.offer(w, r, http.StatusOK, &templates.SignInPage{To: to})
}

// Bounds of the form that asks for a link.
const (
	maxAskForm = 4 << 10 // bytes
	maxWho     = 254     // runes; the longest mail address (RFC 5321, errata 1690)
)

// askForLink takes the form of the sign-in page. It does not look who is meant:
// that is for later, so that neither the answer nor its time tells whether the
// hub knows them.
func (c *Channel) askForLink(w http.ResponseWriter, r *http.Request) {
	if !c.sameOrigin(r) {
		c.problem(http.StatusForbidden, "cross-site")(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxAskForm)
	if err := r.ParseForm(); err != nil {
		c.problem(http.StatusBadRequest, "form-bad")(w, r)
		return
	}
	to, message := localPath(r.PostForm.Get("to"))
	p := &templates.SignInPage{To: to, Who: templates.Line(strings.TrimSpace(r.PostForm.Get("who")))}
	if len(c.desk.LinkSenders()) == 0 || p.Who == "" || utf8.RuneCountInString(p.Who) > maxWho {
		p.Who = ""
		c.offer(w, r, http.StatusUnprocessableEntity, p)
		return
	}
	p.Kind = "sent"
	status := http.StatusOK
	if !c.links.ask(clientOf(r), linkRequest{who: p.Who, message: message}) {
		p.Kind, status = "busy", http.StatusTooManyRequests
		w.Header().Set("Retry-After", strconv.Itoa(int(limitSpan/time.Second)))
		c.log.LogAttrs(r.Context(), slog.LevelWarn, "too many links are asked for")
	}
	c.offer(w, r, status, p)
}

// localPath is the allow list of places that a sign-in may lead to: a message's
// page, or else the list.
func localPath(to string) (path, message string) {
	if id, ok := strings.CutPrefix(to, "/i/"); ok && validID(id) {
		return itemPath(id), id
	}
	return "/", ""
}

// validID reports whether s has the shape of a message id, which needs no
// escaping in a path.
func validID(s string) bool {
	if len(s) > 128 || strings.Trim(s, ".") == "" {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._~-", r))
	})
}

// clientOf is the network that a request comes from, which limits count by: an
// IPv4 address, or the /64 that one host has of IPv6. The API has put the client
// that a trusted proxy names into RemoteAddr.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64) // always in range
	return p.String()
}
