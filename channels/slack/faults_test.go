package slack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// failure is the delivery error of a failed send.
func failure(t *testing.T, err error) *hub.DeliveryError {
	t.Helper()
	de, ok := errors.AsType[*hub.DeliveryError](err)
	if !ok {
		t.Fatalf("err = %v, want a *hub.DeliveryError", err)
	}
	return de
}

// TestFaults: however a post fails, the copy stands once in the end, and the
// outbox is told what it must know. Slack's own deduplication is off, so that
// nothing leans on it.
func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault fakeslack.Fault
		code  string
		maybe bool
	}{
		{"time-out before the effect", fakeslack.Fault{Hang: true}, "timeout", true},
		{"time-out after the effect", fakeslack.Fault{Hang: true, Effect: true}, "timeout", true},
		{"reset before the effect", fakeslack.Fault{Reset: true}, "broken", true},
		{"reset after the effect", fakeslack.Fault{Reset: true, Effect: true}, "broken", true},
		{"half an answer", fakeslack.Fault{Garbage: true, Effect: true}, "broken", true},
		{"half an answer without effect", fakeslack.Fault{Garbage: true}, "broken", true},
		{"500", fakeslack.Fault{Status: 500}, "slack_down", true},
		{"502 after the effect", fakeslack.Fault{Status: 502, Effect: true}, "slack_down", true},
		{"503", fakeslack.Fault{Status: 503}, "slack_down", true},
		{"a proxy's 403", fakeslack.Fault{Status: 403}, "slack_down", false},
		{"a redirect", fakeslack.Fault{Status: 302}, "slack_down", false},
		{"429", fakeslack.Fault{RetryAfter: time.Second}, "rate_limited", false},
		{"429 after the effect", fakeslack.Fault{RetryAfter: time.Second, Effect: true}, "rate_limited", false},
		{"ratelimited with 200", fakeslack.Fault{Error: "ratelimited"}, "rate_limited", false},
		{"internal_error", fakeslack.Fault{Error: "internal_error"}, "slack_down", true},
		{"internal_error after the effect", fakeslack.Fault{Error: "internal_error", Effect: true}, "slack_down", true},
		{"fatal_error after the effect", fakeslack.Fault{Error: "fatal_error", Effect: true}, "slack_down", true},
		{"service_unavailable after the effect", fakeslack.Fault{Error: "service_unavailable", Effect: true}, "slack_down", true},
		{"request_timeout", fakeslack.Fault{Error: "request_timeout"}, "timeout", true},
		{"an error nobody knows", fakeslack.Fault{Error: "brand_new_error"}, "brand_new_error", false},
	}
	for _, target := range []hub.Target{toPlace, toAlice} {
		for _, tt := range tests {
			t.Run(target.String()+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				o := workspace()
				o.NoDedupe = true
				w := startWorld(t, o, nil)
				w.impatient(300 * time.Millisecond)
				tt.fault.Method, tt.fault.Times = "chat.postMessage", 1
				w.slack.Fail(tt.fault)
				r := w.request(target, channeltest.Ask("msg_a"))
				_, err := w.ch.Post(t.Context(), r)
				de := failure(t, err)
				if de.Code != tt.code || de.Permanent || de.MaybeSent != tt.maybe {
					t.Errorf("code %q, permanent %v, maybe sent %v; want %q, false, %v", de.Code, de.Permanent, de.MaybeSent, tt.code, tt.maybe)
				}
				if de.Msg == "" || strings.Contains(de.Msg, "{") {
					t.Errorf("it says %q", de.Msg)
				}
				if limited := tt.code == "rate_limited"; limited != (de.After > 0) {
					t.Errorf("come again after %v", de.After)
				}
				time.Sleep(de.After)
				w.impatient(callTimeout)
				if de.After == 0 {
					r.Attempt++ // a wait is not counted
				}
				r.MaybeSent = de.MaybeSent
				p, err := w.ch.Post(t.Context(), r)
				if err != nil {
					t.Fatalf("the second attempt: %v", err)
				}
				copies := w.copies("msg_a")
				if len(copies) != 1 || p.Ref != copies[0].Channel+"/"+copies[0].TS || p.Thread != copies[0].TS {
					t.Errorf("%d copies stand; it is called %+v", len(copies), p)
				}
			})
		}
	}
}

