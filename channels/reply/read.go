package reply

import (
	"strings"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// MaxRunes bounds the text that is read. A longer one is unclear.
const MaxRunes = 100_000

// Why says why a text is no answer.
type Why string

// The reasons. The empty one stands for an answer.
const (
	WhyEmpty          Why = "empty"            // nothing but white space
	WhyTooLong        Why = "too_long"         // more than MaxRunes
	WhyNoAnswerWanted Why = "no_answer_wanted" // a notify
	WhyPageOnly       Why = "page_only"        // sensitive; the text is to be thrown away
	WhyNoChoice       Why = "no_choice"        // the first line names no choice
	WhyOutOfRange     Why = "out_of_range"     // a number that no choice has
	WhyAmbiguous      Why = "ambiguous"        // fits several choices; Fits has those that are options
	WhyHedged         Why = "hedged"           // names one and then limits, doubts or takes it back
	WhyNoDecline      Why = "no_decline"       // declining is not allowed
	WhyBadValue       Why = "bad_value"        // Field can't take what was written
	WhyUnknownField   Why = "unknown_field"    // no field has the name Field, or a line has none
	WhyTwice          Why = "twice"            // Field was given more than once, or its name fits two
	WhyMissing        Why = "missing"          // the required fields in Missing
)

// Reading is what a text says: either an answer, when Why is empty, or why it
// is none. In the second case Verb, Option, Fields and Comment are zero, so
// that nothing of an unclear text is taken for an answer.
type Reading struct {
	Verb    hub.Verb
	Option  int               // from 1, for select and confirm
	Fields  map[string]string // by field name, for input
	Comment string            // trimmed, as written

	Why     Why
	Field   string   // as the person or the schema calls it; see Why
	Missing []string // names of fields; see WhyMissing
	Fits    []int    // options from 1; see WhyAmbiguous
}

// Clear reports whether the text is an answer.
func (r *Reading) Clear() bool { return r.Why == "" }

// Fill puts what was read into an answer, and leaves the rest of it alone. It
// must be called for a clear reading only.
func (r *Reading) Fill(a *hub.Answer) {
	a.Verb, a.Option, a.Fields, a.Comment = r.Verb, r.Option, r.Fields, r.Comment
}

// Read reads text as an answer to the card's message. It looks at the card's
// choices and permissions only: whether this reader may answer, and whether it
// is still time, is for the hub to say.
func Read(c *hub.Card, text string) Reading {
	switch {
	case c.Type == ma2h.Notify:
		return Reading{Why: WhyNoAnswerWanted}
	case c.PageOnly || c.Hidden:
		return Reading{Why: WhyPageOnly}
	case utf8.RuneCountInString(text) > MaxRunes:
		return Reading{Why: WhyTooLong}
	}
	lines := linesOf(text)
	if len(lines) == 0 {
		return Reading{Why: WhyEmpty}
	}
	if c.Type == ma2h.Ask && c.Mode == ma2h.Input {
		return readInput(c, lines)
	}
	return readChoice(c, lines)
}

// linesOf splits text into lines, without blank ones at either end. Control
// characters are no text and are dropped.
func linesOf(text string) []string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n",
		"\v", "\n", "\f", "\n").Replace(text)
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
	lines := strings.Split(text, "\n")
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// readChoice reads what must be one of a few choices on the first line.
func readChoice(c *hub.Card, lines []string) Reading {
	v := vocabularyOf(c)
	if lines = splitLiteral(lines); len(lines) == 0 {
		return Reading{Why: WhyEmpty}
	}
	h := v.read(lines[0])
	if rest := pastGreeting(c, lines); h.why == WhyNoChoice && rest != nil {
		lines, h = rest, v.read(rest[0])
	}
	if h.why != "" {
		return Reading{Why: h.why, Fits: v.options(h.fits)}
	}
	return v.answer(c, h, lines[1:])
}

// answer makes the choice of the first line an answer, unless the rest of it or
// the lines below leave a doubt.
func (v *vocabulary) answer(c *hub.Card, h hit, below []string) Reading {
	ch := &v.choices[h.choice]
	if ch.verb == hub.VerbDecline && !c.CanDecline {
		return Reading{Why: WhyNoDecline}
	}
	if others := v.othersBelow(h.choice, below); others != nil {
		return Reading{Why: WhyAmbiguous, Fits: v.options(append(others, h.choice))}
	}
	if ch.goesOn(h, below) || ch.onlyAcknowledged(h, below) || h.rest != "" && v.doubtful(h) {
		return Reading{Why: WhyHedged}
	}
	if takenBack(below, ch.namesFor(h.name), ch.refuses()) {
		return Reading{Why: WhyHedged}
	}
	if ch.own(h.rest) {
		h.rest = "" // "2. Hold": no comment, only the choice's own words
	}
	comment := trim(h.rest + "\n" + strings.Join(below, "\n"))
	if v.secondThoughts(h.choice, comment) {
		return Reading{Why: WhyHedged}
	}
	return Reading{Verb: ch.verb, Option: ch.option, Comment: comment}
}
