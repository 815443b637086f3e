package main

import (
	"context"
	"fmt"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

// envelopeFlags say where an envelope comes from and by which key it is known.
type envelopeFlags struct {
	File           string `help:"Send the envelope in this file (- for standard input); what it lacks of version, time, agent and key is filled in." placeholder:"FILE|-"`
	IdempotencyKey string `help:"A name for this message: the same command with the same key sends nothing twice. Otherwise each invocation is new." placeholder:"KEY"`
}

// sending says how a message is sent and what is printed then.
type sending struct {
	envelopeFlags
	Wait span `help:"Wait for the answer, this long at most, such as 10m." placeholder:"SPAN"`
	JSON bool `help:"Print the whole Response as JSON; without --wait, what the hub acknowledged."`
}

// sendBuilt sends a message that was made from flags.
func (s *sending) sendBuilt(ctx context.Context, sh *shell, r *author, e *ma2h.Envelope, until time.Duration) error {
	forget := func() {}
	if e.IdempotencyKey = s.IdempotencyKey; e.IdempotencyKey == "" {
		e.IdempotencyKey = randomKey()
	} else {
		forget = sameTimes(sh, r, e)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return usage("the message is not valid UTF-8: %v", err)
	}
	err = s.send(ctx, sh, r, raw, until)
	if client.ExitCode(err) == client.ExitRefused {
		forget() // nothing was sent, so the next try is a new one
	}
	return err
}

// send submits an envelope, and waits for its end if until is more than 0.
func (s *sending) send(ctx context.Context, sh *shell, r *author, raw []byte, until time.Duration) error {
	c, err := r.connect()
	if err != nil {
		return err
	}
	ack, err := call(sh, c, func() (*client.Ack, error) { return c.Submit(ctx, raw) })
	if err != nil {
		if ctx.Err() != nil {
			return &exitError{client.ExitUnreachable, "interrupted before the hub confirmed; it may have taken the message or not"}
		}
		return err
	}
	for _, w := range ack.Warnings {
		sh.say("beckon: warning: %s", w)
	}
	if until == 0 {
		return s.printAck(sh, ack)
	}
	return follow(ctx, sh, c, ack.ID, until, s.JSON)
}

func (s *sending) printAck(sh *shell, ack *client.Ack) error {
	if !s.JSON {
		return sh.print(ack.ID)
	}
	b, err := json.Marshal(ack.SubmitAck)
	if err != nil {
		return fmt.Errorf("write the acknowledgement: %w", err)
	}
	return sh.print(string(b))
}
