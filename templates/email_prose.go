package templates

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A mail shows agent text twice, as HTML and as plain text. Both are written from
// the same blocks, which hold text and no markup: nothing that an agent writes is
// ever taken for an element, a link or a picture. A link's address stands beside
// its text, in full, and is not one to click: a mail has links of the hub's alone.

// Bounds of prose in a mail: source is bytes of Markdown that are parsed at all,
// several times what a mail shows; a block costs a mail more than its text does.
const (
	maxProseSource = 32 << 10
	maxProseBlocks = 150
	maxProseRuns   = 600
)

type proseKind int

const (
	kindPara proseKind = iota
	kindHeading
	kindItem
	kindCode // lines are kept
	kindRule
)

type proseStyle struct{ bold, italic, code, strike bool }

type proseRun struct {
	text  string
	style proseStyle
}

type proseBlock struct {
	kind  proseKind
	depth int    // of a list, from 1; 0 outside
	quote int    // how many quotations it stands in
	mark  string // of an item: "•" or "3."
	part  bool   // another piece of context begins
	runs  []proseRun
}

// prose collects blocks within a number of runes.
type prose struct {
	blocks []proseBlock
	cut    bool // there was more

	full  bool // nothing more is added
	src   []byte
	left  int // runes that may still be shown
	runs  int
	depth int
	quote int
}

func newProse(runes int) *prose { return &prose{left: runes} }

// begin starts a block, and reports false when there is no room for one.
func (p *prose) begin(kind proseKind, mark string) bool {
	if p.full || p.left <= 0 || len(p.blocks) >= maxProseBlocks {
		p.cut, p.full = true, true
		return false
	}
	p.blocks = append(p.blocks, proseBlock{kind: kind, depth: p.depth, quote: p.quote, mark: mark})
	return true
}

// add appends text to the block that was begun last.
func (p *prose) add(s string, st proseStyle) {
	if s == "" || p.full || len(p.blocks) == 0 {
		return
	}
	s = Text(s) // again: entities have become characters by now
	short, cut := Cut(s, p.left)
	if cut {
		p.cut, p.full = true, true
	}
	p.left -= utf8.RuneCountInString(short)
	b := &p.blocks[len(p.blocks)-1]
	if n := len(b.runs); n > 0 && (b.runs[n-1].style == st || p.runs >= maxProseRuns) {
		b.runs[n-1].text += short
		return
	}
	b.runs = append(b.runs, proseRun{short, st})
	p.runs++
}

// markdown adds what an agent wrote as Markdown.
func (p *prose) markdown(src string) {
	src = strings.TrimSpace(Text(src))
	if src == "" {
		return
	}
	src, long := cutBytes(src, maxProseSource)
	p.src = []byte(src)
	if Intricate(src) {
		p.plain(src)
	} else {
		md := goldmark.New(goldmark.WithExtensions(extension.Strikethrough, extension.Linkify, extension.Table))
		p.children(md.Parser().Parse(text.NewReader(p.src)))
	}
	p.cut = p.cut || long
}

// plain adds text as it stands, a paragraph for each.
func (p *prose) plain(s string) {
	for para := range strings.SplitSeq(s, "\n\n") {
		if para = strings.Trim(para, "\n"); para != "" && p.begin(kindPara, "") {
			p.add(para, proseStyle{})
		}
	}
}

func (p *prose) children(n ast.Node) {
	for c := n.FirstChild(); c != nil && !p.full; c = c.NextSibling() {
		p.block(c)
	}
}

func (p *prose) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		if p.begin(kindHeading, "") {
			p.inline(n, proseStyle{})
		}
	case *ast.List:
		p.list(n)
	case *ast.Blockquote:
		p.quote++
		p.children(n)
		p.quote--
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		p.code(p.lines(n))
	case *ast.HTMLBlock:
		s := p.lines(n)
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(p.src))
		}
		p.code(s)
	case *ast.ThematicBreak:
		p.begin(kindRule, "")
	case *extast.Table:
		p.table(n)
	case *ast.LinkReferenceDefinition:
	default: // paragraphs and text blocks
		if n.HasChildren() && p.begin(kindPara, "") {
			p.inline(n, proseStyle{})
		}
	}
}

func (p *prose) code(s string) {
	if s = strings.Trim(s, "\n"); s != "" && p.begin(kindCode, "") {
		p.add(s, proseStyle{})
	}
}

// lines is the raw text of a block.
func (p *prose) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(p.src))
	}
	return b.String()
}

// list numbers its items; what else an item holds stands below it, as deep.
func (p *prose) list(n *ast.List) {
	p.depth++
	defer func() { p.depth-- }()
	number := max(n.Start, 0)
	for item := n.FirstChild(); item != nil && !p.full; item = item.NextSibling() {
		mark := "•"
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + "."
			number++
		}
		for c := item.FirstChild(); c != nil && !p.full; c = c.NextSibling() {
			switch c.(type) {
			case *ast.Paragraph, *ast.TextBlock:
				if p.begin(kindItem, mark) {
					p.inline(c, proseStyle{})
				}
				mark = "" // a second paragraph of the same item
			default:
				p.block(c)
			}
		}
	}
}

