package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"beckon/channels"
	"beckon/config"
)

// root is the project's folder as seen from the tests.
const root = "../.."

// blocks returns the fenced blocks of the README that are marked with
// <!-- name -->, in order.
func blocks(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	re := regexp.MustCompile("(?s)<!-- " + name + " -->\n```[a-z]+\n(.*?)```\n")
	for _, m := range re.FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if out == nil {
		t.Fatalf("the README has no block that is marked %s", name)
	}
	return out
}

// TestReadmeBlocks holds that every block with commands is marked, so that one
// of the tests below runs it.
func TestReadmeBlocks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	fences := regexp.MustCompile("(?m)^```[a-z]+$").FindAll(text, -1)
	marked := regexp.MustCompile("<!-- (commands|build|try|config|slack|email|email-section|postfix|exim|install|operate) -->\n```[a-z]+\n").FindAll(text, -1)
	if len(fences) != len(marked) {
		t.Errorf("%d blocks, of which %d are marked to be run", len(fences), len(marked))
	}
}

// TestReadmeCommands runs the two commands: the first as it stands, the second
// is what runs this very test.
func TestReadmeCommands(t *testing.T) {
	demo, test, _ := strings.Cut(strings.TrimSpace(blocks(t, "commands")[0]), "\n")
	if test != "go test ./..." {
		t.Errorf("the second command is %q", test)
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^[^#]*\bgo test .*\./\.\.\.`).Match(ci) {
		t.Error(".ci/run does not run go test ./...")
	}
	p := start(t, root, nil, demo)
	p.await(t, `Open this link`)
	p.interrupt(t)
	p.await(t, `The demo is over; its database is removed\.`)
}

// TestReadmeTry builds the binary as the README says, then follows it with a
// person who answers on the page.
func TestReadmeTry(t *testing.T) {
	dir := t.TempDir()
	build := strings.TrimSpace(blocks(t, "build")[0])
	p := start(t, root, nil, strings.Replace(build, "-o beckon", "-o "+filepath.Join(dir, "beckon"), 1))
	p.wait(t)

	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	copyExample(t, dir, "minimal.yaml", port)
	script := strings.ReplaceAll(strings.Join(blocks(t, "try"), ""), "8420", port)
	p = start(t, dir, []string{"BECKON_URL=http://127.0.0.1:" + port}, "set -eu\n"+script)
	link := p.await(t, `http://\S+/l/\S+`)
	if err := browse(link, "Deploy on a Friday?", "answer", url.Values{"option": {"1"}}); err != nil {
		t.Fatal(err)
	}
	p.await(t, `(?m)^yes$`)
	p.await(t, `(?m)^alice: Yes$`)
	// The script ends the hub as soon as it has the answer, perhaps before the
	// page that follows it; what the script prints tells whether it was taken.
	if err := browse(link, "Ship 2.3?", "answer", url.Values{"option": {"2"}}); err != nil {
		t.Log(err)
	}
	p.wait(t)
	p.await(t, `"resolution":"answered","response":\{"value":"hold"`)
}

// TestExampleShell runs the agent in shell.
func TestExampleShell(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed, which examples/ask.sh needs")
	}
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
	hub := start(t, dir, env, "exec beckon serve --config examples/minimal.yaml")
	hub.await(t, "msg=serving")
	l := start(t, dir, env, "exec beckon link alice --config examples/minimal.yaml")
	link := l.await(t, `http://\S+/l/\S+`)

	script, err := filepath.Abs(filepath.Join(root, "examples", "ask.sh"))
	if err != nil {
		t.Fatal(err)
	}
	ask := start(t, dir, env, script+` "Shell?" ship "Ship it" hold "Hold it"`)
	if err := browse(link, "Shell?", "answer", url.Values{"option": {"2"}}); err != nil {
		t.Fatal(err)
	}
	ask.wait(t)
	ask.await(t, `(?m)^hold$`)
	ask.await(t, `answered by human:alice`)

	ask = start(t, dir, env, script+` "Again?" ship "Ship it" || echo "code $?"`)
	if err := browse(link, "Again?", "decline", url.Values{}); err != nil {
		t.Fatal(err)
	}
	ask.wait(t)
	ask.await(t, `(?m)^code 3$`)
	hub.interrupt(t)
}

