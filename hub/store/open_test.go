package store_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/store"
)

// TestExclusive: a second process is refused and told which one has the
// database, until that one is killed.
func TestExclusive(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "beckon.db")
	cmd := childCommand(t, "hold", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" || err != nil {
		t.Fatalf("the child said %q, %v", line, err)
	}
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		_, err = store.Open(t.Context(), name, store.Options{})
		inUse, ok := errors.AsType[*store.InUseError](err)
		if !ok {
			t.Fatalf("got %v, want an InUseError", err)
		}
		host, _ := os.Hostname()
		want := fmt.Sprintf("process %d on %s since %d-", cmd.Process.Pid, host, time.Now().UTC().Year())
		if inUse.Path != path || !strings.HasPrefix(inUse.By, want) {
			t.Errorf("got %q, want %q", inUse, want)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s := open(t, path, store.Options{})
	defer s.Close()
	if _, err := store.Open(t.Context(), path, store.Options{}); err == nil {
		t.Error("opened twice in one process")
	}
}

// TestPath: the path is a path, whatever it looks like.
func TestPath(t *testing.T) {
	for _, name := range []string{"a b.db", "a?mode=memory&x=1.db", "50%20.db", "a#b.db", "ünï.db", "file:x.db"} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			s := open(t, name, store.Options{})
			if err := s.Apply(t.Context(), mustSubmission(t, "k")); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			info, err := os.Stat(name)
			if err != nil || info.Size() == 0 {
				t.Fatalf("the file: %v, %v", info, err)
			}
			if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, want 0600", info.Mode())
			}
			files, err := filepath.Glob("*")
			if err != nil || len(files) != 2 { // and the lock; no WAL is left
				t.Errorf("files %q, %v", files, err)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE t (x)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte("not a database at all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, text} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), path, store.Options{}); err == nil ||
			!strings.HasSuffix(err.Error(), "is not a beckon database") {
			t.Errorf("%s: %v", path, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s was changed, %v", path, err)
		}
	}
	if _, err := store.Open(t.Context(), filepath.Join(dir, "none", "beckon.db"), store.Options{}); err == nil {
		t.Error("a folder that is not there: no error")
	}
	if _, err := store.Open(t.Context(), "", store.Options{}); err == nil {
		t.Error("no path: no error")
	}
}

// TestLeaseOfTheDead: a process that has the database to itself waits for no lease
// of one that was killed.
func TestLeaseOfTheDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beckon.db")
	for _, owner := range []string{"first", "second"} {
		s := open(t, path, store.Options{})
		if ok, err := s.Lease(t.Context(), "mailbox", owner, time.Now(), time.Hour); !ok || err != nil {
			t.Errorf("%s: %v, %v", owner, ok, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewerSchema: a database that a later beckon has migrated is refused only
// if that migration was not additive.
func TestNewerSchema(t *testing.T) {
	for _, tt := range []struct {
		name            string
		version, oldest int
		want            string
	}{
		{"additive", 700, 1, ""},
		{"not", 700, 600, "the database has schema 700, which needs a beckon of schema 600 or later; this one has schema %d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "beckon.db")
			if err := open(t, path, store.Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			have := 0
			if err := db.QueryRow("SELECT max(version) FROM schema_version").Scan(&have); err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(tt.want, "%d", strconv.Itoa(have), 1)
			_, err = db.Exec("INSERT INTO schema_version VALUES ($1, $2, 0)", tt.version, tt.oldest)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a refusal must not leave the lock behind
				s, err := store.Open(t.Context(), path, store.Options{})
				if err == nil {
					err = s.Close()
				}
				if (err == nil) != (want == "") || (err != nil && !strings.HasSuffix(err.Error(), want)) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "beckon.db"), store.Options{})
	defer s.Close()
	c := mustSubmission(t, "k")
	if err := s.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "copy it's.db")
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), path); err == nil {
		t.Error("a backup went over another")
	}
	info, err := os.Stat(path)
	if err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("backup: %v, %v", info, err)
	}
	if err := s.Apply(t.Context(), mustSubmission(t, "later")); err != nil {
		t.Fatal(err)
	}
	b := open(t, path, store.Options{})
	defer b.Close()
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if m, err := b.Message(t.Context(), c.MessageID); err != nil || string(m.Raw) != string(c.Insert.Raw) {
		t.Errorf("message in the backup: %v, %v", m, err)
	}
	if n, err := b.OpenCount(t.Context(), c.Insert.AgentID, 10); n != 1 || err != nil {
		t.Errorf("%d open in the backup, %v, want 1", n, err)
	}
}

// TestCheck: damage in the middle of the file is found.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beckon.db")
	s := open(t, path, store.Options{})
	for i := range 200 {
		if err := s.Apply(t.Context(), mustSubmission(t, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	junk := make([]byte, 8192)
	_, err = f.WriteAt(junk, info.Size()/2/8192*8192)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, store.Options{})
	defer s.Close()
	if err := s.Check(t.Context()); err == nil {
		t.Error("no damage found")
	}
}

// TestLibc: the SQLite driver is a translation of C that works with exactly
// the version of libc that it was made with.
func TestLibc(t *testing.T) {
	list := func(format, module string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Skipf("go list -m %s: %v", module, err)
		}
		return strings.TrimSpace(string(out))
	}
	mod, err := os.ReadFile(list("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(mod), "modernc.org/libc ")
	if !ok {
		t.Fatal("the go.mod of modernc.org/sqlite names no libc")
	}
	want := strings.Fields(rest)[0]
	if got := list("{{.Version}}", "modernc.org/libc"); got != want {
		t.Errorf("modernc.org/libc is %s, modernc.org/sqlite wants %s", got, want)
	}
}

// TestBubble: a store works where time is synthetic, so that tests of whoever
// waits need neither sleep nor a fake.
func TestBubble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beckon.db")
	synctest.Test(t, func(t *testing.T) {
		s := open(t, path, store.Options{})
		c := mustSubmission(t, "k")
		if err := s.Apply(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 3; n++ {
			got, err := s.Claim(t.Context(), "slack", time.Now(), time.Hour, 1)
			if err != nil || len(got) != 1 || got[0].Attempts != n {
				t.Fatalf("claim %d: %+v, %v", n, got, err)
			}
			time.Sleep(time.Hour)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRemoved: once the file is gone from under the hub nothing is acknowledged
// any more, since it would be gone with the process; and no empty database takes
// the place.
func TestRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file can't be removed there")
	}
	for _, name := range []string{"beckon.db", "beckon.db-wal"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, filepath.Join(dir, "beckon.db"), store.Options{})
			defer s.Close()
			if err := s.Apply(t.Context(), mustSubmission(t, "before")); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			if err := s.Apply(t.Context(), mustSubmission(t, "after")); !errors.Is(err, store.ErrRemoved) {
				t.Errorf("submit: %v", err)
			}
			if err := s.Ping(t.Context()); !errors.Is(err, store.ErrRemoved) {
				t.Errorf("ping: %v", err)
			}
			_, _ = s.ListMessages(t.Context(), hub.ListQuery{Limit: 1}) // may open another connection
			if err := s.Apply(t.Context(), mustSubmission(t, "after")); !errors.Is(err, store.ErrRemoved) {
				t.Errorf("submit after a read: %v", err)
			}
			if _, err := os.Stat(path); err == nil && name == "beckon.db" {
				t.Error("an empty database was made in its place")
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			if err := s.Apply(t.Context(), mustSubmission(t, "again")); err != nil {
				t.Errorf("put back: %v", err)
			}
		})
	}
}

// TestPingWrites: a database that can't be written is not healthy, however well
// it answers.
func TestPingWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beckon.db")
	s := open(t, path, store.Options{})
	defer s.Close()
	for range 2 {
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := s.GetState(t.Context(), "store", "ping"); v == "" || err != nil {
		t.Errorf("ping wrote %q, %v", v, err)
	}
}
