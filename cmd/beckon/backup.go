package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"beckon/hub/app"
	"beckon/hub/store"
)

// backupCmd copies the database, while the hub runs or not. The copy is the
// state of one moment and has been read through.
type backupCmd struct {
	configFile
	Store string `help:"The database itself; then no config is read." placeholder:"FILE"`
	To    string `arg:"" placeholder:"FILE" help:"The copy. A file that is there already is left alone."`
}

func (b *backupCmd) Run(ctx context.Context, sh *shell) error {
	from, key := b.Store, ""
	if from == "" {
		cfg, err := b.load()
		if err != nil {
			return err
		}
		if from = cfg.Store; len(cfg.Keys) == 0 {
			key = app.KeyPath(cfg)
		}
	}
	if err := store.BackupFile(ctx, from, b.To); err != nil {
		return err
	}
	info, err := os.Stat(b.To)
	if err != nil {
		return fmt.Errorf("look at the copy: %w", err)
	}
	sh.say("%s: %s, checked", b.To, size(info.Size()))
	sh.say("The hub's key is not in it; back it up apart: %s", cmp.Or(key, "see keys in the config"))
	return nil
}

// size writes a number of bytes as people say it.
func size(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
