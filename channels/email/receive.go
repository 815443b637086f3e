package email

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"beckon/channels/email/inbound"
	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// arrival is a mail that came in, by whichever way.
type arrival struct {
	raw      []byte
	envelope inbound.Envelope
	cursor   *hub.Cursor // where the mailbox stands after it; nil by SMTP
	// last: it does not come again, so that a doubt that may pass is decided as
	// it stands.
	last bool
}

// filing is what became of a mail, for whoever files it.
type filing int

const (
	filed     filing = iota // it did what it should
	refused                 // it does not count
	unmatched               // it belongs to nothing
)

// errLookUp is about the hub, not about a mail: what the mail belongs to can't be
// looked up.
var errLookUp = errors.New("the hub can't look it up")

// errAgain is about a mail that may be judged otherwise a little later.
var errAgain = errors.New("the sender's domain can't be looked up now")

// receive takes one mail, whatever it is. A nil error means that it is done with:
// what it does, its receipt and a notice to whoever wrote it are one committed
// transaction, and a mail that comes again finds its receipt and does nothing. An
// error means that nothing is recorded and the mail is to come again.
func (c *Channel) receive(ctx context.Context, m arrival) (filing, error) {
	v, err := c.reader.Judge(ctx, inbound.Parse(m.raw), m.envelope, &finder{c})
	if err != nil {
		return 0, err
	}
	doubtful := v.Kind.Held() || v.Kind == inbound.RejectedAuth
	if v.Again && doubtful && !m.last {
		return 0, errAgain
	}
	receipt := hub.Receipt{Account: c.own.address(), Key: v.Key, Raw: m.raw, Cursor: m.cursor}
	if receipt.Evidence, err = json.Marshal(v.Evidence); err != nil {
		return 0, err
	}
	if v.Question != nil && v.Question.Sensitive {
		receipt.Raw = nil // rule 11: nothing of what was written is kept
	}
	out, err := c.act(ctx, v, receipt)
	if err == nil {
		err = c.advance(ctx, m.cursor)
	}
	if err != nil {
		return 0, err
	}
	id, person := "", ""
	if v.Question != nil {
		id, person = v.Question.ID, v.Question.Person
	}
	c.log.Info("a mail came in", "kind", v.Kind, "message", id, "person", person, "outcome", out, "reasons", v.Reasons)
	switch {
	case v.Kind == inbound.Unmatched:
		return unmatched, nil
	case doubtful:
		return refused, nil
	}
	return filed, nil
}

// advance stores a cursor that the receipt of a mail did not: the mail came again.
func (c *Channel) advance(ctx context.Context, cur *hub.Cursor) error {
	if cur == nil {
		return nil
	}
	at, err := c.desk.State().GetState(ctx, cur.Channel, cur.Key)
	if err != nil || at == cur.Value {
		return err
	}
	return c.desk.State().PutState(ctx, cur.Channel, cur.Key, cur.Value)
}

// act does what a mail of its kind does, and says what that was in a word, for the
// log.
func (c *Channel) act(ctx context.Context, v *inbound.Verdict, receipt hub.Receipt) (string, error) {
	q := v.Question
	if q == nil || q.Card == nil {
		return c.pass(ctx, receipt) // about nothing that is known, or known any longer
	}
	if text, ok := c.forAgent(v); ok {
		return c.direct(ctx, v, text, receipt)
	}
	switch v.Kind {
	case inbound.Answer:
		if v.Records() {
			return c.record(ctx, v, receipt)
		}
		return c.help(ctx, v, receipt, v.Reading.Why)
	case inbound.NeedsClarification:
		return c.help(ctx, v, receipt, v.Reading.Why)
	case inbound.Empty:
		return c.help(ctx, v, receipt, reply.WhyEmpty)
	case inbound.Unreadable:
		return c.say(ctx, v, receipt, hub.Unread, notice{Kind: noticeUnreadable, InReplyTo: v.Evidence.MessageID})
	case inbound.LateAnswer, inbound.Expired:
		return c.late(ctx, v, receipt)
	case inbound.IdentityMismatch, inbound.AnswerSuspect, inbound.RejectedAuth:
		return c.doubt(ctx, v, receipt)
	case inbound.AutoReply:
		if !v.Proved { // anybody could pass on what waits for somebody else
			return c.signal(ctx, v, receipt, hub.Unread, "automatic reply")
		}
		return c.signal(ctx, v, receipt, hub.Away, v.Note)
	case inbound.BounceFailed:
		return c.signal(ctx, v, receipt, hub.Bounced, v.Note)
	case inbound.BounceDelayed:
		return c.signal(ctx, v, receipt, hub.Delayed, v.Note)
	case inbound.ReadReceipt, inbound.Reaction:
		return c.signal(ctx, v, receipt, hub.Seen, v.Note)
	case inbound.Calendar:
		return c.signal(ctx, v, receipt, hub.Unread, cmp.Or(v.Note, "about a meeting"))
	}
	return c.pass(ctx, receipt) // a loop, a delivery report: nothing to anybody
}

