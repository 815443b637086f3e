package web

import (
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
	c.render(w, r, http.StatusOK, "list", p)
}

// sections reads what the view shows.
func (c *Channel) sections(ctx context.Context, s *session, v *listView) ([]templates.Section, error) {
	var out []templates.Section
	add := func(kind, pageBy string, q hub.ListQuery, n int, keep func(*hub.Card) bool) error {
		q.Person = s.Person
		t, next, err := c.scan(ctx, q, n, v, keep)
		if err != nil {
			return err
		}
		t.Kind = kind
		if next != "" {
			t.More = v.path(pageBy, next)
		}
		out = append(out, t)
		return nil
	}
	any := func(*hub.Card) bool { return true }
	switch v.show {
	case "answered":
		me := s.person.Actor()
		return out, add("answered", "before", hub.ListQuery{Before: v.before}, listRows, func(c *hub.Card) bool {
			return c.Decision != nil && c.Decision.Actor == me
		})
	case "all":
		return out, add("all", "before", hub.ListQuery{Before: v.before}, listRows, any)
	}
	first := v.before+v.others+v.past == "" // each section's later pages stand alone
	if first || v.before != "" {
		mine := func(c *hub.Card) bool { return c.MayAnswer }
		if err := add("open", "before", hub.ListQuery{Open: true, Before: v.before}, listRows, mine); err != nil {
			return nil, err
		}
	}
	if first || v.others != "" {
		others := func(c *hub.Card) bool { return !c.MayAnswer }
		if err := add("others", "others", hub.ListQuery{Open: true, Before: v.others}, lessRows, others); err != nil {
			return nil, err
		}
	}
	if (first || v.past != "") && v.show == "" {
		ended := func(c *hub.Card) bool { return c.Status != ma2h.Open }
		if err := add("past", "past", hub.ListQuery{Before: v.past}, lessRows, ended); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scan collects n cards that the view and keep let through, and says where the
// next page begins, if there is one. It gives up after maxScan cards and says
// so: the next page goes on from there.
func (c *Channel) scan(ctx context.Context, q hub.ListQuery, n int, v *listView, keep func(*hub.Card) bool) (t templates.Section, next string, err error) {
	q.Limit = scanRows
	for t.Looked < maxScan {
		cards, err := c.desk.List(ctx, q.Person, q)
		if err != nil {
			return t, "", err
		}
		for _, card := range cards {
			v.see(card)
		}
		for _, card := range cards {
			if q.Before = card.MessageID; !keep(card) || !v.keeps(card) {
				continue
			}
			if len(t.Rows) == n {
				t.Looked = 0
				return t, t.Rows[n-1].MessageID, nil
			}
			t.Rows = append(t.Rows, card)
		}
		t.Looked += len(cards)
		if len(cards) < scanRows {
			t.Looked = 0
			return t, "", nil
		}
	}
	return t, q.Before, nil
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
