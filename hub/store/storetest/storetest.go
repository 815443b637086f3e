// Package storetest proves that a store behaves: [Run] is one suite for every
// database. Each case opens a store of its own and says in its name which
// promise it holds to.
//
// A failure of a case is a broken promise of hub.Store or of package store, not
// of the case's neighbours: nothing is shared between cases.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/store"

	"github.com/google/go-cmp/cmp"
)

// Store is what the suite needs: what the domain needs, what the outbox needs,
// and what keeps house.
type Store interface {
	hub.Store

	Claim(ctx context.Context, lane string, now time.Time, lease time.Duration, limit int) ([]hub.Delivery, error)
	NextDue(ctx context.Context, lane string) (time.Time, bool, error)
	Lanes(ctx context.Context, prefix string) ([]string, error)
	Recover(ctx context.Context, now time.Time) (int, error)
	Release(ctx context.Context, now time.Time, deliveries []hub.Delivery) error

	Seal(ctx context.Context, now time.Time, limit int) (int, error)
	VerifySeals(ctx context.Context) error
	Erase(ctx context.Context, messageID string) error
	Purge(ctx context.Context, now time.Time, retention time.Duration, limit int) (int, error)

	Stats(ctx context.Context) (store.Stats, error)
	Ping(ctx context.Context) error
	Check(ctx context.Context) error
	Close() error
}

// Run runs the suite. open returns an empty store, which the test closes.
func Run(t *testing.T, open func(t testing.TB) Store) {
	for _, group := range [][]testCase{applyCases, deliveryCases, raceCases, claimCases, listCases, stateCases, inboundCases, historyCases, purgeCases, trackCases, directiveCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
				k := &kit{T: t, s: s}
				c.run(k)
				if k.closed {
					return
				}
				if err := s.Check(context.Background()); err != nil {
					t.Errorf("after the case: %v", err)
				}
			})
		}
	}
}

type testCase struct {
	name string
	run  func(*kit)
}

// noon is when everything in the suite begins.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

// kit is a test with its store, and with short words for what cases do.
type kit struct {
	*testing.T
	s      Store
	closed bool // the case closed the store itself
}

// spec is what a case says about a message; the zero value is an ask without
// a key, by the agent "bot/dev".
type spec struct {
	agent, key, alias string
	typ               ma2h.Type
	audience          []string
	expires           time.Time
	accepted          time.Time
}

func (v spec) raw() []byte {
	version, extra := "0.5", ""
	if v.alias != "" {
		version = "0.1"
		extra += fmt.Sprintf(`,"id":%q`, v.alias)
	}
	if v.key != "" {
		extra += fmt.Sprintf(`,"idempotency_key":%q`, v.key)
	}
	switch v.typ {
	case ma2h.Ask:
		extra += `,"request":{"mode":"select","options":[{"value":"a","label":"A"},{"value":"b","label":"B"}]}`
	case ma2h.Task:
		extra += `,"action":{"instructions":"turn it off and on","checklist":[{"text":"off","done":false}]}`
	}
	return fmt.Appendf(nil, `{"ma2h_version":%q,"type":%q,"created_at":"2026-12-01T12:00:00Z","agent":`+
		`{"id":%q,"run_id":"run-1","runtime":"cli"},"title":"Deploy 1.4?","state":{"a": "<&>" }%s}`,
		version, v.typ, v.agent, extra)
}

// insert makes a change that submits a message, with one post to slack:#ops.
func (k *kit) insert(v spec) *hub.Change {
	k.Helper()
	if v.agent == "" {
		v.agent = "bot/dev"
	}
	if v.typ == "" {
		v.typ = ma2h.Ask
	}
	if v.accepted.IsZero() {
		v.accepted = noon
	}
	raw := v.raw()
	env, err := ma2h.Parse(raw)
	if err != nil {
		k.Fatalf("envelope: %v", err)
	}
	_ = env.Validate() // not every case sends a key
	m := &hub.Message{
		ID: hub.NewMessageID(v.accepted), Alias: v.alias, AgentID: v.agent, Envelope: env, Raw: raw,
		Status: ma2h.Open, Version: 1, AcceptedAt: v.accepted, ExpiresAt: v.expires,
		Plan: hub.Plan{
			Route: "routes[0]", Ask: []string{"alice"}, Warnings: []string{"careful"},
			Targets: []hub.Planned{{Target: ops, Entry: 0}, {Target: alice, Entry: 1, After: 10 * time.Minute}},
		},
		NextDelivery: 2,
	}
	if v.typ == ma2h.Notify {
		m.Status, m.ResolvedAt = ma2h.Delivered, v.accepted
	}
	c := &hub.Change{MessageID: m.ID, At: v.accepted, Insert: m, Audience: v.audience}
	c.Deliveries = []hub.Delivery{post(m.ID, 1, v.accepted)}
	var e hub.Event
	e, m.Head = k.event(m.Head, m.ID, "submitted", v.accepted)
	c.Events = []hub.Event{e}
	return c
}

