package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"beckon/channels/web"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/app"
)

// linkCmd makes a personal link from the hub's key. It needs the config and the
// key, and no running hub. Whoever has the link is signed in as that person.
type linkCmd struct {
	configFile
	Person  string `arg:"" help:"Whom the link is for: an id from the config."`
	Message string `help:"Reach this message only, not the whole list." placeholder:"ID"`
	TTL     span   `name:"ttl" help:"How long the link works." default:"24h" placeholder:"SPAN"`
}

func (l *linkCmd) Run(sh *shell) error {
	cfg, err := l.load()
	if err != nil {
		return err
	}
	person := strings.TrimPrefix(l.Person, "human:")
	if cfg.Directory.People[person] == nil {
		names := slices.Sorted(maps.Keys(cfg.Directory.People))
		return usage("%s: there is no person %q among people (%s)", l.Config, person, strings.Join(names, ", "))
	}
	if cfg.PublicURL == "" {
		return usage("%s: a link needs public_url, since the port is not known before the hub runs", l.Config)
	}
	ring, err := keys(cfg)
	if err != nil {
		return err
	}
	expires := time.Now().Add(time.Duration(l.TTL))
	return sh.print(web.Link(app.LinkKeys(ring), cfg.PublicURL, person, l.Message, expires))
}

// keys are those of the config, or those of the key file that serve has made.
func keys(cfg *config.Config) (hub.KeyRing, error) {
	if len(cfg.Keys) > 0 {
		return cfg.Keys, nil
	}
	path := app.KeyPath(cfg)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, usage("%s: there is no key file yet; run \"beckon serve --config %s\" once, which makes it", path, cfg.File)
	}
	ring, _, err := config.KeyFile(path)
	if err != nil {
		return nil, usage("%v", err)
	}
	return ring, nil
}
