package app

import (
	"context"
	"log/slog"
	"os"
	"time"

	"beckon/channels"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/waiter"
)

// Load reads a config file with the section of every channel, so that what the
// channels find wrong comes together with what is wrong in the rest of the file:
// as [config.Errors], in the order of the file. It touches neither the database
// nor the network.
//
// With errors the config is nil, or as good as could be made of the file; only
// an error-free one may be used.
func Load(path string) (*config.Config, error) {
	cfg, err := config.Load(path, channels.All())
	if cfg == nil {
		return nil, err
	}
	_, err = buildChannels(cfg, unstored(cfg.Directory))
	return cfg, err
}

// unstored is a hub that decides and keeps nothing: for looking at a config.
func unstored(d *hub.Directory) *hub.Hub {
	// A key that nobody keeps: what a channel signs here, nobody verifies.
	ring := hub.KeyRing{make([]byte, hub.MinKeyBytes)}
	return hub.New(hub.Options{
		Store: nowhere{}, Notifier: waiter.New(), Outbox: nowhere{}, Keys: ring, Log: slog.New(slog.DiscardHandler),
	}, d)
}

// nowhere is a store that has nothing and takes nothing, and an outbox that
// nothing is due in.
type nowhere struct{}

var (
	_ hub.Store  = nowhere{}
	_ hub.Outbox = nowhere{}

	errNowhere = &hub.Error{Code: ma2h.CodeUnavailable, Msg: "the database is not open", Err: hub.ErrUnsupported}
)

func (nowhere) Due(string, time.Time) {}

func (nowhere) Apply(context.Context, *hub.Change) error { return errNowhere }

func (nowhere) Snapshot(context.Context, string) (*hub.Snapshot, error) { return nil, errNowhere }

func (nowhere) Message(context.Context, string) (*hub.Message, error) { return nil, errNowhere }

func (nowhere) Own(context.Context, string, string) (*hub.Message, error) { return nil, errNowhere }

func (nowhere) Unseen(context.Context, time.Time, int) ([]string, error) { return nil, errNowhere }

func (nowhere) Directive(context.Context, string, string) (*hub.Directive, error) {
	return nil, errNowhere
}

func (nowhere) ListDirectives(context.Context, hub.SentQuery) ([]hub.Directive, error) {
	return nil, errNowhere
}

func (nowhere) WaitingDirectives(context.Context, string, time.Time, int) (int, error) {
	return 0, errNowhere
}

func (nowhere) NextDirective(context.Context, string, time.Time) (time.Time, bool, error) {
	return time.Time{}, false, errNowhere
}

func (nowhere) TakeDirectives(context.Context, string, time.Time, time.Time, int) ([]hub.Directive, error) {
	return nil, errNowhere
}

func (nowhere) PutSeen(context.Context, string, time.Time) error { return errNowhere }

func (nowhere) Seen(context.Context, string) (time.Time, error) { return time.Time{}, errNowhere }

func (nowhere) FindKey(context.Context, string, string) (string, error) { return "", errNowhere }

func (nowhere) FindAlias(context.Context, string, string) (string, error) { return "", errNowhere }

func (nowhere) TombstoneAgent(context.Context, string) (string, error) { return "", errNowhere }

func (nowhere) FindPosting(context.Context, string, string) (*hub.Posting, error) {
	return nil, errNowhere
}

func (nowhere) ListMessages(context.Context, hub.ListQuery) ([]*hub.Message, error) {
	return nil, errNowhere
}

func (nowhere) ListDeliveries(context.Context, hub.DeliveryQuery) ([]hub.Delivery, error) {
	return nil, errNowhere
}

func (nowhere) Events(context.Context, string) ([]hub.Event, error) { return nil, errNowhere }

func (nowhere) Attempts(context.Context, string) ([]hub.Attempt, error) { return nil, errNowhere }

func (nowhere) Inbound(context.Context, string, int) ([]hub.Inbound, error) {
	return nil, errNowhere
}

func (nowhere) OpenCount(context.Context, string, int) (int, error) { return 0, errNowhere }

func (nowhere) InAudience(context.Context, string, string) (bool, error) { return false, errNowhere }

func (nowhere) GetState(context.Context, string, string) (string, error) { return "", errNowhere }

func (nowhere) PutState(context.Context, string, string, string) error { return errNowhere }

func (nowhere) PutStateFor(context.Context, string, string, string, string) error {
	return errNowhere
}

func (nowhere) Lease(context.Context, string, string, time.Time, time.Duration) (bool, error) {
	return false, errNowhere
}

// stored is a hub over a database that is open, with nobody who delivers.
func stored(d *hub.Directory, s hub.Store, cfg *config.Config) *hub.Hub {
	ring := cfg.Keys
	if len(ring) == 0 {
		ring = hub.KeyRing{make([]byte, hub.MinKeyBytes)}
		if _, err := os.Stat(KeyPath(cfg)); err == nil {
			if keys, _, err := config.KeyFile(KeyPath(cfg)); err == nil {
				ring = keys
			}
		}
	}
	return hub.New(hub.Options{Store: s, Notifier: waiter.New(), Outbox: nowhere{}, Keys: ring}, d)
}
