package storetest

import (
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

var deliveryCases = []testCase{
	{"finish ends the running attempt", finishEnds},
	{"finish of another attempt is stale", finishStale},
	{"finish to pending waits and remembers what may have been sent", finishPending},
	{"an uncounted finish keeps its attempt's row", finishUncounted},
	{"an error is cut to 512 bytes of whole runes", errorCut},
	{"rows are applied in the order of the fields", orderOfFields},
	{"drop pending drops what is not begun", dropPending},
	{"advance makes an entry due, and later ones wait", advance},
	{"retry revives dead and pending ones", retry},
	{"a posting is found by its name and replaced by its delivery", postingFound},
	{"a terminal patch closes the audience", audienceClosed},
}

// running submits a message and claims its post.
func (k *kit) running() (*hub.Message, hub.Delivery) {
	k.Helper()
	m := k.submit(spec{})
	got := k.claim("slack", noon, time.Minute, 10)
	if len(got) != 1 || got[0].MessageID != m.ID || got[0].Attempts != 1 {
		k.Fatalf("claimed %+v", got)
	}
	return m, got[0]
}

func finishEnds(k *kit) {
	for _, state := range []hub.DeliveryState{hub.Done, hub.Dead, hub.Dropped} {
		m, _ := k.running()
		at := after(time.Second)
		k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: state, Code: "ok", Error: "e"}, at))
		d := k.delivery(m.ID, 1)
		if d.State != state || !d.DoneAt.Equal(at) || d.LastCode != "ok" || d.LastError != "e" || d.Attempts != 1 {
			k.Errorf("%s: %+v", state, d)
		}
		k.equal("attempts", k.attempts(m.ID), []hub.Attempt{
			{MessageID: m.ID, Seq: 1, N: 1, StartedAt: noon, EndedAt: at, Code: "ok", Error: "e"},
		})
		if again := k.claim("slack", after(time.Hour), time.Minute, 10); len(again) != 0 {
			k.Errorf("%s: claimed again: %+v", state, again)
		}
	}
}

func finishStale(k *kit) {
	m, _ := k.running()
	k.refused(k.finish(m, hub.Finish{Seq: 1, N: 2, State: hub.Done}, noon), hub.ErrStale)
	k.refused(k.finish(m, hub.Finish{Seq: 9, N: 1, State: hub.Done}, noon), hub.ErrStale)
	k.equal("message", k.message(m.ID), m)
	c := k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Done}, noon)
	k.apply(c)
	c = k.finish(k.message(m.ID), *c.Finish, noon)
	k.refused(c, hub.ErrStale) // it runs no more

	// A pending delivery with as many attempts runs neither.
	m, _ = k.running()
	k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Pending, Due: after(time.Hour)}, noon))
	k.refused(k.finish(k.message(m.ID), hub.Finish{Seq: 1, N: 1, State: hub.Done}, noon), hub.ErrStale)
}

func finishPending(k *kit) {
	m, _ := k.running()
	due := after(5 * time.Minute)
	k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Pending, Due: due, Code: "timeout", MaybeSent: true}, noon))
	d := k.delivery(m.ID, 1)
	if d.State != hub.Pending || !d.Due.Equal(due) || !d.MaybeSent || !d.DoneAt.IsZero() || d.Attempts != 1 {
		k.Errorf("%+v", d)
	}
	if got := k.claim("slack", due.Add(-1), time.Minute, 1); len(got) != 0 {
		k.Errorf("claimed before it was due: %+v", got)
	}
	if got := k.claim("slack", due, time.Minute, 1); len(got) != 1 || got[0].Attempts != 2 {
		k.Fatalf("claimed %+v", got)
	}
	k.apply(k.finish(k.message(m.ID), hub.Finish{Seq: 1, N: 2, State: hub.Pending, Due: due, Code: "refused"}, noon))
	if d := k.delivery(m.ID, 1); !d.MaybeSent {
		k.Error("a later refusal made the earlier attempt unsent")
	}
	k.claim("slack", due, time.Minute, 1)
	k.apply(k.finish(k.message(m.ID), hub.Finish{Seq: 1, N: 3, State: hub.Done, Code: "ok"}, noon))
	if d := k.delivery(m.ID, 1); d.MaybeSent {
		k.Error("done, and still maybe sent")
	}
}

