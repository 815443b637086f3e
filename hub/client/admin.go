package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"beckon/hub/admin"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// Messages reads one page of all agents' messages, for an operator.
func (c *Client) Messages(ctx context.Context, q Query) (*admin.Messages, error) {
	out := &admin.Messages{}
	return out, c.json(ctx, adminCall(http.MethodGet, "messages", "/messages", q.values()), out)
}

// Inspect reads a message with all that the hub did for it, for an operator.
func (c *Client) Inspect(ctx context.Context, id string) (*admin.Detail, error) {
	if id == "" {
		return nil, errNoID
	}
	out := &admin.Detail{}
	return out, c.json(ctx, adminCall(http.MethodGet, "inspect", adminMessage(id), nil), out)
}

// Events reads the history of a message, for an operator.
func (c *Client) Events(ctx context.Context, id string) (*admin.History, error) {
	if id == "" {
		return nil, errNoID
	}
	out := &admin.History{}
	return out, c.json(ctx, adminCall(http.MethodGet, "events", adminMessage(id)+"/events", nil), out)
}

// Inbound reads what came in about a message as it came, for an operator.
func (c *Client) Inbound(ctx context.Context, id string) (*admin.Inbound, error) {
	if id == "" {
		return nil, errNoID
	}
	out := &admin.Inbound{}
	return out, c.json(ctx, adminCall(http.MethodGet, "inbound", adminMessage(id)+"/inbound", nil), out)
}

// Post posts an open message again, for an operator: where no copy stands, or
// everywhere. It is not repeated when the hub may have done it.
func (c *Client) Post(ctx context.Context, id string, all bool) (*admin.Posted, error) {
	if id == "" {
		return nil, errNoID
	}
	cl := adminCall(http.MethodPost, "post", adminMessage(id)+"/post", nil)
	cl.repeat = unsent
	var err error
	if cl.body, err = json.Marshal(admin.PostRequest{All: all}); err != nil {
		return nil, err
	}
	out := &admin.Posted{}
	return out, c.json(ctx, cl, out)
}

// Withdraw cancels an open ask of any agent, for an operator.
func (c *Client) Withdraw(ctx context.Context, id string) (ma2h.Resolved, error) {
	return c.resolved(ctx, adminCall(http.MethodPost, opCancel, adminMessage(id)+"/cancel", nil), id)
}

// DeliveryQuery picks deliveries. Zero fields don't restrict.
type DeliveryQuery struct {
	State   string // pending, running, done, dead, dropped
	Channel string
	Cursor  string
	Limit   int // 1 to 200; 0 is 50
}

// Deliveries reads one page of deliveries, for an operator.
func (c *Client) Deliveries(ctx context.Context, q DeliveryQuery) (*admin.Deliveries, error) {
	v := Query{Cursor: q.Cursor, Limit: q.Limit}.values()
	if q.State != "" {
		v.Set("state", q.State)
	}
	if q.Channel != "" {
		v.Set("channel", q.Channel)
	}
	out := &admin.Deliveries{}
	return out, c.json(ctx, adminCall(http.MethodGet, "deliveries", "/deliveries", v), out)
}

// Retry makes a delivery due now, for an operator.
func (c *Client) Retry(ctx context.Context, messageID string, seq int) (*admin.Delivery, error) {
	if messageID == "" {
		return nil, errNoID
	}
	path := "/deliveries/" + url.PathEscape(messageID) + "/" + strconv.Itoa(seq) + "/retry"
	out := &admin.Delivery{}
	return out, c.json(ctx, adminCall(http.MethodPost, "retry", path, nil), out)
}

// Stats reads what the hub holds and does now, for an operator.
func (c *Client) Stats(ctx context.Context) (*admin.Stats, error) {
	out := &admin.Stats{}
	return out, c.json(ctx, adminCall(http.MethodGet, "stats", "/stats", nil), out)
}

func adminCall(method, op, path string, q url.Values) call {
	return call{op: op, method: method, path: "/admin/v1" + path, query: q}
}

func adminMessage(id string) string { return "/messages/" + url.PathEscape(id) }
