package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"beckon/channels/reply"
)

// judgement is one mail on its way through the checks.
type judgement struct {
	reader   *Reader
	mail     *Mail
	envelope Envelope
	finder   Finder
	verdict  *Verdict

	lookup lookup
	match  Match // what the mail belongs to; zero when to nothing
	other  bool  // and as surely to something else
	unsure bool  // the text may be what the mail quotes
}

// Judge says what a mail is. It asks the finder only what the mail gives reason to
// ask, and writes nothing. An error is one of the finder's, or a fault of ours that
// this mail brings out: nothing was decided then.
func (r *Reader) Judge(ctx context.Context, m *Mail, env Envelope, f Finder) (v *Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("judge mail %q: %v", m.MessageID(), p)
		}
	}()
	return r.judge(ctx, m, env, f)
}

func (r *Reader) judge(ctx context.Context, m *Mail, env Envelope, f Finder) (*Verdict, error) {
	j := &judgement{reader: r, mail: m, envelope: env, finder: f, verdict: &Verdict{Reading: reply.Reading{Why: reply.WhyEmpty}}}
	v := j.verdict
	v.Evidence.MessageID, v.Evidence.EnvelopeFrom, v.Evidence.Policy = m.MessageID(), m.envelopeFrom(env), r.policy()
	v.Evidence.From = m.From()
	if err := j.belongs(ctx); err != nil {
		return nil, err
	}
	ours, err := j.isLoop(ctx)
	if err != nil {
		return nil, err
	}
	if !ours && !j.fromProgram(ctx) {
		j.fromSomebody(ctx)
	}
	v.Key = j.key()
	seen, err := f.Seen(ctx, v.Key)
	if err != nil {
		return nil, fmt.Errorf("look whether a mail came before: %w", err)
	}
	if seen {
		v.Reasons = append([]string{"this mail was judged before"}, v.Reasons...)
		v.Kind, v.Text, v.Own, v.First = Duplicate, "", "", ""
		v.Reading = reply.Reading{Why: reply.WhyEmpty} // it was read before
	}
	v.tidy()
	return v, nil
}

func (r *Reader) policy() Policy {
	if r.Policy == "" {
		return Normal
	}
	return r.Policy
}

func (j *judgement) policy() Policy { return j.reader.policy() }

// because notes a reason.
func (j *judgement) because(why string) { j.verdict.Reasons = append(j.verdict.Reasons, why) }

// is decides.
func (j *judgement) is(k Kind, why string) bool {
	j.verdict.Kind = k
	j.because(why)
	return true
}

// belongs finds the question.
func (j *judgement) belongs(ctx context.Context) error {
	var err error
	if j.lookup, err = j.reader.find(ctx, j.mail, j.envelope, j.finder); err != nil {
		return err
	}
	j.match, j.other = j.lookup.best(j.mail.From())
	if q := j.match.Question; q != nil {
		j.verdict.Question, j.verdict.Who, j.verdict.Evidence.MatchedBy = q, q.Person, j.match.Via
		j.because(fmt.Sprintf("it belongs to %s, by its %s", q.ID, j.match.Via.words()))
	}
	return nil
}

// words names a way for people.
func (v Via) words() string {
	switch v {
	case ViaToken:
		return "address"
	case ViaVERP:
		return "envelope address"
	case ViaMessageID:
		return "In-Reply-To or References"
	default:
		return "subject"
	}
}

// isLoop decides about mail of our own. Nobody is told about it.
func (j *judgement) isLoop(ctx context.Context) (bool, error) {
	h := j.mail.header
	if in := h.first(strings.ToLower(InstanceHeader)); j.reader.Instance != "" && strings.EqualFold(in, j.reader.Instance) {
		return j.is(Loop, "it has the mark of this hub"), nil
	}
	from := j.mail.From()
	for _, a := range []string{from, h.onBehalf(from)} {
		if j.reader.isOurs(a) {
			return j.is(Loop, "it is from our own address"), nil
		}
	}
	id := j.mail.MessageID()
	if id == "" {
		return false, nil
	}
	match, err := j.finder.MessageID(ctx, id)
	if err != nil {
		return false, fmt.Errorf("look whether a mail is ours: %w", err)
	}
	if match.Found {
		return j.is(Loop, "its Message-ID is that of a mail of ours"), nil
	}
	return false, nil
}

