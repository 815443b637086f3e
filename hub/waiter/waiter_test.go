package waiter_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"beckon/hub/waiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestWakeReachesEveryoneWhoWaitsForThatMessage(t *testing.T) {
	t.Parallel()
	w := waiter.New()
	a, cancelA := w.Subscribe("msg_1")
	b, cancelB := w.Subscribe("msg_1")
	other, cancelOther := w.Subscribe("msg_2")
	defer cancelA()
	defer cancelB()
	defer cancelOther()

	if closed(a) || closed(b) {
		t.Fatal("woken before Wake")
	}
	w.Wake("msg_1")
	if !closed(a) || !closed(b) {
		t.Error("not everyone who waits for msg_1 was woken")
	}
	if closed(other) {
		t.Error("Wake of msg_1 woke a waiter of msg_2")
	}
}

// A wake-up is not kept, which is why one subscribes first and reads then.
func TestWakeBeforeSubscribeIsNotKept(t *testing.T) {
	t.Parallel()
	w := waiter.New()
	w.Wake("msg_1")
	c, cancel := w.Subscribe("msg_1")
	defer cancel()
	if closed(c) {
		t.Fatal("an earlier Wake closed a later subscription")
	}
	w.Wake("msg_1")
	if !closed(c) {
		t.Fatal("the next Wake did not")
	}
}

func TestGivingUpLeavesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(w *waiter.Waiter)
		want int
	}{
		{"the only one", func(w *waiter.Waiter) {
			_, cancel := w.Subscribe("m")
			cancel()
		}, 0},
		{"one of two", func(w *waiter.Waiter) {
			_, cancel := w.Subscribe("m")
			w.Subscribe("m")
			cancel()
		}, 1},
		{"the same one twice does not count for the other", func(w *waiter.Waiter) {
			_, cancel := w.Subscribe("m")
			w.Subscribe("m")
			cancel()
			cancel()
		}, 1},
		{"both", func(w *waiter.Waiter) {
			_, a := w.Subscribe("m")
			_, b := w.Subscribe("m")
			b()
			a()
		}, 0},
		{"woken and given up", func(w *waiter.Waiter) {
			_, cancel := w.Subscribe("m")
			w.Wake("m")
			cancel()
		}, 0},
		{"woken, not given up", func(w *waiter.Waiter) {
			w.Subscribe("m")
			w.Wake("m")
		}, 0},
		{"given up after another has subscribed anew", func(w *waiter.Waiter) {
			_, cancel := w.Subscribe("m")
			w.Wake("m")
			w.Subscribe("m")
			cancel()
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := waiter.New()
			tt.run(w)
			if got := w.Waiting(); got != tt.want {
				t.Errorf("%d messages are waited for, want %d", got, tt.want)
			}
		})
	}
}

// A subscription that outlives another's cancel is still woken.
func TestCancelOfOneLeavesTheOtherAwake(t *testing.T) {
	t.Parallel()
	w := waiter.New()
	_, cancelA := w.Subscribe("m")
	b, cancelB := w.Subscribe("m")
	defer cancelB()
	cancelA()
	cancelA()
	w.Wake("m")
	if !closed(b) {
		t.Fatal("the one who still waits was not woken")
	}
}

// Subscribe first, then read: whatever the interleaving, nobody sleeps past a
// change.
func TestNobodyMissesAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := waiter.New()
		const messages, readers = 50, 8
		var state [messages]atomic.Bool
		var wg sync.WaitGroup
		for i := range messages {
			id := fmt.Sprint("msg_", i)
			for range readers {
				wg.Go(func() {
					woken, cancel := w.Subscribe(id)
					defer cancel()
					if state[i].Load() {
						return
					}
					select {
					case <-woken:
						if !state[i].Load() {
							t.Errorf("%s: woken before the change", id)
						}
					case <-time.After(time.Hour):
						t.Errorf("%s: slept past the change", id)
					}
				})
			}
			wg.Go(func() {
				state[i].Store(true)
				w.Wake(id)
			})
		}
		wg.Wait()
		if n := w.Waiting(); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

// BenchmarkParked measures what a parked subscription costs, its id included.
func BenchmarkParked(b *testing.B) {
	const parked = 100_000
	ids := make([]string, parked)
	for i := range ids {
		ids[i] = fmt.Sprintf("msg_%026d", i)
	}
	for b.Loop() {
		w := waiter.New()
		cancels := make([]func(), parked)
		before := heap()
		for i, id := range ids {
			_, cancels[i] = w.Subscribe(id)
		}
		b.ReportMetric(float64(heap()-before)/parked, "B/subscription")
		for _, cancel := range cancels {
			cancel()
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkSubscribeWake(b *testing.B) {
	w := waiter.New()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, cancel := w.Subscribe("msg_1")
			w.Wake("msg_1")
			cancel()
		}
	})
}

// TestParkedCost holds the line of what a parked subscription may cost.
func TestParkedCost(t *testing.T) {
	const parked, limit = 100_000, 512
	w := waiter.New()
	ids := make([]string, parked)
	for i := range ids {
		ids[i] = fmt.Sprintf("msg_%026d", i)
	}
	cancels := make([]func(), parked)
	before := heap()
	for i, id := range ids {
		_, cancels[i] = w.Subscribe(id)
	}
	if got := (heap() - before) / parked; got > limit {
		t.Errorf("a parked subscription costs %d bytes, want at most %d", got, limit)
	}
	runtime.KeepAlive(cancels)
	runtime.KeepAlive(w)
}
