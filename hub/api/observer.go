package api

import (
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/prometheus/client_golang/prometheus"
)

// observer counts what the hub does, for /metrics.
type observer struct {
	submits     *prometheus.CounterVec
	resolutions *prometheus.CounterVec
	answers     *prometheus.CounterVec
	directives  *prometheus.CounterVec
	attempts    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	unreachable prometheus.Counter
}

// NewObserver returns what a hub is given to count what happens in it, on the
// registry that [Options] names too.
func NewObserver(r *prometheus.Registry) hub.Observer {
	o := &observer{
		submits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_submits_total", Help: "Messages stored, by type; repeated submits are not counted.",
		}, []string{"type"}),
		resolutions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_resolutions_total",
			Help: "Messages that ended, by type, resolution and where: a channel, api, admin or clock.",
		}, []string{"type", "resolution", "via"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_answers_total", Help: "What people and agents answered, by channel and outcome.",
		}, []string{"via", "outcome"}),
		directives: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_directives_total", Help: "What people wrote to agents, by channel and outcome.",
		}, []string{"via", "outcome"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_attempts_total", Help: "Tries at deliveries, by lane and how they ended.",
		}, []string{"lane", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "beckon_attempt_seconds", Help: "How long tries at deliveries took.",
			Buckets: []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"lane"}),
		unreachable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "beckon_unreachable_total", Help: "Messages for which no target was left to try.",
		}),
	}
	r.MustRegister(o.submits, o.resolutions, o.answers, o.directives, o.attempts, o.seconds, o.unreachable)
	return o
}

func (o *observer) Submitted(t ma2h.Type) { o.submits.WithLabelValues(string(t)).Inc() }

func (o *observer) Resolved(t ma2h.Type, resolution ma2h.Status, via string) {
	o.resolutions.WithLabelValues(string(t), string(resolution), via).Inc()
}

func (o *observer) Answered(via string, k hub.OutcomeKind) {
	o.answers.WithLabelValues(via, string(k)).Inc()
}

func (o *observer) Directed(via string, k hub.OutcomeKind) {
	o.directives.WithLabelValues(via, string(k)).Inc()
}

// Attempted counts the pushes to all hosts together: what waits for each, and
// what was given up, is in beckon_deliveries.
func (o *observer) Attempted(lane, code string, took time.Duration) {
	if strings.HasPrefix(lane, hub.PushLanes) {
		lane = hub.LaneCallback
	}
	o.attempts.WithLabelValues(lane, code).Inc()
	o.seconds.WithLabelValues(lane).Observe(took.Seconds())
}

func (o *observer) Unreachable() { o.unreachable.Inc() }
