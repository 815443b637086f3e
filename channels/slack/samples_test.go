package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"beckon/channels/channeltest"
)

// TestSamples: every sample of what Slack sends decodes to what it says.
func TestSamples(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("BECKON_SHARED")
	if shared == "" {
		t.Skip("BECKON_SHARED is not set: it names the folder with the samples of Slack's payloads")
	}
	dir := filepath.Join(shared, "data", "slack-samples")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	desk := channeltest.NewDesk(channeltest.Directory())
	w := startWorld(t, workspace(), desk)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.ch.Run(ctx) }()
	defer func() { cancel(); <-done }()
	if err := w.slack.WaitSockets(t.Context(), socketCount); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	take := func(name, kind string, raw []byte) {
		wg.Go(func() {
			if _, err := w.ch.inbound.receive(ctx, "test", kind, 0, raw); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for _, file := range files {
		name := filepath.Base(file)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(name, "event."):
			var e eventEnvelope
			if err := json.Unmarshal(raw, &e); err != nil || e.Type == "" || e.Type == "event_callback" && (e.Event.Type == "" || e.TeamID == "" || e.EventID == "") {
				t.Errorf("%s: %v, %+v", name, err, e)
			}
			if typed := typedByPerson(&e.Event); typed != strings.Contains(name, "reply") && !strings.Contains(name, "broadcast") && !strings.Contains(name, "mention") {
				t.Errorf("%s: written by a person: %v", name, typed)
			}
			take(name, kindEvent, raw)
		case strings.HasPrefix(name, "block_actions."), strings.HasPrefix(name, "view_") && !strings.Contains(name, "response"):
			var p interaction
			if err := json.Unmarshal(raw, &p); err != nil || p.User.ID == "" || p.User.TeamID == "" || len(p.Actions) == 0 && p.View == nil {
				t.Errorf("%s: %v, %+v", name, err, p)
			}
			for _, a := range p.Actions {
				var v controlValue
				if err := json.Unmarshal(a, &v); err != nil || v.ActionID == "" || v.ActionTS == "" {
					t.Errorf("%s: %v, %+v", name, err, v)
				}
			}
			take(name, kindInteraction, raw)
		}
	}
	frames, err := os.ReadFile(filepath.Join(dir, "socket_mode_frames.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range bytes.Lines(frames) {
		var f frame
		if err := json.Unmarshal(l, &f); err != nil || f.Type == "" || f.Type == "disconnect" && f.Reason == "" || f.Payload != nil && f.EnvelopeID == "" {
			t.Errorf("%s: %v", l, err)
		}
		if f.Payload != nil {
			take(f.EnvelopeID, f.Type, f.Payload)
		}
	}
	wg.Wait()
	if s := w.logs.String(); strings.Contains(s, "panicked") || strings.Contains(s, "JSON") {
		t.Errorf("a sample was not taken:\n%s", s)
	}
}
