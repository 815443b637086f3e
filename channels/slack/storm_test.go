package slack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// crowd adds n people to a workspace and a directory, and channels for so many
// asks at once: a channel takes one message a second and a burst of three.
func crowd(n, asks int) (fakeslack.Options, func(*hub.Directory), []string) {
	ws := workspace()
	var ids, users []string
	for i := range n {
		id, user := fmt.Sprintf("p%d", i), fmt.Sprintf("U0CROWD%03d", i)
		ws.Users = append(ws.Users, fakeslack.User{ID: user, Name: id, RealName: "Person " + itoa(i)})
		ids, users = append(ids, id), append(users, user)
	}
	channels := asks/postBurst + 1
	for i := range channels {
		ws.Channels = append(ws.Channels, fakeslack.Channel{ID: crowdChannel(i), Name: "crowd-" + itoa(i), Members: append(users[:n:n], ws.Apps[0].BotUser)})
	}
	return ws, func(d *hub.Directory) {
		for i, id := range ids {
			d.People[id] = &hub.Person{ID: id, Name: "Person " + itoa(i), Slack: users[i], Location: time.UTC}
		}
		d.Routes = nil
		for i := range channels {
			d.Routes = append(d.Routes, hub.Route{
				Name: itoa(i), Match: &hub.Match{Tags: []string{crowdChannel(i)}}, Ask: ids,
				Post: []hub.Entry{{Targets: []hub.Target{{Channel: Name, Place: crowdChannel(i)}}}},
			})
		}
		d.Routes = append(d.Routes, hub.Route{Name: "none"})
	}, ids
}

func crowdChannel(i int) string { return fmt.Sprintf("C0CROWD%03d", i) }

// faulty makes calls fail now and then in every way.
func faulty(s *fakeslack.Server, percent int, methods ...string) {
	for _, m := range methods {
		for i, f := range []fakeslack.Fault{{Status: 503}, {Reset: true}, {Reset: true, Effect: true}, {Garbage: true}, {Error: "internal_error"}} {
			f.Method = m
			rnd, mu := rand.New(rand.NewPCG(uint64(i), 7)), sync.Mutex{}
			f.When = func(url.Values) bool {
				mu.Lock()
				defer mu.Unlock()
				return rnd.IntN(500) < percent
			}
			s.Fail(f)
		}
	}
}

// flaky loses requests to response URLs on the way there.
type flaky struct {
	http.RoundTripper
	percent int
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/actions/") && rand.IntN(100) < f.percent {
		return nil, errors.New("connection reset by peer")
	}
	return f.RoundTripper.RoundTrip(r)
}

