package safehttp

import (
	"context"
	"sync"
)

// hosts bounds the calls to each host. It keeps nothing of a host that nobody
// calls.
type hosts struct {
	most int

	mu     sync.Mutex
	byName map[string]*slots
}

// slots are the calls to one host.
type slots struct {
	users int           // calls that run or wait
	free  chan struct{} // holds a token for each that runs
}

// acquire waits until a call to a host may run, and returns what ends it.
func (h *hosts) acquire(ctx context.Context, host string) (release func(), err error) {
	h.mu.Lock()
	if h.byName == nil {
		h.byName = make(map[string]*slots)
	}
	s := h.byName[host]
	if s == nil {
		s = &slots{free: make(chan struct{}, h.most)}
		h.byName[host] = s
	}
	s.users++
	h.mu.Unlock()

	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(h.byName, host)
		}
	}
	select {
	case s.free <- struct{}{}:
		return func() { <-s.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
