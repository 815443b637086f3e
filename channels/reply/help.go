package reply

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// Help is what a person must know to be understood, as parts of a sentence. All
// that it offers would be read. The words come from the agent and are
// untrusted: a channel escapes them.
type Help struct {
	Type ma2h.Type
	Mode ma2h.Mode

	Numbers string // "1, 2 or 3", "1 to 12", or "" when no number is safe
	Words   string // "ship, hold, abort", or "" when they are too many or too long
	YesNo   bool   // yes and no would be read
	Decline bool   // "decline" would be read

	Fields   []string // names of an input's fields, in order
	Required []string // those that must be given
	Values   string   // what the field in question takes: "yes or no", "a number", "dev, prod"
}

// The longest lists that help people.
const (
	maxListed    = 5  // numbers one by one, beyond that "1 to 12"
	maxWords     = 8  // words of choices
	maxWordRunes = 40 // of one choice
)

// HelpFor returns the help for a reading of the card that was unclear. It works
// for a clear one too, and then says what else would have been understood.
func HelpFor(c *hub.Card, r *Reading) Help {
	h := Help{Type: c.Type, Mode: c.Mode}
	if c.Type == ma2h.Notify || c.PageOnly || c.Hidden {
		return h
	}
	if c.Type == ma2h.Task {
		h.Words = "done, can't do"
		return h
	}
	if c.Mode == ma2h.Input {
		h.Decline = c.CanDecline
		for i := range c.Fields {
			f := &c.Fields[i]
			h.Fields = append(h.Fields, f.Name)
			if f.Required {
				h.Required = append(h.Required, f.Name)
			}
			if f.Name == r.Field || len(c.Fields) == 1 {
				h.Values = takes(f)
			}
		}
		return h
	}
	v := vocabularyOf(c)
	h.Numbers, h.Words = v.numbersHelp(c.Options), v.wordsHelp(c.Options)
	h.YesNo = c.Mode == ma2h.Confirm && v.reads("yes") && v.reads("no")
	h.Decline = c.CanDecline && v.reads("decline") && v.choices[v.byName["decline"][0]].verb == hub.VerbDecline
	return h
}

// reads reports whether a text names exactly one choice.
func (v *vocabulary) reads(text string) bool {
	found, _ := v.match(text)
	return len(found) == 1
}

func (v *vocabulary) numbersHelp(options []hub.CardOption) string {
	var ns []string
	for _, o := range options {
		if found, _ := v.match(strconv.Itoa(o.N)); len(found) == 1 && v.choices[found[0]].option == o.N {
			ns = append(ns, strconv.Itoa(o.N))
		}
	}
	if len(ns) == len(options) && len(ns) > maxListed {
		return "1 to " + strconv.Itoa(len(ns))
	}
	return or(ns)
}

func (v *vocabulary) wordsHelp(options []hub.CardOption) string {
	if len(options) > maxWords {
		return ""
	}
	var words []string
	for i, o := range options {
		w := ""
		for _, s := range []string{o.Value, o.Label} {
			s = strings.Join(strings.Fields(s), " ")
			found, _ := v.match(s)
			if len(found) == 1 && found[0] == i && utf8.RuneCountInString(s) <= maxWordRunes && !strings.Contains(s, ",") {
				w = s
				break
			}
		}
		if w == "" {
			return ""
		}
		words = append(words, w)
	}
	return strings.Join(words, ", ")
}

// takes says what a field takes.
func takes(f *hub.Field) string {
	switch {
	case f.Enum != nil:
		list := f.Enum
		if f.EnumNames != nil {
			list = f.EnumNames
		}
		if len(list) > maxWords || slices.ContainsFunc(list, func(s string) bool { return utf8.RuneCountInString(s) > maxWordRunes }) {
			return "one of the listed values"
		}
		return strings.Join(list, ", ")
	case f.Type == hub.FieldBoolean:
		return "yes or no"
	case f.Type == hub.FieldInteger:
		return "a whole number"
	case f.Type == hub.FieldNumber:
		return "a number"
	}
	return "text"
}

// or joins a list as a sentence does: "1, 2 or 3".
func or(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}
