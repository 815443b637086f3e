package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"beckon/hub/ma2h"
)

// ackCmd tells people that the agent has what they said.
type ackCmd struct {
	IDs  []string `arg:"" name:"id" help:"A message that has its answer (msg_01J…), or what somebody wrote to the agent (dir_01J…)."`
	Note string   `help:"What to tell them." placeholder:"TEXT"`
	remote
}

func (c *ackCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	var errs []error
	var directives []string
	for _, id := range c.IDs {
		if strings.HasPrefix(id, "dir_") {
			directives = append(directives, id)
		} else {
			errs = append(errs, c.message(ctx, sh, s, id))
		}
	}
	if len(directives) > 0 {
		n, err := call(sh, s, func() (int, error) { return s.AckInbox(ctx, directives, c.Note) })
		if err == nil {
			sh.say("%s", acknowledged(n, len(directives)))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func acknowledged(n, of int) string {
	if n >= of {
		return count(of, "directive") + " acknowledged"
	}
	return fmt.Sprintf("%d of %s acknowledged; the hub does not know the rest, or knows that it was", n, count(of, "directive"))
}

// message acks one answer, and says which note counts: that of the first ack.
func (c *ackCmd) message(ctx context.Context, sh *shell, s *session, id string) error {
	a, err := call(sh, s, func() (*ma2h.Ack, error) { return s.Ack(ctx, id, c.Note) })
	if err != nil {
		return err
	}
	note := ""
	if a.Note != nil {
		note = ": “" + oneLine(*a.Note) + "”"
	}
	sh.say("%s is acknowledged%s", oneLine(id), note)
	return nil
}
