package hub

import "sync"

// polls knows which messages their own agents wait for at this moment. An answer
// that finds its agent waiting is recorded as delivered in the very change that
// makes it, so that no second commit stands between a person's click and the
// agent. In return, a poll that such a change counts on does not go away before
// it is known what became of it.
type polls struct {
	mu sync.Mutex
	by map[string]*waiting // by the hub's id of the message
}

type waiting struct {
	polls   int           // that are parked
	claims  int           // changes under way that count on them
	settled chan struct{} // closed when claims is 0 again; nil before the first
}

// park says that the message's agent waits.
func (p *polls) park(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]*waiting{}
	}
	w := p.by[id]
	if w == nil {
		w = &waiting{}
		p.by[id] = w
	}
	w.polls++
}

// leave says that a parked poll goes on its way, once no change counts on it.
func (p *polls) leave(id string) {
	for {
		settled := p.tryLeave(id)
		if settled == nil {
			return
		}
		<-settled // whoever claims releases: this ends with the store's answer
	}
}

func (p *polls) tryLeave(id string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.by[id]
	if w.claims > 0 {
		return w.settled
	}
	if w.polls--; w.polls == 0 {
		delete(p.by, id)
	}
	return nil
}

// claim counts on a parked poll until release, and reports false when there is
// none.
func (p *polls) claim(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.by[id]
	if w == nil {
		return false
	}
	if w.claims++; w.claims == 1 {
		w.settled = make(chan struct{})
	}
	return true
}

func (p *polls) release(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.by[id] // is there: no poll leaves while it is claimed
	if w.claims--; w.claims == 0 {
		close(w.settled)
	}
}
