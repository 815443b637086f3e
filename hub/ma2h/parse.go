package ma2h

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads an envelope strictly: [Scan], then the version, then the types of
// all fields. It fills Minor and leaves every other rule to
// [Envelope.Validate]. An id is read at 0.1 and dropped from 0.2 on. The error
// is an [*Error] with [CodeValidation] or [CodeVersion].
func Parse(raw []byte) (*Envelope, error) { return parse(raw, MaxDepth) }

func parse(raw []byte, most int) (*Envelope, error) {
	t, err := prescan(raw, envelopeTree, most)
	if err != nil {
		return nil, err
	}
	// The outer id takes the place of the inner, since from 0.2 on it may be
	// anything.
	var w struct {
		ID jsontext.Value `json:"id"`
		Envelope
	}
	decodeErr := json.Unmarshal(raw, &w)
	minor, versionErr := parseVersion(w.Version)
	if decodeErr != nil || versionErr != nil {
		return nil, firstFault(raw, decodeErr, most)
	}
	e := &w.Envelope
	e.Minor = minor
	empty, err := walkIf(t, raw, envelopeTree)
	if err != nil {
		return nil, err
	}
	if err := e.takeID(w.ID); err != nil {
		return nil, err
	}
	if err := e.missing(empty); err != nil {
		return nil, err
	}
	return e, nil
}

// firstFault finds which fault of a refused envelope comes first in the order
// of spec §8.1: strictness, version, shape.
func firstFault(raw []byte, decodeErr error, most int) error {
	if _, err := scan(raw, envelopeTree, most); err != nil {
		return err
	}
	if _, _, _, _, err := peek(raw); err != nil {
		return err
	}
	return typeError(decodeErr, envelopeTree)
}

// walkIf walks the tree over raw if anything in it could matter.
func walkIf(t traits, raw []byte, tree func() *node) (map[string]bool, error) {
	if !t.null && !t.empty {
		return nil, nil
	}
	return tree().walk(raw)
}

// takeID keeps the id of a 0.1 message, which the agent may choose.
func (e *Envelope) takeID(raw jsontext.Value) error {
	if !e.legacy() || raw == nil {
		return nil
	}
	if k := raw.Kind(); k != '"' {
		return invalid("id", "must be a string, is %s", kindName(k))
	}
	id, err := jsontext.AppendUnquote(nil, raw)
	if err != nil || len(id) == 0 {
		return invalid("id", "must not be empty")
	}
	e.ID = string(id)
	return nil
}

// missing finds required strings that are absent where "" is a legal shape, so
// that the decoded value can't tell. empty holds the fields that say "". A
// request or action on another type is not looked into; Validate deals with it.
func (e *Envelope) missing(empty map[string]bool) error {
	need := func(value, format string, args ...any) error {
		if value != "" {
			return nil
		}
		if field := fmt.Sprintf(format, args...); !empty[field] {
			return invalid(field, "is required")
		}
		return nil
	}
	if e.Type == Ask && e.Request != nil {
		for i, o := range e.Request.Options {
			if err := need(o.Value, "request.options[%d].value", i); err != nil {
				return err
			}
			if err := need(o.Label, "request.options[%d].label", i); err != nil {
				return err
			}
		}
	}
	if e.Type == Task && e.Action != nil {
		if err := need(e.Action.Instructions, "action.instructions"); err != nil {
			return err
		}
		for i, item := range e.Action.Checklist {
			if err := need(item.Text, "action.checklist[%d].text", i); err != nil {
				return err
			}
		}
	}
	return nil
}

// Peek reads of an envelope what a replay is looked up by: [Scan], then the
// version, then three strings, each "" when it is absent or no string. It
// judges nothing else, so that a repeated submit is recognised whatever its
// shape. The error is an [*Error] with [CodeValidation] or [CodeVersion].
func Peek(raw []byte) (agentID, id, idempotencyKey string, minor int, err error) {
	if _, err := scan(raw, envelopeTree, MaxDepth); err != nil {
		return "", "", "", 0, err
	}
	return peek(raw)
}

// peek is [Peek] of scanned bytes.
func peek(raw []byte) (agentID, id, key string, minor int, err error) {
	var top struct {
		Version jsontext.Value `json:"ma2h_version"`
		Agent   jsontext.Value `json:"agent"`
		ID      jsontext.Value `json:"id"`
		Key     jsontext.Value `json:"idempotency_key"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		return "", "", "", 0, typeError(err, envelopeTree)
	}
	if top.Version == nil {
		return "", "", "", 0, invalid("ma2h_version", "is required")
	}
	if k := top.Version.Kind(); k != '"' {
		return "", "", "", 0, invalid("ma2h_version", `must be a string such as "0.5", is %s`, kindName(k))
	}
	if minor, err = parseVersion(text(top.Version)); err != nil {
		return "", "", "", 0, err
	}
	var agent struct {
		ID jsontext.Value `json:"id"`
	}
	if top.Agent.Kind() == '{' {
		if err := json.Unmarshal(top.Agent, &agent); err != nil {
			return "", "", "", 0, typeError(err, envelopeTree)
		}
	}
	return text(agent.ID), text(top.ID), text(top.Key), minor, nil
}

// text returns the string that raw is, or "".
func text(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(s)
}

// parseVersion returns N of "0.N" (spec §10). A minor too large for an int is
// the largest. Another major is [CodeVersion]; all else, and a form that is not
// canonical, [CodeValidation].
func parseVersion(s string) (minor int, err error) {
	major, rest, ok := strings.Cut(s, ".")
	if !ok || !canonicalInt(major) || !canonicalInt(rest) {
		return 0, invalid("ma2h_version", `must be MAJOR.MINOR such as "0.5", without leading zeros`)
	}
	if major != "0" {
		return 0, &Error{Code: CodeVersion, Field: "ma2h_version", Msg: fmt.Sprintf("only 0.x is supported; send at most 0.%d", MaxMinor)}
	}
	for _, c := range []byte(rest) {
		if minor > (math.MaxInt32-9)/10 {
			return math.MaxInt32, nil
		}
		minor = minor*10 + int(c-'0')
	}
	return minor, nil
}

func canonicalInt(s string) bool {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// typeError turns what json says of a value of the wrong type into an [*Error].
func typeError(err error, tree func() *node) error {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return invalid("", "the body can't be read")
	}
	return invalid(tree().field(e.JSONPointer), "must be %s, is %s", typeName(e.GoType), kindName(e.JSONKind))
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice:
		return "a list"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Pointer:
		return typeName(t.Elem())
	}
	return "an object"
}
