package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// How a list is paged and how long a poll is held (spec §8.2).
const (
	maxWait      = 60 // seconds
	defaultLimit = 50
	maxLimit     = 200
	maxPageBytes = 2 << 20 // of messages
	maxAckBody   = 64 << 10
)

// What goes into Beckon-Warning headers at most.
const (
	maxWarnings     = 8
	maxWarningBytes = 300
)

// submit is POST /v1/messages (spec §8.1). The 202 goes out after the commit.
func (a *API) submit(x *exchange, r *http.Request, agent *hub.Agent) error {
	raw, err := a.readJSON(x, r, "envelope", a.o.Hub.Directory().Limits.Envelope)
	if err != nil {
		return err
	}
	s, err := a.o.Hub.Submit(r.Context(), agent, raw)
	if err != nil {
		return err
	}
	x.message = s.Message.ID
	for _, w := range s.Warnings[:min(len(s.Warnings), maxWarnings)] {
		x.Header().Add("Beckon-Warning", headerText(w))
	}
	return writeJSON(x, http.StatusAccepted, s.Ack)
}

// read is GET /v1/messages/{id} (spec §8.2).
func (a *API) read(x *exchange, r *http.Request, agent *hub.Agent) error {
	id, err := messageID(r)
	if err != nil {
		return err
	}
	q := newQuery(r)
	wait := time.Duration(q.number("wait", 0, 0, maxWait)) * time.Second
	since := q.instant("since")
	if now := time.Now(); since.After(now) {
		since = now // of a clock that is ahead: what is still to come is news all the same
	}
	extra := q.v.Get("include") == "beckon"
	if q.err != nil {
		return q.err
	}

	m, err := a.current(x, r, agent, id, wait)
	if err != nil {
		return hideNotFound(err)
	}
	if err := r.Context().Err(); err != nil {
		return err // nobody is there to get the answer, so it is not delivered
	}
	if !since.IsZero() && !changedAt(m).After(since) {
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	// A poll that the shutdown woke still gets its body.
	body, err := a.o.Hub.Body(context.WithoutCancel(r.Context()), m, extra)
	if err != nil {
		return err
	}
	writeBytes(x, http.StatusOK, "application/json", body)
	return nil
}

// current reads the message, waiting for its end if asked to. While it waits
// nothing is held but the connection, the request and one timer.
func (a *API) current(x *exchange, r *http.Request, agent *hub.Agent, id string, wait time.Duration) (*hub.Message, error) {
	if wait == 0 || a.draining.Err() != nil {
		return a.o.Hub.Get(r.Context(), agent.ID, id)
	}
	x.poll = true
	a.metrics.polls.Add(1)
	defer a.metrics.polls.Add(-1)

	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(a.draining, cancel)
	defer stop()
	m, err := a.o.Hub.Wait(ctx, agent.ID, id, wait)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		return a.o.Hub.Get(r.Context(), agent.ID, id) // woken by the shutdown
	}
	return m, err
}

// changedAt is when the status became what it is.
func changedAt(m *hub.Message) time.Time {
	if m.ResolvedAt.IsZero() {
		return m.AcceptedAt
	}
	return m.ResolvedAt
}

// listed is one message in the agent's own list.
type listed struct {
	ID         string      `json:"id"`
	Type       ma2h.Type   `json:"type"`
	Status     ma2h.Status `json:"status"`
	Title      string      `json:"title"`
	CreatedAt  string      `json:"created_at"`
	AcceptedAt string      `json:"accepted_at"`
	ExpiresAt  string      `json:"expires_at,omitzero"`
	ResolvedAt string      `json:"resolved_at,omitzero"`
}

// listing is the body of GET /v1/messages.
type listing struct {
	Messages   []listed `json:"messages"`
	NextCursor string   `json:"next_cursor,omitzero"`
}

