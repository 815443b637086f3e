package slack

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// decided is a card after Bob has answered it.
func decided(c *hub.Card) *hub.Card {
	after := *c
	after.Status, after.MayAnswer = ma2h.Answered, false
	after.Decision = &hub.Decision{
		Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: time.Now(), Via: "email",
		Choice: "Hold for review", Option: 2, Comment: "Not before lunch.",
	}
	return &after
}

// hasControls reports anything that one can press.
func hasControls(m fakeslack.Message) bool {
	for _, b := range m.Blocks {
		if b["type"] == "actions" || b["type"] == "input" || b["accessory"] != nil {
			return true
		}
	}
	return false
}

func blockIDs(m fakeslack.Message) map[string]bool {
	ids := map[string]bool{}
	for _, b := range m.Blocks {
		id, _ := b["block_id"].(string)
		ids[id] = true
	}
	return ids
}

// replies are the messages in the thread of a copy.
func (w *world) replies(p hub.Posting) (out []fakeslack.Message) {
	channel, ts, _ := parseRef(p.Ref)
	for _, m := range w.slack.Messages(channel) {
		if m.IsReply() && m.ThreadTS == ts {
			out = append(out, m)
		}
	}
	return out
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	for _, target := range []hub.Target{toPlace, toAlice} {
		w := startWorld(t, workspace(), nil)
		c := channeltest.Ask("msg_a")
		p := w.mustPost(target, c)
		before, _ := w.message(p)
		if !hasControls(before) {
			t.Fatal("the copy has no controls")
		}
		if err := w.ch.Update(t.Context(), w.updateRequest(p, decided(c))); err != nil {
			t.Fatal(err)
		}
		m, _ := w.message(p)
		if hasControls(m) {
			t.Error("one can still press something")
		}
		for _, s := range []string{"Bob Roy", "Hold for review", "Not before lunch.", "by e-mail"} {
			if !strings.Contains(shown(t, m), s) || s != "by e-mail" && !strings.Contains(m.Text, s) {
				t.Errorf("%v: the copy does not say %q:\n%s\n%s", target, s, shown(t, m), m.Text)
			}
		}
		for id := range blockIDs(m) {
			if blockIDs(before)[id] {
				t.Errorf("block %s keeps its id over the update", id)
			}
		}
		if len(w.replies(p)) != 0 {
			t.Error("there is a note besides")
		}
		if m.EditedTS != "" {
			t.Error("the copy says that it was edited")
		}
	}
}

// TestUpdateRefused: a copy that can't be changed for good gets a note in its
// thread, once, and a passing trouble none.
func TestUpdateRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code  string
		notes int
		perm  bool
	}{
		{"cant_update_message", 1, false},
		{"edit_window_closed", 1, false},
		{"message_not_found", 1, false},
		{"internal_error", 0, false},
		{"token_revoked", 0, true},
		{"is_inactive", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			o := workspace()
			o.NoDedupe = true
			w := startWorld(t, o, nil)
			c := channeltest.Ask("msg_a")
			p := w.mustPost(toPlace, c)
			w.slack.Fail(fakeslack.Fault{Method: "chat.update", Error: tt.code})
			r := w.updateRequest(p, decided(c))
			err := w.ch.Update(t.Context(), r)
			if (err == nil) != (tt.notes > 0) || err != nil && failure(t, err).Permanent != tt.perm {
				t.Errorf("err = %v", err)
			}
			r.Attempt = 2 // the hub did not hear that it was done
			_ = w.ch.Update(t.Context(), r)
			// That the agent has got the answer is not worth a second note.
			got := *r.Card
			got.Track = &hub.Track{State: hub.TrackDelivered, DeliveredAt: time.Now()}
			r.DeliveryID, r.Attempt, r.Card = "dlv_later", 1, &got
			_ = w.ch.Update(t.Context(), r)
			notes := w.replies(p)
			if len(notes) != tt.notes {
				t.Fatalf("%d notes, want %d", len(notes), tt.notes)
			}
			for _, m := range notes {
				for _, s := range []string{c.Title, "Bob Roy", "Hold for review", "Not before lunch."} {
					if !strings.Contains(m.Text, s) {
						t.Errorf("the note does not say %q: %s", s, m.Text)
					}
				}
				if hasControls(m) {
					t.Error("the note has controls")
				}
			}
		})
	}
}

