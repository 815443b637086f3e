package hub_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

var noteSchema = doc{
	"type": "object", "required": []string{"note"},
	"properties": doc{"note": doc{"type": "string", "minLength": 2}, "risk": doc{"type": "string", "default": "low"}},
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	input := func(d doc) { d["request"] = doc{"mode": "input", "schema": noteSchema} }
	confirm := func(d doc) { d["request"] = doc{"mode": "confirm"} }
	permit := func(k string) func(doc) {
		return func(d doc) { d.in("request")["permissions"] = doc{k: false} }
	}
	task := func(d doc) {
		delete(d, "request")
		d["type"] = "task"
		d["action"] = doc{"instructions": "Rotate the key.", "checklist": []doc{{"text": "Generate"}, {"text": "Store", "done": true}}}
	}
	list := []ma2h.ChecklistItem{{Text: "Generate", Done: true}, {Text: "Store", Done: false}}
	tests := []struct {
		name   string
		ask    func(doc)
		answer hub.Answer
		want   string // outcome, reason, first field error
		value  string // of the Response
		status ma2h.Status
	}{
		{"by position", nil, hub.Answer{Option: 2}, "accepted", `"hold"`, ma2h.Answered},
		{"by value", nil, hub.Answer{Value: jsontext.Value(`"ship"`), Comment: " Go. "}, "accepted", `"ship"`, ma2h.Answered},
		{"by escaped value", nil, hub.Answer{Value: jsontext.Value(`"\u0073hip"`)}, "accepted", `"ship"`, ma2h.Answered},
		{"not an option", nil, hub.Answer{Value: jsontext.Value(`"later"`)}, "unclear invalid value is not one of the options (ship, hold)", "", ma2h.Open},
		{"label instead of value", nil, hub.Answer{Value: jsontext.Value(`"Ship to prod now"`)}, "unclear invalid value is not one of the options (ship, hold)", "", ma2h.Open},
		{"position out of range", nil, hub.Answer{Option: 3}, "unclear invalid value is not one of the options", "", ma2h.Open},
		{"nothing chosen", nil, hub.Answer{}, "unclear invalid value must be one of the options (ship, hold)", "", ma2h.Open},
		{"confirm", confirm, hub.Answer{Option: 1}, "accepted", `"approve"`, ma2h.Answered},
		{"confirm denied", confirm, hub.Answer{Value: jsontext.Value(`"deny"`)}, "accepted", `"deny"`, ma2h.Answered},
		{"input by form", input, hub.Answer{Fields: map[string]string{"note": "Faster", "risk": ""}}, "accepted", `{"note":"Faster"}`, ma2h.Answered},
		{"input by value", input, hub.Answer{Value: jsontext.Value(`{"note":"Faster","risk":"low"}`)}, "accepted", `{"note":"Faster","risk":"low"}`, ma2h.Answered},
		{"input that does not fit", input, hub.Answer{Fields: map[string]string{"note": "F"}}, "unclear invalid note must have at least 2 characters", "", ma2h.Open},
		{"input that is a string", input, hub.Answer{Value: jsontext.Value(`"x"`)}, "unclear invalid value must be an object with the fields of the form", "", ma2h.Open},
		{
			"edit not allowed", func(d doc) { input(d); permit("allow_edit")(d) },
			hub.Answer{Fields: map[string]string{"note": "Faster", "risk": "high"}},
			"unclear invalid risk can't be changed: the agent proposed it and does not allow edits", "", ma2h.Open,
		},
		{"decline", nil, hub.Answer{Verb: hub.VerbDecline, Comment: "Not today."}, "accepted", "", ma2h.Declined},
		{"decline with a value", nil, hub.Answer{Verb: hub.VerbDecline, Option: 1}, "unclear invalid value goes with an answer only", "", ma2h.Open},
		{"answer not allowed", permit("allow_respond"), hub.Answer{Option: 1}, "refused answer_not_allowed", "", ma2h.Open},
		{"decline not allowed", permit("allow_ignore"), hub.Answer{Verb: hub.VerbDecline}, "refused decline_not_allowed", "", ma2h.Open},
		{"completing an ask", nil, hub.Answer{Verb: hub.VerbComplete}, "refused wrong_verb", "", ma2h.Open},
		{"comment too long", nil, hub.Answer{Option: 1, Comment: strings.Repeat("é", 10001)}, "unclear invalid comment has 10001 characters, the limit is 10000", "", ma2h.Open},
		{"comment that is no text", nil, hub.Answer{Option: 1, Comment: "\xff"}, "unclear invalid comment is not valid UTF-8", "", ma2h.Open},
		{"checklist on an ask", nil, hub.Answer{Option: 1, Checklist: list}, "unclear invalid checklist goes with a task only", "", ma2h.Open},
		{"done", task, hub.Answer{Verb: hub.VerbComplete, Checklist: list}, "accepted", "", ma2h.Completed},
		{"can't do", task, hub.Answer{Verb: hub.VerbDismiss, Comment: "No access."}, "accepted", "", ma2h.Dismissed},
		{"tick", task, hub.Answer{Verb: hub.VerbTick, Checklist: list}, "accepted", "", ma2h.Open},
		{"tick nothing", task, hub.Answer{Verb: hub.VerbTick}, "unclear invalid checklist is missing", "", ma2h.Open},
		{"another checklist", task, hub.Answer{Verb: hub.VerbComplete, Checklist: list[:1]}, "unclear invalid checklist has 1 items, the task has 2", "", ma2h.Open},
		{"answering a task", task, hub.Answer{Option: 1}, "refused wrong_verb", "", ma2h.Open},
		{"not asked", nil, hub.Answer{Actor: "human:carol", Option: 1}, "refused not_found", "", ma2h.Open},
		{"not in the directory", nil, hub.Answer{Actor: "human:zoe", Option: 1}, "refused unknown_person", "", ma2h.Open},
		{"reached but not asked", func(d doc) { d["tags"] = []string{"closed"} }, hub.Answer{Option: 1}, "refused not_allowed", "", ma2h.Open},
		{
			"a list beats the route", func(d doc) { d.in("request")["allowed_resolvers"] = []string{"human:bob"} },
			hub.Answer{Option: 1},
			"refused not_allowed", "", ma2h.Open,
		},
		{
			"on the list", func(d doc) { d.in("request")["allowed_resolvers"] = []string{"human:carol"} },
			hub.Answer{Actor: "human:carol", Option: 1},
			"accepted", `"ship"`, ma2h.Answered,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			id := w.submit(ask(tt.ask)).Message.ID
			a := tt.answer
			a.MessageID = id
			o := w.answer(a)
			got := string(o.Kind)
			if o.Reason != "" {
				got += " " + string(o.Reason)
			}
			if len(o.Fields) > 0 {
				got += " " + o.Fields[0].Field + " " + o.Fields[0].Msg
			}
			if got != tt.want {
				t.Errorf("outcome %q, want %q", got, tt.want)
			}
			m := w.message(id)
			if m.Status != tt.status {
				t.Fatalf("status %s, want %s", m.Status, tt.status)
			}
			w.kinds(id)
			if m.Status == ma2h.Open {
				return
			}
			r := w.response(id)
			actor := a.Actor
			if actor == "" {
				actor = "human:alice"
			}
			if string(r.Response.Value) != tt.value || r.Response.Actor != actor || r.Resolution != tt.status ||
				r.ResolutionID != o.ResolutionID || r.InReplyTo != id || r.Response.Comment != strings.TrimSpace(a.Comment) {
				t.Errorf("response %s", m.Response)
			}
			if a.Checklist != nil && !slices.Equal(r.Response.Checklist, a.Checklist) {
				t.Errorf("checklist %v", r.Response.Checklist)
			}
		})
	}
}

