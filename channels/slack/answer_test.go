package slack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// detail is what the agent gets.
func (o *office) detail(id string, want ma2h.Status) *ma2h.Detail {
	o.t.Helper()
	r := o.response(id)
	if r.Resolution != want {
		o.t.Fatalf("resolution %s, want %s", r.Resolution, want)
	}
	return r.Response
}

func TestClickAnswers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(nil))
		o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 2})
		d := o.detail(id, ma2h.Answered)
		if string(d.Value) != `"hold"` || d.Actor != "human:alice" {
			t.Errorf("got %s by %s", d.Value, d.Actor)
		}
		note := o.told("alice", "Recorded: Hold for review")
		if note.Message.EphemeralTo != aliceUser {
			t.Error("the outcome of a click in a channel is not private")
		}
		_, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool {
			return m.TS == c.TS && strings.Contains(m.Text, "Hold for review — Alice Ng")
		})
		if err != nil {
			t.Errorf("the copy does not tell the truth: %v", err)
		}
		events, err := o.h.Events(o.ctx(), id)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(events, func(e hub.Event) bool { return e.Kind == "answered" })
		if i < 0 || !strings.Contains(string(events[i].Content), `"team":"T0HUBTEAM1"`) || strings.Contains(string(events[i].Content), "actions/") {
			t.Errorf("evidence: %s", events[max(i, 0)].Content)
		}
	})
}

func TestLateClickIsToldTheSameFacts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(nil))
		o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 2})
		o.response(id)
		o.click("bob", c, action{Kind: kindAnswer, MessageID: id, Option: 1}, fakeslack.Stale(c))
		s := o.told("bob", "Alice Ng answered Hold for review", "in Slack", "changed nothing")
		if s.Message.EphemeralTo != bobUser {
			t.Error("the note is not private")
		}
		// A form's button on the same stale copy says the same.
		o.click("bob", c, action{Kind: kindDecline, MessageID: id}, fakeslack.Stale(c))
		o.toldTimes("bob", "changed nothing", 2)
	})
}

func TestExpired(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(func(e envelope) {
			e["expires_at"] = time.Now().Add(1500 * time.Millisecond).UTC().Format(time.RFC3339Nano)
			e["request"].(envelope)["default_on_expire"] = "hold"
		}))
		o.detail(id, ma2h.Expired)
		o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1}, fakeslack.Stale(c))
		o.told("alice", "Expired", "Hold for review was applied", "changed nothing")
	})
}

func TestMenuAndConfirm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(newEnvelope("ask", func(e envelope) {
			var options []envelope
			for _, v := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				options = append(options, envelope{"value": v, "label": "Choice " + v})
			}
			e["request"] = envelope{"mode": "select", "options": options}
		}))
		if _, err := o.person("bob").Select(o.ctx(), c.Channel, c.TS, action{Kind: kindChoose, MessageID: id}.id(), "6"); err != nil {
			t.Fatal(err)
		}
		if d := o.detail(id, ma2h.Answered); string(d.Value) != `"f"` || d.Actor != "human:bob" {
			t.Errorf("got %s by %s", d.Value, d.Actor)
		}
		o.told("bob", "Recorded: Choice f")

		id, c = o.ask(newEnvelope("ask", func(e envelope) {
			e["request"] = envelope{"mode": "confirm", "options": []envelope{{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}}}
			e["tags"] = []string{"dm"}
		}))
		o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
		if d := o.detail(id, ma2h.Answered); string(d.Value) != `"approve"` {
			t.Errorf("got %s", d.Value)
		}
		o.told("alice", "Recorded: Approve")
	})
}

func TestFormShowsErrorsAtItsFields(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(formAsk(nil))
		o.click("alice", c, action{Kind: kindForm, MessageID: id})
		v := o.modal("alice", "Release note")
		s := o.fill("alice", v, map[string]any{"f2": "NOT LIKE THIS", "comment": "careful"})
		if s.Errors["f2"] == "" || s.View == nil || s.View.ID != v.ID {
			t.Fatalf("errors %v, view %v: want one at the field, and the form", s.Errors, s.View)
		}
		o.open(id)
		s = o.fill("alice", v, map[string]any{"f2": "like this", "f1": "12"})
		if s.Errors != nil {
			t.Fatalf("errors: %v", s.Errors)
		}
		d := o.detail(id, ma2h.Answered)
		if string(d.Value) != `{"count":12,"note":"like this"}` && string(d.Value) != `{"note":"like this","count":12}` || d.Comment != "careful" {
			t.Errorf("got %s %q", d.Value, d.Comment)
		}
		o.told("alice", "Recorded: count: 12; Release note: like this")
	})
}