// TestConfigs loads the README's config and the examples.
func TestConfigs(t *testing.T) {
	minimal, err := os.ReadFile(filepath.Join(root, "examples", "minimal.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mail, err := os.ReadFile(filepath.Join(root, "examples", "mail.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, text string }{
		{"README.md", strings.ReplaceAll(blocks(t, "config")[0], "/etc/beckon/key", key)},
		{"minimal.yaml", string(minimal)},
		{"mail.yaml", string(mail)},
	}
	whole := blocks(t, "email")[1]
	tests = append(tests, struct{ name, text string }{"mail", whole})
	for i, section := range blocks(t, "email-section") {
		tests = append(tests, struct{ name, text string }{fmt.Sprint("mail section ", i+1), inPlace(t, whole, section)})
	}
	env := func(name string) (string, bool) { return "bkn_a_secret_for_" + name, true }
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := config.Parse(tt.name, []byte(tt.text), channels.All(), env)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Warnings) > 0 {
				t.Errorf("warnings:\n%v", c.Warnings)
			}
		})
	}
}

// inPlace puts another section of channels into a config.
func inPlace(t *testing.T, conf, section string) string {
	t.Helper()
	before, rest, ok := strings.Cut(conf, "channels:\n")
	_, after, ok2 := strings.Cut(rest, "routes:\n")
	if !ok || !ok2 {
		t.Fatalf("the config has no channels or routes:\n%s", conf)
	}
	return before + section + "routes:\n" + after
}

// TestReadmePackages holds that the README has one sentence for each package,
// and none for others.
func TestReadmePackages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:hub|channels|cmd|config|templates)[a-z0-9/]*)` \\|").FindAllStringSubmatch(string(text), -1) {
		said = append(said, m[1])
	}
	list := exec.Command("go", "list", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var are []string
	for _, p := range strings.Fields(string(out)) {
		are = append(are, strings.TrimPrefix(p, "beckon/"))
	}
	for _, p := range are {
		if !slices.Contains(said, p) {
			t.Errorf("the README says nothing of package %s", p)
		}
	}
	for _, p := range said {
		if !slices.Contains(are, p) && p != "channels" && p != "config" { // both are keys of the config too
			t.Errorf("the README names package %s, which does not exist", p)
		}
	}
}

func copyExample(t *testing.T, dir, name, port string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "examples"), 0o755); err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("8420"), []byte(port))
	if err := os.WriteFile(filepath.Join(dir, "examples", name), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// process is a shell with what it runs, in a process group of its own, as a
// terminal makes one.
type process struct {
	cmd  *exec.Cmd
	done chan error

	mu  sync.Mutex
	out bytes.Buffer
}

// start runs a command line in dir. What it has started ends with the test.
func start(t *testing.T, dir string, env []string, line string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(context.Background(), "bash", "-c", line), done: make(chan error, 1)}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, p, p
	p.cmd.Env = append(append(os.Environ(), "GORACE="+quickExit), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			t.Logf("%s:\n%s", line, p.text())
		}
	})
	return p
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// await returns the first match in what the process has printed, as soon as
// there is one.
func (p *process) await(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var found string
	if err := retry(func() error {
		if loc := re.FindStringIndex(p.text()); loc != nil {
			found = p.text()[loc[0]:loc[1]]
			return nil
		}
		return fmt.Errorf("nothing matches %s", pattern)
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func (p *process) wait(t *testing.T) {
	t.Helper()
	if err := <-p.done; err != nil {
		t.Fatalf("%v\n%s", err, p.text())
	}
}

// interrupt does what Ctrl-C does, and waits for the end.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-p.done
}
