package templates

import (
	"beckon/hub"
)

// History turns a message's events into lines. An event of a kind that it
// doesn't know shows its kind, so that nothing is hidden.
func History(events []hub.Event, reader *hub.Person) []HistoryLine {
	out := make([]HistoryLine, 0, len(events))
	for _, e := range events {
		out = append(out, HistoryLine{At: e.At, Text: event(e, reader)})
	}
	return out
}

func event(e hub.Event, _ *hub.Person) string { return Line(e.Kind) }
