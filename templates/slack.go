package templates

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// Piece is a part of a sentence, for a medium that writes times by each
// reader's clock itself. A piece with At is that time and has no Text.
type Piece struct {
	Text   string
	Strong bool // the choice or the fact itself
	At     time.Time
}

// Limit is [Deadline] in pieces, without the time that is left: a copy stands
// for hours and should stay true.
func Limit(c *hub.Card) []Piece {
	if c.Status != ma2h.Open {
		return nil
	}
	if c.ExpiresAt.IsZero() {
		return []Piece{{Text: "no deadline"}}
	}
	verb := "answer by "
	if c.Type == ma2h.Task {
		verb = "do it by "
	}
	if c.Hidden { // it may have a default all the same
		return []Piece{{Text: verb}, {At: c.ExpiresAt}}
	}
	return []Piece{{Text: verb}, {At: c.ExpiresAt}, {Text: ", then:"}, {Text: Then(c), Strong: true}}
}

// Ending is [Decision] in pieces: what was decided first, then by whom, when and
// through which channel. The comment, the values and the checklist stand beside
// it. It is nil for a nil d.
func Ending(d *hub.Decision) []Piece {
	if d == nil {
		return nil
	}
	by := func(what string) []Piece {
		p := []Piece{{Text: what, Strong: true}, {Text: " — " + decider(d, nil) + ", "}, {At: d.At}}
		if via := Via(d.Via); via != "" {
			p = append(p, Piece{Text: ", " + via})
		}
		if d.Edited {
			p = append(p, Piece{Text: " (changed from what the agent proposed)"})
		}
		return p
	}
	switch d.Resolution {
	case ma2h.Answered:
		if d.Choice != "" {
			return by("✓ " + short(d.Choice))
		}
		return by("✓ Answered")
	case ma2h.Completed:
		return by("✓ Done")
	case ma2h.Declined:
		return by("✕ Declined")
	case ma2h.Dismissed:
		return by("✕ Can't be done")
	case ma2h.Cancelled:
		s := "— Withdrawn "
		if d.ActorName != "" {
			s = "— Withdrawn by " + short(d.ActorName) + " "
		}
		return []Piece{{Text: s}, {At: d.At}, {Text: "."}}
	case ma2h.Expired:
		p := []Piece{{Text: "⏱ Expired "}, {At: d.At}, {Text: ", nobody answered."}}
		switch {
		case d.Defaulted && d.Choice != "":
			p = append(p, Piece{Text: " "}, Piece{Text: short(d.Choice), Strong: true}, Piece{Text: " was applied."})
		case d.Defaulted:
			p = append(p, Piece{Text: " The default was applied."})
		}
		return p
	}
	return []Piece{{Text: Status(d.Resolution), Strong: true}}
}

// Numbers names the numbers of n choices: "1 or 2", "1, 2 or 3", "a number from
// 1 to 9".
func Numbers(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1"
	case n > 5:
		return "a number from 1 to " + strconv.Itoa(n)
	}
	s := "1"
	for i := 2; i < n; i++ {
		s += ", " + strconv.Itoa(i)
	}
	return s + " or " + strconv.Itoa(n)
}

// Unclear is the help for a reply that does not plainly name one choice.
func Unclear(c *hub.Card) string {
	const nothing = " Nothing has been recorded."
	switch {
	case c.PageOnly || c.Hidden:
		return "This can be answered on the page only." + nothing
	case c.Type == ma2h.Task:
		return `I couldn't read that. Reply "done" or "can't do" on the first line; anything after it becomes your comment.` + nothing
	case c.Type != ma2h.Ask:
		return refusal(hub.ReasonNotify, nil)
	case c.Mode == ma2h.Input || len(c.Options) == 0:
		return "I couldn't read that as an answer: this one wants a form filled in. Use the button above, or the page." + nothing
	}
	s := "I couldn't read that as one of the choices. Reply with " + Numbers(len(c.Options))
	if names := shortValues(c.Options); names != "" {
		s += " (or " + names + ")"
	}
	return s + " on the first line; anything after it becomes your comment." + nothing
}

// shortValues lists the values of a few options, if all are short words.
func shortValues(options []hub.CardOption) string {
	if len(options) > 5 {
		return ""
	}
	var names []string
	for _, o := range options {
		v := Line(o.Value)
		if v == "" || utf8.RuneCountInString(v) > 20 {
			return ""
		}
		names = append(names, v)
	}
	return strings.Join(names, ", ")
}

// Masked says how many secrets were masked; empty for none.
func Masked(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1 secret was masked in the agent's text"
	}
	return strconv.Itoa(n) + " secrets were masked in the agent's text"
}

// Intricate reports Markdown that would take too long to parse or would grow
// too large: it is shown as plain text.
func Intricate(src string) bool { return tooIntricate(src) || manyCells(src) }
