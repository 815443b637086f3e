package fakeslack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"beckon/channels/slack/fakeslack"
)

// TestManifest: what an app manifest may hold.
func TestManifest(t *testing.T) {
	t.Parallel()
	manifest := func(change func(info, features, settings obj)) []byte {
		info := obj{"name": "Hub", "description": "Human answers for agents"}
		features := obj{"bot_user": obj{"display_name": "hub"}, "slash_commands": []any{obj{"command": "/hub", "description": "d"}}}
		settings := obj{
			"event_subscriptions": obj{"bot_events": []any{"message.channels", "app_home_opened"}},
			"interactivity":       obj{"is_enabled": true}, "socket_mode_enabled": true,
		}
		change(info, features, settings)
		raw, _ := json.Marshal(obj{
			"display_information": info, "features": features, "settings": settings,
			"oauth_config": obj{"scopes": obj{"bot": []any{"chat:write", "channels:history"}}},
		})
		return raw
	}
	tests := []struct {
		name   string
		change func(info, features, settings obj)
		want   string
	}{
		{"good", func(_, _, _ obj) {}, ""},
		{"longest name", func(i, _, _ obj) { i["name"] = x(35) }, ""},
		{"name too long", func(i, _, _ obj) { i["name"] = x(36) }, "/display_information/name"},
		{"no name", func(i, _, _ obj) { delete(i, "name") }, "missing required field: name"},
		{"description too long", func(i, _, _ obj) { i["description"] = x(141) }, "/display_information/description"},
		{"command too long", func(_, f, _ obj) { f["slash_commands"] = []any{obj{"command": "/" + strings.Repeat("a", 32)}} }, "/features/slash_commands/0/command"},
		{"command without a slash", func(_, f, _ obj) { f["slash_commands"] = []any{obj{"command": "hub"}} }, "begins with a slash"},
		{"eleven shortcuts", func(_, f, _ obj) { f["shortcuts"] = many(11, func(int) any { return obj{"name": "n"} }) }, "no more than 10"},
		{"nowhere to send to", func(_, _, s obj) { s["socket_mode_enabled"] = false }, "needs request_url"},
		{"an event without its scope", func(_, _, s obj) { s["event_subscriptions"] = obj{"bot_events": []any{"message.im"}} }, "message.im needs the scope im:history"},
	}
	for _, tt := range tests {
		p := fakeslack.ValidateManifest(manifest(tt.change))
		if tt.want == "" && len(p) > 0 || tt.want != "" && (len(p) == 0 || !strings.Contains(p[0].String(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, p, tt.want)
		}
	}
}
