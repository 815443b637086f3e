package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/outbox"
	"beckon/hub/store"
	"beckon/hub/waiter"
)

const releaseBot = "deploybot/dev-team"

// office is a workspace, and a hub with a real store and outbox whose Slack
// channel runs on one transport.
type office struct {
	t     testing.TB
	slack *fakeslack.Server
	app   fakeslack.App
	api   string
	file  string
	http  *httptest.Server // nil for Socket Mode
	serve atomic.Pointer[http.ServeMux]
	dir   *hub.Directory
	logs  *logs
	wrap  func(hub.Desk) hub.Desk // nil: as it is

	h    *hub.Hub
	s    *store.Store
	ch   *Channel
	stop func()
}

// officeOptions say what differs.
type officeOptions struct {
	workspace fakeslack.Options
	http      bool
	dir       func(*hub.Directory)
	desk      func(hub.Desk) hub.Desk
}

func officeDirectory() *hub.Directory {
	d := &hub.Directory{
		PublicURL: "https://beckon.example.com", Limits: hub.DefaultLimits, Retention: 30 * 24 * time.Hour,
		People: map[string]*hub.Person{}, Agents: map[string]*hub.Agent{releaseBot: {ID: releaseBot}},
		Teams: map[string][]string{"oncall": {"alice", "bob"}}, Channels: map[string]bool{Name: true},
	}
	d.Limits.RequestsPerMinute, d.Limits.OpenMessages = 0, 0
	for _, p := range []*hub.Person{
		{ID: "alice", Name: "Alice Ng", Slack: aliceUser, Email: "alice@example.com"}, {ID: "bob", Name: "Bob Roy", Slack: bobUser},
	} {
		p.Location = time.UTC
		d.People[p.ID] = p
	}
	to := func(place string) []hub.Entry {
		return []hub.Entry{{Targets: []hub.Target{{Channel: Name, Place: place}}}}
	}
	on := func(tag string) *hub.Match { return &hub.Match{Tags: []string{tag}} }
	d.Routes = []hub.Route{
		{Name: "dm", Match: on("dm"), Ask: []string{"alice"}, Post: []hub.Entry{{Targets: []hub.Target{toAlice}}}},
		{Name: "solo", Match: on("solo"), Ask: []string{"alice"}, Post: to("#approvals")},
		{Name: "shared", Match: on("shared"), Ask: []string{"alice"}, Post: to("C0SHARED01")},
		{Name: "all", Ask: []string{"alice", "bob"}, Post: to("#approvals")},
	}
	return d
}

