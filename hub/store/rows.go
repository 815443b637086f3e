package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// scanner is one row: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

// scanAll hands every row to scan and closes rows.
func scanAll(rows *sql.Rows, scan func(scanner) error) error {
	for rows.Next() {
		if err := scan(rows); errors.Is(err, errEnough) {
			break
		} else if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// errEnough ends a scan before the rows do.
var errEnough = errors.New("enough rows")

// collect makes a scan function that appends to out what one row holds.
func collect[T any](out *[]T, one func(scanner) (T, error)) func(scanner) error {
	return func(r scanner) error {
		v, err := one(r)
		if err == nil {
			*out = append(*out, v)
		}
		return err
	}
}

// messageColumns are read by scanMessage, with the table as m.
const messageColumns = `m.id, m.agent_id, m.alias, m.status, m.version, m.accepted_at, m.expires_at, m.resolved_at,
m.resolution_id, m.resolved_via, m.head_seq, m.head_hash, m.next_delivery, m.track, m.delivered_at, m.acked_at,
m.unseen_at, m.ack_note, m.checklist, m.response, m.plan, m.raw`

func scanMessage(r scanner) (*hub.Message, error) {
	m := &hub.Message{}
	var accepted, expires, resolved, delivered, acked, unseen int64
	var hash, checklist, plan []byte
	err := r.Scan(&m.ID, &m.AgentID, &m.Alias, &m.Status, &m.Version, &accepted, &expires, &resolved,
		&m.ResolutionID, &m.ResolvedVia, &m.Head.Seq, &hash, &m.NextDelivery,
		&m.Track.State, &delivered, &acked, &unseen, &m.Track.AckNote, &checklist, &m.Response, &plan, &m.Raw)
	if err != nil {
		return nil, err
	}
	m.AcceptedAt, m.ExpiresAt, m.ResolvedAt = fromMS(accepted), fromMS(expires), fromMS(resolved)
	m.Track.DeliveredAt, m.Track.AckedAt, m.Track.ExpiredAt = fromMS(delivered), fromMS(acked), fromMS(unseen)
	copy(m.Head.Hash[:], hash)
	if err := json.Unmarshal(plan, &m.Plan); err != nil {
		return nil, fmt.Errorf("message %s: plan: %w", m.ID, err)
	}
	if checklist != nil {
		if err := json.Unmarshal(checklist, &m.Checklist); err != nil {
			return nil, fmt.Errorf("message %s: checklist: %w", m.ID, err)
		}
	}
	if m.Envelope, err = parseEnvelope(m.Raw); err != nil {
		return nil, fmt.Errorf("message %s: envelope: %w", m.ID, err)
	}
	return m, nil
}

// deliveryColumns are read by scanDelivery.
const deliveryColumns = `message_id, seq, kind, lane, channel, place, person, entry, posting, state, due_at, attempts,
maybe_sent, generation, last_code, last_error, created_at, done_at, data`

func scanDelivery(r scanner) (d hub.Delivery, err error) {
	var due, created, done int64
	err = r.Scan(&d.MessageID, &d.Seq, &d.Kind, &d.Lane, &d.Target.Channel, &d.Target.Place, &d.Target.Person,
		&d.Entry, &d.Posting, &d.State, &due, &d.Attempts, &d.MaybeSent, &d.Generation, &d.LastCode, &d.LastError,
		&created, &done, &d.Data)
	d.Due, d.CreatedAt, d.DoneAt = fromMS(due), fromMS(created), fromMS(done)
	return d, err
}

// attemptColumns are read by scanAttempt.
const attemptColumns = `message_id, seq, n, started_at, ended_at, code, error`

func scanAttempt(r scanner) (a hub.Attempt, err error) {
	var started, ended int64
	err = r.Scan(&a.MessageID, &a.Seq, &a.N, &started, &ended, &a.Code, &a.Error)
	a.StartedAt, a.EndedAt = fromMS(started), fromMS(ended)
	return a, err
}

// postingColumns are read by scanPosting.
const postingColumns = `message_id, seq, channel, place, person, ref, thread, at`

func scanPosting(r scanner) (p hub.Posting, err error) {
	var at int64
	err = r.Scan(&p.MessageID, &p.Seq, &p.Target.Channel, &p.Target.Place, &p.Target.Person, &p.Ref, &p.Thread, &at)
	p.At = fromMS(at)
	return p, err
}

// eventColumns are read by scanEvent.
const eventColumns = `message_id, seq, at, kind, content, salt, content_hash, hash`

func scanEvent(r scanner) (e hub.Event, err error) {
	var at int64
	var contentHash, hash []byte
	err = r.Scan(&e.MessageID, &e.Seq, &at, &e.Kind, &e.Content, &e.Salt, &contentHash, &hash)
	e.At = fromMS(at)
	copy(e.ContentHash[:], contentHash)
	copy(e.Hash[:], hash)
	return e, err
}

// parseEnvelope reads an envelope that was accepted once. Validate fills in what
// the protocol defaults; what it objects to can only be a rule that is younger
// than the message, which stays readable.
func parseEnvelope(raw []byte) (*ma2h.Envelope, error) {
	e, err := ma2h.Parse(raw)
	if err != nil {
		return nil, err
	}
	_ = e.Validate()
	return e, nil
}
