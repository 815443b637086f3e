package hub_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/store"
)

// failing is a real store whose commits can be made to fail.
type failing struct {
	*store.Store
	err error
}

func (f *failing) Apply(ctx context.Context, c *hub.Change) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.Apply(ctx, c)
}

// told counts who was told of a change.
type told struct{ wakes, lists, dues int }

func (n *told) Wake(topic string) {
	if strings.HasPrefix(topic, hub.ListTopic("")) {
		n.lists++
		return
	}
	n.wakes++
}

func (n *told) Subscribe(string) (<-chan struct{}, func()) { return nil, func() {} }

// outboxFunc is an outbox that only notices.
type outboxFunc func()

func (f outboxFunc) Due(string, time.Time) { f() }

// Nothing shows as done before it is committed (rule 5): when the commit fails
// the person is told so, nobody is woken and nothing is sent.
func TestNothingBeforeCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s := &failing{Store: w.s}
	n := &told{}
	h := hub.New(hub.Options{Store: s, Notifier: n, Outbox: outboxFunc(func() { n.dues++ })}, w.h.Directory())
	sub, err := h.Submit(t.Context(), w.agent(deploybot), ask(nil).raw())
	if err != nil {
		t.Fatal(err)
	}
	*n = told{}
	s.err = errors.New("disk full")
	if _, err := h.Desk("web").Answer(t.Context(), hub.Answer{MessageID: sub.Message.ID, Actor: "human:alice", Verb: hub.VerbAnswer, Option: 1}); err == nil {
		t.Error("an answer that was not stored has an outcome")
	}
	if _, err := h.Cancel(t.Context(), w.agent(deploybot), sub.Message.ID); err == nil {
		t.Error("a cancel that was not stored succeeded")
	}
	_, err = h.Submit(t.Context(), w.agent(deploybot), ask(nil).raw())
	if e, ok := errors.AsType[*hub.Error](err); !ok || e.Code != ma2h.CodeUnavailable || e.RetryAfter == 0 || !errors.Is(err, s.err) {
		t.Errorf("a submit that was not stored: %v", err)
	}
	if *n != (told{}) {
		t.Errorf("told of what was not committed: %+v", *n)
	}
	s.err = nil
	o, err := h.Desk("web").Answer(t.Context(), hub.Answer{MessageID: sub.Message.ID, Actor: "human:alice", Verb: hub.VerbAnswer, Option: 1})
	if err != nil || o.Kind != hub.Accepted || n.wakes != 1 || n.lists != 2 {
		t.Errorf("after the disk is back: %+v, %v, %+v", o, err, *n)
	}
}

// Idempotent means silent (rule 12): a repeated submit notifies nobody twice.
func TestReplayIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		d := ask(chatty)
		for range 5 {
			w.submit(d)
			synctest.Wait()
		}
		if got := w.chat.order(); !slices.Equal(got, []string{"chat:#deploys"}) {
			t.Errorf("posts %q", got)
		}
		w.stop()
	})
}

// Someone who has left the directory may not answer any more (rule 8), and
// what was frozen at submit stays otherwise.
func TestLeftTheDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil)).Message.ID
	d := directory()
	delete(d.People, "alice")
	d.Routes[0].Ask = []string{"carol"} // for later messages only
	w.h.SetDirectory(d)
	for actor, want := range map[string]hub.Reason{"human:alice": hub.ReasonUnknownPerson, "human:carol": hub.ReasonNotFound} {
		if o := w.answer(hub.Answer{MessageID: id, Actor: actor, Option: 1}); o.Kind != hub.Refused || o.Reason != want {
			t.Errorf("%s: %+v", actor, o)
		}
	}
	if o := w.answer(hub.Answer{MessageID: id, Actor: "human:bob", Option: 1}); o.Kind != hub.Accepted || o.Status != ma2h.Answered {
		t.Errorf("bob: %+v", o)
	}
}

// leaving is a real store whose caller leaves while each commit is under way.
type leaving struct {
	*store.Store
	leave func()
}

func (l *leaving) Apply(ctx context.Context, c *hub.Change) error {
	l.leave()
	err := l.Store.Apply(context.WithoutCancel(ctx), c)
	if ctx.Err() != nil {
		return ctx.Err() // applied, and nobody was told
	}
	return err
}

// A client that hangs up while its request is being committed leaves nothing
// behind: deliveries begin at once, polls wake, and its open messages are
// counted right.
func TestCallerLeavesDuringCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory) { d.Limits.OpenMessages = 2 })
	w.stopOutbox() // nobody else changes the messages
	s := &leaving{Store: w.s}
	n := &told{}
	h := hub.New(hub.Options{Store: s, Notifier: n, Outbox: outboxFunc(func() { n.dues++ })}, w.h.Directory())
	caller := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		s.leave = cancel
		return ctx
	}
	for range 4 { // each is stored, and given back, twice
		d := ask(nil)
		sub, err := h.Submit(caller(), w.agent(deploybot), d.raw())
		if err != nil || n.dues == 0 || n.lists != 2 {
			t.Fatalf("submit: %v, %+v", err, *n)
		}
		*n = told{}
		o, err := h.Desk("web").Answer(caller(), hub.Answer{MessageID: sub.Message.ID, Actor: "human:alice", Verb: hub.VerbAnswer, Option: 1})
		if err != nil || o.Kind != hub.Accepted || n.wakes != 1 {
			t.Fatalf("answer: %+v, %v, %+v", o, err, *n)
		}
		*n = told{}
	}
	for range 2 {
		if _, err := h.Submit(caller(), w.agent(deploybot), ask(nil).raw()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Submit(caller(), w.agent(deploybot), ask(nil).raw()); hub.CodeOf(err) != ma2h.CodeRateLimited {
		t.Errorf("a third open message: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Submit(gone, w.agent(deploybot), ask(nil).raw()); err == nil {
		t.Error("a caller who had left before was acknowledged")
	}
}
