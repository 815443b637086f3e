package hub_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		bot := w.agent(deploybot)
		id := w.submit(ask(nil)).Message.ID
		if _, err := w.h.Cancel(t.Context(), w.agent("other/bot"), id); hub.CodeOf(err) != ma2h.CodeNotFound {
			t.Errorf("by another agent: %v", err)
		}
		for range 2 {
			r, err := w.h.Cancel(t.Context(), bot, id)
			if err != nil || r.ID != id || r.Status != ma2h.Cancelled {
				t.Fatalf("cancel: %+v, %v", r, err)
			}
		}
		if r := w.response(id); r.Resolution != ma2h.Cancelled || r.Response.Actor != "agent:"+deploybot || r.Response.Value != nil {
			t.Errorf("response %s", w.message(id).Response)
		}
		if o := w.answer(hub.Answer{MessageID: id, Option: 1}); o.Kind != hub.AlreadyResolved || o.Decision.ActorName != deploybot {
			t.Errorf("a click on it: %+v", o)
		}

		id = w.submit(ask(nil)).Message.ID
		w.answer(hub.Answer{MessageID: id, Option: 1})
		_, err := w.h.Cancel(t.Context(), bot, id)
		if e, ok := errors.AsType[*hub.Error](err); !ok || e.Code != ma2h.CodeAlreadyTerminal || e.Message.Status != ma2h.Answered {
			t.Errorf("after an answer: %v", err)
		}

		task := func(version string) string {
			return w.submit(message("task", func(d doc) {
				d["ma2h_version"], d["action"] = version, doc{"instructions": "x"}
			})).Message.ID
		}
		if _, err := w.h.Cancel(t.Context(), bot, task("0.5")); hub.CodeOf(err) != ma2h.CodeValidation {
			t.Errorf("a task at 0.5: %v", err)
		}
		if r, err := w.h.Cancel(t.Context(), bot, task("0.1")); err != nil || r.Status != ma2h.Cancelled {
			t.Errorf("a task at 0.1: %+v, %v", r, err)
		}

		w.stopOutbox()
		id = w.submit(ask(func(d doc) { d["expires_at"] = ma2h.FormatTime(time.Now().Add(time.Minute)) })).Message.ID
		time.Sleep(time.Hour)
		_, err = w.h.Cancel(t.Context(), bot, id)
		if e, ok := errors.AsType[*hub.Error](err); !ok || e.Code != ma2h.CodeAlreadyTerminal || e.Message.Status != ma2h.Expired {
			t.Errorf("after expiry: %v", err)
		}
		if s := w.message(id).Status; s != ma2h.Expired {
			t.Errorf("the late cancel left it %s", s)
		}

		id = w.submit(ask(nil)).Message.ID
		if r, err := w.h.Withdraw(t.Context(), "ops", id); err != nil || r.Status != ma2h.Cancelled {
			t.Errorf("by the operator: %+v, %v", r, err)
		}
		if r := w.response(id); r.Response.Actor != "system:operator" {
			t.Errorf("response %s", w.message(id).Response)
		}
		w.stop()
	})
}

func TestResolveByAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	list := func(l ...string) func(doc) {
		return func(d doc) { d.in("request")["allowed_resolvers"] = l }
	}
	closed := func(d doc) { d["tags"] = []string{"closed"} }
	tests := []struct {
		name, agent, body, want string
		ask                     func(doc)
	}{
		{"the submitter where nobody was named", deploybot, `{"resolution":"answered","value":"ship"}`, "answered", closed},
		{"the submitter where the route asks people", deploybot, `{"resolution":"answered","value":"ship"}`, "not_authorized ", nil},
		{"the submitter who is not listed", deploybot, `{"resolution":"answered","value":"ship"}`, "not_authorized ", list("human:alice")},
		{"one who is listed", "other/bot", `{"resolution":"declined","comment":"no"}`, "declined", list("agent:other/bot")},
		{"one who is not", "other/bot", `{"resolution":"declined"}`, "not_found ", nil},
		{"a bad value", deploybot, `{"resolution":"answered","value":"later"}`, "invalid_field value", closed},
		{"no value", deploybot, `{"resolution":"answered"}`, "validation_error value", closed},
		{"wrong verb", deploybot, `{"resolution":"completed"}`, "invalid_field resolution", closed},
		{"cancelled is no answer", deploybot, `{"resolution":"cancelled"}`, "validation_error resolution", closed},
		{"not JSON", deploybot, `{`, "validation_error ", closed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id := w.submit(ask(tt.ask)).Message.ID
			r, err := w.h.Resolve(t.Context(), w.agent(tt.agent), id, []byte(tt.body))
			got := string(r.Status)
			if err != nil {
				got = codeAndField(err)
			}
			if got != tt.want {
				t.Errorf("%q, want %q (%v)", got, tt.want, err)
			}
		})
	}
	t.Run("late, and a bad value is told first", func(t *testing.T) {
		id := w.submit(ask(closed)).Message.ID
		for _, step := range []struct{ body, want string }{
			{`{"resolution":"answered","value":"ship"}`, "<nil>"},
			{`{"resolution":"answered","value":"ship"}`, "already_terminal "},
			{`{"resolution":"answered","value":"hold"}`, "already_terminal "},
			{`{"resolution":"answered","value":"later"}`, "invalid_field value"},
		} {
			_, err := w.h.Resolve(t.Context(), w.agent(deploybot), id, []byte(step.body))
			if got := codeAndField(err); got != step.want {
				t.Errorf("%s: %s, want %s (%v)", step.body, got, step.want, err)
			}
		}
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		s := w.submit(ask(func(d doc) { d["ma2h_version"], d["id"] = "0.1", "mine" }))
		start := time.Now()
		m, err := w.h.Wait(t.Context(), deploybot, "mine", 30*time.Second)
		if err != nil || m.Status != ma2h.Open || time.Since(start) != 30*time.Second {
			t.Errorf("waited %s: %+v, %v", time.Since(start), m, err)
		}
		got := make(chan string, 3)
		for _, id := range []string{"mine", s.Message.ID} {
			go func() {
				m, err := w.h.Wait(t.Context(), deploybot, id, time.Minute)
				got <- fmt.Sprint(m.Status, err)
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			m, err := w.h.Wait(ctx, deploybot, "mine", time.Minute)
			got <- fmt.Sprint(m.Status, err)
		}()
		synctest.Wait()
		cancel() // shutdown: the poll answers with the current state
		if s := <-got; s != "open<nil>" && s != "open <nil>" {
			t.Errorf("a poll at shutdown: %s", s)
		}
		w.answer(hub.Answer{MessageID: s.Message.ID, Option: 1})
		for range 2 {
			if s := <-got; !strings.HasPrefix(s, "answered") {
				t.Errorf("a parked poll: %s", s)
			}
		}
		w.stop()
	})
}