// fromProgram decides about mail that no person wrote. It never counts as an
// answer, whatever it says.
func (j *judgement) fromProgram(ctx context.Context) bool {
	m := j.mail
	known := j.match.Question != nil && j.match.Question.has(m.From())
	switch {
	case j.isReport(known):
		return true
	case m.calendar == "REPLY" || m.calendar == "COUNTER" || m.calendar == "DECLINECOUNTER" || m.calendar == "REFRESH":
		return j.is(Calendar, "it answers an invitation (METHOD:"+m.calendar+")")
	case m.calendar != "":
		return j.is(Calendar, "it is about a meeting (text/calendar)")
	case j.isAutomatic(known):
		j.verdict.Note = firstOf(m.awayNote(), "automatic reply")
		j.proof(ctx)
		return true
	case m.reaction != "" && (m.reactionOnly || len(m.bodies) == 0):
		j.verdict.Text = m.reaction
		j.proof(ctx)
		return j.is(Reaction, "it holds a reaction")
	}
	return false
}

// proof notes whether what a program sent in the person's name is from there.
func (j *judgement) proof(ctx context.Context) {
	if j.match.Question == nil {
		return
	}
	id := j.identify(ctx, j.match)
	j.verdict.Proved = id.kind == ""
	if id.kind != "" {
		j.because("not proved to be the person's: " + id.why)
	}
}

// isReport decides about delivery reports, read receipts and bounces.
func (j *judgement) isReport(known bool) bool {
	m := j.mail
	if reports := m.deliveryReports(); len(reports) > 0 {
		var addresses []string
		if j.match.Question != nil {
			addresses = j.match.Question.Addresses
		}
		return j.delivery(worstReport(reports, addresses), "it is a delivery report")
	}
	switch {
	case m.disposition != nil || m.report == "disposition-notification":
		return j.is(ReadReceipt, "it is a read receipt")
	case known && !m.header.has("x-failed-recipients"):
		return false // a bounce is from a server
	}
	verp := j.match.Via == ViaVERP
	null := m.nullSender(j.envelope)
	certain := m.header.has("x-failed-recipients") || m.report == "delivery-status"
	server := certain || m.fromServer()
	if !server && !verp && !(null && failureSubject.MatchString(m.Subject())) {
		return false
	}
	switch action := m.bounceWords(); {
	case action != "":
		return j.delivery(m.wordsReport(action), "it is a bounce by its words, and from a server")
	case certain, server && verp:
		return j.delivery(m.wordsReport("failed"), "a server returned it")
	case verp && null && autoSubmitted(m.header) == "" && !m.autoTitle():
		return j.delivery(m.wordsReport("failed"), "it came to the envelope address, with the null sender")
	}
	return false
}

// delivery decides what a report says.
func (j *judgement) delivery(r recipientReport, why string) bool {
	b := &Bounce{Recipient: r.recipient, Action: r.action, Status: r.status, Diagnostic: r.diagnostic}
	j.verdict.Bounce = b
	why += "; " + b.Action
	if b.Status != "" {
		why += ", status " + b.Status
	}
	switch b.Action {
	case "failed":
		j.verdict.Note = reasonFor(b)
		return j.is(BounceFailed, why)
	case "delayed":
		j.verdict.Note = reasonFor(b)
		return j.is(BounceDelayed, why)
	}
	return j.is(DeliveryReceipt, why)
}

// isAutomatic decides about automatic replies.
func (j *judgement) isAutomatic(known bool) bool {
	m := j.mail
	if sign := m.automatic(j.envelope); sign != "" {
		if calendarSubject.MatchString(m.Subject()) && m.plainText() == "" {
			return j.is(Calendar, "its subject answers an invitation")
		}
		return j.is(AutoReply, "a program wrote it: "+sign)
	}
	if j.match.Question == nil {
		return false
	}
	if sign := m.seemsAutomatic(known); sign != "" {
		return j.is(AutoReply, "a program wrote it: "+sign)
	}
	return false
}