// postAll submits asks to the channels of a crowd, and waits for their copies.
func (o *office) postAll(n int) (ids []string, copies []fakeslack.Message) {
	o.t.Helper()
	for i := range n {
		ids = append(ids, o.submit(shipAsk(tagged(crowdChannel(i/postBurst)))))
	}
	for _, id := range ids {
		copies = append(copies, o.copyOf(id))
	}
	for _, c := range copies {
		for o.t.Context().Err() == nil {
			if _, err := o.h.Desk(Name).FindPosting(o.ctx(), Name, c.Channel+"/"+c.TS); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return ids, copies
}

// TestStorm: 500 clicks by 20 people on 50 asks at once, with retries,
// duplicates and 5 % faults: one outcome each, and nobody is ignored.
func TestStorm(t *testing.T) {
	t.Parallel()
	for name, overHTTP := range map[string]bool{"socket": false, "http": true} {
		t.Run(name, func(t *testing.T) {
			ws, dir, people := crowd(20, 50)
			o := newOffice(t, officeOptions{workspace: ws, dir: dir, http: overHTTP})
			const asks, clicks = 50, 500
			ids, copies := o.postAll(asks)
			o.ch.api.http.Transport = &flaky{RoundTripper: o.ch.api.http.Transport, percent: 5}
			faulty(o.slack, 5, "chat.update", "chat.postEphemeral", "chat.postMessage", "auth.test", "users.info")
			var wg sync.WaitGroup
			done := make([]int, len(people)) // clicks by person
			for p := range people {
				for i := p; i < clicks; i += len(people) {
					done[p]++
					wg.Go(func() {
						k := i * 7 % asks
						a := action{Kind: kindAnswer, MessageID: ids[k], Option: 1 + i%3}
						_, err := o.person(people[p]).Click(o.ctx(), copies[k].Channel, copies[k].TS, a.id(), fakeslack.Stale(copies[k]))
						// A busy machine may be too slow for Slack's three seconds; Slack
						// sends the click again then.
						if err != nil && !errors.Is(err, fakeslack.ErrNoAck) {
							t.Errorf("click: %v", err)
						}
					})
				}
			}
			wg.Wait()
			var again sync.WaitGroup
			for _, d := range o.slack.Deliveries() {
				if d.Type == "block_actions" && rand.IntN(4) == 0 {
					again.Go(func() { _, _ = o.ch.inbound.receive(o.ctx(), "test", kindInteraction, 1, d.Payload) })
				}
			}
			again.Wait()
			for _, id := range ids {
				if r := o.response(id); r.Resolution != ma2h.Answered {
					t.Errorf("%s: %s", id, r.Resolution)
				}
				events, err := o.h.Events(o.ctx(), id)
				if err != nil {
					t.Fatal(err)
				}
				answered := 0
				for _, e := range events {
					if e.Kind == "answered" {
						answered++
					}
				}
				if answered != 1 {
					t.Errorf("%s was answered %d times", id, answered)
				}
			}
			_ = waitFor(func() bool { // who is told again after a fault hears a little later
				n := 0
				for _, name := range people {
					n += len(o.heard(name, "Recorded:")) + len(o.heard(name, "changed nothing"))
				}
				return n >= clicks
			})
			time.Sleep(300 * time.Millisecond)
			recorded, late := 0, 0
			for p, name := range people {
				r, l := len(o.heard(name, "Recorded:")), len(o.heard(name, "changed nothing"))
				if r+l != done[p] {
					t.Errorf("%s clicked %d times and was told %d outcomes", name, done[p], r+l)
					for _, m := range append(o.heard(name, "Recorded:"), o.heard(name, "changed nothing")...) {
						t.Logf("%s %s/%s %q", m.TS, m.Channel, m.ThreadTS, m.Text)
					}
					t.Logf("%d notes, %d direct\n%s", len(o.slack.Calls("chat.postEphemeral")), len(o.slack.Calls("chat.postMessage")), o.logs)
				}
				recorded, late = recorded+r, late+l
			}
			if recorded != asks || late != clicks-asks {
				t.Errorf("%d recorded and %d late, want %d and %d", recorded, late, asks, clicks-asks)
			}
			o.quiet()
		})
	}
}

// TestOutage: sockets are cut, the hub is killed and Slack is down for a while in
// the middle of it: nothing that Slack handed over is lost, and nothing stands
// twice.
func TestOutage(t *testing.T) {
	t.Parallel()
	ws, dir, people := crowd(6, 24)
	ws.RetryDelays = []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}
	o := newOffice(t, officeOptions{workspace: ws, dir: dir})
	ids, copies := o.postAll(24)
	stop := make(chan struct{})
	var trouble sync.WaitGroup
	trouble.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
			}
			switch i % 4 {
			case 0:
				o.slack.KillSockets()
			case 1:
				o.slack.Disconnect("refresh_requested")
			case 2:
				lift := o.slack.Fail(fakeslack.Fault{Status: 503})
				time.Sleep(200 * time.Millisecond)
				lift()
			case 3:
				if i < 8 {
					o.stop()
					o.start()
				}
			}
		}
	})
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			p := o.person(people[i%len(people)])
			if i%3 == 0 { // a reply: Slack sends it again by itself
				if _, err := p.Reply(copies[i].Channel, copies[i].TS, "2"); err != nil {
					t.Error(err)
				}
				return
			}
			// A click that Slack could not hand over shows an error, and people click again.
			for range 40 {
				a := action{Kind: kindAnswer, MessageID: id, Option: 2}
				_, err := p.Click(o.ctx(), copies[i].Channel, copies[i].TS, a.id(), fakeslack.Stale(copies[i]))
				if err == nil {
					return
				}
				if !errors.Is(err, fakeslack.ErrNoAck) {
					t.Error(err)
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Errorf("the clicks on %s never arrived", id)
		})
	}
	wg.Wait()
	time.Sleep(500 * time.Millisecond)
	close(stop)
	trouble.Wait()
	for i, id := range ids {
		d := o.detail(id, ma2h.Answered)
		if want := "human:" + people[i%len(people)]; d.Actor != want || string(d.Value) != `"hold"` {
			t.Errorf("%s: %s by %s, want %s", id, d.Value, d.Actor, want)
		}
		n := 0
		for _, m := range o.slack.Messages(copies[i].Channel) {
			if m.EphemeralTo == "" && !m.IsReply() && strings.Contains(fmt.Sprint(m.Blocks), id) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d copies of %s stand", n, id)
		}
	}
	for p, name := range people {
		for i := p; i < len(ids); i += len(people) {
			_, err := o.person(name).WaitSight(o.ctx(), func(s fakeslack.Sight) bool {
				return s.Kind == "message" && s.Message.BotID != "" && (strings.Contains(s.Message.Text, "Recorded: Hold") || strings.Contains(s.Message.Text, "You answered"))
			})
			if err != nil {
				t.Errorf("%s was ignored: %v", name, err)
			}
		}
	}
}

// BenchmarkClickToAgent: from a click to the agent that waits for the answer.
func BenchmarkClickToAgent(b *testing.B) {
	n := min(b.N, 500)
	ws, dir, people := crowd(20, n)
	o := newOffice(b, officeOptions{workspace: ws, dir: dir})
	ids, copies := o.postAll(n)
	took := make([]time.Duration, n)
	b.ResetTimer()
	tick := time.NewTicker(20 * time.Millisecond) // 50 asks a second
	defer tick.Stop()
	var wg sync.WaitGroup
	for i := range n {
		<-tick.C
		wg.Go(func() {
			got := make(chan error, 1)
			began := time.Now()
			go func() {
				_, err := o.h.Wait(context.Background(), releaseBot, ids[i], 20*time.Second)
				took[i] = time.Since(began)
				got <- err
			}()
			a := action{Kind: kindAnswer, MessageID: ids[i], Option: 1}
			if _, err := o.person(people[i%len(people)]).Click(o.ctx(), copies[i].Channel, copies[i].TS, a.id()); err != nil {
				b.Error(err)
			}
			if err := <-got; err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	report(b, took)
}
