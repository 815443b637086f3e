package storetest

import (
	"slices"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

var listCases = []testCase{
	{"lists are newest first, filtered and paged", listMessages},
	{"a person's list merges open and ended ones", listPerson},
	{"deliveries are listed newest first, filtered and paged without loss", listDeliveries},
	{"open count stops at its limit", openCount},
	{"the audience is who was named", inAudience},
}

func (k *kit) list(q hub.ListQuery) []string {
	k.Helper()
	got, err := k.s.ListMessages(k.Context(), q)
	if err != nil {
		k.Fatal(err)
	}
	return ids(got)
}

func listMessages(k *kit) {
	var all, mine, tasks, open, answered []string
	for i := range 12 {
		v := spec{accepted: after(time.Duration(i) * time.Second), typ: ma2h.Ask}
		if i%3 == 0 {
			v.agent = "bot/other"
		}
		if i%4 == 0 {
			v.typ = ma2h.Task
		}
		m := k.submit(v)
		all = append(all, m.ID)
		if i%3 == 0 {
			mine = append(mine, m.ID)
		}
		if i%4 == 0 {
			tasks = append(tasks, m.ID)
		}
		if i%5 == 0 {
			k.apply(k.resolution(m, noon))
			answered = append(answered, m.ID)
		} else {
			open = append(open, m.ID)
		}
	}
	for _, l := range [][]string{all, mine, tasks, open, answered} {
		slices.Reverse(l)
	}
	for _, tt := range []struct {
		name string
		q    hub.ListQuery
		want []string
	}{
		{"all", hub.ListQuery{Limit: 200}, all},
		{"limit", hub.ListQuery{Limit: 5}, all[:5]},
		{"no limit is one", hub.ListQuery{}, all[:1]},
		{"before", hub.ListQuery{Limit: 5, Before: all[4]}, all[5:10]},
		{"agent", hub.ListQuery{Limit: 200, AgentID: "bot/other"}, mine},
		{"agent before", hub.ListQuery{Limit: 200, AgentID: "bot/other", Before: mine[1]}, mine[2:]},
		{"type", hub.ListQuery{Limit: 200, Type: ma2h.Task}, tasks},
		{"open", hub.ListQuery{Limit: 200, Status: ma2h.Open}, open},
		{"answered", hub.ListQuery{Limit: 200, Status: ma2h.Answered}, answered},
		{"nobody's", hub.ListQuery{Limit: 200, Person: "alice"}, []string{}},
	} {
		k.equal(tt.name, k.list(tt.q), tt.want)
	}
}

func listPerson(k *kit) {
	var all, open []string
	for i := range 9 {
		v := spec{accepted: after(time.Duration(i) * time.Second), audience: []string{"alice"}}
		if i == 4 {
			v.audience = []string{"bob"}
		}
		m := k.submit(v)
		if i%2 == 0 {
			k.apply(k.resolution(m, noon))
		} else {
			open = append(open, m.ID)
		}
		if i != 4 {
			all = append(all, m.ID)
		}
	}
	slices.Reverse(all)
	slices.Reverse(open)
	k.equal("all", k.list(hub.ListQuery{Person: "alice", Limit: 200}), all)
	k.equal("open", k.list(hub.ListQuery{Person: "alice", Open: true, Limit: 200}), open)
	k.equal("page", k.list(hub.ListQuery{Person: "alice", Limit: 3, Before: all[1]}), all[2:5])
	k.equal("open page", k.list(hub.ListQuery{Person: "alice", Open: true, Limit: 2, Before: open[0]}), open[1:3])
	k.equal("of one agent", k.list(hub.ListQuery{Person: "alice", AgentID: "bot/none", Limit: 3}), []string{})
}

func listDeliveries(k *kit) {
	type key struct {
		id  string
		seq int
	}
	var want, dead []key
	for i := range 5 {
		c := k.insert(spec{accepted: after(time.Duration(i) * time.Second)})
		for seq := 2; seq <= 4; seq++ {
			d := post(c.MessageID, seq, noon)
			if seq == 3 {
				d.State = hub.Dead
				dead = append(dead, key{c.MessageID, seq})
			}
			if seq == 4 {
				d.Target = alice
			}
			c.Deliveries = append(c.Deliveries, d)
		}
		k.apply(c)
		for seq := 1; seq <= 4; seq++ {
			want = append(want, key{c.MessageID, seq})
		}
	}
	slices.Reverse(want)
	slices.Reverse(dead)
	page := func(q hub.DeliveryQuery) []key {
		k.Helper()
		got, err := k.s.ListDeliveries(k.Context(), q)
		if err != nil {
			k.Fatal(err)
		}
		out := []key{}
		for _, d := range got {
			out = append(out, key{d.MessageID, d.Seq})
		}
		return out
	}
	same := func(name string, got, want []key) {
		k.Helper()
		if !slices.Equal(got, want) {
			k.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	same("all", page(hub.DeliveryQuery{Limit: 200}), want)
	same("dead", page(hub.DeliveryQuery{Limit: 200, State: hub.Dead}), dead)
	if got := page(hub.DeliveryQuery{Limit: 200, State: hub.Pending}); len(got) != 15 {
		k.Errorf("%d pending, want 15", len(got))
	}
	if got := page(hub.DeliveryQuery{Limit: 200, State: hub.Done}); len(got) != 0 {
		k.Errorf("%d done, want 0", len(got))
	}
	if got := page(hub.DeliveryQuery{Limit: 200, Channel: "email"}); len(got) != 5 {
		k.Errorf("%d by mail, want 5", len(got))
	}
	for limit := 1; limit <= 21; limit++ {
		var got []key
		before := ""
		for {
			p := page(hub.DeliveryQuery{Limit: limit, Before: before})
			if len(p) == 0 {
				break
			}
			got = append(got, p...)
			before = p[len(p)-1].id
		}
		same("paged", got, want)
	}
}

func openCount(k *kit) {
	for i := range 5 {
		m := k.submit(spec{})
		if i == 0 {
			k.apply(k.resolution(m, noon))
		}
	}
	k.submit(spec{typ: ma2h.Notify})
	k.submit(spec{agent: "bot/other"})
	for limit, want := range map[int]int{100: 4, 4: 4, 3: 3, 1: 1} {
		if n, err := k.s.OpenCount(k.Context(), "bot/dev", limit); n != want || err != nil {
			k.Errorf("limit %d: %d, %v, want %d", limit, n, err, want)
		}
	}
	if n, err := k.s.OpenCount(k.Context(), "bot/none", 10); n != 0 || err != nil {
		k.Errorf("nobody's: %d, %v", n, err)
	}
}

func inAudience(k *kit) {
	m := k.submit(spec{audience: []string{"alice", "alice", "bob"}})
	k.apply(k.resolution(m, noon))
	for person, want := range map[string]bool{"alice": true, "bob": true, "carol": false} {
		if in, err := k.s.InAudience(k.Context(), person, m.ID); in != want || err != nil {
			k.Errorf("%s: %v, %v, want %v", person, in, err, want)
		}
	}
	if in, err := k.s.InAudience(k.Context(), "alice", "msg_none"); in || err != nil {
		k.Errorf("no message: %v, %v", in, err)
	}
}
