package main

import (
	"context"
	"errors"
	"time"

	"beckon/hub/client"
)

// waitCmd waits for the end of a message that is out already.
type waitCmd struct {
	ID   string `arg:"" help:"The message, such as msg_01J…"`
	Wait span   `help:"Wait this long at most; otherwise as long as it takes." placeholder:"SPAN"`
	JSON bool   `help:"Print the whole Response as JSON."`
	remote
}

func (w *waitCmd) Run(ctx context.Context, sh *shell) error {
	c, err := w.connect()
	if err != nil {
		return err
	}
	return follow(ctx, sh, c, w.ID, time.Duration(w.Wait), w.JSON)
}

// follow waits for the end of a message, for until at most unless that is 0, and
// prints it. The message stays open when the wait ends first or is interrupted.
func follow(ctx context.Context, sh *shell, c *session, id string, until time.Duration, asJSON bool) error {
	wait, cancel := ctx, context.CancelFunc(func() {})
	deadline := time.Time{}
	if until > 0 {
		deadline = time.Now().Add(until)
		wait, cancel = context.WithDeadline(ctx, deadline)
	}
	defer cancel()

	// The first read tells whether there is a hub and a message at all.
	m, err := call(sh, c, func() (*client.Message, error) { return c.Get(wait, id, client.ReadOptions{Beckon: true}) })
	if err != nil {
		if ctx.Err() != nil {
			return open(sh, "interrupted", id)
		}
		return err
	}
	if !m.Status.Terminal() {
		stop := sh.spin(func() string { return waitingLine(m, deadline, c.pulse.down.Load()) })
		ended, err := c.Wait(wait, id)
		stop()
		switch {
		case err == nil:
			m = ended
		case wait.Err() != nil || errors.Is(err, client.ErrStillOpen):
			return open(sh, id+" is still open", id)
		default:
			return err
		}
	}
	return report(sh, m, asJSON)
}

// open says how to go on with a message that is, as far as is known, open.
func open(sh *shell, what, id string) error {
	sh.say("beckon: %s; to go on waiting: beckon wait %s", oneLine(what), oneLine(id))
	return &exitError{code: client.ExitOpen}
}
