package main

import (
	"fmt"
	"net"

	"beckon/channels/slack/fakeslack"
)

// demoSlackPort is tried first, as demoPort.
const demoSlackPort = "127.0.0.1:8425"

// The workspace of the demo: the person, a team mate, and a channel where the
// agent asks.
const (
	demoSlackUser    = "U0YOU00001"
	demoSlackChannel = "C0RELEASE1"
)

// demoSlackConfig is the config of the demo with Slack, but for four values. The
// tokens are those of the make-believe Slack.
const demoSlackConfig = `
listen: %q
store: %q
people:
  you: {name: You, slack: ` + demoSlackUser + `}
agents:
  demo/release-bot: {token_sha256: %s}
channels:
  slack: {bot_token: env:DEMO_SLACK_BOT_TOKEN, app_token: env:DEMO_SLACK_APP_TOKEN, api_url: %q}
routes:
  - ask: [you]
    post: [{web: you}, {slack: "#releases"}]
`

// demoSlack is a Slack on this machine. It keeps nothing.
type demoSlack struct{ *fakeslack.Server }

func startDemoSlack() (*demoSlack, error) {
	ex := fakeslack.Example()
	bot := ex.Apps[0].BotUser
	s := fakeslack.New(fakeslack.Options{
		Users: []fakeslack.User{
			{ID: demoSlackUser, Name: "you", RealName: "You", TZ: localZone().String()},
			{ID: "U0MATE0001", Name: "sam", RealName: "Sam Mate"},
		},
		Channels: []fakeslack.Channel{{ID: demoSlackChannel, Name: "releases", Members: []string{bot, demoSlackUser, "U0MATE0001"}}},
		Apps:     ex.Apps,
	})
	l, err := net.Listen("tcp", demoSlackPort)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listen on this machine: %w", err)
	}
	s.Serve(l)
	return &demoSlack{s}, nil
}

// page is where the person sees the workspace and clicks.
func (s *demoSlack) page() string {
	return s.URL() + "/as/" + demoSlackUser + "/" + demoSlackChannel
}

// env are the tokens that the config refers to.
func (s *demoSlack) env(name string) (string, bool) {
	switch name {
	case "DEMO_SLACK_BOT_TOKEN":
		return s.App().BotToken, true
	case "DEMO_SLACK_APP_TOKEN":
		return s.App().AppToken, true
	}
	return "", false
}
