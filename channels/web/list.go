package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// Rows on one page of the list.
const (
	listRows = 50
	lessRows = 20 // of what does not wait for the reader
)

const (
	scanRows = 100  // read at a time
	maxScan  = 1000 // read for one page at most: a search that finds little still ends
	// maxFacets is how many values a filter offers.
	maxFacets = 200
)

// facets are what the list can be filtered by.
var facets = []struct {
	name, label string
	of          func(*hub.Card) []string
}{
	{"agent", "Agent", func(c *hub.Card) []string { return []string{c.AgentID} }},
	{"project", "Project", func(c *hub.Card) []string { return []string{c.Project} }},
	{"tag", "Tag", func(c *hub.Card) []string { return c.Tags }},
	{"priority", "Priority", func(c *hub.Card) []string { return []string{string(c.Priority)} }},
}

// listView is what a request wants to see of a person's list.
type listView struct {
	show string
	by   map[string]string // facet to value; what is not set is not there
	// Where a later page of a section begins; at most one is set.
	before, others, past string
	seen                 map[string]map[string]bool
}

func readView(q url.Values) *listView {
	v := &listView{before: q.Get("before"), others: q.Get("others"), past: q.Get("past"), by: map[string]string{}, seen: map[string]map[string]bool{}}
	if show := q.Get("show"); slices.Contains(templates.Shows(), show) {
		v.show = show
	}
	for _, f := range facets {
		v.seen[f.name] = map[string]bool{}
		if s := q.Get(f.name); s != "" {
			v.by[f.name] = s
			v.seen[f.name][s] = true
		}
	}
	return v
}

