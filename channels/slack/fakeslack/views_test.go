package fakeslack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"beckon/channels/slack/fakeslack"
)

// viewApp is an app that acks everything and keeps what it got.
type viewApp struct {
	got   chan slack.InteractionCallback
	reply chan any // the next acknowledgements of forms
}

func newViewApp(t *testing.T, s *fakeslack.Server) *viewApp {
	a := &viewApp{got: make(chan slack.InteractionCallback, 50), reply: make(chan any, 10)}
	runSocket(t, s, client(t, s), func(ev socketmode.Event) (any, bool) {
		cb, ok := ev.Data.(slack.InteractionCallback)
		if !ok {
			return nil, true
		}
		a.got <- cb
		if cb.Type == slack.InteractionTypeViewSubmission {
			select {
			case r := <-a.reply:
				return r, true
			default:
			}
		}
		return nil, true
	})
	return a
}

// question posts a message with a button and clicks it, for its trigger.
func (a *viewApp) trigger(t *testing.T, s *fakeslack.Server, p *fakeslack.Person) slack.InteractionCallback {
	t.Helper()
	ts := api(t, s, "chat.postMessage", obj{"channel": approval, "text": "?", "blocks": []any{actions(button())}})["ts"].(string)
	if _, err := p.Click(within(t), approval, ts, "a"); err != nil {
		t.Fatal(err)
	}
	return <-a.got
}

func modalWith(block string, more ...any) obj {
	in := with(inputOf(obj{"type": "plain_text_input", "action_id": "txt"}), "block_id", block)
	return with(modalView("blocks", append([]any{in}, more...)), "notify_on_close", true)
}

// TestTriggers: three seconds, once, for its own app.
func TestTriggers(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true})
	a := newViewApp(t, s)
	p := s.Person("alice")
	cb := a.trigger(t, s, p)
	s.Advance(2900 * time.Millisecond)
	api(t, s, "views.open", obj{"trigger_id": cb.TriggerID, "view": modalWith("why")})
	if m, _ := callAPI(t, s, "views.open", obj{"trigger_id": cb.TriggerID, "view": modalWith("why")}); m["error"] != "exchanged_trigger_id" {
		t.Errorf("again: %v", m)
	}
	cb = a.trigger(t, s, p)
	s.Advance(3100 * time.Millisecond)
	if m, _ := callAPI(t, s, "views.open", obj{"trigger_id": cb.TriggerID, "view": modalWith("why")}); m["error"] != "expired_trigger_id" {
		t.Errorf("after three seconds: %v", m)
	}
}

// TestViewStack: push, at most three, update with hash, close one, close all.
func TestViewStack(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true})
	a := newViewApp(t, s)
	p, ctx := s.Person("alice"), within(t)
	cb := a.trigger(t, s, p)
	root := api(t, s, "views.open", obj{"trigger_id": cb.TriggerID, "view": with(modalWith("one", actions(button())), "external_id", "ext-1")})["view"].(map[string]any)
	rootID := root["id"].(string)

	if m, _ := callAPI(t, s, "views.update", obj{"view_id": rootID, "hash": "1.x", "view": modalWith("one")}); m["error"] != "hash_conflict" {
		t.Errorf("a stale hash: %v", m)
	}
	api(t, s, "views.update", obj{"external_id": "ext-1", "hash": root["hash"], "view": with(modalWith("one", actions(button())), "external_id", "ext-1")})
	for range 2 {
		if _, err := p.ClickView(ctx, p.Modal().ID, "a"); err != nil {
			t.Fatal(err)
		}
		push := api(t, s, "views.push", obj{"trigger_id": (<-a.got).TriggerID, "view": modalWith("two", actions(button()))})["view"].(map[string]any)
		if push["root_view_id"] != rootID || push["previous_view_id"] == nil {
			t.Errorf("pushed: %v", push)
		}
	}
	if _, err := p.ClickView(ctx, rootID, "a"); !errors.Is(err, fakeslack.ErrGone) {
		t.Errorf("a click in a view that is under another: %v", err)
	}
	if _, err := p.ClickView(ctx, p.Modal().ID, "a"); err != nil {
		t.Fatal(err)
	}
	if m, _ := callAPI(t, s, "views.push", obj{"trigger_id": (<-a.got).TriggerID, "view": modalWith("four")}); m["error"] != "push_limit_reached" {
		t.Errorf("a fourth view: %v", m)
	}
	if err := p.CloseView(ctx, p.Modal().ID); err != nil {
		t.Fatal(err)
	}
	if cb := <-a.got; cb.Type != slack.InteractionTypeViewClosed || cb.IsCleared || cb.View.ID == rootID {
		t.Errorf("closed = %+v", cb.View.ID)
	}
	if err := p.CloseAll(ctx, p.Modal().ID); err != nil {
		t.Fatal(err)
	}
	if cb := <-a.got; !cb.IsCleared || cb.View.ID != rootID {
		t.Errorf("all closed = %v %v", cb.IsCleared, cb.View.ID)
	}
	if p.Modal() != nil {
		t.Error("a modal is still open")
	}
	if m, _ := callAPI(t, s, "views.update", obj{"view_id": rootID, "view": modalWith("one")}); m["error"] != "not_found" {
		t.Errorf("update of a closed view: %v", m)
	}
	cb = a.trigger(t, s, p)
	if m, _ := callAPI(t, s, "views.push", obj{"trigger_id": cb.TriggerID, "view": modalWith("one")}); m["error"] != "not_found" {
		t.Errorf("push without a modal: %v", m)
	}
}

