package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// told is what a delivery of KindTell says.
type told struct {
	Outcome *Outcome        `json:"outcome,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// notify adds a notice to a change, unless the person has had enough of them.
// The change raises the message's version: the notice takes a delivery number.
func (m *Message) notify(s *Snapshot, c *Change, channel string, n *Notice, o *Outcome) error {
	if n == nil {
		return nil
	}
	recent := 0
	for i := range s.Deliveries {
		d := &s.Deliveries[i]
		if d.Kind == KindTell && d.Target.Person == n.Person && c.At.Sub(d.CreatedAt) < 24*time.Hour {
			recent++
		}
	}
	if recent >= MaxNotices {
		return nil
	}
	data, err := json.Marshal(told{Outcome: o, Data: n.Data})
	if err != nil {
		return fmt.Errorf("notice to %s about %s: %w", n.Person, m.ID, err)
	}
	target := Target{Channel: channel, Person: n.Person}
	d := m.newDelivery(KindTell, target, -1, c.At, c.At)
	d.Data = data
	for i := range s.Postings {
		if s.Postings[i].Target == target {
			d.Posting = s.Postings[i].Seq
		}
	}
	c.Deliveries = append(c.Deliveries, d)
	if c.Patch == nil {
		c.Patch = PatchOf(m)
	}
	c.Patch.NextDelivery = m.NextDelivery
	return nil
}

// tryTell tells somebody what became of what they did.
func (h *Hub) tryTell(ctx context.Context, dir *Directory, s *Snapshot, d *Delivery) attempt {
	ch, ok := h.channel(d.Target.Channel).(Teller)
	if !ok {
		return attempt{state: Dead, code: codeNoChannel, msg: "channel " + d.Target.Channel + " is not configured"}
	}
	person := dir.People[d.Target.Person]
	if person == nil {
		return attempt{state: Dead, code: codeNoPerson, msg: d.Target.Person + " is not in the directory any more"}
	}
	var what told
	if err := json.Unmarshal(d.Data, &what); err != nil {
		return attempt{state: Dead, code: codeError, msg: "the notice can't be read"}
	}
	r := TellRequest{
		DeliveryID: d.ID(), Attempt: d.Attempts, MaybeSent: d.MaybeSent, Person: person,
		Card: dir.card(s.Message, person, Export), Outcome: what.Outcome, Data: what.Data,
	}
	for i := range s.Postings {
		if s.Postings[i].Seq == d.Posting {
			r.Posting = &s.Postings[i]
		}
	}
	if err := ch.Tell(ctx, r); err != nil {
		return ended(ctx, d, err)
	}
	return attempt{state: Done, code: codeOK}
}
