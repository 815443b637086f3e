package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	slackgo "github.com/slack-go/slack"
)

// Post puts a copy of the card where the target says, when it is its turn there.
//
// Slack knows no idempotency key that it documents. The outbox has written the
// attempt before Post is called; the post carries a client_msg_id and metadata
// made of the delivery's id. When an earlier attempt may have arrived, Post looks
// for them in the conversation first, and posts again only what is not there.
func (c *Channel) Post(ctx context.Context, r hub.PostRequest) (hub.Posted, error) {
	if err := ctx.Err(); err != nil {
		return hub.Posted{}, fmt.Errorf("slack: post: %w", err)
	}
	pl, err := c.place(ctx, r.Target, r.Person)
	if err != nil {
		return hub.Posted{}, c.explain(err, c.called(r.Target), r.MaybeSent)
	}
	err = c.queue.take(ctx, turn{
		room: pl.arg(), id: r.DeliveryID, class: classOf(r.Card), since: r.Card.AcceptedAt, rest: c.api.limited("chat.postMessage"),
	})
	if err != nil {
		return hub.Posted{}, err
	}
	doubt := c.doubts.take(r.DeliveryID) || r.Attempt > 1 || r.MaybeSent
	m := &outgoing{place: pl, key: keyOf(r.DeliveryID, r.Generation), thread: r.Thread, broadcast: r.Thread != "", since: r.Card.AcceptedAt}
	if doubt {
		posted, err := c.look(ctx, m)
		if err != nil {
			return hub.Posted{}, c.explain(err, pl.name, true)
		}
		if posted != nil {
			return *posted, nil
		}
		if r.Card.Type != ma2h.Notify && r.Card.Status.Terminal() {
			return hub.Posted{}, permanent("not_wanted", "the message ended before a copy stood in "+pl.name)
		}
	}
	o := renderOptions{Rev: r.DeliveryID}
	if pl.dm && r.Person != nil {
		o.Link = c.desk.PersonalLink(r.Person.ID, r.Card.MessageID, linkLife)
	}
	m.blocks, m.text, _ = renderMessage(r.Card, o)
	m.plain = renderPlain(r.Card)
	posted, err := c.post(ctx, m)
	if slackSaid(err, "channel_not_found") {
		posted, err = c.postAgain(ctx, m, r)
	}
	if slackSaid(err, codeLimited) {
		c.doubts.add(r.DeliveryID)
	}
	return posted, c.explain(err, pl.name, doubt)
}

// classOf says how a card queues.
func classOf(card *hub.Card) class {
	if card.Type == ma2h.Notify {
		return classNotify
	}
	return classAsk
}

// place finds the conversation of a target.
func (c *Channel) place(ctx context.Context, t hub.Target, who *hub.Person) (place, error) {
	if t.Place != "" {
		return c.places.channel(ctx, t.Place)
	}
	if who == nil {
		return place{}, permanent("no_person", "the target names nobody who is in the directory")
	}
	user, err := c.people.user(ctx, who)
	if err != nil {
		return place{}, err
	}
	return c.places.dm(ctx, user, who.Name)
}

// called is what people call a target.
func (c *Channel) called(t hub.Target) string {
	if t.Place != "" {
		return t.Place
	}
	return c.desk.Directory().PersonName(t.Person)
}

// postAgain follows a post to a conversation that Slack does not find: what was
// kept of it may be out of date.
func (c *Channel) postAgain(ctx context.Context, m *outgoing, r hub.PostRequest) (hub.Posted, error) {
	notFound := &apiError{Method: "chat.postMessage", Code: "channel_not_found"}
	switch {
	case m.place.dm:
		user, err := c.people.user(ctx, r.Person)
		if err != nil {
			return hub.Posted{}, err
		}
		c.places.forgetDM(ctx, user)
		pl, err := c.places.dm(ctx, user, m.place.name)
		if err != nil {
			return hub.Posted{}, err
		}
		if pl.id == m.place.id {
			return hub.Posted{}, permanent("no_slack_user", "Slack finds no direct messages with "+m.place.name+"; look at slack in people")
		}
		m.place = pl
	case m.place.id == "" || !strings.HasPrefix(m.place.name, "#"):
		return hub.Posted{}, notFound
	default:
		c.places.forget(ctx, m.place)
		m.place = place{name: m.place.name}
	}
	m.thread, m.broadcast = "", false // its first message was in the other place
	return c.post(ctx, m)
}

