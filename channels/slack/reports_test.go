package slack

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// TestReports: faults that were reported of other software that posts to Slack,
// as far as they concern sending, each with where it was reported. The fake
// keeps Slack's limits, so that a message that Slack would refuse is refused.
func TestReports(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word and 語 ", 5000)
	posts := func(change func(*hub.Card)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			c := channeltest.Ask("msg_a")
			change(c)
			p, err := w.post(toPlace, c)
			if err != nil || p.Degraded != "" {
				t.Fatalf("posted %+v, %v", p, err)
			}
			if m := w.copies("msg_a")[0]; !strings.Contains(raw(t, m), c.ReviewURL) {
				t.Error("no link to the whole")
			}
		}
	}
	tests := []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"teleport#44526 a long request is refused for every recipient", posts(func(c *hub.Card) { c.Body, c.Title = long, long[:2000] })},
		{"oncall#5121 a section over 3000", posts(func(c *hub.Card) { c.Body = strings.Repeat("x", 3001) })},
		{"bolt-js#2509 sentry#64928 13,200 characters in all", posts(func(c *hub.Card) {
			c.Body = long
			for range 20 {
				c.Context = append(c.Context, hub.CardPart{Text: long})
			}
		})},
		{"alertmanager#2774 titles too long", posts(func(c *hub.Card) { c.Title = strings.Repeat("title ", 400) })},
		{"sda-spring-boot-commons#354 over 50 blocks", posts(func(c *hub.Card) {
			c.Body = strings.Repeat("# h\n\n- a\n- b\n\n> q\n\n```\ncode\n```\n\n", 60)
		})},
		{"more options than buttons", posts(func(c *hub.Card) {
			c.Options = nil
			for i := range 100 {
				c.Options = append(c.Options, hub.CardOption{N: i + 1, Value: itoa(i), Label: strings.Repeat("label ", 30)})
			}
		})},
		{"PostHog#70104 kibana#73061 peft#1251 refused blocks are a plain message, recorded and logged", reportRefusedBlocks},
		{"hermes-agent#26869 <!channel> from a model", reportMentions},
		{"activepieces#6671 unfurling approves", func(t *testing.T, w *world) {
			p := w.mustPost(toPlace, channeltest.Ask("msg_a"))
			if m, _ := w.message(p); !m.NoUnfurl {
				t.Error("links are unfurled")
			}
		}},
		{"sentry#35029 nothing to preview", func(t *testing.T, w *world) {
			p := w.mustPost(toPlace, channeltest.Ask("msg_a"))
			if m, _ := w.message(p); !strings.Contains(m.Text, "Ship web-app") || !strings.Contains(m.Text, "Hold for review") {
				t.Errorf("the notification says %q", m.Text)
			}
		}},
		{"activepieces#11665 the controls stay after the answer", reportControlsGo},
		{"clawpatrol#595 curie#419 hermes#110821 not updated when it expires", reportExpiry},
		{"agenticos#152 the decision is never reported where it was asked", func(t *testing.T, w *world) {
			w.slack.Fail(fakeslack.Fault{Method: "chat.update", Error: "edit_window_closed"})
			c := channeltest.Ask("msg_a")
			p := w.mustPost(toPlace, c)
			if err := w.ch.Update(t.Context(), w.updateRequest(p, decided(c))); err != nil {
				t.Fatal(err)
			}
			if n := w.replies(p); len(n) != 1 || !strings.Contains(n[0].Text, "Bob Roy") {
				t.Errorf("%d notes in the thread", len(n))
			}
		}},
		{"sentry#119600 awx#9727 channel_not_found is not invited, and final", func(t *testing.T, w *world) {
			_, err := w.post(hub.Target{Channel: Name, Place: "#secret-out"}, channeltest.Ask("msg_a"))
			if de := failure(t, err); !de.Permanent || !strings.Contains(de.Msg, "/invite") {
				t.Errorf("got %+v", de)
			}
		}},
		{"PipedreamHQ#19141 posted but reported failed, over and over", reportPostedButFailed},
		{"gascity-packs#69 slack-api-specs#10 delivered but timed out", reportPostedButFailed},
		{"argo-events#1207 all channels are listed for each message", func(t *testing.T, w *world) {
			for _, id := range []string{"msg_a", "msg_b"} {
				w.mustPost(toPlace, channeltest.Ask(id))
				w.mustPost(hub.Target{Channel: Name, Place: "#deploys"}, channeltest.Ask(id+"2"))
			}
			if n := len(w.slack.Calls("conversations.list")) + len(w.slack.Calls("users.conversations")); n > 1 {
				t.Errorf("%d listings for 4 messages", n)
			}
		}},
		{"elastalert#1345 429 though delivered", func(t *testing.T, w *world) {
			w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", RetryAfter: time.Second, Effect: true, Times: 1})
			r := w.request(toPlace, channeltest.Ask("msg_a"))
			_, err := w.ch.Post(t.Context(), r)
			time.Sleep(failure(t, err).After)
			if _, err := w.ch.Post(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if n := len(w.copies("msg_a")); n != 1 {
				t.Errorf("%d copies", n)
			}
		}},
		{"the response's thread_ts is missing when the parent is gone", func(t *testing.T, w *world) {
			r := w.request(toPlace, channeltest.Ask("msg_a"))
			r.Thread = "1700000000.000100"
			p, err := w.ch.Post(t.Context(), r)
			if err != nil || !strings.HasSuffix(p.Ref, "/"+p.Thread) {
				t.Errorf("got %+v, %v", p, err)
			}
		}},
		{"chat.update needs the id of direct messages, not the user's", func(t *testing.T, w *world) {
			c := channeltest.Ask("msg_a")
			p := w.mustPost(toAlice, c)
			if !strings.HasPrefix(p.Ref, "D") {
				t.Errorf("the copy is called %s", p.Ref)
			}
			if err := w.ch.Update(t.Context(), w.updateRequest(p, decided(c))); err != nil {
				t.Error(err)
			}
		}},
		{"metadata holds no secret and no text of the agent", func(t *testing.T, w *world) {
			c := channeltest.Ask("msg_a")
			p := w.mustPost(toPlace, c)
			m, _ := w.message(p)
			b, _ := json.Marshal(m.Metadata)
			if s := string(b); strings.Contains(s, "Ship") || strings.Contains(s, "xox") || !strings.Contains(s, "dlv_msg_a-1") {
				t.Errorf("metadata is %s", s)
			}
		}},
		{"no personal link in a shared place", func(t *testing.T, w *world) {
			c := channeltest.Ask("msg_a")
			c.Hidden = true
			shared, own := w.mustPost(toPlace, c), w.mustPost(toAlice, c)
			if m, _ := w.message(shared); strings.Contains(raw(t, m), "/l/") {
				t.Error("the shared copy has a personal link")
			}
			if m, _ := w.message(own); !strings.Contains(raw(t, m), "/l/alice") {
				t.Error("the person's own copy has none")
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := workspace()
			o.NoDedupe = true
			tt.run(t, startWorld(t, o, nil))
		})
	}
}

