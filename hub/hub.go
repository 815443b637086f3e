// Package hub is the domain: what a message, person, route, delivery and answer
// are, which moves are legal, and what a channel gets and must do.
package hub

import (
	"context"
	"log/slog"
	"time"

	"beckon/hub/ma2h"
)

// Options are what a Hub is built from.
type Options struct {
	Store    Store
	Notifier Notifier
	Outbox   Outbox
	Keys     KeyRing
	Log      *slog.Logger
}

// Hub decides. It is safe for concurrent use.
type Hub struct{}

// New returns a hub over a directory; SetChannels before the outbox runs.
func New(o Options, d *Directory) *Hub { panic("unwritten") }

// SetChannels names the channels that deliveries go to.
func (h *Hub) SetChannels(c map[string]Channel) { panic("unwritten") }

// SetDirectory swaps the config.
func (h *Hub) SetDirectory(d *Directory) { panic("unwritten") }

// Directory returns the config in force.
func (h *Hub) Directory() *Directory { panic("unwritten") }

// Desk returns the hub as one channel sees it.
func (h *Hub) Desk(channel string) Desk { panic("unwritten") }

// Submitted is what Submit did.
type Submitted struct {
	Message  *Message
	Ack      ma2h.SubmitAck
	Warnings []string // for the Beckon-Warning header
	Replayed bool     // the original ack of an earlier submit
}

// Submit takes an envelope as received from an authenticated agent (spec §8.1).
// Errors are *Error or *ma2h.Error.
func (h *Hub) Submit(ctx context.Context, agent *Agent, raw []byte) (*Submitted, error) {
	panic("unwritten")
}

// Get reads a message for its submitter: CodeNotFound to anybody else, CodeGone
// from a tombstone.
func (h *Hub) Get(ctx context.Context, agentID, id string) (*Message, error) { panic("unwritten") }

// Wait is Get that holds until the message is terminal, d has passed or ctx
// ends, and then returns its current state.
func (h *Hub) Wait(ctx context.Context, agentID, id string, d time.Duration) (*Message, error) {
	panic("unwritten")
}

// Body renders the body of GET /v1/messages/{id} (spec §8.2); with extra, the
// "beckon" object of deliveries and warnings travels along.
func (h *Hub) Body(ctx context.Context, m *Message, extra bool) ([]byte, error) { panic("unwritten") }

// Resolve is an agent's answer by POST /v1/messages/{id}/resolve (spec §8.8).
func (h *Hub) Resolve(ctx context.Context, agent *Agent, id string, raw []byte) (ma2h.Resolved, error) {
	panic("unwritten")
}

// Cancel withdraws the agent's own message (spec §8.4); again is the same.
func (h *Hub) Cancel(ctx context.Context, agent *Agent, id string) (ma2h.Resolved, error) {
	panic("unwritten")
}

// List lists messages; set q.AgentID for an agent.
func (h *Hub) List(ctx context.Context, q ListQuery) ([]*Message, error) { panic("unwritten") }

// Inspect reads a message whole, for an operator.
func (h *Hub) Inspect(ctx context.Context, id string) (*Snapshot, error) { panic("unwritten") }

// Deliveries lists deliveries, for an operator.
func (h *Hub) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	panic("unwritten")
}

// Attempts reads the attempts of a message's deliveries, for an operator.
func (h *Hub) Attempts(ctx context.Context, id string) ([]Attempt, error) { panic("unwritten") }

// Events reads a message's history and verifies its chain, for an operator.
func (h *Hub) Events(ctx context.Context, id string) ([]Event, error) { panic("unwritten") }

// Retry makes a dead or waiting delivery due now, for an operator.
func (h *Hub) Retry(ctx context.Context, operator, id string, seq int) (*Delivery, error) {
	panic("unwritten")
}

// Repost posts an open message again to all its targets whose copies are
// missing or dead, and to the others as a new generation when all is set.
func (h *Hub) Repost(ctx context.Context, operator, id string, all bool) (int, error) {
	panic("unwritten")
}

// Withdraw cancels an open ask for an operator; the actor is
// "system:operator".
func (h *Hub) Withdraw(ctx context.Context, operator, id string) (ma2h.Resolved, error) {
	panic("unwritten")
}

// Work does one claimed delivery and records how it ended. An error means that
// not even that could be recorded.
func (h *Hub) Work(ctx context.Context, d Delivery) error { panic("unwritten") }
