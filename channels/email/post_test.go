package email

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
)

func resolved(c *hub.Card, d hub.Decision) *hub.Card {
	after := *c
	after.Status, after.Decision, after.MayAnswer = d.Resolution, &d, false
	return &after
}

func byBob() hub.Decision {
	return hub.Decision{Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: time.Now(), Via: "slack", Choice: "Hold for review", Option: 2}
}

// TestThread holds that everything about a message stands in one thread, as mail
// programs make them: by References, and by a subject that stays the same.
func TestThread(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	card := channeltest.Ask("msg_a")
	p := w.mustPost(card)
	if err := w.update(p, card, true); err != nil {
		t.Fatal(err)
	}
	n := notice{Kind: noticeUnclear, Reading: &reply.Reading{Why: reply.WhyNoChoice}, InReplyTo: "CAF=x@mail.gmail.com"}
	if err := w.ch.Tell(t.Context(), hub.TellRequest{DeliveryID: "dlv_a-3", Person: w.person(), Card: card, Posting: &p, Data: n.encode()}); err != nil {
		t.Fatal(err)
	}
	if err := w.ch.Update(t.Context(), hub.UpdateRequest{DeliveryID: "dlv_a-4", Posting: p, Person: w.person(), Card: resolved(card, byBob())}); err != nil {
		t.Fatal(err)
	}
	// The operator has it posted once more.
	r := w.request(card)
	r.Generation, r.Thread = 1, p.Thread
	again, err := w.ch.Post(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	all := w.peer.got()
	if len(all) != 5 {
		t.Fatalf("%d mails arrived, want 5", len(all))
	}
	root := "<" + p.Ref + ">"
	first := parsed(t, all[0].raw).Header
	ids := map[string]bool{}
	for i, m := range all {
		h := parsed(t, m.raw).Header
		if ids[h.Get("Message-Id")] {
			t.Errorf("mail %d has the Message-ID of another", i)
		}
		ids[h.Get("Message-Id")] = true
		if base := strings.TrimPrefix(h.Get("Subject"), "Re: "); base != first.Get("Subject") {
			t.Errorf("mail %d has the subject %q, the first %q", i, h.Get("Subject"), first.Get("Subject"))
		}
		if i > 0 && !strings.HasPrefix(h.Get("References"), root) {
			t.Errorf("mail %d refers to %q, want %s first", i, h.Get("References"), root)
		}
		wantAuto, wantSuppress := "auto-generated", suppressAll
		if i == 2 {
			wantAuto = "auto-replied"
		}
		if i == 0 || i == 1 || i == 4 {
			wantSuppress = suppressButAway
		}
		if h.Get("Auto-Submitted") != wantAuto || h.Get("X-Auto-Response-Suppress") != wantSuppress {
			t.Errorf("mail %d is %q, suppressing %q", i, h.Get("Auto-Submitted"), h.Get("X-Auto-Response-Suppress"))
		}
	}
	if h := parsed(t, all[2].raw).Header; h.Get("In-Reply-To") != "<CAF=x@mail.gmail.com>" {
		t.Errorf("the notice answers %s, want the person's mail", h.Get("In-Reply-To"))
	}
	if again.Ref == p.Ref || again.Thread != p.Thread {
		t.Errorf("posted again it is %+v, first %+v", again, p)
	}
	if a, b := first.Get("Reply-To"), parsed(t, all[4].raw).Header.Get("Reply-To"); a == b {
		t.Errorf("another generation has the same token: %s", a)
	}
	// What follows the second copy comes from its address.
	q := hub.Posting{MessageID: "msg_a", Seq: 5, Target: toAlice, Ref: again.Ref, Thread: again.Thread}
	if err := w.ch.Update(t.Context(), hub.UpdateRequest{DeliveryID: "dlv_a-6", Posting: q, Person: w.person(), Card: card, Remind: true}); err != nil {
		t.Fatal(err)
	}
	last := parsed(t, w.peer.got()[5].raw).Header
	if last.Get("Reply-To") != parsed(t, all[4].raw).Header.Get("Reply-To") || last.Get("In-Reply-To") != "<"+again.Ref+">" || !strings.HasPrefix(last.Get("References"), root) {
		t.Errorf("the reminder of the second copy comes from %s in reply to %s of %s", last.Get("Reply-To"), last.Get("In-Reply-To"), last.Get("References"))
	}
}

func (w *world) person() *hub.Person { return w.desk.Directory().People["alice"] }

// TestUpdatesThatSayNothing holds that a mail is sent for an end and a reminder
// alone.
func TestUpdatesThatSayNothing(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	card := channeltest.Ask("msg_a")
	p := w.mustPost(card)
	ticked := *card
	ticked.Type = ma2h.Task
	note := *card
	note.Type, note.Status = ma2h.Notify, ma2h.Delivered
	for what, err := range map[string]error{
		"progress":                   w.update(p, &ticked, false),
		"a notify":                   w.update(p, &note, false),
		"a reminder of what is over": w.update(p, resolved(card, byBob()), true),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := len(w.peer.got()); n != 1 {
		t.Errorf("%d mails, want the first one alone", n)
	}
}

// TestPostAfterTheEnd holds that a message which ended while nobody knew whether
// its mail went out is not asked any more, but that whoever may have it hears of
// the end.
func TestPostAfterTheEnd(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{"": "not_wanted", stateBegun: "", stateSent: ""} {
		t.Run("state "+state, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, nil, peerOptions{tls: tlsNone})
			card := channeltest.Ask("msg_a")
			r := w.request(resolved(card, byBob()))
			r.Attempt, r.MaybeSent = 2, true
			id := w.ch.messageID(r.DeliveryID, 0)
			if err := w.ch.noteState(t.Context(), &sentMail{Message: "msg_a", Person: "alice", Ref: id, Root: id}, state); err != nil {
				t.Fatal(err)
			}
			posted, err := w.ch.Post(t.Context(), r)
			if want != "" {
				if de := deliveryError(t, err); de.Code != want || !de.Permanent {
					t.Errorf("got %+v, want %s", de, want)
				}
			} else if err != nil || posted.Ref != id {
				t.Errorf("got %+v, %v; want that it stands as %s", posted, err, id)
			}
			if n := len(w.peer.got()); n != 0 {
				t.Errorf("%d mails went out", n)
			}
		})
	}
}

