package slack

import (
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// ended lays out a message that has its answer, or will get none: who decided
// what, when and through which channel, and no control.
func (r *renderer) ended() []slackgo.Block {
	title, who := r.title(), r.who(nil)
	d := r.c.Decision
	if d == nil { // can't happen: what has ended has a decision
		d = &hub.Decision{Resolution: r.c.Status, At: r.c.AcceptedAt}
	}
	small := r.small()
	w := &richWriter{left: r.b.room(800), reader: r.c.Reader}
	w.pieces(templates.Ending(d))
	w.flush()
	if d.Comment != "" {
		w.quotes = 1
		w.left = r.b.room(maxCommentText)
		w.text("“", richStyle{})
		w.text(strings.TrimSpace(templates.Text(d.Comment)), richStyle{})
		w.text("”", richStyle{})
		w.flush()
		w.quotes = 0
		if w.cut {
			r.b.say("comment")
		}
	}
	if track := templates.TrackPieces(r.c); track != nil {
		w.left, w.cut = r.b.room(400), false // a long comment does not hide it
		w.pieces(track)
		w.flush()
	}
	decision := w.finish()
	r.b.left -= spoken(decision)
	return join(title, who, richBlock(r.id("decision"), decision), r.values(d.Values), r.ticked(d.Checklist), r.cutNote(), small)
}

// values lists what a form was filled in with.
func (r *renderer) values(vs []hub.NamedValue) slackgo.Block {
	w := &richWriter{left: r.b.room(maxNamedValues)}
	var items []slackgo.RichTextElement
	for _, v := range vs {
		w.text(cutTo(line(v.Title, line(v.Name, "(no name)")), maxLabelText), richStyle{Bold: true})
		text := line(v.Text, "(empty)")
		shown := cutTo(text, maxNamedValue)
		w.text(": "+shown, richStyle{})
		if w.cut || shown != text {
			r.b.say("values")
		}
		if s := w.section(); s != nil {
			items = append(items, s)
		}
		if w.cut {
			break
		}
	}
	return r.listBlock("values", slackgo.RTEListBullet, items)
}

// ticked shows a checklist that can't be changed any more.
func (r *renderer) ticked(list []ma2h.ChecklistItem) slackgo.Block {
	w := &richWriter{left: r.b.room(maxNamedValues)}
	for i, item := range list {
		mark := "☐ "
		if item.Done {
			mark = "☑ "
		}
		if i > 0 {
			mark = "\n" + mark
		}
		w.text(mark+cutTo(line(item.Text, "(no text)"), maxNamedValue), richStyle{})
	}
	if w.cut {
		r.b.say("checklist")
	}
	els := w.finish()
	r.b.left -= spoken(els)
	return richBlock(r.id("checklist"), els)
}

// listBlock makes a block of one list; nil for an empty one.
func (r *renderer) listBlock(name string, kind slackgo.RichTextListElementType, items []slackgo.RichTextElement) slackgo.Block {
	if len(items) == 0 {
		return nil
	}
	els := []slackgo.RichTextElement{newList(kind, items)}
	r.b.left -= spoken(els)
	return richBlock(r.id(name), els)
}

// renderPlain is the form without blocks, for when Slack refuses them: what is
// asked, the choices by number, and the page. An update with text alone takes
// the blocks of the copy away.
// https://docs.slack.dev/reference/methods/chat.update
func renderPlain(c *hub.Card) string {
	s := topText(c)
	if c.Status == ma2h.Open && c.Type == ma2h.Ask && len(c.Options) > 0 {
		s = strings.Replace(s, "Choose here, or reply", "Reply", 1)
	}
	return s
}

// renderReminder is what goes into the thread of a copy that still waits.
func renderReminder(c *hub.Card, o renderOptions) (blocks []slackgo.Block, text string) {
	r := &renderer{c: c, o: o, b: newBudget(maxTotal)}
	w := &richWriter{left: 1500, reader: c.Reader}
	w.text("Still waiting: ", richStyle{})
	w.text(line(c.Title, "(no title)"), richStyle{Bold: true})
	w.text("\n", richStyle{})
	limit := templates.Limit(c)
	for i, p := range limit {
		if p.Strong && i > 0 {
			w.text(" ", richStyle{})
		}
		if i == 0 {
			p.Text = capital(p.Text)
		}
		w.pieces([]templates.Piece{p})
	}
	w.text(". "+howToPlain(c), richStyle{})
	text = "Still waiting: " + escape(cutTo(line(c.Title, "(no title)"), maxTitle)) + "\n" + capital(sentence(limit, c.Reader)) + ". " + howTo(c)
	return join(richBlock(r.id("remind"), w.finish())), cutEscaped(text, maxTopText)
}

// howToPlain is [howTo] for a place that needs no escaping.
func howToPlain(c *hub.Card) string {
	if noneMay(c) {
		return templates.OnlyThese(c.AskedOf, c.AskedTeam)
	}
	return howTo(c)
}

// renderNote is a note of the hub's for one person, or a line in a thread.
func renderNote(s string) (blocks []slackgo.Block, text string) {
	w := &richWriter{left: maxTextObject}
	w.text(strings.TrimSpace(s), richStyle{})
	els := w.finish()
	if len(els) == 0 {
		w.text("(nothing to say)", richStyle{})
		els = w.finish()
	}
	return join(richBlock(actionVersion+":note", els)), cutEscaped(escape(templates.Text(s)), maxTopText)
}

// renderOutcome is what the hub says to whoever has just answered, in private.
func renderOutcome(o hub.Outcome, reader *hub.Person) (blocks []slackgo.Block, text string) {
	return renderNote(templates.Outcome(o, reader))
}

// renderUnclear is the help for a reply that names no choice.
func renderUnclear(c *hub.Card) (blocks []slackgo.Block, text string) {
	return renderNote(templates.Unclear(c))
}

// renderLink hands a personal link to one person, in private. The title is left
// out: the place may be shared, and the person has just asked for it.
func renderLink(c *hub.Card, personal string) (blocks []slackgo.Block, text string) {
	const words = "This link is yours alone; it opens the message as you."
	b := button(action{Kind: kindLink, MessageID: c.MessageID}, "Open the page")
	b.URL = personal
	w := &richWriter{left: maxTextObject}
	w.text(words, richStyle{})
	blocks = join(richBlock(actionVersion+":note", w.finish()))
	text = words
	if href, _, ok := templates.SafeURL(personal); ok && runeLen(href) <= maxTextObject {
		b.URL = href
		blocks = append(blocks, slackgo.NewActionBlock(actionVersion+":link", b))
		text += " " + link(personal, "Open the page")
	}
	return blocks, text
}

// spoken counts the runes of rich text.
func spoken(els []slackgo.RichTextElement) int {
	n := 0
	section := func(list []slackgo.RichTextSectionElement) {
		for _, e := range list {
			switch e := e.(type) {
			case *slackgo.RichTextSectionTextElement:
				n += runeLen(e.Text)
			case *slackgo.RichTextSectionLinkElement:
				n += runeLen(e.Text) + runeLen(e.URL)
			case *slackgo.RichTextSectionDateElement:
				n += len(dateFormat)
				if e.Fallback != nil {
					n += runeLen(*e.Fallback)
				}
			}
		}
	}
	for _, e := range els {
		switch e := e.(type) {
		case *slackgo.RichTextSection:
			section(e.Elements)
		case *slackgo.RichTextQuote:
			section(e.Elements)
		case *slackgo.RichTextPreformatted:
			section(e.Elements)
		case *richList:
			n += spoken(e.Elements)
		}
	}
	return n
}

// capital begins a sentence.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
