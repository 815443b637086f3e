package slack

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub/ma2h"
)

// TestEveryPathHasTheSameDoor: hermes#6735, initializ/forge#311: whoever may not
// answer may not on any path, and the right person still may.
func TestEveryPathHasTheSameDoor(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	id, c := o.ask(shipAsk(tagged("solo")))
	form := func(user, view string) string {
		return string(o.signed("application/x-www-form-urlencoded", url.Values{"payload": {fmt.Sprintf(
			`{"type":"view_submission","user":{"id":%q,"team_id":"T0HUBTEAM1"},"view":{"id":%q,"hash":"1.a","type":"modal","callback_id":%q,"private_metadata":%q,
			"blocks":[{"type":"input","block_id":"choice"},{"type":"input","block_id":"comment"}],
			"state":{"values":{"choice":{"x":{"type":"radio_buttons","selected_option":{"value":"1"}}}}}}}`,
			user, view, action{Kind: kindForm, MessageID: id}.id(), origin{MessageID: id}.encode(),
		)}}.Encode(), 0))
	}
	if s := form(bobUser, "V1"); !strings.Contains(s, "Only Alice Ng can answer this") {
		t.Errorf("a form of somebody who may not: %s", s)
	}
	if s := form("U0GUEST001", "V2"); !strings.Contains(s, "directory") {
		t.Errorf("a form of a stranger: %s", s)
	}
	for _, text := range []string{"1", "ship", "decline"} {
		o.write("bob", c, text)
	}
	o.toldTimes("bob", "Only Alice Ng", 3)
	for _, k := range []action{
		{Kind: kindAnswer, MessageID: id, Option: 1}, {Kind: kindForm, MessageID: id}, {Kind: kindDecline, MessageID: id},
	} {
		o.click("bob", c, k)
	}
	o.toldTimes("bob", "Only Alice Ng", 6)
	if _, err := o.person("bob").Slash(o.ctx(), approvals, "/beckon show "+id); err != nil {
		t.Fatal(err)
	}
	o.told("bob", "no such message for you")
	o.open(id)
	// The same form twice is one answer.
	first := form(aliceUser, "V3")
	if again := form(aliceUser, "V3"); !strings.Contains(first, "Recorded: Ship") || again != first {
		t.Errorf("first %s\nthen %s", first, again)
	}
	o.detail(id, ma2h.Answered)
	if s := form(aliceUser, "V4"); !strings.Contains(s, "changed nothing") {
		t.Errorf("a late form: %s", s)
	}
}

// slowHooks keeps response URLs waiting.
type slowHooks struct{ http.RoundTripper }

func (s slowHooks) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/actions/") {
		time.Sleep(1500 * time.Millisecond)
	}
	return s.RoundTripper.RoundTrip(r)
}

// TestRefusalIsAcknowledgedFirst: n8n#34225: what is said must not hold up the
// acknowledgement, or Slack shows an error and people click again.
func TestRefusalIsAcknowledgedFirst(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	id, c := o.ask(shipAsk(tagged("solo")))
	o.ch.api.http.Transport = slowHooks{o.ch.api.http.Transport}
	for _, who := range []string{"bob", "gina", "alice"} {
		began := time.Now()
		o.click(who, c, action{Kind: kindAnswer, MessageID: id, Option: 1})
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: acknowledged after %s", who, took)
		}
	}
	o.told("bob", "Only Alice Ng")
	o.told("gina", "directory")
	// PostHog#61571: a note in a thread that nobody has open is not seen.
	if s := o.told("alice", "Recorded"); s.Message.ThreadTS != "" || s.Message.EphemeralTo != aliceUser {
		t.Errorf("the note of a click is hidden in a thread, or not private: %+v", s.Message)
	}
}

// TestOrganization: in an org-wide install the team of an interaction is null.
func TestOrganization(t *testing.T) {
	t.Parallel()
	ws := workspace()
	ws.Enterprise = fakeslack.Enterprise{ID: "E0ORG00001", Name: "Example Org"}
	o := newOffice(t, officeOptions{workspace: ws})
	id, c := o.ask(shipAsk(nil))
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
	o.detail(id, ma2h.Answered)
	id, c = o.ask(shipAsk(tagged("shared")))
	o.click("carol", c, action{Kind: kindAnswer, MessageID: id, Option: 1})
	o.told("carol", "Nothing has been recorded")
	o.open(id)
}

// TestOldButton: a control of another version gets a word, not silence.
func TestOldButton(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{http: true})
	id, c := o.ask(shipAsk(nil))
	for i, a := range []string{"answer:0", "b0:answer:1:" + id, "b1:nuke:1:" + id, ""} {
		o.signed("application/x-www-form-urlencoded", url.Values{"payload": {fmt.Sprintf(
			`{"type":"block_actions","user":{"id":%q,"team_id":"T0HUBTEAM1"},"container":{"type":"message","channel_id":%q,"message_ts":%q},"actions":[{"action_id":%q,"action_ts":"1.%d"}]}`,
			aliceUser, c.Channel, c.TS, a, i,
		)}}.Encode(), 0)
	}
	o.toldTimes("alice", "no longer understand this button", 4)
	o.open(id)
}

// TestReplyToWhatIsNoQuestion: in a thread of the hub's own that is no copy, and
// below one's own words in direct messages, nobody is left without a word.
func TestReplyToWhatIsNoQuestion(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	_, c := o.ask(shipAsk(tagged("dm")))
	mine, err := o.person("alice").Reply(c.Channel, "", "hello")
	if err != nil {
		t.Fatal(err)
	}
	o.toldTimes("alice", "in the thread of a question", 1)
	if _, err := o.person("alice").Reply(c.Channel, mine.TS, "hello?"); err != nil {
		t.Fatal(err)
	}
	o.toldTimes("alice", "in the thread of a question", 2)

	id, n := o.ask(newEnvelope("notify", nil))
	o.write("alice", n, "thanks")
	o.told("alice", "for information only")
	if s := o.message(id).Status; s != ma2h.Delivered {
		t.Errorf("status %s", s)
	}
}
