package storetest

import (
	"fmt"
	"time"

	"beckon/hub"
	"beckon/hub/store"
)

var claimCases = []testCase{
	{"claim takes what is due in its lane, and no more", claimDue},
	{"claim keeps to its limit and takes the longest due first", claimLimit},
	{"claim writes the attempt before anything is dialled", claimAttempt},
	{"a lease that ran out is taken over", claimTakeover},
	{"the finish of a lost lease is refused", lostLease},
	{"next due is the earliest, leases included", nextDue},
	{"recover makes running ones pending without counting", recoverRunning},
	{"release gives back what was not begun", release},
	{"stats count what is open, live and dead", stats},
}

func claimDue(k *kit) {
	m := k.submit(spec{})
	c := k.change(m, "more", noon)
	later, mail, running := post(m.ID, 2, after(time.Millisecond)), post(m.ID, 3, noon), post(m.ID, 4, after(time.Minute))
	mail.Lane = "email"
	running.State = hub.Running
	c.Deliveries = []hub.Delivery{later, mail, running}
	k.apply(c)
	got := k.claim("slack", noon, time.Minute, 10)
	want := post(m.ID, 1, after(time.Minute))
	want.State, want.Attempts = hub.Running, 1
	k.equal("claimed", got, []hub.Delivery{want})
	k.equal("as stored", k.delivery(m.ID, 1), want)
	if v := k.message(m.ID).Version; v != 2 {
		k.Errorf("version %d: a claim decides nothing", v)
	}
	if got := k.claim("clock", noon, time.Minute, 10); len(got) != 0 {
		k.Errorf("claimed from an empty lane: %+v", got)
	}
}

func claimLimit(k *kit) {
	var want []string
	for i := range 6 {
		c := k.insert(spec{accepted: after(time.Duration(i) * time.Second)})
		c.Deliveries[0].Due = after(-time.Duration(i) * time.Second) // the newest waits longest
		k.apply(c)
		if i >= 2 {
			want = append(want, c.MessageID)
		}
	}
	var got []string
	for _, d := range k.claim("slack", noon, time.Minute, 4) {
		got = append(got, d.MessageID)
	}
	k.equal("claimed", got, want)
}

func claimAttempt(k *kit) {
	m, _ := k.running()
	k.equal("attempts", k.attempts(m.ID), []hub.Attempt{{MessageID: m.ID, Seq: 1, N: 1, StartedAt: noon}})
}

func claimTakeover(k *kit) {
	m, _ := k.running()
	if got := k.claim("slack", after(time.Minute-time.Millisecond), time.Minute, 1); len(got) != 0 {
		k.Errorf("claimed under a living lease: %+v", got)
	}
	got := k.claim("slack", after(time.Minute), time.Minute, 1)
	if len(got) != 1 || got[0].Attempts != 2 || !got[0].MaybeSent || !got[0].Due.Equal(after(2*time.Minute)) {
		k.Fatalf("took over %+v", got)
	}
	k.equal("attempts", k.attempts(m.ID), []hub.Attempt{
		{MessageID: m.ID, Seq: 1, N: 1, StartedAt: noon, EndedAt: after(time.Minute), Code: "interrupted"},
		{MessageID: m.ID, Seq: 1, N: 2, StartedAt: after(time.Minute)},
	})
}

func lostLease(k *kit) {
	m, _ := k.running()
	k.claim("slack", after(time.Hour), time.Minute, 1)
	k.refused(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Done, Code: "ok"}, after(time.Hour)), hub.ErrStale)
	k.apply(k.finish(m, hub.Finish{Seq: 1, N: 2, State: hub.Done, Code: "ok"}, after(time.Hour)))
	if a := k.attempts(m.ID); a[0].Code != "interrupted" || a[1].Code != "ok" {
		k.Errorf("attempts %+v", a)
	}
}

