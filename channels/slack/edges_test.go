package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// slowDesk is a hub that is slow to record, or can't.
type slowDesk struct {
	hub.Desk
	gate  chan struct{} // when set, answers wait for it
	fails *atomic.Int32 // so many answers fail
}

func (d slowDesk) Answer(ctx context.Context, a hub.Answer) (hub.Outcome, error) {
	if d.fails != nil && d.fails.Add(-1) >= 0 {
		return hub.Outcome{}, errors.New("the disk is full")
	}
	if d.gate != nil {
		select {
		case <-d.gate:
		case <-ctx.Done():
			return hub.Outcome{}, ctx.Err()
		}
	}
	return d.Desk.Answer(ctx, a)
}

// TestSlowHandlerAcknowledgesInTime: vm0#8773, bolt-python#1027: what takes long
// is acknowledged in time, and the outcome is said when it is known.
func TestSlowHandlerAcknowledgesInTime(t *testing.T) {
	t.Parallel()
	for name, overHTTP := range map[string]bool{"socket": false, "http": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			o := newOffice(t, officeOptions{http: overHTTP, desk: func(d hub.Desk) hub.Desk { return slowDesk{Desk: d, gate: gate} }})
			id, c := o.ask(shipAsk(nil))
			formID, f := o.ask(formAsk(nil))
			o.click("bob", f, action{Kind: kindForm, MessageID: formID})
			v := o.modal("bob", "Release note")
			done := make(chan struct{})
			go func() {
				defer close(done)
				if s := o.fill("bob", v, map[string]any{"f2": "fine"}); s.View == nil || !strings.Contains(jsonOf(t, s.View.Blocks), "is recording this") {
					t.Error("the form does not say that it is being recorded")
				}
			}()
			began := time.Now()
			o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
			if took := time.Since(began); took < ackWithin || took > 3*time.Second {
				t.Errorf("acknowledged after %s", took)
			}
			<-done
			if n := len(o.heard("alice", "Recorded")); n != 0 {
				t.Error("something shows as done before it is recorded")
			}
			close(gate)
			o.told("alice", "Recorded: Ship to prod now")
			if _, err := o.person("bob").WaitModal(o.ctx(), func(v fakeslack.View) bool {
				return strings.Contains(fmt.Sprint(v.Blocks), "Recorded: Release note: fine")
			}); err != nil {
				t.Errorf("the form does not say what came of it: %v", err)
			}
			o.detail(id, ma2h.Answered)
			o.quiet()
		})
	}
}

// TestNotRecorded: the person is told to click again, and then it works. A
// failure that passes is not even noticed.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	var fails atomic.Int32
	o := newOffice(t, officeOptions{desk: func(d hub.Desk) hub.Desk { return slowDesk{Desk: d, fails: &fails} }})
	id, c := o.ask(shipAsk(nil))
	fails.Store(3)
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
	o.told("alice", "could not record", "Click again")
	o.open(id)
	fails.Store(3)
	o.write("bob", c, "1")
	o.told("bob", "could not record", "Reply again")
	fails.Store(0)
	formID, f := o.ask(formAsk(nil))
	o.click("bob", f, action{Kind: kindForm, MessageID: formID})
	v := o.modal("bob", "Release note")
	fails.Store(3)
	s := o.fill("bob", v, map[string]any{"f2": "fine"})
	if !strings.Contains(s.Errors[blockComment], "could not record") || s.View == nil {
		t.Errorf("errors %v: want the form to stay with what was typed", s.Errors)
	}
	fails.Store(2)
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
	o.told("alice", "Recorded: Ship to prod now")
	o.fill("bob", v, nil)
	o.detail(formID, ma2h.Answered)
	o.quiet()
}

