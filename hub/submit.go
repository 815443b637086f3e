package hub

import (
	"context"
	"errors"
	"strings"
	"time"

	"beckon/hub/ma2h"
)

// Submitted is what Submit did.
type Submitted struct {
	Message  *Message
	Ack      ma2h.SubmitAck
	Warnings []string // for the Beckon-Warning header
	Replayed bool     // the original ack of an earlier submit
}

// Submit takes an envelope as received from an authenticated agent and returns
// once it is stored (spec §8.1). Errors are [*Error] or [*ma2h.Error].
//
// The protocol answers a replay before it judges shape, limits and expiry. Most
// submits are not replays, so the hub looks for an earlier one only when
// something is wrong with this one, the key being taken among it; what an agent
// sees is the same.
func (h *Hub) Submit(ctx context.Context, agent *Agent, raw []byte) (*Submitted, error) {
	d := h.Directory()
	if err := d.checkSize(raw); err != nil {
		return nil, err
	}
	s, err := h.submitNew(ctx, d, agent, raw)
	if err == nil {
		return s, nil
	}
	earlier, rerr := h.replay(ctx, d, agent, raw)
	switch {
	case rerr != nil:
		return nil, rerr
	case earlier != nil:
		return earlier, nil
	}
	return nil, err
}

// submitNew stores a message that was not sent before.
func (h *Hub) submitNew(ctx context.Context, d *Directory, agent *Agent, raw []byte) (*Submitted, error) {
	at := now()
	m, err := h.read(d, agent, raw, at)
	if err != nil {
		return nil, err
	}
	if err := h.checkAlias(ctx, m); err != nil {
		return nil, err
	}
	e := m.Envelope
	if e.Type != ma2h.Notify {
		ok, err := h.quota.take(ctx, agent.ID, d.Limits.OpenMessages)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &Error{
				Code: ma2h.CodeRateLimited, Msg: "too many open messages (rate_limit.inbox_depth); cancel some or wait for answers",
				RetryAfter: time.Minute,
			}
		}
	}
	c, err := d.insertion(m, at)
	if err == nil {
		err = h.apply(ctx, c)
	}
	if err != nil {
		if e.Type != ma2h.Notify {
			h.quota.release(agent.ID)
		}
		return nil, err
	}
	h.observer.Submitted(e.Type)
	h.committed(m, m.Status, c)
	return h.submitted(d, m, false), nil
}

// checkAlias refuses an id of the agent's own that the hub has given to another
// message of it: two messages would answer to one name.
func (h *Hub) checkAlias(ctx context.Context, m *Message) error {
	if !strings.HasPrefix(m.Alias, messagePrefix) {
		return nil
	}
	other, err := h.store.Message(ctx, m.Alias)
	owner := ""
	switch {
	case err == nil:
		owner = other.AgentID
	case errors.Is(err, ErrGone):
		owner, err = h.store.TombstoneAgent(ctx, m.Alias)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if owner == m.AgentID {
		return refuse(ma2h.CodeIdempotencyConflict, "id", "%q is the hub's own id of an earlier message; take another, or leave it out", m.Alias)
	}
	return nil
}

// read judges an envelope as received, and makes the message that it would be
// if it was taken at that time.
func (d *Directory) read(agent *Agent, raw []byte, at time.Time) (*Message, error) {
	e, err := ma2h.Parse(raw)
	if err != nil {
		return nil, err
	}
	if e.Agent.ID != "" && e.Agent.ID != agent.ID {
		return nil, mismatch(e.Agent.ID, agent)
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if err := d.checkEnvelope(agent, e, at); err != nil {
		return nil, err
	}
	m := &Message{
		ID: NewMessageID(at), AgentID: agent.ID, Envelope: e, Raw: raw,
		Status: ma2h.Open, Version: 1, AcceptedAt: at, ExpiresAt: e.Expires, Plan: d.Plan(e),
	}
	if e.Minor <= 1 {
		m.Alias = e.ID
	}
	if e.Type == ma2h.Notify {
		m.Status, m.ResolvedAt = ma2h.Delivered, at // terminal on acceptance (spec §5.1)
	}
	return m, nil
}

// insertion is the change that stores a new message with everything that is to
// be done about it.
func (d *Directory) insertion(m *Message, at time.Time) (*Change, error) {
	c := &Change{MessageID: m.ID, At: at, Insert: m, Audience: append(d.audience(m.Envelope, &m.Plan), d.agentResolvers(m)...)}
	for _, t := range m.Plan.Targets {
		c.Deliveries = append(c.Deliveries, m.newDelivery(KindPost, t.Target, t.Entry, at, at.Add(t.After)))
	}
	if m.Status == ma2h.Open && !m.ExpiresAt.IsZero() {
		c.Deliveries = append(c.Deliveries, m.newDelivery(KindExpire, Target{}, -1, at, expiryDue(m)))
	}
	content := map[string]any{
		"agent": m.AgentID, "run": m.Envelope.Agent.RunID, "type": m.Envelope.Type, "version": m.Envelope.Version,
		"route": m.Plan.Route, "targets": targetNames(m.Plan.Targets),
	}
	if ask := d.resolvers(m.Envelope, &m.Plan); len(ask) > 0 {
		content["asked"] = ask
	}
	if len(m.Plan.Warnings) > 0 {
		content["warnings"] = m.Plan.Warnings
	}
	return c, m.record(c, "submitted", content)
}

func targetNames(targets []Planned) []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.String()
	}
	return names
}

