package store_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub/store"
)

// TestBackupFileOfAnotherProcess: the copy is made while another process has
// the database and writes to it; it holds all that was acknowledged before.
func TestBackupFileOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "beckon.db")
	cmd := childCommand(t, "write", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for len(said) < 200 && lines.Scan() {
		said = append(said, lines.Text())
	}
	more := make(chan int, 1)
	go func() {
		n := 0
		for lines.Scan() {
			n++
		}
		more <- n
	}()
	to := filepath.Join(dir, "copy.db")
	if err := store.BackupFile(t.Context(), path, to); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if n := <-more; n == 0 {
		t.Error("nothing was written meanwhile")
	}
	_ = cmd.Wait()
	holds(t, to, said)
}

// TestBackupFileWithSeals: a copy made while messages come and are sealed
// verifies, again and again.
func TestBackupFileWithSeals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "beckon.db")
	s := open(t, path, store.Options{Synchronous: "OFF"})
	stop := make(chan struct{})
	var load sync.WaitGroup
	load.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Apply(t.Context(), mustSubmission(t, fmt.Sprint("k", i))); err != nil {
				t.Error(err)
				return
			}
			if i%20 == 0 {
				if _, err := s.Seal(t.Context(), time.Now(), 100); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for i := range 3 {
		to := filepath.Join(dir, fmt.Sprintf("copy%d.db", i))
		if err := store.BackupFile(t.Context(), path, to); err != nil {
			t.Error(err)
			continue
		}
		holds(t, to, nil)
	}
	close(stop)
	load.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// holds fails unless the copy is a whole store, for its owner only, with what
// the lines "insert ID" and "answer ID" say.
func holds(t *testing.T, path string, said []string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy: %v, %v; want mode 0600", info, err)
	}
	s := open(t, path, store.Options{})
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.VerifySeals(t.Context()); err != nil {
		t.Error(err)
	}
	for _, line := range said {
		what, id, _ := strings.Cut(line, " ")
		m, err := s.Message(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if what == "answer" && !m.Status.Terminal() {
			t.Errorf("%s: the message is %s", line, m.Status)
		}
	}
}

func TestBackupFileOfAHubThatIsDown(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "beckon.db", store.Options{})
	c := mustSubmission(t, "k")
	if err := s.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A name that would be a URI.
	if err := store.BackupFile(t.Context(), "beckon.db", "file:copy?mode=memory"); err != nil {
		t.Fatal(err)
	}
	holds(t, "file:copy?mode=memory", []string{"insert " + c.MessageID})
	holds(t, "beckon.db", []string{"insert " + c.MessageID})
}

func TestBackupFileRefuses(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := open(t, name("beckon.db"), store.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"there": "precious", "text": strings.Repeat("no database\n", 100)} {
		if err := os.WriteFile(name(file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ name, from, to, want string }{
		{"to write over a file", "beckon.db", "there", "there is there already"},
		{"to write over the database", "beckon.db", "beckon.db", "beckon.db is there already"},
		{"what is not there", "none.db", "new", "no such file"},
		{"what is no database", "text", "new", "text is not a beckon database"},
		{"a folder that is not there", "beckon.db", "none/new", "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := store.BackupFile(t.Context(), name(tt.from), name(tt.to))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if _, err := os.Stat(name("new")); err == nil {
				t.Error("it left a file behind")
			}
		})
	}
	if b, err := os.ReadFile(name("there")); err != nil || string(b) != "precious" {
		t.Errorf("the file that was there is now %q, %v", b, err)
	}
	if _, err := os.Stat(name("none.db")); err == nil {
		t.Error("it made a database")
	}
}
