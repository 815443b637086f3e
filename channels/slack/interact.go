package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// interact takes a click or a form.
func (in *inbound) interact(ctx context.Context, d *deed, p *interaction) error {
	switch p.Type {
	case "block_actions":
		return in.clicks(ctx, d, p)
	case "view_submission":
		return in.submitted(ctx, d, p)
	}
	return nil // view_closed, shortcuts: nothing was asked for
}

// clicks takes the controls that somebody used; Slack sends one at a time.
func (in *inbound) clicks(ctx context.Context, d *deed, p *interaction) error {
	at := spot{
		user: p.User.ID, channel: p.Container.ChannelID, responseURL: p.ResponseURL, trigger: p.TriggerID, own: p.Container.Ephemeral,
	}
	var errs []error
	for _, raw := range p.Actions {
		var v controlValue
		if err := lenient(raw, &v); err != nil {
			continue
		}
		a, ok := parseAction(v.ActionID, v.Selected.Value)
		switch {
		case ok && a.Kind == kindLink:
			// The button is a link; the browser has opened it.
		case ok && a.Kind == kindField:
			// An input of a view, which its submission brings.
		default:
			errs = append(errs, in.click(ctx, d, at, &clicked{actor: p.User, action: a, known: ok, value: v, copy: p.Container.MessageTS}))
		}
	}
	return errors.Join(errs...)
}

// clicked is one control that somebody used.
type clicked struct {
	actor  slackActor
	action action
	known  bool // action is what the control stands for
	value  controlValue
	copy   string // ts of the message; "" in a view
}

// key names the act whenever Slack sends it: trigger_id and envelope_id are new
// each time, the time of the click is not.
func (k *clicked) key(at spot) string {
	return at.channel + "/" + k.copy + "/" + k.actor.ID + "/" + k.value.ActionID + "/" + k.value.ActionTS
}

func (in *inbound) click(ctx context.Context, d *deed, at spot, k *clicked) error {
	if !k.known {
		d.reply(nil)
		if !in.told.first("click/" + k.key(at)) {
			return nil
		}
		return in.tell(ctx, at, remarkText(sayOldButton))
	}
	who, err := in.whois(ctx, k.actor)
	if err != nil {
		d.reply(nil)
		return errors.Join(err, in.tell(ctx, at, remarkText(sayNotRead)))
	}
	if who.Person == nil {
		d.reply(nil) // first: telling may take longer than Slack waits
		if !in.told.first("click/" + k.key(at)) {
			return nil
		}
		return in.tell(ctx, at, who.refusal)
	}
	r := in.receipt(d, who.team, at, "click", k.key(at))
	switch k.action.Kind {
	case kindAnswer, kindChoose:
		return in.answerClick(ctx, d, at, who.Person, hub.Answer{
			MessageID: k.action.MessageID, Actor: who.Actor(), Verb: hub.VerbAnswer, Option: k.action.Option, Receipt: r,
		})
	case kindDone:
		return in.answerClick(ctx, d, at, who.Person, hub.Answer{
			MessageID: k.action.MessageID, Actor: who.Actor(), Verb: hub.VerbComplete, Receipt: r,
		})
	case kindTick:
		return in.tick(ctx, d, at, k, who.Person, r)
	case kindTell:
		return in.sendIt(ctx, d, at, k, who.Person, who.team)
	}
	d.reply(nil) // nothing is recorded by what follows
	if k.action.Kind != kindHome && !in.told.first(r.Key) {
		return nil
	}
	switch k.action.Kind {
	case kindForm, kindDecline, kindCant:
		return in.openForm(ctx, at, k, who.Person, r)
	case kindOpen:
		return in.handLink(ctx, at, k.action.MessageID, who.Person, r)
	case kindHome:
		in.homes.turn(k.actor.ID, k.action.MessageID)
		return in.opened(ctx, k.actor)
	}
	return fmt.Errorf("a click of kind %q has no meaning", k.action.Kind)
}

// answerClick passes a click that answers, and says what came of it.
func (in *inbound) answerClick(ctx context.Context, d *deed, at spot, who *hub.Person, a hub.Answer) error {
	out, err := in.record(ctx, a)
	d.reply(nil)
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText(sayClickAgain)))
	}
	return in.tellOutcome(ctx, at, a.Receipt.Key, out, who)
}

// openForm opens the modal that a button is for, or says why there is none.
func (in *inbound) openForm(ctx context.Context, at spot, k *clicked, who *hub.Person, r hub.Receipt) error {
	c, err := in.card(ctx, k.action.MessageID, who)
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText(sayNotRead)))
	}
	switch {
	case c == nil || c.Status != ma2h.Open || !c.MayAnswer:
		return in.tellWhyNot(ctx, at, k.action.MessageID, who, r)
	case !mayDo(c, k.action.Kind):
		return in.tell(ctx, at, cantDo(c, k.action.Kind))
	case k.action.Kind == kindForm && !fitsModal(c), c.Hidden:
		return in.giveLink(ctx, at, c, who)
	}
	from := origin{MessageID: c.MessageID, Channel: at.channel, TS: k.copy}
	view := askModal(c, from)
	if k.action.Kind != kindForm {
		view = declineModal(c, from)
	}
	err = in.openView(ctx, at.trigger, view)
	switch {
	case err == nil:
		return nil
	case expired(err):
		return in.tell(ctx, at, remarkText(sayTooLate))
	}
	in.log.Warn("Slack did not open a form; the person gets a link", "message", c.MessageID, "err", err)
	return in.tell(ctx, at, in.linkRemark(c, who))
}