// TestDoubtStays holds that a refusal of a later try does not take back that an
// earlier one may have got through.
func TestDoubtStays(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	card := channeltest.Ask("msg_a")
	r := w.request(card)
	w.peer.fault(func(p *peer) {
		p.onData = func(c net.Conn, _ []byte) error { _ = c.Close(); return errors.New("nobody hears this") }
	})
	_, err := w.ch.Post(t.Context(), r)
	if de := deliveryError(t, err); !de.MaybeSent {
		t.Fatalf("got %+v, want one that may have been sent", de)
	}
	r.Attempt, r.MaybeSent = 2, true
	w.peer.fault(func(p *peer) { p.onData = func(net.Conn, []byte) error { return refuse(451, 4, 3, 0, "later") } })
	_, err = w.ch.Post(t.Context(), r)
	if de := deliveryError(t, err); !de.MaybeSent || de.Permanent {
		t.Errorf("got %+v, want one that may have been sent", de)
	}
	r.Attempt, r.Card = 3, resolved(card, byBob())
	if posted, err := w.ch.Post(t.Context(), r); err != nil || posted.Ref == "" {
		t.Errorf("got %+v, %v; want that a copy may stand, so that its owner hears of the end", posted, err)
	}
}

func TestNoSuchRecipient(t *testing.T) {
	t.Parallel()
	for email, code := range map[string]string{"": "no_address", "nonsense": "no_address", "a@exa mple.com": "no_address", "Hub@Example.com": "own_address"} {
		w := startWorld(t, nil, peerOptions{tls: tlsNone})
		w.person().Email = email
		_, err := w.post(channeltest.Ask("msg_a"))
		if de := deliveryError(t, err); de.Code != code || !de.Permanent || !strings.Contains(de.Msg, "Alice Ng") {
			t.Errorf("%q: got %+v, want %s", email, de, code)
		}
		if err := w.ch.SendLink(t.Context(), w.person(), "https://beckon.example.com/l/x", time.Now()); !errors.Is(err, hub.ErrUnsupported) {
			t.Errorf("%q: a link: %v, want that it is unsupported", email, err)
		}
		r := w.request(channeltest.Ask("msg_a"))
		r.Person = nil
		_, err = w.ch.Post(t.Context(), r)
		if de := deliveryError(t, err); de.Code != "no_person" {
			t.Errorf("for nobody: got %+v", de)
		}
	}
}

