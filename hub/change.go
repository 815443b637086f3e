package hub

import (
	"context"
	"time"

	"beckon/hub/ma2h"
)

// Change is what one decision does to one message. The store applies all of it
// in one transaction, or says why not:
//
//   - [*RepeatedError] when Receipt was seen before, and nothing is applied;
//   - [ErrStale] when the message's version is not Expect, or the finished
//     attempt is no longer the running one;
//   - [*DuplicateError] when an insert's idempotency key or alias is taken.
//
// Rows are applied in the order of the fields.
type Change struct {
	MessageID string
	At        time.Time
	Expect    int64 // version of the snapshot; ignored for Insert

	Insert  *Message // a new message, with Version 1 and its chain head
	Receipt *Receipt // with the Outcome that it led to
	Patch   *Patch   // new values of an existing message

	Finish   *Finish   // how an attempt ended
	Postings []Posting // copies that now stand

	// DropPending drops what is not begun and no longer wanted: pending posts
	// and reminders (but for those that may have been sent) and expiries.
	DropPending bool
	// Bounced makes these posts, which were done, dead: the copy did not arrive.
	Bounced []int
	// Advance makes the pending posts of these plan entries due at At.
	Advance []int
	// Retry makes these dead or pending deliveries due at At, attempts kept.
	Retry []int

	Directive     *Directive     // a new one
	DirectiveAcks []DirectiveAck // of the agent's own; all of them, or the change is stale

	Deliveries []Delivery
	Events     []Event // chained by the domain
	// Audience lists the persons whose list shows the message, and as actors the
	// agents that may resolve it (Insert only).
	Audience []string
	Cursor   *Cursor // where an inbound loop stands after this
}

// Patch holds the new values of a message; the store writes them and sets
// Version to Expect+1. A terminal Status also closes the audience rows.
type Patch struct {
	Status       ma2h.Status
	ResolvedAt   time.Time
	ResolutionID string
	Response     []byte
	ResolvedVia  string
	Checklist    []ma2h.ChecklistItem
	Head         ChainHead
	NextDelivery int
	Track        *Track // nil: as it is
}

// PatchOf returns a Patch that leaves m as it is.
func PatchOf(m *Message) *Patch {
	return &Patch{
		Status: m.Status, ResolvedAt: m.ResolvedAt, ResolutionID: m.ResolutionID,
		Response: m.Response, ResolvedVia: m.ResolvedVia, Checklist: m.Checklist,
		Head: m.Head, NextDelivery: m.NextDelivery,
	}
}

// Finish records how attempt N of a delivery ended, and what happens to the
// delivery. It applies only while that attempt is the running one.
type Finish struct {
	Seq       int
	N         int
	State     DeliveryState // Done, Dead, Dropped, or Pending to try again at Due
	Due       time.Time     // for Pending
	Code      string        // "ok", or why not
	Error     string        // without secrets, at most 512 bytes
	MaybeSent bool
	// Uncounted: the attempt did not fail (shutdown, Retry-After); Attempts
	// goes back by one while its row stays.
	Uncounted bool
}

// Cursor is a value that an inbound loop keeps, written in the transaction of
// the change that it belongs to.
type Cursor struct {
	Channel, Key, Value string
}

// Receipt is what makes an inbound thing happen once. An empty Key is never
// recorded: use it where the caller has its own way to repeat itself.
type Receipt struct {
	Channel  string // "slack", "email", "web", "api"
	Account  string // the workspace, mailbox or such that it came in by
	Key      string // the channel's own id of the inbound thing
	Evidence []byte // JSON: how the person was identified. Kept with the history
	// Raw is the inbound thing as it came, such as a mail. It is kept for
	// operators as long as the message is. Nil where nothing of it may be kept.
	Raw    []byte
	Cursor *Cursor
	// Reusable: what was unclear does not use the key up, since the same form
	// comes again once it is mended.
	Reusable bool
	Outcome  Outcome // filled in by the domain
}

// Inbound is something that came in about a message, as it came.
type Inbound struct {
	Channel, Account, Key string // of its receipt
	At                    time.Time
	Raw                   []byte
}

