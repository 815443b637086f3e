package inbound

import (
	"context"

	"beckon/channels/reply"
	"beckon/hub"
)

// Kind is what a mail is.
type Kind string

// The kinds. Only Answer may resolve a message, and only with a clear Reading.
const (
	Answer             Kind = "answer"              // from the person; Reading says whether it names a choice
	AnswerSuspect      Kind = "answer_suspect"      // held: its sender is not proved well enough, or it is about something else
	NeedsClarification Kind = "needs_clarification" // from the person, and speaks of the choices without taking one
	Empty              Kind = "empty"               // from the person, with nothing new in it
	Unreadable         Kind = "unreadable"          // from the person, encrypted or in a form that only one program reads
	LateAnswer         Kind = "late_answer"         // from the person, after somebody had answered
	Expired            Kind = "expired"             // to a question that ran out, was withdrawn, or is kept no longer
	IdentityMismatch   Kind = "identity_mismatch"   // held: the token of one person, the From of another
	RejectedAuth       Kind = "rejected_auth"       // the sender is nobody, forged or not proved
	Unmatched          Kind = "unmatched"           // belongs to no question
	Duplicate          Kind = "duplicate"           // was judged before
	Loop               Kind = "loop"                // our own mail
	AutoReply          Kind = "auto_reply"          // written by a program in the person's name
	Reaction           Kind = "reaction"            // an emoji on our mail
	Calendar           Kind = "calendar"            // about a meeting
	ReadReceipt        Kind = "read_receipt"        // RFC 8098: displayed, deleted, …
	DeliveryReceipt    Kind = "delivery_receipt"    // RFC 3464: delivered, relayed or expanded
	BounceDelayed      Kind = "bounce_delayed"      // still being tried
	BounceFailed       Kind = "bounce_failed"       // did not arrive
)

// FromPerson reports whether the mail was written by a person whose identity is
// proved, so that it deserves an answer of ours.
func (k Kind) FromPerson() bool {
	switch k {
	case Answer, NeedsClarification, Empty, Unreadable, LateAnswer, Expired:
		return true
	}
	return false
}

// Held reports whether the mail may be from the person although that is not
// proved. It is not recorded; the person may be told so at the address that we
// know, once, and nobody else.
func (k Kind) Held() bool { return k == IdentityMismatch || k == AnswerSuspect || k == RejectedAuth }

// Finder knows what we sent. Its methods are asked with text from strangers, and
// an error of theirs stops the judgement.
type Finder interface {
	// Address finds the question that one of our addresses was made for, by the
	// token or the VERP id in its local part. The address has the form
	// local@domain, in the case that the mail had.
	Address(ctx context.Context, addr string) (Match, error)
	// MessageID finds the question by the Message-ID of a mail of ours, or by
	// the one that a relay gave it; id is without < and >.
	MessageID(ctx context.Context, id string) (Match, error)
	// Subject finds it by the tag of a subject, such as "Q-7F3K2M", in upper
	// case and without brackets.
	Subject(ctx context.Context, tag string) (Match, error)
	// Seen reports whether a mail with this [Verdict.Key] was judged before.
	Seen(ctx context.Context, key string) (bool, error)
}

// Via is what ties a mail to a question.
type Via string

// The ways, from the surest to the weakest. Only the token is a secret that the
// person alone was given.
const (
	ViaToken     Via = "token"      // the Reply-To address of one mail to one person
	ViaVERP      Via = "verp"       // the envelope address of one mail
	ViaMessageID Via = "message_id" // In-Reply-To or References
	ViaSubject   Via = "subject"    // the tag in the subject
)

// Match is what a [Finder] found. The zero Match: this is nothing of ours.
type Match struct {
	Found bool
	// Ours: it has the shape of ours, but nothing is known of it, or no longer.
	Ours     bool
	Via      Via
	Question *Question // nil unless Found
}

// State is how far a question is.
type State int

// The states of a question.
const (
	Open     State = iota
	Resolved       // somebody answered
	Over           // it ran out or was withdrawn
)