// TestFaultUnreachable: what was never sent is not in doubt.
func TestFaultUnreachable(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	w.mustPost(toPlace, channeltest.Ask("msg_a"))
	w.slack.Close()
	w.ch.api.http.CloseIdleConnections()
	_, err := w.post(toPlace, channeltest.Ask("msg_b"))
	if de := failure(t, err); de.Code != "unreachable" || de.Permanent || de.MaybeSent {
		t.Errorf("got %+v", de)
	}
}

// TestFaultDeadline: the outbox's own time limit is a time-out, not a shutdown.
func TestFaultDeadline(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Hang: true, Effect: true})
	r := w.request(toPlace, channeltest.Ask("msg_a"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := w.ch.Post(ctx, r)
	if de := failure(t, err); de.Code != "timeout" || !de.MaybeSent {
		t.Errorf("got %+v", de)
	}
	stopped, stop := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, stop)
	if _, err := w.ch.Post(stopped, r); !errors.Is(err, context.Canceled) {
		t.Errorf("a shutdown is %v", err)
	}
}

// TestFinalErrors: each error that only a person can mend says what to do, and
// where, and is given up at once so that the next target gets the message.
func TestFinalErrors(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	if _, err := w.ch.api.whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := remedies()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, ":") || all[name].code == name && !strings.Contains(name, "_") {
			continue // not a word of Slack's
		}
		lift := w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: name})
		card := channeltest.Ask(fmt.Sprintf("msg_%d", i))
		_, err := w.post(hub.Target{Channel: Name, Place: fmt.Sprintf("C0FINAL%03d", i)}, card)
		lift()
		de := failure(t, err)
		if de.Permanent != all[name].final || de.Code != all[name].code {
			t.Errorf("%s: permanent %v, code %q", name, de.Permanent, de.Code)
		}
		if strings.Contains(de.Msg, "{") || !strings.HasSuffix(de.Msg, "("+name+")") {
			t.Errorf("%s: it says %q", name, de.Msg)
		}
		if strings.Contains(all[name].msg, "{place}") && !strings.Contains(de.Msg, "C0FINAL") {
			t.Errorf("%s: it does not say where: %q", name, de.Msg)
		}
	}
}

// TestRefusals are the final errors as Slack itself makes them.
func TestRefusals(t *testing.T) {
	t.Parallel()
	place := func(s string) hub.Target { return hub.Target{Channel: Name, Place: s} }
	tests := []struct {
		name   string
		target hub.Target
		set    func(*world)
		code   string
		says   []string
	}{
		{"not in a public channel", place("#open-door"), nil, "not_invited", []string{"/invite @hub", "#open-door"}},
		{"a private channel it is not in", place("#secret-out"), nil, "not_invited", []string{"/invite @hub in #secret-out", "private"}},
		{"no such channel", place("#nowhere"), nil, "not_invited", []string{"#nowhere"}},
		{"no such id", place("C0NOWHERE1"), nil, "not_invited", []string{"C0NOWHERE1"}},
		{"archived", place("C0ARCHIVE1"), nil, "archived", []string{"archived", "another channel"}},
		{"archived, by name", place("#old-stuff"), nil, "archived", []string{"#old-stuff"}},
		{"thrown out since", toPlace, func(w *world) {
			w.mustPost(toPlace, channeltest.Ask("msg_before"))
			w.slack.Kick("approvals", "hub")
		}, "not_invited", []string{"/invite @hub", "#approvals"}},
		{"revoked", toPlace, func(w *world) { w.slack.RevokeTokens(w.slack.App().ID) }, "token", []string{"revoked", "install", "bot_token"}},
		{"inactive", toPlace, func(w *world) { w.slack.SetTokenError(w.slack.App().ID, "account_inactive") }, "token", []string{"install"}},
		{"a scope is missing", toPlace, func(w *world) { w.slack.SetScopes(w.slack.App().ID, "channels:history") }, "scope", []string{"chat:write", "it has channels:history", "install"}},
		{"a deactivated account", toAlice, func(w *world) { w.slack.Deactivate("alice") }, "no_slack_user", []string{"Alice Ng", "deactivated"}},
		{"no direct messages", toAlice, nil, "not_allowed", []string{"Messages Tab", "App Home"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := workspace()
			o.Apps[0].NoMessagesTab = tt.code == "not_allowed"
			w := startWorld(t, o, nil)
			if _, err := w.ch.api.whoami(t.Context()); err != nil {
				t.Fatal(err)
			}
			if tt.set != nil {
				tt.set(w)
			}
			_, err := w.post(tt.target, channeltest.Ask("msg_a"))
			de := failure(t, err)
			if !de.Permanent || de.Code != tt.code {
				t.Errorf("permanent %v, code %q, want %q: %v", de.Permanent, de.Code, tt.code, err)
			}
			for _, s := range tt.says {
				if !strings.Contains(de.Msg, s) {
					t.Errorf("it does not say %q: %s", s, de.Msg)
				}
			}
		})
	}
}

