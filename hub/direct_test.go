package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

// inboxes lets alice and bob write to deploybot, and alice to other/bot.
func inboxes(d *hub.Directory) {
	d.Agents[deploybot].Directors = []string{"alice", "bob"}
	d.Agents[deploybot].InboxKey = signing
	d.Agents["other/bot"].Directors = []string{"alice"}
	d.Agents["other/bot"].InboxKey = other
}

func (w *world) direct(x hub.Direction) hub.DirectOutcome {
	w.t.Helper()
	if x.AgentID == "" && x.About == "" {
		x.AgentID = deploybot
	}
	if x.Person == "" {
		x.Person = "alice"
	}
	if x.Title == "" && x.Body == "" {
		x.Body = "Pause deploys"
	}
	o, err := w.h.Desk("web").Direct(w.t.Context(), x)
	if err != nil {
		w.t.Fatalf("direct: %v", err)
	}
	return o
}

// inbox drains an agent's inbox and verifies what comes, as the agent does.
func (w *world) inbox(agent string, wait time.Duration) []*ma2h.Directive {
	w.t.Helper()
	entries, err := w.h.Inbox(w.t.Context(), w.agent(agent), 10, wait)
	if err != nil {
		w.t.Fatalf("inbox: %v", err)
	}
	v := &ma2h.Verifier{Secrets: [][]byte{[]byte(w.agent(agent).InboxKey.Reveal())}, Window: 5 * time.Minute}
	var out []*ma2h.Directive
	for _, e := range entries {
		d, err := v.VerifyDirective(e.Signature, e.Directive, agent, time.Now())
		if err != nil {
			w.t.Fatalf("entry %s: %v", e.Directive, err)
		}
		out = append(out, d)
	}
	return out
}

func titles(list []*ma2h.Directive) string {
	var out []string
	for _, d := range list {
		out = append(out, d.Title)
	}
	return strings.Join(out, ", ")
}

func (w *world) inboxAck(agent string, body string, args ...any) int {
	w.t.Helper()
	n, err := w.h.InboxAck(w.t.Context(), w.agent(agent), fmt.Appendf(nil, body, args...))
	if err != nil {
		w.t.Fatalf("ack: %v", err)
	}
	return n
}

func (w *world) sent(person string) []hub.Sent {
	w.t.Helper()
	out, err := w.h.Desk("web").Sent(w.t.Context(), person, hub.SentQuery{Limit: 10})
	if err != nil {
		w.t.Fatalf("sent: %v", err)
	}
	return out
}

// What a person writes reaches the agent as they wrote it, with the hub's word
// for who they are, and they see whether it was taken.
func TestDirective(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inboxes)
		expires := time.Now().Add(time.Hour).UTC()
		o := w.direct(hub.Direction{
			Title: "Pause deploys until <the> incident & is over", Body: "We are mid-incident.\n\n- hold *all* deploys \u2028",
			Priority: ma2h.Urgent, Tags: []string{"incident"}, Expires: expires,
		})
		if o.Kind != hub.Accepted || !strings.HasPrefix(o.ID, "dir_") || o.AgentID != deploybot {
			t.Fatalf("outcome %+v", o)
		}
		created := time.Now()
		want := hub.Sent{
			ID: o.ID, AgentID: deploybot, Title: "Pause deploys until <the> incident & is over", Body: "We are mid-incident.\n\n- hold *all* deploys",
			Priority: ma2h.Urgent, Tags: []string{"incident"}, Via: "web", State: hub.DirectiveQueued,
			CreatedAt: created.UTC(), Until: expires,
		}
		same := func() {
			t.Helper()
			if d := cmp.Diff([]hub.Sent{want}, w.sent("alice")); d != "" {
				t.Errorf("sent (-want +got):\n%s", d)
			}
		}
		same()
		time.Sleep(time.Minute)
		got := w.inbox(deploybot, 0)
		if len(got) != 1 {
			t.Fatalf("inbox %v", got)
		}
		if d := cmp.Diff(&ma2h.Directive{
			Version: "0.5", Type: "directive", ID: o.ID, From: "human:alice", To: "agent:" + deploybot,
			CreatedAt: ma2h.FormatTime(created), Title: want.Title, Body: want.Body, Priority: ma2h.Urgent,
			Tags: []string{"incident"}, ExpiresAt: ma2h.FormatTime(expires),
		}, got[0]); d != "" {
			t.Errorf("directive (-want +got):\n%s", d)
		}
		want.State, want.DeliveredAt = hub.DirectiveDelivered, time.Now().UTC()
		same()
		time.Sleep(time.Second)
		if n := w.inboxAck(deploybot, `{"ids":[%q,%[1]q,"dir_x"],"note":" on it, AKIAABCDEFGHIJKLMNOP "}`, o.ID); n != 1 {
			t.Errorf("acked %d", n)
		}
		want.State, want.AckedAt, want.AckNote = hub.DirectiveAcked, time.Now().UTC(), "on it, ••••"
		same()
		if n := w.inboxAck(deploybot, `{"ids":[%q],"note":"again"}`, o.ID); n != 0 {
			t.Errorf("acked again: %d", n)
		}
		time.Sleep(2 * time.Hour)
		same()
		if got := w.inbox(deploybot, 0); len(got) != 0 {
			t.Errorf("what was acknowledged comes again: %s", titles(got))
		}
	})
}

