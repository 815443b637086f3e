package slack

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"beckon/hub"
)

// Slack takes about one message a second in a conversation, and hides what
// comes faster (https://docs.slack.dev/apis/web-api/rate-limits); chat.update is
// a tier 3 method, 50 a minute in the workspace. How large a burst may be is not
// documented.
const (
	postEvery   = time.Second
	postBurst   = 3
	updateEvery = 1250 * time.Millisecond
	updateBurst = 20
)

const (
	// patience is how long a send waits in place for its turn; what must wait
	// longer gives its place in the lane back.
	patience = 2500 * time.Millisecond
	// maxPatient bounds the sends of a kind that wait in place: the lane works
	// on eight, and one that needs no wait must find room.
	maxPatient = 3
	// soon is how close a turn must be for others to hold back for it.
	soon = 250 * time.Millisecond
	// grace is how long the turn of one that does not come back is kept.
	grace = 3 * time.Second
	// share: while asks keep coming, every fifth turn is a notify's.
	share = 4

	maxTickets = 1000 // that a conversation remembers; the others come back by chance
	maxRooms   = 1000 // conversations that are remembered although nothing waits
)

// class says what goes first in a conversation.
type class int

const (
	classTruth  class = iota // what became of a copy
	classAsk                 // somebody is to answer
	classNotify              // nobody is waiting for it
)

// queue gives out turns in each conversation. It sends nothing itself: the
// outbox comes with a send, and takes it back with the time at which to come
// again when its turn is not soon. So the database holds what waits, and the
// queue only the turns: a restart loses the order and nothing else.
//
// A turn goes to the best of those that are here or are due to come back; a
// place in the row that nobody claims passes on after a moment. So no turn is
// kept from one that is here for one that is not.
type queue struct {
	mu      sync.Mutex
	rooms   map[string]*room
	patient map[bool]int // waiting in place: for posts, for updates
}

func newQueue() *queue {
	return &queue{rooms: map[string]*room{}, patient: map[bool]int{}}
}

// room is one conversation, or the method chat.update.
type room struct {
	every   time.Duration // a turn
	burst   float64
	turns   float64 // that are free at a time
	at      time.Time
	tickets map[string]*ticket
	streak  int // turns of asks while a notify waits
}

// ticket is a send that waits for its turn.
type ticket struct {
	id    string
	class class
	since time.Time // its message came in
	here  int       // it waits in place
	back  time.Time // else: when it comes again
}

// before orders tickets of one room.
func (t *ticket) before(o *ticket) bool {
	return cmp.Or(cmp.Compare(t.class, o.class), t.since.Compare(o.since), cmp.Compare(t.id, o.id)) < 0
}

// ready reports one that is here or about to be.
func (t *ticket) ready(now time.Time) bool { return t.here > 0 || t.back.Before(now.Add(soon)) }

// updates is the room of chat.update, whatever the conversation.
const updates = "chat.update"

// turn is what somebody asks for.
type turn struct {
	room  string // id of the conversation, or [updates]
	id    string // of the delivery
	class class
	since time.Time
	rest  time.Duration // until the method may be called at all
	wait  time.Duration // in place; 0 is [patience]
}

// take returns nil when it is the turn of t. Otherwise the error says when to
// come again, or is the context's.
func (q *queue) take(ctx context.Context, t turn) error {
	deadline := time.Now().Add(cmp.Or(t.wait, patience))
	rested := time.Now().Add(t.rest)
	waiting := false
	defer func() {
		if waiting {
			q.leave(t)
		}
	}()
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("slack: wait for a turn: %w", err)
		}
		d := q.ask(t, time.Until(rested))
		if d.now {
			waiting = false
			return nil
		}
		if time.Now().Add(d.next).After(deadline) || !waiting && !q.enter(t) {
			return q.later(t, d.all, waiting, &waiting)
		}
		waiting = true
		timer := time.NewTimer(d.next)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// decision is what a room says: it is your turn; or how long until it may be,
// when nobody comes back who is not due (next), or when all do (all).
type decision struct {
	now       bool
	next, all time.Duration
}

// ask takes a turn if it is t's.
func (q *queue) ask(t turn, rest time.Duration) decision {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	r := q.room(t.room, now)
	r.refill(now)
	me := r.tickets[t.id]
	if me == nil {
		me = &ticket{id: t.id, class: t.class, since: t.since, back: now}
		r.admit(me)
	}
	me.class, me.back = t.class, now
	due, all := r.ahead(me, now)
	if rest <= 0 && r.turns >= float64(due+1) {
		r.turns--
		r.took(me, now)
		q.patientDone(t, me)
		return decision{now: true}
	}
	rest = max(rest, 0)
	return decision{next: max(rest, r.until(due+1)), all: rest + r.until(all+1)}
}

