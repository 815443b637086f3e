// Package api is HTTP in, domain calls, HTTP out: /v1 for agents,
// /.well-known/ma2h for whoever asks, /admin/v1 for operators, health and
// metrics.
//
// One [API] handles everything. It wraps each request in an exchange, which
// gives it an id, counts it, logs it once when it is over and turns a panic
// into a 500. A handler authenticates, reads the body within its limit, calls
// one method of the hub and writes the result, or returns an error. Errors
// become a status and a body in one place (refuse); what is nobody's fault but
// ours is logged there and shown as "internal error" with the request id.
//
// The package decides nothing about messages and keeps nothing but rate limits,
// so a restart loses nothing. What a handler could not do, the client may try
// again: a submit with the same idempotency key, a read at any time.
package api

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/admin"
	"beckon/hub/ma2h"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// Hub is what the API needs of [hub.Hub].
type Hub interface {
	Directory() *hub.Directory
	Agents
	Operators
}

// Agents is what /v1 calls.
type Agents interface {
	Submit(ctx context.Context, agent *hub.Agent, raw []byte) (*hub.Submitted, error)
	Get(ctx context.Context, agentID, id string) (*hub.Message, error)
	Wait(ctx context.Context, agentID, id string, d time.Duration) (*hub.Message, error)
	Body(ctx context.Context, m *hub.Message, extra bool) ([]byte, error)
	Resolve(ctx context.Context, agent *hub.Agent, id string, raw []byte) (ma2h.Resolved, error)
	Cancel(ctx context.Context, agent *hub.Agent, id string) (ma2h.Resolved, error)
	Ack(ctx context.Context, agent *hub.Agent, id string, raw []byte) (*ma2h.Ack, error)
	Inbox(ctx context.Context, agent *hub.Agent, limit int, wait time.Duration) ([]hub.InboxEntry, error)
	InboxAck(ctx context.Context, agent *hub.Agent, raw []byte) (int, error)
	Presence(ctx context.Context, agentID string) (ma2h.Presence, error)
	List(ctx context.Context, q hub.ListQuery) ([]*hub.Message, error)
}

// Operators is what /admin/v1 calls.
type Operators interface {
	Inspect(ctx context.Context, id string) (*hub.Snapshot, error)
	Deliveries(ctx context.Context, q hub.DeliveryQuery) ([]hub.Delivery, error)
	Attempts(ctx context.Context, id string) ([]hub.Attempt, error)
	Events(ctx context.Context, id string) ([]hub.Event, error)
	Inbound(ctx context.Context, id string) ([]hub.Inbound, error)
	Retry(ctx context.Context, operator, id string, seq int) (*hub.Delivery, error)
	Repost(ctx context.Context, operator, id string, all bool) (int, error)
	Withdraw(ctx context.Context, operator, id string) (ma2h.Resolved, error)
}

var _ Hub = (*hub.Hub)(nil)

// Options are what an API is built from. Only Hub must be set.
type Options struct {
	Hub Hub
	// Log gets one line a request, without query, body or credential.
	Log *slog.Logger
	// Registry takes the API's metrics and is what /metrics shows. Nil makes one.
	Registry *prometheus.Registry
	// Ready reports whether the store answers; /readyz gives it two seconds.
	Ready func(ctx context.Context) error
	// Health lists what else must be alive: the outbox, each inbound loop.
	Health func() []admin.Check
	// Stats counts what the store holds, for GET /admin/v1/stats: Open, Lanes and
	// Unsealed. The API fills in the rest.
	Stats func(ctx context.Context) (*admin.Stats, error)
	// SigningKeys are the public halves of the keys that the hub itself signs with;
	// discovery shows them, unless nothing is pushed.
	SigningKeys []ed25519.PublicKey
	// Version is the build's, for GET /admin/v1/stats.
	Version string
	// Pages are the channels' own routes by [http.ServeMux] pattern. They do
	// their own authentication and are logged by pattern, never by path, since a
	// path may be a personal link. They find the client's address, as trusted
	// proxies tell it, in RemoteAddr, without a port.
	Pages map[string]http.Handler
	// TrustedProxies are the peers whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// BodyTimeout is how long a request body may take to arrive; 15 s if zero.
	BodyTimeout time.Duration
}

// API is the hub's whole HTTP interface. It is safe for concurrent use.
type API struct {
	o       Options
	log     *slog.Logger
	mux     *chi.Mux
	pages   *http.ServeMux
	metrics *metrics
	limits  *limiter
	started time.Time

	draining context.Context // ends when the server shuts down
	drain    context.CancelFunc
}

