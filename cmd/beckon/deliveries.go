package main

import (
	"context"
	"strconv"

	"beckon/hub"
	"beckon/hub/admin"
	"beckon/hub/client"
)

// deliveriesCmd shows what is to be got done, and does it again. It takes an
// operator's credential.
type deliveriesCmd struct {
	List  listDeliveriesCmd `cmd:"" default:"withargs" group:"Commands:" help:"List deliveries, newest message first."`
	Retry retryDeliveryCmd  `cmd:"" group:"Commands:" help:"Try a dead or waiting delivery now."`
	Post  postDeliveriesCmd `cmd:"" group:"Commands:" help:"Post an open message again."`
}

// listDeliveriesCmd lists deliveries.
type listDeliveriesCmd struct {
	State   deliveryState `help:"Only those that are pending, running, done, dead or dropped." complete:"pending,running,done,dead,dropped" placeholder:"WORD"`
	Channel string        `help:"Only those of this channel, such as web." placeholder:"NAME"`
	Limit   limit         `help:"How many at most." default:"50" placeholder:"N"`
	JSON    bool          `help:"Print JSON."`
	remote
}

// deliveryState is one of the domain's.
type deliveryState hub.DeliveryState

func (s *deliveryState) UnmarshalText(text []byte) error {
	*s = deliveryState(text)
	return oneOf(string(text), []string{string(hub.Pending), string(hub.Running), string(hub.Done), string(hub.Dead), string(hub.Dropped)})
}

func (c *listDeliveriesCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	q := client.DeliveryQuery{State: string(c.State), Channel: c.Channel}
	var list []admin.Delivery
	more, err := call(sh, s, func() (more bool, err error) {
		list, more, err = pages(ctx, int(c.Limit), func(ctx context.Context, cursor string, n int) ([]admin.Delivery, string, error) {
			q.Cursor, q.Limit = cursor, n
			l, err := s.Deliveries(ctx, q)
			return l.Deliveries, l.NextCursor, err
		})
		return more, err
	})
	if err != nil {
		return err
	}
	if err := deliveryRows(sh, list, more).print(sh, c.JSON, "there are no such deliveries"); err != nil {
		return err
	}
	sayDead(sh, list)
	return nil
}

func deliveryRows(sh *shell, list []admin.Delivery, more bool) *rows {
	out := &rows{json: admin.Deliveries{Deliveries: list}, more: more}
	out.table = table{
		head: []string{"MESSAGE", "SEQ", "KIND", "TARGET", "STATE", "TRIES", "AGE", "CODE", "ERROR"}, flex: 8, state: 4,
	}
	for _, d := range list {
		at := d.DoneAt
		if at.IsZero() {
			at = d.Due // of a dead one neither
		}
		out.table.add(d.MessageID, strconv.Itoa(d.Seq), string(d.Kind), d.Target, string(d.State), strconv.Itoa(d.Attempts),
			sh.ago(at), d.Code, d.Error)
	}
	return out
}

// sayDead says what to do about deliveries that were given up.
func sayDead(sh *shell, list []admin.Delivery) {
	dead := 0
	var first admin.Delivery
	for _, d := range list {
		if d.State == hub.Dead {
			if dead++; dead == 1 {
				first = d
			}
		}
	}
	if dead == 0 {
		return
	}
	what := "1 delivery is dead"
	if dead > 1 {
		what = strconv.Itoa(dead) + " deliveries are dead"
	}
	sh.say("%s. The first says: %s (%s)", what, oneLine(first.Error), oneLine(first.Code))
	sh.say("Mend that, then try it again: beckon deliveries retry %s %d", oneLine(first.MessageID), first.Seq)
	sh.say("or post the message wherever no copy stands: beckon deliveries post %s", oneLine(first.MessageID))
}

// retryDeliveryCmd makes a delivery due now.
type retryDeliveryCmd struct {
	Message string `arg:"" help:"The message, such as msg_01J…"`
	Seq     int    `arg:"" help:"The number of the delivery, as the list shows it."`
	JSON    bool   `help:"Print JSON."`
	remote
}

func (c *retryDeliveryCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	d, err := call(sh, s, func() (*admin.Delivery, error) { return s.Retry(ctx, c.Message, c.Seq) })
	if err != nil {
		return err
	}
	sh.say("delivery %d of %s (%s %s) is due now", d.Seq, oneLine(d.MessageID), d.Kind, oneLine(d.Target))
	if c.JSON {
		return sh.printJSON(d)
	}
	return nil
}

// postDeliveriesCmd posts a message again.
type postDeliveriesCmd struct {
	Message string `arg:"" help:"The message, such as msg_01J…"`
	All     bool   `help:"Also where a copy stands. People will see it twice."`
	JSON    bool   `help:"Print JSON."`
	remote
}

func (c *postDeliveriesCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	p, err := call(sh, s, func() (*admin.Posted, error) { return s.Post(ctx, c.Message, c.All) })
	if err != nil {
		return err
	}
	switch {
	case p.Deliveries > 0:
		sh.say("%s is posted again: %s", oneLine(c.Message), copies(p.Deliveries))
	case c.All:
		sh.say("nothing to post: everything is under way")
	default:
		sh.say("nothing to post: a copy stands or is under way everywhere (--all posts it again)")
	}
	if c.JSON {
		return sh.printJSON(p)
	}
	return nil
}

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return strconv.Itoa(n) + " copies"
}
