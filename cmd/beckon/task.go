package main

import (
	"context"
	"time"

	"beckon/hub/ma2h"
)

// taskCmd asks people to do something. Without --wait it prints the message id
// and ends with 0.
type taskCmd struct {
	content `group:"The message:"`
	work    `group:"The work:"`
	sending
	author `group:"The hub:"`
}

// work is what there is to do.
type work struct {
	Instructions string   `help:"What to do, in Markdown: the text, @FILE, or - for standard input." placeholder:"TEXT|@FILE|-"`
	Step         []string `help:"A step to tick off; may be repeated." sep:"none" placeholder:"TEXT"`
	Verify       string   `help:"How to tell that it is done." placeholder:"TEXT"`
	Resolver     []string `help:"Who may do it, such as human:alice; may be repeated. Otherwise the hub's route says it." sep:"none" placeholder:"ACTOR"`
}

func (t *taskCmd) Run(ctx context.Context, sh *shell) error {
	if t.File != "" {
		if err := onlyFile(&t.content, &t.work); err != nil {
			return err
		}
		raw, err := fillFile(sh, &t.author, "--file", t.File, ma2h.Task, t.IdempotencyKey)
		if err != nil {
			return err
		}
		return t.send(ctx, sh, &t.author, raw, time.Duration(t.Wait))
	}
	if t.Instructions == "" {
		return usage("say what to do with --instructions")
	}
	if t.Instructions == "-" && t.Body == "-" {
		return usage("only one of --body and --instructions can come from standard input")
	}
	e, err := t.envelope(sh, &t.author, ma2h.Task)
	if err != nil {
		return err
	}
	e.Action = &ma2h.Action{Verification: t.Verify, AllowedResolvers: t.Resolver}
	if e.Action.Instructions, err = readText(sh, "--instructions", t.Instructions); err != nil {
		return err
	}
	for _, s := range t.Step {
		e.Action.Checklist = append(e.Action.Checklist, ma2h.ChecklistItem{Text: s})
	}
	until := time.Duration(t.Wait)
	if t.Expires > 0 && t.Expires <= t.Wait {
		until += expiryGrace
	}
	return t.sendBuilt(ctx, sh, &t.author, e, until)
}
