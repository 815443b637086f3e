package email

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// linkLife is how long the personal link in a mail works. It is in that person's
// own mail, for one message.
const linkLife = 7 * 24 * time.Hour

// Bounds of what a mailto link begins, in runes: some mail programs take no long
// ones, and one showed line breaks as letters, so that the body is one line.
const (
	maxWrite        = 60
	maxWriteSubject = 60
)

// mailOf fills in what the templates need of a card for its reader.
func (c *Channel) mailOf(kind templates.MailKind, card *hub.Card, tag, replyTo string) *templates.Mail {
	m := &templates.Mail{Kind: kind, Card: card, Page: card.ReviewURL, Tag: tag, Reply: howToReply(card)}
	if !c.conf.PlainLinks && card.Reader != nil {
		if link := c.desk.PersonalLink(card.Reader.ID, card.MessageID, linkLife); link != "" {
			m.Page = link
		}
	}
	if card.Type == ma2h.Ask && card.CanAnswer && card.MayAnswer && !card.PageOnly && !card.Hidden {
		m.Write = writeLinks(card, tag, replyTo)
	}
	return m
}

// howToReply says what a reply to a card would be read as.
func howToReply(card *hub.Card) templates.MailReply {
	h := reply.HelpFor(card, &reply.Reading{})
	r := templates.MailReply{Numbers: h.Numbers, Words: h.Words, YesNo: h.YesNo, Decline: h.Decline}
	for i := range card.Fields {
		r.Takes = append(r.Takes, reply.HelpFor(card, &reply.Reading{Field: card.Fields[i].Name}).Values)
	}
	if card.CanDecline && card.Type == ma2h.Ask && card.Mode == ma2h.Input && !card.PageOnly && !card.Hidden {
		// A value of the only field may have that name.
		d := reply.Read(card, "decline")
		r.Decline = d.Clear() && d.Verb == hub.VerbDecline
	}
	return r
}

// writeLinks are the mailto links that begin an answer, by option. What each
// writes is read as that option and as nothing else, or there is none.
func writeLinks(card *hub.Card, tag, to string) map[int]string {
	title, _ := templates.Cut(templates.Line(card.Title), maxWriteSubject)
	subject := "Re: [" + tag + "] " + title
	links := map[int]string{}
	for i := range card.Options {
		o := &card.Options[i]
		n := strconv.Itoa(o.N)
		label, _ := templates.Cut(templates.Line(o.Label), maxWrite)
		for _, body := range []string{n + ". " + label, n, templates.Line(o.Value), label} {
			if len([]rune(body)) > maxWrite+5 {
				continue
			}
			if r := reply.Read(card, body); r.Clear() && r.Verb == hub.VerbAnswer && r.Option == o.N && r.Comment == "" {
				links[o.N] = mailto(to, subject, body)
				break
			}
		}
	}
	return links
}

// mailto makes a mailto URL (RFC 6068): everything but letters and digits is
// escaped, and a space is %20, since a + is a plus sign there.
func mailto(to, subject, body string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	local, domain, _ := strings.Cut(to, "@")
	return "mailto:" + escape(local) + "@" + domain + "?subject=" + escape(subject) + "&body=" + escape(body)
}

// suppressed says which automatic answers to a mail are not wanted.
func suppressed(kind templates.MailKind, card *hub.Card) string {
	if (kind == templates.MailAsk || kind == templates.MailRemind) && card.Type != ma2h.Notify {
		return suppressButAway
	}
	return suppressAll
}

// sentTexts are the texts of the mails about a card that its reader may quote in
// an answer: the first one and a reminder, as they would be written now.
func (c *Channel) sentTexts(card *hub.Card, tag, replyTo string) []string {
	open := *card
	if open.Type != ma2h.Notify {
		open.Status = ma2h.Open
	}
	open.Decision, open.MayAnswer = nil, true
	var texts []string
	for _, kind := range []templates.MailKind{templates.MailAsk, templates.MailRemind, templates.MailUnclear, templates.MailUnreadable} {
		m := c.mailOf(kind, &open, tag, replyTo)
		m.Help = reply.Sentence(&open, &reply.Reading{Why: reply.WhyNoChoice})
		if out, err := c.set.Render(m); err == nil {
			texts = append(texts, out.Text, out.HTML) // mail programs quote either
		}
	}
	return texts
}
