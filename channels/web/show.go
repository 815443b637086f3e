package web

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

func (c *Channel) showItem(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s := c.session(r, id)
	if s == nil {
		c.signInPage(w, r)
		return
	}
	p, err := c.item(r, s, id)
	if err != nil {
		c.itemError(w, r, err)
		return
	}
	p.Notice = flash(r.URL.Query(), p.Card, s.person)
	c.render(w, r, http.StatusOK, "item", p)
}

func (c *Channel) itemError(w http.ResponseWriter, r *http.Request, err error) {
	switch hub.CodeOf(err) {
	case ma2h.CodeNotFound, ma2h.CodeGone, ma2h.CodeNotAuthorized:
		c.problem(http.StatusNotFound, "not-found")(w, r)
	default:
		c.fail(w, r, "card", err)
	}
}

// flashFor is how long after an answer its page says that it is recorded, when
// the address still asks for it.
const flashFor = 2 * time.Minute

// flash says what has just been recorded. The address asks for it after a form
// was accepted, and changes nothing by that: it only shows what is true.
func flash(q url.Values, card *hub.Card, who *hub.Person) *templates.Notice {
	d := card.Decision
	switch {
	case q.Has("told") && card.MayDirect:
		return &templates.Notice{Good: true, Text: "Passed on to " + templates.Line(card.AgentID) + ". It gets this when it next looks into its inbox."}
	case q.Has("recorded") && d != nil && d.Actor == who.Actor() && time.Since(d.At) < flashFor:
		return &templates.Notice{Good: true, Kind: "recorded"}
	case q.Has("saved") && card.Status == ma2h.Open:
		return &templates.Notice{Good: true, Kind: "saved"}
	}
	return nil
}

// live is what keeps a page up to date.
func live(self, watch, revision string) templates.Live {
	return templates.Live{Self: self, Watch: watch, Revision: revision, Now: time.Now()}
}

// item reads a message and lays it out for the page.
func (c *Channel) item(r *http.Request, s *session, id string) (*templates.ItemPage, error) {
	card, err := c.desk.Card(r.Context(), id, s.Person, hub.Page)
	if err != nil {
		return nil, err
	}
	path := itemPath(id)
	p := &templates.ItemPage{
		Page: c.base(s, id), Card: card, Nonce: newID(), Action: path, Steps: card.Checklist,
		Fields: formFields(card, s.person), Parts: parts(card.Context, path),
	}
	p.Live = live(path, "", itemRevision(card))
	if !settled(card) {
		p.Watch = path + "/watch"
	}
	if card.MayDirect && !card.Hidden {
		p.Tell = &templates.TellForm{Agent: card.AgentID, Seen: c.seen(r, card.AgentID)}
	}
	if card.Status != ma2h.Open && card.Decision != nil && card.Decision.Checklist != nil {
		p.Steps = card.Decision.Checklist
	}
	events, err := c.desk.History(r.Context(), id, s.Person)
	if err != nil {
		// The history is small print: the question is more important.
		c.log.WarnContext(r.Context(), "read history", "message", id, "err", err)
	}
	p.History = templates.History(events, c.desk.Directory(), s.person)
	return p, nil
}

// maxText is how many runes of a text part the page shows.
const maxText = 100_000

func parts(in []hub.CardPart, path string) []templates.Part {
	out := make([]templates.Part, 0, len(in))
	for i, p := range in {
		var t templates.Part
		switch {
		case p.File != nil:
			t.File = fileLink(p.File)
		case len(p.Data) > 0:
			t = templates.DataPart(p.Data)
		default:
			t = templates.TextPart(p.Text, maxText)
		}
		if t.Cut {
			t.Raw = path + "/part/" + strconv.Itoa(i+1)
		}
		out = append(out, t)
	}
	return out
}

// showPart shows all of a piece of context as plain text: what the page cuts
// is one click away.
func (c *Channel) showPart(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s := c.session(r, id)
	if s == nil {
		c.signInPage(w, r)
		return
	}
	card, err := c.desk.Card(r.Context(), id, s.Person, hub.Page)
	if err != nil {
		c.itemError(w, r, err)
		return
	}
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 1 || n > len(card.Context) || card.Context[n-1].File != nil || card.Hidden {
		c.problem(http.StatusNotFound, "not-found")(w, r)
		return
	}
	text := card.Context[n-1].Text
	if data := card.Context[n-1].Data; len(data) > 0 {
		pretty := slices.Clone(data)
		if pretty.Indent() != nil {
			pretty = data
		}
		text = string(pretty)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, templates.Text(text)) //nolint:gosec // plain text, and the browser may not guess otherwise
	}
}

func fileLink(f *ma2h.File) *templates.FileLink {
	l := &templates.FileLink{Name: templates.Line(f.Name), Type: templates.Line(f.MimeType)}
	if href, host, ok := templates.SafeURL(f.URI); ok {
		l.Href, l.Host = href, host
	}
	if l.Name == "" {
		l.Name, _ = templates.Cut(templates.Line(f.URI), 120)
	}
	return l
}
