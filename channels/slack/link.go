package slack

import (
	"context"
	"time"

	"beckon/hub"
)

// SendLink sends a personal link to somebody's direct messages.
func (c *Channel) SendLink(ctx context.Context, p *hub.Person, url string, expires time.Time) error {
	return hub.ErrUnsupported
}
