package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"beckon/channels/slack/fakeslack"
)

// slackSymptoms are the rows of the table of symptoms that need a Slack.
func slackSymptoms() []string {
	return []string{"invite it with /invite", "Slack does not take the bot token"}
}

// TestReadmeSlack sets Slack up as the README says, in a Slack on this
// machine, and then spoils it in the ways that it explains.
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

	env[1] += "-revoked"
	check := parts[2] + "exit 0\n"
	p = start(t, dir, env, check)
	p.wait(t)
	out := p.text()
	env[1] = "SLACK_BOT_TOKEN=" + a.BotToken
	s.Kick("C0APPROVE1", a.BotUser)
	p = start(t, dir, env, check)
	p.wait(t)
	out += p.text()
	for _, symptom := range slackSymptoms() {
		if !strings.Contains(out, symptom) {
			t.Errorf("%q is not seen in\n%s", symptom, out)
		}
		if !strings.Contains(readme(t), "| `"+symptom+"` |") {
			t.Errorf("the README does not explain %q", symptom)
		}
	}

	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) || !strings.Contains(string(b), "socket_mode_enabled") {
		t.Errorf("the manifest is\n%s", b)
	}
}
