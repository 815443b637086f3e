package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"beckon/config"
	"beckon/hub"
)

// Whoever a channel can't reach is named where a route counts on it.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	mail := hub.Factory{Name: "email", People: true, Lacks: func(p *hub.Person) string {
		if p.Email == "" {
			return "email"
		}
		return ""
	}}
	c, err := config.Parse("beckon.yaml", []byte(`people: {alice: {email: alice@example.com}, bob: {}, carol: {}}
teams: {oncall: [alice, bob, carol]}
channels: {email: {}}
routes:
  - match: {project: "{web,api}"}
    post:
      - email: alice
      - {email: oncall, after: 10m}
  - post: [{email: bob}]
`), []hub.Factory{mail}, env)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"beckon.yaml:5:22: routes[0].match.project: a pattern knows only *, ? and [a-z]; write several patterns as a list",
		"beckon.yaml:8:17: routes[0].post[1].email: email can't reach bob, who has no email",
		"beckon.yaml:8:17: routes[0].post[1].email: email can't reach carol, who has no email",
		"beckon.yaml:9:20: routes[1].post[0].email: email can't reach bob, who has no email",
	}
	if diff := cmp.Diff(want, lines(c.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// A public URL that only this machine can open is no use to others.
func TestPublicURLForNobody(t *testing.T) {
	t.Parallel()
	c, _, err := load("beckon.yaml", `listen: 0.0.0.0:8420
behind_proxy: true
trusted_proxies: [10.0.0.1]
public_url: http://localhost:8420
people: {alice: {}}
routes: [{ask: alice, post: [{web: alice}]}]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"beckon.yaml:4:13: public_url: is for this machine only, though the hub listens beyond it: nobody elsewhere can open its links"}
	if diff := cmp.Diff(want, lines(c.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
