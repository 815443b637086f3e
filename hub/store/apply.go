package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// step is one statement of a change, made ready by the caller's goroutine so
// that the writer has nothing to do but run it.
type step struct {
	query string
	args  []any
	// none is called when the statement changed no row; nil: that is fine.
	none func(*tx) error
	// check stands instead of a statement.
	check func(*tx) error
}

func (st *step) run(t *tx) error {
	if st.check != nil {
		return st.check(t)
	}
	n, err := t.exec(st.query, st.args...)
	if err == nil && n == 0 && st.none != nil {
		err = st.none(t)
	}
	return err
}

// Apply returns once the change is durable. See hub.Change for what it does and
// which errors it gives. A message that is not there is hub.ErrNotFound, or
// hub.ErrGone once it was purged.
//
// A change without Insert and Patch still compares and raises the version,
// unless it names no message or expects version 0, as one does that only
// records a receipt.
func (s *Store) Apply(ctx context.Context, c *hub.Change) error {
	steps, err := plan(c)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return s.do(ctx, "apply", func(t *tx) error {
		for i := range steps {
			if err := steps[i].run(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// plan turns a change into statements. What may say no comes first, and only
// looks where that is enough, so that nothing has to be undone: was the receipt
// seen before, is the insert a duplicate, is the version stale.
func plan(c *hub.Change) ([]step, error) {
	if err := wellFormed(c); err != nil {
		return nil, err
	}
	p := planner{c: c, steps: make([]step, 0, 6+len(c.Deliveries)+len(c.Events)+len(c.Audience)+len(c.Postings))}
	for _, part := range []func() error{
		p.seen, p.message, p.receipt, p.finish, p.postings, p.rearrange, p.directives, p.deliveries, p.events, p.audience, p.cursors,
	} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return p.steps, nil
}

// wellFormed finds changes that no domain code should make.
func wellFormed(c *hub.Change) error {
	switch {
	case c.Insert != nil && c.Patch != nil:
		return errors.New("a change can't insert and patch")
	case c.Insert != nil && c.Insert.ID != c.MessageID:
		return fmt.Errorf("insert of %s in a change of %q", c.Insert.ID, c.MessageID)
	case c.Insert == nil && len(c.Audience) > 0:
		return errors.New("audience without insert")
	case c.Insert == nil && c.Patch == nil && len(c.Events) > 0:
		return errors.New("events without a new chain head")
	case c.MessageID == "" && (c.Patch != nil || c.Finish != nil || len(c.Postings)+len(c.Deliveries) > 0):
		return errors.New("rows without a message")
	}
	if f := c.Finish; f != nil {
		switch f.State {
		case hub.Done, hub.Dead, hub.Dropped, hub.Pending:
		default:
			return fmt.Errorf("an attempt can't end %q", f.State)
		}
	}
	return nil
}

type planner struct {
	c     *hub.Change
	steps []step
}

func (p *planner) add(query string, args ...any) {
	p.steps = append(p.steps, step{query: query, args: args})
}

// must adds a statement that has to change a row.
func (p *planner) must(none func(*tx) error, query string, args ...any) {
	p.steps = append(p.steps, step{query: query, args: args, none: none})
}

const sqlOutcome = `SELECT outcome FROM receipt WHERE channel = $1 AND account = $2 AND key = $3`

// seen refuses the change if its receipt was seen before.
func (p *planner) seen() error {
	r := p.c.Receipt
	if r == nil || r.Key == "" {
		return nil
	}
	p.steps = append(p.steps, step{check: func(t *tx) error { return repeated(t, r) }})
	return nil
}

// repeated returns the outcome that the receipt led to, as an error, or nil if
// it was not seen before.
func repeated(t *tx, r *hub.Receipt) error {
	var first []byte
	err := t.get(sqlOutcome, []any{r.Channel, r.Account, r.Key}, &first)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	e := &hub.RepeatedError{}
	if err == nil {
		err = json.Unmarshal(first, &e.Outcome)
	}
	if err != nil {
		return fmt.Errorf("read receipt: %w", err)
	}
	e.Outcome.Repeated = true
	return e
}

const sqlInsertReceipt = `INSERT INTO receipt (channel, account, key, at, outcome, evidence)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (channel, account, key) DO NOTHING`

// receipt records it. Where several hubs share a database, another may have
// been faster since seen looked.
func (p *planner) receipt() error {
	r := p.c.Receipt
	if r == nil || r.Key == "" {
		return nil
	}
	outcome, err := json.Marshal(r.Outcome)
	if err != nil {
		return fmt.Errorf("outcome: %w", err)
	}
	raced := func(t *tx) error { return repeated(t, r) }
	p.must(raced, sqlInsertReceipt, r.Channel, r.Account, r.Key, ms(p.c.At), string(outcome), orNull(r.Evidence))
	if len(r.Raw) == 0 {
		return nil
	}
	raw, err := packed(r.Raw)
	p.add(sqlInsertInbound, r.Channel, r.Account, r.Key, p.c.MessageID, ms(p.c.At), raw)
	return err
}

func (p *planner) message() error {
	c := p.c
	switch {
	case c.Insert != nil:
		return p.insert(c.Insert)
	case c.Patch != nil:
		return p.patch(c.Patch)
	case c.MessageID != "" && (c.Expect != 0 || p.hasRows()):
		p.must(p.notSet, sqlTouch, c.MessageID, c.Expect)
	}
	return nil
}

func (p *planner) hasRows() bool {
	c := p.c
	return c.Finish != nil || c.DropPending || len(c.Postings)+len(c.Bounced)+len(c.Advance)+len(c.Retry)+len(c.Deliveries) > 0
}

const sqlInsertMessage = `INSERT INTO message
(id, agent_id, alias, key_hash, alias_hash, type, status, version, accepted_at, expires_at, resolved_at,
 resolution_id, resolved_via, head_seq, head_hash, sealed_seq, next_delivery, checklist, response, plan, raw, minor)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0, $16, $17, $18, $19, $20, $21)
ON CONFLICT DO NOTHING`

func (p *planner) insert(m *hub.Message) error {
	plan, err := json.Marshal(&m.Plan)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	checklist, err := checklistJSON(m.Checklist)
	if err != nil {
		return err
	}
	resolved := m.ResolvedAt
	if resolved.IsZero() && m.Status.Terminal() {
		resolved = m.AcceptedAt // a notify: retention counts from here
	}
	key, alias := nameHash(m.AgentID, m.Envelope.IdempotencyKey), nameHash(m.AgentID, m.Alias)
	taken := func(t *tx) error { return whoHas(t, m.ID, key, alias) }
	p.must(taken, sqlInsertMessage,
		m.ID, m.AgentID, m.Alias, orNull(key), orNull(alias), string(m.Envelope.Type), string(m.Status), m.Version,
		ms(m.AcceptedAt), ms(m.ExpiresAt), ms(resolved), m.ResolutionID, m.ResolvedVia, m.Head.Seq, m.Head.Hash[:],
		m.NextDelivery, checklist, orNull(m.Response), string(plan), m.Raw, m.Envelope.Minor)
	return nil
}

const (
	sqlFindKey   = `SELECT id FROM message WHERE key_hash = $1`
	sqlFindAlias = `SELECT id FROM message WHERE alias_hash = $1`
)

// whoHas says which message an insert collided with.
func whoHas(t *tx, id string, key, alias []byte) error {
	for _, by := range []struct {
		query string
		hash  []byte
	}{{sqlFindKey, key}, {sqlFindAlias, alias}} {
		if by.hash == nil {
			continue
		}
		e := &hub.DuplicateError{}
		switch err := t.get(by.query, []any{by.hash}, &e.ID); {
		case err == nil:
			return e
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
	}
	return fmt.Errorf("message %s exists", id)
}

const sqlPatch = `UPDATE message SET version = version + 1, status = $3, resolved_at = $4, resolution_id = $5,
response = $6, resolved_via = $7, checklist = $8, head_seq = $9, head_hash = $10, next_delivery = $11
WHERE id = $1 AND version = $2`

const sqlTouch = `UPDATE message SET version = version + 1 WHERE id = $1 AND version = $2`

const sqlTrack = `UPDATE message SET track = $2, delivered_at = $3, acked_at = $4, unseen_at = $5, ack_note = $6
WHERE id = $1`

const sqlCloseAudience = `UPDATE audience SET open = $2 WHERE message_id = $1 AND open <> $2`

func (p *planner) patch(v *hub.Patch) error {
	checklist, err := checklistJSON(v.Checklist)
	if err != nil {
		return err
	}
	p.must(p.notSet, sqlPatch, p.c.MessageID, p.c.Expect, string(v.Status), ms(v.ResolvedAt), v.ResolutionID,
		orNull(v.Response), v.ResolvedVia, checklist, v.Head.Seq, v.Head.Hash[:], v.NextDelivery)
	if t := v.Track; t != nil {
		p.add(sqlTrack, p.c.MessageID, string(t.State), ms(t.DeliveredAt), ms(t.AckedAt), ms(t.ExpiredAt), t.AckNote)
	}
	if v.Status.Terminal() {
		p.add(sqlCloseAudience, p.c.MessageID, false)
	}
	return nil
}

// notSet says why the compare-and-set changed nothing.
func (p *planner) notSet(t *tx) error {
	var n int64
	err := t.get(`SELECT version FROM message WHERE id = $1`, []any{p.c.MessageID}, &n)
	switch {
	case err == nil:
		return hub.ErrStale
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	err = t.get(sqlTombstone, []any{p.c.MessageID}, new(string))
	switch {
	case err == nil:
		return fmt.Errorf("message %s: %w", p.c.MessageID, hub.ErrGone)
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("message %s: %w", p.c.MessageID, hub.ErrNotFound)
	}
	return err
}

const sqlInsertEvent = `INSERT INTO event (message_id, seq, at, kind, content, salt, content_hash, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

func (p *planner) events() error {
	for i := range p.c.Events {
		e := &p.c.Events[i]
		p.add(sqlInsertEvent, p.c.MessageID, e.Seq, ms(e.At), e.Kind, orNull(e.Content), orNull(e.Salt),
			e.ContentHash[:], e.Hash[:])
	}
	return nil
}

const sqlInsertAudience = `INSERT INTO audience (message_id, person, open) VALUES ($1, $2, $3)
ON CONFLICT (message_id, person) DO NOTHING`

func (p *planner) audience() error {
	for _, person := range p.c.Audience {
		p.add(sqlInsertAudience, p.c.MessageID, person, !p.c.Insert.Status.Terminal())
	}
	return nil
}

func (p *planner) cursors() error {
	if r := p.c.Receipt; r != nil {
		p.cursor(r.Cursor)
	}
	p.cursor(p.c.Cursor)
	return nil
}

func (p *planner) cursor(c *hub.Cursor) {
	if c != nil {
		p.add(sqlPutState, c.Channel, c.Key, c.Value)
	}
}

// nameHash is what a unique index holds of a name that an agent chose: 16
// bytes, whatever its length. Nobody finds two names of one hash. No name has
// no hash.
func nameHash(agentID, name string) []byte {
	if name == "" {
		return nil
	}
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(agentID)))
	h.Write(n[:])
	h.Write([]byte(agentID))
	h.Write([]byte(name))
	return h.Sum(nil)[:16]
}

// orNull keeps a nil slice apart from an empty one.
func orNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// checklistJSON returns a string, or nil for null.
func checklistJSON(list []ma2h.ChecklistItem) (any, error) {
	if list == nil {
		return nil, nil
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("checklist: %w", err)
	}
	return string(b), nil
}
