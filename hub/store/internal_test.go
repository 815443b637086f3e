package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub"
)

func openTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "beckon.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// together runs jobs in one batch, whatever the scheduler does: the first one
// holds the writer until all others are queued.
func together(t *testing.T, s *Store, jobs ...func(*tx) error) []error {
	t.Helper()
	gate, inside := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.do(context.Background(), "gate", func(*tx) error { close(inside); <-gate; return nil })
	})
	<-inside
	for i, run := range jobs {
		wg.Go(func() { errs[i] = s.do(context.Background(), "job", run) })
		for len(s.w.queue) <= i { // in this order
			runtime.Gosched()
		}
	}
	close(gate)
	wg.Wait()
	return errs
}

func put(key string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.exec(sqlPutState, "test", key, "v")
		return err
	}
}

// TestCommitFails: a failed COMMIT is everybody's error, also of the job that
// would have been told something that never happened; the writer goes on.
func TestCommitFails(t *testing.T) {
	s := openTest(t)
	schema := func(t *tx) error {
		// A deferred reference is checked by COMMIT: a real failure at the moment we want.
		for _, q := range []string{
			"CREATE TABLE parent (id INTEGER PRIMARY KEY)",
			"CREATE TABLE kid (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
		} {
			if _, err := t.exec(q); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.do(t.Context(), "schema", schema); err != nil {
		t.Fatal(err)
	}
	errs := together(t, s, put("a"), put("b"),
		func(t *tx) error { _, err := t.exec("INSERT INTO kid VALUES (1)"); return err },
		func(*tx) error { return hub.ErrStale })
	for i, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "commit: ") || errors.Is(err, hub.ErrStale) {
			t.Errorf("job %d: %v", i, err)
		}
	}
	for _, key := range []string{"a", "b"} {
		if v, err := s.GetState(t.Context(), "test", key); v != "" || err != nil {
			t.Errorf("%s: %q, %v", key, v, err)
		}
	}
	if err := s.do(t.Context(), "later", put("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "commit: ") {
		t.Errorf("ping soon after: %v", err)
	}
	s.w.failed.Load().at = time.Now().Add(-sickFor)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping later: %v", err)
	}
}

// TestHalfDone: a job that fails after a change is undone alone, and the
// others of its batch run once more.
func TestHalfDone(t *testing.T) {
	s := openTest(t)
	runs := 0
	bad := errors.New("bad")
	errs := together(t, s,
		func(t *tx) error { runs++; return put("a")(t) },
		func(t *tx) error { return errors.Join(put("bad")(t), bad) },
		func(t *tx) error { _, err := t.exec(sqlPutState, "test", nil, nil); return err }, // fails by itself
		func(*tx) error { return hub.ErrStale },
		put("b"))
	for i, want := range []string{"", "job: bad", "NOT NULL", "job: stale", ""} {
		if err := errs[i]; (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("job %d: got %v, want %q", i, err, want)
		}
	}
	if runs != 2 {
		t.Errorf("ran %d times, want 2", runs)
	}
	for key, want := range map[string]string{"a": "v", "b": "v", "bad": ""} {
		if v, err := s.GetState(t.Context(), "test", key); v != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", key, v, err, want)
		}
	}
}

// TestOneBatch: what waits shares a transaction, and one that failed before it
// changed anything costs nobody a second run.
func TestOneBatch(t *testing.T) {
	s := openTest(t)
	runs := 0
	var seen []int
	look := func(t *tx) error {
		runs++
		var n int
		err := t.get("SELECT count(*) FROM state", nil, &n)
		seen = append(seen, n)
		return err
	}
	errs := together(t, s, put("a"), look, func(*tx) error { return hub.ErrStale }, put("b"))
	if err := errors.Join(errs[0], errs[1], errs[3]); err != nil || !errors.Is(errs[2], hub.ErrStale) {
		t.Errorf("errors %v", errs)
	}
	if runs != 1 {
		t.Errorf("ran %d times, want once", runs)
	}
}

// TestReconnect: the writer survives the loss of its connection.
func TestReconnect(t *testing.T) {
	s := openTest(t)
	errs := together(t, s, func(t *tx) error {
		_, err := t.exec("ROLLBACK") // so that neither COMMIT nor ROLLBACK will do
		return err
	})
	if errs[0] == nil {
		t.Error("no error, though there was nothing to commit")
	}
	if err := s.do(t.Context(), "later", put("a")); err != nil {
		t.Error(err)
	}
}

