package fakeslack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"

	"beckon/channels/slack/fakeslack"
)

// samples is the folder of recorded shapes.
func samples(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("BECKON_SHARED")
	if shared == "" {
		t.Skip("BECKON_SHARED is not set; the recorded shapes of Slack are there")
	}
	return filepath.Join(shared, "data", "slack-samples")
}

func readSample(t *testing.T, name string) any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(samples(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, raw)
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// missing lists what the sample has and the emitted value has not, or has with
// another type. Lists are compared by their first item; keys that people chose
// (block ids, metadata) are the caller's matter.
func missing(at string, sample, emitted any) []string {
	kind := func(v any) string {
		if v == nil {
			return "null"
		}
		return strings.TrimPrefix(fmt.Sprintf("%T", v), "[]interface ")
	}
	if kind(sample) != kind(emitted) {
		return []string{fmt.Sprintf("%s: %s, the sample has %s", at, kind(emitted), kind(sample))}
	}
	var out []string
	switch s := sample.(type) {
	case map[string]any:
		e := emitted.(map[string]any)
		for k, v := range s {
			if _, ok := e[k]; !ok {
				out = append(out, at+"/"+k+": missing")
				continue
			}
			out = append(out, missing(at+"/"+k, v, e[k])...)
		}
	case []any:
		e := emitted.([]any)
		if len(s) > 0 && len(e) == 0 {
			return []string{at + ": empty"}
		}
		for i := range min(len(s), len(e)) {
			out = append(out, missing(fmt.Sprintf("%s/%d", at, i), s[i], e[i])...)
		}
	}
	slices.Sort(out)
	return out
}

// TestSamplesDecode: slack-go reads every recorded shape.
func TestSamplesDecode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(samples(t), "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		switch {
		case strings.HasPrefix(name, "block_actions"), strings.HasPrefix(name, "view_") && !strings.Contains(name, "response"):
			var cb slack.InteractionCallback
			if err := json.Unmarshal(raw, &cb); err != nil || cb.User.ID == "" {
				t.Errorf("%s: %v %+v", name, err, cb.User)
			}
		case strings.HasPrefix(name, "event."):
			if _, err := slackevents.ParseEvent(raw, slackevents.OptionNoVerifyToken()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case name == "chat.postMessage.request.json":
			if p := fakeslack.ValidateMessage(raw); len(p) > 0 {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
}

// sink is an app over HTTP that keeps what it gets.
type sink struct {
	mu     sync.Mutex
	bodies []map[string]any
}

func newSink(t *testing.T, s *fakeslack.Server) *sink {
	t.Helper()
	k := &sink{}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if form, err := url.ParseQuery(string(raw)); err == nil && form.Has("payload") {
			raw = []byte(form.Get("payload"))
		}
		var m map[string]any
		_ = json.Unmarshal(raw, &m)
		k.mu.Lock()
		k.bodies = append(k.bodies, m)
		k.mu.Unlock()
		if c, ok := m["challenge"].(string); ok {
			_, _ = io.WriteString(w, c)
		}
	}))
	t.Cleanup(hub.Close)
	if err := s.SetRequestURL(within(t), s.App().ID, hub.URL); err != nil {
		t.Fatal(err)
	}
	return k
}