// list is GET /v1/messages, the agent's own messages, newest first (ours; the
// protocol has no list).
func (a *API) list(x *exchange, r *http.Request, agent *hub.Agent) error {
	lq, err := listQuery(r)
	if err != nil {
		return err
	}
	lq.AgentID = agent.ID
	ms, cursor, err := a.page(r, lq)
	if err != nil {
		return err
	}
	out := listing{Messages: make([]listed, 0, len(ms)), NextCursor: cursor}
	for _, m := range ms {
		out.Messages = append(out.Messages, listed{
			ID: m.VisibleID(), Type: m.Envelope.Type, Status: m.Status, Title: m.Envelope.Title,
			CreatedAt: m.Envelope.CreatedAt, AcceptedAt: ma2h.FormatTime(m.AcceptedAt),
			ExpiresAt: formatTime(m.ExpiresAt), ResolvedAt: formatTime(m.ResolvedAt),
		})
	}
	return writeJSON(x, http.StatusOK, out)
}

// listQuery reads ?status= &type= &cursor= &limit=.
func listQuery(r *http.Request) (hub.ListQuery, error) {
	q := newQuery(r)
	lq := hub.ListQuery{
		Status: oneOf(q, "status", ma2h.Open, ma2h.Delivered, ma2h.Answered, ma2h.Declined,
			ma2h.Cancelled, ma2h.Completed, ma2h.Dismissed, ma2h.Expired),
		Type:   oneOf(q, "type", ma2h.Notify, ma2h.Ask, ma2h.Task),
		Before: q.cursor(),
		Limit:  q.number("limit", defaultLimit, 1, maxLimit),
	}
	return lq, q.err
}

// page reads one page and the cursor of the next, "" if there is none. Large
// messages make a shorter page, so that nobody can make the hub read hundreds of
// megabytes for a list of titles.
func (a *API) page(r *http.Request, q hub.ListQuery) ([]*hub.Message, string, error) {
	q.Bytes = maxPageBytes
	ms, err := a.o.Hub.List(r.Context(), q)
	size := 0
	for _, m := range ms {
		size += m.Size()
	}
	if err != nil || len(ms) < q.Limit && size < q.Bytes {
		return ms, "", err
	}
	q.Before, q.Limit = ms[len(ms)-1].ID, 1
	more, err := a.o.Hub.List(r.Context(), q)
	if err != nil || len(more) == 0 {
		return ms, "", err
	}
	return ms, q.Before, nil
}

// cancel is POST /v1/messages/{id}/cancel (spec §8.4). A body is
// not looked at.
func (a *API) cancel(x *exchange, r *http.Request, agent *hub.Agent) error {
	id, err := messageID(r)
	if err != nil {
		return err
	}
	res, err := a.o.Hub.Cancel(r.Context(), agent, id)
	if err != nil {
		return hideNotFound(err)
	}
	// The answer to a cancel is id and status, nothing else (spec §8.4).
	return writeJSON(x, http.StatusOK, ma2h.Resolved{ID: res.ID, Status: res.Status})
}

// ack is POST /v1/messages/{id}/ack (spec §14.3). A body may be left out.
func (a *API) ack(x *exchange, r *http.Request, agent *hub.Agent) error {
	raw, err := a.readJSON(x, r, "acknowledgement", maxAckBody)
	if err != nil {
		return err
	}
	id, err := messageID(r)
	if err != nil {
		return err
	}
	ack, err := a.o.Hub.Ack(r.Context(), agent, id, raw)
	if err != nil {
		return hideNotFound(err)
	}
	return writeJSON(x, http.StatusOK, ack)
}

// resolve is POST /v1/messages/{id}/resolve (spec §8.8).
func (a *API) resolve(x *exchange, r *http.Request, agent *hub.Agent) error {
	raw, err := a.readJSON(x, r, "answer", a.o.Hub.Directory().Limits.Envelope)
	if err != nil {
		return err
	}
	id, err := messageID(r)
	if err != nil {
		return err
	}
	res, err := a.o.Hub.Resolve(r.Context(), agent, id, raw)
	if err != nil {
		return hideNotFound(err)
	}
	return writeJSON(x, http.StatusOK, res)
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ma2h.FormatTime(t)
}

// headerText makes s fit for a header: one line, cut on a rune.
func headerText(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, s)
	if len(s) <= maxWarningBytes {
		return s
	}
	s = s[:maxWarningBytes]
	return strings.ToValidUTF8(s, "") + "…"
}
