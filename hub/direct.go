package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Direction is what somebody wants to say to an agent (spec §13). The channel
// vouches for Person and for nothing else.
type Direction struct {
	AgentID string // "" with About: the agent of that message
	Person  string // id in the directory
	// Title is one line of at most [ma2h.MaxTitle] runes; "" takes it from Body.
	Title string
	Body  string // Markdown
	// About is the id of the message that it is a reply to, "" for none. The agent
	// is told, and the message's history has it.
	About    string
	Priority ma2h.Priority // "" is normal
	Tags     []string
	Expires  time.Time // zero: as long as the inbox keeps it
	Receipt  Receipt
	// Notice tells the person what became of it, with About only. Nil where the
	// channel tells them itself.
	Notice *Notice
}

// DirectOutcome is what the hub says to a [Direction]. Everything in it may be
// shown to the person. It is kept with the receipt.
type DirectOutcome struct {
	Kind    OutcomeKind  `json:"kind"` // Accepted, Refused or Unclear
	Reason  Reason       `json:"reason,omitempty"`
	AgentID string       `json:"agent_id"`
	ID      string       `json:"id,omitempty"` // of the directive, once accepted
	Fields  []FieldError `json:"fields,omitempty"`

	Repeated bool `json:"-"` // the receipt was seen before; this is the first outcome
}

// The reasons that only a [Direction] is refused for.
const (
	ReasonUnknownAgent Reason = "unknown_agent" // not in the directory (any more)
	ReasonInboxFull    Reason = "inbox_full"    // the agent takes nothing out of its inbox
)

// MaxWaiting is how many directives wait for an agent at most.
const MaxWaiting = 1000

// maxTags bounds the tags of a directive.
const maxTags = 20

// Directive is one thing that a person wrote to an agent, as it is kept.
type Directive struct {
	ID        string // "dir_" and a ULID
	AgentID   string
	Person    string
	Via       string // channel
	About     string // id of a message, or ""
	Raw       []byte // as the agent gets it, but for the signature
	CreatedAt time.Time
	Until     time.Time // the agent gets it no more from then on

	DeliveredAt time.Time // the agent has first got it; zero: not yet
	AckedAt     time.Time
	AckNote     string // untrusted
}

// DirectiveState says where a directive is (spec §14.2).
type DirectiveState string

// The states of a directive.
const (
	DirectiveQueued    DirectiveState = "queued"
	DirectiveDelivered DirectiveState = "delivered"    // the agent got it, and has not said that it is done with it
	DirectiveAcked     DirectiveState = "acknowledged" // it has
	DirectiveExpired   DirectiveState = "expired"      // it never got it
	DirectiveBounced   DirectiveState = "bounced"      // it got it and never said more
)

// State says where the directive is at a time.
func (d *Directive) State(at time.Time) DirectiveState {
	over := !at.Before(d.Until)
	switch {
	case !d.AckedAt.IsZero():
		return DirectiveAcked
	case !d.DeliveredAt.IsZero() && over:
		return DirectiveBounced
	case !d.DeliveredAt.IsZero():
		return DirectiveDelivered
	case over:
		return DirectiveExpired
	}
	return DirectiveQueued
}

// Sent is a directive as the person who wrote it sees it.
type Sent struct {
	ID, AgentID, Title, Body string
	Priority                 ma2h.Priority
	Tags                     []string
	About                    string
	Via                      string
	State                    DirectiveState
	CreatedAt, Until         time.Time
	DeliveredAt, AckedAt     time.Time
	AckNote                  string // secrets masked
}

// SentQuery picks directives, newest first. Zero fields don't restrict.
type SentQuery struct {
	Person  string
	AgentID string
	Before  string // directive id, exclusive
	Limit   int    // 1 to 200
}

