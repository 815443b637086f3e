package slack

import (
	"context"

	"beckon/hub"
)

// Check says what is not set up right.
func (c *Channel) Check(ctx context.Context, live bool) []hub.Finding { return nil }
