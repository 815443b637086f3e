package client_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// dedups are all there are, each as two views of one memory.
func dedups(t *testing.T) map[string][2]client.Dedup {
	memory, dir := &client.MemoryDedup{}, filepath.Join(t.TempDir(), "not", "there", "yet")
	return map[string][2]client.Dedup{
		"memory": {memory, memory},
		"files":  {&client.FileDedup{Dir: dir}, &client.FileDedup{Dir: dir}},
	}
}

func TestDedup(t *testing.T) {
	t.Parallel()
	for name, d := range dedups(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			runs := 0
			once := func(d client.Dedup, key string, err error) (bool, error) {
				return d.Once(ctx, key, func(context.Context) error { runs++; return err })
			}
			broken := errors.New("broken")
			if acted, err := once(d[0], "a", broken); acted || !errors.Is(err, broken) {
				t.Errorf("failed: %v, %v", acted, err)
			}
			if acted, err := once(d[1], "a", nil); !acted || err != nil {
				t.Errorf("again: %v, %v", acted, err)
			}
			for _, d := range d {
				if acted, err := once(d, "a", nil); acted || err != nil {
					t.Errorf("once more: %v, %v", acted, err)
				}
			}
			if acted, err := once(d[0], "../../etc/a\x00", nil); !acted || err != nil {
				t.Errorf("another key: %v, %v", acted, err)
			}
			if runs != 3 {
				t.Errorf("it ran %d times", runs)
			}
			// While it runs, nobody else does.
			_, err := d[0].Once(ctx, "b", func(context.Context) error {
				if acted, err := once(d[1], "b", nil); acted || !errors.Is(err, client.ErrBusy) {
					t.Errorf("meanwhile: %v, %v", acted, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			// A panic leaves the key as it was.
			func() {
				defer func() { _ = recover() }()
				_, _ = d[0].Once(ctx, "c", func(context.Context) error { panic("oh") })
			}()
			if acted, err := once(d[1], "c", nil); !acted || err != nil {
				t.Errorf("after a panic: %v, %v", acted, err)
			}
		})
	}
}

// TestDedupAtOnce: of many who come at the same time, one acts.
func TestDedupAtOnce(t *testing.T) {
	t.Parallel()
	for name, d := range dedups(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var acted atomic.Int32
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					for {
						_, err := d[i%2].Once(t.Context(), "k", func(context.Context) error { acted.Add(1); return nil })
						if !errors.Is(err, client.ErrBusy) {
							if err != nil {
								t.Error(err)
							}
							return
						}
					}
				})
			}
			wg.Wait()
			if acted.Load() != 1 {
				t.Errorf("%d acted", acted.Load())
			}
		})
	}
}

// TestMemoryDedupForgets: what is remembered has an end.
func TestMemoryDedupForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &client.MemoryDedup{Keep: time.Hour}
		act := func() bool {
			acted, err := d.Once(t.Context(), "k", func(context.Context) error { return nil })
			if err != nil {
				t.Error(err)
			}
			return acted
		}
		if !act() || act() {
			t.Error("not once")
		}
		time.Sleep(time.Hour)
		if act() {
			t.Error("forgotten too early")
		}
		time.Sleep(2 * time.Minute)
		if !act() {
			t.Error("never forgotten")
		}
	})
}

// TestFileDedupOfTheDead: a process that is killed while it acts leaves the key
// free at once, and one that was cut off while it wrote has not acted.
func TestFileDedupOfTheDead(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("CLIENT_TEST_ACT"); dir != "" {
		d := &client.FileDedup{Dir: dir}
		_, _ = d.Once(t.Context(), "k", func(context.Context) error {
			_, _ = os.Stdout.WriteString("acting\n")
			select {}
		})
		return
	}
	dir := t.TempDir()
	d := &client.FileDedup{Dir: dir}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileDedupOfTheDead$")
	cmd.Env = append(os.Environ(), "CLIENT_TEST_ACT="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	act := func() (bool, error) {
		return d.Once(t.Context(), "k", func(context.Context) error { return nil })
	}
	if acted, err := act(); acted || !errors.Is(err, client.ErrBusy) {
		t.Errorf("while the other lives: %v, %v", acted, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if acted, err := act(); !acted || err != nil {
		t.Fatalf("after its death: %v, %v", acted, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "dedup-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("don"), 0o600); err != nil {
		t.Fatal(err)
	}
	if acted, err := act(); !acted || err != nil {
		t.Errorf("cut off: %v, %v", acted, err)
	}
}

// TestFilesAreSwept: what is old goes, once an hour; what is not old and what is
// not ours stays.
func TestFilesAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, r := &client.FileDedup{Dir: dir, Keep: 24 * time.Hour}, &client.FileReplays{Dir: dir}
	now := time.Now()
	use := func(key string) (acted, fresh bool) {
		t.Helper()
		acted, err := d.Once(t.Context(), key, func(context.Context) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		fresh, err = r.Add(key, now, now.Add(10*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return acted, fresh
	}
	age := func(pattern string, by time.Duration) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, f := range files {
			if err := os.Chtimes(f, now.Add(-by), now.Add(-by)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	use("k")
	age("mine", 1000*time.Hour)
	age("dedup-*", 25*time.Hour)
	age("jti-*", 25*time.Hour) // remembered for longer
	if acted, fresh := use("k"); acted || fresh {
		t.Errorf("swept at every use: %v, %v", acted, fresh)
	}
	age(".*-swept", time.Hour)
	if acted, fresh := use("k"); !acted || fresh {
		t.Errorf("after an hour: %v, %v", acted, fresh)
	}
	age("jti-*", 49*time.Hour)
	age(".*-swept", time.Hour)
	if acted, fresh := use("k"); acted || !fresh {
		t.Errorf("after two days: %v, %v", acted, fresh)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}

func TestFileReplays(t *testing.T) {
	t.Parallel()
	var _ ma2h.ReplayCache = &client.FileReplays{}
	dir, now := t.TempDir(), time.Now()
	var first atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			fresh, err := (&client.FileReplays{Dir: dir}).Add("../jti_1", now, now.Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			if fresh {
				first.Add(1)
			}
		})
	}
	wg.Wait()
	if first.Load() != 1 {
		t.Errorf("%d were first", first.Load())
	}
	r := &client.FileReplays{Dir: dir}
	if _, err := r.Add("jti_2", now, now.Add(49*time.Hour)); err == nil {
		t.Error("a window that is longer than what is remembered")
	}
}

// TestFilesSayWhatIsWrong: what can't be remembered is not acted on.
func TestFilesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"no name": "", "a file": file, "below a file": filepath.Join(file, "x")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, r := &client.FileDedup{Dir: dir}, &client.FileReplays{Dir: dir}
			acted, err := d.Once(t.Context(), "k", func(context.Context) error { t.Error("it ran"); return nil })
			if acted || err == nil || dir != "" && !strings.Contains(err.Error(), file) {
				t.Errorf("%v, %v", acted, err)
			}
			if fresh, err := r.Add("k", time.Now(), time.Now()); fresh || err == nil {
				t.Errorf("%v, %v", fresh, err)
			}
		})
	}
}