func newOffice(t testing.TB, opts officeOptions) *office {
	t.Helper()
	if opts.workspace.Apps == nil {
		opts.workspace = workspace()
	}
	o := &office{
		t: t, slack: fakeslack.New(opts.workspace), file: filepath.Join(t.TempDir(), "beckon.db"), dir: officeDirectory(), logs: &logs{}, wrap: opts.desk,
	}
	if opts.dir != nil {
		opts.dir(o.dir)
	}
	if err := o.slack.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.slack.Close)
	o.app, o.api = o.slack.App(), o.slack.APIURL()
	if opts.http {
		o.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if mux := o.serve.Load(); mux != nil {
				mux.ServeHTTP(w, r)
				return
			}
			http.Error(w, "down", http.StatusBadGateway)
		}))
		t.Cleanup(o.http.Close)
	}
	o.start()
	t.Cleanup(func() { o.stop() })
	if opts.http {
		if err := o.slack.SetRequestURL(o.ctx(), o.slack.App().ID, o.http.URL+"/slack/events"); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// start starts the hub, anew after a stop.
func (o *office) start() {
	t := o.t
	t.Helper()
	s, err := store.Open(context.Background(), o.file, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.s = s
	box := outbox.New(s, outbox.Options{Lanes: []outbox.Lane{{Name: Name}, {Name: hub.LaneClock}}})
	log := slog.New(slog.NewTextHandler(o.logs, nil))
	o.h = hub.New(hub.Options{
		Store: s, Notifier: waiter.New(), Outbox: box, Keys: hub.KeyRing{make([]byte, 32)}, Log: log,
		Link: func(person, id string, _ time.Time) string {
			return "https://beckon.example.com/l/" + person + "." + id
		},
	}, o.dir)
	conf := section{BotToken: hub.NewSecret(o.app.BotToken), APIURL: o.api}
	if o.http != nil {
		conf.SigningSecret = hub.NewSecret(o.app.SigningSecret)
	} else {
		conf.AppToken = hub.NewSecret(o.app.AppToken)
	}
	desk := o.h.Desk(Name)
	if o.wrap != nil {
		desk = o.wrap(desk)
	}
	made := New(hub.Section{
		Decode: func(v any) bool { *v.(*section) = conf; return true },
		Errorf: func(field, format string, args ...any) { t.Errorf(field+": "+format, args...) },
	}, desk)
	o.ch = made.(*Channel)
	o.h.SetChannels(map[string]hub.Channel{Name: o.ch})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := box.Run(ctx, o.h); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("outbox: %v", err)
		}
	})
	wg.Go(func() {
		if err := o.ch.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	mux := http.NewServeMux()
	for pattern, h := range o.ch.Handlers() {
		mux.Handle(pattern, h)
	}
	o.serve.Store(mux)
	o.stop = sync.OnceFunc(func() {
		o.serve.Store(nil)
		cancel()
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if o.http == nil && o.slack != nil {
		if err := o.slack.WaitSockets(o.ctx(), socketCount); err != nil {
			t.Fatal(err)
		}
	}
}

// ctx bounds one wait.
func (o *office) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	o.t.Cleanup(cancel)
	return ctx
}

// envelope is a message under construction.
type envelope map[string]any

var envelopes atomic.Int64

func newEnvelope(typ string, change func(envelope)) envelope {
	n := strconv.FormatInt(envelopes.Add(1), 10)
	e := envelope{
		"ma2h_version": "0.5", "type": typ, "created_at": "2026-12-01T09:00:00Z", "title": "Ship web-app 2.3?",
		"agent": envelope{"id": releaseBot, "run_id": "run_1", "runtime": "cli"}, "idempotency_key": "k" + n,
	}
	if change != nil {
		change(e)
	}
	return e
}

// shipAsk is an ask with three short choices.
func shipAsk(change func(envelope)) envelope {
	return newEnvelope("ask", func(e envelope) {
		e["request"] = envelope{"mode": "select", "options": []envelope{
			{"value": "ship", "label": "Ship to prod now"}, {"value": "hold", "label": "Hold for review"}, {"value": "abort", "label": "Abort the change"},
		}}
		if change != nil {
			change(e)
		}
	})
}

// formAsk wants two fields.
func formAsk(change func(envelope)) envelope {
	return newEnvelope("ask", func(e envelope) {
		e["request"] = envelope{"mode": "input", "schema": envelope{
			"type": "object", "required": []string{"note"},
			"properties": envelope{"note": envelope{"type": "string", "pattern": "^[a-z ]+$", "title": "Release note"}, "count": envelope{"type": "integer"}},
		}}
		if change != nil {
			change(e)
		}
	})
}

// keyTask is a task with a checklist.
func keyTask(change func(envelope)) envelope {
	return newEnvelope("task", func(e envelope) {
		e["title"] = "Rotate the key"
		e["action"] = envelope{"instructions": "Do it.", "checklist": []envelope{{"text": "Generate", "done": false}, {"text": "Update", "done": false}}}
		if change != nil {
			change(e)
		}
	})
}

func tagged(name string) func(envelope) { return func(e envelope) { e["tags"] = []string{name} } }

func (o *office) submit(e envelope) string {
	o.t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		o.t.Fatal(err)
	}
	s, err := o.h.Submit(o.ctx(), o.dir.Agents[releaseBot], raw)
	if err != nil {
		o.t.Fatalf("submit: %v", err)
	}
	return s.Message.ID
}

// ask submits and waits for the copy.
func (o *office) ask(e envelope) (id string, c fakeslack.Message) {
	o.t.Helper()
	id = o.submit(e)
	return id, o.copyOf(id)
}

// copyOf waits for the copy of a message, recorded as a posting.
func (o *office) copyOf(id string) fakeslack.Message {
	o.t.Helper()
	m, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool {
		return m.EphemeralTo == "" && !m.IsReply() && m.Metadata != nil && strings.Contains(fmt.Sprint(m.Blocks), id)
	})
	if err != nil {
		o.t.Fatalf("no copy of %s: %v\n%s", id, err, o.logs)
	}
	return m
}