// TestPlaces: names and ids, with and without the scopes to look names up.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"#approvals", "#secret-in", "C0DEPLOYS1"} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " bare ", bare), func(t *testing.T) {
				t.Parallel()
				o := workspace()
				if bare {
					o.Apps[0].Scopes = []string{"chat:write"}
				}
				w := startWorld(t, o, nil)
				for i := range 3 {
					p := w.mustPost(hub.Target{Channel: Name, Place: name}, channeltest.Ask(fmt.Sprint("msg_", i)))
					if _, ok := w.message(p); !ok {
						t.Fatalf("nothing is called %s", p.Ref)
					}
				}
				if n := len(w.slack.Calls("conversations.list")) + len(w.slack.Calls("users.conversations")); n > 1 {
					t.Errorf("channels were listed %d times for 3 messages", n)
				}
				calls := w.slack.Calls("chat.postMessage")
				if got := calls[2].Args.Get("channel"); strings.HasPrefix(got, "#") {
					t.Errorf("the third post still goes to %q", got)
				}
				w.again() // what was learnt outlives a restart
				w.mustPost(hub.Target{Channel: Name, Place: name}, channeltest.Ask("msg_9"))
				if n := len(w.slack.Calls("users.conversations")); n > 1 {
					t.Errorf("after a restart channels were listed again")
				}
			})
		}
	}
}

// TestPlaceChanges: a channel that is made anew, and one that gets another id.
func TestPlaceChanges(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	first := w.mustPost(toPlace, channeltest.Ask("msg_a"))
	w.slack.ChangeChannelID(approvals, "C0OTHERID1")
	p := w.mustPost(toPlace, channeltest.Ask("msg_b"))
	if !strings.HasPrefix(p.Ref, "C0OTHERID1/") {
		t.Errorf("the second copy is called %s", p.Ref)
	}
	w.ch.places.changed(t.Context(), approvals, "C0OTHERID1")
	after := channeltest.Ask("msg_a")
	after.Status, after.Decision = ma2h.Cancelled, &hub.Decision{Resolution: ma2h.Cancelled, ActorName: "deploybot", At: time.Now(), Via: "api"}
	if err := w.ch.Update(t.Context(), w.updateRequest(first, after)); err != nil {
		t.Errorf("the copy with the old id: %v", err)
	}
	w.mustPost(hub.Target{Channel: Name, Place: approvals}, channeltest.Ask("msg_c"))
}

// TestStaleDM: direct messages that are kept under an id that is gone.
func TestStaleDM(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	w.ch.places.put(t.Context(), "dm:"+aliceUser, "D0GONE")
	p := w.mustPost(toAlice, channeltest.Ask("msg_a"))
	if strings.HasPrefix(p.Ref, "D0GONE") {
		t.Error("posted to what is gone")
	}
}