// patientDone takes a ticket that waited in place out of the count.
func (q *queue) patientDone(t turn, me *ticket) {
	q.patient[t.room == updates] -= me.here
	me.here = 0
}

// enter lets a send wait in place, if not too many do.
func (q *queue) enter(t turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.rooms[t.room]
	if r == nil || r.tickets[t.id] == nil || t.wait == 0 && q.patient[t.room == updates] >= maxPatient {
		return false
	}
	r.tickets[t.id].here++
	q.patient[t.room == updates]++
	return true
}

// leave ends the wait of a send that was cancelled.
func (q *queue) leave(t turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.rooms[t.room]; r != nil && r.tickets[t.id] != nil {
		q.patientDone(t, r.tickets[t.id])
		delete(r.tickets, t.id)
	}
}

// later sends t away until its turn is near. One far back comes by in between,
// since those before it may be dropped.
func (q *queue) later(t turn, all time.Duration, here bool, waiting *bool) error {
	const far = 20 * time.Second
	after := max(all, 50*time.Millisecond)
	if after > far {
		after = max(far, after/2)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var me *ticket
	if r := q.rooms[t.room]; r != nil {
		me = r.tickets[t.id]
	}
	if me == nil { // no room for its ticket
		after = time.Duration(float64(after) * (0.75 + rand.Float64()/2))
	} else {
		if here {
			q.patientDone(t, me)
		}
		me.back = time.Now().Add(after)
	}
	*waiting = false
	return &hub.DeliveryError{
		Code: "queued", After: after,
		Msg: "waits for its turn: Slack takes about one message a second in a conversation",
	}
}

// room returns a room, and forgets others when there are many.
func (q *queue) room(id string, now time.Time) *room {
	if r := q.rooms[id]; r != nil {
		return r
	}
	if len(q.rooms) >= maxRooms {
		for k, r := range q.rooms {
			r.refill(now)
			if len(r.tickets) == 0 && r.turns == r.burst {
				delete(q.rooms, k)
			}
		}
	}
	r := &room{every: postEvery, burst: postBurst, at: now, tickets: map[string]*ticket{}}
	if id == updates {
		r.every, r.burst = updateEvery, updateBurst
	}
	r.turns = r.burst
	q.rooms[id] = r
	return r
}

// refill adds the turns of the time that passed, and forgets those who have not
// come back.
func (r *room) refill(now time.Time) {
	if d := now.Sub(r.at); d > 0 {
		r.turns = min(r.burst, r.turns+float64(d)/float64(r.every))
		r.at = now
	}
	for id, t := range r.tickets {
		if t.here == 0 && now.After(t.back.Add(grace)) {
			delete(r.tickets, id)
		}
	}
}

// admit remembers a ticket; when there are too many, the best ones.
func (r *room) admit(me *ticket) {
	if len(r.tickets) >= maxTickets {
		worst := me
		for _, t := range r.tickets {
			if t.here == 0 && worst.before(t) {
				worst = t
			}
		}
		if worst == me {
			return
		}
		delete(r.tickets, worst.id)
	}
	r.tickets[me.id] = me
}

// ahead counts who goes before me: those who are ready, and all.
func (r *room) ahead(me *ticket, now time.Time) (ready, all int) {
	turnOfNotify := r.streak >= share
	asks, notifies, owed := 0, 0, false
	for _, t := range r.tickets {
		if t == me {
			continue
		}
		is := t.ready(now)
		if t.class == classNotify && is {
			owed = true
		}
		if !t.before(me) {
			continue
		}
		if t.class != me.class {
			asks++
		} else {
			notifies++
		}
		if is && !(me.class == classNotify && turnOfNotify && t.class == classAsk) {
			ready++
		}
	}
	all = asks + notifies
	switch {
	case me.class == classNotify:
		all = min(all, (share+1)*(notifies+1)-1)
	case me.class == classAsk && turnOfNotify && owed:
		ready++
		all++
	}
	return ready, all
}

// until is how long until n turns are free.
func (r *room) until(n int) time.Duration {
	return max(time.Duration((float64(n)-r.turns)*float64(r.every)), 0)
}

// took counts a turn.
func (r *room) took(me *ticket, now time.Time) {
	delete(r.tickets, me.id)
	if me.class == classNotify {
		r.streak = 0
		return
	}
	for _, t := range r.tickets {
		if t.class == classNotify {
			r.streak++
			return
		}
	}
	r.streak = 0
}
