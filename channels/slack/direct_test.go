package slack

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

const otherBot = "billing/dev-team"

// directors are an office in which Alice may write to one agent or two, and Bob
// to none.
func directors(agents ...string) officeOptions {
	return officeOptions{dir: func(d *hub.Directory) {
		d.Agents[otherBot] = &hub.Agent{ID: otherBot}
		for _, id := range agents {
			d.Agents[id].Directors = []string{"alice"}
		}
	}}
}

// onBothWith is [onBoth] with an office of one's own.
func onBothWith(t *testing.T, opts officeOptions, f func(t *testing.T, o *office)) {
	t.Helper()
	for name, overHTTP := range map[string]bool{"socket": false, "http": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := opts
			opts.http = overHTTP
			o := newOffice(t, opts)
			f(t, o)
			o.quiet()
		})
	}
}

// got is what agents were told by Alice, the oldest first: "agent|title|body|about".
func (o *office) got() []string {
	o.t.Helper()
	list, err := o.h.Desk(Name).Sent(o.ctx(), "alice", hub.SentQuery{Person: "alice", Limit: 200})
	if err != nil {
		o.t.Fatal(err)
	}
	var out []string
	for _, s := range list {
		out = append([]string{s.AgentID + "|" + s.Title + "|" + s.Body + "|" + s.About}, out...)
	}
	return out
}

// gets fails the test unless agents got exactly this.
func (o *office) gets(want ...string) {
	o.t.Helper()
	if got := o.got(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		o.t.Errorf("agents got\n%q, want\n%q", got, want)
	}
}

func (o *office) slash(who, text string) {
	o.t.Helper()
	if _, err := o.person(who).Slash(o.ctx(), approvals, "/beckon "+text); err != nil {
		o.t.Fatal(err)
	}
}

// TestTellCommand: somebody writes to an agent by command; in private, and to
// those only that they may write to.
func TestTellCommand(t *testing.T) {
	t.Parallel()
	onBothWith(t, directors(releaseBot, otherBot), func(t *testing.T, o *office) {
		o.slash("alice", "tell "+otherBot+" Close the books & <relax>\nthen report")
		if s := o.told("alice", "Passed on to "+otherBot); s.Message.EphemeralTo != aliceUser {
			t.Error("what was told is shown to others")
		}
		first := otherBot + "|Close the books & <relax>|then report|"
		o.gets(first)
		o.slash("alice", "TELL Deploybot/Dev-Team stop") // as a phone writes it
		o.told("alice", "Passed on to "+releaseBot)
		second := releaseBot + "|stop||"
		o.gets(first, second)

		for _, text := range []string{"tell", "tell " + releaseBot, "tell " + releaseBot + " \n "} {
			before := len(o.heard("alice", "You may write to:"))
			o.slash("alice", text)
			list := o.toldTimes("alice", "You may write to:", before+1)[before]
			if s := list.Text; !strings.Contains(s, releaseBot+", not seen yet") || !strings.Contains(s, otherBot+", not seen yet") {
				t.Errorf("%q: %s", text, s)
			}
		}
		_, _ = o.h.Wait(o.ctx(), otherBot, "msg_none", time.Millisecond) // it is there now
		o.slash("alice", "tell nobody/here hello")
		o.told("alice", "nobody/here is no agent that you may write to", "Nothing was passed on")
		o.slash("alice", "tell hello there")
		o.told("alice", "hello is no agent", otherBot+", seen just now")
		o.slash("bob", "tell "+releaseBot+" hello")
		o.told("bob", "no agent that you may write to")
		o.slash("gina", "tell "+releaseBot+" hello")
		o.told("gina", "directory")
		o.slash("alice", "help")
		o.told("alice", "tell AGENT")
		o.slash("bob", "help")
		if o.told("bob", "lists what waits"); len(o.heard("bob", "tell AGENT")) > 0 {
			t.Error("somebody who may write to no agent is told how")
		}
		o.gets(first, second)
	})
}