// TestSubmissions: what an acknowledgement may do to a form, and what it can't.
func TestSubmissions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply any
		check func(sub fakeslack.Submission, err error) bool
	}{
		{"nothing closes it", nil, func(sub fakeslack.Submission, err error) bool { return err == nil && sub.View == nil }},
		{"errors", obj{"response_action": "errors", "errors": obj{"why": "No."}}, func(sub fakeslack.Submission, err error) bool {
			return err == nil && sub.Errors["why"] == "No." && sub.View != nil
		}},
		{"errors of an unknown block", obj{"response_action": "errors", "errors": obj{"who": "No."}}, troubled},
		{"errors without errors", obj{"response_action": "errors"}, troubled},
		{"update", obj{"response_action": "update", "view": modalWith("next")}, func(sub fakeslack.Submission, err error) bool {
			return err == nil && sub.View.Blocks[0]["block_id"] == "next"
		}},
		{"push", obj{"response_action": "push", "view": modalWith("next")}, func(sub fakeslack.Submission, err error) bool {
			return err == nil && sub.View.PreviousID != ""
		}},
		{"clear", obj{"response_action": "clear"}, func(sub fakeslack.Submission, err error) bool { return err == nil && sub.View == nil }},
		{"update with a bad view", obj{"response_action": "update", "view": modalView("title", plain(x(25)))}, troubled},
		{"an unknown action", obj{"response_action": "explode"}, troubled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakeslack.Options{})
			a := newViewApp(t, s)
			p := s.Person("alice")
			cb := a.trigger(t, s, p)
			v := api(t, s, "views.open", obj{"trigger_id": cb.TriggerID, "view": modalWith("why")})["view"].(map[string]any)
			if tt.reply != nil {
				a.reply <- tt.reply
			}
			sub, err := p.SubmitView(within(t), v["id"].(string), map[string]any{"why": "because"})
			if !tt.check(sub, err) {
				t.Errorf("submission = %+v, %v", sub, err)
			}
			if wrong := errors.Is(err, fakeslack.ErrNoAck); wrong != (len(s.Problems()) > 0) {
				t.Errorf("problems = %v", s.Problems())
			}
		})
	}
}

func troubled(sub fakeslack.Submission, err error) bool {
	return errors.Is(err, fakeslack.ErrNoAck) && sub.View != nil
}

