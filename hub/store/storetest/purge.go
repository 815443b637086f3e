package storetest

import (
	"errors"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

var purgeCases = []testCase{
	{"purge removes what ended long ago, and leaves a tombstone", purgeEnded},
	{"purge counts from resolution, and never takes an open message", purgeWhen},
	{"purge leaves what is still to be told", purgeWaits},
	{"purge keeps to its limit, longest ended first", purgeLimit},
	{"tombstones and receipts go after twice the retention", purgeMemory},
	{"seals verify over purged messages", purgeSealed},
}

const month = 30 * 24 * time.Hour

func (k *kit) purge(now time.Time, retention time.Duration, limit, want int) {
	k.Helper()
	if n, err := k.s.Purge(k.Context(), now, retention, limit); n != want || err != nil {
		k.Fatalf("purged %d, %v, want %d", n, err, want)
	}
}

// ended submits a message whose delivery is done, and answers it at noon.
func (k *kit) ended(v spec) *hub.Message {
	k.Helper()
	m := k.submit(v)
	k.claim("slack", noon, time.Minute, 10)
	c := k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Done, Code: "ok"}, noon)
	c.Postings = []hub.Posting{{MessageID: m.ID, Seq: 1, Target: ops, Ref: "ref " + m.ID, At: noon}}
	k.apply(c)
	k.apply(k.resolution(k.message(m.ID), noon))
	return k.message(m.ID)
}

func purgeEnded(k *kit) {
	m := k.ended(spec{alias: "job-1", key: "k1", audience: []string{"alice"}})
	k.purge(after(month), month, 10, 0)
	k.purge(after(month+time.Millisecond), month, 10, 1)
	k.purge(after(month+time.Millisecond), month, 10, 0)

	if _, err := k.s.Message(k.Context(), m.ID); !errors.Is(err, hub.ErrGone) {
		k.Errorf("message: %v", err)
	}
	if _, err := k.s.Snapshot(k.Context(), m.ID); !errors.Is(err, hub.ErrGone) {
		k.Errorf("snapshot: %v", err)
	}
	k.refused(&hub.Change{MessageID: m.ID, At: noon, Expect: m.Version, Patch: hub.PatchOf(m)}, hub.ErrGone)
	if agent, err := k.s.TombstoneAgent(k.Context(), m.ID); agent != "bot/dev" || err != nil {
		k.Errorf("tombstone: %q, %v", agent, err)
	}
	if id, err := k.s.FindAlias(k.Context(), "bot/dev", "job-1"); id != m.ID || err != nil {
		k.Errorf("alias: %q, %v", id, err)
	}
	if _, err := k.s.FindAlias(k.Context(), "bot/other", "job-1"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("alias of another agent: %v", err)
	}
	if _, err := k.s.FindKey(k.Context(), "bot/dev", "k1"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("key: %v", err)
	}
	if _, err := k.s.FindPosting(k.Context(), "slack", "ref "+m.ID); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("posting: %v", err)
	}
	if in, err := k.s.InAudience(k.Context(), "alice", m.ID); in || err != nil {
		k.Errorf("audience: %v, %v", in, err)
	}
	if n := len(k.events(m.ID)) + len(k.attempts(m.ID)); n != 0 {
		k.Errorf("%d events and attempts are left", n)
	}
	if got, err := k.s.ListDeliveries(k.Context(), hub.DeliveryQuery{Limit: 10}); len(got) != 0 || err != nil {
		k.Errorf("deliveries: %v, %v", got, err)
	}

	again := k.submit(spec{alias: "job-1", key: "k1"})
	if id, err := k.s.FindAlias(k.Context(), "bot/dev", "job-1"); id != again.ID || err != nil {
		k.Errorf("alias used again: %q, %v, want the living one", id, err)
	}
}

