package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"beckon/channels"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// ErrNoPreview is what [Preview] returns for a channel that has none.
var ErrNoPreview = errors.New("has no preview")

// Preview shows what an envelope would look like in a channel, as a place that
// several people share gets it. It judges the envelope as a submit would be,
// stores nothing, and touches neither the database nor the network. An agent
// that the config does not know will do. A refusal is a [*hub.Error] or a
// [*ma2h.Error].
func Preview(cfg *config.Config, channel string, envelope []byte) (contentType string, body []byte, err error) {
	return preview(cfg, channels.All(), channel, envelope)
}

func preview(cfg *config.Config, all []hub.Factory, channel string, envelope []byte) (contentType string, body []byte, err error) {
	i := slices.IndexFunc(all, func(f hub.Factory) bool { return f.Name == channel })
	if i < 0 {
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		return "", nil, fmt.Errorf("there is no channel %q (there are: %s)", channel, strings.Join(names, ", "))
	}
	h := unstored(cfg.Directory)
	section, ok := cfg.Sections[channel]
	if !ok && !all[i].Implicit {
		return "", nil, fmt.Errorf("channel %s is not in the config; add it under channels", channel)
	}
	c := all[i].New(section, h.Desk(channel))
	if err := cfg.Err(); err != nil {
		return "", nil, err
	}
	p, ok := c.(hub.Previewer)
	if !ok {
		return "", nil, fmt.Errorf("channel %s %w", channel, ErrNoPreview)
	}
	h.SetChannels(map[string]hub.Channel{channel: c})
	id, _, _, _, err := ma2h.Peek(envelope)
	if err != nil {
		return "", nil, err
	}
	agent := cfg.Directory.Agents[id]
	if agent == nil {
		agent = &hub.Agent{ID: id}
	}
	x, err := h.Explain(agent, envelope)
	if err != nil {
		return "", nil, err
	}
	return p.Preview(x.Card)
}

// PreviewConfig is the config to preview with when there is none: every channel
// with stand-ins for what it needs, and a person for everything.
func PreviewConfig() (*config.Config, error) {
	text := "people:\n  you: {name: You}\nroutes:\n  - ask: [you]\n"
	standIns := map[string]string{
		"slack": "{bot_token: env:xoxb-preview, app_token: env:xapp-preview}",
		"email": "{from: hub@example.com, smtp: {host: localhost, tls: none}, listen: {address: 127.0.0.1:2424}}",
	}
	var sections strings.Builder
	for _, f := range channels.All() {
		if s, ok := standIns[f.Name]; ok {
			fmt.Fprintf(&sections, "  %s: %s\n", f.Name, s)
		}
	}
	if sections.Len() > 0 {
		text += "channels:\n" + sections.String()
	}
	return config.Parse("preview", []byte(text), channels.All(), func(name string) (string, bool) { return name, true })
}
