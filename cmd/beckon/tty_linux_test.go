package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal with a program that has it as its own.
type terminal struct {
	cmd  *exec.Cmd
	keys *os.File // what is typed goes here
	out  lockedBuffer
	done chan error
}

// openTerminal makes a terminal of that many columns.
func openTerminal(columns int) (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: 40}))
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}

// onTerminal runs a program whose input, output and errors are a terminal.
func onTerminal(t *testing.T, columns int, dir string, env []string, name string, args ...string) *terminal {
	t.Helper()
	master, slave, err := openTerminal(columns)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(name, args...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, slave, slave, slave
	c.Env = append(append(os.Environ(), "TERM=xterm", "COLUMNS=", "NO_COLOR=", "GORACE="+quickExit, "TZ=UTC"), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{cmd: c, keys: master, done: make(chan error, 1)}
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(&x.out, master) }) // ends with EIO when the program does
	go func() {
		err := c.Wait()
		read.Wait()
		x.done <- err
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = master.Close()
		if t.Failed() {
			t.Logf("%s %s:\n%q", name, strings.Join(args, " "), x.out.String())
		}
	})
	return x
}

// see waits until the terminal has shown something.
func (x *terminal) see(t *testing.T, pattern string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	if err := retry(func() error {
		if re.MatchString(x.out.String()) {
			return nil
		}
		return fmt.Errorf("the terminal has not shown %s", pattern)
	}); err != nil {
		t.Fatal(err)
	}
}

