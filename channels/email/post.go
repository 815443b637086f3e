package email

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// draft is a mail about a message before it is written: what it is, where it
// stands in the thread, and what is known of earlier tries.
type draft struct {
	kind       templates.MailKind
	card       *hub.Card
	person     *hub.Person
	delivery   string
	generation int
	root       string   // Message-ID of the thread's first mail; "" for that one
	after      []string // mails that it follows besides, the last one answered directly
	answers    bool     // it answers a mail of the person's
	maybe      bool     // an earlier try may have got through
	fill       func(*templates.Mail)
}

// Post sends a message to one person. What it returns names the mail by its
// Message-ID.
func (c *Channel) Post(ctx context.Context, r hub.PostRequest) (hub.Posted, error) {
	d := draft{
		kind: templates.MailAsk, card: r.Card, person: r.Person, delivery: r.DeliveryID, generation: r.Generation,
		root: r.Thread, maybe: r.MaybeSent,
	}
	id := c.messageID(r.DeliveryID, r.Generation)
	posted := hub.Posted{Ref: id, Thread: orWord(r.Thread, id)}
	if r.MaybeSent && r.Card.Type != ma2h.Notify && r.Card.Status.Terminal() {
		m, err := c.row(ctx, hashed(keyID, id))
		switch {
		case err != nil:
			return hub.Posted{}, c.explain(err, "", true)
		case m == nil || m.State == "":
			return hub.Posted{}, permanent("not_wanted", "the message ended before a mail went out")
		}
		// Whoever may have got it must hear what became of it, and does as soon as
		// the copy is known to stand.
		return posted, nil
	}
	return posted, c.deliver(ctx, &d)
}

// Update tells somebody who got a message what became of it, or asks again, in the
// thread of the first mail. A mail can't be changed, so that nothing is sent about
// what is still open, such as a ticked checklist.
func (c *Channel) Update(ctx context.Context, r hub.UpdateRequest) error {
	d := draft{
		kind: templates.MailEnded, card: r.Card, person: r.Person, delivery: r.DeliveryID,
		root: orWord(r.Posting.Thread, r.Posting.Ref), maybe: r.MaybeSent,
	}
	if r.Posting.Ref != d.root {
		d.after = []string{r.Posting.Ref}
	}
	switch {
	case r.Remind && r.Card.Status == ma2h.Open:
		d.kind = templates.MailRemind
	case r.Remind || !r.Card.Status.Terminal() || r.Card.Type == ma2h.Notify:
		return ctx.Err()
	}
	if err := c.generationOf(ctx, &d, r.Posting.Ref); err != nil {
		return err
	}
	return c.deliver(ctx, &d)
}

// generationOf makes a mail come from the same address as the one that it follows.
func (c *Channel) generationOf(ctx context.Context, d *draft, ref string) error {
	m, err := c.row(ctx, hashed(keyID, ref))
	if err != nil {
		return c.explain(err, "", d.maybe)
	}
	if m != nil {
		d.generation = m.Generation
	}
	return nil
}

// deliver sends a mail, unless an earlier try has.
func (c *Channel) deliver(ctx context.Context, d *draft) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("email: %s: %w", d.kind, err)
	}
	if d.person == nil {
		return permanent("no_person", "the mail is for nobody who is in the directory")
	}
	to, err := c.recipient(d.person)
	if err != nil {
		return err
	}
	id := c.messageID(d.delivery, d.generation)
	known, err := c.row(ctx, hashed(keyID, id))
	if err != nil {
		return c.explain(err, d.person.Name, d.maybe)
	}
	if known != nil && known.State == stateSent {
		return nil
	}
	maybe := d.maybe || known != nil && known.State == stateBegun
	if err := c.rate.allow(d.person.ID, d.card.MessageID); err != nil {
		return err
	}
	m := &sentMail{Message: d.card.MessageID, Person: d.person.ID, Generation: d.generation, Ref: id, Root: orWord(d.root, id)}
	data, err := c.compose(ctx, d, m, to)
	if err == nil {
		err = c.hand(ctx, m, to.Address, data, maybe)
	}
	return c.explain(err, d.person.Name, maybe)
}

// recipient is where somebody's mail goes.
func (c *Channel) recipient(p *hub.Person) (mail.Address, error) {
	to, reason := personAddress(p)
	switch {
	case reason != "":
		return to, permanent("no_address", p.Name+" "+reason)
	case strings.EqualFold(to.Address, c.own.address()):
		return to, permanent("own_address", "the email of "+p.Name+" in people is the hub's own address; it would answer itself")
	}
	return to, nil
}

// compose writes the mail of a draft, and notes what will lead back to it.
func (c *Channel) compose(ctx context.Context, d *draft, m *sentMail, to mail.Address) ([]byte, error) {
	tag, err := c.tagOf(ctx, m.Message, m.Person, m.Generation)
	if err != nil {
		return nil, err
	}
	token := c.replyToken(m.Message, m.Person, m.Generation)
	if err := c.noteMail(ctx, m, token); err != nil {
		return nil, err
	}
	replyTo := c.tokenAddress(tokenReply, token)
	content := c.mailOf(d.kind, d.card, tag, replyTo)
	if d.fill != nil {
		d.fill(content)
	}
	text, err := c.set.Render(content)
	if err != nil {
		return nil, err
	}
	l := c.letter(m.Ref, to, text)
	l.fromName = displayName(d.card.AgentID) + " via " + displayName(c.conf.FromName)
	l.replyTo, l.envelope = replyTo, c.tokenAddress(tokenVERP, c.verpToken(m.Ref))
	l.suppress, l.answers = suppressed(d.kind, d.card), d.answers
	l.message, l.kind, l.agent = m.Message, string(d.kind), d.card.AgentID
	if d.root != "" {
		l.references = append([]string{d.root}, d.after...)
		l.inReplyTo = l.references[len(l.references)-1]
	}
	return l.write(c.seal)
}

