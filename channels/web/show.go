package web

import (
	"net/http"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// Rows on one page of the list.
const (
	openRows = 50
	pastRows = 20
)

func (c *Channel) showList(w http.ResponseWriter, r *http.Request) {
	s := c.session(r, "")
	if s == nil {
		c.signInPage(w, r)
		return
	}
	q := r.URL.Query()
	before, past := q.Get("before"), q.Get("past")
	p := &templates.ListPage{Page: c.base(s, ""), Paged: before != "" || past != ""}
	open, err := c.desk.List(r.Context(), s.Person, hub.ListQuery{Person: s.Person, Open: true, Before: before, Limit: openRows + 1})
	if err != nil {
		c.fail(w, r, "list", err)
		return
	}
	if len(open) > openRows {
		open = open[:openRows]
		p.MoreOpen = open[openRows-1].MessageID
	}
	p.Open = open
	if before == "" { // older open ones have a page to themselves
		if err := c.pastRows(r, s, past, p); err != nil {
			c.fail(w, r, "list", err)
			return
		}
	}
	if past != "" {
		p.Open, p.MoreOpen = nil, ""
	}
	c.render(w, r, http.StatusOK, "list", p)
}

// pastRows collects what is no longer open, over a few pages of everything at
// most: somebody with thousands of open messages still gets an answer.
func (c *Channel) pastRows(r *http.Request, s *session, before string, p *templates.ListPage) error {
	for range 5 {
		all, err := c.desk.List(r.Context(), s.Person, hub.ListQuery{Person: s.Person, Before: before, Limit: 100})
		if err != nil {
			return err
		}
		for _, card := range all {
			before = card.MessageID
			if card.Status == ma2h.Open {
				continue
			}
			if p.Past = append(p.Past, card); len(p.Past) == pastRows {
				p.MorePast = before
				return nil
			}
		}
		if len(all) < 100 {
			return nil
		}
	}
	p.MorePast = before
	return nil
}

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
	if r.URL.Query().Has("saved") && p.Card.Status == ma2h.Open {
		p.Notice = &templates.Notice{Good: true, Kind: "saved"}
	}
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

// item reads a message and lays it out for the page.
func (c *Channel) item(r *http.Request, s *session, id string) (*templates.ItemPage, error) {
	card, err := c.desk.Card(r.Context(), id, s.Person, hub.Page)
	if err != nil {
		return nil, err
	}
	p := &templates.ItemPage{
		Page: c.base(s, id), Card: card, Nonce: newID(), Action: itemPath(id), Steps: card.Checklist,
		Fields: formFields(card, s.person), Parts: parts(card.Context),
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

func parts(in []hub.CardPart) []templates.Part {
	var out []templates.Part
	for _, p := range in {
		switch {
		case p.File != nil:
			out = append(out, templates.Part{File: fileLink(p.File)})
		case len(p.Data) > 0:
			out = append(out, templates.DataPart(p.Data))
		default:
			out = append(out, templates.TextPart(p.Text, maxText))
		}
	}
	return out
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
