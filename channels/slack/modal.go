package slack

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// Block ids of a view that are not fields. Fields are "f1", "f2", …, by
// position, so that no name of the agent's meets one of ours.
const (
	blockChoice  = "choice"
	blockComment = "comment"
	blockChecks  = "checks" // with the number of the group's first item
	blockEnding  = "ending"
)

// maxCommentInput is the longest comment that a modal takes.
const maxCommentInput = maxTextObject

// origin is where a modal was opened from: what its submission needs. It is the
// view's private_metadata, which comes back from Slack as it was sent, and holds
// nothing secret.
type origin struct {
	MessageID string `json:"m"`
	Channel   string `json:"c,omitempty"` // of the copy; empty for the Home tab
	TS        string `json:"t,omitempty"` // of the copy
}

func (o origin) encode() string {
	b, err := json.Marshal(o)
	if err != nil || len(b) > 3000 {
		return "" // can't happen: three short strings
	}
	return string(b)
}

// parseOrigin reads a view's private_metadata.
func parseOrigin(s string) (o origin, ok bool) {
	if len(s) > 3000 || json.Unmarshal([]byte(s), &o) != nil || !validID(o.MessageID, false) {
		return origin{}, false
	}
	return o, true
}

// askModal is the view in which a person answers an ask, with a form or a choice
// and a comment, or completes a task. Use [fitsModal] first. Its callback_id is
// an [action] of kindForm.
func askModal(c *hub.Card, from origin) slackgo.ModalViewRequest {
	title, submit := "Answer", "Send"
	var blocks []slackgo.Block
	switch {
	case c.Type == ma2h.Task:
		title, submit = "Task", "Send"
		blocks = taskInputs(c)
	case c.Mode == ma2h.Input:
		for i, f := range c.Fields {
			blocks = append(blocks, fieldInput(c, f, i))
		}
	default:
		blocks = append(blocks, choiceInput(c))
	}
	blocks = append(blocks, commentInput("Comment", "The agent reads it with your answer."))
	return modal(c, from, kindForm, title, submit, blocks)
}

// declineModal is the view in which a person declines an ask, or says that a
// task can't be done, with a reason. Its callback_id is an [action] of
// kindDecline or kindCant.
func declineModal(c *hub.Card, from origin) slackgo.ModalViewRequest {
	k, title := kindDecline, "Decline"
	if c.Type == ma2h.Task {
		k, title = kindCant, "Can't do"
	}
	return modal(c, from, k, title, title, []slackgo.Block{commentInput("Reason", "The agent reads it.")})
}

// linkModal hands a personal link to whoever pressed Open where no ephemeral
// note can be left, such as in the Home tab.
func linkModal(c *hub.Card, personal string) slackgo.ModalViewRequest {
	blocks, _ := renderLink(c, personal)
	return slackgo.ModalViewRequest{
		Type: slackgo.VTModal, Title: plain("Open the page"), Close: plain("Close"),
		CallbackID: action{Kind: kindOpen, MessageID: c.MessageID}.id(), Blocks: slackgo.Blocks{BlockSet: blocks},
	}
}

// noteModal says something in the place of a modal that is open.
func noteModal(title, s string) slackgo.ModalViewRequest {
	blocks, _ := renderNote(s)
	return slackgo.ModalViewRequest{
		Type: slackgo.VTModal, Title: plain(cutTo(line(title, "Beckon"), maxViewTitle)), Close: plain("Close"), Blocks: slackgo.Blocks{BlockSet: blocks},
	}
}

const maxViewTitle = 24

func modal(c *hub.Card, from origin, k kind, title, submit string, inputs []slackgo.Block) slackgo.ModalViewRequest {
	r := &renderer{c: c, b: newBudget(maxTotal)}
	head := &richWriter{left: maxTitle}
	head.text(line(c.Title, "(no title)"), richStyle{Bold: true})
	who := &richWriter{left: 600, reader: c.Reader}
	who.text(line(templates.Asker(c), "an agent")+" · ", richStyle{})
	for i, p := range templates.Limit(c) {
		if p.Strong && i > 0 {
			who.text(" ", richStyle{})
		}
		who.pieces([]templates.Piece{p})
	}
	blocks := join(richBlock(actionVersion+":title", head.finish()), richBlock(actionVersion+":who", who.finish()))
	if k == kindForm {
		if list := r.choiceList(); list != nil && c.Mode != ma2h.Input {
			blocks = append(blocks, list)
		}
	}
	from.MessageID = c.MessageID
	return slackgo.ModalViewRequest{
		Type: slackgo.VTModal, Title: plain(title), Submit: plain(submit), Close: plain("Back"),
		CallbackID: action{Kind: k, MessageID: c.MessageID}.id(), PrivateMetadata: from.encode(),
		Blocks: slackgo.Blocks{BlockSet: append(blocks, inputs...)},
	}
}

func commentInput(label, hint string) *slackgo.InputBlock {
	el := slackgo.NewPlainTextInputBlockElement(nil, action{Kind: kindField, Option: 1, MessageID: blockComment}.id())
	el.Multiline = true
	el.MaxLength = maxCommentInput
	return slackgo.NewInputBlock(blockComment, plain(label), plain(hint), el).WithOptional(true)
}

