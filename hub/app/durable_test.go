//go:build unix

package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"beckon/channels"
	"beckon/config"
	"beckon/hub/app"
	"beckon/hub/ma2h"
)

// A child is this test binary again, as a hub in a process of its own that can
// be killed or traced.
const (
	envChild       = "BECKON_TEST_CHILD"       // the config's text
	envSynchronous = "BECKON_TEST_SYNCHRONOUS" // for the trace test
	envDirect      = "BECKON_TEST_DIRECT"      // alice writes to the agent all the time
)

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(envChild); ok {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(text string) error {
	tokens := map[string]string{"BOT": botToken, "OTHER": otherToken, "OPS": opsToken, "MAIL": "secret", "SIGN": signSecret}
	cfg, err := config.Parse("beckon.yaml", []byte(text), channels.All(), func(name string) (string, bool) {
		v, ok := tokens[name]
		return v, ok
	})
	if err != nil {
		return err
	}
	a, err := app.New(context.Background(), cfg, app.Options{Synchronous: os.Getenv(envSynchronous)})
	if err != nil {
		return err
	}
	fmt.Println(a.Addr())
	if os.Getenv(envDirect) != "" {
		go direct(a)
	}
	return a.Run(context.Background())
}

// hubProcess is a running child.
type hubProcess struct {
	t    testing.TB
	cmd  *exec.Cmd
	addr string
	out  *bufio.Reader // what it prints after its address
}

func startChild(t testing.TB, text string, wrap []string, env ...string) *hubProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(wrap, exe)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), envChild+"="+text), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that a tracer and its child die together
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("the child did not start: %v", err)
	}
	return &hubProcess{t, cmd, strings.TrimSpace(line), r}
}

// kill sends SIGKILL to the whole group.
func (p *hubProcess) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// conn returns nil when the child is gone.
func (p *hubProcess) conn() *rawConn {
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		return nil
	}
	return &rawConn{c: c, buf: make([]byte, 0, 8192)}
}

func (p *hubProcess) get(path, token string) (int, []byte) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), "GET", "http://"+p.addr+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, b
}

// acked is what the hub has acknowledged of one message.
type acked struct {
	id, key      string
	body         string
	resolutionID string // of an acknowledged resolve
	expires      time.Time
}

// load submits and resolves until the hub is gone, and returns what was
// acknowledged. Some asks expire soon.
func load(p *hubProcess, prefix string) []acked {
	c := p.conn()
	if c == nil {
		return nil
	}
	defer c.c.Close()
	var out []acked
	for i := 0; ; i++ {
		m := acked{key: prefix + strconv.Itoa(i)}
		m.body = envelope(m.key, func(e map[string]any) {
			e["request"].(map[string]any)["allowed_resolvers"] = []string{"agent:deploybot/dev-team", "human:alice"}
			if rand.IntN(4) == 0 {
				m.expires = time.Now().Add(time.Second + time.Duration(rand.IntN(2000))*time.Millisecond)
				e["expires_at"] = ma2h.FormatTime(m.expires)
				e["request"].(map[string]any)["default_on_expire"] = "hold"
			}
		})
		status, body, err := c.roundTrip(request("POST", "/v1/messages", botToken, m.body))
		if err != nil {
			return out
		}
		var ack struct{ ID string }
		if status != "202" || json.Unmarshal(body, &ack) != nil {
			p.t.Errorf("submit: %s %s", status, body)
			return out
		}
		m.id = ack.ID
		out = append(out, m)
		if rand.IntN(2) == 0 {
			continue
		}
		status, body, err = c.roundTrip(request("POST", "/v1/messages/"+m.id+"/resolve", botToken, `{"resolution":"answered","value":"ship"}`))
		if err != nil {
			return out
		}
		var done struct {
			ResolutionID string `json:"resolution_id"`
		}
		switch {
		case status == "200" && json.Unmarshal(body, &done) == nil:
			out[len(out)-1].resolutionID = done.ResolutionID
		case status == "409" && !m.expires.IsZero(): // it has expired
		default:
			p.t.Errorf("resolve: %s %s", status, body)
			return out
		}
	}
}

// check reads a message back after a restart.
func (p *hubProcess) check(m acked) {
	p.t.Helper()
	status, b := p.get("/v1/messages/"+m.id, botToken)
	var got struct {
		Status   string
		Response struct {
			ResolutionID string `json:"resolution_id"`
		}
	}
	if status != http.StatusOK || json.Unmarshal(b, &got) != nil {
		p.t.Errorf("acknowledged and lost: %s: %d %s", m.id, status, b)
		return
	}
	if m.resolutionID != "" && (got.Status != "answered" || got.Response.ResolutionID != m.resolutionID) {
		p.t.Errorf("resolution %s of %s was acknowledged; it is %s %s now", m.resolutionID, m.id, got.Status, got.Response.ResolutionID)
	}
}

