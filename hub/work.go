package hub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"beckon/hub/ma2h"
)

// Codes of an attempt that the hub gives itself; a channel has its own.
const (
	codeOK          = "ok"
	codeDegraded    = "degraded"    // done, in a plainer form
	codeInterrupted = "interrupted" // the process stopped
	codeTimeout     = "timeout"
	codeNoChannel   = "no_channel"
	codeNoPerson    = "no_person"
	codeError       = "error"
	codeNotWanted   = "not_wanted"
)

// MaxAttempts is how often a delivery is tried before it is dead; with the
// waits of [backoff] that is about two hours.
const MaxAttempts = 12

// maxPatience is how long a delivery may be put off by the other side before
// that counts as failing: a target that always says "later" must not keep a
// message from moving on for ever.
const maxPatience = 24 * time.Hour

// maxAfter bounds how long another side may ask to be left alone: a wild
// Retry-After must not put a delivery off for years.
const maxAfter = time.Hour

// maxErrorBytes bounds what is kept of an attempt's error.
const maxErrorBytes = 512

// recordTimeout bounds the writing down of how an attempt ended, which goes on
// after the attempt itself was cancelled.
const recordTimeout = 10 * time.Second

// backoff is how long to wait after the nth failed attempt, ±20 % so that many
// deliveries that failed together don't come back together.
func backoff(n int) time.Duration {
	waits := [...]time.Duration{
		5 * time.Second, 15 * time.Second, 45 * time.Second, 2 * time.Minute, 4 * time.Minute,
		8 * time.Minute, 15 * time.Minute, 20 * time.Minute, 20 * time.Minute, 20 * time.Minute, 20 * time.Minute,
	}
	w := waits[min(max(n, 1), len(waits))-1]
	return time.Duration(float64(w) * (0.8 + 0.4*rand.Float64()))
}