func purgeWhen(k *kit) {
	k.ended(spec{})
	asked := k.submit(spec{})
	k.apply(k.resolution(asked, after(month)))
	open := k.submit(spec{})
	notify := k.insert(spec{typ: ma2h.Notify})
	notify.Deliveries = nil
	notify.Insert.ResolvedAt = time.Time{}
	k.apply(notify)
	k.purge(after(month+time.Hour), month, 10, 2) // the ended one and the notify
	k.message(asked.ID)
	if _, err := k.s.Message(k.Context(), notify.MessageID); !errors.Is(err, hub.ErrGone) {
		k.Errorf("notify: %v", err)
	}
	k.purge(after(100*month), month, 10, 1)
	k.message(open.ID)
}

func purgeWaits(k *kit) {
	for _, tt := range []struct {
		kind  hub.Kind
		state hub.DeliveryState
		waits bool
	}{
		{hub.KindCallback, hub.Pending, true},
		{hub.KindCallback, hub.Running, true},
		{hub.KindUpdate, hub.Pending, true},
		{hub.KindPost, hub.Running, true},
		{hub.KindCallback, hub.Dead, false},
		{hub.KindUpdate, hub.Done, false},
		{hub.KindRemind, hub.Pending, false},
	} {
		m := k.ended(spec{})
		c := k.change(m, "more", noon)
		d := post(m.ID, 2, after(100*month))
		d.Kind, d.State = tt.kind, tt.state
		c.Deliveries = []hub.Delivery{d}
		k.apply(c)
		want := 1
		if tt.waits {
			want = 0
		}
		if n, err := k.s.Purge(k.Context(), after(2*month), month, 10); n != want || err != nil {
			k.Errorf("%s %s: purged %d, %v, want %d", tt.kind, tt.state, n, err, want)
		}
	}
}

func purgeLimit(k *kit) {
	var list []*hub.Message
	for i := range 5 {
		m := k.submit(spec{})
		c := k.resolution(m, after(-time.Duration(i)*time.Second)) // the newest ended first
		k.apply(c)
		list = append(list, m)
	}
	k.purge(after(2*month), month, 3, 3)
	for i, m := range list {
		_, err := k.s.Message(k.Context(), m.ID)
		if gone := errors.Is(err, hub.ErrGone); gone != (i >= 2) {
			k.Errorf("message %d: %v", i, err)
		}
	}
	k.purge(after(2*month), month, 3, 2)
}

func purgeMemory(k *kit) {
	for _, tt := range []struct {
		retention, memory time.Duration
	}{
		{time.Hour, month},
		{month, 2 * month},
	} {
		m := k.ended(spec{alias: "job"})
		c := &hub.Change{At: after(month), Receipt: receipt("e")}
		k.apply(c)
		k.purge(after(month), month/2, 10, 1)
		end := after(month + tt.memory)

		k.purge(end, tt.retention, 10, 0)
		if _, err := k.s.TombstoneAgent(k.Context(), m.ID); err != nil {
			k.Errorf("tombstone: %v", err)
		}
		if _, ok := errors.AsType[*hub.RepeatedError](k.s.Apply(k.Context(), c)); !ok {
			k.Error("the receipt went too early")
		}

		k.purge(end.Add(time.Millisecond), tt.retention, 10, 0)
		if _, err := k.s.Message(k.Context(), m.ID); !errors.Is(err, hub.ErrNotFound) {
			k.Errorf("message without tombstone: %v", err)
		}
		if _, err := k.s.FindAlias(k.Context(), "bot/dev", "job"); !errors.Is(err, hub.ErrNotFound) {
			k.Errorf("alias without tombstone: %v", err)
		}
		k.apply(c)
		k.purge(after(100*month), tt.retention, 10, 0) // clean for the next round
	}
}

func purgeSealed(k *kit) {
	k.ended(spec{})
	k.submit(spec{})
	k.seal(10, 2)
	k.purge(after(2*month), month, 10, 1)
	if err := k.s.VerifySeals(k.Context()); err != nil {
		k.Error(err)
	}
	k.submit(spec{})
	k.seal(10, 1)
}