// pass leaves a receipt and nothing else.
func (c *Channel) pass(ctx context.Context, receipt hub.Receipt) (string, error) {
	return "nothing", c.desk.Signal(ctx, hub.Signal{Kind: hub.Unread, Posting: -1, Receipt: receipt})
}

// record passes a clear answer through the hub's door.
func (c *Channel) record(ctx context.Context, v *inbound.Verdict, receipt hub.Receipt) (string, error) {
	a := hub.Answer{MessageID: v.Question.ID, Actor: "human:" + v.Who, Receipt: receipt}
	v.Reading.Fill(&a)
	return c.answer(ctx, v, a)
}

// late passes what came after the end; the hub says how it ended, whatever was
// chosen. Should the end not have been recorded yet, only a clear answer may pass.
func (c *Channel) late(ctx context.Context, v *inbound.Verdict, receipt hub.Receipt) (string, error) {
	if card := v.Question.Card; card.Status == ma2h.Open {
		return c.help(ctx, v, receipt, v.Reading.Why)
	} else if card.Type == ma2h.Notify {
		return c.help(ctx, v, receipt, reply.WhyNoAnswerWanted)
	}
	a := hub.Answer{MessageID: v.Question.ID, Actor: "human:" + v.Question.Person, Receipt: receipt, Verb: hub.VerbDecline}
	if v.Question.Card.Type == ma2h.Task {
		a.Verb = hub.VerbDismiss
	}
	if v.Reading.Clear() && v.Reading.Verb != "" {
		v.Reading.Fill(&a)
	}
	return c.answer(ctx, v, a)
}

func (c *Channel) answer(ctx context.Context, v *inbound.Verdict, a hub.Answer) (string, error) {
	n := notice{Kind: noticeOutcome, InReplyTo: v.Evidence.MessageID}
	a.Notice = &hub.Notice{Person: v.Question.Person, Data: n.encode()}
	o, err := c.desk.Answer(ctx, a)
	switch {
	case err != nil:
		return "", err
	case o.Repeated:
		return "repeated", nil
	}
	return string(o.Kind), nil
}

// forAgent returns what a person wrote for the agent and not as an answer: any
// reply to a notify, and what begins with "tell".
func (c *Channel) forAgent(v *inbound.Verdict) (text string, ok bool) {
	switch v.Kind {
	case inbound.Answer, inbound.NeedsClarification, inbound.LateAnswer, inbound.Expired:
	default:
		return "", false
	}
	if card := v.Question.Card; card.Type == ma2h.Notify && card.MayDirect && !card.Hidden && v.Text != "" {
		return v.Text, true
	}
	return reply.ForAgent(v.Question.Card, v.Own)
}

// direct passes on what is for the agent. It may be as much as the hub takes; a
// longer text is refused whole.
func (c *Channel) direct(ctx context.Context, v *inbound.Verdict, text string, receipt hub.Receipt) (string, error) {
	n := notice{Kind: noticeOutcome, InReplyTo: v.Evidence.MessageID}
	o, err := c.desk.Direct(ctx, hub.Direction{
		Person: v.Who, About: v.Question.ID, Body: text, Receipt: receipt, Notice: &hub.Notice{Person: v.Who, Data: n.encode()},
	})
	if err != nil {
		return "", err
	}
	return "directed: " + string(o.Kind), nil
}

// help says why a reply is no answer and what would be one.
func (c *Channel) help(ctx context.Context, v *inbound.Verdict, receipt hub.Receipt, why reply.Why) (string, error) {
	reading := v.Reading
	reading.Why = cmp.Or(why, reply.WhyNoChoice)
	n := notice{Kind: noticeUnclear, Reading: &reading, InReplyTo: v.Evidence.MessageID}
	return c.say(ctx, v, receipt, hub.Unread, n)
}

// doubt tells the person who was asked, at the address that is known, that
// somebody who may not be them has answered; once for a message.
func (c *Channel) doubt(ctx context.Context, v *inbound.Verdict, receipt hub.Receipt) (string, error) {
	q := v.Question
	key := "doubt/" + q.ID + "/" + q.Person
	told, err := c.desk.State().GetState(ctx, Name, key)
	switch {
	case err != nil:
		return "", err
	case told != "" || q.Person == "":
		return c.signal(ctx, v, receipt, hub.Doubted, "")
	}
	from := v.Evidence.From
	if v.Kind != inbound.IdentityMismatch {
		from = "" // it has the person's own address
	}
	if out, err := c.say(ctx, v, receipt, hub.Doubted, notice{Kind: noticeDoubt, From: from}); err != nil {
		return out, err
	}
	return "held", c.desk.State().PutStateFor(ctx, q.ID, Name, key, "told")
}

