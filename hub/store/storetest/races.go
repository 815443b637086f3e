package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"beckon/hub"
)

var raceCases = []testCase{
	{"of many changes on one version exactly one wins", raceVersion},
	{"of many with one receipt exactly one is applied", raceReceipt},
	{"of many with one idempotency key exactly one is inserted", raceKey},
	{"no delivery is claimed twice while its lease lives", raceClaim},
	{"a lease has one owner", raceLease},
	{"a bad change fails alone", badAlone},
	{"readers see whole changes only", wholeChanges},
	{"a caller who leaves interrupts nobody", callerLeaves},
	{"close drains, and later calls are refused", closeDrains},
}

const racers = 32

// race runs f in many goroutines at once and waits for all.
func race(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

func raceVersion(k *kit) {
	for range 10 {
		m := k.submit(spec{})
		changes := make([]*hub.Change, racers)
		for i := range changes {
			changes[i] = k.resolution(m, noon)
			changes[i].Patch.ResolutionID = fmt.Sprintf("res_%d", i)
		}
		var won atomic.Int32
		winner := make([]bool, racers)
		race(racers, func(i int) {
			switch err := k.s.Apply(k.Context(), changes[i]); {
			case err == nil:
				won.Add(1)
				winner[i] = true
			case !errors.Is(err, hub.ErrStale):
				k.Errorf("racer %d: %v", i, err)
			}
		})
		if won.Load() != 1 {
			k.Fatalf("%d won", won.Load())
		}
		got := k.message(m.ID)
		for i := range winner {
			if winner[i] && got.ResolutionID != changes[i].Patch.ResolutionID {
				k.Errorf("racer %d won, the store has %s", i, got.ResolutionID)
			}
		}
		if err := hub.VerifyChain(k.events(m.ID), got.Head); err != nil {
			k.Error(err)
		}
	}
}

func raceReceipt(k *kit) {
	for round := range 10 {
		var won atomic.Int32
		outcomes := make([]string, racers)
		race(racers, func(i int) {
			r := receipt(fmt.Sprint("e", round))
			r.Outcome.ResolutionID = fmt.Sprint(i)
			err := k.s.Apply(k.Context(), &hub.Change{At: noon, Receipt: r})
			outcomes[i] = r.Outcome.ResolutionID
			if repeated, ok := errors.AsType[*hub.RepeatedError](err); ok {
				outcomes[i] = repeated.Outcome.ResolutionID
			} else if won.Add(1); err != nil {
				k.Errorf("racer %d: %v", i, err)
			}
		})
		if won.Load() != 1 {
			k.Fatalf("%d won", won.Load())
		}
		for i := range outcomes {
			if outcomes[i] != outcomes[0] {
				k.Fatalf("outcomes differ: %v", outcomes)
			}
		}
	}
}

func raceKey(k *kit) {
	for round := range 10 {
		changes := make([]*hub.Change, racers)
		for i := range changes {
			changes[i] = k.insert(spec{key: fmt.Sprint("k", round)})
		}
		ids := make([]string, racers)
		race(racers, func(i int) {
			err := k.s.Apply(k.Context(), changes[i])
			ids[i] = changes[i].MessageID
			if d, ok := errors.AsType[*hub.DuplicateError](err); ok {
				ids[i] = d.ID
			} else if err != nil {
				k.Errorf("racer %d: %v", i, err)
			}
		})
		for i := range ids {
			if ids[i] != ids[0] {
				k.Fatalf("ids differ: %v", ids)
			}
		}
		k.message(ids[0])
	}
	if n, err := k.s.OpenCount(k.Context(), "bot/dev", 1000); n != 10 || err != nil {
		k.Errorf("%d messages, %v, want 10", n, err)
	}
}

func raceClaim(k *kit) {
	const messages = 200
	for range messages {
		k.apply(k.insert(spec{}))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	race(8, func(int) {
		for {
			got, err := k.s.Claim(k.Context(), "slack", noon, time.Minute, 7)
			if err != nil {
				k.Errorf("claim: %v", err)
				return
			}
			if len(got) == 0 {
				return
			}
			mu.Lock()
			for _, d := range got {
				seen[d.MessageID]++
			}
			mu.Unlock()
		}
	})
	if len(seen) != messages {
		k.Errorf("%d claimed, want %d", len(seen), messages)
	}
	for id, n := range seen {
		if n != 1 {
			k.Errorf("%s claimed %d times", id, n)
		}
	}
}

func raceLease(k *kit) {
	lease := func(owner string, now time.Time, ttl time.Duration) bool {
		k.Helper()
		ok, err := k.s.Lease(k.Context(), "mailbox", owner, now, ttl)
		if err != nil {
			k.Errorf("lease: %v", err)
		}
		return ok
	}
	var won atomic.Int32
	race(racers, func(i int) {
		if lease(fmt.Sprint("owner", i), noon, time.Minute) {
			won.Add(1)
		}
	})
	if won.Load() != 1 {
		k.Errorf("%d have the lease", won.Load())
	}
	later := after(time.Minute)
	for _, tt := range []struct {
		name  string
		owner string
		now   time.Time
		ttl   time.Duration
		want  bool
	}{
		{"living", "x", later.Add(-time.Millisecond), time.Minute, false},
		{"run out", "x", later, time.Minute, true},
		{"renewed", "x", later.Add(50 * time.Second), time.Minute, true},
		{"renewal holds", "y", later.Add(61 * time.Second), time.Minute, false},
		{"another can't give it back", "y", later, 0, false},
		{"still held", "y", later, time.Minute, false},
		{"given back", "x", later, 0, false},
		{"free", "y", later, time.Minute, true},
	} {
		if got := lease(tt.owner, tt.now, tt.ttl); got != tt.want {
			k.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// badAlone mixes changes that fail in every way with good ones, all at once,
// so that they share batches.
func badAlone(k *kit) {
	stale := k.submit(spec{})
	k.apply(k.change(stale, "first", noon))
	taken := k.submit(spec{key: "taken"})
	k.apply(&hub.Change{At: noon, Receipt: receipt("seen")})

	const n = 120
	changes, good := make([]*hub.Change, n), make([]bool, n)
	for i := range changes {
		switch i % 5 {
		case 0:
			changes[i] = k.resolution(stale, noon)
		case 1:
			changes[i] = k.insert(spec{key: "taken"})
		case 2:
			changes[i] = k.insert(spec{})
			changes[i].Receipt = receipt("seen")
		case 3:
			changes[i] = k.insert(spec{key: fmt.Sprint("bad", i)})
			changes[i].Deliveries = append(changes[i].Deliveries, changes[i].Deliveries[0])
		case 4:
			changes[i], good[i] = k.insert(spec{key: fmt.Sprint("good", i)}), true
		}
	}
	race(n, func(i int) {
		if err := k.s.Apply(k.Context(), changes[i]); (err == nil) != good[i] {
			k.Errorf("change %d: %v", i, err)
		}
	})
	for i, c := range changes {
		if c.Insert == nil {
			continue
		}
		_, err := k.s.Snapshot(k.Context(), c.MessageID)
		if good[i] != (err == nil) || (err != nil && !errors.Is(err, hub.ErrNotFound)) {
			k.Errorf("change %d: good is %v, and the store says %v", i, good[i], err)
		}
	}
	k.equal("taken", k.message(taken.ID), taken)
}

// wholeChanges reads while somebody writes: an event without its head, or a
// head without its event, would be half a change.
func wholeChanges(k *kit) {
	m := k.submit(spec{})
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				before, err := k.s.Message(k.Context(), m.ID)
				if err != nil {
					k.Errorf("message: %v", err)
					return
				}
				events, err := k.s.Events(k.Context(), m.ID)
				if err != nil {
					k.Errorf("events: %v", err)
					return
				}
				if n := int64(len(events)); n < before.Head.Seq || before.Head.Seq != before.Version {
					k.Errorf("head %d, version %d, %d events", before.Head.Seq, before.Version, n)
				}
			}
		})
	}
	for range 100 {
		k.apply(k.change(k.message(m.ID), "more", noon))
	}
	close(done)
	wg.Wait()
}

func callerLeaves(k *kit) {
	var applied, left atomic.Int32
	changes := make([]*hub.Change, 200)
	for i := range changes {
		changes[i] = k.insert(spec{})
	}
	race(len(changes), func(i int) {
		ctx, cancel := context.WithCancel(k.Context())
		defer cancel()
		if i%2 == 0 {
			go cancel()
		}
		switch err := k.s.Apply(ctx, changes[i]); {
		case err == nil:
			applied.Add(1)
			if _, err := k.s.Message(k.Context(), changes[i].MessageID); err != nil {
				k.Errorf("acknowledged, but: %v", err)
			}
		case errors.Is(err, context.Canceled) && i%2 == 0:
			left.Add(1)
		default:
			k.Errorf("change %d: %v", i, err)
		}
	})
	if applied.Load() < 100 {
		k.Errorf("%d applied, %d left", applied.Load(), left.Load())
	}
	ctx, cancel := context.WithCancel(k.Context())
	cancel()
	c := k.insert(spec{})
	if err := k.s.Apply(ctx, c); !errors.Is(err, context.Canceled) {
		k.Errorf("with a context that has ended: %v", err)
	}
	if _, err := k.s.Message(k.Context(), c.MessageID); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("and it was applied: %v", err)
	}
}
