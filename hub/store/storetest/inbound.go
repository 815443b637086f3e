package storetest

import (
	"strings"
	"time"

	"beckon/hub"
)

var inboundCases = []testCase{
	{"what came in is kept as it came, once a receipt", inboundKept},
	{"what came in goes with its message, or by its own age", inboundPurged},
	{"erasing a message's content takes what came in about it", inboundErased},
	{"state about a message goes with it", stateForMessage},
	{"a notice keeps what it says", noticeKept},
}

// received is a change that records something that came in about m.
func (k *kit) received(m *hub.Message, key, raw string, at time.Time) *hub.Change {
	k.Helper()
	c := k.change(m, "unread", at)
	c.Receipt = &hub.Receipt{Channel: "email", Account: "hub@example.test", Key: key, Raw: []byte(raw)}
	return c
}

func (k *kit) inbound(id string, want ...string) {
	k.Helper()
	list, err := k.s.Inbound(k.Context(), id, 10)
	if err != nil {
		k.Fatal(err)
	}
	got := []string{}
	for _, in := range list {
		if in.Channel != "email" || in.Account != "hub@example.test" || in.At.IsZero() {
			k.Errorf("inbound %+v", in)
		}
		got = append(got, in.Key+": "+string(in.Raw))
	}
	if want == nil {
		want = []string{}
	}
	k.equal("inbound of "+id, got, want)
}

func inboundKept(k *kit) {
	m := k.submit(spec{})
	long := strings.Repeat("\x00\xff mail \r\n", 20_000)
	k.apply(k.received(m, "2", long, after(time.Second)))
	k.apply(k.received(k.message(m.ID), "1", "second", after(2*time.Second)))
	again := k.received(k.message(m.ID), "1", "other", after(3*time.Second))
	if err := k.s.Apply(k.Context(), again); err == nil {
		k.Error("the same receipt was taken twice")
	}
	c := k.change(k.message(m.ID), "unread", noon)
	c.Receipt = &hub.Receipt{Channel: "email", Account: "hub@example.test", Key: "3"} // nothing of it may be kept
	k.apply(c)
	k.inbound(m.ID, "2: "+long, "1: second")
	if list, err := k.s.Inbound(k.Context(), m.ID, 1); len(list) != 1 || err != nil {
		k.Errorf("limit 1: %d, %v", len(list), err)
	}
}

func inboundPurged(k *kit) {
	m := k.ended(spec{})
	k.apply(k.received(m, "1", "about it", noon))
	k.apply(&hub.Change{At: noon, Receipt: &hub.Receipt{Channel: "email", Account: "hub@example.test", Key: "2", Raw: []byte("about nothing")}})
	k.inbound("", "2: about nothing")
	k.purge(after(month), month, 10, 0)
	k.inbound("", "2: about nothing")
	k.inbound(m.ID, "1: about it")
	k.purge(after(month+time.Millisecond), month, 10, 1)
	k.inbound("")
	k.inbound(m.ID)
}

func inboundErased(k *kit) {
	m := k.submit(spec{})
	k.apply(k.received(m, "1", "about it", noon))
	if err := k.s.Erase(k.Context(), m.ID); err != nil {
		k.Fatal(err)
	}
	k.inbound(m.ID)
}

func stateForMessage(k *kit) {
	m := k.ended(spec{})
	get := func(key, want string) {
		k.Helper()
		if v, err := k.s.GetState(k.Context(), "email", key); v != want || err != nil {
			k.Errorf("%s: %q, %v, want %q", key, v, err, want)
		}
	}
	for _, v := range []string{"one", "two"} {
		if err := k.s.PutStateFor(k.Context(), m.ID, "email", "t", v); err != nil {
			k.Fatal(err)
		}
		get("t", v)
	}
	if err := k.s.PutState(k.Context(), "email", "cursor", "7"); err != nil {
		k.Fatal(err)
	}
	k.purge(after(month+time.Millisecond), month, 10, 1)
	get("t", "")
	get("cursor", "7")
}

func noticeKept(k *kit) {
	m := k.ended(spec{})
	c := k.change(m, "late", noon)
	d := hub.Delivery{
		MessageID: m.ID, Seq: 2, Kind: hub.KindTell, Lane: "email", Target: alice, Entry: -1, Posting: -1,
		State: hub.Pending, Due: noon, CreatedAt: noon, Data: []byte(`{"data":"\u0000"}`),
	}
	c.Deliveries = []hub.Delivery{d}
	k.apply(c)
	k.purge(after(month+time.Millisecond), month, 10, 0) // it is still to be said
	got := k.claim("email", noon, time.Minute, 10)
	if len(got) != 1 {
		k.Fatalf("claimed %d", len(got))
	}
	k.sameBytes("what it says", got[0].Data, d.Data)
	k.sameBytes("what it says", k.delivery(m.ID, 2).Data, d.Data)
}
