package reply_test

import (
	"testing"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
)

func TestForAgent(t *testing.T) {
	t.Parallel()
	card := func(change func(*hub.Card)) *hub.Card {
		c := &hub.Card{
			Type: ma2h.Ask, Mode: ma2h.Select, Status: ma2h.Open, CanAnswer: true, CanDecline: true, MayAnswer: true, MayDirect: true,
			Options: []hub.CardOption{{N: 1, Value: "ship", Label: "Ship"}, {N: 2, Value: "hold", Label: "Hold"}},
		}
		if change != nil {
			change(c)
		}
		return c
	}
	for name, tt := range map[string]struct {
		card *hub.Card
		text string
		want string
	}{
		"alone":         {card(nil), "tell\nPlease look at the logs first.\nThen ask again.", "Please look at the logs first.\nThen ask again."},
		"colon":         {card(nil), "\n Tell: use the other branch \n", "use the other branch"},
		"the agent":     {card(nil), "Tell the agent: use the other branch", "use the other branch"},
		"nothing":       {card(nil), "tell\n\n", ""},
		"a sentence":    {card(nil), "tell me more", ""},
		"no":            {card(nil), "Please tell the agent to wait", ""},
		"may not":       {card(func(c *hub.Card) { c.MayDirect = false }), "tell\nhello", ""},
		"secret":        {card(func(c *hub.Card) { c.PageOnly = true }), "tell\nhello", ""},
		"a choice":      {card(func(c *hub.Card) { c.Options[0].Label, c.Options[0].Value = "Tell", "tell" }), "tell\nhello", ""},
		"an answer":     {card(nil), "1\ntell\nhello", ""},
		"after the end": {card(func(c *hub.Card) { c.Status = ma2h.Answered }), "tell: undo it", "undo it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := reply.ForAgent(tt.card, tt.text); got != tt.want || ok != (tt.want != "") {
				t.Errorf("%q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}