func finishUncounted(k *kit) {
	m, _ := k.running()
	k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Pending, Due: noon, Code: "shutdown", Uncounted: true}, noon))
	if d := k.delivery(m.ID, 1); d.Attempts != 0 || d.State != hub.Pending {
		k.Errorf("%+v", d)
	}
	if got := k.claim("slack", noon, time.Minute, 1); len(got) != 1 || got[0].Attempts != 1 {
		k.Fatalf("claimed %+v", got)
	}
	k.apply(k.finish(k.message(m.ID), hub.Finish{Seq: 1, N: 1, State: hub.Done, Code: "ok"}, after(time.Second)))
	k.equal("attempts", k.attempts(m.ID), []hub.Attempt{
		{MessageID: m.ID, Seq: 1, N: 1, StartedAt: noon, EndedAt: noon, Code: "shutdown"},
		{MessageID: m.ID, Seq: 1, N: 1, StartedAt: noon, EndedAt: after(time.Second), Code: "ok"},
	})
}

func errorCut(k *kit) {
	m, _ := k.running()
	long := strings.Repeat("é", 300) + "\xff"
	k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Dead, Code: "x", Error: "a" + long}, noon))
	want := "a" + strings.Repeat("é", 255)
	if d := k.delivery(m.ID, 1); d.LastError != want || k.attempts(m.ID)[0].Error != want {
		k.Errorf("kept %d bytes %q", len(d.LastError), d.LastError)
	}
}

// orderOfFields: a finished post is pending when DropPending looks, and a
// delivery of the same change is not there yet.
func orderOfFields(k *kit) {
	m, _ := k.running()
	c := k.resolution(m, noon)
	c.Finish = &hub.Finish{Seq: 1, N: 1, State: hub.Pending, Due: after(time.Hour), Code: "busy"}
	c.Deliveries = []hub.Delivery{post(m.ID, 2, noon)}
	k.apply(c)
	k.equal("dropped", k.seqs(m.ID, hub.Dropped), []int{1})
	k.equal("pending", k.seqs(m.ID, hub.Pending), []int{2})
}

func dropPending(k *kit) {
	m := k.submit(spec{})
	c := k.change(m, "more", noon)
	add := func(seq int, kind hub.Kind, state hub.DeliveryState, maybe bool) {
		d := post(m.ID, seq, noon)
		d.Kind, d.State, d.MaybeSent = kind, state, maybe
		if kind == hub.KindExpire {
			d.Lane, d.Target = hub.LaneClock, hub.Target{}
		}
		c.Deliveries = append(c.Deliveries, d)
	}
	add(2, hub.KindPost, hub.Pending, false)
	add(3, hub.KindPost, hub.Pending, true)
	add(4, hub.KindRemind, hub.Pending, false)
	add(5, hub.KindExpire, hub.Pending, false)
	add(6, hub.KindUpdate, hub.Pending, false)
	add(7, hub.KindCallback, hub.Pending, false)
	add(8, hub.KindPost, hub.Running, false)
	add(9, hub.KindPost, hub.Dead, false)
	k.apply(c)
	k.apply(k.resolution(k.message(m.ID), after(time.Second)))
	k.equal("dropped", k.seqs(m.ID, hub.Dropped), []int{1, 2, 4, 5})
	k.equal("pending", k.seqs(m.ID, hub.Pending), []int{3, 6, 7})
	k.equal("running", k.seqs(m.ID, hub.Running), []int{8})
	k.equal("dead", k.seqs(m.ID, hub.Dead), []int{9})
	if d := k.delivery(m.ID, 1); !d.DoneAt.Equal(after(time.Second)) {
		k.Errorf("dropped at %v", d.DoneAt)
	}
}

