package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"beckon/channels"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/app"
	"beckon/hub/client"
)

// demoCmd shows everything on one machine: a hub, a person and an agent that
// asks. The agent talks to the hub over HTTP like any other. The database lies
// in a temporary folder that is removed at the end, or in --keep DIR, where a
// later run finds the same messages.
type demoCmd struct {
	Keep           string `help:"Keep the database and the key in this folder, and go on from there the next time." placeholder:"DIR"`
	Listen         string `help:"Listen here; otherwise on 127.0.0.1:8420, or a free port if that is taken." placeholder:"HOST:PORT"`
	Slack          bool   `help:"Post to a make-believe Slack as well, with a page where you click."`
	Email          bool   `help:"Post by e-mail as well, with a page that is a make-believe phone where you reply."`
	AnswersTimeout span   `help:"End with exit code 6 if not everything is answered within this time." placeholder:"SPAN"`
}

const (
	demoPerson = "you"
	demoAgent  = "demo/release-bot"
	// demoPort is tried first, so that a bookmark works the next time.
	demoPort = "127.0.0.1:8420"
	// demoLink is how long the printed link works; the demo rarely runs longer.
	demoLink = 7 * 24 * time.Hour
)

// demoConfig is the whole config of the demo, but for three values.
const demoConfig = `
listen: %q
store: %q
people:
  you: {name: You}
agents:
  demo/release-bot: {token_sha256: %s}
routes:
  - ask: [you]
    post: [{web: you}]
`

func (d *demoCmd) Run(ctx context.Context, sh *shell) (err error) {
	if d.Slack && d.Keep != "" {
		return usage("--slack goes without --keep: the make-believe Slack keeps nothing")
	}
	if d.Email && d.Keep != "" {
		return usage("--email goes without --keep: the make-believe phone keeps nothing")
	}
	if d.Email && d.Slack {
		return usage("--email and --slack are two demos; try one after the other")
	}
	dir, remove, err := d.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	l, err := d.listener()
	if err != nil {
		return err
	}
	var fake *demoSlack
	if d.Slack {
		if fake, err = startDemoSlack(); err != nil {
			return errors.Join(err, l.Close())
		}
		defer fake.Close()
		sh.say("A make-believe Slack is here; what you answer there counts as well:\n\n    %s\n", fake.page())
	}
	var phone *demoMail
	if d.Email {
		if phone, err = startDemoMail(dir); err != nil {
			return errors.Join(err, l.Close())
		}
		defer phone.Close()
		sh.say("A make-believe phone is here; what you reply to its mails counts as well:\n\n    %s\n", phone.page())
	}
	token := hub.NewToken()
	cfg, err := makeDemoConfig(l.Addr().String(), filepath.Join(dir, "beckon.db"), token, fake, phone)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	log := slog.New(slog.NewTextHandler(sh.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	a, err := app.New(ctx, cfg, app.Options{Log: log, Version: version(), Listener: l})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return d.show(ctx, sh, a, dir, token)
}

// show runs the hub and the agent until ctx ends or one of them fails.
func (d *demoCmd) show(ctx context.Context, sh *shell, a *app.App, dir, token string) error {
	hubCtx, stopHub := context.WithCancel(ctx)
	defer stopHub()
	served := make(chan error, 1)
	go func() { served <- serve(hubCtx, a, nil, nil) }()

	play, stopPlay := context.WithCancel(ctx)
	defer stopPlay()
	played := make(chan error, 1)
	go func() { played <- d.play(play, sh, a, dir, token) }()

	var err error
	select {
	case err = <-served: // it failed, or ctx ended
		stopPlay()
		err = errors.Join(err, <-played)
	case err = <-played:
		stopHub()
		err = errors.Join(err, <-served)
	}
	if ctx.Err() != nil && err == nil {
		d.goodbye(sh)
	}
	return err
}

func (d *demoCmd) goodbye(sh *shell) {
	if d.Keep == "" {
		sh.say("\nThe demo is over; its database is removed.")
		return
	}
	sh.say("\nThe demo is over; everything is kept in %s. Go on with: beckon demo --keep %s", d.Keep, d.Keep)
}

// play is the agent's side. It returns nil when ctx ends.
func (d *demoCmd) play(ctx context.Context, sh *shell, a *app.App, dir, token string) error {
	c, err := client.New(a.URL(), token, demoAgent, client.WithUserAgent("beckon-demo/"+version()))
	if err != nil {
		return err
	}
	p := &player{sh: sh, client: c}
	if d.Keep != "" {
		p.file = filepath.Join(dir, "demo.json")
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if d.AnswersTimeout > 0 {
		wait, cancel = context.WithTimeout(ctx, time.Duration(d.AnswersTimeout))
	}
	defer cancel()
	err = p.play(wait, a.URL(), a.Link(demoPerson, "", demoLink))
	switch {
	case ctx.Err() != nil: // Ctrl-C
		return nil
	case err == nil:
		<-ctx.Done()
		return nil
	case wait.Err() != nil:
		return &exitError{client.ExitOpen, fmt.Sprintf("not everything was answered within %s", time.Duration(d.AnswersTimeout))}
	}
	return err
}

// folder is where the database lies, and what to do with it in the end.
func (d *demoCmd) folder() (dir string, remove func() error, err error) {
	if d.Keep != "" {
		if err := os.MkdirAll(d.Keep, 0o700); err != nil {
			return "", nil, usage("--keep: %v", err)
		}
		return d.Keep, func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "beckon-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the database: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

func (d *demoCmd) listener() (net.Listener, error) {
	if d.Listen != "" {
		l, err := net.Listen("tcp", d.Listen)
		if err != nil {
			return nil, usage("--listen: %v", err)
		}
		return l, nil
	}
	l, err := net.Listen("tcp", demoPort)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listen on this machine: %w", err)
	}
	return l, nil
}

func makeDemoConfig(listen, store, token string, fake *demoSlack, phone *demoMail) (*config.Config, error) {
	sum := hub.HashToken(token)
	hash := hex.EncodeToString(sum[:])
	text, env := fmt.Sprintf(demoConfig, listen, store, hash), os.LookupEnv
	switch {
	case fake != nil:
		text, env = fmt.Sprintf(demoSlackConfig, listen, store, hash, fake.APIURL()), fake.env
	case phone != nil:
		text = phone.config(listen, store, hash)
	}
	cfg, err := config.Parse("demo", []byte(text), channels.All(), env)
	if err != nil {
		return nil, err
	}
	cfg.Directory.People[demoPerson].Location = localZone()
	return cfg, nil
}

// localZone is this machine's time zone, by its name where that can be told.
func localZone() *time.Location {
	if os.Getenv("TZ") != "" {
		return time.Local
	}
	target, err := os.Readlink("/etc/localtime")
	if err != nil {
		return time.Local
	}
	_, name, ok := strings.Cut(target, "zoneinfo/")
	if !ok {
		return time.Local
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.Local
	}
	return zone
}
