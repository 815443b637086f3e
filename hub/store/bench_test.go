package store_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/store"
)

const producers = 64

// BenchmarkApply submits with 64 producers, and reports the ratio to the
// plainest possible loop that groups the same rows into transactions. Both run
// within the benchmark, in turns, as figures of one machine drift.
func BenchmarkApply(b *testing.B) {
	var ours, raw time.Duration
	round := 0
	changes := make([]*hub.Change, 4096)
	b.StopTimer()
	for n := 0; n < b.N; n += len(changes) {
		changes = changes[:min(len(changes), b.N-n)]
		for i := range changes {
			changes[i] = mustSubmission(b, fmt.Sprint(round, " ", i))
		}
		round++
		b.StartTimer()
		ours += timeApply(b, changes)
		b.StopTimer()
		raw += timeRaw(b, changes)
	}
	b.ReportMetric(float64(b.N)/ours.Seconds(), "apply/s")
	b.ReportMetric(float64(b.N)/raw.Seconds(), "raw/s")
	b.ReportMetric(raw.Seconds()/ours.Seconds(), "ratio")
}

// BenchmarkRawGroupCommit is the loop alone.
func BenchmarkRawGroupCommit(b *testing.B) {
	changes := make([]*hub.Change, b.N)
	for i := range changes {
		changes[i] = mustSubmission(b, strconv.Itoa(i))
	}
	b.ResetTimer()
	d := timeRaw(b, changes)
	b.ReportMetric(float64(b.N)/d.Seconds(), "raw/s")
}

// produce hands out the changes to 64 goroutines.
func produce(changes []*hub.Change, apply func(*hub.Change) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(changes) {
					return
				}
				if err := apply(changes[i]); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func timeApply(b *testing.B, changes []*hub.Change) time.Duration {
	s := open(b, filepath.Join(b.TempDir(), "beckon.db"), store.Options{})
	begin := time.Now()
	if err := produce(changes, func(c *hub.Change) error { return s.Apply(context.Background(), c) }); err != nil {
		b.Fatal(err)
	}
	d := time.Since(begin)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return d
}

type rawJob struct {
	c    *hub.Change
	done chan error
}

// timeRaw does what Apply does as plainly as can be: no savepoints, no
// decisions, no other change than this.
func timeRaw(b *testing.B, changes []*hub.Change) time.Duration {
	path := filepath.Join(b.TempDir(), "raw.db")
	if err := open(b, path, store.Options{}).Close(); err != nil { // for the schema
		b.Fatal(err)
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := sql.Open("sqlite", "file:"+path+"?"+query.Encode())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	jobs := make(chan rawJob, producers)
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := rawWriter(db, jobs); err != nil {
			b.Error(err)
		}
	})
	begin := time.Now()
	err = produce(changes, func(c *hub.Change) error {
		j := rawJob{c, make(chan error, 1)}
		jobs <- j
		return <-j.done
	})
	d := time.Since(begin)
	close(jobs)
	writer.Wait()
	if err != nil {
		b.Fatal(err)
	}
	return d
}

var rawQueries = []string{
	`INSERT INTO message (id, agent_id, alias, key_hash, alias_hash, type, status, version, accepted_at, expires_at,
	resolved_at, resolution_id, resolved_via, head_seq, head_hash, sealed_seq, next_delivery, checklist, response, plan, raw)
	VALUES ($1, $2, '', $3, NULL, $4, $5, 1, $6, 0, 0, '', '', $7, $8, 0, $9, NULL, NULL, $10, $11)`,
	`INSERT INTO delivery (message_id, seq, kind, lane, channel, place, person, entry, posting, state, due_at, attempts,
	tries, maybe_sent, generation, last_code, last_error, created_at, done_at)
	VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, $9, $10, 0, 0, 0, 0, '', '', $11, 0)`,
	`INSERT INTO event (message_id, seq, at, kind, content, salt, content_hash, hash)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
	`INSERT INTO audience (message_id, person, open) VALUES ($1, $2, 1)`,
}

func rawWriter(db *sql.DB, jobs chan rawJob) error {
	var stmts []*sql.Stmt
	for _, q := range rawQueries {
		s, err := db.Prepare(q)
		if err != nil {
			return err
		}
		defer s.Close()
		stmts = append(stmts, s)
	}
	for j := range jobs {
		batch := []rawJob{j}
		for len(batch) < 64 && len(jobs) > 0 {
			batch = append(batch, <-jobs)
		}
		err := rawBatch(db, stmts, batch)
		for _, j := range batch {
			j.done <- err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rawBatch(db *sql.DB, kept []*sql.Stmt, batch []rawJob) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	stmts := make([]*sql.Stmt, len(kept))
	for i, s := range kept {
		stmts[i] = tx.Stmt(s)
	}
	for _, j := range batch {
		m, d, e := j.c.Insert, &j.c.Deliveries[0], &j.c.Events[0]
		key := sha256.Sum256([]byte(m.AgentID + "\x00" + m.Envelope.IdempotencyKey))
		plan, err := json.Marshal(&m.Plan)
		if err != nil {
			return err
		}
		for i, args := range [][]any{
			{
				m.ID, m.AgentID, key[:16], string(m.Envelope.Type), string(m.Status), m.AcceptedAt.UnixMilli(), m.Head.Seq,
				m.Head.Hash[:], m.NextDelivery, string(plan), m.Raw,
			},
			{
				m.ID, d.Seq, string(d.Kind), d.Lane, d.Target.Channel, d.Target.Place, d.Entry, d.Posting, string(d.State),
				d.Due.UnixMilli(), d.CreatedAt.UnixMilli(),
			},
			{m.ID, e.Seq, e.At.UnixMilli(), e.Kind, e.Content, e.Salt, e.ContentHash[:], e.Hash[:]},
			{m.ID, j.c.Audience[0]},
		} {
			if _, err := stmts[i].Exec(args...); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}