func (x *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(x.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end, wants an exit code, and returns all that was shown.
func (x *terminal) ends(t *testing.T, code int) string {
	t.Helper()
	select {
	case <-x.done:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	return x.out.String()
}

// TestTerminal holds what people see on a terminal: a line that says whom an ask
// waits for, until Ctrl-C; that the hub does not answer; tables that fit.
func TestTerminal(t *testing.T) {
	dir := t.TempDir()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	copyExample(t, dir, "minimal.yaml", port)
	env := []string{
		"DEPLOYBOT_TOKEN=" + testToken, "BECKON_TOKEN=" + testToken, "BECKON_AGENT=deploybot/dev-team",
		"BECKON_URL=http://127.0.0.1:" + port,
	}
	// While a submit is tried again, before there is a hub.
	early := onTerminal(t, 80, dir, env, "beckon", "notify", "Early")
	early.see(t, "the hub does not answer, trying again")
	hub := start(t, dir, env, "exec beckon serve --config examples/minimal.yaml")
	hub.await(t, "msg=serving")
	if out := early.ends(t, 0); !regexp.MustCompile("\r\x1b\\[Kmsg_[0-9A-Z]+\r\n$").MatchString(out) {
		t.Errorf("the line was not cleared before the result: %q", out)
	}

	ask := onTerminal(t, 120, dir, env, "beckon", "ask", "Wide 日本語 question?", "--confirm", "--wait", "2h10m")
	ask.see(t, `waiting for web:alice · 2 h (10|09) min left · \^C keeps it open`)
	ask.press(t, "\x03")
	out := ask.ends(t, 6)
	id := regexp.MustCompile(`to go on waiting: beckon wait (msg_\w+)`).FindStringSubmatch(out)
	if id == nil {
		t.Fatalf("it does not say how to go on: %q", out)
	}

	// The hub goes away while somebody waits, and comes back.
	wait := onTerminal(t, 120, dir, env, "beckon", "wait", id[1])
	wait.see(t, `waiting for web:alice · \^C keeps it open`)
	hub.interrupt(t)
	wait.see(t, `the hub does not answer, trying again · \^C keeps it open`)
	hub = start(t, dir, env, "exec beckon serve --config examples/minimal.yaml")
	hub.await(t, "msg=serving")
	wait.see(t, `(?s)trying again.*waiting for web:alice`)
	wait.press(t, "\x03")
	wait.ends(t, 6)

	checkTables(t, dir, env, id[1])
	hub.interrupt(t)
}

// checkTables looks at lists on terminals of different widths.
func checkTables(t *testing.T, dir string, env []string, id string) {
	t.Helper()
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, columns := range []int{200, 70, 40, 20} {
		out := onTerminal(t, columns, dir, env, "beckon", "messages", "--type", "ask").ends(t, 0)
		if !strings.Contains(out, "\x1b[1mID") || columns > 40 && !strings.Contains(out, "\x1b[33mopen\x1b[0m") {
			t.Errorf("%d columns: no colour: %q", columns, out)
		}
		lines := strings.Split(strings.TrimSpace(sgr.ReplaceAllString(out, "")), "\r\n")
		if len(lines) != 2 {
			t.Errorf("%d columns: %d lines", columns, len(lines))
		}
		for _, l := range lines {
			if n := cells(l); n > columns {
				t.Errorf("%d columns: a line takes %d: %q", columns, n, l)
			}
		}
		if columns == 200 && !strings.HasSuffix(lines[1], "Wide 日本語 question?") {
			t.Errorf("%d columns: %q", columns, lines[1])
		}
		if columns == 70 && !strings.HasSuffix(lines[1], "…") {
			t.Errorf("%d columns: nothing says that it is cut: %q", columns, lines[1])
		}
	}
	for _, off := range [][]string{{"NO_COLOR=1"}, {"TERM=dumb"}} {
		out := onTerminal(t, 100, dir, append(off, env...), "beckon", "messages", "show", id).ends(t, 0)
		if strings.Contains(out, "\x1b") {
			t.Errorf("%v: colour: %q", off, out)
		}
	}
	out := onTerminal(t, 100, dir, append([]string{"NO_COLOR=1"}, env...), "beckon", "--color=always", "messages", "show", id).ends(t, 0)
	if !strings.Contains(out, "\x1b[33mopen") {
		t.Errorf("--color=always: no colour: %q", out)
	}
}

// TestCompletionInShells types into real shells, those that are installed. The
// text of the scripts is held by TestCompletionScripts anyhow.
func TestCompletionInShells(t *testing.T) {
	shells := []struct {
		name string
		args []string
		load string
	}{
		{"bash", []string{"--norc", "-i"}, "source <(beckon completion bash)"},
		{"zsh", []string{"-f", "-i"}, "autoload -U compinit; compinit -D -u; source <(beckon completion zsh)"},
		{"fish", []string{"--no-config", "-i"}, "beckon completion fish | source"},
	}
	for _, s := range shells {
		if _, err := exec.LookPath(s.name); err != nil {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir, "INPUTRC=/dev/null", "PS1=ready> "}
			x := onTerminal(t, 120, dir, env, s.name, s.args...)
			x.press(t, s.load+"; echo load''ed\n")
			x.see(t, "(?m)loaded")
			// What is completed is a word that nobody typed.
			for _, try := range []struct{ typed, want string }{
				{"beckon mess\t", "beckon messages"},
				{"beckon deliveries ret\t", "beckon deliveries retry"},
				{"beckon ask --prio\t", "beckon ask --priority"},
				{"beckon --color alw\t", "beckon --color always"},
				{"beckon ask --priority urg\t", "beckon ask --priority urgent"},
				{"beckon messages --status comp\t", "--status completed"},
				{"beckon messages show --token-fi\t", "show --token-file"},
			} {
				x.out.Reset()
				x.press(t, try.typed)
				if err := retry(func() error {
					if shown := plain(x.out.String()); !strings.Contains(shown, try.want) {
						return fmt.Errorf("after %q the terminal shows %q, want %q in it", try.typed, shown, try.want)
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				x.press(t, "\x15") // Ctrl-U: start over
			}
		})
	}
}

// plain takes the escape sequences out of what a shell shows.
func plain(s string) string {
	s = regexp.MustCompile(`\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[\[(][0-9;?]*[a-zA-Z]|\x1b[=>]`).ReplaceAllString(s, "")
	return strings.NewReplacer("\r", "", "\x07", "").Replace(s)
}

// TestSilentInAPipe: what is no terminal sees no line that moves.
func TestSilentInAPipe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil { // nobody listens there now
		t.Fatal(err)
	}
	c := exec.Command("beckon", "notify", "Nobody hears")
	c.Env = append(os.Environ(), "BECKON_URL=http://"+addr, "BECKON_TOKEN="+testToken, "BECKON_AGENT=x", "TERM=xterm", "GORACE="+quickExit)
	out, err := c.CombinedOutput()
	if err == nil || strings.ContainsAny(string(out), "\r\x1b") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("it said %q, %v", out, err)
	}
}
