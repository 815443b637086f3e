package slack

import (
	"strconv"
	"strings"
	"unicode"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

func itoa(n int) string { return strconv.Itoa(n) }

// controls are what the reader may do, or a sentence on who may.
func (r *renderer) controls() []slackgo.Block {
	c := r.c
	switch {
	case c.Type == ma2h.Notify:
		if c.Hidden {
			return join(r.actions("open", r.openButton("Open")))
		}
		return nil
	case noneMay(c):
		return join(r.said("may", templates.OnlyThese(c.AskedOf, c.AskedTeam)))
	case c.Hidden:
		return join(r.actions("open", r.openButton("Open")))
	case c.PageOnly:
		return join(r.said("page", "It asks for something secret, so it is answered on the page only."), r.actions("open", r.openButton("Open")))
	case c.Type == ma2h.Task:
		return r.taskControls()
	case !c.CanAnswer && !c.CanDecline:
		return join(r.said("none", "The agent takes no answer here."))
	}
	return r.askControls()
}

func (r *renderer) askControls() []slackgo.Block {
	c := r.c
	var blocks []slackgo.Block
	var more []slackgo.BlockElement
	if c.CanAnswer {
		switch {
		case c.Mode == ma2h.Input && !fitsModal(c):
			blocks = join(r.said("page", "This form is filled in on the page."))
			more = append(more, r.openButton("Open the page"))
		case c.Mode == ma2h.Input:
			b := button(action{Kind: kindForm, MessageID: c.MessageID}, "Fill in the form")
			b.Style = slackgo.StylePrimary
			more = append(more, b)
			r.b.spend(b.Text.Text)
		case len(c.Options) > maxOptions:
			blocks = join(r.said("page", "There are "+itoa(len(c.Options))+" choices; they are on the page."))
			more = append(more, r.openButton("Open the page"))
		case len(c.Options) > 0:
			blocks = join(r.chooser())
			more = append(more, button(action{Kind: kindForm, MessageID: c.MessageID}, "Answer with a comment"))
		}
	}
	if !c.CanAnswer {
		blocks = join(r.said("none", "The agent takes no answer here; it may be declined."))
	}
	if c.CanDecline {
		more = append(more, button(action{Kind: kindDecline, MessageID: c.MessageID}, "Decline"))
	}
	return append(blocks, join(r.actions("more", more...))...)
}

// chooser is one button an option, or a select.
func (r *renderer) chooser() slackgo.Block {
	c := r.c
	if shortOptions(c.Options) {
		var els []slackgo.BlockElement
		for _, o := range c.Options {
			b := button(action{Kind: kindAnswer, MessageID: c.MessageID, Option: o.N}, optionLabel(o))
			r.b.spend(b.Text.Text)
			if destroys(o) {
				b.Style = slackgo.StyleDanger
				b.Confirm = destroyConfirm(o)
				r.b.spend(b.Confirm.Title.Text + b.Confirm.Text.Text + b.Confirm.Confirm.Text + b.Confirm.Deny.Text)
			}
			els = append(els, b)
		}
		return r.actions("choices", els...)
	}
	s := slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, plain("Choose an answer"),
		action{Kind: kindChoose, MessageID: c.MessageID}.id(), r.options(c.Options)...)
	s.Confirm = slackgo.NewConfirmationBlockObject(plain("Send this answer?"),
		plain("It goes to the agent at once and can't be changed."), plain("Send"), plain("Back"))
	r.b.spend("Choose an answer" + s.Confirm.Title.Text + s.Confirm.Text.Text)
	return r.actions("choices", s)
}

// options are the entries of a select: the labels always, descriptions while
// there is room for them all.
func (r *renderer) options(list []hub.CardOption) []*slackgo.OptionBlockObject {
	total := 0
	for _, o := range list {
		total += min(runeLen(optionLabel(o)), maxOptionText) + min(runeLen(templates.Line(o.Description)), maxOptionText)
	}
	withText := total <= r.b.left/2
	r.menu, r.menuText = true, withText
	out := make([]*slackgo.OptionBlockObject, 0, len(list))
	for _, o := range list {
		e := slackgo.NewOptionBlockObject(itoa(o.N), plain(cutTo(optionLabel(o), maxOptionText)), nil)
		r.b.spend(e.Text.Text)
		if d := line(o.Description, ""); withText && d != "" {
			e.Description = plain(cutTo(d, maxOptionText))
			r.b.spend(e.Description.Text)
		}
		out = append(out, e)
	}
	return out
}