// say records a signal and what the person is told about it.
func (c *Channel) say(ctx context.Context, v *inbound.Verdict, receipt hub.Receipt, k hub.SignalKind, n notice) (string, error) {
	s := hub.Signal{
		MessageID: v.Question.ID, Kind: k, Person: v.Question.Person, Posting: -1, Receipt: receipt,
		Notice: &hub.Notice{Person: v.Question.Person, Data: n.encode()},
	}
	return string(n.Kind), c.desk.Signal(ctx, s)
}

func (c *Channel) signal(ctx context.Context, v *inbound.Verdict, receipt hub.Receipt, k hub.SignalKind, note string) (string, error) {
	s := hub.Signal{MessageID: v.Question.ID, Kind: k, Person: v.Question.Person, Note: note, Posting: -1, Receipt: receipt}
	return string(k), c.desk.Signal(ctx, s)
}

// finder is what the reader may ask about one mail.
type finder struct{ c *Channel }

func (f *finder) Address(ctx context.Context, addr string) (inbound.Match, error) {
	m, kind, ours, err := f.c.findAddress(ctx, addr)
	if err != nil {
		return inbound.Match{}, errors.Join(errLookUp, err)
	}
	via := inbound.ViaToken
	if kind == tokenVERP {
		via = inbound.ViaVERP
	}
	return f.match(ctx, m, via, ours)
}

func (f *finder) MessageID(ctx context.Context, id string) (inbound.Match, error) {
	m, ours, err := f.c.findMessageID(ctx, id)
	if err != nil {
		return inbound.Match{}, errors.Join(errLookUp, err)
	}
	return f.match(ctx, m, inbound.ViaMessageID, ours)
}

func (f *finder) Subject(ctx context.Context, tag string) (inbound.Match, error) {
	m, err := f.c.findTag(ctx, tag)
	if err != nil {
		return inbound.Match{}, errors.Join(errLookUp, err)
	}
	return f.match(ctx, m, inbound.ViaSubject, false)
}

// Seen leaves duplicates to their receipts, which can't be raced.
func (f *finder) Seen(context.Context, string) (bool, error) { return false, nil }

// match reads the question that a mail of ours asked.
func (f *finder) match(ctx context.Context, m *sentMail, via inbound.Via, ours bool) (inbound.Match, error) {
	gone := inbound.Match{Ours: ours || m != nil, Via: via}
	if m == nil {
		return gone, nil
	}
	card, err := f.c.desk.Card(ctx, m.Message, m.Person, hub.Export)
	if e, ok := errors.AsType[*hub.Error](err); ok && e.Code == ma2h.CodeNotFound {
		return gone, nil // purged, or the person has left
	}
	if err != nil {
		return inbound.Match{}, errors.Join(errLookUp, err)
	}
	q, err := f.c.question(ctx, m, card)
	if err != nil {
		return inbound.Match{}, errors.Join(errLookUp, err)
	}
	return inbound.Match{Found: true, Ours: true, Via: via, Question: q}, nil
}

func (c *Channel) question(ctx context.Context, m *sentMail, card *hub.Card) (*inbound.Question, error) {
	tag, err := c.tagOf(ctx, m.Message, m.Person, m.Generation)
	if err != nil {
		return nil, err
	}
	replyTo := c.tokenAddress(tokenReply, c.replyToken(m.Message, m.Person, m.Generation))
	q := &inbound.Question{
		ID: m.Message, Person: m.Person, Card: card, Addresses: c.addressesOf(card.Reader),
		Sent: c.sentTexts(card, tag, replyTo), Sensitive: card.Hidden || card.PageOnly,
	}
	if text, err := c.set.Render(c.mailOf(templates.MailAsk, card, tag, replyTo)); err == nil {
		q.Subject = text.Subject
	}
	switch card.Status {
	case ma2h.Open, ma2h.Delivered:
	case ma2h.Expired, ma2h.Cancelled:
		q.State = inbound.Over
	default:
		q.State = inbound.Resolved
	}
	return q, nil
}

// addressesOf are the addresses that a person may write from.
func (c *Channel) addressesOf(p *hub.Person) []string {
	return append([]string{p.Email}, c.conf.Aliases[p.ID]...)
}
