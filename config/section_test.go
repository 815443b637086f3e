package config_test

import (
	"fmt"
	"testing"

	"beckon/config"
)

// A section has changed when it says something else, or when a secret that it
// refers to is another one; how it is written makes no difference.
func TestChangedSections(t *testing.T) {
	t.Parallel()
	const slack = "channels:\n  slack: {app_token: env:APP, bot_token: env:BOT}\n"
	tests := []struct{ name, text, app, want string }{
		{"the same", slack, "a", "[]"},
		{"written in another way", "channels:\n  slack:\n    app_token: \"env:APP\" # the app's\n    bot_token: env:BOT\n", "a", "[]"},
		{"another secret", slack, "b", "[slack]"},
		{"another key", "channels:\n  slack: {app_token: env:APP}\n", "a", "[slack]"},
		{"another value", "channels:\n  slack: {app_token: env:APP, bot_token: env:APP}\n", "a", "[slack]"},
		{"one more channel", slack + "  email: {from: hub@example.com}\n", "a", "[email]"},
		{"another channel", "channels:\n  hook: {}\n", "a", "[hook slack]"},
		{"no channels", "", "a", "[slack]"},
		{"an implicit channel's empty section", slack + "  web:\n", "a", "[]"},
		{"an implicit channel's section", slack + "  web: {x: y}\n", "a", "[web]"},
	}
	parse := func(text, app string) *config.Config {
		c, err := config.Parse("beckon.yaml", []byte(text+"routes: [{}]\n"), factories(new(built)), func(name string) (string, bool) {
			return map[string]string{"APP": app, "BOT": "bot"}[name], true
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(parse(tt.text, tt.app).ChangedSections(parse(slack, "a"))); got != tt.want {
				t.Errorf("changed: %s, want %s", got, tt.want)
			}
		})
	}
}
