package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"beckon/hub/client"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// report prints how a message ended: the value alone, or the whole Response,
// on standard output, and one line for a person. The error is the exit code.
func report(sh *shell, m *client.Message, asJSON bool) error {
	sh.say("%s", ending(m))
	if err := printEnding(sh, m, asJSON); err != nil {
		return err
	}
	if code := client.StatusCode(m.Status); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

func printEnding(sh *shell, m *client.Message, asJSON bool) error {
	if asJSON {
		var raw struct {
			Response jsontext.Value `json:"response"`
		}
		if err := json.Unmarshal(m.Body, &raw); err != nil {
			return fmt.Errorf("read the Response: %w", err)
		}
		if raw.Response == nil {
			return nil // a notify has none
		}
		return sh.print(string(raw.Response))
	}
	if m.Response == nil || m.Response.Response == nil || m.Response.Response.Value == nil {
		return nil
	}
	return sh.print(valueText(m.Response.Response.Value))
}

// valueText writes a text as it is, and anything else as compact JSON.
func valueText(v jsontext.Value) string {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	c := v.Clone()
	if c.Compact() != nil {
		return string(v)
	}
	return string(c)
}

// ending says how a message ended, in one line.
func ending(m *client.Message) string {
	var d ma2h.Detail
	if m.Response != nil && m.Response.Response != nil {
		d = *m.Response.Response
	}
	who := actorName(d.Actor)
	var s string
	switch m.Status {
	case ma2h.Answered:
		s = who + ": " + cmp.Or(label(m, d.Value), "answered")
	case ma2h.Completed:
		s = who + ": done" + steps(d.Checklist)
	case ma2h.Dismissed:
		s = who + ": can't be done" + steps(d.Checklist)
	case ma2h.Expired:
		s = "expired, nobody answered"
		if m.Response != nil && m.Response.Defaulted {
			s += "; the default was applied"
			if l := label(m, d.Value); l != "" {
				s += ": " + l
			}
		}
	case ma2h.Delivered:
		s = "delivered; a notify has no answer"
	default: // declined, cancelled
		s = fmt.Sprintf("%s by %s", m.Status, who)
	}
	if d.Comment != "" {
		s += fmt.Sprintf(", “%s”", oneLine(d.Comment))
	}
	return s
}

// label is what people call a choice. It is empty for a form: some of its
// fields may be sensitive, and this line ends up in the logs of scripts.
func label(m *client.Message, v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	text := valueText(v)
	if m.Request != nil {
		for _, o := range m.Request.Options {
			if o.Value == text {
				text = o.Label
			}
		}
	}
	return oneLine(text)
}

func steps(list []ma2h.ChecklistItem) string {
	if len(list) == 0 {
		return ""
	}
	done := 0
	for _, s := range list {
		if s.Done {
			done++
		}
	}
	return fmt.Sprintf(" (%d of %d steps)", done, len(list))
}

func actorName(actor string) string {
	if _, name, ok := strings.Cut(actor, ":"); ok {
		return oneLine(name)
	}
	return oneLine(actor)
}

// maxLine is where a line for a person is cut, in runes.
const maxLine = 200

// oneLine makes a text of somebody else's fit to be shown on a terminal: no
// line breaks, no control characters, nothing that turns the line around.
func oneLine(s string) string {
	s = clean(s)
	if r := []rune(s); len(r) > maxLine {
		s = string(r[:maxLine]) + "…"
	}
	return s
}

// clean is oneLine without the cut.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
