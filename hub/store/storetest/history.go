package storetest

import (
	"errors"
	"time"

	"beckon/hub"
)

var historyCases = []testCase{
	{"seal takes each head once, in batches, and verifies", sealOnce},
	{"a history that grew is sealed again", sealGrown},
	{"erased content leaves chain and seals whole", erase},
}

func (k *kit) seal(limit, want int) {
	k.Helper()
	if n, err := k.s.Seal(k.Context(), noon, limit); n != want || err != nil {
		k.Fatalf("sealed %d, %v, want %d", n, err, want)
	}
	if err := k.s.VerifySeals(k.Context()); err != nil {
		k.Fatal(err)
	}
}

func sealOnce(k *kit) {
	k.seal(10, 0)
	for range 5 {
		k.submit(spec{})
	}
	k.seal(3, 3)
	k.seal(3, 2)
	k.seal(3, 0)
}

func sealGrown(k *kit) {
	m, n := k.submit(spec{}), k.submit(spec{})
	k.seal(10, 2)
	k.apply(k.change(m, "more", noon))
	k.seal(10, 1)
	k.apply(&hub.Change{MessageID: n.ID, At: noon, Expect: n.Version, DropPending: true}) // no event
	k.seal(10, 0)
	for range 3 {
		k.apply(k.change(k.message(m.ID), "more", noon))
	}
	k.seal(10, 1)
}

func erase(k *kit) {
	m := k.submit(spec{})
	k.apply(k.change(m, "more", noon))
	k.seal(10, 1)
	before := k.events(m.ID)
	if err := k.s.Erase(k.Context(), m.ID); err != nil {
		k.Fatal(err)
	}
	after := k.events(m.ID)
	for i := range after {
		if after[i].Content != nil || after[i].Salt != nil {
			k.Errorf("event %d still has %q", i+1, after[i].Content)
		}
		before[i].Content, before[i].Salt = nil, nil
	}
	k.equal("the rest", after, before)
	if err := hub.VerifyChain(after, k.message(m.ID).Head); err != nil {
		k.Error(err)
	}
	if err := k.s.VerifySeals(k.Context()); err != nil {
		k.Error(err)
	}
	k.apply(k.change(k.message(m.ID), "after", noon.Add(time.Second)))
	if err := hub.VerifyChain(k.events(m.ID), k.message(m.ID).Head); err != nil {
		k.Error(err)
	}
	if err := k.s.Erase(k.Context(), "msg_none"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("erase of nothing: %v", err)
	}
}