// TestUpdateNoteInDoubt: the note's own time-out does not make two.
func TestUpdateNoteInDoubt(t *testing.T) {
	t.Parallel()
	o := workspace()
	o.NoDedupe = true
	w := startWorld(t, o, nil)
	c := channeltest.Ask("msg_a")
	p := w.mustPost(toPlace, c)
	w.impatient(300 * time.Millisecond)
	w.slack.Fail(fakeslack.Fault{Method: "chat.update", Error: "cant_update_message"})
	w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Hang: true, Effect: true, Times: 1})
	r := w.updateRequest(p, decided(c))
	if de := failure(t, w.ch.Update(t.Context(), r)); !de.MaybeSent || de.Permanent {
		t.Errorf("got %+v", de)
	}
	w.impatient(callTimeout)
	r.MaybeSent = true // after a shutdown, say: the attempt is not counted
	if err := w.ch.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if n := len(w.replies(p)); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// TestUpdateOfWhatWasDeleted: somebody has deleted the copy.
func TestUpdateOfWhatWasDeleted(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	c := channeltest.Ask("msg_a")
	p := w.mustPost(toPlace, c)
	_, ts, _ := parseRef(p.Ref)
	if err := w.slack.Person("bob").Delete(approvals, ts); err != nil {
		t.Fatal(err)
	}
	if err := w.ch.Update(t.Context(), w.updateRequest(p, decided(c))); err != nil {
		t.Fatal(err)
	}
	left := w.standingIn(approvals)
	if len(left) != 1 || !strings.Contains(left[0].Text, "Bob Roy") {
		t.Errorf("nobody is told what was decided: %d messages", len(left))
	}
}

// TestUpdateRefusedBlocks: an update of text alone takes the buttons away too.
func TestUpdateRefusedBlocks(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	c := channeltest.Ask("msg_a")
	p := w.mustPost(toPlace, c)
	w.slack.Fail(fakeslack.Fault{Method: "chat.update", Error: "invalid_blocks", Times: 1})
	if err := w.ch.Update(t.Context(), w.updateRequest(p, decided(c))); err != nil {
		t.Fatal(err)
	}
	m, _ := w.message(p)
	if hasControls(m) || len(m.Blocks) != 0 || !strings.Contains(m.Text, "Bob Roy") {
		t.Errorf("the copy is %+v", m)
	}
}

func TestRemind(t *testing.T) {
	t.Parallel()
	for _, target := range []hub.Target{toPlace, toAlice} {
		o := workspace()
		o.NoDedupe = true
		w := startWorld(t, o, nil)
		c := channeltest.Ask("msg_a")
		p := w.mustPost(target, c)
		before, _ := w.message(p)
		r := w.updateRequest(p, c)
		r.Remind = true
		for range 2 {
			if err := w.ch.Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.Attempt++
		}
		notes := w.replies(p)
		if len(notes) != 1 {
			t.Fatalf("%v: %d reminders", target, len(notes))
		}
		if got := shown(t, notes[0]); !strings.Contains(got, "Still waiting") || !strings.Contains(got, c.Title) || hasControls(notes[0]) {
			t.Errorf("the reminder says:\n%s", got)
		}
		if notes[0].Broadcast != (target.Person != "") {
			t.Errorf("%v: shown outside the thread: %v", target, notes[0].Broadcast)
		}
		if after, _ := w.message(p); after.Revision != before.Revision {
			t.Error("the copy was changed")
		}
	}
}

