package fakemail

import (
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var schemeQuery = regexp.MustCompile(`(?i)\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)`)

// framed is the HTML of a mail as its frame shows it: links open pages of their
// own, mailto links a new mail at compose, and a theme that was chosen takes the
// place of the device's.
func framed(source, theme, compose string) string {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return html.EscapeString(source)
	}
	var gone []*html.Node
	for n := range doc.Descendants() {
		switch n.DataAtom {
		case atom.Base, atom.Script:
			gone = append(gone, n)
		case atom.Meta:
			if attr(n, "http-equiv") != "" {
				gone = append(gone, n)
			}
		case atom.A, atom.Area:
			n.Attr = follow(n.Attr, compose)
		case atom.Style:
			for c := range n.ChildNodes() {
				c.Data = chosen(c.Data, theme)
			}
		}
	}
	for _, n := range gone {
		n.Parent.RemoveChild(n)
	}
	if head := find(doc, atom.Head); head != nil && theme != "" && strings.Contains(source, "color-scheme") {
		style := &html.Node{Type: html.ElementNode, DataAtom: atom.Style, Data: "style"}
		style.AppendChild(&html.Node{Type: html.TextNode, Data: ":root{color-scheme:" + theme + "!important}"})
		head.AppendChild(style)
	}
	var b strings.Builder
	if err := html.Render(&b, doc); err != nil {
		return html.EscapeString(source)
	}
	return b.String()
}

// chosen makes a style sheet believe that the device has a theme.
func chosen(css, theme string) string {
	if theme == "" {
		return css
	}
	return schemeQuery.ReplaceAllStringFunc(css, func(q string) string {
		if strings.Contains(strings.ToLower(q), theme) {
			return "(min-width:0)"
		}
		return "(max-width:0)"
	})
}

// follow says where a link leads to and where that opens.
func follow(attrs []html.Attribute, compose string) []html.Attribute {
	var out []html.Attribute
	for _, a := range attrs {
		switch a.Key {
		case "target", "rel", "ping":
			continue
		case "href":
			u, err := url.Parse(strings.TrimSpace(a.Val))
			switch {
			case err != nil:
				continue
			case u.Scheme == "http" || u.Scheme == "https":
				out = append(out, html.Attribute{Key: "target", Val: "_blank"}, html.Attribute{Key: "rel", Val: "noopener noreferrer"})
			case u.Scheme == "mailto":
				a.Val = compose + "?" + mailto(u)
				out = append(out, html.Attribute{Key: "target", Val: "_top"})
			case u.Scheme == "" && u.Host == "" && u.Path == "" && u.Fragment != "":
			default:
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

// mailto is the query of a new mail that a mailto link begins (RFC 6068). A plus
// in it is a plus.
func mailto(u *url.URL) string {
	q := url.Values{}
	if to, err := url.PathUnescape(u.Opaque); err == nil {
		q.Set("to", to)
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(value)
		switch name = strings.ToLower(name); {
		case err != nil:
		case name == "subject" || name == "body" || name == "to" && q.Get("to") == "":
			q.Set(name, value)
		}
	}
	return q.Encode()
}
