package templates

import (
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// Countdown says until when a message is open, in pieces, so that a page can
// keep the middle one up to date. Together they are [Deadline].
type Countdown struct {
	By   string    // "answer by 18:00"
	Left string    // "in 2 h 10 min"; empty when there is no deadline, or no time left
	Then string    // what happens at Due: "Hold for review"; empty without a deadline
	Due  time.Time // zero: never
}

// Until counts down to a card's deadline by its reader's clock. It returns nil
// for a notify and for what is no longer open.
func Until(c *hub.Card) *Countdown {
	if c.Status != ma2h.Open {
		return nil
	}
	if c.ExpiresAt.IsZero() {
		return &Countdown{By: "no deadline"}
	}
	d := &Countdown{Due: c.ExpiresAt, Then: Then(c)}
	switch {
	case Over(c):
		d.By = "time was up " + at(c.ExpiresAt, c.Reader)
		return d
	case c.Type == ma2h.Task:
		d.By = "do it by "
	default:
		d.By = "answer by "
	}
	d.By += Clock(c.ExpiresAt, c.Reader)
	d.Left = In(c.ExpiresAt)
	return d
}

// Over reports whether a card's deadline has passed, although the hub may not
// have closed it yet. At the deadline itself an answer still counts (spec §7).
func Over(c *hub.Card) bool {
	return !c.ExpiresAt.IsZero() && time.Now().After(c.ExpiresAt)
}

// Deadline says until when and what happens then: "answer by 18:00 (in 2 h
// 10 min), then: Hold for review". It is empty for a notify and for what is no
// longer open.
func Deadline(c *hub.Card) string {
	d := Until(c)
	if d == nil {
		return ""
	}
	s := d.By
	if d.Left != "" {
		s += " (" + d.Left + ")"
	}
	if d.Then != "" {
		s += ", then: " + d.Then
	}
	return s
}

// Then says what happens when nobody answers: the default's label or values, or
// that it expires.
func Then(c *hub.Card) string {
	switch {
	case c.OnExpire != "":
		return short(c.OnExpire)
	case len(c.OnExpireValues) > 0:
		return Values(c.OnExpireValues)
	case c.Type == ma2h.Task:
		return "it expires, not done"
	}
	return "it expires without an answer"
}
