package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxSignature = 20 // lines of a signature that only its look gives away
	maxShort     = 90 // bytes in such a line
	maxNameWords = 5
	minMobile    = 9  // bytes of "Sent from my …"
	maxMobile    = 90 // and at most
	maxRuled     = 8  // lines below a "---" that make it a signature's
)

// unsigned takes the signature off the end of what somebody wrote, and what
// servers and programs put there, and says by which rules. It takes everything
// only if it can't be anything else, or if above says that more stands above.
func unsigned(lines []line, above bool) (kept []line, why []string) {
	from := 0 // the first line that may begin a signature
	if lines = trim(lines); !above {
		var more []string
		lines, why = withoutMobile(lines)
		lines, more = withoutTop(lines)
		why = append(why, more...)
		from = 1
	}
	ps := postscript(lines)
	kept, more := unsignedPart(lines[:ps], from)
	why = append(why, more...)
	if ps < len(lines) {
		below, more := unsignedPart(lines[ps:], 1)
		why = append(why, more...)
		if len(kept) > 0 {
			kept = append(kept[:len(kept):len(kept)], line{})
		}
		kept = append(kept[:len(kept):len(kept)], below...)
	}
	return trim(kept), why
}

// unsignedPart applies the rules in turn to lines without a postscript.
func unsignedPart(lines []line, from int) (kept []line, why []string) {
	for _, rule := range []struct {
		name string
		find func(lines []line, from int) int
	}{
		{"delimiter", delimited},
		{"mobile signature", mobile},
		{"footer", footer},
		{"ruled signature", ruled},
		{"contact block", contacts},
		{"sign-off", signedOff},
		{"name", dashName},
	} {
		if n := rule.find(lines, from); n < len(lines) {
			lines = trimEnd(lines[:n])
			why = append(why, rule.name)
		}
	}
	lines, notes := withoutNotes(lines, from)
	return withoutRule(lines), append(why, notes...)
}

// withoutMobile takes "Sent from my iPhone" off the top, if somebody wrote
// below it, and the link that may come with it.
func withoutMobile(lines []line) ([]line, []string) {
	var why []string
	for len(lines) > 0 && lines[0].own() && isMobile(lines[0].low) {
		n := 1
		if n < len(lines) && siteAlone.MatchString(lines[n].low) {
			n++
		}
		lines, why = trim(lines[n:]), []string{"mobile signature"}
	}
	return lines, why
}

// delimited finds "-- " (RFC 3676 section 4.3) and what people and programs
// make of it: without the space, or two underscores and more.
func delimited(lines []line, from int) int {
	for i := range lines {
		if l := &lines[i]; l.own() && !l.fence && isDelimiter(l) && (i > 0 || from == 0 || !proseBelow(lines)) {
			return i
		}
	}
	return len(lines)
}

func isDelimiter(l *line) bool {
	s := strings.Trim(l.norm, "*")
	return s == "--" || s == "-- -" || len(s) >= 2 && strings.Trim(s, "_") == ""
}

// proseBelow reports whether sentences stand below a signature at the top, as
// they do if a program puts it there, or if the line was drawn for no signature.
func proseBelow(lines []line) bool {
	at := 1
	if lines[0].norm[0] == '-' { // below the paragraph of the signature
		for at < len(lines) && lines[at].norm != "" {
			at++
		}
	}
	for ; at < len(lines); at++ {
		if l := &lines[at]; l.own() && isProse(l) && len(strings.Fields(l.norm)) > 3 {
			return !footerBegins(lines, at)
		}
	}
	return false
}

// withoutTop takes a delimiter off the top that has prose below it, with the
// signature between them.
func withoutTop(lines []line) ([]line, []string) {
	if len(lines) == 0 || !lines[0].own() || !isDelimiter(&lines[0]) || !proseBelow(lines) {
		return lines, nil
	}
	at := 1
	if lines[0].norm[0] == '-' {
		for at < len(lines) && lines[at].norm != "" {
			at++
		}
	}
	return trim(lines[at:]), []string{"delimiter"}
}

// mobile finds "Sent from my iPhone".
func mobile(lines []line, from int) int {
	for i := from; i < len(lines); i++ {
		if l := &lines[i]; l.own() && !l.fence && isMobile(l.low) {
			return i
		}
	}
	return len(lines)
}

// postscript finds a paragraph that begins with "PS", which people write below
// their signature.
func postscript(lines []line) int {
	for i := 1; i < len(lines); i++ {
		l := &lines[i]
		if l.depth > 0 || l.norm == "" || lines[i-1].norm != "" {
			continue
		}
		for _, p := range []string{"p.s.", "ps:", "ps.", "ps ", "p.s ", "p.s:", "p.p.s", "nb:", "n.b.", "з.і.", "з. і.", "n.b:", "пс:", "p.d.", "pd:", "post scriptum"} {
			if strings.HasPrefix(l.low, p) {
				return i
			}
		}
	}
	return len(lines)
}

// ruled finds a line of dashes, stars or the like with a short signature below
// it, framed perhaps, or with nothing.
func ruled(lines []line, from int) int {
	found := len(lines)
	for i := len(lines) - 1; i >= from && len(lines)-i <= maxSignature; i-- {
		if !isRule(&lines[i]) {
			continue
		}
		if i > 0 && lines[i-1].norm != "" && i+1 < len(lines) && lines[i+1].norm == "" && len(trim(lines[i+1:])) > 0 {
			continue // it underlines a heading
		}
		below := withoutRule(trim(lines[i+1:]))
		if len(below) == 0 || len(below) <= maxRuled && looksSigned(below) {
			found = i
		}
	}
	return found
}

