package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"beckon/templates"
)

// maxForm is the most that a form may hold, in bytes.
const maxForm = 256 << 10

// maxParts is the most fields that a form may hold; the hub's own limit on the
// fields of an ask is far below.
const maxParts = 2000

const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// secure sets the headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// page wraps a handler that shows something.
func (c *Channel) page(f http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		w.Header().Set("Cache-Control", "no-store")
		f(w, r)
	})
}

// form wraps a handler of something that a person sent: it must come from a
// page of ours, from the sign-in that the page was made for. Whoever fails here
// is told so, and nothing has happened; s is nil for who has not signed in.
func (c *Channel) form(f, other func(w http.ResponseWriter, r *http.Request, s *session)) http.Handler {
	return c.page(func(w http.ResponseWriter, r *http.Request) {
		if !c.sameOrigin(r) {
			c.problem(http.StatusForbidden, "cross-site")(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				c.problem(http.StatusRequestEntityTooLarge, "form-large")(w, r)
				return
			}
			c.problem(http.StatusBadRequest, "form-bad")(w, r)
			return
		}
		if len(r.PostForm) > maxParts {
			c.problem(http.StatusRequestEntityTooLarge, "form-large")(w, r)
			return
		}
		s := c.session(r, r.PathValue("id"))
		if s == nil || !c.csrfOK(s, r.PostForm.Get("csrf")) {
			other(w, r, s)
			return
		}
		f(w, r, s)
	})
}

// sameOrigin checks Sec-Fetch-Site, or Origin in a browser without it. Behind a
// proxy that renames the host, the public URL is the origin to believe.
func (c *Channel) sameOrigin(r *http.Request) bool {
	// Our Referrer-Policy makes a browser send "Origin: null" with our own
	// forms; one that sends no Sec-Fetch-Site then says nothing of the origin,
	// and SameSite and the CSRF token decide.
	if r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == "" {
		return true
	}
	p := http.NewCrossOriginProtection()
	if err := p.AddTrustedOrigin(origin(c.desk.Directory().PublicURL)); err != nil {
		c.log.Warn("public_url is no origin", "err", err)
	}
	return p.Check(r) == nil
}

// origin cuts a path off a URL.
func origin(u string) string {
	if i := strings.Index(u, "://"); i >= 0 {
		if j := strings.IndexByte(u[i+3:], '/'); j >= 0 {
			return u[:i+3+j]
		}
	}
	return u
}

// base fills in what every page has.
func (c *Channel) base(s *session, item string) templates.Page {
	p := templates.Page{CSS: c.set.CSS().Path, JS: c.set.JS().Path, SignOut: "/signout"}
	if s == nil {
		return p
	}
	p.Person, p.Whole, p.CSRF = s.person, s.whole(), c.csrf(s)
	if item != "" {
		p.SignOut = itemPath(item) + "/signout"
	}
	return p
}

func (c *Channel) render(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	body, err := c.set.Page(name, data)
	if err != nil {
		c.log.Error("render page", "page", name, "err", err)
		http.Error(w, "The page could not be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// problem shows a page that says why there is nothing else to see.
func (c *Channel) problem(status int, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := c.session(r, r.PathValue("id"))
		p := &templates.ProblemPage{Page: c.base(s, r.PathValue("id")), Kind: kind}
		if id := r.PathValue("id"); kind != "not-found" && validID(id) {
			p.Item = itemPath(id)
		}
		c.render(w, r, status, "problem", p)
	}
}

func (c *Channel) notAllowed(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		c.problem(http.StatusMethodNotAllowed, "method")(w, r)
	}
}

// fail logs what went wrong on our side, and says so without details.
func (c *Channel) fail(w http.ResponseWriter, r *http.Request, op string, err error) {
	if !errors.Is(err, context.Canceled) {
		c.log.LogAttrs(r.Context(), slog.LevelError, "page", slog.String("op", op), slog.Any("err", err))
	}
	c.problem(http.StatusServiceUnavailable, "internal")(w, r)
}
