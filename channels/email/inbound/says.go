package inbound

import (
	"strconv"
	"strings"
	"unicode"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// kindOf says what a text from the person is, read as an answer. Nothing of it
// matters for what is recorded: only a clear reading is. It matters for what is
// said to the person.
func kindOf(c *hub.Card, r *reply.Reading, own string, sameTopic bool) (Kind, string) {
	switch {
	case r.Clear() && !sameTopic && takesAnyText(c):
		return AnswerSuspect, "the subject is another one, and the question takes any text"
	case r.Clear():
		return Answer, "the text is an answer"
	case r.Why == reply.WhyEmpty:
		return Empty, "the text is empty"
	case r.Why == reply.WhyPageOnly, r.Why == reply.WhyNoAnswerWanted:
		return Answer, "it is not answered by mail: " + string(r.Why)
	case r.Why != reply.WhyNoChoice:
		return NeedsClarification, "the text is no plain answer: " + string(r.Why)
	case onlySigns(own):
		return NeedsClarification, "the text has no words"
	case mentions(c, own):
		return NeedsClarification, "the text names a choice, and not plainly"
	case !sameTopic:
		return AnswerSuspect, "the subject is another one, and the text names no choice"
	}
	return Answer, "the text is free and names no choice"
}

// takesAnyText reports whether nearly everything would be read as an answer.
func takesAnyText(c *hub.Card) bool { return c.Type == ma2h.Ask && c.Mode == ma2h.Input }

// onlySigns reports whether a text has neither letters nor digits: an emoji, "??".
func onlySigns(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// mentions reports whether a text has the name of a choice in it, or what may be its
// number.
func mentions(c *hub.Card, text string) bool {
	const few = 5
	words := foldWords(text)
	for _, o := range c.Options {
		if hasWords(words, foldWords(o.Label)) || hasWords(words, foldWords(o.Value)) {
			return true
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if namesNumber(foldWords(line), len(c.Options)) {
			return true
		}
	}
	return false
}

// namesNumber reports whether the words of a line may name one of n choices by its
// number: it begins with one, it has few words besides, or it says "option".
func namesNumber(line []string, n int) bool {
	const few = 5
	for i, w := range line {
		if optionWord(w) && len(line) <= few {
			return true // "option two"
		}
		k, err := strconv.Atoi(w)
		if err == nil && k >= 1 && k <= n && (i == 0 || len(line) <= few || optionWord(line[i-1])) {
			return true
		}
	}
	return false
}

// optionWord reports whether a folded word announces the number of a choice.
func optionWord(w string) bool {
	switch w {
	case "option", "opción", "opzione", "opção", "optie", "opcja", "вариант", "choice", "choix", "auswahl", "keuze", "alternativ", "alternative", "number", "nummer", "número", "numéro", "numero", "номер":
		return true
	}
	return false
}

// foldWords splits text into words, without letter case and width.
func foldWords(s string) []string {
	s = cases.Fold().String(norm.NFKC.String(s))
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) })
}

// hasWords reports whether the words of a name stand in a text, the last one
// perhaps with an ending: "approve" in "approved", but not "go" in "good". Scripts
// without spaces have the name within a word.
func hasWords(text, name []string) bool {
	if len(name) == 0 {
		return false
	}
	const stem = 5 // runes, from which on an ending makes no other word
	last := name[len(name)-1]
	r := []rune(last)
	if len(r) > stem {
		last = string(r[:len(r)-1])
	}
	unspaced := strings.ContainsFunc(last, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
	})
	for i := 0; i+len(name) <= len(text); i++ {
		here := true
		for k, w := range name[:len(name)-1] {
			here = here && text[i+k] == w
		}
		w := text[i+len(name)-1]
		if here && (w == name[len(name)-1] || len(r) >= stem && strings.HasPrefix(w, last) || unspaced && strings.Contains(w, last)) {
			return true
		}
	}
	return false
}