func reportRefusedBlocks(t *testing.T, w *world) {
	for i, code := range []string{"invalid_blocks", "msg_blocks_too_long", "msg_too_long", "invalid_blocks_format"} {
		w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: code, Times: 1})
		c := channeltest.Ask("msg_" + itoa(i))
		p, err := w.post(toPlace, c)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		if !strings.Contains(p.Degraded, code) {
			t.Errorf("%s: the hub records %q", code, p.Degraded)
		}
		copies := w.copies(c.MessageID)
		if len(copies) != 1 || len(copies[0].Blocks) > 0 {
			t.Fatalf("%s: %d copies stand", code, len(copies))
		}
		for _, s := range []string{c.Title, "1. Ship to prod now", "2. Hold for review", c.ReviewURL, "eply in the thread"} {
			if !strings.Contains(copies[0].Text, s) {
				t.Errorf("%s: the plain copy does not say %q: %s", code, s, copies[0].Text)
			}
		}
		if !strings.Contains(w.logs.String(), code) {
			t.Errorf("%s: not in the log", code)
		}
	}
	if strings.Contains(w.logs.String(), "Ship web-app") {
		t.Error("the log holds the agent's text")
	}
}

func reportMentions(t *testing.T, w *world) {
	c := channeltest.Ask("msg_a")
	c.Title, c.Body = "<!channel> now", "<!here> <@"+bobUser+"> <https://evil.example|click>"
	c.Options[0].Label = "<!everyone>"
	for range 2 {
		p := w.mustPost(toPlace, c)
		m, _ := w.message(p)
		if s := raw(t, m); strings.Contains(s, "<!channel>") || strings.Contains(s, "<!here>") || strings.Contains(s, "<!everyone>") || strings.Contains(s, "<@") {
			t.Errorf("it mentions somebody: %s", s)
		}
		w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: 1})
		c.MessageID = "msg_b" // and as plain text
	}
}

func reportControlsGo(t *testing.T, w *world) {
	c := channeltest.Ask("msg_a")
	for _, target := range []hub.Target{toPlace, toAlice} {
		c.MessageID = "msg_" + target.Place + target.Person
		c.MessageID = strings.ReplaceAll(c.MessageID, "#", "")
		p := w.mustPost(target, c)
		if err := w.ch.Update(t.Context(), w.updateRequest(p, decided(c))); err != nil {
			t.Fatal(err)
		}
		m, _ := w.message(p)
		if hasControls(m) || !strings.Contains(shown(t, m), "Bob Roy") {
			t.Errorf("%v: controls %v", target, hasControls(m))
		}
	}
}

func reportExpiry(t *testing.T, w *world) {
	c := channeltest.Ask("msg_a")
	p := w.mustPost(toPlace, c)
	after := *c
	after.Status = ma2h.Expired
	after.Decision = &hub.Decision{Resolution: ma2h.Expired, Actor: "system:expiry", At: time.Now(), Via: "clock"}
	if err := w.ch.Update(t.Context(), w.updateRequest(p, &after)); err != nil {
		t.Fatal(err)
	}
	m, _ := w.message(p)
	if hasControls(m) || !strings.Contains(shown(t, m), "Expired") {
		t.Errorf("the copy says:\n%s", shown(t, m))
	}
}

func reportPostedButFailed(t *testing.T, w *world) {
	w.impatient(200 * time.Millisecond)
	lift := w.slack.Fail(fakeslack.Fault{Method: "chat.postMessage", Hang: true, Effect: true})
	r := w.request(toPlace, channeltest.Ask("msg_a"))
	for range 3 {
		if _, err := w.ch.Post(t.Context(), r); err == nil {
			break
		}
		r.Attempt++
	}
	lift()
	if n := len(w.copies("msg_a")); n != 1 {
		t.Errorf("%d copies", n)
	}
	if n := len(w.slack.Calls("chat.postMessage")); n != 1 {
		t.Errorf("%d posts", n)
	}
}
