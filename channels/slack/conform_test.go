package slack

import (
	"strings"
	"testing"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
)

// bench makes the world of one conformance test.
func bench(t *testing.T, desk *channeltest.Desk, target hub.Target) (*world, channeltest.Bench) {
	w := startWorld(t, workspace(), desk)
	b := channeltest.Bench{
		Channel: w.ch, Target: target,
		Copies: func(t *testing.T, id string) int { return len(w.copies(id)) },
		Read: func(t *testing.T, id string) channeltest.Seen {
			var seen channeltest.Seen
			for _, m := range w.copies(id) {
				seen.Text += shown(t, m) + "\n"
				seen.Raw += raw(t, m)
			}
			return seen
		},
		Secrets: []string{w.slack.App().BotToken, w.slack.App().AppToken},
		Break:   func(*testing.T) { w.refuse() },
	}
	return w, b
}

func TestConformance(t *testing.T) {
	for name, target := range map[string]hub.Target{"in a channel": toPlace, "in direct messages": toAlice} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, func(t *testing.T, desk *channeltest.Desk) channeltest.Bench {
				_, b := bench(t, desk, target)
				return b
			})
		})
	}
}

// TestErrorsHoldNoSecret breaks calls in every way there is.
func TestErrorsHoldNoSecret(t *testing.T) {
	for name, f := range map[string]fakeslack.Fault{
		"refused": {Error: "invalid_auth"}, "reset": {Reset: true}, "half": {Garbage: true}, "html": {Status: 500}, "slow": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWorld(t, workspace(), nil)
			w.impatient(200e6)
			w.slack.Fail(f)
			_, err := w.post(toPlace, channeltest.Ask("msg_a"))
			all := err.Error() + w.logs.String()
			for _, secret := range []string{w.slack.App().BotToken, w.slack.App().AppToken} {
				if strings.Contains(all, secret) {
					t.Errorf("a token shows: %s", strings.ReplaceAll(all, secret, "«token»"))
				}
			}
		})
	}
}
