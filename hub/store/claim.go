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

// CodeInterrupted is the code of an attempt that nobody ended: its process
// died, or its lease ran out.
const CodeInterrupted = "interrupted"

// CodeReleased is the code of an attempt that was given back before it began.
const CodeReleased = "released"

const (
	sqlClaimHead = `UPDATE delivery SET state = 'running', due_at = $4, attempts = attempts + 1, tries = tries + 1,
maybe_sent = (maybe_sent OR state = 'running')
WHERE (message_id, seq) IN (SELECT message_id, seq FROM delivery
WHERE lane = $1 AND state IN ('pending', 'running') AND due_at <= $2
ORDER BY due_at, message_id, seq LIMIT $3`
	sqlClaimTail = `) RETURNING ` + deliveryColumns + `, tries`

	sqlInsertAttempt = `INSERT INTO attempt (message_id, seq, try, n, started_at, ended_at, code, error)
VALUES ($1, $2, $3, $4, $5, 0, '', '')`
	sqlInterrupt = `UPDATE attempt SET ended_at = $4, code = $5 WHERE message_id = $1 AND seq = $2 AND try = $3
AND ended_at = 0`
)

// claimed is a delivery with the number of its try.
type claimed struct {
	hub.Delivery
	try int
}

func scanClaimed(r scanner) (c claimed, err error) {
	c.Delivery, err = scanDelivery(withMore{r, []any{&c.try}})
	return c, err
}

// withMore scans more columns behind those of another scan function.
type withMore struct {
	scanner
	more []any
}

func (w withMore) Scan(dest ...any) error { return w.scanner.Scan(append(dest, w.more...)...) }

// Claim takes up to limit deliveries of a lane that are due: each becomes
// running until now+lease, with one more attempt whose row stands before
// anything is dialled. A running delivery whose lease has run out is taken
// over; its open attempt ends as [CodeInterrupted], and it may have been sent.
// The earliest message comes first. A caller whose ctx ends may have claimed
// what it does not see; those come back when the lease has run out.
func (s *Store) Claim(ctx context.Context, lane string, now time.Time, lease time.Duration, limit int) ([]hub.Delivery, error) {
	query := sqlClaimHead + s.d.claim + sqlClaimTail
	var out []hub.Delivery
	err := s.do(ctx, "claim", func(t *tx) error {
		var rows []claimed
		if err := t.query(collect(&rows, scanClaimed), query, lane, ms(now), limit, ms(now.Add(lease))); err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b claimed) int {
			return cmp.Or(cmp.Compare(a.MessageID, b.MessageID), cmp.Compare(a.Seq, b.Seq))
		})
		out = make([]hub.Delivery, len(rows))
		for i, c := range rows {
			if c.try > 1 {
				if _, err := t.exec(sqlInterrupt, c.MessageID, c.Seq, c.try-1, ms(now), CodeInterrupted); err != nil {
					return err
				}
			}
			if _, err := t.exec(sqlInsertAttempt, c.MessageID, c.Seq, c.try, c.Attempts, ms(now)); err != nil {
				return err
			}
			out[i] = c.Delivery
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const sqlNextDue = `SELECT due_at FROM delivery WHERE lane = $1 AND state IN ('pending', 'running')
ORDER BY due_at LIMIT 1`

// NextDue says when a lane has something to claim next, a lease that runs out
// included; false when nothing waits.
func (s *Store) NextDue(ctx context.Context, lane string) (time.Time, bool, error) {
	var due int64
	err := s.get(ctx, sqlNextDue, []any{lane}, &due)
	if errors.Is(err, hub.ErrNotFound) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("next due: %w", err)
	}
	return fromMS(due), true, nil
}

const sqlNextLane = `SELECT lane FROM delivery WHERE lane > $1 AND lane < $2 AND state IN ('pending', 'running')
ORDER BY lane LIMIT 1`

// Lanes lists the lanes that begin with a prefix and have something to be done,
// by name. It takes one look into the index a lane, however much is in them.
func (s *Store) Lanes(ctx context.Context, prefix string) ([]string, error) {
	var out []string
	end := prefix + "\U0010FFFF"
	for last := prefix; ; last = out[len(out)-1] {
		var name string
		switch err := s.get(ctx, sqlNextLane, []any{last, end}, &name); {
		case errors.Is(err, hub.ErrNotFound):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("list lanes: %w", err)
		}
		out = append(out, name)
	}
}

const sqlRecover = `UPDATE delivery SET state = 'pending', due_at = $1, attempts = attempts - 1, maybe_sent = $2,
last_code = $3, last_error = '' WHERE state = 'running' AND state IN ('pending', 'running')
RETURNING ` + deliveryColumns + `, tries`

// Recover is for the start of a process that is alone on its database: what
// another one left running becomes pending and due now. The attempts end as
// [CodeInterrupted] and don't count; whether they were sent nobody knows. It
// returns how many there were.
func (s *Store) Recover(ctx context.Context, now time.Time) (int, error) {
	n := 0
	err := s.do(ctx, "recover", func(t *tx) error {
		var rows []claimed
		if err := t.query(collect(&rows, scanClaimed), sqlRecover, ms(now), true, CodeInterrupted); err != nil {
			return err
		}
		for _, c := range rows {
			if _, err := t.exec(sqlInterrupt, c.MessageID, c.Seq, c.try, ms(now), CodeInterrupted); err != nil {
				return err
			}
		}
		n = len(rows)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

const sqlReleaseDelivery = `UPDATE delivery SET state = 'pending', due_at = $4, attempts = attempts - 1
WHERE message_id = $1 AND seq = $2 AND attempts = $3 AND state = 'running'`

// Release gives back claimed deliveries that were not begun: they are pending
// and due now, and the attempt does not count. Those that the caller has lost
// meanwhile stay as they are.
func (s *Store) Release(ctx context.Context, now time.Time, deliveries []hub.Delivery) error {
	return s.do(ctx, "release", func(t *tx) error {
		for i := range deliveries {
			d := &deliveries[i]
			n, err := t.exec(sqlReleaseDelivery, d.MessageID, d.Seq, d.Attempts, ms(now))
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if _, err := t.exec(sqlFinishAttempt, d.MessageID, d.Seq, ms(now), CodeReleased, ""); err != nil {
				return err
			}
		}
		return nil
	})
}
