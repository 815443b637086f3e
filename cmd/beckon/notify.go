package main

import (
	"context"

	"beckon/hub/ma2h"
)

// notifyCmd tells people something and waits for nothing.
type notifyCmd struct {
	content `group:"The message:"`
	envelopeFlags
	author `group:"The hub:"`
	JSON   bool `help:"Print all that the hub acknowledged, as JSON."`
}

func (n *notifyCmd) Run(ctx context.Context, sh *shell) error {
	s := sending{envelopeFlags: n.envelopeFlags, JSON: n.JSON}
	if n.File != "" {
		if err := onlyFile(&n.content); err != nil {
			return err
		}
		raw, err := fillFile(sh, &n.author, "--file", n.File, ma2h.Notify, n.IdempotencyKey)
		if err != nil {
			return err
		}
		return s.send(ctx, sh, &n.author, raw, 0)
	}
	e, err := n.envelope(sh, &n.author, ma2h.Notify)
	if err != nil {
		return err
	}
	return s.sendBuilt(ctx, sh, &n.author, e, 0)
}
