package fakeslack_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"beckon/channels/slack/fakeslack"
)

const (
	alice    = "U0ALICE001"
	bob      = "U0BOB00001"
	carol    = "U0EXTERN01"
	dave     = "U0DAVE0001"
	approval = "C0APPROVE1"
)

// form calls a method with a form, as slack-go does.
func form(t *testing.T, s *fakeslack.Server, method string, args url.Values, header ...string) (int, string) {
	t.Helper()
	r, _ := http.NewRequestWithContext(within(t), http.MethodPost, s.APIURL()+method, strings.NewReader(args.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t}
	status := resp.StatusCode
	resp.StatusCode = 200
	return status, b.read(resp, nil)
}

// TestAuth: who may call what, in Slack's words.
func TestAuth(t *testing.T) {
	t.Parallel()
	o := fakeslack.Example()
	o.Apps[0].Scopes = []string{"users:read", "im:write"}
	s := start(t, o)
	a := s.App()
	tests := []struct {
		name, method, token string
		args                url.Values
		header              []string
		want                string
	}{
		{name: "no token", method: "auth.test", want: "not_authed"},
		{name: "a token that is none", method: "auth.test", token: "xoxb-other", want: "invalid_auth"},
		{name: "token in the form", method: "auth.test", token: a.BotToken},
		{name: "token in the header", method: "auth.test", header: []string{"Authorization", "Bearer " + a.BotToken}},
		{name: "app token for a bot's method", method: "chat.postMessage", token: a.AppToken, want: "not_allowed_token_type"},
		{name: "bot token for a socket", method: "apps.connections.open", header: []string{"Authorization", "Bearer " + a.BotToken}, want: "not_allowed_token_type"},
		{name: "app token in the form", method: "apps.connections.open", token: a.AppToken, want: "not_authed"},
		{name: "app token in the header", method: "apps.connections.open", header: []string{"Authorization", "Bearer " + a.AppToken}},
		{name: "scope", method: "chat.postMessage", token: a.BotToken, want: `missing_scope","needed":"chat:write","ok":false,"provided":"users:read,im:write`},
		{name: "unknown method", method: "chat.shout", token: a.BotToken, want: "unknown_method"},
		{name: "mail addresses need their scope", method: "users.lookupByEmail", token: a.BotToken, want: "missing_scope"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := url.Values{}
			if tt.token != "" {
				args.Set("token", tt.token)
			}
			status, body := form(t, s, tt.method, args, tt.header...)
			if status != 200 || tt.want == "" && !strings.Contains(body, `"ok":true`) || !strings.Contains(body, `"error":"`+tt.want) && tt.want != "" {
				t.Fatalf("HTTP %d %s, want %q", status, body, tt.want)
			}
		})
	}
	if body, resp := callAPI(t, s, "users.info", obj{"user": alice}); resp.Header.Get("X-OAuth-Scopes") != "users:read,im:write" ||
		resp.Header.Get("X-Accepted-OAuth-Scopes") != "users:read" || body["user"].(map[string]any)["profile"].(map[string]any)["email"] != nil {
		t.Errorf("users.info without users:read.email: %v %v", body, resp.Header)
	}
	for _, code := range []string{"account_inactive", "token_revoked"} {
		s.SetTokenError(a.ID, code)
		if _, body := form(t, s, "auth.test", url.Values{"token": {a.BotToken}}); !strings.Contains(body, code) {
			t.Errorf("auth.test = %s, want %s", body, code)
		}
	}
}

