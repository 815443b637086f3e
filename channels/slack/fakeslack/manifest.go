package fakeslack

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// manifestLimits are the lengths of slackapi/manifest-schema,
// schemas/manifest.schema.2.0.0.json.
func manifestLimits() map[string]int {
	return map[string]int{
		"/display_information/name":             35,
		"/display_information/description":      140,
		"/display_information/long_description": 4000,
		"/features/bot_user/display_name":       80,
		"/features/slash_commands/*/command":    32,
		"/features/shortcuts/*/name":            24,
	}
}

// ValidateManifest checks an app manifest in JSON, as apps.manifest.validate
// does: lengths, the number of shortcuts, and that what is switched on can be
// delivered, by Socket Mode or to a request URL.
func ValidateManifest(manifest []byte) []Problem {
	v := &validator{code: "invalid_manifest"}
	m, err := decodeObject(manifest)
	if err != nil {
		v.add("", "must be a valid JSON object")
		return v.problems
	}
	v.object("", m, opt("_metadata", v.anything), req("display_information", v.anything), opt("features", v.anything),
		opt("oauth_config", v.anything), opt("settings", v.anything), opt("functions", v.anything), opt("workflows", v.anything))
	v.manifestLengths("", "", m)
	dig := func(path ...string) any {
		var at any = m
		for _, p := range path {
			o, _ := at.(object)
			at = o[p]
		}
		return at
	}
	if name, _ := dig("display_information", "name").(string); name == "" {
		v.add("/display_information", "missing required field: name")
	}
	if list, _ := dig("features", "shortcuts").([]any); len(list) > 10 {
		v.add("/features/shortcuts", "no more than 10 items allowed")
	}
	commands, _ := dig("features", "slash_commands").([]any)
	for _, c := range asObjects(commands) {
		if name, _ := c["command"].(string); !strings.HasPrefix(name, "/") || strings.ToLower(name) != name {
			v.add("/features/slash_commands", "a command begins with a slash and is lower case: %q", name)
		}
	}
	if dig("settings", "socket_mode_enabled") != true {
		if events, ok := dig("settings", "event_subscriptions").(object); ok && events["request_url"] == nil {
			v.add("/settings/event_subscriptions", "needs request_url or socket_mode_enabled")
		}
		if inter, ok := dig("settings", "interactivity").(object); ok && inter["is_enabled"] == true && inter["request_url"] == nil {
			v.add("/settings/interactivity", "needs request_url or socket_mode_enabled")
		}
	}
	v.manifestScopes(dig("oauth_config", "scopes", "bot"), dig("settings", "event_subscriptions", "bot_events"))
	return v.problems
}

// manifestScopes holds each event to the scope that it needs.
func (v *validator) manifestScopes(scopes, events any) {
	have, _ := scopes.([]any)
	list, _ := events.([]any)
	for _, e := range list {
		name, _ := e.(string)
		need := map[string]string{
			"message.channels": "channels:history", "message.groups": "groups:history", "message.im": "im:history",
			"message.mpim": "mpim:history", "app_mention": "app_mentions:read", "reaction_added": "reactions:read",
		}[name]
		if need != "" && !slices.Contains(have, any(need)) {
			v.add("/settings/event_subscriptions/bot_events", "%s needs the scope %s", name, need)
		}
	}
}

// manifestLengths holds every string to its length; pattern has * for indices.
func (v *validator) manifestLengths(at, pattern string, val any) {
	switch x := val.(type) {
	case object:
		for name, y := range x {
			v.manifestLengths(at+"/"+name, pattern+"/"+name, y)
		}
	case []any:
		for i, y := range x {
			v.manifestLengths(at+"/"+itoa(i), pattern+"/*", y)
		}
	case string:
		if most := manifestLimits()[pattern]; most > 0 && utf8.RuneCountInString(x) > most {
			v.add(at, "must be less than %d characters", most+1)
		}
	}
}
