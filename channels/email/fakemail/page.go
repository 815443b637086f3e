package fakemail

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

//go:embed page.html
var pageFS embed.FS

// maxForm bounds what a form may send, in bytes.
const maxForm = 1 << 20

// keepAlive is how often a stream says that it lives; proxies give up later.
const keepAlive = 15 * time.Second

// Handler is the page where a person reads and replies. Without scripts, new
// mail shows when the page is opened again.
func (s *Server) Handler() http.Handler {
	p := &page{s, template.Must(template.New("page.html").Funcs(template.FuncMap{"seg": url.PathEscape}).ParseFS(pageFS, "page.html"))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.home)
	mux.HandleFunc("GET /as/{person}", p.inbox)
	mux.HandleFunc("GET /as/{person}/new", p.compose)
	mux.HandleFunc("POST /as/{person}/new", p.write)
	mux.HandleFunc("GET /as/{person}/news", p.news)
	mux.HandleFunc("GET /as/{person}/{mail}", p.thread)
	mux.HandleFunc("POST /as/{person}/{mail}", p.reply)
	mux.HandleFunc("GET /as/{person}/{mail}/html", p.rich)
	mux.HandleFunc("GET /as/{person}/{mail}/original", p.original)
	mux.HandleFunc("POST /theme", p.theme)
	// The page has only its address to protect it: forms of other sites can't
	// write here.
	return localOnly(http.NewCrossOriginProtection().Handler(mux))
}

// localOnly turns away requests whose Host is a name, as a page of another site
// sends them after rebinding its name to this machine.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "open this page by its address", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

type page struct {
	s    *Server
	tmpl *template.Template
}

// path is where a person's mailbox, or a mail in it, is shown.
func path(person string, more ...string) string {
	out := "/as/" + url.PathEscape(person)
	for _, m := range more {
		out += "/" + url.PathEscape(m)
	}
	return out
}

func (p *page) home(w http.ResponseWriter, r *http.Request) {
	p.s.mu.Lock()
	first := ""
	if len(p.s.order) > 0 {
		first = p.s.order[0]
	}
	p.s.mu.Unlock()
	if first == "" {
		p.show(w, r, http.StatusOK, p.view(r, ""))
		return
	}
	http.Redirect(w, r, path(first), http.StatusSeeOther)
}

func (p *page) inbox(w http.ResponseWriter, r *http.Request) {
	v := p.view(r, r.PathValue("person"))
	p.show(w, r, http.StatusOK, v)
}

func (p *page) thread(w http.ResponseWriter, r *http.Request) {
	v := p.view(r, r.PathValue("person"))
	if !v.open(p.s, r.PathValue("mail"), r.URL.Query().Get("text")) {
		v.Gone = true
		p.show(w, r, http.StatusNotFound, v)
		return
	}
	p.show(w, r, http.StatusOK, v)
}

// compose is a new mail, as a mailto link begins it.
func (p *page) compose(w http.ResponseWriter, r *http.Request) {
	v := p.view(r, r.PathValue("person"))
	q := r.URL.Query()
	v.New = &newMail{To: q.Get("to"), Subject: q.Get("subject"), Text: q.Get("body")}
	p.show(w, r, http.StatusOK, v)
}

// form reads a form; it answers the request itself when there is none.
func form(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, fmt.Sprintf("That form can't be read: %v. It may hold at most %d bytes.", err, maxForm), http.StatusBadRequest)
		return false
	}
	return true
}

func (p *page) write(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		return
	}
	person, n := r.PathValue("person"), &newMail{To: r.PostForm.Get("to"), Subject: r.PostForm.Get("subject"), Text: r.PostForm.Get("text")}
	style := Style(r.PostForm.Get("style"))
	sent, err := p.s.write(r.Context(), person, n.To, n.Subject, n.Text, style)
	if sent.ID == "" { // nothing was sent
		v := p.view(r, person)
		v.New, v.Style, v.Error = n, style, plainError(err)
		p.show(w, r, http.StatusUnprocessableEntity, v)
		return
	}
	remember(w, style)
	http.Redirect(w, r, path(person, sent.ID)+"#"+sent.ID, http.StatusSeeOther)
}

