package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/hub/app"
)

// The main job: an agent asks, a person answers on the page, the agent's parked
// poll has the answer.
func TestMainJob(t *testing.T) {
	t.Parallel()
	p := startNew(t)
	id := p.submit(envelope("k1", nil))
	got := make(chan []byte, 1)
	go func() {
		_, b := p.do("GET", "/v1/messages/"+id+"?wait=30", botToken, "")
		got <- b
	}()
	alice := p.signIn("alice")
	if _, list := alice.get(p.url + "/"); !strings.Contains(list, "Ship web-app 2.3?") {
		t.Fatalf("the list does not show it:\n%s", list)
	}
	status, page := alice.post(id, "answer", url.Values{"option": {"2"}, "comment": {"Wait for the migration."}})
	if status != http.StatusOK || !strings.Contains(page, "Hold for review") || !strings.Contains(page, "Wait for the migration.") {
		t.Fatalf("after the answer: %d\n%s", status, page)
	}
	var body struct {
		Status   string
		Response struct {
			ResolutionID string `json:"resolution_id"`
			Resolution   string
			Response     struct{ Value, Actor, Comment string }
		}
	}
	if err := json.Unmarshal(<-got, &body); err != nil {
		t.Fatal(err)
	}
	r := body.Response.Response
	if body.Status != "answered" || r.Value != "hold" || r.Actor != "human:alice" || r.Comment != "Wait for the migration." {
		t.Errorf("the agent has %+v", body)
	}

	// Bob is too late, and is told who answered what.
	bob := p.signIn("bob")
	if _, page := bob.get(p.url + "/i/" + id); !strings.Contains(page, "Alice Ng") || strings.Contains(page, "/answer\"") {
		t.Errorf("bob sees:\n%s", page)
	}
}

// A restart keeps everything: the message, the session's keys, what is due.
func TestRestart(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(yaml, filepath.Join(t.TempDir(), "beckon.db"))
	p := start(t, parse(t, text))
	id := p.submit(envelope("k1", nil))
	link := p.app.Link("alice", id, time.Hour)
	p.stop()

	p = start(t, parse(t, text))
	link = p.url + link[strings.Index(link, "/l/"):]
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	alice := &browser{t, &http.Client{Jar: jar}, p.url}
	if status, page := alice.get(link); status != http.StatusOK || !strings.Contains(page, "Ship web-app 2.3?") {
		t.Errorf("the link from before: %d\n%s", status, page)
	}
	if status, b := p.do("GET", "/v1/messages/"+id, botToken, ""); status != http.StatusOK {
		t.Errorf("the message from before: %d %s", status, b)
	}
}

// Shutdown answers parked polls with the current state instead of cutting them.
func TestShutdownAnswersPolls(t *testing.T) {
	t.Parallel()
	p := startNew(t)
	id := p.submit(envelope("k1", nil))
	c := dial(t, p)
	got := make(chan string, 1)
	go func() {
		status, body, err := c.roundTrip(request("GET", "/v1/messages/"+id+"?wait=60", botToken, ""))
		got <- fmt.Sprint(status, string(body), err)
	}()
	waitFor(t, func() bool {
		_, b := p.do("GET", "/admin/v1/stats", opsToken, "")
		return strings.Contains(string(b), `"polls":1`)
	})
	begun := time.Now()
	p.stop()
	if s := <-got; !strings.HasPrefix(s, "200") || !strings.Contains(s, `"status":"open"`) {
		t.Errorf("the poll got %s", s)
	}
	if d := time.Since(begun); d > app.StopTimeout {
		t.Errorf("stopping took %s", d)
	}
}

// waitFor looks until ok, for conditions that have no signal of their own.
func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to pass in 20 s")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(yaml, filepath.Join(t.TempDir(), "beckon.db"))
	p := start(t, parse(t, text))
	if status, _ := p.do("GET", "/v1/messages", "bkn_newtoken", ""); status != http.StatusUnauthorized {
		t.Fatalf("a token that is not in the config: %d", status)
	}
	changed := parse(t, strings.Replace(text, "  other/bot: {token: env:OTHER}", "  other/bot: {token_sha256: "+
		"6a4e8ac8f5b9ea8ea8e0ae8d7a5cb23b6b1d10cd8a8f1f4d8f4d2a9ab6c3e0f1}", 1))
	if err := p.app.Reload(changed); err != nil {
		t.Fatal(err)
	}
	if status, _ := p.do("GET", "/v1/messages", otherToken, ""); status != http.StatusUnauthorized {
		t.Errorf("the token that was taken out still works: %d", status)
	}
	err := p.app.Reload(parse(t, strings.Replace(text, "beckon.db", "other.db", 1)))
	if err == nil || !strings.Contains(err.Error(), "store can't change") {
		t.Errorf("another store: %v", err)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	p := startNew(t)
	p.submit(envelope("k1", nil))
	waitFor(t, func() bool {
		status, b := p.do("GET", "/readyz", "", "")
		return status == http.StatusOK && strings.Contains(string(b), `"outbox web"`)
	})
	_, b := p.do("GET", "/metrics", "", "")
	for _, want := range []string{
		`beckon_submits_total{type="ask"} 1`, `beckon_messages_open{type="ask"} 1`, `beckon_loop_age_seconds{lane="web"}`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	if strings.Contains(string(b), "msg_") {
		t.Error("the metrics hold an id")
	}
}

// A second process on the same database is refused and told who has it.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	cfg := parse(t, fmt.Sprintf(yaml, filepath.Join(t.TempDir(), "beckon.db")))
	start(t, cfg)
	_, err := app.New(t.Context(), cfg, app.Options{})
	if err == nil || !strings.Contains(err.Error(), "process") {
		t.Errorf("a second process: %v", err)
	}
}
