package store

import (
	"strings"
	"unicode/utf8"

	"beckon/hub"
)

// maxError is how much of an error a row keeps, in bytes.
const maxError = 512

const sqlFinish = `UPDATE delivery SET state = $4, due_at = $5, attempts = attempts - $6,
maybe_sent = (maybe_sent OR $7) AND NOT $8, last_code = $9, last_error = $10, done_at = $11
WHERE message_id = $1 AND seq = $2 AND attempts = $3 AND state = 'running'`

const sqlFinishAttempt = `UPDATE attempt SET ended_at = $3, code = $4, error = $5
WHERE message_id = $1 AND seq = $2 AND try = (SELECT tries FROM delivery WHERE message_id = $1 AND seq = $2)`

// finish ends the running attempt. That an earlier attempt may have been sent
// is forgotten only once the delivery is done.
func (p *planner) finish() error {
	f := p.c.Finish
	if f == nil {
		return nil
	}
	due, done, uncounted := f.Due, p.c.At, 0
	if f.State == hub.Pending {
		done = fromMS(0)
	} else {
		due = p.c.At
	}
	if f.Uncounted {
		uncounted = 1
	}
	text := cut(f.Error, maxError)
	lost := func(*tx) error { return hub.ErrStale }
	p.must(lost, sqlFinish, p.c.MessageID, f.Seq, f.N, string(f.State), ms(due), uncounted,
		f.MaybeSent, f.State == hub.Done, f.Code, text, ms(done))
	p.add(sqlFinishAttempt, p.c.MessageID, f.Seq, ms(p.c.At), f.Code, text)
	return nil
}

const sqlPutPosting = `INSERT INTO posting (message_id, seq, channel, place, person, ref, thread, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (message_id, seq) DO UPDATE SET channel = excluded.channel, place = excluded.place,
person = excluded.person, ref = excluded.ref, thread = excluded.thread, at = excluded.at`

func (p *planner) postings() error {
	for i := range p.c.Postings {
		q := &p.c.Postings[i]
		p.add(sqlPutPosting, p.c.MessageID, q.Seq, q.Target.Channel, q.Target.Place, q.Target.Person,
			q.Ref, q.Thread, ms(q.At))
	}
	return nil
}

const sqlDropPending = `UPDATE delivery SET state = 'dropped', done_at = $2
WHERE message_id = $1 AND state = 'pending'
AND (kind = 'remind' OR kind = 'expire' OR (kind = 'post' AND NOT maybe_sent))`

const sqlBounced = `UPDATE delivery SET state = 'dead', last_code = $3
WHERE message_id = $1 AND seq = $2 AND kind = 'post' AND state = 'done'`

const sqlAdvance = `UPDATE delivery SET due_at = $3
WHERE message_id = $1 AND entry = $2 AND kind = 'post' AND state = 'pending' AND due_at > $3`

const sqlRetry = `UPDATE delivery SET state = 'pending', due_at = $3, done_at = 0
WHERE message_id = $1 AND seq = $2 AND (state = 'dead' OR state = 'pending')`

func (p *planner) rearrange() error {
	c := p.c
	if c.DropPending {
		p.add(sqlDropPending, c.MessageID, ms(c.At))
	}
	for _, seq := range c.Bounced {
		p.add(sqlBounced, c.MessageID, seq, string(hub.Bounced))
	}
	for _, entry := range c.Advance {
		p.add(sqlAdvance, c.MessageID, entry, ms(c.At))
	}
	for _, seq := range c.Retry {
		p.add(sqlRetry, c.MessageID, seq, ms(c.At))
	}
	return nil
}

const sqlInsertDelivery = `INSERT INTO delivery
(message_id, seq, kind, lane, channel, place, person, entry, posting, state, due_at, attempts, tries, maybe_sent,
 generation, last_code, last_error, created_at, done_at, data)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, $16, $17, $18, $19)`

func (p *planner) deliveries() error {
	for i := range p.c.Deliveries {
		d := &p.c.Deliveries[i]
		p.add(sqlInsertDelivery, p.c.MessageID, d.Seq, string(d.Kind), d.Lane,
			d.Target.Channel, d.Target.Place, d.Target.Person, d.Entry, d.Posting,
			string(d.State), ms(d.Due), d.Attempts, d.MaybeSent, d.Generation, d.LastCode,
			cut(d.LastError, maxError), ms(d.CreatedAt), ms(d.DoneAt), orNull(d.Data))
	}
	return nil
}

// cut shortens s to at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
