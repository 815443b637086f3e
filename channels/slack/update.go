package slack

import (
	"context"
	"fmt"
	"time"

	"beckon/hub"
)

// Update makes a copy that stands tell the truth, or, as a reminder, asks again
// in its thread. A copy that Slack does not let the hub change for good gets a
// follow-up in its thread instead (rule 13).
func (c *Channel) Update(ctx context.Context, r hub.UpdateRequest) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("slack: update: %w", err)
	}
	channel, ts, ok := parseRef(r.Posting.Ref)
	if !ok {
		return permanent("refused", "the copy has no name in Slack")
	}
	channel = c.places.moved(ctx, channel)
	pl := place{id: channel, name: c.called(r.Posting.Target), dm: r.Posting.Target.Person != ""}
	m := &outgoing{
		place: pl, key: keyOf(r.DeliveryID, 0), thread: orWord(r.Posting.Thread, ts), since: r.Posting.At,
	}
	if r.Remind {
		m.blocks, m.text = renderReminder(r.Card, renderOptions{Rev: rev(r)})
		m.plain, m.broadcast = m.text, pl.dm // in a direct message nobody follows threads
		return c.follow(ctx, r, m, classAsk)
	}
	err := c.amend(ctx, r, channel, ts)
	if err == nil || !uneditable(err) {
		return c.explain(err, pl.name, false)
	}
	if slackSaid(err, "is_inactive", "channel_not_found") {
		return c.explain(err, pl.name, false) // nothing can be said there either
	}
	if m.text = renderPlain(r.Card); r.Card.Status.Terminal() {
		// The end is said once. The update for the agent having got it comes later,
		// and is not worth a second message.
		m.key = keyOf("end-"+r.Posting.Ref, 0)
		r.MaybeSent = r.MaybeSent || r.Card.Track != nil && r.Card.Track.State != hub.TrackNone
	}
	return c.follow(ctx, r, m, classTruth)
}

// rev makes block ids new at every update, as Slack asks for.
func rev(r hub.UpdateRequest) string { return r.DeliveryID + "." + itoa(r.Attempt) }

// uneditable reports that Slack will never change the copy.
func uneditable(err error) bool {
	return slackSaid(err, "message_not_found", "cant_update_message", "edit_window_closed", "is_inactive", "is_archived",
		"channel_not_found", "restricted_action", "not_allowed", "no_permission") || unformed(err)
}

// amend changes the copy itself.
func (c *Channel) amend(ctx context.Context, r hub.UpdateRequest, channel, ts string) error {
	err := c.queue.take(ctx, turn{
		room: updates, id: r.DeliveryID, class: classTruth, since: r.Posting.At, rest: c.api.limited("chat.update"),
	})
	if err != nil {
		return err
	}
	o := renderOptions{Rev: rev(r)}
	if r.Person != nil && r.Posting.Target.Person != "" && !r.Card.Status.Terminal() {
		o.Link = c.desk.PersonalLink(r.Person.ID, r.Card.MessageID, linkLife)
	}
	blocks, text, _ := renderMessage(r.Card, o)
	args, err := content(text, blocks)
	if err != nil {
		return err
	}
	args.Set("channel", channel)
	args.Set("ts", ts)
	err = c.api.call(ctx, "chat.update", args, nil)
	if err != nil && unformed(err) {
		// Text without blocks takes the blocks away, and the buttons with them.
		// https://docs.slack.dev/reference/methods/chat.update
		c.refusedBlocks(err, "chat.update", r.DeliveryID)
		args.Del("blocks")
		args.Set("text", renderPlain(r.Card))
		err = c.api.call(ctx, "chat.update", args, nil)
	}
	return err
}

// follow posts into the thread of a copy, once.
func (c *Channel) follow(ctx context.Context, r hub.UpdateRequest, m *outgoing, cl class) error {
	since := r.Posting.At
	if r.Remind {
		since = time.Now() // behind the asks that came before it
	}
	err := c.queue.take(ctx, turn{
		room: m.place.id, id: r.DeliveryID, class: cl, since: since, rest: c.api.limited("chat.postMessage"),
	})
	if err != nil {
		return err
	}
	doubt := c.doubts.take(r.DeliveryID) || r.Attempt > 1 || r.MaybeSent
	if doubt {
		posted, err := c.look(ctx, m)
		if err != nil || posted != nil {
			return c.explain(err, m.place.name, true)
		}
	}
	_, err = c.post(ctx, m)
	if slackSaid(err, "cannot_reply_to_message", "restricted_action_thread_locked") {
		m.thread, m.broadcast = "", false
		_, err = c.post(ctx, m)
	}
	if slackSaid(err, codeLimited) {
		c.doubts.add(r.DeliveryID)
	}
	return c.explain(err, m.place.name, doubt)
}
