package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// askCmd asks for a decision. Without --wait it prints the message id and ends
// with 0: the ask is out, and "beckon wait" gets the answer.
type askCmd struct {
	content `group:"The message:"`
	choice  `group:"The decision:"`
	sending
	author `group:"The hub:"`
}

// choice is what there is to decide.
type choice struct {
	Option   []string          `help:"A choice; may be repeated. Without a label the value is shown." sep:"none" placeholder:"VALUE=LABEL"`
	Describe map[string]string `help:"What a choice means; may be repeated." mapsep:"none" placeholder:"VALUE=TEXT"`
	Field    []string          `help:"A field of a form; may be repeated. TYPE is string, number, integer, boolean, secret or a|b; ! means that it must be filled in." sep:"none" placeholder:"NAME:TYPE[!][=TITLE]"`
	Confirm  bool              `help:"Ask for approve or deny."`
	Default  string            `help:"What applies when nobody answers in time: a choice, or a JSON object for a form. Without --expires, the time is that of --wait." placeholder:"VALUE"`
	Resolver []string          `help:"Who may answer, such as human:alice; may be repeated. Otherwise the hub's route says it." sep:"none" placeholder:"ACTOR"`
}

func (a *askCmd) Run(ctx context.Context, sh *shell) error {
	if a.File != "" {
		if err := onlyFile(&a.content, &a.choice); err != nil {
			return err
		}
		raw, err := fillFile(sh, &a.author, "--file", a.File, ma2h.Ask, a.IdempotencyKey)
		if err != nil {
			return err
		}
		return a.send(ctx, sh, &a.author, raw, time.Duration(a.Wait))
	}
	until, err := a.times()
	if err != nil {
		return err
	}
	e, err := a.envelope(sh, &a.author, ma2h.Ask)
	if err != nil {
		return err
	}
	if e.Request, err = a.request(); err != nil {
		return err
	}
	return a.sendBuilt(ctx, sh, &a.author, e, until)
}

// expiryGrace is how much longer than the ask lives the command waits, for the
// hub to say that it has expired.
const expiryGrace = 15 * time.Second

// times settles how long the ask lives and how long the command waits.
func (a *askCmd) times() (until time.Duration, err error) {
	if a.Default != "" && a.Expires == 0 {
		if a.Wait == 0 {
			return 0, usage("--default applies when time is up: say how long with --expires or --wait")
		}
		a.Expires = a.Wait
	}
	until = time.Duration(a.Wait)
	if a.Wait > 0 && a.Expires > 0 && a.Expires <= a.Wait {
		until += expiryGrace
	}
	return until, nil
}

// request makes the decision that is wanted.
func (c *choice) request() (*ma2h.Request, error) {
	if c.Confirm && len(c.Field) > 0 || len(c.Option) > 0 && len(c.Field) > 0 {
		return nil, usage("a decision is a choice (--option, --confirm) or a form (--field), not both")
	}
	opts, err := options(c.Option, c.Describe)
	if err != nil {
		return nil, err
	}
	req := &ma2h.Request{AllowedResolvers: c.Resolver}
	switch {
	case len(c.Field) > 0:
		req.Mode = ma2h.Input
		if req.Schema, err = schema(c.Field); err != nil {
			return nil, err
		}
		return req, c.formDefault(req)
	case c.Confirm:
		req.Mode, req.Options = ma2h.Confirm, opts
		if len(opts) != 0 && len(opts) != 2 {
			return nil, usage("--confirm takes two --option or none (approve and deny)")
		}
	case len(opts) > 0:
		req.Mode, req.Options = ma2h.Select, opts
	default:
		return nil, usage("say what can be answered: --option VALUE=LABEL for each choice, --confirm, or --field NAME:TYPE for each field of a form")
	}
	if c.Default == "" {
		return req, nil
	}
	values := []string{"approve", "deny"}
	if len(opts) > 0 {
		values = values[:0]
		for _, o := range opts {
			values = append(values, o.Value)
		}
	}
	if !slices.Contains(values, c.Default) {
		return nil, usage("--default: %q is not one of the options (%s)", c.Default, strings.Join(values, ", "))
	}
	req.DefaultOnExpire = jsontext.Value(quote(c.Default))
	return req, nil
}

func (c *choice) formDefault(req *ma2h.Request) error {
	if c.Default == "" {
		return nil
	}
	v := jsontext.Value(c.Default)
	if !v.IsValid() || v.Kind() != '{' {
		return usage("--default: a form takes a JSON object, such as {\"reason\":\"none\"}")
	}
	req.DefaultOnExpire = v
	return nil
}
