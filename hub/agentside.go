package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	"beckon/hub/ma2h"
)

// find reads the message that an agent knows by id: the hub's id, or at 0.1 its
// own. To anybody but the submitter no id exists (spec §9.1), so that all of
// CodeNotFound is the same to look at.
func (h *Hub) find(ctx context.Context, agentID, id string) (*Message, error) {
	m, err := h.store.Own(ctx, agentID, id)
	switch {
	case errors.Is(err, ErrGone):
		return nil, gone(id)
	case !errors.Is(err, ErrNotFound):
		return m, err
	}
	hubID, err := h.store.FindAlias(ctx, agentID, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, refuse(ma2h.CodeNotFound, "", "no message %q", id)
	case err != nil:
		return nil, err
	}
	m, err = h.store.Message(ctx, hubID)
	if errors.Is(err, ErrGone) {
		return nil, gone(id)
	}
	return m, err
}

func gone(id string) *Error {
	return refuse(ma2h.CodeGone, "", "message %q was removed when its retention ended", id)
}

// Get reads a message for its submitter: CodeNotFound to anybody else, CodeGone
// from a tombstone (spec §8.2).
func (h *Hub) Get(ctx context.Context, agentID, id string) (*Message, error) {
	return h.find(ctx, agentID, id)
}

// Wait is Get that holds until the message is terminal, d has passed or ctx
// ends, and then returns its current state. While it waits it holds no
// database connection and nothing of the message. Whoever calls it hands the
// message to the agent at once: an answer that comes meanwhile counts as
// delivered.
func (h *Hub) Wait(ctx context.Context, agentID, id string, d time.Duration) (*Message, error) {
	if d > 0 {
		h.seen(ctx, agentID)
	}
	deadline := time.Now().Add(d)
	hubID := id
	for {
		// Subscribe before reading: a change in between is not missed.
		woken, unsubscribe := h.notifier.Subscribe(hubID)
		m, err := h.find(ctx, agentID, id)
		if err != nil || m.Status != ma2h.Open || !time.Now().Before(deadline) || ctx.Err() != nil {
			unsubscribe()
			return m, err
		}
		if m.ID != hubID { // waited under the agent's own name
			hubID = m.ID
			unsubscribe()
			continue
		}
		m = nil
		h.polls.park(hubID)
		park(ctx, woken, time.Until(deadline))
		h.polls.leave(hubID)
		unsubscribe()
		if ctx.Err() != nil {
			return h.find(context.WithoutCancel(ctx), agentID, id)
		}
	}
}

