package templates

import (
	"encoding/json"
	"fmt"
	"strings"

	"beckon/hub"
)

// History turns a message's events into lines, oldest first: who was asked
// where, who tried what, what was decided. Values and comments are left to the
// decision. An event of a kind that it doesn't know shows its kind, so that
// nothing is hidden; so does one whose content was erased.
func History(events []hub.Event, d *hub.Directory, reader *hub.Person) []HistoryLine {
	out := make([]HistoryLine, 0, len(events))
	for _, e := range events {
		out = append(out, HistoryLine{At: e.At, Text: eventWords(e, d, reader)})
	}
	return out
}

// eventContent is what the words need of an event.
type eventContent struct {
	Actor, Via, Person, Note, Target, Code, Operator string
	Done, Of                                         int
	Defaulted                                        bool
}

func eventWords(e hub.Event, d *hub.Directory, reader *hub.Person) string {
	var c eventContent
	if len(e.Content) > 0 {
		// Fields of another shape are those of an event that it doesn't know.
		_ = json.Unmarshal(e.Content, &c)
	}
	who := actorName(c.Actor, d, reader)
	where := ""
	if via := Via(c.Via); via != "" {
		where = " " + via
	}
	switch e.Kind {
	case "submitted":
		return "Received from the agent"
	case "posted":
		return "Asked " + targetWords(c.Target, d, reader)
	case "delivery_failed":
		return "Could not be delivered: " + targetWords(c.Target, d, reader) + " (" + short(c.Code) + ")"
	case "unreachable":
		return "Nobody could be reached"
	case "answered", "declined":
		return who + " " + e.Kind + where
	case "completed":
		return who + " marked it done" + where
	case "dismissed":
		return who + " said that it can't be done" + comma(where)
	case "cancelled":
		return "Withdrawn by " + who
	case "expired":
		if c.Defaulted {
			return "Expired; the default was applied"
		}
		return "Expired without an answer"
	case "ticked":
		return fmt.Sprintf("%s saved progress: %d of %d%s", who, c.Done, c.Of, where)
	case "late":
		return who + " came too late" + comma(where)
	case "refused":
		return who + " tried to answer" + where + " and may not"
	case string(hub.Bounced):
		return note("Did not arrive: "+personName(c.Person, d, reader), c.Note)
	case string(hub.Away):
		return note(personName(c.Person, d, reader)+" is away", c.Note)
	case string(hub.Seen):
		return note("Opened by "+personName(c.Person, d, reader), c.Note)
	case string(hub.Delayed):
		return note("Not delivered yet: "+personName(c.Person, d, reader), c.Note)
	case string(hub.Unread):
		return note("A reply"+by(c.Person, d, reader)+where+" was no answer", c.Note)
	case string(hub.Doubted):
		return note("A reply"+where+" may not be from "+personName(c.Person, d, reader)+", and was not recorded", c.Note)
	case "escalated":
		return "Passed on, because " + personName(c.Person, d, reader) + " is away"
	case "delivered_to_agent":
		return "The agent got the answer"
	case "pushed":
		return "The answer was sent to the agent"
	case "acknowledged":
		return note("The agent said that it has the answer", c.Note)
	case "never_picked_up":
		return "The agent never picked the answer up"
	case "directed":
		return who + " wrote to the agent" + where
	case "directive_acknowledged":
		return note("The agent said that it has what was written to it", c.Note)
	case "retried", "reposted":
		return "Sent again by the operator"
	}
	return Line(e.Kind)
}

func by(person string, d *hub.Directory, reader *hub.Person) string {
	if person == "" {
		return ""
	}
	return " of " + personName(person, d, reader)
}

// comma sets a place apart that would read as part of what was said.
func comma(where string) string {
	if where == "" {
		return ""
	}
	return "," + where
}

func note(s, more string) string {
	if more == "" {
		return s
	}
	return s + " (" + short(more) + ")"
}

// actorName is what people call an actor of the wire.
func actorName(actor string, d *hub.Directory, reader *hub.Person) string {
	if id, ok := strings.CutPrefix(actor, "human:"); ok {
		return personName(id, d, reader)
	}
	if id, ok := strings.CutPrefix(actor, "agent:"); ok {
		return short(id)
	}
	switch actor {
	case "system:operator":
		return "the operator"
	case "":
		return "somebody"
	}
	return short(actor)
}

func personName(id string, d *hub.Directory, reader *hub.Person) string {
	if reader != nil && reader.ID == id {
		return short(reader.Name)
	}
	return short(d.PersonName(id))
}

// targetWords names a target such as "email:bob" or "slack:#deploys".
func targetWords(target string, d *hub.Directory, reader *hub.Person) string {
	channel, to, ok := strings.Cut(target, ":")
	if !ok {
		return short(target)
	}
	if d.People[to] != nil {
		to = personName(to, d, reader)
	}
	if via := Via(channel); via != "" {
		return short(to) + " " + via
	}
	return short(to) + " by " + short(channel)
}
