package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one name and value of a JSON object, and where the value lies.
type member struct {
	name       string
	value      jsontext.Value
	start, end int
}

// fillFile reads an envelope and adds what it lacks of ma2h_version, type,
// created_at, agent and idempotency_key. What is there stays byte by byte, since
// the hub compares and returns some of it as it was sent. Flag is what errors
// begin with. Without a type, the envelope must say it.
func fillFile(sh *shell, r *author, flag, name string, t ma2h.Type, key string) ([]byte, error) {
	var raw []byte
	var err error
	if name == "-" {
		name = "standard input"
		raw, err = readAll(sh.in, name)
	} else {
		raw, err = readFile(name)
	}
	if err != nil {
		return nil, usage("%s: %v", flag, err)
	}
	members, err := objectMembers(raw)
	if err != nil {
		return nil, usage("%s: %s: %v", flag, name, err)
	}
	if m := find(members, "type"); m != nil && t != "" && string(m.value) != quote(string(t)) {
		return nil, usage("%s: %s: type is %s; send it with the command of that name", flag, name, m.value)
	}
	if key != "" && find(members, "idempotency_key") != nil {
		return nil, usage("--idempotency-key: %s has an idempotency_key already", name)
	}
	if key == "" {
		key = randomKey()
	}
	agent, err := r.fillAgent(flag, find(members, "agent"))
	if err != nil {
		return nil, err
	}
	if m := find(members, "agent"); m != nil {
		raw = bytes.Join([][]byte{raw[:m.start], []byte(agent), raw[m.end:]}, nil)
	}
	add := []member{
		{name: "ma2h_version", value: jsontext.Value(quote(protocol))},
		{name: "type", value: jsontext.Value(quote(string(t)))},
		{name: "created_at", value: jsontext.Value(quote(ma2h.FormatTime(time.Now())))},
		{name: "agent", value: agent},
		{name: "idempotency_key", value: jsontext.Value(quote(key))},
	}
	if t == "" {
		add = slices.DeleteFunc(add, func(m member) bool { return m.name == "type" })
	}
	return addMembers(raw, members, add), nil
}

// fillAgent adds id, run_id and runtime to an agent object; nil is an empty one.
func (r *author) fillAgent(flag string, m *member) (jsontext.Value, error) {
	raw, have := jsontext.Value("{}"), []member(nil)
	if m != nil {
		var err error
		if have, err = objectMembers(m.value); err != nil {
			return nil, usage("%s: agent: %v", flag, err)
		}
		raw = m.value
	}
	var add []member
	if find(have, "id") == nil {
		if r.Agent == "" {
			return nil, errNoAgent
		}
		add = append(add, member{name: "id", value: jsontext.Value(quote(r.Agent))})
	}
	add = append(add,
		member{name: "run_id", value: jsontext.Value(quote(r.runID()))},
		member{name: "runtime", value: jsontext.Value(quote(runtimeName()))},
	)
	return addMembers(raw, have, add), nil
}

// objectMembers lists the members of a JSON object.
func objectMembers(raw []byte) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		return nil, errors.New("is not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	var out []member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		m := member{name: name.String()}
		v, err := d.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		m.end = int(d.InputOffset())
		m.start = m.end - len(v)
		m.value = v.Clone()
		out = append(out, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return nil, errors.New("has something behind the JSON object")
	}
	return out, nil
}

func find(list []member, name string) *member {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	return nil
}

// addMembers writes those of add that the object does not have right behind its
// opening brace.
func addMembers(raw []byte, have, add []member) []byte {
	var b strings.Builder
	for _, m := range add {
		if find(have, m.name) == nil {
			b.WriteString(quote(m.name) + ":" + string(m.value) + ",")
		}
	}
	i := bytes.IndexByte(raw, '{') + 1
	text := b.String()
	if len(have) == 0 {
		text = strings.TrimSuffix(text, ",")
	}
	return bytes.Join([][]byte{raw[:i], []byte(text), raw[i:]}, nil)
}
