package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"beckon/hub"
)

const (
	// ackWithin is how long an acknowledgement waits for the hub to record what
	// somebody did. Slack shows an error after three seconds, which include the
	// way here. https://docs.slack.dev/interactivity/handling-user-interaction
	ackWithin = 2 * time.Second
	// deedLife bounds the handling of one thing, with all that is said after it.
	deedLife = 90 * time.Second
	// stopWithin is how long the end waits for what has begun.
	stopWithin = 10 * time.Second
	// startWithin is how long something waits for the hub to listen, or for others
	// to be done with.
	startWithin = time.Second
	// maxDeeds bounds what is handled at once; more wait in Slack's hands.
	maxDeeds = 2048
	// tellLife is how long what was told is remembered: Slack repeats an event
	// within six minutes. https://docs.slack.dev/apis/events-api/#retries
	tellLife = 15 * time.Minute
)

// Kinds of what Slack sends, by the name of their envelope in Socket Mode.
// https://docs.slack.dev/apis/events-api/using-socket-mode
const (
	kindEvent       = "events_api"
	kindInteraction = "interactive"
	kindCommand     = "slash_commands"
)

// inbound takes what people do in Slack, over whichever transport, and hands it
// to the hub. It keeps nothing that matters in memory: what is done once is done
// once by its receipt.
type inbound struct {
	c      *Channel
	desk   hub.Desk
	log    *slog.Logger
	told   recent     // what was said about which deed
	said   acts       // what was told to agents by command
	ticks  latest     // of a task's checklist, by message
	saving sync.Mutex // of a checklist
	homes  *homes
	slots  chan struct{} // one for each deed

	mu   sync.Mutex
	life context.Context // of the deeds; nil while nothing listens
	up   chan struct{}   // closed when something listens
	work sync.WaitGroup

	beat, deaf time.Duration // of a socket: [pingEvery], [deafAfter]
	heard      atomic.Int64  // Unix milliseconds of the last proof of life
	ill        trouble
}

func newInbound(c *Channel) *inbound {
	return &inbound{
		c: c, desk: c.desk, log: c.log, told: recent{life: tellLife, most: 20_000},
		ticks: latest{at: map[string]int{}}, homes: newHomes(), slots: make(chan struct{}, maxDeeds),
		beat: pingEvery, deaf: deafAfter, up: make(chan struct{}),
	}
}

// listen takes what Slack sends until ctx ends, and then waits for what has
// begun. Over HTTP it only owns what the requests leave behind.
func (in *inbound) listen(ctx context.Context) error {
	in.heardNow()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	in.mu.Lock()
	in.life = life
	close(in.up)
	in.mu.Unlock()
	defer func() {
		in.mu.Lock()
		in.life, in.up = nil, make(chan struct{})
		in.mu.Unlock()
		patience := time.AfterFunc(stopWithin, end)
		in.work.Wait()
		patience.Stop()
		end()
	}()
	in.begin(ctx, func(ctx context.Context) { _, _ = in.whois(ctx, slackActor{}) }) // who the hub is, before anybody waits for it
	if in.c.conf.AppToken.IsZero() {
		<-ctx.Done()
		return nil
	}
	return in.listenSockets(ctx)
}

// begin runs f as a deed of its own, which listen waits for; false when nothing
// listens. A request that comes while the hub is starting waits a moment.
func (in *inbound) begin(ctx context.Context, f func(context.Context)) bool {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	in.mu.Lock()
	up := in.up
	in.mu.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
		return false
	}
	select {
	case in.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.life == nil {
		<-in.slots
		return false
	}
	life := in.life
	in.work.Go(func() {
		defer func() { <-in.slots }()
		ctx, cancel := context.WithTimeout(life, deedLife)
		defer cancel()
		f(ctx)
	})
	return true
}

// deed is one thing that somebody did, while it is handled.
type deed struct {
	transport string // "socket" or "http", for the evidence
	kind      string

	mu    sync.Mutex
	acked bool
	ack   chan any
	later any // what is acknowledged when the time is up
}

// reply acknowledges, with a payload or with nil. It reports false when that was
// done before, because it took too long: then the person is told otherwise.
func (d *deed) reply(payload any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.acked {
		return false
	}
	d.acked = true
	d.ack <- payload
	return true
}

// orElse sets what is acknowledged when the time is up.
func (d *deed) orElse(payload any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.later = payload
}

// giveUp acknowledges because the time is up.
func (d *deed) giveUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.acked {
		d.acked = true
		d.ack <- d.later
	}
}

