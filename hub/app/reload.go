package app

import (
	"fmt"
	"slices"
	"strings"

	"beckon/config"
)

// Reload puts another config in force: people, teams, agents, operators, routes,
// limits, redaction, retention, and the files of tls. It is all or nothing: when
// the config has errors, or changes what needs a restart, the error says all of
// it, and nothing changes. Requests in flight and parked polls go on.
func (a *App) Reload(cfg *config.Config) error {
	if err := cfg.Err(); err != nil {
		return err
	}
	// The channels that run keep their sections; look at the new ones for
	// errors all the same.
	if _, err := buildChannels(cfg, unstored(cfg.Directory)); err != nil {
		return err
	}
	if fixed := fixed(a.cfg.Load(), cfg); fixed != nil {
		return fmt.Errorf("%s can't change while the hub runs; restart it", strings.Join(fixed, ", "))
	}
	if a.cert != nil {
		if err := a.cert.use(*cfg.TLS); err != nil {
			return err
		}
	}
	a.hub.SetDirectory(a.directory(cfg))
	a.cfg.Store(cfg)
	return nil
}

// fixed names what differs and can't change while the hub runs.
func fixed(old, cfg *config.Config) (names []string) {
	for _, v := range []struct {
		name    string
		changed bool
	}{
		{"listen", cfg.Listen != old.Listen},
		{"public_url", cfg.PublicURL != old.PublicURL},
		{"store", cfg.Store != old.Store},
		{"keys", !slices.EqualFunc(cfg.Keys, old.Keys, slices.Equal)},
		{"tls", (cfg.TLS == nil) != (old.TLS == nil)},
		{"behind_proxy", cfg.BehindProxy != old.BehindProxy},
		{"trusted_proxies", !slices.Equal(cfg.TrustedProxies, old.TrustedProxies)},
		{"templates", cfg.Templates != old.Templates},
		{"callbacks", cfg.Callbacks != old.Callbacks},
	} {
		if v.changed {
			names = append(names, v.name)
		}
	}
	for _, channel := range cfg.ChangedSections(old) {
		names = append(names, "channels."+channel)
	}
	return names
}