// TestPlans: the queries that run all the time use the index that was made for
// them, and never read a table from end to end.
func TestPlans(t *testing.T) {
	s := openTest(t)
	for _, tt := range []struct{ name, query, want string }{
		{"claim", sqlClaimHead + sqlClaimTail, "COVERING INDEX delivery_due (lane=? AND due_at<?)"},
		{"claim takes by key", sqlClaimHead + sqlClaimTail, "SEARCH delivery USING PRIMARY KEY (message_id=? AND seq=?)"},
		{"next due", sqlNextDue, "COVERING INDEX delivery_due (lane=?)"},
		{"recover", sqlRecover, "INDEX delivery_due"},
		{"deliveries", sqlDeliveries, "PRIMARY KEY (message_id=?)"},
		{"postings", sqlPostings, "PRIMARY KEY (message_id=?)"},
		{"key", sqlFindKey, "INDEX message_key (key_hash=?)"},
		{"alias", sqlFindAlias, "INDEX message_alias (alias_hash=?)"},
		{"close audience", sqlCloseAudience, "PRIMARY KEY (message_id=?)"},
		{"open count", sqlOpenCount, "COVERING INDEX message_open (agent_id=?)"},
		{"open by type", sqlStatsOpen, "COVERING INDEX message_open"},
		{"live", sqlStatsLive, "COVERING INDEX delivery_due"},
		{"dead", sqlStatsDead, "COVERING INDEX delivery_dead"},
		{"unsealed", sqlUnsealed, "INDEX message_unsealed"},
		{"count unsealed", sqlStatsUnsealed, "COVERING INDEX message_unsealed"},
		{"purgeable", sqlPurgeable, "INDEX message_ended (resolved_at>? AND resolved_at<?)"},
		{"finish", sqlFinish, "PRIMARY KEY (message_id=? AND seq=?)"},
		{"finish attempt", sqlFinishAttempt, "PRIMARY KEY (message_id=? AND seq=? AND try=?)"},
	} {
		rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+tt.query, make([]any, strings.Count(tt.query, "$"))...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var plan []string
		err = scanAll(rows, func(r scanner) error {
			var id, parent, unused int
			var detail string
			err := r.Scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
		text := strings.Join(plan, "\n")
		if err != nil || !strings.Contains(text, tt.want) {
			t.Errorf("%s: want %q, plan is\n%s\n%v", tt.name, tt.want, text, err)
		}
	}
}

// TestTampering: whoever changes history in the file is found out.
func TestTampering(t *testing.T) {
	for _, tt := range []struct{ name, query, want string }{
		{"event changed", "UPDATE event SET hash = zeroblob(32) WHERE message_id = 'm1'", "event 1 of m1: is another than the sealed one"},
		{"event gone", "DELETE FROM event WHERE message_id = 'm2'", "event 1 of m2: is missing"},
		{"seal changed", "UPDATE seal SET at = at + 1 WHERE n = 2", "seal 2: chain is broken"},
		{"heads changed", "UPDATE seal SET heads = '[]' WHERE n = 1", "seal 1: chain is broken"},
		{"seal gone", "DELETE FROM seal WHERE n = 2", "seal 2: missing"},
		{"first seal gone", "DELETE FROM seal WHERE n = 1", "seal 1: missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openTest(t)
			for n := 1; n <= 3; n++ {
				id := fmt.Sprint("m", n)
				e, head, err := hub.NewEvent(hub.ChainHead{}, id, "submitted", time.Now(), "x")
				if err != nil {
					t.Fatal(err)
				}
				err = s.do(t.Context(), "insert", func(t *tx) error {
					_, err := t.exec(sqlInsertEvent, id, e.Seq, ms(e.At), e.Kind, e.Content, e.Salt, e.ContentHash[:], e.Hash[:])
					if err != nil {
						return err
					}
					_, err = t.exec(sqlInsertMessage, id, "a", "", nil, nil, "ask", "open", 1, 1, 0, 0, "", "",
						head.Seq, head.Hash[:], 1, nil, nil, "{}", []byte("{}"), 5)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if n, err := s.Seal(t.Context(), time.Now(), 10); n != 1 || err != nil {
					t.Fatalf("sealed %d, %v", n, err)
				}
			}
			if err := s.VerifySeals(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.do(t.Context(), "tamper", func(t *tx) error { _, err := t.exec(tt.query); return err }); err != nil {
				t.Fatal(err)
			}
			if err := s.VerifySeals(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestOwnReadsNothingOfOthers: the look-up goes by agent and id together, so that
// it ends in the index when the message is another's.
func TestOwnReadsNothingOfOthers(t *testing.T) {
	s := openTest(t)
	rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+sqlOwn, "msg_x", "bot")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if got := strings.Join(plan, "; "); rows.Err() != nil || !strings.Contains(got, "INDEX message_agent (agent_id=? AND id>? AND id<?)") {
		t.Errorf("plan %q, %v", got, rows.Err())
	}
}
