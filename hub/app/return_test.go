//go:build unix

package app_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/app"
	"beckon/hub/ma2h"
	"beckon/hub/store"
)

// returning is a config whose agent is called back at a host of this machine and
// gets what alice writes.
func returning(db, host, sign string) string {
	text := fmt.Sprintf(yaml, db)
	text = strings.Replace(text, "deploybot/dev-team: {token: env:BOT}",
		fmt.Sprintf("deploybot/dev-team: {token: env:BOT, secrets: {SIGN: env:SIGN, TOKEN: env:OPS}, sign: SIGN, directives: alice, callbacks: [{host: %q, sign: %s}]}", host, sign), 1)
	return text + "callbacks: {allow_loopback: true}\n"
}

// receiver is the agent's callback, which may be out of order.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	down  bool
	got   map[string]string // message → resolution id, of what was verified
	calls []*http.Request
	bad   []error
}

func newReceiver(t testing.TB, v *ma2h.Verifier) *receiver {
	r := &receiver{got: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, req)
		if r.down {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var resp *ma2h.Response
		if err == nil {
			v.CallbackURL = "http://" + req.Host + req.RequestURI
			resp, err = v.Verify(req.Header.Get(ma2h.SignatureHeader), body, time.Now())
		}
		if err != nil {
			r.bad = append(r.bad, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.got[resp.InReplyTo] = resp.ResolutionID
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// verified returns what the receiver has accepted, and what it refused.
func (r *receiver) verified() (map[string]string, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for k, v := range r.got {
		out[k] = v
	}
	return out, slices.Clone(r.bad)
}

func (r *receiver) host() string { return strings.TrimPrefix(r.URL, "http://") }

// pushedAsk is an ask that its agent answers itself, with the Response pushed.
func pushedAsk(key, version, url string, auth map[string]any) string {
	return envelope(key, func(e map[string]any) {
		e["ma2h_version"] = version
		cb := map[string]any{"mode": "push", "url": url}
		if auth != nil {
			cb["auth"] = auth
		}
		request := e["request"].(map[string]any)
		request["callback"] = cb
		request["allowed_resolvers"] = []string{"agent:deploybot/dev-team", "human:alice"}
	})
}

// TestPush: from the config to a receiver that verifies with what it was given,
// or with what discovery says.
func TestPush(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, sign, version string
		auth                map[string]any
		header, value       string
	}{
		{"hmac", "SIGN", "0.5", map[string]any{"scheme": "hmac", "secret_ref": "env:SIGN"}, "Authorization", ""},
		{"0.1", "SIGN", "0.1", nil, "Authorization", ""},
		{"bearer", "SIGN", "0.3", map[string]any{"scheme": "bearer", "token_ref": "env:TOKEN"}, "Authorization", "Bearer " + opsToken},
		{"the hub's own key", "ed25519", "0.5", map[string]any{"scheme": "apikey", "token_ref": "TOKEN"}, "X-Api-Key", opsToken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := &ma2h.Verifier{Window: 5 * time.Minute}
			r := newReceiver(t, v)
			p := start(t, parse(t, returning(filepath.Join(t.TempDir(), "beckon.db"), r.host(), tt.sign)))
			if tt.sign == "ed25519" {
				v.Ed25519Keys = publishedKeys(t, p)
			} else {
				v.Secrets = [][]byte{[]byte(signSecret)}
			}
			id := p.submit(pushedAsk("k", tt.version, r.URL+"/ma2h?x=1%2F2", tt.auth))
			status, body := p.do("POST", "/v1/messages/"+id+"/resolve", botToken, `{"resolution":"answered","value":"ship"}`)
			if status != http.StatusOK {
				t.Fatalf("resolve: %d %s", status, body)
			}
			waitFor(t, func() bool {
				got, bad := r.verified()
				return len(got) == 1 || len(bad) > 0
			})
			got, bad := r.verified()
			if len(bad) > 0 || got[id] == "" {
				t.Fatalf("got %v, refused %v", got, bad)
			}
			if h := r.calls[0].Header.Get(tt.header); h != tt.value {
				t.Errorf("%s: %q", tt.header, h)
			}
			waitFor(t, func() bool {
				_, body := p.do("GET", "/admin/v1/messages/"+id+"/events", opsToken, "")
				return strings.Contains(string(body), `"delivered_to_agent"`) && strings.Contains(string(body), `"via":"push"`)
			})
			status, body = p.do("POST", "/v1/messages/"+id+"/ack", botToken, `{"note":"on it"}`)
			if status != http.StatusOK {
				t.Errorf("ack: %d %s", status, body)
			}
		})
	}
}

// publishedKeys reads the hub's keys as an agent does.
func publishedKeys(t testing.TB, p *process) []ed25519.PublicKey {
	t.Helper()
	_, body := p.do("GET", "/.well-known/ma2h", "", "")
	var d struct {
		JWKS struct{ Keys []struct{ X string } }
	}
	if err := json.Unmarshal(body, &d); err != nil || len(d.JWKS.Keys) != 1 {
		t.Fatalf("keys: %v, %s", err, body)
	}
	key, err := base64.RawURLEncoding.DecodeString(d.JWKS.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	return []ed25519.PublicKey{key}
}

// TestPushIsRefusedInVersion02 and, where the config says so, in 0.1.
func TestPushIsRefusedInVersion02(t *testing.T) {
	t.Parallel()
	text := returning(filepath.Join(t.TempDir(), "beckon.db"), "127.0.0.1", "SIGN")
	p := start(t, parse(t, strings.Replace(text, "allow_loopback: true", "allow_loopback: true, v0_1: refuse", 1)))
	for _, version := range []string{"0.1", "0.2"} {
		status, body := p.do("POST", "/v1/messages", botToken, pushedAsk("k"+version, version, "http://127.0.0.1:9/", nil))
		if status != http.StatusBadRequest || !strings.Contains(string(body), `"version_not_supported"`) {
			t.Errorf("%s: %d %s", version, status, body)
		}
	}
	status, body := p.do("POST", "/v1/messages", botToken, pushedAsk("k", "0.5", "https://169.254.169.254/", nil))
	if status != http.StatusUnprocessableEntity || !strings.Contains(string(body), `"invalid_field"`) {
		t.Errorf("metadata: %d %s", status, body)
	}
}

// direct writes to the agent until the process ends, and prints the id of each
// directive once it is accepted.
func direct(a *app.App) {
	for i := 0; ; i++ {
		o, err := a.Hub().Desk("web").Direct(context.Background(), hub.Direction{
			AgentID: "deploybot/dev-team", Person: "alice", Body: fmt.Sprint("no. ", i),
		})
		if err == nil && o.Kind == hub.Accepted {
			fmt.Println(o.ID)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// printed collects the lines that a process prints until it ends.
func printed(r *bufio.Reader) func() []string {
	var lines []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return // a line that is cut off was not printed
			}
			lines = append(lines, strings.TrimSpace(line))
		}
	}()
	return func() []string { <-done; return lines }
}

// loadPushes submits and answers asks whose Responses can't be delivered yet, and
// returns the resolution ids that were acknowledged, by message.
func loadPushes(p *hubProcess, prefix, url string) map[string]string {
	c := p.conn()
	out := map[string]string{}
	if c == nil {
		return out
	}
	defer c.c.Close()
	for i := 0; ; i++ {
		status, body, err := c.roundTrip(request("POST", "/v1/messages", botToken, pushedAsk(fmt.Sprint(prefix, i), "0.5", url, nil)))
		var ack struct{ ID string }
		if err != nil || status != "202" || json.Unmarshal(body, &ack) != nil {
			return out
		}
		status, body, err = c.roundTrip(request("POST", "/v1/messages/"+ack.ID+"/resolve", botToken, `{"resolution":"answered","value":"ship"}`))
		var done struct {
			ResolutionID string `json:"resolution_id"`
		}
		if err != nil || status != "200" || json.Unmarshal(body, &done) != nil {
			return out
		}
		out[ack.ID] = done.ResolutionID
	}
}

// kill -9 in the middle of pushes to a receiver that is down, and of people who
// write to the agent: once the receiver is up every answer that was acknowledged
// gets there, and every directive that was accepted can be taken out of the inbox
// until it is acknowledged.
func TestKillKeepsWhatGoesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for seconds; not with -short")
	}
	db := filepath.Join(t.TempDir(), "beckon.db")
	r := newReceiver(t, &ma2h.Verifier{Secrets: [][]byte{[]byte(signSecret)}, Window: 5 * time.Minute})
	r.set(true)
	text := returning(db, r.host(), "SIGN")
	answered := map[string]string{}
	var written []string
	n := rounds(2)
	for round := range n {
		p := startChild(t, text, nil, envDirect+"=1")
		lines := printed(p.out)
		var wg sync.WaitGroup
		parts := make([]map[string]string, 4)
		for i := range parts {
			wg.Go(func() { parts[i] = loadPushes(p, fmt.Sprintf("r%d-%d-", round, i), r.URL+"/ma2h") })
		}
		time.AfterFunc(time.Duration(200+rand.IntN(500))*time.Millisecond, func() { _ = p.cmd.Process.Kill() })
		wg.Wait()
		p.kill()
		for _, part := range parts {
			for id, res := range part {
				answered[id] = res
			}
		}
		written = append(written, lines()...)
	}
	if len(answered) == 0 || len(written) == 0 {
		t.Fatalf("%d answers and %d directives: the load did nothing", len(answered), len(written))
	}
	p := startChild(t, text, nil)
	defer p.kill()
	pushesArrive(t, p, r, answered)
	taken := drainAll(t, p)
	for _, id := range written {
		if !slices.Contains(taken, id) {
			t.Errorf("directive %s was accepted and lost", id)
		}
	}
	half := taken[:len(taken)/2]
	body, err := json.Marshal(map[string]any{"ids": half})
	if err != nil {
		t.Fatal(err)
	}
	c := p.conn()
	if status, out, err := c.roundTrip(request("POST", "/v1/inbox/ack", botToken, string(body))); err != nil || status != "200" || string(out) != fmt.Sprintf(`{"acked":%d}`, len(half)) {
		t.Fatalf("ack: %s %s %v", status, out, err)
	}
	p.kill()
	s, err := store.Open(t.Context(), db, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, id := range taken {
		v, err := s.Directive(t.Context(), "deploybot/dev-team", id)
		want := hub.DirectiveDelivered
		if i < len(half) {
			want = hub.DirectiveAcked
		}
		if err != nil || v.State(time.Now()) != want {
			t.Errorf("directive %s after another kill: %+v, %v, want %s", id, v, err, want)
		}
	}
	t.Logf("%d rounds: %d answers pushed, %d directives", n, len(answered), len(written))
}

// pushesArrive brings the receiver up and has all pushes tried again.
func pushesArrive(t *testing.T, p *hubProcess, r *receiver, answered map[string]string) {
	t.Helper()
	r.set(false)
	c := p.conn()
	for id := range answered { // don't wait for the backoff
		_, body := p.get("/admin/v1/messages/"+id, opsToken)
		var m struct {
			Deliveries []struct {
				Seq         int
				Kind, State string
			}
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		found := false
		for _, d := range m.Deliveries {
			if d.Kind != "callback" {
				continue
			}
			found = true
			if status, out, err := c.roundTrip(request("POST", fmt.Sprintf("/admin/v1/deliveries/%s/%d/retry", id, d.Seq), opsToken, "")); err != nil || status != "200" && status != "422" {
				t.Fatalf("retry: %s %s %v", status, out, err)
			}
		}
		if !found {
			t.Errorf("the push of %s is lost", id)
		}
	}
	waitFor(t, func() bool {
		got, _ := r.verified()
		for id := range answered {
			if got[id] == "" {
				return false
			}
		}
		return true
	})
	got, bad := r.verified()
	if len(bad) > 0 {
		t.Errorf("refused: %v", bad[0])
	}
	for id, res := range answered {
		if got[id] != res {
			t.Errorf("%s was answered with %s, pushed %s", id, res, got[id])
		}
	}
}

// drainAll takes everything out of the inbox.
func drainAll(t *testing.T, p *hubProcess) (ids []string) {
	t.Helper()
	v := &ma2h.Verifier{Secrets: [][]byte{[]byte(signSecret)}, Window: 5 * time.Minute}
	for {
		status, body := p.get("/v1/inbox", botToken)
		var in struct {
			Messages []struct {
				Directive json.RawMessage
				Signature string
			}
		}
		if status != http.StatusOK || json.Unmarshal(body, &in) != nil {
			t.Fatalf("inbox: %d %s", status, body)
		}
		if len(in.Messages) == 0 {
			return ids
		}
		for _, m := range in.Messages {
			d, err := v.VerifyDirective(m.Signature, m.Directive, "deploybot/dev-team", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, d.ID)
		}
	}
}

// Many pushes to a host that takes connections and never says a word keep no
// other host waiting. With BECKON_ROUNDS of 10000 it says how long a push takes
// then.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r := newReceiver(t, &ma2h.Verifier{Secrets: [][]byte{[]byte(signSecret)}, Window: 5 * time.Minute})
	p := start(t, parse(t, returning(filepath.Join(t.TempDir(), "beckon.db"), "127.0.0.1", "SIGN")))
	answer := func(key, url string) string {
		id := p.submit(pushedAsk(key, "0.5", url, nil))
		if status, body := p.do("POST", "/v1/messages/"+id+"/resolve", botToken, `{"resolution":"answered","value":"ship"}`); status != http.StatusOK {
			t.Fatalf("resolve: %d %s", status, body)
		}
		return id
	}
	n := rounds(30)
	for i := range n {
		answer(fmt.Sprint("silent", i), "http://"+silent.Addr().String()+"/")
	}
	var took []time.Duration
	for i := range 20 {
		began := time.Now()
		id := answer(fmt.Sprint("live", i), r.URL+"/")
		waitFor(t, func() bool {
			got, _ := r.verified()
			return got[id] != ""
		})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("beside %d pushes to a silent host, submit to push took %s in the median, %s at most", n, took[len(took)/2], took[len(took)-1])
	_, body := p.do("GET", "/admin/v1/deliveries?state=pending&channel=callback&limit=1", opsToken, "")
	if n > hub.PushConcurrency && !strings.Contains(string(body), `"lane":"callback:`+silent.Addr().String()+`"`) {
		t.Errorf("nothing waits: %s", body)
	}
}
