package reply_test

import (
	"fmt"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
)

func ExampleRead() {
	card := &hub.Card{Type: ma2h.Ask, Mode: ma2h.Select, CanDecline: true, Options: []hub.CardOption{
		{N: 1, Value: "ship", Label: "Ship to prod now"},
		{N: 2, Value: "hold", Label: "Hold for review"},
		{N: 3, Value: "abort", Label: "Abort the change"},
	}}
	for _, text := range []string{"Hold for review.\nLet's get a human eye on it.", "ship if Bob agrees"} {
		r := reply.Read(card, text)
		if !r.Clear() {
			fmt.Println(reply.Sentence(card, &r))
			continue
		}
		fmt.Println(r.Verb, r.Option, r.Comment)
	}
	// Output:
	// answered 2 Let's get a human eye on it.
	// I couldn't read that as one of the choices. Reply with 1, 2 or 3 (or ship, hold, abort) on the first line; anything after it becomes your comment. Nothing has been recorded.
}
