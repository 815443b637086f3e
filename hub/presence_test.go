package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

// Presence is what the agent did, and nothing that the hub did by itself.
func TestPresence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inboxes)
		w.stopOutbox()
		check := func(want string, seen time.Time) {
			t.Helper()
			p, err := w.h.Presence(t.Context(), deploybot)
			last := ""
			if !seen.IsZero() {
				last = ma2h.FormatTime(seen)
			}
			if d := cmp.Diff(ma2h.Presence{AgentID: deploybot, State: want, LastSeen: last, FreshnessSeconds: 90}, p); d != "" || err != nil {
				t.Errorf("presence %v (-want +got):\n%s", err, d)
			}
			if at, err := w.h.Desk("web").LastSeen(t.Context(), deploybot); !at.Equal(seen) || err != nil {
				t.Errorf("last seen %s, %v, want %s", at, err, seen)
			}
		}
		check("unknown", time.Time{})
		id := w.submit(ask(nil)).Message.ID
		w.read(id)
		w.direct(hub.Direction{Body: "go"})
		w.inboxAck(deploybot, `{"ids":[]}`)
		check("unknown", time.Time{}) // none of that is listening

		seen := time.Now()
		w.inbox(deploybot, 0)
		check("online", seen)
		time.Sleep(90 * time.Second)
		check("online", seen)
		time.Sleep(time.Millisecond)
		check("offline", seen)

		seen = time.Now()
		if _, err := w.h.Wait(t.Context(), deploybot, "msg_none", time.Minute); hub.CodeOf(err) != ma2h.CodeNotFound {
			t.Fatal(err)
		}
		check("online", seen)
		seen = time.Now()
		if _, err := w.h.Wait(t.Context(), deploybot, id, time.Minute); err != nil {
			t.Fatal(err)
		}
		check("online", seen) // since it asked, not since it was answered

		if p, err := w.h.Presence(t.Context(), "other/bot"); p.State != "unknown" || err != nil {
			t.Errorf("another: %+v, %v", p, err)
		}

		// A new process knows it too, give or take what it did not write down.
		h := hub.New(hub.Options{Store: w.s, Notifier: nil, Keys: hub.KeyRing{make([]byte, 32)}}, directory())
		if at, err := h.LastSeen(t.Context(), deploybot); err != nil || seen.Sub(at) > 30*time.Second || at.After(seen) {
			t.Errorf("after a restart: %s, %v, want %s", at, err, seen)
		}
	})
}
