package fakeslack

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageFS embed.FS

// flash is what a person is told after doing something, until the next thing.
type flash struct {
	Notice string
	Errors map[string]string // of a form, by block id
}

// routePage adds the page where a person sees the workspace as one user.
func (s *Server) routePage(mux *http.ServeMux) {
	page := http.NewServeMux()
	tmpl := template.Must(template.New("page.html").Funcs(s.funcs()).ParseFS(pageFS, "page.html"))
	page.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/as/"+s.firstPerson(), http.StatusSeeOther)
	})
	page.HandleFunc("GET /as/{user}", func(w http.ResponseWriter, r *http.Request) { s.showPage(tmpl, w, r, "") })
	page.HandleFunc("GET /as/{user}/{place}", func(w http.ResponseWriter, r *http.Request) { s.showPage(tmpl, w, r, r.PathValue("place")) })
	page.HandleFunc("POST /as/{user}/{place}/{do}", s.doPage)
	page.HandleFunc("GET /news/{user}", s.serveNews)
	page.HandleFunc("GET /archives/{channel}/{message}", s.servePermalink)
	// Forms of other sites can't click here: the cookie-less page has only its
	// address to protect it.
	mux.Handle("/", s.localOnly(http.NewCrossOriginProtection().Handler(page)))
}

// localOnly turns away requests whose Host is a name, as a page of another site
// sends them after rebinding its name to this machine.
func (s *Server) localOnly(next http.Handler) http.Handler {
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

// firstPerson is the first user who can sign in.
func (s *Server) firstPerson() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.userOrder {
		if u := s.users[id]; !u.Bot && !u.Deleted {
			return id
		}
	}
	return "nobody"
}

// pageData is what the template shows.
type pageData struct {
	Team     Team
	User     User
	Users    []User
	Places   []pagePlace
	Place    string // channel id, or "home"
	Title    string
	Messages []pageMessage
	Home     *pageView
	Modal    *pageView
	CanWrite bool
	News     int // what the person has seen so far, for the reload
	Flash    flash
	App      App
	Nonce    string
}

type pagePlace struct {
	ID, Name string
	DM       bool
	Private  bool
	Shared   bool
	Current  bool
}

// pageMessage is a message with its thread.
type pageMessage struct {
	Message
	Author  string
	App     bool
	At      string
	Values  object // what this person has entered
	Replies []pageMessage
	Page    *pageData
}

type pageView struct {
	View
	Values object
	Page   *pageData
	Under  int // how many views lie under it
}