func (p *page) reply(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		return
	}
	person := r.PathValue("person")
	m, ok := p.s.find(person, r.PathValue("mail"))
	if !ok {
		p.thread(w, r)
		return
	}
	text, style, c := r.PostForm.Get("text"), Style(r.PostForm.Get("style")), Case(r.PostForm.Get("case"))
	var sent Mail
	var err error
	if c == "" {
		sent, err = p.s.reply(r.Context(), &m, text, style)
	} else {
		sent, err = p.s.try(r.Context(), &m, c, text, style)
	}
	if sent.ID == "" {
		v := p.view(r, person)
		v.open(p.s, m.ID, "")
		v.Draft, v.Style, v.Error = text, style, plainError(err)
		p.show(w, r, http.StatusUnprocessableEntity, v)
		return
	}
	remember(w, style)
	http.Redirect(w, r, path(person, m.ID)+"#"+sent.ID, http.StatusSeeOther)
}

// plainError is an error for the page.
func plainError(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "fakemail: ", "")
}

// remember keeps the style for the next mail.
func remember(w http.ResponseWriter, y Style) {
	http.SetCookie(w, &http.Cookie{Name: "fakemail_style", Value: string(y), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

func (p *page) theme(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		return
	}
	theme := r.PostForm.Get("theme")
	if theme != "light" && theme != "dark" {
		theme = ""
	}
	http.SetCookie(w, &http.Cookie{Name: "fakemail_theme", Value: theme, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	back := r.PostForm.Get("back")
	if !strings.HasPrefix(back, "/as/") {
		back = "/"
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// rich is the HTML of a mail, for the frame that shows it: no script runs, and
// nothing is loaded.
func (p *page) rich(w http.ResponseWriter, r *http.Request) {
	person := r.PathValue("person")
	m, ok := p.s.find(person, r.PathValue("mail"))
	if !ok || m.HTML == "" {
		http.Error(w, "there is no such mail", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox "+sandbox+"; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'")
	_, _ = w.Write([]byte(framed(m.HTML, theme(r), path(person, "new"))))
}

// sandbox lets links open pages of their own, and those to write a mail replace
// this one. The same origin is for the page that measures the frame; without
// scripts it gives the mail nothing.
const sandbox = "allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation"

func theme(r *http.Request) string {
	if c, err := r.Cookie("fakemail_theme"); err == nil && (c.Value == "dark" || c.Value == "light") {
		return c.Value
	}
	return ""
}

func (p *page) original(w http.ResponseWriter, r *http.Request) {
	m, ok := p.s.find(r.PathValue("person"), r.PathValue("mail"))
	if !ok {
		http.Error(w, "there is no such mail", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	_, _ = w.Write(m.Raw)
}

// news is a stream with an event for each change of a mailbox.
func (p *page) news(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	last := -1
	for {
		n, changed := p.s.newsOf(r.PathValue("person"))
		if n != last {
			last = n
			if _, err := fmt.Fprintf(w, "data: %d\n\n", n); err != nil {
				return
			}
		}
		if err := out.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-p.s.ctx.Done():
			return
		case <-changed:
		case <-alive.C:
			if _, err := fmt.Fprint(w, ":\n\n"); err != nil {
				return
			}
		}
	}
}

// show writes the page.
func (p *page) show(w http.ResponseWriter, r *http.Request, status int, v *view) {
	v.Nonce = rand.Text()
	v.Here = r.URL.Path
	if r.Method != http.MethodGet {
		v.Here = path(v.Me.Address)
	}
	if v.Style == "" {
		v.Style = Apple
		if c, err := r.Cookie("fakemail_style"); err == nil && Style(c.Value).valid() {
			v.Style = Style(c.Value)
		}
	}
	var out bytes.Buffer
	if err := p.tmpl.Execute(&out, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+v.Nonce+"'; script-src 'nonce-"+v.Nonce+
		"'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// find is a mail in a person's mailbox.
func (s *Server) find(person, id string) (Mail, bool) {
	for _, m := range s.Mails(person) {
		if m.ID == id {
			return m, true
		}
	}
	return Mail{}, false
}

// newsOf counts what changed in a mailbox, and tells of the next change.
func (s *Server) newsOf(person string) (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[key(person)]; b != nil {
		return b.news, s.changed
	}
	return 0, s.changed
}