// Who may write to whom is config, closed to everybody else.
func TestDirectiveRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	asked := w.submit(ask(func(d doc) { d["tags"] = []string{"closed"} })).Message.ID // alice sees it, bob does not
	for _, tt := range []struct {
		name   string
		x      hub.Direction
		reason hub.Reason
		field  string
	}{
		{"somebody who is not named", hub.Direction{Person: "carol"}, hub.ReasonNotAllowed, ""},
		{"the other agent's", hub.Direction{Person: "bob", AgentID: "other/bot"}, hub.ReasonNotAllowed, ""},
		{"nobody", hub.Direction{Person: "mallory"}, hub.ReasonUnknownPerson, ""},
		{"an agent as a person", hub.Direction{Person: deploybot}, hub.ReasonUnknownPerson, ""},
		{"no such agent", hub.Direction{AgentID: "no/bot"}, hub.ReasonUnknownAgent, ""},
		{"another agent's message", hub.Direction{AgentID: "other/bot", About: asked}, hub.ReasonNotFound, ""},
		{"a message that the person does not see", hub.Direction{Person: "bob", About: asked}, hub.ReasonNotFound, ""},
		{"no such message", hub.Direction{About: "msg_x"}, hub.ReasonNotFound, ""},
		{"nothing", hub.Direction{Body: " \n "}, hub.ReasonInvalid, "body"},
		{"a long title", hub.Direction{Title: strings.Repeat("é", 201)}, hub.ReasonInvalid, "title"},
		{"a title of two lines", hub.Direction{Title: "a\nb"}, hub.ReasonInvalid, "title"},
		{"a long body", hub.Direction{Title: "x", Body: strings.Repeat("y", hub.DefaultLimits.Body+1)}, hub.ReasonInvalid, "body"},
		{"not UTF-8", hub.Direction{Body: "\xff"}, hub.ReasonInvalid, "body"},
		{"a priority", hub.Direction{Priority: "asap"}, hub.ReasonInvalid, "priority"},
		{"a tag", hub.Direction{Tags: []string{"a\n"}}, hub.ReasonInvalid, "tags"},
		{"many tags", hub.Direction{Tags: make([]string, 21)}, hub.ReasonInvalid, "tags"},
		{"the past", hub.Direction{Expires: time.Now().Add(-time.Second)}, hub.ReasonInvalid, "expires"},
	} {
		tt.x.Receipt.Key = tt.name
		for _, repeated := range []bool{false, true} {
			o := w.direct(tt.x)
			kind := hub.Refused
			if tt.reason == hub.ReasonInvalid {
				kind = hub.Unclear
			}
			field := ""
			if len(o.Fields) > 0 {
				field = o.Fields[0].Field
			}
			if o.Kind != kind || o.Reason != tt.reason || field != tt.field || o.Repeated != repeated {
				t.Errorf("%s: %+v, want %s %s %s", tt.name, o, kind, tt.reason, tt.field)
			}
		}
	}
	for _, agent := range []string{deploybot, "other/bot"} {
		if got := w.inbox(agent, 0); len(got) != 0 {
			t.Errorf("the inbox of %s has %s", agent, titles(got))
		}
	}
	d := w.h.Desk("web")
	for person, want := range map[string][]string{"alice": {deploybot, "other/bot"}, "bob": {deploybot}, "carol": nil, "mallory": nil} {
		if got := d.DirectableAgents(person); !slices.Equal(got, want) {
			t.Errorf("%s may write to %v, want %v", person, got, want)
		}
		if person == "mallory" {
			continue
		}
		c, err := d.Card(t.Context(), w.submit(ask(nil)).Message.ID, person, hub.Page)
		if person == "carol" {
			continue // is not asked
		}
		if err != nil || c.MayDirect != (want != nil) {
			t.Errorf("a card of %s: %+v, %v", person, c, err)
		}
	}
}

