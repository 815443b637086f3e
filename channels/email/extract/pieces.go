package extract

import (
	"regexp"
	"strings"
)

// kind says what a piece of a body is.
type kind byte

const (
	own   kind = iota // somebody wrote it
	quote             // marked with ">", or known to be ours
	head              // introduces a quote
)

// piece is a run of lines of one kind.
type piece struct {
	kind  kind
	from  int // where it is in the body
	lines []line
	mail  bool // of a quote: it is of the mail that was answered, not a citation
	soft  bool // of a head: what follows it is marked as a quote
}

// cutter takes a body apart.
type cutter struct {
	lines  []line
	sent   *sent
	pieces []piece
	cut    []string // see Result.Cut
	mail   bool     // a quoted mail was seen
	wrote  bool     // something was written above a head
	judged int      // how many pieces wrote speaks of
}

func (c *cutter) note(why string) {
	if len(c.cut) == 0 || c.cut[len(c.cut)-1] != why {
		c.cut = append(c.cut, why)
	}
}

// take makes pieces of the lines. It stops at a quoted mail that isn't marked
// as a quote, if something was written above it: nobody can tell then whose
// the lines below are.
func (c *cutter) take() {
	for i := 0; i < len(c.lines); {
		l := &c.lines[i]
		if l.depth > 0 {
			i += c.takeQuote(i)
			continue
		}
		n, rule := c.headAt(i)
		if rule == "header block" && !c.mail && !c.textFrom(i+n) && !c.stops(i) {
			n, rule = 0, "" // nothing but fields: that is an answer
		}
		switch {
		case rule != "":
			soft := n > 0 && c.marked(i+n)
			if !soft && c.stops(i) {
				c.note(rule)
				return
			}
			c.note(rule)
			c.put(head, i, n)
			c.pieces[len(c.pieces)-1].soft = soft
			c.mail = true
			i += n
		case c.mail && l.norm != "" && c.sent.take(c.lines, i):
			c.note("our own lines")
			l.raw, l.depth = "> "+l.raw, 1
			c.put(quote, i, 1)
			i++
		default:
			c.put(own, i, 1)
			i++
		}
	}
}

// textFrom reports whether there is text from line i on.
func (c *cutter) textFrom(i int) bool {
	for ; i < len(c.lines); i++ {
		if c.lines[i].norm != "" {
			return true
		}
	}
	return false
}

// put adds n lines, from i on, to the last piece, or begins one.
func (c *cutter) put(k kind, i, n int) {
	if last := len(c.pieces) - 1; last >= 0 && k != head {
		if p := &c.pieces[last]; p.kind == k && p.from+len(p.lines) == i {
			p.lines = c.lines[p.from : i+n]
			p.mail = p.mail || c.mail && k == quote
			return
		}
	}
	c.pieces = append(c.pieces, piece{kind: k, from: i, lines: c.lines[i : i+n], mail: k == quote && c.mail})
}

// headAt finds what introduces a quoted mail, in how many lines and by which
// rule. A mail of ours that nothing introduces has no lines for that.
func (c *cutter) headAt(i int) (n int, rule string) {
	l := &c.lines[i]
	switch {
	case l.mark != "":
		return 1 + introduced(c.lines, i+1), l.mark
	case l.norm == "" || l.fence:
		return 0, ""
	case c.sent.marks(l), replyAbove.MatchString(l.low) && len(l.low) < 200:
		return 1, "marker"
	case separator(l) || plainSeparators[l.low] && i+1 < len(c.lines) && headers(c.lines, i+1) > 0:
		return 1 + fieldsBelow(c.lines, i+1), "separator"
	}
	if n := headers(c.lines, i); n > 0 {
		return n, "header block"
	}
	if n := attribution(c.lines, i); n > 0 {
		return n, "attribution"
	}
	if n := addressed(c.lines, i); n > 0 {
		return n, "attribution"
	}
	if !c.mail && c.oursBegin(i) {
		return 0, "our own mail"
	}
	return 0, ""
}

