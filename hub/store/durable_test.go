package store_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/store"
)

// rounds is BECKON_ROUNDS, or n.
func rounds(t *testing.T, n int) int {
	t.Helper()
	if v := os.Getenv("BECKON_ROUNDS"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatalf("BECKON_ROUNDS: %v", err)
		}
	}
	return n
}

func childCommand(t *testing.T, what, path string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), envChild+"="+what, envPath+"="+path)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = t.Output()
	return cmd
}

// TestKill: whatever moment a process is killed at, what it acknowledged is
// there when the next one opens the database, and nothing is half there.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beckon.db")
	total := 0
	for range rounds(t, 3) {
		cmd := childCommand(t, "write", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		first, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the child said nothing: %v", err)
		}
		wait := time.Duration(rand.Int64N(int64(300 * time.Millisecond)))
		timer := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
		rest, err := io.ReadAll(lines)
		timer.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		n := checkAcknowledged(t, path, first+string(rest))
		t.Logf("killed %v after its first change, %d acknowledged", wait, n)
		total += n
	}
	if total < 10 {
		t.Errorf("only %d changes in all: too few to mean anything", total)
	}
}

func checkAcknowledged(t *testing.T, path, acknowledged string) int {
	t.Helper()
	s := open(t, path, store.Options{})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(acknowledged, "\n")
	n := 0
	for _, line := range lines {
		if !strings.HasSuffix(line, "\n") {
			continue // the kill cut it
		}
		n++
		what, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		snap, err := s.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatalf("acknowledged %s, and lost: %v", what, err)
		}
		events, err := s.Events(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := hub.VerifyChain(events, snap.Message.Head); err != nil {
			t.Fatal(err)
		}
		if len(snap.Deliveries) != 1 {
			t.Fatalf("%s has %d deliveries", id, len(snap.Deliveries))
		}
		if in, err := s.InAudience(t.Context(), "alice", id); !in || err != nil {
			t.Fatalf("%s: audience %v, %v", id, in, err)
		}
		if what == "answer" && (snap.Message.Status != ma2h.Answered || snap.Deliveries[0].State != hub.Dropped) {
			t.Fatalf("the answer of %s was acknowledged, and lost: %+v", id, snap)
		}
	}
	return n
}

// TestFsync traces a child: a kill does not test fsync, and a lying one would
// only be seen when the power fails.
func TestFsync(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace is not permitted: %v: %s", err, out)
	}
	for _, tt := range []struct {
		synchronous string
		durable     bool
	}{{"FULL", true}, {"NORMAL", false}, {"OFF", false}} {
		t.Run(tt.synchronous, func(t *testing.T) {
			const count = 20
			dir := t.TempDir()
			trace := filepath.Join(dir, "trace")
			cmd := childCommand(t, "write", filepath.Join(dir, "beckon.db"),
				envSync+"="+tt.synchronous, envCount+"="+strconv.Itoa(count))
			cmd.Args = append([]string{
				strace, "-f", "-y", "-s", "64", "-o", trace,
				"-e", "trace=pwrite64,write,fsync,fdatasync",
			}, cmd.Path)
			cmd.Path = strace
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			acks, err := checkTrace(bytes.NewReader(text), "beckon.db-wal", "insert msg_", "answer msg_")
			if want := bytes.Count(out, []byte("\n")); acks != want || want != count+count/2 {
				t.Fatalf("the trace shows %d acknowledgements, the child printed %d", acks, want)
			}
			if tt.durable && err != nil {
				t.Error(err)
			}
			if !tt.durable {
				if err == nil {
					t.Error("the checker finds an fsync where there is none to find")
				}
				t.Logf("as it should: %v", err)
			}
		})
	}
}

var traceCall = regexp.MustCompile(`^\d+ +(pwrite64|write|fsync|fdatasync)\(\d+<([^>]*)>(?:, "([^"]*))?`)

// checkTrace reads a trace of one writer. Before each acknowledgement there has
// to be a write to the WAL since the one before, and after the last such write
// an fsync of the WAL. A call that strace shows in two parts counts where it is
// resumed if it is an fsync, where it began if it is a write.
func checkTrace(trace io.Reader, wal string, acks ...string) (n int, err error) {
	var written, synced bool
	pending := map[string]bool{} // thread → its fsync of the WAL is under way
	lines := bufio.NewScanner(trace)
	for lines.Scan() {
		line := lines.Text()
		pid, rest, _ := strings.Cut(line, " ")
		if strings.Contains(rest, "sync resumed>") && pending[pid] {
			delete(pending, pid)
			synced = strings.Contains(line, "= 0")
			continue
		}
		m := traceCall.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		call, file, data := m[1], m[2], m[3]
		isWAL := strings.HasSuffix(file, wal)
		switch {
		case isWAL && strings.HasSuffix(call, "sync"):
			if strings.Contains(line, "unfinished") {
				pending[pid] = true
			} else {
				synced = strings.Contains(line, "= 0")
			}
		case isWAL:
			written, synced = true, false
		case call == "write" && hasAnyPrefix(data, acks):
			n++
			if err == nil && !written {
				err = fmt.Errorf("acknowledgement %d: nothing was written to the WAL before it", n)
			}
			if err == nil && !synced {
				err = fmt.Errorf("acknowledgement %d: the WAL was written, and not synced before it", n)
			}
			written, synced = false, false
		}
	}
	if e := lines.Err(); e != nil {
		return n, e
	}
	return n, err
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