func nextDue(k *kit) {
	check := func(lane string, want time.Time) {
		k.Helper()
		got, ok, err := k.s.NextDue(k.Context(), lane)
		if err != nil || ok == want.IsZero() || !got.Equal(want) {
			k.Errorf("lane %s: next due %v, %v, %v; want %v", lane, got, ok, err, want)
		}
	}
	check("slack", time.Time{})
	m := k.submit(spec{})
	check("slack", noon)
	check("email", time.Time{})
	k.claim("slack", noon, time.Minute, 1)
	check("slack", after(time.Minute))
	k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Done}, noon))
	check("slack", time.Time{})
}

func recoverRunning(k *kit) {
	m, _ := k.running()
	n, err := k.s.Recover(k.Context(), after(time.Second))
	if n != 1 || err != nil {
		k.Fatalf("recovered %d, %v", n, err)
	}
	d := k.delivery(m.ID, 1)
	if d.State != hub.Pending || d.Attempts != 0 || !d.Due.Equal(after(time.Second)) || !d.MaybeSent {
		k.Errorf("%+v", d)
	}
	if a := k.attempts(m.ID); len(a) != 1 || a[0].Code != "interrupted" || !a[0].EndedAt.Equal(after(time.Second)) {
		k.Errorf("attempts %+v", a)
	}
	if n, err := k.s.Recover(k.Context(), noon); n != 0 || err != nil {
		k.Errorf("recovered %d again, %v", n, err)
	}
	got := k.claim("slack", after(time.Second), time.Minute, 1)
	if len(got) != 1 || got[0].Attempts != 1 {
		k.Fatalf("claimed %+v", got)
	}
	if a := k.attempts(m.ID); len(a) != 2 || a[1].N != 1 || !a[1].EndedAt.IsZero() {
		k.Errorf("attempts %+v", a)
	}
	// What may stand is not dropped.
	k.apply(k.finish(k.message(m.ID), hub.Finish{Seq: 1, N: 1, State: hub.Pending, Due: noon, Code: "busy"}, noon))
	k.apply(k.resolution(k.message(m.ID), noon))
	k.equal("pending", k.seqs(m.ID, hub.Pending), []int{1})
}

func release(k *kit) {
	m, d := k.running()
	if err := k.s.Release(k.Context(), after(time.Second), []hub.Delivery{d}); err != nil {
		k.Fatal(err)
	}
	want := post(m.ID, 1, after(time.Second))
	k.equal("delivery", k.delivery(m.ID, 1), want)
	if a := k.attempts(m.ID); len(a) != 1 || a[0].Code != "released" {
		k.Errorf("attempts %+v", a)
	}
	k.claim("slack", after(time.Second), time.Second, 1)
	k.claim("slack", after(time.Hour), time.Minute, 1)
	if err := k.s.Release(k.Context(), noon, []hub.Delivery{d}); err != nil { // lost meanwhile
		k.Fatal(err)
	}
	if d := k.delivery(m.ID, 1); d.State != hub.Running || d.Attempts != 2 {
		k.Errorf("%+v", d)
	}
}

func stats(k *kit) {
	for range 3 {
		m, _ := k.running()
		k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Dead}, noon))
	}
	k.submit(spec{typ: "task"})
	k.claim("slack", noon, time.Minute, 1)
	k.apply(k.resolution(k.submit(spec{}), noon)) // counts nowhere but as unsealed
	for i := range 2 {
		c := k.insert(spec{})
		c.Deliveries[0].Due = after(time.Duration(2-i) * time.Hour)
		k.apply(c)
	}
	got, err := k.s.Stats(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	k.equal("open", fmt.Sprint(got.Open), "map[ask:5 task:1]")
	k.equal("unsealed", got.Unsealed, 7)
	var lanes []string
	for _, l := range got.Lanes[:len(got.Lanes)-1] {
		lanes = append(lanes, fmt.Sprint(l.Lane, " ", l.State, " ", l.Count, " ", l.Due.Sub(noon).Minutes()))
	}
	k.equal("lanes", lanes, []string{
		"slack pending 2 60",
		"slack running 1 1",
	})
	if dead := got.Lanes[len(got.Lanes)-1]; dead != (store.LaneStats{Lane: "slack", State: hub.Dead, Count: 3}) {
		k.Errorf("dead: %+v", dead)
	}
}
