package config

import (
	"fmt"
	"maps"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"beckon/hub"
)

// What a message's type, priority and runtime may be (spec §4).
var (
	typeNames     = []string{"notify", "ask", "task"}
	priorityNames = []string{"low", "normal", "high", "urgent"}
	runtimeNames  = []string{"github-actions", "cli", "cloud", "desktop", "openclaw", "other"}
)

// router reads the routes.
type router struct {
	*Config
	factories map[string]hub.Factory
	names     []string        // of the channels that exist
	people    []string        // names of people and teams, for hints
	teams     map[string]bool // that a route uses
	reached   int             // people whom the routes name, teams expanded
}

// maxReached bounds what the routes expand to.
const maxReached = 100_000

func (c *Config) routes(f *file, factories []hub.Factory) {
	r := &router{Config: c, factories: make(map[string]hub.Factory), teams: make(map[string]bool)}
	for _, factory := range factories {
		r.factories[factory.Name] = factory
		r.names = append(r.names, factory.Name)
	}
	r.people = slices.AppendSeq(slices.Collect(maps.Keys(c.Directory.People)), maps.Keys(c.Directory.Teams))

	r.directives(f)

	p := path{}.key("routes")
	n := c.find(p)
	switch {
	case n == nil:
		c.errorf(p, "is missing: without a route nobody is told anything; the last one takes what no other does")
		return
	case n.Kind != yaml.SequenceNode:
		return // reported by the decoder
	case len(n.Content) == 0:
		c.errorf(p, "is empty: the last route takes what no other does")
		return
	}
	names := make(map[string]int)
	for i := range f.Routes {
		c.Directory.Routes = append(c.Directory.Routes, r.route(p.at(i), &f.Routes[i], f.Resolvers == "submitter"))
		if name := f.Routes[i].Name; name != "" {
			if first, twice := names[name]; twice {
				c.errorf(p.at(i).key("name"), "is the name of routes[%d] too", first)
			} else {
				names[name] = i
			}
		}
	}
	last := p.at(len(f.Routes) - 1)
	if f.Routes[len(f.Routes)-1].Match != nil {
		c.errorf(last.key("match"), "the last route must have no match, so that every message has a route")
	}
	r.neverMatches(p)
	r.unusedTeams()
}

func (r *router) route(p path, in *routeFile, submitter bool) hub.Route {
	out := hub.Route{Name: in.Name, Submitter: submitter}
	r.notEmpty(p.key("name"), in.Name)
	r.notEmpty(p.key("resolvers"), in.Resolvers)
	if out.Name == "" {
		out.Name = p.String()
	} else if !printable(out.Name) {
		r.errorf(p.key("name"), "must be plain text of at most 100 letters")
	}
	switch in.Resolvers {
	case "":
	case "submitter":
		out.Submitter = true
	default:
		r.errorf(p.key("resolvers"), "must be submitter, or left out%s", hint(in.Resolvers, []string{"submitter"}))
	}
	r.notEmpty(p.key("on_away"), in.OnAway)
	switch in.OnAway {
	case "":
	case "escalate":
		out.OnAway = true
		if len(in.Post) == 1 {
			r.warnf(p.key("on_away"), "has no effect: post has no further entry to go to")
		}
	default:
		r.errorf(p.key("on_away"), "must be escalate, or left out%s", hint(in.OnAway, []string{"escalate"}))
	}
	if in.Match != nil {
		out.Match = r.match(p.key("match"), in.Match)
	}
	if n := r.find(p.key("ask")); n != nil {
		out.Ask = r.expand(p.key("ask"), n, in.Ask, "only the submitter may resolve")
		if out.Submitter {
			r.warnf(p.key("ask"), "has no effect with resolvers: submitter")
		}
	}
	out.Post = r.post(p.key("post"), in.Post)
	if len(out.Post) == 0 && r.find(p.key("post")) == nil {
		r.warnf(p, "posts nowhere")
	}
	return out
}

