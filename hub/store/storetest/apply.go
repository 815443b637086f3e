package storetest

import (
	"errors"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

var applyCases = []testCase{
	{"insert reads back whole", insertReadsBack},
	{"a notify is resolved when accepted", notifyResolved},
	{"patch writes every field and raises the version", patchWrites},
	{"a nil checklist and an empty one stay apart", checklistKept},
	{"another version is stale and applies nothing", staleAppliesNothing},
	{"a change without patch still compares and raises", touchCompares},
	{"an unknown message is not found", unknownMessage},
	{"a repeated receipt gives the first outcome and applies nothing", repeatedReceipt},
	{"a receipt comes before stale", receiptBeforeStale},
	{"a stale change keeps no receipt", staleKeepsNoReceipt},
	{"an empty receipt key is never recorded", emptyReceiptKey},
	{"a receipt alone needs no message", receiptAlone},
	{"a repeated idempotency key is a duplicate", duplicateKey},
	{"a repeated alias is a duplicate", duplicateAlias},
	{"a repeated id is an error", duplicateID},
	{"cursors of the change and of its receipt are written", cursorsWritten},
	{"malformed changes are errors", malformed},
	{"a failing row undoes the whole change", failingRow},
}

func insertReadsBack(k *kit) {
	c := k.insert(spec{key: "k1", expires: after(time.Hour), audience: []string{"alice"}})
	k.apply(c)
	snap := k.snapshot(c.MessageID)
	k.equal("message", snap.Message, c.Insert)
	k.sameBytes("raw", snap.Message.Raw, c.Insert.Raw)
	k.equal("deliveries", snap.Deliveries, c.Deliveries)
	k.equal("events", k.events(c.MessageID), c.Events)
	k.equal("alone", k.message(c.MessageID), snap.Message)
	if err := hub.VerifyChain(k.events(c.MessageID), snap.Message.Head); err != nil {
		k.Error(err)
	}
}

func notifyResolved(k *kit) {
	c := k.insert(spec{typ: ma2h.Notify})
	c.Insert.ResolvedAt = time.Time{}
	k.apply(c)
	if m := k.message(c.MessageID); !m.ResolvedAt.Equal(noon) {
		k.Errorf("resolved at %v, want %v", m.ResolvedAt, noon)
	}
}

func patchWrites(k *kit) {
	m := k.submit(spec{typ: ma2h.Task})
	c := k.change(m, "ticked", after(time.Minute))
	*c.Patch = hub.Patch{
		Status: ma2h.Completed, ResolvedAt: after(time.Minute), ResolutionID: "res_1",
		Response: []byte(`{"x": 1}`), ResolvedVia: "web", Head: c.Patch.Head, NextDelivery: 7,
		Checklist: []ma2h.ChecklistItem{{Text: "off", Done: true}},
	}
	k.apply(c)
	got := k.message(m.ID)
	k.equal("patch", hub.PatchOf(got), c.Patch)
	if got.Version != 2 {
		k.Errorf("version %d, want 2", got.Version)
	}
	if err := hub.VerifyChain(k.events(m.ID), got.Head); err != nil {
		k.Error(err)
	}
}

func checklistKept(k *kit) {
	m := k.submit(spec{typ: ma2h.Task})
	if m.Checklist != nil {
		k.Errorf("got %v, want nil", m.Checklist)
	}
	c := k.change(m, "ticked", noon)
	c.Patch.Checklist = []ma2h.ChecklistItem{}
	k.apply(c)
	if m := k.message(m.ID); m.Checklist == nil {
		k.Error("got nil, want an empty list")
	}
}

func staleAppliesNothing(k *kit) {
	m := k.submit(spec{})
	k.apply(k.change(m, "first", noon))
	c := k.resolution(m, noon)
	c.Deliveries = []hub.Delivery{post(m.ID, 2, noon)}
	c.Cursor = &hub.Cursor{Channel: "slack", Key: "c", Value: "v"}
	k.refused(c, hub.ErrStale)
	snap := k.snapshot(m.ID)
	if snap.Message.Version != 2 || snap.Message.Status != ma2h.Open || len(snap.Deliveries) != 1 {
		k.Errorf("something was applied: %+v", snap)
	}
	if v, _ := k.s.GetState(k.Context(), "slack", "c"); v != "" {
		k.Errorf("cursor %q was written", v)
	}
}

func touchCompares(k *kit) {
	m := k.submit(spec{})
	c := &hub.Change{MessageID: m.ID, At: noon, Expect: 1, Deliveries: []hub.Delivery{post(m.ID, 2, noon)}}
	k.apply(c)
	if v := k.message(m.ID).Version; v != 2 {
		k.Errorf("version %d, want 2", v)
	}
	c.Deliveries[0].Seq = 3
	k.refused(c, hub.ErrStale)
	c.Expect = 0
	k.refused(c, hub.ErrStale) // it has rows, so there is no way around
}

func unknownMessage(k *kit) {
	_, err := k.s.Message(k.Context(), "msg_none")
	if !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("message: %v", err)
	}
	if _, err = k.s.Snapshot(k.Context(), "msg_none"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("snapshot: %v", err)
	}
	for _, c := range []*hub.Change{
		{MessageID: "msg_none", At: noon, Expect: 1, Patch: &hub.Patch{Status: ma2h.Open}},
		{MessageID: "msg_none", At: noon, Expect: 1, Finish: &hub.Finish{Seq: 1, N: 1, State: hub.Done}},
		{MessageID: "msg_none", At: noon, Finish: &hub.Finish{Seq: 1, N: 1, State: hub.Done}},
		{MessageID: "msg_none", At: noon, Expect: 1, DropPending: true},
	} {
		k.refused(c, hub.ErrNotFound)
	}
}

