package ma2h

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

var errURI = errors.New("must be an absolute URI such as https://example.com/path")

// meaning judges what the schema can't. The shape of e is right.
func (e *Envelope) meaning() error {
	if err := e.meaningLeg(); err != nil {
		return err
	}
	switch {
	case breaksLine(e.Title):
		return meaningless("title", "must be one line without control characters")
	case blank(e.Title):
		return meaningless("title", "must not be blank")
	}
	if e.Request != nil {
		return e.Request.meaning(e.legacy())
	}
	if e.Action != nil {
		return e.Action.meaning()
	}
	return nil
}

// meaningLeg refuses the inter-agent leg, which this hub does not have. The
// fields are never ignored, or a message meant for an agent would reach people
// (spec §8.1).
func (e *Envelope) meaningLeg() error {
	field, value := "to", e.To
	if value == "" {
		field, value = "agent.session", e.Agent.Session
	}
	switch {
	case value == "":
		return nil
	case e.Minor < 5:
		return meaningless(field, "is not known below 0.5")
	case strings.Contains(e.Agent.ID, "#"):
		return meaningless("agent.id", "must not hold # beside %s", field)
	case field == "to":
		return &Error{
			Code: CodeUnknownDestination, Field: "to",
			Msg: "this hub delivers to people only; leave it out",
		}
	}
	return meaningless(field, "sessions are not offered here; leave it out")
}

func (r *Request) meaning(legacy bool) error {
	if r.Mode != Input {
		seen := make(map[string]struct{}, len(r.Options))
		for i, o := range r.Options {
			if err := o.meaning(i); err != nil {
				return err
			}
			if _, twice := seen[o.Value]; twice {
				return meaningless(fmt.Sprintf("request.options[%d].value", i), "is used by an earlier option too")
			}
			seen[o.Value] = struct{}{}
		}
	}
	if err := r.meaningDefault(legacy); err != nil {
		return err
	}
	return r.Callback.meaning("request.callback")
}

func (o *Option) meaning(i int) error {
	switch {
	case o.Value == "":
		return meaningless(fmt.Sprintf("request.options[%d].value", i), "must not be empty")
	case blank(o.Label):
		return meaningless(fmt.Sprintf("request.options[%d].label", i), "must not be blank")
	}
	return nil
}

// blank reports whether a person would see nothing of s: no rune but spaces,
// zero-width ones and other marks without a shape of their own.
func blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		// The fillers are letters to Unicode, the empty braille cell is a symbol.
		return unicode.IsGraphic(r) && r != '\u2800' && !unicode.IsSpace(r) && !unicode.Is(unicode.Zs, r) && !unicode.Is(unicode.M, r) &&
			!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}

// meaningDefault checks default_on_expire (spec §5.2). At 0.1 it is a string or
// null in every mode.
func (r *Request) meaningDefault(legacy bool) error {
	const field = "request.default_on_expire"
	k := r.DefaultOnExpire.Kind()
	if r.DefaultOnExpire == nil || k == 'n' {
		return nil
	}
	if r.Mode == Input {
		switch {
		case legacy && k != '"':
			return meaningless(field, "must be a string or null at 0.1")
		case !legacy && k != '{':
			return meaningless(field, "must be an object or null in mode input")
		}
		return nil
	}
	if k != '"' {
		return meaningless(field, "must be the value of an option, or null")
	}
	values := []string{"approve", "deny"}
	if r.Options != nil {
		values = values[:0]
		for _, o := range r.Options {
			values = append(values, o.Value)
		}
	}
	def := text(r.DefaultOnExpire)
	for _, v := range values {
		if v == def {
			return nil
		}
	}
	return meaningless(field, "%s is not one of the options (%s)", shorten(strconv.Quote(def)), shorten(strings.Join(values, ", ")))
}

// shorten cuts s for an error message.
func shorten(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func (a *Action) meaning() error {
	for i, item := range a.Checklist {
		if blank(item.Text) {
			return meaningless(fmt.Sprintf("action.checklist[%d].text", i), "must not be blank")
		}
	}
	return a.Callback.meaning("action.callback")
}

// meaning wants a push to go where HTTP goes.
func (c *Callback) meaning(field string) error {
	if c == nil || c.Mode != "push" {
		return nil
	}
	u, err := parseURI(c.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return meaningless(field+".url", "must be an http or https URL with a host")
	}
	return nil
}

// isObjectOrString reports whether raw can be the value of an answer.
func isObjectOrString(raw jsontext.Value) bool {
	return raw.Kind() == '"' || raw.Kind() == '{'
}
