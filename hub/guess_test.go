package hub_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// counted is a store that notes what it is asked of single messages.
type counted struct {
	hub.Store
	mu    sync.Mutex
	calls []string
}

func (c *counted) note(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
}

// taken returns what was asked since the last time.
func (c *counted) taken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := strings.Join(c.calls, " ")
	c.calls = nil
	return out
}

func (c *counted) Own(ctx context.Context, agentID, id string) (*hub.Message, error) {
	c.note("own")
	return c.Store.Own(ctx, agentID, id)
}

func (c *counted) Message(ctx context.Context, id string) (*hub.Message, error) {
	c.note("message")
	return c.Store.Message(ctx, id)
}

func (c *counted) Snapshot(ctx context.Context, id string) (*hub.Snapshot, error) {
	c.note("snapshot")
	return c.Store.Snapshot(ctx, id)
}

func (c *counted) TombstoneAgent(ctx context.Context, id string) (string, error) {
	c.note("tombstone")
	return c.Store.TombstoneAgent(ctx, id)
}

func (c *counted) FindAlias(ctx context.Context, agentID, alias string) (string, error) {
	c.note("alias")
	return c.Store.FindAlias(ctx, agentID, alias)
}

func (c *counted) InAudience(ctx context.Context, person, id string) (bool, error) {
	c.note("audience")
	return c.Store.InAudience(ctx, person, id)
}

func (c *counted) Directive(ctx context.Context, agentID, id string) (*hub.Directive, error) {
	c.note("directive")
	return c.Store.Directive(ctx, agentID, id)
}

// To an agent, another's message takes the very same look-ups as none at all,
// whatever is asked of it and whatever became of it, and none of them reads it.
// How long they take is measured in hub/api.
func TestGuessesCostTheSame(t *testing.T) {
	t.Parallel()
	c := &counted{}
	w := newWorldWith(t, inboxes, func(o *hub.Options) {
		c.Store = o.Store
		o.Store = c
	})
	w.stopOutbox()
	purged := w.submit(message("notify", func(d doc) { d["tags"] = []string{"nowhere"} })).Message.ID
	if n, err := w.s.Purge(t.Context(), time.Now().Add(time.Hour), time.Minute, 10); err != nil || n > 1 {
		t.Fatal(n, err)
	}
	done := w.submit(ask(nil)).Message.ID
	w.answer(hub.Answer{MessageID: done, Option: 1})
	ids := map[string]string{
		"open": w.submit(ask(nil)).Message.ID, "done": done, "purged": purged,
		"for another agent": w.submit(ask(func(d doc) { d.in("request")["allowed_resolvers"] = []string{"agent:third/bot"} })).Message.ID,
		"an alias":          w.submit(ask(func(d doc) { d["ma2h_version"], d["id"] = "0.1", "job-7" })).Ack.ID,
	}
	directive := w.direct(hub.Direction{Body: "go"}).ID
	w.inbox(deploybot, 0)
	guesser := w.agent("other/bot")
	for _, call := range []struct {
		name string
		do   func(id string) error
	}{
		{"get", func(id string) error { _, err := w.h.Get(t.Context(), guesser.ID, id); return err }},
		{"cancel", func(id string) error { _, err := w.h.Cancel(t.Context(), guesser, id); return err }},
		{"ack", func(id string) error { _, err := w.h.Ack(t.Context(), guesser, id, nil); return err }},
		{"resolve", func(id string) error {
			_, err := w.h.Resolve(t.Context(), guesser, id, []byte(`{"resolution":"declined"}`))
			return err
		}},
	} {
		c.taken()
		err := call.do("msg_01KBBBBBBBBBBBBBBBBBBBBBBB")
		want := c.taken()
		if hub.CodeOf(err) != ma2h.CodeNotFound || want == "" || strings.Contains(want, "message") || strings.Contains(want, "snapshot") {
			t.Errorf("%s of nothing: %v by %q", call.name, err, want)
		}
		for name, id := range ids {
			if err := call.do(id); hub.CodeOf(err) != ma2h.CodeNotFound {
				t.Errorf("%s of one that is %s: %v", call.name, name, err)
			}
			if got := c.taken(); got != want {
				t.Errorf("%s of one that is %s takes %q, of nothing %q", call.name, name, got, want)
			}
		}
	}
	w.inboxAck("other/bot", `{"ids":["dir_01KBBBBBBBBBBBBBBBBBBBBBBB"]}`)
	want := c.taken()
	if n := w.inboxAck("other/bot", `{"ids":[%q]}`, directive); n != 0 || c.taken() != want {
		t.Errorf("another's directive: acked %d", n)
	}
}
