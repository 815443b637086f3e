package hub_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

// read is what the agent gets by GET.
func (w *world) read(id string) *ma2h.MessageBody {
	w.t.Helper()
	m, err := w.h.Get(w.t.Context(), deploybot, id)
	if err != nil {
		w.t.Fatalf("get: %v", err)
	}
	raw, err := w.h.Body(w.t.Context(), m, false)
	if err != nil {
		w.t.Fatalf("body: %v", err)
	}
	b, err := ma2h.ParseMessageBody(raw)
	if err != nil {
		w.t.Fatalf("body: %v", err)
	}
	return b
}

func (w *world) ack(id, body string) (*ma2h.Ack, error) {
	return w.h.Ack(w.t.Context(), w.agent(deploybot), id, []byte(body))
}

func (w *world) copies() []string {
	return slices.Sorted(maps.Values(w.chat.seen()))
}

// An answer is delivered when its agent has read it, which is recorded once; it
// may then be acknowledged, and the first acknowledgement stays.
func TestTrackByRead(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.1", "0.2", "0.3", "0.4", "0.5", "0.9"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				alias := ""
				s := w.submit(ask(func(d doc) {
					if d["ma2h_version"] = version; version == "0.1" {
						alias = "job-7"
						d["id"] = alias
					}
				}))
				id := s.Message.ID
				synctest.Wait()
				if got := w.read(id).Delivery; got != nil {
					t.Errorf("delivery while it is open: %s", got)
				}
				if _, err := w.ack(s.Ack.ID, ""); hub.CodeOf(err) != ma2h.CodeNotAcknowledgeable {
					t.Errorf("ack while it is open: %v", err)
				}
				w.answer(hub.Answer{MessageID: id, Option: 1})
				if _, err := w.ack(s.Ack.ID, ""); hub.CodeOf(err) != ma2h.CodeNotAcknowledgeable {
					t.Errorf("ack before it is delivered: %v", err)
				}
				time.Sleep(time.Minute)
				read := time.Now().UTC()
				for range 3 {
					want := `{"state":"delivered-to-agent","delivered_at":"` + ma2h.FormatTime(read) + `"}`
					if got := string(w.read(s.Ack.ID).Delivery); got != want {
						t.Errorf("delivery %s, want %s", got, want)
					}
					time.Sleep(time.Second)
				}

				acked := time.Now()
				first, err := w.ack(s.Ack.ID, `{"note":" on \u0007it ","by":"human:mallory","resolution_id":"res_other"}`)
				if err != nil {
					t.Fatal(err)
				}
				note, res := "on it", w.message(id).ResolutionID
				want := &ma2h.Ack{
					Version: "0.5", Type: "ack", InReplyTo: s.Ack.ID, By: "agent:" + deploybot,
					AckedAt: ma2h.FormatTime(acked), Note: &note, ResolutionID: &res,
				}
				if d := cmp.Diff(want, first); d != "" {
					t.Errorf("ack (-want +got):\n%s", d)
				}
				time.Sleep(time.Second)
				again, err := w.ack(s.Ack.ID, `{"note":"something else"}`)
				if d := cmp.Diff(first, again); d != "" || err != nil {
					t.Errorf("again: %v (-first +again):\n%s", err, d)
				}
				var del struct {
					State          string   `json:"state"`
					DeliveredAt    string   `json:"delivered_at"`
					AcknowledgedAt string   `json:"acknowledged_at"`
					Ack            ma2h.Ack `json:"ack"`
				}
				if err := json.Unmarshal(w.read(s.Ack.ID).Delivery, &del); err != nil {
					t.Fatal(err)
				}
				if del.State != "acknowledged" || del.DeliveredAt != ma2h.FormatTime(read) || del.AcknowledgedAt != first.AckedAt || !cmp.Equal(&del.Ack, first) {
					t.Errorf("delivery %+v", del)
				}
				if got := w.kinds(id); strings.Join(got, " ") != "submitted posted answered delivered_to_agent acknowledged" {
					t.Errorf("history %v", got)
				}
			})
		})
	}
}

// What has no answer has no track.
func TestTrackOfANotify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(message("notify", nil)).Message.ID
	if got := w.read(id).Delivery; got != nil {
		t.Errorf("delivery %s", got)
	}
	if _, err := w.ack(id, ""); hub.CodeOf(err) != ma2h.CodeNotAcknowledgeable {
		t.Errorf("ack: %v", err)
	}
	if c, err := w.h.Desk("web").Card(t.Context(), id, "alice", hub.Page); err != nil || c.Track != nil {
		t.Errorf("card: %+v, %v", c.Track, err)
	}
}

func TestAckRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil)).Message.ID
	w.answer(hub.Answer{MessageID: id, Option: 1})
	w.read(id)
	for _, tt := range []struct{ body, want string }{
		{"[]", "validation_error "},
		{"{", "validation_error "},
		{`{"note":"a","note":"b"}`, "validation_error "},
		{`{"note":7}`, "validation_error note"},
		{`{"note":null}`, "validation_error note"},
		{`{"resolution_id":7}`, "validation_error resolution_id"},
		{`{"note":"` + strings.Repeat("é", hub.MaxNoteRunes+1) + `"}`, "invalid_field note"},
	} {
		if _, err := w.ack(id, tt.body); codeAndField(err) != tt.want {
			t.Errorf("%.40s: %v, want %s", tt.body, err, tt.want)
		}
	}
	if _, err := w.h.Ack(t.Context(), w.agent("other/bot"), id, nil); hub.CodeOf(err) != ma2h.CodeNotFound {
		t.Errorf("by another agent: %v", err)
	}
	if m := w.message(id); m.Track.State != hub.TrackDelivered {
		t.Errorf("a refusal moved the track: %+v", m.Track)
	}
	if a, err := w.ack(id, `{"note":"`+strings.Repeat("é", hub.MaxNoteRunes)+`"}`); err != nil || a.Note == nil {
		t.Errorf("the longest note: %v", err)
	}
}

// Copies that show the track are updated when it moves, and only once where an
// update is about to come anyway; one that runs shows what was before.
func TestTrackUpdatesCopies(t *testing.T) {
	t.Parallel()
	const answered = `answered: Ship to prod now by Alice Ng via web ""`
	t.Run("each step", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			id := w.submit(ask(chatty)).Message.ID
			synctest.Wait()
			w.answer(hub.Answer{MessageID: id, Option: 1})
			synctest.Wait()
			for _, step := range []struct {
				do   func()
				want string
			}{
				{func() {}, answered},
				{func() { w.read(id) }, answered + " [delivered-to-agent ]"},
				{func() { w.read(id) }, answered + " [delivered-to-agent ]"},
				{func() { _, _ = w.ack(id, `{"note":"AKIAABCDEFGHIJKLMNOP is out"}`) }, answered + " [acknowledged •••• is out]"},
			} {
				step.do()
				synctest.Wait()
				if got := w.copies(); len(got) != 1 || got[0] != step.want {
					t.Errorf("copies %q, want %q", got, step.want)
				}
			}
			if w.chat.updates != 3 {
				t.Errorf("%d updates, want 3", w.chat.updates)
			}
		})
	})
	t.Run("pending", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			id := w.submit(ask(chatty)).Message.ID
			synctest.Wait()
			w.stopOutbox()
			w.answer(hub.Answer{MessageID: id, Option: 1})
			w.read(id)
			if _, err := w.ack(id, ""); err != nil {
				t.Fatal(err)
			}
			if n := w.count(id, hub.KindUpdate); n != 1 {
				t.Errorf("%d updates, want 1", n)
			}
		})
	})
	t.Run("running", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.chat.updating = make(chan chan struct{})
			id := w.submit(ask(chatty)).Message.ID
			synctest.Wait()
			w.answer(hub.Answer{MessageID: id, Option: 1})
			first := <-w.chat.updating
			w.read(id)
			close(first)
			close(<-w.chat.updating)
			synctest.Wait()
			if got := w.copies(); len(got) != 1 || got[0] != answered+" [delivered-to-agent ]" {
				t.Errorf("copies %q", got)
			}
		})
	})
	t.Run("not shown", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.chat.silent = true
			id := w.submit(ask(chatty)).Message.ID
			synctest.Wait()
			w.answer(hub.Answer{MessageID: id, Option: 1})
			w.read(id)
			if n := w.count(id, hub.KindUpdate); n != 1 {
				t.Errorf("%d updates, want that of the answer only", n)
			}
		})
	})
}