// DirectiveStore keeps what people write to agents. It is written by a [Change].
type DirectiveStore interface {
	// Directive reads one of an agent's: [ErrNotFound] when it is another's.
	Directive(ctx context.Context, agentID, id string) (*Directive, error)
	// ListDirectives lists them for people who look.
	ListDirectives(ctx context.Context, q SentQuery) ([]Directive, error)
	// WaitingDirectives counts what waits for an agent, stopping at limit.
	WaitingDirectives(ctx context.Context, agentID string, now time.Time, limit int) (int, error)
	// NextDirective says when an agent's inbox has something to give out next,
	// false when nothing waits.
	NextDirective(ctx context.Context, agentID string, now time.Time) (time.Time, bool, error)
	// TakeDirectives gives out at most limit of what an agent's inbox has to give
	// out, the oldest first, and hides it until a time. It is durable when it
	// returns.
	TakeDirectives(ctx context.Context, agentID string, now, hidden time.Time, limit int) ([]Directive, error)
}

// DirectableAgents lists the agents that a person may write to, by id.
func (d *Directory) DirectableAgents(person string) []string {
	var out []string
	for id := range d.Agents {
		if d.mayDirect(id, person) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// mayDirect is the one place that says who may write to an agent.
func (d *Directory) mayDirect(agentID, person string) bool {
	a := d.Agents[agentID]
	return a != nil && d.People[person] != nil && slices.Contains(a.Directors, person)
}

// direct takes what a person says to an agent. An error means that nothing is
// known to be recorded.
func (h *Hub) direct(ctx context.Context, x Direction) (DirectOutcome, error) {
	o, err := h.decideDirection(ctx, x)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrGone) { // what it is about
		o, err = DirectOutcome{Kind: Refused, Reason: ReasonNotFound, AgentID: x.AgentID}, nil
		c := &Change{At: now()}
		if keepDirection(x, &o, c); c.Receipt != nil {
			err = h.apply(ctx, c)
		}
	}
	switch seen, repeated := errors.AsType[*RepeatedError](err); {
	case repeated && seen.Outcome.Direct == nil:
		return DirectOutcome{}, fmt.Errorf("direct: receipt %q belongs to an answer", x.Receipt.Key)
	case repeated:
		o = *seen.Outcome.Direct
		o.Repeated = true
	case err != nil:
		return DirectOutcome{}, err
	}
	if o.Kind == Accepted && !o.Repeated {
		h.notifier.Wake(inboxTopic(o.AgentID))
		h.notifier.Wake(ListTopic(x.Person))
	}
	h.observer.Directed(x.Receipt.Channel, o.Kind)
	return o, nil
}

// decideDirection decides and has that stored, on the message that it is about
// or on none.
func (h *Hub) decideDirection(ctx context.Context, x Direction) (o DirectOutcome, err error) {
	change := func(s *Snapshot, m *Message) (*Change, error) {
		c := &Change{At: now()}
		if m != nil {
			c.MessageID, c.Expect = m.ID, m.Version
		}
		var err error
		if o, err = h.judgeDirection(ctx, m, x, c); err != nil {
			return nil, err
		}
		if keepDirection(x, &o, c); c.Receipt == nil && c.Directive == nil {
			return nil, nil
		}
		if m != nil {
			said := Outcome{Kind: o.Kind, Reason: o.Reason, MessageID: m.ID, Direct: &o}
			err = m.notify(s, c, x.Receipt.Channel, x.Notice, &said)
		}
		return c, err
	}
	if x.About != "" {
		err = h.decide(ctx, "direct", x.About, func(s *Snapshot) (*Change, error) { return change(s, s.Message) })
		return o, err
	}
	c, err := change(nil, nil)
	if err == nil && c != nil {
		err = h.apply(ctx, c)
	}
	return o, err
}

// inboxTopic is what an agent that waits for its inbox is woken by.
func inboxTopic(agentID string) string { return "inbox:" + agentID }

// keepDirection adds the receipt, unless what was unclear comes again.
func keepDirection(x Direction, o *DirectOutcome, c *Change) {
	if x.Receipt.Key != "" && !(o.Kind == Unclear && x.Receipt.Reusable) {
		r := x.Receipt
		r.Outcome = Outcome{Kind: o.Kind, Reason: o.Reason, MessageID: c.MessageID, Direct: o}
		c.Receipt, c.Cursor = &r, r.Cursor
	}
}

// judgeDirection decides, and writes what follows into c. m is what it is about,
// nil for nothing.
func (h *Hub) judgeDirection(ctx context.Context, m *Message, x Direction, c *Change) (DirectOutcome, error) {
	d := h.Directory()
	if m != nil && x.AgentID == "" {
		x.AgentID = m.AgentID
	}
	o := DirectOutcome{AgentID: x.AgentID}
	refused := func(r Reason, fields ...FieldError) (DirectOutcome, error) {
		o.Kind, o.Reason, o.Fields = Refused, r, fields
		if r == ReasonInvalid {
			o.Kind = Unclear
		}
		return o, nil
	}
	switch {
	case d.People[x.Person] == nil:
		return refused(ReasonUnknownPerson)
	case m != nil && (m.AgentID != x.AgentID || !d.inAudience(m, x.Person) && (secretive(m.Envelope) || !m.postedTo(x.Receipt.Channel))):
		return refused(ReasonNotFound)
	case d.Agents[x.AgentID] == nil:
		return refused(ReasonUnknownAgent)
	case !d.mayDirect(x.AgentID, x.Person):
		return refused(ReasonNotAllowed)
	}
	if fields := d.tidyDirection(&x, c.At); fields != nil {
		return refused(ReasonInvalid, fields...)
	}
	waiting, err := h.store.WaitingDirectives(ctx, x.AgentID, c.At, MaxWaiting)
	if err != nil {
		return o, err
	}
	if waiting >= MaxWaiting {
		return refused(ReasonInboxFull)
	}
	v, err := d.directive(x, m, c.At)
	if err != nil {
		return o, err
	}
	c.Directive = v
	o.Kind, o.ID = Accepted, v.ID
	if m == nil {
		return o, nil
	}
	content := map[string]any{"actor": "human:" + x.Person, "via": x.Receipt.Channel, "directive": v.ID}
	if !secretive(m.Envelope) {
		content["title"] = x.Title
	}
	err = m.record(c, "directed", content)
	c.Patch = PatchOf(m)
	return o, err
}

// tidyDirection makes the title of what has none, and says what is wrong.
func (d *Directory) tidyDirection(x *Direction, at time.Time) (errs []FieldError) {
	wrong := func(field, format string, args ...any) {
		errs = append(errs, FieldError{field, fmt.Sprintf(format, args...)})
	}
	x.Title, x.Body = strings.TrimSpace(x.Title), strings.TrimSpace(x.Body)
	if !utf8.ValidString(x.Title) || !utf8.ValidString(x.Body) {
		wrong("body", "is not valid UTF-8")
		return errs
	}
	if x.Title == "" {
		x.Title, x.Body = titleOf(x.Body)
	}
	switch n := utf8.RuneCountInString(x.Title); {
	case x.Title == "":
		wrong("body", "is empty")
	case n > ma2h.MaxTitle:
		wrong("title", "has %d characters, the limit is %d", n, ma2h.MaxTitle)
	case strings.ContainsFunc(x.Title, unicode.IsControl):
		wrong("title", "must be one line")
	}
	if len(x.Body) > d.Limits.Body {
		wrong("body", "has %d bytes, the limit is %d", len(x.Body), d.Limits.Body)
	}
	if x.Priority != "" && !slices.Contains([]ma2h.Priority{ma2h.Low, ma2h.Normal, ma2h.High, ma2h.Urgent}, x.Priority) {
		wrong("priority", "must be low, normal, high or urgent")
	}
	if len(x.Tags) > maxTags {
		wrong("tags", "are %d, the limit is %d", len(x.Tags), maxTags)
	}
	for _, tag := range x.Tags {
		if tag == "" || !utf8.ValidString(tag) || utf8.RuneCountInString(tag) > ma2h.MaxTitle || strings.ContainsFunc(tag, unicode.IsControl) {
			wrong("tags", "must be of 1 to %d characters on one line", ma2h.MaxTitle)
			break
		}
	}
	if !x.Expires.IsZero() && !x.Expires.After(at) {
		wrong("expires", "is not later than now")
	}
	return errs
}

// titleOf takes the title out of a text without one: its first line, whole if it
// fits. The rest stays, and of a line that was cut all of it.
func titleOf(text string) (title, body string) {
	first, rest, _ := strings.Cut(text, "\n")
	title = strings.Join(strings.FieldsFunc(first, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(title); len(runes) > ma2h.MaxTitle {
		return string(runes[:ma2h.MaxTitle-1]) + "…", text
	}
	return title, strings.TrimSpace(rest)
}

// directive makes what is kept. Its version is the hub's own, and so are id and
// from (spec §13.1).
func (d *Directory) directive(x Direction, m *Message, at time.Time) (*Directive, error) {
	v := &Directive{
		ID: newDirectiveID(at), AgentID: x.AgentID, Person: x.Person, Via: x.Receipt.Channel,
		CreatedAt: at, Until: at.Add(d.inboxRetention()),
	}
	w := ma2h.Directive{
		Version: hubVersion(), Type: "directive", ID: v.ID, From: "human:" + x.Person, To: "agent:" + x.AgentID,
		CreatedAt: ma2h.FormatTime(at), Title: x.Title, Body: x.Body, Priority: x.Priority, Tags: x.Tags,
	}
	if !x.Expires.IsZero() {
		w.ExpiresAt = ma2h.FormatTime(x.Expires)
		if x.Expires.Before(v.Until) {
			v.Until = x.Expires.UTC().Truncate(time.Millisecond)
		}
	}
	if m != nil {
		v.About, w.Sensitive = m.ID, secretive(m.Envelope)
		ref, _ := jsontext.AppendQuote([]byte(`{"in_reply_to":`), m.VisibleID())
		w.Context = []ma2h.Part{{Kind: "data", Data: append(ref, '}')}}
	}
	var err error
	if v.Raw, err = json.Marshal(&w); err == nil {
		_, err = ma2h.ParseDirective(v.Raw)
	}
	if err != nil {
		return nil, fmt.Errorf("directive to %s: %w", x.AgentID, err)
	}
	return v, nil
}

// inboxRetention is how long a directive waits, as discovery says.
func (d *Directory) inboxRetention() time.Duration {
	if d.Retention > 0 {
		return d.Retention
	}
	return 100 * 365 * 24 * time.Hour
}

// sent lists what a person wrote to agents, newest first.
func (h *Hub) sent(ctx context.Context, q SentQuery) ([]Sent, error) {
	list, err := h.store.ListDirectives(ctx, q)
	if err != nil {
		return nil, err
	}
	at, r := now(), &redactor{extra: h.Directory().Redact}
	out := make([]Sent, len(list))
	for i := range list {
		v := &list[i]
		w, err := ma2h.ParseDirective(v.Raw)
		if err != nil {
			return nil, fmt.Errorf("directive %s: %w", v.ID, err)
		}
		out[i] = Sent{
			ID: v.ID, AgentID: v.AgentID, Title: w.Title, Body: w.Body, Priority: w.Priority, Tags: w.Tags, About: v.About,
			Via: v.Via, State: v.State(at), CreatedAt: v.CreatedAt, Until: v.Until,
			DeliveredAt: v.DeliveredAt, AckedAt: v.AckedAt, AckNote: r.text(v.AckNote),
		}
		if out[i].Priority == "" {
			out[i].Priority = ma2h.Normal
		}
	}
	return out, nil
}
