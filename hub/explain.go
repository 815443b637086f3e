package hub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"beckon/hub/ma2h"
)

// Reach says who may resolve a message and who is told, where and when.
type Reach struct {
	Route     string   // its name or position
	May       []string // ids of the people who may resolve it, in the order that they were named
	MayAgents []string // and of agents
	Submitter bool     // only the agent that sent it may
	Notify    bool     // there is nothing to resolve
	Steps     []Step
	Warnings  []string
}

// Step is what goes out at one time. It waits for After, or for every step
// before it to have failed for good.
type Step struct {
	After   time.Duration // 0: at once
	Targets []Target
}

// ExplainRoute says what a route does with the messages that take it, as far as
// that does not depend on the message.
func (d *Directory) ExplainRoute(r *Route) Reach {
	p := d.planOf(r)
	out := Reach{Route: p.Route, Submitter: p.Ask == nil, Steps: steps(p.Targets)}
	for _, id := range p.Ask {
		if d.People[id] != nil {
			out.May = append(out.May, id)
		}
	}
	if r.Match != nil && r.Match.Type != nil && !slices.ContainsFunc(r.Match.Type, func(t ma2h.Type) bool { return t != ma2h.Notify }) {
		out.Notify, out.Submitter, out.May = true, false, nil
		return out
	}
	reached := slices.ContainsFunc(p.Targets, func(t Planned) bool {
		return t.Place != "" || slices.Contains(p.Ask, t.Person)
	})
	switch {
	case out.Submitter && !r.Submitter && !d.ResolversSubmitter && len(p.Targets) > 0:
		out.Warnings = append(out.Warnings, "whoever is told can't answer: only the submitting agent may, unless the message names others (give the route an ask)")
	case !out.Submitter && !reached:
		out.Warnings = append(out.Warnings, "nobody who may answer is told")
	}
	return out
}

func steps(targets []Planned) (out []Step) {
	entry := -1
	for _, t := range targets {
		if t.Entry != entry {
			entry = t.Entry
			out = append(out, Step{After: t.After})
		}
		last := &out[len(out)-1]
		last.Targets = append(last.Targets, t.Target)
	}
	return out
}

// Explanation is what would become of an envelope.
type Explanation struct {
	Reach
	Version string // that the message declares
	Card    *Card  // as a shared place would get it: secrets masked and counted, title only when sensitive
}

// Explain judges an envelope as [Hub.Submit] does, and says what would become
// of it. It stores nothing, tells nobody, and looks neither for an earlier
// submit with the same key nor at the agent's open messages. Errors are those of
// Submit.
func (h *Hub) Explain(agent *Agent, raw []byte) (*Explanation, error) {
	d := h.Directory()
	if err := d.checkSize(raw); err != nil {
		return nil, err
	}
	m, err := h.read(d, agent, raw, now())
	if err != nil {
		return nil, err
	}
	e := m.Envelope
	out := &Explanation{
		Version: e.Version, Card: d.card(m, nil, Export),
		Reach: Reach{Route: m.Plan.Route, Steps: steps(m.Plan.Targets), Warnings: m.Plan.Warnings},
	}
	if out.Notify = e.Type == ma2h.Notify; out.Notify {
		return out, nil
	}
	out.May = d.resolvers(e, &m.Plan)
	allowed := allowedResolvers(e)
	out.Submitter = allowed == nil && m.Plan.Ask == nil
	for _, a := range allowed {
		if id, ok := cutActor(a, "agent:"); ok {
			out.MayAgents = append(out.MayAgents, id)
		}
	}
	return out, nil
}

// Words says in words which messages match: "ask and task messages from
// deploybot/*, with priority high or urgent".
func (m *Match) Words() string {
	if m == nil {
		return "every message"
	}
	what := "messages"
	if m.Type != nil {
		kinds := make([]string, len(m.Type))
		for i, t := range m.Type {
			kinds[i] = string(t)
		}
		what = list(kinds, "and") + " messages"
	}
	if m.Agent != nil {
		what += " from " + list(m.Agent, "or")
	}
	var with []string
	add := func(name string, values []string) {
		if values != nil {
			with = append(with, name+" "+list(values, "or"))
		}
	}
	add("project", m.Project)
	var priorities []string
	for _, p := range m.Priority {
		priorities = append(priorities, string(p))
	}
	add("priority", priorities)
	add("tag", m.Tags)
	add("runtime", m.Runtime)
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		with = append(with, fmt.Sprintf("label %s=%s", name, m.Labels[name]))
	}
	if with == nil {
		return what
	}
	return what + ", with " + strings.Join(with, ", ")
}

// list joins words: "a", "a or b", "a, b or c".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