// directives reads who may write to which agent, and the key that signs it.
func (r *router) directives(f *file) {
	root := path{}.key("agents")
	for _, id := range slices.Sorted(maps.Keys(r.Directory.Agents)) {
		p, in, agent := root.key(id), f.Agents[id], r.Directory.Agents[id]
		r.notEmpty(p.key("sign"), in.Sign)
		sign, names := strings.TrimPrefix(in.Sign, "env:"), secretNames(in)
		wrong := sign != "" && !r.signer(p.key("sign"), sign, names)
		if i := slices.IndexFunc(agent.Callbacks, func(h hub.CallbackHost) bool { return h.Sign != hub.SignEd25519 }); sign == "" && i >= 0 {
			sign = agent.Callbacks[i].Sign
		}
		if sign == "" && len(names) == 1 {
			sign = names[0]
		}
		agent.InboxKey = agent.Secrets[sign]
		n := r.find(p.key("directives"))
		if n == nil {
			continue
		}
		agent.Directors = r.expand(p.key("directives"), n, in.Directives, "nobody may write to the agent")
		switch {
		case len(agent.Directors) == 0, sign != "", wrong:
		case len(names) == 0:
			r.errorf(p.key("directives"), "what people write is signed, and the agent has no secret: set secrets, and sign if they are several")
		default:
			r.errorf(p.key("sign"), "is missing: which of the secrets (%s) signs what people write to the agent?", strings.Join(names, ", "))
		}
	}
}

// expand expands teams, in order, each person once.
func (r *router) expand(p path, n *yaml.Node, names []string, otherwise string) []string {
	out := []string{} // not nil: the route does say who
	seen := make(map[string]bool)
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.errorf(p, "is empty: name people or teams, or leave it out so that %s", otherwise)
	}
	for i, name := range names {
		q := p
		if n.Kind == yaml.SequenceNode {
			q = p.at(i)
		}
		if name == "" {
			if item := r.find(q); item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" {
				r.errorf(q, "is empty")
			}
			continue
		}
		for _, person := range r.members(q, name) {
			if !seen[person] {
				seen[person] = true
				out = append(out, person)
			}
		}
	}
	return out
}

// members expands a person or team, and reports a name that is neither.
func (r *router) members(p path, name string) []string {
	if _, team := r.Directory.Teams[name]; team {
		r.teams[name] = true
	}
	m := r.Directory.Members(name)
	if r.reached += len(m); r.reached > maxReached {
		if r.reached-len(m) <= maxReached {
			r.errorf(p, "routes name more than %d people in all, teams counted by their members", maxReached)
		}
		return nil
	}
	if m == nil && r.readable("people") && r.readable("teams") {
		r.errorf(p, "no person or team %q%s", name, r.nameHint(name, r.people))
	}
	return m
}

func (r *router) match(p path, in *matchFile) *hub.Match {
	out := &hub.Match{
		Agent:   r.patterns(p.key("agent"), in.Agent),
		Project: r.patterns(p.key("project"), in.Project),
		Runtime: r.patterns(p.key("runtime"), in.Runtime),
		Tags:    r.patterns(p.key("tags"), in.Tags),
		Labels:  in.Labels,
	}
	among(r, p.key("type"), in.Type, typeNames, &out.Type)
	among(r, p.key("priority"), in.Priority, priorityNames, &out.Priority)
	for key, pattern := range in.Labels {
		r.pattern(p.key("labels").key(key), pattern)
	}
	if n := r.find(p); null(n) || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		r.errorf(p, "is empty; leave match out of the last route, which takes everything")
	}
	if n := r.find(p.key("labels")); n != nil && n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		r.errorf(p.key("labels"), "is empty")
	}
	for _, key := range []string{"agent", "runtime", "tags"} {
		r.each(p.key(key), map[string][]string{"agent": in.Agent, "runtime": in.Runtime, "tags": in.Tags}[key], func(p path, v string) {
			if v == "" {
				r.errorf(p, "is empty, and would match nothing")
			}
		})
	}
	r.someMatch(p.key("agent"), out.Agent, slices.Collect(maps.Keys(r.Directory.Agents)), "no agent of this file matches")
	r.someMatch(p.key("runtime"), out.Runtime, runtimeNames, "no runtime matches; there are "+strings.Join(runtimeNames, ", "))
	return out
}

