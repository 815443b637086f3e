package api

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what the API counts. No label holds an id, an address or a path,
// so the number of series is bounded by the routes.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	polls    atomic.Int64 // parked now
}

func newMetrics(r *prometheus.Registry) *metrics {
	m := &metrics{
		registry: r,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_http_requests_total",
			Help: "Requests by route pattern, method and status; 499 is a client that left.",
		}, []string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "beckon_http_request_seconds",
			Help:    "How long requests took, without polls and streams, which last on purpose.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_http_refusals_total", Help: "Requests that were refused or failed, by error code.",
		}, []string{"code"}),
	}
	r.MustRegister(m.requests, m.seconds, m.refusals,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "beckon_polls_parked", Help: "Long-polls that wait now.",
		}, func() float64 { return float64(m.polls.Load()) }))
	return m
}

func (m *metrics) observe(x *exchange, method string, took time.Duration) {
	m.requests.WithLabelValues(x.route, methodLabel(method), strconv.Itoa(x.status)).Inc()
	stream := strings.HasPrefix(x.Header().Get("Content-Type"), "text/event-stream")
	if !x.poll && !stream {
		m.seconds.WithLabelValues(x.route).Observe(took.Seconds())
	}
	if x.code != "" {
		m.refusals.WithLabelValues(string(x.code)).Inc()
	}
}

// methodLabel keeps what a client invents out of the labels and the log.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// metricsPage is GET /metrics.
func (a *API) metricsPage() handler {
	h := promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{})
	return func(x *exchange, r *http.Request) error {
		h.ServeHTTP(x, r)
		return nil
	}
}