// TestWarnings: Slack grumbles about content types, and takes no token in JSON.
func TestWarnings(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	tests := []struct{ name, kind, body, want string }{
		{"form", "application/x-www-form-urlencoded", "token=xoxb-fake-bot-token", `{"bot_id"`},
		{"form with a charset", "application/x-www-form-urlencoded; charset=utf-8", "token=xoxb-fake-bot-token", `"warning":"superfluous_charset"`},
		{"JSON without a charset", "application/json", `{"token":"xoxb-fake-bot-token"}`, `"warning":"missing_charset"`},
		{"a token in JSON", "application/json; charset=utf-8", `{"token":"xoxb-fake-bot-token"}`, `"error":"not_authed"`},
		{"no JSON", "application/json; charset=utf-8", `{`, `"error":"invalid_json"`},
		{"another type", "text/plain", `a=b`, `"error":"invalid_post_type"`},
	}
	for _, tt := range tests {
		resp, err := (&http.Client{Transport: transport(t)}).Post(s.APIURL()+"auth.test", tt.kind, strings.NewReader(tt.body))
		if got := (&browser{t: t}).read(resp, err); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestErrors: what is refused, and how.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true})
	first := api(t, s, "chat.postMessage", obj{"channel": approval, "text": "one"})["ts"]
	reply := api(t, s, "chat.postMessage", obj{"channel": approval, "text": "two", "thread_ts": first})["ts"]
	others := must(t)(s.Person("alice").Reply(approval, "", "mine")).TS
	home := obj{"type": "home", "blocks": []any{}}
	tests := []struct {
		method string
		args   obj
		want   string
	}{
		{"chat.postMessage", obj{"channel": "C0NOWHERE1", "text": "a"}, "channel_not_found"},
		{"chat.postMessage", obj{"channel": "C0SECRET02", "text": "a"}, "channel_not_found"},
		{"chat.postMessage", obj{"channel": "C0OPENED01", "text": "a"}, "not_in_channel"},
		{"chat.postMessage", obj{"channel": "C0ARCHIVE1", "text": "a"}, "is_archived"},
		{"chat.postMessage", obj{"channel": dave, "text": "a"}, "channel_not_found"},
		{"chat.postMessage", obj{"channel": approval}, "no_text"},
		{"chat.postMessage", obj{"channel": approval, "text": "a", "thread_ts": reply}, "cannot_reply_to_message"},
		{"chat.postMessage", obj{"channel": approval, "text": "a", "blocks": []any{section(mrkdwn(x(3001)))}}, "invalid_blocks"},
		{"chat.postMessage", obj{"channel": approval, "text": "a", "blocks": "]"}, "invalid_blocks_format"},
		{"chat.update", obj{"channel": approval, "ts": first, "text": x(4001)}, "msg_too_long"},
		{"chat.update", obj{"channel": approval, "ts": others, "text": "a"}, "cant_update_message"},
		{"chat.update", obj{"channel": approval, "ts": "1.000001", "text": "a"}, "message_not_found"},
		{"chat.update", obj{"channel": alice, "ts": first, "text": "a"}, "channel_not_found"},
		{"chat.update", obj{"channel": approval, "ts": first}, "no_text"},
		{"chat.delete", obj{"channel": approval, "ts": others}, "cant_delete_message"},
		{"chat.delete", obj{"channel": approval, "ts": "1.000001"}, "message_not_found"},
		{"chat.postEphemeral", obj{"channel": approval, "user": carol, "text": "a"}, "user_not_in_channel"},
		{"chat.getPermalink", obj{"channel": approval, "message_ts": "1.000001"}, "message_not_found"},
		{"conversations.open", obj{}, "users_list_not_supplied"},
		{"conversations.open", obj{"users": "U0NOBODY01"}, "user_not_found"},
		{"conversations.open", obj{"users": dave}, "user_disabled"},
		{"conversations.open", obj{"users": "1,2,3,4,5,6,7,8,9"}, "too_many_users"},
		{"conversations.join", obj{"channel": "C0SECRET01"}, "method_not_supported_for_channel_type"},
		{"conversations.join", obj{"channel": "C0ARCHIVE1"}, "is_archived"},
		{"conversations.history", obj{"channel": "C0OPENED01"}, "not_in_channel"},
		{"conversations.history", obj{"channel": approval, "limit": 2000}, "invalid_limit"},
		{"conversations.history", obj{"channel": approval, "cursor": "?"}, "invalid_cursor"},
		{"conversations.replies", obj{"channel": approval, "ts": "1.000001"}, "thread_not_found"},
		{"users.info", obj{"user": "U0NOBODY01"}, "user_not_found"},
		{"users.lookupByEmail", obj{"email": "nobody@example.com"}, "users_not_found"},
		{"users.lookupByEmail", obj{"email": "carol@otherco.example"}, "users_not_found"},
		{"users.lookupByEmail", obj{"email": "dave@example.com"}, "users_not_found"},
		{"views.open", obj{"trigger_id": "1.2.3", "view": modalView("submit", plain("s"))}, "invalid_trigger_id"},
		{"views.open", obj{"view": modalView("submit", plain("s"))}, "invalid_arguments"},
		{"views.update", obj{"view_id": "V0NONE", "view": home}, "not_found"},
		{"views.publish", obj{"user_id": alice, "view": modalView("submit", plain("s"))}, "invalid_arguments"},
		{"views.publish", obj{"user_id": alice, "view": home, "hash": "1.a"}, "hash_conflict"},
		{"reactions.add", obj{"channel": approval, "timestamp": first, "name": ":x:"}, "invalid_name"},
		{"reactions.remove", obj{"channel": approval, "timestamp": first, "name": "x"}, "no_reaction"},
		{"blocks.validate", obj{"blocks": []any{obj{"type": "marquee"}}}, "invalid_blocks"},
	}
	for _, tt := range tests {
		if m, _ := callAPI(t, s, tt.method, tt.args); m["error"] != tt.want {
			t.Errorf("%s %v: %v, want %s", tt.method, tt.args, m["error"], tt.want)
		}
	}
}