// Work does one claimed delivery and records how it ended. An error means that
// not even that could be recorded; the lease then brings the delivery back.
func (h *Hub) Work(ctx context.Context, d Delivery) error {
	start := time.Now()
	s, err := h.store.Snapshot(ctx, d.MessageID)
	if err != nil {
		return fmt.Errorf("work on %s/%d: %w", d.MessageID, d.Seq, err)
	}
	dir := h.Directory()
	var done attempt
	switch d.Kind {
	case KindExpire:
		done = h.tryExpire(s)
	case KindPost:
		done = h.tryPost(ctx, dir, s, &d)
	case KindUpdate, KindRemind:
		done = h.tryUpdate(ctx, dir, s, &d)
	case KindCallback:
		done = h.tryPush(ctx, dir, s, &d)
	case KindTell:
		done = h.tryTell(ctx, dir, s, &d)
	default:
		done = attempt{state: Dead, code: codeNoChannel, msg: "this hub has nothing that does a " + string(d.Kind)}
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err = h.recordAttempt(rctx, &d, done)
	h.observer.Attempted(d.Lane, done.code, time.Since(start))
	if err != nil {
		return fmt.Errorf("record attempt %d of %s/%d: %w", d.Attempts, d.MessageID, d.Seq, err)
	}
	return nil
}

// attempt is how one try ended.
type attempt struct {
	state     DeliveryState
	code      string
	msg       string
	after     time.Duration // for Pending
	maybeSent bool
	uncounted bool
	expire    bool
	posted    *Posted
	pushed    bool
	updated   *Track // what the copy shows now of the message's track
}

func (h *Hub) tryExpire(s *Snapshot) attempt {
	m := s.Message
	switch {
	case m.Status != ma2h.Open:
		return attempt{state: Dropped, code: codeNotWanted}
	case !now().After(m.ExpiresAt):
		return attempt{state: Pending, code: "early", after: time.Until(expiryDue(m)), uncounted: true}
	}
	return attempt{state: Done, code: codeOK, expire: true}
}

func (h *Hub) tryPost(ctx context.Context, dir *Directory, s *Snapshot, d *Delivery) attempt {
	if !wanted(s, d) {
		return attempt{state: Dropped, code: codeNotWanted}
	}
	ch := h.channel(d.Target.Channel)
	if ch == nil {
		return attempt{state: Dead, code: codeNoChannel, msg: "channel " + d.Target.Channel + " is not configured"}
	}
	person := dir.People[d.Target.Person]
	if d.Target.Person != "" && person == nil {
		return attempt{state: Dead, code: codeNoPerson, msg: d.Target.Person + " is not in the directory any more"}
	}
	r := PostRequest{
		DeliveryID: d.ID(), Attempt: d.Attempts, Generation: d.Generation, MaybeSent: d.MaybeSent, Target: d.Target,
		Person: person, Card: dir.card(s.Message, person, Export),
	}
	for i := range s.Postings {
		if s.Postings[i].Target == d.Target {
			r.Thread = s.Postings[i].Thread
		}
	}
	posted, err := ch.Post(ctx, r)
	if err != nil {
		return ended(ctx, d, err)
	}
	a := attempt{state: Done, code: codeOK, posted: &posted}
	if posted.Degraded != "" {
		a.code, a.msg = codeDegraded, posted.Degraded
	}
	return a
}

// wanted reports whether a copy should still be posted: not once the message is
// terminal, unless an attempt may have left a copy that must be found; and for
// a later entry only while it is needed.
func wanted(s *Snapshot, d *Delivery) bool {
	if d.MaybeSent {
		return true
	}
	if s.Message.Envelope.Type != ma2h.Notify {
		return s.Message.Status == ma2h.Open
	}
	// A notify waits for nobody: a later entry stands in for those before it
	// while none of their copies stands, whether they were given up or are still
	// being tried. Once dropped it would be missing when they fail.
	return d.Entry < 1 || d.Generation > 0 || entryAfter(s.Message, d.Entry) == 0 || !anyDone(s, d.Entry)
}

// anyDone reports whether a post of the entries before one has been done.
func anyDone(s *Snapshot, entry int) bool {
	return slices.ContainsFunc(s.Deliveries, func(d Delivery) bool {
		return d.Kind == KindPost && d.Entry < entry && d.State == Done
	})
}

func entryAfter(m *Message, entry int) time.Duration {
	for _, t := range m.Plan.Targets {
		if t.Entry == entry {
			return t.After
		}
	}
	return 0
}

func (h *Hub) tryUpdate(ctx context.Context, dir *Directory, s *Snapshot, d *Delivery) attempt {
	if d.Kind == KindRemind && s.Message.Status != ma2h.Open {
		return attempt{state: Dropped, code: codeNotWanted}
	}
	u, ok := h.channel(d.Target.Channel).(Updater)
	if !ok {
		return attempt{state: Dead, code: codeNoChannel, msg: "channel " + d.Target.Channel + " is not configured"}
	}
	for i := range s.Postings {
		if s.Postings[i].Seq != d.Posting {
			continue
		}
		person := dir.People[d.Target.Person]
		err := u.Update(ctx, UpdateRequest{
			DeliveryID: d.ID(), Attempt: d.Attempts, MaybeSent: d.MaybeSent, Posting: s.Postings[i], Person: person,
			Card: dir.card(s.Message, person, Export), Remind: d.Kind == KindRemind,
		})
		if err != nil {
			return ended(ctx, d, err)
		}
		return attempt{state: Done, code: codeOK, updated: &s.Message.Track}
	}
	return attempt{state: Dropped, code: codeNotWanted}
}

// ID names a delivery towards channels and people.
func (d *Delivery) ID() string {
	return fmt.Sprintf("dlv_%s-%d", strings.TrimPrefix(d.MessageID, "msg_"), d.Seq)
}

// ended decides what follows from a failed attempt. Shutdown is not a failed
// attempt, and a wait that the other side asked for isn't either (rule 14).
func ended(ctx context.Context, d *Delivery, err error) attempt {
	a := attempt{state: Pending, code: codeError, msg: err.Error(), after: backoff(d.Attempts)}
	if errors.Is(ctx.Err(), context.Canceled) {
		return attempt{state: Pending, code: codeInterrupted, uncounted: true, maybeSent: true}
	}
	if de, ok := errors.AsType[*DeliveryError](err); ok {
		a.code, a.msg, a.maybeSent = de.Code, de.Msg, de.MaybeSent
		switch {
		case de.Permanent:
			a.state = Dead
			return a
		case de.After > 0:
			a.after, a.uncounted = min(de.After, maxAfter), time.Since(d.CreatedAt) < maxPatience
			if a.uncounted {
				return a
			}
		}
	} else if errors.Is(err, context.DeadlineExceeded) {
		a.code, a.msg, a.maybeSent = codeTimeout, "no answer in time", true
	}
	if d.Attempts >= MaxAttempts {
		a.state = Dead
	}
	return a
}

// recordAttempt writes down how an attempt ended with all that follows, on the
// message as it is by then.
func (h *Hub) recordAttempt(ctx context.Context, d *Delivery, a attempt) error {
	lost := false
	unreached := false
	err := h.decide(ctx, "deliver", d.MessageID, func(s *Snapshot) (*Change, error) {
		m := s.Message
		cur := deliveryBySeq(s, d.Seq)
		if cur == nil || cur.State != Running || cur.Attempts != d.Attempts {
			lost = true // the lease ran out and somebody else has it
			return nil, nil
		}
		c := &Change{MessageID: m.ID, At: now(), Expect: m.Version}
		c.Finish = &Finish{
			Seq: d.Seq, N: d.Attempts, State: a.state, Due: c.At.Add(a.after), Code: a.code, Error: cut(a.msg),
			MaybeSent: a.maybeSent || (d.MaybeSent && a.state == Pending), Uncounted: a.uncounted,
		}
		if c.Finish.State == Pending && endedMeanwhile(m, d) && !c.Finish.MaybeSent {
			c.Finish.State, c.Finish.Code = Dropped, codeNotWanted
		}
		cur.State = c.Finish.State
		var err error
		switch {
		case a.expire && m.Status == ma2h.Open:
			err = h.expire(h.Directory(), s, c)
		case a.posted != nil:
			err = h.recordPosting(s, c, d, a.posted)
		case a.updated != nil:
			h.recordUpdate(s, c, d, *a.updated)
		case a.pushed:
			err = h.recordPush(s, c, d)
		case a.state == Dead:
			unreached, err = recordDead(s, c, d, a)
		}
		if err == nil && c.Patch == nil && (len(c.Events) > 0 || len(c.Deliveries) > 0) {
			c.Patch = PatchOf(m)
		}
		return c, err
	})
	if lost && err == nil {
		h.log.Warn("an attempt ended after its lease", "message", d.MessageID, "delivery", d.Seq, "attempt", d.Attempts, "code", a.code)
	}
	if err != nil {
		return err
	}
	if a.state == Pending {
		h.outbox.Due(d.Lane, now().Add(a.after))
	}
	if a.state == Dead {
		h.log.Warn("a delivery is dead", "message", d.MessageID, "delivery", d.Seq, "target", d.Target.String(), "code", a.code, "err", a.msg)
	}
	if unreached {
		h.tellUnreached(d.MessageID)
	}
	return nil
}

func (h *Hub) tellUnreached(messageID string) {
	h.observer.Unreachable()
	h.log.Error("a message reaches nobody", "message", messageID)
}

// endedMeanwhile reports whether a message ended while an attempt to post or
// remind was under way, so that there is nothing left to try again.
func endedMeanwhile(m *Message, d *Delivery) bool {
	return (d.Kind == KindPost || d.Kind == KindRemind) && m.Envelope.Type != ma2h.Notify && m.Status != ma2h.Open
}

// recordPosting writes down a copy that stands. If the message ended in the
// meantime the copy is to be updated at once (rule 13).
func (h *Hub) recordPosting(s *Snapshot, c *Change, d *Delivery, p *Posted) error {
	m := s.Message
	posting := Posting{MessageID: m.ID, Seq: d.Seq, Target: d.Target, Ref: p.Ref, Thread: p.Thread, At: c.At}
	c.Postings = append(c.Postings, posting)
	if m.Envelope.Type != ma2h.Notify && m.Status != ma2h.Open {
		h.addUpdate(m, c, &posting)
	}
	return m.record(c, "posted", map[string]any{"target": d.Target.String(), "attempt": d.Attempts})
}

// recordDead writes down that a target was given up, and moves on.
func recordDead(s *Snapshot, c *Change, d *Delivery, a attempt) (unreached bool, err error) {
	m := s.Message
	err = m.record(c, "delivery_failed", map[string]any{
		"target": d.Target.String(), "kind": d.Kind, "attempts": d.Attempts, "code": a.code,
	})
	if err != nil || d.Kind != KindPost {
		return false, err
	}
	return moveOn(s, c, d.Entry)
}

// moveOn follows the death of a post of an entry: the next entry goes at once
// when every earlier one has failed for good. It reports whether nobody is left.
func moveOn(s *Snapshot, c *Change, entry int) (unreached bool, err error) {
	for i := range s.Deliveries {
		next := &s.Deliveries[i]
		if next.Kind == KindPost && next.State == Pending && next.Entry > entry && next.Due.After(c.At) && allDead(s, next.Entry) {
			c.Advance = []int{next.Entry}
			return false, nil
		}
	}
	if !unreachable(s) {
		return false, nil
	}
	return true, s.Message.record(c, "unreachable", map[string]any{})
}

// allDead reports whether every post of the entries before one has failed for
// good.
func allDead(s *Snapshot, entry int) bool {
	for i := range s.Deliveries {
		d := &s.Deliveries[i]
		if d.Kind == KindPost && d.Entry < entry && d.State != Dead {
			return false
		}
	}
	return true
}

// unreachable reports whether a message wants somebody, went out, and every post
// is dead.
func unreachable(s *Snapshot) bool {
	if s.Message.Envelope.Type != ma2h.Notify && s.Message.Status != ma2h.Open {
		return false
	}
	posts := 0
	for i := range s.Deliveries {
		if d := &s.Deliveries[i]; d.Kind == KindPost {
			if d.State != Dead {
				return false
			}
			posts++
		}
	}
	return posts > 0
}

func deliveryBySeq(s *Snapshot, seq int) *Delivery {
	for i := range s.Deliveries {
		if s.Deliveries[i].Seq == seq {
			return &s.Deliveries[i]
		}
	}
	return nil
}

// cut keeps an error short, at a rune boundary.
func cut(s string) string {
	if len(s) <= maxErrorBytes {
		return s
	}
	s = s[:maxErrorBytes-3]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