// TestTellTheOnlyAgent: its name may be left out.
func TestTellTheOnlyAgent(t *testing.T) {
	t.Parallel()
	o := newOffice(t, directors(releaseBot))
	o.slash("alice", "tell please stop for today")
	o.toldTimes("alice", "Passed on", 1)
	o.slash("alice", "tell "+otherBot+" hello") // which she may not
	o.told("alice", otherBot+" is no agent that you may write to")
	o.slash("alice", "tell\t"+releaseBot+"\ngo on")
	o.toldTimes("alice", "Passed on", 2)
	o.slash("alice", "tell "+strings.Repeat("ä", hub.DefaultLimits.Body/2+1))
	o.told("alice", "can't be passed on", "the limit is")
	o.gets(releaseBot+"|please stop for today||", releaseBot+"|go on||")
	o.quiet()
}

// TestTellOnce: what Slack sends again, or a person because Slack showed an error,
// is passed on once; other words, or the same after a refusal, are not held back.
func TestTellOnce(t *testing.T) {
	t.Parallel()
	opts := directors(releaseBot)
	opts.http = true
	o := newOffice(t, opts)
	form := func(trigger, text string) string {
		return url.Values{
			"command": {"/beckon"}, "text": {"tell " + text}, "team_id": {"T0HUBTEAM1"}, "user_id": {aliceUser},
			"channel_id": {"C0APPROVE1"}, "trigger_id": {trigger},
		}.Encode()
	}
	send := func(trigger, text string) {
		o.signed("application/x-www-form-urlencoded", form(trigger, text), 0)
	}
	send("1.2.a", "stop")
	send("1.2.a", "stop")
	send("1.2.b", "stop") // typed again
	send("1.2.c", "stop now")
	send("", "without an id")
	send("", "without another")
	want := []string{releaseBot + "|stop||", releaseBot + "|stop now||", releaseBot + "|without an id||", releaseBot + "|without another||"}
	o.gets(want...)
	o.told("alice", "not sent again")
	o.stop()
	o.start()
	send("1.2.a", "stop") // of a hub that was started again
	o.gets(want...)
	o.dir.Agents[releaseBot].Directors = nil
	send("1.2.d", "and on")
	o.told("alice", "no agent that you may write to")
	o.dir.Agents[releaseBot].Directors = []string{"alice"}
	send("1.2.e", "and on")
	o.gets(append(want, releaseBot+"|and on||")...)
}

// TestReplyToANotify goes to the agent, of somebody who may write to it.
func TestReplyToANotify(t *testing.T) {
	t.Parallel()
	onBothWith(t, directors(releaseBot), func(t *testing.T, o *office) {
		id, c := o.ask(newEnvelope("notify", nil))
		o.write("bob", c, "thanks!")
		o.told("bob", "wants no answer")
		m := o.write("alice", c, "Thanks. Next time & before noon please.")
		if s := o.told("alice", "Passed on to "+releaseBot); s.Message.EphemeralTo != aliceUser {
			t.Error("the note is not private")
		}
		o.write("alice", c, "tell: and once more")
		o.toldTimes("alice", "Passed on", 2)
		want := []string{releaseBot + "|Thanks. Next time & before noon please.||" + id, releaseBot + "|and once more||" + id}
		o.gets(want...)
		if o.http != nil { // the same message under another event id
			o.signed("application/json", fmt.Sprintf(`{"type":"event_callback","team_id":"T0HUBTEAM1","event_id":"EvAgain","event":{"type":"message",
				"user":%q,"team":"T0HUBTEAM1","channel":%q,"channel_type":"channel","ts":%q,"thread_ts":%q,"parent_user_id":"U0HUBBOT01","text":"Thanks."}}`,
				aliceUser, c.Channel, m.TS, c.TS), 1)
			o.gets(want...)
		}
		secretID, c := o.ask(newEnvelope("notify", func(e envelope) { e["sensitive"], e["tags"] = true, []string{"dm"} }))
		o.write("alice", c, "thanks, the code is hunter2")
		o.toldTimes("alice", "wants no answer", 1)
		o.write("alice", c, "tell\nthe code is hunter2")
		o.write("alice", c, "yes")
		o.gets(want...)
		if _, err := o.h.Inspect(o.ctx(), secretID); err != nil || strings.Contains(o.logs.String(), "hunter2") {
			t.Errorf("logged what was written about a sensitive message, or %v", err)
		}
	})
}