// A channel has a step's text with secrets masked; the Response has it whole.
func TestChecklistWithSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	step := "Revoke ghp_" + strings.Repeat("a1B2", 9)
	id := w.submit(message("task", func(d doc) {
		d["action"] = doc{"instructions": "x", "checklist": []doc{{"text": step}}}
	})).Message.ID
	card, err := w.h.Desk("web").Card(t.Context(), id, "alice", hub.Page)
	if err != nil || card.Checklist[0].Text != "Revoke "+hub.Mask || card.Masked != 1 {
		t.Fatalf("card %+v, %v", card, err)
	}
	for _, verb := range []hub.Verb{hub.VerbTick, hub.VerbComplete} {
		list := []ma2h.ChecklistItem{{Text: card.Checklist[0].Text, Done: true}}
		if o := w.answer(hub.Answer{MessageID: id, Verb: verb, Checklist: list}); o.Kind != hub.Accepted {
			t.Fatalf("%s: %+v", verb, o)
		}
	}
	if got := w.response(id).Response.Checklist; len(got) != 1 || got[0].Text != step || !got[0].Done {
		t.Errorf("the agent has %+v", got)
	}
}

// What was ticked while a task was open is in its Response, also when whoever
// ends it says nothing of the list.
func TestTicksReachTheAgent(t *testing.T) {
	t.Parallel()
	for _, verb := range []hub.Verb{hub.VerbComplete, hub.VerbDismiss} {
		w := newWorld(t, nil)
		id := w.submit(message("task", func(d doc) {
			d["action"] = doc{"instructions": "x", "checklist": []doc{{"text": "one"}, {"text": "two"}}}
		})).Message.ID
		list := []ma2h.ChecklistItem{{Text: "one", Done: true}, {Text: "two"}}
		w.answer(hub.Answer{MessageID: id, Verb: hub.VerbTick, Checklist: slices.Clone(list)})
		w.answer(hub.Answer{MessageID: id, Actor: "human:bob", Verb: verb})
		if got := w.response(id).Response.Checklist; !slices.Equal(got, list) {
			t.Errorf("%s: %+v", verb, got)
		}
	}
}