// Store is what the domain needs of a store.
type Store interface {
	// Snapshot reads a message with its deliveries and postings: [ErrNotFound]
	// when there is none, [ErrGone] when it was purged.
	Snapshot(ctx context.Context, id string) (*Snapshot, error)
	// Message reads a message alone; errors as for Snapshot.
	Message(ctx context.Context, id string) (*Message, error)
	// Own is Message for the agent that sent it: another's message does not exist,
	// and reading for it costs the same.
	Own(ctx context.Context, agentID, id string) (*Message, error)
	// Apply returns once the change is durable.
	Apply(ctx context.Context, c *Change) error
	// Unseen lists asks and tasks of 0.5 and later that people or the clock have
	// ended before a time, and whose Response their agent has not got, longest
	// ended first.
	Unseen(ctx context.Context, before time.Time, limit int) ([]string, error)

	Finder
	Lister
	StateStore
	DirectiveStore
	PresenceStore
}

// Finder looks messages up by the names that others have for them. Each method
// returns [ErrNotFound] when there is none.
type Finder interface {
	// FindKey returns the id of what the agent sent under an idempotency key.
	FindKey(ctx context.Context, agentID, key string) (string, error)
	// FindAlias returns the id of what a 0.1 agent named itself, also after the
	// message was purged.
	FindAlias(ctx context.Context, agentID, alias string) (string, error)
	// TombstoneAgent returns who submitted a purged message.
	TombstoneAgent(ctx context.Context, id string) (string, error)
	// FindPosting finds a copy by the channel's own name of it.
	FindPosting(ctx context.Context, channel, ref string) (*Posting, error)
}

// Lister lists rows for people who look.
type Lister interface {
	ListMessages(ctx context.Context, q ListQuery) ([]*Message, error)
	ListDeliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error)
	// Events reads the history of a message, oldest first.
	Events(ctx context.Context, messageID string) ([]Event, error)
	// Attempts reads the attempts of a message's deliveries, oldest first.
	Attempts(ctx context.Context, messageID string) ([]Attempt, error)
	// Inbound reads what came in about a message as it came, oldest first, at
	// most limit.
	Inbound(ctx context.Context, messageID string, limit int) ([]Inbound, error)
	// OpenCount counts the open messages of an agent, stopping at limit.
	OpenCount(ctx context.Context, agentID string, limit int) (int, error)
	// InAudience reports whether a person, or an agent by its actor, is in the
	// message's audience.
	InAudience(ctx context.Context, person, messageID string) (bool, error)
}

// StateStore keeps what a channel must remember: cursors, rotated tokens, who
// reads a mailbox.
type StateStore interface {
	// GetState returns "" when nothing was put.
	GetState(ctx context.Context, channel, key string) (string, error)
	PutState(ctx context.Context, channel, key, value string) error
	// PutStateFor is PutState for what is about one message: it goes when that
	// message is purged.
	PutStateFor(ctx context.Context, messageID, channel, key, value string) error
	// Lease takes or renews a named lease for owner until now+ttl, and reports
	// whether owner has it. A ttl of 0 gives it back.
	Lease(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error)
}

// ListQuery picks messages. Zero fields don't restrict. Results come newest
// first, at most Limit (1 to 200); Before continues after the last id seen.
type ListQuery struct {
	AgentID string
	Person  string // whose list shows it
	Open    bool   // with Person: only what is open
	Status  ma2h.Status
	Type    ma2h.Type
	Before  string // message id, exclusive
	Limit   int
	// Bytes ends a page early, with the message that reaches so many bytes of
	// [Message.Size]. 0 is no bound. It is ignored with Person.
	Bytes int
}

// DeliveryQuery picks deliveries, newest message first. Zero fields don't
// restrict.
type DeliveryQuery struct {
	State   DeliveryState
	Channel string // of the target
	Before  string // message id, exclusive
	Limit   int    // 1 to 200
}

// Notifier wakes whoever waits for a message. Wake comes after commit.
type Notifier interface {
	Wake(messageID string)
	// Subscribe returns a channel that is closed at the next Wake of the
	// message, and a function that gives it up.
	Subscribe(messageID string) (<-chan struct{}, func())
}

// Outbox is told, after commit, that a lane has something due by then.
type Outbox interface {
	Due(lane string, at time.Time)
}
