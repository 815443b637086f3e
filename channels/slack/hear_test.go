package slack

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// TestSocketsAreReplacedBeforeTheyGo: a connection that is told to go is let go
// when the next one is open, and no click falls in between.
func TestSocketsAreReplacedBeforeTheyGo(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, officeOptions{})
			_, c := o.ask(shipAsk(tagged("solo")))
			for i := range 3 {
				before := o.slack.Sockets()
				o.slack.Disconnect(reason)
				if reason != "warning" { // Slack hands over nothing to those that must go, and all must
					if err := waitFor(func() bool { return o.slack.Sockets() > before }); err != nil {
						t.Fatal("the old connection was let go before there was a new one")
					}
				}
				for range 4 {
					// Bob may not: he can click as often as he likes.
					o.click("bob", c, action{Kind: kindAnswer, MessageID: idOf(t, c), Option: 1})
				}
				o.toldTimes("bob", "Only Alice Ng", 4*(i+1))
				if err := waitFor(func() bool { return o.slack.Sockets() == (i+2)*socketCount }); err != nil {
					t.Fatalf("%d connections", o.slack.Sockets())
				}
			}
		})
	}
}

// idOf finds a copy's message.
func idOf(t testing.TB, m fakeslack.Message) string {
	t.Helper()
	s := fmt.Sprint(m.Blocks)
	i := strings.Index(s, "msg_")
	if i < 0 {
		t.Fatal("no message id in the copy")
	}
	return s[i : i+len("msg_01M8RBEK38KWBXFQPEYPCMXW0G")]
}

func waitFor(f func() bool) error {
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return context.DeadlineExceeded
		}
	}
	return nil
}

// TestCutSocketsComeBack: slack-go#1585: a client must not fall asleep.
func TestCutSocketsComeBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	id, c := o.ask(shipAsk(nil))
	lift := o.slack.Fail(fakeslack.Fault{Method: "apps.connections.open", Status: 503})
	o.slack.KillSockets()
	if err := waitFor(func() bool { _, p := o.ch.Alive(); return strings.Contains(p, "no connection to Slack") }); err != nil {
		t.Fatal("a channel without a connection says nothing is wrong")
	}
	lift()
	if err := o.slack.WaitSockets(o.ctx(), socketCount); err != nil {
		t.Fatal(err)
	}
	if err := waitFor(func() bool { last, p := o.ch.Alive(); return p == "" && time.Since(last) < time.Minute }); err != nil {
		_, p := o.ch.Alive()
		t.Fatalf("still said to be wrong: %s", p)
	}
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
	o.detail(id, ma2h.Answered)
}

// TestOneSocketIsEnough: one connection of two is no trouble.
func TestOneSocketIsEnough(t *testing.T) {
	t.Parallel()
	var ill trouble
	ill.set(socketName(0), "cut")
	if s := ill.String(); s != "" {
		t.Errorf("one socket of two: %q", s)
	}
	ill.set(socketName(1), "cut too")
	if s := ill.String(); s == "" {
		t.Error("both sockets are gone and nothing is wrong")
	}
	ill.set(socketName(0), "")
	if s := ill.String(); s != "" {
		t.Errorf("one is back: %q", s)
	}
	ill.set(troubleToken, "revoked")
	if s := ill.String(); s != "revoked" {
		t.Errorf("a token that was revoked: %q", s)
	}
}

// deafServer is a Slack whose sockets say hello and nothing more, and hear
// nothing.
func deafServer(t *testing.T, dials *atomic.Int32) *httptest.Server {
	t.Helper()
	var s *httptest.Server
	end := make(chan struct{})
	up := websocket.Upgrader{}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/apps.connections.open", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"ok":true,"url":"ws%s/link"}`, strings.TrimPrefix(s.URL, "http"))
	})
	mux.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		dials.Add(1)
		_ = conn.WriteJSON(map[string]any{"type": "hello", "num_connections": 1})
		<-end
	})
	s = httptest.NewServer(mux)
	t.Cleanup(func() { close(end); s.Close() })
	return s
}

// TestDeafSocket: slack-go#1125, python-slack-sdk#1701: a connection that is open
// and on which nothing comes is noticed and replaced; the age of the last sign of
// life shows it.
func TestDeafSocket(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	s := deafServer(t, &dials)
	conf := section{BotToken: hub.NewSecret("xoxb-x"), AppToken: hub.NewSecret("xapp-x"), APIURL: s.URL + "/api/"}
	made := New(hub.Section{Decode: func(v any) bool { *v.(*section) = conf; return true }}, deskWithLog{channeltest.NewDesk(channeltest.Directory()), slog.New(slog.DiscardHandler)})
	ch := made.(*Channel)
	ch.inbound.deaf, ch.inbound.beat = 300*time.Millisecond, 50*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = ch.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	if err := waitFor(func() bool { return dials.Load() > 3*socketCount/2 }); err != nil {
		t.Fatalf("%d connections: the deaf ones were kept", dials.Load())
	}
	if last, _ := ch.Alive(); last.IsZero() {
		t.Error("there is no age of the last sign of life")
	}
}