// TestRepeatsHaveNoSecondEffect: agno#10073, vercel/chat#667, node-slack-sdk#2141,
// n8n#13144, paperclip#502: what Slack sends again, under the same or another id,
// is recorded once and talked about once; and nothing is dropped for being a
// retry.
func TestRepeatsHaveNoSecondEffect(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	id, c := o.ask(shipAsk(nil))
	event := func(eventID, ts, text string, retry int) {
		o.signed("application/json", fmt.Sprintf(`{"type":"event_callback","team_id":"T0HUBTEAM1","event_id":%q,"event":{"type":"message",
			"user":%q,"team":"T0HUBTEAM1","channel":%q,"channel_type":"channel","ts":%q,"thread_ts":%q,"parent_user_id":"U0HUBBOT01","text":%q}}`,
			eventID, aliceUser, c.Channel, ts, c.TS, text), retry)
	}
	event("Ev1", "1796099500.000100", "what?", 1) // the first one we hear of is a retry
	for i := range 11 {
		event(fmt.Sprint("Ev", i), "1796099500.000100", "what?", 0)
	}
	event("Ev20", "1796099500.000200", "2", 0)
	event("Ev20", "1796099500.000200", "2", 1)
	event("Ev21", "1796099500.000200", "2", 0)
	o.detail(id, ma2h.Answered)
	o.toldTimes("alice", "couldn't read", 1)
	o.toldTimes("alice", "Recorded: Hold", 1)

	id, c = o.ask(shipAsk(nil))
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
	o.toldTimes("alice", "Recorded: Ship", 1)
	d, err := o.slack.WaitDelivery(o.ctx(), func(d fakeslack.Delivery) bool { return d.Type == "block_actions" })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		o.signed("application/x-www-form-urlencoded", url.Values{"payload": {string(d.Payload)}}.Encode(), 1)
	}
	// A double click is two clicks: the second is told that it changed nothing.
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1}, fakeslack.Stale(c))
	o.toldTimes("alice", "You answered Ship to prod now", 1)
	o.toldTimes("alice", "Recorded: Ship", 1)
	events, err := o.h.Events(o.ctx(), id)
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for _, e := range events {
		if e.Kind == "answered" {
			answered++
		}
	}
	if answered != 1 {
		t.Errorf("answered %d times", answered)
	}
}

// TestRepeatAfterRestart: a hub that was started again does not act twice.
func TestRepeatAfterRestart(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	id, c := o.ask(keyTask(nil))
	boxes := action{Kind: kindTick, MessageID: id, Option: 1}
	if _, err := o.person("alice").Select(o.ctx(), c.Channel, c.TS, boxes.id(), []string{"1"}); err != nil {
		t.Fatal(err)
	}
	d, err := o.slack.WaitDelivery(o.ctx(), func(d fakeslack.Delivery) bool { return d.Type == "block_actions" })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.person("alice").Select(o.ctx(), c.Channel, c.TS, boxes.id(), []string{"1", "2"}); err != nil {
		t.Fatal(err)
	}
	o.stop()
	o.start()
	o.signed("application/x-www-form-urlencoded", url.Values{"payload": {string(d.Payload)}}.Encode(), 0)
	if list := o.message(id).Checklist; !list[0].Done || !list[1].Done {
		t.Errorf("an old click came again and undid a later one: %v", list)
	}
}

// signed sends a signed request, and fails the test if it is not taken.
func (o *office) signed(contentType, body string, retry int) []byte {
	o.t.Helper()
	ts, sig := fakeslack.Sign(o.slack.App().SigningSecret, time.Now(), []byte(body))
	status, reply := o.request("/slack/events", contentType, body, ts, sig, retry)
	if status != http.StatusOK {
		o.t.Fatalf("status %d: %s", status, reply)
	}
	return reply
}

func (o *office) request(path, contentType, body, ts, sig string, retry int) (int, []byte) {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.ctx(), http.MethodPost, o.http.URL+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Slack-Request-Timestamp", ts)
	r.Header.Set("X-Slack-Signature", sig)
	if retry > 0 {
		r.Header.Set("X-Slack-Retry-Num", itoa(retry))
		r.Header.Set("X-Slack-Retry-Reason", "http_timeout")
	}
	resp, err := o.http.Client().Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return resp.StatusCode, reply
}

