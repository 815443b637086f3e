package api

import (
	"context"
	"net/http"
	"time"

	"beckon/hub/admin"
)

// readyTimeout is how long the store may take to answer.
const readyTimeout = 2 * time.Second

// healthz says that the process lives, and looks at nothing.
func (a *API) healthz(x *exchange, _ *http.Request) error {
	writeBytes(x, http.StatusOK, "application/json", []byte(`{"ok":true}`))
	return nil
}

// readyz says whether the hub can do its work, and names what can't. Why is for
// operators, in the log and in GET /admin/v1/stats: an error may name hosts.
func (a *API) readyz(x *exchange, r *http.Request) error {
	out := admin.Ready{Ready: true, Checks: a.checks(r.Context())}
	for i, c := range out.Checks {
		if !c.OK {
			out.Ready = false
			a.log.WarnContext(r.Context(), "not ready", "check", c.Name, "err", c.Problem)
		}
		out.Checks[i].Problem = ""
	}
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	return writeJSON(x, status, out)
}

// checks looks at the store, the shutdown and the loops, in this order.
func (a *API) checks(ctx context.Context) []admin.Check {
	checks := []admin.Check{}
	if a.o.Ready != nil {
		c := admin.Check{Name: "store", OK: true}
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		if err := a.o.Ready(ctx); err != nil {
			c.OK, c.Problem = false, err.Error()
		}
		checks = append(checks, c)
	}
	if a.draining.Err() != nil {
		checks = append(checks, admin.Check{Name: "serve", Problem: "shutting down"})
	}
	if a.o.Health != nil {
		checks = append(checks, a.o.Health()...)
	}
	return checks
}
