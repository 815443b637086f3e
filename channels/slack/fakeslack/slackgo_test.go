package fakeslack_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"

	"beckon/channels/slack/fakeslack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves a workspace until the test ends.
func start(t *testing.T, o fakeslack.Options) *fakeslack.Server {
	t.Helper()
	s := fakeslack.New(o)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// client is slack-go against the fake, with connections that end with the test.
func client(t *testing.T, s *fakeslack.Server, opts ...slack.Option) *slack.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	a := s.App()
	return slack.New(a.BotToken, append([]slack.Option{
		slack.OptionAPIURL(s.APIURL()), slack.OptionAppLevelToken(a.AppToken),
		slack.OptionHTTPClient(&http.Client{Transport: tr, Timeout: 5 * time.Second}),
	}, opts...)...)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func buttons() slack.Block {
	ok := slack.NewButtonBlockElement("answer:0", "approve", slack.NewTextBlockObject("plain_text", "Approve", false, false))
	no := slack.NewButtonBlockElement("answer:1", "reject", slack.NewTextBlockObject("plain_text", "Reject", false, false))
	return slack.NewActionBlock("act", ok, no)
}

// runSocket runs slack-go's Socket Mode client and acks with what handle gives.
func runSocket(t *testing.T, s *fakeslack.Server, c *slack.Client, handle func(socketmode.Event) (any, bool)) {
	t.Helper()
	sm := socketmode.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { _ = sm.RunContext(ctx); done <- struct{}{} }()
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			select {
			case <-ctx.Done():
				return
			case ev := <-sm.Events:
				if ev.Request == nil || ev.Type == socketmode.EventTypeHello {
					continue
				}
				if payload, ok := handle(ev); !ok {
					continue
				} else if payload != nil {
					_ = sm.Ack(*ev.Request, payload)
				} else {
					_ = sm.Ack(*ev.Request)
				}
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done; <-done })
	if err := s.WaitSockets(within(t), 1); err != nil {
		t.Fatal(err)
	}
}

func modal(inputs ...slack.Block) slack.ModalViewRequest {
	plain := func(s string) *slack.TextBlockObject { return slack.NewTextBlockObject("plain_text", s, false, false) }
	if inputs == nil {
		el := slack.NewPlainTextInputBlockElement(nil, "txt")
		inputs = []slack.Block{slack.NewInputBlock("why", plain("Why?"), nil, el)}
	}
	return slack.ModalViewRequest{
		Type: "modal", Title: plain("Answer"), Submit: plain("Send"), Close: plain("Cancel"), CallbackID: "answer_form",
		NotifyOnClose: true, Blocks: slack.Blocks{BlockSet: inputs},
	}
}

