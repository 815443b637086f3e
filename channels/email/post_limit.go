package email

import (
	"sync"
	"time"

	"beckon/hub"
)

const (
	// limitSpan is what the limits count over.
	limitSpan = 24 * time.Hour
	// maxPerMessage is how many mails about one message a person gets in that
	// time. It is far beyond what asks, reminders and notices come to, and only
	// there for the case that something runs in a circle.
	maxPerMessage = 20
)

// limiter counts the mails that go out, in memory: it is a backstop, and a restart
// that forgets them is none of the circles that it stops.
type limiter struct {
	perDay int

	mu      sync.Mutex
	sent    map[limited][]time.Time // oldest first
	sweepAt int                     // how many entries call for a sweep
}

// limited is what is counted: a person's mails about one message, or all of them.
type limited struct{ person, message string }

const minSweep = 1024

func newLimiter(perDay int) *limiter {
	return &limiter{perDay: perDay, sent: map[limited][]time.Time{}, sweepAt: minSweep}
}

// allow says when a mail may go out if not now. message is "" for one that is
// about none.
func (l *limiter) allow(person, message string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	full := func(k limited, most int, which string) error {
		times := recent(l.sent[k], now)
		if len(times) < most {
			return nil
		}
		return &hub.DeliveryError{
			Code: "too_many", After: max(times[len(times)-most].Add(limitSpan).Sub(now), time.Second),
			Msg: person + " has had as many mails in 24 hours as " + which + " allows; this one waits",
		}
	}
	if err := full(limited{person, ""}, l.perDay, "max_per_day"); err != nil || message == "" {
		return err
	}
	return full(limited{person, message}, maxPerMessage, "the limit for one message")
}

// count remembers a mail that went out.
func (l *limiter) count(person, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, k := range []limited{{person, ""}, {person, message}} {
		l.sent[k] = append(recent(l.sent[k], now), now)
		if message == "" {
			break
		}
	}
	if len(l.sent) < l.sweepAt {
		return
	}
	for k, times := range l.sent {
		if len(recent(times, now)) == 0 {
			delete(l.sent, k)
		}
	}
	l.sweepAt = max(minSweep, 2*len(l.sent))
}

func recent(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= limitSpan {
		times = times[1:]
	}
	return times
}