// TestRevokedToken: the operator is told what to do.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	o.slack.RevokeTokens(o.slack.App().ID)
	if err := waitFor(func() bool { _, p := o.ch.Alive(); return strings.Contains(p, "install the app again") }); err != nil {
		t.Errorf("nobody hears that the token was revoked\n%s\n%+v", o.logs, o.slack.Deliveries())
	}
}

// TestMovedChannel: a private channel that is shared gets a new id; its copies
// are still answered.
func TestMovedChannel(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	id, c := o.ask(shipAsk(nil))
	if err := waitFor(func() bool { p, _ := o.ch.inbound.posting(o.ctx(), c.Channel+"/"+c.TS); return p != nil }); err != nil {
		t.Fatal(err)
	}
	o.slack.ChangeChannelID(c.Channel, "C0MOVED001")
	if _, err := o.slack.WaitDelivery(o.ctx(), func(d fakeslack.Delivery) bool { return d.Type == "channel_id_changed" && d.Acked }); err != nil {
		t.Fatal(err)
	}
	if _, err := o.person("alice").Reply("C0MOVED001", c.TS, "2"); err != nil {
		t.Fatal(err)
	}
	o.detail(id, ma2h.Answered)
	o.told("alice", "Recorded: Hold")
}

// TestHomeIsTheInbox: what waits, the newest first, answerable there; published for those
// who opened it, not more than once in five seconds.
func TestHomeIsTheInbox(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	first, _ := o.ask(shipAsk(func(e envelope) { e["title"] = "The older one" }))
	secret, _ := o.ask(shipAsk(func(e envelope) {
		e["title"], e["sensitive"] = "The secret one", true
		e["expires_at"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		e["request"].(envelope)["default_on_expire"] = "hold"
	}))
	if _, ok := o.person("alice").Home(); ok {
		t.Fatal("a Home tab was published for somebody who has not opened it")
	}
	began := time.Now()
	o.person("alice").OpenHome()
	home := func(what string, want func(string) bool) fakeslack.View {
		t.Helper()
		v, err := o.slack.WaitView(o.ctx(), "alice", func(v fakeslack.View) bool { return v.Type == "home" && want(fmt.Sprint(v.Blocks)) })
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, o.logs)
		}
		return v
	}
	v := home("both", func(s string) bool {
		return strings.Contains(s, "The older one") && strings.Contains(s, "The secret one")
	})
	if s := fmt.Sprint(v.Blocks); strings.Index(s, "The older one") < strings.Index(s, "The secret one") {
		t.Error("the newest is not the first")
	} else if strings.Contains(s, "Hold for review") {
		t.Error("a sensitive message shows its default")
	}
	if _, err := o.person("alice").ClickView(o.ctx(), v.ID, action{Kind: kindOpen, MessageID: secret}.id()); err != nil {
		t.Fatal(err)
	}
	link, err := o.person("alice").WaitModal(o.ctx(), func(v fakeslack.View) bool { return strings.Contains(fmt.Sprint(v.Blocks), "/l/alice."+secret) })
	if err != nil {
		t.Fatal(err)
	}
	if err := o.person("alice").CloseView(o.ctx(), link.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := o.person("alice").ClickView(o.ctx(), v.ID, action{Kind: kindForm, MessageID: first}.id()); err != nil {
		t.Fatal(err)
	}
	o.fill("alice", o.modal("alice", blockChoice), map[string]any{blockChoice: "2"})
	o.told("alice", "Recorded: Hold for review")
	o.detail(first, ma2h.Answered)
	home("one is left", func(s string) bool {
		return !strings.Contains(s, "The older one") && strings.Contains(s, "The secret one")
	})
	took := time.Since(began)
	published := len(o.slack.Calls("views.publish"))
	if most := int(took/homeEvery) + 1; published > most {
		t.Errorf("%d times published in %s", published, took)
	}
	// A stranger's tab says why it is empty; and a hub that was started again
	// still knows who opened theirs.
	o.person("gina").OpenHome()
	if _, err := o.slack.WaitView(o.ctx(), "gina", func(v fakeslack.View) bool {
		return strings.Contains(fmt.Sprint(v.Blocks), "not in this hub's directory")
	}); err != nil {
		t.Error(err)
	}
	o.stop()
	o.start()
	o.ask(shipAsk(func(e envelope) { e["title"] = "After the restart" }))
	home("after a restart", func(s string) bool { return strings.Contains(s, "After the restart") })
	o.quiet()
}

