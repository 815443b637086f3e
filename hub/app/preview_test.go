package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"beckon/channels"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// billboard is a channel that shows a card as two lines.
type billboard struct{}

func (billboard) Post(context.Context, hub.PostRequest) (hub.Posted, error) {
	return hub.Posted{}, errors.New("a preview posts nothing")
}

func (billboard) Preview(c *hub.Card) (contentType string, body []byte, err error) {
	return "text/plain", fmt.Appendf(nil, "%s\n%d options, hidden %t", c.Title, len(c.Options), c.Hidden), nil
}

// mute is a channel without a preview.
type mute struct{}

func (mute) Post(context.Context, hub.PostRequest) (hub.Posted, error) {
	return hub.Posted{}, errors.New("a preview posts nothing")
}

func TestPreview(t *testing.T) {
	t.Parallel()
	all := append(channels.All(),
		hub.Factory{Name: "billboard", New: func(hub.Section, hub.Desk) hub.Channel { return billboard{} }, Implicit: true, People: true},
		hub.Factory{Name: "mute", New: func(hub.Section, hub.Desk) hub.Channel { return mute{} }, Implicit: true, People: true},
		hub.Factory{Name: "paid", New: func(hub.Section, hub.Desk) hub.Channel { return billboard{} }})
	const ask = `{"ma2h_version":"0.5","type":"ask","created_at":"2026-12-01T10:00:00Z","idempotency_key":"k",
		"agent":{"id":"bot/x","run_id":"r","runtime":"cli"},"title":"Ship it?","request":{"mode":"confirm"}%s}`
	tests := []struct{ name, channel, envelope, want string }{
		{"an ask", "billboard", fmt.Sprintf(ask, ""), "Ship it?\n2 options, hidden false"},
		{"sensitive", "billboard", fmt.Sprintf(ask, `,"sensitive":true`), "Ship it?\n0 options, hidden true"},
		{"the page", "web", fmt.Sprintf(ask, ""), `>Ship it?</h1>`},
		{"a channel without", "mute", fmt.Sprintf(ask, ""), "channel mute has no preview"},
		{"a channel that the config lacks", "paid", fmt.Sprintf(ask, ""), "channel paid is not in the config"},
		{"no such channel", "fax", fmt.Sprintf(ask, ""), `there is no channel "fax" (there are: `},
		{"what the hub would refuse", "billboard", fmt.Sprintf(ask, `,"expires_at":"2001-01-01T00:00:00Z"`), "is not later than now"},
		{"no envelope", "billboard", "[]", string(ma2h.CodeValidation)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := PreviewConfig()
			if err != nil {
				t.Fatal(err)
			}
			_, body, err := preview(cfg, all, tt.channel, []byte(tt.envelope))
			got := string(body)
			if err != nil {
				got = fmt.Sprintf("%v %s", err, hub.CodeOf(err))
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}

// TestPreviewWithoutConfig: every channel that has a preview has it also where
// there is no config.
func TestPreviewWithoutConfig(t *testing.T) {
	t.Parallel()
	const notify = `{"ma2h_version":"0.5","type":"notify","created_at":"2026-12-01T10:00:00Z",
		"agent":{"id":"bot/x","run_id":"r","runtime":"cli"},"title":"Built"}`
	for _, f := range channels.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			cfg, err := PreviewConfig()
			if err != nil {
				t.Fatal(err)
			}
			_, body, err := Preview(cfg, f.Name, []byte(notify))
			if !errors.Is(err, ErrNoPreview) && (err != nil || !strings.Contains(string(body), "Built")) {
				t.Errorf("got %q, %v", body, err)
			}
		})
	}
}

// TestPreviewOfConfigErrors: what a channel finds wrong comes out.
func TestPreviewOfConfigErrors(t *testing.T) {
	t.Parallel()
	all := []hub.Factory{{Name: "bad", Implicit: true, New: func(s hub.Section, _ hub.Desk) hub.Channel {
		s.Errorf("token", "is missing")
		return nil
	}}}
	cfg, err := config.Parse("x.yaml", []byte("people: {a: {name: A}}\nchannels: {bad: {}}\nroutes: [{ask: [a]}]\n"), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := preview(cfg, all, "bad", []byte(`{}`)); !config.IsErrors(err) || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("got %v", err)
	}
}
