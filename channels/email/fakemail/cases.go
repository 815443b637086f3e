package fakemail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
)

// Case is what comes back to whoever sends mail, besides plain replies.
type Case string

// The cases. In none of them has the person answered, but for CaseTwice, where
// they have answered once.
const (
	CaseAway      Case = "away"      // an automatic reply: out of office
	CaseBounced   Case = "bounced"   // a report that delivery failed, to the envelope sender
	CaseDelayed   Case = "delayed"   // a report that delivery takes long
	CaseOther     Case = "other"     // a reply from another address of the person
	CaseForwarded Case = "forwarded" // a reply of somebody else, to whom the mail was passed on
	CaseTwice     Case = "twice"     // a reply to all that arrives twice
	CaseReaction  Case = "reaction"  // a thumbs-up, as Gmail sends one
	CaseForged    Case = "forged"    // a reply in the person's name that somebody else sent
)

// CaseInfo says on the page what a case is.
type CaseInfo struct {
	Case  Case
	Label string // of the button
	About string
	Text  bool // it sends the text of the reply box
}

// Cases lists the cases that this server can play, for a style.
func (s *Server) Cases() []CaseInfo {
	all := []CaseInfo{
		{CaseAway, "Out of office", "An automatic reply says that you are away for a week. It answers nothing.", false},
		{CaseBounced, "Bounce", "A mail server reports that your mailbox does not exist.", false},
		{CaseDelayed, "Delay", "A mail server reports that it still tries to reach you.", false},
		{CaseTwice, "Reply to all, twice", "Your reply goes to both addresses and arrives twice. It counts once.", true},
		{CaseOther, "Reply from another address", "Your reply comes from an address that the hub doesn't know.", true},
		{CaseForwarded, "Reply of somebody else", "A colleague got your mail passed on and replies to it.", true},
		{CaseReaction, "React with 👍", "As Gmail sends it: seen, but no answer.", false},
	}
	if s.opts.AuthservID != "" {
		all = append(all, CaseInfo{CaseForged, "Forged reply", "Somebody else replies in your name, and the server notices.", true})
	}
	return all
}

// Try plays a case on a mail, with text where the case has one; empty stands for
// "1", or for the usual words of an automatic reply. What is sent is kept in
// the person's mailbox. The error is that of handing it over.
func (s *Server) Try(ctx context.Context, to Mail, c Case, text string, style Style) error {
	_, err := s.try(ctx, &to, c, text, style)
	return err
}

func (s *Server) try(ctx context.Context, m *Mail, c Case, text string, style Style) (Mail, error) {
	if !style.valid() {
		return Mail{}, fmt.Errorf("fakemail: there is no style %q", style)
	}
	switch c {
	case CaseAway:
		l, err := away(m, s.person(m.Person), text, style)
		if err != nil {
			return Mail{}, err
		}
		return s.send(ctx, m, c, l, "", addressesOf(l))
	case CaseBounced, CaseDelayed:
		if m.EnvelopeFrom == "" {
			return Mail{}, errors.New("fakemail: the mail was sent with an empty envelope sender; nobody gets a report about it (RFC 5321 section 4.5.5)")
		}
		return s.send(ctx, m, c, report(m, c), "", []string{m.EnvelopeFrom})
	case CaseOther, CaseForwarded, CaseTwice, CaseReaction, CaseForged:
		return s.tryReply(ctx, m, c, text, style)
	}
	return Mail{}, fmt.Errorf("fakemail: there is no case %q", c)
}

// tryReply plays a case that is a reply, with something about it.
func (s *Server) tryReply(ctx context.Context, m *Mail, c Case, text string, style Style) (Mail, error) {
	sender := s.person(m.Person)
	switch c {
	case CaseOther:
		name, _, _ := strings.Cut(sender.Address, "@")
		sender.Address = name + "@private.test"
	case CaseForwarded:
		sender = s.somebodyElse(sender)
	}
	l, err := replyTo(m, sender, cmp.Or(strings.TrimSpace(text), "1"), style)
	if err != nil {
		return Mail{}, err
	}
	rounds, from := [][]string{addressesOf(l)}, sender.Address
	switch c {
	case CaseTwice:
		if m.From != nil && !strings.EqualFold(m.From.Address, l.to[0].Address) {
			l.cc = []mail.Address{*m.From}
		}
		rounds = [][]string{addressesOf(l), addressesOf(l)[:1]}
	case CaseReaction:
		l.body = reaction(l.from.Name)
	case CaseForged:
		from = "mailer@elsewhere.test"
	}
	return s.send(ctx, m, c, l, from, rounds...)
}

// somebodyElse is another person with a mailbox, or one who is made up.
func (s *Server) somebodyElse(p Person) Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.order {
		if b := s.boxes[k]; b.Address != p.Address {
			return b.Person
		}
	}
	return Person{Name: "Sam Mate", Address: "sam@" + hostOf(p.Address), Zone: p.Zone}
}