// tellWhyNot says what the hub says to an answer of somebody who can't give one:
// who may, or how it ended.
func (in *inbound) tellWhyNot(ctx context.Context, at spot, messageID string, who *hub.Person, r hub.Receipt) error {
	out, err := in.probe(ctx, messageID, who, r)
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText(sayNotRead)))
	}
	what := remarkOf(renderOutcome(out, who))
	what.final = out.Status.Terminal()
	return in.tell(ctx, at, what)
}

// handLink hands out a personal link to a message.
func (in *inbound) handLink(ctx context.Context, at spot, messageID string, who *hub.Person, r hub.Receipt) error {
	c, err := in.card(ctx, messageID, who)
	switch {
	case err != nil:
		return errors.Join(err, in.tell(ctx, at, remarkText(sayNotRead)))
	case c == nil:
		return in.tellWhyNot(ctx, at, messageID, who, r)
	}
	return in.giveLink(ctx, at, c, who)
}

// giveLink hands out a link where only this person sees it: in the Home tab,
// where no note can be left, in a modal.
func (in *inbound) giveLink(ctx context.Context, at spot, c *hub.Card, who *hub.Person) error {
	if at.channel == "" && at.responseURL == "" && at.trigger != "" {
		to := in.desk.PersonalLink(who.ID, c.MessageID, noteLinkLife)
		if to == "" {
			to = c.ReviewURL
		}
		if err := in.openView(ctx, at.trigger, linkModal(c, to)); err == nil {
			return nil
		}
	}
	return in.tell(ctx, at, in.linkRemark(c, who))
}

// tickSettle is how long a checklist's copy waits for the next tick before it
// is updated for everybody.
const tickSettle = 1200 * time.Millisecond

// tick saves a checklist on which somebody ticked a box. Their own client shows
// the tick already; the copy is updated for everybody else when they pause.
func (in *inbound) tick(ctx context.Context, d *deed, at spot, k *clicked, who *hub.Person, r hub.Receipt) error {
	newest, end := in.ticks.next(k.action.MessageID)
	defer end()
	out, err := in.saveTicks(ctx, k, who, r)
	d.reply(nil)
	switch {
	case err != nil:
		return errors.Join(err, in.tell(ctx, at, remarkText(sayClickAgain)))
	case out.Kind != hub.Accepted:
		return in.tellOutcome(ctx, at, r.Key, out, who)
	case out.Repeated || at.own || k.copy == "" || !sleep(ctx, tickSettle) || !newest():
		return nil
	}
	return in.showTicks(ctx, at.channel+"/"+k.copy, k.action.MessageID, who)
}

// saveTicks saves one at a time: a group of boxes is a part of the whole list.
func (in *inbound) saveTicks(ctx context.Context, k *clicked, who *hub.Person, r hub.Receipt) (hub.Outcome, error) {
	in.saving.Lock()
	defer in.saving.Unlock()
	c, err := in.card(ctx, k.action.MessageID, who)
	if err != nil {
		return hub.Outcome{}, err
	}
	a := hub.Answer{MessageID: k.action.MessageID, Actor: who.Actor(), Verb: hub.VerbTick, Receipt: r}
	if c != nil {
		a.Checklist = tickChecklist(c, k.action.Option, k.value.chosenValues())
	}
	return in.record(ctx, a)
}

// showTicks updates the copy with what is ticked now. When the message ended
// meanwhile, its end may have been shown before: it is shown once more then.
func (in *inbound) showTicks(ctx context.Context, ref, messageID string, who *hub.Person) error {
	p, err := in.posting(ctx, ref)
	if err != nil || p == nil || p.MessageID != messageID {
		return err
	}
	for try := range 2 {
		c, err := in.card(ctx, messageID, who)
		if err != nil || c == nil || try == 1 && c.Status == ma2h.Open {
			return err
		}
		if p.Target.Person != who.ID { // as everybody sees it
			shared := *c
			shared.Reader, shared.MayAnswer = nil, false
			c = &shared
		}
		req := hub.UpdateRequest{DeliveryID: "tick-" + messageID, Attempt: int(c.Revision), Posting: *p, Card: c, Person: c.Reader}
		if err := in.update(ctx, req); err != nil {
			return fmt.Errorf("show ticks: %w", err)
		}
		if c.Status != ma2h.Open {
			return nil
		}
	}
	return nil
}

// update updates a copy, and waits for its turn.
func (in *inbound) update(ctx context.Context, r hub.UpdateRequest) error {
	for try := 1; ; try++ {
		err := in.c.Update(ctx, r)
		de, ok := errors.AsType[*hub.DeliveryError](err)
		if err == nil || !ok || de.Permanent || try == 2*tellTries || !sleep(ctx, max(de.After, tellPause)) {
			return err
		}
	}
}
