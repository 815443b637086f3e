package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// What is not acknowledged comes again after the visibility timeout, signed anew,
// until it is over.
func TestInboxRedelivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inboxes)
		w.stopOutbox()
		start := time.Now()
		o := w.direct(hub.Direction{Body: "one", Expires: start.Add(3 * time.Minute)})
		var signatures []string
		for range 3 {
			entries, err := w.h.Inbox(t.Context(), w.agent(deploybot), 10, time.Hour)
			if err != nil || len(entries) != 1 {
				t.Fatalf("inbox %v, %v", entries, err)
			}
			signatures = append(signatures, entries[0].Signature)
		}
		if took := time.Since(start); took != 2*hub.VisibilityTimeout {
			t.Errorf("three times in %s", took)
		}
		if s := slices.Compact(slices.Sorted(slices.Values(signatures))); len(s) != 3 {
			t.Errorf("signatures %q", s)
		}
		if entries, err := w.h.Inbox(t.Context(), w.agent(deploybot), 10, time.Hour); len(entries) != 0 || err != nil || time.Since(start) != 2*hub.VisibilityTimeout+time.Hour {
			t.Errorf("after its time: %v, %v", entries, err)
		}
		if n := w.inboxAck(deploybot, `{"ids":[%q]}`, o.ID); n != 0 {
			t.Errorf("acked %d after its time", n)
		}
		if s := w.sent("alice")[0]; s.State != hub.DirectiveBounced {
			t.Errorf("state %s", s.State)
		}
		w.direct(hub.Direction{Body: "two", Expires: time.Now().Add(time.Minute)})
		time.Sleep(2 * time.Minute)
		if s := w.sent("alice")[0]; s.State != hub.DirectiveExpired {
			t.Errorf("state %s", s.State)
		}
		// Without a time of its own it lasts as long as the inbox keeps things.
		w.direct(hub.Direction{Body: "three"})
		time.Sleep(30*24*time.Hour - time.Second)
		if got := w.inbox(deploybot, 0); titles(got) != "three" {
			t.Errorf("inbox %s", titles(got))
		}
		time.Sleep(time.Minute)
		if got := w.inbox(deploybot, 0); titles(got) != "" {
			t.Errorf("inbox %s", titles(got))
		}
	})
}

// A parked drain wakes with what is written, gives nothing to somebody else's,
// and keeps the order.
func TestInboxWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inboxes)
		type drained struct {
			titles string
			after  time.Duration
		}
		got := map[string]chan drained{deploybot: make(chan drained, 1), "other/bot": make(chan drained, 1)}
		start := time.Now()
		for agent, c := range got {
			go func() {
				list := w.inbox(agent, 30*time.Second)
				c <- drained{titles(list), time.Since(start)}
			}()
		}
		time.Sleep(5 * time.Second)
		w.direct(hub.Direction{Body: "first"})
		if d := <-got[deploybot]; d != (drained{"first", 5 * time.Second}) {
			t.Errorf("deploybot got %+v", d)
		}
		if d := <-got["other/bot"]; d != (drained{"", 30 * time.Second}) {
			t.Errorf("the other got %+v", d)
		}
		for i := range 40 {
			w.direct(hub.Direction{Body: fmt.Sprintf("%02d", i)})
		}
		for _, want := range []string{"00, 01, 02, 03, 04, 05, 06, 07, 08, 09", "10, 11, 12, 13, 14, 15, 16, 17, 18, 19"} {
			if got := titles(w.inbox(deploybot, time.Minute)); got != want {
				t.Errorf("a batch of %s", got)
			}
		}
		if all, err := w.h.Inbox(t.Context(), w.agent(deploybot), 1000, 0); err != nil || len(all) != 20 {
			t.Errorf("a large batch: %d, %v", len(all), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.direct(hub.Direction{Body: "last"})
		if list, err := w.h.Inbox(ctx, w.agent(deploybot), 10, time.Minute); len(list) != 0 || err != nil {
			t.Errorf("for somebody who has left: %v, %v", list, err)
		}
		if s := w.sent("alice")[0]; s.State != hub.DirectiveQueued {
			t.Errorf("the last is %s, though nobody got it", s.State)
		}
		w.stop()
	})
}

// Nobody gets at another's inbox, and nothing is acknowledged unseen.
func TestInboxIsOnesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	o := w.direct(hub.Direction{Body: "go"})
	if n := w.inboxAck(deploybot, `{"ids":[%q]}`, o.ID); n != 0 {
		t.Errorf("acked %d before it was given out", n)
	}
	if got := w.inbox("other/bot", 0); len(got) != 0 {
		t.Errorf("the other got %s", titles(got))
	}
	w.inbox(deploybot, 0)
	if n := w.inboxAck("other/bot", `{"ids":[%q],"note":"mine"}`, o.ID); n != 0 {
		t.Errorf("the other acked %d", n)
	}
	if s := w.sent("alice")[0]; s.State != hub.DirectiveDelivered || s.AckNote != "" {
		t.Errorf("sent %+v", s)
	}
	if got := w.sent("bob"); len(got) != 0 {
		t.Errorf("bob sees %+v", got)
	}
}

func TestInboxAckRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	ids := `["x"` + strings.Repeat(`,"x"`, 1000) + `]`
	for _, tt := range []struct{ body, want string }{
		{"", "validation_error "},
		{"[]", "validation_error "},
		{"{}", "validation_error ids"},
		{`{"ids":"dir_x"}`, "validation_error ids"},
		{`{"ids":[7]}`, "validation_error ids"},
		{`{"ids":null}`, "validation_error ids"},
		{`{"ids":[],"note":7}`, "validation_error note"},
		{`{"ids":` + ids + `}`, "invalid_field ids"},
		{`{"ids":[],"ids":[]}`, "validation_error "},
	} {
		if _, err := w.h.InboxAck(t.Context(), w.agent(deploybot), []byte(tt.body)); codeAndField(err) != tt.want {
			t.Errorf("%.30s: %v, want %s", tt.body, err, tt.want)
		}
	}
	if n := w.inboxAck(deploybot, `{"ids":[]}`); n != 0 {
		t.Errorf("acked %d", n)
	}
}

// An agent that takes nothing out keeps nobody's disk full, and an inbox that no
// key signs gives nothing out.
func TestInboxLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	for i := range hub.MaxWaiting {
		if o := w.direct(hub.Direction{Body: fmt.Sprint(i)}); o.Kind != hub.Accepted {
			t.Fatalf("%d: %+v", i, o)
		}
	}
	if o := w.direct(hub.Direction{Body: "more"}); o.Kind != hub.Refused || o.Reason != hub.ReasonInboxFull {
		t.Errorf("outcome %+v", o)
	}
	if o := w.direct(hub.Direction{AgentID: "other/bot"}); o.Kind != hub.Accepted {
		t.Errorf("to another: %+v", o)
	}
	d := directory()
	inboxes(d)
	d.Agents[deploybot].InboxKey = hub.Secret{}
	w.h.SetDirectory(d)
	if list, err := w.h.Inbox(t.Context(), w.agent(deploybot), 10, 0); len(list) != 0 || hub.CodeOf(err) != ma2h.CodeUnavailable {
		t.Errorf("without a key: %v, %v", list, err)
	}
	if s := w.sent("alice")[9]; s.State != hub.DirectiveQueued {
		t.Errorf("state %s", s.State)
	}
}
