package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// direct has alice write to the agent, as a channel does.
func (w *world) direct(title string) string {
	w.t.Helper()
	o, err := w.hub.Desk("web").Direct(w.t.Context(), hub.Direction{
		AgentID: deploybot, Person: "alice", Title: title, Body: "Until *I* say <go>.", Receipt: hub.Receipt{Channel: "web", Key: title},
	})
	if err != nil || o.Kind != hub.Accepted {
		w.t.Fatalf("direct: %+v, %v", o, err)
	}
	return o.ID
}

// TestReceiveFromAHub: what a person writes reaches the agent that waits for it,
// over a hub that is started again meanwhile, and the person reads its note.
func TestReceiveFromAHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client(client.WithTrust(client.Trust{Secrets: [][]byte{hubShare}}))
	type result struct {
		n   int
		err error
	}
	got := make(chan result, 1)
	polls := make(chan struct{}, 100)
	w.watch(polls)
	var acted *ma2h.Directive
	go func() {
		n, err := c.Receive(t.Context(), 1, time.Minute, func(_ context.Context, d *ma2h.Directive) (string, error) {
			acted = d
			return "Paused.", nil
		})
		got <- result{n, err}
	}()
	<-polls
	w.stop()
	w.start(w.addr)
	<-polls
	id := w.direct("Pause deploys")
	if r := <-got; r.n != 1 || r.err != nil {
		t.Fatalf("%d, %v", r.n, r.err)
	}
	if acted.ID != id || acted.From != "human:alice" || acted.Body != "Until *I* say <go>." {
		t.Errorf("%+v", acted)
	}
	sent, err := w.hub.Desk("web").Sent(t.Context(), "alice", hub.SentQuery{Limit: 10})
	if err != nil || len(sent) != 1 || sent[0].AckNote != "Paused." || sent[0].State != hub.DirectiveAcked {
		t.Errorf("alice sees %+v, %v", sent, err)
	}
	if list, err := c.Inbox(t.Context(), 0, 0); len(list) != 0 || err != nil {
		t.Errorf("then %v, %v", list, err)
	}
	if n, err := c.AckInbox(t.Context(), []string{id, "dir_none"}, ""); n != 0 || err != nil {
		t.Errorf("acked again: %d, %v", n, err)
	}
	// Another secret: what the hub signed is not to be trusted, and stays.
	w.direct("Go on")
	wrong := w.client(client.WithTrust(client.Trust{Secrets: [][]byte{[]byte("another secret")}}))
	if list, err := wrong.Inbox(t.Context(), 0, 0); len(list) != 0 || !errors.Is(err, ma2h.ErrSignature) {
		t.Errorf("another secret: %v, %v", list, err)
	}
	d, err := c.Discovery(t.Context())
	if err != nil || d.Inbound == nil || !d.Inbound.Enabled || d.Ack == nil || d.Presence == nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestDirectiveOutlivesTheHub: what was written and not acked is there after a
// restart, and what was acked is not.
func TestDirectiveOutlivesTheHub(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "beckon.db")
	trust := client.WithTrust(client.Trust{Secrets: [][]byte{hubShare}})
	w := newWorldAt(t, path)
	one := w.direct("One")
	c := w.client(trust)
	if list, err := c.Inbox(t.Context(), 1, 0); ids(list) != one || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if n, err := c.AckInbox(t.Context(), []string{one}, ""); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	two := w.direct("Two")
	w.end()

	w = newWorldAt(t, path)
	defer w.end()
	if list, err := w.client(trust).Inbox(t.Context(), 0, 0); ids(list) != two || err != nil {
		t.Errorf("after a restart %s, %v", ids(list), err)
	}
}

// TestAckOfAHub: the first acknowledgement of an answer counts, and there is none
// before the agent has got the answer.
func TestAckOfAHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, ctx := w.client(), t.Context()
	sent, err := c.Submit(ctx, ask("k"))
	if err != nil {
		t.Fatal(err)
	}
	early := func(when string) {
		t.Helper()
		_, err := c.Ack(ctx, sent.ID, "too early")
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != ma2h.CodeNotAcknowledgeable || client.ExitCode(err) != 7 {
			t.Errorf("%s: %v", when, err)
		}
	}
	early("while it is open")
	w.answer(sent.ID)
	early("before it was read")
	m, err := c.Wait(ctx, sent.ID)
	if err != nil || m.Delivery == nil || m.Delivery.State != "delivered-to-agent" || m.Delivery.DeliveredAt.IsZero() {
		t.Fatalf("%+v, %v", m.Delivery, err)
	}
	for range 2 {
		a, err := c.Ack(ctx, sent.ID, "On it.")
		if err != nil || a.InReplyTo != sent.ID || a.By != "agent:"+deploybot || *a.Note != "On it." || *a.ResolutionID != m.Response.ResolutionID {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if a, err := c.Ack(ctx, sent.ID, "Something else."); err != nil || *a.Note != "On it." {
		t.Errorf("a later one: %+v, %v", a, err)
	}
	m, err = c.Get(ctx, sent.ID, client.ReadOptions{})
	if err != nil || m.Delivery.State != "acknowledged" || m.Delivery.AcknowledgedAt.IsZero() || *m.Delivery.Ack.Note != "On it." {
		t.Errorf("%+v, %v", m.Delivery, err)
	}
	if _, err := c.Ack(ctx, "msg_none", ""); client.ExitCode(err) != client.ExitRefused {
		t.Errorf("of nothing: %v", err)
	}
	p, err := c.Presence(ctx, deploybot)
	if err != nil || p.State != "online" || p.LastSeen == "" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := c.Presence(ctx, "other/bot"); err != nil || p.State != "unknown" || p.LastSeen != "" {
		t.Errorf("another's: %+v, %v", p, err)
	}
}
