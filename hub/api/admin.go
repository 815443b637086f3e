package api

import (
	"net/http"
	"strconv"
	"time"

	"beckon/hub"
	"beckon/hub/admin"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// maxAdminBody is more than any body of an operator's request needs.
const maxAdminBody = 4 << 10

// adminList is GET /admin/v1/messages ?agent= &status= &type= &cursor= &limit=.
func (a *API) adminList(x *exchange, r *http.Request, _ *hub.Operator) error {
	lq, err := listQuery(r)
	if err != nil {
		return err
	}
	lq.AgentID = r.URL.Query().Get("agent")
	ms, cursor, err := a.page(r, lq)
	if err != nil {
		return err
	}
	out := admin.Messages{Messages: make([]admin.Message, 0, len(ms)), NextCursor: cursor}
	for _, m := range ms {
		out.Messages = append(out.Messages, admin.MessageOf(m))
	}
	return writeJSON(x, http.StatusOK, out)
}

// adminRead is GET /admin/v1/messages/{id}.
func (a *API) adminRead(x *exchange, r *http.Request, _ *hub.Operator) error {
	id, err := messageID(r)
	if err != nil {
		return err
	}
	s, err := a.o.Hub.Inspect(r.Context(), id)
	if err != nil {
		return err
	}
	attempts, err := a.o.Hub.Attempts(r.Context(), s.Message.ID)
	if err != nil {
		return err
	}
	return writeJSON(x, http.StatusOK, admin.DetailOf(s, attempts))
}

// adminEvents is GET /admin/v1/messages/{id}/events.
func (a *API) adminEvents(x *exchange, r *http.Request, _ *hub.Operator) error {
	id, err := messageID(r)
	if err != nil {
		return err
	}
	events, err := a.o.Hub.Events(r.Context(), id)
	if err != nil && len(events) == 0 {
		return err
	}
	return writeJSON(x, http.StatusOK, admin.HistoryOf(id, events, err))
}

// adminInbound is GET /admin/v1/messages/{id}/inbound.
func (a *API) adminInbound(x *exchange, r *http.Request, _ *hub.Operator) error {
	id, err := messageID(r)
	if err != nil {
		return err
	}
	list, err := a.o.Hub.Inbound(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(x, http.StatusOK, admin.InboundOf(id, list))
}

// adminPost is POST /admin/v1/messages/{id}/post: post again.
func (a *API) adminPost(x *exchange, r *http.Request, op *hub.Operator) error {
	raw, err := a.readJSON(x, r, "body", maxAdminBody)
	if err != nil {
		return err
	}
	var req admin.PostRequest
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &req, json.RejectUnknownMembers(true)); err != nil {
			return &hub.Error{
				Code: ma2h.CodeValidation, Field: "all", Err: err,
				Msg: `the body must be empty or {"all": true} or {"all": false}`,
			}
		}
	}
	id, err := messageID(r)
	if err != nil {
		return err
	}
	n, err := a.o.Hub.Repost(r.Context(), op.ID, id, req.All)
	if err != nil {
		return err
	}
	return writeJSON(x, http.StatusOK, admin.Posted{Deliveries: n})
}

// adminCancel is POST /admin/v1/messages/{id}/cancel.
func (a *API) adminCancel(x *exchange, r *http.Request, op *hub.Operator) error {
	id, err := messageID(r)
	if err != nil {
		return err
	}
	res, err := a.o.Hub.Withdraw(r.Context(), op.ID, id)
	if err != nil {
		return err
	}
	return writeJSON(x, http.StatusOK, res)
}

// adminDeliveries is GET /admin/v1/deliveries ?state= &channel= &cursor= &limit=.
func (a *API) adminDeliveries(x *exchange, r *http.Request, _ *hub.Operator) error {
	q := newQuery(r)
	dq := hub.DeliveryQuery{
		State:   oneOf(q, "state", hub.Pending, hub.Running, hub.Done, hub.Dead, hub.Dropped),
		Channel: q.v.Get("channel"),
		Before:  q.cursor(),
		Limit:   q.number("limit", defaultLimit, 1, maxLimit),
	}
	if q.err != nil {
		return q.err
	}
	ds, err := a.o.Hub.Deliveries(r.Context(), dq)
	if err != nil {
		return err
	}
	cursor, err := a.moreDeliveries(r, ds, dq)
	if err != nil {
		return err
	}
	out := admin.Deliveries{Deliveries: make([]admin.Delivery, 0, len(ds)), NextCursor: cursor}
	for i := range ds {
		out.Deliveries = append(out.Deliveries, admin.DeliveryOf(&ds[i]))
	}
	return writeJSON(x, http.StatusOK, out)
}

// moreDeliveries returns the cursor of the next page, "" if there is none. Since
// a page ends with a whole message, its length does not tell.
func (a *API) moreDeliveries(r *http.Request, ds []hub.Delivery, dq hub.DeliveryQuery) (string, error) {
	if len(ds) == 0 {
		return "", nil
	}
	dq.Before, dq.Limit = ds[len(ds)-1].MessageID, 1
	more, err := a.o.Hub.Deliveries(r.Context(), dq)
	if err != nil || len(more) == 0 {
		return "", err
	}
	return dq.Before, nil
}

// adminRetry is POST /admin/v1/deliveries/{id}/{seq}/retry.
func (a *API) adminRetry(x *exchange, r *http.Request, op *hub.Operator) error {
	id, err := messageID(r)
	if err != nil {
		return err
	}
	seq, err := strconv.Atoi(r.PathValue("seq"))
	if err != nil || seq < 0 {
		return &hub.Error{Code: ma2h.CodeNotFound, Msg: "no such delivery"}
	}
	d, err := a.o.Hub.Retry(r.Context(), op.ID, id, seq)
	if err != nil {
		return err
	}
	return writeJSON(x, http.StatusOK, admin.DeliveryOf(d))
}

// adminStats is GET /admin/v1/stats.
func (a *API) adminStats(x *exchange, r *http.Request, _ *hub.Operator) error {
	s := &admin.Stats{}
	if a.o.Stats != nil {
		var err error
		if s, err = a.o.Stats(r.Context()); err != nil {
			return &hub.Error{Code: ma2h.CodeInternal, Op: "stats", Msg: "internal error", Err: err}
		}
	}
	s.Version, s.UptimeSeconds = a.o.Version, int64(time.Since(a.started)/time.Second)
	s.Polls, s.Checks = a.metrics.polls.Load(), a.checks(r.Context())
	return writeJSON(x, http.StatusOK, s)
}