// TestStateIsAway holds that nothing goes out that could not be found again.
func TestStateIsAway(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	s := &writtenState{StateStore: w.desk.State(), fail: errors.New("disk is full")}
	w.again(s)
	_, err := w.post(channeltest.Ask("msg_a"))
	if de := deliveryError(t, err); de.Permanent || de.MaybeSent {
		t.Errorf("got %+v, want one that is tried again", de)
	}
	if n := len(w.peer.got()); n != 0 {
		t.Errorf("%d mails went out", n)
	}
	s.fail = nil
	w.mustPost(channeltest.Ask("msg_a"))
}

// TestSendLink holds that a link goes to the person's own address, alone.
func TestSendLink(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	const url = "https://beckon.example.com/l/abc"
	for range 2 {
		if err := w.ch.SendLink(t.Context(), w.person(), url, time.Now().Add(15*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	all := w.peer.got()
	if len(all) != 2 || all[0].to != "alice@example.com" {
		t.Fatalf("%d mails, the first to %s", len(all), all[0].to)
	}
	plain, rich := parts(t, all[0].raw)
	if strings.Count(plain, url) != 1 || strings.Count(rich, url) != 1 {
		t.Errorf("the link is not there once:\n%s", plain)
	}
	h := parsed(t, all[0].raw).Header
	if h.Get("Reply-To") != "" || h.Get("Auto-Submitted") != "auto-generated" || h.Get("Message-Id") == parsed(t, all[1].raw).Header.Get("Message-Id") {
		t.Errorf("its headers are %v", h)
	}
	w.peer.fault(func(p *peer) { p.onRcpt = func(string) error { return refuse(550, 5, 1, 1, "no") } })
	if de := deliveryError(t, w.ch.SendLink(t.Context(), w.person(), url, time.Now())); de.Code != "bounced" {
		t.Errorf("got %+v", de)
	}
}

// TestTell holds that each notice says what it is about.
func TestTell(t *testing.T) {
	t.Parallel()
	bob := byBob()
	for name, tt := range map[string]struct {
		notice  notice
		data    string
		outcome *hub.Outcome
		ended   bool
		says    []string
		code    string
	}{
		"unclear":           {notice: notice{Kind: noticeUnclear, Reading: &reply.Reading{Why: reply.WhyHedged}}, says: []string{"plain answer", "Reply with 1, 2 or 3", "Nothing has been recorded", "1. Ship to prod now"}},
		"empty":             {notice: notice{Kind: noticeUnclear, Reading: &reply.Reading{Why: reply.WhyEmpty}}, says: []string{"no text"}},
		"clear after all":   {notice: notice{Kind: noticeUnclear, Reading: &reply.Reading{}}, says: []string{"couldn't read that"}},
		"unclear, and over": {notice: notice{Kind: noticeUnclear, Reading: &reply.Reading{Why: reply.WhyHedged}}, ended: true, says: []string{"Bob Roy answered Hold for review", "Your reply changed nothing"}},
		"unreadable":        {notice: notice{Kind: noticeUnreadable}, says: []string{"couldn't read your reply", "plain text"}},
		"doubt":             {notice: notice{Kind: noticeDoubt, From: "Eve <eve.mallory@gmail.com"}, says: []string{"another address (…@gmail.com)", "not recorded"}},
		"unproved":          {notice: notice{Kind: noticeDoubt}, says: []string{"in your name", "not recorded"}},
		"late":              {notice: notice{Kind: noticeLate}, ended: true, says: []string{"Bob Roy answered", "changed nothing"}},
		"outcome, late": {
			notice: notice{Kind: noticeOutcome}, outcome: &hub.Outcome{Kind: hub.AlreadyResolved, Status: ma2h.Answered, Decision: &bob}, ended: true,
			says: []string{"Bob Roy answered Hold for review", "in Slack", "Your reply changed nothing"},
		},
		"outcome, not theirs": {
			notice: notice{Kind: noticeOutcome}, outcome: &hub.Outcome{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, May: []string{"Carol Diaz"}},
			says: []string{"Only Carol Diaz can answer this", "not recorded"},
		},
		"outcome, counted": {notice: notice{Kind: noticeOutcome}, outcome: &hub.Outcome{Kind: hub.Counted}, says: []string{"vote is counted"}},
		"outcome, invalid": {
			notice: notice{Kind: noticeOutcome}, outcome: &hub.Outcome{Kind: hub.Unclear, Fields: []hub.FieldError{{Field: "comment", Msg: "is too long"}}}, says: []string{"comment: is too long", "To answer, reply"},
		},
		"an outcome without data": {data: "?", outcome: &hub.Outcome{Kind: hub.Held}, says: []string{"waits for somebody"}},
		"nothing":                 {notice: notice{Kind: "other"}, code: "refused"},
		"no data":                 {data: "{", code: "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, nil, peerOptions{tls: tlsNone})
			card := channeltest.Ask("msg_a")
			p := w.mustPost(card)
			if tt.ended {
				card = resolved(card, byBob())
			}
			r := hub.TellRequest{DeliveryID: "dlv_a-2", Attempt: 1, Person: w.person(), Card: card, Posting: &p, Outcome: tt.outcome, Data: tt.notice.encode()}
			if tt.data != "" {
				r.Data = []byte(tt.data)
			}
			err := w.ch.Tell(t.Context(), r)
			if tt.code != "" {
				if de := deliveryError(t, err); de.Code != tt.code || !de.Permanent {
					t.Errorf("got %+v, want %s", de, tt.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.ch.Tell(t.Context(), r); err != nil { // the same delivery again
				t.Fatal(err)
			}
			all := w.peer.got()
			if len(all) != 2 {
				t.Fatalf("%d mails, want the message and one notice", len(all))
			}
			plain, _ := parts(t, all[1].raw)
			for _, s := range tt.says {
				if !strings.Contains(plain, s) {
					t.Errorf("it does not say %q:\n%s", s, plain)
				}
			}
			if strings.Contains(plain, "mallory") {
				t.Errorf("it gives the stranger away:\n%s", plain)
			}
		})
	}
}

// TestTellAnswersNoForgedID holds that the Message-ID of a stranger gets into no
// header unless it is one.
func TestTellAnswersNoForgedID(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	card := channeltest.Ask("msg_a")
	p := w.mustPost(card)
	for i, id := range []string{"a@b\r\nBcc: evil@example.com", "a@b> <c@d", "a b@c", "@", "a@", strings.Repeat("x", 300) + "@y", "é@x"} {
		n := notice{Kind: noticeUnreadable, InReplyTo: id}
		r := hub.TellRequest{DeliveryID: fmt.Sprintf("dlv_a-%d", i+2), Person: w.person(), Card: card, Posting: &p, Data: n.encode()}
		if err := w.ch.Tell(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		all := w.peer.got()
		if h := parsed(t, all[len(all)-1].raw).Header; h.Get("In-Reply-To") != "<"+p.Ref+">" || h.Get("Bcc") != "" {
			t.Errorf("%q: in reply to %s", id, h.Get("In-Reply-To"))
		}
	}
	// Without a copy of their own the person's mail is the thread.
	n := notice{Kind: noticeUnreadable, InReplyTo: "a@b.example"}
	if err := w.ch.Tell(t.Context(), hub.TellRequest{DeliveryID: "dlv_a-99", Person: w.person(), Card: card, Data: n.encode()}); err != nil {
		t.Fatal(err)
	}
	all := w.peer.got()
	if h := parsed(t, all[len(all)-1].raw).Header; h.Get("In-Reply-To") != "<a@b.example>" || h.Get("References") != "<a@b.example>" {
		t.Errorf("in reply to %s of %s", h.Get("In-Reply-To"), h.Get("References"))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(30)
		for range maxPerMessage {
			if err := l.allow("alice", "msg_a"); err != nil {
				t.Fatal(err)
			}
			l.count("alice", "msg_a")
			time.Sleep(time.Minute)
		}
		de := deliveryError(t, l.allow("alice", "msg_a"))
		if de.Code != "too_many" || de.Permanent || de.After != limitSpan-maxPerMessage*time.Minute {
			t.Errorf("got %+v", de)
		}
		for range 10 {
			if err := l.allow("alice", "msg_b"); err != nil {
				t.Fatal(err)
			}
			l.count("alice", "msg_b")
		}
		if de := deliveryError(t, l.allow("alice", "msg_c")); de.Code != "too_many" || de.After <= 0 {
			t.Errorf("got %+v", de)
		}
		if err := l.allow("bob", "msg_a"); err != nil {
			t.Errorf("Bob gets none either: %v", err)
		}
		time.Sleep(de.After)
		if err := l.allow("alice", "msg_a"); err != nil {
			t.Errorf("a day later: %v", err)
		}
		for i := range 3 * minSweep {
			l.count("carol", fmt.Sprint(i))
			if i%100 == 0 {
				time.Sleep(limitSpan)
			}
		}
		if n := len(l.sent); n > minSweep+1 {
			t.Errorf("%d counts are kept", n)
		}
	})
}

// TestLimitHolds holds that the channel asks.
func TestLimitHolds(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone}, func(c *section) { c.MaxPerDay = 2 })
	w.mustPost(channeltest.Ask("msg_a"))
	w.mustPost(channeltest.Ask("msg_b"))
	w.mustPost(channeltest.Ask("msg_b")) // which went out already
	_, err := w.post(channeltest.Ask("msg_c"))
	if de := deliveryError(t, err); de.Code != "too_many" || de.After <= 0 || !strings.Contains(de.Msg, "max_per_day") {
		t.Errorf("got %+v", de)
	}
	if de := deliveryError(t, w.ch.SendLink(t.Context(), w.person(), "https://beckon.example.com/l/x", time.Now())); de.Code != "too_many" {
		t.Errorf("got %+v", de)
	}
}

// TestTwoPostsAtOnce holds that mails go out side by side, and each once.
func TestTwoPostsAtOnce(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	w.run()
	errs := make(chan error)
	const n = 30
	for i := range n {
		go func() {
			_, err := w.ch.Post(context.Background(), w.request(channeltest.Ask(fmt.Sprintf("msg_%d", i))))
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	ids := map[string]bool{}
	for _, m := range w.peer.got() {
		ids[parsed(t, m.raw).Header.Get("Message-Id")] = true
	}
	if len(ids) != n || len(w.peer.got()) != n {
		t.Errorf("%d mails with %d names, want %d", len(w.peer.got()), len(ids), n)
	}
	if c := w.peer.connections(); c > maxConnections {
		t.Errorf("%d connections, want at most %d", c, maxConnections)
	}
}
