// Package admin holds the JSON types of /admin/v1, which the hub writes and the
// command line reads.
//
// The types say where a message is and what was tried, never what is in it: no
// body, context, state, comment or value leaves the hub this way. An event's
// content is the exception, as the domain wrote it into the history.
//
// Times are RFC 3339 in UTC; an absent one has not happened. Nothing here fails:
// the functions copy from the domain's types.
package admin

import (
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// Message is one message in a list.
type Message struct {
	ID           string        `json:"id"`
	Alias        string        `json:"alias,omitzero"` // the agent's own id (0.1 only)
	Agent        string        `json:"agent"`
	RunID        string        `json:"run_id"`
	Project      string        `json:"project,omitzero"`
	Type         ma2h.Type     `json:"type"`
	Status       ma2h.Status   `json:"status"`
	Priority     ma2h.Priority `json:"priority,omitzero"`
	Title        string        `json:"title"`
	Sensitive    bool          `json:"sensitive,omitzero"`
	Route        string        `json:"route"`
	AcceptedAt   time.Time     `json:"accepted_at"`
	ExpiresAt    time.Time     `json:"expires_at,omitzero"`
	ResolvedAt   time.Time     `json:"resolved_at,omitzero"`
	ResolutionID string        `json:"resolution_id,omitzero"`
	ResolvedVia  string        `json:"resolved_via,omitzero"` // a channel, "api", "admin" or "clock"
}

// Messages is a page of messages, newest first. NextCursor is empty on the last.
type Messages struct {
	Messages   []Message `json:"messages"`
	NextCursor string    `json:"next_cursor,omitzero"`
}

// Detail is one message with all that the hub did for it.
type Detail struct {
	Message
	Ask        []string   `json:"ask,omitzero"` // person ids that the route lets answer
	Warnings   []string   `json:"warnings,omitzero"`
	Plan       []Planned  `json:"plan"`
	Deliveries []Delivery `json:"deliveries"`
	Postings   []Posting  `json:"postings"`
}

// Planned is one target of the plan that was frozen at submit.
type Planned struct {
	Target       string `json:"target"` // such as slack:#deploys or email:alice
	Entry        int    `json:"entry"`  // position in the route's post list
	AfterSeconds int64  `json:"after_seconds,omitzero"`
}

// Delivery is one thing to get done. Its id is MessageID and Seq together.
type Delivery struct {
	MessageID  string            `json:"message_id"`
	Seq        int               `json:"seq"`
	Kind       hub.Kind          `json:"kind"`
	Lane       string            `json:"lane"`
	Target     string            `json:"target,omitzero"`
	State      hub.DeliveryState `json:"state"`
	Due        time.Time         `json:"due,omitzero"`
	Attempts   int               `json:"attempts"` // failed or running ones
	MaybeSent  bool              `json:"maybe_sent,omitzero"`
	Generation int               `json:"generation,omitzero"`
	Code       string            `json:"code,omitzero"` // of the last attempt
	Error      string            `json:"error,omitzero"`
	CreatedAt  time.Time         `json:"created_at"`
	DoneAt     time.Time         `json:"done_at,omitzero"`
	Tries      []Attempt         `json:"tries,omitzero"` // in a Detail only
}

// Deliveries is a page of deliveries, newest message first. It ends with a whole
// message, so it may be shorter or longer than what was asked for. NextCursor is
// empty on the last.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries"`
	NextCursor string     `json:"next_cursor,omitzero"`
}

