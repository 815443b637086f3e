package hub

import (
	"slices"
	"testing"
	"time"

	"beckon/hub/ma2h"
)

func envelope(change func(*ma2h.Envelope)) *ma2h.Envelope {
	e := &ma2h.Envelope{
		Minor: 5, Version: "0.5", Type: ma2h.Ask, Title: "Ship?", Tags: []string{"release", "web"},
		Agent:   ma2h.Agent{ID: "deploybot/dev-team", RunID: "r1", Runtime: "cli", Project: "web-app", Labels: map[string]string{"model": "m-1"}},
		Request: &ma2h.Request{Mode: ma2h.Confirm, Options: []ma2h.Option{{Value: "approve", Label: "Approve"}, {Value: "deny", Label: "Deny"}}},
	}
	if change != nil {
		change(e)
	}
	return e
}

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		match *Match
		want  bool
	}{
		{"none", nil, true},
		{"empty", &Match{}, true},
		{"agent glob", &Match{Agent: []string{"deploybot/*"}}, true},
		{"a star does not cross a slash", &Match{Agent: []string{"*"}}, false},
		{"one of several", &Match{Agent: []string{"x", "*/dev-team"}}, true},
		{"project", &Match{Project: []string{"web-*"}}, true},
		{"other project", &Match{Project: []string{"api"}}, false},
		{"runtime", &Match{Runtime: []string{"cli"}}, true},
		{"type", &Match{Type: []ma2h.Type{ma2h.Task, ma2h.Ask}}, true},
		{"other type", &Match{Type: []ma2h.Type{ma2h.Notify}}, false},
		{"no priority is normal", &Match{Priority: []ma2h.Priority{ma2h.Normal}}, true},
		{"other priority", &Match{Priority: []ma2h.Priority{ma2h.Urgent}}, false},
		{"one tag is enough", &Match{Tags: []string{"rel*"}}, true},
		{"no tag fits", &Match{Tags: []string{"db"}}, false},
		{"label", &Match{Labels: map[string]string{"model": "m-*"}}, true},
		{"label that is missing", &Match{Labels: map[string]string{"team": "*"}}, false},
		{"all must match", &Match{Agent: []string{"deploybot/*"}, Tags: []string{"db"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.match.matches(envelope(nil)); got != tt.want {
				t.Errorf("matches = %v, want %v", got, tt.want)
			}
		})
	}
}

func directory() *Directory {
	d := &Directory{
		PublicURL: "https://beckon.example.com", Limits: DefaultLimits,
		People: map[string]*Person{}, Teams: map[string][]string{"oncall": {"alice", "bob"}},
		Agents: map[string]*Agent{"deploybot/dev-team": {ID: "deploybot/dev-team"}},
	}
	for id, name := range map[string]string{"alice": "Alice Ng", "bob": "Bob Roy", "carol": "Carol Sim"} {
		d.People[id] = &Person{ID: id, Name: name, Location: time.UTC}
	}
	d.Routes = []Route{
		{Name: "urgent", Match: &Match{Priority: []ma2h.Priority{ma2h.Urgent}}, Ask: []string{"alice"}, Post: []Entry{
			{Targets: []Target{{Channel: "slack", Place: "#deploys"}}},
			{Targets: []Target{{Channel: "web", Person: "alice"}, {Channel: "web", Person: "bob"}}, After: 10 * time.Minute},
			{Targets: []Target{{Channel: "web", Person: "bob"}}, After: time.Hour},
		}},
		{Name: "closed", Match: &Match{Tags: []string{"closed"}}, Post: []Entry{{Targets: []Target{{Channel: "web", Person: "bob"}}}}},
		{Name: "rest", Ask: []string{"alice", "bob"}, Post: []Entry{{Targets: []Target{{Channel: "web", Person: "alice"}}}}},
	}
	return d
}

func TestPlan(t *testing.T) {
	t.Parallel()
	d := directory()
	p := d.Plan(envelope(func(e *ma2h.Envelope) { e.Priority = ma2h.Urgent }))
	want := []Planned{
		{Target{"slack", "#deploys", ""}, 0, 0},
		{Target{"web", "", "alice"}, 1, 10 * time.Minute},
		{Target{"web", "", "bob"}, 1, 10 * time.Minute}, // not again in entry 2
	}
	if p.Route != "urgent" || !slices.Equal(p.Targets, want) || !slices.Equal(p.Ask, []string{"alice"}) || p.Warnings != nil {
		t.Errorf("plan = %+v", p)
	}
}

