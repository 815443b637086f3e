package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// protocol is what the command line speaks; the hub answers in the same version.
const protocol = "0.5"

// maxInput bounds what is read from a file or standard input, in bytes. The hub
// takes less; this only keeps a wrong path from filling the memory.
const maxInput = 16 << 20

// content is what every message may say.
type content struct {
	Title string `arg:"" optional:"" help:"The question, or what there is to know or do, in one line."`

	Body        string            `help:"More to read, in Markdown: the text, @FILE, or - for standard input." placeholder:"TEXT|@FILE|-"`
	Priority    priority          `help:"low, normal, high or urgent." complete:"low,normal,high,urgent" placeholder:"WORD"`
	Tag         []string          `help:"A tag; may be repeated." sep:"none" placeholder:"TAG"`
	Project     string            `help:"The project that this is about."`
	Label       map[string]string `help:"A label of this agent; may be repeated." mapsep:"none" placeholder:"KEY=VALUE"`
	ContextFile []string          `help:"A file to show with it; may be repeated." sep:"none" placeholder:"FILE"`
	Sensitive   bool              `help:"Show no more than the title outside the page."`
	Expires     span              `help:"How long it may be answered, such as 2h or 3d." placeholder:"SPAN"`
}

// priority is one of the protocol's.
type priority ma2h.Priority

func (p *priority) UnmarshalText(text []byte) error {
	*p = priority(text)
	return oneOf(string(text), []string{string(ma2h.Low), string(ma2h.Normal), string(ma2h.High), string(ma2h.Urgent)})
}

// envelope makes a message of it, without request and action.
func (c *content) envelope(sh *shell, r *author, t ma2h.Type) (*ma2h.Envelope, error) {
	if strings.TrimSpace(c.Title) == "" {
		return nil, usage("say what it is about: beckon %s \"…\" (or give a whole envelope with --file)", t)
	}
	agent, err := r.sender()
	if err != nil {
		return nil, err
	}
	agent.Project, agent.Labels = c.Project, c.Label
	now := time.Now()
	e := &ma2h.Envelope{
		Version: protocol, Type: t, CreatedAt: ma2h.FormatTime(now), Agent: agent,
		Title: c.Title, Priority: ma2h.Priority(c.Priority), Tags: c.Tag, Sensitive: c.Sensitive,
	}
	if c.Expires > 0 {
		e.ExpiresAt = ma2h.FormatTime(now.Add(time.Duration(c.Expires)))
	}
	if e.Body, err = readText(sh, "--body", c.Body); err != nil {
		return nil, err
	}
	for _, name := range c.ContextFile {
		p, err := contextPart(name)
		if err != nil {
			return nil, err
		}
		e.Context = append(e.Context, p)
	}
	return e, nil
}

// onlyFile refuses flags that say what an envelope from a file says already.
func onlyFile(flags ...any) error {
	for _, f := range flags {
		if !reflect.ValueOf(f).Elem().IsZero() {
			return usage("--file takes the whole message from the envelope: leave out the title and the flags that describe the message")
		}
	}
	return nil
}

// readText reads a text that may lie in a file (@FILE) or on standard input (-).
func readText(sh *shell, flag, s string) (string, error) {
	var b []byte
	var err error
	switch name, ok := strings.CutPrefix(s, "@"); {
	case s == "-":
		b, err = readAll(sh.in, "standard input")
	case ok:
		b, err = readFile(name)
	default:
		return s, nil
	}
	if err != nil {
		return "", usage("%s: %v", flag, err)
	}
	if !utf8.Valid(b) {
		return "", usage("%s: %s is not a text in UTF-8", flag, s)
	}
	return strings.TrimRight(string(b), "\n"), nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name)
}

func readAll(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > maxInput {
		return nil, fmt.Errorf("read %s: more than %d MB", name, maxInput>>20)
	}
	return b, nil
}

// contextPart makes a Part of a file: a JSON object is shown as data, anything
// else must be a text.
func contextPart(name string) (ma2h.Part, error) {
	b, err := readFile(name)
	if err != nil {
		return ma2h.Part{}, usage("--context-file: %v", err)
	}
	if !utf8.Valid(b) {
		return ma2h.Part{}, usage("--context-file: %s is not a text in UTF-8; put it where people can open it and link it in the body", name)
	}
	meta, err := json.Marshal(map[string]string{"name": filepath.Base(name)})
	if err != nil {
		return ma2h.Part{}, fmt.Errorf("name %s: %w", name, err)
	}
	p := ma2h.Part{Kind: "text", Metadata: meta}
	if v := jsontext.Value(b); filepath.Ext(name) == ".json" && v.IsValid() && v.Kind() == '{' {
		p.Kind, p.Data = "data", v
		return p, nil
	}
	text := string(b)
	p.Text = &text
	return p, nil
}

// randomKey makes an idempotency key that no other invocation has.
func randomKey() string { return "cli-" + rand.Text() }
