package main

import (
	"bytes"
	"context"
	"fmt"

	"beckon/hub/admin"
)

// mailShowCmd prints the mails that came in about a message.
type mailShowCmd struct {
	ID   string `arg:"" help:"The message, such as msg_01J…"`
	JSON bool   `help:"Print JSON; the mails are base64 in it."`
	remote
}

func (*mailShowCmd) Help() string {
	return `What people and servers answered to a message, each mail as it came, the oldest first. Mails are kept as long as the message is; of a message that asks for something sensitive none are kept.

Examples:
    beckon mail show msg_01J…
    beckon mail show msg_01J… --json | jq -r '.inbound[0].raw' | base64 -d > reply.eml`
}

func (c *mailShowCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	in, err := call(sh, s, func() (*admin.Inbound, error) { return s.Inbound(ctx, c.ID) })
	if err != nil {
		return err
	}
	if c.JSON {
		return sh.printJSON(in)
	}
	for i := range in.Inbound {
		a := &in.Inbound[i]
		more := ""
		if a.Truncated {
			more = ", its beginning"
		}
		sh.say("%s, by %s to %s%s", sh.when(a.At), a.Channel, a.Account, more)
		if err := sh.print(string(bytes.ReplaceAll(a.Raw, []byte("\r\n"), []byte("\n")))); err != nil {
			return fmt.Errorf("print a mail: %w", err)
		}
	}
	if len(in.Inbound) == 0 {
		sh.say("nothing came in about it")
	}
	return nil
}