// A repeated inbound thing has no second effect, and says what the first did.
func TestDirectiveOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	x := hub.Direction{Body: "go", Receipt: hub.Receipt{Key: "event-1", Cursor: &hub.Cursor{Channel: "web", Key: "at", Value: "7"}}}
	first := w.direct(x)
	again := w.direct(x)
	if again.Repeated = false; !cmp.Equal(first, again) || first.Kind != hub.Accepted {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if got := w.inbox(deploybot, 0); len(got) != 1 {
		t.Errorf("inbox %s", titles(got))
	}
	if v, err := w.s.GetState(t.Context(), "web", "at"); v != "7" || err != nil {
		t.Errorf("cursor %q, %v", v, err)
	}
	// The key of an answer can't be one of a directive.
	id := w.submit(ask(nil)).Message.ID
	w.answer(hub.Answer{MessageID: id, Option: 1, Receipt: hub.Receipt{Key: "event-2"}})
	x.Receipt = hub.Receipt{Key: "event-2"}
	if o, err := w.h.Desk("web").Direct(t.Context(), hub.Direction{AgentID: deploybot, Person: "alice", Body: "go", Receipt: x.Receipt}); err == nil {
		t.Errorf("under an answer's key: %+v", o)
	}
}

// A reply to a message says to which, and its history has it, but not the words
// of a sensitive one.
func TestDirectiveAboutAMessage(t *testing.T) {
	t.Parallel()
	for _, sensitive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, inboxes)
			s := w.submit(message("notify", func(d doc) {
				d["ma2h_version"], d["id"], d["sensitive"] = "0.1", "digest-7", sensitive
			}))
			synctest.Wait()
			o := w.direct(hub.Direction{About: s.Message.ID, Body: "Skip the tests\nthey are flaky"})
			if o.Kind != hub.Accepted || o.AgentID != deploybot {
				t.Fatalf("outcome %+v", o)
			}
			got := w.inbox(deploybot, 0)
			if len(got) != 1 || got[0].Title != "Skip the tests" || got[0].Body != "they are flaky" || got[0].Sensitive != sensitive ||
				len(got[0].Context) != 1 || string(got[0].Context[0].Data) != `{"in_reply_to":"digest-7"}` {
				t.Errorf("directive %+v", got[0])
			}
			if n := w.inboxAck(deploybot, `{"ids":[%q],"note":"done so"}`, o.ID); n != 1 {
				t.Errorf("acked %d", n)
			}
			if got := strings.Join(w.kinds(s.Message.ID), " "); got != "submitted posted directed directive_acknowledged" {
				t.Errorf("history %s", got)
			}
			events, err := w.h.Events(t.Context(), s.Message.ID)
			if err != nil {
				t.Fatal(err)
			}
			all, _ := json.Marshal(events)
			var words string
			for _, e := range events {
				words += string(e.Content)
			}
			if found := strings.Contains(words, "Skip the tests") && strings.Contains(words, "done so"); found == sensitive {
				t.Errorf("sensitive %v: %s", sensitive, all)
			}
			// The message may go before the directive is taken.
			o = w.direct(hub.Direction{About: s.Message.ID, Body: "more"})
			w.inbox(deploybot, 0)
			w.stopOutbox()
			if n, err := w.s.Purge(t.Context(), time.Now().Add(24*time.Hour), time.Hour, 10); n != 1 || err != nil {
				t.Fatalf("purged %d, %v", n, err)
			}
			if n := w.inboxAck(deploybot, `{"ids":[%q]}`, o.ID); n != 1 {
				t.Errorf("acked %d after its message was purged", n)
			}
		})
	}
}