// letter is a mail from the hub, with what they all have.
func (c *Channel) letter(id string, to mail.Address, text templates.MailText) *letter {
	return &letter{
		fromName: displayName(c.conf.FromName), from: c.own.address(), to: to, envelope: c.own.address(),
		id: id, boundary: c.boundary(id), date: time.Now(), text: text, suppress: suppressAll, kind: "hub",
		listID: "<beckon." + c.own.domain + ">", instance: c.own.instance,
	}
}

// hand gives a mail to the server, and keeps note of how far it is. maybe says that
// an earlier try may have got through, which no later failure takes back.
func (c *Channel) hand(ctx context.Context, m *sentMail, to string, data []byte, maybe bool) error {
	begun := false
	said, err := c.out.send(ctx, outgoing{
		from: c.envelopeOf(m), to: to, data: data,
		begin: func(ctx context.Context) error {
			begun = true
			return c.noteState(ctx, m, stateBegun)
		},
	})
	// What happened is written down even when the hub is about to stop.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err != nil {
		if e, ok := errors.AsType[*sendError](err); ok && begun && !e.maybe && !maybe {
			if err := c.noteState(after, m, ""); err != nil {
				c.log.WarnContext(ctx, "a mail that did not go out counts as one that may have", "mail", m.Ref, "err", err)
			}
		}
		return err
	}
	c.rate.count(m.Person, m.Message)
	if err := c.noteState(after, m, stateSent); err != nil {
		c.log.WarnContext(ctx, "a mail went out, and that could not be noted; it may go out once more", "mail", m.Ref, "err", err)
	}
	for _, alias := range aliases(c.conf.SMTP.Host, said, m.Ref) {
		if err := c.putRow(after, hashed(keyID, alias), m); err != nil {
			c.log.WarnContext(ctx, "answers to a mail that a relay named anew may not be known by that name", "mail", m.Ref, "err", err)
		}
	}
	c.log.DebugContext(ctx, "a mail went out", "mail", m.Ref, "message", m.Message, "person", m.Person, "said", said)
	return nil
}

// noteTimeout bounds the writing down of what happened, which goes on after the
// delivery itself was cancelled.
const noteTimeout = 5 * time.Second

func (c *Channel) envelopeOf(m *sentMail) string {
	return c.tokenAddress(tokenVERP, c.verpToken(m.Ref))
}

// SendLink sends a link that signs its owner in to their address in people.
func (c *Channel) SendLink(ctx context.Context, p *hub.Person, url string, expires time.Time) error {
	to, err := c.recipient(p)
	if err != nil {
		return hub.ErrUnsupported
	}
	if err := c.rate.allow(p.ID, ""); err != nil {
		return err
	}
	text, err := c.set.Render(&templates.Mail{Kind: templates.MailLink, Link: url, Expires: expires, Reader: p})
	if err != nil {
		return c.explain(err, p.Name, false)
	}
	err = c.sendAlone(ctx, to, text, c.messageID("link "+rand.Text(), 0))
	if err == nil {
		c.rate.count(p.ID, "")
	}
	return c.explain(err, p.Name, false)
}

// sendAlone sends a mail that is about no message and wants no answer.
func (c *Channel) sendAlone(ctx context.Context, to mail.Address, text templates.MailText, id string) error {
	l := c.letter(id, to, text)
	data, err := l.write(c.seal)
	if err != nil {
		return err
	}
	_, err = c.out.send(ctx, outgoing{from: l.envelope, to: to.Address, data: data, begin: func(context.Context) error { return nil }})
	return err
}

// aliases are the Message-IDs that a relay may have put in the place of ours, by
// what it said when it took the mail. Amazon SES always does: it names the mail by
// an id, whose domain is that of the region
// (https://docs.aws.amazon.com/ses/latest/dg/header-fields.html); others say the
// whole of it.
func aliases(host, said, ours string) []string {
	var out []string
	for _, m := range saidID.FindAllStringSubmatch(said, 3) {
		if !strings.EqualFold(m[1], ours) {
			out = append(out, m[1])
		}
	}
	if region := sesHost.FindStringSubmatch(strings.ToLower(host)); region != nil {
		if id := sesID.FindString(said); id != "" {
			domain := region[1] + ".amazonses.com"
			if region[1] == "us-east-1" {
				domain = "email.amazonses.com"
			}
			out = append(out, id+"@"+domain)
		}
	}
	return slices.Compact(out)
}

var (
	saidID  = regexp.MustCompile(`<([^<>\s@]{1,128}@[^<>\s@]{1,128})>`)
	sesHost = regexp.MustCompile(`^email-smtp(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com$`)
	sesID   = regexp.MustCompile(`\b[0-9a-f]{16}-[0-9a-f-]{30,50}\b`)
)
