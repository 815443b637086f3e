package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrRemoved is what every write says once the database's file is not where it
// was opened: what was written then would be gone with the process.
var ErrRemoved = errors.New("the database file was removed or replaced while the hub has it open")

// file is the database's file as it was opened, with the write-ahead log that
// the connection at hand writes to.
type file struct {
	path string
	info fs.FileInfo
	wal  fs.FileInfo // nil until the connection has opened it
}

func openedFile(path string) (*file, error) {
	info, err := os.Stat(path)
	return &file{path: path, info: info}, err
}

// check reports whether both are still what is at their paths. It is for while a
// transaction is open, since the log is there then. It opens nothing: SQLite
// loses its locks when somebody closes a descriptor of the database.
func (f *file) check() error {
	if err := same(f.path, &f.info); err != nil {
		return err
	}
	return same(f.path+"-wal", &f.wal)
}

// same takes what is at path for known, or compares it with that.
func same(path string, known *fs.FileInfo) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && *known != nil && !os.SameFile(info, *known):
		return fmt.Errorf("%s: %w", path, ErrRemoved)
	case err != nil:
		return err
	}
	*known = info
	return nil
}

// reconnected forgets the log: another connection may open another.
func (f *file) reconnected() { f.wal = nil }
