package client

import "time"

// ForgetWhenKeysWereRead stands for a minute that passes.
func (c *Client) ForgetWhenKeysWereRead() {
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	c.inbox.tried = time.Time{}
}
