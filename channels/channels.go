// Package channels is the list of channels that exist. Adding one is a folder
// and a line here; what it must pass is in channeltest.
package channels

import (
	"beckon/channels/email"
	"beckon/channels/slack"
	"beckon/channels/web"
	"beckon/hub"
)

// All returns the factories of every channel, one line each.
func All() []hub.Factory {
	return []hub.Factory{
		slack.Factory,
		email.Factory,
		web.Factory,
	}
}