// Attempt is one try at a delivery. Without EndedAt it is running, or the
// process died while it ran.
type Attempt struct {
	N         int       `json:"n"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Code      string    `json:"code,omitzero"`
	Error     string    `json:"error,omitzero"`
}

// Posting is a copy of the message that stands in a channel.
type Posting struct {
	Seq    int       `json:"seq"` // of the delivery that made it
	Target string    `json:"target"`
	Ref    string    `json:"ref"`
	Thread string    `json:"thread,omitzero"`
	At     time.Time `json:"at"`
}

// Event is one line of a message's history.
type Event struct {
	Seq     int64          `json:"seq"`
	At      time.Time      `json:"at"`
	Kind    string         `json:"kind"`
	Content jsontext.Value `json:"content,omitzero"` // absent once erased
	Erased  bool           `json:"erased,omitzero"`
}

// History is all events of a message, oldest first. Verified says whether the
// hash chain holds; Problem says where it does not.
type History struct {
	MessageID string  `json:"message_id"`
	Verified  bool    `json:"verified"`
	Problem   string  `json:"problem,omitzero"`
	Events    []Event `json:"events"`
}

// Inbound is what came in about a message as it came, oldest first.
type Inbound struct {
	MessageID string    `json:"message_id"`
	Inbound   []Arrival `json:"inbound"`
}

// Arrival is one of it. Raw is base64 in JSON.
type Arrival struct {
	Channel   string    `json:"channel"`
	Account   string    `json:"account"`
	Key       string    `json:"key"` // of its receipt
	At        time.Time `json:"at"`
	Raw       []byte    `json:"raw"`
	Truncated bool      `json:"truncated,omitzero"` // Raw is its beginning
}

// maxRaw bounds what one [Inbound] holds, in bytes before base64.
const maxRaw = 8 << 20

// PostRequest is the body of POST messages/{id}/post. All posts again also
// where a copy stands; the zero value only where none does.
type PostRequest struct {
	All bool `json:"all,omitzero"`
}

// Posted says how many deliveries a PostRequest enqueued.
type Posted struct {
	Deliveries int `json:"deliveries"`
}

// Check is one thing that must be well for the hub to be ready.
type Check struct {
	Name string `json:"name"` // "store", "outbox", "slack"
	OK   bool   `json:"ok"`
	// LastSeconds is the age of the last proof of life, -1 when there is none
	// to measure.
	LastSeconds int64 `json:"last_seconds,omitzero"`
	// Problem says what is wrong. It is shown to operators and logged; the
	// public /readyz leaves it out.
	Problem string `json:"problem,omitzero"`
}

// Ready is the body of /readyz.
type Ready struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

// Stats is what the hub holds and does now.
type Stats struct {
	Version       string  `json:"version"`
	UptimeSeconds int64   `json:"uptime_seconds"`
	Polls         int64   `json:"polls"` // parked now
	Checks        []Check `json:"checks"`

	Open     map[ma2h.Type]int `json:"open"`     // open messages by type
	Lanes    []Lane            `json:"lanes"`    // unfinished and dead deliveries
	Unsealed int               `json:"unsealed"` // messages whose newest events no seal covers yet
}

// Lane counts the deliveries of one lane in one state.
type Lane struct {
	Lane  string            `json:"lane"` // a channel, "clock" or "callback"
	State hub.DeliveryState `json:"state"`
	Count int               `json:"count"`
	Due   time.Time         `json:"due,omitzero"` // of the earliest; absent for dead ones
}

// MessageOf describes m for a list.
func MessageOf(m *hub.Message) Message {
	e := m.Envelope
	return Message{
		ID: m.ID, Alias: m.Alias, Agent: m.AgentID, RunID: e.Agent.RunID, Project: e.Agent.Project,
		Type: e.Type, Status: m.Status, Priority: e.Priority, Title: e.Title, Sensitive: e.Sensitive,
		Route: m.Plan.Route, AcceptedAt: m.AcceptedAt.UTC(), ExpiresAt: m.ExpiresAt.UTC(),
		ResolvedAt: m.ResolvedAt.UTC(), ResolutionID: m.ResolutionID, ResolvedVia: m.ResolvedVia,
	}
}

// DetailOf describes a message whole.
func DetailOf(s *hub.Snapshot, attempts []hub.Attempt) Detail {
	d := Detail{
		Message: MessageOf(s.Message), Ask: s.Message.Plan.Ask, Warnings: s.Message.Plan.Warnings,
	}
	for _, p := range s.Message.Plan.Targets {
		d.Plan = append(d.Plan, Planned{
			Target: p.String(), Entry: p.Entry, AfterSeconds: int64(p.After / time.Second),
		})
	}
	tries := make(map[int][]Attempt)
	for _, a := range attempts {
		tries[a.Seq] = append(tries[a.Seq], Attempt{
			N: a.N, StartedAt: a.StartedAt.UTC(), EndedAt: a.EndedAt.UTC(), Code: a.Code, Error: a.Error,
		})
	}
	for i := range s.Deliveries {
		v := DeliveryOf(&s.Deliveries[i])
		v.Tries = tries[v.Seq]
		d.Deliveries = append(d.Deliveries, v)
	}
	for _, p := range s.Postings {
		d.Postings = append(d.Postings, Posting{
			Seq: p.Seq, Target: p.Target.String(), Ref: p.Ref, Thread: p.Thread, At: p.At.UTC(),
		})
	}
	return d
}

// DeliveryOf describes a delivery without its attempts.
func DeliveryOf(d *hub.Delivery) Delivery {
	v := Delivery{
		MessageID: d.MessageID, Seq: d.Seq, Kind: d.Kind, Lane: d.Lane, State: d.State,
		Due: d.Due.UTC(), Attempts: d.Attempts, MaybeSent: d.MaybeSent, Generation: d.Generation,
		Code: d.LastCode, Error: d.LastError, CreatedAt: d.CreatedAt.UTC(), DoneAt: d.DoneAt.UTC(),
	}
	if d.Target != (hub.Target{}) {
		v.Target = d.Target.String()
	}
	return v
}

// InboundOf describes what came in about a message, as much as one answer holds.
func InboundOf(messageID string, list []hub.Inbound) Inbound {
	out := Inbound{MessageID: messageID, Inbound: []Arrival{}}
	left := maxRaw
	for _, in := range list {
		a := Arrival{Channel: in.Channel, Account: in.Account, Key: in.Key, At: in.At.UTC(), Raw: in.Raw}
		if len(a.Raw) > left {
			a.Raw, a.Truncated = a.Raw[:left], true
		}
		left -= len(a.Raw)
		out.Inbound = append(out.Inbound, a)
	}
	return out
}

// HistoryOf describes the history of a message; broken is what
// [hub.VerifyChain] said.
func HistoryOf(messageID string, events []hub.Event, broken error) History {
	h := History{MessageID: messageID, Verified: broken == nil}
	if broken != nil {
		h.Problem = broken.Error()
	}
	for _, e := range events {
		h.Events = append(h.Events, Event{
			Seq: e.Seq, At: e.At.UTC(), Kind: e.Kind, Content: e.Content, Erased: e.Salt == nil,
		})
	}
	return h
}
