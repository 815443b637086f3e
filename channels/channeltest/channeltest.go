// Package channeltest proves that a channel behaves: that a copy is made once
// and names itself, that copies tell the truth after every ending, that agent
// text is inert and cut with a word said, that nothing secret gets out, and that
// whoever answers is told what came of it.
//
// A channel's test hands [Run] a [Harness], which builds the channel over a
// [Desk] and whatever stands in for the world. A failure names the rule that
// was broken.
package channeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// Harness builds a fresh channel for one test, over a desk.
type Harness func(t *testing.T, desk *Desk) Bench

// Bench is a channel and the eyes and hands of a person at it.
type Bench struct {
	Channel hub.Channel
	// Target is where the suite posts; its Person, if any, is [Reader].
	Target hub.Target
	// Copies counts the copies of a message that stand at the target.
	Copies func(t *testing.T, messageID string) int
	// Read returns what stands at the target for a message, with every
	// follow-up.
	Read func(t *testing.T, messageID string) Seen
	// Answer does what a person does to choose an option, counted from 1, and
	// returns what that person is told. Nil: nobody can answer here.
	Answer func(t *testing.T, messageID string, option int) string
	// Secrets are what the channel was configured with.
	Secrets []string
	// Break makes every later call to the outside fail, in a way that tempts the
	// channel to repeat its secrets. Nil: there is nothing outside.
	Break func(t *testing.T)
	// Live: the copy is the hub's own page, so there is no link to it and no
	// update.
	Live bool
}

// Seen is a copy: the text as a person reads it, and the raw form that the
// medium interprets.
type Seen struct{ Text, Raw string }

// Reader is the person whom the suite posts to and answers as.
const Reader = "alice"

// Directory is who the suite's hub knows.
func Directory() *hub.Directory {
	sgt := time.FixedZone("Asia/Singapore", 8*3600)
	return &hub.Directory{
		PublicURL: "https://beckon.example.com",
		People: map[string]*hub.Person{
			"alice": {ID: "alice", Name: "Alice Ng", Email: "alice@example.com", Slack: "U0ALICE", Location: sgt},
			"bob":   {ID: "bob", Name: "Bob Roy", Email: "bob@example.com", Slack: "U0BOB", Location: time.UTC},
		},
		Teams: map[string][]string{"oncall": {"alice", "bob"}},
	}
}

// Ask returns an open select ask that [Reader] may answer.
func Ask(id string) *hub.Card {
	d := Directory()
	return &hub.Card{
		MessageID: id, ReviewURL: d.ReviewURL(id), Type: ma2h.Ask, Status: ma2h.Open, Mode: ma2h.Select,
		Title: "Ship web-app 2.3 to production?", Body: "All checks passed. One migration adds an index.",
		Priority: ma2h.High, AgentID: "deploybot/dev-team", Project: "web-app", RunID: "run_1", Runtime: "cli",
		AcceptedAt: time.Now().Add(-time.Minute), ExpiresAt: time.Now().Add(2 * time.Hour), OnExpire: "Hold for review",
		Options: []hub.CardOption{
			{N: 1, Value: "ship", Label: "Ship to prod now", Description: "Deploy immediately."},
			{N: 2, Value: "hold", Label: "Hold for review", Description: "Wait for a human PR review.", Default: true},
			{N: 3, Value: "abort", Label: "Abort the change", Description: "Revert and close."},
		},
		MayAnswer: true, CanAnswer: true, CanDecline: true,
		Reader: d.People[Reader], AskedOf: []string{"Alice Ng", "Bob Roy"},
	}
}

// Run holds a channel to everything above.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"a posting has a name of its own", testRefs},
		{"posting again makes no second copy", testPostTwice},
		{"a copy tells the truth", testTruth},
		{"a hidden card shows title and link only", testHidden},
		{"masked secrets are counted", testMasked},
		{"shutdown is not a failed delivery", testCancelled},
		{"an error holds no secret", testSecrets},
		{"agent text is inert", testHostile},
		{"a cut is said", testHuge},
		{"everybody is told the outcome", testOutcomes},
		{"an answer names person and receipt", testAnswer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, h) })
	}
}

// fixture is one bench with its desk.
type fixture struct {
	Bench
	t    *testing.T
	desk *Desk
}

func start(t *testing.T, h Harness) *fixture {
	t.Helper()
	desk := NewDesk(Directory())
	return &fixture{Bench: h(t, desk), t: t, desk: desk}
}

func (f *fixture) request(delivery string, c *hub.Card) hub.PostRequest {
	r := hub.PostRequest{DeliveryID: delivery, Attempt: 1, Target: f.Target, Card: c}
	if f.Target.Person != "" {
		r.Person = f.desk.Directory().People[f.Target.Person]
	}
	return r
}

// post does what the hub does: the card is stored before it is posted, and the
// posting is recorded after.
func (f *fixture) post(c *hub.Card) hub.Posting {
	f.t.Helper()
	f.desk.Put(c)
	got, err := f.Channel.Post(f.t.Context(), f.request(c.MessageID+"/0", c))
	if err != nil {
		f.t.Fatalf("post: %v", err)
	}
	p := hub.Posting{MessageID: c.MessageID, Target: f.Target, Ref: got.Ref, Thread: got.Thread, At: time.Now()}
	f.desk.Posted(p)
	return p
}

