package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// drained is the body of GET /v1/inbox.
type drained struct {
	Messages []hub.InboxEntry `json:"messages"`
}

// acked is the answer to POST /v1/inbox/ack.
type acked struct {
	Acked int `json:"acked"`
}

// inbox is GET /v1/inbox ?max= &wait= (spec §8.7). The credential selects the
// mailbox and nothing else does.
func (a *API) inbox(x *exchange, r *http.Request, agent *hub.Agent) error {
	q := newQuery(r)
	limit := q.number("max", hub.MaxBatch, 1, hub.MaxBatch)
	wait := time.Duration(q.number("wait", 0, 0, maxWait)) * time.Second
	if q.err != nil {
		return q.err
	}
	ctx := r.Context()
	if a.draining.Err() != nil {
		wait = 0
	}
	if wait > 0 {
		x.poll = true
		a.metrics.polls.Add(1)
		defer a.metrics.polls.Add(-1)
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(a.draining, cancel)
		defer stop()
	}
	entries, err := a.o.Hub.Inbox(ctx, agent, limit, wait)
	if err != nil && r.Context().Err() == nil && ctx.Err() != nil {
		entries, err = nil, nil // woken by the shutdown
	}
	if err == nil {
		err = r.Context().Err()
	}
	if err != nil {
		return err
	}
	if entries == nil {
		entries = []hub.InboxEntry{}
	}
	return writeJSON(x, http.StatusOK, drained{entries})
}

// inboxAck is POST /v1/inbox/ack (spec §8.7).
func (a *API) inboxAck(x *exchange, r *http.Request, agent *hub.Agent) error {
	raw, err := a.readJSON(x, r, "acknowledgement", maxAckBody)
	if err != nil {
		return err
	}
	n, err := a.o.Hub.InboxAck(r.Context(), agent, raw)
	if err != nil {
		return err
	}
	return writeJSON(x, http.StatusOK, acked{n})
}

// presenceSuffix ends the path of GET /v1/agents/{id}/presence. An agent's id
// may hold slashes, escaped or not, so the router does not take it apart.
const presenceSuffix = "/presence"

// presence is GET /v1/agents/{id}/presence (spec §15.3): for the agent itself
// and for operators. To everybody else each agent is one that was never there,
// whether it exists or not.
func (a *API) presence(x *exchange, r *http.Request) error {
	id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.EscapedPath(), "/v1/agents/"), presenceSuffix)
	id, err := url.PathUnescape(id)
	if !ok || err != nil || id == "" {
		return nothingHere()
	}
	token, err := credential(r)
	if err != nil {
		return err
	}
	d := a.o.Hub.Directory()
	owner := token != "" && d.OperatorByToken(token) != nil
	serve := func(x *exchange, r *http.Request) error {
		p := hub.NoPresence(id)
		if owner {
			if p, err = a.o.Hub.Presence(r.Context(), id); err != nil {
				return err
			}
		}
		return writeJSON(x, http.StatusOK, p)
	}
	if owner {
		return a.operator(func(x *exchange, r *http.Request, _ *hub.Operator) error { return serve(x, r) })(x, r)
	}
	return a.agent(func(x *exchange, r *http.Request, agent *hub.Agent) error {
		owner = agent.ID == id
		return serve(x, r)
	})(x, r)
}

func nothingHere() error {
	return &hub.Error{
		Code: ma2h.CodeNotFound,
		Msg:  "there is nothing at this path; GET /openapi.yaml lists what there is",
	}
}