func park(ctx context.Context, woken <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-woken:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Body renders the body of GET /v1/messages/{id} for the submitter (spec §8.2);
// with extra, the "beckon" object of deliveries and warnings travels along. That
// the agent has got its answer is recorded before it is rendered, so call it
// only for somebody who is still there.
func (h *Hub) Body(ctx context.Context, m *Message, extra bool) ([]byte, error) {
	m = h.taken(ctx, m)
	delivery, err := deliveryOf(m)
	if err != nil {
		return nil, err
	}
	var extras []byte
	if extra {
		s, err := h.store.Snapshot(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		if extras, err = json.Marshal(extrasOf(s)); err != nil {
			return nil, err
		}
	}
	return ma2h.AppendMessage(nil, m.Envelope, m.VisibleID(), m.Status, m.Response, delivery, extras), nil
}

// Extras are our own addition to a message's body, on request only: target
// names and states, no addresses.
type Extras struct {
	Deliveries  []ExtraDelivery `json:"deliveries"`
	Warnings    []string        `json:"warnings"`
	Unreachable bool            `json:"unreachable"` // no target is left to try
}

// ExtraDelivery is one delivery as its agent may see it.
type ExtraDelivery struct {
	Target   string        `json:"target"`
	Kind     Kind          `json:"kind"`
	State    DeliveryState `json:"state"`
	Attempts int           `json:"attempts"`
	Due      string        `json:"due,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Error    string        `json:"error,omitempty"`
}

func extrasOf(s *Snapshot) Extras {
	x := Extras{Deliveries: []ExtraDelivery{}, Warnings: s.Message.Plan.Warnings, Unreachable: unreachable(s)}
	if x.Warnings == nil {
		x.Warnings = []string{}
	}
	for i := range s.Deliveries {
		d := &s.Deliveries[i]
		if d.Kind == KindExpire {
			continue
		}
		e := ExtraDelivery{Target: d.Target.String(), Kind: d.Kind, State: d.State, Attempts: d.Attempts, Error: withoutAddresses(d.LastError)}
		if d.LastCode != codeOK {
			e.Reason = d.LastCode
		}
		if d.State == Pending {
			e.Due = ma2h.FormatTime(d.Due)
		}
		x.Deliveries = append(x.Deliveries, e)
	}
	return x
}

// address is what looks like an e-mail address: a server's refusal likes to
// repeat it.
var address = regexp.MustCompile(`[^\s<>"'(),;:]+@[^\s<>"'(),;]+`)

// withoutAddresses is a channel's error as an agent may read it.
func withoutAddresses(s string) string { return address.ReplaceAllString(s, Mask) }

// Resolve is an agent's answer by POST /v1/messages/{id}/resolve (spec §8.8):
// the submitter's own where nobody else was named, or that of an agent on the
// list.
func (h *Hub) Resolve(ctx context.Context, agent *Agent, id string, raw []byte) (ma2h.Resolved, error) {
	m, err := h.findToResolve(ctx, agent, id)
	if err != nil {
		return ma2h.Resolved{}, err
	}
	r, err := ma2h.ParseResolveRequest(raw)
	if err != nil {
		return ma2h.Resolved{}, err
	}
	o, err := h.answer(ctx, Answer{
		MessageID: m.ID, Actor: agent.Actor(), Verb: Verb(r.Resolution),
		Value: r.Value, Comment: r.Comment, Checklist: r.Checklist, Receipt: Receipt{Channel: "api"},
	})
	if err != nil {
		return ma2h.Resolved{}, err
	}
	return resolved(m, id, o)
}

// findToResolve hides a message from every agent that neither sent it nor may
// resolve it: nothing of it is read for one that was not named, so that it takes
// no longer than one that is not there.
func (h *Hub) findToResolve(ctx context.Context, agent *Agent, id string) (*Message, error) {
	m, err := h.find(ctx, agent.ID, id)
	if CodeOf(err) != ma2h.CodeNotFound {
		return m, err
	}
	named, oerr := h.store.InAudience(ctx, agent.Actor(), id)
	if oerr != nil || !named {
		return nil, cmp.Or(oerr, err)
	}
	other, oerr := h.store.Message(ctx, id)
	if oerr != nil || !h.Directory().mayResolve(other.Envelope, &other.Plan, agent.Actor()) {
		return nil, err
	}
	return other, nil
}

// resolved turns an outcome into what spec §8.8 answers.
func resolved(m *Message, id string, o Outcome) (ma2h.Resolved, error) {
	field := func() string {
		if len(o.Fields) == 0 {
			return ""
		}
		f := o.Fields[0].Field
		if f != "value" && f != "comment" && f != "checklist" {
			f = "value." + f
		}
		return f
	}
	switch {
	case o.Kind == Accepted:
		return ma2h.Resolved{ID: id, Status: o.Status, ResolutionID: o.ResolutionID}, nil
	case o.Kind == AlreadyResolved:
		return ma2h.Resolved{}, tooLate(m, o.Status)
	}
	switch o.Reason {
	case ReasonInvalid:
		return ma2h.Resolved{}, refuse(ma2h.CodeInvalidField, field(), "%s", o.Fields[0].Msg)
	case ReasonNotAllowed:
		return ma2h.Resolved{}, refuse(ma2h.CodeNotAuthorized, "", "this agent is not among those who may resolve the message")
	case ReasonNotify:
		return ma2h.Resolved{}, refuse(ma2h.CodeInvalidField, "resolution", "a notify takes no answer")
	case ReasonWrongVerb:
		want := "answered or declined"
		if m.Envelope.Type == ma2h.Task {
			want = "completed or dismissed"
		}
		return ma2h.Resolved{}, refuse(ma2h.CodeInvalidField, "resolution", "must be %s for this %s", want, m.Envelope.Type)
	case ReasonNoAnswer:
		return ma2h.Resolved{}, refuse(ma2h.CodeInvalidField, "resolution", "answered is ruled out by permissions.allow_respond")
	case ReasonNoDecline:
		return ma2h.Resolved{}, refuse(ma2h.CodeInvalidField, "resolution", "declined is ruled out by permissions.allow_ignore")
	}
	return ma2h.Resolved{}, refuse(ma2h.CodeNotFound, "", "no message %q", id)
}

// tooLate is the 409 that says what won.
func tooLate(m *Message, status ma2h.Status) *Error {
	late := *m
	late.Status = status
	e := refuse(ma2h.CodeAlreadyTerminal, "", "the message is %s already", status)
	e.Message = &late
	return e
}

// Cancel withdraws the agent's own message (spec §8.4). To cancel again is the
// same. From 0.2 only asks can be cancelled.
func (h *Hub) Cancel(ctx context.Context, agent *Agent, id string) (ma2h.Resolved, error) {
	m, err := h.find(ctx, agent.ID, id)
	if err != nil {
		return ma2h.Resolved{}, err
	}
	if m.Envelope.Minor >= 2 && m.Envelope.Type != ma2h.Ask {
		return ma2h.Resolved{}, refuse(ma2h.CodeValidation, "", "only an ask can be cancelled; this message is a %s", m.Envelope.Type)
	}
	return h.cancel(ctx, m.ID, id, agent.Actor(), "api", map[string]any{"actor": agent.Actor()})
}

// Withdraw cancels an open ask for an operator; the actor is "system:operator".
func (h *Hub) Withdraw(ctx context.Context, operator, id string) (ma2h.Resolved, error) {
	m, err := h.inspect(ctx, id)
	if err != nil {
		return ma2h.Resolved{}, err
	}
	if m.Message.Envelope.Type != ma2h.Ask {
		return ma2h.Resolved{}, refuse(ma2h.CodeValidation, "", "only an ask can be cancelled; this message is a %s", m.Message.Envelope.Type)
	}
	return h.cancel(ctx, id, id, operatorActor, "admin", map[string]any{"actor": operatorActor, "operator": operator})
}

func (h *Hub) cancel(ctx context.Context, hubID, shown, actor, via string, content map[string]any) (ma2h.Resolved, error) {
	var out ma2h.Resolved
	var late error
	err := h.decide(ctx, "cancel", hubID, func(s *Snapshot) (*Change, error) {
		m := s.Message
		late = nil
		c := &Change{MessageID: m.ID, At: now(), Expect: m.Version}
		if m.Status == ma2h.Open && !m.ExpiresAt.IsZero() && c.At.After(m.ExpiresAt) {
			if err := h.expire(h.Directory(), s, c); err != nil {
				return nil, err
			}
			late = tooLate(m, m.Status)
			return c, nil
		}
		switch {
		case m.Status == ma2h.Cancelled:
			out = ma2h.Resolved{ID: shown, Status: m.Status}
			return nil, nil
		case m.Status != ma2h.Open:
			return nil, tooLate(m, m.Status)
		}
		detail := &ma2h.Detail{Actor: actor, ResolvedAt: ma2h.FormatTime(c.At)}
		if err := h.resolve(s, c, ma2h.Cancelled, detail, false, via, content); err != nil {
			return nil, err
		}
		out = ma2h.Resolved{ID: shown, Status: m.Status}
		return c, nil
	})
	if err == nil {
		err = late
	}
	return out, err
}
