package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"beckon/config"
	"beckon/hub/app"
)

// serveCmd runs the hub until it is told to stop. SIGHUP reads the config
// again; one that is wrong leaves the old one in force.
type serveCmd struct {
	configFile
	LogFormat string     `help:"text or json." enum:"text,json" default:"text"`
	LogLevel  slog.Level `help:"debug, info, warn or error." default:"info"`
}

// configFile says which config a command reads.
type configFile struct {
	Config string `help:"The config file; beckon.yaml here if nothing is said." env:"BECKON_CONFIG" placeholder:"FILE"`
}

// defaultConfig is read if no other is named.
const defaultConfig = "beckon.yaml"

func (f *configFile) load() (*config.Config, error) {
	// An empty variable is one that is not set.
	f.Config = cmp.Or(f.Config, defaultConfig)
	cfg, err := app.Load(f.Config)
	if err != nil && !config.IsErrors(err) {
		return nil, usage("%v", err)
	}
	return cfg, err
}

// runner is what serve needs of [app.App].
type runner interface {
	Run(ctx context.Context) error
}

// stopWithin is how long a stop may take before the process ends anyway.
const stopWithin = 15 * time.Second

func (s *serveCmd) Run(ctx context.Context, sh *shell) error {
	log := s.logger(sh)
	cfg, err := s.load()
	if err != nil {
		return err
	}
	warn(cfg, log)
	a, err := app.New(ctx, cfg, app.Options{Log: log, Version: version()})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	return serve(ctx, a, func() { s.reload(a, log) }, hup)
}

func (s *serveCmd) logger(sh *shell) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(sh.err, o))
	}
	return slog.New(slog.NewTextHandler(sh.err, o))
}

func (s *serveCmd) reload(a *app.App, log *slog.Logger) {
	cfg, err := s.load()
	if err == nil {
		err = a.Reload(cfg)
	}
	if errs, ok := errors.AsType[config.Errors](err); ok {
		for _, e := range errs {
			log.Error("config error", "err", e)
		}
		err = fmt.Errorf("number of errors: %d", len(errs))
	}
	if err != nil {
		log.Error("the config was not reloaded; the old one stays in force", "file", s.Config, "err", err)
		return
	}
	warn(cfg, log)
	log.Info("config reloaded", "file", s.Config)
}

// warn logs what is legal in a config and probably not meant.
func warn(cfg *config.Config, log *slog.Logger) {
	for _, w := range cfg.Warnings {
		log.Warn("config warning", "warning", w)
	}
}

// serve runs a until ctx ends, and no longer than [stopWithin] after that. A
// reload runs beside it, so that one which hangs, on a file of a disk that does
// not answer, keeps nobody from stopping the hub.
func serve(ctx context.Context, a runner, reload func(), hup <-chan os.Signal) error {
	done, reloaded := make(chan error, 1), make(chan struct{}, 1)
	go func() { done <- a.Run(ctx) }()
	busy, again := false, false
	start := func() {
		busy = true
		go func() { reload(); reloaded <- struct{}{} }()
	}
	var late <-chan time.Time
	stopping := ctx.Done()
	for {
		select {
		case err := <-done:
			if busy {
				select {
				case <-reloaded:
				case <-time.After(time.Second): // it ends with the process
				}
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		case <-hup:
			if again = busy; !busy {
				start()
			}
		case <-reloaded:
			if busy = false; again {
				again = false
				start()
			}
		case <-stopping:
			stopping, late = nil, time.After(stopWithin)
		case <-late:
			return fmt.Errorf("serve: not everything stopped within %s; nothing that was acknowledged is lost", stopWithin)
		}
	}
}
