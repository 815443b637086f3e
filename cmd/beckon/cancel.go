package main

import (
	"context"

	"beckon/hub/ma2h"
)

// cancelCmd takes an ask back: one's own, or as an operator any. It ends with 0
// also when that was done before.
type cancelCmd struct {
	ID string `arg:"" help:"The message, such as msg_01J…"`
	remote
}

func (c *cancelCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	_, err = asEither(sh, s,
		func() (ma2h.Resolved, error) { return s.Cancel(ctx, c.ID) },
		func() (ma2h.Resolved, error) { return s.Withdraw(ctx, c.ID) })
	if err != nil {
		return err
	}
	sh.say("%s is cancelled", oneLine(c.ID))
	return nil
}
