package hub

import (
	"context"
	"sync"
)

// quota keeps how many open messages each agent has, so that a submit needs no
// count in the database. It is read from there at an agent's first submit.
type quota struct {
	count func(ctx context.Context, agentID string) (int, error)

	mu   sync.Mutex
	open map[string]int
}

// take reserves a place for one more open message, and reports false when the
// agent has limit of them already. A limit of 0 is none.
func (q *quota) take(ctx context.Context, agentID string, limit int) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, known := q.open[agentID]
	if !known {
		var err error
		if n, err = q.count(ctx, agentID); err != nil {
			return false, err
		}
		if q.open == nil {
			q.open = map[string]int{}
		}
		q.open[agentID] = n
	}
	if limit > 0 && n >= limit {
		return false, nil
	}
	q.open[agentID] = n + 1
	return true, nil
}

// release gives a place back: the message was not stored, or is terminal.
func (q *quota) release(agentID string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n, known := q.open[agentID]; known && n > 0 {
		q.open[agentID] = n - 1
	}
}