func TestSignature(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	const body = `{"type":"url_verification","challenge":"c-123"}`
	secret := o.slack.App().SigningSecret
	sign := func(at time.Time, b string) (string, string) { return fakeslack.Sign(secret, at, []byte(b)) }
	ts, good := sign(time.Now(), body)
	oldTS, oldSig := sign(time.Now().Add(-6*time.Minute), body)
	newTS, newSig := sign(time.Now().Add(6*time.Minute), body)
	_, other := fakeslack.Sign("another secret", time.Now(), []byte(body))
	tests := []struct {
		name, path, body, ts, sig string
		want                      int
	}{
		{"good", "/slack/events", body, ts, good, 200},
		{"on each route", "/slack/interactions", body, ts, good, 200},
		{"for commands", "/slack/commands", body, ts, good, 200},
		{"the query is no part of it", "/slack/events?payload=evil", body, ts, good, 200},
		{"another secret", "/slack/events", body, ts, other, 401},
		{"another body", "/slack/events", body + " ", ts, good, 401},
		{"six minutes old", "/slack/events", body, oldTS, oldSig, 401},
		{"six minutes ahead", "/slack/events", body, newTS, newSig, 401},
		{"another time", "/slack/events", body, oldTS, good, 401},
		{"no signature", "/slack/events", body, ts, "", 401},
		{"no version", "/slack/events", body, ts, strings.TrimPrefix(good, "v0="), 401},
		{"no time", "/slack/events", body, "", good, 401},
		{"not hex", "/slack/events", body, ts, "v0=zz", 401},
		{"too large", "/slack/events", strings.Repeat("x", maxRequest+1), ts, good, 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, reply := o.request(tt.path, "application/json", tt.body, tt.ts, tt.sig, 0)
			if status != tt.want {
				t.Errorf("status %d, want %d", status, tt.want)
			}
			if got := string(reply) == "c-123"; got != (tt.want == 200) {
				t.Errorf("reply %q", reply)
			}
		})
	}
	if h := (&inbound{c: &Channel{}}).handlers(); h != nil {
		t.Error("without a signing secret there must be no routes")
	}
}

// TestNonsenseIsAcknowledged: what can't be decoded, or is of a kind that nobody
// knows, is acknowledged all the same.
func TestNonsenseIsAcknowledged(t *testing.T) {
	t.Parallel()
	payloads := []string{
		`null`, `17`, `[]`, `"x"`, `{}`, `{"type":"block_actions"}`, `{"type":"block_actions","actions":[7,null,{}]}`, `{"type":"view_submission"}`,
		`{"type":"view_submission","view":{"state":{"values":7}}}`, `{"type":"shortcut"}`, `{"type":"event_callback","event":{"type":"message","channel":{}}}`,
		`{"type":"event_callback","event":{"type":"brand_new","user":[]}}`, `{"type":"app_rate_limited"}`, `{"command":7}`,
	}
	o := newOffice(t, officeOptions{})
	id, c := o.ask(shipAsk(nil))
	n := 0
	for _, kind := range []string{kindEvent, kindInteraction, kindCommand, "brand_new_kind"} {
		for _, p := range payloads {
			n++
			err := o.slack.SendFrame(map[string]any{"type": kind, "envelope_id": fmt.Sprintf("nonsense-%d.", n), "payload": json.RawMessage(p)})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		all, missing := strings.Join(o.slack.Problems(), "\n"), 0
		for i := range n {
			if !strings.Contains(all, fmt.Sprintf("nonsense-%d.", i+1)) {
				missing++
			}
		}
		if missing == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d envelopes were not acknowledged\n%s", missing, n, o.logs)
		}
	}
	// The channel still hears.
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
	o.detail(id, ma2h.Answered)

	web := newOffice(t, officeOptions{http: true})
	for _, p := range payloads {
		web.signed("application/json", p, 0)
		web.signed("application/x-www-form-urlencoded", url.Values{"payload": {p}}.Encode(), 0)
	}
	web.signed("application/x-www-form-urlencoded", "ssl_check=1&token=x", 0)
	web.signed("text/plain", "%zz", 0)
}

// TestNewFieldBreaksNoClick: openshift/ci-tools#1500, slack-go#816: a field that
// changed its type does not matter unless it is needed.
func TestNewFieldBreaksNoClick(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	id, c := o.ask(shipAsk(nil))
	o.signed("application/x-www-form-urlencoded", url.Values{"payload": {fmt.Sprintf(
		`{"type":"block_actions","user":{"id":%q,"team_id":"T0HUBTEAM1","name":{"new":1}},"team":"T0HUBTEAM1","enterprise":[],"state":7,"message":[{}],
		"container":{"type":"message","channel_id":%q,"message_ts":%q,"is_ephemeral":"no"},"actions":[{"type":"button","action_id":%q,"action_ts":"1.2","selected_options":{}}]}`,
		aliceUser, c.Channel, c.TS, action{Kind: kindAnswer, MessageID: id, Option: 3}.id(),
	)}}.Encode(), 0)
	if d := o.detail(id, ma2h.Answered); string(d.Value) != `"abort"` {
		t.Errorf("got %s", d.Value)
	}
	o.told("alice", "Recorded: Abort the change") // without a response_url
}

