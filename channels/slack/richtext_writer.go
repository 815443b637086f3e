package slack

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"beckon/hub"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// richStyle is the style of a piece of rich text.
type richStyle = slackgo.RichTextSectionTextStyle

// dateFormat is how Slack writes a time for each reader
// (https://docs.slack.dev/messaging/formatting-message-text#date-formatting).
const dateFormat = "{date_short_pretty} at {time}"

// richList is a list. slack-go's own type writes an offset into every list,
// which Slack's types don't know; here it is written only where a list goes on
// counting (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block).
type richList struct {
	Type     slackgo.RichTextElementType     `json:"type"`
	Style    slackgo.RichTextListElementType `json:"style"`
	Elements []slackgo.RichTextElement       `json:"elements"`
	Indent   int                             `json:"indent,omitempty"`
	Offset   int                             `json:"offset,omitempty"`
	Border   int                             `json:"border,omitempty"`
}

// RichTextElementType makes a richList an element of a rich_text block.
func (l *richList) RichTextElementType() slackgo.RichTextElementType { return l.Type }

func newList(style slackgo.RichTextListElementType, items []slackgo.RichTextElement) *richList {
	return &richList{Type: slackgo.RTEList, Style: style, Elements: items}
}

func runeLen(s string) int { return utf8.RuneCountInString(s) }

// richWriter collects the elements of a rich_text block and counts what it may
// still say. After a cut it takes nothing more.
type richWriter struct {
	src    []byte
	left   int // runes
	cut    bool
	quotes int         // depth of block quotes
	inl    int         // inline elements so far
	reader *hub.Person // by whose clock a time is written where Slack can't

	out  []slackgo.RichTextElement
	sec  []slackgo.RichTextSectionElement // of the open section
	last *slackgo.RichTextSectionTextElement
}

// take returns as much of s as may still be said.
func (w *richWriter) take(s string) string {
	s = templates.Text(s)
	if w.cut || s == "" {
		return ""
	}
	if w.inl >= maxElements {
		w.cut = true
		return "…"
	}
	if n := runeLen(s); n <= w.left {
		w.left -= n
		return s
	}
	s, _ = templates.Cut(s, w.left)
	w.left, w.cut = 0, true
	return s
}

// text adds text; a neighbour of the same style takes it in.
func (w *richWriter) text(s string, st richStyle) {
	s = w.take(s)
	if s == "" {
		return
	}
	if w.last != nil && styleOf(w.last.Style) == st && runeLen(w.last.Text)+runeLen(s) <= maxTextObject {
		w.last.Text += s
		return
	}
	for s != "" {
		part := s
		if runeLen(part) > maxTextObject {
			part = string([]rune(part)[:maxTextObject])
		}
		s = s[len(part):]
		w.last = slackgo.NewRichTextSectionTextElement(part, stylePtr(st))
		w.add(w.last)
	}
}

func (w *richWriter) add(e slackgo.RichTextSectionElement) {
	w.sec = append(w.sec, e)
	w.inl++
}

// link adds a link and says where it leads, or its text alone where it must not
// be offered.
func (w *richWriter) link(target, label, where string, st richStyle) {
	label = templates.Line(label)
	href, host, ok := templates.SafeURL(target)
	if !ok || runeLen(href) > maxTextObject {
		w.text(label, st)
		w.text(" (link left out)", richStyle{})
		return
	}
	shown := w.take(label)
	if w.cut { // half a label is no link
		if shown != "" {
			w.last = nil
			w.add(slackgo.NewRichTextSectionTextElement(shown, stylePtr(st)))
		}
		return
	}
	if shown == "" {
		shown = w.take(host)
	}
	if shown == "" {
		return
	}
	w.last = nil
	w.add(slackgo.NewRichTextSectionLinkElement(safeTarget(href), shown, stylePtr(st)))
	bare := strings.TrimPrefix(strings.TrimPrefix(shown, "https://"), "http://")
	if bare != host && !strings.HasPrefix(bare, host+"/") || where != "" {
		w.text(" ("+where+host+")", richStyle{})
	}
}

// date adds a time that each reader sees by their own clock.
func (w *richWriter) date(t time.Time, st richStyle) {
	fallback := w.take(templates.Date(t, w.reader))
	if w.cut || fallback == "" {
		return
	}
	w.last = nil
	e := slackgo.NewRichTextSectionDateElement(t.Unix(), dateFormat, nil, &fallback)
	e.Style = stylePtr(st)
	w.add(e)
}

// pieces adds a sentence.
func (w *richWriter) pieces(ps []templates.Piece) {
	for _, p := range ps {
		if p.At.IsZero() {
			w.text(p.Text, richStyle{Bold: p.Strong})
		} else {
			w.date(p.At, richStyle{})
		}
	}
}

// gap begins a paragraph.
func (w *richWriter) gap() {
	if len(w.sec) > 0 {
		w.text("\n\n", richStyle{})
	}
}

// section closes the open section; nil when nothing in it can be seen.
func (w *richWriter) section() *slackgo.RichTextSection {
	sec := trimBreaks(w.sec)
	w.sec, w.last = nil, nil
	if len(sec) == 0 {
		return nil
	}
	return slackgo.NewRichTextSection(sec...)
}

// flush closes the open section into the block.
func (w *richWriter) flush() {
	s := w.section()
	switch {
	case s == nil:
	case w.quotes > 0:
		w.out = append(w.out, &slackgo.RichTextQuote{Type: slackgo.RTEQuote, Elements: s.Elements})
	default:
		w.out = append(w.out, s)
	}
}

// code adds a block of code as it stands.
func (w *richWriter) code(s string) {
	w.flush()
	w.text(strings.TrimRight(s, "\n"), richStyle{})
	if !visible(w.sec) {
		w.sec, w.last = nil, nil
		return
	}
	w.out = append(w.out, &slackgo.RichTextPreformatted{Type: slackgo.RTEPreformatted, Elements: w.sec, Border: min(w.quotes, 1)})
	w.sec, w.last = nil, nil
}

// finish closes everything.
func (w *richWriter) finish() []slackgo.RichTextElement {
	w.flush()
	return w.out
}

// trimBreaks drops line breaks at the end of a section, where the next element
// begins a line anyway, and a section that shows nothing.
func trimBreaks(sec []slackgo.RichTextSectionElement) []slackgo.RichTextSectionElement {
	for len(sec) > 0 {
		t, ok := sec[len(sec)-1].(*slackgo.RichTextSectionTextElement)
		if !ok {
			break
		}
		if t.Text = strings.TrimRight(t.Text, "\n"); t.Text != "" {
			break
		}
		sec = sec[:len(sec)-1]
	}
	if !visible(sec) {
		return nil
	}
	return sec
}

// visible reports whether there is anything but white space.
func visible(sec []slackgo.RichTextSectionElement) bool {
	for _, e := range sec {
		t, ok := e.(*slackgo.RichTextSectionTextElement)
		if !ok || strings.ContainsFunc(t.Text, func(r rune) bool { return !unicode.IsSpace(r) }) {
			return true
		}
	}
	return false
}

func styleOf(p *richStyle) richStyle {
	if p == nil {
		return richStyle{}
	}
	return *p
}

func stylePtr(st richStyle) *richStyle {
	if st == (richStyle{}) {
		return nil
	}
	return &st
}

// safeTarget keeps a URL from ending the link that it stands in.
func safeTarget(href string) string {
	return strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", " ", "%20").Replace(href)
}