// each calls do for the values of a list that may be written as one value.
func (r *router) each(p path, values []string, do func(p path, value string)) {
	n := r.find(p)
	if n == nil {
		return
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.errorf(p, "is empty")
	}
	for i, v := range values {
		q := p
		if n.Kind == yaml.SequenceNode {
			q = p.at(i)
		}
		if item := r.find(q); item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" {
			do(q, v)
		}
	}
}

func (r *router) patterns(p path, values []string) (out []string) {
	r.each(p, values, func(p path, v string) {
		r.pattern(p, v)
		out = append(out, v)
	})
	return out
}

func (r *router) pattern(p path, v string) {
	if _, err := pathpkg.Match(v, ""); err != nil {
		r.errorf(p, "is not a pattern: a [ is not closed, or a \\ is at the end")
	} else if strings.ContainsAny(v, "{|(") || strings.Contains(v, "**") {
		r.warnf(p, "a pattern knows only *, ? and [a-z]; write several patterns as a list")
	}
}

// among reads values that must be of those that the protocol knows.
func among[T ~string](r *router, p path, values, names []string, out *[]T) {
	r.each(p, values, func(p path, v string) {
		if !slices.Contains(names, v) {
			r.errorf(p, "must be one of %s%s", strings.Join(names, ", "), hint(v, names))
			return
		}
		*out = append(*out, T(v))
	})
}

// someMatch warns of a pattern that matches none of what there is.
func (r *router) someMatch(p path, patterns, names []string, warning string) {
	r.each(p, patterns, func(p path, v string) {
		if len(r.Warnings) < maxErrors && !slices.ContainsFunc(names, func(name string) bool { ok, err := pathpkg.Match(v, name); return ok || err != nil }) {
			r.warnf(p, "%s", warning)
		}
	})
}

func (r *router) post(p path, in []map[string]scalar) (out []hub.Entry) {
	var before time.Duration
	for i := range in {
		q := p.at(i)
		n := r.find(q)
		if n.Kind != yaml.MappingNode {
			continue // reported by the decoder
		}
		e := hub.Entry{After: r.after(q.key("after"), in[i])}
		if e.After < before {
			r.errorf(q, "comes after an entry that waits longer; put it before that one")
		}
		before = max(before, e.After)
		channels, seen := 0, make(map[hub.Target]bool)
		for key := range pairs(n) {
			if key.Value == "after" {
				continue
			}
			channels++
			for _, t := range r.targets(key, q.key(key.Value), string(in[i][key.Value])) {
				if !seen[t] {
					seen[t] = true
					e.Targets = append(e.Targets, t)
				}
			}
		}
		if channels == 0 {
			r.errorf(q, "names no channel, such as {email: alice}")
		}
		out = append(out, e)
	}
	if n := r.find(p); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.errorf(p, "is empty")
	}
	return out
}

func (r *router) after(p path, entry map[string]scalar) time.Duration {
	n := r.find(p)
	if n == nil || n.Kind != yaml.ScalarNode {
		return 0 // absent, or reported by the decoder
	}
	d, ok := parseDuration(string(entry["after"]))
	if !ok || d <= 0 || null(n) {
		r.errorf(p, "must be a time such as 10m, 24h or 30d")
		return 0
	}
	return d
}

