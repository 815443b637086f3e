package templates

import (
	"html"
	"html/template"
	"strings"
)

// proseHTML writes blocks as HTML with styles inside the elements, since many
// mail programs drop everything else. The classes are for dark mode alone.
func proseHTML(blocks []proseBlock) template.HTML {
	var b strings.Builder
	for _, bl := range blocks {
		if bl.part {
			b.WriteString(`<div style="height:8px;line-height:8px;font-size:8px">&nbsp;</div>`)
		}
		indent := ""
		if bl.depth > 0 {
			indent = "padding-left:" + number(14*min(bl.depth, 6)) + "px;"
		}
		for range min(bl.quote, 3) {
			b.WriteString(`<div class="q" style="border-left:3px solid #d9dad6;padding-left:10px">`)
		}
		switch bl.kind {
		case kindRule:
			b.WriteString(`<div class="r" style="border-top:1px solid #d9dad6;margin:14px 0"></div>`)
		case kindCode:
			b.WriteString(`<pre class="k" dir="auto" style="margin:0 0 12px;padding:8px 10px;background:#f0f0ec;border-radius:6px;font:13px/1.45 ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere">`)
			writeRuns(&b, bl.runs)
			b.WriteString("</pre>")
		case kindHeading:
			b.WriteString(`<p dir="auto" style="margin:16px 0 6px;font-weight:700;` + indent + `">`)
			writeRuns(&b, bl.runs)
			b.WriteString("</p>")
		case kindItem:
			b.WriteString(`<p dir="auto" style="margin:0 0 6px;` + indent + `">`)
			if bl.mark != "" {
				b.WriteString(html.EscapeString(bl.mark) + "&nbsp;")
			}
			writeRuns(&b, bl.runs)
			b.WriteString("</p>")
		default:
			b.WriteString(`<p dir="auto" style="margin:0 0 12px;` + indent + `">`)
			writeRuns(&b, bl.runs)
			b.WriteString("</p>")
		}
		for range min(bl.quote, 3) {
			b.WriteString("</div>")
		}
		b.WriteByte('\n')
	}
	return template.HTML(b.String())
}

func writeRuns(b *strings.Builder, runs []proseRun) {
	for _, r := range runs {
		var after []string
		open := func(tag, attrs string) {
			b.WriteString("<" + tag + attrs + ">")
			after = append(after, "</"+tag+">")
		}
		if r.style.bold {
			open("b", "")
		}
		if r.style.italic {
			open("i", "")
		}
		if r.style.strike {
			open("s", "")
		}
		if r.style.code {
			open("code", ` class="k" style="background:#f0f0ec;border-radius:3px;padding:1px 3px;font:13px ui-monospace,Menlo,Consolas,monospace"`)
		}
		b.WriteString(strings.ReplaceAll(html.EscapeString(r.text), "\n", "<br>"))
		for i := len(after) - 1; i >= 0; i-- {
			b.WriteString(after[i])
		}
	}
}

// proseText writes blocks as plain text. Long lines stay whole: a phone breaks
// them better than the hub could.
func proseText(blocks []proseBlock) string {
	var b strings.Builder
	for i, bl := range blocks {
		if i > 0 {
			b.WriteByte('\n')
			if bl.part || bl.kind != kindItem || blocks[i-1].kind != kindItem {
				b.WriteByte('\n')
			}
		}
		first := strings.Repeat("> ", bl.quote)
		rest := first
		switch {
		case bl.kind == kindRule:
			b.WriteString(first + "* * *")
			continue
		case bl.kind == kindCode:
			first += "    "
			rest = first
		case bl.depth > 0:
			first += strings.Repeat("  ", bl.depth)
			rest = first
			if bl.mark != "" {
				first += bl.mark + " "
				rest += "  "
			}
		}
		s := ""
		for _, r := range bl.runs {
			s += r.text
		}
		for k, line := range strings.Split(s, "\n") {
			switch {
			case k > 0:
				b.WriteString("\n" + rest)
			default:
				b.WriteString(first)
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// plainLine keeps a line from saying that a signature begins (RFC 3676 §4.3).
func plainLine(s string) string {
	s = strings.TrimRight(s, " \t")
	if strings.TrimLeft(s, " \t") == "--" {
		return "—"
	}
	return s
}