func (o *office) message(id string) *hub.Message {
	o.t.Helper()
	s, err := o.h.Inspect(o.ctx(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return s.Message
}

// response waits until a message has ended.
func (o *office) response(id string) *ma2h.Response {
	o.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		m := o.message(id)
		if m.Status.Terminal() {
			r, err := ma2h.ParseResponse(m.Response)
			if err != nil {
				o.t.Fatal(err)
			}
			return r
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("%s is still open\n%s", id, o.logs)
		}
	}
}

// open fails the test if a message is not open.
func (o *office) open(id string) {
	o.t.Helper()
	if s := o.message(id).Status; s != ma2h.Open {
		o.t.Errorf("status %s, want open", s)
	}
}

func (o *office) person(name string) *fakeslack.Person { return o.slack.Person(name) }

// told waits until somebody has seen words of the hub's, in a note, a thread or
// a modal, and returns the message if it was one.
func (o *office) told(name string, words ...string) fakeslack.Sight {
	o.t.Helper()
	s, err := o.person(name).WaitSight(o.ctx(), func(s fakeslack.Sight) bool {
		text := s.Text + s.Message.Text + fmt.Sprint(s.View.Blocks)
		if s.Kind == "message" && s.Message.BotID == "" || s.Kind == "update" {
			return false
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
	if err != nil {
		var all strings.Builder
		for _, s := range o.person(name).Seen() {
			fmt.Fprintf(&all, "%s: %q %q %v\n", s.Kind, s.Message.Text, s.Text, s.View.Blocks)
		}
		o.t.Fatalf("%s was not told %q: %v\n%s\n%s", name, words, err, all.String(), o.logs)
	}
	return s
}

// heard is what the hub said to somebody that holds these words.
func (o *office) heard(name, words string) []fakeslack.Message {
	var list []fakeslack.Message
	for _, s := range o.person(name).Seen() {
		if s.Kind == "message" && s.Message.BotID != "" && strings.Contains(s.Message.Text, words) {
			list = append(list, s.Message)
		}
	}
	return list
}

// toldTimes waits until the hub has said something to somebody n times.
func (o *office) toldTimes(name, words string, n int) []fakeslack.Message {
	o.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		list := o.heard(name, words)
		switch {
		case len(list) == n:
			return list
		case len(list) > n || time.Now().After(deadline):
			o.t.Fatalf("%s was told %q %d times, want %d\n%s", name, words, len(list), n, o.logs)
		}
	}
}

// click presses a control by what it does, and says so when that is refused.
func (o *office) click(name string, m fakeslack.Message, a action, opts ...fakeslack.Option) {
	o.t.Helper()
	if _, err := o.person(name).Click(o.ctx(), m.Channel, m.TS, a.id(), opts...); err != nil {
		o.t.Fatalf("click %s: %v\n%s", a.id(), err, o.logs)
	}
}

// modal waits for a modal that has an input block.
func (o *office) modal(name, block string) fakeslack.View {
	o.t.Helper()
	v, err := o.person(name).WaitModal(o.ctx(), func(v fakeslack.View) bool { return strings.Contains(fmt.Sprint(v.Blocks), block) })
	if err != nil {
		o.t.Fatalf("no modal: %v\n%s", err, o.logs)
	}
	return v
}

func (o *office) fill(name string, v fakeslack.View, values map[string]any) fakeslack.Submission {
	o.t.Helper()
	s, err := o.person(name).SubmitView(o.ctx(), v.ID, values)
	if err != nil {
		o.t.Fatalf("submit the form: %v\n%s", err, o.logs)
	}
	return s
}

func (o *office) write(name string, m fakeslack.Message, text string) fakeslack.Message {
	o.t.Helper()
	r, err := o.person(name).Reply(m.Channel, m.TS, text)
	if err != nil {
		o.t.Fatal(err)
	}
	return r
}

// quiet fails the test if Slack had to object to something.
func (o *office) quiet() {
	o.t.Helper()
	if p := o.slack.Problems(); len(p) > 0 {
		o.t.Errorf("Slack objects: %q", p)
	}
	if s := o.logs.String(); strings.Contains(s, o.slack.App().BotToken) || strings.Contains(s, "/actions/T0") || strings.Contains(s, "ticket=") {
		o.t.Errorf("a secret was logged:\n%s", s)
	}
}

// onBoth runs a test on both transports.
func onBoth(t *testing.T, f func(t *testing.T, o *office)) {
	t.Helper()
	for name, overHTTP := range map[string]bool{"socket": false, "http": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, officeOptions{http: overHTTP})
			f(t, o)
			o.quiet()
		})
	}
}
