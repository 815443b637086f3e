package store

import (
	"context"
	"fmt"
	"time"
)

// unseenGrace is how long a message stays after it was said that its agent never
// picked up the answer.
const unseenGrace = 24 * time.Hour

// minMemory is how long tombstones and receipts are kept at least.
const minMemory = 30 * 24 * time.Hour

// A terminal message may go once nothing of it is still to be told to anybody.
// One whose Response was never picked up is kept until that was said, and a day
// more.
const sqlPurgeable = `SELECT m.id, m.agent_id, m.alias_hash FROM message m
WHERE m.resolved_at > 0 AND m.resolved_at < $1 AND m.status <> 'open'
AND NOT (m.track = '' AND m.minor >= 5 AND m.type <> 'notify' AND m.status <> 'cancelled')
AND NOT (m.track = 'expired' AND m.unseen_at > $3)
AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message_id = m.id AND (d.state = 'pending' OR d.state = 'running')
	AND (d.kind = 'callback' OR d.kind = 'post' OR d.kind = 'update' OR d.kind = 'tell'))
ORDER BY m.resolved_at LIMIT $2`

const sqlTomb = `INSERT INTO tombstone (id, agent_id, alias_hash, purged_at) VALUES ($1, $2, $3, $4)`

type purgeable struct {
	id, agentID string
	alias       []byte
}

func scanPurgeable(r scanner) (p purgeable, err error) {
	err = r.Scan(&p.id, &p.agentID, &p.alias)
	return p, err
}

// Purge removes up to limit messages that ended before now-retention, with
// everything that belongs to them, and leaves a tombstone each. Open messages
// stay, and so do those with a callback, a post, an update or a notice still to
// be done, those of which [Store.Unseen] still tells. What came in about no message goes by its own age.
// Tombstones and receipts go after twice the retention, but not before 30
// days. It returns how many messages went; call it again while that is limit.
func (s *Store) Purge(ctx context.Context, now time.Time, retention time.Duration, limit int) (int, error) {
	n := 0
	err := s.do(ctx, "purge", func(t *tx) error {
		var rows []purgeable
		if err := t.query(collect(&rows, scanPurgeable), sqlPurgeable,
			ms(now.Add(-retention)), limit, ms(now.Add(-unseenGrace))); err != nil {
			return err
		}
		for _, p := range rows {
			if err := p.purge(t, now); err != nil {
				return err
			}
		}
		n = len(rows)
		if _, err := t.exec(sqlForgetInbound, ms(now.Add(-retention)), limit); err != nil {
			return err
		}
		if _, err := t.exec(sqlForgetDirectives, ms(now.Add(-retention)), limit); err != nil {
			return err
		}
		return forget(t, now.Add(-max(2*retention, minMemory)), limit)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (p purgeable) purge(t *tx, now time.Time) error {
	for _, query := range []string{
		`DELETE FROM delivery WHERE message_id = $1`,
		`DELETE FROM attempt WHERE message_id = $1`,
		`DELETE FROM posting WHERE message_id = $1`,
		`DELETE FROM event WHERE message_id = $1`,
		`DELETE FROM audience WHERE message_id = $1`,
		`DELETE FROM inbound WHERE message_id = $1`,
		`DELETE FROM state WHERE message_id = $1`,
		`DELETE FROM message WHERE id = $1`,
	} {
		if _, err := t.exec(query, p.id); err != nil {
			return err
		}
	}
	_, err := t.exec(sqlTomb, p.id, p.agentID, orNull(p.alias), ms(now))
	return err
}

// forget removes what is remembered only so that repetitions are noticed.
func forget(t *tx, before time.Time, limit int) error {
	for _, query := range []string{
		`DELETE FROM tombstone WHERE id IN
			(SELECT id FROM tombstone WHERE purged_at < $1 ORDER BY purged_at LIMIT $2)`,
		`DELETE FROM receipt WHERE (channel, account, key) IN
			(SELECT channel, account, key FROM receipt WHERE at < $1 ORDER BY at LIMIT $2)`,
	} {
		if _, err := t.exec(query, ms(before), limit); err != nil {
			return err
		}
	}
	return nil
}

const sqlUnseen = `SELECT id FROM message
WHERE resolved_at > 0 AND resolved_at < $1 AND track = '' AND minor >= 5 AND type <> 'notify'
AND status <> 'open' AND status <> 'cancelled'
ORDER BY resolved_at LIMIT $2`

// Unseen lists asks and tasks of 0.5 and later that people or the clock have
// ended before a time, and whose Response their agent has not got, longest ended
// first.
func (s *Store) Unseen(ctx context.Context, before time.Time, limit int) ([]string, error) {
	out, err := all(ctx, s, func(r scanner) (id string, err error) {
		err = r.Scan(&id)
		return id, err
	}, sqlUnseen, ms(before), limit)
	if err != nil {
		return nil, fmt.Errorf("list unseen: %w", err)
	}
	return out, nil
}
