package slack

import (
	"bufio"
	"bytes"
	"html"
	"strings"

	"beckon/templates"

	slackgo "github.com/slack-go/slack"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// maxSource is how much Markdown is parsed for one card, in bytes: several
// times what a message can show, so that little work is done in vain.
const maxSource = 32 << 10

// maxIndent is the deepest level of a list that clients tell apart.
const maxIndent = 5

// richMarkdown lays out Markdown as rich text, at most runes of it; cut says
// that there was more. Everything ends as literal text: raw HTML too, and an
// image is a link that loads nothing. The text of code is not touched.
func richMarkdown(src string, runes int) (els []slackgo.RichTextElement, cut bool) {
	src = templates.Text(src)
	if len(src) > maxSource {
		src, cut = strings.ToValidUTF8(src[:maxSource], ""), true
	}
	w := &richWriter{src: []byte(src), left: runes}
	if templates.Intricate(src) {
		w.text(src, richStyle{})
	} else {
		md := goldmark.New(goldmark.WithExtensions(extension.Strikethrough, extension.Linkify, extension.Table))
		w.children(md.Parser().Parse(text.NewReader(w.src)), 0)
	}
	els = w.finish()
	return els, cut || w.cut
}

// children lays out the blocks below n.
func (w *richWriter) children(n ast.Node, indent int) {
	for c := n.FirstChild(); c != nil && !w.cut; c = c.NextSibling() {
		w.block(c, indent)
	}
}

func (w *richWriter) block(n ast.Node, indent int) {
	switch n := n.(type) {
	case *ast.Heading:
		w.gap()
		w.inline(n, richStyle{Bold: true})
	case *ast.List:
		w.list(n, indent)
	case *ast.Blockquote:
		w.flush()
		w.quotes++
		w.children(n, indent)
		w.flush()
		w.quotes--
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.code(lines(n, w.src))
	case *ast.HTMLBlock:
		s := lines(n, w.src)
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(w.src))
		}
		w.gap()
		w.text(strings.TrimRight(s, "\n"), richStyle{})
	case *ast.ThematicBreak:
		w.gap()
		w.text("———", richStyle{})
	case *extast.Table:
		w.code(w.table(n))
	case *ast.LinkReferenceDefinition:
	default: // paragraphs and text blocks
		w.gap()
		w.inline(n, richStyle{})
	}
}

// lines is the raw text of a block.
func lines(n ast.Node, src []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(src))
	}
	return b.String()
}

// list lays out a list. Slack knows no blocks inside an item: what can't stand
// there interrupts the list, which then goes on counting.
func (w *richWriter) list(n *ast.List, indent int) {
	w.flush()
	kind, first := slackgo.RTEListBullet, 0
	if n.IsOrdered() {
		kind, first = slackgo.RTEListOrdered, max(n.Start-1, 0)
	}
	var items []slackgo.RichTextElement
	done := 0 // items that earlier parts of the list have shown
	flush := func() {
		if len(items) > 0 {
			l := newList(kind, items)
			l.Indent = min(indent, maxIndent)
			if kind == slackgo.RTEListOrdered {
				l.Offset = first + done
			}
			l.Border = min(w.quotes, 1)
			w.out = append(w.out, l)
			done += len(items)
			items = nil
		}
	}
	for item := n.FirstChild(); item != nil && !w.cut; item = item.NextSibling() {
		shown := false
		for c := item.FirstChild(); c != nil && !w.cut; c = c.NextSibling() {
			switch c.(type) {
			case *ast.Paragraph, *ast.TextBlock:
				if len(w.sec) > 0 {
					w.text("\n", richStyle{})
				}
				w.inline(c, richStyle{})
				continue
			}
			if s := w.section(); s != nil {
				items, shown = append(items, s), true
			}
			flush()
			w.block(c, indent+1)
			if len(w.sec) > 0 {
				w.flush()
			}
		}
		if s := w.section(); s != nil {
			items, shown = append(items, s), true
		}
		if !shown { // an empty item, or one without text of its own
			flush()
			done++
		}
	}
	flush()
}

// table draws a table with spaces: at most one table block may stand in a
// message, and it would go to its end.
func (w *richWriter) table(n *extast.Table) string {
	const widest = 40
	var rows [][]string
	var width []int
	for row := n.FirstChild(); row != nil && len(rows) < 100; row = row.NextSibling() {
		var cells []string
		for c := row.FirstChild(); c != nil && len(cells) < 20; c = c.NextSibling() {
			s := templates.Line(w.plain(c))
			if len(cells) == len(width) {
				width = append(width, 0)
			}
			width[len(cells)] = min(max(width[len(cells)], runeLen(s)), widest)
			cells = append(cells, s)
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for i, cells := range rows {
		var line strings.Builder
		for k, s := range cells {
			line.WriteString(s)
			if k < len(cells)-1 {
				line.WriteString(strings.Repeat(" ", max(width[k]-runeLen(s), 0)) + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if i == 0 {
			total := 0
			for _, n := range width {
				total += n + 2
			}
			b.WriteString(strings.Repeat("-", max(total-2, 1)) + "\n")
		}
	}
	return b.String()
}

// inline writes the text below n.
func (w *richWriter) inline(n ast.Node, st richStyle) {
	for c := n.FirstChild(); c != nil && !w.cut; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			w.text(w.value(c), st)
			switch {
			case c.HardLineBreak():
				w.text("\n", st)
			case c.SoftLineBreak():
				w.text(" ", st)
			}
		case *ast.String:
			w.text(string(c.Value), st)
		case *ast.CodeSpan:
			st := st
			st.Code = true
			w.text(w.plain(c), st)
		case *ast.Emphasis:
			st := st
			if c.Level == 1 {
				st.Italic = true
			} else {
				st.Bold = true
			}
			w.inline(c, st)
		case *extast.Strikethrough:
			st := st
			st.Strike = true
			w.inline(c, st)
		case *ast.Link:
			w.link(string(c.Destination), w.plain(c), "", st)
		case *ast.Image:
			alt := w.plain(c)
			if templates.Line(alt) == "" {
				alt = "picture"
			}
			w.link(string(c.Destination), alt, "picture at ", st)
		case *ast.AutoLink:
			target := string(c.URL(w.src))
			if c.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
				target = "mailto:" + target
			}
			w.link(target, string(c.Label(w.src)), "", st)
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				seg := c.Segments.At(i)
				w.text(string(seg.Value(w.src)), st)
			}
		default:
			w.inline(c, st)
		}
	}
}

// value is the text of a node as a reader of Markdown sees it: goldmark keeps
// backslashes and entities in it until it writes HTML.
func (w *richWriter) value(n *ast.Text) string {
	raw := n.Value(w.src)
	if n.IsRaw() || !bytes.ContainsAny(raw, `\&`) {
		return string(raw)
	}
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	goldhtml.DefaultWriter.Write(out, raw)
	_ = out.Flush() // into a bytes.Buffer
	return html.UnescapeString(b.String())
}

// plain is the text below n without styles. Code keeps its own text.
func (w *richWriter) plain(n ast.Node) string {
	var b strings.Builder
	_, code := n.(*ast.CodeSpan)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			if code {
				b.WriteString(strings.ReplaceAll(string(c.Value(w.src)), "\n", " "))
				continue
			}
			b.WriteString(w.value(c))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.Label(w.src))
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				seg := c.Segments.At(i)
				b.Write(seg.Value(w.src))
			}
		default:
			b.WriteString(w.plain(c))
		}
	}
	return b.String()
}
