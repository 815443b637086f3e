package slack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"beckon/channels/channeltest"
	"beckon/channels/slack/fakeslack"
	"beckon/hub"
)

// TestConformanceOfAnswers holds the channel to the suite with somebody who
// clicks, on both transports, in a channel and in direct messages.
func TestConformanceOfAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		target hub.Target
		http   bool
	}{
		"socket in a channel":         {toPlace, false},
		"socket in direct messages":   {toAlice, false},
		"requests in a channel":       {toPlace, true},
		"requests in direct messages": {toAlice, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channeltest.Run(t, func(t *testing.T, desk *channeltest.Desk) channeltest.Bench {
				return answeringBench(t, desk, tt.target, tt.http)
			})
		})
	}
}

func answeringBench(t *testing.T, desk *channeltest.Desk, target hub.Target, overHTTP bool) channeltest.Bench {
	w, b := bench(t, desk, target)
	b.Secrets = append(b.Secrets, w.slack.App().SigningSecret)
	if overHTTP {
		w.again(func(s *section) {
			s.AppToken, s.SigningSecret = hub.Secret{}, hub.NewSecret(w.slack.App().SigningSecret)
		})
		b.Channel = w.ch
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.ch.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	if overHTTP {
		mux := http.NewServeMux()
		for pattern, h := range w.ch.Handlers() {
			mux.Handle(pattern, h)
		}
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		if err := w.slack.SetRequestURL(t.Context(), w.slack.App().ID, s.URL+"/slack/events"); err != nil {
			t.Fatal(err)
		}
	} else if err := w.slack.WaitSockets(t.Context(), socketCount); err != nil {
		t.Fatal(err)
	}
	b.Answer = func(t *testing.T, id string, option int) string {
		p := w.slack.Person("alice")
		m, before := w.copies(id)[0], len(p.Seen())
		if _, err := p.Click(t.Context(), m.Channel, m.TS, action{Kind: kindAnswer, MessageID: id, Option: option}.id()); err != nil {
			t.Fatal(err)
		}
		var told fakeslack.Message
		err := waitFor(func() bool {
			for _, s := range p.Seen()[before:] {
				if s.Kind == "message" && s.Message.BotID != "" {
					told = s.Message
					return true
				}
			}
			return false
		})
		if err != nil {
			t.Fatalf("nothing was said\n%s", w.logs)
		}
		return shown(t, told)
	}
	return b
}