// outgoing is one message on its way.
type outgoing struct {
	place     place
	key       key
	thread    string    // ts of the first message of the thread; "" for none
	broadcast bool      // show the reply in the conversation too
	since     time.Time // no copy is older

	blocks []slackgo.Block
	text   string
	plain  string // what goes out instead when Slack refuses the blocks; "" for nothing
}

// post sends one message and says what it is called. A name that is out of date
// is looked up again.
func (c *Channel) post(ctx context.Context, m *outgoing) (hub.Posted, error) {
	posted, err := c.postMessage(ctx, m, m.text, m.blocks)
	if err != nil && unformed(err) && m.plain != "" {
		word := c.refusedBlocks(err, "chat.postMessage", m.key.delivery)
		posted, err = c.postMessage(ctx, m, m.plain, nil)
		posted.Degraded = "Slack refused the layout (" + word + "), so the copy is plain text: people answer in the thread or on the page"
	}
	return posted, err
}

// refusedBlocks logs what Slack found wrong, and returns its word.
func (c *Channel) refusedBlocks(err error, method, delivery string) string {
	e, _ := errors.AsType[*apiError](err)
	c.log.Warn("Slack refused the blocks of a message; plain text goes out instead",
		"method", method, "delivery", delivery, "code", e.Code, "messages", e.Messages)
	return e.Code
}

func (c *Channel) postMessage(ctx context.Context, m *outgoing, text string, blocks []slackgo.Block) (hub.Posted, error) {
	args, err := content(text, blocks)
	if err != nil {
		return hub.Posted{}, err
	}
	args.Set("channel", m.place.arg())
	args.Set("client_msg_id", m.key.uuid())
	args.Set("metadata", m.key.metadata())
	args.Set("unfurl_links", "false")
	args.Set("unfurl_media", "false")
	if m.thread != "" {
		args.Set("thread_ts", m.thread)
		if m.broadcast {
			args.Set("reply_broadcast", "true")
		}
	}
	var out struct {
		Channel string `json:"channel"`
		TS      string `json:"ts"`
		Message struct {
			Thread string `json:"thread_ts"`
		} `json:"message"`
	}
	if err := c.api.call(ctx, "chat.postMessage", args, &out); err != nil {
		return hub.Posted{}, err
	}
	if out.Channel == "" || out.TS == "" {
		return hub.Posted{}, &apiError{Method: "chat.postMessage", Code: codeBroken, MaybeDone: true, Err: errors.New("no ts")}
	}
	c.places.learn(ctx, m.place, out.Channel)
	// The thread of a message that was deleted takes no replies: Slack posts
	// outside without a word.
	thread := out.TS
	if m.thread != "" && out.Message.Thread != "" {
		thread = out.Message.Thread
	}
	return hub.Posted{Ref: out.Channel + "/" + out.TS, Thread: thread}, nil
}

// content makes the arguments that a post and an update share.
func content(text string, blocks []slackgo.Block) (url.Values, error) {
	args := url.Values{"text": {text}}
	if blocks == nil {
		return args, nil
	}
	b, err := json.Marshal(blocks)
	if err != nil {
		return nil, fmt.Errorf("slack: lay out: %w", err)
	}
	args.Set("blocks", string(b))
	return args, nil
}

// parseRef splits the name of a copy.
func parseRef(ref string) (channel, ts string, ok bool) {
	channel, ts, ok = strings.Cut(ref, "/")
	return channel, ts, ok && channel != "" && ts != ""
}
