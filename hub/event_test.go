package hub

import (
	"testing"
	"time"
)

func chainOf(t *testing.T, n int) ([]Event, ChainHead) {
	t.Helper()
	var head ChainHead
	var events []Event
	for i := range n {
		e, next, err := NewEvent(head, "msg_1", "posted", time.UnixMilli(int64(1000+i)), map[string]any{"n": i})
		if err != nil {
			t.Fatal(err)
		}
		events, head = append(events, e), next
	}
	return events, head
}

func TestVerifyChain(t *testing.T) {
	t.Parallel()
	events, head := chainOf(t, 4)
	if err := VerifyChain(events, head); err != nil {
		t.Fatalf("an honest history: %v", err)
	}
	tests := []struct {
		name   string
		tamper func([]Event, *ChainHead) []Event
		ok     bool
	}{
		{"content changed", func(e []Event, _ *ChainHead) []Event { e[1].Content = []byte(`{"n":9}`); return e }, false},
		{"kind changed", func(e []Event, _ *ChainHead) []Event { e[1].Kind = "answered"; return e }, false},
		{"time changed", func(e []Event, _ *ChainHead) []Event { e[2].At = e[2].At.Add(time.Second); return e }, false},
		{"message changed", func(e []Event, _ *ChainHead) []Event { e[0].MessageID = "msg_2"; return e }, false},
		{"last event cut off", func(e []Event, _ *ChainHead) []Event { return e[:3] }, false},
		{"first event cut off", func(e []Event, _ *ChainHead) []Event { return e[1:] }, false},
		{"two swapped", func(e []Event, _ *ChainHead) []Event { e[1], e[2] = e[2], e[1]; return e }, false},
		{"content hash changed with content erased", func(e []Event, _ *ChainHead) []Event {
			e[1].Content, e[1].Salt = nil, nil
			e[1].ContentHash[0] ^= 1
			return e
		}, false},
		{"head of another history", func(e []Event, h *ChainHead) []Event { h.Hash[0] ^= 1; return e }, false},
		{"content erased", func(e []Event, _ *ChainHead) []Event { e[1].Content, e[1].Salt = nil, nil; return e }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, head := chainOf(t, 4)
			events = tt.tamper(events, &head)
			if err := VerifyChain(events, head); (err == nil) != tt.ok {
				t.Errorf("VerifyChain: %v, want ok %v", err, tt.ok)
			}
		})
	}
}

// The same content twice must not give the same hash, or erased content could
// be guessed.
func TestEventSalt(t *testing.T) {
	t.Parallel()
	a, _ := chainOf(t, 1)
	b, _ := chainOf(t, 1)
	if a[0].ContentHash == b[0].ContentHash {
		t.Error("two events with the same content have the same content hash")
	}
}
