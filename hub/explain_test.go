package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// A dry run judges as Submit does, says the same plan, and keeps nothing.
func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tag := func(name string) func(doc) { return func(d doc) { d["tags"] = []string{name} } }
	tests := []struct {
		name string
		doc  doc
		want string
	}{
		{"the last route", ask(tag("x")), "chat may=alice,bob 0s=chat:#deploys 10m0s=chat:alice 1h0m0s=chat:bob"},
		{"another route", ask(tag("web")), "web may=alice,bob 0s=web:alice"},
		{"no ask", ask(tag("closed")), "closed submitter 0s=web:alice warn"},
		{"notify", message("notify", tag("web")), "web 0s=web:alice"},
		{"resolvers of its own", ask(func(d doc) {
			tag("x")(d)
			d["request"].(doc)["allowed_resolvers"] = []string{"human:carol", "agent:other/bot", "human:gone"}
		}), "chat may=carol agents=other/bot 0s=chat:#deploys 10m0s=chat:alice 1h0m0s=chat:bob"},
		{"nobody", ask(func(d doc) { d["request"].(doc)["allowed_resolvers"] = []string{} }), "web 0s=web:alice warn"},
		{"no title", ask(func(d doc) { delete(d, "title") }), "validation_error title"},
		{"expired", ask(func(d doc) { d["expires_at"] = "2020-01-01T00:00:00Z" }), "invalid_field expires_at"},
		{"somebody else's", ask(func(d doc) { d["agent"].(doc)["id"] = "other/bot" }), "agent_id_mismatch agent.id"},
		{"too large", ask(func(d doc) { d["client_ref"] = strings.Repeat("x", 300<<10) }), "invalid_field "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, err := w.h.Explain(w.agent(deploybot), tt.doc.raw())
			got := ""
			if err != nil {
				got = codeAndField(err)
			} else {
				got = reach(x.Reach)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s (%v)", got, tt.want, err)
			}
			if before, lerr := w.h.List(t.Context(), hub.ListQuery{Limit: 1}); lerr != nil || len(before) != 0 {
				t.Fatalf("it was stored: %v, %v", before, lerr)
			}
		})
	}
	for _, tt := range tests {
		s, serr := w.h.Submit(t.Context(), w.agent(deploybot), tt.doc.raw())
		x, err := w.h.Explain(w.agent(deploybot), tt.doc.raw())
		if codeAndField(err) != codeAndField(serr) { // the words may name the time
			t.Errorf("%s: Explain says %v, Submit %v", tt.name, err, serr)
		}
		if err == nil && (x.Route != s.Message.Plan.Route || fmt.Sprint(x.Warnings) != fmt.Sprint(s.Warnings)) {
			t.Errorf("%s: Explain says %s, %q; Submit %s, %q", tt.name, x.Route, x.Warnings, s.Message.Plan.Route, s.Warnings)
		}
	}
}

// reach writes a Reach in a line.
func reach(r hub.Reach) string {
	s := r.Route
	if r.May != nil {
		s += " may=" + strings.Join(r.May, ",")
	}
	if r.MayAgents != nil {
		s += " agents=" + strings.Join(r.MayAgents, ",")
	}
	if r.Submitter {
		s += " submitter"
	}
	for _, step := range r.Steps {
		s += " " + step.After.String() + "="
		for i, t := range step.Targets {
			if i > 0 {
				s += ","
			}
			s += t.String()
		}
	}
	if r.Warnings != nil {
		s += " warn"
	}
	return s
}

func TestExplainRoute(t *testing.T) {
	t.Parallel()
	d := directory()
	web := func(person string) []hub.Entry {
		return []hub.Entry{{Targets: []hub.Target{{Channel: "web", Person: person}}}}
	}
	tests := []struct {
		name  string
		route hub.Route
		want  string
	}{
		{"asks whom it tells", hub.Route{Name: "r", Ask: []string{"alice"}, Post: web("alice")}, "r may=alice 0s=web:alice"},
		{"tells somebody else", hub.Route{Name: "r", Ask: []string{"alice"}, Post: web("bob")}, "r may=alice 0s=web:bob warn"},
		{"tells a place", hub.Route{Name: "r", Ask: []string{"alice"}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: "chat", Place: "#x"}}, After: time.Minute},
		}}, "r may=alice 1m0s=chat:#x"},
		{"no ask", hub.Route{Name: "r", Post: web("alice")}, "r submitter 0s=web:alice warn"},
		{"the submitter's on purpose", hub.Route{Name: "r", Submitter: true, Ask: []string{"alice"}, Post: web("alice")}, "r submitter 0s=web:alice"},
		{"only what nobody answers", hub.Route{Name: "r", Match: &hub.Match{Type: []ma2h.Type{ma2h.Notify}}, Post: web("alice")}, "r 0s=web:alice"},
		{"the earliest copy counts", hub.Route{Name: "r", Ask: []string{"alice"}, Post: []hub.Entry{
			web("alice")[0], {Targets: []hub.Target{{Channel: "web", Person: "alice"}, {Channel: "web", Person: "bob"}}, After: time.Hour},
		}}, "r may=alice 0s=web:alice 1h0m0s=web:bob"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := reach(d.ExplainRoute(&tt.route)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMatchWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		match *hub.Match
		want  string
	}{
		{nil, "every message"},
		{&hub.Match{Type: []ma2h.Type{ma2h.Ask}}, "ask messages"},
		{&hub.Match{Agent: []string{"deploybot/*", "a", "b"}}, "messages from deploybot/*, a or b"},
		{&hub.Match{
			Type: []ma2h.Type{ma2h.Ask, ma2h.Task}, Agent: []string{"bot"}, Priority: []ma2h.Priority{ma2h.High, ma2h.Urgent},
			Tags: []string{"deploy"}, Project: []string{"web-*"}, Runtime: []string{"cli"}, Labels: map[string]string{"env": "prod*", "a": "b"},
		}, "ask and task messages from bot, with project web-*, priority high or urgent, tag deploy, runtime cli, label a=b, label env=prod*"},
	}
	for _, tt := range tests {
		if got := tt.match.Words(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
