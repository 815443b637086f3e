package web

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"beckon/hub"
)

// What "send me a link" may cost.
const (
	// SentLinkLife is how long a link that was asked for works.
	SentLinkLife = 15 * time.Minute
	// sendTimeout bounds one channel's try.
	sendTimeout = 15 * time.Second
	// maxAsked bounds how many wait to be looked at.
	maxAsked = 128

	limitSpan      = 15 * time.Minute
	sendsPerPerson = 3   // in limitSpan
	asksPerClient  = 20  // in limitSpan; many people may share an address
	sendsInAll     = 200 // in limitSpan
	maxLimited     = 10_000
)

// linkRequest is somebody's wish for a link to whoever they say they are.
type linkRequest struct {
	who     string // e-mail address or person id
	message string // what the link reaches; "" for the list
}

// links takes wishes for links, and keeps them until Run has looked at them. A
// restart forgets them: people ask again.
type links struct {
	queue    chan linkRequest
	clients  *limit
	people   *limit
	everyone *limit
}

func newLinks() *links {
	return &links{
		queue:    make(chan linkRequest, maxAsked),
		clients:  newLimit(asksPerClient),
		people:   newLimit(sendsPerPerson),
		everyone: newLimit(sendsInAll),
	}
}

// ask takes a wish, or reports false when there are too many from the client or
// in all. It never waits.
func (l *links) ask(client string, r linkRequest) bool {
	if !l.clients.allow(client) {
		return false
	}
	select {
	case l.queue <- r:
		return true
	default:
		return false
	}
}

// Run sends the links that people ask for, until ctx ends.
func (c *Channel) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-c.links.queue:
			c.sendLink(ctx, r)
		}
	}
}

// sendLink sends a link by the first channel that can, if whoever was named is
// in the directory and has not had too many. Nobody but the log hears of it.
func (c *Channel) sendLink(ctx context.Context, r linkRequest) {
	p := findPerson(c.desk.Directory(), r.who)
	if p == nil {
		c.log.DebugContext(ctx, "a link was asked for a name that nobody has")
		return
	}
	log := c.log.With("person", p.ID)
	if !c.links.people.allow(p.ID) || !c.links.everyone.allow("") {
		log.InfoContext(ctx, "a link was asked for too often and is not sent")
		return
	}
	for _, channel := range c.desk.LinkSenders() {
		expires := time.Now().Add(SentLinkLife)
		u := link(c.desk.Keys(LinkKeys), c.desk.Directory().PublicURL, grant{
			Person: p.ID, Message: r.message, Expires: expires.Unix(), By: bySentLink, Via: channel,
		})
		try, cancel := context.WithTimeout(ctx, sendTimeout)
		err := c.desk.SendLink(try, channel, p.ID, u, expires)
		cancel()
		switch {
		case err == nil:
			log.LogAttrs(ctx, slog.LevelInfo, "a link was sent", slog.String("via", channel))
			return
		case ctx.Err() != nil:
			return
		case !errors.Is(err, hub.ErrUnsupported):
			log.LogAttrs(ctx, slog.LevelWarn, "send a link", slog.String("via", channel), slog.Any("err", err))
		}
	}
	log.WarnContext(ctx, "no channel could send a link; beckon link makes one")
}

// findPerson finds somebody by id or by e-mail address.
func findPerson(d *hub.Directory, who string) *hub.Person {
	if strings.Contains(who, "@") && !strings.HasPrefix(who, "@") {
		return byEmail(d, who)
	}
	return d.People[strings.TrimPrefix(lower(who), "@")]
}

// limit allows n things of a kind in any limitSpan. Counts live in memory only.
// Beyond maxLimited kinds, the others share one count.
type limit struct {
	n int

	mu   sync.Mutex
	seen map[string][]time.Time // oldest first
}

func newLimit(n int) *limit { return &limit{n: n, seen: map[string][]time.Time{}} }

func (l *limit) allow(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if _, known := l.seen[kind]; !known && len(l.seen) >= maxLimited {
		l.sweep(now)
		if len(l.seen) >= maxLimited {
			kind = ""
		}
	}
	times := recent(l.seen[kind], now)
	if len(times) >= l.n {
		l.seen[kind] = times
		return false
	}
	l.seen[kind] = append(times, now)
	return true
}

// sweep forgets what no longer counts.
func (l *limit) sweep(now time.Time) {
	for kind, times := range l.seen {
		if len(recent(times, now)) == 0 {
			delete(l.seen, kind)
		}
	}
}

func recent(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= limitSpan {
		times = times[1:]
	}
	return times
}
