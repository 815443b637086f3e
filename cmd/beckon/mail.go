package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"beckon/channels/email/extract"
	"beckon/channels/email/inbound"

	"github.com/go-json-experiment/json"
)

// mailCmd shows what the hub makes of mail. Explain and extract talk to no hub.
type mailCmd struct {
	Explain mailExplainCmd `cmd:"" help:"Say what the hub makes of a mail, and why."`
	Extract mailExtractCmd `cmd:"" help:"Print what a person wrote in the body of a reply."`
	Show    mailShowCmd    `cmd:"" help:"Print the mails that came in about a message, for an operator."`
}

// mailExplainCmd judges mails about one question.
type mailExplainCmd struct {
	Context string   `required:"" help:"The question as it was sent: a JSON file, or - for standard input." placeholder:"FILE"`
	Mail    []string `arg:"" help:"A mail as it came, in a file; several are judged in order." placeholder:"MAIL"`
}

// explained is one line of the result.
type explained struct {
	File string `json:"file"`
	*inbound.Explanation
}

func (c *mailExplainCmd) Run(ctx context.Context, sh *shell) error {
	data, err := sh.file(c.Context)
	if err != nil {
		return usage("--context: %v", err)
	}
	mc, err := inbound.ReadContext(data)
	if err != nil {
		return usage("--context: %s: %v", c.Context, err)
	}
	e := inbound.NewExplainer(mc)
	for _, name := range c.Mail {
		raw, err := readMail(name)
		if err != nil {
			return usage("%v", err)
		}
		x, err := e.Explain(ctx, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		line, err := json.Marshal(explained{name, x}, json.FormatNilSliceAsNull(false))
		if err != nil {
			return fmt.Errorf("write what %s is: %w", name, err)
		}
		if err := sh.print(string(line)); err != nil {
			return err
		}
	}
	return nil
}

// file reads a file, or standard input for "-".
func (sh *shell) file(name string) ([]byte, error) {
	if name == "-" {
		return readAll(sh.in, "standard input")
	}
	return readFile(name)
}

// readMail reads as much of a file as a hub reads of a mail.
func readMail(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, inbound.MaxMail))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return raw, nil
}

// mailExtractCmd reads a body as the hub does before it looks for an answer.
type mailExtractCmd struct {
	HTML bool `name:"html" help:"The body is HTML."`
}

func (c *mailExtractCmd) Run(sh *shell) error {
	body, err := readAll(sh.in, "standard input")
	if err != nil {
		return usage("%v", err)
	}
	read := extract.Text
	if c.HTML {
		read = extract.HTML
	}
	r := read(string(body))
	if r.Truncated {
		sh.say("beckon: only the first %d KB were read, as of every mail", extract.MaxBytes>>10)
	}
	if r.Text == "" {
		sh.say("beckon: the person wrote nothing")
		return nil
	}
	return sh.print(r.Text)
}
