package hub

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"beckon/hub/ma2h"
)

// Desk returns the hub as one channel sees it.
func (h *Hub) Desk(channel string) Desk {
	return &desk{h: h, channel: channel, log: h.log.With("channel", channel)}
}

type desk struct {
	h       *Hub
	channel string
	log     *slog.Logger
}

func (k *desk) Answer(ctx context.Context, a Answer) (Outcome, error) {
	a.Receipt.Channel = k.channel
	return k.h.answer(ctx, a)
}

func (k *desk) Direct(ctx context.Context, x Direction) (DirectOutcome, error) {
	x.Receipt.Channel = k.channel
	return k.h.direct(ctx, x)
}

func (k *desk) DirectableAgents(person string) []string {
	return k.Directory().DirectableAgents(person)
}

func (k *desk) Sent(ctx context.Context, person string, q SentQuery) ([]Sent, error) {
	q.Person = person
	return k.h.sent(ctx, q)
}

func (k *desk) LastSeen(ctx context.Context, agentID string) (time.Time, error) {
	return k.h.LastSeen(ctx, agentID)
}

func (k *desk) Signal(ctx context.Context, s Signal) error {
	s.Receipt.Channel = k.channel
	return k.h.signal(ctx, s)
}

func (k *desk) List(ctx context.Context, person string, q ListQuery) ([]*Card, error) {
	d := k.h.Directory()
	reader := d.People[person]
	if reader == nil {
		return nil, refuse(ma2h.CodeNotFound, "", "%q is not in the directory", person)
	}
	q.Person, q.AgentID = person, ""
	messages, err := k.h.store.ListMessages(ctx, q)
	if err != nil {
		return nil, err
	}
	cards := make([]*Card, len(messages))
	for i, m := range messages {
		cards[i] = d.card(m, reader, Page)
	}
	return cards, nil
}

func (k *desk) Card(ctx context.Context, messageID, person string, v View) (*Card, error) {
	d, m, err := k.read(ctx, messageID, person)
	if err != nil {
		return nil, err
	}
	return d.card(m, d.People[person], v), nil
}

func (k *desk) History(ctx context.Context, messageID, person string) ([]Event, error) {
	if _, _, err := k.read(ctx, messageID, person); err != nil {
		return nil, err
	}
	return k.h.store.Events(ctx, messageID)
}

// read reads a message for a person who may look at it; for anybody else it
// does not exist.
func (k *desk) read(ctx context.Context, messageID, person string) (*Directory, *Message, error) {
	d := k.h.Directory()
	m, err := k.h.store.Message(ctx, messageID)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrGone) {
		return nil, nil, err
	}
	if err != nil || d.People[person] == nil || !d.inAudience(m, person) {
		return nil, nil, refuse(ma2h.CodeNotFound, "", "no message %q for %s", messageID, person)
	}
	return d, m, nil
}

func (k *desk) FindPosting(ctx context.Context, channel, ref string) (*Posting, error) {
	return k.h.store.FindPosting(ctx, channel, ref)
}

func (k *desk) Watch(messageID string) (<-chan struct{}, func()) {
	return k.h.notifier.Subscribe(messageID)
}

func (k *desk) LinkSenders() []string {
	var names []string
	for name, c := range *k.h.channels.Load() {
		if _, ok := c.(LinkSender); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (k *desk) SendLink(ctx context.Context, channel, person, url string, expires time.Time) error {
	sender, ok := k.h.channel(channel).(LinkSender)
	p := k.Directory().People[person]
	if !ok || p == nil {
		return ErrUnsupported
	}
	return sender.SendLink(ctx, p, url, expires)
}

func (k *desk) PersonalLink(person, messageID string, life time.Duration) string {
	if k.h.link == nil || k.Directory().People[person] == nil {
		return ""
	}
	return k.h.link(person, messageID, now().Add(life))
}

func (k *desk) State() StateStore            { return k.h.store }
func (k *desk) Directory() *Directory        { return k.h.Directory() }
func (k *desk) Keys(purpose string) [][]byte { return k.h.keys.Channel(k.channel, purpose) }
func (k *desk) Log() *slog.Logger            { return k.log }

// signalled returns the post that a signal is about: the one that it names, or
// the last one to the person in its channel. Nil when there is none.
func signalled(snap *Snapshot, s *Signal) *Delivery {
	if s.Posting >= 0 {
		return deliveryBySeq(snap, s.Posting)
	}
	for i := len(snap.Deliveries) - 1; i >= 0; i-- {
		d := &snap.Deliveries[i]
		if d.Kind == KindPost && d.Target == (Target{Channel: s.Receipt.Channel, Person: s.Person}) && s.Person != "" {
			return d
		}
	}
	return nil
}

// escalate makes the next entry that waits go at once, because the person of an
// earlier one is away.
func escalate(s *Snapshot, c *Change, entry int, person string) error {
	next := -1
	for i := range s.Deliveries {
		d := &s.Deliveries[i]
		if d.Kind == KindPost && d.State == Pending && d.Entry > entry && d.Due.After(c.At) && (next < 0 || d.Entry < next) {
			next = d.Entry
		}
	}
	if next < 0 {
		return nil
	}
	c.Advance = []int{next}
	return s.Message.record(c, "escalated", map[string]any{"person": person, "entry": next})
}

// signal records what a channel learnt about a copy. A bounce makes its post a
// dead one after all, and moves on as from any other. What is about a message
// that is not there (any more) is only ticked off, so that it does not come
// again.
func (h *Hub) signal(ctx context.Context, s Signal) error {
	unreached := false
	err := h.decide(ctx, "signal", s.MessageID, func(snap *Snapshot) (*Change, error) {
		m := snap.Message
		unreached = false
		c := &Change{MessageID: m.ID, At: now(), Expect: m.Version, Cursor: s.Receipt.Cursor}
		if s.Receipt.Key != "" {
			r := s.Receipt
			c.Receipt = &r
		}
		content := map[string]any{"via": s.Receipt.Channel, "person": s.Person, "note": s.Note}
		if err := m.record(c, string(s.Kind), content); err != nil {
			return nil, err
		}
		var err error
		switch d := signalled(snap, &s); {
		case d == nil || d.Kind != KindPost:
		case s.Kind == Bounced && d.State == Done:
			d.State = Dead
			c.Bounced = []int{d.Seq}
			unreached, err = moveOn(snap, c, d.Entry)
		case s.Kind == Away && m.Plan.OnAway && m.Status == ma2h.Open:
			err = escalate(snap, c, d.Entry, s.Person)
		}
		if err == nil {
			err = m.notify(snap, c, s.Receipt.Channel, s.Notice, nil)
		}
		c.Patch = PatchOf(m)
		return c, err
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrGone) {
		err = h.apply(ctx, &Change{At: now(), Receipt: &s.Receipt, Cursor: s.Receipt.Cursor})
	}
	if _, seen := errors.AsType[*RepeatedError](err); seen {
		return nil
	}
	if err == nil && unreached {
		h.tellUnreached(s.MessageID)
	}
	return err
}