// TestSampleErrors: error bodies are those that were recorded.
func TestSampleErrors(t *testing.T) {
	t.Parallel()
	want := readSample(t, "api_errors.json").(map[string]any)
	s := start(t, fakeslack.Options{NoRateLimits: true})
	long := func(n int) []any { return many(n, func(int) any { return section(mrkdwn(x(3000))) }) }
	table := obj{"type": "table", "rows": []any{many(1, rawText)}}
	tests := map[string]obj{
		"invalid_blocks_3001":    {"channel": approval, "text": "a", "blocks": []any{section(mrkdwn(x(3001)))}},
		"msg_blocks_too_long":    {"channel": approval, "text": "a", "blocks": long(5)},
		"only_one_table_allowed": {"channel": approval, "text": "a", "blocks": []any{table, table}},
		"channel_not_found":      {"channel": "C0NOWHERE1", "text": "a"},
	}
	for name, args := range tests {
		m, _ := callAPI(t, s, "chat.postMessage", args)
		if fmt.Sprint(m) != fmt.Sprint(want[name]) {
			t.Errorf("%s:\n got %v\nwant %v", name, m, want[name])
		}
	}
}

// TestMessages: what becomes of messages.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true})
	post := func(args obj) map[string]any {
		t.Helper()
		if args["channel"] == nil {
			args["channel"] = approval
		}
		return api(t, s, "chat.postMessage", args)
	}
	update := func(args obj) fakeslack.Message {
		t.Helper()
		args["channel"] = approval
		api(t, s, "chat.update", args)
		m, _ := s.Message(approval, args["ts"].(string))
		return m
	}
	blocks := []any{section(mrkdwn("b")), actions(button())}

	t.Run("update", func(t *testing.T) {
		md := obj{"event_type": "e", "event_payload": obj{"id": "1"}}
		ts := post(obj{"text": "t", "blocks": blocks, "metadata": md})["ts"].(string)
		if m := update(obj{"ts": ts, "metadata": md}); m.Text != "t" || len(m.Blocks) != 2 {
			t.Errorf("neither text nor blocks: %+v", m)
		}
		if m := update(obj{"ts": ts, "text": "u", "blocks": blocks}); m.EditedTS != "" || m.Metadata == nil {
			t.Errorf("text and blocks: %+v", m)
		}
		if m := update(obj{"ts": ts, "text": "u"}); m.Blocks != nil || m.EditedTS == "" {
			t.Errorf("text alone: %+v", m)
		}
		if m := update(obj{"ts": ts, "text": "u", "metadata": obj{}}); m.Metadata != nil {
			t.Errorf("metadata {}: %+v", m)
		}
		update(obj{"ts": ts, "text": "u", "blocks": blocks})
		if m := update(obj{"ts": ts, "blocks": []any{}}); len(m.Blocks) != 0 || m.Text != "u" {
			t.Errorf("blocks []: %+v", m)
		}
	})
	t.Run("long text is cut", func(t *testing.T) {
		ts := post(obj{"text": x(40_001)})["ts"].(string)
		if m, _ := s.Message(approval, ts); m.Text != x(40_000) {
			t.Errorf("%d bytes", len(m.Text))
		}
	})
	t.Run("a parent that is gone", func(t *testing.T) {
		ts := post(obj{"text": "p"})["ts"].(string)
		api(t, s, "chat.delete", obj{"channel": approval, "ts": ts})
		if m := post(obj{"text": "r", "thread_ts": ts}); m["message"].(map[string]any)["thread_ts"] != nil {
			t.Errorf("threaded: %v", m)
		}
	})
	t.Run("client_msg_id", func(t *testing.T) {
		args := obj{"text": "once", "client_msg_id": "6f1d3f4e-0000-5000-8000-0000000000aa"}
		a, b := post(args)["ts"], post(args)["ts"]
		if a != b {
			t.Errorf("%v and %v for one client_msg_id", a, b)
		}
		api(t, s, "chat.delete", obj{"channel": approval, "ts": a})
		if m, _ := callAPI(t, s, "chat.postMessage", args); m["error"] != "duplicate_message_not_found" {
			t.Errorf("after the delete: %v", m)
		}
		s.SetDedupe(false)
		defer s.SetDedupe(true)
		if post(args)["ts"] == post(args)["ts"] {
			t.Error("deduplicated although that is off")
		}
	})
	t.Run("direct messages", func(t *testing.T) {
		m := post(obj{"channel": bob, "text": "hi"})
		dm := m["channel"].(string)
		if !strings.HasPrefix(dm, "D") || s.Person("bob").DM() != dm {
			t.Fatalf("channel = %s", dm)
		}
		api(t, s, "chat.update", obj{"channel": dm, "ts": m["ts"], "text": "hi again"})
		open := api(t, s, "conversations.open", obj{"users": bob})
		if open["channel"].(map[string]any)["id"] != dm || open["already_open"] != true {
			t.Errorf("open = %v", open)
		}
		if len(s.Person("alice").Messages(dm)) != 0 {
			t.Error("Alice reads Bob's direct messages")
		}
	})
	t.Run("history", func(t *testing.T) {
		md := obj{"event_type": "hub", "event_payload": obj{"id": "req_9"}}
		before := fmt.Sprintf("%d.000000", s.Now().Add(-time.Minute).Unix())
		ts := post(obj{"channel": "C0DEPLOYS1", "text": "a", "metadata": md})["ts"]
		post(obj{"channel": "C0DEPLOYS1", "text": "b", "thread_ts": ts})
		post(obj{"channel": "C0DEPLOYS1", "text": "c"})
		h := api(t, s, "conversations.history", obj{"channel": "C0DEPLOYS1", "oldest": before, "limit": 1, "include_all_metadata": true})
		if msgs := h["messages"].([]any); len(msgs) != 1 || h["has_more"] != true || msgs[0].(map[string]any)["text"] != "c" {
			t.Fatalf("first page: %v", h)
		}
		next := h["response_metadata"].(map[string]any)["next_cursor"]
		h = api(t, s, "conversations.history", obj{"channel": "C0DEPLOYS1", "limit": 1, "cursor": next, "include_all_metadata": true})
		last := h["messages"].([]any)[0].(map[string]any)
		if last["text"] != "a" || last["metadata"] == nil || last["reply_count"] != 1.0 {
			t.Fatalf("second page: %v", h)
		}
		h = api(t, s, "conversations.history", obj{"channel": "C0DEPLOYS1"})
		if h["messages"].([]any)[1].(map[string]any)["metadata"] != nil {
			t.Error("metadata without include_all_metadata")
		}
		if got := api(t, s, "conversations.history", obj{"channel": "C0DEPLOYS1", "oldest": ts})["messages"].([]any); len(got) != 1 {
			t.Errorf("oldest without inclusive: %v", got)
		}
		r := api(t, s, "conversations.replies", obj{"channel": "C0DEPLOYS1", "ts": ts})
		if msgs := r["messages"].([]any); len(msgs) != 2 || msgs[0].(map[string]any)["ts"] != ts {
			t.Errorf("replies: %v", r)
		}
	})
	t.Run("lists", func(t *testing.T) {
		names := func(args obj, method, key string) string {
			var out []string
			for _, c := range api(t, s, method, args)[key].([]any) {
				out = append(out, c.(map[string]any)["name"].(string))
			}
			return strings.Join(out, " ")
		}
		if got := names(obj{"types": "public_channel,private_channel", "exclude_archived": true}, "conversations.list", "channels"); got != "approvals deploys open-door secret-in with-otherco" {
			t.Errorf("conversations.list = %s", got)
		}
		if got := names(obj{"user": bob}, "users.conversations", "channels"); got != "approvals deploys open-door" {
			t.Errorf("users.conversations = %s", got)
		}
		if got := names(obj{}, "users.list", "members"); got != "alice bob dave gina carol hub" {
			t.Errorf("users.list = %s", got)
		}
		if u := api(t, s, "users.lookupByEmail", obj{"email": "Alice@example.com"}); u["user"].(map[string]any)["id"] != alice {
			t.Errorf("lookup = %v", u)
		}
		api(t, s, "conversations.join", obj{"channel": "C0OPENED01"})
		if m := api(t, s, "conversations.members", obj{"channel": "C0OPENED01"})["members"].([]any); !slices.Contains(m, any("U0HUBBOT01")) {
			t.Errorf("members after join: %v", m)
		}
	})
}

