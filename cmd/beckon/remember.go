package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// The hub knows a repeated message by its key only when the whole envelope is
// the same (spec §8.1), created_at and expires_at included. So with a key of
// the script's own the command remembers these two times, and nothing else of
// the message, in the user's cache folder.

// sentTimes are what is remembered of a message.
type sentTimes struct {
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at,omitzero"`
}

// rememberFor is how long; the hub keeps a key for 24 hours at least.
const rememberFor = 7 * 24 * time.Hour

// sameTimes gives e the times of an earlier invocation with the same key, or
// remembers those that it has. The returned function forgets what was remembered
// just now.
func sameTimes(sh *shell, r *author, e *ma2h.Envelope) (forget func()) {
	file, err := timesFile(r, e)
	fresh := false
	if err == nil {
		fresh, err = recall(file, e)
	}
	if err != nil {
		sh.say("beckon: warning: the message's time could not be remembered, so repeating this command will be refused as a different message: %v", err)
		return func() {}
	}
	if !fresh {
		return func() {}
	}
	return func() { os.Remove(file) }
}

func timesFile(r *author, e *ma2h.Envelope) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "beckon", "sent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	tidy(dir)
	sum := sha256.Sum256([]byte(r.URL + "\x00" + e.Agent.ID + "\x00" + e.IdempotencyKey))
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".json"), nil
}

// recall reads the times into e, or writes those of e; then it returns true.
func recall(file string, e *ma2h.Envelope) (fresh bool, err error) {
	var t sentTimes
	b, err := os.ReadFile(file)
	if err == nil && json.Unmarshal(b, &t) == nil && t.CreatedAt != "" {
		e.CreatedAt = t.CreatedAt
		if e.ExpiresAt != "" && t.ExpiresAt != "" {
			e.ExpiresAt = t.ExpiresAt
		}
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if b, err = json.Marshal(sentTimes{e.CreatedAt, e.ExpiresAt}); err != nil {
		return false, err
	}
	return true, replaceFile(file, b)
}

// replaceFile renames into place, so that nobody reads half of it.
func replaceFile(file string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// tidy drops what is too old to matter. It is no harm when it can't.
func tidy(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range entries {
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > rememberFor {
			os.Remove(filepath.Join(dir, d.Name()))
		}
	}
}
