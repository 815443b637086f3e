package main

import (
	"strings"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// option reads VALUE=LABEL; without a label the value is shown.
func option(s string) ma2h.Option {
	value, label, ok := strings.Cut(s, "=")
	if !ok || strings.TrimSpace(label) == "" {
		label = value
	}
	return ma2h.Option{Value: value, Label: label}
}

// options reads --option and --describe.
func options(list []string, describe map[string]string) ([]ma2h.Option, error) {
	var out []ma2h.Option // nil when there are none: a confirm has its own two
	named := map[string]bool{}
	for _, s := range list {
		o := option(s)
		if o.Value == "" {
			return nil, usage("--option %s: write VALUE=LABEL, such as ship=\"Ship now\"", s)
		}
		if named[o.Value] {
			return nil, usage("--option %s: there are two options %q", s, o.Value)
		}
		named[o.Value] = true
		o.Description = describe[o.Value]
		out = append(out, o)
	}
	for value := range describe {
		if !named[value] {
			return nil, usage("--describe %s: there is no --option %s", value, value)
		}
	}
	return out, nil
}

// schema makes the flat JSON Schema of a form from NAME:TYPE[!][=TITLE] fields.
// It is written by hand to keep the order, which is the order of the form.
func schema(fields []string) (jsontext.Value, error) {
	var props, required strings.Builder
	seen := map[string]bool{}
	for _, s := range fields {
		spec, title, _ := strings.Cut(s, "=")
		name, kind, ok := strings.Cut(spec, ":")
		kind, must := strings.CutSuffix(kind, "!")
		if !ok || name == "" || kind == "" {
			return nil, usage("--field %s: write NAME:TYPE, with ! behind it when it must be filled in, such as reason:string!=\"Why?\"", s)
		}
		if seen[name] {
			return nil, usage("--field %s: there are two fields %q", s, name)
		}
		seen[name] = true
		rest, err := fieldType(s, kind)
		if err != nil {
			return nil, err
		}
		if title != "" {
			rest += `,"title":` + quote(title)
		}
		sep := ""
		if props.Len() > 0 {
			sep = ","
		}
		props.WriteString(sep + quote(name) + ":{" + rest + "}")
		if must {
			sep = ""
			if required.Len() > 0 {
				sep = ","
			}
			required.WriteString(sep + quote(name))
		}
	}
	out := `{"type":"object","properties":{` + props.String() + `}`
	if required.Len() > 0 {
		out += `,"required":[` + required.String() + `]`
	}
	return jsontext.Value(out + "}"), nil
}

// fieldType is what the schema says of a type: string, number, integer,
// boolean, secret, or choices such as low|high.
func fieldType(field, kind string) (string, error) {
	switch kind {
	case "string", "number", "integer", "boolean":
		return `"type":` + quote(kind), nil
	case "secret":
		return `"type":"string","x-ma2h-sensitive":true`, nil
	}
	choices := strings.Split(kind, "|")
	if len(choices) < 2 {
		return "", usage("--field %s: %q is none of string, number, integer, boolean, secret or choices such as low|high", field, kind)
	}
	for i, c := range choices {
		if c == "" {
			return "", usage("--field %s: one of the choices is empty", field)
		}
		choices[i] = quote(c)
	}
	return `"type":"string","enum":[` + strings.Join(choices, ",") + `]`, nil
}

// quote writes s as JSON. The command line is made of UTF-8 or of bytes that
// become U+FFFD.
func quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	return string(b)
}
