package hub_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// What people say to a sensitive message, or to an ask for something sensitive,
// stands in the Response and nowhere else: not in the history, and not in an
// Outcome, which any channel may show (rule 11, spec §9.6).
func TestSensitiveAnswerStaysInTheResponse(t *testing.T) {
	t.Parallel()
	form := func(d doc) {
		d["request"] = doc{"mode": "input", "default_on_expire": doc{"key": "THE-VALUE"}, "schema": doc{
			"properties": doc{"key": doc{"type": "string"}},
		}}
	}
	sensitive := func(d doc) { form(d); d["sensitive"] = true }
	field := func(d doc) {
		form(d)
		d.in("request").in("schema").in("properties").in("key")["x-ma2h-sensitive"] = true
	}
	tests := []struct {
		name             string
		change           func(doc)
		history, outcome string // what of value and comment is there
	}{
		{"nothing is", form, "value comment", "value comment"},
		{"the message is", sensitive, "", ""},
		{"a field is", field, "", "comment"},
	}
	found := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, what := range []string{"value", "comment"} {
			if strings.Contains(string(b), "THE-"+strings.ToUpper(what)) {
				out = append(out, what)
			}
		}
		return strings.Join(out, " ")
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				history := func(id string) string {
					events, err := w.h.Events(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					var all []string
					for _, e := range events {
						all = append(all, string(e.Content))
					}
					return found(all)
				}
				id := w.submit(ask(tt.change)).Message.ID
				first := w.answer(hub.Answer{MessageID: id, Fields: map[string]string{"key": "THE-VALUE"}, Comment: "THE-COMMENT"})
				late := w.answer(hub.Answer{MessageID: id, Actor: "human:bob", Fields: map[string]string{"key": "x"}})
				if first.Kind != hub.Accepted || late.Kind != hub.AlreadyResolved || late.Decision.ActorName != "Alice Ng" {
					t.Fatalf("%+v, %+v", first, late)
				}
				for name, o := range map[string]hub.Outcome{"first": first, "late": late} {
					if got := found(o); got != tt.outcome {
						t.Errorf("%s outcome holds %q, want %q", name, got, tt.outcome)
					}
				}
				if got := history(id); got != tt.history {
					t.Errorf("history holds %q, want %q", got, tt.history)
				}
				if got := found(w.response(id).Response); got != "comment value" && got != "value comment" {
					t.Errorf("response holds %q", got)
				}
				id = w.submit(ask(func(d doc) {
					tt.change(d)
					d["expires_at"] = ma2h.FormatTime(time.Now().Add(time.Minute))
				})).Message.ID
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if got, want := history(id), strings.TrimSuffix(tt.history, " comment"); got != want || w.message(id).Status != ma2h.Expired {
					t.Errorf("expired: history holds %q, want %q", got, want)
				}
				w.stop()
			})
		})
	}
}
