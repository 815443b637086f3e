package config

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxBytes is the largest config file.
const MaxBytes = 1 << 20

// maxDepth is how deep values may nest; a config needs six.
const maxDepth = 50

// read parses the file into c.root. It reports false when there is nothing to
// go on with.
func (c *Config) read(data []byte) bool {
	whole := func(format string, args ...any) bool {
		c.report(nil, nil, format, args...)
		return false
	}
	if len(data) > MaxBytes {
		return whole("is larger than %d bytes", MaxBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if off, what := badText(data); off >= 0 {
		c.report(position(data, off), nil, "%s", what)
		return false
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return whole("%v", err)
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return whole("is empty; examples/ has files to begin with")
	} else if err != nil {
		return c.syntax(data, err)
	}
	if err := loader.Load(&second); err == nil {
		c.report(&second, nil, "is a second document; a config is one")
		return false
	} else if !errors.Is(err, io.EOF) {
		return c.syntax(data, err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return whole("is empty; examples/ has files to begin with")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && null(root) {
		return whole("is empty; examples/ has files to begin with")
	}
	if !c.plain(root, nil) {
		return false
	}
	if root.Kind != yaml.MappingNode {
		c.report(root, nil, "must be a mapping such as `listen: 127.0.0.1:8420`")
		return false
	}
	c.root = root
	return true
}

// syntax reports what the YAML parser says, which is the first error only. Its
// sentences hold no value of the file but for the names of anchors, and a
// secret that begins with * looks like one.
func (c *Config) syntax(data []byte, err error) bool {
	le, ok := errors.AsType[*yaml.LoadError](err)
	if !ok || le.Mark.Line == 0 {
		c.report(nil, nil, "is not YAML")
		return false
	}
	n := &yaml.Node{Line: le.Mark.Line, Column: le.Mark.Column}
	switch {
	case le.Stage == yaml.ComposerStage, strings.Contains(le.ContextMsg, "scanning an a"):
		c.report(n, nil, "%s", noAnchors)
	case tabAt(data, n.Line):
		c.report(n, nil, "%s: YAML takes no tabs as indentation, use spaces", le.Message)
	case strings.HasPrefix(le.Message, "mapping values are not allowed"):
		c.report(n, nil, `there is a second ": " in this line: put the value in quotes`)
	case strings.HasPrefix(le.Message, "found character that cannot start any token"):
		c.report(n, nil, "a value that begins with @, %% or ` must be in quotes")
	case strings.Contains(le.ContextMsg, "quoted scalar") && le.ContextMark.Line > 0:
		c.report(&yaml.Node{Line: le.ContextMark.Line, Column: le.ContextMark.Column}, nil, "the quote that begins here is not closed, or holds a \\ that YAML doesn't know")
	case strings.Contains(le.ContextMsg, "block"):
		c.report(n, nil, "%s %s; is this line indented like those before it?", le.Message, le.ContextMsg)
	case le.ContextMsg != "":
		c.report(n, nil, "%s %s", le.Message, le.ContextMsg)
	default:
		c.report(n, nil, "%s", le.Message)
	}
	return false
}

const noAnchors = "anchors and aliases are not supported: write the value out, or put it in quotes if it begins with & or *"

// plain refuses what makes YAML surprising: anchors, aliases, merge keys, tags,
// keys that are not words, and keys that come twice. It reports false when the
// tree can't be read; a key that comes twice leaves it readable.
func (c *Config) plain(n *yaml.Node, p path) bool {
	if len(p) > maxDepth {
		c.report(n, p[:8], "nests deeper than %d", maxDepth)
		return false
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		c.report(n, p, "%s", noAnchors)
		return false
	}
	if n.Style&yaml.TaggedStyle != 0 {
		c.report(n, p, "tags are not supported; put a value that begins with ! in quotes")
		return false
	}
	ok := true
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			ok = c.plain(item, p.at(i)) && ok
		}
	case yaml.MappingNode:
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch first := seen[key.Value]; {
			case key.Kind == yaml.AliasNode || key.Anchor != "":
				c.report(key, p, "%s", noAnchors)
				ok = false
			case key.Kind != yaml.ScalarNode || null(key) || key.Style&yaml.TaggedStyle != 0:
				c.report(key, p, "a key must be a word")
				ok = false
			case key.ShortTag() == "!!merge":
				c.report(key, p, "merge keys are not supported; write the values out")
				ok = false
			case first != nil:
				c.report(key, p.key(key.Value), "comes twice, first in line %d", first.Line)
			default:
				seen[key.Value] = key
				ok = c.plain(value, p.key(key.Value)) && ok
			}
		}
	}
	return ok
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// badText finds bytes that are not text, which the YAML parser refuses without
// saying where.
func badText(data []byte) (offset int, what string) {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return i, "is not UTF-8 text"
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f:
			return i, "has a control character"
		}
		i += size
	}
	return -1, ""
}

// position returns line and column of an offset.
func position(data []byte, offset int) *yaml.Node {
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return &yaml.Node{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(before[start:]) + 1,
	}
}

// tabAt reports whether a line's indentation has a tab.
func tabAt(data []byte, line int) bool {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.IndexByte(indent, '\t') >= 0
}
