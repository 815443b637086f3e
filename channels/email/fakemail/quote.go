package fakemail

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// textMode is how a mail program turns HTML that it quotes into text.
type textMode struct {
	stars bool   // around bold words
	link  string // between a link's words and its address in angle brackets; no address if it is "no"
}

// What programs write: Outlook puts no space before a link's address.
var (
	wordsAlone  = textMode{link: "no"}
	appleMode   = textMode{link: " "}
	starsMode   = textMode{link: " ", stars: true}
	outlookMode = textMode{}
)

// lines is the quoted mail as text. Mail programs make it from the HTML that
// they show, so it differs from the text part that came with it.
func (q *quote) lines(mode textMode) []string {
	text := q.mail.Text
	if q.mail.HTML != "" {
		text = htmlText(q.mail.HTML, mode)
	}
	return strings.Split(strings.Trim(text, "\n"), "\n")
}

// html is the quoted mail's HTML to stand in another, without what its own
// document says. prefix is what Outlook puts before foreign ids and classes.
func (q *quote) html(prefix string) string {
	if q.mail.HTML == "" {
		return `<pre>` + html.EscapeString(q.mail.Text) + `</pre>`
	}
	doc, err := html.Parse(strings.NewReader(q.mail.HTML))
	if err != nil {
		return html.EscapeString(q.mail.Text)
	}
	body := find(doc, atom.Body)
	if body == nil {
		return ""
	}
	var b strings.Builder
	for n := range body.ChildNodes() {
		for d := range n.Descendants() {
			rename(d, prefix)
		}
		rename(n, prefix)
		_ = html.Render(&b, n) // a Builder takes everything
	}
	return b.String()
}

func rename(n *html.Node, prefix string) {
	if prefix == "" {
		return
	}
	for i, a := range n.Attr {
		if a.Key == "id" || a.Key == "class" {
			words := strings.Fields(a.Val)
			for k := range words {
				words[k] = prefix + words[k]
			}
			n.Attr[i].Val = strings.Join(words, " ")
		}
	}
}

func find(n *html.Node, a atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.DataAtom == a {
			return d
		}
	}
	return nil
}

// htmlText is what HTML says, as text.
func htmlText(source string, mode textMode) string {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return ""
	}
	w := &textWriter{mode: mode}
	if body := find(doc, atom.Body); body != nil {
		w.node(body)
	}
	return w.b.String()
}

type textWriter struct {
	mode  textMode
	b     strings.Builder
	blank int  // line breaks at the end
	space bool // a space waits for a word
	pre   bool
}

// newlines ends the line, and leaves n-1 empty ones.
func (w *textWriter) newlines(n int) {
	w.space = false
	if w.b.Len() == 0 {
		return
	}
	for ; w.blank < n; w.blank++ {
		w.b.WriteByte('\n')
	}
}

func (w *textWriter) text(s string) {
	if w.pre {
		w.b.WriteString(s)
		w.blank = 0
		return
	}
	for i, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' }) {
		if (w.space || i > 0 || strings.ContainsAny(s[:1], " \n\t\r")) && w.blank == 0 && w.b.Len() > 0 {
			w.b.WriteByte(' ')
		}
		w.b.WriteString(word)
		w.blank, w.space = 0, false
	}
	if s != "" && strings.ContainsAny(s[len(s)-1:], " \n\t\r") {
		w.space = true
	}
}

func (w *textWriter) node(n *html.Node) {
	if n.Type == html.TextNode {
		w.text(n.Data)
		return
	}
	if hidden(n) {
		return
	}
	if n.DataAtom == atom.Br {
		w.b.WriteByte('\n')
		w.blank++
		w.space = false
		return
	}
	breaks, around := blockBreaks(n), ""
	if w.mode.stars && (n.DataAtom == atom.B || n.DataAtom == atom.Strong || n.DataAtom == atom.H1) {
		around = "*"
	}
	if breaks > 0 {
		w.newlines(breaks)
	}
	wasPre := w.pre
	w.pre = w.pre || n.DataAtom == atom.Pre
	w.open(around)
	for c := range n.ChildNodes() {
		w.node(c)
	}
	w.b.WriteString(around)
	w.pre = wasPre
	if href := attr(n, "href"); n.DataAtom == atom.A && w.mode.link != "no" && href != "" {
		w.text(w.mode.link + "<" + href + ">")
	}
	if breaks > 0 {
		w.newlines(breaks)
	}
}

// open writes a mark before the next word.
func (w *textWriter) open(mark string) {
	if mark == "" {
		return
	}
	if w.space && w.blank == 0 && w.b.Len() > 0 {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(mark)
	w.blank, w.space = 0, false
}

// blockBreaks is how many line breaks stand around an element.
func blockBreaks(n *html.Node) int {
	if strings.Contains(styleOf(n), "display:block") {
		return 1
	}
	switch n.DataAtom {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.Pre, atom.Ul, atom.Ol, atom.Blockquote:
		return 2
	case atom.Div, atom.Tr, atom.Li, atom.Table, atom.Hr, atom.Td:
		return 1
	}
	return 0
}

// hidden says whether a mail program shows nothing of an element.
func hidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Style, atom.Script, atom.Head, atom.Title:
		return true
	}
	return strings.Contains(styleOf(n), "display:none")
}

func styleOf(n *html.Node) string { return strings.ReplaceAll(attr(n, "style"), " ", "") }

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
