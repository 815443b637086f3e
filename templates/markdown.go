package templates

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of what [Markdown] takes and makes, in bytes. What is beyond is cut,
// and the cut is said.
const (
	MaxMarkdown     = 256 << 10
	maxMarkdownHTML = 2 << 20
)

// maxMarks is how many characters that may open or close something a paragraph
// may hold: parsing takes time that grows with their square.
const maxMarks = 3000

const plainNote = `<p class="cut">Shown as plain text: its markup is more than a page can lay out.</p>` + "\n"

const cutNote = `<p class="cut">The text is cut here: it is longer than a page shows.</p>` + "\n"

// Markdown renders an agent's text (spec §9.6: no raw HTML, no remote images,
// links marked). Raw HTML is shown as the text that it is; an image becomes its
// alternative text and a link; a link shows its host, and one that is not http,
// https or mailto is only text.
func Markdown(src string) template.HTML {
	return markdown(src, MaxMarkdown, maxMarkdownHTML)
}

func markdown(src string, maxIn, maxOut int) template.HTML {
	src, cut := cutBytes(Text(src), maxIn)
	if tooIntricate(src) {
		note := plainNote
		if cut {
			note += cutNote
		}
		return template.HTML("<pre>" + html.EscapeString(src) + "</pre>\n" + note)
	}
	// A fresh converter: it costs microseconds and leaves nothing shared.
	extensions := []goldmark.Extender{extension.Strikethrough, extension.Linkify}
	if !manyCells(src) {
		// The page's policy allows no style attributes.
		extensions = append(extensions, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)))
	}
	md := goldmark.New(
		goldmark.WithExtensions(extensions...),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeNodes{}, 100))),
	)
	source := []byte(src)
	doc := md.Parser().Parse(text.NewReader(source))
	levelHeadings(doc)
	out := &boundedBuffer{max: maxOut}
	if err := md.Renderer().Render(out, source, doc); err != nil || out.full {
		// Half an element can't be shown; the plain text can.
		plain, _ := cutBytes(src, maxOut/8)
		return template.HTML("<pre>" + html.EscapeString(plain) + "</pre>\n" + cutNote)
	}
	if cut {
		out.WriteString(cutNote)
	}
	// Again, since entities in the source have become characters by now.
	return template.HTML(Text(out.String()))
}

// tooIntricate reports a paragraph that would take too long to parse.
func tooIntricate(src string) bool {
	marks := 0
	for line := range strings.Lines(src) {
		if strings.TrimSpace(line) == "" {
			marks = 0
			continue
		}
		for _, c := range []byte(line) {
			if strings.IndexByte("*_~[]<`!", c) >= 0 {
				marks++
			}
		}
		if marks > maxMarks {
			return true
		}
	}
	return false
}

// maxCells bounds a table: the parser pads every row to the width of the head,
// so that a few bytes a row make thousands of cells.
const maxCells = 50_000

// manyCells reports text that might hold too large a table; it is laid out
// without tables then.
func manyCells(src string) bool {
	lines, width := 0, 0
	for line := range strings.Lines(src) {
		lines++
		width = max(width, strings.Count(line, "|"))
	}
	return lines*width > maxCells
}

// cutBytes cuts at a line's end where there is one near, else between runes.
func cutBytes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, '\n'); i > n/2 {
		return s[:i+1], true
	}
	return strings.ToValidUTF8(s, ""), true
}

var errFull = errors.New("markdown: output is too large")

// boundedBuffer refuses to grow beyond max.
type boundedBuffer struct {
	bytes.Buffer
	max  int
	full bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.max {
		b.full = true
		return 0, errFull
	}
	return b.Buffer.Write(p)
}

// safeNodes renders the nodes that could reach out of the page.
type safeNodes struct{}