// targets reads the address that a channel is to post to.
func (r *router) targets(key *yaml.Node, p path, address string) []hub.Target {
	f, ok := r.factories[key.Value]
	switch n := r.find(p); {
	case !ok:
		r.report(key, p, "there is no such channel%s", r.channelHint(key.Value))
		return nil
	case !r.Directory.Channels[f.Name]:
		r.report(key, p, "the channel is not set up: channels has no %s", f.Name)
		return nil
	case n.Kind != yaml.ScalarNode:
		return nil // reported by the decoder
	case null(n) && n.Value == "":
		r.errorf(p, "has no value; an address that begins with # must be in quotes, or YAML takes it for a comment")
		return nil
	case n.ShortTag() != "!!str":
		r.errorf(p, "must be text; put it in quotes")
		return nil
	case address == "" || !printable(address):
		r.errorf(p, "is no address: it must be plain text of at most 100 letters")
		return nil
	}
	if place, ok := placeOf(f, address); ok && !(f.People && r.Directory.Members(address) != nil) {
		if place == "" {
			r.errorf(p, "%q is cut short", address)
			return nil
		}
		return []hub.Target{{Channel: f.Name, Place: address}}
	}
	name, at := strings.CutPrefix(address, "@")
	if !f.People {
		r.errorf(p, "%s can't post to %q: it takes %s", f.Name, address, places(f))
		return nil
	}
	if !at && len(f.Places) > 0 && r.Directory.Members(name) == nil && !idPattern.MatchString(name) {
		r.errorf(p, "%q is no person, team or place: it takes @person, @team, and %s", address, places(f))
		return nil
	}
	switch {
	case name == "":
		r.errorf(p, "%q names nobody", address)
		return nil
	case !at && len(f.Places) > 0 && r.Directory.Members(name) == nil && hint(name, r.people) == "":
		r.errorf(p, "no person or team %q; a place of %s is %s", name, f.Name, places(f))
		return nil
	}
	var out []hub.Target
	for _, id := range r.members(p, name) {
		out = append(out, hub.Target{Channel: f.Name, Person: id})
		if person := r.Directory.People[id]; f.Lacks != nil && person != nil {
			if what := f.Lacks(person); what != "" {
				r.warnf(p, "%s can't reach %s, who has no %s", f.Name, id, what)
			}
		}
	}
	return out
}

// channelHint names the channel that was meant, or all.
func (r *router) channelHint(written string) string {
	if h := hint(written, append(slices.Clip(r.names), "after")); h != "" {
		return h
	}
	return "; there are " + strings.Join(r.names, ", ")
}

// placeOf returns what follows the prefix of a place of the channel's own.
func placeOf(f hub.Factory, address string) (rest string, ok bool) {
	for _, prefix := range f.Places {
		if rest, ok := strings.CutPrefix(address, prefix); ok {
			return rest, true
		}
	}
	return "", false
}

func places(f hub.Factory) string {
	if len(f.Places) == 0 {
		return "nothing"
	}
	quoted := make([]string, len(f.Places))
	for i, s := range f.Places {
		quoted[i] = strconv.Quote(s)
	}
	return "what begins with " + strings.Join(quoted, " or ")
}

// neverMatches warns of routes that an earlier one takes everything from.
func (r *router) neverMatches(p path) {
	catchAll := -1
	first := make(map[string]int)
	for i, route := range r.Directory.Routes {
		if catchAll >= 0 {
			r.warnf(p.at(i), "can never match: routes[%d] has no match and takes everything", catchAll)
			continue
		}
		if route.Match == nil {
			catchAll = i
			continue
		}
		match := fmt.Sprintf("%q", *route.Match)
		if j, twice := first[match]; twice {
			r.warnf(p.at(i), "can never match: routes[%d] has the same match", j)
			continue
		}
		first[match] = i
	}
}

func (r *router) unusedTeams() {
	for id := range r.Directory.Teams {
		if !r.teams[id] {
			r.warnf(path{}.key("teams").key(id), "no route uses this team")
		}
	}
}
