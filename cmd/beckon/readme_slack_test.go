package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"beckon/channels/slack/fakeslack"
)

// TestReadmeSlack sets Slack up as the README says, in a Slack on this machine.
func TestReadmeSlack(t *testing.T) {
	t.Parallel()
	parts := blocks(t, "slack")
	if len(parts) != 3 {
		t.Fatalf("%d blocks, want the manifest, the config and the check", len(parts))
	}
	s := fakeslack.New(fakeslack.Options{NoRateLimits: true})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dir := t.TempDir()
	const section = "app_token: env:SLACK_APP_TOKEN"
	conf := strings.Replace(parts[1], section, section+", api_url: "+s.APIURL(), 1)
	if conf == parts[1] {
		t.Fatalf("the config has no %s", section)
	}
	if err := os.WriteFile(filepath.Join(dir, "beckon.yaml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	a := s.App()
	env := []string{"DEPLOYBOT_TOKEN=" + testToken, "SLACK_BOT_TOKEN=" + a.BotToken, "SLACK_APP_TOKEN=" + a.AppToken}
	p := start(t, dir, env, "set -eu\n"+parts[0]+parts[2])
	p.wait(t)
	p.await(t, `test message to #approvals, posted and deleted`)
	p.await(t, `direct messages to Alice Ng`)
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) || !strings.Contains(string(b), "socket_mode_enabled") {
		t.Errorf("the manifest is\n%s", b)
	}
}
