package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
)

// queued returns when to come again, 0 when err says anything else.
func queued(err error) time.Duration {
	if de, ok := errors.AsType[*hub.DeliveryError](err); ok && de.Code == "queued" && !de.Permanent {
		return de.After
	}
	return 0
}

func TestQueueBurstThenPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := time.Now()
		var at []time.Duration
		for i := range 5 {
			if err := q.take(t.Context(), turn{room: "C1", id: fmt.Sprint(i), class: classAsk, since: start}); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start))
		}
		if want := []time.Duration{0, 0, 0, time.Second, 2 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("turns at %v, want %v", at, want)
		}
		if err := q.take(t.Context(), turn{room: "C2", id: "x", class: classNotify, since: start}); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("another conversation waits too: %v", err)
		}
	})
}

// TestQueueGivesBack: what can't go soon does not hold the lane.
func TestQueueGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := time.Now()
		waits := map[time.Duration]bool{}
		for i := range 40 {
			err := q.take(t.Context(), turn{room: "C1", id: fmt.Sprintf("%02d", i), class: classNotify, since: start, rest: time.Hour})
			d := queued(err)
			if d < time.Hour/2 || d > time.Hour/2+time.Minute {
				t.Fatalf("send %d: %v, want to come by in half an hour, since others may be dropped", i, err)
			}
			waits[d] = true
		}
		if time.Since(start) != 0 {
			t.Errorf("the lane was held for %v", time.Since(start))
		}
		if len(waits) < 30 {
			t.Errorf("%d sends come back at only %d times", 40, len(waits))
		}
	})
}

func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := time.Now()
		for i := range postBurst {
			_ = q.take(t.Context(), turn{room: "C1", id: fmt.Sprint("burst", i), class: classAsk, since: start})
		}
		var mu sync.Mutex
		var got []string
		var wg sync.WaitGroup
		for _, x := range []struct {
			id string
			c  class
		}{{"notify", classNotify}, {"ask", classAsk}, {"truth", classTruth}} {
			wg.Go(func() {
				for {
					err := q.take(t.Context(), turn{room: "C1", id: x.id, class: x.c, since: start})
					if err == nil {
						break
					}
					time.Sleep(queued(err))
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, x.id)
			})
			synctest.Wait()
		}
		wg.Wait()
		if want := []string{"truth", "ask", "notify"}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("three turns took %v", d)
		}
	})
}

// TestQueueGone: a place in the row that nobody claims passes on.
func TestQueueGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := time.Now()
		for i := range 12 { // asks that are dropped after they were sent away
			_ = queued(q.take(t.Context(), turn{room: "C1", id: fmt.Sprint("gone", i), class: classAsk, since: start, rest: 8 * time.Second}))
		}
		for {
			err := q.take(t.Context(), turn{room: "C1", id: "last", class: classNotify, since: start})
			if err == nil {
				break
			}
			time.Sleep(queued(err))
		}
		if d := time.Since(start); d > 15*time.Second {
			t.Errorf("it waited %v for sends that never came back", d)
		}
	})
}

func TestQueueCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for i := range postBurst {
			_ = q.take(t.Context(), turn{room: "C1", id: fmt.Sprint("burst", i), class: classAsk})
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		err := q.take(ctx, turn{room: "C1", id: "a", class: classAsk})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		if n := q.patient[false]; n != 0 {
			t.Errorf("%d are counted as waiting", n)
		}
		if n := len(q.rooms["C1"].tickets); n != 0 {
			t.Errorf("%d tickets are left", n)
		}
	})
}

// TestQueueMemory: neither many sends nor many conversations fill the memory.
func TestQueueMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := time.Now()
		for i := range maxTickets + 200 {
			err := q.take(t.Context(), turn{
				room: "C1", id: fmt.Sprint(i), class: classNotify, since: start.Add(-time.Duration(i) * time.Second), rest: time.Minute,
			})
			if queued(err) == 0 {
				t.Fatalf("send %d: %v", i, err)
			}
		}
		r := q.rooms["C1"]
		if n := len(r.tickets); n != maxTickets {
			t.Errorf("%d tickets, want %d", n, maxTickets)
		}
		if r.tickets[fmt.Sprint(maxTickets+199)] == nil || r.tickets["0"] != nil {
			t.Error("the newest are remembered and not the oldest")
		}
		for i := range 3 * maxRooms {
			if err := q.take(t.Context(), turn{room: fmt.Sprint("D", i), id: "a", class: classAsk}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if n := len(q.rooms); n > maxRooms+1 {
			t.Errorf("%d conversations are remembered", n)
		}
	})
}

// TestQueueUpdatesAlone: chat.update has a pace of its own.
func TestQueueUpdatesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := time.Now()
		for i := range 100 {
			_ = q.take(t.Context(), turn{room: "C1", id: fmt.Sprint(i), class: classNotify, since: start, rest: time.Minute})
		}
		for i := range updateBurst {
			if err := q.take(t.Context(), turn{room: updates, id: fmt.Sprint(i), class: classTruth, since: start}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("updates waited %v for posts", d)
		}
	})
}

// TestQueueShare: with asks always at hand, and every place to wait taken by
// them, a notify gets its turn all the same, and is told to come for it soon.
func TestQueueShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		asks := make([]int, maxPatient+2)
		for i := range asks {
			wg.Go(func() {
				for ctx.Err() == nil {
					err := q.take(ctx, turn{room: "C1", id: fmt.Sprintf("ask %d.%d", i, asks[i]), class: classAsk, since: time.Now()})
					if err == nil {
						asks[i]++
					}
					time.Sleep(queued(err))
				}
			})
		}
		time.Sleep(10 * time.Second)
		for n := range 5 {
			start := time.Now()
			for {
				err := q.take(ctx, turn{room: "C1", id: fmt.Sprint("notify ", n), class: classNotify, since: start})
				if err == nil {
					break
				}
				time.Sleep(queued(err))
				if time.Since(start) > time.Minute {
					t.Fatalf("notify %d starves", n)
				}
			}
			if d := time.Since(start); d > 12*time.Second {
				t.Errorf("notify %d waited %v", n, d)
			}
		}
		cancel()
		wg.Wait()
	})
}

// TestQueueEstimate: a notify behind many asks that are not there is told to
// come for its share, not for the end of the row.
func TestQueueEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for i := range 100 {
			_ = q.take(t.Context(), turn{room: "C1", id: fmt.Sprint(i), class: classAsk, since: time.Now(), rest: 10 * time.Second})
		}
		d := queued(q.take(t.Context(), turn{room: "C1", id: "notify", class: classNotify, since: time.Now(), rest: 10 * time.Second}))
		if d == 0 || d > 15*time.Second {
			t.Errorf("it is to come again in %v", d)
		}
	})
}

// TestQueuePatience: few wait in place, however many conversations are busy.
func TestQueuePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := time.Now()
		var mu sync.Mutex
		atOnce := 0
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				err := q.take(t.Context(), turn{room: fmt.Sprint("C", i), id: "a", class: classAsk, rest: 2 * time.Second})
				mu.Lock()
				defer mu.Unlock()
				if queued(err) > 0 && time.Since(start) == 0 {
					atOnce++
				}
			})
		}
		wg.Wait()
		if atOnce != 20-maxPatient {
			t.Errorf("%d of 20 were sent away at once, want all but %d", atOnce, maxPatient)
		}
	})
}