// errNotListening is that what came in can't be handled now: Slack keeps an
// event and sends it again.
var errNotListening = errors.New("the hub does not listen to Slack now")

// receive handles one thing and returns what to acknowledge it with, nil for
// nothing, within [ackWithin]. What takes longer goes on. retry is how often
// Slack says that it has sent this before; nothing is dropped for it.
func (in *inbound) receive(ctx context.Context, transport, kind string, retry int, raw []byte) (payload any, err error) {
	d := &deed{transport: transport, kind: kind, ack: make(chan any, 1)}
	began := in.begin(ctx, func(ctx context.Context) {
		defer d.reply(nil)
		defer func() {
			if p := recover(); p != nil {
				in.log.Error("handling something from Slack panicked", "kind", kind, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		if err := in.handle(ctx, d, raw); err != nil && ctx.Err() == nil {
			in.log.Warn("something from Slack was not handled in full", "kind", kind, "transport", transport, "retry", retry, "err", err)
		}
	})
	if !began {
		return nil, errNotListening
	}
	t := time.NewTimer(ackWithin)
	defer t.Stop()
	select {
	case payload = <-d.ack:
	case <-t.C:
		d.giveUp()
		payload = <-d.ack
	}
	return payload, nil
}

// handle decodes one thing and does what it says. An error is for the log:
// whoever could be told has been.
func (in *inbound) handle(ctx context.Context, d *deed, raw []byte) error {
	switch d.kind {
	case kindInteraction:
		var p interaction
		if err := lenient(raw, &p); err != nil {
			return errors.New("an interaction is no JSON object")
		}
		return in.interact(ctx, d, &p)
	case kindEvent:
		var e eventEnvelope
		if err := lenient(raw, &e); err != nil {
			return errors.New("an event is no JSON object")
		}
		return in.event(ctx, d, &e)
	case kindCommand:
		var c command
		if err := lenient(raw, &c); err != nil {
			return errors.New("a command is no JSON object")
		}
		return in.command(ctx, d, &c)
	}
	return fmt.Errorf("an envelope of the unknown kind %q", cutTo(line(d.kind, "(none)"), 40))
}

// heardNow is called at every proof that Slack can reach the hub.
func (in *inbound) heardNow() { in.heard.Store(time.Now().UnixMilli()) }

// Alive says when Slack last proved that what people do arrives here, and what
// keeps it from arriving, "" for nothing. Over HTTP Slack is silent when nobody
// does anything, so there is no such time.
func (c *Channel) Alive() (last time.Time, problem string) {
	problem = c.inbound.ill.String()
	if ms := c.inbound.heard.Load(); ms != 0 && !c.conf.AppToken.IsZero() {
		last = time.UnixMilli(ms)
	}
	return last, problem
}

// troubleToken is about the app's tokens, which explains all other trouble.
const troubleToken = "token"

// trouble is what is wrong now, by what it concerns: the tokens, or a socket by
// its number. The zero value is fine.
type trouble struct {
	mu sync.Mutex
	of map[string]string
}

func (t *trouble) set(what, problem string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if problem == "" {
		delete(t.of, what)
		return
	}
	if t.of == nil {
		t.of = map[string]string{}
	}
	t.of[what] = problem
}

// String says what keeps people from being heard. One socket of several is no
// trouble: the others hear everything.
func (t *trouble) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.of[troubleToken]; s != "" || len(t.of) < socketCount {
		return s
	}
	return t.of[socketName(0)]
}

// recent remembers keys for a while. It saves people from hearing the same thing
// twice, and forgetting one early costs no more than that.
type recent struct {
	life time.Duration
	most int

	mu    sync.Mutex
	at    map[string]time.Time
	order []string
}

// first reports whether a key is new, and remembers it.
func (r *recent) first(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for len(r.order) > 0 && (len(r.order) >= r.most || now.Sub(r.at[r.order[0]]) > r.life) {
		delete(r.at, r.order[0])
		r.order = r.order[1:]
	}
	if _, ok := r.at[key]; ok {
		return false
	}
	if r.at == nil {
		r.at = map[string]time.Time{}
	}
	r.at[key] = now
	r.order = append(r.order, key)
	return true
}

// latest counts what happened to a thing, so that of several that wait only the
// last one acts.
type latest struct {
	mu sync.Mutex
	at map[string]int
}

// next begins something new and returns its number, and what ends it: done
// reports whether nothing newer has begun.
func (l *latest) next(key string) (newest func() bool, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[key]++
	n := l.at[key]
	newest = func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.at[key] == n
	}
	return newest, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.at[key] == n {
			delete(l.at, key)
		}
	}
}
