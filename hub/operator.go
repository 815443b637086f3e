package hub

import (
	"context"
	"errors"
	"fmt"

	"beckon/hub/ma2h"
)

// List lists messages; set q.AgentID for an agent.
func (h *Hub) List(ctx context.Context, q ListQuery) ([]*Message, error) {
	return h.store.ListMessages(ctx, q)
}

// Inspect reads a message whole, for an operator.
func (h *Hub) Inspect(ctx context.Context, id string) (*Snapshot, error) { return h.inspect(ctx, id) }

func (h *Hub) inspect(ctx context.Context, id string) (*Snapshot, error) {
	s, err := h.store.Snapshot(ctx, id)
	return s, operatorError(id, err)
}

func operatorError(id string, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return refuse(ma2h.CodeNotFound, "", "no message %q", id)
	case errors.Is(err, ErrGone):
		return gone(id)
	}
	return err
}

// Deliveries lists deliveries, for an operator.
func (h *Hub) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	return h.store.ListDeliveries(ctx, q)
}

// Attempts reads the attempts of a message's deliveries, for an operator.
func (h *Hub) Attempts(ctx context.Context, id string) ([]Attempt, error) {
	return h.store.Attempts(ctx, id)
}

// Events reads a message's history for an operator. A history whose chain does
// not verify comes with an error that is no *Error.
func (h *Hub) Events(ctx context.Context, id string) ([]Event, error) {
	for range maxDecisions {
		before, err := h.store.Message(ctx, id)
		if err != nil {
			return nil, operatorError(id, err)
		}
		events, err := h.store.Events(ctx, id)
		if err != nil {
			return nil, err
		}
		after, err := h.store.Message(ctx, id)
		if err != nil {
			return nil, operatorError(id, err)
		}
		if before.Version == after.Version { // nothing was added in between
			return events, VerifyChain(events, after.Head)
		}
	}
	return nil, &Error{Code: ma2h.CodeUnavailable, Op: "events", Msg: "the message is changing too fast; try again"}
}

// maxInbound bounds how much of what came in is read at once.
const maxInbound = 20

// Inbound reads what came in about a message as it came, such as mails, for an
// operator: the first of it.
func (h *Hub) Inbound(ctx context.Context, id string) ([]Inbound, error) {
	if _, err := h.inspect(ctx, id); err != nil {
		return nil, err
	}
	return h.store.Inbound(ctx, id, maxInbound)
}

// Retry makes a dead or waiting delivery due now, for an operator.
func (h *Hub) Retry(ctx context.Context, operator, id string, seq int) (*Delivery, error) {
	var out *Delivery
	err := h.decide(ctx, "retry", id, func(s *Snapshot) (*Change, error) {
		d := deliveryBySeq(s, seq)
		if d == nil {
			return nil, refuse(ma2h.CodeNotFound, "", "message %s has no delivery %d", id, seq)
		}
		if d.State != Dead && d.State != Pending {
			return nil, refuse(ma2h.CodeInvalidField, "", "delivery %d is %s; only a dead or waiting one can be retried", seq, d.State)
		}
		if d.Kind == KindExpire && d.State == Pending {
			return nil, refuse(ma2h.CodeInvalidField, "", "delivery %d is the message's expiry; it runs by itself", seq)
		}
		if d.Kind == KindPost && !d.MaybeSent && s.Message.Envelope.Type != ma2h.Notify && s.Message.Status != ma2h.Open {
			return nil, refuse(ma2h.CodeInvalidField, "", "the message is %s; there is nothing left to post", s.Message.Status)
		}
		c := &Change{MessageID: id, At: now(), Expect: s.Message.Version, Retry: []int{seq}}
		err := s.Message.record(c, "retried", map[string]any{"operator": operator, "target": d.Target.String(), "kind": d.Kind})
		c.Patch = PatchOf(s.Message)
		d.State, d.Due = Pending, c.At
		out = d
		return c, err
	})
	if err == nil {
		h.outbox.Due(out.Lane, out.Due)
	}
	return out, operatorError(id, err)
}

// Repost posts a message again where it has no copy: to the targets whose post
// is dead or was dropped; with all, to every target that has no post waiting.
// It returns how many posts that makes.
func (h *Hub) Repost(ctx context.Context, operator, id string, all bool) (int, error) {
	n := 0
	err := h.decide(ctx, "repost", id, func(s *Snapshot) (*Change, error) {
		m := s.Message
		n = 0
		if m.Envelope.Type != ma2h.Notify && m.Status != ma2h.Open {
			return nil, refuse(ma2h.CodeInvalidField, "", "the message is %s; there is nothing left to post", m.Status)
		}
		c := &Change{MessageID: id, At: now(), Expect: m.Version}
		var names []string
		for _, t := range m.Plan.Targets {
			last := lastPost(s, t.Target)
			if last != nil && (last.State == Pending || last.State == Running || (last.State == Done && !all)) {
				continue
			}
			d := m.newDelivery(KindPost, t.Target, t.Entry, c.At, c.At)
			if last != nil {
				d.Generation = last.Generation + 1
			}
			c.Deliveries = append(c.Deliveries, d)
			names = append(names, t.String())
		}
		if n = len(names); n == 0 {
			return nil, nil
		}
		err := m.record(c, "reposted", map[string]any{"operator": operator, "targets": names})
		c.Patch = PatchOf(m)
		return c, err
	})
	if err != nil {
		return 0, fmt.Errorf("repost %s: %w", id, operatorError(id, err))
	}
	return n, nil
}

func lastPost(s *Snapshot, t Target) *Delivery {
	var last *Delivery
	for i := range s.Deliveries {
		if d := &s.Deliveries[i]; d.Kind == KindPost && d.Target == t {
			last = d
		}
	}
	return last
}
