package main

import (
	"strings"

	"beckon/channels/slack"
)

// slackCmd is what an operator needs besides the config to use Slack.
type slackCmd struct {
	Manifest slackManifestCmd `cmd:"" help:"Print the manifest of the Slack app that the hub needs."`
}

// slackManifestCmd prints an app manifest.
type slackManifestCmd struct {
	Name       string `help:"What the app is called in Slack." default:"Beckon" placeholder:"NAME"`
	Command    string `help:"The slash command." default:"/beckon" placeholder:"/COMMAND"`
	RequestURL string `name:"request-url" help:"Have Slack send to this address, such as https://beckon.example.com/slack/events, instead of Socket Mode." placeholder:"URL"`
}

func (c *slackManifestCmd) Run(sh *shell) error {
	b, err := slack.Manifest(slack.ManifestOptions{Name: c.Name, Command: c.Command, RequestURL: c.RequestURL})
	if err != nil {
		return usage("%s", strings.TrimPrefix(err.Error(), "manifest: "))
	}
	if err := sh.print(strings.TrimSpace(string(b))); err != nil {
		return err
	}
	next := "and an app-level token with the scope connections:write (Basic Information) as channels.slack.app_token"
	if c.RequestURL != "" {
		next = "and the signing secret (Basic Information) as channels.slack.signing_secret"
	}
	sh.say(`
Paste this at https://api.slack.com/apps under Create New App, From a manifest. Then install the app and put
its bot token (OAuth & Permissions) into the config as channels.slack.bot_token, %s.
Invite the app to the channels that it posts to: /invite @%s. "beckon check --live" says what is missing.`, next, c.Name)
	return nil
}