// update stores a card and makes the copy follow.
func (f *fixture) update(p hub.Posting, c *hub.Card) {
	f.t.Helper()
	f.desk.Put(c)
	u, ok := f.Channel.(hub.Updater)
	if !ok {
		if !f.Live {
			f.t.Fatal("a channel whose copies are not live must be a hub.Updater")
		}
		return
	}
	r := hub.UpdateRequest{DeliveryID: c.MessageID + "/1", Attempt: 1, Posting: p, Card: c}
	r.Person = f.request("", c).Person
	if err := u.Update(f.t.Context(), r); err != nil {
		f.t.Fatalf("update: %v", err)
	}
}

func testRefs(t *testing.T, h Harness) {
	f := start(t, h)
	a, b := f.post(Ask("msg_a")), f.post(Ask("msg_b"))
	if a.Ref == "" || a.Ref == b.Ref {
		t.Errorf("refs %q and %q: want two that differ", a.Ref, b.Ref)
	}
}

func testPostTwice(t *testing.T, h Harness) {
	f := start(t, h)
	c := Ask("msg_a")
	first := f.post(c)
	r := f.request("msg_a/0", c)
	r.Attempt = 2
	again, err := f.Channel.Post(t.Context(), r)
	if err != nil {
		t.Fatalf("post again: %v", err)
	}
	if again.Ref != first.Ref {
		t.Errorf("the second post is named %q, the first %q", again.Ref, first.Ref)
	}
	if n := f.Copies(t, "msg_a"); n != 1 {
		t.Errorf("%d copies stand, want 1", n)
	}
}

func testTruth(t *testing.T, h Harness) {
	at := time.Now().Add(-5 * time.Minute)
	tests := []struct {
		name string
		d    hub.Decision
		want []string
	}{
		{"answered", hub.Decision{
			Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", Via: "email", Choice: "Hold for review", Option: 2, Comment: "Not before lunch.",
		}, []string{"Bob Roy", "Hold for review", "by e-mail", "Not before lunch."}},
		{"declined", hub.Decision{Resolution: ma2h.Declined, Actor: "human:bob", ActorName: "Bob Roy", Via: "slack"}, []string{"Bob Roy", "declined"}},
		{"cancelled", hub.Decision{Resolution: ma2h.Cancelled, Actor: "agent:deploybot/dev-team", ActorName: "deploybot/dev-team", Via: "api"}, []string{"Withdrawn", "deploybot/dev-team"}},
		{"expired", hub.Decision{Resolution: ma2h.Expired, Actor: "system:expiry", Via: "clock"}, []string{"Expired"}},
		{"defaulted", hub.Decision{
			Resolution: ma2h.Expired, Actor: "system:default_on_expire", Via: "clock", Choice: "Hold for review", Option: 2, Defaulted: true,
		}, []string{"Expired", "Hold for review"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := start(t, h)
			c := Ask("msg_a")
			p := f.post(c)
			after := *c
			d := tt.d
			d.At = at
			after.Status, after.Decision, after.MayAnswer = d.Resolution, &d, false
			f.update(p, &after)
			got := f.Read(t, "msg_a").Text
			for _, w := range tt.want {
				// A sentence may begin with the word.
				if !strings.Contains(strings.ToLower(got), strings.ToLower(w)) {
					t.Errorf("the copy does not say %q:\n%s", w, got)
				}
			}
			if strings.Contains(got, "answer by") {
				t.Errorf("the copy still asks:\n%s", got)
			}
		})
	}
}

func testHidden(t *testing.T, h Harness) {
	f := start(t, h)
	c := Ask("msg_a")
	c.Hidden, c.PageOnly = true, true
	// A hub leaves these out; a channel must not lean on that alone.
	c.Body, c.Options[0].Label, c.Options[1].Description = "canary-body", "canary-label", "canary-description"
	c.Context = []hub.CardPart{{Text: "canary-part"}}
	f.post(c)
	got := f.Read(t, "msg_a")
	if !strings.Contains(got.Text, c.Title) {
		t.Errorf("the title is missing:\n%s", got.Text)
	}
	if !f.Live && !strings.Contains(got.Raw, c.ReviewURL) {
		t.Errorf("the link is missing:\n%s", got.Raw)
	}
	if strings.Contains(got.Raw, "canary") {
		t.Errorf("a hidden card leaks:\n%s", got.Raw)
	}
}

func testMasked(t *testing.T, h Harness) {
	f := start(t, h)
	c := Ask("msg_a")
	c.Body, c.Masked = "token ••••", 3
	f.post(c)
	got := f.Read(t, "msg_a").Text
	if !strings.Contains(got, "3") || !strings.Contains(got, "masked") {
		t.Errorf("the copy does not say that 3 secrets were masked:\n%s", got)
	}
}

func testCancelled(t *testing.T, h Harness) {
	f := start(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Ask("msg_a")
	f.desk.Put(c)
	_, err := f.Channel.Post(ctx, f.request("msg_a/0", c))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want an error that is context.Canceled", err)
	}
	if de, ok := errors.AsType[*hub.DeliveryError](err); ok && de.Permanent {
		t.Error("a shutdown is reported as a permanent failure")
	}
}

func testSecrets(t *testing.T, h Harness) {
	f := start(t, h)
	if f.Break == nil {
		return // the channel calls nothing outside, so it has no such error
	}
	f.Break(t)
	c := Ask("msg_a")
	f.desk.Put(c)
	_, err := f.Channel.Post(t.Context(), f.request("msg_a/0", c))
	if err == nil {
		t.Fatal("a broken channel posted")
	}
	for _, s := range f.Secrets {
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), s) {
			t.Errorf("the error holds a secret: %v", strings.ReplaceAll(err.Error(), s, "«secret»"))
		}
	}
}
