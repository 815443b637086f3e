package slack

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	slackgo "github.com/slack-go/slack"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// TestCutCodeStaysCode: nao#1536, thicket#95: where code is cut, no fence is left
// open, and what follows the cut is not code.
func TestCutCodeStaysCode(t *testing.T) {
	t.Parallel()
	for _, fence := range []string{"```", "~~~"} {
		els, cut := richMarkdown(fence+"go\n"+strings.Repeat("a := 1\n", 500)+fence+"\n\nafter", 1000)
		if !cut || len(els) != 1 {
			t.Fatalf("cut %v, %d elements", cut, len(els))
		}
		if _, ok := els[0].(*slackgo.RichTextPreformatted); !ok || strings.Contains(draw(els), fence) {
			t.Errorf("it became %T: %s", els[0], draw(els))
		}
	}
	c := channeltest.Ask("msg_a")
	c.Body = "```\n" + strings.Repeat("a := 1\n", 2000) + "```\n"
	blocks, text, cut := renderMessage(c, renderOptions{})
	checkMessage(t, blocks, text)
	if len(cut) == 0 {
		t.Error("nothing says that the code is cut")
	}
	for _, s := range append(extract(marshal(t, blocks)).literal, text) {
		if strings.Contains(s, "```") {
			t.Errorf("a fence stands in %.60q", s)
		}
	}
}

// TestTaskHasTheSameDoor: hermes#6735, initializ/forge#311: whoever may not close
// a task or choose from a menu may not by any of their controls.
func TestTaskHasTheSameDoor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o *office) {
		id, c := o.ask(keyTask(tagged("solo")))
		if _, err := o.person("bob").Select(o.ctx(), c.Channel, c.TS, action{Kind: kindTick, MessageID: id, Option: 1}.id(), []string{"2"}); err != nil {
			t.Fatal(err)
		}
		for _, k := range []kind{kindDone, kindCant, kindForm} {
			o.click("bob", c, action{Kind: k, MessageID: id})
		}
		o.toldTimes("bob", "Only Alice Ng", 4)
		o.write("bob", c, "done")
		o.toldTimes("bob", "Only Alice Ng", 5)
		for _, item := range o.message(id).Checklist {
			if item.Done {
				t.Errorf("a bystander ticked %q", item.Text)
			}
		}
		o.open(id)

		menu, c := o.ask(newEnvelope("ask", func(e envelope) {
			var options []envelope
			for _, v := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				options = append(options, envelope{"value": v, "label": "Choice " + v})
			}
			e["request"], e["tags"] = envelope{"mode": "select", "options": options}, []string{"solo"}
		}))
		if _, err := o.person("bob").Select(o.ctx(), c.Channel, c.TS, action{Kind: kindChoose, MessageID: menu}.id(), "6"); err != nil {
			t.Fatal(err)
		}
		o.toldTimes("bob", "Only Alice Ng", 6)
		o.open(menu)
	})
}

// TestSpentResponseURL: gsdslack#9: a response_url works five times within half an
// hour. The copy changes without it, and the note goes another way.
func TestSpentResponseURL(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	o.slack.Fail(fakeslack.Fault{Method: "response_url", Error: "used_url"})
	id, c := o.ask(shipAsk(nil))
	o.click("alice", c, action{Kind: kindAnswer, MessageID: id, Option: 2})
	o.detail(id, ma2h.Answered)
	if s := o.told("alice", "Recorded: Hold for review"); s.Message.EphemeralTo != aliceUser {
		t.Error("the note is not private")
	}
	if len(o.slack.Calls("response_url")) == 0 {
		t.Error("no response_url was tried: the test says nothing")
	}
	if _, err := o.slack.WaitMessage(o.ctx(), func(m fakeslack.Message) bool {
		return m.TS == c.TS && !hasControls(m) && strings.Contains(m.Text, "Alice Ng")
	}); err != nil {
		t.Errorf("the copy still asks: %v", err)
	}
}

// refusing answers the first post with an error of Slack's.
type refusing struct {
	http.RoundTripper
	answer string
	once   sync.Once
}

func (f *refusing) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if strings.HasSuffix(r.URL.Path, "/chat.postMessage") {
		f.once.Do(func() {
			resp = &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(f.answer)), Request: r}
		})
	}
	if resp != nil {
		return resp, nil
	}
	return f.RoundTripper.RoundTrip(r)
}

// TestLogSaysWhatWasRefused: kibana#73061, peft#1251: Slack says which part of the
// blocks it does not take, and the log repeats it.
func TestLogSaysWhatWasRefused(t *testing.T) {
	t.Parallel()
	w := startWorld(t, workspace(), nil)
	w.ch.api.http.Transport = &refusing{
		RoundTripper: w.ch.api.http.Transport,
		answer:       `{"ok":false,"error":"invalid_blocks","response_metadata":{"messages":["[ERROR] too long [json-pointer:/blocks/2/text]"]}}`,
	}
	if p, err := w.post(toPlace, channeltest.Ask("msg_a")); err != nil || p.Degraded == "" {
		t.Fatalf("posted %+v, %v", p, err)
	}
	if !strings.Contains(w.logs.String(), "json-pointer:/blocks/2/text") {
		t.Errorf("the log does not say where: %s", w.logs)
	}
}

