package reply

import (
	"strings"
	"testing"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

func selectOf(pairs ...string) *hub.Card {
	c := &hub.Card{Type: ma2h.Ask, Mode: ma2h.Select, Status: ma2h.Open, AgentID: "deploybot/dev-team", Project: "web-app", CanAnswer: true, CanDecline: true}
	for i := 0; i < len(pairs); i += 2 {
		c.Options = append(c.Options, hub.CardOption{N: i/2 + 1, Value: pairs[i], Label: pairs[i+1]})
	}
	return c
}

func confirmOf(pairs ...string) *hub.Card {
	if pairs == nil {
		pairs = []string{"approve", "Approve", "deny", "Deny"}
	}
	c := selectOf(pairs...)
	c.Mode = ma2h.Confirm
	return c
}

func inputOf(fields ...hub.Field) *hub.Card {
	c := selectOf()
	c.Mode, c.Fields = ma2h.Input, fields
	for i := range c.Fields {
		if c.Fields[i].Title == "" {
			c.Fields[i].Title = c.Fields[i].Name
		}
	}
	return c
}

func taskCard() *hub.Card {
	return &hub.Card{Type: ma2h.Task, Status: ma2h.Open, AgentID: "keybot", CanAnswer: true, CanDecline: true}
}

func shipCard() *hub.Card {
	c := selectOf("ship", "Ship to prod now", "hold", "Hold for review", "abort", "Abort the change")
	c.Options[1].Description = "Wait for a human PR review."
	return c
}

// say is a compact form of a reading: the option and the comment, or the verb,
// or why not.
func say(r Reading) string {
	s := ""
	switch {
	case r.Why != "":
		return string(r.Why)
	case r.Option > 0:
		s = string(rune('0' + r.Option))
	default:
		s = string(r.Verb)
	}
	if r.Comment != "" {
		s += "|" + r.Comment
	}
	return s
}

type line struct{ text, want string }

func check(t *testing.T, c *hub.Card, tests []line) {
	t.Helper()
	for _, tt := range tests {
		if got := say(Read(c, tt.text)); got != tt.want {
			t.Errorf("Read(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestNeverRead(t *testing.T) {
	t.Parallel()
	notify := &hub.Card{Type: ma2h.Notify}
	page, hidden := shipCard(), shipCard()
	page.PageOnly, hidden.Hidden = true, true
	tests := []struct {
		name string
		card *hub.Card
		text string
		want Reading
	}{
		{"notify", notify, "ship", Reading{Why: WhyNoAnswerWanted}},
		{"page only", page, "ship\nsecret", Reading{Why: WhyPageOnly}},
		{"hidden", hidden, "decline", Reading{Why: WhyPageOnly}},
		{"empty", shipCard(), "", Reading{Why: WhyEmpty}},
		{"white space", shipCard(), " \r\n\u00a0\n\u200b\ufeff\x00\n", Reading{Why: WhyEmpty}},
		{"too long", shipCard(), "ship\n" + strings.Repeat("x", MaxRunes), Reading{Why: WhyTooLong}},
		{"unclear keeps nothing", shipCard(), "ship if\nsecret", Reading{Why: WhyNoChoice}},
		{"no options", selectOf(), "1", Reading{Why: WhyNoChoice}},
		{"invalid UTF-8", shipCard(), "sh\xffip", Reading{Why: WhyNoChoice}},
		{"invalid UTF-8 in the comment", shipCard(), "ship\n\xff", Reading{Verb: hub.VerbAnswer, Option: 1, Comment: "\ufffd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Read(tt.card, tt.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	a := hub.Answer{MessageID: "msg_1", Actor: "human:alice"}
	r := Read(shipCard(), "2\nwait for Bob")
	if !r.Clear() {
		t.Fatal(r.Why)
	}
	r.Fill(&a)
	want := hub.Answer{MessageID: "msg_1", Actor: "human:alice", Verb: hub.VerbAnswer, Option: 2, Comment: "wait for Bob"}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each of these has been read wrongly by a program that asks people.
func TestKnownFaults(t *testing.T) {
	t.Parallel()
	deploy := selectOf("Approve", "Approve", "Reject", "Reject", "Defer", "Defer")
	tests := []struct {
		name string
		card *hub.Card
		text string
		want string
	}{
		{"a word inside another", confirmOf("allow", "Allow", "deny", "Deny"), "disallow", "no_choice"},
		{"the allowing word looked for first", confirmOf(), "no, don't approve", "no_choice"},
		{"any yes is taken for approval", deploy, "yes", "no_choice"},
		{"more is approved than was asked", confirmOf(), "approve all", "no_choice"},
		{"a signature hides the word", confirmOf(), "approve\n\nAlice Ng\nPlatform team, room 3", "1|Alice Ng\nPlatform team, room 3"},
		{"only the first line counts", deploy, "2\n\nAlice Example, Team 1\nRoom 3, +49 30 1", "2|Alice Example, Team 1\nRoom 3, +49 30 1"},
		{"a blank reply", confirmOf(), "\n \n", "empty"},
		{"a plain yes instead of a click", confirmOf(), "Yes", "1"},
		{"an old thread, a new topic", deploy, "Hi, where do I find invoice 88?", "no_choice"},
		{"an answer to other words", deploy, "Sorry, I meant Reject!", "no_choice"},
		{"an attachment instead of words", deploy, "See attached", "no_choice"},
		{"our own options come back", deploy, "1. Approve\n2. Reject\n3. Defer", "ambiguous"},
		{"an absence note", deploy, "I am out of the office. Please ask Bob to approve.", "no_choice"},
		{"a reaction in words", confirmOf(), "👍 Alice Example reacted via Gmail", "no_choice"},
		{"read, not approved", confirmOf(), "OK, will look at it tomorrow", "no_choice"},
		{"a mail button's line break", deploy, "Approve<BR><BR>(Do not change the subject.)", "1|(Do not change the subject.)"},
		{"curly quotes and no-break spaces", deploy, "\u00a0“Approve”\u200b\u00a0", "1"},
		{"a key instead of a digit", deploy, "3\ufe0f\u20e3", "3"},
		{"a thumb for three choices", deploy, "👍", "no_choice"},
		{"a condition after a comma", deploy, "Approve, but only for staging", "no_choice"},
		{"a question", deploy, "approve or reject?", "no_choice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := say(Read(tt.card, tt.text)); got != tt.want {
				t.Errorf("Read(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