// TestHomePages turns the pages of a long list.
func TestHomePages(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{dir: func(d *hub.Directory) {
		d.Routes = []hub.Route{{Name: "page", Ask: []string{"alice"}}}
	}})
	for i := range homeItems + 3 {
		o.submit(shipAsk(func(e envelope) { e["title"] = fmt.Sprintf("Number %d.", i) }))
	}
	shows := func(n int) fakeslack.View {
		t.Helper()
		v, err := o.slack.WaitView(o.ctx(), "alice", func(v fakeslack.View) bool { return strings.Count(fmt.Sprint(v.Blocks), "Number ") == n })
		if err != nil {
			t.Fatalf("no page with %d messages: %v\n%s", n, err, o.logs)
		}
		return v
	}
	turn := func(v fakeslack.View, label string) {
		t.Helper()
		if _, err := o.person("alice").ClickView(o.ctx(), v.ID, label, fakeslack.ByLabel()); err != nil {
			t.Fatal(err)
		}
	}
	o.person("alice").OpenHome()
	first := shows(homeItems)
	turn(first, "More")
	second := shows(3)
	for i := range homeItems + 3 {
		title := fmt.Sprintf("Number %d.", i)
		if strings.Contains(fmt.Sprint(first.Blocks), title) == strings.Contains(fmt.Sprint(second.Blocks), title) {
			t.Errorf("%s is on both pages, or on none", title)
		}
	}
	turn(second, "Newest")
	shows(homeItems)
}

// TestCommand: list, show, help; each in private.
func TestCommand(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		run := func(who, text string) {
			t.Helper()
			if _, err := o.person(who).Slash(o.ctx(), approvals, "/beckon "+text); err != nil {
				t.Fatal(err)
			}
		}
		run("alice", "")
		o.told("alice", "Nothing is waiting for you")
		id, _ := o.ask(shipAsk(nil))
		run("alice", "list")
		list := o.told("alice", "Waiting for you", "1. Ship web-app 2.3?")
		if list.Message.EphemeralTo != aliceUser {
			t.Error("a list is shown to others")
		}
		run("alice", "frobnicate")
		o.told("alice", "I don't know that", "show 2")
		run("alice", "show 7")
		o.told("alice", "no such message")
		run("gina", "show "+id)
		o.told("gina", "directory")
		run("alice", "show 1")
		shown, err := o.person("alice").WaitMessage(o.ctx(), func(m fakeslack.Message) bool {
			return m.EphemeralTo == aliceUser && strings.Contains(jsonOf(t, m.Blocks), action{Kind: kindAnswer, MessageID: id, Option: 2}.id())
		})
		if err != nil {
			t.Fatal(err)
		}
		o.click("alice", shown, action{Kind: kindAnswer, MessageID: id, Option: 2})
		o.detail(id, ma2h.Answered)
		// What was clicked was the person's own: the outcome takes its place.
		after, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool { return m.TS == shown.TS && strings.Contains(m.Text, "Recorded: Hold") })
		if err != nil || strings.Contains(jsonOf(t, after.Blocks), "b1:answer") {
			t.Errorf("the controls still stand: %v", err)
		}
	})
}

func TestUnformat(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"ship &amp; go &lt;now&gt;", "ship & go <now>"},
		{"&amp;lt;", "&lt;"},
		{"<http://example.com|example.com>", "example.com"},
		{"see <https://example.com/a?b=1&amp;c=2>", "see https://example.com/a?b=1&c=2"},
		{"<mailto:a@example.com|a@example.com>", "a@example.com"},
		{"<@U0BOB> <@U0BOB|bob> <#C1|general> <!here> <!subteam^S1|@team>", "@U0BOB @bob #general @here @team"},
		{":+1::skin-tone-3:", "👍"},
		{":two:", "2"},
		{"a < b", "a < b"},
		{"<", "<"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := unformat(tt.in); got != tt.want {
			t.Errorf("unformat(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzInbound(f *testing.F) {
	f.Add([]byte(`{"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"b1:answer:1:msg_1"}]}`))
	f.Add([]byte(`{"type":"view_submission","view":{"callback_id":"b1:form:0:msg_1","state":{"values":{"f1":{"x":{"value":"1"}}}}}}`))
	f.Add([]byte(`{"event":{"type":"message","text":"<@U1|x> &amp;"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var p interaction
		if lenient(raw, &p) == nil && p.View != nil {
			if values, bad := p.View.entered(); bad == "" {
				readModal(channeltest.Ask("msg_1"), values)
			}
		}
		var e eventEnvelope
		if lenient(raw, &e) == nil {
			typedByPerson(&e.Event)
			unformat(e.Event.Text)
		}
		readRequest("application/x-www-form-urlencoded", raw)
		readRequest("application/json", raw)
	})
}