// Who may answer is the rule that everything else hangs on.
func TestMayResolve(t *testing.T) {
	t.Parallel()
	list := func(l ...string) func(*ma2h.Envelope) {
		return func(e *ma2h.Envelope) { e.Request.AllowedResolvers = append([]string{}, l...) }
	}
	closed := func(e *ma2h.Envelope) { e.Tags = []string{"closed"} }
	permissions := func(respond, ignore *bool) func(*ma2h.Envelope) {
		return func(e *ma2h.Envelope) {
			e.Request.Permissions = &ma2h.Permissions{AllowRespond: respond, AllowIgnore: ignore}
		}
	}
	no := new(bool)
	const self = "agent:deploybot/dev-team"
	tests := []struct {
		name   string
		change func(*ma2h.Envelope)
		config func(*Directory)
		may    []string
		mayNot []string
		warn   bool
	}{
		{"the route's ask", nil, nil, []string{"human:alice", "human:bob"}, []string{"human:carol", self, "human:nobody", "alice"}, false},
		{"a list beats the route", list("human:carol"), nil, []string{"human:carol"}, []string{"human:alice", self}, true},
		{"nobody", list(), nil, nil, []string{"human:alice", self}, true},
		{"the submitter when listed", list(self), nil, []string{self}, []string{"human:alice", "agent:other"}, false},
		{"a listed person who is unknown", list("human:zoe"), nil, nil, []string{"human:zoe"}, true},
		{"no ask keeps the letter", closed, nil, []string{self}, []string{"human:alice", "human:bob", "agent:other"}, true},
		{"resolvers: submitter", nil, func(d *Directory) { d.ResolversSubmitter = true }, []string{self}, []string{"human:alice"}, true},
		{"resolvers: submitter on the route", nil, func(d *Directory) { d.Routes[2].Submitter = true }, []string{self}, []string{"human:alice"}, true},
		{"someone who has left", nil, func(d *Directory) { delete(d.People, "bob") }, []string{"human:alice"}, []string{"human:bob"}, false},
		{"a session does not make an agent", list("agent:x#sess_1"), nil, nil, []string{"agent:x"}, true},
		{"a shared place reaches whoever is there", nil, func(d *Directory) {
			d.Routes[2].Post = []Entry{{Targets: []Target{{Channel: "slack", Place: "#deploys"}}}}
		}, []string{"human:alice"}, nil, false},
		{"only others get a copy", nil, func(d *Directory) {
			d.Routes[2].Post = []Entry{{Targets: []Target{{Channel: "web", Person: "carol"}}}}
		}, []string{"human:alice"}, []string{"human:carol"}, true},
		{"an agent without a credential", list("agent:x"), nil, nil, nil, true},
		{"a system is nobody", list("system:clock"), nil, nil, nil, true},
		{"an unknown agent beside somebody who is reached", list("agent:x", "human:alice"), nil, []string{"human:alice"}, nil, false},
		{"neither answer nor decline", permissions(no, no), nil, []string{"human:alice"}, nil, true},
		{"decline only", permissions(no, nil), nil, []string{"human:alice"}, nil, false},
		{"answer only", permissions(nil, no), nil, []string{"human:alice"}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := directory()
			if tt.config != nil {
				tt.config(d)
			}
			e := envelope(tt.change)
			p := d.Plan(e)
			for _, a := range tt.may {
				if !d.mayResolve(e, &p, a) {
					t.Errorf("%s may not", a)
				}
			}
			for _, a := range tt.mayNot {
				if d.mayResolve(e, &p, a) {
					t.Errorf("%s may", a)
				}
			}
			if (p.Warnings != nil) != tt.warn {
				t.Errorf("warnings = %q", p.Warnings)
			}
		})
	}
}

func TestAskedTeam(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		teams map[string][]string
		ask   []string
		want  string
	}{
		{"a team", map[string][]string{"oncall": {"alice", "bob"}}, []string{"bob", "alice"}, "oncall"},
		{"part of a team", map[string][]string{"all": {"alice", "bob", "carol"}}, []string{"alice", "bob"}, ""},
		{"more than a team", map[string][]string{"oncall": {"alice", "bob"}}, []string{"alice", "bob", "carol"}, ""},
		{"one person", map[string][]string{"solo": {"alice"}}, []string{"alice"}, ""},
		{"two teams of the same people", map[string][]string{"a": {"alice", "bob"}, "b": {"bob", "alice"}}, []string{"alice", "bob"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := directory()
			d.Teams = tt.teams
			if got := d.askedTeam(&Message{Envelope: envelope(nil), Plan: Plan{Ask: tt.ask}}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
