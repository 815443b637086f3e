package slack

import (
	"strings"
	"testing"
)

func TestParseAction(t *testing.T) {
	tests := []struct {
		name, id, value string
		want            action
		ok              bool
	}{
		{"option", "b1:answer:2:msg_01J", "", action{kindAnswer, "msg_01J", 2}, true},
		{"select", "b1:choose:0:msg_01J", "17", action{kindChoose, "msg_01J", 17}, true},
		{"form", "b1:form:0:msg_01J", "", action{kindForm, "msg_01J", 0}, true},
		{"boxes", "b1:tick:11:msg_01J", "", action{kindTick, "msg_01J", 11}, true},
		{"first page of the home", "b1:home:0:", "", action{kindHome, "", 0}, true},
		{"id with every character", "b1:done:0:Az09._~-", "", action{kindDone, "Az09._~-", 0}, true},
		{"other version", "b2:answer:2:msg_01J", "", action{}, false},
		{"no version", "answer:2:msg_01J", "", action{}, false},
		{"unknown kind", "b1:approve:2:msg_01J", "", action{}, false},
		{"option 0", "b1:answer:0:msg_01J", "", action{}, false},
		{"leading zero", "b1:answer:02:msg_01J", "", action{}, false},
		{"plus", "b1:answer:+2:msg_01J", "", action{}, false},
		{"negative", "b1:answer:-2:msg_01J", "", action{}, false},
		{"huge", "b1:answer:99999999999999999999:msg_01J", "", action{}, false},
		{"number where none belongs", "b1:decline:1:msg_01J", "", action{}, false},
		{"select without a value", "b1:choose:0:msg_01J", "", action{}, false},
		{"select of another value", "b1:choose:0:msg_01J", "ship", action{}, false},
		{"no message", "b1:answer:1:", "", action{}, false},
		{"strange message", "b1:answer:1:msg 01", "", action{}, false},
		{"colon in the message", "b1:answer:1:msg:01", "", action{}, false},
		{"too long", "b1:answer:1:" + strings.Repeat("x", 300), "", action{}, false},
		{"empty", "", "", action{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseAction(tt.id, tt.value)
			if ok != tt.ok || got != tt.want {
				t.Errorf("got %+v, %v; want %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzParseAction(f *testing.F) {
	f.Add("b1:answer:2:msg_01J", "")
	f.Add("b1:choose:0:msg_01J", "17")
	f.Add("b1:home:0:", "")
	f.Fuzz(func(t *testing.T, id, value string) {
		a, ok := parseAction(id, value)
		if !ok {
			if a != (action{}) {
				t.Errorf("%+v came with a refusal", a)
			}
			return
		}
		written := a
		if a.Kind == kindChoose {
			written.Option, value = 0, itoa(a.Option)
		}
		if written.id() != id {
			t.Errorf("%q was read, but it would be written %q", id, written.id())
		}
		if again, ok := parseAction(written.id(), value); !ok || again != a {
			t.Errorf("%+v does not survive", a)
		}
	})
}

func FuzzParseOrigin(f *testing.F) {
	f.Add(`{"m":"msg_01J","c":"C1","t":"1.2"}`)
	f.Add(`{"m":""}`)
	f.Fuzz(func(t *testing.T, s string) {
		o, ok := parseOrigin(s)
		if !ok {
			return
		}
		if again, ok := parseOrigin(o.encode()); len(o.encode()) <= 3000 && o.encode() != "" && (!ok || again != o) {
			t.Errorf("%+v does not survive", o)
		}
	})
}
