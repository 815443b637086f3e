package slack

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestManifest(t *testing.T) {
	dir := os.Getenv("BECKON_SHARED")
	if dir == "" {
		t.Skip("BECKON_SHARED is not set: no schema of Slack's manifests")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "data", "slack-manifest.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.UseRegexpEngine(lenientRegexp)
	if err := c.AddResource("mem:manifest", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mem:manifest")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []ManifestOptions{
		{},
		{Name: "Freigaben", Command: "/freigabe"},
		{RequestURL: "https://beckon.example.com/slack/events"},
	} {
		b, err := Manifest(o)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	// The schema must be able to refuse, or the test says nothing.
	bad := map[string]any{"display_information": map[string]any{"name": strings.Repeat("x", 36)}}
	if schema.Validate(bad) == nil {
		t.Error("the schema takes a name of 36 characters")
	}
}

// anything stands for a pattern that Go can't compile: the schema's lookaheads
// are about domains, which our manifest has none of.
type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }

func lenientRegexp(s string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(s); err == nil {
		return re, nil
	}
	return anything(s), nil
}

func TestManifestSays(t *testing.T) {
	get := func(o ManifestOptions) (m appManifest) {
		b, err := Manifest(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := get(ManifestOptions{})
	if !m.Settings.Socket || m.Settings.Events.URL != "" || !m.Settings.Interactivity.On {
		t.Errorf("Socket Mode is not the default: %+v", m.Settings)
	}
	if m.Features.AppHome.ReadOnly || !m.Features.AppHome.Messages || !m.Features.AppHome.Home {
		t.Errorf("people can't reply in the app's messages: %+v", m.Features.AppHome)
	}
	want := []string{
		"channels:history", "channels:read", "chat:write", "commands", "groups:history", "groups:read", "im:history", "im:write", "users:read", "users:read.email",
	}
	if diff := cmp.Diff(want, m.OAuth.Scopes.Bot); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	for _, e := range []string{"message.im", "app_home_opened", "tokens_revoked"} {
		if !slices.Contains(m.Settings.Events.Bot, e) {
			t.Errorf("no event %s", e)
		}
	}
	m = get(ManifestOptions{RequestURL: "https://beckon.example.com/slack"})
	if m.Settings.Socket || m.Settings.Events.URL == "" || m.Settings.Interactivity.URL == "" || m.Features.Commands[0].URL == "" {
		t.Errorf("a request URL is not used everywhere: %+v", m)
	}
}

func TestManifestRefuses(t *testing.T) {
	for _, o := range []ManifestOptions{
		{Name: strings.Repeat("ü", 36)},
		{Command: "beckon"},
		{Command: "/"},
		{Command: "/a b"},
		{Command: "/" + strings.Repeat("x", 32)},
		{RequestURL: "http://beckon.example.com"},
		{RequestURL: "nonsense"},
	} {
		if _, err := Manifest(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
