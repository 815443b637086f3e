//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package client

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks f for as long as it is open, or says that somebody else has.
func tryLock(f *os.File) (taken bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
