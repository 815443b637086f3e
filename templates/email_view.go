package templates

import (
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// mailView is what the two templates of mail are run with. What both say is a
// string; agent text is escaped by the HTML template, but for what proseHTML wrote.
type mailView struct {
	Subject   string
	Preheader string // what a list of mails shows beside the subject

	Lead  string // what this mail is about, when it is not the message itself
	Said  string // a comment that somebody left, for below Lead
	Given []hub.NamedValue

	Title  string
	Who    string // who asks
	Limit  string // until when, and what happens then
	Calm   bool   // there is no deadline
	Body   proseView
	Parts  proseView // context
	Steps  []ma2h.ChecklistItem
	Verify string // how one knows that a task is done

	Numbered bool // agent text has numbers of its own
	Choices  []mailChoice
	Fields   []mailField
	How      []string // how to answer
	Tap      bool     // some choice has a link

	Page      string // the page's address
	PageWords string // what leads there
	Button    bool   // the page is the way to answer

	Notes  []string // what was masked or cut
	Thread bool     // it is about a message
	Marker bool     // replies stand above
	Small  []string
}

type proseView struct {
	HTML template.HTML
	Text string
}

type mailChoice struct {
	N                  int
	Label, Description string
	Default            bool
	Write              template.URL // mailto
}

type mailField struct{ Name, About string }

// maxLevel is the shortest form of a mail.
const maxLevel = 5

// Bounds at level 0; each level halves them. Runes.
const (
	maxMailBody    = 4000
	maxMailContext = 3000
	maxMailChoices = 8000 // labels and descriptions in all
	maxMailLabel   = 200
	maxMailDesc    = 400
	maxMailSteps   = 60
	maxMailTaps    = 20 // choices with a link
	maxMailComment = 2000
)

// view lays a mail out. A higher level says less.
func (m *Mail) view(level int) *mailView {
	v := &mailView{Subject: m.subjectOf(), Page: m.Page, PageWords: "Open the page"}
	switch m.Kind {
	case MailLink:
		v.Lead = "Your link to sign in. It is yours alone, and works until " + mailTime(m.Expires, m.Reader) + "."
		v.Title, v.Page, v.PageWords, v.Button = "Sign in to Beckon", m.Link, "Sign in", true
		v.Small = []string{"You get this because somebody asked for it on the sign-in page. If that was not you, do nothing.", "Nobody reads replies to this mail."}
	case MailTest:
		v.Title = "Beckon checks that its mail arrives"
		v.Lead = "This mail is from the hub to itself. It may be deleted."
	default:
		m.thread(v, level)
	}
	v.Preheader = m.preheader(v)
	return v
}

// thread lays out a mail about a message.
func (m *Mail) thread(v *mailView, level int) {
	m = m.withheld()
	c := m.Card
	v.Title = Line(c.Title)
	if v.Title == "" {
		v.Title = "(no title)"
	}
	v.Title, _ = Cut(v.Title, 500)
	open := c.Status == ma2h.Open || c.Status == ma2h.Delivered
	v.Thread, v.Marker, v.Calm = true, open, c.ExpiresAt.IsZero()
	v.Small = smallPrint(c)
	switch m.Kind {
	case MailAsk:
		m.message(v, level)
		return
	case MailRemind:
		v.Lead = "This still waits for an answer."
		if c.Type == ma2h.Task {
			v.Lead = "This still waits to be done."
		}
		v.Who, v.Limit = asks(c), mailLimit(c)
		m.answering(v, level)
		return
	case MailEnded:
		v.Lead = mailEnding(c)
		m.decision(v, level)
		return
	case MailDoubt:
		v.Lead, v.Button = mailDoubt(m.From), true
		return
	case MailUnreadable:
		v.Lead = mailUnreadable
	case MailUnclear:
		v.Lead = Text(m.Help) + tellInstead(c)
	case MailOutcome:
		v.Lead = mailOutcome(m.Outcome, c)
		if m.Outcome.Direct != nil {
			return
		}
	case MailLate:
		v.Lead = mailLate(c, nil)
	}
	if !open {
		if m.Kind != MailOutcome || m.Outcome.Kind != hub.AlreadyResolved {
			v.Lead = mailLate(c, nil)
		}
		m.decision(v, level)
		return
	}
	if m.Kind != MailOutcome || m.Outcome.Kind == hub.Unclear {
		v.Limit = mailLimit(c)
		m.answering(v, level)
	}
}

// withheld leaves out how a sensitive message was decided: that is on the page,
// like the message.
func (m *Mail) withheld() *Mail {
	if !m.Card.Hidden {
		return m
	}
	bare := func(d *hub.Decision) *hub.Decision {
		if d == nil {
			return nil
		}
		return &hub.Decision{Resolution: d.Resolution, Actor: d.Actor, ActorName: d.ActorName, At: d.At, Via: d.Via, Defaulted: d.Defaulted}
	}
	out, card := *m, *m.Card
	card.Decision = bare(card.Decision)
	out.Card = &card
	if m.Outcome != nil {
		o := *m.Outcome
		o.Decision, o.Fields = bare(o.Decision), nil
		out.Outcome = &o
	}
	return &out
}

// message lays out the message itself.
func (m *Mail) message(v *mailView, level int) {
	c := m.Card
	v.Who, v.Limit = asks(c), mailLimit(c)
	cut := false
	if !c.Hidden {
		body := newProse(maxMailBody >> level)
		body.markdown(c.Body)
		v.Body, v.Numbered = body.view(), body.numbered()
		if more := newProse(maxMailBody >> level); c.Instructions != "" {
			more.markdown(c.Instructions)
			v.Body.HTML += more.view().HTML
			v.Body.Text = strings.TrimLeft(v.Body.Text+"\n\n"+more.view().Text, "\n")
			cut = more.cut
		}
		parts := newProse(maxMailContext >> level)
		for i := range c.Context {
			parts.part(&c.Context[i])
		}
		v.Parts, v.Numbered = parts.view(), v.Numbered || parts.numbered()
		cut = cut || body.cut || parts.cut
		v.Verify, _ = Cut(Line(c.Verification), 800>>level)
		cut = m.steps(v, level) || cut
	}
	cut = m.answering(v, level) || cut
	m.notes(v, cut)
	v.Numbered = v.Numbered && len(v.Choices) > 0
}

// notes say what the mail does not show as it is.
func (m *Mail) notes(v *mailView, cut bool) {
	if s := Masked(m.Card.Masked); s != "" {
		v.Notes = append(v.Notes, s+".")
	}
	if cut {
		v.Notes = append(v.Notes, "This is cut: it is longer than a mail shows. The whole is on the page.")
	}
}

func (p *prose) view() proseView { return proseView{proseHTML(p.blocks), proseText(p.blocks)} }

// numbered reports numbers that could be taken for those of choices.
func (p *prose) numbered() bool {
	return slices.ContainsFunc(p.blocks, func(b proseBlock) bool { return strings.HasSuffix(b.mark, ".") })
}

// steps shows a task's checklist, and reports whether it was cut.
func (m *Mail) steps(v *mailView, level int) (cut bool) {
	list := m.Card.Checklist
	for _, item := range list[:min(len(list), maxMailSteps>>level)] {
		text, short := Cut(Line(item.Text), maxMailDesc>>level)
		cut = cut || short
		v.Steps = append(v.Steps, ma2h.ChecklistItem{Text: text, Done: item.Done})
	}
	return cut || len(v.Steps) < len(list)
}

// answering shows the choices or fields and how to answer, and reports whether
// anything was cut.
func (m *Mail) answering(v *mailView, level int) (cut bool) {
	c := m.Card
	v.How = howToReply(c, &m.Reply)
	readable := c.Mode == ma2h.Input || c.Type == ma2h.Task || m.Reply.Numbers != "" || m.Reply.Words != "" || m.Reply.YesNo
	switch {
	case c.Hidden || c.PageOnly || c.Type == ma2h.Notify || !c.MayAnswer || c.CanAnswer && !readable:
		v.Button = true
	case c.CanAnswer || c.CanDecline:
		v.PageWords = "Or open the page"
	}
	if c.Hidden || c.Type != ma2h.Ask {
		return false
	}
	if c.Mode == ma2h.Input {
		return m.fields(v, level)
	}
	room := maxMailChoices >> level
	for i := range c.Options {
		o := &c.Options[i]
		label, cutLabel := Cut(Line(o.Label), min(maxMailLabel>>level, max(room/(len(c.Options)-i), 12)))
		room -= utf8.RuneCountInString(label)
		desc, cutDesc := Cut(Line(o.Description), min(maxMailDesc>>level, max(room/(len(c.Options)-i), 0)))
		room = max(room-utf8.RuneCountInString(desc), 0)
		cut = cut || cutLabel || cutDesc
		ch := mailChoice{N: o.N, Label: label, Description: desc, Default: o.Default && !c.ExpiresAt.IsZero()}
		if len(c.Options) <= maxMailTaps && level < 3 && c.CanAnswer && c.MayAnswer && !c.PageOnly {
			ch.Write = template.URL(m.Write[o.N])
			v.Tap = v.Tap || ch.Write != ""
		}
		v.Choices = append(v.Choices, ch)
	}
	return cut
}

// fields shows what a form asks for.
func (m *Mail) fields(v *mailView, level int) (cut bool) {
	c := m.Card
	for i := range c.Fields {
		f := &c.Fields[i]
		name, cutName := Cut(Line(f.Name), maxMailLabel>>level)
		var about []string
		add := func(s string) {
			if s != "" {
				about = append(about, strings.TrimRight(s, "."))
			}
		}
		if t := short(f.Title); t != name {
			add(t)
		}
		desc, cutDesc := Cut(Line(f.Description), maxMailDesc>>level)
		add(desc)
		if i < len(m.Reply.Takes) && (len(f.Enum) > 0 || f.Type == hub.FieldBoolean) { // else the hint says it
			add(short(m.Reply.Takes[i]))
		}
		add(Hint(*f))
		if !f.Required {
			add("may be left out")
		}
		if f.HasDefault && !f.Sensitive {
			add("the agent proposes “" + short(f.Default) + "”")
		}
		v.Fields = append(v.Fields, mailField{name, strings.Join(about, "; ")})
		cut = cut || cutName || cutDesc
	}
	return cut
}

// decision shows what a message ended with, below the sentence that says it.
func (m *Mail) decision(v *mailView, level int) {
	c := m.Card
	d := c.Decision
	v.PageWords = "History"
	if d == nil || c.Hidden {
		return
	}
	cut := false
	if s := strings.TrimSpace(Text(d.Comment)); s != "" {
		v.Said, cut = Cut(s, maxMailComment>>level)
	}
	for i, value := range d.Values {
		if i == 50>>level {
			cut = true
			break
		}
		title := short(value.Title)
		if title == "" {
			title = short(value.Name)
		}
		text, more := Cut(strings.TrimSpace(Text(value.Text)), 500>>level)
		cut = cut || more
		v.Given = append(v.Given, hub.NamedValue{Title: title, Text: text})
	}
	for _, item := range d.Checklist[:min(len(d.Checklist), maxMailSteps>>level)] {
		text, more := Cut(Line(item.Text), maxMailDesc>>level)
		cut = cut || more
		v.Steps = append(v.Steps, ma2h.ChecklistItem{Text: text, Done: item.Done})
	}
	if cut || len(v.Steps) < len(d.Checklist) {
		v.Notes = append(v.Notes, "This is cut: it is longer than a mail shows. The whole is on the page.")
	}
}

// smallPrint is what few people need.
func smallPrint(c *hub.Card) []string {
	var s []string
	if len(c.AskedOf) > 0 && c.Type != ma2h.Notify {
		s = append(s, "Asked of: "+Group(c.AskedOf, c.AskedTeam)+".")
	}
	if tags := Names(c.Tags); tags != "" && !c.Hidden {
		s = append(s, "Tags: "+tags+".")
	}
	if run := short(c.RunID); run != "" {
		s = append(s, "Run: "+run+".")
	}
	return append(s, "Message "+c.MessageID+".")
}

// preheader is the beginning that a list of mails shows.
func (m *Mail) preheader(v *mailView) string {
	s := v.Lead
	if s == "" {
		s = v.Who
		var choices []string
		for _, ch := range v.Choices[:min(len(v.Choices), 5)] {
			label, _ := Cut(ch.Label, 40)
			choices = append(choices, number(ch.N)+" "+label)
		}
		if len(choices) > 0 {
			s += " " + strings.Join(choices, ", ") + "."
		}
		s += " " + v.Limit
	}
	s, _ = Cut(Line(s), 200)
	return s
}
