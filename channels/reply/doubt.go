package reply

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"beckon/hub"
)

// doubtful reports whether the comment on the line of the choice could change
// what the choice means.
func (v *vocabulary) doubtful(h hit) bool {
	ch := &v.choices[h.choice]
	if ch.own(h.rest) {
		return false
	}
	if strings.ContainsAny(h.rest, "?？؟;") || strings.ContainsFunc(h.rest, foreign) {
		return true
	}
	words := textWords(h.rest)
	if len(words) == 0 || hasPhrase(words, hedges) || hasPhrase(words, retractions) || startsWithDigit(words[0]) {
		return true
	}
	if ch.refuses() {
		if slices.ContainsFunc(ch.namesFor(h.name), func(n string) bool { return negated(words, wordsOf(n)) }) {
			return true
		}
	} else if slices.ContainsFunc(words, negates) {
		return true
	}
	line, head := textWords(h.line), wordsOf(h.name)
	for i := range v.choices {
		if i == h.choice {
			continue
		}
		for _, name := range v.choices[i].names {
			w := wordsOf(name)
			if indexWords(words, w, 0) >= 0 {
				return true
			}
			// "Ship. Now" beside a choice Ship now.
			if len(w) > len(head) && indexWords(line[:min(len(w), len(line))], w, 0) == 0 {
				return true
			}
		}
	}
	return false
}

// goesOn reports whether the line of the choice ends in the middle of a
// sentence that the next line carries on.
func (c *choice) goesOn(h hit, below []string) bool {
	line := fold(h.line)
	return h.rest == "" && len(below) > 0 && !blank(below[0]) && strings.HasSuffix(line, ",") && !slices.Contains(c.names, line)
}

// onlyAcknowledged reports whether the person may only have said that they read
// the message. An option that is itself called OK is meant all the same.
func (c *choice) onlyAcknowledged(h hit, below []string) bool {
	said := shortcode(tidy(h.name))
	word := shortcode(uncourteous(said))
	if !slices.Contains(acknowledgements, word) && !slices.Contains(acknowledgements, word+":") || slices.Contains(c.names, word) {
		return false
	}
	return said != word || h.rest != "" || trim(strings.Join(below, "")) != ""
}

func startsWithDigit(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsDigit(r)
}

// foreign reports whether r is a letter of a script whose negations this
// package does not know.
func foreign(r rune) bool {
	return unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Cyrillic)
}

// takenBack reports whether the lines below the choice undo it: they go on with
// its sentence, retract it, or negate one of its names. For a refusal, a line
// that begins with a negation is a reason.
func takenBack(below, names []string, refuses bool) bool {
	text := trim(strings.Join(below, "\n"))
	if text == "" {
		return false
	}
	start := text[:min(len(text), longWords)]
	words, folded := textWords(start), fold(start)
	continues := startsWithPhrase(words, continuations) ||
		slices.ContainsFunc(unspacedContinuations, func(p string) bool { return strings.HasPrefix(folded, p) })
	if continues && !(refuses && len(words) > 0 && negates(words[0])) {
		return true
	}
	for _, line := range below {
		if len(line) <= longWords && slices.Contains(retractingLines, strings.Join(textWords(line), " ")) {
			return true
		}
	}
	nameWords := make([][]string, len(names))
	for i, name := range names {
		nameWords[i] = wordsOf(name)
	}
	for _, s := range sentences(text) {
		words := textWords(s)
		if hasPhrase(words, retractions) {
			return true
		}
		for i, name := range names {
			if negated(words, nameWords[i]) || unspaced(name) && negatedUnspaced(fold(s), name) {
				return true
			}
		}
	}
	return false
}

// sentences splits prose at its full stops and blank lines. A single line break
// may be a mail program's.
func sentences(text string) []string {
	text = strings.ReplaceAll(text, "\n\n", ".")
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".!?;。！？؟", r) })
}

// negated reports whether the words of a name stand after a negation that is
// near, or right before one.
func negated(words, name []string) bool {
	const near = 4
	for i := indexWords(words, name, 0); i >= 0; i = indexWords(words, name, i+1) {
		if slices.ContainsFunc(words[max(0, i-near):i], negates) {
			return true
		}
		if end := i + len(name); end < len(words) && slices.Contains(negationsAfter, words[end]) {
			return true
		}
	}
	return false
}

// negates reports whether a folded word is a negation.
func negates(w string) bool {
	_, ok := negations[w]
	return ok || strings.HasSuffix(w, "n't") || strings.HasPrefix(w, "n'")
}

func hasPhrase(words, phrases []string) bool {
	joined := " " + strings.Join(words, " ") + " "
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(joined, " "+p+" ") })
}

func startsWithPhrase(words, phrases []string) bool {
	joined := strings.Join(words[:min(len(words), 4)], " ") + " "
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.HasPrefix(joined, p+" ") })
}

// unspaced reports whether s is in a script that puts no space between words.
func unspaced(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
	})
}

// negatedUnspaced reports whether a name and a negation are in one sentence of
// such a script, where only a reader could tell what belongs to what.
func negatedUnspaced(sentence, name string) bool {
	before, after, ok := strings.Cut(sentence, name)
	return ok && slices.ContainsFunc(unspacedNegations, func(n string) bool {
		return strings.Contains(before, n) || strings.Contains(after, n)
	})
}

// refuses reports whether the choice is not to answer. A reason why not is
// likely to hold a negation.
func (c *choice) refuses() bool { return c.verb == hub.VerbDecline || c.verb == hub.VerbDismiss }

// namesFor returns all that stands for a choice in prose: its names, its number
// and what the person wrote.
func (c *choice) namesFor(written string) []string {
	if c.verb == hub.VerbDismiss {
		return []string{"dismiss"} // its other names are negations themselves
	}
	out := slices.Clone(c.names)
	if c.option > 0 {
		out = append(out, strconv.Itoa(c.option))
	}
	return append(out, written)
}

// pastGreeting returns the lines after a greeting, nil when there is no greeting
// or nothing after it.
func pastGreeting(c *hub.Card, lines []string) []string {
	if !greets(c, lines[0]) {
		return nil
	}
	for i, line := range lines[1:] {
		if !blank(line) {
			return lines[i+1:]
		}
	}
	return nil
}

// greets reports whether a line is nothing but a greeting, to nobody by name or
// to the agent.
func greets(c *hub.Card, line string) bool {
	if len(line) > longWords {
		return false
	}
	words := textWords(line)
	if len(words) == 0 || len(words) > 8 || strings.ContainsAny(line, "?？") {
		return false
	}
	whom := slices.Clone(addressees)
	for _, id := range append(strings.Split(c.AgentID, "/"), c.AgentID, c.Project) {
		whom = append(whom, strings.Join(textWords(id), " "))
	}
	joined := strings.Join(words, " ")
	for _, g := range greetings {
		if rest, ok := strings.CutPrefix(joined, g); ok && (rest == "" || rest[0] == ' ' && slices.Contains(whom, rest[1:])) {
			return true
		}
	}
	return false
}

// uncourteous takes a please or thanks off tidied text.
func uncourteous(s string) string {
	for _, c := range courtesies {
		t, ok := strings.CutSuffix(s, c)
		if head := strings.TrimSpace(t); ok && head != "" && (head != t || strings.HasSuffix(t, ",")) {
			return tidy(head)
		}
	}
	for _, c := range []string{"please ", "please, "} {
		if t, ok := strings.CutPrefix(s, c); ok && t != "" {
			return tidy(t)
		}
	}
	return s
}
