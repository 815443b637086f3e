package hub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
)

// A bounce moves on like any other failure, also when the copies of one entry
// bounce one after the other, and the last one says that nobody is left.
func TestBounce(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"ask", "notify"} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				person := func(id string) hub.Target { return hub.Target{Channel: "chat", Person: id} }
				w := newWorld(t, func(d *hub.Directory) {
					d.Routes[2].Post = []hub.Entry{
						{Targets: []hub.Target{person("alice"), person("bob")}}, {Targets: []hub.Target{person("carol")}, After: time.Hour},
					}
				})
				d := ask(chatty)
				if typ == "notify" {
					d = message(typ, chatty)
				}
				id := w.submit(d).Message.ID
				synctest.Wait()
				for i, want := range []string{"chat:alice chat:bob", "chat:alice chat:bob chat:carol", "chat:alice chat:bob chat:carol"} {
					s := hub.Signal{MessageID: id, Kind: hub.Bounced, Posting: i, Receipt: hub.Receipt{Key: fmt.Sprint("bounce", i)}}
					for range 2 { // the second is a repetition
						if err := w.h.Desk("chat").Signal(t.Context(), s); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
					}
					got := w.chat.order()
					slices.Sort(got)
					if strings.Join(got, " ") != want {
						t.Errorf("after bounce %d: posts %q, want %s", i, got, want)
					}
				}
				if got := strings.Join(w.kinds(id), " "); got != "submitted posted posted bounced bounced posted bounced unreachable" {
					t.Errorf("history %s", got)
				}
				s, err := w.h.Inspect(t.Context(), id)
				if err != nil || s.Deliveries[0].State != hub.Dead || s.Deliveries[0].LastCode != "bounced" {
					t.Errorf("%+v, %v", s.Deliveries, err)
				}
				w.stop()
			})
		})
	}
}

// A bounce of something that is not there is ticked off: it must not come back
// for ever.
func TestSignalOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	cursor := &hub.Cursor{Channel: "chat", Key: "uid", Value: "7"}
	s := hub.Signal{MessageID: "msg_none", Kind: hub.Bounced, Receipt: hub.Receipt{Key: "b1", Cursor: cursor}}
	for range 2 {
		if err := w.h.Desk("chat").Signal(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := w.s.GetState(t.Context(), "chat", "uid"); err != nil || at != "7" {
		t.Errorf("cursor %q, %v", at, err)
	}
}
