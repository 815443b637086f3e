package main

import (
	"strings"

	"beckon/channels"
	"beckon/config"
)

// configCmd explains the keys of the config.
type configCmd struct {
	Key      string `arg:"" optional:"" help:"One key only, such as routes.match." placeholder:"KEY"`
	Markdown bool   `help:"Print a table."`
}

func (c *configCmd) Run(sh *shell) error {
	all := channels.All()
	switch {
	case c.Key != "":
		keys := config.Reference(all)
		k := config.FindKey(keys, c.Key)
		if k == nil {
			return usage("there is no key %q; \"beckon config\" shows all", c.Key)
		}
		return sh.print("# " + k.Path + " takes: " + k.Type + ".\n" + strings.TrimSuffix(k.YAML(), "\n"))
	case c.Markdown:
		return sh.print(strings.TrimSuffix(config.ReferenceMarkdown(all), "\n"))
	}
	return sh.print(strings.TrimSuffix(config.ReferenceYAML(all), "\n"))
}