func receipt(key string) *hub.Receipt {
	return &hub.Receipt{
		Channel: "slack", Account: "T1", Key: key, Evidence: []byte(`{"user":"U1"}`),
		Outcome: hub.Outcome{
			Kind: hub.Accepted, MessageID: "m", Verb: hub.VerbAnswer, May: []string{"Alice"},
			Decision: &hub.Decision{Resolution: ma2h.Answered, Actor: "human:alice", At: noon, Choice: "<A>"},
			Fields:   []hub.FieldError{{Field: "f", Msg: "m"}},
		},
	}
}

func repeatedReceipt(k *kit) {
	m := k.submit(spec{})
	c := k.resolution(m, noon)
	c.Receipt = receipt("e1")
	k.apply(c)

	m = k.message(m.ID)
	again := k.change(m, "again", noon)
	again.Receipt = receipt("e1")
	again.Receipt.Outcome = hub.Outcome{Kind: hub.Refused}
	again.Cursor = &hub.Cursor{Channel: "slack", Key: "c", Value: "v"}
	err := k.s.Apply(k.Context(), again)
	repeated, ok := errors.AsType[*hub.RepeatedError](err)
	if !ok {
		k.Fatalf("got %v, want a RepeatedError", err)
	}
	want := receipt("e1").Outcome
	want.Repeated = true
	k.equal("outcome", repeated.Outcome, want)
	k.equal("message", k.message(m.ID), m)
	if v, _ := k.s.GetState(k.Context(), "slack", "c"); v != "" {
		k.Errorf("cursor %q was written", v)
	}

	for _, other := range []func(*hub.Receipt){
		func(r *hub.Receipt) { r.Channel = "email" },
		func(r *hub.Receipt) { r.Account = "T2" },
		func(r *hub.Receipt) { r.Key = "E1" },
	} {
		c := &hub.Change{At: noon, Receipt: receipt("e1")}
		other(c.Receipt)
		k.apply(c)
	}
}

func receiptBeforeStale(k *kit) {
	m := k.submit(spec{})
	c := k.resolution(m, noon)
	c.Receipt = receipt("e1")
	k.apply(c)
	err := k.s.Apply(k.Context(), c) // stale as well
	if _, ok := errors.AsType[*hub.RepeatedError](err); !ok {
		k.Errorf("got %v, want a RepeatedError", err)
	}
}

func staleKeepsNoReceipt(k *kit) {
	m := k.submit(spec{})
	c := k.change(m, "late", noon)
	c.Receipt = receipt("e1")
	c.Expect = 9
	k.refused(c, hub.ErrStale)
	c.Expect = m.Version
	k.apply(c)
}

func emptyReceiptKey(k *kit) {
	for range 2 {
		c := &hub.Change{At: noon, Receipt: receipt("")}
		c.Receipt.Cursor = &hub.Cursor{Channel: "slack", Key: "c", Value: "v"}
		k.apply(c)
	}
	if v, _ := k.s.GetState(k.Context(), "slack", "c"); v != "v" {
		k.Errorf("cursor is %q, want v", v)
	}
}

func receiptAlone(k *kit) {
	k.apply(&hub.Change{At: noon, Receipt: receipt("e1")})
	m := k.submit(spec{})
	k.apply(&hub.Change{MessageID: m.ID, At: noon, Receipt: receipt("e2")})
	if v := k.message(m.ID).Version; v != 1 {
		k.Errorf("version %d, want 1", v)
	}
	k.apply(&hub.Change{MessageID: "msg_none", At: noon, Receipt: receipt("e3")})
}