var (
	ops   = hub.Target{Channel: "slack", Place: "#ops"}
	alice = hub.Target{Channel: "email", Person: "alice"}
)

// post is a pending post to slack:#ops, of plan entry 0.
func post(id string, seq int, due time.Time) hub.Delivery {
	return hub.Delivery{
		MessageID: id, Seq: seq, Kind: hub.KindPost, Lane: "slack", Target: ops, Posting: -1,
		State: hub.Pending, Due: due, CreatedAt: noon,
	}
}

func (k *kit) event(h hub.ChainHead, id, kind string, at time.Time) (hub.Event, hub.ChainHead) {
	k.Helper()
	e, h, err := hub.NewEvent(h, id, kind, at, map[string]string{"note": kind + " <&> "})
	if err != nil {
		k.Fatal(err)
	}
	return e, h
}

// submit applies an insert and returns the message as the store has it.
func (k *kit) submit(v spec) *hub.Message {
	k.Helper()
	c := k.insert(v)
	k.apply(c)
	return k.message(c.MessageID)
}

func (k *kit) apply(c *hub.Change) {
	k.Helper()
	if err := k.s.Apply(k.Context(), c); err != nil {
		k.Fatalf("apply: %v", err)
	}
}

// refused applies a change that has to fail with target.
func (k *kit) refused(c *hub.Change, target error) {
	k.Helper()
	if err := k.s.Apply(k.Context(), c); !errors.Is(err, target) {
		k.Fatalf("apply: got %v, want %v", err, target)
	}
}

func (k *kit) message(id string) *hub.Message {
	k.Helper()
	m, err := k.s.Message(k.Context(), id)
	if err != nil {
		k.Fatalf("message: %v", err)
	}
	return m
}

func (k *kit) snapshot(id string) *hub.Snapshot {
	k.Helper()
	snap, err := k.s.Snapshot(k.Context(), id)
	if err != nil {
		k.Fatalf("snapshot: %v", err)
	}
	return snap
}

// delivery reads one delivery.
func (k *kit) delivery(id string, seq int) hub.Delivery {
	k.Helper()
	for _, d := range k.snapshot(id).Deliveries {
		if d.Seq == seq {
			return d
		}
	}
	k.Fatalf("no delivery %d of %s", seq, id)
	return hub.Delivery{}
}

func (k *kit) claim(lane string, now time.Time, lease time.Duration, limit int) []hub.Delivery {
	k.Helper()
	out, err := k.s.Claim(k.Context(), lane, now, lease, limit)
	if err != nil {
		k.Fatalf("claim: %v", err)
	}
	return out
}

func (k *kit) attempts(id string) []hub.Attempt {
	k.Helper()
	out, err := k.s.Attempts(k.Context(), id)
	if err != nil {
		k.Fatalf("attempts: %v", err)
	}
	return out
}

func (k *kit) events(id string) []hub.Event {
	k.Helper()
	out, err := k.s.Events(k.Context(), id)
	if err != nil {
		k.Fatalf("events: %v", err)
	}
	return out
}

// change is a change of m with an unchanged patch and one more event.
func (k *kit) change(m *hub.Message, kind string, at time.Time) *hub.Change {
	k.Helper()
	p := hub.PatchOf(m)
	var e hub.Event
	e, p.Head = k.event(m.Head, m.ID, kind, at)
	return &hub.Change{MessageID: m.ID, At: at, Expect: m.Version, Patch: p, Events: []hub.Event{e}}
}

// resolution is a change that answers m, and says that its agent has got that.
func (k *kit) resolution(m *hub.Message, at time.Time) *hub.Change {
	k.Helper()
	c := k.change(m, "answered", at)
	c.Patch.Status, c.Patch.ResolvedAt, c.Patch.ResolutionID = ma2h.Answered, at, "res_"+m.ID
	c.Patch.Response = []byte(`{"resolution":"answered", "state": {"a": "<&>" }}`)
	c.Patch.ResolvedVia = "slack"
	c.Patch.Track = &hub.Track{State: hub.TrackDelivered, DeliveredAt: at}
	c.DropPending = true
	return c
}

// finish is a change that ends attempt n of delivery seq.
func (k *kit) finish(m *hub.Message, f hub.Finish, at time.Time) *hub.Change {
	k.Helper()
	c := k.change(m, "tried", at)
	c.Finish = &f
	return c
}

func (k *kit) equal(what string, got, want any) {
	k.Helper()
	if d := cmp.Diff(want, got); d != "" {
		k.Errorf("%s differs (-want +got):\n%s", what, d)
	}
}

func (k *kit) sameBytes(what string, got, want []byte) {
	k.Helper()
	if !bytes.Equal(got, want) {
		k.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// seqs lists the deliveries of a message in a state.
func (k *kit) seqs(id string, state hub.DeliveryState) []int {
	k.Helper()
	out := []int{}
	for _, d := range k.snapshot(id).Deliveries {
		if d.State == state {
			out = append(out, d.Seq)
		}
	}
	slices.Sort(out)
	return out
}

func ids(list []*hub.Message) []string {
	out := []string{}
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}