// Question is what was asked of one person.
type Question struct {
	ID        string   // of the message
	Person    string   // id in the directory, "" when gone from it
	Addresses []string // of that person: the one we write to and the aliases on file
	Card      *hub.Card
	Subject   string   // of our mails, with the tag; "" when unknown
	Sent      []string // texts of our mails in the thread, so that they are not read as the person's
	State     State
	// Sensitive: answered on the page only. Nothing of the text is kept.
	Sensitive bool
}

// Envelope is what the SMTP dialogue said. The zero Envelope: it is not known,
// and the headers that servers write on delivery stand for it.
type Envelope struct {
	Known bool
	From  string   // "" for the null sender
	To    []string // every RCPT
}

// Verdict is what a mail is, and why.
type Verdict struct {
	Kind     Kind
	Question *Question // what it belongs to; nil when nothing was found
	// Who is the directory id of the person it belongs to: of whoever was asked,
	// for a bounce as well. "" when somebody else wrote it.
	Who string

	// Text is what the person wrote, without quotes and signatures; Own is that
	// without what it answers piece by piece, and First its first line. All empty
	// for the mail of programs and of strangers.
	Text, Own, First string
	// Reading is what Own says, when the question has a card.
	Reading reply.Reading

	Reasons  []string // in the order of the checks, for operators; no text of the mail
	Evidence Evidence
	// Note is for people: "away until 7 Dec", "mailbox full".
	Note   string
	Bounce *Bounce // for the delivery kinds
	// Proved: the mail is from the person who was asked, as the policy wants it.
	// An automatic reply that is not may be anybody's.
	Proved bool
	// Again: DNS could not be asked about a signature, which may work later. It
	// matters when the mail was held or refused.
	Again bool
	// Key is what makes this mail judged once; see [Finder.Seen].
	Key string
}

// Records reports whether the mail may be passed to the hub as an answer.
func (v *Verdict) Records() bool {
	return v.Kind == Answer && v.Question != nil && v.Question.Card != nil && v.Reading.Clear()
}

// Evidence is how the sender was identified, as the receipt keeps it.
type Evidence struct {
	From         string `json:"from,omitempty"`
	Sender       string `json:"sender,omitempty"` // when it is not From: on behalf of
	EnvelopeFrom string `json:"envelope_from,omitempty"`
	MessageID    string `json:"message_id,omitempty"`
	MatchedBy    Via    `json:"matched_by,omitempty"`
	Policy       Policy `json:"policy,omitempty"`
	AuthServ     string `json:"authserv,omitempty"` // who checked: the server's id, or "own"
	DMARC        string `json:"dmarc,omitempty"`
	DKIM         string `json:"dkim,omitempty"`
	DKIMDomain   string `json:"dkim_domain,omitempty"`
	SPF          string `json:"spf,omitempty"`
}

// Bounce is what a server said about the delivery of a mail of ours.
type Bounce struct {
	Recipient  string // "" when it does not say
	Action     string // RFC 3464 §2.3.3: failed, delayed, delivered, relayed, expanded
	Status     string // RFC 3463: "5.1.1"; the truest that it holds, "" when none
	Diagnostic string // the server's own words, one line, cut
}

// tidy makes lines of bounded length, for logs and screens, of what strangers wrote
// into headers and reports.
func (v *Verdict) tidy() {
	const longest = 500
	ev := &v.Evidence
	lines := []*string{&v.Note, &ev.From, &ev.Sender, &ev.EnvelopeFrom, &ev.MessageID, &ev.AuthServ, &ev.DKIMDomain}
	if b := v.Bounce; b != nil {
		lines = append(lines, &b.Recipient, &b.Action, &b.Status, &b.Diagnostic)
	}
	for i := range v.Reasons {
		lines = append(lines, &v.Reasons[i])
	}
	for _, s := range lines {
		*s = cut(oneLine(printable(*s)), longest)
	}
}