// fromSomebody decides about mail that somebody wrote.
func (j *judgement) fromSomebody(ctx context.Context) {
	v := j.verdict
	q := j.match.Question
	if q == nil {
		if j.lookup.ours {
			j.is(Expired, "it belongs to a question that is kept no longer")
			return
		}
		j.is(Unmatched, "it belongs to no question")
		return
	}
	switch id := j.identify(ctx, j.match); {
	case id.kind == RejectedAuth:
		j.is(id.kind, id.why)
		return
	case id.kind != "":
		j.read(q)
		if id.kind == IdentityMismatch {
			v.Who = ""
		}
		j.is(id.kind, id.why)
		return
	}
	v.Proved = true
	switch q.State {
	case Resolved:
		j.read(q)
		j.is(LateAnswer, "the question had been answered")
		return
	case Over:
		j.is(Expired, "the question is over")
		return
	}
	if q.Card == nil {
		j.is(Expired, "the question is kept no longer")
		return
	}
	j.saysWhat(q)
}

// saysWhat decides about what the person wrote.
func (j *judgement) saysWhat(q *Question) {
	v, m := j.verdict, j.mail
	fromHTML := j.read(q)
	own := v.Own
	if q.Sensitive || v.Reading.Why == reply.WhyPageOnly {
		v.Text, v.Own, v.First = "", "", "" // nothing of it is kept
	}
	switch why := m.unreadable(own); {
	case why != "":
		j.is(Unreadable, why)
	case own == "" && m.reaction != "", reactionLine(own):
		v.Text = firstOf(m.reaction, v.Text)
		v.Reading = reply.Reading{Why: reply.WhyNoChoice}
		j.is(Reaction, "it is a reaction, and nothing else")
	case own == "":
		j.is(Empty, "nothing in it is new")
	case j.unsure && v.Reading.Clear():
		v.Reading = reply.Reading{Why: reply.WhyNoChoice}
		j.is(NeedsClarification, "the text stands below what may be quoted, and may be a part of it")
	case j.unsure:
		v.Reading = reply.Reading{Why: reply.WhyEmpty}
		j.is(Empty, "all of it may be quoted")
	case j.other:
		j.is(AnswerSuspect, "it names more than one question")
	case v.Reading.Clear() && j.disagrees(q, fromHTML):
		v.Reading = reply.Reading{Why: reply.WhyAmbiguous}
		j.is(NeedsClarification, "its plain text and its HTML say different things")
	case calendarSubject.MatchString(m.Subject()) && !v.Reading.Clear():
		j.is(Calendar, "its subject answers an invitation")
	default:
		j.is(kindOf(q.Card, &v.Reading, own, sameSubject(m.Subject(), q.Subject)))
	}
}

// read takes the text out of the mail, and reads it as an answer when the question
// still has its choices. It returns what the HTML alone says.
func (j *judgement) read(q *Question) (fromHTML string) {
	v := j.verdict
	r, fromHTML := j.mail.written(q.Sent)
	v.Text, v.Own, v.First = r.Text, r.Own, r.First
	j.unsure = r.Unsure
	if len(r.Cut) > 0 {
		j.because("left out of the text: " + strings.Join(r.Cut, ", "))
	}
	if r.Truncated {
		j.because("the text is longer than what is read of it")
	}
	if len(j.mail.attachments) > 0 {
		j.because(fmt.Sprintf("not read: %d attachments", len(j.mail.attachments)))
	}
	v.Reading = reply.Reading{Why: reply.WhyNoChoice}
	if q.Card != nil {
		v.Reading = reply.Read(q.Card, v.Own)
	}
	return fromHTML
}

// disagrees reports whether the HTML alone is a clear answer too, and another one.
// A person saw only one of them.
func (j *judgement) disagrees(q *Question, fromHTML string) bool {
	if strings.TrimSpace(fromHTML) == "" {
		return false
	}
	h, r := reply.Read(q.Card, fromHTML), &j.verdict.Reading
	return h.Clear() && (h.Verb != r.Verb || h.Option != r.Option)
}

// key makes a mail judged once. What is proved goes by its Message-ID, so that a
// copy by another way is the same mail. What is not goes by its content as well:
// nobody must be able to use up the key of a mail of somebody else.
func (j *judgement) key() string {
	h := sha256.New()
	write := func(list ...string) {
		for _, s := range list {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	id := j.mail.MessageID()
	question := ""
	if q := j.verdict.Question; q != nil {
		question = q.ID
	}
	if id != "" && j.verdict.Proved {
		write("id", id, j.verdict.Evidence.From, question)
	} else {
		write("content", id, j.mail.header.first("date"), j.mail.header.first("from"), j.mail.header.first("to"), j.mail.header.first("cc"), j.mail.header.first("subject"), question, string(j.mail.body))
	}
	return hex.EncodeToString(h.Sum(nil))
}
