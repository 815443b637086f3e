// Package web is the page where people read and answer: the channel that every
// hub has.
//
// Posting costs nothing, since a person's list is the copy, and the page always
// shows what the hub knows now; so there is no Update either. People
// come by a personal link or by the company login (OpenID Connect), which sets a
// signed cookie that reaches that person's list, or one message only. Somebody
// without either may have a link sent to their own known address. GET and HEAD
// show and never decide; an answer is a POST with a CSRF token that is tied to
// the sign-in, and passes through hub.Desk like every other channel's. How and
// when somebody signed in is the evidence of what they answer.
//
// Every page works without JavaScript. With it, a page that is in view holds a
// stream of events (watch.go) and shows what somebody else decided; when the
// stream fails it stands still and says so, and nothing else is lost.
//
// When the hub can't record an answer, the page says that nothing is known to
// be recorded and keeps what was typed; sending it again is safe, since each
// form carries a nonce that the receipt's key is made of.
package web

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"strings"

	"beckon/hub"
	"beckon/templates"
)

// Name is the channel's name in targets and receipts.
const Name = "web"

// Factory makes the channel. It needs no section; the section may say
// "templates", a folder whose web/*.html, web/web.css and web/web.js replace the
// built-in ones file by file.
var Factory = hub.Factory{Name: Name, Implicit: true, People: true, New: New, Section: (*section)(nil)}

type section struct {
	Templates string        `yaml:"templates" json:"templates" doc:"A folder whose web/*.html and web/web.css replace the page's own, file by file. The same as templates above, for this channel alone." eg:"/etc/beckon/templates" off:"true"`
	OIDC      *loginSection `yaml:"oidc" json:"oidc" doc:"Sign in by the company's OpenID provider. A verified e-mail address there is a person's email in people." off:"true"`
}

// Channel is the page. It is safe for concurrent use.
type Channel struct {
	desk  hub.Desk
	set   *templates.Set
	log   *slog.Logger
	login *login // nil: there is no company login
	links *links

	streams *streams
}

// New makes the channel; it returns nil when the section is at fault, having
// reported why through it.
func New(s hub.Section, desk hub.Desk) hub.Channel {
	var conf section
	if s.Decode != nil && !s.Decode(&conf) {
		return nil
	}
	c := &Channel{desk: desk, log: desk.Log(), links: newLinks(), streams: newStreams()}
	var err error
	if c.set, err = templates.New(cmp.Or(conf.Templates, s.Templates)); err != nil && s.Errorf != nil {
		s.Errorf("templates", "%v", err)
	}
	if conf.OIDC != nil {
		c.login = newLogin(conf.OIDC, s.Errorf)
	}
	if err != nil || conf.OIDC != nil && c.login == nil {
		return nil
	}
	return c
}

// Post does nothing but name the copy: the person's list shows the message as
// soon as it is stored.
func (c *Channel) Post(ctx context.Context, r hub.PostRequest) (hub.Posted, error) {
	if err := ctx.Err(); err != nil {
		return hub.Posted{}, err
	}
	if r.Person == nil {
		return hub.Posted{}, &hub.DeliveryError{Code: "no_person", Msg: "the page reaches persons only", Permanent: true}
	}
	return hub.Posted{Ref: r.Card.MessageID + "/" + r.Person.ID}, nil
}

// Handlers returns the page's routes, by [http.ServeMux] pattern. They leave
// every path but their own to others.
func (c *Channel) Handlers() map[string]http.Handler {
	const item = "/i/{id}"
	h := map[string]http.Handler{
		"GET /{$}":                  c.page(c.showList),
		"GET /watch":                c.page(c.watchList),
		"GET " + item:               c.page(c.showItem),
		"GET " + item + "/watch":    c.page(c.watchItem),
		"GET " + item + "/part/{n}": c.page(c.showPart),
		"GET /assets/web.css":       asset(c.set.CSS(), "text/css"),
		"GET /assets/web.js":        asset(c.set.JS(), "text/javascript"),
		"/i/":                       c.page(c.problem(http.StatusNotFound, "not-found")),
		"/l/":                       c.page(c.problem(http.StatusNotFound, "not-found")),
	}
	h["GET /tell"] = c.page(c.showTell)
	h["POST /tell"] = c.form(c.tell, c.tellNotYet)
	h["/tell"] = c.page(c.notAllowed("GET, HEAD, POST"))
	h["POST "+item+"/tell"] = c.form(c.tellItem, c.notYet)
	h[item+"/tell"] = c.page(c.notAllowed("POST"))
	for action, verb := range actions {
		h["POST "+item+"/"+action] = c.form(c.act(verb), c.notYet)
		h[item+"/"+action] = c.page(c.notAllowed("POST"))
	}
	for _, p := range []string{"/{$}", "/watch", item, item + "/watch", item + "/part/{n}", "/assets/web.css", "/assets/web.js"} {
		h[p] = c.page(c.notAllowed("GET, HEAD"))
	}
	maps.Copy(h, c.signInRoutes())
	return h
}

// actions are the forms of a message's page.
var actions = map[string]hub.Verb{
	"answer":   hub.VerbAnswer,
	"decline":  hub.VerbDecline,
	"complete": hub.VerbComplete,
	"dismiss":  hub.VerbDismiss,
	"tick":     hub.VerbTick,
}

// asset serves a file that pages link. A browser keeps the one that it was
// linked by for good, since another content has another path.
func asset(a templates.Asset, contentType string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		secure(h)
		h.Set("Content-Type", contentType+"; charset=utf-8")
		if strings.HasSuffix(a.Path, "?"+r.URL.RawQuery) {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			h.Set("Cache-Control", "no-cache")
		}
		_, _ = w.Write(a.Body)
	})
}