// table makes an item of each row, "name: value" for each cell: a phone has no
// room for columns.
func (p *prose) table(n *extast.Table) {
	const most = 20 // columns
	var names []string
	p.depth++
	defer func() { p.depth-- }()
	for row := n.FirstChild(); row != nil && !p.full; row = row.NextSibling() {
		_, head := row.(*extast.TableHeader)
		if !head && !p.begin(kindItem, "•") {
			return
		}
		i := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			s := Line(html.UnescapeString(plainText(cell, p.src)))
			switch {
			case i == most:
				p.cut = p.cut || !head
				continue
			case head:
				names = append(names, s)
			default:
				if i > 0 {
					p.add(", ", proseStyle{})
				}
				if i < len(names) && names[i] != "" {
					p.add(names[i]+": ", proseStyle{bold: true})
				}
				p.add(s, proseStyle{})
			}
			i++
		}
	}
}

// inline adds the text below n.
func (p *prose) inline(n ast.Node, st proseStyle) {
	for c := n.FirstChild(); c != nil && !p.full; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			p.add(p.value(c), st)
			switch {
			case c.HardLineBreak():
				p.add("\n", st)
			case c.SoftLineBreak():
				p.add(" ", st)
			}
		case *ast.String:
			p.add(string(c.Value), st)
		case *ast.CodeSpan:
			code := st
			code.code = true
			p.add(strings.ReplaceAll(plainText(c, p.src), "\n", " "), code)
		case *ast.Emphasis:
			more := st
			if c.Level > 1 {
				more.bold = true
			} else {
				more.italic = true
			}
			p.inline(c, more)
		case *extast.Strikethrough:
			more := st
			more.strike = true
			p.inline(c, more)
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				seg := c.Segments.At(i)
				p.add(string(seg.Value(p.src)), st)
			}
		case *ast.Link:
			p.inline(c, st)
			p.target(strings.TrimSpace(plainText(c, p.src)), string(c.Destination), "", st)
		case *ast.Image:
			p.inline(c, st)
			p.target("", string(c.Destination), "picture at ", st)
		case *ast.AutoLink:
			p.add(string(c.Label(p.src)), st)
		default:
			p.inline(c, st)
		}
	}
}

// value is the text of a node, with entities and escapes read.
func (p *prose) value(n *ast.Text) string {
	raw := n.Segment.Value(p.src)
	if n.IsRaw() {
		return string(raw)
	}
	return html.UnescapeString(string(util.UnescapePunctuations(raw)))
}

// target writes where a link leads, unless its text says so itself.
func (p *prose) target(label, raw, what string, st proseStyle) {
	href, host, ok := SafeURL(html.UnescapeString(raw))
	switch {
	case !ok:
		p.add(" (link left out)", st)
		return
	case strings.HasPrefix(strings.ToLower(href), "mailto:"):
		href = host
	}
	if label != href && label != raw {
		p.add(" ("+what+href+")", st)
	}
}

// Bounds of one part of the context: the rest is behind the link.
const (
	maxMailPartLines = 16
	maxMailPartRunes = 1200
	maxMailValue     = 300
)

// part adds one piece of context.
func (p *prose) part(c *hub.CardPart) {
	if first := len(p.blocks); first > 0 {
		defer func() {
			if len(p.blocks) > first {
				p.blocks[first].part = true
			}
		}()
	}
	switch {
	case c.File != nil:
		p.file(c.File)
	case c.Data != nil:
		tree, cut := readTree(c.Data)
		p.tree(tree)
		p.cut = p.cut || cut
	default:
		s := strings.TrimSpace(Text(c.Text))
		shown := s
		if lines := strings.SplitN(s, "\n", maxMailPartLines+1); len(lines) > maxMailPartLines {
			shown = strings.Join(lines[:maxMailPartLines], "\n") + " …"
		}
		shown, _ = Cut(shown, maxMailPartRunes)
		if shown != "" && p.begin(kindCode, "") {
			p.add(shown, proseStyle{})
		}
		p.cut = p.cut || shown != s
	}
}

// file names a file, and says where it is without offering a link that nobody
// has checked.
func (p *prose) file(f *ma2h.File) {
	p.depth++
	defer func() { p.depth-- }()
	if !p.begin(kindItem, "•") {
		return
	}
	name := short(f.Name)
	if name == "" {
		name = "file"
	}
	p.add(name, proseStyle{bold: true})
	if kind := short(f.MimeType); kind != "" {
		p.add(", "+kind, proseStyle{})
	}
	if href, _, ok := SafeURL(f.URI); ok {
		p.add(": "+href, proseStyle{})
	} else {
		p.add(" (its link is not one that a mail shows)", proseStyle{})
	}
}

// tree adds data as "name: value", what is below a name below it.
func (p *prose) tree(n *Node) {
	if n.Leaf {
		if p.begin(kindPara, "") {
			p.value1(n.Value)
		}
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	for i := range n.Kids {
		k := &n.Kids[i]
		mark := "•"
		if n.List {
			mark = k.Name + "."
		}
		if !p.begin(kindItem, mark) {
			return
		}
		if !n.List {
			p.add(k.Name+":", proseStyle{bold: true})
		}
		if k.Leaf {
			if !n.List {
				p.add(" ", proseStyle{})
			}
			p.value1(k.Value)
			continue
		}
		p.tree(k)
	}
	if n.More > 0 && p.begin(kindItem, "") {
		p.add(strconv.Itoa(n.More)+" more not shown", proseStyle{italic: true})
	}
}

// value1 adds a value on one line.
func (p *prose) value1(s string) {
	s, cut := Cut(Line(s), maxMailValue)
	p.add(s, proseStyle{})
	p.cut = p.cut || cut
}