func (s *Server) showPage(tmpl *template.Template, w http.ResponseWriter, r *http.Request, at string) {
	s.mu.Lock()
	u := s.users[r.PathValue("user")]
	if u == nil || u.Bot {
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	data := s.pageData(u, at)
	s.mu.Unlock()
	var out bytes.Buffer
	if err := tmpl.Execute(&out, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+data.Nonce+"'; script-src 'nonce-"+data.Nonce+"'; connect-src 'self'; img-src https: data:; base-uri 'none'; frame-ancestors 'none'")
	_, _ = w.Write(out.Bytes())
}

// pageData gathers what a user sees at a place; s.mu is held.
func (s *Server) pageData(u *User, at string) *pageData {
	d := &pageData{Team: s.team, User: *u, Place: at, News: s.news[u.ID], Flash: s.flashes[u.ID], App: s.apps[0].App, Nonce: randomHex(8)}
	for _, id := range s.userOrder {
		if x := s.users[id]; !x.Bot && !x.Deleted {
			d.Users = append(d.Users, *x)
		}
	}
	p := &Person{s, u.ID}
	for _, id := range s.chanOrder {
		ch := s.channels[id]
		if !ch.has(u.ID) {
			continue
		}
		if d.Place == "" {
			d.Place = id
		}
		name := ch.Name
		if ch.dm {
			name = s.otherName(ch, u.ID)
		}
		d.Places = append(d.Places, pagePlace{id, name, ch.dm, ch.Private, ch.Shared, id == d.Place})
		if id == d.Place {
			d.Title, d.CanWrite = name, !ch.Archived && !(ch.dm && s.readOnlyTab(ch))
			d.Messages = s.pageMessages(p, ch, d)
		}
	}
	if d.Place == "home" {
		d.Title = "Home"
		if v := s.homes[u.ID+" "+s.apps[0].ID]; v != nil {
			d.Home = s.pageView(v, d)
		}
	}
	if stack := s.stacks[u.ID]; len(stack) > 0 {
		d.Modal = s.pageView(stack[len(stack)-1], d)
		d.Modal.Under = len(stack) - 1
	}
	return d
}

func (s *Server) pageView(v *View, d *pageData) *pageView {
	return &pageView{View: v.clone(), Values: s.stateValues(v.User, v.ID, v.Blocks), Page: d}
}

func (s *Server) otherName(ch *channel, user string) string {
	for _, m := range ch.Members {
		if u := s.users[m]; m != user && u != nil {
			return u.RealName
		}
	}
	return ch.ID
}

// pageMessages are a channel's messages with their threads under them.
func (s *Server) pageMessages(p *Person, ch *channel, d *pageData) []pageMessage {
	var out []pageMessage
	at := map[string]int{}
	tz := location(d.User.TZ)
	for _, m := range ch.messages {
		if !p.sees(ch, m) {
			continue
		}
		pm := pageMessage{
			Message: m.clone(), App: m.BotID != "", At: m.SentAt.In(tz).Format("15:04"), Page: d,
			Values: s.stateValues(p.ID, m.Channel+"/"+m.TS, m.Blocks), Author: m.User,
		}
		if u := s.users[m.User]; u != nil {
			pm.Author = u.RealName
		}
		if i, ok := at[m.ThreadTS]; ok && m.IsReply() {
			out[i].Replies = append(out[i].Replies, pm)
			continue
		}
		at[m.TS] = len(out)
		out = append(out, pm)
	}
	return out
}

// doPage does what a form of the page asks for, as its person.
func (s *Server) doPage(w http.ResponseWriter, r *http.Request) {
	user, at, do := r.PathValue("user"), r.PathValue("place"), r.PathValue("do")
	s.mu.Lock()
	u := s.users[user]
	s.mu.Unlock()
	if u == nil || u.Bot {
		http.NotFound(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "not a form", http.StatusBadRequest)
		return
	}
	p := &Person{s, user}
	back := "/as/" + user + "/" + at
	f := flash{}
	switch err := p.doForm(r.Context(), at, do, r.Form, &f); {
	case err != nil && f.Errors == nil:
		f.Notice = strings.TrimPrefix(err.Error(), "fakeslack: ")
	case do == "home":
		back = "/as/" + user + "/home"
	case do == "messages":
		back = "/as/" + user + "/" + p.DM()
	}
	s.locked(func() { s.flashes[user] = f })
	if to, err := url.Parse(r.Form.Get("url")); err == nil && (to.Scheme == "https" || to.Scheme == "http") && do == "click" && f.Notice == "" {
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// doForm does one thing.
func (p *Person) doForm(ctx context.Context, at, do string, form url.Values, f *flash) error {
	get := form.Get
	var opts []Option
	if b := get("block"); b != "" {
		opts = append(opts, InBlock(b))
	}
	var err error
	switch do {
	case "say":
		text := strings.TrimSpace(get("text"))
		switch {
		case text == "":
		case strings.HasPrefix(text, "/"):
			_, err = p.Slash(ctx, at, text)
		default:
			_, err = p.Reply(at, get("thread"), strings.ReplaceAll(text, "\r\n", "\n"))
		}
	case "click":
		if id := get("view"); id != "" {
			_, err = p.ClickView(ctx, id, get("action"), opts...)
		} else {
			_, err = p.Click(ctx, at, get("ts"), get("action"), opts...)
		}
	case "select":
		err = p.selectForm(ctx, at, form, opts)
	case "react":
		err = p.React(at, get("ts"), get("name"))
	case "home":
		p.OpenHome()
	case "messages":
		p.OpenMessages()
	case "modal":
		err = p.modalForm(ctx, form, f)
	default:
		err = fmt.Errorf("%w: %s", ErrGone, do)
	}
	return err
}

// selectForm is a choice in a message or in the Home tab.
func (p *Person) selectForm(ctx context.Context, at string, form url.Values, opts []Option) error {
	var value any
	for name, vals := range form {
		if strings.HasPrefix(name, "f:") {
			value = p.formValue(form.Get("kind"), vals)
		}
	}
	if id := form.Get("view"); id != "" {
		_, err := p.SelectView(ctx, id, form.Get("action"), value, opts...)
		return err
	}
	_, err := p.Select(ctx, at, form.Get("ts"), form.Get("action"), value, opts...)
	return err
}

// formValue is what a form field means to an element. An unchecked box is
// absent, so each field also sends an empty value.
func (p *Person) formValue(kind string, vals []string) any {
	vals = slices.DeleteFunc(slices.Clone(vals), func(v string) bool { return v == "" })
	switch {
	case isMulti(kind):
		return vals
	case len(vals) == 0:
		return nil
	case kind == "datetimepicker":
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		if t, err := time.ParseInLocation("2006-01-02T15:04", vals[0], location(p.s.users[p.ID].TZ)); err == nil {
			return t
		}
	}
	return strings.ReplaceAll(vals[0], "\r\n", "\n")
}

// modalForm is any button of a modal: what was entered is kept first.
func (p *Person) modalForm(ctx context.Context, form url.Values, f *flash) error {
	id := form.Get("view")
	values := map[string]any{}
	for name, vals := range form {
		if rest, ok := strings.CutPrefix(name, "f:"); ok {
			kind, key, _ := strings.Cut(rest, ":")
			values[key] = p.formValue(kind, vals)
		}
	}
	if form.Has("close") {
		return p.CloseView(ctx, id)
	}
	if form.Has("clear") {
		return p.CloseAll(ctx, id)
	}
	if act := form.Get("click"); act != "" {
		if err := p.enterForm(id, values); err != nil {
			return err
		}
		block, action, _ := strings.Cut(act, "/")
		_, err := p.ClickView(ctx, id, action, InBlock(block))
		return err
	}
	sub, err := p.SubmitView(ctx, id, values)
	if bad, ok := errors.AsType[Incomplete](err); ok {
		f.Errors = bad
	} else {
		f.Errors = sub.Errors
	}
	return err
}

// enterForm keeps what was entered in a modal without submitting it.
func (p *Person) enterForm(id string, values map[string]any) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	where, err := p.viewPlace(id)
	if err != nil {
		return err
	}
	return p.fillIn(where, values)
}

// serveNews answers when the person has something new to see, or after a while.
func (s *Server) serveNews(w http.ResponseWriter, r *http.Request) {
	user := r.PathValue("user")
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	now := after
	_ = s.wait(ctx, func() bool { now = s.news[user]; return now != after })
	w.Header().Set("Cache-Control", "no-store")
	_, _ = fmt.Fprint(w, now)
}

// servePermalink shows a message to the first person who may see it.
func (s *Server) servePermalink(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	ch := s.channels[r.PathValue("channel")]
	user := ""
	if ch != nil {
		for _, m := range ch.Members {
			if u := s.users[m]; u != nil && !u.Bot && user == "" {
				user = m
			}
		}
	}
	s.mu.Unlock()
	if user == "" {
		http.NotFound(w, r)
		return
	}
	http.Redirect(w, r, "/as/"+user+"/"+r.PathValue("channel")+"#"+r.PathValue("message"), http.StatusSeeOther)
}

// sortedKeys is for the template.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
