package slack

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The workspace of a [world].
const (
	aliceUser = "U0ALICE" // as in channeltest.Directory
	bobUser   = "U0BOB"
	approvals = "C0APPROVE1"
	deploys   = "C0DEPLOYS1"
)

// workspace is the one of fakeslack.Example with the people of
// channeltest.Directory, and an app with no more scopes than the manifest says.
func workspace() fakeslack.Options {
	o := fakeslack.Example()
	ids := strings.NewReplacer(o.Users[0].ID, aliceUser, o.Users[1].ID, bobUser)
	for i := range o.Users {
		o.Users[i].ID = ids.Replace(o.Users[i].ID)
	}
	for i := range o.Channels {
		for j := range o.Channels[i].Members {
			o.Channels[i].Members[j] = ids.Replace(o.Channels[i].Members[j])
		}
	}
	o.Apps[0].Scopes = Scopes()
	o.NoRateLimits = true
	return o
}

// world is a channel over a desk and a fake Slack.
type world struct {
	t     *testing.T
	ch    *Channel
	desk  *channeltest.Desk
	slack *fakeslack.Server
	logs  *logs
}

// deskWithLog is a desk whose log a test reads.
type deskWithLog struct {
	hub.Desk
	log *slog.Logger
}

func (d deskWithLog) Log() *slog.Logger { return d.log }

// logs is what was logged.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// startWorld serves a workspace and makes a channel for it. Change may change
// the config. The channel does not run yet.
func startWorld(t *testing.T, o fakeslack.Options, desk *channeltest.Desk, change ...func(*section)) *world {
	t.Helper()
	s := fakeslack.New(o)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if desk == nil {
		desk = channeltest.NewDesk(channeltest.Directory())
	}
	w := &world{t: t, desk: desk, slack: s, logs: &logs{}}
	w.again(change...)
	return w
}

// again makes the channel anew, as a restart does.
func (w *world) again(change ...func(*section)) {
	w.t.Helper()
	a := w.slack.App()
	conf := section{
		BotToken: hub.NewSecret(a.BotToken), AppToken: hub.NewSecret(a.AppToken), APIURL: w.slack.APIURL(),
	}
	for _, f := range change {
		f(&conf)
	}
	made := New(hub.Section{
		Decode: func(v any) bool { *v.(*section) = conf; return true },
		Errorf: func(field, format string, args ...any) { w.t.Errorf(field+": "+format, args...) },
	}, deskWithLog{w.desk, slog.New(slog.NewTextHandler(w.logs, nil))})
	ch, ok := made.(*Channel)
	if !ok {
		w.t.Fatal("no channel was made")
	}
	w.ch = ch
	w.t.Cleanup(ch.api.http.CloseIdleConnections)
}

// impatient makes calls end soon.
func (w *world) impatient(d time.Duration) { w.ch.api.timeout = d }

var toPlace = hub.Target{Channel: Name, Place: "#approvals"}

var toAlice = hub.Target{Channel: Name, Person: "alice"}

func (w *world) request(target hub.Target, card *hub.Card) hub.PostRequest {
	w.desk.Put(card)
	r := hub.PostRequest{DeliveryID: "dlv_" + card.MessageID + "-1", Attempt: 1, Target: target, Card: card}
	if target.Person != "" {
		r.Person = w.desk.Directory().People[target.Person]
	}
	return r
}

func (w *world) post(target hub.Target, card *hub.Card) (hub.Posted, error) {
	return w.ch.Post(w.t.Context(), w.request(target, card))
}

func (w *world) mustPost(target hub.Target, card *hub.Card) hub.Posting {
	w.t.Helper()
	p, err := w.post(target, card)
	if err != nil {
		w.t.Fatalf("post: %v", err)
	}
	posting := hub.Posting{MessageID: card.MessageID, Seq: 1, Target: target, Ref: p.Ref, Thread: p.Thread, At: time.Now()}
	w.desk.Posted(posting)
	return posting
}

func (w *world) updateRequest(p hub.Posting, card *hub.Card) hub.UpdateRequest {
	w.desk.Put(card)
	r := hub.UpdateRequest{DeliveryID: "dlv_" + card.MessageID + "-2", Attempt: 1, Posting: p, Card: card}
	if p.Target.Person != "" {
		r.Person = w.desk.Directory().People[p.Target.Person]
	}
	return r
}

// message is the copy as it stands.
func (w *world) message(p hub.Posting) (fakeslack.Message, bool) {
	channel, ts, _ := parseRef(p.Ref)
	return w.slack.Message(channel, ts)
}

// standingIn lists what the app has posted in a channel.
func (w *world) standingIn(channel string) []fakeslack.Message {
	var out []fakeslack.Message
	for _, m := range w.slack.Messages(channel) {
		if m.BotID != "" && m.EphemeralTo == "" {
			out = append(out, m)
		}
	}
	return out
}

// everywhere are the conversations that a copy may stand in.
func (w *world) everywhere() []string {
	return []string{approvals, deploys, w.slack.Person("alice").OpenMessages()}
}

// copies are the messages about one message of the hub's, follow-ups included.
func (w *world) copies(messageID string) (out []fakeslack.Message) {
	for _, channel := range w.everywhere() {
		for _, m := range w.standingIn(channel) {
			if strings.Contains(raw(w.t, m), messageID) {
				out = append(out, m)
			}
		}
	}
	return out
}

// raw is everything in a message as Slack interprets it: mrkdwn, the text and
// links as they are; plain_text and rich_text, which it does not interpret, as
// it would have to be written in mrkdwn.
func raw(t *testing.T, m fakeslack.Message) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"b": m.Blocks})
	if err != nil {
		t.Fatal(err)
	}
	s := extract(b)
	meta, err := json.Marshal(m.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(append(s.mrkdwn, m.Text, string(meta)), escape(strings.Join(append(s.literal, urls(b)...), "\n"))), "\n")
}

// urls are the targets of links and buttons.
func urls(raw []byte) (out []string) {
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if u, ok := v["url"].(string); ok {
				out = append(out, u)
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
	return out
}

// shown is what a person reads of a message.
func shown(t *testing.T, m fakeslack.Message) string {
	t.Helper()
	b, err := json.Marshal(m.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Blocks) == 0 {
		return m.Text
	}
	return extract(b).all()
}

// refuse breaks every call in a way that tempts to repeat the request.
func (w *world) refuse() { w.slack.Fail(fakeslack.Fault{Status: http.StatusBadGateway}) }
