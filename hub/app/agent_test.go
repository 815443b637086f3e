package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"beckon/channels"
	"beckon/config"
)

// returnYAML is a hub that pushes to an agent on this machine.
const returnYAML = `
listen: 127.0.0.1:0
store: %s
people:
  alice: {name: Alice Ng, tz: Asia/Singapore}
agents:
  deploybot/dev-team:
    token: env:BOT
    secrets: {MA2H_CALLBACK_SECRET: env:SECRET}
    callbacks: [{host: %s, sign: %s}]
operators:
  ops: {token: env:OPS}
callbacks: {allow_loopback: true}
routes:
  - ask: [alice]
    post: [{web: alice}]
`

const callbackSecret = "a secret that the hub and the agent share"

// startReturn starts a hub that pushes to host, signed by sign.
func startReturn(t *testing.T, db, host, sign string) *process {
	t.Helper()
	env := map[string]string{"BOT": botToken, "OPS": opsToken, "SECRET": callbackSecret}
	cfg, err := config.Parse("beckon.yaml", fmt.Appendf(nil, returnYAML, db, host, sign), channels.All(), func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	if err != nil {
		t.Fatalf("config: %v", err)
	}
	return start(t, cfg)
}

// freeAddress is an address where nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestAgentIsStartedByItsAnswer: an agent asks with sealed state and ends. A
// person answers while nobody listens, and the hub is started again. Then the
// push starts a new process, which verifies it, opens the state and goes on,
// once; and the hub knows that the agent has the answer.
func TestAgentIsStartedByItsAnswer(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", program, filepath.Join("..", "..", "examples", "agent.go")).CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	for _, sign := range []string{"MA2H_CALLBACK_SECRET", "ed25519"} {
		t.Run(sign, func(t *testing.T) {
			t.Parallel()
			dir, listen := t.TempDir(), freeAddress(t)
			db := filepath.Join(dir, "beckon.db")
			p := startReturn(t, db, listen, sign)
			secret := ""
			if sign != "ed25519" {
				secret = callbackSecret
			}
			agent := func(args ...string) *exec.Cmd {
				c := exec.Command(program, args...)
				c.Env = append(os.Environ(),
					"BECKON_URL="+p.url, "BECKON_TOKEN="+botToken, "BECKON_AGENT=deploybot/dev-team", "MA2H_CALLBACK_SECRET="+secret,
					"AGENT_CALLBACK_URL=http://"+listen+"/ma2h?of=deploybot", "AGENT_STATE_SECRET=32 bytes that only the agent has",
					"AGENT_DIR="+dir, "AGENT_LISTEN="+listen)
				return c
			}
			ask := agent("ask", "2.3")
			out, err := ask.Output()
			id := strings.TrimSpace(string(out))
			if err != nil || !strings.HasPrefix(id, "msg_") {
				t.Fatalf("ask: %s, %v", out, err)
			}
			alice := p.signIn("alice")
			if status, page := alice.post(id, "answer", url.Values{"option": {"1"}}); status != http.StatusOK {
				t.Fatalf("answer: %d %s", status, page)
			}
			// Nobody listens: the push has failed, and is kept over a restart.
			failed := func(p *process) bool {
				_, b := p.do("GET", "/admin/v1/messages/"+id, opsToken, "")
				return regexp.MustCompile(`"kind":"callback"[^}]*"attempts":[1-9]`).Match(b)
			}
			waitFor(t, func() bool { return failed(p) })
			p.stop()
			p = startReturn(t, db, listen, sign)

			serve := agent("serve")
			var log bytes.Buffer
			serve.Stderr = &log
			if err := serve.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = serve.Process.Signal(syscall.SIGTERM)
				if err := serve.Wait(); err != nil || strings.Contains(log.String(), callbackSecret) {
					t.Errorf("serve: %v\n%s", err, log.String())
				}
			}()
			waitFor(t, func() bool {
				c, err := net.Dial("tcp", listen)
				if err == nil {
					c.Close()
				}
				return err == nil
			})
			waitFor(t, func() bool { // at once, and not when the hub would
				p.do("POST", "/admin/v1/deliveries/"+id+"/"+callbackSeq(t, p, id)+"/retry", opsToken, "")
				b, _ := os.ReadFile(filepath.Join(dir, "done"))
				return len(b) > 0
			})
			done := regexp.MustCompile(`^deploy 2\.3: "ship" by human:alice, process (\d+)\n$`)
			b, err := os.ReadFile(filepath.Join(dir, "done"))
			m := done.FindSubmatch(b)
			if err != nil || m == nil {
				t.Fatalf("it went on: %q, %v", b, err)
			}
			if pid, _ := strconv.Atoi(string(m[1])); pid == ask.Process.Pid || pid == serve.Process.Pid || pid == os.Getpid() {
				t.Errorf("process %d is no new one", pid)
			}
			waitFor(t, func() bool {
				_, b := p.do("GET", "/admin/v1/messages/"+id+"/events", opsToken, "")
				return strings.Contains(string(b), `"delivered_to_agent"`) && strings.Contains(string(b), `"via":"push"`)
			})
			_, b = p.do("GET", "/v1/messages/"+id, botToken, "")
			if !strings.Contains(string(b), `"delivery":{"state":"delivered-to-agent"`) {
				t.Errorf("the agent reads %s", b)
			}
		})
	}
}

// callbackSeq is the number of a message's push among its deliveries.
func callbackSeq(t *testing.T, p *process, id string) string {
	t.Helper()
	_, b := p.do("GET", "/admin/v1/messages/"+id, opsToken, "")
	var m struct {
		Deliveries []struct {
			Seq  int
			Kind string
		}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, d := range m.Deliveries {
		if d.Kind == "callback" {
			return strconv.Itoa(d.Seq)
		}
	}
	t.Fatalf("no push in %s", b)
	return ""
}
