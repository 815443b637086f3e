package client_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// agentProgram builds examples/agent.go, which go vet ./... does not look at.
func agentProgram(t *testing.T) string {
	t.Helper()
	source, program := filepath.Join("..", "..", "examples", "agent.go"), filepath.Join(t.TempDir(), "agent")
	for _, args := range [][]string{{"vet", source}, {"build", "-o", program, source}} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args, err, out)
		}
	}
	return program
}

// submitted is a hub that takes an ask and keeps it.
type submitted struct {
	sync.Mutex
	envelopes []*ma2h.Envelope
}

func (s *submitted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	raw, _ := io.ReadAll(r.Body)
	e, err := ma2h.Parse(raw)
	if err == nil {
		err = e.Validate()
	}
	if err != nil || r.URL.Path != "/v1/messages" || r.Header.Get("Authorization") != "Bearer agent-token" {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	if len(s.envelopes) > 0 && s.envelopes[0].IdempotencyKey != e.IdempotencyKey {
		http.Error(w, "another message", http.StatusConflict)
		return
	}
	s.envelopes = append(s.envelopes, e)
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"id":"msg_1","status":"open","poll_url":"http://%s/v1/messages/msg_1","review_url":"http://%[1]s/i/msg_1"}`, r.Host)
}

// TestExampleAgent: an agent asks with sealed state and ends; each push starts a
// new process, which verifies, opens the state and goes on, once.
func TestExampleAgent(t *testing.T) {
	t.Parallel()
	program, dir := agentProgram(t), t.TempDir()
	hub := &submitted{}
	srv := httptest.NewServer(hub)
	defer srv.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := l.Addr().String()
	l.Close()
	env := append(os.Environ(),
		"BECKON_URL="+srv.URL, "BECKON_TOKEN=agent-token", "BECKON_AGENT="+deploybot, "AGENT_CALLBACK_URL="+callbackURL,
		"MA2H_CALLBACK_SECRET="+string(hubShare), "AGENT_STATE_SECRET="+string(newSecret), "AGENT_DIR="+dir, "AGENT_LISTEN="+listen)

	// It asks and ends; twice, since the first ack may have been lost.
	asked := 0
	for range 2 {
		ask := exec.Command(program, "ask", "2.3")
		ask.Env = env
		if out, err := ask.Output(); err != nil || string(out) != "msg_1\n" {
			t.Fatalf("ask: %s, %v", out, err)
		}
		asked = ask.Process.Pid
	}
	e := hub.envelopes[0]
	if len(hub.envelopes) != 2 || e.Request.Callback.URL != callbackURL || e.Type != ma2h.Ask || bytes.Contains(e.State, []byte("2.3\",\"step")) {
		t.Fatalf("%d envelopes, %+v", len(hub.envelopes), e)
	}

	serve := exec.Command(program, "serve")
	var log bytes.Buffer
	serve.Env, serve.Stderr = env, &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if err := serve.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
		if strings.Contains(log.String(), "not_shown") || strings.Contains(log.String(), string(hubShare)) {
			t.Errorf("the log holds a secret:\n%s", log.String())
		}
	}()

	body := func(state []byte, resolution string) string {
		return fmt.Sprintf(`{"ma2h_version":"0.5","in_reply_to":"msg_1","resolution_id":"%s","agent":{"id":%q,"run_id":%q},`+
			`"resolution":"answered","response":{"value":"ship","actor":"human:alice","resolved_at":"2026-12-01T10:00:00.000Z",`+
			`"comment":"not_shown"},"defaulted":false,"state":%s}`, resolution, e.Agent.ID, e.Agent.RunID, state)
	}
	key := ma2h.SigningKey{Secret: hubShare}
	deliver := func(p push) int {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			r, err := http.NewRequest(p.method, "http://"+listen+"/ma2h", bytes.NewReader(p.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", p.contentType)
			r.Header[ma2h.SignatureHeader] = p.header
			resp, err := srv.Client().Do(r)
			if err == nil {
				resp.Body.Close()
				return resp.StatusCode
			}
			if time.Now().After(deadline) { // it never listened
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	done := func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "done"))
		return string(b)
	}

	// What is not what the hub signed, or not what the agent sealed, starts a
	// process too, which does nothing.
	tampered := signed(t, key, body(e.State, "res_1"))
	tampered.body = bytes.Replace(tampered.body, []byte(`"ship"`), []byte(`"hold"`), 1)
	if code := deliver(tampered); code != http.StatusUnauthorized {
		t.Errorf("tampered: %d", code)
	}
	other, err := client.SealState(stateKeys(oldSecret), e.ClientRef, []byte(`{"release":"2.3","step":"deploy"}`))
	if err != nil {
		t.Fatal(err)
	}
	if code := deliver(signed(t, key, body(other, "res_0"))); code != http.StatusUnprocessableEntity {
		t.Errorf("sealed by another: %d", code)
	}
	if got := done(); got != "" {
		t.Fatalf("it went on: %s", got)
	}

	honest := signed(t, key, body(e.State, "res_1"))
	if code := deliver(honest); code != http.StatusOK {
		t.Fatalf("honest: %d", code)
	}
	m := regexp.MustCompile(`^deploy 2\.3: "ship" by human:alice, process (\d+)\n$`).FindStringSubmatch(done())
	if m == nil {
		t.Fatalf("it went on: %q", done())
	}
	if pid, _ := strconv.Atoi(m[1]); pid == asked || pid == serve.Process.Pid || pid == os.Getpid() {
		t.Errorf("process %d is no new one", pid)
	}

	// Every process sees what the others did: one Response, delivered again and
	// again and at once, is acted on once; and no signature counts twice.
	if code := deliver(honest); code != http.StatusConflict {
		t.Errorf("the same signature: %d", code)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if code := deliver(signed(t, key, body(e.State, "res_1"))); code != http.StatusOK && code != http.StatusServiceUnavailable {
				t.Errorf("again: %d", code)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(done(), "\n"); n != 1 {
		t.Errorf("it went on %d times:\n%s", n, done())
	}
}