// kill -9 in the middle of load: everything that was acknowledged is there
// after the restart, no delivery is lost, and expiries fire.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for seconds; not with -short")
	}
	text := fmt.Sprintf(yaml, filepath.Join(t.TempDir(), "beckon.db"))
	var all, last []acked
	n := rounds(3)
	for round := range n {
		p := startChild(t, text, nil)
		for _, m := range last {
			p.check(m)
		}
		if t.Failed() {
			p.kill()
			t.Fatalf("in round %d", round)
		}
		var wg sync.WaitGroup
		parts := make([][]acked, 8)
		for i := range parts {
			wg.Go(func() { parts[i] = load(p, fmt.Sprintf("r%d-%d-", round, i)) })
		}
		time.AfterFunc(time.Duration(50+rand.IntN(500))*time.Millisecond, func() { _ = p.cmd.Process.Kill() })
		wg.Wait()
		p.kill()
		last = nil
		for _, part := range parts {
			last = append(last, part...)
		}
		all = append(all, last...)
	}
	p := startChild(t, text, nil)
	defer p.kill()
	resolved, expiring := 0, 0
	for _, m := range all {
		p.check(m)
		if m.resolutionID != "" {
			resolved++
		} else if !m.expires.IsZero() {
			expiring++
		}
	}
	waitFor(t, func() bool { // every post is done, every expiry has fired
		_, b := p.get("/admin/v1/deliveries?state=pending&limit=1", opsToken)
		_, r := p.get("/admin/v1/deliveries?state=running&limit=1", opsToken)
		return strings.Contains(string(b), `"deliveries":[]`) && strings.Contains(string(r), `"deliveries":[]`)
	})
	for _, m := range all {
		if m.resolutionID == "" && !m.expires.IsZero() {
			if _, b := p.get("/v1/messages/"+m.id, botToken); !strings.Contains(string(b), `"status":"expired"`) && !strings.Contains(string(b), `"status":"answered"`) {
				t.Errorf("%s should have expired: %s", m.id, b)
			}
		}
	}
	for _, i := range rand.Perm(len(all))[:min(50, len(all))] {
		_, b := p.get("/admin/v1/messages/"+all[i].id+"/events", opsToken)
		// An answer or an expiry may come before the post, which is dropped then.
		done := false
		for _, kind := range []string{"posted", "answered", "expired"} {
			done = done || strings.Contains(string(b), `"kind":"`+kind+`"`)
		}
		if !strings.Contains(string(b), `"verified":true`) || !done {
			t.Errorf("history of %s: %s", all[i].id, b)
		}
	}
	t.Logf("%d rounds: %d messages and %d resolutions acknowledged, %d expiries", n, len(all), resolved, expiring)
	if len(all) == 0 || resolved == 0 {
		t.Error("the load did nothing")
	}
}

func rounds(small int) int {
	if n, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return small
}

// Accepted means stored (rule 1): between the write of a message into the WAL
// and its 202 lies an fsync of the WAL. With synchronous=OFF there is none, and
// the check must see that.
func TestFsyncBefore202(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v %s", err, out)
	}
	for _, tt := range []struct {
		synchronous string
		want        bool
	}{{"FULL", true}, {"OFF", false}} {
		t.Run(tt.synchronous, func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "trace")
			// A route that posts nowhere: nobody writes but the submits.
			text := strings.Replace(fmt.Sprintf(yaml, filepath.Join(dir, "beckon.db")), "    post: [{web: alice}]\n", "", 1)
			wrap := []string{strace, "-f", "-y", "-s", "64", "-e", "trace=pwrite64,write,fsync,fdatasync", "-o", log}
			p := startChild(t, text, wrap, envSynchronous+"="+tt.synchronous)
			c := p.conn()
			if c == nil {
				t.Fatal("no connection")
			}
			for i := range 20 {
				status, body, err := c.roundTrip(request("POST", "/v1/messages", botToken, envelope(fmt.Sprint("k", i), nil)))
				if err != nil || status != "202" {
					t.Fatalf("submit: %s %s %v", status, body, err)
				}
			}
			p.kill()
			trace, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			acks, bad := syncedBefore202(string(trace))
			if acks != 20 {
				t.Fatalf("the trace shows %d acks of 20", acks)
			}
			if got := bad == 0; got != tt.want {
				t.Errorf("%d of %d acks went out with unsynced writes in the WAL; want none: %v", bad, acks, tt.want)
			}
		})
	}
}

var (
	walWrite = regexp.MustCompile(`pwrite64\(\d+<[^>]*beckon\.db-wal>`)
	walSync  = regexp.MustCompile(`f(?:data)?sync\(\d+<[^>]*beckon\.db-wal>`)
	ackWrite = regexp.MustCompile(`write\(\d+<[^>]*>, "HTTP/1\.1 202 `)
)

// syncedBefore202 reads a trace and counts the acks, and those that had no WAL
// write with an fsync behind it since the last one. strace writes a call that
// is interrupted by another thread in two lines; the first counts for a write,
// the second ("resumed") for an fsync, which is the careful side.
func syncedBefore202(trace string) (acks, bad int) {
	written, synced := false, false
	unfinished := map[string]bool{} // thread → a WAL sync that has not returned
	for _, line := range strings.Split(trace, "\n") {
		thread, _, _ := strings.Cut(line, " ")
		switch {
		case walWrite.MatchString(line):
			written, synced = true, false
		case walSync.MatchString(line):
			if strings.Contains(line, "<unfinished") {
				unfinished[thread] = true
			} else {
				synced = true
			}
		case strings.Contains(line, "sync resumed>") && unfinished[thread]:
			synced = true
			delete(unfinished, thread)
		case ackWrite.MatchString(line):
			acks++
			if !written || !synced {
				bad++
			}
			written, synced = false, false
		}
	}
	return acks, bad
}
