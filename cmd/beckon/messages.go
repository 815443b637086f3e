package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"beckon/hub/admin"
	"beckon/hub/client"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// messagesCmd shows messages: an agent's own, or everybody's to an operator. The
// hub says which of the two the credential is.
type messagesCmd struct {
	List listMessagesCmd `cmd:"" default:"withargs" group:"Commands:" help:"List messages, newest first."`
	Show showMessageCmd  `cmd:"" group:"Commands:" help:"Show one message and what became of it."`
}

// listMessagesCmd lists messages.
type listMessagesCmd struct {
	Status status `help:"Only those that are open, delivered, answered, declined, completed, dismissed, cancelled or expired." complete:"open,delivered,answered,declined,completed,dismissed,cancelled,expired" placeholder:"WORD"`
	Type   kind   `help:"Only this type: notify, ask or task." complete:"notify,ask,task" placeholder:"WORD"`
	From   string `help:"Only those of this agent; for an operator." placeholder:"AGENT"`
	Limit  limit  `help:"How many at most." default:"50" placeholder:"N"`
	JSON   bool   `help:"Print JSON."`
	remote
}

// status is one of the protocol's.
type status ma2h.Status

func (s *status) UnmarshalText(text []byte) error {
	all := []string{"open", "delivered", "answered", "declined", "completed", "dismissed", "cancelled", "expired"}
	*s = status(text)
	return oneOf(string(text), all)
}

// kind is one of the protocol's types.
type kind ma2h.Type

func (k *kind) UnmarshalText(text []byte) error {
	*k = kind(text)
	return oneOf(string(text), []string{string(ma2h.Notify), string(ma2h.Ask), string(ma2h.Task)})
}

// limit is how many rows there may be.
type limit int

const maxRows = 100_000

func (n *limit) UnmarshalText(text []byte) error {
	v, err := strconv.Atoi(string(text))
	if err != nil || v < 1 || v > maxRows {
		return fmt.Errorf("%q is not a number from 1 to %d", text, maxRows)
	}
	*n = limit(v)
	return nil
}

func oneOf(text string, all []string) error {
	if !slices.Contains(all, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(all, ", "))
	}
	return nil
}

// rows is what a list prints.
type rows struct {
	table table
	json  any
	more  bool // than the limit
}

func (c *listMessagesCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	q := client.Query{Agent: c.From, Status: ma2h.Status(c.Status), Type: ma2h.Type(c.Type)}
	r, err := asEither(sh, s,
		func() (*rows, error) { return c.own(ctx, sh, s, q) },
		func() (*rows, error) { return c.everybodys(ctx, sh, s, q) })
	if err != nil {
		return err
	}
	return r.print(sh, c.JSON, "there are no such messages")
}

// own are the agent's own messages.
func (c *listMessagesCmd) own(ctx context.Context, sh *shell, s *session, q client.Query) (*rows, error) {
	list, more, err := pages(ctx, int(c.Limit), func(ctx context.Context, cursor string, n int) ([]client.Listed, string, error) {
		q.Cursor, q.Limit = cursor, n
		l, err := s.List(ctx, q)
		return l.Messages, l.NextCursor, err
	})
	if err != nil {
		return nil, err
	}
	if c.From != "" && c.From != c.Agent {
		return nil, usage("--from is for operators; this credential is an agent's, who has its own messages only")
	}
	out := &rows{json: client.Listing{Messages: list}, more: more}
	out.table = table{head: []string{"ID", "TYPE", "STATUS", "AGE", "LEFT", "TITLE"}, flex: 5, state: 2}
	for _, m := range list {
		out.table.add(m.ID, string(m.Type), string(m.Status), sh.ago(m.AcceptedAt), expiry(sh, m.Status, m.ExpiresAt), m.Title)
	}
	return out, nil
}

// everybodys are the messages of all agents, as an operator may see them.
func (c *listMessagesCmd) everybodys(ctx context.Context, sh *shell, s *session, q client.Query) (*rows, error) {
	list, more, err := pages(ctx, int(c.Limit), func(ctx context.Context, cursor string, n int) ([]admin.Message, string, error) {
		q.Cursor, q.Limit = cursor, n
		l, err := s.Messages(ctx, q)
		return l.Messages, l.NextCursor, err
	})
	if err != nil {
		return nil, err
	}
	out := &rows{json: admin.Messages{Messages: list}, more: more}
	out.table = table{head: []string{"ID", "TYPE", "STATUS", "AGE", "LEFT", "AGENT", "TITLE"}, flex: 6, state: 2}
	for _, m := range list {
		out.table.add(m.ID, string(m.Type), string(m.Status), sh.ago(m.AcceptedAt), expiry(sh, m.Status, m.ExpiresAt), m.Agent, m.Title)
	}
	return out, nil
}

