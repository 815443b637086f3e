package channeltest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// Desk is a hub.Desk whose cards and outcomes a test sets, so that a channel
// can be shown every state that a hub may be in. It keeps everything in memory
// and is safe for concurrent use.
type Desk struct {
	dir *hub.Directory

	mu       sync.Mutex
	cards    map[string]*hub.Card
	postings []hub.Posting
	answers  []hub.Answer
	signals  []hub.Signal
	seen     map[string]hub.Outcome
	outcome  func(hub.Answer) (hub.Outcome, error)
	state    map[string]string
}

// NewDesk returns a desk over a directory.
func NewDesk(d *hub.Directory) *Desk {
	return &Desk{
		dir: d, cards: map[string]*hub.Card{}, seen: map[string]hub.Outcome{}, state: map[string]string{},
		outcome: func(a hub.Answer) (hub.Outcome, error) {
			return hub.Outcome{Kind: hub.Refused, Reason: hub.ReasonNotFound, MessageID: a.MessageID}, nil
		},
	}
}

// Put sets what there is to see of a message.
func (d *Desk) Put(c *hub.Card) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards[c.MessageID] = c
}

// Posted records a copy, as the hub does after Post.
func (d *Desk) Posted(p hub.Posting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.postings = append(d.postings, p)
}

// Say sets what the hub says to every answer from now on. An accepted one that
// carries a Decision also ends the message.
func (d *Desk) Say(f func(hub.Answer) (hub.Outcome, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outcome = f
}

// Answers returns what arrived so far, repeats of a receipt left out.
func (d *Desk) Answers() []hub.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.answers)
}

// Answer implements hub.Desk. A repeated receipt returns the first outcome.
func (d *Desk) Answer(ctx context.Context, a hub.Answer) (hub.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return hub.Outcome{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := a.Receipt.Channel + "\x00" + a.Receipt.Account + "\x00" + a.Receipt.Key
	if o, ok := d.seen[key]; ok && a.Receipt.Key != "" {
		o.Repeated = true
		return o, nil
	}
	o, err := d.outcome(a)
	if err != nil {
		return o, err
	}
	d.seen[key] = o
	d.answers = append(d.answers, a)
	if c := d.cards[a.MessageID]; c != nil && o.Decision != nil {
		after := *c
		after.Status, after.Decision, after.MayAnswer = o.Status, o.Decision, false
		d.cards[a.MessageID] = &after
	}
	return o, nil
}

// Direct implements hub.Desk: nobody may write to any agent.
func (d *Desk) Direct(_ context.Context, x hub.Direction) (hub.DirectOutcome, error) {
	return hub.DirectOutcome{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, AgentID: x.AgentID}, nil
}

// DirectableAgents are none.
func (d *Desk) DirectableAgents(string) []string { return nil }

// Sent is nothing.
func (d *Desk) Sent(context.Context, string, hub.SentQuery) ([]hub.Sent, error) { return nil, nil }

// LastSeen implements hub.Desk; no agent was ever there.
func (d *Desk) LastSeen(context.Context, string) (time.Time, error) { return time.Time{}, nil }

// Signal implements hub.Desk.
func (d *Desk) Signal(_ context.Context, s hub.Signal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.signals = append(d.signals, s)
	return nil
}

// List implements hub.Desk.
func (d *Desk) List(_ context.Context, person string, q hub.ListQuery) ([]*hub.Card, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*hub.Card
	for _, c := range d.cards {
		if (!q.Open || c.Status == ma2h.Open) && (q.Before == "" || c.MessageID < q.Before) {
			out = append(out, d.forReader(c, person))
		}
	}
	slices.SortFunc(out, func(a, b *hub.Card) int {
		if a.MessageID > b.MessageID {
			return -1
		}
		return 1
	})
	return out[:min(len(out), max(q.Limit, 1))], nil
}

// Card implements hub.Desk.
func (d *Desk) Card(_ context.Context, id, reader string, _ hub.View) (*hub.Card, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.cards[id]
	if c == nil || d.dir.People[reader] == nil {
		return nil, &hub.Error{Code: ma2h.CodeNotFound, Op: "card", Msg: "no such message"}
	}
	return d.forReader(c, reader), nil
}

func (d *Desk) forReader(c *hub.Card, reader string) *hub.Card {
	out := *c
	out.Reader = d.dir.People[reader]
	return &out
}

// History implements hub.Desk.
func (d *Desk) History(context.Context, string, string) ([]hub.Event, error) { return nil, nil }

// FindPosting implements hub.Desk.
func (d *Desk) FindPosting(_ context.Context, channel, ref string) (*hub.Posting, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.postings {
		if d.postings[i].Target.Channel == channel && d.postings[i].Ref == ref {
			p := d.postings[i]
			return &p, nil
		}
	}
	return nil, hub.ErrNotFound
}

// Watch implements hub.Desk; nothing ever changes by itself.
func (d *Desk) Watch(string) (<-chan struct{}, func()) { return make(chan struct{}), func() {} }

// LinkSenders are none: a channel under test is alone.
func (d *Desk) LinkSenders() []string { return nil }

// SendLink reaches nobody.
func (d *Desk) SendLink(context.Context, string, string, string, time.Time) error {
	return hub.ErrUnsupported
}

// PersonalLink implements hub.Desk; what it returns signs in nobody.
func (d *Desk) PersonalLink(person, messageID string, _ time.Duration) string {
	if d.dir.People[person] == nil {
		return ""
	}
	return d.dir.PublicURL + "/l/" + person + "." + messageID
}

// State implements hub.Desk.
func (d *Desk) State() hub.StateStore { return (*state)(d) }

// Directory implements hub.Desk.
func (d *Desk) Directory() *hub.Directory { return d.dir }

// Keys implements hub.Desk.
func (d *Desk) Keys(purpose string) [][]byte {
	return hub.KeyRing{[]byte("0123456789abcdef0123456789abcdef")}.Derive(purpose)
}

// Log implements hub.Desk.
func (d *Desk) Log() *slog.Logger { return slog.New(slog.DiscardHandler) }

// state is the part of a Desk that remembers for a channel.
type state Desk

func (s *state) GetState(_ context.Context, channel, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state[channel+"\x00"+key], nil
}

func (s *state) PutState(_ context.Context, channel, key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[channel+"\x00"+key] = value
	return nil
}

func (s *state) PutStateFor(ctx context.Context, _, channel, key, value string) error {
	return s.PutState(ctx, channel, key, value)
}

func (s *state) Lease(_ context.Context, name, owner string, _ time.Time, ttl time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := "lease\x00" + name
	if have := s.state[key]; have != "" && have != owner {
		return false, nil
	}
	if ttl == 0 {
		owner = ""
	}
	s.state[key] = owner
	return true, nil
}
