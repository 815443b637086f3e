package slack

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// TestTwoHubs: node-slack-sdk#1654, bolt-python#448: several hubs have sockets of
// their own, Slack gives anything to any of them, and only one keeps Home tabs.
func TestTwoHubs(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeOptions{})
	conf := section{BotToken: hub.NewSecret(o.app.BotToken), AppToken: hub.NewSecret(o.app.AppToken), APIURL: o.api}
	other := New(hub.Section{Decode: func(v any) bool { *v.(*section) = conf; return true }}, o.h.Desk(Name)).(*Channel)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- other.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if err := o.slack.WaitSockets(o.ctx(), 2*socketCount); err != nil {
		t.Fatal(err)
	}
	id, c := o.ask(keyTask(nil))
	for range 4 { // each click goes to the next socket
		o.click("bob", c, action{Kind: kindAnswer, MessageID: id, Option: 1}, fakeslack.Stale(withControl(c, id)))
	}
	o.toldTimes("bob", "does not fit this message", 4)
	o.person("alice").OpenHome()
	home := func(words string) {
		t.Helper()
		_, err := o.slack.WaitView(o.ctx(), "alice", func(v fakeslack.View) bool { return strings.Contains(fmt.Sprint(v.Blocks), words) })
		if err != nil {
			t.Fatalf("the Home tab does not show %q: %v", words, err)
		}
	}
	home("Rotate the key")
	before := len(o.slack.Calls("views.publish"))
	o.click("bob", c, action{Kind: kindDone, MessageID: id})
	o.detail(id, ma2h.Completed)
	home("Nothing is waiting for you")
	if n := len(o.slack.Calls("views.publish")) - before; n > 2 {
		t.Errorf("one change was published %d times", n)
	}
	a, b := o.ch.inbound.homes.keeps(), other.inbound.homes.keeps()
	if a == b {
		t.Errorf("the hubs keep Home tabs: %v and %v, want one of them", a, b)
	}
}

// withControl is a copy as it might have stood, with a control that the task
// never had.
func withControl(c fakeslack.Message, id string) fakeslack.Message {
	c.Blocks = append(c.Blocks[:len(c.Blocks):len(c.Blocks)], map[string]any{"type": "actions", "block_id": "old", "elements": []any{map[string]any{
		"type": "button", "action_id": action{Kind: kindAnswer, MessageID: id, Option: 1}.id(), "text": map[string]any{"type": "plain_text", "text": "Old"},
	}}})
	return c
}
