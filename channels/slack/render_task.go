package slack

import (
	"strconv"

	"beckon/hub"
	"beckon/hub/ma2h"

	slackgo "github.com/slack-go/slack"
)

// maxChecklist is how many items a message lets people tick; the page has all.
const maxChecklist = 100

// taskControls are a checklist that people can tick, and what ends the task.
func (r *renderer) taskControls() []slackgo.Block {
	c := r.c
	blocks := r.checkboxes()
	done := button(action{Kind: kindDone, MessageID: c.MessageID}, "Done")
	done.Style = slackgo.StylePrimary
	els := []slackgo.BlockElement{done}
	if !c.CanAnswer {
		els = nil
	}
	if c.CanDecline {
		els = append(els, button(action{Kind: kindCant, MessageID: c.MessageID}, "Can't do"))
	}
	if c.CanAnswer {
		els = append(els, button(action{Kind: kindForm, MessageID: c.MessageID}, "Comment"))
	}
	return append(blocks, join(r.actions("task", els...))...)
}

// checkboxes are groups of ten. The value of a box is the item's number.
func (r *renderer) checkboxes() []slackgo.Block {
	var blocks []slackgo.Block
	for _, g := range checkGroups(r.c) {
		for _, o := range g.boxes.Options {
			r.b.spend(o.Text.Text)
		}
		blocks = append(blocks, r.actions("check"+strconv.Itoa(g.first), g.boxes))
	}
	if len(r.c.Checklist) > maxChecklist {
		r.b.say("checklist")
	}
	return blocks
}

type checkGroup struct {
	first int // number of the first item, from 1
	boxes *slackgo.CheckboxGroupsBlockElement
}

func checkGroups(c *hub.Card) []checkGroup {
	var groups []checkGroup
	for i := 0; i < len(c.Checklist) && i < maxChecklist; i += maxChecks {
		var options, ticked []*slackgo.OptionBlockObject
		for k := i; k < len(c.Checklist) && k < i+maxChecks; k++ {
			item := c.Checklist[k]
			o := slackgo.NewOptionBlockObject(itoa(k+1), plain(cutTo(line(item.Text, "(no text)"), maxOptionText)), nil)
			options = append(options, o)
			if item.Done {
				ticked = append(ticked, o)
			}
		}
		boxes := slackgo.NewCheckboxGroupsBlockElement(action{Kind: kindTick, MessageID: c.MessageID, Option: i + 1}.id(), options...)
		boxes.InitialOptions = ticked
		groups = append(groups, checkGroup{first: i + 1, boxes: boxes})
	}
	return groups
}

// tickChecklist is a card's checklist after a group of boxes was changed: first
// is the group's [action] Option, selected the values of its ticked boxes. Nil
// when there is no such group.
func tickChecklist(c *hub.Card, first int, selected []string) []ma2h.ChecklistItem {
	if first < 1 || first > len(c.Checklist) || (first-1)%maxChecks != 0 {
		return nil
	}
	out := append([]ma2h.ChecklistItem(nil), c.Checklist...)
	last := min(first+maxChecks-1, len(out))
	for n := first; n <= last; n++ {
		out[n-1].Done = false
	}
	for _, v := range selected {
		if n, ok := number(v); ok && n >= first && n <= last {
			out[n-1].Done = true
		}
	}
	return out
}

// checkTexts shows the items in full where a box cuts one.
func (r *renderer) checkTexts() slackgo.Block {
	c := r.c
	if c.Type != ma2h.Task || c.Hidden {
		return nil
	}
	long := noneMay(c) && len(c.Checklist) > 0 // no boxes: the list stands alone
	for i, item := range c.Checklist {
		long = long || i < maxChecklist && runeLen(line(item.Text, "")) > maxOptionText
	}
	if !long {
		return nil
	}
	w := &richWriter{left: r.b.room(maxNamedValues)}
	var items []slackgo.RichTextElement
	for _, item := range c.Checklist {
		text := line(item.Text, "(no text)")
		shown := cutTo(text, maxNamedValue)
		if shown != text || runeLen(shown) > w.left {
			r.b.say("checklist")
		}
		if runeLen(shown) > w.left {
			break
		}
		w.text(shown, richStyle{Strike: item.Done && noneMay(c)})
		if s := w.section(); s != nil {
			items = append(items, s)
		}
	}
	return r.listBlock("steps", slackgo.RTEListOrdered, items)
}
