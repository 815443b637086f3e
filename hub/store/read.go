package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"beckon/hub"
)

// stmt returns the prepared form of a query, which is a constant of this
// package, for the reader pool.
func (s *Store) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := s.stmts.Load(query); ok {
		return st.(*sql.Stmt), nil
	}
	st, err := s.read.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if first, loaded := s.stmts.LoadOrStore(query, st); loaded {
		_ = st.Close()
		return first.(*sql.Stmt), nil
	}
	return st, nil
}

// get reads the one row of a query: hub.ErrNotFound without one.
func (s *Store) get(ctx context.Context, query string, args []any, dest ...any) error {
	st, err := s.stmt(ctx, query)
	if err != nil {
		return err
	}
	return notFound(st.QueryRowContext(ctx, args...).Scan(dest...))
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return hub.ErrNotFound
	}
	return err
}

// all reads the rows of a query.
func all[T any](ctx context.Context, s *Store, one func(scanner) (T, error), query string, args ...any) ([]T, error) {
	st, err := s.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	var out []T
	if err := scanAll(rows, collect(&out, one)); err != nil {
		return nil, err
	}
	return out, nil
}

const sqlMessage = `SELECT ` + messageColumns + ` FROM message m WHERE m.id = $1`

// Message reads a message alone: hub.ErrNotFound when there is none,
// hub.ErrGone when it was purged.
func (s *Store) Message(ctx context.Context, id string) (*hub.Message, error) {
	m, err := s.message(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read message %s: %w", id, err)
	}
	return m, nil
}

func (s *Store) message(ctx context.Context, id string) (*hub.Message, error) {
	st, err := s.stmt(ctx, sqlMessage)
	if err != nil {
		return nil, err
	}
	m, err := scanMessage(st.QueryRowContext(ctx, id))
	if !errors.Is(err, sql.ErrNoRows) {
		return m, err
	}
	switch _, err := s.TombstoneAgent(ctx, id); {
	case err == nil:
		return nil, hub.ErrGone
	default:
		return nil, err
	}
}

// The id is written as a range so that the index by agent and id is the best one
// there is: of another agent's message not even the row is looked up.
const (
	sqlOwn = `SELECT ` + messageColumns + ` FROM message m
WHERE m.agent_id = $2 AND m.id >= $1 AND m.id <= $1`
	sqlOwnTombstone = `SELECT id FROM tombstone WHERE id = $1 AND agent_id = $2`
)

// Own is Message for the agent that sent it. Nothing of another's message is
// read, so that it takes as long as one that is not there.
func (s *Store) Own(ctx context.Context, agentID, id string) (*hub.Message, error) {
	st, err := s.stmt(ctx, sqlOwn)
	if err != nil {
		return nil, err
	}
	m, err := scanMessage(st.QueryRowContext(ctx, id, agentID))
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.get(ctx, sqlOwnTombstone, []any{id, agentID}, new(string)); err == nil {
			err = hub.ErrGone
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read message %s: %w", id, err)
	}
	return m, nil
}

const (
	sqlDeliveries = `SELECT ` + deliveryColumns + ` FROM delivery WHERE message_id = $1 ORDER BY seq`
	sqlPostings   = `SELECT ` + postingColumns + ` FROM posting WHERE message_id = $1 ORDER BY seq`
)

// Snapshot reads a message with its deliveries and postings; errors as for
// Message. The message is read first: should the rest be newer, then a change
// that is decided on it is stale.
func (s *Store) Snapshot(ctx context.Context, id string) (*hub.Snapshot, error) {
	m, err := s.message(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read message %s: %w", id, err)
	}
	snap := &hub.Snapshot{Message: m}
	if snap.Deliveries, err = all(ctx, s, scanDelivery, sqlDeliveries, id); err != nil {
		return nil, fmt.Errorf("read deliveries of %s: %w", id, err)
	}
	if snap.Postings, err = all(ctx, s, scanPosting, sqlPostings, id); err != nil {
		return nil, fmt.Errorf("read postings of %s: %w", id, err)
	}
	return snap, nil
}

// Events reads the history of a message, oldest first.
func (s *Store) Events(ctx context.Context, messageID string) ([]hub.Event, error) {
	return all(ctx, s, scanEvent, `SELECT `+eventColumns+` FROM event WHERE message_id = $1 ORDER BY seq`, messageID)
}

