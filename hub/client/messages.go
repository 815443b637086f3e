package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of the calls, in errors.
const (
	opSubmit    = "submit"
	opRead      = "read"
	opWait      = "wait"
	opList      = "list"
	opCancel    = "cancel"
	opResolve   = "resolve"
	opDiscovery = "discovery"
	opAck       = "ack"
	opInbox     = "inbox"
	opInboxAck  = "inbox ack"
	opPresence  = "presence"
)

// pollHold is how long one poll of [Client.Wait] asks the hub to hold.
const pollHold = 60 * time.Second

// Ack is what the hub says to a submit.
type Ack struct {
	ma2h.SubmitAck
	// Warnings are what the agent should know, such as that nobody who can be
	// reached may answer.
	Warnings []string `json:"-"`
}

// Message is a message as its submitter reads it.
type Message struct {
	ma2h.Envelope
	Status   ma2h.Status    `json:"status"`
	Response *ma2h.Response `json:"response,omitzero"`
	// Delivery says whether the agent has the Response; nil while there is none,
	// and from a hub that does not say (spec §14.2).
	Delivery *Delivery `json:"delivery,omitzero"`
	// Beckon says what became of the deliveries, if it was asked for.
	Beckon *Extra `json:"beckon,omitzero"`
	// Body is the answer as it came: what a signature or a digest is about.
	Body jsontext.Value `json:"-"`
}

// Delivery is how far a Response has come.
type Delivery struct {
	State          string    `json:"state"` // delivered-to-agent, acknowledged or expired
	DeliveredAt    time.Time `json:"delivered_at,omitzero"`
	AcknowledgedAt time.Time `json:"acknowledged_at,omitzero"`
	Ack            *ma2h.Ack `json:"ack,omitzero"`
}

// Extra is the hub's own addition to a message.
type Extra struct {
	Deliveries  []ExtraDelivery `json:"deliveries"`
	Warnings    []string        `json:"warnings"`
	Unreachable bool            `json:"unreachable"` // no target is left to try
}

// ExtraDelivery says how far one delivery has come.
type ExtraDelivery struct {
	Target   string    `json:"target"`
	Kind     string    `json:"kind"`
	State    string    `json:"state"`
	Attempts int       `json:"attempts"`
	Due      time.Time `json:"due,omitzero"`
	Reason   string    `json:"reason,omitzero"` // code of the last failure
	Error    string    `json:"error,omitzero"`
}

// Listed is one message of a list.
type Listed struct {
	ID         string      `json:"id"`
	Type       ma2h.Type   `json:"type"`
	Status     ma2h.Status `json:"status"`
	Title      string      `json:"title"`
	CreatedAt  string      `json:"created_at"` // as the agent said
	AcceptedAt time.Time   `json:"accepted_at"`
	ExpiresAt  time.Time   `json:"expires_at,omitzero"`
	ResolvedAt time.Time   `json:"resolved_at,omitzero"`
}

// Listing is one page of messages, newest first. NextCursor is "" on the last.
type Listing struct {
	Messages   []Listed `json:"messages"`
	NextCursor string   `json:"next_cursor,omitzero"`
}

// Query picks messages of a list. Zero fields don't restrict.
type Query struct {
	Agent  string // for an operator
	Status ma2h.Status
	Type   ma2h.Type
	Cursor string
	Limit  int // 1 to 200; 0 is 50
}

// ReadOptions say how to read a message.
type ReadOptions struct {
	Wait   time.Duration // hold until the message is terminal, in whole seconds, 60 s at most
	Since  time.Time     // [ErrUnchanged] when the status has not changed since
	Beckon bool          // with what became of the deliveries
}

// Submit sends an envelope as it is. If it has an idempotency_key, the very same
// bytes are sent again until there is an answer, as [WithAttempts] allows, and
// the hub takes them once. Without a key it is sent again only if the hub
// certainly did not take it.
func (c *Client) Submit(ctx context.Context, envelope []byte) (*Ack, error) {
	cl := call{op: opSubmit, method: http.MethodPost, path: "/v1/messages", body: envelope, repeat: unsent}
	var e struct {
		Key string `json:"idempotency_key"`
	}
	if json.Unmarshal(envelope, &e) == nil && e.Key != "" {
		cl.repeat = always
	}
	a, err := c.do(ctx, cl)
	if err != nil {
		return nil, err
	}
	ack, err := ma2h.ParseSubmitAck(a.body)
	if err != nil {
		return nil, unreadable(opSubmit, err)
	}
	return &Ack{SubmitAck: *ack, Warnings: a.header.Values("Beckon-Warning")}, nil
}

// Get reads a message.
func (c *Client) Get(ctx context.Context, id string, o ReadOptions) (*Message, error) {
	cl, err := readCall(opRead, id, o)
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx, cl)
	if err != nil {
		return nil, err
	}
	return readMessage(opRead, a)
}

// Wait returns the message once it is terminal. When ctx ends first, the error
// is [ErrStillOpen], with the message as it was last seen; or, if the hub was
// never reached, the error of the last try. A refusal ends it at once.
func (c *Client) Wait(ctx context.Context, id string) (*Message, error) {
	var last *Message
	var failed error
	for try := 0; ; {
		cl, err := readCall(opWait, id, ReadOptions{Wait: pollHold})
		if err != nil {
			return nil, err
		}
		began := time.Now()
		a, err := c.once(ctx, cl)
		if err == nil {
			if last, err = readMessage(opWait, a); err != nil {
				return nil, err
			}
			if last.Status.Terminal() {
				return last, nil
			}
			failed, try = nil, 0
			// A hub that shuts down answers at once; don't rush back.
			if time.Since(began) > time.Second {
				continue
			}
		} else if ctx.Err() == nil {
			if !retryable(err, always) {
				return last, err
			}
			failed = err
		}
		try++
		if ctx.Err() == nil {
			pause := pauseFor(err, try)
			if err != nil {
				c.log.InfoContext(ctx, "the hub does not answer; the wait goes on", "try", try, "pause", pause, "err", err)
			}
			if sleep(ctx, pause) {
				continue
			}
		}
		if last == nil && failed != nil {
			return nil, failed
		}
		return last, fmt.Errorf("%s: %s is %w", opWait, id, ErrStillOpen)
	}
}

