package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// FileDedup is a [Dedup] in a folder on a local disk: processes that share it,
// one after the other or at once, act once together. There is a small file for
// each key, named by its hash; a process that acts has it locked, so that one
// which dies leaves nothing behind that is in the way.
type FileDedup struct {
	Dir  string        // made if it is not there
	Keep time.Duration // 0 is DefaultKeep
}

// doneMark begins the file of what was acted on. One that was cut off while it
// was written is not one.
const doneMark = "done\n"

// Once implements [Dedup].
func (d *FileDedup) Once(ctx context.Context, key string, act func(context.Context) error) (acted bool, err error) {
	if err := prepare(d.Dir, kindDedup, keepOr(d.Keep)); err != nil {
		return false, err
	}
	f, err := lockFile(filepath.Join(d.Dir, fileName(kindDedup, key)))
	if err != nil {
		return false, err
	}
	defer f.Close() // unlocks
	text := make([]byte, len(doneMark))
	if n, _ := f.ReadAt(text, 0); string(text[:n]) == doneMark {
		return false, nil
	}
	if err := act(ctx); err != nil {
		return false, err
	}
	if _, err := f.WriteAt([]byte(doneMark), 0); err != nil {
		return true, fmt.Errorf("remember what was done: %w", err)
	}
	if err := errors.Join(f.Sync(), syncDir(d.Dir)); err != nil {
		return true, fmt.Errorf("remember what was done: %w", err)
	}
	return true, nil
}

// FileReplays is a [ma2h.ReplayCache] in a folder on a local disk, for agents
// whose process lives no longer than one push. It remembers each signature for
// two days, which is enough for a window of up to a day.
type FileReplays struct {
	Dir string // made if it is not there; may be that of a FileDedup
}

const keepReplays = 48 * time.Hour

// Add implements [ma2h.ReplayCache].
func (r *FileReplays) Add(jti string, now, until time.Time) (bool, error) {
	if until.Sub(now) > keepReplays {
		return false, errors.New("the replay window is longer than a day")
	}
	if err := prepare(r.Dir, kindReplay, keepReplays); err != nil {
		return false, err
	}
	// Of many at once, one makes the file.
	f, err := os.OpenFile(filepath.Join(r.Dir, fileName(kindReplay, jti)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(f.Close(), syncDir(r.Dir))
	}
	return err == nil, err
}

// The kinds of files.
const (
	kindDedup  = "dedup"
	kindReplay = "jti"
)

// fileName is what a key's file is called: whatever a hub sends as an id is no
// path, and not readable.
func fileName(kind, key string) string {
	sum := sha256.Sum256([]byte(key))
	return kind + "-" + hex.EncodeToString(sum[:])
}

// lockFile opens and locks a file. One that was swept away in between is made
// again.
func lockFile(path string) (*os.File, error) {
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		taken, err := tryLock(f)
		if err == nil && taken {
			err = ErrBusy
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("%s is taken away again and again", path)
}

// sweepEvery is how often a folder is cleared of what is old.
const sweepEvery = time.Hour

// prepare makes a folder, and now and then clears it of files of a kind that are
// older than keep.
func prepare(dir, kind string, keep time.Duration) error {
	if dir == "" {
		return &UsageError{Msg: "the folder that remembers what was done has no name"}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	mark := filepath.Join(dir, "."+kind+"-swept")
	now := time.Now()
	if info, err := os.Stat(mark); err == nil && now.Sub(info.ModTime()) < sweepEvery {
		return nil
	}
	// Two that sweep at once do no harm.
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(mark, now, now); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), kind+"-") {
			sweep(filepath.Join(dir, e.Name()), now.Add(-keep))
		}
	}
	return nil
}

// sweep removes a file that was last changed before a time and that nobody has
// locked. What can't be removed is tried again an hour later.
func sweep(path string, before time.Time) {
	old := func() bool {
		info, err := os.Stat(path)
		return err == nil && info.ModTime().Before(before)
	}
	if !old() {
		return
	}
	f, err := lockFile(path)
	if err != nil {
		return
	}
	defer f.Close()
	if old() { // nobody wrote in between
		_ = os.Remove(path)
	}
}

// syncDir makes new names in a folder durable, where the system can.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
		err = nil // it can't
	}
	return errors.Join(err, f.Close())
}
