package hub

import (
	"bytes"
	"encoding/json"
	"regexp/syntax"
	"strconv"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPatterns bounds the patterns of one form together, repetitions counted out.
// Go's expressions never run away on a text, but "x{1000}" compiles into a
// thousand steps, and a schema is compiled each time that a card is made of it.
const maxPatterns = 10_000

// checkCost refuses a schema that would be dear to compile or longer than people
// can use, before it is compiled.
func checkCost(e *ma2h.Envelope, l Limits) error {
	props, _ := members(e.Request.Schema).get("properties")
	patterns := 0
	for _, p := range members(props) {
		at := "request.schema.properties." + p.name
		field := members(p.value)
		if v, ok := field.get("enum"); ok {
			if n := len(elements(v)); n > l.Options {
				return refuse(ma2h.CodeInvalidField, at+".enum", "has %d values, the limit is %d (max_options)", n, l.Options)
			}
		}
		if v, ok := field.get("pattern"); ok {
			if patterns += patternSteps(textOf(v)); patterns > maxPatterns {
				return refuse(ma2h.CodeInvalidField, at+".pattern",
					"is too large: the patterns of a form may have %d characters together, repetitions such as {1000} counted out", maxPatterns)
			}
		}
	}
	return nil
}

// patternSteps is about how many steps a pattern compiles into. What does not
// parse costs nothing: the compiler will say so.
func patternSteps(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return stepsOf(re)
}

func stepsOf(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat, syntax.OpConcat:
		n = 0
	}
	for _, sub := range re.Sub {
		n += stepsOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// decodeJSON reads scanned JSON as the validator takes it. The validator counts
// exactly, and 1e-999999 exactly is a fraction of a million digits: what a double
// can't tell from something short becomes that.
func decodeJSON(raw jsontext.Value) (any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return shortNumbers(v), nil
}

func shortNumbers(v any) any {
	const enough = 40 // characters; a double needs 24
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err == nil && (f == 0 || len(v) > enough) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	case map[string]any:
		for name := range v {
			v[name] = shortNumbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = shortNumbers(v[i])
		}
	}
	return v
}