// fieldsBelow returns how many header fields stand right below a separator,
// which says well enough that they are such.
func fieldsBelow(lines []line, i int) int {
	if i >= len(lines) {
		return 0
	}
	n := headers(lines, i)
	for i+n < len(lines) && n < maxHeaderLines && lines[i+n].depth == lines[i].depth && fieldOf(lines[i+n].low) != noField {
		n++
	}
	return n
}

// addressed returns the length of a "To: X (x@y);" and the line below it that
// introduces a quote, as Yandex writes them, or 0.
func addressed(lines []line, i int) int {
	if f := fieldOf(lines[i].low); f != fieldTo && f != fieldCc || !strings.Contains(lines[i].low, "@") {
		return 0
	}
	n := 1
	for i+n < len(lines) && n < 4 && lines[i+n].blank() {
		n++
	}
	if i+n >= len(lines) || lines[i+n].depth != lines[i].depth {
		return 0
	}
	if more := attribution(lines, i+n); more > 0 {
		return n + more
	}
	return 0
}

// replyAbove is the line of other programs below which nobody should write.
var replyAbove = regexp.MustCompile(`^[^\pL]{2,}\s?(?:please )?(?:(?:type|write|enter|add|put) your (?:reply|response|answer)|reply|respond|antwort|répond|responda|rispondi|antwoord)\b.{0,40}\b(?:above|oberhalb|über|dessus|encima|arriba|acima|sopra|boven)\b.{0,20}`)

// introduced returns how many lines below a mark of HTML introduce the quote
// in words that we don't know.
func introduced(lines []line, i int) int {
	for n, seen := 0, 0; i+n < len(lines) && seen < 3; n++ {
		l := &lines[i+n]
		switch {
		case l.depth > 0:
			return n
		case l.mark != "" || len(l.low) > maxAttribution:
			return 0
		case l.norm != "":
			if c := cluesOf(l.low); !c.email && !c.dated && !c.colon {
				return 0
			}
			seen++
			if quoteFollows(lines, i+n+1, 0) {
				return n + 1
			}
		}
	}
	return 0
}

// maxHeads is how many heads may stand in a row above one quote.
const maxHeads = 6

// marked reports whether a marked quote follows at i, after more heads perhaps.
func (c *cutter) marked(i int) bool {
	for range maxHeads {
		for i < len(c.lines) && c.lines[i].blank() && c.lines[i].depth == 0 {
			i++
		}
		if i >= len(c.lines) || c.lines[i].depth > 0 {
			return i < len(c.lines)
		}
		n, _ := c.headAt(i)
		if n == 0 {
			return false
		}
		i += n
	}
	return false
}

// stops reports whether something was written above line i, so that a mail
// that is quoted without marks ends what the person wrote. Answers between our
// lines are read all the same, if the text above says so.
func (c *cutter) stops(i int) bool {
	for ; c.judged < len(c.pieces); c.judged++ {
		if p := &c.pieces[c.judged]; p.kind == own {
			kept, _ := unsigned(p.lines, false)
			c.wrote = c.wrote || !blank(kept)
		}
	}
	return c.wrote && !c.answersBelow(i)
}

// seeBelow are the words that send the reader to answers inside the quote.
var seeBelow = regexp.MustCompile(`(?:^|[^\pL])(?:below|below|inline|in-line|in line|interleaved|in (?:red|blue|green|bold|color|colour)|unten|untenstehend|weiter unten|ci-dessous|plus bas|en rouge|abajo|más abajo|en rojo|abaixo|em vermelho|sotto|in rosso|hieronder|onder|nedan|nedenfor|alla|poniżej|níže|nižšie|alább|mai jos|aşağıda|ниже|нижче|по-долу|παρακάτω|להלן|למטה|أدناه|见下|如下|下記|以下|아래|bên dưới|di bawah|ด้านล่าง)`)

