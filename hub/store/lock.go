package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// fileLock keeps a second process away from a database. It is an advisory
// lock on a file of its own beside the database: SQLite drops its own locks
// when any descriptor of the database file is closed, so that file is left
// alone. The kernel gives the lock back when the process ends, however it
// ends; the file stays, and means nothing by itself.
type fileLock struct{ f *os.File }

// holder is what the lock file says, for the error that a second process gets.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

func (h holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s since %s", h.PID, h.Host, h.Since.UTC().Format(time.RFC3339))
}

// InUseError is what Open returns while another process has the database.
type InUseError struct {
	Path string
	By   string // which process, where, since when
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("database %s is in use by %s", e.Path, e.By)
}

func lockDatabase(path string) (*fileLock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	taken, err := tryLock(f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if taken {
		by := readHolder(f)
		_ = f.Close()
		return nil, &InUseError{Path: path, By: by.String()}
	}
	if err := writeHolder(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return &fileLock{f}, nil
}

func writeHolder(f *os.File) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	text, err := json.Marshal(holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return err
}

// readHolder returns the zero holder when the file says nothing useful: its
// owner may be just about to write it.
func readHolder(f *os.File) (h holder) {
	buf := make([]byte, 4096)
	n, _ := f.ReadAt(buf, 0)
	if json.Unmarshal(bytes.TrimSpace(buf[:n]), &h) != nil {
		return holder{}
	}
	return h
}

// release gives the lock back.
func (l *fileLock) release() error { return l.f.Close() }

// realPath follows symbolic links, so that two names of one database share
// one lock file. The database itself need not exist yet.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}
