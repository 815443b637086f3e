package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// teller is a channel that tells people by deliveries.
type teller struct {
	chat
	mu   sync.Mutex
	said []string
	fail int // so many times
}

func (c *teller) Tell(_ context.Context, r hub.TellRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail > 0 {
		c.fail--
		return &hub.DeliveryError{Code: "http_500", Msg: "try again"}
	}
	kind := "signal"
	if r.Outcome != nil {
		kind = string(r.Outcome.Kind)
	}
	posting := "no copy"
	if r.Posting != nil {
		posting = r.Posting.Target.String()
	}
	c.said = append(c.said, fmt.Sprintf("%s %s %s %s: %s", r.Person.ID, kind, r.Card.Status, posting, r.Data))
	return nil
}

func (c *teller) heard() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.said, "\n")
}

func tellWorld(t *testing.T, change func(*hub.Directory)) (*world, *teller) {
	person := func(id string) hub.Target { return hub.Target{Channel: "chat", Person: id} }
	w := newWorld(t, func(d *hub.Directory) {
		d.Routes[2].Post = []hub.Entry{
			{Targets: []hub.Target{person("alice")}}, {Targets: []hub.Target{person("bob")}, After: time.Hour},
		}
		if change != nil {
			change(d)
		}
	})
	c := &teller{}
	w.h.SetChannels(map[string]hub.Channel{"chat": c})
	return w, c
}

// What became of somebody's answer is told by a delivery, until it has arrived;
// an accepted one is told by the update of every copy.
func TestNotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := tellWorld(t, nil)
		c.fail = 2
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		say := func(actor string, option int, key string) hub.Outcome {
			o, err := w.h.Desk("chat").Answer(t.Context(), hub.Answer{
				MessageID: id, Actor: actor, Verb: hub.VerbAnswer, Option: option,
				Receipt: hub.Receipt{Key: key}, Notice: &hub.Notice{Person: strings.TrimPrefix(actor, "human:"), Data: []byte(`"` + key + `"`)},
			})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		say("human:alice", 9, "k1")
		for range 2 {
			say("human:alice", 1, "k2") // the second is a repetition
		}
		say("human:bob", 2, "k3")
		time.Sleep(time.Minute)
		synctest.Wait()
		want := strings.Join([]string{
			`bob already_resolved answered no copy: "k3"`,
			`alice unclear answered chat:alice: "k1"`,
		}, "\n")
		if got := sortedLines(c.heard()); got != sortedLines(want) {
			t.Errorf("said:\n%s\nwant:\n%s", got, want)
		}
		w.stop()
	})
}

// Two machines never talk to each other for long.
func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := tellWorld(t, nil)
		id := w.submit(ask(chatty)).Message.ID
		hear := func(from, to int, person string) {
			for i := from; i < to; i++ {
				err := w.h.Desk("chat").Signal(t.Context(), hub.Signal{
					MessageID: id, Kind: hub.Unread, Person: person, Posting: -1, Receipt: hub.Receipt{Key: fmt.Sprint(person, i)},
					Notice: &hub.Notice{Person: person, Data: []byte(`"help"`)},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		count := func(want int) {
			t.Helper()
			if got := strings.Count(c.heard(), "help"); got != want {
				t.Errorf("%d notices, want %d", got, want)
			}
		}
		hear(0, 200, "alice")
		count(hub.MaxNotices)
		hear(0, 1, "bob")
		count(hub.MaxNotices + 1)
		time.Sleep(24 * time.Hour)
		hear(200, 201, "alice")
		count(hub.MaxNotices + 2)
		if w.message(id).Status != ma2h.Open {
			t.Error("the ask is closed")
		}
		w.stop()
	})
}

// An automatic reply that says that somebody is away passes the ask on, where
// the route says so, and never answers it.
func TestAway(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, c := tellWorld(t, func(d *hub.Directory) { d.Routes[2].OnAway = on })
				id := w.submit(ask(chatty)).Message.ID
				synctest.Wait()
				for i := range 2 {
					err := w.h.Desk("chat").Signal(t.Context(), hub.Signal{
						MessageID: id, Kind: hub.Away, Person: "alice", Note: "until 7 Dec", Posting: -i, Receipt: hub.Receipt{Key: fmt.Sprint(i)},
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				posts, history := "chat:alice", "submitted posted away away"
				if on {
					posts, history = "chat:alice chat:bob", "submitted posted away escalated away posted"
				}
				if got := strings.Join(c.order(), " "); got != posts {
					t.Errorf("posts %s, want %s", got, posts)
				}
				if got := strings.Join(w.kinds(id), " "); got != history && !on || on && !strings.Contains(got, "escalated") {
					t.Errorf("history %s, want %s", got, history)
				}
				w.stop()
			})
		})
	}
}

func sortedLines(s string) string {
	return strings.Join(slices.Sorted(strings.Lines(s+"\n")), "")
}
