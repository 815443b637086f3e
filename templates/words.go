package templates

import (
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// maxChoice is how many runes of a label or value a sentence takes.
const maxChoice = 120

// Via names the way that an answer came in, as the end of a sentence: "in
// Slack". It is empty for the clock and for a way that it doesn't know.
func Via(channel string) string {
	switch channel {
	case "web":
		return "on the page"
	case "slack":
		return "in Slack"
	case "email":
		return "by e-mail"
	case "api":
		return "through the API"
	case "admin":
		return "through the operator's interface"
	}
	return ""
}

// Status is where a message stands, in one or two words.
func Status(s ma2h.Status) string {
	switch s {
	case ma2h.Open:
		return "open"
	case ma2h.Delivered:
		return "for information"
	case ma2h.Answered:
		return "answered"
	case ma2h.Declined:
		return "declined"
	case ma2h.Cancelled:
		return "withdrawn"
	case ma2h.Completed:
		return "done"
	case ma2h.Dismissed:
		return "can't be done"
	case ma2h.Expired:
		return "expired"
	}
	return Line(string(s))
}

// Asker says who asks and how urgently: "deploybot/dev-team · web-app · high".
func Asker(c *hub.Card) string {
	parts := []string{Line(c.AgentID)}
	if c.Project != "" {
		parts = append(parts, Line(c.Project))
	}
	if c.Priority != "" {
		parts = append(parts, string(c.Priority))
	}
	return strings.Join(parts, " · ")
}

// Values writes the fields of a form on one line: "Release note: fixes; Notify
// users: yes".
func Values(vs []hub.NamedValue) string {
	var parts []string
	for _, v := range vs {
		title := v.Title
		if title == "" {
			title = v.Name
		}
		parts = append(parts, short(title)+": "+short(v.Text))
	}
	return strings.Join(parts, "; ")
}

// Decision says in one sentence how a message ended, by the reader's clock. It
// is empty for a nil d and for a notify, which nobody decides.
func Decision(d *hub.Decision, reader *hub.Person) string {
	if d == nil {
		return ""
	}
	who, when := decider(d, reader), at(d.At, reader)
	if via := Via(d.Via); via != "" {
		when += " " + via
	}
	switch d.Resolution {
	case ma2h.Answered:
		if c := chosen(d); c != "" {
			return who + " answered " + c + " " + when + "."
		}
		return who + " answered " + when + "."
	case ma2h.Declined:
		return who + " declined " + when + "."
	case ma2h.Completed:
		return who + " marked it done " + when + "."
	case ma2h.Dismissed:
		return who + " said that it can't be done, " + when + "."
	case ma2h.Cancelled:
		if d.ActorName == "" {
			return "Withdrawn " + at(d.At, reader) + "."
		}
		return "Withdrawn by " + short(d.ActorName) + " " + at(d.At, reader) + "."
	case ma2h.Expired:
		s := "Expired " + at(d.At, reader) + ", nobody answered."
		if c := chosen(d); d.Defaulted && c != "" {
			s += " " + c + " was applied."
		}
		return s
	}
	return ""
}

// Verdict is a decision as a page lays it out: the head is what counts, and the
// line below it, which may be empty, says the rest without repeating the head.
type Verdict struct{ Head, Line string }

// Decided lays out a decision by the reader's clock. A form's values stand
// apart and are in neither.
func Decided(d *hub.Decision, reader *hub.Person) Verdict {
	if d == nil {
		return Verdict{}
	}
	bare := *d
	bare.Values = nil
	switch {
	case d.Resolution == ma2h.Answered && d.Choice != "":
		bare.Choice = ""
		return Verdict{Head: Line(d.Choice), Line: Decision(&bare, reader)}
	case d.Resolution == ma2h.Expired && d.Defaulted && len(d.Values) > 0:
		return Verdict{Head: Decision(&bare, reader), Line: "These values were applied:"}
	}
	return Verdict{Head: Decision(&bare, reader)}
}

func decider(d *hub.Decision, reader *hub.Person) string {
	switch {
	case reader != nil && d.Actor == reader.Actor():
		return "You"
	case d.ActorName != "":
		return short(d.ActorName)
	case d.Actor != "":
		return short(d.Actor)
	}
	return "Somebody"
}

// chosen is what was decided, as it stands in a sentence.
func chosen(d *hub.Decision) string {
	if d.Choice != "" {
		return short(d.Choice)
	}
	if len(d.Values) > 0 {
		return "(" + Values(d.Values) + ")"
	}
	return ""
}

// Outcome is what the hub says to somebody who has just answered. It may be
// shown to that person only. reader may be nil when nobody is known.
func Outcome(o hub.Outcome, reader *hub.Person) string {
	switch o.Kind {
	case hub.Accepted:
		return accepted(o)
	case hub.Counted:
		return "Your vote is counted. More are needed before this is decided."
	case hub.Held:
		return "Your answer is noted and waits for somebody to confirm it. Nothing is decided yet."
	case hub.AlreadyResolved:
		if o.Reason == hub.ReasonNotify || o.Status == ma2h.Delivered {
			return refusal(hub.ReasonNotify, nil)
		}
		s := Decision(o.Decision, reader)
		if s == "" {
			s = "This is already " + Status(o.Status) + "."
		}
		return s + " Your click changed nothing."
	case hub.Unclear:
		return unclear(o)
	}
	if o.Reason == hub.ReasonNotAllowed {
		return OnlyThese(o.May, o.MayTeam)
	}
	return refusal(o.Reason, o.May)
}

func accepted(o hub.Outcome) string {
	const final = " An answer can't be changed; if this is wrong, tell the agent's owner."
	switch o.Verb {
	case hub.VerbTick:
		return "Progress saved. The task stays open."
	case hub.VerbDecline:
		return "Recorded: declined." + final
	case hub.VerbComplete:
		return "Recorded: done." + final
	case hub.VerbDismiss:
		return "Recorded: can't be done." + final
	}
	if o.Decision != nil {
		if o.Decision.Choice != "" {
			return "Recorded: " + short(o.Decision.Choice) + "." + final
		}
		if len(o.Decision.Values) > 0 {
			return "Recorded: " + Values(o.Decision.Values) + "." + final
		}
	}
	return "Recorded." + final
}

func unclear(o hub.Outcome) string {
	if len(o.Fields) == 0 {
		return "I couldn't read that as an answer. Nothing has been recorded."
	}
	var parts []string
	for _, f := range o.Fields {
		parts = append(parts, short(f.Field)+": "+Line(f.Msg))
	}
	return "Nothing has been recorded yet. " + strings.Join(parts, "; ") + "."
}

func refusal(r hub.Reason, may []string) string {
	switch r {
	case hub.ReasonNotAllowed:
		return OnlyThese(may, "")
	case hub.ReasonNotFound:
		return "There is no such message for you. Nothing has been recorded."
	case hub.ReasonUnknownPerson:
		return "You are not in this hub's directory. Nothing has been recorded; ask the operator to add you."
	case hub.ReasonNotify:
		return "This is for information only; it wants no answer."
	case hub.ReasonWrongVerb:
		return "That does not fit this message. Nothing has been recorded."
	case hub.ReasonNoAnswer:
		return "The agent takes no answer here. Nothing has been recorded."
	case hub.ReasonNoDecline:
		return "This can't be declined. Nothing has been recorded; choose one of the answers."
	}
	return "This was not accepted. Nothing has been recorded."
}

// OnlyThese says who may answer, to somebody who may not. team is what they are
// together, "" for no one team.
func OnlyThese(may []string, team string) string {
	switch len(may) {
	case 0:
		return "Nobody here can answer this; only the agent itself can close it."
	case 1:
		return "Only " + short(may[0]) + " can answer this. Ask them."
	}
	return "Only " + Group(may, team) + " can answer this. Ask one of them."
}

// Group names several people, by their team if they are one: "oncall (Alice Ng,
// Bob Roy)".
func Group(names []string, team string) string {
	if team == "" {
		return Names(names)
	}
	return short(team) + " (" + Names(names) + ")"
}

// maxNames is how many names a sentence lists.
const maxNames = 8

// Names joins names: "Alice Ng, Bob Roy and 3 more".
func Names(names []string) string { return namesOf(names, len(names)) }

// namesOf joins the names that are known of so many.
func namesOf(names []string, total int) string {
	var out []string
	for _, n := range names[:min(len(names), maxNames)] {
		out = append(out, short(n))
	}
	s := strings.Join(out, ", ")
	if more := total - len(out); more > 0 {
		s += " and " + number(more) + " more"
	}
	return s
}

func short(s string) string {
	s, _ = Cut(Line(s), maxChoice)
	return s
}
