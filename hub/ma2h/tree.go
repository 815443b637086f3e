package ma2h

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A node says what the protocol knows of one place in a document. It serves
// what a Go struct can't: naming a field by its path without naming what an
// agent owns, refusing null, and telling "" from absent. Trees are built only
// for documents that are refused, or that hold a null or an empty string.
type node struct {
	members map[string]*node // of an object, by name; others are unknown
	each    *node            // of a list, or of an object with free names
	list    bool
	opaque  bool // handed on untouched: its inside is nobody's business
	nilable bool // null is allowed
	filled  bool // "" is the wrong shape
}

func object(members map[string]*node) *node { return &node{members: members} }
func listOf(each *node) *node               { return &node{list: true, each: each} }

// envelopeTree is the tree of a message (schema v0.5/message.schema.json). An
// id means nothing from 0.2 on; Parse judges it.
func envelopeTree() *node {
	text, word := &node{}, &node{filled: true}
	opaque := &node{opaque: true}
	callback := object(map[string]*node{
		"mode": word, "url": word,
		"auth": object(map[string]*node{"scheme": word, "secret_ref": word, "token_ref": word}),
	})
	flag := &node{}
	return object(map[string]*node{
		"ma2h_version": word, "type": word, "created_at": word, "to": word, "title": text, "body": text,
		"priority": word, "tags": listOf(text), "context": listOf(partTree()), "state": opaque,
		"client_ref": text, "idempotency_key": word, "expires_at": word, "sensitive": flag,
		"id": {opaque: true, nilable: true},
		"agent": object(map[string]*node{
			"id": word, "run_id": word, "runtime": word, "session": word, "project": text,
			"labels": {each: text},
		}),
		"request": object(map[string]*node{
			"mode":    word,
			"options": listOf(object(map[string]*node{"value": text, "label": text, "description": text})),
			"schema":  opaque,
			"permissions": object(map[string]*node{
				"allow_accept": flag, "allow_edit": flag, "allow_respond": flag, "allow_ignore": flag,
			}),
			"default_on_expire": {opaque: true, nilable: true},
			"allowed_resolvers": listOf(word),
			"callback":          callback,
		}),
		"action": object(map[string]*node{
			"instructions":      text,
			"checklist":         listOf(object(map[string]*node{"text": text, "done": flag})),
			"verification":      text,
			"allowed_resolvers": listOf(word),
			"callback":          callback,
		}),
	})
}

func partTree() *node {
	return object(map[string]*node{
		"kind": {filled: true}, "text": {}, "data": {opaque: true}, "metadata": {opaque: true},
		"file": object(map[string]*node{"uri": {filled: true}, "name": {}, "mime_type": {}}),
	})
}

// at follows one name or index down the tree; nil where nothing is known.
func (n *node) at(name string) *node {
	if n == nil || n.opaque {
		return nil
	}
	if n.each != nil {
		return n.each
	}
	return n.members[name]
}

// maxName is how much of a name that the agent chose is put into an error.
const maxName = 64

// field writes a JSON pointer as people do, such as request.options[1].value.
// It stops at what an agent owns.
func (n *node) field(p jsontext.Pointer) string {
	var path []byte
	for name := range p.Tokens() {
		if n == nil || n.opaque {
			break
		}
		path = appendStep(path, n, name)
		n = n.at(name)
	}
	return string(path)
}

func appendStep(path []byte, n *node, name string) []byte {
	if n.list {
		return append(append(append(path, '['), name...), ']')
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	if n.at(name) != nil && n.each == nil {
		return append(path, name...)
	}
	return append(path, cleanName(name)...)
}

// cleanName makes a name that the agent chose fit for an error: short, and
// quoted unless it is plain.
func cleanName(name string) string {
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName]) + "…"
	}
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == '.' || r == '[' || r == ']' || r == '"' || !strconv.IsPrint(r)
	})
	if plain {
		return name
	}
	return strconv.Quote(name)
}

// walk refuses null and "" where the tree does not allow them, and returns the
// fields that hold an allowed "". raw has been scanned.
func (n *node) walk(raw []byte) (empty map[string]bool, err error) {
	w := walker{dec: jsontext.NewDecoder(bytes.NewReader(raw)), root: n, empty: make(map[string]bool)}
	return w.empty, w.value(n)
}

type walker struct {
	dec   *jsontext.Decoder
	root  *node
	empty map[string]bool
}

// value reads one value. It recurses into known fields only, which are few
// levels deep.
func (w *walker) value(n *node) error {
	kind := w.dec.PeekKind()
	if n == nil || n.opaque && (kind != 'n' || n.nilable) {
		return w.dec.SkipValue()
	}
	tok, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	switch kind {
	case 'n':
		return invalid(w.field(), "must not be null; leave it out")
	case '"':
		if tok.String() != "" {
			return nil
		}
		if n.filled {
			return invalid(w.field(), "must not be empty")
		}
		w.empty[w.field()] = true
	case '{':
		return w.members(n)
	case '[':
		for w.dec.PeekKind() != ']' {
			if err := w.value(n.at("")); err != nil {
				return err
			}
		}
		_, err := w.dec.ReadToken()
		return err
	}
	return nil
}

func (w *walker) members(n *node) error {
	for w.dec.PeekKind() != '}' {
		name, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := w.value(n.at(name.String())); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *walker) field() string { return w.root.field(w.dec.StackPointer()) }
