package extract

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

const (
	// maxMarkup bounds the HTML that is read, in bytes. Word puts more than 100 KB
	// of styles above three words, so it is more than MaxBytes, which bounds the
	// text in it.
	maxMarkup = 4 * MaxBytes
	// maxScan bounds the look at open elements, so that markup which never closes
	// anything is read in linear time.
	maxScan = 512
	// maxDepth bounds the quote marks that a line gets.
	maxDepth = 20
)

// element is an open element.
type element struct {
	tag    string
	block  bool
	tight  bool // a paragraph without space around it
	quote  bool // what is in it is quoted
	skip   bool // what is in it is not shown, or a signature
	attr   bool // what is in it introduces a quote
	pre    bool // line ends count
	struck bool
	item   int // of an ordered list: the number of its next point
}

// page makes lines of HTML. It reads tokens rather than a tree: that is linear
// whatever the markup is, and mail is rarely well-formed.
type page struct {
	lines      []line
	text       strings.Builder // of the line that is being made
	gap        bool            // a space is due
	open       []element
	count      map[string]int // open elements by tag
	quote      int
	skip       int
	attr       int
	pre        int
	room       int  // for text, in bytes
	cut        bool // the room was not enough
	signatures bool // keep them
	signed     bool // there was one
}

// linesOf makes lines of HTML. keep says to keep what is marked as a signature.
func linesOf(body string, keep bool) *page {
	p := &page{count: make(map[string]int), room: MaxBytes, signatures: keep}
	z := html.NewTokenizer(strings.NewReader(body))
	z.SetMaxBuf(0)
	for p.room > 0 {
		switch z.Next() {
		case html.ErrorToken:
			p.finish()
			return p
		case html.TextToken:
			p.write(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.end(string(name))
		}
	}
	p.cut = true
	p.finish()
	return p
}

func (p *page) finish() {
	p.flush(false)
	supercited(p.lines)
}

// unquote makes text of what only blockquotes mark as a quote.
func (p *page) unquote() {
	kept := p.lines[:0]
	for _, l := range p.lines {
		if l.mark == "" {
			kept = append(kept, quoted(strings.TrimSpace(l.body)))
		}
	}
	p.lines = kept
}

// write adds text to the line.
func (p *page) write(s string) {
	if p.skip > 0 {
		return
	}
	s = html.UnescapeString(s)
	if len(s) > p.room {
		s, p.cut = capped(s, p.room)
	}
	p.room -= len(s)
	if p.pre > 0 {
		for i, part := range strings.Split(s, "\n") {
			if i > 0 {
				p.flush(true)
			}
			p.text.WriteString(strings.TrimRight(part, "\r"))
		}
		return
	}
	for s != "" {
		word := strings.IndexFunc(s, func(r rune) bool { return !collapses(r) })
		if word != 0 {
			p.gap = true
		}
		if word < 0 {
			return
		}
		s = s[word:]
		end := strings.IndexFunc(s, collapses)
		if end < 0 {
			end = len(s)
		}
		p.word(s[:end])
		s = s[end:]
	}
}

// collapses reports whether white space is no more than a space in HTML.
func collapses(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f' }

func (p *page) word(s string) {
	if p.gap && p.text.Len() > 0 {
		p.text.WriteByte(' ')
	}
	p.gap = false
	p.text.WriteString(s)
}

// flush ends the line. An empty one counts only if it was asked for.
func (p *page) flush(asked bool) {
	p.gap = false
	if p.text.Len() == 0 && !asked {
		return
	}
	s := strings.TrimRightFunc(clean(p.text.String()), trailing)
	p.text.Reset()
	for part := range strings.SplitSeq(s, "\n") {
		l := quoted(part)
		if p.quote > 0 {
			l.raw = strings.Repeat("> ", min(p.quote, maxDepth)) + l.raw
			l.depth += p.quote
			if l.norm == "" {
				l.raw = strings.TrimRight(l.raw, " ")
			}
		}
		l.attr = p.attr > 0 && l.norm != ""
		p.lines = append(p.lines, l)
	}
}

// space makes sure that a blank line is above what comes.
func (p *page) space() {
	if n := len(p.lines); n > 0 && p.lines[n-1].norm != "" {
		p.lines = append(p.lines, line{raw: strings.TrimRight(strings.Repeat("> ", min(p.quote, maxDepth)), " "), depth: p.quote})
	}
}

// mark says that a quoted mail begins here.
func (p *page) mark(rule string) {
	p.flush(false)
	p.lines = append(p.lines, line{mark: rule, depth: p.quote})
}

// start opens an element.
func (p *page) start(z *html.Tokenizer) {
	name, more := z.TagName()
	tag := string(name)
	a := attributes(z, more)
	e := element{tag: tag, block: blocks[tag]}
	if e.block {
		p.closeParagraph()
		p.flush(false)
	}
	switch tag {
	case "br":
		if p.skip == 0 {
			p.flush(true)
		}
	case "hr":
		p.rule(a)
	case "img":
		p.image(a)
	case "td", "th":
		p.gap = true
	}
	if voids[tag] || strings.Contains(tag, ":") {
		return
	}
	p.describe(&e, a)
	p.push(e, a)
}

// rule is a drawn line, which some programs put above a quoted mail.
func (p *page) rule(a attrs) {
	if p.skip > 0 {
		return
	}
	if rule := a.quotes("hr"); rule != "" && p.quote == 0 {
		p.mark(rule)
		return
	}
	p.word("---")
	p.flush(true)
}

// image keeps a picture that stands for a character, as some programs send an
// emoji.
func (p *page) image(a attrs) {
	alt := a.alt
	if p.skip > 0 || alt == "" || len(alt) > 40 || ascii(alt) || strings.IndexFunc(alt, unicode.IsLetter) >= 0 {
		return
	}
	p.word(alt)
}

// describe says what an element means.
func (p *page) describe(e *element, a attrs) {
	tag := e.tag
	e.skip = hidden[tag] || a.hidden()
	if !e.skip && a.signature(tag) {
		p.signed = true
		e.skip = !p.signatures
	}
	e.attr = a.introduces()
	e.pre = tag == "pre" || strings.Contains(a.style, "white-space:pre")
	e.struck = tag == "s" || tag == "strike" || tag == "del" || strings.Contains(a.style, "line-through")
	e.tight = tag == "p" && (strings.Contains(a.class, "mso") || strings.Contains(a.style, "margin:0") || strings.Contains(a.style, "margin-top:0") || strings.Contains(a.style, "margin-bottom:0"))
	e.quote = tag == "blockquote" && !a.indents() || a.encloses()
	if tag == "ol" {
		e.item = 1
		if n, err := strconv.Atoi(a.start); err == nil && n >= 0 && n < 10000 {
			e.item = n
		}
	}
}

// push opens an element that has an end.
func (p *page) push(e element, a attrs) {
	if p.skip == 0 && !e.skip {
		if spaced[e.tag] && !e.tight {
			p.space()
		}
		switch rule := a.quotes(e.tag); {
		case rule != "" && p.quote == 0:
			p.mark(rule)
		case e.quote && p.quote == 0:
			p.quote++
			p.mark(a.citation(e.tag))
			p.quote--
		}
		if e.tag == "li" {
			p.point(a)
		}
		if e.struck && p.quote == 0 {
			p.word("~")
		}
	}
	p.open = append(p.open, e)
	p.count[e.tag]++
	p.enter(e, 1)
}

func (p *page) enter(e element, n int) {
	add := func(on bool, to *int) {
		if on {
			*to += n
		}
	}
	add(e.quote, &p.quote)
	add(e.skip, &p.skip)
	add(e.attr, &p.attr)
	add(e.pre, &p.pre)
}

// point begins a point of a list. Programs turn a typed "2." into an ordered
// list that begins with 2, so the number is what somebody wrote.
func (p *page) point(a attrs) {
	for i := len(p.open) - 1; i >= 0 && len(p.open)-i < maxScan; i-- {
		switch e := &p.open[i]; e.tag {
		case "ol":
			if n, err := strconv.Atoi(a.value); err == nil && n >= 0 && n < 10000 {
				e.item = n
			}
			p.word(strconv.Itoa(e.item) + ".")
			e.item++
			p.gap = true
			return
		case "ul", "menu", "dir":
			p.word("-")
			p.gap = true
			return
		}
	}
}

// end closes an element, and what was not closed in it.
func (p *page) end(tag string) {
	if tag == "br" {
		p.flush(p.skip == 0)
		return
	}
	if p.count[tag] == 0 {
		return
	}
	block := blocks[tag]
	for n, i := 0, len(p.open)-1; i >= 0 && n < maxScan; n, i = n+1, i-1 {
		e := p.open[i]
		if e.tag == tag {
			p.closeTo(i)
			return
		}
		if !block && e.block || cells[e.tag] && !tables[tag] { // it is not in this one
			return
		}
	}
}

// closeTo closes all elements from the ith on.
func (p *page) closeTo(i int) {
	for n := len(p.open) - 1; n >= i; n-- {
		e := p.open[n]
		if e.block {
			p.flush(false)
		}
		if e.struck && p.skip == 0 && p.quote == 0 {
			p.gap = false
			p.word("~")
		}
		p.open = p.open[:n]
		p.count[e.tag]--
		p.enter(e, -1)
		if spaced[e.tag] && !e.tight && p.skip == 0 && !e.skip {
			p.space()
		}
	}
}

// closeParagraph closes a paragraph that a block follows.
func (p *page) closeParagraph() {
	if p.count["p"] == 0 {
		return
	}
	for n, i := 0, len(p.open)-1; i >= 0 && n < maxScan; n, i = n+1, i-1 {
		if p.open[i].tag == "p" {
			p.closeTo(i)
			return
		}
		if p.open[i].block {
			return
		}
	}
}

var (
	blocks = wordSet("address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html li main menu nav ol p pre section summary table tbody tfoot thead tr ul")
	spaced = wordSet("p blockquote h1 h2 h3 h4 h5 h6 ol ul pre table")
	voids  = wordSet("area base br col embed hr img input link meta param source track wbr")
	hidden = wordSet("script style title template textarea select noscript iframe object svg math xml noembed noframes button")
	cells  = wordSet("td th table")
	tables = wordSet("td th tr table tbody thead tfoot body html")
)
