package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// How the inbox is drained (spec §8.7); discovery says so.
const (
	MaxBatch          = 32
	VisibilityTimeout = 60 * time.Second // how long what was given out stays hidden unless it is acknowledged
	maxAckIDs         = 1000
)

// InboxEntry is one directive as an agent takes it out of its inbox.
type InboxEntry struct {
	Directive jsontext.Value `json:"directive"`
	Signature string         `json:"signature"` // with the name of the header in front
}

// Inbox gives out what people wrote to the agent, the oldest first, at most
// limit; it holds until there is something, wait has passed or ctx ends. Each
// entry is signed anew (spec §9.7), and comes again unless it is acknowledged
// within [VisibilityTimeout].
func (h *Hub) Inbox(ctx context.Context, agent *Agent, limit int, wait time.Duration) ([]InboxEntry, error) {
	h.seen(ctx, agent.ID)
	deadline := time.Now().Add(wait)
	for {
		// Subscribe before looking: what comes in between is not missed.
		woken, unsubscribe := h.notifier.Subscribe(inboxTopic(agent.ID))
		entries, next, err := h.drain(ctx, agent, limit)
		if err != nil || len(entries) > 0 || !time.Now().Before(deadline) || ctx.Err() != nil {
			unsubscribe()
			return entries, err
		}
		// What is hidden comes again while we wait.
		hold := time.Until(deadline)
		if !next.IsZero() {
			hold = max(min(hold, time.Until(next)), time.Millisecond)
		}
		park(ctx, woken, hold)
		unsubscribe()
	}
}

// drain gives out what there is now, or says when there will be something.
func (h *Hub) drain(ctx context.Context, agent *Agent, limit int) (entries []InboxEntry, next time.Time, err error) {
	at := now()
	next, some, err := h.store.NextDirective(ctx, agent.ID, at)
	if ctx.Err() != nil {
		return nil, next, nil // whoever asked has left, or the hub stops: nothing is given out
	}
	if err != nil || !some || next.After(at) {
		return nil, next, err
	}
	if agent.InboxKey.IsZero() {
		return nil, next, &Error{
			Code: ma2h.CodeUnavailable, Op: "inbox", RetryAfter: time.Minute,
			Msg: "no key signs what is in this inbox; the operator sets agents." + agent.ID + ".sign",
		}
	}
	list, err := h.store.TakeDirectives(ctx, agent.ID, at, at.Add(VisibilityTimeout), min(max(limit, 1), MaxBatch))
	if err != nil {
		return nil, next, err
	}
	key := ma2h.SigningKey{Secret: []byte(agent.InboxKey.Reveal())}
	for i := range list {
		signature, err := ma2h.SignDirective(key, list[i].Raw, time.Now(), ma2h.NewJTI())
		if err != nil {
			return nil, next, fmt.Errorf("inbox of %s: %s: %w", agent.ID, list[i].ID, err)
		}
		entries = append(entries, InboxEntry{Directive: list[i].Raw, Signature: signature})
		h.notifier.Wake(ListTopic(list[i].Person))
	}
	return entries, next, nil
}

// DirectiveAck says that an agent is done with a directive. The store refuses it
// with [ErrStale] when the agent never got it, or it is over.
type DirectiveAck struct {
	ID   string
	Note string
}

// InboxAck takes what the agent is done with out of its inbox for good (spec
// §8.7), and returns how many those were. What is not there, not its own, not
// given out yet or over is passed over.
func (h *Hub) InboxAck(ctx context.Context, agent *Agent, raw []byte) (int, error) {
	ids, note, err := readInboxAck(raw)
	if err != nil {
		return 0, err
	}
	// Those about one message are one change, which its history has.
	abouts := []string{""}
	byAbout := map[string][]string{}
	for _, id := range ids {
		v, err := h.store.Directive(ctx, agent.ID, id)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return 0, err
		}
		if !slices.Contains(abouts, v.About) {
			abouts = append(abouts, v.About)
		}
		byAbout[v.About] = append(byAbout[v.About], id)
	}
	n := 0
	for _, about := range abouts {
		if byAbout[about] == nil {
			continue
		}
		k, err := h.ackDirectives(ctx, agent, about, byAbout[about], note)
		if err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

// ackDirectives acknowledges directives about one message, or about none.
func (h *Hub) ackDirectives(ctx context.Context, agent *Agent, about string, ids []string, note string) (int, error) {
	var acked []Directive
	err := ErrNotFound
	if about != "" {
		err = h.decide(ctx, "ack inbox", about, func(s *Snapshot) (*Change, error) {
			c := &Change{MessageID: about, At: now(), Expect: s.Message.Version}
			var err error
			if acked, err = h.ackable(ctx, agent, ids, note, c); err != nil || len(acked) == 0 {
				return nil, err
			}
			for i := range acked {
				content := map[string]any{"actor": agent.Actor(), "directive": acked[i].ID}
				if note != "" && !secretive(s.Message.Envelope) {
					content["note"] = note
				}
				if err := s.Message.record(c, "directive_acknowledged", content); err != nil {
					return nil, err
				}
			}
			c.Patch = PatchOf(s.Message)
			return c, nil
		})
	}
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrGone) { // nothing has a history of it
		err = ErrStale
		for i := 0; i < maxDecisions && errors.Is(err, ErrStale); i++ {
			c := &Change{At: now()}
			if acked, err = h.ackable(ctx, agent, ids, note, c); err != nil || len(acked) == 0 {
				break
			}
			err = h.apply(ctx, c)
		}
	}
	if err != nil {
		return 0, err
	}
	for i := range acked {
		h.notifier.Wake(ListTopic(acked[i].Person))
	}
	return len(acked), nil
}

// ackable adds to c the acknowledgement of what may be acknowledged now.
func (h *Hub) ackable(ctx context.Context, agent *Agent, ids []string, note string, c *Change) (out []Directive, err error) {
	c.DirectiveAcks = nil
	for _, id := range ids {
		v, err := h.store.Directive(ctx, agent.ID, id)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case v.State(c.At) == DirectiveDelivered:
			out = append(out, *v)
			c.DirectiveAcks = append(c.DirectiveAcks, DirectiveAck{ID: id, Note: note})
		}
	}
	return out, nil
}

// readInboxAck reads {"ids": [...], "note"?}.
func readInboxAck(raw []byte) (ids []string, note string, err error) {
	var w struct {
		IDs  jsontext.Value `json:"ids"`
		Note jsontext.Value `json:"note"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, "", &Error{Code: ma2h.CodeValidation, Msg: `the body must be a JSON object such as {"ids": ["dir_…"]}`, Err: err}
	}
	if w.IDs.Kind() != '[' || json.Unmarshal(w.IDs, &ids) != nil {
		return nil, "", refuse(ma2h.CodeValidation, "ids", "must be a list of the ids of directives")
	}
	if len(ids) > maxAckIDs {
		return nil, "", refuse(ma2h.CodeInvalidField, "ids", "are %d, the limit is %d", len(ids), maxAckIDs)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	note, err = readNote(w.Note)
	return ids, note, err
}
