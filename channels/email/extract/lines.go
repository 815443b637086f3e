package extract

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// line is one line of a body.
type line struct {
	raw   string // as it came and as it is kept
	body  string // raw without its quote marks
	norm  string // body in the form that is compared, case kept; see normal
	low   string // norm in lower case
	depth int    // how many quote marks it had
	mark  string // a rule, if a quoted mail begins here by the markup of HTML
	attr  bool   // HTML says that this line introduces a quote
	fence bool   // in a ``` block, where nothing is a signature
	plain bool   // surely no header block begins here; see headers
}

func (l *line) blank() bool { return l.norm == "" && l.mark == "" }

// own reports whether the line has text that is not marked as a quote.
func (l *line) own() bool { return l.depth == 0 && l.norm != "" }

// clean takes out of a body what no text holds (RFC 5322 section 3.5 allows
// neither NUL nor lone CR; C0 and C1 controls come from broken clients), and
// makes every line end in \n. A <BR> in capitals is a line break that iOS puts
// into the body of a mailto: link.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = lineEnds.Replace(s)
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "<BR>", "\n")

// split makes lines of cleaned text.
func split(s string) []line {
	var lines []line
	fenced := false
	for raw := range strings.SplitSeq(s, "\n") {
		l := quoted(strings.TrimRightFunc(raw, trailing))
		if l.depth == 0 && strings.HasPrefix(l.norm, "```") {
			fenced = !fenced
		}
		l.fence = fenced
		lines = append(lines, parted(l)...)
	}
	if fenced { // never closed, so it was none
		for i := range lines {
			lines[i].fence = false
		}
	}
	supercited(lines)
	return lines
}

// parted parts a line in which what introduces a quote comes right after the
// text, since a program lost the line end: "Approve On 3 May 2026, X wrote:".
func parted(l line) []line {
	if l.depth > 0 || l.fence || len(l.raw) > maxAttribution || !strings.HasSuffix(l.norm, ":") && !strings.HasSuffix(l.norm, "--") {
		return []line{l}
	}
	at := headInside.FindStringIndex(l.raw)
	if at == nil {
		return []line{l}
	}
	head, text := quoted(strings.TrimSpace(l.raw[at[0]:])), quoted(strings.TrimRightFunc(l.raw[:at[0]], trailing))
	c := cluesOf(head.low)
	if text.norm == "" || !separator(&head) && !(c.ends && c.colon && c.dated && (c.email || c.clock)) {
		return []line{l}
	}
	return []line{text, head}
}

// headInside finds where it may begin.
var headInside = regexp.MustCompile(`[\s\x{a0}](?:(?:On|Am|Le|El|Em|Op|Den|Il|Il giorno|W dniu|Dnia|Dne|Dňa|Pada|Vào) (?:\pL{2,10}[.,]{0,2} ){0,2}\d|-{3,} ?\pL[\pL ]{3,30} ?-{3,}$)`)

// quoted makes a line of raw text, and counts its quote marks.
func quoted(raw string) line {
	l := line{raw: raw}
	rest := raw
	for {
		t := strings.TrimLeftFunc(rest, spaceOrInvisible)
		if !strings.HasPrefix(t, ">") {
			break
		}
		rest = t[1:]
		l.depth++
	}
	l.set(strings.TrimPrefix(rest, " "))
	return l
}

func (l *line) set(body string) {
	l.body = body
	l.norm = normal(body)
	l.low = lower(l.norm)
}

// lower makes small letters, and of the Turkish İ the one that all others use.
func lower(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), "i\u0307", "i")
}

// supercited marks lines as quoted that begin with somebody's initials, as in
// "AW> ", if there are at least two of them in a row.
func supercited(lines []line) {
	for i := 0; i < len(lines); {
		p := initials(lines[i])
		n := i + 1
		for p != "" && n < len(lines) && initials(lines[n]) == p {
			n++
		}
		if n-i >= 2 {
			for j := i; j < n; j++ {
				lines[j].depth = 1
				lines[j].set(strings.TrimPrefix(lines[j].norm, p))
			}
		}
		i = n
	}
}

// initials returns the "AW>" that a line begins with.
func initials(l line) string {
	n := strings.IndexByte(l.norm, '>')
	if n < 1 || n > 3 || l.depth > 0 {
		return ""
	}
	for _, r := range l.norm[:n] {
		if !unicode.IsUpper(r) {
			return ""
		}
	}
	return l.norm[:n+1]
}

// normal brings text into the form that is matched and compared: NFKC, white
// space as single spaces, nothing invisible, no directions, straight quotation
// marks, one kind of dash, European digits. The text itself stays as it is.
func normal(s string) string {
	if strings.ContainsRune(s, '&') {
		s = entities.Replace(s)
	}
	if !ascii(s) {
		s = strings.Map(plain, norm.NFKC.String(s))
	}
	return strings.Join(strings.Fields(s), " ")
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&nbsp;", " ")

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain maps a rune to what is compared, or drops it.
func plain(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', 'ʼ', '´', '′':
		return '\''
	case '“', '”', '„', '‟', '«', '»', '″', '「', '」':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−', '─', '━':
		return '-'
	}
	switch {
	case invisible(r), r >= 0x64b && r <= 0x652, r == 0x640: // and Arabic vowel signs
		return -1
	case unicode.IsSpace(r):
		return ' '
	case r > 0x7f && unicode.Is(unicode.Nd, r):
		return digit(r)
	}
	return r
}

// digit turns the digits that mail programs write dates with into ours.
func digit(r rune) rune {
	for _, zero := range []rune{0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xed0, 0xf20, 0x1040, 0x17e0} {
		if r >= zero && r <= zero+9 {
			return '0' + r - zero
		}
	}
	return r
}

// invisible reports whether r shows nothing.
func invisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0xfeff,
		r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e,
		r >= 0x2060 && r <= 0x206f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

func spaceOrInvisible(r rune) bool { return unicode.IsSpace(r) || invisible(r) }

// trailing reports whether r at the end of a line is nothing. The parts of an
// emoji that are not seen belong to it.
func trailing(r rune) bool {
	return spaceOrInvisible(r) && r != 0x34f && r != 0x200d && (r < 0xfe00 || r > 0xfe0f) && r < 0xe0000
}

// trim takes blank lines off both ends.
func trim(lines []line) []line { return trimEnd(trimStart(lines)) }

func trimStart(lines []line) []line {
	for len(lines) > 0 && lines[0].raw == "" && lines[0].mark == "" {
		lines = lines[1:]
	}
	return lines
}

func trimEnd(lines []line) []line {
	for len(lines) > 0 && lines[len(lines)-1].raw == "" && lines[len(lines)-1].mark == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// wordsOf splits text into words, which keep their apostrophes.
func wordsOf(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	})
	for i, w := range words {
		words[i] = strings.Trim(w, "'")
	}
	return words
}

func hasLetter(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) >= 0 }
