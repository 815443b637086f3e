//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// windowWidth is how many cells wide the terminal is, 0 if f is none.
func windowWidth(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
