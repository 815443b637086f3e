package templates

import (
	"time"

	"beckon/hub"
)

// Direct says to somebody what became of what they wrote to an agent.
func Direct(o *hub.DirectOutcome) string {
	agent := short(o.AgentID)
	if agent == "" {
		agent = "the agent"
	}
	const nothing = " Nothing was passed on."
	switch {
	case o.Kind == hub.Accepted:
		return "Passed on to " + agent + ". It gets this when it next looks into its inbox."
	case o.Kind == hub.Unclear && len(o.Fields) > 0:
		return "This can't be passed on: " + short(o.Fields[0].Field) + " " + short(o.Fields[0].Msg) + "."
	case o.Kind == hub.Unclear:
		return "There is nothing in it to pass on."
	}
	switch o.Reason {
	case hub.ReasonNotAllowed:
		return "You may not write to " + agent + "; whoever runs the hub can allow it." + nothing
	case hub.ReasonUnknownAgent:
		return "There is no agent " + agent + " here (any more)." + nothing
	case hub.ReasonInboxFull:
		return agent + " takes nothing out of its inbox at the moment, and it is full. Try again later." + nothing
	case hub.ReasonUnknownPerson:
		return "You are not in the hub's directory (any more)." + nothing
	}
	return "What this is about is not there (any more)." + nothing
}

// Track says whether the agent has the answer, "" when there is nothing to say.
func Track(c *hub.Card) string {
	t := c.Track
	if t == nil {
		return ""
	}
	switch t.State {
	case hub.TrackDelivered:
		return "The agent got it " + at(t.DeliveredAt, c.Reader) + "."
	case hub.TrackAcked:
		s := "The agent has it, and said so " + at(t.AckedAt, c.Reader)
		if note := short(t.AckNote); note != "" {
			return s + ": “" + note + "”"
		}
		return s + "."
	case hub.TrackExpired:
		return "The agent never picked it up."
	}
	return "The agent has not picked it up yet."
}

// LastSeen says when an agent last showed that it is there; the zero time is
// never.
func LastSeen(at, now time.Time) string {
	if at.IsZero() {
		return "not seen yet"
	}
	if d := now.Sub(at); d >= time.Minute {
		return "last seen " + Span(d) + " ago"
	}
	return "seen just now"
}

// Sent says where something is that a person wrote to an agent.
func Sent(s *hub.Sent, reader *hub.Person) string {
	switch s.State {
	case hub.DirectiveDelivered:
		return "the agent got it " + at(s.DeliveredAt, reader)
	case hub.DirectiveAcked:
		words := "the agent has it, and said so " + at(s.AckedAt, reader)
		if note := short(s.AckNote); note != "" {
			words += ": “" + note + "”"
		}
		return words
	case hub.DirectiveExpired:
		return "the agent never picked it up"
	case hub.DirectiveBounced:
		return "the agent got it, and never said that it is done with it"
	}
	return "waits for the agent"
}

// TrackPieces is [Track] in pieces, nil while there is nothing to say: a copy is
// updated when the agent gets the answer, most often at once.
func TrackPieces(c *hub.Card) []Piece {
	t := c.Track
	if t == nil {
		return nil
	}
	switch t.State {
	case hub.TrackDelivered:
		return []Piece{{Text: "The agent got it "}, {At: t.DeliveredAt}, {Text: "."}}
	case hub.TrackAcked:
		p := []Piece{{Text: "The agent has it, and said so "}, {At: t.AckedAt}}
		if note := short(t.AckNote); note != "" {
			return append(p, Piece{Text: ": “" + note + "”"})
		}
		return append(p, Piece{Text: "."})
	case hub.TrackExpired:
		return []Piece{{Text: "The agent never picked it up."}}
	}
	return nil
}
