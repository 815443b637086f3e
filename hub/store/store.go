// Package store keeps everything durably, on SQLite (and written so that the
// same SQL runs on PostgreSQL).
//
// What it does. [Store] implements hub.Store, the outbox's claims, the seals
// over the history, and retention. The domain decides on a snapshot and hands
// over one hub.Change with the version that it saw; the store applies all of
// it in one transaction, or says that it is stale.
//
// How. One goroutine owns the only connection that writes. It takes what is
// queued at that moment, at most [Options.BatchLimit] jobs, runs them in one
// transaction, commits, and only then answers everybody: one fsync for all of
// them, and no timer. A job that fails is undone alone. Reads have a pool of
// their own and see what was committed.
//
// What failure means. An error of a single job undoes that job alone. An
// error of BEGIN or COMMIT goes to every job of the batch, and none of them is
// applied. A caller whose context ends stops waiting, but its job may be
// applied all the same: receipts, versions and idempotency keys are there so
// that it can be tried again. After a kill, everything that was acknowledged
// is there; what was not may be.
package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"beckon/hub"

	"modernc.org/sqlite"
)

// applicationID is "BCKN" in the header of our database files.
const applicationID = 0x42434b4e

const (
	readers       = 2    // more are slower: modernc has a global lock
	pageSize      = 8192 // a message and its plan fit into one page
	defaultBatch  = 64
	busyTimeoutMS = 5000
)

// Options are what a store may be told. The zero value is right for a hub.
type Options struct {
	Log *slog.Logger // default: discards
	// Synchronous is SQLite's setting of that name, "FULL" by default. Another
	// value breaks the rule that accepted means stored: for tests and
	// benchmarks only.
	Synchronous string
	// BatchLimit is how many jobs share a transaction at most; default 64.
	BatchLimit int
}

// Store keeps everything durably. It is safe for concurrent use.
type Store struct {
	path string
	log  *slog.Logger
	d    dialect
	lock *fileLock
	w    *writer
	read *sql.DB

	stmts  sync.Map                  // query → *sql.Stmt of the reader pool
	pinged atomic.Pointer[time.Time] // when Ping wrote last

	closing  sync.Once
	closeErr error
}

var _ hub.Store = (*Store)(nil)

// Open opens the SQLite database at path, or makes it, and brings its schema
// up to date. It fails with an [*InUseError] while another process has it, and
// refuses a file that is not Beckon's or is too new. The caller must Close it.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	if o.BatchLimit <= 0 {
		o.BatchLimit = defaultBatch
	}
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (_ *Store, err error) {
	if path == "" {
		return nil, errors.New("no path")
	}
	// The DSN is code to the driver; with this it takes one statement a pragma.
	sqlite.StrictPragmas(true)
	if path, err = realPath(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, log: o.Log, d: sqliteDialect()}
	if s.lock, err = lockDatabase(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.lock.release()
		}
	}()
	if err := prepareFile(ctx, path); err != nil {
		return nil, err
	}
	db, err := openPool(path, 1, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS),
			"journal_mode(WAL)", "synchronous(" + o.Synchronous + ")", "foreign_keys(1)",
		},
	})
	if err != nil {
		return nil, err
	}
	f, err := openedFile(path)
	if err == nil {
		s.w, err = startWriter(ctx, db, s.d, f, o.BatchLimit)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	s.read, err = openPool(path, readers, url.Values{
		"_query_only": {"1"},
		"_pragma":     {fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS), "foreign_keys(1)"},
	})
	if err != nil {
		return nil, errors.Join(err, s.w.stop(ctx))
	}
	return s, nil
}

// openPool opens n connections that stay open.
func openPool(path string, n int, query url.Values) (*sql.DB, error) {
	query.Set("_dqs", "0")
	query.Set("mode", "rw") // a file that is gone is not made again behind our back
	dsn := (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// prepareFile refuses a foreign file before SQLite may change a byte of it,
// and gives a new one its page size, its application id and its mode. It may
// read the file itself because nothing in this process has it open: we hold
// the lock.
func prepareFile(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	header := make([]byte, 100)
	n, _ := f.ReadAt(header, 0)
	if err := f.Close(); err != nil {
		return err
	}
	if n > 0 {
		if n < len(header) || string(header[:16]) != "SQLite format 3\x00" ||
			binary.BigEndian.Uint32(header[68:]) != applicationID {
			return fmt.Errorf("%s is not a beckon database", path)
		}
		return nil
	}
	db, err := openPool(path, 1, url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS), fmt.Sprintf("page_size(%d)", pageSize),
	}})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	return errors.Join(err, db.Close())
}

// Close waits for what is queued, checkpoints and closes. Later calls fail,
// those that write with [ErrClosed]. It is safe to call again.
func (s *Store) Close() error {
	s.closing.Do(func() {
		ctx := context.Background()
		s.w.drain()
		s.stmts.Range(func(_, v any) bool {
			s.closeErr = errors.Join(s.closeErr, v.(*sql.Stmt).Close())
			return true
		})
		s.closeErr = errors.Join(s.closeErr, s.read.Close(), s.w.stop(ctx), s.lock.release())
		if s.closeErr != nil {
			s.closeErr = fmt.Errorf("close store: %w", s.closeErr)
		}
	})
	return s.closeErr
}

// pingEvery is how often a Ping writes at most, so that nobody can make the
// disk busy with them.
const pingEvery = time.Second

// sickFor is how long Ping remembers a transaction that was lost.
const sickFor = 30 * time.Second

// Ping writes something, if it is a while since the last did, and waits for its
// commit: a disk that is full or read-only fails it. Where a little still fits
// and more does not, it tells of what was lost lately.
func (s *Store) Ping(ctx context.Context) error {
	now := time.Now()
	wrote := false
	err := s.do(ctx, "ping", func(t *tx) (err error) {
		last := s.pinged.Load()
		if wrote = last == nil || now.Sub(*last).Abs() >= pingEvery; wrote {
			_, err = t.exec(sqlPutState, "store", "ping", now.UTC().Format(time.RFC3339))
		}
		return err
	})
	if err == nil && wrote {
		s.pinged.Store(&now)
	}
	if f := s.w.failed.Load(); err == nil && f != nil && now.Sub(f.at) < sickFor {
		err = fmt.Errorf("ping: at %s: %w", f.at.UTC().Format(time.RFC3339), f.err)
	}
	return err
}

// Check reads the whole database and reports damage. It takes seconds on a
// large one, and holds up nobody who writes.
func (s *Store) Check(ctx context.Context) error {
	rows, err := s.read.QueryContext(ctx, "PRAGMA quick_check(10)")
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	defer rows.Close()
	var found []error
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("check: %w", err)
		}
		if line != "ok" {
			found = append(found, errors.New(line))
		}
	}
	if err := errors.Join(append(found, rows.Err())...); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// Backup writes a consistent copy to a new file at path while the hub runs.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.backup(ctx, path); err != nil {
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) (err error) {
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	if err := out.Close(); err != nil {
		return err
	}
	db, err := openPool(s.path, 1, url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS)}})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO $1", path)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if out, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	return errors.Join(out.Sync(), out.Close())
}

// ms is how a time stands in the database; 0 is the zero time.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMS(v int64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMilli(v).UTC()
}
