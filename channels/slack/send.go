package slack

import (
	"context"

	"beckon/hub"
)

// Post puts a copy of the card where the target says.
func (c *Channel) Post(ctx context.Context, r hub.PostRequest) (hub.Posted, error) {
	return hub.Posted{}, hub.ErrUnsupported
}

// Update makes a copy that stands tell the truth.
func (c *Channel) Update(ctx context.Context, r hub.UpdateRequest) error {
	return hub.ErrUnsupported
}
