package app

import (
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what the hub does. It implements hub.Observer. Labels are
// words of the protocol, names of channels and codes; never an id.
type metrics struct {
	submitted   *prometheus.CounterVec
	resolved    *prometheus.CounterVec
	answered    *prometheus.CounterVec
	attempts    *prometheus.HistogramVec
	unreachable prometheus.Counter
}

func newMetrics(r *prometheus.Registry) *metrics {
	m := &metrics{
		submitted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_messages_submitted_total", Help: "Messages stored, without replays.",
		}, []string{"type"}),
		resolved: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_messages_resolved_total", Help: "Messages that became terminal, by resolution and the way it came.",
		}, []string{"type", "resolution", "via"}),
		answered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beckon_answers_total", Help: "Answers by channel and what the hub said to them.",
		}, []string{"channel", "outcome"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "beckon_delivery_attempt_seconds", Help: "Attempts at a delivery by lane and how they ended.",
			Buckets: []float64{.005, .025, .1, .5, 1, 5, 30},
		}, []string{"lane", "code"}),
		unreachable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "beckon_messages_unreachable_total", Help: "Messages whose every post failed for good.",
		}),
	}
	r.MustRegister(m.submitted, m.resolved, m.answered, m.attempts, m.unreachable)
	return m
}

func (m *metrics) Submitted(t ma2h.Type) { m.submitted.WithLabelValues(string(t)).Inc() }

func (m *metrics) Resolved(t ma2h.Type, resolution ma2h.Status, via string) {
	m.resolved.WithLabelValues(string(t), string(resolution), via).Inc()
}

func (m *metrics) Answered(via string, k hub.OutcomeKind) {
	m.answered.WithLabelValues(via, string(k)).Inc()
}

func (m *metrics) Attempted(lane, code string, took time.Duration) {
	m.attempts.WithLabelValues(lane, code).Observe(took.Seconds())
}

func (m *metrics) Unreachable() { m.unreachable.Inc() }