// Attempts reads the attempts of a message's deliveries, oldest first of each
// delivery. N is the number that hub.Finish knew the attempt by: one that did
// not count is followed by another of the same N.
func (s *Store) Attempts(ctx context.Context, messageID string) ([]hub.Attempt, error) {
	return all(ctx, s, scanAttempt,
		`SELECT `+attemptColumns+` FROM attempt WHERE message_id = $1 ORDER BY started_at, seq, try`, messageID)
}

// FindKey returns the id of what the agent sent under an idempotency key.
func (s *Store) FindKey(ctx context.Context, agentID, key string) (id string, err error) {
	err = s.get(ctx, sqlFindKey, []any{nameHash(agentID, key)}, &id)
	return id, err
}

// FindAlias returns the id of what a 0.1 agent named itself, also after the
// message was purged.
func (s *Store) FindAlias(ctx context.Context, agentID, alias string) (id string, err error) {
	hash := nameHash(agentID, alias)
	if err = s.get(ctx, sqlFindAlias, []any{hash}, &id); errors.Is(err, hub.ErrNotFound) {
		err = s.get(ctx, `SELECT id FROM tombstone WHERE alias_hash = $1 ORDER BY id DESC LIMIT 1`, []any{hash}, &id)
	}
	return id, err
}

const sqlTombstone = `SELECT agent_id FROM tombstone WHERE id = $1`

// TombstoneAgent returns who submitted a purged message.
func (s *Store) TombstoneAgent(ctx context.Context, id string) (agentID string, err error) {
	err = s.get(ctx, sqlTombstone, []any{id}, &agentID)
	return agentID, err
}

// FindPosting finds a copy by the channel's own name of it, the newest if the
// channel has used the name twice.
func (s *Store) FindPosting(ctx context.Context, channel, ref string) (*hub.Posting, error) {
	found, err := all(ctx, s, scanPosting, `SELECT `+postingColumns+` FROM posting
		WHERE channel = $1 AND ref = $2 AND ref <> '' ORDER BY message_id DESC, seq DESC LIMIT 1`, channel, ref)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, hub.ErrNotFound
	}
	return &found[0], nil
}

// GetState returns "" when nothing was put.
func (s *Store) GetState(ctx context.Context, channel, key string) (value string, err error) {
	err = s.get(ctx, `SELECT value FROM state WHERE channel = $1 AND key = $2`, []any{channel, key}, &value)
	if errors.Is(err, hub.ErrNotFound) {
		return "", nil
	}
	return value, err
}

const sqlPutStateFor = `INSERT INTO state (channel, key, value, message_id) VALUES ($1, $2, $3, $4)
ON CONFLICT (channel, key) DO UPDATE SET value = excluded.value, message_id = excluded.message_id`

// PutStateFor keeps a value for a channel until the message is purged.
func (s *Store) PutStateFor(ctx context.Context, messageID, channel, key, value string) error {
	return s.do(ctx, "put state", func(t *tx) error {
		_, err := t.exec(sqlPutStateFor, channel, key, value, messageID)
		return err
	})
}

const sqlPutState = `INSERT INTO state (channel, key, value) VALUES ($1, $2, $3)
ON CONFLICT (channel, key) DO UPDATE SET value = excluded.value`

// PutState keeps a value for a channel.
func (s *Store) PutState(ctx context.Context, channel, key, value string) error {
	return s.do(ctx, "put state", func(t *tx) error {
		_, err := t.exec(sqlPutState, channel, key, value)
		return err
	})
}

const (
	sqlLease = `INSERT INTO lease (name, owner, until) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE lease.owner = excluded.owner OR lease.until <= $4`
	sqlEndLease = `DELETE FROM lease WHERE name = $1 AND owner = $2`
)

// Lease takes or renews a named lease for owner until now+ttl, and reports
// whether owner has it. A ttl of 0 gives it back.
func (s *Store) Lease(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error) {
	var n int64
	err := s.do(ctx, "lease", func(t *tx) (err error) {
		if ttl <= 0 {
			_, err = t.exec(sqlEndLease, name, owner)
			return err
		}
		n, err = t.exec(sqlLease, name, owner, ms(now.Add(ttl)), ms(now))
		return err
	})
	return err == nil && n > 0, err
}
