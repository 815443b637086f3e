package reply

import (
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// nothing ends every sentence: the person must know where they stand.
const nothing = " Nothing has been recorded."

// Sentence says to the person why their text was not taken, and what would be.
// It is plain text, may hold words of the agent's, and is empty for a clear
// reading.
func Sentence(c *hub.Card, r *Reading) string {
	h := HelpFor(c, r)
	switch r.Why {
	case "":
		return ""
	case WhyNoAnswerWanted:
		return "This message is for information and wants no answer." + nothing
	case WhyPageOnly:
		return "This can be answered on its page only. Your reply was not kept." + nothing
	case WhyTooLong:
		return "That is too long to read as an answer. " + h.how() + nothing
	case WhyEmpty:
		return "I found no text in your reply. " + h.how() + nothing
	case WhyOutOfRange:
		return "There is no choice with that number. " + h.how() + nothing
	case WhyAmbiguous:
		return "That could mean more than one answer. " + h.how() + nothing
	case WhyHedged:
		return "I couldn't tell whether that is a plain answer, because of what comes with it. " + h.how() + nothing
	case WhyNoDecline:
		return "This can't be declined. " + h.how() + nothing
	case WhyBadValue:
		return "I couldn't read " + h.name(r.Field) + ": it takes " + h.Values + ". " + h.how() + nothing
	case WhyUnknownField:
		if r.Field == "" {
			return "I couldn't match a line of that to a field. " + h.how() + nothing
		}
		return "I know no field " + oneLine(r.Field) + " here. " + h.how() + nothing
	case WhyTwice:
		return "I can't tell which value is meant for " + h.name(r.Field) + ". " + h.how() + nothing
	case WhyMissing:
		return "Still needed: " + oneLine(strings.Join(r.Missing, ", ")) + ". " + h.how() + nothing
	}
	if h.Type == ma2h.Task {
		return "I couldn't read that as done or not. " + h.how() + nothing
	}
	return "I couldn't read that as one of the choices. " + h.how() + nothing
}

// how says how to be understood.
func (h *Help) how() string {
	const below = " on the first line; anything after it becomes your comment."
	switch {
	case h.Type == ma2h.Task:
		return "Reply with done or can't do" + below
	case h.Mode == ma2h.Input && len(h.Fields) == 1 && h.Values == "text":
		return "Reply with the text of " + h.name(h.Fields[0]) + " alone." + h.orDecline()
	case h.Mode == ma2h.Input && len(h.Fields) == 1:
		return "Reply with " + h.Values + below + h.orDecline()
	case h.Mode == ma2h.Input:
		return "Reply with one line for each field, such as “" + h.name(h.Fields[0]) + ": value”. The fields are " +
			oneLine(strings.Join(h.Fields, ", ")) + "." + h.orDecline()
	}
	first, second := h.Numbers, oneLine(h.Words)
	if h.YesNo {
		first, second = "yes or no", h.Numbers
	}
	if first == "" {
		first, second = second, ""
	}
	switch {
	case first == "":
		return "Please answer on the page."
	case second == "":
		return "Reply with " + first + below
	}
	return "Reply with " + first + " (or " + second + ")" + below
}

// orDecline is said only where the rest doesn't: a form has no other short word.
func (h *Help) orDecline() string {
	if h.Mode == ma2h.Input && h.Decline {
		return " To decline, reply decline."
	}
	return ""
}

func (h *Help) name(field string) string {
	if field == "" {
		return "the field"
	}
	return oneLine(field)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