// newDelivery takes the message's next delivery number.
func (m *Message) newDelivery(k Kind, t Target, entry int, at, due time.Time) Delivery {
	lane := t.Channel
	switch k {
	case KindExpire:
		lane = LaneClock
	case KindCallback:
		lane = PushLanes + t.Place
	}
	d := Delivery{
		MessageID: m.ID, Seq: m.NextDelivery, Kind: k, Lane: lane, Target: t, Entry: entry, Posting: -1,
		State: Pending, Due: due, CreatedAt: at,
	}
	m.NextDelivery++
	return d
}

// expiryDue is when an expiry may run: now > expires_at must hold, and the
// clock reads whole milliseconds. It stays within the years that RFC 3339 has,
// since some clients say "never" with the last moment of 9999.
func expiryDue(m *Message) time.Time {
	due := m.ExpiresAt.Truncate(time.Millisecond).Add(time.Millisecond)
	if due.Year() > 9999 {
		return m.ExpiresAt
	}
	return due
}

// record appends an event to the change and moves the message's head.
func (m *Message) record(c *Change, kind string, content any) error {
	e, head, err := NewEvent(m.Head, m.ID, kind, c.At, content)
	if err != nil {
		return err
	}
	m.Head = head
	c.Events = append(c.Events, e)
	return nil
}

func (d *Directory) checkSize(raw []byte) error {
	if len(raw) > d.Limits.Envelope {
		return refuse(ma2h.CodeInvalidField, "", "the envelope has more than %d bytes (max_envelope_bytes)", d.Limits.Envelope)
	}
	return nil
}

// checkEnvelope judges what only this hub can: the clock, its limits, and what
// it can do for the agent.
func (d *Directory) checkEnvelope(agent *Agent, e *ma2h.Envelope, at time.Time) error {
	if e.ExpiresAt != "" && !e.Expires.After(at) { // year 1 is Go's zero time
		return refuse(ma2h.CodeInvalidField, "expires_at", "is not later than now (%s)", ma2h.FormatTime(at))
	}
	if err := d.Limits.check(e); err != nil {
		return err
	}
	if _, err := d.pushOf(agent, e); err != nil {
		return err
	}
	return checkInput(e, d.Limits)
}

func callbackOf(e *ma2h.Envelope) *ma2h.Callback {
	switch {
	case e.Request != nil:
		return e.Request.Callback
	case e.Action != nil:
		return e.Action.Callback
	}
	return nil
}

