package slack

import (
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
)

// delivery waits until a delivery of a message has come to rest, and returns it.
func (o *office) delivery(id string, seq int, states ...hub.DeliveryState) hub.Delivery {
	o.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		list, err := o.h.Deliveries(o.ctx(), hub.DeliveryQuery{Limit: 100})
		if err != nil {
			o.t.Fatal(err)
		}
		var now hub.Delivery
		for _, d := range list {
			if d.MessageID != id || d.Seq != seq {
				continue
			}
			now = d
			for _, s := range states {
				if d.State == s {
					return d
				}
			}
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("delivery %d of %s is %+v\n%s", seq, id, now, o.logs)
		}
	}
}

// posts finds the numbers of a message's posts, by target.
func (o *office) posts(id string) map[string]int {
	o.t.Helper()
	list, err := o.h.Deliveries(o.ctx(), hub.DeliveryQuery{Limit: 100})
	if err != nil {
		o.t.Fatal(err)
	}
	out := map[string]int{}
	for _, d := range list {
		if d.MessageID == id && d.Kind == hub.KindPost {
			out[d.Target.String()] = d.Seq
		}
	}
	return out
}

// TestMovesOn: a target that can't be reached is given up at once, shows why,
// and the next one gets the message without waiting for its time.
func TestMovesOn(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{dir: func(d *hub.Directory) {
		d.Routes = []hub.Route{{Name: "all", Ask: []string{"alice"}, Post: []hub.Entry{
			{Targets: []hub.Target{{Channel: Name, Place: "#secret-out"}}},
			{Targets: []hub.Target{toAlice}, After: time.Hour},
		}}}
	}})
	id, _ := o.ask(shipAsk(nil))
	posts := o.posts(id)
	d := o.delivery(id, posts["slack:#secret-out"], hub.Dead)
	if d.LastCode != "not_invited" || d.Attempts != 1 || !strings.Contains(d.LastError, "/invite @") || !strings.Contains(d.LastError, "#secret-out") {
		t.Errorf("the dead delivery says %+v", d)
	}
	o.delivery(id, posts["slack:alice"], hub.Done)
}

// TestDegraded: that a plainer form went out is on record.
func TestDegraded(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	o.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: 1})
	id := o.submit(shipAsk(tagged("solo")))
	m, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool { return m.BotID != "" })
	if err != nil || len(m.Blocks) > 0 || !strings.Contains(m.Text, "1. Ship to prod now") {
		t.Fatalf("the copy is %+v, %v", m, err)
	}
	d := o.delivery(id, o.posts(id)["slack:#approvals"], hub.Done)
	if d.LastCode != "degraded" || !strings.Contains(d.LastError, "invalid_blocks") {
		t.Errorf("the delivery says %+v", d)
	}
}

// TestStoppedWhilePosting: the hub stops while Slack has the message and has not
// answered; the next one finds the copy and makes no second.
func TestStoppedWhilePosting(t *testing.T) {
	t.Parallel()
	ws := workspace()
	ws.NoDedupe = true
	o := newOffice(t, officeOptions{workspace: ws})
	lift := o.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Hang: true, Effect: true})
	id := o.submit(shipAsk(tagged("solo")))
	o.copyOf(id)
	o.stop()
	lift()
	o.start()
	o.delivery(id, o.posts(id)["slack:#approvals"], hub.Done)
	if n := len(o.slack.Messages(approvals)); n != 1 {
		t.Errorf("%d copies", n)
	}
	if n := len(o.slack.Calls("chat.postMessage")); n != 1 {
		t.Errorf("%d posts", n)
	}
}

// TestStoppedAndEnded: as before, and the message is withdrawn before the hub is
// back: the copy is found, and says so.
func TestStoppedAndEnded(t *testing.T) {
	t.Parallel()
	ws := workspace()
	ws.NoDedupe = true
	o := newOffice(t, officeOptions{workspace: ws})
	o.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Hang: true, Effect: true, Times: 1})
	id := o.submit(shipAsk(tagged("solo")))
	c := o.copyOf(id)
	if _, err := o.h.Cancel(o.ctx(), o.dir.Agents[releaseBot], id); err != nil {
		t.Fatal(err)
	}
	o.stop()
	o.start()
	got, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool { return m.TS == c.TS && m.Revision > c.Revision })
	if err != nil {
		t.Fatalf("the copy still asks: %v\n%s", err, o.logs)
	}
	if hasControls(got) || !strings.Contains(got.Text, "Withdrawn") {
		t.Errorf("the copy says %s", got.Text)
	}
	if n := len(o.slack.Messages(approvals)); n != 1 {
		t.Errorf("%d copies", n)
	}
}

// TestBacklogWithdrawn: what waits for its turn when it is withdrawn is never
// posted, and what stands is changed; Slack's limits are on.
func TestBacklogWithdrawn(t *testing.T) {
	t.Parallel()
	ws := workspace()
	ws.NoRateLimits = false
	o := newOffice(t, officeOptions{workspace: ws})
	var ids []string
	for range 25 {
		ids = append(ids, o.submit(shipAsk(tagged("solo"))))
	}
	if _, err := o.slack.WaitMessage(o.ctx(), hasControls); err != nil { // one is posted
		t.Fatal(err)
	}
	var all sync.WaitGroup // at once: Slack takes one a second meanwhile
	for _, id := range ids {
		all.Go(func() {
			if _, err := o.h.Cancel(o.ctx(), o.dir.Agents[releaseBot], id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	dropped := 0
	for _, id := range ids {
		d := o.delivery(id, o.posts(id)["slack:#approvals"], hub.Done, hub.Dropped, hub.Dead)
		if d.State == hub.Dropped {
			dropped++
		}
		if d.State == hub.Dead {
			t.Errorf("%+v", d)
		}
	}
	if dropped < 15 {
		t.Errorf("%d of 25 were not posted any more", dropped)
	}
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		asking := 0
		for _, m := range o.slack.Messages(approvals) {
			if hasControls(m) {
				asking++
			}
		}
		if asking == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d copies still ask\n%s", asking, o.logs)
		}
	}
	for _, c := range o.slack.Calls("") {
		if c.Status == 429 {
			t.Errorf("Slack limited %s", c.Method)
		}
	}
}