// count counts a message's deliveries of a kind.
func (w *world) count(id string, kind hub.Kind) (n int) {
	w.t.Helper()
	s, err := w.h.Inspect(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range s.Deliveries {
		if s.Deliveries[i].Kind == kind {
			n++
		}
	}
	return n
}

// When retention passes first, the track ends: people see it, the agent sees it
// for a day more, and nothing brings it back (spec §14.2).
func TestTrackExpires(t *testing.T) {
	t.Parallel()
	const retention = time.Hour
	task := func(version string) func(*world) string {
		return func(w *world) string {
			id := w.submit(message("task", func(d doc) {
				d["ma2h_version"], d["action"] = version, doc{"instructions": "x"}
				delete(d, "tags")
			})).Message.ID
			w.answer(hub.Answer{MessageID: id, Verb: hub.VerbComplete})
			return id
		}
	}
	for _, tt := range []struct {
		name    string
		make    func(*world) string
		want    hub.TrackState // after retention
		history string
	}{
		{"answered", func(w *world) string {
			id := w.submit(ask(chatty)).Message.ID
			w.answer(hub.Answer{MessageID: id, Option: 1})
			return id
		}, hub.TrackExpired, "never_picked_up"},
		{"completed", task("0.6"), hub.TrackExpired, "never_picked_up"},
		{"below 0.5", task("0.4"), hub.TrackNone, "completed"},
		{"expired by the clock", func(w *world) string {
			id := w.submit(ask(func(d doc) { d["expires_at"] = ma2h.FormatTime(time.Now().Add(time.Second)) })).Message.ID
			time.Sleep(2 * time.Second)
			return id
		}, hub.TrackExpired, "never_picked_up"},
		{"expired by the clock, and read", func(w *world) string {
			id := w.submit(ask(func(d doc) { d["expires_at"] = ma2h.FormatTime(time.Now().Add(time.Second)) })).Message.ID
			time.Sleep(2 * time.Second)
			w.read(id)
			return id
		}, hub.TrackDelivered, "expired"},
		{"delivered in time", func(w *world) string {
			id := w.submit(ask(nil)).Message.ID
			w.answer(hub.Answer{MessageID: id, Option: 1})
			w.read(id)
			return id
		}, hub.TrackDelivered, "delivered_to_agent"},
		{"withdrawn", func(w *world) string {
			id := w.submit(ask(nil)).Message.ID
			if _, err := w.h.Cancel(w.t.Context(), w.agent(deploybot), id); err != nil {
				w.t.Fatal(err)
			}
			return id
		}, hub.TrackNone, "cancelled"},
		{"still open", func(w *world) string { return w.submit(ask(nil)).Message.ID }, hub.TrackNone, "posted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(d *hub.Directory) { d.Retention = retention })
				id := tt.make(w)
				synctest.Wait()
				expire := func(want int) {
					t.Helper()
					if n, err := w.h.ExpireTracks(t.Context(), 10); n != want || err != nil {
						t.Fatalf("%d tracks, %v, want %d", n, err, want)
					}
				}
				time.Sleep(retention - time.Second*3)
				expire(0)
				time.Sleep(time.Minute)
				n := 0
				if tt.want == hub.TrackExpired {
					n = 1
				}
				expire(n)
				expire(0)
				synctest.Wait()
				m := w.message(id)
				if m.Track.State != tt.want {
					t.Fatalf("track %+v, want %q", m.Track, tt.want)
				}
				if kinds := w.kinds(id); !slices.Contains(kinds, tt.history) {
					t.Errorf("history %v, want %s", kinds, tt.history)
				}
				if tt.want != hub.TrackExpired {
					return
				}
				if got := string(w.read(id).Delivery); got != `{"state":"expired"}` {
					t.Errorf("delivery %s", got)
				}
				if _, err := w.ack(id, ""); hub.CodeOf(err) != ma2h.CodeNotAcknowledgeable {
					t.Errorf("ack: %v", err)
				}
				for _, c := range w.copies() {
					if !strings.HasSuffix(c, " [expired ]") {
						t.Errorf("a copy says %s", c)
					}
				}
				purge := func(want int) {
					t.Helper()
					if n, err := w.s.Purge(t.Context(), time.Now(), retention, 10); n != want || err != nil {
						t.Fatalf("purged %d, %v, want %d", n, err, want)
					}
				}
				w.stopOutbox()
				purge(0)
				time.Sleep(24*time.Hour + time.Second)
				purge(1)
			})
		})
	}
}

// A read after retention has passed does what the clock has not done yet.
func TestReadTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.stopOutbox()
		id := w.submit(ask(nil)).Message.ID
		w.answer(hub.Answer{MessageID: id, Option: 1})
		time.Sleep(30*24*time.Hour + time.Second)
		if n, err := w.s.Purge(t.Context(), time.Now(), 30*24*time.Hour, 10); n != 0 || err != nil {
			t.Errorf("purged %d, %v, before it was said that nobody picked it up", n, err)
		}
		if got := string(w.read(id).Delivery); got != `{"state":"expired"}` {
			t.Errorf("delivery %s", got)
		}
	})
}

// A card says what people may know of the track.
func TestTrackOnACard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		card := func(id string, v hub.View) *hub.Track {
			t.Helper()
			c, err := w.h.Desk("web").Card(t.Context(), id, "alice", v)
			if err != nil {
				t.Fatal(err)
			}
			return c.Track
		}
		id := w.submit(ask(func(d doc) { d["sensitive"] = true })).Message.ID
		if got := card(id, hub.Page); got != nil {
			t.Errorf("open: %+v", got)
		}
		w.answer(hub.Answer{MessageID: id, Option: 1})
		if got := card(id, hub.Page); got == nil || got.State != hub.TrackNone {
			t.Errorf("answered: %+v", got)
		}
		w.read(id)
		if _, err := w.ack(id, `{"note":"the key is X"}`); err != nil {
			t.Fatal(err)
		}
		if got := card(id, hub.Page); got.State != hub.TrackAcked || got.AckNote != "the key is X" || got.AckedAt.IsZero() || got.DeliveredAt.IsZero() {
			t.Errorf("acknowledged: %+v", got)
		}
		if got := card(id, hub.Export); got.State != hub.TrackAcked || got.AckNote != "" {
			t.Errorf("a sensitive message's export: %+v", got)
		}
		events, err := w.h.Events(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if strings.Contains(string(e.Content), "the key") {
				t.Errorf("the history keeps the note: %s", e.Content)
			}
		}
		id = w.submit(ask(nil)).Message.ID
		if _, err := w.h.Cancel(t.Context(), w.agent(deploybot), id); err != nil {
			t.Fatal(err)
		}
		w.read(id)
		if got := card(id, hub.Page); got != nil {
			t.Errorf("withdrawn: %+v", got)
		}
	})
}
