package store_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/store"
)

// The test binary runs itself again as a child process that can be killed or
// traced. What the child does stands in these variables.
const (
	envChild = "BECKON_STORE_CHILD" // "write" or "hold"
	envPath  = "BECKON_STORE_PATH"
	envSync  = "BECKON_STORE_SYNC"
	envCount = "BECKON_STORE_COUNT"
)

// child does the work of a child process and exits, if this is one.
func child() {
	what := os.Getenv(envChild)
	if what == "" {
		return
	}
	if err := runChild(what); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runChild(what string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, os.Getenv(envPath), store.Options{Synchronous: os.Getenv(envSync)})
	if err != nil {
		return err
	}
	if what == "hold" {
		fmt.Println("ready")
		time.Sleep(time.Minute) // until the parent kills it
		return nil
	}
	producers, count := 8, 1<<30
	if n := os.Getenv(envCount); n != "" {
		producers = 1
		if _, err := fmt.Sscan(n, &count); err != nil {
			return err
		}
	}
	errs := make(chan error, producers)
	for p := range producers {
		go func() { errs <- write(ctx, s, p, count) }()
	}
	for range producers {
		if err := <-errs; err != nil {
			return err
		}
	}
	return s.Close()
}

// write applies changes and says so on stdout, one line each, once Apply has
// returned: "insert ID" and, for every other message, "answer ID".
func write(ctx context.Context, s *store.Store, producer, count int) error {
	for i := range count {
		c, err := submission(fmt.Sprintf("k%d-%d-%d", os.Getpid(), producer, i))
		if err != nil {
			return err
		}
		if err := s.Apply(ctx, c); err != nil {
			return err
		}
		// One write call a line, so that lines don't mix and a trace shows them.
		if _, err := os.Stdout.WriteString("insert " + c.MessageID + "\n"); err != nil {
			return err
		}
		if i%2 == 0 {
			continue
		}
		m := c.Insert
		p := hub.PatchOf(m)
		p.Status, p.ResolvedAt, p.ResolutionID = ma2h.Answered, time.Now(), "res_"+m.ID
		e, head, err := hub.NewEvent(m.Head, m.ID, "answered", time.Now(), "yes")
		if err != nil {
			return err
		}
		p.Head = head
		err = s.Apply(ctx, &hub.Change{
			MessageID: m.ID, At: time.Now(), Expect: 1, Patch: p, DropPending: true, Events: []hub.Event{e},
			Receipt: &hub.Receipt{Channel: "test", Key: m.ID},
		})
		if err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("answer " + m.ID + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// submission is what an ask of about 1.5 KB brings: message, post, event and
// one person's list.
func submission(key string) (*hub.Change, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	raw := fmt.Appendf(nil, `{"ma2h_version":"0.5","type":"ask","created_at":%q,"agent":{"id":"deploybot/dev-team",`+
		`"run_id":"run-1","runtime":"cli"},"title":"Deploy 1.4 to production?","body":%q,"idempotency_key":%q,`+
		`"request":{"mode":"select","options":[{"value":"yes","label":"Yes"},{"value":"no","label":"No"}]}}`,
		now.Format(time.RFC3339), filler, key)
	env := &ma2h.Envelope{
		Minor: 5, Version: "0.5", Type: ma2h.Ask, IdempotencyKey: key, Title: "Deploy 1.4 to production?",
		Agent: ma2h.Agent{ID: "deploybot/dev-team", RunID: "run-1", Runtime: "cli"},
	}
	id := hub.NewMessageID(now)
	target := hub.Target{Channel: "slack", Place: "#deploys"}
	e, head, err := hub.NewEvent(hub.ChainHead{}, id, "submitted", now,
		map[string]string{"agent": "deploybot/dev-team", "run": "run-1", "route": "routes[0]"})
	if err != nil {
		return nil, err
	}
	return &hub.Change{
		MessageID: id, At: now,
		Insert: &hub.Message{
			ID: id, AgentID: env.Agent.ID, Envelope: env, Raw: raw, Status: ma2h.Open, Version: 1, AcceptedAt: now,
			Plan: hub.Plan{Route: "routes[0]", Ask: []string{"alice"}, Targets: []hub.Planned{{Target: target}}},
			Head: head, NextDelivery: 2,
		},
		Deliveries: []hub.Delivery{{
			MessageID: id, Seq: 1, Kind: hub.KindPost, Lane: "slack", Target: target, Posting: -1,
			State: hub.Pending, Due: now, CreatedAt: now,
		}},
		Events:   []hub.Event{e},
		Audience: []string{"alice"},
	}, nil
}

// filler makes an envelope about as long as a real one.
var filler = func() string {
	b := make([]byte, 1100)
	for i := range b {
		b[i] = "The canary looked fine for an hour. "[i%36]
	}
	return string(b)
}()

func mustSubmission(t testing.TB, key string) *hub.Change {
	t.Helper()
	c, err := submission(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
