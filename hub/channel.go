package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Channel is an adapter that reaches people. Post must be safe to call again
// with the same DeliveryID after an attempt whose end nobody saw.
//
// What a channel may do as well is found by type assertion: [Updater],
// [Runner], [Pulse], [HTTPHandler], [Checker], [Previewer], [LinkSender].
type Channel interface {
	// Post puts a copy of the card where the target says and returns what it is
	// called there. A failure is a [*DeliveryError] or counts as temporary.
	Post(ctx context.Context, r PostRequest) (Posted, error)
}

// PostRequest asks for one copy.
type PostRequest struct {
	DeliveryID string // stable over retries
	Attempt    int    // 1 for the first
	Generation int    // how often it was posted again on purpose
	MaybeSent  bool   // an attempt ended without telling whether the copy stands
	Target     Target
	Person     *Person // whom the target reaches; nil for a shared place
	Card       *Card   // export view
	Thread     string  // thread of an earlier copy at the same target, if any
}

// Posted names a copy that stands.
type Posted struct {
	Ref    string // unique in the channel
	Thread string
	// Degraded says what the copy lacks, for operators: a plainer form went out
	// because the other side refused the full one. "" for a whole copy.
	Degraded string
}

// UpdateRequest asks to make a copy that stands tell the truth.
type UpdateRequest struct {
	DeliveryID string
	Attempt    int
	MaybeSent  bool // an attempt ended without telling whether it had its effect
	Posting    Posting
	Person     *Person
	Card       *Card
	Remind     bool // the message is still open; ask again
}

// Updater is a channel that can change, or follow up on, a copy that stands. A
// channel without it shows its copies live, as the page does.
type Updater interface {
	Update(ctx context.Context, r UpdateRequest) error
}

// TellRequest asks to tell a person what became of what they did.
type TellRequest struct {
	DeliveryID string // stable over retries
	Attempt    int
	MaybeSent  bool // an attempt ended without telling whether it had its effect
	Person     *Person
	Card       *Card    // export view, as it is now
	Posting    *Posting // their copy in this channel; nil when there is none
	Outcome    *Outcome // what the hub said to their answer; nil when it was not asked
	Data       []byte   // of the [Notice]
}

// Teller is a channel that tells people what became of what they did by a
// delivery of its own, because it can't answer them on the spot.
type Teller interface {
	Tell(ctx context.Context, r TellRequest) error
}

// Runner is a channel that listens. Run returns when ctx ends; an earlier
// return is a failure, and the hub starts it again.
type Runner interface {
	Run(ctx context.Context) error
}

// Pulse is a [Runner] that can tell whether it still hears anybody: a channel
// that went deaf looks like one in which nobody says anything.
type Pulse interface {
	// Alive returns when there was last proof that what people do arrives, the
	// zero time when the channel has no such thing, and what is wrong now, for
	// operators, "" for nothing.
	Alive() (last time.Time, problem string)
}

// HTTPHandler is a channel with HTTP routes of its own, by [http.ServeMux]
// pattern.
type HTTPHandler interface {
	Handlers() map[string]http.Handler
}

// Checker is a channel that can say whether it is set up right. Live may send
// a test message to nobody but the operator, unless it takes it back at once.
type Checker interface {
	Check(ctx context.Context, live bool) []Finding
}

// Finding is one result of a check.
type Finding struct {
	OK   bool
	What string // "smtp login", "scope chat:write"
	Msg  string // what to do about it, when not OK
}

// Previewer is a channel that can show what a card would look like.
type Previewer interface {
	Preview(c *Card) (contentType string, body []byte, err error)
}

// LinkSender is a channel that can tell a person something in private.
type LinkSender interface {
	// SendLink sends a link that signs in whoever opens it, so it goes to the
	// person's own known address or direct messages and nowhere else.
	// [ErrUnsupported] when the channel knows no such place.
	SendLink(ctx context.Context, p *Person, url string, expires time.Time) error
}

// DeliveryError says why a copy was not made and what to do about it. Msg is
// shown to operators and agents, so it never holds a secret.
type DeliveryError struct {
	Code      string        // "rate_limited", "not_invited", "timeout", …: a metric label
	Msg       string        // what is wrong and what to do
	Permanent bool          // trying again is no use
	After     time.Duration // don't try before (Retry-After); such a wait is not a failed attempt
	MaybeSent bool          // the copy may stand all the same
	Err       error         // cause, for the log only
}

func (e *DeliveryError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Msg, e.Err)
	}
	return e.Code + ": " + e.Msg
}

func (e *DeliveryError) Unwrap() error { return e.Err }

// ErrUnsupported is what a channel returns for a card that it can't show.
var ErrUnsupported = errors.New("unsupported")

// Section is a channel's part of the config, which keeps positions. The zero
// Section is a channel that the config does not mention.
type Section struct {
	// Decode fills v from the section, strictly, and reports errors itself with
	// their position; it returns false if there were any. Nil when the config
	// has no such section.
	Decode func(v any) bool
	// Errorf reports an error at a field of the section, such as
	// "smtp.password".
	Errorf func(field, format string, args ...any)
	// Templates is the config's folder of templates that replace built-in ones,
	// "" for none.
	Templates string
}

