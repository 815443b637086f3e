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
	"beckon/hub"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	s := hub.NewSecret
	tests := []struct {
		name string
		conf section
		want []string // field: part of what is said
	}{
		{"Socket Mode", section{BotToken: s("xoxb-1"), AppToken: s("xapp-1")}, nil},
		{"HTTP", section{BotToken: s("xoxb-1"), SigningSecret: s("abc")}, nil},
		{"nothing", section{}, []string{"bot_token: is missing", "app_token: is missing"}},
		{"no way to listen", section{BotToken: s("xoxb-1")}, []string{"app_token: is missing"}},
		{"both ways", section{BotToken: s("xoxb-1"), AppToken: s("xapp-1"), SigningSecret: s("abc")}, []string{"signing_secret: is of no use"}},
		{"exchanged", section{BotToken: s("xapp-1"), AppToken: s("xoxb-1")}, []string{"bot_token: begins with \"xapp-\"", "app_token: begins with \"xoxb-\""}},
		{"a user's token", section{BotToken: s("xoxp-1"), AppToken: s("xapp-1")}, []string{"bot_token: is no bot token"}},
		{"another host", section{BotToken: s("xoxb-1"), AppToken: s("xapp-1"), APIURL: "https://slack.example.com/api/"}, []string{"api_url: must be"}},
		{"a name like this machine's", section{BotToken: s("xoxb-1"), AppToken: s("xapp-1"), APIURL: "http://127.0.0.1.evil.example/"}, []string{"api_url: must be"}},
		{"this machine", section{BotToken: s("xoxb-1"), AppToken: s("xapp-1"), APIURL: "http://[::1]:80/api"}, nil},
		{"a user in the URL", section{BotToken: s("xoxb-1"), AppToken: s("xapp-1"), APIURL: "http://127.0.0.1@evil.example/"}, []string{"api_url: must be"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			ch := New(hub.Section{
				Decode: func(v any) bool { *v.(*section) = tt.conf; return true },
				Errorf: func(field, format string, args ...any) { got = append(got, field+": "+fmt.Sprintf(format, args...)) },
			}, channeltest.NewDesk(channeltest.Directory()))
			if (ch == nil) != (len(tt.want) > 0) {
				t.Errorf("made %v", ch != nil)
			}
			if len(got) != len(tt.want) {
				t.Fatalf("said %q, want %q", got, tt.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tt.want[i]) {
					t.Errorf("said %q, want %q", got[i], tt.want[i])
				}
				if strings.Contains(got[i], "-1") {
					t.Errorf("it repeats the token: %q", got[i])
				}
			}
		})
	}
	if New(hub.Section{Decode: func(any) bool { return false }}, channeltest.NewDesk(channeltest.Directory())) != nil {
		t.Error("a channel was made of a section that can't be read")
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*hub.Person{"": {Slack: "U1"}, "slack": {}} {
		if got := Factory.Lacks(p); got != want {
			t.Errorf("%+v lacks %q", p, got)
		}
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	d := channeltest.Directory()
	d.People["alice"].Slack = "" // found by address
	d.People["gone"] = &hub.Person{ID: "gone", Name: "Dave Old", Email: "dave@example.com", Location: time.UTC}
	d.People["other"] = &hub.Person{ID: "other", Name: "Carol Other", Email: "carol@otherco.example", Location: time.UTC}
	d.People["none"] = &hub.Person{ID: "none", Name: "No Body", Location: time.UTC}
	lookup := func(c *section) { c.LookupByEmail = true }

	for who, want := range map[string]string{"alice": aliceUser, "bob": bobUser, "gone": "", "other": "", "none": ""} {
		for _, on := range []bool{true, false} {
			t.Run(fmt.Sprint(who, " lookup ", on), func(t *testing.T) {
				t.Parallel()
				w := startWorld(t, workspace(), channeltest.NewDesk(d), func(c *section) { c.LookupByEmail = on })
				want := want
				if !on && who != "bob" {
					want = ""
				}
				for range 3 {
					got, err := w.ch.people.user(t.Context(), d.People[who])
					if got != want || (err == nil) != (want != "") {
						t.Errorf("got %q, %v", got, err)
					}
					if want == "" {
						if de := failure(t, err); !de.Permanent || de.Code != "no_slack_user" || !strings.Contains(de.Msg, d.People[who].Name) || strings.Contains(de.Msg, "@") {
							t.Errorf("got %+v", de)
						}
					}
				}
				if n := len(w.slack.Calls("users.lookupByEmail")); n > 1 {
					t.Errorf("looked up %d times", n)
				}
			})
		}
	}
	// Back from Slack to the directory.
	for user, want := range map[string]string{aliceUser: "alice", bobUser: "bob", "U0EXTERN01": "", "U0DAVE0001": "", "U0GUEST001": "", "U0HUBBOT01": "", "U0NOBODY": "", "": ""} {
		t.Run("of "+user, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, workspace(), channeltest.NewDesk(d), lookup)
			for range 2 {
				p, err := w.ch.people.person(t.Context(), "", user)
				if err != nil || (p == nil) != (want == "") || p != nil && p.ID != want {
					t.Errorf("got %+v, %v, want %q", p, err, want)
				}
			}
			if n := len(w.slack.Calls("users.info")); n > 1 {
				t.Errorf("looked up %d times", n)
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		w := startWorld(t, workspace(), channeltest.NewDesk(d))
		if p, err := w.ch.people.person(t.Context(), "", aliceUser); p != nil || err != nil {
			t.Errorf("got %+v, %v: look-up is off", p, err)
		}
		if n := len(w.slack.Calls("")); n > 0 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("another company's team", func(t *testing.T) {
		t.Parallel()
		w := startWorld(t, workspace(), channeltest.NewDesk(d), lookup)
		if p, err := w.ch.people.person(t.Context(), "T0OTHERCO1", aliceUser); p != nil || err != nil {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("two with one address", func(t *testing.T) {
		t.Parallel()
		d := channeltest.Directory()
		d.People["alice"].Slack = ""
		d.People["alice2"] = &hub.Person{ID: "alice2", Name: "Alice", Email: "ALICE@example.com", Location: time.UTC}
		w := startWorld(t, workspace(), channeltest.NewDesk(d), lookup)
		if p, err := w.ch.people.person(t.Context(), "", aliceUser); p != nil || err != nil {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}

func TestSendLink(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	d := w.desk.Directory()
	const url = "https://beckon.example.com/l/abc"
	for range 2 {
		if err := w.ch.SendLink(t.Context(), d.People["alice"], url, time.Now().Add(15*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	dm := w.slack.Person("alice").OpenMessages()
	sent := w.standingIn(dm)
	if len(sent) != 2 {
		t.Fatalf("%d messages in direct messages, want one a link", len(sent))
	}
	if !strings.Contains(raw(t, sent[0]), url) || !sent[0].NoUnfurl {
		t.Errorf("the message is %s", raw(t, sent[0]))
	}
	for _, channel := range []string{approvals, deploys, w.slack.Person("bob").OpenMessages()} {
		if n := len(w.standingIn(channel)); n != 0 {
			t.Errorf("%d messages in %s", n, channel)
		}
	}
	err := w.ch.SendLink(t.Context(), &hub.Person{ID: "x", Name: "X", Email: "x@example.com"}, url, time.Now())
	if !errors.Is(err, hub.ErrUnsupported) {
		t.Errorf("somebody without Slack: %v", err)
	}
	if strings.Contains(w.logs.String(), "/l/") {
		t.Error("the log holds the link")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	routes := func(targets ...string) *hub.Directory {
		d := channeltest.Directory()
		var e hub.Entry
		for _, s := range targets {
			target := hub.Target{Channel: Name, Place: s}
			if p, ok := strings.CutPrefix(s, "@"); ok {
				target = hub.Target{Channel: Name, Person: p}
			}
			e.Targets = append(e.Targets, target)
		}
		d.Routes = []hub.Route{{Post: []hub.Entry{e, {Targets: []hub.Target{{Channel: "email", Person: "bob"}}}}}}
		return d
	}
	nameless := routes("@alice")
	nameless.People["alice"].Slack = ""
	tests := []struct {
		name string
		dir  *hub.Directory
		set  func(*world)
		bad  []string // what: part of the message
	}{
		{"all well", routes("#approvals", "C0DEPLOYS1", "#secret-in", "@alice", "@bob"), nil, nil},
		{"targets", routes("#open-door", "C0OPENED01", "C0ARCHIVE1", "#secret-out", "C0NOWHERE1"), nil, []string{
			"channel #open-door: /invite @hub", "channel C0OPENED01: /invite", "channel C0ARCHIVE1: archived", "channel #secret-out: /invite", "channel C0NOWHERE1: finds no",
		}},
		{"nobody to find", nameless, nil, []string{"direct messages to Alice Ng: lookup_by_email is off"}},
		{"a deactivated account", routes("@alice"), func(w *world) { w.slack.Deactivate("alice") }, []string{"direct messages to Alice Ng: deactivated"}},
		{"scopes", routes("C0APPROVE1"), func(w *world) {
			w.slack.SetScopes(w.slack.App().ID, "chat:write", "channels:history")
		}, []string{
			"scope channels:read", "scope commands", "scope groups:history", "scope groups:read", "scope im:history", "scope im:write", "scope users:read", "scope users:read.email",
		}},
		{"a revoked token", routes("#approvals"), func(w *world) { w.slack.RevokeTokens(w.slack.App().ID) }, []string{"bot token: revoked", "app token: make a new one"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, workspace(), channeltest.NewDesk(tt.dir))
			if tt.set != nil {
				tt.set(w)
			}
			findings := w.ch.Check(t.Context(), false)
			bad := slices.DeleteFunc(slices.Clone(findings), func(f hub.Finding) bool { return f.OK })
			if len(bad) != len(tt.bad) {
				t.Fatalf("found %+v", findings)
			}
			for i, f := range bad {
				what, msg, _ := strings.Cut(tt.bad[i], ": ")
				if f.What != what || !strings.Contains(f.Msg, msg) || f.Msg == "" {
					t.Errorf("found %+v, want %s", f, tt.bad[i])
				}
			}
			if n := len(w.slack.Calls("chat.postMessage")); n > 0 {
				t.Error("it posted without live")
			}
			for _, f := range findings {
				if strings.Contains(fmt.Sprint(f), "xox") || strings.Contains(fmt.Sprint(f), "xapp") {
					t.Error("a token shows")
				}
			}
		})
	}
}

func TestCheckLive(t *testing.T) {
	t.Parallel()
	d := channeltest.Directory()
	d.Routes = []hub.Route{{Post: []hub.Entry{{Targets: []hub.Target{toAlice, toPlace}}}}}
	w := startWorld(t, workspace(), channeltest.NewDesk(d))
	findings := w.ch.Check(t.Context(), true)
	last := findings[len(findings)-1]
	if !last.OK || !strings.Contains(last.What, "#approvals") {
		t.Errorf("found %+v", findings)
	}
	if len(w.slack.Calls("chat.postMessage")) != 1 || len(w.slack.Calls("chat.delete")) != 1 || len(w.slack.Messages(approvals)) != 0 {
		t.Error("the test message was not posted and deleted")
	}
}

// TestCheckOffline: a machine without a way to Slack can check a config, and
// says what it could not test.
func TestCheckOffline(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	w.slack.Close()
	for _, live := range []bool{false, true} {
		findings := w.ch.Check(t.Context(), live)
		if len(findings) == 0 || findings[0].OK == live || !strings.Contains(fmt.Sprint(findings), "can't be reached") {
			t.Errorf("live %v: found %+v", live, findings)
		}
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context) error { <-ctx.Done(); return nil }
	broken := errors.New("broken")
	if err := together(t.Context(), wait, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := together(ctx, wait, wait); err != nil {
		t.Errorf("a shutdown is %v", err)
	}
}

// TestKeys: the same key at every attempt, another for every copy.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range []key{keyOf("dlv_a-1", 0), keyOf("dlv_a-1", 1), keyOf("dlv_a-11", 0), keyOf("dlv_b-1", 0)} {
		if seen[k.uuid()] {
			t.Errorf("%+v has another's uuid", k)
		}
		seen[k.uuid()] = true
		if k.uuid() != keyOf(k.delivery, k.generation).uuid() || len(k.uuid()) != 36 || k.uuid()[14] != '5' {
			t.Errorf("uuid %s", k.uuid())
		}
	}
	if got := slices.Sorted(maps.Keys(seen)); len(got) != 4 {
		t.Errorf("%d uuids", len(got))
	}
}
