package storetest

import (
	"errors"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

var trackCases = []testCase{
	{"a track is kept and moves with its message", trackMoves},
	{"an agent's own message is another's nothing", ownMessage},
	{"unseen lists what its agent never got, from 0.5 on", unseen},
	{"purge keeps what was never picked up until a day after that was said", purgeUnseen},
	{"lanes lists those of a prefix that have something to be done", lanes},
}

func trackMoves(k *kit) {
	m := k.submit(spec{audience: []string{"alice"}})
	k.equal("track at first", m.Track, hub.Track{})
	c := k.resolution(m, noon)
	c.Patch.Track = nil
	k.apply(c)
	m = k.message(m.ID)
	k.equal("track of an answer", m.Track, hub.Track{})
	for _, t := range []hub.Track{
		{State: hub.TrackDelivered, DeliveredAt: after(time.Second)},
		{State: hub.TrackAcked, DeliveredAt: after(time.Second), AckedAt: after(time.Minute), AckNote: "on <it> \u00e9"},
		{State: hub.TrackExpired, ExpiredAt: after(time.Hour)},
	} {
		c := k.change(m, "moved", noon)
		c.Patch.Track = &t
		k.apply(c)
		was := m
		m = k.message(m.ID)
		k.equal("track", m.Track, t)
		k.equal("track in a snapshot", k.snapshot(m.ID).Message.Track, t)
		k.equal("version", m.Version, was.Version+1)
		k.sameBytes("response", m.Response, was.Response)
		k.apply(k.change(m, "something else", noon)) // without a Track
		m = k.message(m.ID)
		k.equal("track after another change", m.Track, t)
	}
	list, err := k.s.ListMessages(k.Context(), hub.ListQuery{Person: "alice", Limit: 1})
	if err != nil || len(list) != 1 || list[0].Track != m.Track {
		k.Errorf("list: %+v, %v", list, err)
	}
}

func ownMessage(k *kit) {
	m := k.ended(spec{})
	if got, err := k.s.Own(k.Context(), "bot/dev", m.ID); err != nil || got.ID != m.ID || got.Version != m.Version {
		k.Errorf("own: %+v, %v", got, err)
	}
	for _, tt := range []struct{ agent, id string }{{"bot/other", m.ID}, {"bot/dev", "msg_x"}, {"", m.ID}, {"bot/dev", ""}} {
		if got, err := k.s.Own(k.Context(), tt.agent, tt.id); !errors.Is(err, hub.ErrNotFound) || got != nil {
			k.Errorf("%q of %q: %+v, %v", tt.id, tt.agent, got, err)
		}
	}
	k.purge(after(2*month), month, 10, 1)
	if _, err := k.s.Own(k.Context(), "bot/dev", m.ID); !errors.Is(err, hub.ErrGone) {
		k.Errorf("own that was purged: %v", err)
	}
	if _, err := k.s.Own(k.Context(), "bot/other", m.ID); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("another's that was purged: %v", err)
	}
}

// unseenOnes submits what ends without its agent, and returns its ids: the first
// two are asks of 0.5 that ended a second apart, the later one first.
func (k *kit) unseenOnes() []string {
	k.Helper()
	var ids []string
	for _, tt := range []struct {
		v      spec
		status ma2h.Status // "": stays open
		track  *hub.Track
		at     time.Duration
	}{
		{spec{}, ma2h.Answered, nil, time.Second},
		{spec{typ: ma2h.Task}, ma2h.Expired, nil, 0},
		{spec{alias: "old"}, ma2h.Answered, nil, 0}, // 0.1
		{spec{}, ma2h.Cancelled, nil, 0},
		{spec{}, ma2h.Answered, &hub.Track{State: hub.TrackDelivered, DeliveredAt: noon}, 0},
		{spec{}, ma2h.Answered, nil, time.Hour}, // not long enough ago
		{spec{typ: ma2h.Notify}, "", nil, 0},
		{spec{}, "", nil, 0},
	} {
		m := k.submit(tt.v)
		ids = append(ids, m.ID)
		k.claim("slack", noon, time.Minute, 10)
		k.apply(k.finish(m, hub.Finish{Seq: 1, N: 1, State: hub.Done, Code: "ok"}, noon))
		if tt.status == "" {
			continue
		}
		c := k.resolution(k.message(m.ID), after(tt.at))
		c.Patch.Status, c.Patch.Track = tt.status, tt.track
		k.apply(c)
	}
	return ids
}

func (k *kit) unseen(before time.Time, limit int) []string {
	k.Helper()
	out, err := k.s.Unseen(k.Context(), before, limit)
	if err != nil {
		k.Fatalf("unseen: %v", err)
	}
	return out
}

func unseen(k *kit) {
	ids := k.unseenOnes()
	k.equal("unseen", k.unseen(after(2*time.Second), 10), []string{ids[1], ids[0]})
	k.equal("the longest ended", k.unseen(after(2*time.Second), 1), []string{ids[1]})
	k.equal("unseen before that", len(k.unseen(noon, 10)), 0)
}

func purgeUnseen(k *kit) {
	ids := k.unseenOnes()
	now := after(month + time.Minute)
	k.purge(now, month, 10, 4) // 0.1, withdrawn, delivered, the notify
	m := k.message(ids[0])
	c := k.change(m, "said", now)
	c.Patch.Track = &hub.Track{State: hub.TrackExpired, ExpiredAt: now}
	k.apply(c)
	k.purge(now.Add(24*time.Hour-time.Minute), month, 10, 0)
	k.purge(now.Add(24*time.Hour), month, 10, 1)
	if _, err := k.s.Message(k.Context(), ids[0]); !errors.Is(err, hub.ErrGone) {
		k.Errorf("a day after it was said: %v", err)
	}
	k.message(ids[1]) // nobody has said it yet
}

func lanes(k *kit) {
	m := k.submit(spec{})
	c := k.change(m, "more", noon)
	for i, d := range []struct {
		lane  string
		state hub.DeliveryState
	}{
		{"callback:b.example:8443", hub.Pending},
		{"callback:a.example", hub.Running},
		{"callback:a.example", hub.Pending},
		{"callback:done.example", hub.Done},
		{"callback:dead.example", hub.Dead},
		{"callback:\u00e9.example", hub.Pending},
		{"callbacks", hub.Pending},
		{"callback", hub.Pending},
	} {
		v := post(m.ID, i+2, after(time.Hour))
		v.Kind, v.Lane, v.State = hub.KindCallback, d.lane, d.state
		c.Deliveries = append(c.Deliveries, v)
	}
	k.apply(c)
	got, err := k.s.Lanes(k.Context(), "callback:")
	if err != nil {
		k.Fatal(err)
	}
	k.equal("lanes", got, []string{"callback:a.example", "callback:b.example:8443", "callback:\u00e9.example"})
	if got, err := k.s.Lanes(k.Context(), "mail:"); len(got) != 0 || err != nil {
		k.Errorf("of another prefix: %q, %v", got, err)
	}
}
