package hub

import (
	"regexp/syntax"

	"beckon/hub/ma2h"
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