// TestClientChecks: what Slack's client does not send.
func TestClientChecks(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true})
	a := newViewApp(t, s)
	p := s.Person("alice")
	cb := a.trigger(t, s, p)
	in := func(id string, el obj) obj {
		return with(with(inputOf(with(el, "action_id", "x")), "block_id", id), "optional", true)
	}
	v := api(t, s, "views.open", obj{"trigger_id": cb.TriggerID, "view": modalView("blocks", []any{
		in("text", obj{"type": "plain_text_input", "min_length": 3, "max_length": 5}),
		in("num", obj{"type": "number_input", "is_decimal_allowed": false, "min_value": "2", "max_value": "9"}),
		in("mail", obj{"type": "email_text_input"}), in("url", obj{"type": "url_text_input"}),
		in("sel", selectOf("options", many(3, option))),
		in("multi", obj{"type": "multi_static_select", "options": many(3, option), "max_selected_items": 2}),
	})})["view"].(map[string]any)
	tests := []struct {
		block string
		value any
		ok    bool
	}{
		{"text", "ab", false},
		{"text", "abc", true},
		{"text", "abcdef", false},
		{"num", "1", false},
		{"num", "2", true},
		{"num", "9.5", false},
		{"num", "10", false},
		{"num", "many", false},
		{"mail", "a@b", false},
		{"mail", "a@b.example", true},
		{"url", "nowhere", false},
		{"url", "https://a.example", true},
		{"sel", "7", false},
		{"sel", "2", true},
		{"multi", []string{"0", "1", "2"}, false},
		{"multi", []string{"0", "1"}, true},
		{"unknown", "a", false},
	}
	for _, tt := range tests {
		a.reply <- obj{"response_action": "errors", "errors": obj{"text": "stay open"}}
		sub, err := p.SubmitView(within(t), v["id"].(string), map[string]any{
			"text": "", "num": "", "mail": "", "url": "", "sel": "", "multi": []string{}, tt.block: tt.value,
		})
		if sent := err == nil && sub.Errors["text"] != ""; sent != tt.ok {
			t.Errorf("%s = %v: sent %v, want %v (%v)", tt.block, tt.value, sent, tt.ok, err)
		} else if !sent {
			<-a.reply
		}
	}
}

// TestResponseURL: five uses in thirty minutes.
func TestResponseURL(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true})
	a := newViewApp(t, s)
	p := s.Person("alice")
	send := func(to string, body obj) (int, string) {
		t.Helper()
		raw, _ := json.Marshal(body)
		resp, err := (&http.Client{Transport: transport(t)}).Post(to, "application/json", bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var m map[string]any
		_ = json.NewDecoder(resp.Body).Decode(&m)
		e, _ := m["error"].(string)
		return resp.StatusCode, e
	}
	cb := a.trigger(t, s, p)
	bodies := []obj{
		{"text": "for you"},
		{"text": "for all", "response_type": "in_channel", "replace_original": false},
		{"text": "in the thread", "response_type": "in_channel", "thread_ts": cb.Message.Timestamp, "replace_original": false},
		{"text": "replaced", "replace_original": true},
		{"delete_original": true},
	}
	if code, e := send(cb.ResponseURL, obj{"text": "a", "blocks": []any{obj{"type": "marquee"}}}); code == 200 || e != "invalid_blocks" {
		t.Errorf("bad blocks: HTTP %d %s", code, e)
	}
	for i, b := range bodies {
		if code, e := send(cb.ResponseURL, b); code != 200 {
			t.Fatalf("use %d: HTTP %d %s", i+1, code, e)
		}
		if i == 3 {
			if m, _ := s.Message(approval, cb.Message.Timestamp); m.Text != "replaced" || m.Blocks != nil {
				t.Errorf("replaced = %+v", m)
			}
		}
	}
	if code, e := send(cb.ResponseURL, bodies[0]); code != 404 || e != "used_url" {
		t.Errorf("sixth use: HTTP %d %s", code, e)
	}
	seen := map[string]bool{}
	for _, m := range s.Person("bob").Messages(approval) {
		seen[m.Text] = true
	}
	if seen["for you"] || !seen["for all"] || !seen["in the thread"] || seen["replaced"] {
		t.Errorf("bob sees %v", seen)
	}
	cb = a.trigger(t, s, p)
	s.Advance(31 * time.Minute)
	if code, e := send(cb.ResponseURL, bodies[0]); code != 404 || e != "expired_url" {
		t.Errorf("after half an hour: HTTP %d %s", code, e)
	}
}