// TestPostInThread: a copy at a place that has one already goes into its thread
// and is seen outside; when the thread is gone it stands alone.
func TestPostInThread(t *testing.T) {
	t.Parallel()
	o := workspace()
	o.NoDedupe = true
	w := startWorld(t, o, nil)
	c := channeltest.Ask("msg_a")
	first := w.mustPost(toPlace, c)
	r := w.request(toPlace, c)
	r.Generation, r.Thread, r.Attempt = 1, first.Thread, 3
	for range 2 {
		again, err := w.ch.Post(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if again.Ref == first.Ref || again.Thread != first.Thread {
			t.Errorf("the second copy is %+v, the first %+v", again, first)
		}
	}
	if notes := w.replies(first); len(notes) != 1 || !notes[0].Broadcast || !hasControls(notes[0]) {
		t.Errorf("%d replies", len(notes))
	}
	_, ts, _ := parseRef(first.Ref)
	if err := w.slack.Person("bob").Delete(approvals, ts); err != nil {
		t.Fatal(err)
	}
	r.Generation, r.Attempt = 2, 1
	alone, err := w.ch.Post(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(alone.Ref, "/"+alone.Thread) {
		t.Errorf("the copy says that it is in a thread: %+v", alone)
	}
}

// TestEndedMeanwhile: a post in doubt whose message has ended is looked for and
// not made.
func TestEndedMeanwhile(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	r := w.request(toPlace, decided(channeltest.Ask("msg_a")))
	r.MaybeSent = true
	_, err := w.ch.Post(t.Context(), r)
	if de := failure(t, err); !de.Permanent || de.Code != "not_wanted" {
		t.Errorf("got %+v", de)
	}
	if n := len(w.standingIn(approvals)); n != 0 {
		t.Errorf("%d copies of what has ended", n)
	}
	posted := w.mustPost(toPlace, channeltest.Ask("msg_b"))
	r = w.request(toPlace, decided(channeltest.Ask("msg_b")))
	r.MaybeSent = true
	if p, err := w.ch.Post(t.Context(), r); err != nil || p.Ref != posted.Ref {
		t.Errorf("the copy that stands is not found: %+v, %v", p, err)
	}
}

// TestLook: the copy is found among many, and nothing else is taken for it.
func TestLook(t *testing.T) {
	t.Parallel()
	o := workspace()
	o.NoDedupe = true
	w := startWorld(t, o, nil)
	c := channeltest.Ask("msg_a")
	c.AcceptedAt = time.Now()
	p := w.mustPost(toPlace, c)
	for i := range 2*findPage + 50 {
		if _, err := w.slack.Person("alice").Reply(approvals, "", fmt.Sprint("chatter ", i)); err != nil {
			t.Fatal(err)
		}
	}
	r := w.request(toPlace, c)
	r.Attempt = 2
	again, err := w.ch.Post(t.Context(), r)
	if err != nil || again.Ref != p.Ref {
		t.Errorf("got %+v, %v, want %s", again, err, p.Ref)
	}
	r.DeliveryID = "dlv_msg_a-7"
	other, err := w.ch.Post(t.Context(), r)
	if err != nil || other.Ref == p.Ref {
		t.Errorf("another delivery of the same message is taken for it: %+v, %v", other, err)
	}
	r.DeliveryID, r.Generation = "dlv_msg_a-1", 1
	again, err = w.ch.Post(t.Context(), r)
	if err != nil || again.Ref == p.Ref {
		t.Errorf("a post that is wanted again is taken for the first: %+v, %v", again, err)
	}
}

// TestLookForged: another app writes our metadata under its own message.
func TestLookForged(t *testing.T) {
	t.Parallel()
	o := workspace()
	o.NoDedupe = true
	o.Apps = append(o.Apps, fakeslack.App{ID: "A0EVIL", Name: "evil", BotID: "B0EVIL", BotUser: "U0EVILBOT", BotToken: "xoxb-evil", AppToken: "xapp-evil"})
	o.Channels[0].Members = append(o.Channels[0].Members, "U0EVILBOT")
	w := startWorld(t, o, nil)
	evil := newAPI(section{BotToken: hub.NewSecret("xoxb-evil"), APIURL: w.slack.APIURL()}, slog.New(slog.DiscardHandler))
	t.Cleanup(evil.http.CloseIdleConnections)
	k := keyOf("dlv_msg_a-1", 0)
	err := evil.call(t.Context(), "chat.postMessage", url.Values{
		"channel": {approvals}, "text": {"Ship it? See evil.example"}, "metadata": {k.metadata()}, "client_msg_id": {k.uuid()},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := w.request(toPlace, channeltest.Ask("msg_a"))
	r.Attempt = 2
	p, err := w.ch.Post(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	channel, ts, _ := parseRef(p.Ref)
	if m, _ := w.slack.Message(channel, ts); m.BotID == "B0EVIL" {
		t.Error("another app's message is taken for the copy")
	}
}

// TestLookBlind: without leave to read, a second copy is better than none.
func TestLookBlind(t *testing.T) {
	t.Parallel()
	o := workspace()
	o.Apps[0].Scopes = []string{"chat:write", "channels:read", "groups:read"}
	w := startWorld(t, o, nil)
	w.impatient(300 * time.Millisecond)
	w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Hang: true, Times: 1})
	r := w.request(toPlace, channeltest.Ask("msg_a"))
	_, err := w.ch.Post(t.Context(), r)
	if !failure(t, err).MaybeSent {
		t.Errorf("err = %v", err)
	}
	w.impatient(callTimeout)
	r.Attempt = 2
	if _, err := w.ch.Post(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if n := len(w.copies("msg_a")); n != 1 {
		t.Errorf("%d copies", n)
	}
	if !strings.Contains(w.logs.String(), "can't look") {
		t.Errorf("the log does not say it: %s", w.logs)
	}
}

// TestLookFails: while it can't be found out whether the copy stands, nothing is
// posted.
func TestLookFails(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	lift := w.slack.Fail(fakeslack.Fault{Method: "conversations.history", RetryAfter: 3 * time.Second})
	r := w.request(toPlace, channeltest.Ask("msg_a"))
	r.Attempt = 2
	_, err := w.ch.Post(t.Context(), r)
	if de := failure(t, err); de.After == 0 || !de.MaybeSent {
		t.Errorf("got %+v", de)
	}
	lift()
	if n := len(w.slack.Calls("chat.postMessage")); n != 0 {
		t.Errorf("%d posts", n)
	}
}
