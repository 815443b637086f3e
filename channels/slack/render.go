package slack

import (
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// renderOptions are what a card does not know.
type renderOptions struct {
	// Rev makes block_ids new with every update, as Slack asks for
	// (https://docs.slack.dev/reference/block-kit/blocks). A short word without
	// meaning, such as a delivery's id and attempt.
	Rev string
	// Link opens the message as the card's reader. It goes into that person's
	// own DM only; empty in a shared place.
	Link string
}

// renderMessage lays out a card as a message: its blocks, the text of the
// notification and for screen readers, and what had to be cut. A message that
// has ended comes without controls.
func renderMessage(c *hub.Card, o renderOptions) (blocks []slackgo.Block, text string, cut []string) {
	r := &renderer{c: c, o: o, b: newBudget(maxTotal)}
	if c.Type != ma2h.Notify && c.Status.Terminal() {
		blocks = r.ended()
	} else {
		blocks = r.open()
	}
	return blocks, topText(c), r.b.cut
}

// renderer lays out one card within one budget. What matters most is laid out
// first, whatever its place.
type renderer struct {
	c *hub.Card
	o renderOptions
	b *budget

	menu, menuText bool // a select has every choice; and every description
}

// id names a block.
func (r *renderer) id(name string) string {
	rev := cutTo(templates.Line(r.o.Rev), 100)
	if rev == "" {
		rev = "0"
	}
	return actionVersion + ":" + rev + ":" + name
}

func (r *renderer) open() []slackgo.Block {
	title, who := r.title(), r.who(templates.Limit(r.c))
	controls := r.controls()
	small := r.small()
	list, checks := r.choiceList(), r.checkTexts()
	verify, body := r.doneWhen(), r.body()
	parts := r.parts()
	blocks := join(title, who)
	if middle := join(body, parts, verify, list, checks); len(middle) > 0 {
		d := slackgo.NewDividerBlock()
		d.BlockID = r.id("line")
		blocks = append(append(blocks, d), middle...)
	}
	blocks = append(blocks, controls...)
	return append(blocks, join(r.cutNote(), small)...)
}

// title is the question: a header where it fits, else bold text.
func (r *renderer) title() slackgo.Block {
	s := r.b.fit("title", line(r.c.Title, "(no title)"), maxTitle)
	if runeLen(s) <= maxHeader {
		return slackgo.NewHeaderBlock(plain(s), slackgo.HeaderBlockOptionBlockID(r.id("title")))
	}
	w := &richWriter{left: maxTitle}
	w.text(s, richStyle{Bold: true})
	return richBlock(r.id("title"), w.finish())
}

// who says who asks, how urgently, until when and what happens then.
func (r *renderer) who(limit []templates.Piece) slackgo.Block {
	asker := *r.c
	urgent := ""
	if p := r.c.Priority; p == ma2h.High || p == ma2h.Urgent {
		asker.Priority, urgent = "", "*"+string(p)+"*"
	}
	els := []*slackgo.TextBlockObject{plain(r.b.fit("sender", line(templates.Asker(&asker), "an agent"), maxWho)), r.own(urgent)}
	own := "" // the hub's own words, up to the next piece of the agent's
	for _, p := range limit {
		if !p.Strong {
			own += sentence([]templates.Piece{p}, r.c.Reader)
			continue
		}
		els = append(els, r.own(own), plain(r.b.fit("default", line(p.Text, "the default"), maxWho)))
		own = ""
	}
	els = append(els, r.own(own))
	if tags := templates.Names(r.c.Tags); tags != "" {
		els = append(els, plain(r.b.fit("tags", "tags: "+tags, maxWho)))
	}
	return contextBlock(r.id("who"), els...)
}

// own makes mrkdwn of the hub's own words; nil for none.
func (r *renderer) own(s string) *slackgo.TextBlockObject {
	if s == "" {
		return nil
	}
	r.b.spend(s)
	return mrkdwn(s)
}

// body is what one needs to decide: the message's text and a task's
// instructions.
func (r *renderer) body() slackgo.Block {
	if r.c.Hidden {
		w := &richWriter{left: r.b.room(200)}
		w.text("Marked sensitive: the details are on the page only.", richStyle{Italic: true})
		return richBlock(r.id("body"), w.finish())
	}
	var els []slackgo.RichTextElement
	for _, part := range []struct{ what, text string }{
		{"text", r.c.Body}, {"instructions", r.c.Instructions},
	} {
		room := r.b.room(maxBody)
		more, cut := richMarkdown(part.text, room)
		r.b.left -= spoken(more)
		if cut {
			r.b.say(part.what)
		}
		if len(els) > 0 && len(more) > 0 {
			els = append(els, slackgo.NewRichTextSection(slackgo.NewRichTextSectionTextElement("\n", nil)))
		}
		els = append(els, more...)
	}
	return richBlock(r.id("body"), els)
}

// doneWhen says how one knows that a task is done.
func (r *renderer) doneWhen() slackgo.Block {
	s := line(r.c.Verification, "")
	if s == "" {
		return nil
	}
	w := &richWriter{left: r.b.room(800)}
	w.text("Done when: ", richStyle{Bold: true})
	w.text(s, richStyle{})
	if w.cut {
		r.b.say("verification")
	}
	els := w.finish()
	r.b.left -= spoken(els)
	return richBlock(r.id("verify"), els)
}

// small is the small print: the message's id, its page, who else was asked.
func (r *renderer) small() slackgo.Block {
	c := r.c
	words := []string{c.MessageID}
	if run := templates.Line(c.RunID); run != "" {
		if !strings.HasPrefix(strings.ToLower(run), "run") {
			run = "run " + run
		}
		words = append(words, cutTo(run, 80))
	}
	if names := templates.Group(c.AskedOf, c.AskedTeam); len(c.AskedOf) > 0 && c.Status == ma2h.Open {
		words = append(words, "asked of "+cutTo(names, 400))
	}
	label := "open page"
	if c.Decision != nil {
		label = "history"
	}
	return contextBlock(r.id("small"),
		plain(r.b.fit("small print", strings.Join(words, " · "), 700)),
		r.own(link(c.ReviewURL, label)),
		r.own(templates.Masked(c.Masked)),
	)
}

// cutNote says what is not all there, and where it is.
func (r *renderer) cutNote() slackgo.Block {
	if len(r.b.cut) == 0 {
		return nil
	}
	s := "Cut here: " + strings.Join(r.b.cut, ", ") + "."
	if l := link(r.c.ReviewURL, "page"); l != "" {
		s += " The whole is on the " + l + "."
	}
	return contextBlock(r.id("cut"), mrkdwn(s))
}

// topText is what a notification shows and a screen reader says: the question,
// who asks, the choices, and how to answer.
// https://docs.slack.dev/reference/methods/chat.postMessage (accessibility)
func topText(c *hub.Card) string {
	var s []string
	add := func(parts ...string) { s = append(s, strings.Join(parts, "")) }
	add(escape(cutTo(line(c.Title, "(no title)"), maxTitle)))
	asker := escape(cutTo(line(templates.Asker(c), "an agent"), maxWho))
	switch {
	case c.Decision != nil:
		add(sentence(templates.Ending(c.Decision), c.Reader))
		if c.Decision.Comment != "" {
			add("“", escape(cutTo(line(c.Decision.Comment, ""), 500)), "”")
		}
		if track := templates.TrackPieces(c); track != nil {
			add(sentence(track, c.Reader))
		}
	case c.Status != ma2h.Open:
		add(asker)
	default:
		add(asker, " · ", sentence(templates.Limit(c), c.Reader))
		if choices := spokenChoices(c); choices != "" && !c.Hidden {
			add("Choices: ", escape(choices))
		}
		add(howTo(c))
	}
	if l := link(c.ReviewURL, "Open the page"); l != "" {
		add(l)
	}
	return cutEscaped(strings.Join(s, "\n"), maxTopText)
}

// spokenChoices lists the choices in one sentence.
func spokenChoices(c *hub.Card) string {
	const most, runes = 20, 60
	var b strings.Builder
	for i, o := range c.Options {
		if i == most {
			b.WriteString(" and more on the page")
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(itoa(o.N) + ". " + cutTo(line(o.Label, "(no label)"), runes))
	}
	return b.String()
}

// howTo says how to answer, in the hub's own words.
func howTo(c *hub.Card) string {
	switch {
	case noneMay(c):
		return escape(templates.OnlyThese(c.AskedOf, c.AskedTeam))
	case c.Hidden || c.PageOnly:
		return "Answer on the page."
	case c.Type == ma2h.Task:
		return "Tick what is done, then press Done or Can't do."
	case !c.CanAnswer && !c.CanDecline:
		return "No answer is wanted here."
	case c.Mode == ma2h.Input:
		return "Press Fill in the form, or open the page."
	case !c.CanAnswer:
		return "Press Decline to turn it down."
	case len(c.Options) > maxOptions:
		return "Answer on the page."
	}
	return "Choose here, or reply in the thread with " + templates.Numbers(len(c.Options)) + "."
}

// noneMay reports a copy whose reader can't answer.
func noneMay(c *hub.Card) bool {
	if c.Reader != nil {
		return !c.MayAnswer
	}
	return len(c.AskedOf) == 0
}

// cutEscaped cuts text that was escaped, and never through an escape, a link or
// a date.
func cutEscaped(s string, n int) string {
	if runeLen(s) <= n {
		return s
	}
	s = string([]rune(s)[:n-1])
	if i := strings.LastIndexByte(s, '\n'); i > 0 {
		s = s[:i+1]
	}
	return s + "…"
}