// answersBelow reports whether the text above line i speaks of answers below,
// and what is below is for the most part ours.
func (c *cutter) answersBelow(i int) bool {
	if c.sent == nil {
		return false
	}
	said := false
	for _, p := range c.pieces {
		for _, l := range p.lines {
			said = said || p.kind == own && seeBelow.MatchString(l.low)
		}
	}
	if !said {
		return false
	}
	ours, all := 0, 0
	for ; i < len(c.lines); i++ {
		if l := &c.lines[i]; l.norm != "" && fieldOf(l.low) == noField {
			all++
			if c.sent.knows(l) {
				ours++
			}
		}
	}
	return ours > 0 && 2*ours >= all
}

// oursBegin reports whether a mail of ours begins at line i without any mark:
// at least three lines in a row are ours.
func (c *cutter) oursBegin(i int) bool {
	seen := 0
	for ; i < len(c.lines) && seen < 3; i++ {
		l := &c.lines[i]
		if l.norm == "" {
			continue
		}
		if l.depth > 0 || !c.sent.knows(l) {
			return false
		}
		seen++
	}
	return seen == 3
}

// takeQuote takes a marked quote, with the blank lines and torn lines in it,
// and returns its length.
func (c *cutter) takeQuote(i int) int {
	end := i + 1
	for n := end; n < len(c.lines); n++ {
		l := &c.lines[n]
		if l.depth > 0 || n == end && l.norm != "" && l.mark == "" && torn(c.lines, n) {
			end = n + 1
		} else if !l.blank() {
			break
		}
	}
	lines := c.lines[i:end]
	if !c.mail && c.isMail(lines) {
		c.mail = true
		c.note("quoted mail")
	}
	for k := range lines {
		c.sent.take(lines, k)
	}
	c.put(quote, i, end-i)
	return end - i
}

// minTorn is the length from which a quoted line may have been torn in two by
// a program that wraps.
const minTorn = 66

// torn reports whether line n is the end of the quoted line above it, which was
// wrapped without a mark, and more of the quote follows.
func torn(lines []line, n int) bool {
	if n+1 >= len(lines) || lines[n+1].depth == 0 || lines[n+1].depth < lines[n-1].depth && lines[n+1].norm != "" {
		return false
	}
	before, l := &lines[n-1], &lines[n]
	if strings.Contains(before.norm, "://") && !strings.Contains(l.norm, " ") && len(l.norm) > 4 {
		return true
	}
	if len(before.norm) < minTorn || strings.ContainsRune(".?!:;", rune(before.norm[len(before.norm)-1])) {
		return false
	}
	return l.low == l.norm && len(strings.Fields(l.norm)) < 12
}

// isMail reports whether a marked quote is of a mail rather than a citation:
// it begins with a head, as iOS does it, or holds lines of ours.
func (c *cutter) isMail(lines []line) bool {
	for i := range lines {
		if lines[i].mark == markCited {
			return true
		}
		if lines[i].norm == "" {
			continue
		}
		if separator(&lines[i]) || headers(lines, i) > 0 || attribution(lines, i) > 0 || addressed(lines, i) > 0 {
			return true
		}
		break
	}
	ours := 0
	for i := range lines {
		if c.sent.knows(&lines[i]) {
			ours++
		}
	}
	return ours > 1 || ours == 1 && len(lines) < 4
}

// mailLike reports whether a citation at the end looks like what a program
// quotes rather than a person: paragraphs, quotes in it, a head in it.
func mailLike(lines []line) bool {
	full, empty := 0, 0
	for i := range lines {
		l := &lines[i]
		switch {
		case l.depth > 1 || l.mark == markClient:
			return true
		case l.mark == markPerson:
			return false
		case l.depth == 1 && l.norm == "":
			empty++
		case l.depth == 1:
			full++
			if separator(l) || attribution(lines, i) > 0 || headers(lines, i) > 0 {
				return true
			}
		}
	}
	return empty > 0 && full >= 2 || full > 6
}

// blank reports whether lines hold nothing that somebody wrote.
func blank(lines []line) bool {
	for i := range lines {
		if lines[i].own() && !isRule(&lines[i]) {
			return false
		}
	}
	return true
}
