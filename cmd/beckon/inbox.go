package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// inboxCmd takes what people wrote to this agent. What is not acked comes again.
type inboxCmd struct {
	Max        limit  `help:"Take at most this many; otherwise as many as the hub gives at once." placeholder:"N"`
	Wait       span   `help:"If there is nothing, wait for it, this long at most." placeholder:"SPAN"`
	Ack        bool   `help:"Tell the hub that they were dealt with, as soon as they are printed."`
	Note       string `help:"What to tell the people who wrote, with --ack." placeholder:"TEXT"`
	JSON       bool   `help:"Print each as JSON, one a line." xor:"form"`
	Null       bool   `short:"0" help:"Print the body too, and end each with a NUL byte." xor:"form"`
	SecretFile string `help:"Verify with the secret in this file, not with that in BECKON_SECRET." placeholder:"FILE"`
	remote
}

func (c *inboxCmd) Run(ctx context.Context, sh *shell) error {
	if c.Note != "" && !c.Ack {
		return usage("--note goes with --ack")
	}
	if c.Agent == "" {
		return errNoAgent
	}
	s, err := c.connect()
	if err != nil {
		return err
	}
	trust, err := c.trust(ctx, sh, s)
	if err != nil {
		return err
	}
	s.Client = s.Trusting(trust)
	list, err := c.take(ctx, sh, s)
	if len(list) == 0 && err == nil {
		return c.nothing(ctx, sh)
	}
	// What could be verified is printed, whatever could not.
	if perr := c.print(sh, list); perr != nil {
		return perr
	}
	if c.Ack && len(list) > 0 {
		_, aerr := call(sh, s, func() (int, error) { return s.AckInbox(ctx, directiveIDs(list), c.Note) })
		err = errors.Join(err, aerr)
	}
	return err
}

// trust is what the hub's directives are checked with: a secret that it shares
// with the agent, or, if the hub signs by its own key, what it publishes.
func (c *inboxCmd) trust(ctx context.Context, sh *shell, s *session) (client.Trust, error) {
	secret, err := c.secret()
	if err != nil {
		return client.Trust{}, err
	}
	d, err := call(sh, s, func() (*client.Capability, error) { return s.Discovery(ctx) })
	if err != nil {
		return client.Trust{}, err
	}
	var algs []string
	if d.Inbound != nil && d.Inbound.Enabled {
		algs = d.Inbound.SignatureAlgs
	}
	switch {
	case algs == nil:
		return client.Trust{}, &exitError{client.ExitRefused, "this hub has no inbox for agents"}
	case slices.Contains(algs, ma2h.AlgEd25519):
		return client.Trust{HubKeys: true}, nil
	case secret == "":
		return client.Trust{}, usage("the hub signs what people write with a secret that it shares with this agent: set BECKON_SECRET, or use --secret-file")
	}
	t := client.Trust{Secrets: [][]byte{[]byte(secret)}}
	if d.ReplayWindow > 0 {
		t.Window = min(time.Duration(d.ReplayWindow)*time.Second, maxAge)
	}
	return t, nil
}

// maxAge is how old a signature may be, whatever the hub says.
const maxAge = 15 * time.Minute

func (c *inboxCmd) secret() (string, error) {
	if c.SecretFile == "" {
		return os.Getenv("BECKON_SECRET"), nil
	}
	b, err := readFile(c.SecretFile)
	if err != nil {
		return "", usage("--secret-file: %v", err)
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" {
		return "", usage("--secret-file: %s is empty", c.SecretFile)
	}
	return secret, nil
}

// take waits as long as it may. While it does, a terminal says so.
func (c *inboxCmd) take(ctx context.Context, sh *shell, s *session) ([]*ma2h.Directive, error) {
	stop := sh.spin(func() string {
		switch {
		case s.pulse.down.Load():
			return noAnswer
		case c.Wait > 0:
			return "waiting for somebody to write"
		}
		return ""
	})
	defer stop()
	return s.Inbox(ctx, int(c.Max), time.Duration(c.Wait))
}

func (c *inboxCmd) nothing(ctx context.Context, sh *shell) error {
	switch {
	case ctx.Err() != nil:
		return &exitError{client.ExitOpen, "interrupted"}
	case c.Wait > 0:
		return &exitError{client.ExitOpen, "nobody wrote in that time"}
	}
	sh.say("the inbox is empty")
	return nil
}

func (c *inboxCmd) print(sh *shell, list []*ma2h.Directive) error {
	switch {
	case c.JSON:
		for _, d := range list {
			if err := sh.printJSON(d); err != nil {
				return err
			}
		}
		return nil
	case c.Null:
		for _, d := range list {
			if _, err := fmt.Fprint(sh.out, withBody(d), "\x00"); err != nil {
				return fmt.Errorf("write the result: %w", err)
			}
		}
		return nil
	}
	t := &table{head: []string{"ID", "FROM", "TIME", "TITLE"}, flex: 3, state: -1}
	for _, d := range list {
		t.add(d.ID, d.From, d.CreatedAt, d.Title)
	}
	return t.write(sh)
}

// withBody is a directive as read -d ” takes it. A NUL can't be in it twice.
func withBody(d *ma2h.Directive) string {
	return strings.Join([]string{clean(d.ID), clean(d.From), clean(d.CreatedAt), clean(d.Title), strings.ReplaceAll(d.Body, "\x00", "")}, "\t")
}

func directiveIDs(list []*ma2h.Directive) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = d.ID
	}
	return out
}
