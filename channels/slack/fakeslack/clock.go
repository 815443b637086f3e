package fakeslack

import (
	"context"
	"sync"
	"time"
)

// clock is the time of the fake: the machine's, plus whatever a test has
// advanced it by. Whoever sleeps on it wakes when it is advanced far enough.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
	moved  chan struct{}
}

func newClock() *clock { return &clock{moved: make(chan struct{})} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
	close(c.moved)
	c.moved = make(chan struct{})
}

// sleep waits until a moment of the fake's time, or less if ctx ends first.
func (c *clock) sleep(ctx context.Context, until time.Time) error {
	for {
		c.mu.Lock()
		moved, left := c.moved, until.Sub(time.Now().Add(c.offset))
		c.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-moved:
			timer.Stop()
		case <-timer.C:
		}
	}
}
