package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy says that the same thing is being acted on right now. What came is to
// be tried again later.
var ErrBusy = errors.New("it is being acted on already")

// DefaultKeep is how long what was acted on is remembered: longer than a hub
// keeps anything that it may hand out again.
const DefaultKeep = 90 * 24 * time.Hour

// A Dedup lets an agent act once on what may come many times, at the same time
// too (spec §13.4, §8.3). It must be shared by all who act for the agent, and
// outlive them if what they do can't be done twice.
type Dedup interface {
	// Once runs act unless it has succeeded for this key before, and reports
	// whether it succeeded now. While it runs, Once for the same key is ErrBusy.
	// If it fails, or its process dies in it, the key is as if it had never come.
	Once(ctx context.Context, key string, act func(context.Context) error) (acted bool, err error)
}

// MemoryDedup is a [Dedup] for a process that needs no longer memory than its
// own life. The zero value is ready to use.
type MemoryDedup struct {
	Keep time.Duration // 0 is DefaultKeep

	mu    sync.Mutex
	done  map[string]time.Time // until when
	busy  map[string]bool
	sweep time.Time
}

// Once implements [Dedup].
func (m *MemoryDedup) Once(ctx context.Context, key string, act func(context.Context) error) (acted bool, err error) {
	begun, err := m.begin(key, time.Now())
	if !begun {
		return false, err
	}
	defer func() { m.end(key, acted, time.Now()) }() // also when act panics
	if err := act(ctx); err != nil {
		return false, err
	}
	return true, nil
}

func (m *MemoryDedup) begin(key string, now time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy == nil {
		m.busy, m.done = map[string]bool{}, map[string]time.Time{}
	}
	if now.After(m.sweep) {
		for old, until := range m.done {
			if now.After(until) {
				delete(m.done, old)
			}
		}
		m.sweep = now.Add(time.Minute)
	}
	if _, done := m.done[key]; done {
		return false, nil
	}
	if m.busy[key] {
		return false, ErrBusy
	}
	m.busy[key] = true
	return true, nil
}

func (m *MemoryDedup) end(key string, acted bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, key)
	if acted {
		m.done[key] = now.Add(keepOr(m.Keep))
	}
}

func keepOr(keep time.Duration) time.Duration {
	if keep > 0 {
		return keep
	}
	return DefaultKeep
}

// errPeek keeps a key unused.
var errPeek = errors.New("not acted on")

// wasDone reports whether a key was acted on. ErrBusy if it is just now.
func wasDone(ctx context.Context, d Dedup, key string) (bool, error) {
	_, err := d.Once(ctx, key, func(context.Context) error { return errPeek })
	if errors.Is(err, errPeek) {
		return false, nil
	}
	return err == nil, err
}