// What is not acknowledged comes again after the visibility timeout, signed anew,
// until it is over.
func TestInboxRedelivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inboxes)
		w.stopOutbox()
		start := time.Now()
		o := w.direct(hub.Direction{Body: "one", Expires: start.Add(3 * time.Minute)})
		var signatures []string
		for range 3 {
			entries, err := w.h.Inbox(t.Context(), w.agent(deploybot), 10, time.Hour)
			if err != nil || len(entries) != 1 {
				t.Fatalf("inbox %v, %v", entries, err)
			}
			signatures = append(signatures, entries[0].Signature)
		}
		if took := time.Since(start); took != 2*hub.VisibilityTimeout {
			t.Errorf("three times in %s", took)
		}
		if s := slices.Compact(slices.Sorted(slices.Values(signatures))); len(s) != 3 {
			t.Errorf("signatures %q", s)
		}
		if entries, err := w.h.Inbox(t.Context(), w.agent(deploybot), 10, time.Hour); len(entries) != 0 || err != nil || time.Since(start) != 2*hub.VisibilityTimeout+time.Hour {
			t.Errorf("after its time: %v, %v", entries, err)
		}
		if n := w.inboxAck(deploybot, `{"ids":[%q]}`, o.ID); n != 0 {
			t.Errorf("acked %d after its time", n)
		}
		if s := w.sent("alice")[0]; s.State != hub.DirectiveBounced {
			t.Errorf("state %s", s.State)
		}
		w.direct(hub.Direction{Body: "two", Expires: time.Now().Add(time.Minute)})
		time.Sleep(2 * time.Minute)
		if s := w.sent("alice")[0]; s.State != hub.DirectiveExpired {
			t.Errorf("state %s", s.State)
		}
		// Without a time of its own it lasts as long as the inbox keeps things.
		w.direct(hub.Direction{Body: "three"})
		time.Sleep(30*24*time.Hour - time.Second)
		if got := w.inbox(deploybot, 0); titles(got) != "three" {
			t.Errorf("inbox %s", titles(got))
		}
		time.Sleep(time.Minute)
		if got := w.inbox(deploybot, 0); titles(got) != "" {
			t.Errorf("inbox %s", titles(got))
		}
	})
}

// A parked drain wakes with what is written, gives nothing to somebody else's,
// and keeps the order.
func TestInboxWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, inboxes)
		type drained struct {
			titles string
			after  time.Duration
		}
		got := map[string]chan drained{deploybot: make(chan drained, 1), "other/bot": make(chan drained, 1)}
		start := time.Now()
		for agent, c := range got {
			go func() {
				list := w.inbox(agent, 30*time.Second)
				c <- drained{titles(list), time.Since(start)}
			}()
		}
		time.Sleep(5 * time.Second)
		w.direct(hub.Direction{Body: "first"})
		if d := <-got[deploybot]; d != (drained{"first", 5 * time.Second}) {
			t.Errorf("deploybot got %+v", d)
		}
		if d := <-got["other/bot"]; d != (drained{"", 30 * time.Second}) {
			t.Errorf("the other got %+v", d)
		}
		for i := range 40 {
			w.direct(hub.Direction{Body: fmt.Sprintf("%02d", i)})
		}
		for _, want := range []string{"00, 01, 02, 03, 04, 05, 06, 07, 08, 09", "10, 11, 12, 13, 14, 15, 16, 17, 18, 19"} {
			if got := titles(w.inbox(deploybot, time.Minute)); got != want {
				t.Errorf("a batch of %s", got)
			}
		}
		if all, err := w.h.Inbox(t.Context(), w.agent(deploybot), 1000, 0); err != nil || len(all) != 20 {
			t.Errorf("a large batch: %d, %v", len(all), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.direct(hub.Direction{Body: "last"})
		if list, err := w.h.Inbox(ctx, w.agent(deploybot), 10, time.Minute); len(list) != 0 || err != nil {
			t.Errorf("for somebody who has left: %v, %v", list, err)
		}
		if s := w.sent("alice")[0]; s.State != hub.DirectiveQueued {
			t.Errorf("the last is %s, though nobody got it", s.State)
		}
		w.stop()
	})
}