// linkServer is a Slack of which only the sockets work, as serve says.
func linkServer(t *testing.T, dials *atomic.Int32, serve func(*websocket.Conn)) *Channel {
	t.Helper()
	var s *httptest.Server
	up := websocket.Upgrader{}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/apps.connections.open", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"ok":true,"url":"ws%s/link"}`, strings.TrimPrefix(s.URL, "http"))
	})
	mux.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		dials.Add(1)
		serve(conn)
	})
	s = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	conf := section{BotToken: hub.NewSecret("xoxb-x"), AppToken: hub.NewSecret("xapp-x"), APIURL: s.URL + "/api/"}
	made := New(hub.Section{Decode: func(v any) bool { *v.(*section) = conf; return true }}, deskWithLog{channeltest.NewDesk(channeltest.Directory()), slog.New(slog.DiscardHandler)})
	return made.(*Channel)
}

// runChannel runs ch until the returned func is called.
func runChannel(t *testing.T, ch *Channel) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = ch.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

// TestTakenSockets: node-slack-sdk#1654, java-slack-sdk#1223: when others have
// every connection of the app, the hub says so, and goes on trying.
func TestTakenSockets(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	ch := linkServer(t, &dials, func(conn *websocket.Conn) {
		_ = conn.WriteJSON(map[string]any{"type": "disconnect", "reason": "too_many_websockets"})
		_, _, _ = conn.ReadMessage()
	})
	defer runChannel(t, ch)()
	if err := waitFor(func() bool {
		_, p := ch.Alive()
		return strings.Contains(p, "ten connections") && dials.Load() > socketCount
	}); err != nil {
		_, p := ch.Alive()
		t.Errorf("after %d connections it says %q", dials.Load(), p)
	}
}

// TestSocketsOutliveARefusal: a token that Slack refuses for a while does not end
// the listening for good.
func TestSocketsOutliveARefusal(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"invalid_auth", "not_allowed_token_type"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, officeOptions{})
			lift := o.slack.Fail(fakeslack.Fault{Method: "apps.connections.open", Error: code})
			o.slack.KillSockets()
			if err := waitFor(func() bool { _, p := o.ch.Alive(); return p != "" }); err != nil {
				t.Error("nothing is said to be wrong")
			}
			lift()
			if err := o.slack.WaitSockets(o.ctx(), socketCount); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestServerThatNeverPings: a connection is not given up because the other side
// sends no pings of its own, as long as it answers the hub's.
func TestServerThatNeverPings(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	ch := linkServer(t, &dials, func(conn *websocket.Conn) {
		_ = conn.WriteJSON(map[string]any{"type": "hello", "num_connections": 1})
		for { // reading answers pings
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	})
	ch.inbound.deaf, ch.inbound.beat = 500*time.Millisecond, 50*time.Millisecond
	defer runChannel(t, ch)()
	if err := waitFor(func() bool { return dials.Load() == socketCount }); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * ch.inbound.deaf)
	if n := dials.Load(); n != socketCount {
		t.Errorf("%d connections were opened, want %d", n, socketCount)
	}
}

// TestTokenInHeaderOnly: the token stands neither in a form nor in an address,
// where proxies log it and some servers do not look.
func TestTokenInHeaderOnly(t *testing.T) {
	t.Parallel()
	a := client(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body)+r.URL.String(), "canary") || r.Header.Get("Authorization") != "Bearer xoxb-canary" {
			t.Errorf("%s: the token is not in its header alone", r.URL.Path)
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	for _, method := range []string{"auth.test", "chat.postMessage"} {
		if err := a.call(t.Context(), method, url.Values{"channel": {"C1"}}, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestLibraryIsForBlocksOnly: nothing but the block types of slack-go is used.
// Its client repeats posts after a reset, waits in place and has no time limit;
// its sockets acknowledge nothing that they can't decode; its debug switch logs
// content and cuts connections.
func TestLibraryIsForBlocksOnly(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	uses := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if strings.HasPrefix(i.Path.Value, `"github.com/slack-go/slack/`) {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "slackgo" {
				return true
			}
			uses++
			w := sel.Sel.Name
			option := strings.HasPrefix(w, "Option") && !strings.HasPrefix(w, "OptionBlock") && !strings.HasPrefix(w, "OptionGroup")
			if w == "New" || w == "Client" || strings.HasPrefix(w, "PostWebhook") || strings.HasPrefix(w, "MsgOption") || option && !strings.HasPrefix(w, "OptType") {
				t.Errorf("%s uses slackgo.%s", name, w)
			}
			return true
		})
	}
	if uses == 0 {
		t.Error("no use of the library was found: the test says nothing")
	}
}

// TestObjectionsFitTheAcknowledgement: node-slack-sdk#1455: what is wrong with a
// form goes out as an object that Slack takes, however much is wrong.
func TestObjectionsFitTheAcknowledgement(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"x", "語", "<", `\`} {
		at, view := map[string]string{}, &viewPayload{}
		for i := range 90 {
			at[fieldBlock(i)] = strings.Repeat(letter, 300)
		}
		blocks := make([]map[string]string, 90)
		for i := range blocks {
			blocks[i] = map[string]string{"type": "input", "block_id": fieldBlock(i)}
		}
		if err := lenient(marshal(t, map[string]any{"blocks": blocks}), view); err != nil {
			t.Fatal(err)
		}
		d := &deed{ack: make(chan any, 1)}
		if err := (&form{d: d, view: view}).errors(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		ack := jsonOf(t, map[string]any{"envelope_id": strings.Repeat("e", 36), "payload": <-d.ack})
		if len(ack) >= maxAck || !strings.Contains(ack, `"response_action":"errors","errors":{`) {
			t.Errorf("%s: %d bytes: %.80s", letter, len(ack), ack)
		}
	}
}
