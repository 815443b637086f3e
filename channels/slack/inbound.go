package slack

import (
	"context"
	"net/http"
)

// inbound takes what people do in Slack.
type inbound struct {
	c *Channel
}

func newInbound(c *Channel) *inbound { return &inbound{c: c} }

// listen takes events by Socket Mode until ctx ends; over HTTP it only waits.
func (in *inbound) listen(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// publishHomes keeps Home tabs true until ctx ends.
func (in *inbound) publishHomes(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// handlers are the HTTP routes that Slack sends to.
func (in *inbound) handlers() map[string]http.Handler { return nil }