// Nobody gets at another's inbox, and nothing is acknowledged unseen.
func TestInboxIsOnesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	o := w.direct(hub.Direction{Body: "go"})
	if n := w.inboxAck(deploybot, `{"ids":[%q]}`, o.ID); n != 0 {
		t.Errorf("acked %d before it was given out", n)
	}
	if got := w.inbox("other/bot", 0); len(got) != 0 {
		t.Errorf("the other got %s", titles(got))
	}
	w.inbox(deploybot, 0)
	if n := w.inboxAck("other/bot", `{"ids":[%q],"note":"mine"}`, o.ID); n != 0 {
		t.Errorf("the other acked %d", n)
	}
	if s := w.sent("alice")[0]; s.State != hub.DirectiveDelivered || s.AckNote != "" {
		t.Errorf("sent %+v", s)
	}
	if got := w.sent("bob"); len(got) != 0 {
		t.Errorf("bob sees %+v", got)
	}
}

func TestInboxAckRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	ids := `["x"` + strings.Repeat(`,"x"`, 1000) + `]`
	for _, tt := range []struct{ body, want string }{
		{"", "validation_error "},
		{"[]", "validation_error "},
		{"{}", "validation_error ids"},
		{`{"ids":"dir_x"}`, "validation_error ids"},
		{`{"ids":[7]}`, "validation_error ids"},
		{`{"ids":null}`, "validation_error ids"},
		{`{"ids":[],"note":7}`, "validation_error note"},
		{`{"ids":` + ids + `}`, "invalid_field ids"},
		{`{"ids":[],"ids":[]}`, "validation_error "},
	} {
		if _, err := w.h.InboxAck(t.Context(), w.agent(deploybot), []byte(tt.body)); codeAndField(err) != tt.want {
			t.Errorf("%.30s: %v, want %s", tt.body, err, tt.want)
		}
	}
	if n := w.inboxAck(deploybot, `{"ids":[]}`); n != 0 {
		t.Errorf("acked %d", n)
	}
}

// An agent that takes nothing out keeps nobody's disk full, and an inbox that no
// key signs gives nothing out.
func TestInboxLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	for i := range hub.MaxWaiting {
		if o := w.direct(hub.Direction{Body: fmt.Sprint(i)}); o.Kind != hub.Accepted {
			t.Fatalf("%d: %+v", i, o)
		}
	}
	if o := w.direct(hub.Direction{Body: "more"}); o.Kind != hub.Refused || o.Reason != hub.ReasonInboxFull {
		t.Errorf("outcome %+v", o)
	}
	if o := w.direct(hub.Direction{AgentID: "other/bot"}); o.Kind != hub.Accepted {
		t.Errorf("to another: %+v", o)
	}
	d := directory()
	inboxes(d)
	d.Agents[deploybot].InboxKey = hub.Secret{}
	w.h.SetDirectory(d)
	if list, err := w.h.Inbox(t.Context(), w.agent(deploybot), 10, 0); len(list) != 0 || hub.CodeOf(err) != ma2h.CodeUnavailable {
		t.Errorf("without a key: %v, %v", list, err)
	}
	if s := w.sent("alice")[9]; s.State != hub.DirectiveQueued {
		t.Errorf("state %s", s.State)
	}
}

// The title of what has none.
func TestTitleOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inboxes)
	long := strings.Repeat("é", 250)
	for _, tt := range []struct{ in, title, body string }{
		{"one line", "one line", ""},
		{"  first \t line \r\n\n rest  ", "first line", "rest"},
		{long, strings.Repeat("é", 199) + "…", long},
		{long + "\nrest", strings.Repeat("é", 199) + "…", long + "\nrest"},
	} {
		w.direct(hub.Direction{Body: tt.in})
		if got := w.sent("alice")[0]; got.Title != tt.title || got.Body != tt.body {
			t.Errorf("%.20q: title %.30q, body %.30q", tt.in, got.Title, got.Body)
		}
	}
}

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
