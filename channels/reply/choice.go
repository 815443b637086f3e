package reply

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// choice is one thing that a first line can name.
type choice struct {
	verb   hub.Verb
	option int      // from 1; 0 for what isn't an option
	names  []string // folded; without its number
	about  string   // the folded description
}

// vocabulary is what the first line of a reply may say.
type vocabulary struct {
	choices []choice
	byName  map[string][]int // folded name to indexes of choices
	numbers int              // positions 1 to numbers are names too
	longest int              // bytes of the longest name before it was folded
}

// hit is what a line says: one choice, or why none.
type hit struct {
	choice int
	name   string // as it was written, folded and tidied
	line   string // the whole line
	rest   string // what follows the choice on its line
	why    Why
	fits   []int // choices, when it is ambiguous
}

func vocabularyOf(c *hub.Card) *vocabulary {
	v := &vocabulary{byName: map[string][]int{}}
	if c.Type == ma2h.Task {
		v.add(choice{verb: hub.VerbComplete}, completeWords...)
		v.add(choice{verb: hub.VerbDismiss}, dismissWords...)
		return v
	}
	v.numbers = len(c.Options)
	for _, o := range c.Options {
		v.longest = max(v.longest, len(o.Value), len(o.Label))
		v.add(choice{verb: hub.VerbAnswer, option: o.N, about: fold(o.Description)}, namesOf(o)...)
	}
	if c.Mode == ma2h.Confirm {
		v.addYesNo(c.Options)
	}
	// A choice that is called decline wins, and then no word declines.
	if !slices.ContainsFunc(declineWords, func(w string) bool { return v.byName[w] != nil }) {
		v.add(choice{verb: hub.VerbDecline}, declineWords...)
	}
	return v
}

// namesOf returns what a person may type for an option, folded.
func namesOf(o hub.CardOption) []string {
	var names []string
	for _, s := range []string{fold(o.Value), fold(o.Label)} {
		for _, n := range []string{s, tidy(s), undecorated(s)} {
			if n != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func (v *vocabulary) add(c choice, names ...string) {
	c.names = names
	i := len(v.choices)
	v.choices = append(v.choices, c)
	for _, n := range names {
		v.learn(n, i)
	}
}

func (v *vocabulary) learn(name string, choice int) {
	if !slices.Contains(v.byName[name], choice) {
		v.byName[name] = append(v.byName[name], choice)
	}
}

// addYesNo lets a confirm be answered by yes and no, as far as the options say
// themselves which of them is yes and which is no. The protocol gives their
// order no meaning, and "yes" to Keep or Delete would be a guess.
func (v *vocabulary) addYesNo(options []hub.CardOption) {
	var yes, no []int
	for i, o := range options {
		y, n := meansYes(o), meansNo(o)
		if y && !n {
			yes = append(yes, i)
		}
		if n && !y {
			no = append(no, i)
		}
	}
	if len(yes) == 1 {
		for _, w := range slices.Concat(yesWords, confirmYesWords) {
			v.learn(w, yes[0])
		}
	}
	if len(no) == 1 {
		for _, w := range slices.Concat(noWords, confirmNoWords) {
			v.learn(w, no[0])
		}
	}
}

func meansYes(o hub.CardOption) bool { return means(o, yesWords, confirmYesWords, yesNames) }
func meansNo(o hub.CardOption) bool  { return means(o, noWords, confirmNoWords, noNames) }

// means reports whether the option's value or label, or the label's part before
// a comma ("Yes, delete it"), is in one of the lists.
func means(o hub.CardOption, lists ...[]string) bool {
	names := namesOf(o)
	if before, _, ok := strings.Cut(fold(o.Label), ","); ok {
		names = append(names, tidy(before))
	}
	return slices.ContainsFunc(lists, func(list []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list, n) })
	})
}

// What is longer than this names nothing: folding makes text at most this many
// times shorter, and longWords is room for our own words and what is around them.
const (
	foldShrinks = 4
	longWords   = 500
)