// wait returns the first body that is new and that want accepts.
func (k *sink) wait(t *testing.T, want func(map[string]any) bool) map[string]any {
	t.Helper()
	ctx := within(t)
	for {
		k.mu.Lock()
		i := slices.IndexFunc(k.bodies, want)
		var got map[string]any
		if i >= 0 {
			got = k.bodies[i]
			k.bodies = slices.Delete(k.bodies, i, i+1)
		}
		k.mu.Unlock()
		if i >= 0 {
			return got
		}
		select {
		case <-ctx.Done():
			t.Fatal("it never came")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func typed(kind string) func(map[string]any) bool {
	return func(m map[string]any) bool { return m["type"] == kind }
}

// event accepts a message event with a subtype, or another event with a type.
func event(kind, subtype string, bot bool) func(map[string]any) bool {
	return func(m map[string]any) bool {
		e, ok := m["event"].(map[string]any)
		sub, _ := e["subtype"].(string)
		return ok && e["type"] == kind && sub == subtype && (e["bot_id"] != nil) == bot
	}
}

// sampleBlocks are the blocks of the recorded messages.
func sampleBlocks(t *testing.T, name string) []any {
	t.Helper()
	m := readSample(t, name).(map[string]any)
	return m["message"].(map[string]any)["blocks"].([]any)
}

// api calls a method with JSON and fails the test if Slack would say no.
func api(t *testing.T, s *fakeslack.Server, method string, args obj) map[string]any {
	t.Helper()
	m, _ := callAPI(t, s, method, args)
	if m["ok"] != true {
		t.Fatalf("%s: %v", method, m)
	}
	return m
}

func callAPI(t *testing.T, s *fakeslack.Server, method string, args obj) (map[string]any, *http.Response) {
	t.Helper()
	raw, _ := json.Marshal(args)
	r, _ := http.NewRequestWithContext(within(t), http.MethodPost, s.APIURL()+method, bytes.NewReader(raw))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	token := s.App().BotToken
	if method == "apps.connections.open" {
		token = s.App().AppToken
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close(); http.DefaultClient.CloseIdleConnections() }()
	var m map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil {
		t.Fatalf("%s: HTTP %d, %v", method, resp.StatusCode, err)
	}
	return m, resp
}

// TestSamplesInteractions: what the app receives of clicks and forms has, field
// by field, what the recorded payloads have.
func TestSamplesInteractions(t *testing.T) {
	t.Parallel()
	const channel = "C0SHARED01"
	s := start(t, fakeslack.Options{NoRateLimits: true})
	k := newSink(t, s)
	alice, carol := s.Person("alice"), s.Person("carol")
	ctx := within(t)
	check := func(name string, emitted map[string]any) {
		t.Helper()
		if m := missing("", readSample(t, name), any(emitted)); len(m) > 0 {
			t.Errorf("%s:\n  %s", name, strings.Join(m, "\n  "))
		}
	}
	click := func(p *fakeslack.Person, ts string) map[string]any {
		t.Helper()
		if _, err := p.Click(ctx, channel, ts, "answer:0"); err != nil {
			t.Fatal(err)
		}
		return k.wait(t, typed("block_actions"))
	}
	blocks := sampleBlocks(t, "block_actions.message_button.json")
	post := api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Deploy?", "blocks": blocks})
	ts := post["ts"].(string)
	got := click(alice, ts)
	check("block_actions.message_button.json", got)
	if got["container"].(map[string]any)["thread_ts"] != nil {
		t.Error("a message outside threads has a thread_ts")
	}
	got = click(carol, ts)
	check("block_actions.slack_connect_external_user.json", got)
	if got["user"].(map[string]any)["team_id"] == got["team"].(map[string]any)["id"] {
		t.Error("a stranger has the team of the install")
	}
	reply := api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Deploy?", "blocks": blocks, "thread_ts": ts})
	check("block_actions.in_thread.json", click(alice, reply["ts"].(string)))

	eph := api(t, s, "chat.postEphemeral", obj{"channel": channel, "user": alice.ID, "text": "Deploy?", "blocks": blocks})
	got = click(alice, eph["message_ts"].(string))
	check("block_actions.ephemeral_no_message.json", got)
	if got["message"] != nil {
		t.Error("an ephemeral message is in its payload")
	}

	stateful := append(slices.Clone(blocks), stateBlocks()...)
	post = api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Form", "blocks": stateful})
	ts = post["ts"].(string)
	for action, value := range map[string]any{"pick": "blue", "txt": "because", "dt": time.Unix(1796103000, 0), "cb": []string{"a"}, "num": "3.5"} {
		if _, err := alice.Select(ctx, channel, ts, action, value); err != nil {
			t.Fatal(err)
		}
	}
	api(t, s, "chat.update", obj{"channel": channel, "ts": ts, "text": "Form", "blocks": stateful}) // keeps what was entered
	k.mu.Lock()
	k.bodies = nil
	k.mu.Unlock()
	check("block_actions.with_input_state.json", click(alice, ts))

	api(t, s, "views.publish", obj{"user_id": alice.ID, "view": obj{"type": "home", "callback_id": "inbox", "blocks": []any{
		obj{"type": "actions", "block_id": "row1", "elements": []any{with(button(), "value", "req_01")}},
	}}})
	home, _ := alice.Home()
	if _, err := alice.ClickView(ctx, home.ID, "a"); err != nil {
		t.Fatal(err)
	}
	got = k.wait(t, typed("block_actions"))
	check("block_actions.home_tab.json", got)
	for _, field := range []string{"response_url", "message", "channel"} {
		if _, ok := got[field]; ok {
			t.Errorf("a click in the Home tab has %s", field)
		}
	}

	sample := readSample(t, "view_submission.json").(map[string]any)["view"].(map[string]any)
	view := obj{
		"type": "modal", "title": plain("Answer request"), "submit": plain("Send"), "close": plain("Cancel"), "notify_on_close": true,
		"callback_id": "answer_form", "private_metadata": "{}", "blocks": sample["blocks"],
	}
	if _, err := alice.Click(ctx, channel, ts, "answer:0"); err != nil {
		t.Fatal(err)
	}
	open := api(t, s, "views.open", obj{"trigger_id": k.wait(t, typed("block_actions"))["trigger_id"], "view": view})
	id := open["view"].(map[string]any)["id"].(string)
	if _, err := alice.SubmitView(ctx, id, map[string]any{"why": "Rollback is ready"}); err != nil {
		t.Fatal(err)
	}
	got = k.wait(t, typed("view_submission"))
	check("view_submission.json", got)
	api(t, s, "chat.postMessage", obj{"channel": channel, "text": "x"})
	if _, err := alice.Click(ctx, channel, ts, "answer:0"); err != nil {
		t.Fatal(err)
	}
	open = api(t, s, "views.open", obj{"trigger_id": k.wait(t, typed("block_actions"))["trigger_id"], "view": view})
	if err := alice.CloseView(ctx, open["view"].(map[string]any)["id"].(string)); err != nil {
		t.Fatal(err)
	}
	check("view_closed.json", k.wait(t, typed("view_closed")))
}

// stateBlocks are inputs as the recorded state has them.
func stateBlocks() []any {
	in := func(block string, el obj) obj {
		return obj{"type": "input", "block_id": block, "label": plain(block), "optional": true, "element": el}
	}
	return []any{
		obj{"type": "actions", "block_id": "form", "elements": []any{with(selectOf("options", []any{obj{"text": plain("Blue"), "value": "blue"}}), "action_id", "pick")}},
		in("why", obj{"type": "plain_text_input", "action_id": "txt"}),
		in("when", obj{"type": "datetimepicker", "action_id": "dt"}),
		in("tags", obj{"type": "checkboxes", "action_id": "cb", "options": []any{obj{"text": mrkdwn("*a*"), "value": "a"}}}),
		in("n", obj{"type": "number_input", "action_id": "num", "is_decimal_allowed": true}),
		in("empty", with(selectOf("options", many(1, option)), "action_id", "sel")),
	}
}

// TestSampleOrg: an org-wide install has a null team.
func TestSampleOrg(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{Enterprise: fakeslack.Enterprise{ID: "E0ORG00001", Name: "Example Org"}})
	k := newSink(t, s)
	post := api(t, s, "chat.postMessage", obj{"channel": "C0APPROVE1", "text": "Deploy?", "blocks": sampleBlocks(t, "block_actions.org_install_team_null.json")})
	if _, err := s.Person("alice").Click(within(t), "C0APPROVE1", post["ts"].(string), "answer:0"); err != nil {
		t.Fatal(err)
	}
	got := k.wait(t, typed("block_actions"))
	if m := missing("", readSample(t, "block_actions.org_install_team_null.json"), any(got)); len(m) > 0 {
		t.Error(m)
	}
}

// TestSamplesEvents: every recorded event has its like.
func TestSamplesEvents(t *testing.T) {
	t.Parallel()
	const channel = "C0APPROVE1"
	s := start(t, fakeslack.Options{NoRateLimits: true})
	k := newSink(t, s)
	alice := s.Person("alice")
	k.check(t, "event.url_verification.json", func(m map[string]any) bool { return m["challenge"] != nil })

	blocks := sampleBlocks(t, "block_actions.message_button.json")
	post := api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Deploy?", "blocks": blocks, "metadata": obj{
		"event_type": "hub_request", "event_payload": obj{"id": "req_01", "rev": 1},
	}})
	if m := missing("", readSample(t, "chat.postMessage.response.json"), any(post)); len(m) > 0 {
		t.Errorf("chat.postMessage: %v", m)
	}
	ts := post["ts"].(string)
	k.wait(t, event("message", "", true))
	must(t)(alice.Reply(channel, ts, "yes, go ahead & ship it"))
	k.check(t, "event.message.thread_reply.json", event("message", "", false))
	must(t)(alice.Broadcast(channel, ts, "yes, go ahead & ship it"))
	k.check(t, "event.message.thread_broadcast.json", event("message", "thread_broadcast", false))
	mine := must(t)(alice.Upload(channel, ts, "see attached", "log.txt"))
	k.check(t, "event.message.file_share_reply.json", event("message", "file_share", false))
	if err := alice.Edit(channel, mine.TS, "no wait"); err != nil {
		t.Fatal(err)
	}
	k.check(t, "event.message.message_changed.json", event("message", "message_changed", false))
	api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Recorded", "thread_ts": ts})
	k.check(t, "event.message.own_bot_echo.json", event("message", "", true))
	must(t)(alice.Reply(channel, "", "<@U0HUBBOT01> status"))
	k.check(t, "event.app_mention.json", event("app_mention", "", false))
	// The recorded one is of a message outside threads.
	lone := api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Deploy?", "blocks": blocks})
	api(t, s, "chat.delete", obj{"channel": channel, "ts": lone["ts"]})
	k.check(t, "event.message.message_deleted.json", event("message", "message_deleted", false))

	alice.OpenHome()
	k.check(t, "event.app_home_opened.json", event("app_home_opened", "", false))
	dm := api(t, s, "chat.postMessage", obj{"channel": alice.ID, "text": "Hello"})
	must(t)(alice.Reply(dm["channel"].(string), dm["ts"].(string), "yes"))
	k.check(t, "event.message.im_thread_reply.json", func(m map[string]any) bool {
		e, _ := m["event"].(map[string]any)
		return e["channel_type"] == "im" && e["thread_ts"] != nil && e["bot_id"] == nil
	})
	s.ChangeChannelID(channel, "C0APPROVE2")
	k.check(t, "event.channel_id_changed.json", event("channel_id_changed", "", false))
	s.AppRateLimited(s.App().ID)
	k.check(t, "event.app_rate_limited.json", typed("app_rate_limited"))
	s.RevokeTokens(s.App().ID)
	k.check(t, "event.tokens_revoked.json", event("tokens_revoked", "", false))
	if m, _ := callAPI(t, s, "auth.test", obj{}); m["error"] != "token_revoked" {
		t.Errorf("auth.test after the token was revoked: %v", m)
	}
}

func (k *sink) check(t *testing.T, name string, want func(map[string]any) bool) {
	t.Helper()
	if m := missing("", readSample(t, name), any(k.wait(t, want))); len(m) > 0 {
		t.Errorf("%s:\n  %s", name, strings.Join(m, "\n  "))
	}
}

func must(t *testing.T) func(fakeslack.Message, error) fakeslack.Message {
	return func(m fakeslack.Message, err error) fakeslack.Message {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}
