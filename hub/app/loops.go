package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"beckon/hub"
	"beckon/hub/admin"
	"beckon/hub/outbox"
	"beckon/hub/store"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// sealEvery is how often new history goes into the hub's chain.
	sealEvery = 10 * time.Second
	// purgeEvery is how often messages past their retention are removed.
	purgeEvery = 10 * time.Minute
	// batch bounds one transaction of either.
	batch = 500
	// deafAfter is how long a lane may go without proof of life; an idle one
	// gives it every minute.
	deafAfter = 3 * time.Minute
	// restartAfter is the pause before a channel that failed is started again.
	restartAfter = 5 * time.Second
)

// housekeeping seals the history, removes what is past its retention, and reads
// a renewed certificate. A failure is logged and tried again the next time.
func (a *App) housekeeping(ctx context.Context) {
	seal, purge, renew := time.NewTicker(sealEvery), time.NewTicker(purgeEvery), time.NewTicker(renewEvery)
	defer seal.Stop()
	defer purge.Stop()
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-seal.C:
			a.drain(ctx, "seal the history", func() (int, error) { return a.store.Seal(ctx, time.Now(), batch) })
		case <-renew.C:
			if a.cert != nil {
				a.cert.refresh()
			}
		case <-purge.C:
			retention := a.hub.Directory().Retention
			a.drain(ctx, "say which answers nobody picked up", func() (int, error) {
				return a.hub.ExpireTracks(ctx, batch)
			})
			a.drain(ctx, "remove old messages", func() (int, error) {
				return a.store.Purge(ctx, time.Now(), retention, batch)
			})
		}
	}
}

// drain calls f until it has nothing left to do.
func (a *App) drain(ctx context.Context, what string, f func() (int, error)) {
	for ctx.Err() == nil {
		n, err := f()
		if err != nil && !errors.Is(err, context.Canceled) {
			a.log.Error("housekeeping failed", "what", what, "err", err)
		}
		if err != nil || n < batch {
			return
		}
	}
}

// runner keeps a channel's inbound loop running.
type runner struct {
	name  string
	run   func(context.Context) error
	alive func() (last time.Time, problem string) // nil: it can't tell
	log   *slog.Logger

	mu      sync.Mutex
	problem string
}

func (r *runner) keep(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("ended by itself")
		}
		r.set(err.Error())
		r.log.Error("a channel stopped listening and is started again", "channel", r.name, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(restartAfter):
		}
		r.set("")
	}
}

func (r *runner) once(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			// Only the runtime's own errors are sure to hold nothing that somebody wrote.
			if err, _ = p.(runtime.Error); err == nil {
				err = fmt.Errorf("panic of type %T", p)
			}
			r.log.Error("a channel panicked", "channel", r.name, "err", err, "stack", string(debug.Stack()))
		}
	}()
	return r.run(ctx)
}

func (r *runner) set(problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = problem
}

// age is how long ago the channel last had proof that it hears anybody; false
// when it can't tell.
func (r *runner) age(now time.Time) (time.Duration, bool) {
	if r.alive == nil {
		return 0, false
	}
	last, _ := r.alive()
	return max(now.Sub(last), 0), !last.IsZero()
}

// check says how the loop is: the failure that ended it, else what the channel
// itself says.
func (r *runner) check(now time.Time) admin.Check {
	r.mu.Lock()
	c := admin.Check{Name: r.name, LastSeconds: -1, Problem: r.problem}
	r.mu.Unlock()
	if c.Problem == "" && r.alive != nil {
		_, c.Problem = r.alive()
	}
	if age, ok := r.age(now); ok {
		c.LastSeconds = int64(age.Seconds())
		if age > deafAfter && c.Problem == "" {
			c.Problem = "no sign of life for " + age.Round(time.Second).String()
		}
	}
	c.OK = c.Problem == ""
	return c
}

// health says how the outbox's lanes and the inbound loops are (rule 15).
func (a *App) health() []admin.Check {
	var checks []admin.Check
	now := time.Now()
	for _, l := range a.box.Health() {
		if l.Lane != hub.LaneClock && a.channels[l.Lane] == nil && l.InFlight == 0 && !l.Failing {
			continue // a channel that is not configured: its lane only buries what is left over
		}
		c := admin.Check{Name: "outbox " + l.Lane, OK: true, LastSeconds: int64(l.Age(now).Seconds())}
		switch {
		case l.Failing:
			c.OK, c.Problem = false, "the store does not answer"
		case l.Age(now) > deafAfter:
			c.OK, c.Problem = false, "no sign of life for "+l.Age(now).Round(time.Second).String()
		}
		checks = append(checks, c)
	}
	for _, r := range a.runners {
		checks = append(checks, r.check(now))
	}
	return checks
}

// stats are the store's counts for operators.
func (a *App) stats(ctx context.Context) (*admin.Stats, error) {
	s, err := a.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	out := &admin.Stats{Open: s.Open, Unsealed: s.Unsealed}
	for _, l := range s.Lanes {
		out.Lanes = append(out.Lanes, admin.Lane{Lane: l.Lane, State: l.State, Count: l.Count, Due: l.Due})
	}
	return out, nil
}

// stateCollector reads, at each scrape, what the store and the outbox hold.
type stateCollector struct {
	store   *store.Store
	box     *outbox.Outbox
	runners func() []*runner
	timeout time.Duration
}

var (
	openDesc    = prometheus.NewDesc("beckon_messages_open", "Messages that wait for an answer.", []string{"type"}, nil)
	laneDesc    = prometheus.NewDesc("beckon_deliveries", "Deliveries that are not done, by lane and state.", []string{"lane", "state"}, nil)
	overdueDesc = prometheus.NewDesc("beckon_deliveries_overdue_seconds", "How long the oldest pending delivery of a lane is overdue.", []string{"lane"}, nil)
	aliveDesc   = prometheus.NewDesc("beckon_loop_age_seconds", "Age of the last proof of life of a lane, or of a channel's listening.", []string{"lane"}, nil)
)

func (c *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{openDesc, laneDesc, overdueDesc, aliveDesc} {
		ch <- d
	}
}

func (c *stateCollector) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	for _, l := range c.box.Health() {
		ch <- prometheus.MustNewConstMetric(aliveDesc, prometheus.GaugeValue, l.Age(now).Seconds(), l.Lane)
	}
	for _, r := range c.runners() {
		if age, ok := r.age(now); ok {
			ch <- prometheus.MustNewConstMetric(aliveDesc, prometheus.GaugeValue, age.Seconds(), r.name+" listening")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	s, err := c.store.Stats(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(openDesc, err)
		return
	}
	for t, n := range s.Open {
		ch <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, float64(n), string(t))
	}
	for _, l := range s.Lanes {
		ch <- prometheus.MustNewConstMetric(laneDesc, prometheus.GaugeValue, float64(l.Count), l.Lane, string(l.State))
		if l.State == hub.Pending && !l.Due.IsZero() {
			over := max(0, now.Sub(l.Due).Seconds())
			ch <- prometheus.MustNewConstMetric(overdueDesc, prometheus.GaugeValue, over, l.Lane)
		}
	}
}