// Whoever clicks in a shared place has seen the message, and is told who may
// answer it; by another way it does not exist for them (rule 4).
func TestBystander(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(chatty)).Message.ID
	for channel, want := range map[string]hub.Reason{"chat": hub.ReasonNotAllowed, "web": hub.ReasonNotFound} {
		o, err := w.h.Desk(channel).Answer(t.Context(), hub.Answer{MessageID: id, Actor: "human:carol", Verb: hub.VerbAnswer, Option: 1})
		if err != nil || o.Kind != hub.Refused || o.Reason != want || (len(o.May) == 2) != (want == hub.ReasonNotAllowed) {
			t.Errorf("%s: %+v, %v", channel, o, err)
		}
	}
}

// A proposal that the card shows masked goes back as it was proposed.
func TestMaskedProposal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	id := w.submit(ask(func(d doc) {
		d["request"] = doc{"mode": "input", "permissions": doc{"allow_edit": false}, "schema": doc{"type": "object", "properties": doc{
			"token": doc{"type": "string", "default": secret},
			"pin":   doc{"type": "string", "default": "1234", "x-ma2h-sensitive": true},
		}}}
	})).Message.ID
	card, err := w.h.Desk("web").Card(t.Context(), id, "alice", hub.Page)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for _, f := range card.Fields {
		if fields[f.Name] = f.Default; f.Default != hub.Mask {
			t.Errorf("%s is shown as %q", f.Name, f.Default)
		}
	}
	fields["pin"] = "" // a password field comes back empty
	if o := w.answer(hub.Answer{MessageID: id, Fields: fields}); o.Kind != hub.Accepted {
		t.Fatalf("outcome %+v", o)
	}
	if r := w.response(id); string(r.Response.Value) != `{"pin":"1234","token":"`+secret+`"}` || r.Response.Edited {
		t.Errorf("the agent has %s, edited %v", r.Response.Value, r.Response.Edited)
	}
}

func TestEditedFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for value, want := range map[string]bool{`{"note":"ab","risk":"low"}`: false, `{"note":"ab","risk":"high"}`: true} {
		id := w.submit(ask(func(d doc) { d["request"] = doc{"mode": "input", "schema": noteSchema} })).Message.ID
		w.answer(hub.Answer{MessageID: id, Value: jsontext.Value(value)})
		if r := w.response(id); r.Response.Edited != want {
			t.Errorf("%s: edited %v", value, r.Response.Edited)
		}
	}
}

// A late answer changes nothing and is told who answered what (rule 2).
func TestLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil)).Message.ID
	first := w.answer(hub.Answer{MessageID: id, Option: 2, Comment: "Wait."})
	before := string(w.message(id).Response)
	o := w.answer(hub.Answer{MessageID: id, Actor: "human:bob", Option: 1})
	d := o.Decision
	if o.Kind != hub.AlreadyResolved || o.ResolutionID != first.ResolutionID || d == nil || d.ActorName != "Alice Ng" ||
		d.Choice != "Hold for review" || d.Option != 2 || d.Comment != "Wait." || d.Via != "web" {
		t.Errorf("outcome %+v, decision %+v", o, d)
	}
	if after := string(w.message(id).Response); after != before {
		t.Errorf("the Response changed: %s", after)
	}
	if got := w.kinds(id); !slices.Contains(got, "late") {
		t.Errorf("history %q", got)
	}
}