// pressable waits for the note with the button that passes a reply on.
func (o *office) pressable(id string, n int) fakeslack.Message {
	o.t.Helper()
	return o.toldTimes("alice", "press the button", n)[n-1]
}

// replaced waits until words stand in the place of a note.
func (o *office) replaced(note fakeslack.Message, words string) {
	o.t.Helper()
	m, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool { return m.TS == note.TS && strings.Contains(m.Text, words) })
	if err != nil || strings.Contains(jsonOf(o.t, m.Blocks), string(kindTell)+":") {
		o.t.Errorf("the note does not give way to %q: %v", words, err)
	}
}

// TestReplyThatIsNoAnswer may be meant for the agent, which a press confirms.
func TestReplyThatIsNoAnswer(t *testing.T) {
	t.Parallel()
	onBothWith(t, directors(releaseBot), func(t *testing.T, o *office) {
		id, c := o.ask(shipAsk(nil))
		press := action{Kind: kindTell, MessageID: id}
		text := "Have you looked at <the logs> & the graphs?\n\nThe *second* one."
		o.write("alice", c, text)
		note := o.pressable(id, 1)
		if note.EphemeralTo != aliceUser || !strings.Contains(note.Text, "1, 2 or 3") || !strings.Contains(note.Text, "Nothing has been recorded") {
			t.Errorf("to %q: %s", note.EphemeralTo, note.Text)
		}
		o.gets()
		o.click("alice", note, press)
		o.replaced(note, "Passed on to "+releaseBot)
		o.click("alice", note, press, fakeslack.Stale(note))
		want := []string{releaseBot + "|Have you looked at <the logs> & the graphs?|The *second* one.|" + id}
		o.gets(want...)
		if n := len(o.heard("alice", "Passed on")); n > 0 {
			t.Errorf("told %d times more", n)
		}
		o.open(id)

		// Too much for a button is told with a word.
		long := strings.Repeat("Lots to say. ", 200)
		o.write("alice", c, long)
		o.told("alice", "too long for a button")
		o.write("alice", c, "tell\n"+long)
		o.toldTimes("alice", "Passed on", 1)
		o.open(id)

		// Bob hears what he always heard.
		o.write("bob", c, "hmm, what do you think?")
		if s := o.told("bob", "1, 2 or 3"); s.Message.EphemeralTo != "" || strings.Contains(s.Message.Text, "press the button") {
			t.Errorf("to %q: %s", s.Message.EphemeralTo, s.Message.Text)
		}
		o.write("alice", c, "tell\n2") // nothing of it is an answer
		o.toldTimes("alice", "Passed on", 2)
		o.open(id)
		o.write("bob", c, "tell\n2")
		o.open(id)

		o.write("alice", c, "2\nin the afternoon")
		o.detail(id, ma2h.Answered)
		o.told("alice", "Recorded: Hold")
		// After the end too.
		o.write("alice", c, "Tell: you may clean up")
		o.toldTimes("alice", "Passed on", 3)
		o.write("alice", c, "and send me the numbers")
		late := o.toldTimes("alice", "changed nothing", 1)[0]
		o.click("alice", late, press)
		o.replaced(late, "Passed on to "+releaseBot)
		got := o.got()
		if len(got) != 5 || got[4] != releaseBot+"|and send me the numbers||"+id || got[3] != releaseBot+"|you may clean up||"+id {
			t.Errorf("got %q", got)
		}
	})
}