// isRule reports whether a line is drawn: three or more of one character, or
// one long dash, or the dot that Gmail leaves behind.
func isRule(l *line) bool {
	if l.depth > 0 || l.fence {
		return false
	}
	if l.norm == "-" && strings.TrimSpace(l.body) != "-" || l.norm == "ᐧ" {
		return true
	}
	if len(l.norm) < 3 {
		return false
	}
	c := l.norm[0]
	return strings.IndexByte("-_=*~#+", c) >= 0 && strings.Trim(l.norm, string(rune(c))+" ") == ""
}

// withoutRule takes a drawn line off the end.
func withoutRule(lines []line) []line {
	for len(lines) > 0 && isRule(&lines[len(lines)-1]) {
		lines = trimEnd(lines[:len(lines)-1])
	}
	return lines
}

// looksSigned reports whether lines could be a signature: all short, no
// sentence, no list, and the first is a name.
func looksSigned(lines []line) bool {
	if len(lines) == 0 || !isName(lines[0].norm) && !piped(lines[0].norm) {
		return false
	}
	for i := range lines {
		if l := &lines[i]; l.depth > 0 || isProse(l) {
			return false
		}
	}
	return true
}

// signedOff finds "Best regards" with a name below it, or nothing.
func signedOff(lines []line, from int) int {
	seen := 0
	for i := len(lines) - 1; i >= from && seen <= maxSignature; i-- {
		l := &lines[i]
		if l.norm == "" {
			continue
		}
		seen++
		if l.depth > 0 || l.fence {
			break
		}
		if !signsOff(l.low) {
			continue
		}
		if below := trim(lines[i+1:]); len(below) == 0 || looksSigned(below) {
			for i > from && lines[i-1].own() && signsOff(lines[i-1].low) { // "Viele Grüße / Best regards"
				i--
			}
			return i
		}
	}
	return len(lines)
}

// signsOff reports whether a line in lower case is a sign-off, alone or with a
// name behind it.
func signsOff(low string) bool {
	s := strings.TrimRight(strings.Trim(low, " *_/~-"), ":،، ")
	head, name, _ := strings.Cut(s, ",")
	head = strings.Trim(head, " .!:*_")
	if signOffs[head] {
		name = strings.Trim(name, " .!*_")
		return name == "" || strings.Contains(head, " ") && len(wordsOf(name)) <= 3 && !strings.ContainsAny(name, ".?!:;0123456789")
	}
	words := wordsOf(s)
	if len(words) == 0 || len(words) > 8 || strings.ContainsAny(s, "?:;0123456789") {
		return false
	}
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '|' || r == ',' }) {
		if !signOffs[strings.Trim(part, " .!*_")] {
			return signOffStart(words)
		}
	}
	return true
}

// signOffStart reports whether words are a sign-off of several words and a
// name without a comma between them.
func signOffStart(words []string) bool {
	for n := min(len(words), 5); n > 1; n-- {
		if signOffs[strings.Join(words[:n], " ")] {
			return len(words)-n <= 3
		}
	}
	return false
}

// dashName finds "-First Last" at the end, below a blank line.
func dashName(lines []line, from int) int {
	n := len(lines) - 1
	if n < 2*from || n > 0 && lines[n-1].norm != "" || n < 0 || lines[n].depth > 0 {
		return len(lines)
	}
	s, ok := strings.CutPrefix(lines[n].norm, "-")
	if !ok || strings.HasPrefix(lines[n].body, "—") || len(strings.Fields(s)) < 2 || strings.HasPrefix(s, " ") || !isName(s) {
		return len(lines)
	}
	return n
}

// isName reports whether a line could be a person's name: few words, all with
// a capital or in a script without them, and nothing else.
func isName(norm string) bool {
	s := strings.Trim(norm, "*_ ,.")
	if s == "" || len(s) > 60 || strings.ContainsAny(s, "0123456789@:;?!/\\|<>[]{}=#\"") || listPoint(norm) {
		return false
	}
	words := strings.Fields(s)
	if len(words) > maxNameWords {
		return false
	}
	capital := false
	for _, w := range words {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, "('-"))
		switch {
		case unicode.IsUpper(r), unicode.IsTitle(r):
			capital = true
		case unicode.IsLetter(r) && !unicode.IsLower(r): // no case in this script
			capital = true
			if len(words) > 4 {
				return false
			}
		case !nameParts[strings.ToLower(strings.Trim(w, ".,()"))]:
			return false
		}
	}
	return capital
}

// nameParts are what names have in small letters.
var nameParts = wordSet("von van vom zu zur de der den del della di da do dos das du la le el al bin ibn ben y e und and & the of ter ten af av og och - bint abu jr sr phd msc i v iv ia ppa dr prof dipl ing dipl.-ing mag mba")

// isProse reports whether a line is more than a signature holds: a sentence, a
// point of a list, or just long.
func isProse(l *line) bool {
	s := l.norm
	if s == "" || contact(l) > 0 || isName(s) {
		return false
	}
	words := strings.Fields(s)
	if len(s) > maxShort || len(words) > 10 {
		return true
	}
	if listPoint(s) {
		return true
	}
	last := s[len(s)-1]
	if strings.IndexByte("?!:", last) >= 0 || last == '.' && len(words) > 3 {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r) && len(words) > 3
}

// listPoint reports whether a line is a point of a list.
func listPoint(s string) bool {
	for _, p := range []string{"- ", "* ", "• ", "· ", "o "} {
		if strings.HasPrefix(s, p) && len(s) > len(p) {
			return true
		}
	}
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n > 0 && n < 3 && n < len(s) && (s[n] == '.' || s[n] == ')')
}
