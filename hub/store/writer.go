package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is what a closed store says.
var ErrClosed = errors.New("store is closed")

// The statements around jobs, the same on every database.
const (
	sqlSavepoint = "SAVEPOINT job"
	sqlRelease   = "RELEASE SAVEPOINT job"
	sqlUndo      = "ROLLBACK TO SAVEPOINT job"
)

// writer owns the connection that writes, and the goroutine that uses it.
type writer struct {
	db    *sql.DB // of one connection
	d     dialect
	file  *file // where others will look for the database
	limit int
	queue chan *job
	done  chan struct{} // closed when the goroutine has ended

	failed atomic.Pointer[failure] // the last transaction that was lost

	mu     sync.RWMutex // held for reading while a job is put into the queue
	closed bool

	// Only the goroutine touches these.
	conn  *sql.Conn // nil after a failure, until the next batch
	stmts map[string]*sql.Stmt
}

// failure is a transaction that was lost, and why.
type failure struct {
	at  time.Time
	err error
}

// job is one unit that is applied whole or not at all. It may be run twice.
type job struct {
	run  func(*tx) error
	err  error
	done chan error // takes one
}

// tx is the transaction of a batch, as one job sees it. Its statements know no
// caller's context: one who leaves must not interrupt the others.
type tx struct {
	w     *writer
	dirty bool // the job has changed a row, or a statement of it failed
}

func startWriter(ctx context.Context, db *sql.DB, d dialect, f *file, limit int) (*writer, error) {
	w := &writer{
		db: db, d: d, file: f, limit: limit,
		queue: make(chan *job, limit), done: make(chan struct{}),
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	if err := migrate(ctx, w.conn, d); err != nil {
		return nil, err
	}
	if d.alone != "" {
		if _, err := w.conn.ExecContext(ctx, d.alone); err != nil {
			return nil, fmt.Errorf("tidy up after the process before: %w", err)
		}
	}
	go w.loop()
	return w, nil
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn != nil {
		return nil
	}
	w.stmts = make(map[string]*sql.Stmt)
	w.file.reconnected()
	w.conn, err = w.db.Conn(ctx)
	return err
}

// disconnect throws the connection away: after a failed COMMIT or ROLLBACK
// nobody knows what state it is in.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	_ = w.closeStmts()
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool discard it
	_ = w.conn.Close()
	w.conn = nil
}

// closeStmts closes the statements unless the pool has closed the connection
// already: nobody but us knows of them, and to close one then is a use after
// free in the driver.
func (w *writer) closeStmts() error {
	if err := w.conn.Raw(func(any) error { return nil }); err != nil {
		return err
	}
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// do hands a job to the writer and waits for its commit. When ctx ends first,
// the job may be applied all the same.
func (s *Store) do(ctx context.Context, op string, run func(*tx) error) error {
	j := &job{run: run, done: make(chan error, 1)}
	err := s.w.enqueue(ctx, j)
	if err == nil {
		select {
		case err = <-j.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (w *writer) enqueue(ctx context.Context, j *job) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.queue <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain takes no more jobs and waits until those that are queued are done.
func (w *writer) drain() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.done
}

// stop drains, leaves the database tidy and closes it.
func (w *writer) stop(ctx context.Context) error {
	w.drain()
	var errs []error
	if w.conn != nil {
		errs = append(errs, w.closeStmts())
		for _, q := range []string{"PRAGMA optimize", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			_, err := w.conn.ExecContext(ctx, q)
			errs = append(errs, err)
		}
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.db.Close())...)
}

func (w *writer) loop() {
	defer close(w.done)
	batch := make([]*job, 0, w.limit)
	for j := range w.queue {
		batch = append(batch[:0], j)
		for more := true; more && len(batch) < w.limit; {
			select {
			case j, ok := <-w.queue:
				if more = ok; ok {
					batch = append(batch, j)
				}
			default:
				more = false
			}
		}
		w.commit(batch)
		clear(batch)
	}
}

// commit runs a batch in one transaction and answers everybody in it. If the
// transaction fails, everybody gets that error, also those whose own job had
// said no: what it saw of the others in the batch never happened.
func (w *writer) commit(batch []*job) {
	err := w.transact(batch)
	for _, j := range batch {
		if err != nil {
			j.done <- err
		} else {
			j.done <- j.err
		}
	}
}

func (w *writer) transact(batch []*job) error {
	err := w.try(batch, false)
	if errors.Is(err, errHalfDone) {
		err = w.try(batch, true)
	}
	if err != nil {
		w.failed.Store(&failure{time.Now(), err})
	}
	return err
}

// errHalfDone: a job failed after it had changed something.
var errHalfDone = errors.New("a job has to be undone alone")

// try runs a batch in one transaction. A savepoint makes SQLite copy every
// page that changes after it, and costs as much as the rows themselves, while
// jobs say no almost always before they have changed anything. So a batch goes
// without savepoints first, and the few with a half-done job in them are
// rolled back whole and run again with one a job.
func (w *writer) try(batch []*job, savepoints bool) error {
	if err := w.connect(context.Background()); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	t := &tx{w: w}
	if _, err := t.exec(w.d.begin); err != nil {
		if !w.d.isBusy(err) {
			w.disconnect()
		}
		return fmt.Errorf("begin: %w", err)
	}
	run := t.run
	if savepoints {
		run = t.runInSavepoint
	}
	err := error(nil)
	for i := 0; err == nil && i < len(batch); i++ {
		err = run(batch[i])
	}
	if err == nil {
		err = w.file.check()
	}
	if err == nil {
		if _, err = t.exec("COMMIT"); err == nil {
			return nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	if _, e := t.exec("ROLLBACK"); e != nil {
		w.disconnect()
	}
	return err
}

// run runs a job that leaves nothing to undo if it fails, or else returns
// errHalfDone.
func (t *tx) run(j *job) error {
	t.dirty = false
	if j.err = j.run(t); j.err != nil && t.dirty {
		return errHalfDone
	}
	return nil
}

// runInSavepoint runs a job and undoes it if it fails. The error is one of the
// transaction, not of the job.
func (t *tx) runInSavepoint(j *job) error {
	if _, err := t.exec(sqlSavepoint); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	if j.err = j.run(t); j.err != nil {
		if _, err := t.exec(sqlUndo); err != nil {
			return errors.Join(j.err, fmt.Errorf("undo: %w", err))
		}
	}
	if _, err := t.exec(sqlRelease); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// stmt returns the prepared form of a query, which is a constant of this
// package.
func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.w.stmts[query] = s
	return s, nil
}

// exec returns how many rows changed.
func (t *tx) exec(query string, args ...any) (n int64, err error) {
	s, err := t.stmt(query)
	if err == nil {
		var r sql.Result
		if r, err = s.ExecContext(context.Background(), args...); err == nil {
			n, err = r.RowsAffected()
		}
	}
	t.dirty = t.dirty || n > 0 || err != nil
	return n, err
}

// query runs a query of any number of rows, which may change them, and hands
// each to scan. No other statement may run meanwhile: there is one connection.
func (t *tx) query(scan func(scanner) error, query string, args ...any) error {
	t.dirty = true
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// get reads the one row of a query into dest: sql.ErrNoRows without one.
func (t *tx) get(query string, args []any, dest ...any) error {
	s, err := t.stmt(query)
	if err == nil {
		err = s.QueryRowContext(context.Background(), args...).Scan(dest...)
	}
	t.dirty = t.dirty || (err != nil && !errors.Is(err, sql.ErrNoRows))
	return err
}
