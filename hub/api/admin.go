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
	ms, err := a.o.Hub.List(r.Context(), lq)
	if err != nil {
		return err
	}
	out := admin.Messages{Messages: make([]admin.Message, 0, len(ms)), NextCursor: nextCursor(ms, lq.Limit)}
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
	// The head and the events are two reads: a change between them looks like a
	// break, so look again.
	var h admin.History
	for range 3 {
		s, err := a.o.Hub.Inspect(r.Context(), id)
		if err != nil {
			return err
		}
		events, broken := a.o.Hub.Events(r.Context(), s.Message.ID)
		if broken != nil && len(events) == 0 {
			return broken
		}
		if broken == nil {
			broken = hub.VerifyChain(events, s.Message.Head)
		}
		h = admin.HistoryOf(s.Message.ID, events, broken)
		if broken == nil {
			break
		}
	}
	return writeJSON(x, http.StatusOK, h)
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
	ignoreBody(x, r)
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
	ds, cursor, err := a.wholeMessages(r, ds, dq)
	if err != nil {
		return err
	}
	out := admin.Deliveries{Deliveries: make([]admin.Delivery, 0, len(ds)), NextCursor: cursor}
	for i := range ds {
		out.Deliveries = append(out.Deliveries, admin.DeliveryOf(&ds[i]))
	}
	return writeJSON(x, http.StatusOK, out)
}

// wholeMessages ends a full page at the end of a message, since the cursor is a
// message id: it leaves out the last message if others come before it, and
// reads the rest of it if it is the only one.
func (a *API) wholeMessages(r *http.Request, ds []hub.Delivery, dq hub.DeliveryQuery) ([]hub.Delivery, string, error) {
	if len(ds) < dq.Limit || len(ds) == 0 {
		return ds, "", nil
	}
	last := ds[len(ds)-1].MessageID
	n := len(ds)
	for n > 0 && ds[n-1].MessageID == last {
		n--
	}
	if n > 0 {
		return ds[:n], ds[n-1].MessageID, nil
	}
	s, err := a.o.Hub.Inspect(r.Context(), last)
	if err != nil {
		return nil, "", err
	}
	ds = ds[:0]
	for _, d := range s.Deliveries {
		if (dq.State == "" || d.State == dq.State) && (dq.Channel == "" || d.Target.Channel == dq.Channel) {
			ds = append(ds, d)
		}
	}
	return ds, last, nil
}

// adminRetry is POST /admin/v1/deliveries/{id}/{seq}/retry.
func (a *API) adminRetry(x *exchange, r *http.Request, op *hub.Operator) error {
	ignoreBody(x, r)
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
	s := admin.Stats{
		Version: a.o.Version, UptimeSeconds: int64(time.Since(a.started) / time.Second),
		Polls: a.metrics.parked(), Checks: a.checks(r.Context()), Store: map[string]int64{},
	}
	if a.o.Stats != nil {
		counts, err := a.o.Stats(r.Context())
		if err != nil {
			return &hub.Error{Code: ma2h.CodeInternal, Op: "stats", Msg: "internal error", Err: err}
		}
		s.Store = counts
	}
	return writeJSON(x, http.StatusOK, s)
}
