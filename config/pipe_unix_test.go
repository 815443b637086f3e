//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A named pipe where a file should be keeps nobody waiting.
func TestNamedPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	reads := map[string]func() error{
		"config":  func() error { _, err := Load(pipe, nil); return err },
		"secret":  func() error { _, err := readSecret("file:"+pipe, os.LookupEnv); return err },
		"key":     func() error { _, _, err := KeyFile(pipe); return err },
		"TLS":     func() error { _, err := certPEM(pipe); return err },
		"TLS key": func() error { _, err := keyPEM(pipe); return err },
		"mode":    func() error { return privateFile(pipe) },
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() { done <- read() }()
			select {
			case err := <-done:
				if err == nil && name != "mode" {
					t.Error("an empty pipe is taken")
				}
			case <-time.After(2 * patience):
				t.Fatal("it waits for somebody to write")
			}
		})
	}

	// What a shell makes of <(…) is a pipe as well, and is read to its end.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = w.WriteString("s3cr")
		time.Sleep(50 * time.Millisecond)
		_, _ = w.WriteString("3t\n")
		w.Close()
	}()
	name := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	if _, err := os.Stat(name); err != nil {
		t.Skip("no /dev/fd here")
	}
	s, err := readSecret("file:"+name, os.LookupEnv)
	if err != nil || s.Reveal() != "s3cr3t" {
		t.Errorf("got %q, %v", s.Reveal(), err)
	}
}