func (k *kit) duplicate(c *hub.Change, want string) {
	k.Helper()
	err := k.s.Apply(k.Context(), c)
	d, ok := errors.AsType[*hub.DuplicateError](err)
	if !ok {
		k.Fatalf("got %v, want a DuplicateError", err)
	}
	if d.ID != want {
		k.Errorf("duplicate of %s, want %s", d.ID, want)
	}
	if _, err := k.s.Message(k.Context(), c.MessageID); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("the duplicate is there: %v", err)
	}
	if e := k.events(c.MessageID); len(e) != 0 {
		k.Errorf("the duplicate left events: %v", e)
	}
}

func duplicateKey(k *kit) {
	m := k.submit(spec{key: "k1"})
	k.duplicate(k.insert(spec{key: "k1"}), m.ID)
	other := k.submit(spec{key: "k1", agent: "bot/other"})
	k.submit(spec{key: "K1"})
	k.submit(spec{})
	k.submit(spec{})
	k.submit(spec{agent: "bot/devk", key: "1"})
	for _, tt := range []struct{ agent, key, want string }{
		{"bot/dev", "k1", m.ID},
		{"bot/other", "k1", other.ID},
		{"bot/dev", "k2", ""},
		{"bot/dev", "", ""},
	} {
		id, err := k.s.FindKey(k.Context(), tt.agent, tt.key)
		if id != tt.want || (tt.want == "") != errors.Is(err, hub.ErrNotFound) {
			k.Errorf("key %q of %s: %q, %v, want %q", tt.key, tt.agent, id, err, tt.want)
		}
	}
}

func duplicateAlias(k *kit) {
	m := k.submit(spec{alias: "job-1"})
	k.duplicate(k.insert(spec{alias: "job-1"}), m.ID)
	k.duplicate(k.insert(spec{alias: "job-1", key: "k"}), m.ID)
	k.submit(spec{alias: "job-1", agent: "bot/other"})
	k.submit(spec{alias: "job-2", key: "job-1"}) // a key is no alias
	if id, err := k.s.FindAlias(k.Context(), "bot/dev", "job-1"); id != m.ID || err != nil {
		k.Errorf("alias: %q, %v", id, err)
	}
	if _, err := k.s.FindAlias(k.Context(), "bot/dev", "job-3"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("unknown alias: %v", err)
	}
}

func duplicateID(k *kit) {
	c := k.insert(spec{})
	k.apply(c)
	if err := k.s.Apply(k.Context(), c); err == nil || !strings.Contains(err.Error(), c.MessageID) {
		k.Errorf("got %v, want an error with the id", err)
	}
}

func cursorsWritten(k *kit) {
	c := k.insert(spec{})
	c.Receipt = receipt("e1")
	c.Receipt.Cursor = &hub.Cursor{Channel: "slack", Key: "a", Value: "1"}
	c.Cursor = &hub.Cursor{Channel: "slack", Key: "b", Value: "2"}
	k.apply(c)
	for key, want := range map[string]string{"a": "1", "b": "2"} {
		if v, err := k.s.GetState(k.Context(), "slack", key); v != want || err != nil {
			k.Errorf("cursor %s: %q, %v, want %q", key, v, err, want)
		}
	}
}

func malformed(k *kit) {
	m := k.submit(spec{})
	e, _ := k.event(m.Head, m.ID, "x", noon)
	insert := k.insert(spec{})
	for name, c := range map[string]*hub.Change{
		"insert and patch":       {MessageID: insert.MessageID, Insert: insert.Insert, Patch: hub.PatchOf(m)},
		"another id":             {MessageID: "msg_other", Insert: insert.Insert},
		"audience later":         {MessageID: m.ID, Expect: 1, Audience: []string{"alice"}},
		"event without head":     {MessageID: m.ID, Expect: 1, Events: []hub.Event{e}},
		"rows without a message": {Deliveries: []hub.Delivery{post("", 1, noon)}},
		"finish to running":      {MessageID: m.ID, Expect: 1, Finish: &hub.Finish{Seq: 1, N: 1, State: hub.Running}},
	} {
		c.At = noon
		if err := k.s.Apply(k.Context(), c); err == nil {
			k.Errorf("%s: no error", name)
		}
	}
	k.equal("message", k.message(m.ID), m)
}

func failingRow(k *kit) {
	m := k.submit(spec{})
	c := k.resolution(m, noon)
	c.Receipt = receipt("e1")
	c.Deliveries = []hub.Delivery{post(m.ID, 2, noon), post(m.ID, 1, noon)} // 1 exists
	err := k.s.Apply(k.Context(), c)
	if err == nil || errors.Is(err, hub.ErrStale) {
		k.Fatalf("got %v, want a failure", err)
	}
	k.equal("snapshot", k.snapshot(m.ID).Message, m)
	k.equal("pending", k.seqs(m.ID, hub.Pending), []int{1})
	c.Deliveries = nil
	k.apply(c) // also the receipt was undone
}
