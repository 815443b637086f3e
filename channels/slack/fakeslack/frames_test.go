package fakeslack_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"beckon/channels/slack/fakeslack"
)

// TestSampleFrames: hello, the envelopes with their retries, and the requests to
// disconnect, as they were recorded.
func TestSampleFrames(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(samples(t), "socket_mode_frames.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{}
	for line := range bytes.Lines(raw) {
		m := decode(t, line).(map[string]any)
		key, _ := m["type"].(string)
		if p, ok := m["payload"].(map[string]any); ok && key == "interactive" {
			key = p["type"].(string)
		}
		want[key] = m
	}
	s := start(t, fakeslack.Options{AckTimeout: 50 * time.Millisecond})
	open := api(t, s, "apps.connections.open", obj{})
	conn, resp, err := websocket.DefaultDialer.DialContext(within(t), open["url"].(string), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	defer func() { _ = conn.Close() }()
	// next reads on to a frame of this kind that has this text in it.
	next := func(key, text string) map[string]any {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		for {
			_, raw, err := conn.ReadMessage()
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			m := decode(t, raw).(map[string]any)
			got, _ := m["type"].(string)
			p, ok := m["payload"].(map[string]any)
			if ok && got == "interactive" {
				got = p["type"].(string)
			}
			if got != key || !strings.Contains(string(raw), text) {
				continue
			}
			if miss := missing("", any(want[key]), any(m)); len(miss) > 0 {
				t.Errorf("%s:\n  %s", key, strings.Join(miss, "\n  "))
			}
			if id, ok := m["envelope_id"].(string); ok && key != "events_api" {
				_ = conn.WriteJSON(obj{"envelope_id": id})
			}
			return m
		}
	}
	next("hello", "")
	if m := missing("", readSample(t, "apps.connections.open.response.json"), any(open)); len(m) > 0 {
		t.Error(m)
	}
	alice := s.Person("alice")
	first := must(t)(alice.Reply("C0APPROVE1", "", "question"))
	must(t)(alice.Reply("C0APPROVE1", first.TS, "answer"))
	if m := next("events_api", `"text":"answer"`); m["retry_attempt"] != 0.0 {
		t.Errorf("the first attempt is number %v", m["retry_attempt"])
	}
	// Nothing was acknowledged, so it comes again, in another envelope.
	if m := next("events_api", `"text":"answer"`); m["retry_attempt"] != 1.0 || m["retry_reason"] != "timeout" {
		t.Errorf("the retry is number %v because of %v", m["retry_attempt"], m["retry_reason"])
	}
	go func() { _, _ = alice.Slash(context.Background(), "C0APPROVE1", "/beckon list") }()
	next("slash_commands", "")
	s.Disconnect("warning")
	next("disconnect", "warning")
}
