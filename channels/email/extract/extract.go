package extract

import (
	"strings"
	"unicode/utf8"
)

// MaxBytes bounds the body that is read, in bytes. What follows is not looked
// at, and Result.Truncated says so.
const MaxBytes = 256 << 10

// HTMLID is the id of the element that holds all of a mail of ours. Mail
// programs keep it, some with a prefix, when they quote the mail, so that HTML
// knows the quote. It is one mark among many, since people delete it and write
// below it.
const HTMLID = "beckon-mail"

// Result is what was found in a body.
type Result struct {
	// Text is what the person wrote, whole and in order. A quote that they
	// answer piece by piece stays in it, marked with "> ".
	Text string
	// Own is Text without what it quotes: this is to be read for an answer.
	Own string
	// First is the first line of Own that is not blank.
	First string
	// Cut says in a few words each what was taken away and by which rule, in
	// the order of the body. It is for logs, and holds nothing of the text.
	Cut []string
	// Truncated says that the body was longer than MaxBytes.
	Truncated bool
}

// Empty reports whether the person wrote nothing.
func (r *Result) Empty() bool { return r.Own == "" }

// Text reads a plain text body. What we sent in this thread, as plain text,
// helps to tell our lines from theirs; the text of the HTML part may be passed
// too, if it differs.
func Text(body string, sent ...string) Result {
	body, truncated := capped(body, MaxBytes)
	r, _ := read(split(unarmour(clean(body))), rememberSent(sent))
	r.Truncated = truncated
	return r
}

// HTML reads an HTML body. Its markup tells more than text does.
func HTML(body string, sent ...string) Result {
	r, _ := readHTML(body, sent)
	return r
}

// Body reads a mail that has a plain text body, an HTML body, or both. The text
// is read, unless nothing is found in it, or only the HTML shows the quote.
func Body(text, html string, sent ...string) Result {
	if strings.TrimSpace(text) == "" {
		return HTML(html, sent...)
	}
	text, truncated := capped(text, MaxBytes)
	r, quotes := read(split(unarmour(clean(text))), rememberSent(sent))
	r.Truncated = truncated
	if html == "" || quotes && !r.Empty() {
		return r
	}
	if h, quotes := readHTML(html, sent); !h.Empty() && (r.Empty() || quotes && len(h.Text) < len(r.Text)) {
		return h
	}
	return r
}

func readHTML(body string, ours []string) (Result, bool) {
	body, truncated := capped(body, maxMarkup)
	p := linesOf(body, false)
	r, quotes := read(p.lines, rememberSent(ours))
	if r.Empty() && !quotes {
		// A blockquote and nothing else is a way to indent.
		p.unquote()
		r, quotes = read(p.lines, rememberSent(ours))
	}
	if r.Empty() && p.signed {
		// Some write into the element of their signature.
		all := linesOf(body, true)
		if s, q := read(all.lines, rememberSent(ours)); !looksSigned(split(s.Own)) {
			p, r, quotes = all, s, q
		}
	} else if p.signed {
		r.Cut = append(r.Cut, "HTML signature")
	}
	r.Truncated = truncated || p.cut
	return r, quotes
}

// read finds what was written in the lines of a body, and whether they quote a
// mail.
func read(lines []line, ours *sent) (Result, bool) {
	c := cutter{lines: lines, sent: ours}
	kept := c.run()
	r := Result{Cut: c.cut}
	r.Text = joined(kept, func(*line) bool { return true })
	r.Own = joined(kept, func(l *line) bool { return l.depth == 0 && !l.attr })
	r.First, _, _ = strings.Cut(r.Own, "\n")
	return r, c.mail
}

// joined makes text of the lines that are wanted, without blank ones at its
// ends and without more than two in a row.
func joined(lines []line, want func(*line) bool) string {
	var b strings.Builder
	gap := 0
	for i := range lines {
		l := &lines[i]
		switch {
		case l.mark != "" || !want(l):
		case l.raw == "":
			gap++
		default:
			if b.Len() > 0 {
				b.WriteString(strings.Repeat("\n", 1+min(gap, 2)))
			}
			b.WriteString(l.raw)
			gap = 0
		}
	}
	return b.String()
}

// capped cuts a body that is too long, between two characters.
func capped(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit], true
}
