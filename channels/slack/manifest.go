package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// ManifestOptions are what an operator may choose about the Slack app.
type ManifestOptions struct {
	Name    string // of the app and its bot; "Beckon" when empty; at most 35 characters
	Command string // slash command; "/beckon" when empty; at most 32 characters
	// RequestURL is where Slack sends events when the hub has no Socket Mode; an
	// https URL. Empty: Socket Mode, which needs no open port.
	RequestURL string
}

// Scopes are what the bot needs and nothing more: to post and update
// (chat:write), to open DMs (im:write), to know who clicked (users:read and
// users:read.email), to read replies in the threads of its own copies
// (*:history), to know the ids of the channels that it is in (channels:read and
// groups:read: a post that nobody saw arrive is looked for by id), and the slash
// command.
// https://docs.slack.dev/reference/scopes
func Scopes() []string {
	return []string{
		"channels:history", "channels:read", "chat:write", "commands", "groups:history", "groups:read", "im:history", "im:write", "users:read", "users:read.email",
	}
}

// botEvents are what the channel listens to.
func botEvents() []string {
	return []string{
		"app_home_opened", "app_uninstalled", "channel_id_changed", "message.channels", "message.groups", "message.im", "tokens_revoked",
	}
}

// Manifest writes the app manifest that an operator pastes at
// https://api.slack.com/apps to make the Slack app of a hub, as JSON
// (https://docs.slack.dev/reference/app-manifest).
func Manifest(o ManifestOptions) ([]byte, error) {
	if o.Name == "" {
		o.Name = "Beckon"
	}
	if o.Command == "" {
		o.Command = "/beckon"
	}
	if n := utf8.RuneCountInString(o.Name); n > 35 {
		return nil, fmt.Errorf("manifest: the name has %d characters, Slack allows 35", n)
	}
	if !strings.HasPrefix(o.Command, "/") || len(o.Command) < 2 || len(o.Command) > 32 || strings.ContainsAny(o.Command, " \t\n") {
		return nil, fmt.Errorf("manifest: the command %q must be a slash and 1 to 31 characters without spaces", o.Command)
	}
	if o.RequestURL != "" {
		u, err := url.Parse(o.RequestURL)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("manifest: the request URL must be an https URL that Slack can reach")
		}
	}
	b, err := json.MarshalIndent(manifestOf(o), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return append(b, '\n'), nil
}

// appManifest has the fields that a hub's app needs. Flags are always written:
// some are on when they are missing.
type appManifest struct {
	Metadata struct {
		Major int `json:"major_version"`
	} `json:"_metadata"`
	Display struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"display_information"`
	Features struct {
		AppHome struct {
			Home     bool `json:"home_tab_enabled"`
			Messages bool `json:"messages_tab_enabled"`
			ReadOnly bool `json:"messages_tab_read_only_enabled"` // people reply in DMs
		} `json:"app_home"`
		Bot struct {
			Name   string `json:"display_name"`
			Online bool   `json:"always_online"`
		} `json:"bot_user"`
		Commands []slashCommand `json:"slash_commands"`
	} `json:"features"`
	OAuth struct {
		Scopes struct {
			Bot []string `json:"bot"`
		} `json:"scopes"`
	} `json:"oauth_config"`
	Settings struct {
		Events struct {
			URL string   `json:"request_url,omitempty"`
			Bot []string `json:"bot_events"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			On  bool   `json:"is_enabled"`
			URL string `json:"request_url,omitempty"`
		} `json:"interactivity"`
		OrgDeploy bool `json:"org_deploy_enabled"`
		Socket    bool `json:"socket_mode_enabled"`
		Rotation  bool `json:"token_rotation_enabled"`
	} `json:"settings"`
}

type slashCommand struct {
	Command     string `json:"command"`
	URL         string `json:"url,omitempty"`
	Description string `json:"description"`
	Hint        string `json:"usage_hint"`
	Escape      bool   `json:"should_escape"`
}

func manifestOf(o ManifestOptions) appManifest {
	var m appManifest
	m.Metadata.Major = 2
	m.Display.Name, m.Display.Description = o.Name, "Software agents ask, people answer."
	m.Features.AppHome.Home, m.Features.AppHome.Messages = true, true
	m.Features.Bot.Name, m.Features.Bot.Online = o.Name, true
	m.Features.Commands = []slashCommand{{
		Command: o.Command, URL: o.RequestURL, Description: "What waits for you", Hint: "[list | show 2 | help]", Escape: true,
	}}
	m.OAuth.Scopes.Bot = Scopes()
	m.Settings.Events.URL, m.Settings.Events.Bot = o.RequestURL, botEvents()
	m.Settings.Interactivity.On, m.Settings.Interactivity.URL = true, o.RequestURL
	m.Settings.Socket = o.RequestURL == ""
	return m
}