func TestCommentAndDecline(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(nil))
		o.click("alice", c, action{Kind: kindForm, MessageID: id})
		o.fill("alice", o.modal("alice", blockChoice), map[string]any{blockChoice: "3", blockComment: "The migration is wrong."})
		if d := o.detail(id, ma2h.Answered); string(d.Value) != `"abort"` || d.Comment != "The migration is wrong." {
			t.Errorf("got %s %q", d.Value, d.Comment)
		}
		id, c = o.ask(shipAsk(nil))
		o.click("bob", c, action{Kind: kindDecline, MessageID: id})
		o.fill("bob", o.modal("bob", "Reason"), map[string]any{blockComment: "Not mine."})
		if d := o.detail(id, ma2h.Declined); d.Comment != "Not mine." || d.Actor != "human:bob" {
			t.Errorf("got %+v", d)
		}
		o.told("bob", "Recorded: declined")
	})
}

func TestTask(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(keyTask(nil))
		boxes := action{Kind: kindTick, MessageID: id, Option: 1}
		if _, err := o.person("alice").Select(o.ctx(), c.Channel, c.TS, boxes.id(), []string{"2"}); err != nil {
			t.Fatal(err)
		}
		if list := o.message(id).Checklist; len(list) != 2 || list[0].Done || !list[1].Done {
			t.Errorf("the tick was not saved: %v", list)
		}
		o.open(id)
		// Bob, who looks at the same copy, sees it.
		after, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool { return m.TS == c.TS && m.Revision > c.Revision })
		if err != nil || !strings.Contains(jsonOf(t, after.Blocks), "initial_options") {
			t.Errorf("the copy does not show the tick: %v", err)
		}
		o.click("bob", after, action{Kind: kindDone, MessageID: id})
		d := o.detail(id, ma2h.Completed)
		if d.Actor != "human:bob" || len(d.Checklist) != 2 || !d.Checklist[1].Done {
			t.Errorf("got %+v", d)
		}
		o.told("bob", "Recorded: done")

		id, c = o.ask(keyTask(nil))
		o.click("bob", c, action{Kind: kindCant, MessageID: id})
		o.fill("bob", o.modal("bob", "Reason"), map[string]any{blockComment: "No access."})
		if d := o.detail(id, ma2h.Dismissed); d.Comment != "No access." {
			t.Errorf("got %+v", d)
		}
		id, c = o.ask(keyTask(nil))
		o.click("alice", c, action{Kind: kindForm, MessageID: id})
		o.fill("alice", o.modal("alice", blockEnding), map[string]any{blockChecks + "1": []string{"1", "2"}, blockEnding: endDone, blockComment: "Both."})
		if d := o.detail(id, ma2h.Completed); d.Comment != "Both." || !d.Checklist[0].Done || !d.Checklist[1].Done {
			t.Errorf("got %+v", d)
		}
	})
}

func TestWhoMayNot(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(tagged("solo")))
		o.click("bob", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
		s := o.told("bob", "Only Alice Ng can answer this")
		if s.Message.EphemeralTo != bobUser {
			t.Error("the refusal is not private")
		}
		o.click("bob", c, action{Kind: kindForm, MessageID: id})
		o.click("gina", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
		o.told("gina", "not in this hub's directory", "ask the operator", "U0GUEST001")
		o.write("gina", c, "1")
		o.write("bob", c, "ship")
		o.open(id)

		id2, c2 := o.ask(shipAsk(tagged("shared")))
		o.click("carol", c2, action{Kind: kindAnswer, MessageID: id2, Option: 1})
		s = o.told("carol", "another workspace", "Nothing has been recorded")
		if s.Message.EphemeralTo != "U0EXTERN01" {
			t.Error("the refusal is not private")
		}
		o.write("carol", c2, "ship")
		o.click("alice", c2, action{Kind: kindAnswer, MessageID: id2, Option: 1})
		o.response(id2)
		o.open(id)
		// Nobody was burnt by it: the right person still answers (MCPJam#3669).
		o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
		o.detail(id, ma2h.Answered)
		for _, who := range []string{"gina", "carol"} {
			o.toldTimes(who, "Nothing has been recorded", 2) // to a click, and to a reply
		}
	})
}