// path leads to the same view with something changed; an empty value is left
// out. It begins with the newest unless a change says otherwise.
func (v *listView) path(change ...string) string {
	q := url.Values{}
	if v.show != "" {
		q.Set("show", v.show)
	}
	for name, s := range v.by {
		q.Set(name, s)
	}
	for i := 0; i+1 < len(change); i += 2 {
		q.Set(change[i], change[i+1])
		if change[i+1] == "" {
			q.Del(change[i])
		}
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

// keeps reports whether the filters let a card through.
func (v *listView) keeps(c *hub.Card) bool {
	for _, f := range facets {
		if want, ok := v.by[f.name]; ok && !slices.Contains(f.of(c), want) {
			return false
		}
	}
	return true
}

// see remembers what the filters may offer.
func (v *listView) see(c *hub.Card) {
	for _, f := range facets {
		for _, s := range f.of(c) {
			if s != "" && len(v.seen[f.name]) < maxFacets {
				v.seen[f.name][s] = true
			}
		}
	}
}

func (v *listView) filters() []templates.Filter {
	var out []templates.Filter
	for _, f := range facets {
		chosen := v.by[f.name]
		if len(v.seen[f.name]) < 2 && chosen == "" {
			continue // there is nothing to choose
		}
		values := slices.Sorted(maps.Keys(v.seen[f.name]))
		if f.name == "priority" {
			slices.SortStableFunc(values, func(a, b string) int { return urgency(a) - urgency(b) })
		}
		t := templates.Filter{Name: f.name, Label: f.label, Choices: []templates.Choice{{Label: "Any", Chosen: chosen == ""}}}
		for _, s := range values {
			t.Choices = append(t.Choices, templates.Choice{Value: s, Label: s, Chosen: s == chosen})
		}
		out = append(out, t)
	}
	return out
}

func urgency(p string) int {
	return slices.Index([]ma2h.Priority{ma2h.Urgent, ma2h.High, ma2h.Normal, ma2h.Low}, ma2h.Priority(p))
}

func (v *listView) tabs() []templates.Link {
	var out []templates.Link
	for _, t := range []struct{ show, label string }{{"", "Waiting"}, {"answered", "Answered by you"}, {"all", "All"}} {
		current := v.show == t.show || v.show == "open" && t.show == ""
		out = append(out, templates.Link{Label: t.label, Href: v.path("show", t.show), Current: current})
	}
	return out
}

func (c *Channel) showList(w http.ResponseWriter, r *http.Request) {
	s := c.session(r, "")
	if s == nil {
		c.signInPage(w, r)
		return
	}
	v := readView(r.URL.Query())
	// The revision comes first: what changes in between is told again.
	revision, err := c.listRevision(r.Context(), s.Person)
	if err != nil {
		c.fail(w, r, "list", err)
		return
	}
	p := &templates.ListPage{
		Page: c.base(s, ""), Show: v.show, Tabs: v.tabs(), Filtered: len(v.by) > 0,
		Clear: v.path("agent", "", "project", "", "tag", "", "priority", ""), Newest: v.path(), Paged: v.before+v.others+v.past != "",
	}
	p.Live = live(v.path("before", v.before, "others", v.others, "past", v.past), "/watch", revision)
	if p.Sections, err = c.sections(r.Context(), s, v); err != nil {
		c.fail(w, r, "list", err)
		return
	}
	p.Filters = v.filters()
	p.MayTell = len(c.desk.DirectableAgents(s.Person)) > 0
	c.render(w, r, http.StatusOK, "list", p)
}

// sections reads what the view shows.
func (c *Channel) sections(ctx context.Context, s *session, v *listView) ([]templates.Section, error) {
	one := &scan{kind: "all", rows: listRows, query: hub.ListQuery{Before: v.before}}
	switch {
	case v.show == "all":
	case v.show == "answered":
		me := s.person.Actor()
		one.kind = v.show
		one.keep = func(c *hub.Card) bool { return c.Decision != nil && c.Decision.Actor == me }
	case v.past != "":
		one = pastScan(v.past)
	case v.others != "":
		one = othersScan(v.others)
	default:
		return c.waiting(ctx, s, v)
	}
	if err := one.read(ctx, c.desk, s.Person, v); err != nil {
		return nil, err
	}
	return []templates.Section{one.section(v)}, nil
}

// waiting reads what is open and, on the first page, what ended lately.
func (c *Channel) waiting(ctx context.Context, s *session, v *listView) ([]templates.Section, error) {
	open := &scan{
		kind: "open", rows: listRows, query: hub.ListQuery{Open: true, Before: v.before},
		keep: func(c *hub.Card) bool { return c.MayAnswer },
	}
	first := v.before == "" // each section's later pages stand alone
	others := othersScan("")
	if first {
		open.also = others // one reading serves both
	}
	if err := open.read(ctx, c.desk, s.Person, v); err != nil {
		return nil, err
	}
	out := []templates.Section{open.section(v)}
	if first && len(others.found) > 0 {
		out = append(out, others.section(v))
	}
	if first && v.show == "" {
		past := pastScan("")
		if err := past.read(ctx, c.desk, s.Person, v); err != nil {
			return nil, err
		}
		out = append(out, past.section(v))
	}
	return out, nil
}

func othersScan(before string) *scan {
	return &scan{
		kind: "others", pageBy: "others", rows: lessRows, query: hub.ListQuery{Open: true, Before: before},
		keep: func(c *hub.Card) bool { return !c.MayAnswer },
	}
}

func pastScan(before string) *scan {
	return &scan{
		kind: "past", pageBy: "past", rows: lessRows, query: hub.ListQuery{Before: before},
		keep: func(c *hub.Card) bool { return c.Status != ma2h.Open },
	}
}

// scan collects the rows of one section, a page of them at most.
type scan struct {
	kind   string
	pageBy string // the parameter of its later pages; "" is before
	rows   int
	query  hub.ListQuery
	keep   func(*hub.Card) bool // nil: all
	also   *scan                // takes what this one does not keep

	found  []*hub.Card
	more   bool   // there is another row, or there may be
	last   string // id of the last one looked at
	looked int
}

// take offers a card, and reports whether the page is full without it.
func (n *scan) take(card *hub.Card) (full bool) {
	if n.keep != nil && !n.keep(card) {
		if n.also != nil {
			n.also.take(card)
		}
		return false
	}
	if len(n.found) == n.rows {
		n.more = true
		return true
	}
	n.found = append(n.found, card)
	return false
}

// read looks through a person's messages until the page is full. It gives up
// after maxScan of them: the next page goes on from there.
func (n *scan) read(ctx context.Context, desk hub.Desk, person string, v *listView) error {
	q := n.query
	q.Person, q.Limit = person, scanRows
	for {
		cards, err := desk.List(ctx, person, q)
		if err != nil {
			return err
		}
		for _, card := range cards {
			v.see(card)
		}
		for _, card := range cards {
			if v.keeps(card) && n.take(card) {
				n.goesOn()
				return nil
			}
			q.Before, n.last = card.MessageID, card.MessageID
		}
		n.looked += len(cards)
		if len(cards) < scanRows {
			return nil
		}
		if n.looked >= maxScan {
			n.more = true
			n.goesOn()
			return nil
		}
	}
}

// goesOn says that the reading ended before the messages did.
func (n *scan) goesOn() {
	if n.also != nil {
		n.also.more, n.also.last = true, n.last
	}
}

func (n *scan) section(v *listView) templates.Section {
	t := templates.Section{Kind: n.kind, Rows: n.found}
	if !n.more {
		return t
	}
	next := n.last
	if len(n.found) == n.rows {
		next = n.found[n.rows-1].MessageID
	} else {
		t.Looked = n.looked
	}
	t.More = v.path(cmp.Or(n.pageBy, "before"), next)
	return t
}

// listRevision changes with what waits for a person, and with what came last.
func (c *Channel) listRevision(ctx context.Context, person string) (string, error) {
	h := sha256.New()
	for _, q := range []hub.ListQuery{{Person: person, Open: true, Limit: 2 * scanRows}, {Person: person, Limit: 1}} {
		cards, err := c.desk.List(ctx, person, q)
		if err != nil {
			return "", err
		}
		for _, card := range cards {
			fmt.Fprintf(h, "%s %s\n", card.MessageID, itemRevision(card))
		}
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9]), nil
}