// Cancel withdraws one's own message; again is the same. When something else
// ended it first, the error is an [*Error] with the Resolution.
func (c *Client) Cancel(ctx context.Context, id string) (ma2h.Resolved, error) {
	return c.resolved(ctx, call{op: opCancel, method: http.MethodPost, path: messagePath(id) + "/cancel"}, id)
}

// Resolve answers a message as an agent that may. It is not sent again when the
// hub may have taken it, since a second one could not tell its own answer from
// somebody else's.
func (c *Client) Resolve(ctx context.Context, id string, r ma2h.ResolveRequest) (ma2h.Resolved, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return ma2h.Resolved{}, &UsageError{Msg: "the answer is not valid JSON"}
	}
	return c.resolved(ctx, call{
		op: opResolve, method: http.MethodPost, path: messagePath(id) + "/resolve", body: body, repeat: unsent,
	}, id)
}

func (c *Client) resolved(ctx context.Context, cl call, id string) (ma2h.Resolved, error) {
	var out ma2h.Resolved
	if id == "" {
		return out, errNoID
	}
	return out, c.json(ctx, cl, &out)
}

// Ack tells people that the agent has the answer to a message, with a note for
// them or "" (spec §14.3). The first ack counts, and every later one returns it.
func (c *Client) Ack(ctx context.Context, id, note string) (*ma2h.Ack, error) {
	if id == "" {
		return nil, errNoID
	}
	body, err := json.Marshal(struct {
		Note string `json:"note,omitzero"`
	}{note})
	if err != nil {
		return nil, errNote
	}
	a, err := c.do(ctx, call{op: opAck, method: http.MethodPost, path: messagePath(id) + "/ack", body: body})
	if err != nil {
		return nil, err
	}
	ack, err := ma2h.ParseAck(a.body)
	if err != nil {
		return nil, unreadable(opAck, err)
	}
	return ack, nil
}

// Presence says when an agent was last about (spec §15.3). Of an agent that is
// not the credential's to ask about the state is "unknown".
func (c *Client) Presence(ctx context.Context, agentID string) (*ma2h.Presence, error) {
	if agentID == "" {
		return nil, &UsageError{Msg: "the agent's id is missing"}
	}
	a, err := c.do(ctx, call{op: opPresence, method: http.MethodGet, path: "/v1/agents/" + escapeID(agentID) + "/presence"})
	if err != nil {
		return nil, err
	}
	p, err := ma2h.ParsePresence(a.body)
	if err != nil {
		return nil, unreadable(opPresence, err)
	}
	return p, nil
}

// List reads one page of one's own messages.
func (c *Client) List(ctx context.Context, q Query) (*Listing, error) {
	out := &Listing{}
	return out, c.json(ctx, call{op: opList, method: http.MethodGet, path: "/v1/messages", query: q.values()}, out)
}

// json makes a call and reads its answer into out.
func (c *Client) json(ctx context.Context, cl call, out any) error {
	a, err := c.do(ctx, cl)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return unreadable(cl.op, err)
	}
	return nil
}

// unreadable says that a 2xx was not what a hub sends. Err may quote content,
// so it is left out.
func unreadable(op string, _ error) error {
	return fmt.Errorf("%s: the answer is not that of a hub; is the URL right?", op)
}

var (
	errNoID = &UsageError{Msg: "the message id is missing"}
	errNote = &UsageError{Msg: "the note must be valid UTF-8"}
)

func readCall(op, id string, o ReadOptions) (call, error) {
	if id == "" {
		return call{}, errNoID
	}
	cl := call{op: op, method: http.MethodGet, path: messagePath(id), query: url.Values{}}
	if s := min(int64(o.Wait/time.Second), int64(pollHold/time.Second)); s > 0 {
		cl.wait = time.Duration(s) * time.Second
		cl.query.Set("wait", strconv.FormatInt(s, 10))
	}
	if !o.Since.IsZero() {
		cl.query.Set("since", o.Since.UTC().Format(time.RFC3339Nano))
	}
	if o.Beckon {
		cl.query.Set("include", "beckon")
	}
	return cl, nil
}

func readMessage(op string, a *answer) (*Message, error) {
	if a.status == http.StatusNotModified {
		return nil, ErrUnchanged
	}
	m := &Message{Body: a.body}
	if err := json.Unmarshal(a.body, m); err != nil {
		return nil, unreadable(op, err)
	}
	if m.ID == "" || m.Status == "" {
		return nil, unreadable(op, errors.New("no id or status"))
	}
	return m, nil
}

func messagePath(id string) string { return "/v1/messages/" + escapeID(id) }

// escapeID escapes an id; "." and ".." would otherwise be taken out of the path
// on the way.
func escapeID(id string) string {
	e := url.PathEscape(id)
	if strings.Trim(e, ".") == "" {
		e = strings.ReplaceAll(e, ".", "%2E")
	}
	return e
}

func (q Query) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("agent", q.Agent)
	set("status", string(q.Status))
	set("type", string(q.Type))
	set("cursor", q.Cursor)
	if q.Limit > 0 {
		set("limit", strconv.Itoa(q.Limit))
	}
	return v
}
