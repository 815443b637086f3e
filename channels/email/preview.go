package email

import (
	"fmt"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// Preview writes the mail that somebody would get who may answer, as a mail: most
// mail programs open it from a file. Its texts are readable as they stand, and its
// token is nobody's.
func (c *Channel) Preview(card *hub.Card) (contentType string, body []byte, err error) {
	shown := *card
	shown.MayAnswer = card.Status == ma2h.Open && card.Type != ma2h.Notify
	reader := card.Reader
	if reader == nil {
		reader = &hub.Person{ID: "you", Name: "You", Email: "you@" + c.own.domain, Location: time.Local}
		shown.Reader = reader
	}
	to, reason := personAddress(reader)
	if reason != "" {
		to.Name, to.Address = displayName(reader.Name), "you@"+c.own.domain
	}
	id := c.messageID("preview", 0)
	replyTo := c.tokenAddress(tokenReply, c.replyToken("preview", reader.ID, 0))
	text, err := c.set.Render(c.mailOf(templates.MailAsk, &shown, c.tags("preview", reader.ID)[0], replyTo))
	if err != nil {
		return "", nil, fmt.Errorf("preview: %w", err)
	}
	l := c.letter(id, to, text)
	l.fromName = displayName(card.AgentID) + " via " + displayName(c.conf.FromName)
	l.replyTo, l.suppress, l.message, l.kind, l.agent = replyTo, suppressed(templates.MailAsk, &shown), card.MessageID, string(templates.MailAsk), card.AgentID
	l.encoding8 = true
	body, err = l.write(nil)
	return "message/rfc822", body, err
}
