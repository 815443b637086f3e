package fakeslack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// object is a JSON object as it came.
type object = map[string]any

// Surface is where blocks stand.
type Surface string

// The surfaces that apps can put blocks on.
const (
	OnMessage Surface = "message"
	OnModal   Surface = "modal"
	OnHome    Surface = "home"
)

// Problem is one thing that Slack would refuse.
type Problem struct {
	Pointer string // JSON pointer into what was sent, such as /blocks/0/text/text
	Message string // in Slack's words where they are known
	Error   string // the error code of the call, such as invalid_blocks
	Limit   string // the [Limit.Name] that is broken, or empty
}

func (p Problem) String() string {
	return fmt.Sprintf("%s: %s [json-pointer:%s]", p.Error, p.Message, p.Pointer)
}

// ValidateMessage checks the JSON body of a chat.postMessage, a
// chat.postEphemeral or a response URL. No problem is an empty list.
func ValidateMessage(body []byte) []Problem { return validateBody(body, false) }

// ValidateUpdate checks the JSON body of a chat.update, whose text may be a
// tenth as long.
func ValidateUpdate(body []byte) []Problem { return validateBody(body, true) }

// ValidateView checks a view of views.open, views.update, views.push or
// views.publish; pointers begin with /view.
func ValidateView(view []byte) []Problem {
	m, err := decodeObject(view)
	if err != nil {
		return []Problem{{Pointer: "/view", Message: "must be a valid JSON object", Error: "invalid_arguments"}}
	}
	return validateView(m, len(view))
}

// ValidateBlocks checks a JSON array of blocks for a surface.
func ValidateBlocks(blocks []byte, on Surface) []Problem {
	v := &validator{on: on, code: "invalid_blocks"}
	var list any
	if json.Unmarshal(blocks, &list) != nil {
		return []Problem{{Pointer: "/blocks", Message: "must be a valid JSON array", Error: "invalid_blocks_format"}}
	}
	v.blocks("/blocks", list)
	return v.problems
}

func validateBody(body []byte, update bool) []Problem {
	m, err := decodeObject(body)
	if err != nil {
		return []Problem{{Message: "must be a valid JSON object", Error: "invalid_json"}}
	}
	return validateMessage(m, update)
}

func decodeObject(raw []byte) (object, error) {
	var m object
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("not an object")
	}
	return m, nil
}

// validator walks what was sent and notes every problem.
type validator struct {
	on       Surface
	code     string // the error code of a problem that has no own
	problems []Problem

	blockIDs map[string]bool
	focus    string // pointer of the element with focus_on_load
	chars    int    // of all text in the blocks
	markdown int    // of all markdown blocks
	tables   int
	plans    int
	charts   int
	inputs   int
}

func (v *validator) add(at, format string, args ...any) {
	v.problems = append(v.problems, Problem{Pointer: at, Message: fmt.Sprintf(format, args...), Error: v.code})
}

// broken notes that limit id is broken.
func (v *validator) broken(id limitID, at, format string, args ...any) {
	lim := limitTable[id]
	code := lim.Error
	if code == "invalid_blocks" {
		code = v.code
	}
	v.problems = append(v.problems, Problem{Pointer: at, Message: fmt.Sprintf(format, args...), Error: code, Limit: lim.Name})
}

// length holds a string to limit id, in characters. Slack's words are those of
// the reported invalid_blocks errors.
func (v *validator) length(at, s string, id limitID) {
	lim := limitTable[id]
	switch n := utf8.RuneCountInString(s); {
	case n > lim.Max:
		v.broken(id, at, "must be less than %d characters", lim.Max+1)
	case n < lim.Min:
		v.broken(id, at, "must be more than %d characters", lim.Min-1)
	}
}

// size holds a list to limit id.
func (v *validator) size(at string, n int, id limitID) {
	lim := limitTable[id]
	switch {
	case n > lim.Max:
		v.broken(id, at, "no more than %d items allowed", lim.Max)
	case n < lim.Min:
		v.broken(id, at, "no less than %d items allowed", lim.Min)
	}
}

// check looks at one value.
type check func(at string, val any)

// field is one property of an object.
type field struct {
	name     string
	required bool
	check    check
}

func req(name string, c check) field { return field{name, true, c} }
func opt(name string, c check) field { return field{name, false, c} }

// object holds m to its fields: nothing missing, nothing unknown.
func (v *validator) object(at string, m object, fields ...field) {
	known := make(map[string]bool, len(fields))
	for _, f := range fields {
		known[f.name] = true
		val, ok := m[f.name]
		if !ok || val == nil {
			if f.required {
				v.add(at, "missing required field: %s", f.name)
			}
			continue
		}
		f.check(at+"/"+f.name, val)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !known[name] && name != "type" {
			v.add(at, "invalid additional property: %s", name)
		}
	}
}

// asObject gives val as an object, or notes that it is none.
func (v *validator) asObject(at string, val any) object {
	m, ok := val.(object)
	if !ok {
		v.add(at, "must be an object")
	}
	return m
}

func (v *validator) asList(at string, val any) ([]any, bool) {
	l, ok := val.([]any)
	if !ok {
		v.add(at, "must be an array")
	}
	return l, ok
}

// str is a string of any length.
func (v *validator) str(at string, val any) {
	if _, ok := val.(string); !ok {
		v.add(at, "must be a string")
	}
}

func (v *validator) boolean(at string, val any) {
	if _, ok := val.(bool); !ok {
		v.add(at, "must be a boolean")
	}
}

func (v *validator) anything(string, any) {}

// chars is a string that limit id holds.
func (v *validator) text(id limitID) check {
	return func(at string, val any) {
		s, ok := val.(string)
		if !ok {
			v.add(at, "must be a string")
			return
		}
		v.length(at, s, id)
	}
}

// number is an integer that limit id holds.
func (v *validator) number(id limitID) check {
	return func(at string, val any) {
		n, ok := asInt(val)
		if !ok {
			v.add(at, "must be an integer")
			return
		}
		if lim := limitTable[id]; n > lim.Max {
			v.broken(id, at, "must be less than or equal to %d", lim.Max)
		} else if n < lim.Min {
			v.broken(id, at, "must be greater than or equal to %d", lim.Min)
		}
	}
}

func (v *validator) integer(at string, val any) {
	if _, ok := asInt(val); !ok {
		v.add(at, "must be an integer")
	}
}

// oneOf is a string out of a few.
func (v *validator) oneOf(values ...string) check {
	return func(at string, val any) {
		if s, ok := val.(string); !ok || !slices.Contains(values, s) {
			v.add(at, "must be one of: %s", strings.Join(values, ", "))
		}
	}
}

// list is an array that limit id holds, with every item checked.
func (v *validator) list(id limitID, item check) check {
	return func(at string, val any) {
		l, ok := v.asList(at, val)
		if !ok {
			return
		}
		v.size(at, len(l), id)
		for i, x := range l {
			item(fmt.Sprintf("%s/%d", at, i), x)
		}
	}
}

// each is an array of any size, with every item checked.
func (v *validator) each(item check) check {
	return func(at string, val any) {
		l, _ := v.asList(at, val)
		for i, x := range l {
			item(fmt.Sprintf("%s/%d", at, i), x)
		}
	}
}

// asInt reads a whole number, as json.Number or as float64.
func asInt(val any) (int, bool) {
	switch n := val.(type) {
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	case float64:
		return int(n), n == float64(int(n))
	case int:
		return n, true
	case int64:
		return int(n), true
	}
	return 0, false
}