// choiceInput offers the options: radio buttons for a few, else a select.
func choiceInput(c *hub.Card) *slackgo.InputBlock {
	id := action{Kind: kindField, Option: 1, MessageID: blockChoice}.id()
	r := &renderer{c: c, b: newBudget(1 << 20)}
	options := r.options(c.Options)
	var el slackgo.BlockElement = slackgo.NewRadioButtonsBlockElement(id, options...)
	if len(options) > maxChecks {
		el = slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, plain("Choose an answer"), id, options...)
	}
	return slackgo.NewInputBlock(blockChoice, plain("Your answer"), nil, el)
}

// The two ends of a task, as values of the [blockEnding] input.
const (
	endDone = "done"
	endCant = "cant"
)

// taskInputs are the checklist and how the task ends.
func taskInputs(c *hub.Card) []slackgo.Block {
	var blocks []slackgo.Block
	for _, g := range checkGroups(c) {
		g.boxes.ActionID = action{Kind: kindField, Option: g.first, MessageID: blockChecks}.id()
		label := "Checklist"
		if g.first > 1 {
			label = "Checklist, from item " + itoa(g.first)
		}
		blocks = append(blocks, slackgo.NewInputBlock(blockChecks+itoa(g.first), plain(label), nil, g.boxes).WithOptional(true))
	}
	var ends []*slackgo.OptionBlockObject
	if c.CanAnswer {
		ends = append(ends, slackgo.NewOptionBlockObject(endDone, plain("Done"), nil))
	}
	if c.CanDecline {
		ends = append(ends, slackgo.NewOptionBlockObject(endCant, plain("Can't do"), nil))
	}
	if len(ends) == 0 {
		return blocks
	}
	el := slackgo.NewRadioButtonsBlockElement(action{Kind: kindField, Option: 1, MessageID: blockEnding}.id(), ends...)
	return append(blocks, slackgo.NewInputBlock(blockEnding, plain("How does it end?"), nil, el))
}

// submission is what somebody sent with a view.
type submission struct {
	Option    int               // of a choice; 0 for none
	Fields    map[string]string // of a form, by the schema's names
	Checklist []ma2h.ChecklistItem
	Comment   string
	Dismiss   bool // a task that can't be done
}

// viewValues are the values of a view's state, by block_id and action_id.
type viewValues = map[string]map[string]slackgo.BlockAction

// readModal reads what was typed into [askModal] or [declineModal] of the card.
func readModal(c *hub.Card, values viewValues) submission {
	var s submission
	one := func(block string) (slackgo.BlockAction, bool) {
		for _, a := range values[block] {
			return a, true
		}
		return slackgo.BlockAction{}, false
	}
	if a, ok := one(blockComment); ok {
		s.Comment = strings.TrimSpace(a.Value)
	}
	if a, ok := one(blockChoice); ok {
		s.Option, _ = number(a.SelectedOption.Value)
	}
	if a, ok := one(blockEnding); ok {
		s.Dismiss = a.SelectedOption.Value == endCant
	}
	if c.Type == ma2h.Task {
		for first := 1; first <= len(c.Checklist) && first <= maxChecklist; first += maxChecks {
			a, ok := one(blockChecks + itoa(first))
			if !ok {
				continue
			}
			var selected []string
			for _, o := range a.SelectedOptions {
				selected = append(selected, o.Value)
			}
			card := *c
			if s.Checklist != nil {
				card.Checklist = s.Checklist
			}
			s.Checklist = tickChecklist(&card, first, selected)
		}
	}
	if c.Mode == ma2h.Input {
		s.Fields = map[string]string{}
		for i, f := range c.Fields {
			if a, ok := one(fieldBlock(i)); ok {
				s.Fields[f.Name] = readField(c, f, a)
			}
		}
	}
	return s
}

// modalErrors places what the hub found wrong at the view's inputs, by block_id;
// what has no input of its own goes to the last one.
// https://docs.slack.dev/surfaces/modals#displaying_errors
func modalErrors(c *hub.Card, errs []hub.FieldError) map[string]string {
	out := map[string]string{}
	for _, e := range errs {
		at, msg := blockComment, e.Msg
		switch e.Field {
		case "comment":
		case "value":
			if c.Mode != ma2h.Input && c.Type == ma2h.Ask {
				at = blockChoice
			}
		case "checklist":
			if len(c.Checklist) > 0 {
				at = blockChecks + "1"
			}
		default:
			found := false
			for i, f := range c.Fields {
				if f.Name == e.Field {
					at, found = fieldBlock(i), true
				}
			}
			if !found {
				msg = e.Field + ": " + msg
			}
		}
		msg = cutTo(line(capitalRune(msg), "Is not accepted"), 200)
		if out[at] != "" {
			msg = cutTo(out[at]+"; "+msg, 400)
		}
		out[at] = msg
	}
	return out
}

func capitalRune(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || r == utf8.RuneError {
		return s
	}
	return strings.ToUpper(string(r)) + s[n:]
}