// TestPerson: what a person can't do.
func TestPerson(t *testing.T) {
	t.Parallel()
	o := fakeslack.Example()
	o.Apps[0].ReadOnlyTab = true
	s := start(t, o)
	s.SetRateLimits(false)
	a := newViewApp(t, s)
	ctx := within(t)
	al, bo := s.Person("alice"), s.Person(bob)
	ts := api(t, s, "chat.postMessage", obj{"channel": approval, "text": "?", "blocks": []any{
		actions(with(with(button(), "action_id", "mine"), "visible_to_user_ids", []any{alice}), selectOf("options", many(2, option))),
	}})["ts"].(string)
	before, _ := s.Message(approval, ts)
	eph := api(t, s, "chat.postEphemeral", obj{"channel": approval, "user": alice, "text": "?", "blocks": []any{actions(button())}})["message_ts"].(string)
	dm := al.OpenMessages()
	tests := []struct {
		name string
		do   func() error
		want error
	}{
		{"a button for somebody else", func() error { _, err := bo.Click(ctx, approval, ts, "mine"); return err }, fakeslack.ErrGone},
		{"a button for oneself", func() error { _, err := al.Click(ctx, approval, ts, "mine"); return err }, nil},
		{"an ephemeral message of somebody else", func() error { _, err := bo.Click(ctx, approval, eph, "a"); return err }, fakeslack.ErrGone},
		{"a button that is none", func() error { _, err := al.Click(ctx, approval, ts, "b"); return err }, fakeslack.ErrGone},
		{"an option that is none", func() error { _, err := al.Select(ctx, approval, ts, "s", "9"); return err }, fakeslack.ErrGone},
		{"an option by its label", func() error { _, err := al.Select(ctx, approval, ts, "s", "o1"); return err }, nil},
		{"a channel of others", func() error { _, err := bo.Reply("C0SECRET01", "", "hi"); return err }, fakeslack.ErrGone},
		{"an archived channel", func() error { _, err := al.Reply("C0ARCHIVE1", "", "hi"); return err }, fakeslack.ErrNotAllowed},
		{"a read-only messages tab", func() error { _, err := al.Reply(dm, "", "hi"); return err }, fakeslack.ErrNotAllowed},
		{"a thread that is none", func() error { _, err := al.Reply(approval, "1.000001", "hi"); return err }, fakeslack.ErrGone},
		{"somebody else's message", func() error { return bo.Edit(approval, ts, "hi") }, fakeslack.ErrNotAllowed},
		{"a command that is none", func() error { _, err := al.Slash(ctx, approval, "/nothing"); return err }, fakeslack.ErrGone},
		{"a stale client", func() error {
			api(t, s, "chat.update", obj{"channel": approval, "ts": ts, "text": "over"})
			if _, err := al.Click(ctx, approval, ts, "mine"); !errors.Is(err, fakeslack.ErrGone) {
				return err
			}
			_, err := al.Click(ctx, approval, ts, "mine", fakeslack.Stale(before))
			return err
		}, nil},
	}
	for _, tt := range tests {
		if err := tt.do(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	for len(a.got) > 0 {
		<-a.got
	}
	if err := al.React(approval, ts, "eyes"); err != nil {
		t.Fatal(err)
	}
	kinds := ""
	for _, sight := range al.Seen() {
		kinds += sight.Kind + " "
	}
	if !strings.HasPrefix(kinds, "message message update") {
		t.Errorf("alice saw %s", kinds)
	}
	if len(bo.Seen()) != 2 {
		t.Errorf("bob saw %d things, want the message and its update", len(bo.Seen()))
	}
}

// TestRead: what a person reads, and what they can press.
func TestRead(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	ts := api(t, s, "chat.postMessage", obj{"channel": approval, "text": "for screen readers", "blocks": []any{
		obj{"type": "header", "text": plain("Ship it?")},
		obj{"type": "section", "text": mrkdwn("*one*"), "fields": []any{plain("two")}, "accessory": selectOf("options", many(2, option))},
		obj{"type": "rich_text", "elements": []any{
			obj{"type": "rich_text_section", "elements": []any{obj{"type": "text", "text": "three "}, obj{"type": "text", "text": "four"}}},
			obj{"type": "rich_text_list", "style": "bullet", "elements": []any{obj{"type": "rich_text_section", "elements": []any{obj{"type": "text", "text": "five"}}}}},
		}},
		actions(with(with(button(), "value", "v"), "style", "danger")),
		with(inputOf(obj{"type": "plain_text_input", "action_id": "txt"}), "block_id", "why"),
	}})["ts"].(string)
	m, _ := s.Message(approval, ts)
	if got, want := m.Read(), "Ship it?\n*one*\ntwo\no0\no1\nthree four\nfive\nb\nl"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	var got []string
	for _, c := range m.Controls() {
		got = append(got, strings.Join(append([]string{c.Type, c.Action, c.Label, c.Value, c.Style}, c.Options...), " "))
	}
	want := "static_select s    0 1|button a b v danger|plain_text_input txt l  "
	if strings.Join(got, "|") != want {
		t.Errorf("controls %q, want %q", strings.Join(got, "|"), want)
	}
}
