// Package app builds, starts, reloads and stops the whole process from a
// config.
//
// [New] opens the store, makes the channels, and binds the listener; [App.Run]
// serves until its context ends and then stops in the order that loses nothing:
// no new requests, parked polls answer, deliveries in flight end or go back to
// the outbox, the store closes last. A failure of New leaves nothing open. A
// failure of Run is the listener's or the store's; channels that fail are
// started again and show in /readyz.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"beckon/channels"
	"beckon/channels/web"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/api"
	"beckon/hub/callback"
	"beckon/hub/outbox"
	"beckon/hub/store"
	"beckon/hub/waiter"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// StopTimeout bounds how long requests and deliveries in flight may take when
// the process stops.
const StopTimeout = 10 * time.Second

// Options are what is not in the config.
type Options struct {
	Log     *slog.Logger
	Version string
	// Listener replaces listening on the config's address, as tests do.
	Listener net.Listener
	// Synchronous is the store's option of that name: for tests that show what
	// its default is good for.
	Synchronous string
}

// App is the whole process.
type App struct {
	log       *slog.Logger
	cfg       atomic.Pointer[config.Config]
	publicURL string

	store    *store.Store
	box      *outbox.Outbox
	hub      *hub.Hub
	keys     hub.KeyRing
	channels map[string]hub.Channel
	runners  []*runner
	registry *prometheus.Registry

	listener net.Listener
	server   *http.Server
	cert     *certificate // nil: plain HTTP
}

// New builds the process and binds its address. Errors in the config come as
// [config.Errors].
func New(ctx context.Context, cfg *config.Config, o Options) (_ *App, err error) {
	a := &App{log: o.Log, registry: prometheus.NewRegistry(), listener: o.Listener}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			a.abandon()
		}
	}()
	if a.keys, err = a.keyRing(cfg); err != nil {
		return nil, err
	}
	if a.cert, err = newCertificate(cfg.TLS, a.log); err != nil {
		return nil, err
	}
	if a.listener == nil {
		if a.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
			return nil, fmt.Errorf("listen on %s: %w", cfg.Listen, err)
		}
	}
	if a.publicURL = cfg.PublicURL; a.publicURL == "" {
		scheme := "http"
		if cfg.TLS != nil {
			scheme = "https"
		}
		a.publicURL = scheme + "://" + a.listener.Addr().String()
	}
	if a.store, err = store.Open(ctx, cfg.Store, store.Options{Log: a.log, Synchronous: o.Synchronous}); err != nil {
		return nil, err
	}
	a.box = outbox.New(a.store, outbox.Options{Log: a.log, Lanes: lanes(), Families: families(a.store)})
	keys, err := callback.SigningKeys(a.keys.Derive(callback.KeyPurpose))
	if err != nil {
		return nil, err
	}
	a.hub = hub.New(hub.Options{
		Pusher: callback.New(callback.Options{AllowLoopback: cfg.Callbacks.AllowLoopback, Keys: keys}),
		Store:  a.store, Notifier: waiter.New(), Outbox: a.box, Keys: a.keys, Log: a.log, Observer: api.NewObserver(a.registry),
		Link: func(person, messageID string, expires time.Time) string {
			return web.Link(LinkKeys(a.keys), a.publicURL, person, messageID, expires)
		},
	}, a.directory(cfg))
	if a.channels, err = buildChannels(cfg, a.hub); err != nil {
		return nil, err
	}
	a.hub.SetChannels(a.channels)
	a.cfg.Store(cfg)
	a.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&stateCollector{store: a.store, box: a.box, runners: func() []*runner { return a.runners }, timeout: 5 * time.Second},
	)
	a.serve(cfg, o.Version, callback.JWKS(keys))
	return a, nil
}

// abandon closes what a failed New has opened.
func (a *App) abandon() {
	if a.store != nil {
		_ = a.store.Close()
	}
	if a.listener != nil {
		_ = a.listener.Close()
	}
}

// keyRing takes the config's keys, or makes a key file beside the database the
// first time.
func (a *App) keyRing(cfg *config.Config) (hub.KeyRing, error) {
	if len(cfg.Keys) > 0 {
		return cfg.Keys, nil
	}
	path := KeyPath(cfg)
	db, statErr := os.Stat(cfg.Store)
	ring, created, err := config.KeyFile(path)
	switch {
	case err != nil:
		return nil, err
	case created && statErr == nil && db.Size() > 0:
		a.log.Warn("the database is not new but its key file was not there, and a new one was made: "+
			"what the old key signed, such as personal links and sign-ins, is no longer good; put the old file back if you have it", "path", path)
	case created:
		a.log.Info("a key file was made; back it up apart from the database", "path", path)
	}
	return ring, nil
}

