package templates

import (
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// joined writes pieces as a reader sees them, strong ones in stars.
func joined(ps []Piece) string {
	var b strings.Builder
	for _, p := range ps {
		switch {
		case !p.At.IsZero():
			b.WriteString("{" + Date(p.At, nil) + "}")
		case p.Strong:
			b.WriteString("*" + p.Text + "*")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestPieces(t *testing.T) {
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	open := func(f func(c *hub.Card)) []Piece {
		c := &hub.Card{Type: ma2h.Ask, Status: ma2h.Open, ExpiresAt: at, OnExpire: "Hold"}
		f(c)
		return Limit(c)
	}
	by := func(f func(d *hub.Decision)) []Piece {
		d := &hub.Decision{Resolution: ma2h.Answered, Actor: "human:alice", ActorName: "Alice Ng", At: at, Via: "email", Choice: "Hold"}
		f(d)
		return Ending(d)
	}
	const when = "{Tue 1 Dec 2026, 10:00 UTC}"
	tests := []struct {
		name string
		got  []Piece
		want string
	}{
		{"limit", open(func(*hub.Card) {}), "answer by " + when + ", then:*Hold*"},
		{"limit of a task", open(func(c *hub.Card) { c.Type, c.OnExpire = ma2h.Task, "" }), "do it by " + when + ", then:*it expires, not done*"},
		{"limit of a hidden one, whose default is not said", open(func(c *hub.Card) { c.Hidden, c.OnExpire = true, "" }), "answer by " + when},
		{"no limit", open(func(c *hub.Card) { c.ExpiresAt = time.Time{} }), "no deadline"},
		{"not open", open(func(c *hub.Card) { c.Status = ma2h.Delivered }), ""},
		{"answered", by(func(*hub.Decision) {}), "*✓ Hold* — Alice Ng, " + when + ", by e-mail"},
		{"answered, edited form", by(func(d *hub.Decision) { d.Choice, d.Edited = "", true }), "*✓ Answered* — Alice Ng, " + when + ", by e-mail (changed from what the agent proposed)"},
		{"declined", by(func(d *hub.Decision) { d.Resolution = ma2h.Declined }), "*✕ Declined* — Alice Ng, " + when + ", by e-mail"},
		{"done", by(func(d *hub.Decision) { d.Resolution = ma2h.Completed }), "*✓ Done* — Alice Ng, " + when + ", by e-mail"},
		{"can't", by(func(d *hub.Decision) { d.Resolution = ma2h.Dismissed }), "*✕ Can't be done* — Alice Ng, " + when + ", by e-mail"},
		{"withdrawn", by(func(d *hub.Decision) { d.Resolution, d.ActorName = ma2h.Cancelled, "bot" }), "— Withdrawn by bot " + when + "."},
		{"expired", by(func(d *hub.Decision) { d.Resolution, d.Choice = ma2h.Expired, "" }), "⏱ Expired " + when + ", nobody answered."},
		{"defaulted", by(func(d *hub.Decision) { d.Resolution, d.Defaulted = ma2h.Expired, true }), "⏱ Expired " + when + ", nobody answered. *Hold* was applied."},
		{"none", Ending(nil), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := joined(tt.got); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "1", 2: "1 or 2", 3: "1, 2 or 3", 5: "1, 2, 3, 4 or 5", 9: "a number from 1 to 9"} {
		if got := Numbers(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestUnclear(t *testing.T) {
	ask := func(f func(c *hub.Card)) *hub.Card {
		c := &hub.Card{Type: ma2h.Ask, Mode: ma2h.Select, Options: []hub.CardOption{{N: 1, Value: "ship"}, {N: 2, Value: "hold"}}}
		f(c)
		return c
	}
	tests := []struct {
		name string
		card *hub.Card
		want string
	}{
		{"choices", ask(func(*hub.Card) {}), "1 or 2 (or ship, hold)"},
		{"long values", ask(func(c *hub.Card) { c.Options[0].Value = strings.Repeat("x", 30) }), "1 or 2 on the first line"},
		{"form", ask(func(c *hub.Card) { c.Mode = ma2h.Input }), "form"},
		{"page only", ask(func(c *hub.Card) { c.PageOnly = true }), "page only"},
		{"task", ask(func(c *hub.Card) { c.Type = ma2h.Task }), `"done"`},
		{"notify", ask(func(c *hub.Card) { c.Type = ma2h.Notify }), "information"},
	}
	for _, tt := range tests {
		if got := Unclear(tt.card); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q lacks %q", tt.name, got, tt.want)
		}
	}
}
