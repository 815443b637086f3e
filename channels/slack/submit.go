package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// viewReply is how a form is acknowledged; nil closes it.
// https://docs.slack.dev/surfaces/modals#response_actions
type viewReply struct {
	Action string            `json:"response_action"`
	Errors map[string]string `json:"errors,omitempty"`
	View   any               `json:"view,omitempty"`
}

// submitted takes a form. The modal itself says what came of it: there it is
// certain to be seen.
func (in *inbound) submitted(ctx context.Context, d *deed, p *interaction) error {
	if p.View == nil {
		return errors.New("a submission without a view")
	}
	f := &form{in: in, d: d, view: p.View, at: spot{user: p.User.ID, trigger: p.TriggerID}}
	if from, ok := parseOrigin(p.View.PrivateMetadata); ok {
		f.at.channel = from.Channel
	}
	a, ok := parseAction(p.View.CallbackID, "")
	d.orElse(&viewReply{Action: "update", View: noteModal("Recording…", "The hub is recording this. What came of it is shown here in a moment.")})
	if !ok || a.Kind != kindForm && a.Kind != kindDecline && a.Kind != kindCant {
		return f.say(ctx, remarkText(sayOldButton).text)
	}
	who, err := in.whois(ctx, p.User)
	switch {
	case err != nil:
		return errors.Join(err, f.again(ctx))
	case who.Person == nil:
		return f.say(ctx, who.refusal.text)
	}
	c, err := in.card(ctx, a.MessageID, who.Person)
	if err != nil {
		return errors.Join(err, f.again(ctx))
	}
	values, bad := p.View.entered()
	if bad != "" {
		return f.errors(ctx, map[string]string{bad: "This could not be read. Answer on the page, please."})
	}
	r := in.receipt(d, who.team, f.at, "form", p.View.ID+"/"+p.View.Hash)
	r.Reusable = true // the same form comes again when it is mended
	out, err := in.record(ctx, formAnswer(c, a, values, who.Person, r))
	if err != nil {
		return errors.Join(err, f.again(ctx))
	}
	if out.Kind == hub.Unclear && c != nil {
		return f.errors(ctx, modalErrors(c, out.Fields))
	}
	return f.say(ctx, templates.Outcome(out, who.Person))
}

// formAnswer is the answer that a form makes. Without a card the person can't
// see the message: then what was entered can't be read, and the hub says why.
func formAnswer(c *hub.Card, a action, values viewValues, who *hub.Person, r hub.Receipt) hub.Answer {
	answer := hub.Answer{MessageID: a.MessageID, Actor: who.Actor(), Verb: hub.VerbAnswer, Receipt: r}
	if c == nil {
		return answer
	}
	s := readModal(c, values)
	answer.Comment = s.Comment
	switch {
	case a.Kind == kindDecline:
		answer.Verb = hub.VerbDecline
	case a.Kind == kindCant:
		answer.Verb = hub.VerbDismiss
	case c.Type == ma2h.Task:
		answer.Verb, answer.Checklist = hub.VerbComplete, s.Checklist
		if s.Dismiss {
			answer.Verb = hub.VerbDismiss
		}
	case c.Mode == ma2h.Input:
		answer.Fields = s.Fields
	default:
		answer.Option = s.Option
	}
	return answer
}

// form is a modal that somebody sent, and how to speak in it.
type form struct {
	in   *inbound
	d    *deed
	view *viewPayload
	at   spot // where it was opened from
}

// say puts words in the place of the form.
func (f *form) say(ctx context.Context, s string) error {
	note := noteModal("Beckon", s)
	if f.d.reply(&viewReply{Action: "update", View: note}) {
		return nil
	}
	args, err := viewArgs(note)
	if err != nil {
		return err
	}
	args.Set("view_id", f.view.ID)
	err = f.in.keepTrying(ctx, func(ctx context.Context) error { return f.in.c.api.call(ctx, "views.update", args, nil) })
	if err == nil {
		return nil
	}
	// They have closed it.
	return f.in.tell(ctx, f.at, remarkText(s))
}

// errors shows what is wrong at the fields; the form stays with what was typed.
func (f *form) errors(ctx context.Context, at map[string]string) error {
	inputs, last := map[string]bool{}, ""
	for _, b := range f.view.Blocks {
		if b.Type == "input" {
			inputs[b.BlockID], last = true, b.BlockID
		}
	}
	placed, words, size := map[string]string{}, "", 0
	for _, block := range slices.Sorted(maps.Keys(at)) {
		msg := at[block]
		if !inputs[block] {
			block = last
		}
		// As it will be written: "<" takes six bytes there.
		written, err := json.Marshal(msg)
		if err != nil {
			return err
		}
		if size += len(written) + len(block) + 20; size > maxAck/2 {
			break // the others show when these are mended
		}
		if placed[block] != "" {
			msg = placed[block] + " " + msg
		}
		placed[block] = msg
		words += " " + strings.TrimSuffix(msg, ".") + "."
	}
	if last == "" {
		return f.say(ctx, "Nothing has been recorded."+words)
	}
	if f.d.reply(&viewReply{Action: "errors", Errors: placed}) {
		return nil
	}
	return f.say(ctx, fmt.Sprintf("Nothing has been recorded.%s Open the form again, please.", words))
}

// again says that nothing is known to be recorded; the form stays.
func (f *form) again(ctx context.Context) error {
	return f.errors(ctx, map[string]string{blockComment: sayNotRecorded + " Send it again."})
}
