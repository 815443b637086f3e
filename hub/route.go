package hub

import (
	"path"
	"slices"
	"strings"

	"beckon/hub/ma2h"
)

// routeOf returns the first route that takes the message. The config makes
// sure that the last one takes everything; a directory without routes reaches
// nobody.
func (d *Directory) routeOf(e *ma2h.Envelope) *Route {
	for i := range d.Routes {
		if d.Routes[i].Match.matches(e) {
			return &d.Routes[i]
		}
	}
	return &Route{Name: "none"}
}

func (m *Match) matches(e *ma2h.Envelope) bool {
	if m == nil {
		return true
	}
	if !anyGlob(m.Agent, e.Agent.ID) || !anyGlob(m.Project, e.Agent.Project) || !anyGlob(m.Runtime, e.Agent.Runtime) {
		return false
	}
	if m.Type != nil && !slices.Contains(m.Type, e.Type) {
		return false
	}
	if m.Priority != nil && !slices.Contains(m.Priority, priorityOf(e)) {
		return false
	}
	if m.Tags != nil && !slices.ContainsFunc(e.Tags, func(tag string) bool { return anyGlob(m.Tags, tag) }) {
		return false
	}
	for name, pattern := range m.Labels {
		v, ok := e.Agent.Labels[name]
		if !ok || !anyGlob([]string{pattern}, v) {
			return false
		}
	}
	return true
}

// anyGlob reports whether s matches one of the patterns; nil matches all.
func anyGlob(patterns []string, s string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, s)
		return ok && err == nil // the config has checked the pattern
	})
}

func priorityOf(e *ma2h.Envelope) ma2h.Priority {
	if e.Priority == "" {
		return ma2h.Normal
	}
	return e.Priority
}

// Plan decides who may answer a message and where it goes.
func (d *Directory) Plan(e *ma2h.Envelope) Plan {
	p := d.planOf(d.routeOf(e))
	if e.Type != ma2h.Notify {
		p.Warnings = d.warnings(e, &p)
	} else if len(p.Targets) == 0 {
		p.Warnings = []string{"route " + p.Route + " posts this notify nowhere"}
	}
	return p
}

// planOf is what a route says for every message that takes it.
func (d *Directory) planOf(r *Route) Plan {
	p := Plan{Route: r.Name, OnAway: r.OnAway}
	if !r.Submitter && !d.ResolversSubmitter {
		p.Ask = r.Ask
	}
	seen := map[Target]bool{}
	for i, entry := range r.Post {
		for _, t := range entry.Targets {
			if !seen[t] { // the earliest entry wins
				seen[t] = true
				p.Targets = append(p.Targets, Planned{Target: t, Entry: i, After: entry.After})
			}
		}
	}
	return p
}

// warnings says why nobody who is reached may resolve a message, or that there
// is nothing that they may do.
func (d *Directory) warnings(e *ma2h.Envelope, p *Plan) []string {
	var out []string
	if r := e.Request; r != nil && !allowed(r.Permissions, (*ma2h.Permissions).Respond) && !allowed(r.Permissions, (*ma2h.Permissions).Ignore) {
		out = append(out, "permissions allow neither an answer nor a decline: nobody can end this ask but its agent and its expiry")
	}
	return append(out, d.unreached(e, p)...)
}

func (d *Directory) unreached(e *ma2h.Envelope, p *Plan) []string {
	allowed := allowedResolvers(e)
	switch {
	case allowed != nil && len(allowed) == 0:
		return []string{"allowed_resolvers is empty: nobody may resolve this message"}
	case allowed == nil && p.Ask == nil:
		return []string{"only the submitting agent may resolve this message: route " + p.Route + " has no ask"}
	}
	people := d.resolvers(e, p)
	if slices.ContainsFunc(allowed, d.isAgent) {
		return nil // agents reach the hub by themselves
	}
	if len(people) == 0 {
		return []string{"nobody in the directory may resolve this message"}
	}
	reached := slices.ContainsFunc(p.Targets, func(t Planned) bool {
		return t.Place != "" || slices.Contains(people, t.Person)
	})
	if !reached {
		return []string{"route " + p.Route + " posts to nobody who may resolve this message"}
	}
	return nil
}

// isAgent reports whether an actor is an agent that has a credential.
func (d *Directory) isAgent(actor string) bool {
	id, ok := cutActor(actor, "agent:")
	return ok && d.Agents[id] != nil
}

// allowedResolvers is nil when the agent named none.
func allowedResolvers(e *ma2h.Envelope) []string {
	switch {
	case e.Request != nil:
		return e.Request.AllowedResolvers
	case e.Action != nil:
		return e.Action.AllowedResolvers
	}
	return nil
}

// mayResolve is the one place that says who may resolve a message (spec §9.1;
// the route's ask is our declared deviation). Whoever has left the directory
// may not.
func (d *Directory) mayResolve(e *ma2h.Envelope, p *Plan, actor string) bool {
	person, human := strings.CutPrefix(actor, "human:")
	if human && d.People[person] == nil {
		return false
	}
	if allowed := allowedResolvers(e); allowed != nil {
		return slices.Contains(allowed, actor)
	}
	if p.Ask != nil {
		return human && slices.Contains(p.Ask, person)
	}
	return actor == "agent:"+e.Agent.ID
}

// resolvers lists the people of the directory who may resolve a message, in the
// order that they were named.
func (d *Directory) resolvers(e *ma2h.Envelope, p *Plan) []string {
	named := p.Ask
	if allowed := allowedResolvers(e); allowed != nil {
		named = make([]string, 0, len(allowed))
		for _, a := range allowed {
			if id, ok := strings.CutPrefix(a, "human:"); ok {
				named = append(named, id)
			}
		}
	}
	var ids []string
	for _, id := range named {
		if d.People[id] != nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// askedOf names the people who may answer.
func (d *Directory) askedOf(m *Message) []string {
	var names []string
	for _, id := range d.resolvers(m.Envelope, &m.Plan) {
		names = append(names, d.People[id].Name)
	}
	return names
}

// askedTeam names the team whose members are the people who may answer, no more
// and no fewer; "" when there is none, or more than one.
func (d *Directory) askedTeam(m *Message) string {
	ids := slices.Sorted(slices.Values(d.resolvers(m.Envelope, &m.Plan)))
	if len(ids) < 2 {
		return ""
	}
	found := ""
	for name, members := range d.Teams {
		if len(members) != len(ids) || !slices.Equal(slices.Sorted(slices.Values(members)), ids) {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// audience lists the people whose list shows a message: those who may resolve
// it and those who get a copy.
func (d *Directory) audience(e *ma2h.Envelope, p *Plan) []string {
	var ids []string
	if e.Type != ma2h.Notify {
		ids = d.resolvers(e, p)
	}
	for _, t := range p.Targets {
		if d.People[t.Person] != nil && !slices.Contains(ids, t.Person) {
			ids = append(ids, t.Person)
		}
	}
	return ids
}

// agentResolvers lists the other agents of the directory that may resolve a
// message, as actors.
func (d *Directory) agentResolvers(m *Message) []string {
	var actors []string
	for _, a := range allowedResolvers(m.Envelope) {
		if d.isAgent(a) && a != "agent:"+m.AgentID && !slices.Contains(actors, a) {
			actors = append(actors, a)
		}
	}
	return actors
}

// inAudience reports whether a person may look at a message at all.
func (d *Directory) inAudience(m *Message, person string) bool {
	return slices.Contains(d.audience(m.Envelope, &m.Plan), person)
}