// choiceList numbers the choices and describes them, where the controls alone
// don't say it all. A long list is cut.
func (r *renderer) choiceList() slackgo.Block {
	c := r.c
	if c.Type != ma2h.Ask || c.Hidden {
		return nil
	}
	if c.Mode == ma2h.Input {
		return r.fieldList()
	}
	if !r.needsList() {
		return nil
	}
	w := &richWriter{left: r.b.room(maxChoiceList)}
	var items []slackgo.RichTextElement
	for _, o := range c.Options {
		label, text := optionLabel(o), line(o.Description, "")
		shownLabel, shownText := cutTo(label, maxLabelText), cutTo(text, maxDescription)
		if len(items) == maxListed || len(items) > 0 && runeLen(shownLabel)+runeLen(shownText)+2 > w.left {
			break
		}
		w.text(shownLabel, richStyle{Bold: true})
		if shownText != "" {
			w.text(": "+shownText, richStyle{})
		}
		if w.cut || shownLabel != label || shownText != text {
			r.b.say("choices")
		}
		if s := w.section(); s != nil {
			items = append(items, s)
		}
	}
	for _, o := range c.Options[len(items):] {
		// A menu has the others too, with the beginning of what they say.
		text := runeLen(line(o.Description, ""))
		if !r.menu || runeLen(optionLabel(o)) > maxOptionText || text > maxOptionText || text > 0 && !r.menuText {
			r.b.say("choices")
		}
	}
	return r.listBlock("list", slackgo.RTEListOrdered, items)
}

// needsList reports choices that the controls can't show in full.
func (r *renderer) needsList() bool {
	c := r.c
	if !shortOptions(c.Options) || noneMay(c) || c.PageOnly || !c.CanAnswer {
		return len(c.Options) > 0
	}
	for _, o := range c.Options {
		if line(o.Description, "") != "" {
			return true
		}
	}
	return false
}

// fieldList says what a form asks for.
func (r *renderer) fieldList() slackgo.Block {
	const most = 12
	w := &richWriter{left: r.b.room(1500)}
	var items []slackgo.RichTextElement
	for i, f := range r.c.Fields {
		if i == most {
			r.b.say("fields")
			break
		}
		w.text(cutTo(fieldLabel(f, i), maxLabelText), richStyle{Bold: true})
		if !f.Required {
			w.text(" (optional)", richStyle{})
		}
		if d := line(f.Description, ""); d != "" {
			w.text(": "+cutTo(d, maxDescription), richStyle{})
		}
		if s := w.section(); s != nil {
			items = append(items, s)
		}
	}
	if w.cut {
		r.b.say("fields")
	}
	return r.listBlock("fields", slackgo.RTEListBullet, items)
}

// actions makes a row of controls; nil for none.
func (r *renderer) actions(name string, els ...slackgo.BlockElement) slackgo.Block {
	if len(els) == 0 {
		return nil
	}
	return slackgo.NewActionBlock(r.id(name), els...)
}

// openButton leads to the page: a personal link in a DM, else a wish that is
// answered in private.
func (r *renderer) openButton(label string) *slackgo.ButtonBlockElement {
	r.b.spend(label)
	if href, _, ok := templates.SafeURL(r.o.Link); ok && r.c.Reader != nil && runeLen(href) <= maxTextObject {
		b := button(action{Kind: kindLink, MessageID: r.c.MessageID}, label)
		b.URL = href
		return b
	}
	return button(action{Kind: kindOpen, MessageID: r.c.MessageID}, label)
}

// said is a sentence of the hub's in the place of controls.
func (r *renderer) said(name, s string) slackgo.Block {
	return contextBlock(r.id(name), plain(r.b.fit("names", s, maxTextObject)))
}

func optionLabel(o hub.CardOption) string {
	return line(o.Label, line(o.Value, "(choice "+itoa(o.N)+")"))
}

// shortOptions reports options that make good buttons.
func shortOptions(list []hub.CardOption) bool {
	if len(list) > maxButtons {
		return false
	}
	for _, o := range list {
		if runeLen(optionLabel(o)) > maxShort {
			return false
		}
	}
	return true
}

func destroyConfirm(o hub.CardOption) *slackgo.ConfirmationBlockObject {
	text := line(o.Description, optionLabel(o))
	return slackgo.NewConfirmationBlockObject(plain("Are you sure?"),
		plain(cutTo(text, maxConfirm-50)+"\nIt can't be changed once it is sent."),
		plain("Yes, send it"), plain("Back")).WithStyle(slackgo.StyleDanger)
}

// destroys reports an option that says that it destroys something. A word too
// many costs one more click; "don't delete" is understood.
func destroys(o hub.CardOption) bool {
	return saysDestroy(o.Label) || saysDestroy(o.Description) || saysDestroy(o.Value)
}

func saysDestroy(s string) bool {
	s = strings.ToLower(strings.ReplaceAll(templates.Line(s), "’", "'"))
	for _, phrase := range []string{"can't be undone", "cannot be undone", "no undo", "force push", "force-push"} {
		if strings.Contains(s, phrase) {
			return true
		}
	}
	since := 99 // words since a negation
	for clause := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(".,;:!?()", r) }) {
		since = 99
		for word := range strings.FieldsFuncSeq(clause, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			since++
			switch word {
			case "don't", "not", "no", "never", "without", "nothing", "won't", "doesn't":
				since = 0
			case "delete", "deletes", "deleted", "deleting", "destroy", "destroys", "destroyed", "drop", "drops", "wipe", "wipes",
				"erase", "erases", "purge", "purges", "truncate", "truncates", "terminate", "terminates", "overwrite", "overwrites",
				"irreversible", "irreversibly", "permanently", "decommission", "nuke", "shred", "discard", "discards", "revoke", "revokes":
				if since > 3 {
					return true
				}
			}
		}
	}
	return false
}