func advance(k *kit) {
	m := k.submit(spec{})
	c := k.change(m, "more", noon)
	for seq := 2; seq <= 5; seq++ {
		d := post(m.ID, seq, after(time.Hour))
		d.Entry = seq / 2 // 1, 1, 2, 2
		if seq == 3 {
			d.Kind = hub.KindRemind
		}
		c.Deliveries = append(c.Deliveries, d)
	}
	k.apply(c)
	c = k.change(k.message(m.ID), "moved on", after(time.Minute))
	c.Advance = []int{0, 1}
	k.apply(c)
	want := map[int]time.Time{1: noon, 2: after(time.Minute), 3: after(time.Hour), 4: after(time.Hour), 5: after(time.Hour)}
	for seq, due := range want {
		if d := k.delivery(m.ID, seq); !d.Due.Equal(due) {
			k.Errorf("delivery %d is due %v, want %v", seq, d.Due, due)
		}
	}
}

func retry(k *kit) {
	m, _ := k.running()
	k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Dead, Code: "no", Error: "why"}, noon))
	c := k.change(k.message(m.ID), "more", noon)
	late, done := post(m.ID, 2, after(time.Hour)), post(m.ID, 3, noon)
	done.State, done.DoneAt = hub.Done, noon
	c.Deliveries = []hub.Delivery{late, done}
	k.apply(c)
	c = k.change(k.message(m.ID), "retried", after(time.Minute))
	c.Retry = []int{1, 2, 3}
	k.apply(c)
	k.equal("pending", k.seqs(m.ID, hub.Pending), []int{1, 2})
	d := k.delivery(m.ID, 1)
	if d.Attempts != 1 || !d.Due.Equal(after(time.Minute)) || !d.DoneAt.IsZero() || d.LastError != "why" {
		k.Errorf("%+v", d)
	}
	if got := k.claim("slack", after(time.Minute), time.Minute, 10); len(got) != 2 || got[0].Attempts != 2 {
		k.Errorf("claimed %+v", got)
	}
}

func postingFound(k *kit) {
	m, _ := k.running()
	p := hub.Posting{MessageID: m.ID, Seq: 1, Target: ops, Ref: "C1/1.2", Thread: "1.2", At: after(time.Second)}
	c := k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Done, Code: "ok"}, after(time.Second))
	c.Postings = []hub.Posting{p}
	k.apply(c)
	k.equal("postings", k.snapshot(m.ID).Postings, []hub.Posting{p})
	got, err := k.s.FindPosting(k.Context(), "slack", "C1/1.2")
	if err != nil {
		k.Fatal(err)
	}
	k.equal("posting", *got, p)

	p.Ref = "C1/3.4"
	c = k.change(k.message(m.ID), "posted again", noon)
	c.Postings = []hub.Posting{p}
	k.apply(c)
	k.equal("postings", k.snapshot(m.ID).Postings, []hub.Posting{p})
	for _, ref := range []string{"C1/1.2", ""} {
		if got, err := k.s.FindPosting(k.Context(), "slack", ref); err == nil {
			k.Errorf("ref %q found %+v", ref, got)
		}
	}
	if got, err := k.s.FindPosting(k.Context(), "email", "C1/3.4"); err == nil {
		k.Errorf("found in another channel: %+v", got)
	}
}

func audienceClosed(k *kit) {
	m := k.submit(spec{audience: []string{"alice", "bob"}})
	list := func(open bool) []string {
		k.Helper()
		got, err := k.s.ListMessages(k.Context(), hub.ListQuery{Person: "alice", Open: open, Limit: 10})
		if err != nil {
			k.Fatal(err)
		}
		return ids(got)
	}
	k.equal("open", list(true), []string{m.ID})
	k.apply(k.change(m, "ticked", noon))
	k.equal("still open", list(true), []string{m.ID})
	k.apply(k.resolution(k.message(m.ID), noon))
	k.equal("open after the end", list(true), []string{})
	k.equal("all after the end", list(false), []string{m.ID})
	n := k.submit(spec{typ: ma2h.Notify, audience: []string{"alice"}, accepted: after(time.Second)})
	k.equal("a notify is never open", list(true), []string{})
	k.equal("but listed", list(false), []string{n.ID, m.ID})
}
