package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"beckon/hub"

	slackgo "github.com/slack-go/slack"
)

// linkPatience is how long a link waits for its turn: somebody sits before the
// sign-in page.
const linkPatience = 10 * time.Second

// SendLink sends a personal link to somebody's direct messages with the app.
func (c *Channel) SendLink(ctx context.Context, p *hub.Person, url string, expires time.Time) error {
	user, err := c.people.user(ctx, p)
	if de, ok := errors.AsType[*hub.DeliveryError](err); ok && de.Code == "no_slack_user" {
		return hub.ErrUnsupported
	}
	if err != nil {
		return c.explain(err, p.Name, false)
	}
	pl, err := c.places.dm(ctx, user, p.Name)
	if err != nil {
		return c.explain(err, p.Name, false)
	}
	// Each link is a message of its own, so its turn needs no name that lasts.
	id := fmt.Sprintf("link-%s-%d", p.ID, expires.UnixNano())
	err = c.queue.take(ctx, turn{
		room: pl.id, id: id, class: classTruth, since: time.Now(), rest: c.api.limited("chat.postMessage"), wait: linkPatience,
	})
	if err != nil {
		return err
	}
	m := &outgoing{place: pl, key: keyOf(id, 0)}
	m.blocks, m.text = renderSignIn(url, expires, p)
	if _, err := c.post(ctx, m); err != nil {
		if slackSaid(err, "channel_not_found") {
			c.places.forgetDM(ctx, user)
		}
		return c.explain(err, p.Name, false)
	}
	return nil
}

// renderSignIn hands over a link that signs its owner in.
func renderSignIn(url string, expires time.Time, reader *hub.Person) (blocks []slackgo.Block, text string) {
	const words = "Your link to sign in. It is yours alone, and works until "
	b := button(action{Kind: kindLink, MessageID: "signin"}, "Sign in")
	b.URL = url
	w := &richWriter{left: maxTextObject, reader: reader}
	w.text(words, richStyle{})
	w.date(expires, richStyle{})
	w.text(".", richStyle{})
	blocks = join(richBlock(actionVersion+":note", w.finish()), slackgo.NewActionBlock(actionVersion+":link", b))
	return blocks, words + date(expires, reader) + ". " + link(url, "Sign in")
}
