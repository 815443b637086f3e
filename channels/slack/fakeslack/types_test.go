package fakeslack_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"beckon/channels/slack/fakeslack"
)

// TestTypes compiles, at once because the compiler is slow, what the fake takes
// at its limits against Slack's own types, and what it sends to apps against
// those of Slack's library. One document is wrong, so that a compiler that takes
// everything is noticed.
func TestTypes(t *testing.T) {
	t.Parallel()
	dir := boltDir(t)
	bad := document(t, "a marquee", "KnownBlock[]", []any{obj{"type": "header", "text": mrkdwn("no")}})
	docs := slices.Concat(accepted(t), []fakeslack.Typed{bad}, emitted(t))
	lines, err := fakeslack.TypeCheck(t.Context(), dir, docs)
	if err != nil {
		t.Fatal(err)
	}
	refused := false
	for _, line := range lines {
		if strings.HasPrefix(line, "a marquee at column") {
			refused = true
			continue
		}
		t.Error(line)
	}
	if !refused {
		t.Error("the compiler took a header with mrkdwn")
	}
}

// accepted is something at every limit that the fake takes.
func accepted(t *testing.T) []fakeslack.Typed {
	t.Helper()
	// What Slack has and @slack/types 3.2.0 has not yet.
	newer := []string{"header.level", "button.visible_to_user_ids", "card.subtext"}
	var docs []fakeslack.Typed
	for _, lim := range fakeslack.Limits() {
		if slices.Contains(newer, lim.Name) || strings.HasPrefix(lim.Name, "data_visualization.") {
			continue
		}
		doc := atLimit[lim.Name](max(lim.Min, min(lim.Max, 120)))
		typ, part := "KnownBlock[]", doc["blocks"]
		switch {
		case doc["type"] == "modal":
			typ, part = "ModalView", doc
			docs = append(docs, document(t, lim.Name+" blocks", "KnownBlock[]", doc["blocks"]))
		case part == nil:
			continue
		}
		docs = append(docs, document(t, lim.Name, typ, part))
	}
	return docs
}

// emitted is what an app receives of clicks, forms, replies and the Home tab.
func emitted(t *testing.T) []fakeslack.Typed {
	t.Helper()
	const channel = "C0APPROVE1"
	s := start(t, fakeslack.Options{NoRateLimits: true})
	k := newSink(t, s)
	alice, ctx := s.Person("alice"), within(t)
	post := api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Deploy?", "blocks": []any{
		section(mrkdwn("*Deploy?*")), actions(with(button(), "value", "yes"), selectOf("options", many(2, option))),
	}})
	ts := post["ts"].(string)
	if _, err := alice.Click(ctx, channel, ts, "a"); err != nil {
		t.Fatal(err)
	}
	click := k.wait(t, typed("block_actions"))
	view := modalView("blocks", []any{with(inputOf(obj{"type": "plain_text_input", "action_id": "txt"}), "block_id", "why")})
	open := api(t, s, "views.open", obj{"trigger_id": click["trigger_id"], "view": with(view, "notify_on_close", true)})
	id := open["view"].(map[string]any)["id"].(string)
	if _, err := alice.SubmitView(ctx, id, map[string]any{"why": "because"}); err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Select(ctx, channel, ts, "s", "1"); err != nil {
		t.Fatal(err)
	}
	must(t)(alice.Reply(channel, ts, "fine"))
	alice.OpenHome()
	submission, choice := k.wait(t, typed("view_submission")), k.wait(t, typed("block_actions"))
	// The library's types are narrower than what Slack documents and sends: they
	// know no null enterprise, no username in a submission, and want a key
	// "subtype" with no value.
	for _, m := range []map[string]any{click, choice, submission} {
		delete(m, "enterprise")
	}
	delete(submission["user"].(map[string]any), "username")
	return []fakeslack.Typed{
		document(t, "a click", "bolt.BlockAction<bolt.ButtonAction>", click),
		document(t, "blocks of a message", "KnownBlock[]", click["message"].(map[string]any)["blocks"]),
		document(t, "a submission", "bolt.ViewSubmitAction", submission),
		document(t, "a choice", "bolt.BlockAction<bolt.StaticSelectAction>", choice),
		document(t, "a reply", "Omit<slack.GenericMessageEvent, 'subtype'>", k.wait(t, event("message", "", false))["event"]),
		document(t, "Home opened", "AppHomeOpenedEvent", k.wait(t, event("app_home_opened", "", false))["event"]),
	}
}

func document(t *testing.T, name, typ string, v any) fakeslack.Typed {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return fakeslack.Typed{Name: name, Type: typ, JSON: raw}
}
