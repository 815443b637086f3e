package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"beckon/channels"
	"beckon/config"
	"beckon/hub"
)

// referenceEnv has what the reference refers to.
func referenceEnv(name string) (string, bool) {
	if name == "BECKON_KEY" {
		return key, true
	}
	return "a-secret-of-" + strings.ToLower(name), true
}

// TestReferenceFile holds that examples/reference.yaml is what the types say,
// and that the hub takes it, as it stands and with everything on that is off.
func TestReferenceFile(t *testing.T) {
	t.Parallel()
	const name = "../examples/reference.yaml"
	text := config.ReferenceYAML(channels.All())
	if *update {
		write(t, name, text, 0o644)
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), text); diff != "" {
		t.Errorf("%s is not up to date; run this test with -update (-have +want):\n%s", name, diff)
	}
	c, err := config.Parse("reference.yaml", have, channels.All(), referenceEnv)
	if err != nil {
		t.Fatal(err)
	}
	if c.Warnings != nil {
		t.Errorf("warnings:\n%v", c.Warnings)
	}

	dir := t.TempDir()
	cert, keyFile := newPair(t, time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0))
	write(t, filepath.Join(dir, "cert.pem"), cert, 0o644)
	write(t, filepath.Join(dir, "key.pem"), keyFile, 0o600)
	write(t, filepath.Join(dir, "old.key"), strings.ToLower(key[:8])+key[8:], 0o600)
	if err := os.Mkdir(filepath.Join(dir, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	// A comment is "# words"; what is off is "#key: …" and the lines below it.
	on := regexp.MustCompile(`(?m)^( *)#([a-z-]|  )`).ReplaceAllString(string(have), "$1$2")
	on = strings.ReplaceAll(on, "/etc/beckon", dir)
	c, err = config.Parse("reference.yaml", []byte(on), channels.All(), referenceEnv)
	if err != nil {
		t.Fatalf("%v\n%s", err, on)
	}
	if c.TLS == nil || len(c.Keys) != 2 || c.Templates == "" || !c.Directory.ResolversSubmitter {
		t.Errorf("something is still off: tls %v, %d keys, templates %q", c.TLS, len(c.Keys), c.Templates)
	}
}

// TestReference holds that every key is explained, and shown with its default
// where it has one.
func TestReference(t *testing.T) {
	t.Parallel()
	var walk func(keys []config.Key)
	paths := map[string]config.Key{}
	walk = func(keys []config.Key) {
		for _, k := range keys {
			if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s: the sentence %q", k.Path, k.Doc)
			}
			if len(k.Keys) == 0 && k.Example == "" {
				t.Errorf("%s has no example", k.Path)
			}
			paths[k.Path] = k
			walk(k.Keys)
		}
	}
	walk(config.Reference(append(channels.All(), factories(new(built))[:1]...)))
	for path, want := range map[string]string{
		"listen": "127.0.0.1:8420", "retention": "30d", "limits.envelope": "256KiB", "limits.requests_per_minute": "600",
		"behind_proxy": "true", "callbacks.allow_loopback": "false", "callbacks.v0_1": "sign",
		"agents.ID.callbacks[].host": "agent.example.com", "routes[].match.type": "[ask, task]", "channels.web.templates": "/etc/beckon/templates",
	} {
		if got := paths[path].Example; got != want {
			t.Errorf("%s: the example is %q, want %q", path, got, want)
		}
	}
	if got := paths["agents.ID.token"].Type; got != "secret, env:NAME or file:/path, or a list: secret, env:NAME or file:/path" {
		t.Errorf("agents.ID.token takes %q", got)
	}
}

func TestFindKey(t *testing.T) {
	t.Parallel()
	keys := config.Reference([]hub.Factory{{Name: "web"}})
	tests := []struct{ path, want string }{
		{"listen", "listen"},
		{"agents.deploybot/dev-team.token", "agents.ID.token"},
		{"agents.token", "agents.ID.token"},
		{"agents.deploybot/dev-team", "agents"},
		{"routes[0].match.type", "routes[].match.type"},
		{"routes.match", "routes[].match"},
		{"agents.a.callbacks[1].host", "agents.ID.callbacks[].host"},
		{"channels.web", "channels.web"},
		{"lissen", ""},
		{"listen.port", ""},
		{"", ""},
	}
	for _, tt := range tests {
		got := ""
		if k := config.FindKey(keys, tt.path); k != nil {
			got = k.Path
		}
		if got != tt.want {
			t.Errorf("%q leads to %q, want %q", tt.path, got, tt.want)
		}
	}
}
