package email

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/templates"
)

// notice is what the channel tells one person about a message, as the Data of a
// [hub.Notice]. It holds nothing of what the person wrote but its Message-ID and
// the name of a field.
type notice struct {
	Kind noticeKind `json:"kind"`
	// Reading says why a text is no answer, for noticeUnclear.
	Reading *reply.Reading `json:"reading,omitempty"`
	// From is where the mail came from, for noticeDoubt: another address than the
	// person's. "" when it was theirs and nothing proves it.
	From string `json:"from,omitempty"`
	// InReplyTo is the Message-ID of the person's mail, without < and >. It is left
	// out for a mail that may be somebody else's.
	InReplyTo string `json:"in_reply_to,omitempty"`
}

// noticeKind is what a notice is about.
type noticeKind string

// The kinds of notice. Each says how things are when it is sent: what was unclear
// is late when the message has ended meanwhile.
const (
	noticeOutcome    noticeKind = "outcome"    // what the hub said to an answer; the request has it
	noticeUnclear    noticeKind = "unclear"    // the text names no choice, or is empty
	noticeUnreadable noticeKind = "unreadable" // encrypted, or in a form of one program's
	noticeLate       noticeKind = "late"       // after the end, and the hub was not asked
	noticeDoubt      noticeKind = "doubt"      // perhaps somebody else's; it goes to the known address
)

// encode makes the Data of a [hub.Notice].
func (n *notice) encode() []byte {
	b, err := json.Marshal(n)
	if err != nil {
		panic("email: a notice always marshals: " + err.Error())
	}
	return b
}

// Tell says to a person what became of a mail of theirs, in the thread of the
// message and as an answer to that mail.
func (c *Channel) Tell(ctx context.Context, r hub.TellRequest) error {
	var n notice
	if err := json.Unmarshal(r.Data, &n); err != nil && r.Outcome == nil {
		return permanent("refused", "the notice can't be read")
	}
	d := draft{card: r.Card, person: r.Person, delivery: r.DeliveryID, maybe: r.MaybeSent, answers: n.Kind != noticeDoubt}
	if err := fillNotice(&d, &n, r.Outcome); err != nil {
		return err
	}
	if p := r.Posting; p != nil {
		d.root = orWord(p.Thread, p.Ref)
		if p.Ref != d.root {
			d.after = []string{p.Ref}
		}
		if err := c.generationOf(ctx, &d, p.Ref); err != nil {
			return err
		}
	}
	if id := n.InReplyTo; n.Kind != noticeDoubt && isMessageID(id) {
		if d.root == "" {
			d.root = id
		} else {
			d.after = append(d.after, id)
		}
	}
	return c.deliver(ctx, &d)
}

// fillNotice says which mail a notice is.
func fillNotice(d *draft, n *notice, o *hub.Outcome) error {
	switch {
	case n.Kind == noticeUnclear && n.Reading != nil:
		d.kind = templates.MailUnclear
		d.fill = func(m *templates.Mail) {
			if m.Help = reply.Sentence(d.card, n.Reading); m.Help == "" {
				m.Help = reply.Sentence(d.card, &reply.Reading{Why: reply.WhyNoChoice})
			}
		}
	case n.Kind == noticeUnreadable:
		d.kind = templates.MailUnreadable
	case n.Kind == noticeDoubt:
		d.kind = templates.MailDoubt
		d.fill = func(m *templates.Mail) { m.From = n.From }
	case n.Kind == noticeLate:
		d.kind = templates.MailLate
	case o != nil:
		d.kind = templates.MailOutcome
		d.fill = func(m *templates.Mail) { m.Outcome = o }
	default:
		return &hub.DeliveryError{Code: "refused", Msg: "the notice says nothing", Permanent: true, Err: errors.New("kind " + string(n.Kind))}
	}
	return nil
}

// messageIDForm is what a Message-ID of a stranger's must look like to stand in a
// header of ours (RFC 5322 §3.6.4, without quoted strings).
var messageIDForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,150}@[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\\[\\]:-]{1,100}$")

func isMessageID(s string) bool { return messageIDForm.MatchString(s) }