// A repeated receipt returns the first outcome and has no second effect.
func TestReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil)).Message.ID
	a := hub.Answer{MessageID: id, Option: 2, Receipt: hub.Receipt{Key: "form 1", Evidence: []byte(`{"by":"link"}`)}}
	first := w.answer(a)
	a.Option = 1
	again := w.answer(a)
	if !again.Repeated || again.Kind != hub.Accepted || again.ResolutionID != first.ResolutionID || again.Decision.Choice != "Hold for review" {
		t.Errorf("again %+v", again)
	}
	if n := strings.Count(strings.Join(w.kinds(id), " "), "answered"); n != 1 {
		t.Errorf("%d answers in the history", n)
	}

	id = w.submit(ask(nil)).Message.ID
	unclear := hub.Answer{MessageID: id, Option: 9, Receipt: hub.Receipt{Key: "mail 1"}}
	w.answer(unclear)
	unclear.Option = 1
	if o := w.answer(unclear); o.Kind != hub.Unclear || !o.Repeated {
		t.Errorf("a mail that was unclear answers when it comes again: %+v", o)
	}
	stray := hub.Answer{MessageID: "msg_none", Option: 1, Receipt: hub.Receipt{Key: "mail 2", Cursor: &hub.Cursor{Channel: "web", Key: "uid", Value: "2"}}}
	for _, repeated := range []bool{false, true} {
		if o := w.answer(stray); o.Kind != hub.Refused || o.Reason != hub.ReasonNotFound || o.Repeated != repeated {
			t.Errorf("to nothing: %+v", o)
		}
	}
	if at, err := w.s.GetState(t.Context(), "web", "uid"); at != "2" || err != nil {
		t.Errorf("a mail to nothing comes for ever: cursor %q, %v", at, err)
	}
	form := hub.Answer{MessageID: id, Option: 9, Receipt: hub.Receipt{Key: "form 2", Reusable: true}}
	w.answer(form)
	form.Option = 1
	if o := w.answer(form); o.Kind != hub.Accepted {
		t.Errorf("a form that was mended: %+v", o)
	}
}

// Every copy tells the truth (rule 13), also one that is posted while the
// answer comes in.
func TestCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		chatty := func(d doc) { delete(d, "tags") }
		id := w.submit(ask(chatty)).Message.ID
		synctest.Wait()
		if got := w.chat.seen(); len(got) != 1 {
			t.Fatalf("copies %q", got)
		}
		w.answer(hub.Answer{MessageID: id, Option: 2, Comment: "Wait."})
		synctest.Wait()
		for ref, text := range w.chat.seen() {
			if text != `answered: Hold for review by Alice Ng via web "Wait."` {
				t.Errorf("copy %s: %s", ref, text)
			}
		}

		w.chat.gate = make(chan struct{})
		id = w.submit(ask(chatty)).Message.ID
		synctest.Wait() // the post has begun and hangs
		w.answer(hub.Answer{MessageID: id, Option: 1})
		close(w.chat.gate)
		synctest.Wait()
		for ref, text := range w.chat.seen() {
			if !strings.HasPrefix(text, "answered: ") {
				t.Errorf("copy %s: %s", ref, text)
			}
		}
		if got := len(w.chat.seen()); got != 2 {
			t.Errorf("%d copies", got)
		}
		w.stop()
	})
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		change    func(doc)
		defaulted bool
		value     string
		actor     string
	}{
		{"default", func(d doc) { d.in("request")["default_on_expire"] = "hold" }, true, `"hold"`, "system:default_on_expire"},
		{"null", func(d doc) { d.in("request")["default_on_expire"] = nil }, false, "", "system:expiry"},
		{"none", nil, false, "", "system:expiry"},
		{"object", func(d doc) {
			d["request"] = doc{"mode": "input", "schema": noteSchema, "default_on_expire": doc{"note": "ok"}}
		}, true, `{"note":"ok"}`, "system:default_on_expire"},
		{"task", func(d doc) {
			delete(d, "request")
			d["type"], d["action"] = "task", doc{"instructions": "x"}
		}, false, "", "system:expiry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				expires := time.Now().Add(time.Hour)
				id := w.submit(ask(func(d doc) {
					if tt.change != nil {
						tt.change(d)
					}
					d["expires_at"] = ma2h.FormatTime(expires)
				})).Message.ID
				time.Sleep(time.Hour)
				synctest.Wait()
				if s := w.message(id).Status; s != ma2h.Open {
					t.Fatalf("at expires_at it is %s", s)
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				r := w.response(id)
				if r.Resolution != ma2h.Expired || r.Defaulted != tt.defaulted || string(r.Response.Value) != tt.value || r.Response.Actor != tt.actor {
					t.Errorf("response %s", w.message(id).Response)
				}
				w.stop()
			})
		})
	}
}