// TestRateLimits: one message a second and channel with a small burst, tiers by
// method, and time that a test can move.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	c := client(t, s)
	ctx := within(t)
	post := func(channel string) error {
		_, _, err := c.PostMessageContext(ctx, channel, slack.MsgOptionText("a", false))
		return err
	}
	burst := 0
	var err error
	for ; err == nil && burst < 20; burst++ {
		err = post(approval)
	}
	limited, ok := errors.AsType[*slack.RateLimitedError](err)
	if !ok || limited.RetryAfter != time.Second || burst > 6 {
		t.Fatalf("after %d posts: %v", burst, err)
	}
	if err := post("C0DEPLOYS1"); err != nil {
		t.Errorf("another channel: %v", err)
	}
	s.Advance(time.Second)
	if err := post(approval); err != nil {
		t.Errorf("a second later: %v", err)
	}
	n := 0
	for err = nil; err == nil && n < 100; n++ {
		_, _, err = c.GetConversationsContext(ctx, &slack.GetConversationsParameters{})
	}
	if _, ok := errors.AsType[*slack.RateLimitedError](err); !ok || n != 21 {
		t.Errorf("conversations.list is tier 2: %d calls, then %v", n, err)
	}
	s.SetRateLimits(false)
	for range 50 {
		if err := post(approval); err != nil {
			t.Fatal(err)
		}
	}
}
