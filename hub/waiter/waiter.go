// Package waiter wakes whoever waits for an answer.
//
// All who wait for one message share one channel, which Wake closes; a message
// that nobody waits for costs nothing, and no goroutine belongs to the package.
// A wake-up carries no data and is not kept: it reaches those who have
// subscribed by then and nobody else. So a waiter subscribes first, then reads
// the state, and only then waits:
//
//	woken, cancel := w.Subscribe(id)
//	defer cancel()
//	m := read(id)
//	if !m.Status.Terminal() {
//		<-woken // or the context, or a timer
//		m = read(id)
//	}
//
// In the other order a change between the read and the subscription would be
// missed. Nothing here can fail. A wake-up that is lost with the process is no
// loss either, because the waiting connections are lost with it.
package waiter

import (
	"sync"

	"beckon/hub"
)

var _ hub.Notifier = (*Waiter)(nil)

// Waiter is a [hub.Notifier] within one process. It is safe for concurrent
// use.
type Waiter struct {
	mu     sync.Mutex
	topics map[string]*topic // a topic is here while somebody waits for it
}

// topic is one message that somebody waits for. Its fields are guarded by the
// mutex of the Waiter.
type topic struct {
	woken   chan struct{} // closed by Wake
	waiting int           // subscriptions that were not given up
}

// New returns a Waiter that nobody has subscribed to.
func New() *Waiter {
	return &Waiter{topics: make(map[string]*topic)}
}

// Wake closes the channel of everybody who waits for the message now. Call it
// after commit. It never blocks.
func (w *Waiter) Wake(messageID string) {
	w.mu.Lock()
	t := w.topics[messageID]
	delete(w.topics, messageID)
	w.mu.Unlock()
	if t != nil {
		close(t.woken) // the entry is gone, so nobody else closes it
	}
}

// Subscribe returns a channel that is closed at the next Wake of the message,
// and a function that gives it up. Always call the function, also after a
// wake-up; calling it again does nothing. A channel that was given up may or
// may not be closed later.
func (w *Waiter) Subscribe(messageID string) (<-chan struct{}, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topics[messageID]
	if t == nil {
		t = &topic{woken: make(chan struct{})}
		w.topics[messageID] = t
	}
	t.waiting++
	given := false
	return t.woken, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if given {
			return
		}
		given = true
		t.waiting--
		// After a Wake the entry may belong to later subscribers: leave theirs.
		if t.waiting == 0 && w.topics[messageID] == t {
			delete(w.topics, messageID)
		}
	}
}

// Waiting returns the number of messages that somebody waits for, for metrics.
func (w *Waiter) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.topics)
}
