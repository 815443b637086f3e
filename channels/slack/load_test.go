package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/outbox"
)

// pipeListener serves connections within a test bubble.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error { l.once.Do(func() { close(l.done) }); return nil }

func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load is the outbox over a channel over a Slack with its rate limits on.
type load struct {
	t     *testing.T
	w     *world
	box   *outbox.Outbox
	start time.Time

	mu   sync.Mutex
	rows []*job
}

// job is one delivery.
type job struct {
	hub.Delivery
	card    *hub.Card
	posting *hub.Posting // of an update

	added, done time.Time
	claims      int
	failed      error
	ref         string
}

// startLoad runs the outbox until the test ends. It is called in a bubble.
func startLoad(t *testing.T) *load {
	l := &load{t: t, start: time.Now()}
	o := workspace()
	o.NoRateLimits = false
	o.NoDedupe = true
	listener := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	s := fakeslack.New(o)
	s.Serve(listener)
	l.w = &world{t: t, desk: channeltest.NewDesk(channeltest.Directory()), slack: s, logs: &logs{}}
	l.w.again()
	l.w.ch.api.http.Transport.(*bounded).DialContext = listener.dial
	l.box = outbox.New(l, outbox.Options{Lanes: []outbox.Lane{{Name: Name}}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.box.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-done
		l.w.ch.api.http.CloseIdleConnections()
		s.Close()
		synctest.Wait()
	})
	return l
}

func (l *load) Recover(context.Context, time.Time) (int, error) { return 0, nil }

func (l *load) Claim(_ context.Context, _ string, now time.Time, lease time.Duration, limit int) (out []hub.Delivery, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []*job
	for _, j := range l.rows {
		if (j.State == hub.Pending || j.State == hub.Running) && !j.Due.After(now) {
			due = append(due, j)
		}
	}
	slices.SortStableFunc(due, func(a, b *job) int { return a.Due.Compare(b.Due) })
	for _, j := range due[:min(len(due), limit)] {
		j.State, j.Due = hub.Running, now.Add(lease)
		j.Attempts++
		j.claims++
		out = append(out, j.Delivery)
	}
	return out, nil
}

func (l *load) NextDue(context.Context, string) (next time.Time, ok bool, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.rows {
		if (j.State == hub.Pending || j.State == hub.Running) && (!ok || j.Due.Before(next)) {
			next, ok = j.Due, true
		}
	}
	return next, ok, nil
}

// Work does what hub.Hub.Work does.
func (l *load) Work(ctx context.Context, d hub.Delivery) error {
	l.mu.Lock()
	j := l.rows[d.Seq]
	l.mu.Unlock()
	var err error
	var posted hub.Posted
	if d.Kind == hub.KindUpdate {
		err = l.w.ch.Update(ctx, hub.UpdateRequest{DeliveryID: d.ID(), Attempt: d.Attempts, MaybeSent: d.MaybeSent, Posting: *j.posting, Card: j.card})
	} else {
		posted, err = l.w.ch.Post(ctx, hub.PostRequest{DeliveryID: d.ID(), Attempt: d.Attempts, MaybeSent: d.MaybeSent, Target: d.Target, Card: j.card})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		j.State, j.done, j.ref = hub.Done, time.Now(), posted.Ref
		return nil
	}
	j.State, j.Due = hub.Pending, time.Now().Add(5*time.Second)
	if de, ok := errors.AsType[*hub.DeliveryError](err); ok {
		j.MaybeSent = j.MaybeSent || de.MaybeSent
		switch {
		case de.Permanent:
			j.State, j.failed = hub.Dead, err
		case de.After > 0:
			j.Due = time.Now().Add(de.After)
			j.Attempts--
		}
	}
	l.box.Due(Name, j.Due)
	return nil
}

// add enqueues posts of one kind of card.
func (l *load) add(n int, place string, typ ma2h.Type) (jobs []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		seq := len(l.rows)
		card := channeltest.Ask(fmt.Sprintf("msg_%05d", seq))
		card.Type, card.AcceptedAt = typ, time.Now()
		j := &job{card: card, added: time.Now(), Delivery: hub.Delivery{
			MessageID: card.MessageID, Seq: seq, Kind: hub.KindPost, Lane: Name, State: hub.Pending, Due: time.Now(),
			Target: hub.Target{Channel: Name, Place: place},
		}}
		l.rows, jobs = append(l.rows, j), append(jobs, j)
	}
	l.box.Due(Name, time.Now())
	return jobs
}

// decide enqueues the update of a copy that stands.
func (l *load) decide(of *job) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq := len(l.rows)
	card := *of.card
	card.Status = ma2h.Answered
	card.Decision = &hub.Decision{Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: time.Now(), Via: "web", Choice: "Hold for review", Option: 2}
	j := &job{card: &card, added: time.Now(), posting: &hub.Posting{Target: of.Target, Ref: of.ref, Thread: strings.SplitAfter(of.ref, "/")[1], At: of.done}, Delivery: hub.Delivery{
		MessageID: card.MessageID, Seq: seq, Kind: hub.KindUpdate, Lane: Name, State: hub.Pending, Due: time.Now(), Target: of.Target,
	}}
	l.rows = append(l.rows, j)
	l.box.Due(Name, time.Now())
	return j
}

