package main

import (
	databasesql "database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"beckon": main,
		"exits":  exits,
	})
}

// exits runs a command and wants a certain exit code: exits CODE COMMAND ARGS….
// Signals go to the command.
func exits() {
	want, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	c := exec.Command(os.Args[2], os.Args[3:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	go func() {
		for s := range sigs {
			_ = c.Process.Signal(s)
		}
	}()
	err = c.Wait()
	if got := c.ProcessState.ExitCode(); got != want {
		fmt.Fprintf(os.Stderr, "exits: exit code %d, want %d (%v)\n", got, want, err)
		os.Exit(99)
	}
}

// The credentials of the scripts' config.
const (
	testToken = "bkn_test_deploybot_0000000000000000"
	bossToken = "bkn_test_boss_00000000000000000000"
)

// testConfig is what a script gets that brings no beckon.yaml of its own.
const testConfig = `listen: 127.0.0.1:$PORT
store: beckon.db
people:
  alice: {name: Alice Ng, tz: Asia/Singapore}
  bob: {name: Bob Roy}
agents:
  deploybot/dev-team: {token: env:DEPLOYBOT_TOKEN}
  boss/dev-team: {token: env:BOSS_TOKEN}
routes:
  - ask: [alice]
    post: [{web: alice}]
`

func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(t, "testdata/script"))
}

func params(t *testing.T, dir string) testscript.Params {
	deadline, _ := t.Deadline()
	return testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true, Deadline: deadline,
		Setup: func(e *testscript.Env) error { return setup(e) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": ready, "idle": idle, "answer": answer, "resolve": resolve, "setenv": setenv, "signal": sendSignal,
			"parked": parked, "until": until, "sql": sql,
		},
	}
}

// quickExit keeps a process under the race detector from sleeping for a second
// when it ends; it would for every command of a script.
const quickExit = "atexit_sleep_ms=0"

// setup gives a script a port, credentials, a home and a config.
func setup(e *testscript.Env) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"HOME": filepath.Join(e.WorkDir, "home"), "TZ": "UTC",
		"PORT": port, "BECKON_URL": "http://127.0.0.1:" + port,
		"BECKON_TOKEN": testToken, "BECKON_AGENT": "deploybot/dev-team",
		"DEPLOYBOT_TOKEN": testToken, "BOSS_TOKEN": bossToken,
		"GORACE": quickExit,
	} {
		e.Setenv(k, v)
	}
	file := filepath.Join(e.WorkDir, "beckon.yaml")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(file, []byte(testConfig), 0o600); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(e.WorkDir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "$PORT", port)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// freePort finds a port below those that the kernel gives to clients, so that
// no connection of another test takes it meanwhile.
func freePort() (string, error) {
	for range 100 {
		port := strconv.Itoa(12000 + rand.IntN(20000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			return port, l.Close()
		}
	}
	return "", errors.New("found no free port")
}

// eventually tries f until it works.
func eventually(ts *testscript.TestScript, f func() error) { ts.Check(retry(f)) }

// ready waits until the hub is: ready.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	eventually(ts, func() error {
		_, err := fetch(http.DefaultClient, ts.Getenv("BECKON_URL")+"/readyz")
		return err
	})
}

// idle waits until nothing answers any more: idle.
func idle(ts *testscript.TestScript, neg bool, args []string) {
	eventually(ts, func() error {
		c, err := net.Dial("tcp", strings.TrimPrefix(ts.Getenv("BECKON_URL"), "http://"))
		if err != nil {
			return nil
		}
		return errors.Join(errors.New("something still listens"), c.Close())
	})
}

// parked waits until that many agents wait for an answer: parked N.
func parked(ts *testscript.TestScript, neg bool, args []string) {
	eventually(ts, func() error {
		m, err := fetch(http.DefaultClient, ts.Getenv("BECKON_URL")+"/metrics")
		if err == nil && !strings.Contains(m, "\nbeckon_polls_parked "+args[0]+"\n") {
			err = fmt.Errorf("not %s polls are parked", args[0])
		}
		return err
	})
}

// until waits until a file that somebody else writes matches: until PATTERN FILE.
func until(ts *testscript.TestScript, neg bool, args []string) {
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	eventually(ts, func() error {
		b, err := os.ReadFile(ts.MkAbs(args[1]))
		if err == nil && !re.Match(b) {
			err = fmt.Errorf("%s does not match %s:\n%s", args[1], args[0], b)
		}
		return err
	})
}

// setenv sets a variable to a file's text: setenv NAME FILE.
func setenv(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// sendSignal sends a signal that "kill" does not know to a background command
// that wrote its process id: signal NAME FILE.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	sig := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT}[args[0]]
	ts.Check(syscall.Kill(pid, sig))
}

// resolve answers as an agent, by plain HTTP: resolve ID BODY.
func resolve(ts *testscript.TestScript, neg bool, args []string) {
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("BECKON_URL")+"/v1/messages/"+args[0]+"/resolve", strings.NewReader(args[1]))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("BOSS_TOKEN"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); (resp.StatusCode == http.StatusOK) == neg {
		ts.Fatalf("resolve: %s: %s", resp.Status, body)
	}
}

// sql changes a database that no hub has open, as somebody who tampers with it
// does: sql FILE STATEMENT.
func sql(ts *testscript.TestScript, neg bool, args []string) {
	db, err := databasesql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	done, err := db.Exec(args[1])
	ts.Check(err)
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		ts.Fatalf("sql: %d rows changed, %v", n, err)
	}
}
