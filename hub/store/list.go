package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// maxLimit is the most rows of a page.
const maxLimit = 200

func limit(n int) int { return min(max(n, 1), maxLimit) }

// where collects conditions and their arguments. Conditions are constants of
// this package; only arguments come from outside.
type where struct {
	conds []string
	args  []any
}

// and adds a condition in which "?" stands for the argument.
func (w *where) and(cond string, arg any) {
	w.args = append(w.args, arg)
	w.conds = append(w.conds, strings.Replace(cond, "?", fmt.Sprintf("$%d", len(w.args)), 1))
}

// as adds a condition without an argument.
func (w *where) as(cond string) { w.conds = append(w.conds, cond) }

func (w *where) String() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

// ListMessages lists messages, newest first.
func (s *Store) ListMessages(ctx context.Context, q hub.ListQuery) ([]*hub.Message, error) {
	out, err := s.listMessages(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	return out, nil
}

func (s *Store) listMessages(ctx context.Context, q hub.ListQuery) ([]*hub.Message, error) {
	if q.Person == "" {
		return s.messagesWhere(ctx, q, "FROM message m", "m.id", &where{})
	}
	// A person's open and ended messages are two runs of the index: read a page
	// of each, and merge.
	var out []*hub.Message
	for _, open := range []bool{true, false} {
		if !open && q.Open {
			continue
		}
		w := &where{}
		w.and("a.person = ?", q.Person)
		w.and("a.open = ?", open)
		part, err := s.messagesWhere(ctx, q, "FROM audience a JOIN message m ON m.id = a.message_id", "a.message_id", w)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	slices.SortFunc(out, func(a, b *hub.Message) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(len(out), limit(q.Limit))], nil
}

func (s *Store) messagesWhere(ctx context.Context, q hub.ListQuery, from, id string, w *where) ([]*hub.Message, error) {
	if q.AgentID != "" {
		w.and("m.agent_id = ?", q.AgentID)
	}
	if q.Status == ma2h.Open || (q.Open && q.Person == "") {
		w.as("m.status = 'open'") // written out, for the partial index
	} else if q.Status != "" {
		w.and("m.status = ?", string(q.Status))
	}
	if q.Type != "" {
		w.and("m.type = ?", string(q.Type))
	}
	if q.Before != "" {
		w.and(id+" < ?", q.Before)
	}
	w.args = append(w.args, limit(q.Limit))
	query := fmt.Sprintf("SELECT %s %s%s ORDER BY %s DESC LIMIT $%d", messageColumns, from, w, id, len(w.args))
	if q.Bytes <= 0 || q.Person != "" {
		return all(ctx, s, scanMessage, query, w.args...)
	}
	return all(ctx, s, scanUpTo(q.Bytes), query, w.args...)
}

// scanUpTo is scanMessage until there are so many bytes of messages.
func scanUpTo(bytes int) func(scanner) (*hub.Message, error) {
	return func(r scanner) (*hub.Message, error) {
		if bytes <= 0 {
			return nil, errEnough
		}
		m, err := scanMessage(r)
		if err == nil {
			bytes -= m.Size()
		}
		return m, err
	}
}

// ListDeliveries lists deliveries, newest message first. A page ends with a
// whole message, so that Before skips nothing; a message with more than Limit
// matching deliveries makes a longer page.
func (s *Store) ListDeliveries(ctx context.Context, q hub.DeliveryQuery) ([]hub.Delivery, error) {
	out, err := s.listDeliveries(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return out, nil
}

func (s *Store) listDeliveries(ctx context.Context, q hub.DeliveryQuery) ([]hub.Delivery, error) {
	n := limit(q.Limit)
	out, err := s.deliveriesWhere(ctx, q, "", n+1)
	if err != nil || len(out) <= n {
		return out, err
	}
	last := out[n].MessageID
	first := slices.IndexFunc(out, func(d hub.Delivery) bool { return d.MessageID == last })
	if first > 0 {
		return out[:first], nil
	}
	return s.deliveriesWhere(ctx, q, last, 1<<30)
}

// deliveriesWhere reads the deliveries of one message, or of all.
func (s *Store) deliveriesWhere(ctx context.Context, q hub.DeliveryQuery, messageID string, n int) ([]hub.Delivery, error) {
	w := &where{}
	switch q.State {
	case "":
	case hub.Dead:
		w.as("state = 'dead'") // written out, for the partial indexes
	case hub.Pending, hub.Running:
		w.as("state IN ('pending', 'running')")
		w.and("state = ?", string(q.State))
	default:
		w.and("state = ?", string(q.State))
	}
	if q.Channel != "" {
		w.and("channel = ?", q.Channel)
	}
	if q.Before != "" {
		w.and("message_id < ?", q.Before)
	}
	if messageID != "" {
		w.and("message_id = ?", messageID)
	}
	w.args = append(w.args, n)
	query := fmt.Sprintf("SELECT %s FROM delivery%s ORDER BY message_id DESC, seq DESC LIMIT $%d",
		deliveryColumns, w, len(w.args))
	return all(ctx, s, scanDelivery, query, w.args...)
}

const sqlOpenCount = `SELECT count(*) FROM
(SELECT 1 FROM message WHERE agent_id = $1 AND status = 'open' LIMIT $2) AS some`

// OpenCount counts the open messages of an agent, stopping at limit.
func (s *Store) OpenCount(ctx context.Context, agentID string, limit int) (n int, err error) {
	err = s.get(ctx, sqlOpenCount, []any{agentID, limit}, &n)
	return n, err
}

// InAudience reports whether a person's list shows the message.
func (s *Store) InAudience(ctx context.Context, person, messageID string) (bool, error) {
	var n int
	err := s.get(ctx, `SELECT count(*) FROM audience WHERE message_id = $1 AND person = $2`,
		[]any{messageID, person}, &n)
	return n > 0, err
}

// Stats are counts for metrics and for operators. They come from indexes over
// open and unfinished rows only, so that they stay cheap with a million
// messages that have ended.
type Stats struct {
	Open     map[ma2h.Type]int // open messages
	Lanes    []LaneStats       // by lane, then state
	Unsealed int               // messages whose newest events no seal covers yet
}

// LaneStats counts the deliveries of a lane in one state: pending, running or
// dead.
type LaneStats struct {
	Lane  string
	State hub.DeliveryState
	Count int
	Due   time.Time // the earliest; zero for dead ones
}

const (
	sqlStatsOpen = `SELECT type, count(*) FROM message WHERE status = 'open' GROUP BY type`
	sqlStatsLive = `SELECT lane, state, count(*), min(due_at) FROM delivery
WHERE state IN ('pending', 'running') GROUP BY lane, state ORDER BY lane, state`
	sqlStatsDead     = `SELECT lane, 'dead', count(*), 0 FROM delivery WHERE state = 'dead' GROUP BY lane ORDER BY lane`
	sqlStatsUnsealed = `SELECT count(*) FROM message WHERE sealed_seq < head_seq`
)

// Stats counts what is open, waiting, running and dead.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	out := Stats{Open: make(map[ma2h.Type]int)}
	type openRow struct {
		t ma2h.Type
		n int
	}
	open, err := all(ctx, s, func(r scanner) (o openRow, err error) {
		err = r.Scan(&o.t, &o.n)
		return o, err
	}, sqlStatsOpen)
	if err != nil {
		return Stats{}, fmt.Errorf("count messages: %w", err)
	}
	for _, o := range open {
		out.Open[o.t] = o.n
	}
	for _, query := range []string{sqlStatsLive, sqlStatsDead} {
		lanes, err := all(ctx, s, func(r scanner) (l LaneStats, err error) {
			var due int64
			err = r.Scan(&l.Lane, &l.State, &l.Count, &due)
			l.Due = fromMS(due)
			return l, err
		}, query)
		if err != nil {
			return Stats{}, fmt.Errorf("count deliveries: %w", err)
		}
		out.Lanes = append(out.Lanes, lanes...)
	}
	if err := s.get(ctx, sqlStatsUnsealed, nil, &out.Unsealed); err != nil {
		return Stats{}, fmt.Errorf("count unsealed: %w", err)
	}
	return out, nil
}
