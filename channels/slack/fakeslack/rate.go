package fakeslack

import (
	"math"
	"strconv"
	"time"
)

// Rate limits: https://docs.slack.dev/apis/web-api/rate-limits. A method may be
// called so often a minute by an app in a workspace (its tier), and a message
// may be posted to a channel once a second, short bursts aside. How large a
// burst Slack allows is not documented; these were chosen.
const (
	postBurst = 4
	postRate  = 1.0 // messages a second and channel
)

// bucket is a token bucket in the fake's time.
type bucket struct {
	tokens, size float64
	perSecond    float64
	at           time.Time
}

// take takes one token, or says how long until there is one.
func (b *bucket) take(now time.Time) time.Duration {
	b.tokens = min(b.size, b.tokens+now.Sub(b.at).Seconds()*b.perSecond)
	b.at = now
	if b.tokens >= 1 {
		b.tokens--
		return 0
	}
	return time.Duration((1 - b.tokens) / b.perSecond * float64(time.Second))
}

// checkRate refuses a call that comes too soon; s.mu is held.
func (s *Server) checkRate(c *call, m method) error {
	if !s.limited || c.app == nil {
		return nil
	}
	wait := s.take(c.app.ID+" "+c.method, float64(m.tier), float64(m.tier)/60)
	if wait == 0 && (c.method == "chat.postMessage") {
		if id := s.resolveChannel(c.app, c.str("channel")); id != "" {
			wait = s.take(c.app.ID+" post "+id, postBurst, postRate)
		}
	}
	if wait == 0 {
		return nil
	}
	return rateLimited(wait)
}

func (s *Server) take(key string, size, perSecond float64) time.Duration {
	now := s.clock.now()
	b := s.buckets[key]
	if b == nil {
		b = &bucket{tokens: size, size: size, perSecond: perSecond, at: now}
		s.buckets[key] = b
	}
	return b.take(now)
}

func rateLimited(wait time.Duration) *apiError {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	return &apiError{code: "ratelimited", status: 429, header: map[string]string{"Retry-After": strconv.Itoa(seconds)}}
}

// resolveChannel is the channel that an argument means: an id, a name, or a user
// whose direct messages are meant. It opens nothing.
func (s *Server) resolveChannel(a *app, arg string) string {
	if u := s.users[arg]; u != nil {
		if c := s.dm(u.ID, a.BotUser, false); c != nil {
			return c.ID
		}
		return arg
	}
	return s.channelID(arg)
}