func (safeNodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, renderLink)
	reg.Register(ast.KindAutoLink, renderAutoLink)
	reg.Register(ast.KindImage, renderImage)
	reg.Register(ast.KindRawHTML, renderRawHTML)
	reg.Register(ast.KindHTMLBlock, renderHTMLBlock)
	reg.Register(ast.KindHeading, renderHeading)
	reg.Register(extast.KindTable, renderTable)
}

// renderTable puts a table that is wider than the page into a box that scrolls,
// by the keyboard too.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString(`<div class="wide" role="group" aria-label="Table" tabindex="0"><table>` + "\n")
	} else {
		w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// levelHeadings puts the agent's headings below the page's own title, without
// leaving out a level: whoever listens to a page finds their way by them.
func levelHeadings(doc ast.Node) {
	above := 1
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			h.Level = min(h.Level+1, above+1, 6)
			above = h.Level
		}
		return ast.WalkContinue, nil
	})
}

func renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := n.(*ast.Heading).Level
	if entering {
		fmt.Fprintf(w, "<h%d>", level)
	} else {
		fmt.Fprintf(w, "</h%d>\n", level)
	}
	return ast.WalkContinue, nil
}

func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link := n.(*ast.Link)
	href, host, ok := SafeURL(string(link.Destination))
	switch {
	case !ok && entering:
		w.WriteString(`<span class="dead-link">`)
	case !ok:
		w.WriteString(`</span> <span class="host">(link left out)</span>`)
	case entering:
		openLink(w, href)
	default:
		w.WriteString("</a>")
		writeHost(w, host)
	}
	return ast.WalkContinue, nil
}

func renderAutoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink)
	label := string(link.Label(source))
	target := string(link.URL(source))
	if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
		target = "mailto:" + target
	}
	href, host, ok := SafeURL(target)
	if !ok {
		w.WriteString(html.EscapeString(label))
		return ast.WalkContinue, nil
	}
	openLink(w, href)
	w.WriteString(html.EscapeString(label) + "</a>")
	// The label shows the host unless something stands in front of it.
	if plain := strings.TrimPrefix(strings.TrimPrefix(label, "https://"), "http://"); !strings.HasPrefix(plain, host) {
		writeHost(w, host)
	}
	return ast.WalkContinue, nil
}

// renderImage never loads anything: the picture's text stands for it.
func renderImage(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	img := n.(*ast.Image)
	alt := Line(plainText(img, source))
	if alt == "" {
		alt = "picture"
	}
	if href, host, ok := SafeURL(string(img.Destination)); ok {
		openLink(w, href)
		w.WriteString(html.EscapeString(alt) + "</a>")
		writeHost(w, "picture at "+host)
	} else {
		w.WriteString(html.EscapeString(alt) + ` <span class="host">(picture left out)</span>`)
	}
	return ast.WalkSkipChildren, nil
}

func renderRawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		segs := n.(*ast.RawHTML).Segments
		for i := range segs.Len() {
			seg := segs.At(i)
			w.WriteString(html.EscapeString(string(seg.Value(source))))
		}
	}
	return ast.WalkSkipChildren, nil
}

func renderHTMLBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block := n.(*ast.HTMLBlock)
	if !entering {
		if block.HasClosure() {
			w.WriteString(html.EscapeString(string(block.ClosureLine.Value(source))))
		}
		w.WriteString("</pre>\n")
		return ast.WalkContinue, nil
	}
	w.WriteString("<pre>")
	lines := block.Lines()
	for i := range lines.Len() {
		line := lines.At(i)
		w.WriteString(html.EscapeString(string(line.Value(source))))
	}
	return ast.WalkContinue, nil
}

func openLink(w util.BufWriter, href string) {
	w.WriteString(`<a href="` + html.EscapeString(href) + `" rel="noopener noreferrer nofollow" target="_blank">`)
}

func writeHost(w util.BufWriter, host string) {
	w.WriteString(` <span class="host">(` + html.EscapeString(host) + `)</span>`)
}

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Text:
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.String:
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