// New returns an API. It panics on a page pattern that [http.ServeMux] refuses,
// and when the registry has the API's metrics already.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = bodyTimeout
	}
	a := &API{
		o: o, log: o.Log, mux: chi.NewMux(), pages: http.NewServeMux(),
		metrics: newMetrics(o.Registry), limits: newLimiter(), started: time.Now(),
	}
	a.draining, a.drain = context.WithCancel(context.Background())
	for pattern, h := range o.Pages {
		a.pages.Handle(pattern, h)
	}
	a.routes()
	return a
}

// Drain makes every parked poll answer with the current state, and later polls
// not wait. [Server] calls it when the server begins to shut down.
func (a *API) Drain() { a.drain() }

// handler serves one route. What it returns becomes an error body.
type handler func(x *exchange, r *http.Request) error

func (a *API) routes() {
	a.get("/.well-known/ma2h", a.discovery)
	a.get("/healthz", a.healthz)
	a.get("/readyz", a.readyz)
	a.get("/metrics", a.metricsPage())
	a.get("/openapi.yaml", a.openAPI)

	a.on(http.MethodPost, "/v1/messages", a.agent(a.submit))
	a.on(http.MethodGet, "/v1/messages", a.agent(a.list))
	a.on(http.MethodGet, "/v1/messages/{id}", a.agent(a.read))
	a.on(http.MethodPost, "/v1/messages/{id}/cancel", a.agent(a.cancel))
	a.on(http.MethodPost, "/v1/messages/{id}/resolve", a.agent(a.resolve))
	a.on(http.MethodPost, "/v1/messages/{id}/ack", a.agent(a.ack))

	a.on(http.MethodGet, "/v1/inbox", a.agent(a.inbox))
	a.on(http.MethodPost, "/v1/inbox/ack", a.agent(a.inboxAck))
	a.on(http.MethodGet, "/v1/agents/*", a.presence)

	a.on(http.MethodGet, "/admin/v1/messages", a.operator(a.adminList))
	a.on(http.MethodGet, "/admin/v1/messages/{id}", a.operator(a.adminRead))
	a.on(http.MethodGet, "/admin/v1/messages/{id}/events", a.operator(a.adminEvents))
	a.on(http.MethodGet, "/admin/v1/messages/{id}/inbound", a.operator(a.adminInbound))
	a.on(http.MethodPost, "/admin/v1/messages/{id}/post", a.operator(a.adminPost))
	a.on(http.MethodPost, "/admin/v1/messages/{id}/cancel", a.operator(a.adminCancel))
	a.on(http.MethodGet, "/admin/v1/deliveries", a.operator(a.adminDeliveries))
	a.on(http.MethodPost, "/admin/v1/deliveries/{id}/{seq}/retry", a.operator(a.adminRetry))
	a.on(http.MethodGet, "/admin/v1/stats", a.operator(a.adminStats))

	a.mux.NotFound(a.fallback)
	a.mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		a.wrongMethod(w.(*exchange), r)
	})
}

// on registers one route. Every request comes through ServeHTTP, so w is always
// an exchange.
func (a *API) on(method, pattern string, h handler) {
	a.mux.Method(method, pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		x.route = pattern
		if id := pathID(r); validID(id) {
			x.message = id
		}
		if err := h(x, r); err != nil {
			a.refuse(x, r, err)
		}
	}))
}

// get registers a document that needs no credential, for HEAD too.
func (a *API) get(pattern string, h handler) {
	a.on(http.MethodGet, pattern, h)
	a.on(http.MethodHead, pattern, h)
}

// fallback passes what is not the API's to the channels' pages.
func (a *API) fallback(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange)
	if _, pattern := a.pages.Handler(r); pattern != "" && !ours(r.URL.Path) {
		x.route, x.page = pattern, true
		if addr := a.client(r); addr.IsValid() {
			r = r.WithContext(r.Context()) // a copy
			r.RemoteAddr = addr.String()
		}
		a.pages.ServeHTTP(x, r) // not the handler itself: this sets the path values
		return
	}
	a.refuse(x, r, nothingHere())
}

// ours reports whether a path is the API's, so that a program gets JSON there
// even when a channel has a page for every path.
func ours(path string) bool {
	return path == "/v1" || strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/admin/v1") ||
		strings.HasPrefix(path, "/.well-known/ma2h")
}

// wrongMethod answers 405 with the methods that the path takes.
func (a *API) wrongMethod(x *exchange, r *http.Request) {
	path := r.URL.EscapedPath()
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if a.mux.Match(chi.NewRouteContext(), m, path) {
			x.Header().Add("Allow", m)
			allowed = append(allowed, m)
		}
	}
	a.refuse(x, r, &hub.Error{
		Code: ma2h.CodeMethodNotAllowed,
		Msg:  "this path takes " + orList(allowed),
	})
}