// match returns the choices that a text names as a whole, and whether it is a
// number that none has.
func (v *vocabulary) match(text string) (found []int, outOfRange bool) {
	add := func(list []int) {
		for _, i := range list {
			if !slices.Contains(found, i) {
				found = append(found, i)
			}
		}
	}
	if len(text) > v.longest*foldShrinks+longWords {
		return nil, false // no need to fold a page of text
	}
	f := shortcode(fold(text))
	t := tidy(f)
	bare := uncourteous(t)
	for _, name := range []string{f, t, bare} {
		add(v.byName[name])
	}
	n, rest, ok := leadingNumber(bare)
	if !ok || v.numbers == 0 {
		return found, false
	}
	inRange := n >= 1 && n <= v.numbers
	switch {
	case rest == "":
		add(v.byName[strconv.Itoa(n)])
		if inRange {
			add([]int{n - 1})
		}
		return found, len(found) == 0
	case v.byName[tidy(rest)] != nil && inRange: // "2. Hold"
		add(v.byName[tidy(rest)])
		add([]int{n - 1})
	}
	return found, false
}

// read finds the one choice that a line names, alone or before a plain break.
func (v *vocabulary) read(line string) hit {
	found, outOfRange := v.match(line)
	switch len(found) {
	case 1:
		return hit{choice: found[0], name: tidy(fold(line)), line: line}
	case 0:
	default:
		return hit{why: WhyAmbiguous, fits: found}
	}
	var h hit
	for _, b := range breaks(line) {
		some, out := v.match(b.head)
		outOfRange = outOfRange || out
		for _, i := range some {
			if !slices.Contains(found, i) {
				found = append(found, i)
			}
			h = hit{choice: i, name: tidy(fold(b.head)), line: line, rest: b.rest} // the longest head stays
		}
	}
	switch {
	case len(found) == 1:
		return h
	case len(found) > 1:
		return hit{why: WhyAmbiguous, fits: found}
	case outOfRange:
		return hit{why: WhyOutOfRange}
	}
	return hit{why: WhyNoChoice}
}

// aBreak is a place where a comment may begin on the line of the choice.
type aBreak struct{ head, rest string }

// maxBreaks bounds the work on one line.
const maxBreaks = 8

// breaks finds the places, up to maxBreaks, at which a line can be split into a
// choice and a comment.
func breaks(line string) []aBreak {
	var out []aBreak
	before := ' '
	for i, r := range line {
		if len(out) == maxBreaks {
			break
		}
		end := i + utf8.RuneLen(r)
		switch r {
		case ':', '.', '!':
			if next, _ := utf8.DecodeRuneInString(line[end:]); !spaceOrInvisible(next) {
				end = 0
			}
		case '：', '。', '！', '—':
		case '-', '–':
			if !spaceOrInvisible(before) {
				end = 0
				break
			}
			end = len(line) - len(strings.TrimLeft(line[i:], "-–"))
			if next, _ := utf8.DecodeRuneInString(line[end:]); !spaceOrInvisible(next) {
				end = 0
			}
		default:
			end = 0
		}
		before = r
		if end > 0 && !blank(line[:i]) && !blank(line[end:]) {
			out = append(out, aBreak{line[:i], trim(line[end:])})
		}
	}
	return out
}

// literalBreak is what a mail client has been seen to write for a line break.
var literalBreak = regexp.MustCompile(`(?i)<br ?/?>`)

// splitLiteral makes lines of a first line with literal line breaks.
func splitLiteral(lines []string) []string {
	return linesOf(strings.Join(slices.Concat(literalBreak.Split(lines[0], -1), lines[1:]), "\n"))
}

// own reports whether text only repeats the choice's own words.
func (c *choice) own(text string) bool {
	f := fold(text)
	t := tidy(f)
	return slices.Contains(c.names, f) || slices.Contains(c.names, t) || c.about != "" && (f == c.about || t == tidy(c.about))
}

// options returns the positions of those choices that are options.
func (v *vocabulary) options(choices []int) []int {
	var out []int
	for _, i := range choices {
		if n := v.choices[i].option; n > 0 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// othersBelow returns the choices, other than the one chosen, that a line below
// the first names too. A bare number before a break is only a list of reasons.
func (v *vocabulary) othersBelow(chosen int, below []string) []int {
	var out []int
	for _, line := range below {
		if blank(line) {
			continue
		}
		found, _ := v.match(line)
		for _, b := range breaks(line) {
			if _, rest, ok := leadingNumber(tidy(fold(b.head))); ok && rest == "" {
				continue
			}
			some, _ := v.match(b.head)
			found = append(found, some...)
		}
		for _, i := range found {
			if i != chosen && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	return out
}