// check holds an envelope against the advertised limits (spec §8.0); over is
// 422 and says which limit it was.
func (l Limits) check(e *ma2h.Envelope) error {
	over := func(field string, have, limit int, unit, name string) error {
		return refuse(ma2h.CodeInvalidField, field, "has %d %s, the limit is %d (%s)", have, unit, limit, name)
	}
	if len(e.Body) > l.Body {
		return over("body", len(e.Body), l.Body, "bytes", "max_body_bytes")
	}
	if len(e.Context) > l.Parts {
		return over("context", len(e.Context), l.Parts, "parts", "max_context_parts")
	}
	for i := range e.Context {
		if n := partBytes(&e.Context[i]); n > l.Part {
			return over(index("context", i), n, l.Part, "bytes", "max_part_bytes")
		}
	}
	if e.Request != nil && len(e.Request.Options) > l.Options {
		return over("request.options", len(e.Request.Options), l.Options, "options", "max_options")
	}
	if e.Action != nil && len(e.Action.Checklist) > l.Options {
		return over("action.checklist", len(e.Action.Checklist), l.Options, "items", "max_options")
	}
	return nil
}

func partBytes(p *ma2h.Part) int {
	n := len(p.Data) + len(p.Metadata)
	if p.Text != nil {
		n += len(*p.Text)
	}
	if p.File != nil {
		n += len(p.File.URI) + len(p.File.Name) + len(p.File.MimeType)
	}
	return n
}

func mismatch(sent string, agent *Agent) *Error {
	return refuse(ma2h.CodeAgentMismatch, "agent.id", "the credential belongs to %q, not to %q", agent.ID, sent)
}

// replay returns the ack of an earlier submit under the same idempotency key
// or, at 0.1, the same id; nil when there is none.
func (h *Hub) replay(ctx context.Context, d *Directory, agent *Agent, raw []byte) (*Submitted, error) {
	agentID, alias, key, minor, err := ma2h.Peek(raw)
	if err != nil || agentID != agent.ID {
		return nil, nil // what is wrong with it has been said
	}
	if minor > 1 {
		alias = ""
	}
	id, byKey := "", false
	if key != "" {
		id, err = h.store.FindKey(ctx, agent.ID, key)
		byKey = err == nil
	}
	if id == "" && alias != "" && (err == nil || errors.Is(err, ErrNotFound)) {
		id, err = h.store.FindAlias(ctx, agent.ID, alias)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if id == "" {
		return nil, nil
	}
	m, err := h.store.Message(ctx, id)
	if errors.Is(err, ErrGone) {
		return nil, refuse(ma2h.CodeIdempotencyConflict, "id", "%q was used before, by a message that is gone", alias)
	}
	if err != nil {
		return nil, err
	}
	// At 0.1 a repeated key returns the first ack whatever the payload.
	if minor > 1 || !byKey {
		same, err := samePayload(m.Raw, raw)
		if err != nil {
			return nil, err
		}
		if !same {
			field := "idempotency_key"
			if !byKey {
				field = "id"
			}
			return nil, refuse(ma2h.CodeIdempotencyConflict, field,
				"was used before with another payload (message %s); resend the stored envelope unchanged, or take a new one", m.VisibleID())
		}
	}
	return h.submitted(d, m, true), nil
}

func samePayload(a, b []byte) (bool, error) {
	ha, err := ma2h.PayloadHash(a)
	if err != nil {
		return false, err
	}
	hb, err := ma2h.PayloadHash(b)
	return ha == hb, err
}

func (h *Hub) submitted(d *Directory, m *Message, replayed bool) *Submitted {
	return &Submitted{
		Message: m, Replayed: replayed, Warnings: m.Plan.Warnings,
		Ack: ma2h.SubmitAck{
			ID: m.VisibleID(), Status: m.Status,
			PollURL: d.PollURL(m.VisibleID()), ReviewURL: d.ReviewURL(m.ID),
		},
	}
}