// Factory makes a channel. There is one line for each in package channels.
type Factory struct {
	Name string
	// New makes the channel without any I/O. It reports what is wrong with the
	// section through it, and returns nil then.
	New func(Section, Desk) Channel
	// Implicit: the channel is there without a section of its own.
	Implicit bool
	// People: its targets may be a person or a team, by bare name or "@name".
	People bool
	// Places: its targets may be a place of its own that begins with one of
	// these, such as "#" or "C".
	Places []string
	// Section is a pointer to the type that New decodes the section into; it
	// may be nil inside. Its fields have the tags yaml, doc and eg that package
	// config describes, for the reference of all keys.
	Section any
	// Lacks names the key of a person that the channel needs to reach them and
	// that the config does not give, such as "email"; "" when nothing is
	// missing. Nil: the channel reaches everybody.
	Lacks func(*Person) string
}

// Desk is what a channel may ask of the hub. Every inbound call carries a
// Receipt: receipt, cursor and effect are one transaction, and a repeated key
// returns the first outcome.
type Desk interface {
	// Answer passes what somebody did. The error is nil whenever there is an
	// Outcome to show; an error means that nothing is known to be recorded.
	Answer(ctx context.Context, a Answer) (Outcome, error)
	// Signal passes what a channel learnt about a copy.
	Signal(ctx context.Context, s Signal) error
	// Direct passes what somebody says to an agent. The error is as for Answer.
	Direct(ctx context.Context, x Direction) (DirectOutcome, error)
	// DirectableAgents lists the agents that a person may write to, by id.
	DirectableAgents(person string) []string
	// Sent lists what a person wrote to agents, newest first, and whether it was
	// taken. [ListTopic] is woken when that changes.
	Sent(ctx context.Context, person string, q SentQuery) ([]Sent, error)
	// LastSeen returns when an agent last asked for its inbox or waited for an
	// answer, the zero time for never.
	LastSeen(ctx context.Context, agentID string) (time.Time, error)
	// List returns cards of what a person's list shows, newest first.
	List(ctx context.Context, person string, q ListQuery) ([]*Card, error)
	// Card returns a message as the reader may see it. A reader who neither got
	// it nor may answer it gets a CodeNotFound error.
	Card(ctx context.Context, messageID, reader string, v View) (*Card, error)
	// History returns the events of a message that the reader may see.
	History(ctx context.Context, messageID, reader string) ([]Event, error)
	// FindPosting finds a copy by the channel's own name of it.
	FindPosting(ctx context.Context, channel, ref string) (*Posting, error)
	// Watch returns a channel that is closed at the next change of a message, or
	// of a person's list by its [ListTopic], and a function that gives it up.
	Watch(messageID string) (<-chan struct{}, func())
	// LinkSenders names the channels that are a [LinkSender], in order.
	LinkSenders() []string
	// SendLink has one of them send a personal link to somebody in the
	// directory. [ErrUnsupported] when it can't reach that person, or there is
	// no such channel or person.
	SendLink(ctx context.Context, channel, person, url string, expires time.Time) error
	// PersonalLink returns a link that works for life and signs in whoever opens
	// it as that person, for one message, or for their list when messageID is "".
	// It goes into that person's own direct messages, mail or ephemeral note and
	// nowhere else. "" when the hub has no page, or no such person.
	PersonalLink(person, messageID string, life time.Duration) string
	// State keeps what a channel must remember.
	State() StateStore
	// Directory is who and what the hub knows now.
	Directory() *Directory
	// Keys are the channel's own keys for a purpose: the first signs, all
	// verify.
	Keys(purpose string) [][]byte
	Log() *slog.Logger
}

// ListTopic is what [Desk.Watch] takes to watch a person's list, which changes
// when a message comes and when one ends.
func ListTopic(person string) string { return "list:" + person }

// SignalKind is what a channel learnt about a copy.
type SignalKind string

// The signals.
const (
	Bounced SignalKind = "bounced" // it did not arrive; move on
	Delayed SignalKind = "delayed" // it has not arrived yet
	Away    SignalKind = "away"    // the person is away
	Seen    SignalKind = "seen"    // the person opened it
	Unread  SignalKind = "unread"  // the person said something that is no answer
	Doubted SignalKind = "doubted" // somebody answered who may not be the person
)

// Signal is something that a channel learnt about a copy. It never answers.
type Signal struct {
	MessageID string
	Kind      SignalKind
	Person    string
	Posting   int    // Seq; -1 for the last copy that went to Person in the channel
	Note      string // for people: "mailbox full", "away until 7 Dec"
	Receipt   Receipt
	Notice    *Notice // told in the same transaction
}

// Notice is what a channel wants to tell one person about a message: a delivery
// like any other, in the transaction of what it is about, so that nobody who
// wrote something is left without an answer. See [Teller].
type Notice struct {
	Person string
	Data   []byte // JSON, the channel's own
}

// MaxNotices is how many notices about one message a person gets in 24 hours.
// More are left out, so that two machines never talk to each other for long.
const MaxNotices = 5