// TestBotsDoNotAnswer: zeroclaw#10622: what a bot, a workflow or an app wrote is
// no answer; and edits, deletions and joins are none.
func TestBotsDoNotAnswer(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	id, c := o.ask(shipAsk(nil))
	for i, more := range []string{
		`"bot_id":"B0OTHER"`, `"subtype":"bot_message"`, `"app_id":"A0WORKFLOW"`, `"subtype":"message_changed"`, `"subtype":"message_deleted"`, `"subtype":"channel_join"`,
	} {
		o.signed("application/json", fmt.Sprintf(`{"type":"event_callback","event_id":"Ev%d","event":{"type":"message","user":%q,"channel":%q,"ts":"1.%d",
			"thread_ts":%q,"parent_user_id":"U0HUBBOT01","text":"ship",%s}}`, i, aliceUser, c.Channel, i, c.TS, more), 0)
	}
	m := o.write("alice", c, "hm?")
	o.told("alice", "couldn't read")
	if err := o.person("alice").Edit(m.Channel, m.TS, "ship"); err != nil {
		t.Fatal(err)
	}
	o.write("bob", c, "hm?")
	o.told("bob", "couldn't read")
	o.open(id)
}

// TestExpiredTrigger: bolt-python#434, bolt-js#1662: the person is told to click
// again.
func TestExpiredTrigger(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	id, c := o.ask(formAsk(nil))
	for i, code := range []string{"expired_trigger_id", "invalid_trigger_id"} {
		lift := o.slack.Fail(fakeslack.Fault{Method: "views.open", Error: code})
		o.click("alice", c, action{Kind: kindForm, MessageID: id})
		o.toldTimes("alice", "click again", i+1)
		lift()
	}
	// A passing failure is not noticed, and another leads to the page.
	lift := o.slack.Fail(fakeslack.Fault{Method: "views.open", Status: 503, Times: 1, Effect: true})
	o.click("bob", c, action{Kind: kindForm, MessageID: id})
	o.modal("bob", "Release note")
	lift()
	defer o.slack.Fail(fakeslack.Fault{Method: "views.open", Error: "view_too_large"})()
	o.click("alice", c, action{Kind: kindForm, MessageID: id})
	o.told("alice", "/l/alice."+id)
}

// TestTellingGoesOn: a note that one way does not take goes another, privately.
func TestTellingGoesOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault []fakeslack.Fault
	}{
		{"the note fails for a while", []fakeslack.Fault{{Method: "chat.postEphemeral", Status: 503, Times: 2}}},
		{"the note is limited", []fakeslack.Fault{{Method: "chat.postEphemeral", RetryAfter: time.Second, Times: 1}}},
		{"no note at all", []fakeslack.Fault{{Method: "chat.postEphemeral", Error: "user_not_in_channel"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, officeOptions{})
			_, c := o.ask(shipAsk(tagged("solo")))
			for _, f := range tt.fault {
				o.slack.Fail(f)
			}
			o.write("bob", c, "ship") // a reply has no response_url
			s := o.told("bob", "Only Alice Ng")
			if s.Message.EphemeralTo == "" && !strings.HasPrefix(s.Message.Channel, "D") {
				t.Error("the note is not private")
			}
		})
	}
}

// TestResponseURLGoesToSlackOnly: a payload can't make the hub call elsewhere.
func TestResponseURLGoesToSlackOnly(t *testing.T) {
	t.Parallel()
	var called atomic.Bool
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Store(true) }))
	defer evil.Close()
	o := newOffice(t, officeOptions{http: true})
	id, c := o.ask(shipAsk(nil))
	o.signed("application/x-www-form-urlencoded", url.Values{"payload": {fmt.Sprintf(
		`{"type":"block_actions","user":{"id":%q,"team_id":"T0HUBTEAM1"},"response_url":%q,"container":{"channel_id":%q,"message_ts":%q},"actions":[{"action_id":%q,"action_ts":"1.2"}]}`,
		aliceUser, evil.URL, c.Channel, c.TS, action{Kind: kindAnswer, MessageID: id, Option: 3}.id(),
	)}}.Encode(), 0)
	o.told("alice", "Recorded: Abort")
	if called.Load() {
		t.Error("a stranger's URL was called")
	}
}
