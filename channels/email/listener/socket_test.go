package listener_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"beckon/channels/email/listener"
	"beckon/channels/email/mailtest"
)

// short makes a folder whose path leaves room for a socket's.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(short(t), "lmtp")
	h := new(hub)
	r := run(t, listener.Config{Addr: path}, h)
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	if err := mailtest.LMTP("unix", path, "", mailtest.Text("x"), "hub@example.test"); err != nil {
		t.Error(err)
	}
	if got := h.taken(); len(got) != 1 || got[0].Peer != "unix" {
		t.Errorf("mails %+v", got)
	}

	// A second hub is refused, and takes nothing away from the first.
	second, err := listener.New(listener.Config{Addr: path}, h.hooks(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "somebody listens on "+path+" already") {
		t.Errorf("a second listener: %v", err)
	}
	if _, problem := second.Alive(); !strings.Contains(problem, "already") {
		t.Errorf("the problem is %q", problem)
	}
	if err := mailtest.LMTP("unix", path, "", mailtest.Text("x"), "hub@example.test"); err != nil {
		t.Error(err)
	}
	r.stop()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

// A hub that was killed leaves its socket behind.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(short(t), "lmtp")
	old, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	old.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("the test left no socket: %v", err)
	}
	run(t, listener.Config{Addr: path}, new(hub))
	if err := mailtest.LMTP("unix", path, "", mailtest.Text("x"), "hub@example.test"); err != nil {
		t.Error(err)
	}
}

// Nothing but a dead socket is ever removed.
func TestWhatIsInTheWayStays(t *testing.T) {
	t.Parallel()
	dir := short(t)
	file, link, folder := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "is not a socket", link: "is not a socket", folder: "is not a socket",
		filepath.Join(dir, "nowhere", "lmtp"): "no such file or directory",
	} {
		l, err := listener.New(listener.Config{Addr: path}, new(hub).hooks(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

func TestAddressIsTaken(t *testing.T) {
	t.Parallel()
	r := run(t, listener.Config{}, new(hub))
	l, err := listener.New(listener.Config{Addr: r.addr}, new(hub).hooks(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "take mail at "+r.addr) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
}
