package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"beckon/hub"
)

const sqlInsertDirective = `INSERT INTO directive
(n, id, agent_id, person, via, about, created_at, until_at, visible_at, delivered_at, acked_at, ack_note, raw)
SELECT coalesce(max(n), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $6, 0, 0, '', $8 FROM directive`

const sqlAckDirective = `UPDATE directive SET acked_at = $2, ack_note = $3
WHERE id = $1 AND acked_at = 0 AND delivered_at > 0 AND until_at > $2`

// directives adds what somebody wrote to an agent, and what the agent is done
// with.
func (p *planner) directives() error {
	if v := p.c.Directive; v != nil {
		p.add(sqlInsertDirective, v.ID, v.AgentID, v.Person, v.Via, v.About, ms(v.CreatedAt), ms(v.Until), v.Raw)
	}
	stale := func(*tx) error { return hub.ErrStale }
	for _, a := range p.c.DirectiveAcks {
		p.must(stale, sqlAckDirective, a.ID, ms(p.c.At), a.Note)
	}
	return nil
}

// directiveColumns are read by scanDirective.
const directiveColumns = `id, agent_id, person, via, about, created_at, until_at, delivered_at, acked_at, ack_note, raw`

func scanDirective(r scanner) (v hub.Directive, err error) {
	var created, until, delivered, acked int64
	err = r.Scan(&v.ID, &v.AgentID, &v.Person, &v.Via, &v.About, &created, &until, &delivered, &acked, &v.AckNote, &v.Raw)
	v.CreatedAt, v.Until, v.DeliveredAt, v.AckedAt = fromMS(created), fromMS(until), fromMS(delivered), fromMS(acked)
	return v, err
}

const sqlDirective = `SELECT ` + directiveColumns + ` FROM directive WHERE id = $1 AND agent_id = $2`

// Directive reads one of an agent's: hub.ErrNotFound when it is another's.
func (s *Store) Directive(ctx context.Context, agentID, id string) (*hub.Directive, error) {
	st, err := s.stmt(ctx, sqlDirective)
	if err != nil {
		return nil, err
	}
	v, err := scanDirective(st.QueryRowContext(ctx, id, agentID))
	if err != nil {
		return nil, fmt.Errorf("read directive %s: %w", id, notFound(err))
	}
	return &v, nil
}

// ListDirectives lists directives, newest first.
func (s *Store) ListDirectives(ctx context.Context, q hub.SentQuery) ([]hub.Directive, error) {
	w := &where{}
	if q.Person != "" {
		w.and("person = ?", q.Person)
	}
	if q.AgentID != "" {
		w.and("agent_id = ?", q.AgentID)
	}
	if q.Before != "" {
		w.and("n < (SELECT n FROM directive WHERE id = ?)", q.Before)
	}
	w.args = append(w.args, limit(q.Limit))
	query := fmt.Sprintf("SELECT %s FROM directive%s ORDER BY n DESC LIMIT $%d", directiveColumns, w, len(w.args))
	out, err := all(ctx, s, scanDirective, query, w.args...)
	if err != nil {
		return nil, fmt.Errorf("list directives: %w", err)
	}
	return out, nil
}

const sqlWaiting = `SELECT count(*) FROM
(SELECT 1 FROM directive WHERE agent_id = $1 AND acked_at = 0 AND until_at > $2 LIMIT $3) AS some`

// WaitingDirectives counts what waits for an agent, stopping at limit.
func (s *Store) WaitingDirectives(ctx context.Context, agentID string, now time.Time, limit int) (n int, err error) {
	err = s.get(ctx, sqlWaiting, []any{agentID, ms(now), limit}, &n)
	return n, err
}

const sqlNextDirective = `SELECT visible_at FROM directive
WHERE agent_id = $1 AND acked_at = 0 AND until_at > $2 ORDER BY visible_at LIMIT 1`

// NextDirective says when an agent's inbox has something to give out next, false
// when nothing waits.
func (s *Store) NextDirective(ctx context.Context, agentID string, now time.Time) (time.Time, bool, error) {
	var at int64
	err := s.get(ctx, sqlNextDirective, []any{agentID, ms(now)}, &at)
	if errors.Is(err, hub.ErrNotFound) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("next directive: %w", err)
	}
	return fromMS(at), true, nil
}

const sqlTake = `UPDATE directive SET visible_at = $4,
delivered_at = CASE WHEN delivered_at = 0 THEN $2 ELSE delivered_at END
WHERE n IN (SELECT n FROM directive WHERE agent_id = $1 AND acked_at = 0 AND until_at > $2 AND visible_at <= $2
ORDER BY n LIMIT $3) RETURNING n, ` + directiveColumns

// numbered is a directive with its place in the order.
type numbered struct {
	hub.Directive
	n int64
}

func scanNumbered(r scanner) (v numbered, err error) {
	v.Directive, err = scanDirective(inFront{r, &v.n})
	return v, err
}

// inFront scans one more column before those of another scan function.
type inFront struct {
	scanner
	first any
}

func (f inFront) Scan(dest ...any) error { return f.scanner.Scan(append([]any{f.first}, dest...)...) }

// TakeDirectives gives out what an agent's inbox has to give out, the oldest
// first, and hides it until a time.
func (s *Store) TakeDirectives(ctx context.Context, agentID string, now, hidden time.Time, limit int) ([]hub.Directive, error) {
	var out []hub.Directive
	err := s.do(ctx, "take directives", func(t *tx) error {
		var rows []numbered
		if err := t.query(collect(&rows, scanNumbered), sqlTake, agentID, ms(now), limit, ms(hidden)); err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
		out = make([]hub.Directive, len(rows))
		for i := range rows {
			out[i] = rows[i].Directive
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const sqlForgetDirectives = `DELETE FROM directive WHERE n IN (SELECT n FROM directive
WHERE until_at < $1 OR (acked_at > 0 AND acked_at < $1) ORDER BY n LIMIT $2)`

const (
	sqlPutSeen = `INSERT INTO agent_seen (agent_id, at) VALUES ($1, $2)
ON CONFLICT (agent_id) DO UPDATE SET at = excluded.at WHERE excluded.at > agent_seen.at`
	sqlSeen = `SELECT at FROM agent_seen WHERE agent_id = $1`
)

// PutSeen records that an agent was there; an earlier time changes nothing.
func (s *Store) PutSeen(ctx context.Context, agentID string, at time.Time) error {
	return s.do(ctx, "put seen", func(t *tx) error {
		_, err := t.exec(sqlPutSeen, agentID, ms(at))
		return err
	})
}

// Seen returns when an agent was last there, the zero time for never.
func (s *Store) Seen(ctx context.Context, agentID string) (time.Time, error) {
	var at int64
	err := s.get(ctx, sqlSeen, []any{agentID}, &at)
	if errors.Is(err, hub.ErrNotFound) {
		return time.Time{}, nil
	}
	return fromMS(at), err
}
