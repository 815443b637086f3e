package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// BackupFile writes a consistent copy of the database at from to a new file at
// to, mode 0600, and checks the copy. A hub, of this process or another, may
// write to the database meanwhile: the copy is the state of one moment, with
// everything that was acknowledged before it. The database is opened for reading
// only, and its lock is left to the hub.
//
// It refuses to write over a file, and leaves none behind when it fails. It
// does not wait for the hub and holds up nobody who writes; the database's WAL
// grows until it is done.
func BackupFile(ctx context.Context, from, to string) error {
	if err := backupFile(ctx, from, to); err != nil {
		return fmt.Errorf("back up %s: %w", from, err)
	}
	return nil
}

func backupFile(ctx context.Context, from, to string) (err error) {
	// SQLite would make a database where there is none.
	if _, err := os.Stat(from); err != nil {
		return err
	}
	// An absolute path is never taken for a URI, whatever it looks like.
	if from, err = realPath(from); err != nil {
		return err
	}
	if to, err = filepath.Abs(to); err != nil {
		return err
	}
	db, err := openCopy(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already", to)
	} else if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	if err := out.Close(); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", to); err != nil {
		return err
	}
	if err := checkCopy(ctx, to); err != nil {
		return fmt.Errorf("the copy: %w", err)
	}
	return errors.Join(syncPath(to), syncPath(filepath.Dir(to)))
}

// openCopy opens a database of ours for reading only.
func openCopy(ctx context.Context, path string) (*sql.DB, error) {
	db, err := openPool(path, 1, url.Values{
		"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS)},
	})
	if err != nil {
		return nil, err
	}
	var id int
	err = db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id)
	if err != nil || id != applicationID {
		err = errors.Join(fmt.Errorf("%s is not a beckon database", path), err)
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// checkCopy reads the whole file and reports damage.
func checkCopy(ctx context.Context, path string) error {
	db, err := openCopy(ctx, path)
	if err != nil {
		return err
	}
	var said string
	err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said)
	if err == nil && said != "ok" {
		err = errors.New(said)
	}
	return errors.Join(err, db.Close())
}

// syncPath makes a file, or a folder's entries, survive a power failure. The
// descriptor is another one than SQLite's, which has closed its own by now.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(f.Sync()), f.Close())
}

// ignoreUnsupported forgives a system that can't sync folders.
func ignoreUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