func TestSensitive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(func(e envelope) { e["sensitive"] = true }))
		if strings.Contains(jsonOf(t, c.Blocks), "Ship to prod now") {
			t.Fatal("the choices left the hub")
		}
		o.click("alice", c, action{Kind: kindOpen, MessageID: id})
		s := o.told("alice", "https://beckon.example.com/l/alice."+id)
		if s.Message.EphemeralTo != aliceUser {
			t.Fatal("a personal link was shown to others")
		}
		o.click("gina", c, action{Kind: kindOpen, MessageID: id})
		o.told("gina", "directory")
		if len(o.heard("gina", "/l/")) != 0 {
			t.Error("a stranger got a personal link")
		}
		o.write("bob", c, "ship, the code is hunter2")
		s = o.told("bob", "on its page only", "/l/bob."+id)
		if s.Message.EphemeralTo != bobUser {
			t.Error("the link of a reply was shown to others")
		}
		o.open(id)
		if strings.Contains(o.logs.String(), "hunter2") {
			t.Error("the text of a reply to a sensitive message was logged")
		}
	})
}

func TestThreadReplies(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(nil))
		o.write("alice", c, "hmm, what do you think?")
		help := o.told("alice", "couldn't", "1, 2 or 3", "Nothing has been recorded")
		if help.Message.ThreadTS != c.TS || help.Message.EphemeralTo != "" {
			t.Error("the first help is not a reply in the thread")
		}
		o.write("alice", c, "no, don't ship")
		o.write("alice", c, "ship if the tests pass")
		for _, quiet := range o.toldTimes("alice", "Nothing has been recorded", 3)[1:] {
			if quiet.EphemeralTo != aliceUser {
				t.Error("the next help talks over everybody")
			}
		}
		o.open(id)
		o.write("bob", c, "<@"+o.slack.App().BotUser+"> 2\nTea & <coffee> are ready, see https://example.com/a?b=1&c=2")
		d := o.detail(id, ma2h.Answered)
		if string(d.Value) != `"hold"` || d.Actor != "human:bob" || d.Comment != "Tea & <coffee> are ready, see https://example.com/a?b=1&c=2" {
			t.Errorf("got %s by %s: %q", d.Value, d.Actor, d.Comment)
		}
		o.told("bob", "Recorded: Hold for review")
		o.write("alice", c, "ship")
		o.told("alice", "Bob Roy answered Hold for review", "changed nothing")

		id, c = o.ask(shipAsk(tagged("dm")))
		o.write("alice", c, "decline\nnot mine")
		if d := o.detail(id, ma2h.Declined); d.Comment != "not mine" {
			t.Errorf("got %+v", d)
		}
		said := o.told("alice", "Recorded: declined")
		if said.Message.ThreadTS != c.TS {
			t.Error("in direct messages the outcome is not in the thread")
		}
	})
}

func TestReplyOutsideAThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(tagged("dm")))
		if _, err := o.person("alice").Reply(c.Channel, "", "ship"); err != nil {
			t.Fatal(err)
		}
		o.told("alice", "in the thread of a question", "Ship web-app 2.3?")
		o.open(id)
		// What people say to each other in a channel is none of the hub's business.
		if _, err := o.person("bob").Reply("#approvals", "", "ship"); err != nil {
			t.Fatal(err)
		}
		_, c = o.ask(shipAsk(nil))
		m, err := o.person("bob").Reply("#approvals", "", "lunch?")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.person("alice").Reply(m.Channel, m.TS, "1"); err != nil {
			t.Fatal(err)
		}
		o.write("alice", c, "2")
		o.told("alice", "Recorded: Hold")
		for _, s := range o.person("alice").Seen() {
			if s.Message.ThreadTS == m.TS && s.Message.BotID != "" {
				t.Errorf("the hub talks in somebody else's thread: %q", s.Message.Text)
			}
		}
	})
}