// TestNoDirectiveFromASecret: about what only the page shows or takes, the page
// alone sends something to the agent.
func TestNoDirectiveFromASecret(t *testing.T) {
	t.Parallel()
	o := newOffice(t, directors(releaseBot))
	secret, c := o.ask(shipAsk(func(e envelope) { e["sensitive"] = true }))
	form := formAsk(nil)
	form["request"].(envelope)["schema"].(envelope)["properties"].(envelope)["note"].(envelope)["x-ma2h-sensitive"] = true
	field, f := o.ask(form)
	for i, m := range []fakeslack.Message{c, f} {
		for j, text := range []string{"hunter2?", "tell\nhunter2"} {
			o.write("alice", m, text)
			o.toldTimes("alice", "on its page only", 2*i+j+1)
		}
	}
	o.gets()
	o.open(secret)
	o.open(field)
	if len(o.heard("alice", "press the button")) > 0 || strings.Contains(o.logs.String(), "hunter2") {
		t.Error("a reply to what is sensitive was offered to the agent, or logged")
	}
	o.quiet()
}

// TestTellButtonLater: the press counts as the one who pressed, and who
// may no longer write to the agent is told so.
func TestTellButtonLater(t *testing.T) {
	t.Parallel()
	o := newOffice(t, directors(releaseBot))
	id, c := o.ask(shipAsk(nil))
	o.write("alice", c, "what about the logs?")
	note := o.pressable(id, 1)
	o.dir.Agents[releaseBot].Directors = nil
	o.click("alice", note, action{Kind: kindTell, MessageID: id})
	o.told("alice", "You may not write to "+releaseBot, "Nothing was passed on")
	o.gets()
	o.quiet()
}

// TestCopySaysThatTheAgentGotIt: once the agent reads the answer, and again when
// it says so; never with an update that says nothing new.
func TestCopySaysThatTheAgentGotIt(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	id, c := o.ask(shipAsk(nil))
	agent := o.dir.Agents[releaseBot]
	waited := make(chan error, 1)
	go func() { // as most agents do, it waits: it has the answer at once
		m, err := o.h.Wait(o.ctx(), agent.ID, id, 15*time.Second)
		if err == nil {
			_, err = o.h.Body(o.ctx(), m, false)
		}
		waited <- err
	}()
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 2})
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	shows := func(words ...string) fakeslack.Message {
		t.Helper()
		m, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool {
			said := jsonOf(t, m.Blocks)
			for _, w := range words {
				if m.TS != c.TS || !strings.Contains(said, w) {
					return false
				}
			}
			return true
		})
		if err != nil {
			t.Fatalf("the copy does not say %q: %v\n%s", words, err, o.logs)
		}
		return m
	}
	m := shows("Hold for review", "The agent got it ")
	if n := len(o.slack.Calls("chat.update")); n > 2 {
		t.Errorf("%d updates for one answer", n)
	}
	if !strings.Contains(m.Text, "The agent got it ") {
		t.Errorf("who hears the text is not told: %s", m.Text)
	}
	before := len(o.slack.Calls("chat.update"))
	if _, err := o.h.Ack(o.ctx(), agent, id, []byte(`{"note": "On hold. <!channel> & <https://evil.example|ok>"}`)); err != nil {
		t.Fatal(err)
	}
	m = shows("said so ", "On hold.")
	if strings.Contains(m.Text, "<!channel>") || strings.Contains(m.Text, "<https://evil") {
		t.Errorf("the agent's note is markup: %s", m.Text)
	}
	for range 3 { // reads and repeated acknowledgements change nothing
		if _, err := o.h.Ack(o.ctx(), agent, id, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := o.h.Body(o.ctx(), o.message(id), false); err != nil {
			t.Fatal(err)
		}
	}
	second, c2 := o.ask(shipAsk(nil))
	o.click("bob", c2, action{Kind: kindAnswer, MessageID: second, Option: 1})
	c = c2
	shows("decision", "Bob Roy")
	if n := len(o.slack.Calls("chat.update")); n != before+2 {
		t.Errorf("%d updates after the acknowledgement, want 1 and 1", n-before)
	}
	o.quiet()
}
