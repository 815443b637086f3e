package hub

import (
	"time"

	"beckon/hub/ma2h"
)

// Message is one notify, ask or task as the agent sent it, plus what the hub
// knows of it. Values are read-only once they are shared.
type Message struct {
	ID       string // minted by the hub, "msg_" and a ULID
	Alias    string // the agent's own id, version 0.1 only
	AgentID  string
	Envelope *ma2h.Envelope
	Raw      []byte // the envelope as received

	Status     ma2h.Status
	Version    int64 // grows by one with every Change; the compare-and-set
	AcceptedAt time.Time
	ExpiresAt  time.Time // zero: never
	ResolvedAt time.Time // zero: not terminal (a notify: AcceptedAt)

	Plan Plan

	// Set once, by the change that makes the message terminal.
	ResolutionID string
	Response     []byte // the Response as every read and push sends it
	ResolvedVia  string // channel of the answer; "api", "admin" or "clock" otherwise

	Track Track // how far the Response has come on its way back

	// Checklist is the progress that people have ticked on an open task.
	Checklist []ma2h.ChecklistItem

	Head         ChainHead // of the message's history
	NextDelivery int       // Seq of the next delivery
}

// Size is about how many bytes it takes to keep the message.
func (m *Message) Size() int { return len(m.Raw) + len(m.Response) }

// VisibleID is the id that the submitting agent knows the message by.
func (m *Message) VisibleID() string {
	if m.Alias != "" {
		return m.Alias
	}
	return m.ID
}

// Minor is the minor version that the hub answers this message in: what was
// declared, at most [ma2h.MaxMinor].
func (m *Message) Minor() int { return min(m.Envelope.Minor, ma2h.MaxMinor) }

// Plan is what routing decided at submit. It is frozen: a later config changes
// neither who may answer nor where the message goes, though someone who has
// left the directory may not answer any more.
type Plan struct {
	Route string `json:"route"` // the route's position or name, for people who look
	// Ask holds the person ids that the route lets answer; nil when the route
	// says nothing, so that only the submitter may resolve.
	Ask     []string  `json:"ask,omitempty"`
	Targets []Planned `json:"targets,omitempty"`
	// OnAway: a person who is away counts as one who was not reached.
	OnAway   bool     `json:"on_away,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Planned is one target of a plan. Entry is its position in the route's post
// list: entries with a later one wait for the earlier to fail, or for After.
type Planned struct {
	Target
	Entry int           `json:"entry"`
	After time.Duration `json:"after,omitempty"`
}

// Target is one place that a channel can post to: a place of the channel's own
// (slack:#deploys) or a person (email:alice). Exactly one of the two is set.
type Target struct {
	Channel string `json:"channel"`
	Place   string `json:"place,omitempty"`
	Person  string `json:"person,omitempty"`
}

func (t Target) String() string {
	if t.Place != "" {
		return t.Channel + ":" + t.Place
	}
	return t.Channel + ":" + t.Person
}

// Kind is what a delivery gets done.
type Kind string

// The kinds of delivery.
const (
	KindPost     Kind = "post"     // put a copy into a channel
	KindUpdate   Kind = "update"   // make a copy tell the truth
	KindRemind   Kind = "remind"   // ask again
	KindCallback Kind = "callback" // tell the agent
	KindExpire   Kind = "expire"   // the message's time is up
	KindTell     Kind = "tell"     // tell one person what became of what they did
)

// LaneClock is the lane of deliveries that reach nobody: expiries.
const LaneClock = "clock"

// LaneCallback begins the lanes of pushes to agents, one a host:
// "callback:agent.example.com".
const LaneCallback = "callback"

// DeliveryState says where a delivery is.
type DeliveryState string

// The states of a delivery.
const (
	Pending DeliveryState = "pending" // due at Due
	Running DeliveryState = "running" // claimed; Due is when the lease runs out
	Done    DeliveryState = "done"
	Dead    DeliveryState = "dead"    // given up; an operator may retry it
	Dropped DeliveryState = "dropped" // no longer wanted before it began
)

// Delivery is one thing to get done. Its id is (MessageID, Seq).
type Delivery struct {
	MessageID string
	Seq       int
	Kind      Kind
	Lane      string // the target's channel, [LaneClock] or one of [LaneCallback]: what it queues behind
	Target    Target
	Entry     int // position in the plan, -1 when it is not part of the plan
	Posting   int // Seq of the posting that an update or reminder is about, else -1
	State     DeliveryState
	Due       time.Time
	Attempts  int
	// MaybeSent: an attempt ended without telling whether the copy stands (a
	// time-out after the request went out). Such a post is never dropped.
	MaybeSent  bool
	Generation int    // how often it was posted again on purpose
	Data       []byte // of a KindTell: JSON
	LastCode   string
	LastError  string
	CreatedAt  time.Time
	DoneAt     time.Time
}

// Attempt is one try at a delivery. It is written before anything is dialled.
type Attempt struct {
	MessageID string
	Seq       int // of the delivery
	N         int // 1 for the first
	StartedAt time.Time
	EndedAt   time.Time // zero: running, or the process died
	Code      string    // "ok", or why not
	Error     string
}

// Posting is a copy of a message that stands in a channel.
type Posting struct {
	MessageID string
	Seq       int // of the delivery that made it
	Target    Target
	Ref       string // the channel's own name of the copy, unique in the channel
	Thread    string // where follow-ups go, if the channel has threads
	At        time.Time
}

// Snapshot is all that a decision about one message needs.
type Snapshot struct {
	Message    *Message
	Deliveries []Delivery
	Postings   []Posting
}
