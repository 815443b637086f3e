package main

import "context"

// cancelCmd takes an ask back. It ends with 0 also when that was done before.
type cancelCmd struct {
	ID string `arg:"" help:"The message, such as msg_01J…"`
	remote
}

func (c *cancelCmd) Run(ctx context.Context, sh *shell) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	if _, err := cl.Cancel(ctx, c.ID); err != nil {
		return err
	}
	sh.say("%s is cancelled", oneLine(c.ID))
	return nil
}