// An answer at expires_at beats the default; after it it loses, also when
// nobody has run the expiry yet.
func TestAnswerAtExpiry(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, time.Millisecond} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				expires := time.Now().Add(time.Hour)
				id := w.submit(ask(func(d doc) {
					d.in("request")["default_on_expire"] = "hold"
					d["expires_at"] = ma2h.FormatTime(expires)
				})).Message.ID
				synctest.Wait()
				w.stopOutbox()
				time.Sleep(time.Until(expires) + late)
				o := w.answer(hub.Answer{MessageID: id, Option: 1})
				r := w.response(id)
				if late == 0 {
					if o.Kind != hub.Accepted || string(r.Response.Value) != `"ship"` || r.Defaulted {
						t.Errorf("%+v, %s", o, w.message(id).Response)
					}
				} else if o.Kind != hub.AlreadyResolved || o.Status != ma2h.Expired || !o.Decision.Defaulted || o.Decision.Choice != "Hold for review" || !r.Defaulted {
					t.Errorf("%+v, %s", o, w.message(id).Response)
				}
				w.kinds(id)
				w.stop()
			})
		})
	}
}

// Two answers to one ask at once: one winner, one resolution_id, and the loser
// is told who won.
func TestAnswerRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	people, agents := 0, 0
	defer func() { t.Logf("won by people %d, by agents %d", people, agents) }()
	for range rounds(t, 200) {
		id := w.submit(ask(func(d doc) { d.in("request")["allowed_resolvers"] = []string{"human:alice", "agent:" + deploybot} })).Message.ID
		var wg sync.WaitGroup
		var human hub.Outcome
		var err error
		start := make(chan struct{})
		wg.Go(func() {
			<-start
			human = w.answer(hub.Answer{MessageID: id, Option: 1})
		})
		wg.Go(func() {
			<-start
			_, err = w.h.Resolve(t.Context(), w.agent(deploybot), id, []byte(`{"resolution":"answered","value":"hold"}`))
		})
		close(start)
		wg.Wait()
		r := w.response(id)
		switch {
		case human.Kind == hub.Accepted && hub.CodeOf(err) == ma2h.CodeAlreadyTerminal:
			people++
			if string(r.Response.Value) != `"ship"` {
				t.Fatalf("alice won and the value is %s", r.Response.Value)
			}
		case human.Kind == hub.AlreadyResolved && err == nil:
			agents++
			if string(r.Response.Value) != `"hold"` || human.Decision.ActorName != deploybot {
				t.Fatalf("the agent won: %s, alice was told %+v", r.Response.Value, human.Decision)
			}
		default:
			t.Fatalf("alice %+v, agent %v", human, err)
		}
		if human.ResolutionID != r.ResolutionID {
			t.Fatalf("two resolution ids: %s, %s", human.ResolutionID, r.ResolutionID)
		}
		if n := strings.Count(strings.Join(w.kinds(id), " "), "answered"); n != 1 {
			t.Fatalf("%d answers in the history", n)
		}
	}
}

func TestStateIsUntouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	raw := ask(nil).raw()
	raw = append(raw[:len(raw)-1], `, "state" : {"b" : 1.0,  "a":"<\u00e9>", "n":1e2 } }`...)
	s, err := w.h.Submit(t.Context(), w.agent(deploybot), raw)
	if err != nil {
		t.Fatal(err)
	}
	w.answer(hub.Answer{MessageID: s.Message.ID, Option: 1})
	m := w.message(s.Message.ID)
	const state = `{"b" : 1.0,  "a":"<\u00e9>", "n":1e2 }`
	if !strings.Contains(string(m.Response), `"state":`+state) {
		t.Errorf("response %s", m.Response)
	}
	body, err := w.h.Body(t.Context(), m, false)
	if err != nil || strings.Count(string(body), state) != 2 || !json.Valid(body) {
		t.Errorf("body %s, %v", body, err)
	}
}
