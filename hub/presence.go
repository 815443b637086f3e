package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"beckon/hub/ma2h"
)

// PresenceFreshness is how long an agent counts as online after it was last seen
// (spec §15.2): longer than it may wait in one poll.
const PresenceFreshness = 90 * time.Second

// seenEvery is how often it is written down that an agent is there. After a
// restart the hub may think that it was last seen so much earlier.
const seenEvery = 30 * time.Second

// PresenceStore keeps when agents were last seen.
type PresenceStore interface {
	// PutSeen records that an agent was there; an earlier time changes nothing.
	PutSeen(ctx context.Context, agentID string, at time.Time) error
	// Seen returns when an agent was last there, the zero time for never.
	Seen(ctx context.Context, agentID string) (time.Time, error)
}

// presence knows when agents were last there: they asked for their inbox, or
// waited for an answer (spec §15.1). Nothing that the hub does by itself counts.
type presence struct {
	mu     sync.Mutex
	agents map[string]sighting
}

type sighting struct{ last, saved time.Time }

// note takes down that the agent is there, and reports whether that is to be
// saved.
func (p *presence) note(agentID string, at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.agents[agentID]
	save := at.Sub(s.saved) >= seenEvery
	if save {
		s.saved = at
	}
	s.last = at
	if p.agents == nil {
		p.agents = map[string]sighting{}
	}
	p.agents[agentID] = s
	return save
}

func (p *presence) last(agentID string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agents[agentID].last
}

// seen records that an agent asks. That it can't be saved keeps nobody from an
// answer.
func (h *Hub) seen(ctx context.Context, agentID string) {
	at := now()
	if !h.presence.note(agentID, at) {
		return
	}
	if err := h.store.PutSeen(context.WithoutCancel(ctx), agentID, at); err != nil {
		h.log.Warn("not recorded that an agent is there", "agent", agentID, "err", err)
	}
}

// LastSeen returns when an agent last asked for its inbox or waited for an
// answer, the zero time for never.
func (h *Hub) LastSeen(ctx context.Context, agentID string) (time.Time, error) {
	if last := h.presence.last(agentID); !last.IsZero() {
		return last, nil
	}
	last, err := h.store.Seen(ctx, agentID)
	if errors.Is(err, ErrNotFound) {
		return time.Time{}, nil
	}
	return last, err
}

// Presence says whether an agent is there (spec §15.3), for those who may know.
func (h *Hub) Presence(ctx context.Context, agentID string) (ma2h.Presence, error) {
	p := NoPresence(agentID)
	last, err := h.LastSeen(ctx, agentID)
	if err != nil || last.IsZero() {
		return p, err
	}
	p.State, p.LastSeen = "offline", ma2h.FormatTime(last)
	if now().Sub(last) <= PresenceFreshness {
		p.State = "online"
	}
	return p, nil
}

// NoPresence is what everybody else is told of an agent, whether there is such a
// one or not.
func NoPresence(agentID string) ma2h.Presence {
	return ma2h.Presence{AgentID: agentID, State: "unknown", FreshnessSeconds: int64(PresenceFreshness / time.Second)}
}
