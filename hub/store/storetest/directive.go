package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"beckon/hub"
)

var directiveCases = []testCase{
	{"a directive is kept with its receipt, or not at all", directiveKept},
	{"directives are given out in order, hidden and given out again", directiveOrder},
	{"two who take at a time never get the same", directiveTwoTakers},
	{"an acknowledgement takes out what was given out, once", directiveAck},
	{"a directive is over at its time", directiveOver},
	{"an agent's directives are another's nothing", directiveOwn},
	{"directives are listed for their writer, newest first", directiveList},
	{"purge removes directives that are done with long ago", directivePurge},
	{"seen keeps the latest", seenLatest},
}

const bot = "bot/dev"

// directive is one to bot/dev, by alice, for an hour.
func directive(n int) *hub.Directive {
	at := after(time.Duration(n) * time.Second)
	return &hub.Directive{
		ID: fmt.Sprintf("dir_%03d", n), AgentID: bot, Person: "alice", Via: "web", About: "msg_x",
		Raw: fmt.Appendf(nil, `{"n": %d, "text": "<&> \u2028é"}`, n), CreatedAt: at, Until: at.Add(time.Hour),
	}
}

func (k *kit) direct(v *hub.Directive) *hub.Directive {
	k.Helper()
	k.apply(&hub.Change{At: v.CreatedAt, Directive: v})
	return v
}

func (k *kit) take(agent string, now time.Time, limit int) []string {
	k.Helper()
	list, err := k.s.TakeDirectives(k.Context(), agent, now, now.Add(time.Minute), limit)
	if err != nil {
		k.Fatalf("take: %v", err)
	}
	out := []string{}
	for _, v := range list {
		out = append(out, v.ID)
	}
	return out
}

func (k *kit) ackDirectives(at time.Time, ids ...string) error {
	c := &hub.Change{At: at}
	for _, id := range ids {
		c.DirectiveAcks = append(c.DirectiveAcks, hub.DirectiveAck{ID: id, Note: "did " + id})
	}
	return k.s.Apply(k.Context(), c)
}

func (k *kit) readDirective(id string) *hub.Directive {
	k.Helper()
	v, err := k.s.Directive(k.Context(), bot, id)
	if err != nil {
		k.Fatalf("directive: %v", err)
	}
	return v
}

func directiveKept(k *kit) {
	v := directive(1)
	c := &hub.Change{At: noon, Directive: v, Receipt: receipt("d1")}
	k.apply(c)
	k.equal("as stored", k.readDirective(v.ID), v)

	c = &hub.Change{At: noon, Directive: directive(2), Receipt: receipt("d1")}
	if _, ok := errors.AsType[*hub.RepeatedError](k.s.Apply(k.Context(), c)); !ok {
		k.Error("a repeated receipt was applied")
	}
	if _, err := k.s.Directive(k.Context(), bot, "dir_002"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("the directive of a repeated receipt: %v", err)
	}

	// With a message: its history and the directive, or neither.
	m := k.submit(spec{})
	c = k.change(m, "directed", noon)
	c.Directive, c.Expect = directive(3), 99
	k.refused(c, hub.ErrStale)
	if _, err := k.s.Directive(k.Context(), bot, "dir_003"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("the directive of a stale change: %v", err)
	}
	c.Expect = m.Version
	k.apply(c)
	k.readDirective("dir_003")
}

func directiveOrder(k *kit) {
	if at, ok, err := k.s.NextDirective(k.Context(), bot, noon); ok || err != nil {
		k.Errorf("next of an empty inbox: %s, %v", at, err)
	}
	// The order is that of arrival, whatever the ids say.
	for _, n := range []int{3, 1, 2, 4} {
		v := directive(n)
		v.CreatedAt, v.Until = noon, after(time.Hour)
		k.direct(v)
	}
	if n, err := k.s.WaitingDirectives(k.Context(), bot, noon, 3); n != 3 || err != nil {
		k.Errorf("waiting: %d, %v", n, err)
	}
	k.equal("first", k.take(bot, noon, 2), []string{"dir_003", "dir_001"})
	k.equal("then", k.take(bot, after(time.Second), 1), []string{"dir_002"})
	k.equal("then", k.take(bot, after(2*time.Second), 10), []string{"dir_004"})
	k.equal("nothing", k.take(bot, after(time.Minute-time.Millisecond), 10), []string{})
	if at, ok, err := k.s.NextDirective(k.Context(), bot, after(3*time.Second)); !ok || !at.Equal(after(time.Minute)) || err != nil {
		k.Errorf("next: %s, %v, %v", at, ok, err)
	}
	k.equal("again", k.take(bot, after(time.Minute), 10), []string{"dir_003", "dir_001"})
	v := k.readDirective("dir_003")
	if !v.DeliveredAt.Equal(noon) {
		k.Errorf("delivered at %s, want the first time", v.DeliveredAt)
	}
}