// expiry is when an open message expires; for a script also when one would have.
func expiry(sh *shell, s ma2h.Status, t time.Time) string {
	if sh.columns > 0 && s.Terminal() {
		return ""
	}
	return sh.ahead(t)
}

// print prints the rows, and says when there are none or more.
func (r *rows) print(sh *shell, asJSON bool, none string) error {
	if asJSON {
		return sh.printJSON(r.json)
	}
	if err := r.table.write(sh); err != nil {
		return err
	}
	switch {
	case len(r.table.rows) == 0:
		sh.say("%s", none)
	case r.more:
		sh.say("there are more; --limit shows them")
	}
	return nil
}

// showMessageCmd shows one message.
type showMessageCmd struct {
	ID   string `arg:"" help:"The message, such as msg_01J…"`
	JSON bool   `help:"Print JSON: to its agent the whole message, to an operator all that the hub did for it."`
	remote
}

func (c *showMessageCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	show, err := asEither(sh, s,
		func() (func() error, error) {
			m, err := s.Get(ctx, c.ID, client.ReadOptions{Beckon: true})
			return func() error { return c.own(sh, m) }, err
		},
		func() (func() error, error) {
			d, err := s.Inspect(ctx, c.ID)
			return func() error { return c.anybodys(sh, d) }, err
		})
	if err != nil {
		return err
	}
	return show()
}

// own shows a message to the agent that sent it.
func (c *showMessageCmd) own(sh *shell, m *client.Message) error {
	if c.JSON {
		return sh.print(string(m.Body))
	}
	pairs := []string{
		"id", m.ID, "type", string(m.Type), "status", string(m.Status), "title", m.Title, "priority", string(m.Priority),
		"created", m.CreatedAt, "expires", m.ExpiresAt,
	}
	if m.Response != nil && m.Response.Response != nil {
		d := m.Response.Response
		pairs = append(pairs, "by", d.Actor, "at", d.ResolvedAt, "value", optionalText(d.Value), "comment", d.Comment)
	}
	if m.Beckon != nil {
		for _, w := range m.Beckon.Warnings {
			pairs = append(pairs, "warning", w)
		}
		for _, d := range m.Beckon.Deliveries {
			pairs = append(pairs, "delivery", deliveryWords(sh, d.Kind, d.Target, d.State, d.Attempts, d.Due, d.Reason, d.Error))
		}
		if m.Beckon.Unreachable {
			pairs = append(pairs, "unreachable", "no target is left to try")
		}
	}
	return sh.lines(pairs...)
}

// anybodys shows a message to an operator.
func (c *showMessageCmd) anybodys(sh *shell, d *admin.Detail) error {
	if c.JSON {
		return sh.printJSON(d)
	}
	pairs := []string{
		"id", d.ID, "alias", d.Alias, "type", string(d.Type), "status", string(d.Status), "title", d.Title,
		"priority", string(d.Priority), "agent", d.Agent, "run", d.RunID, "project", d.Project, "route", d.Route,
		"may answer", strings.Join(d.Ask, ", "), "accepted", sh.when(d.AcceptedAt), "expires", sh.when(d.ExpiresAt),
		"resolved", sh.when(d.ResolvedAt), "via", d.ResolvedVia,
	}
	for _, w := range d.Warnings {
		pairs = append(pairs, "warning", w)
	}
	for _, v := range d.Deliveries {
		words := deliveryWords(sh, string(v.Kind), v.Target, string(v.State), v.Attempts, v.Due, v.Code, v.Error)
		pairs = append(pairs, fmt.Sprintf("delivery %d", v.Seq), words)
	}
	for _, p := range d.Postings {
		pairs = append(pairs, "copy", fmt.Sprintf("%s since %s, %s", p.Target, sh.when(p.At), p.Ref))
	}
	return sh.lines(pairs...)
}

// deliveryWords says in a line how far a delivery has come.
func deliveryWords(sh *shell, kind, target, state string, attempts int, due time.Time, code, msg string) string {
	s := strings.TrimSpace(kind+" "+target) + ": " + state
	if state == "pending" {
		s += ", due " + sh.when(due)
	}
	if attempts > 0 && state != "done" {
		s += ", tried " + times(attempts)
	}
	if state != "done" && msg != "" {
		s += fmt.Sprintf(": %s (%s)", msg, code)
	}
	return s
}

// times writes "once", "twice", "3 times".
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// optionalText is valueText of what may not be there.
func optionalText(v jsontext.Value) string {
	if v == nil {
		return ""
	}
	return valueText(v)
}
