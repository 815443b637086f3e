package hub

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// member is one name and value of a JSON object, in the order that it came.
type member struct {
	name  string
	value jsontext.Value
}

type memberList []member

func (l memberList) get(name string) (jsontext.Value, bool) {
	for _, m := range l {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// members reads the members of an object that was scanned before; anything
// else has none.
func members(v jsontext.Value) memberList {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil
	}
	var out memberList
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return out
		}
		n := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return out
		}
		out = append(out, member{n, bytes.Clone(value)})
	}
	return out
}

// elements reads the elements of an array that was scanned before.
func elements(v jsontext.Value) []jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil
	}
	var out []jsontext.Value
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		value, err := d.ReadValue()
		if err != nil {
			return out
		}
		out = append(out, bytes.Clone(value))
	}
	return out
}

// textOf is a scalar as text: a string unquoted, anything else as JSON.
func textOf(v jsontext.Value) string {
	if v.Kind() == '"' {
		b, err := jsontext.AppendUnquote(nil, v)
		if err == nil {
			return string(b)
		}
	}
	return strings.TrimSpace(string(v))
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "list"
	case '{':
		return "object"
	}
	return "boolean"
}

// explain turns a validation error into what is wrong with which field.
func explain(e *jsonschema.ValidationError, out []FieldError) []FieldError {
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			out = explain(c, out)
		}
		return out
	}
	field := "value"
	if len(e.InstanceLocation) > 0 {
		field = e.InstanceLocation[0]
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			out = append(out, FieldError{name, "is required"})
		}
		return out
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			out = append(out, FieldError{name, "is not a field of this form"})
		}
		return out
	case *kind.Type:
		return append(out, FieldError{field, "must be " + typeWords(k.Want)})
	case *kind.MinLength:
		return append(out, FieldError{field, fmt.Sprintf("must have at least %d characters", k.Want)})
	case *kind.MaxLength:
		return append(out, FieldError{field, fmt.Sprintf("must have at most %d characters", k.Want)})
	case *kind.Minimum:
		return append(out, FieldError{field, "must be at least " + decimal(k.Want)})
	case *kind.Maximum:
		return append(out, FieldError{field, "must be at most " + decimal(k.Want)})
	case *kind.ExclusiveMinimum:
		return append(out, FieldError{field, "must be more than " + decimal(k.Want)})
	case *kind.ExclusiveMaximum:
		return append(out, FieldError{field, "must be less than " + decimal(k.Want)})
	case *kind.MultipleOf:
		return append(out, FieldError{field, "must be a multiple of " + decimal(k.Want)})
	case *kind.Pattern:
		return append(out, FieldError{field, "must match the pattern " + brief(k.Want)})
	case *kind.Format:
		return append(out, FieldError{field, "must be a valid " + brief(k.Want)})
	case *kind.Enum, *kind.Const:
		return append(out, FieldError{field, "is not one of the allowed values"})
	}
	return append(out, FieldError{field, "does not fit the schema"})
}

// brief keeps what an agent wrote short where it is quoted in an error.
func brief(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func typeWords(types []string) string {
	words := map[string]string{
		"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false", "object": "an object",
	}
	var out []string
	for _, t := range types {
		out = append(out, words[t])
	}
	return strings.Join(out, " or ")
}