// KeyPath is where a config without keys keeps them: beside the database.
func KeyPath(cfg *config.Config) string {
	return filepath.Join(filepath.Dir(cfg.Store), strings.TrimSuffix(filepath.Base(cfg.Store), ".db")+".key")
}

// directory is the config's, with the public URL that the listener decided.
func (a *App) directory(cfg *config.Config) *hub.Directory {
	d := *cfg.Directory
	d.PublicURL = a.publicURL
	return &d
}

// lanes gives each channel a queue of its own, and the clock one.
func lanes() []outbox.Lane {
	l := []outbox.Lane{{Name: hub.LaneClock}}
	for _, f := range channels.All() {
		l = append(l, outbox.Lane{Name: f.Name})
	}
	return l
}

// families gives each host that is called back a queue of its own.
func families(s *store.Store) []outbox.Family {
	return []outbox.Family{{
		Prefix: hub.PushLanes, Concurrency: hub.PushConcurrency,
		Pending: func(ctx context.Context) ([]string, error) { return s.Lanes(ctx, hub.PushLanes) },
	}}
}

// buildChannels makes every channel that the config mentions or that is there
// anyway, and gathers what they say about their sections.
func buildChannels(cfg *config.Config, h *hub.Hub) (map[string]hub.Channel, error) {
	out := map[string]hub.Channel{}
	for _, f := range channels.All() {
		section, ok := cfg.Sections[f.Name]
		if !ok && !f.Implicit {
			continue
		}
		if c := f.New(section, h.Desk(f.Name)); c != nil {
			out[f.Name] = c
		}
	}
	return out, cfg.Err()
}

// serve builds the HTTP side over the channels' pages.
func (a *App) serve(cfg *config.Config, version string, jwks []byte) {
	pages := map[string]http.Handler{}
	for _, name := range slices.Sorted(maps.Keys(a.channels)) {
		if p, ok := a.channels[name].(hub.HTTPHandler); ok {
			for pattern, handler := range p.Handlers() {
				pages[pattern] = handler
			}
		}
		if r, ok := a.channels[name].(hub.Runner); ok {
			keep := &runner{name: name, run: r.Run, log: a.log}
			if p, ok := r.(hub.Pulse); ok {
				keep.alive = p.Alive
			}
			a.runners = append(a.runners, keep)
		}
	}
	handler := api.New(api.Options{
		Hub: a.hub, Log: a.log, Registry: a.registry, Ready: a.store.Ping, Health: a.health, Stats: a.stats,
		Version: version, JWKS: jwks, Pages: pages, TrustedProxies: cfg.TrustedProxies,
	})
	a.server = api.Server(handler, a.log, handler.Drain)
	if a.cert != nil {
		a.server.TLSConfig = a.cert.config()
	}
}

// Hub returns the domain, for tests and for the demo.
func (a *App) Hub() *hub.Hub { return a.hub }

// URL is the public URL, without trailing slash.
func (a *App) URL() string { return a.publicURL }

// Addr is the address that the process listens on.
func (a *App) Addr() net.Addr { return a.listener.Addr() }

// Link returns a personal link to a person's whole list, or to one message.
func (a *App) Link(person, messageID string, ttl time.Duration) string {
	return web.Link(LinkKeys(a.keys), a.publicURL, person, messageID, time.Now().Add(ttl))
}

// LinkKeys derives the keys of personal links, as the web channel does.
func LinkKeys(ring hub.KeyRing) [][]byte { return ring.Channel(web.Name, web.LinkKeys) }

// Run serves until ctx ends, then stops. It may be called once.
func (a *App) Run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var wg sync.WaitGroup
	for _, r := range a.runners {
		wg.Go(func() { r.keep(work) })
	}
	wg.Go(func() { a.housekeeping(work) })
	boxDone := make(chan error, 1)
	go func() { boxDone <- a.box.Run(work, a.hub) }()

	served := make(chan error, 1)
	go func() { served <- a.listen() }()
	a.log.Info("serving", "url", a.publicURL, "addr", a.Addr().String())

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("serve: %w", err)
	}
	a.log.Info("stopping")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTimeout)
	defer cancel()
	if serr := a.server.Shutdown(stop); serr != nil {
		a.log.Warn("some requests did not end in time", "err", serr)
		_ = a.server.Close()
	}
	stopWork()
	wg.Wait()
	if berr := <-boxDone; berr != nil && !errors.Is(berr, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("outbox: %w", berr))
	}
	if cerr := a.store.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	return err
}

func (a *App) listen() error {
	var err error
	if a.cert != nil {
		err = a.server.ServeTLS(a.listener, "", "") // the certificate is in its TLSConfig
	} else {
		err = a.server.Serve(a.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