// slowest is the longest wait of the jobs; undone jobs are reported.
func (l *load) slowest(what string, jobs []*job) time.Duration {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var most time.Duration
	undone := 0
	for _, j := range jobs {
		if j.done.IsZero() {
			undone++
			continue
		}
		most = max(most, j.done.Sub(j.added))
	}
	if undone > 0 {
		l.t.Errorf("%s: %d of %d are not done after %v", what, undone, len(jobs), time.Since(l.start))
	}
	return most
}

// claims is how often deliveries were taken up, a job, at most.
func (l *load) claims(jobs []*job) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.MaxFunc(jobs, func(a, b *job) int { return cmp.Compare(a.claims, b.claims) }).claims
}

func (l *load) limitedCalls() (n int) {
	for _, c := range l.w.slack.Calls("") {
		if c.Status == 429 {
			n++
		}
	}
	return n
}

// TestLoad: terminal updates first, the backlog drains, nobody is ignored, and
// Slack has nothing to limit.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoad(t)
		notifies := l.add(300, "#approvals", ma2h.Notify)
		time.Sleep(20 * time.Second)
		asks := l.add(20, "#approvals", ma2h.Ask)
		elsewhere := l.add(3, "#deploys", ma2h.Ask)
		time.Sleep(time.Second)
		var decided []*job
		for _, j := range notifies[:10] {
			decided = append(decided, l.decide(j))
		}
		time.Sleep(400 * time.Second)
		for _, x := range []struct {
			what string
			jobs []*job
			most time.Duration
		}{
			{"updates", decided, time.Second},
			{"asks elsewhere", elsewhere, 3 * time.Second},
			{"asks", asks, 30 * time.Second},
			{"notifies", notifies, 340 * time.Second},
		} {
			got := l.slowest(x.what, x.jobs)
			t.Logf("%s: the slowest of %d took %v, with up to %d claims", x.what, len(x.jobs), got, l.claims(x.jobs))
			if got > x.most {
				t.Errorf("%s: the slowest took %v, want at most %v", x.what, got, x.most)
			}
		}
		if n := l.claims(notifies); n > 20 {
			t.Errorf("a notify was taken up %d times", n)
		}
		if n := len(l.w.standingIn(approvals)); n != 320 {
			t.Errorf("%d messages stand, want 320", n)
		}
		if n := l.limitedCalls(); n > 0 {
			t.Errorf("Slack limited %d calls", n)
		}
	})
}

// TestLoadAsksForever: notifies get their share while asks never stop.
func TestLoadAsksForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoad(t)
		notifies := l.add(10, "#approvals", ma2h.Notify)
		for range 120 {
			l.add(2, "#approvals", ma2h.Ask)
			time.Sleep(time.Second)
		}
		if d := l.slowest("notifies", notifies); d > 100*time.Second {
			t.Errorf("the slowest notify took %v", d)
		} else {
			t.Logf("the slowest notify took %v, claims %d", d, l.claims(notifies))
		}
		if n := len(l.w.standingIn(approvals)); n < 115 {
			t.Errorf("%d messages in 120 s: turns were lost", n)
		}
		if n := l.limitedCalls(); n > 0 {
			t.Errorf("Slack limited %d calls", n)
		}
	})
}

// TestLoadManyUpdates: more decisions at once than chat.update takes a minute.
func TestLoadManyUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoad(t)
		posts := l.add(90, "#approvals", ma2h.Ask)
		time.Sleep(120 * time.Second)
		l.slowest("posts", posts)
		var decided []*job
		for _, j := range posts {
			decided = append(decided, l.decide(j))
		}
		late := l.add(1, "#deploys", ma2h.Ask)
		time.Sleep(150 * time.Second)
		if d := l.slowest("updates", decided); d > 110*time.Second {
			t.Errorf("the slowest update took %v", d)
		}
		if d := l.slowest("an ask", late); d > 3*time.Second {
			t.Errorf("an ask waited %v for updates", d)
		}
		if n := l.limitedCalls(); n > 0 {
			t.Errorf("Slack limited %d calls", n)
		}
	})
}

// TestLoadLimited: Slack's own limit stops everything for as long as it says,
// and then nothing comes twice.
func TestLoadLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoad(t)
		l.w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Skip: 5, Times: 1, RetryAfter: 30 * time.Second})
		asks := l.add(30, "#approvals", ma2h.Ask)
		time.Sleep(10 * time.Second)
		before := len(l.w.slack.Calls("chat.postMessage"))
		time.Sleep(15 * time.Second)
		if n := len(l.w.slack.Calls("chat.postMessage")); n != before {
			t.Errorf("%d calls while Slack had said to wait", n-before)
		}
		time.Sleep(60 * time.Second)
		if d := l.slowest("asks", asks); d > 70*time.Second {
			t.Errorf("the slowest took %v", d)
		}
		if n := len(l.w.standingIn(approvals)); n != 30 {
			t.Errorf("%d messages stand, want 30", n)
		}
	})
}
