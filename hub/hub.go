// Package hub is the domain: what a message, person, route, delivery and answer
// are, which moves are legal, and what a channel gets and must do.
//
// A [Hub] decides on a [Snapshot] and hands the store one [Change]. The store
// applies all of it durably, or says that the message has moved on, and the hub
// decides again. Whoever waits is woken and the outbox is told only after the
// store has committed. The package does no I/O of its own: stores, channels and
// waiters are passed in.
//
// A failure that is somebody's to mend is an [*Error] or [*ma2h.Error] with a
// code; any other error is the hub's own, and nothing is known to be recorded.
package hub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"beckon/hub/ma2h"
)

// Options are what a Hub is built from.
type Options struct {
	Store    Store
	Notifier Notifier
	Outbox   Outbox
	Keys     KeyRing
	Pusher   Pusher // nil: this hub does not push, and [Directory.Push] is nil too
	Log      *slog.Logger
	Observer Observer // nil: nobody counts
	// Link makes the personal links of [Desk.PersonalLink]; nil: there is no
	// page that would take them.
	Link func(person, messageID string, expires time.Time) string
}

// Observer counts what happens, for metrics. Its methods come after commit and
// must not block.
type Observer interface {
	Submitted(t ma2h.Type)
	Resolved(t ma2h.Type, resolution ma2h.Status, via string)
	Attempted(lane, code string, took time.Duration)
	Answered(via string, k OutcomeKind)
	Directed(via string, k OutcomeKind)
	Unreachable()
}

// Hub decides. It is safe for concurrent use.
type Hub struct {
	store    Store
	notifier Notifier
	outbox   Outbox
	pusher   Pusher
	keys     KeyRing
	log      *slog.Logger
	observer Observer
	link     func(person, messageID string, expires time.Time) string
	quota    quota
	polls    polls
	presence presence

	dir      atomic.Pointer[Directory]
	channels atomic.Pointer[map[string]Channel]
}

// New returns a hub over a directory. Call SetChannels before the outbox runs.
func New(o Options, d *Directory) *Hub {
	h := &Hub{
		store: o.Store, notifier: o.Notifier, outbox: o.Outbox, pusher: o.Pusher, keys: o.Keys,
		log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), observer: o.Observer,
		link: o.Link,
	}
	if h.observer == nil {
		h.observer = nobody{}
	}
	h.quota.count = func(ctx context.Context, agentID string) (int, error) {
		return h.store.OpenCount(ctx, agentID, 1<<30)
	}
	h.SetDirectory(d)
	h.SetChannels(nil)
	return h
}

// SetChannels names the channels that deliveries go to.
func (h *Hub) SetChannels(c map[string]Channel) { h.channels.Store(&c) }

// SetDirectory swaps the config.
func (h *Hub) SetDirectory(d *Directory) { h.dir.Store(d) }

// Directory returns the config in force.
func (h *Hub) Directory() *Directory { return h.dir.Load() }

func (h *Hub) channel(name string) Channel { return (*h.channels.Load())[name] }

// now is the one clock reading of a decision, floored to the millisecond as
// the database keeps it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// maxDecisions bounds how often one request decides again because the message
// moved on. Each round means that somebody else's change was committed.
const maxDecisions = 64

// decide reads a snapshot, lets f turn it into a change and applies that, again
// and again while the message moves on in between. A nil change ends it.
func (h *Hub) decide(ctx context.Context, op, id string, f func(*Snapshot) (*Change, error)) error {
	for range maxDecisions {
		s, err := h.store.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		was := s.Message.Status // f moves the snapshot to its new state
		c, err := f(s)
		if err != nil || c == nil {
			return err
		}
		err = h.applyAnswer(ctx, s, was, c)
		if errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			return err
		}
		h.committed(s.Message, was, c)
		return nil
	}
	return &Error{Code: ma2h.CodeUnavailable, Op: op, Msg: "the message is changing too fast; try again"}
}

// applyAnswer is apply that, where the change ends a message that its agent waits
// for, records the delivery along with it.
func (h *Hub) applyAnswer(ctx context.Context, s *Snapshot, was ma2h.Status, c *Change) error {
	m := s.Message
	if was == ma2h.Open && tracked(m) && h.polls.claim(m.ID) {
		defer h.polls.release(m.ID)
		if err := h.stamp(s, c); err != nil {
			return err
		}
	}
	return h.apply(ctx, c)
}

// apply hands a change to the store and waits for what became of it, also when
// whoever asked has left meanwhile: the change may be committed all the same,
// and then the outbox, the quota and those who wait must hear of it.
func (h *Hub) apply(ctx context.Context, c *Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := h.store.Apply(context.WithoutCancel(ctx), c)
	if err == nil || expected(err) {
		return err
	}
	return &Error{
		Code: ma2h.CodeUnavailable, Op: "store", RetryAfter: retryStore, Err: err,
		Msg: "the hub can't store anything at the moment; try again, with the same idempotency key",
	}
}

// retryStore is when to try again what could not be stored.
const retryStore = 5 * time.Second

// expected reports whether err is one of the answers of [Store.Apply], and not a
// full disk or such.
func expected(err error) bool {
	if _, ok := errors.AsType[*RepeatedError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*DuplicateError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return true
	}
	return errors.Is(err, ErrStale) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrGone)
}

// committed tells everybody whom a durable change of m concerns; was is the
// status before it.
func (h *Hub) committed(m *Message, was ma2h.Status, c *Change) {
	for i := range c.Deliveries {
		h.outbox.Due(c.Deliveries[i].Lane, c.Deliveries[i].Due)
	}
	if len(c.Advance) > 0 || len(c.Retry) > 0 {
		for _, t := range m.Plan.Targets {
			h.outbox.Due(t.Channel, c.At)
		}
	}
	if c.Insert != nil {
		h.wakeLists(c.Audience)
	}
	if c.Patch == nil {
		return
	}
	if was == ma2h.Open && c.Patch.Status != ma2h.Open {
		h.quota.release(m.AgentID)
		h.observer.Resolved(m.Envelope.Type, c.Patch.Status, c.Patch.ResolvedVia)
		h.wakeLists(h.Directory().audience(m.Envelope, &m.Plan))
	}
	h.notifier.Wake(c.MessageID)
}

// wakeLists wakes whoever looks at the list of one of these persons.
func (h *Hub) wakeLists(persons []string) {
	for _, p := range persons {
		h.notifier.Wake(ListTopic(p))
	}
}

// nobody is the Observer of a hub that nobody observes.
type nobody struct{}

func (nobody) Submitted(ma2h.Type)                     {}
func (nobody) Resolved(ma2h.Type, ma2h.Status, string) {}
func (nobody) Attempted(string, string, time.Duration) {}
func (nobody) Answered(string, OutcomeKind)            {}
func (nobody) Directed(string, OutcomeKind)            {}
func (nobody) Unreachable()                            {}
