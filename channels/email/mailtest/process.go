package mailtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to come up, and a helper of this
// package to get what it asks for. It is for slow machines; a server is ready
// within a tenth of a second.
const patience = 30 * time.Second

// find returns the path of a program, or skips the test. Servers live in sbin,
// which is not in everybody's PATH.
func find(tb testing.TB, names ...string) string {
	tb.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	tb.Skipf("%s is not installed", names[0])
	return ""
}

// account is the unprivileged user that a server runs as.
type account struct {
	user, group string
	uid, gid    int
	cred        *syscall.Credential // nil: the one of the test
}

// unprivileged returns the user of the test, or nobody when that is root.
func unprivileged(tb testing.TB) account {
	tb.Helper()
	uid := os.Geteuid()
	if uid == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			tb.Skipf("a mail server must not run as root, and there is no user to run it as: %v", err)
		}
		a := byID(tb, nobody)
		a.cred = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid), Groups: []uint32{}}
		return a
	}
	me, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		tb.Skipf("a mail server needs a user with a name: %v", err)
	}
	return byID(tb, me)
}

func byID(tb testing.TB, u *user.User) account {
	tb.Helper()
	group, err := user.LookupGroupId(u.Gid)
	if err != nil {
		tb.Skipf("a mail server needs a group with a name: %v", err)
	}
	a := account{user: u.Username, group: group.Name}
	a.uid, _ = strconv.Atoi(u.Uid)
	a.gid, _ = strconv.Atoi(u.Gid)
	return a
}

// home makes a folder that belongs to the server, and removes it at the end.
func (a account) home(tb testing.TB, prefix string) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", prefix)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		// A process that is just dying may still make a file there.
		if err := Eventually(func() error { return os.RemoveAll(dir) }); err != nil {
			tb.Error(err)
		}
	})
	a.give(tb, dir)
	return dir
}

// give makes a file or folder the server's own.
func (a account) give(tb testing.TB, path string) {
	tb.Helper()
	if a.cred == nil {
		return
	}
	if err := os.Lchown(path, a.uid, a.gid); err != nil {
		tb.Fatal(err)
	}
}

// write writes a file that belongs to the server and that nobody else reads.
func (a account) write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	a.give(tb, path)
}

// command makes a command that runs as the server does.
func (a account) command(dir, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: a.cred}
	return cmd
}

// process is a server and all the processes that it starts.
type process struct {
	tb   testing.TB
	make func() *exec.Cmd
	logs func() string
	dial []string // addresses that answer when it is ready

	mu     sync.Mutex // a test may freeze it from one goroutine and kill it from another
	cmd    *exec.Cmd
	said   *bytes.Buffer // by the first process, to be read when it has exited
	exited chan struct{}
}

// start runs the server and waits until it answers.
func (p *process) start() {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.said, p.exited = p.make(), new(bytes.Buffer), make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	p.cmd.WaitDelay = time.Second // its children hold the pipe, and may be left over
	if err := p.cmd.Start(); err != nil {
		p.tb.Fatalf("start %s: %v", p.cmd.Path, err)
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(p.cmd, p.exited)
	for _, addr := range p.dial {
		if err := p.answers(addr); err != nil {
			p.tb.Fatalf("%s does not come up: %v\n%s", p.cmd.Path, err, p.logs())
		}
	}
}

// answers waits until the address takes connections.
func (p *process) answers(addr string) error {
	return Eventually(func() error {
		select {
		case <-p.exited:
			return fatal{fmt.Errorf("it ended: %v: %s", p.cmd.ProcessState, p.said)}
		default:
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// signal tells every process of the server.
func (p *process) signal(sig syscall.Signal) {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(sig)
}

func (p *process) tell(sig syscall.Signal) {
	p.tb.Helper()
	if p.cmd == nil {
		p.tb.Fatal("the server is not running")
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.tb.Errorf("signal %s to %s: %v", sig, p.cmd.Path, err)
	}
}

// kill ends every process of the server at once. A second call does nothing.
func (p *process) kill() {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	p.tell(syscall.SIGKILL)
	<-p.exited
	// Its children are not ours to wait for, and stay in the process table until
	// somebody takes note; what they held is free when they are dead.
	for _, addr := range p.dial {
		err := Eventually(func() error {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				return nil
			}
			conn.Close()
			return fmt.Errorf("%s still takes connections", addr)
		})
		if err != nil {
			p.tb.Errorf("kill %s: %v", p.cmd.Path, err)
		}
	}
	p.cmd = nil
}

// fatal is an error that waiting doesn't mend.
type fatal struct{ error }

// Eventually calls f until it returns nil, for at most half a minute, and then
// returns its last error. It is for what other processes do, which has no event
// to wait for.
func Eventually(f func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		var final fatal
		if err == nil || errors.As(err, &final) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// loopback returns a loopback address and n free ports there. Tests that run
// side by side hardly ever meet, since every address in 127.0.0.0/8 is this
// machine on Linux; elsewhere it is 127.0.0.1.
func loopback(tb testing.TB, n int) (host string, ports []int) {
	tb.Helper()
	host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	for range n {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			host = "127.0.0.1"
			l, err = net.Listen("tcp", host+":0")
		}
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return host, ports
}

func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// readLog returns the end of a log for a failure's message.
func readLog(paths ...string) string {
	var out string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		const most = 8 << 10
		if len(text) > most {
			text = text[len(text)-most:]
		}
		out += path + ":\n" + string(text)
	}
	return out
}