// TestSlackGoSocket is a whole round with slack-go: post, click, modal,
// objection, answer, update, thread.
func TestSlackGoSocket(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	c := client(t, s)
	ctx := within(t)
	if _, err := c.AuthTestContext(ctx); err != nil {
		t.Fatal(err)
	}
	clicks, replies := make(chan slack.InteractionCallback, 10), make(chan *slackevents.MessageEvent, 10)
	runSocket(t, s, c, func(ev socketmode.Event) (any, bool) {
		switch data := ev.Data.(type) {
		case slack.InteractionCallback:
			if data.Type == slack.InteractionTypeViewSubmission && len(data.View.State.Values["why"]["txt"].Value) < 5 {
				return slack.NewErrorsViewSubmissionResponse(map[string]string{"why": "Say more."}), true
			}
			clicks <- data
		case slackevents.EventsAPIEvent:
			if m, ok := data.InnerEvent.Data.(*slackevents.MessageEvent); ok && m.BotID == "" && m.SubType == "" {
				replies <- m
			}
		}
		return nil, true
	})
	channel, ts, err := c.PostMessageContext(ctx, "C0APPROVE1", slack.MsgOptionText("Deploy?", false), slack.MsgOptionBlocks(buttons()))
	if err != nil {
		t.Fatal(err)
	}
	alice := s.Person("alice")
	if _, err := alice.Click(ctx, channel, ts, "answer:0"); err != nil {
		t.Fatal(err)
	}
	click := <-clicks
	if click.User.ID != alice.ID || click.ActionCallback.BlockActions[0].Value != "approve" || click.Message.Text != "Deploy?" {
		t.Fatalf("click = %+v", click)
	}
	if _, err := c.OpenViewContext(ctx, click.TriggerID, modal()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.OpenViewContext(ctx, click.TriggerID, modal()); err == nil || err.Error() != "exchanged_trigger_id" {
		t.Fatalf("second use of a trigger: %v", err)
	}
	v := alice.Modal()
	if _, err := alice.SubmitView(ctx, v.ID, map[string]any{"why": ""}); err == nil {
		t.Fatal("an empty required field was sent")
	}
	sub, err := alice.SubmitView(ctx, v.ID, map[string]any{"why": "no"})
	if err != nil || sub.Errors["why"] != "Say more." || sub.View == nil {
		t.Fatalf("submission = %+v, %v", sub, err)
	}
	sub, err = alice.SubmitView(ctx, v.ID, map[string]any{"why": "Rollback is ready"})
	if err != nil || sub.View != nil || len(sub.Errors) > 0 {
		t.Fatalf("submission = %+v, %v", sub, err)
	}
	if got := (<-clicks).View.State.Values["why"]["txt"].Value; got != "Rollback is ready" {
		t.Fatalf("value = %q", got)
	}
	if _, _, _, err := c.UpdateMessageContext(ctx, channel, ts, slack.MsgOptionText("Approved by Alice", false)); err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Click(ctx, channel, ts, "answer:0"); !errors.Is(err, fakeslack.ErrGone) {
		t.Fatalf("click on a button that is gone: %v", err)
	}
	if _, err := s.Person("bob").Reply(channel, ts, "fine & good"); err != nil {
		t.Fatal(err)
	}
	if r := <-replies; r.ThreadTimeStamp != ts || r.Text != "fine &amp; good" || r.ChannelType != "channel" {
		t.Fatalf("reply = %+v", r)
	}
	if p := s.Problems(); len(p) > 0 {
		t.Fatal(p)
	}
}

// TestSlackGoHTTP: slack-go accepts what the fake signs, and the parsers of its
// HTTP side read it.
func TestSlackGoHTTP(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	c := client(t, s)
	ctx := within(t)
	got := make(chan string, 20)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v, err := slack.NewSecretsVerifier(r.Header, s.App().SigningSecret)
		if err == nil {
			_, _ = v.Write(body)
			err = v.Ensure()
		}
		if err != nil {
			t.Errorf("signature: %v", err)
			w.WriteHeader(401)
			return
		}
		if r.Header.Get("Content-Type") == "application/json" {
			ev, err := slackevents.ParseEvent(body, slackevents.OptionNoVerifyToken())
			if err != nil {
				t.Errorf("event: %v", err)
			}
			if ev.Type == slackevents.URLVerification {
				var m map[string]string
				_ = json.Unmarshal(body, &m)
				_, _ = io.WriteString(w, m["challenge"])
				return
			}
			got <- "event " + ev.InnerEvent.Type + " " + r.Header.Get("X-Slack-Retry-Num")
			if strings.Contains(string(body), "again") && r.Header.Get("X-Slack-Retry-Num") == "" {
				w.WriteHeader(500)
			}
			return
		}
		form, _ := url.ParseQuery(string(body))
		if cmd := form.Get("command"); cmd != "" {
			got <- "command " + form.Get("text")
			_, _ = io.WriteString(w, "Nothing waits for you.")
			return
		}
		var cb slack.InteractionCallback
		if err := json.Unmarshal([]byte(form.Get("payload")), &cb); err != nil {
			t.Errorf("interaction: %v", err)
		}
		got <- "interaction " + string(cb.Type)
	}))
	t.Cleanup(hub.Close)
	if err := s.SetRequestURL(ctx, s.App().ID, hub.URL); err != nil {
		t.Fatal(err)
	}
	channel, ts, err := c.PostMessageContext(ctx, "C0APPROVE1", slack.MsgOptionText("Deploy?", false), slack.MsgOptionBlocks(buttons()))
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		select {
		case g := <-got:
			if g != want {
				t.Fatalf("got %q, want %q", g, want)
			}
		case <-ctx.Done():
			t.Fatalf("%q never came", want)
		}
	}
	expect("event message ")
	alice := s.Person("alice")
	if _, err := alice.Click(ctx, channel, ts, "Reject", fakeslack.ByLabel()); err != nil {
		t.Fatal(err)
	}
	expect("interaction block_actions")
	if _, err := alice.Slash(ctx, channel, "/beckon list"); err != nil {
		t.Fatal(err)
	}
	expect("command list")
	if m := alice.Messages(channel); m[len(m)-1].Text != "Nothing waits for you." || m[len(m)-1].EphemeralTo != alice.ID {
		t.Fatalf("last message = %+v", m[len(m)-1])
	}
	if m := s.Person("bob").Messages(channel); len(m) != 1 {
		t.Fatalf("bob sees %d messages, want 1", len(m))
	}
	if _, err := alice.Reply(channel, ts, "again"); err != nil {
		t.Fatal(err)
	}
	expect("event message ")
	expect("event message 1")
}