func directiveTwoTakers(k *kit) {
	for n := range 40 {
		k.direct(directive(n))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				list, err := k.s.TakeDirectives(k.Context(), bot, after(time.Minute), after(time.Hour), 3)
				if err != nil {
					k.Error(err)
				}
				mu.Lock()
				for _, v := range list {
					seen[v.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, n := range seen {
		if n != 1 {
			k.Errorf("%s was given out %d times", id, n)
		}
	}
	k.equal("given out", len(seen), 40)
}

func directiveAck(k *kit) {
	for n := range 3 {
		k.direct(directive(n))
	}
	if err := k.ackDirectives(noon, "dir_000"); !errors.Is(err, hub.ErrStale) {
		k.Errorf("of what was not given out: %v", err)
	}
	k.take(bot, after(time.Minute), 2)
	if err := k.ackDirectives(after(2*time.Minute), "dir_000", "dir_002"); !errors.Is(err, hub.ErrStale) {
		k.Errorf("of two, one not given out: %v", err)
	}
	if v := k.readDirective("dir_000"); !v.AckedAt.IsZero() {
		k.Error("half of a change was applied")
	}
	if err := k.ackDirectives(after(2*time.Minute), "dir_000"); err != nil {
		k.Error(err)
	}
	v := k.readDirective("dir_000")
	if !v.AckedAt.Equal(after(2*time.Minute)) || v.AckNote != "did dir_000" {
		k.Errorf("acknowledged: %+v", v)
	}
	for _, id := range []string{"dir_000", "dir_x"} {
		if err := k.ackDirectives(after(3*time.Minute), id); !errors.Is(err, hub.ErrStale) {
			k.Errorf("of %s: %v", id, err)
		}
	}
	k.equal("the first stays", k.readDirective("dir_000"), v)
	k.equal("what is left", k.take(bot, after(10*time.Minute), 10), []string{"dir_001", "dir_002"})
	if n, err := k.s.WaitingDirectives(k.Context(), bot, noon, 10); n != 2 || err != nil {
		k.Errorf("waiting: %d, %v", n, err)
	}
}

func directiveOver(k *kit) {
	k.direct(directive(0)) // until noon + 1h
	k.take(bot, noon, 1)
	last := after(time.Hour - time.Millisecond)
	k.equal("while it lasts", k.take(bot, last, 1), []string{"dir_000"})
	k.equal("over", k.take(bot, after(time.Hour), 1), []string{})
	if at, ok, err := k.s.NextDirective(k.Context(), bot, after(time.Hour)); ok || err != nil {
		k.Errorf("next: %s, %v", at, err)
	}
	if n, err := k.s.WaitingDirectives(k.Context(), bot, after(time.Hour), 10); n != 0 || err != nil {
		k.Errorf("waiting: %d, %v", n, err)
	}
	if err := k.ackDirectives(after(time.Hour), "dir_000"); !errors.Is(err, hub.ErrStale) {
		k.Errorf("ack: %v", err)
	}
}

func directiveOwn(k *kit) {
	k.direct(directive(0))
	if _, err := k.s.Directive(k.Context(), "bot/other", "dir_000"); !errors.Is(err, hub.ErrNotFound) {
		k.Errorf("read: %v", err)
	}
	k.equal("take", k.take("bot/other", after(time.Minute), 10), []string{})
	if _, ok, err := k.s.NextDirective(k.Context(), "bot/other", after(time.Minute)); ok || err != nil {
		k.Errorf("next: %v, %v", ok, err)
	}
}

func directiveList(k *kit) {
	for n := range 5 {
		v := directive(n)
		if n == 2 {
			v.Person = "bob"
		}
		if n == 3 {
			v.AgentID = "bot/other"
		}
		k.direct(v)
	}
	list := func(q hub.SentQuery) []string {
		k.Helper()
		out := []string{}
		l, err := k.s.ListDirectives(k.Context(), q)
		if err != nil {
			k.Fatal(err)
		}
		for _, v := range l {
			out = append(out, v.ID)
		}
		return out
	}
	k.equal("alice's", list(hub.SentQuery{Person: "alice", Limit: 10}), []string{"dir_004", "dir_003", "dir_001", "dir_000"})
	k.equal("a page", list(hub.SentQuery{Person: "alice", Before: "dir_003", Limit: 1}), []string{"dir_001"})
	k.equal("to one agent", list(hub.SentQuery{Person: "alice", AgentID: "bot/other", Limit: 10}), []string{"dir_003"})
	k.equal("all", len(list(hub.SentQuery{Limit: 10})), 5)
}

func directivePurge(k *kit) {
	for n := range 3 {
		k.direct(directive(n))
	}
	long := directive(4)
	long.Until = after(10 * month)
	k.direct(long)
	k.take(bot, after(time.Minute), 2)
	if err := k.ackDirectives(after(time.Minute), "dir_000"); err != nil {
		k.Fatal(err)
	}
	left := func(now time.Time, want int) {
		k.Helper()
		k.purge(now, month, 10, 0)
		l, err := k.s.ListDirectives(k.Context(), hub.SentQuery{Limit: 10})
		if err != nil || len(l) != want {
			k.Errorf("%d left, %v, want %d", len(l), err, want)
		}
	}
	left(after(month+time.Minute), 4)
	left(after(month+time.Minute+time.Millisecond), 3) // the acknowledged one
	left(after(month+2*time.Hour), 1)
	left(after(9*month), 1)
}

func seenLatest(k *kit) {
	if at, err := k.s.Seen(k.Context(), bot); !at.IsZero() || err != nil {
		k.Errorf("never: %s, %v", at, err)
	}
	for _, tt := range []struct{ put, want time.Duration }{{0, 0}, {time.Minute, time.Minute}, {time.Second, time.Minute}} {
		if err := k.s.PutSeen(k.Context(), bot, after(tt.put)); err != nil {
			k.Fatal(err)
		}
		if at, err := k.s.Seen(k.Context(), bot); !at.Equal(after(tt.want)) || err != nil {
			k.Errorf("seen %s, %v, want %s", at, err, after(tt.want))
		}
	}
	if at, err := k.s.Seen(k.Context(), "bot/other"); !at.IsZero() || err != nil {
		k.Errorf("another: %s, %v", at, err)
	}
}
