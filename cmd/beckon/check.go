package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"beckon/config"
	"beckon/hub/app"
	"beckon/hub/client"
)

// checkCmd says what is wrong with a config, and what the hub would do with it.
// It changes nothing, and a hub may run on the same database meanwhile.
//
// It ends with 0, with 2 when something has to be mended, and with 7 when the
// hub would refuse the message.
type checkCmd struct {
	configFile
	Live    bool   `help:"Call out too: open the public URL, test the channels' credentials, open the database if no hub has it."`
	Message string `help:"Run this envelope dry: is it valid, who would be asked, where, when. Use - for standard input." placeholder:"FILE"`
	Agent   string `help:"Whose credential the message comes with; otherwise its own agent's." placeholder:"ID"`
	JSON    bool   `name:"json" help:"Print everything as JSON."`
}

func (c *checkCmd) Run(ctx context.Context, sh *shell) error {
	c.Config = cmp.Or(c.Config, "beckon.yaml")
	o := app.CheckOptions{Live: c.Live, Agent: c.Agent}
	if c.Message != "" {
		raw, err := c.message(sh)
		if err != nil {
			return usage("--message: %v", err)
		}
		o.Message = raw
	}
	r, err := app.Check(ctx, c.Config, o)
	if err != nil {
		return usage("%v", err)
	}
	if c.JSON {
		enc := json.NewEncoder(sh.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(r)
	} else {
		_, err = io.WriteString(sh.out, checkText(r))
	}
	switch {
	case err != nil:
		return fmt.Errorf("write the result: %w", err)
	case len(r.Errors) > 0:
		return &exitError{exitUsage, fmt.Sprintf("%s has %s", r.File, count(len(r.Errors), "error"))}
	case r.Bad():
		return &exitError{exitUsage, "there is a problem to be mended"}
	case r.Message != nil && r.Message.Code != "":
		return &exitError{client.ExitRefused, "the hub would refuse the message"}
	}
	return nil
}

func (c *checkCmd) message(sh *shell) ([]byte, error) {
	if c.Message == "-" {
		return readAll(sh.in, "standard input")
	}
	return readFile(c.Message)
}

// checkText writes a report for people. Errors and warnings come first, one a
// line, as editors read them.
func checkText(r *app.Report) string {
	var b strings.Builder
	for _, e := range r.Errors {
		fmt.Fprintln(&b, e)
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(&b, asWarning(w))
	}
	if len(r.Errors) > 0 {
		return b.String()
	}
	if len(r.Warnings) > 0 {
		b.WriteByte('\n')
	}
	for _, route := range r.Routes {
		name := fmt.Sprintf("routes[%d]", route.Position)
		if route.Name != "" {
			name += " " + route.Name
		}
		fmt.Fprintf(&b, "%s takes %s.\n", name, route.Takes)
		reachText(&b, &route.ReachReport)
		b.WriteByte('\n')
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-7s  %s: %s\n", f.Level, f.What, f.Msg)
	}
	if m := r.Message; m != nil {
		b.WriteByte('\n')
		messageText(&b, m)
	}
	return b.String()
}

// asWarning writes a warning as errors are written, so that editors find it.
func asWarning(w config.Error) string {
	at := w
	at.Path, at.Msg = "", "warning"
	out := at.Error()
	if w.Path != "" {
		out += ": " + w.Path
	}
	return out + ": " + w.Msg
}

func reachText(b *strings.Builder, r *app.ReachReport) {
	fmt.Fprintf(b, "  may answer: %s\n", r.Who)
	for _, s := range r.Steps {
		fmt.Fprintf(b, "  %s: %s\n", s.When, s.Where)
	}
	if len(r.Steps) == 0 {
		fmt.Fprintf(b, "  goes nowhere\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", w)
	}
}

func messageText(b *strings.Builder, m *app.MessageReport) {
	if m.Code != "" {
		field := ""
		if m.Field != "" {
			field = m.Field + ": "
		}
		fmt.Fprintf(b, "The hub would refuse the message: %s: %s%s\n", m.Code, field, m.Refusal)
		return
	}
	fmt.Fprintf(b, "The hub would take the message: %s from %s (MA2H %s)\n", m.Type, m.Agent, m.Version)
	fmt.Fprintf(b, "  title: %s\n", m.Title)
	fmt.Fprintf(b, "  route: %s\n", m.Route)
	reachText(b, m.ReachReport)
	if m.Expiry != "" {
		fmt.Fprintf(b, "  expires: %s\n", m.Expiry)
	} else if m.Type != "notify" {
		fmt.Fprintf(b, "  expires: never\n")
	}
	if m.Sensitive {
		fmt.Fprintf(b, "  sensitive: channels show the title and a link only\n")
	}
	if m.Masked > 0 {
		fmt.Fprintf(b, "  masked: %s\n", count(m.Masked, "secret"))
	}
}

// count writes "1 error", "2 errors".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