// away is an automatic reply (RFC 3834). It goes to the envelope sender, as
// section 4 of that asks. Outlook's goes to the Reply-To: that was chosen here, so
// that both ways are tried.
func away(m *Mail, p Person, text string, style Style) (*letter, error) {
	until := time.Now().In(p.Zone).AddDate(0, 0, 7)
	text = cmp.Or(strings.TrimSpace(text), "I am out of the office until "+until.Format("2 January 2006")+" and read no mail until then. For urgent matters please call the office.")
	to := m.EnvelopeFrom
	if m.ReplyTo != nil && (to == "" || style == Outlook) {
		to = m.ReplyTo.Address
	}
	if to == "" {
		return nil, fmt.Errorf("fakemail: the mail %q names nobody whom an automatic reply could go to", m.Subject)
	}
	l := &letter{
		id: newID(hostOf(p.Address)), from: p.mail(), to: []mail.Address{{Address: to}}, date: time.Now().In(p.Zone),
		body: part{kind: "text/plain; charset=utf-8", text: text + "\n"},
	}
	l.under(m)
	switch style {
	case Outlook:
		l.subject = "Automatic reply: " + m.Subject
		l.fields = [][2]string{{"Auto-Submitted", "auto-generated"}, {"X-Auto-Response-Suppress", "All"}, {"X-MS-Exchange-Inbox-Rules-Loop", p.Address}}
	case Gmail:
		l.subject = again(m.Subject)
		l.fields = [][2]string{{"Auto-Submitted", "auto-replied"}, {"Precedence", "bulk"}, {"X-Autoreply", "yes"}}
	default:
		l.subject = "Auto: " + m.Subject
		l.fields = [][2]string{{"Auto-Submitted", "auto-replied (vacation)"}}
	}
	return l, nil
}

// report is a delivery report (RFC 3462, RFC 3464) about a mail.
func report(m *Mail, c Case) *letter {
	now := time.Now()
	action, status, said := "failed", "5.1.1", "550 5.1.1 <"+m.Person+">: Recipient address rejected: User unknown"
	words := "I'm sorry to have to inform you that your message could not be delivered."
	subject := "Undelivered Mail Returned to Sender"
	if c == CaseDelayed {
		action, status, said = "delayed", "4.4.1", "connect to "+hostOf(m.Person)+": Connection timed out"
		words = "Your message could not be delivered for 4 hours. It will be retried until it is 5 days old.\nYOU DO NOT NEED TO RESEND YOUR MESSAGE."
		subject = "Delayed Mail (still being retried)"
	}
	fields := []string{
		"Reporting-MTA: dns; mail.test", "Arrival-Date: " + m.At.Format(time.RFC1123Z), "",
		"Final-Recipient: rfc822; " + m.Person, "Original-Recipient: rfc822; " + m.Person,
		"Action: " + action, "Status: " + status, "Remote-MTA: dns; mx." + hostOf(m.Person), "Diagnostic-Code: smtp; " + said,
	}
	if c == CaseDelayed {
		fields = append(fields, "Will-Retry-Until: "+now.AddDate(0, 0, 5).Format(time.RFC1123Z))
	}
	raw := strings.ReplaceAll(string(m.Raw), "\r\n", "\n")
	returned := part{kind: "message/rfc822", as: "8bit", text: raw}
	if head, _, ok := strings.Cut(raw, "\n\n"); ok && c == CaseDelayed {
		returned = part{kind: "text/rfc822-headers", as: "8bit", text: head + "\n"}
	}
	return &letter{
		id: newID("mail.test"), from: mail.Address{Name: "Mail Delivery System", Address: "MAILER-DAEMON@mail.test"},
		to: []mail.Address{{Address: m.EnvelopeFrom}}, subject: subject, date: now,
		fields: [][2]string{{"Auto-Submitted", "auto-replied"}},
		body: part{kind: "multipart/report; report-type=delivery-status", parts: []part{
			{kind: "text/plain; charset=us-ascii", as: "7bit", text: "This is the mail system at host mail.test.\n\n" + words + "\n\n<" + m.Person + ">: " + said + "\n"},
			{kind: "message/delivery-status", as: "7bit", text: strings.Join(fields, "\n") + "\n"},
			returned,
		}},
	}
}

// reaction is Gmail's format (developers.google.com/workspace/gmail/reactions/format).
func reaction(name string) part {
	return part{kind: "multipart/alternative", parts: []part{
		{kind: "text/plain; charset=utf-8", text: "👍\n\n" + name + " reacted via Gmail\n"},
		{kind: "text/vnd.google.email-reaction+json; charset=utf-8", text: `{"emoji":"👍","version":1}`},
		{kind: "text/html; charset=utf-8", text: "<div><p style=\"font-size:50px;margin:0\">👍</p><p>" + name + " reacted via Gmail</p></div>\n"},
	}}
}
