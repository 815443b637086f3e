package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"beckon/config"
	"beckon/hub"
	"beckon/hub/app"
	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// previewCmd shows what a message would look like in a channel. It calls nobody:
// the channel is made from the config, or from nothing if there is no config
// here.
type previewCmd struct {
	configFile
	Channel string `required:"" help:"The channel, such as slack." placeholder:"NAME"`
	File    string `arg:"" help:"The envelope, or - for standard input; what it lacks of version, time, agent and key is filled in."`
	author
}

func (p *previewCmd) Run(sh *shell) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	p.Agent = cmp.Or(p.Agent, "preview")
	raw, err := fillFile(sh, &p.author, "the envelope", p.File, "", "")
	if err != nil {
		return err
	}
	_, body, err := app.Preview(cfg, p.Channel, raw)
	switch {
	case refused(err):
		return &exitError{client.ExitRefused, fmt.Sprintf("the hub would refuse the message: %v", err)}
	case config.IsErrors(err):
		return err
	case err != nil:
		return usage("%v", err)
	}
	if _, err := sh.out.Write(body); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// config is the one that is named, the one here, or none.
func (p *previewCmd) config() (*config.Config, error) {
	if p.Config == "" {
		if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
			return app.PreviewConfig()
		}
	}
	return p.load()
}

func refused(err error) bool {
	if _, ok := errors.AsType[*hub.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*ma2h.Error](err)
	return ok
}
