package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Error is one thing that is wrong with a config file, and where. Neither field
// ever holds a secret.
type Error struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0 when the whole file is meant
	Column int    `json:"column,omitempty"`
	Path   string `json:"path,omitempty"` // "routes[0].ask"; "" for the whole file
	Msg    string `json:"message"`
}

func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	return b.String() + ": " + e.Msg
}

// Errors are all the things that are wrong, in the order of the file.
type Errors []Error

// Error returns one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single errors to [errors.As].
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i := range e {
		out[i] = e[i]
	}
	return out
}

// sorted returns the errors in the order of the file, each once.
func (e Errors) sorted() Errors {
	s := slices.Clone(e)
	slices.SortStableFunc(s, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Msg, b.Msg))
	})
	return slices.Compact(s)
}

// maxErrors is where counting ends: nobody reads more at once.
const maxErrors = 200

// step is one step into the file: into a mapping by key or a list by index.
type step struct {
	key   string
	index int // -1: by key
}

// path leads to a value of the file.
type path []step

func (p path) key(k string) path { return append(slices.Clip(p), step{k, -1}) }
func (p path) at(i int) path     { return append(slices.Clip(p), step{"", i}) }

// String writes a path as people do: agents.bot.callbacks[0].host.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case s.key == "" || strings.ContainsFunc(s.key, unusual):
			fmt.Fprintf(&b, "[%s]", strconv.QuoteToASCII(clip(s.key)))
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(clip(s.key))
		}
	}
	return b.String()
}

// clip shortens a key that somebody mistook for a value.
func clip(key string) string {
	const longest = 80
	if r := []rune(key); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return key
}

// unusual tells what a key holds that would make a path hard to read.
func unusual(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`[]"'{}`, r)
}

// report records an error at a node.
func (c *Config) report(n *yaml.Node, p path, format string, args ...any) {
	if !c.full() {
		c.errs = append(c.errs, c.at(n, p, format, args...))
	}
}

// full reports whether there are errors enough, and remembers that there are
// more. Ask it before looking for a position, which takes a walk.
func (c *Config) full() bool {
	c.more = c.more || len(c.errs) >= maxErrors
	return c.more
}

func (c *Config) at(n *yaml.Node, p path, format string, args ...any) Error {
	e := Error{File: c.File, Path: p.String(), Msg: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	return e
}

// errorf records an error at the value that p leads to, or at the nearest
// parent that the file has.
func (c *Config) errorf(p path, format string, args ...any) {
	if c.full() {
		return
	}
	n, p := c.locate(p)
	c.report(n, p, format, args...)
}

// keyErrorf records an error at the key that p ends in, rather than its value.
func (c *Config) keyErrorf(p path, format string, args ...any) {
	if c.full() {
		return
	}
	if key, _ := c.child(c.find(p[:len(p)-1]), p[len(p)-1]); key != nil {
		c.report(key, p, format, args...)
		return
	}
	c.errorf(p, format, args...)
}

// warnf records a warning in the same way.
func (c *Config) warnf(p path, format string, args ...any) {
	if len(c.Warnings) < maxErrors {
		n, p := c.locate(p)
		c.Warnings = append(c.Warnings, c.at(n, p, format, args...))
	}
}

// locate returns the node whose position people should look at, and the path to
// show with it.
func (c *Config) locate(p path) (*yaml.Node, path) {
	n, where := c.root, c.root
	for i, s := range p {
		key, value := c.child(n, s)
		if value == nil {
			return where, p
		}
		n, where = value, value
		block := value.Kind != yaml.ScalarNode && value.Style&yaml.FlowStyle == 0
		if key != nil && (block || null(value)) {
			where = key // a block begins a line later than people look for it
		}
		if i == len(p)-1 && s.index >= 0 && value.Kind == yaml.ScalarNode {
			return where, p[:i] // line and column say which item of a plain list
		}
	}
	return where, p
}

// child returns the key and the value that a step leads to; nil when there is
// none. Long mappings are looked up in an index, since a file may have tens of
// thousands of people.
func (c *Config) child(n *yaml.Node, s step) (key, value *yaml.Node) {
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode && s.index < 0 && len(n.Content) > 64:
		if i, ok := c.indexOf(n)[s.key]; ok {
			return n.Content[i], n.Content[i+1]
		}
	case n.Kind == yaml.MappingNode && s.index < 0:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Value == s.key {
				return n.Content[i], n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode && s.index >= 0 && s.index < len(n.Content):
		return nil, n.Content[s.index]
	}
	return nil, nil
}

// indexOf returns where the keys of a mapping are; of one that comes twice the
// first.
func (c *Config) indexOf(n *yaml.Node) map[string]int {
	if index, ok := c.index[n]; ok {
		return index
	}
	index := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, twice := index[key.Value]; !twice && key.Kind == yaml.ScalarNode {
			index[key.Value] = i
		}
	}
	if c.index == nil {
		c.index = make(map[*yaml.Node]map[string]int)
	}
	c.index[n] = index
	return index
}

// find returns the value that p leads to, nil when the file has none.
func (c *Config) find(p path) *yaml.Node {
	n := c.root
	for _, s := range p {
		_, n = c.child(n, s)
	}
	return n
}

// hint returns ` (did you mean "x"?)` when one of the names is close to what
// was written, else "". Of two that are as close it takes the first by letters.
func hint(written string, names []string) string {
	best, least := "", min(2, (len(written)+1)/3)+1
	for _, name := range names {
		d := distance(strings.ToLower(written), strings.ToLower(name))
		if d < least || d == least && best != "" && name < best {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// longest is what distance looks at, in runes.
const longest = 64

// distance counts the edits from a to b: a letter more, less, other, or two
// neighbours exchanged. Beyond 64 runes, or when the lengths differ by more
// than a few, everything is far.
func distance(a, b string) int {
	const far = 1 << 10
	if len(a) > 4*longest || len(b) > 4*longest {
		return far
	}
	s, t := []rune(a), []rune(b)
	if len(s) > longest || len(t) > longest || len(s)-len(t) > 3 || len(t)-len(s) > 3 {
		return far
	}
	var rows [3][longest + 1]int // the last three of the matrix: no name is worth an allocation
	for j := range t {
		rows[0][j+1] = j + 1
	}
	for i := 1; i <= len(s); i++ {
		row, above, second := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(t); j++ {
			other := 1
			if s[i-1] == t[j-1] {
				other = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+other)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], second[j-2]+1)
			}
		}
	}
	return rows[len(s)%3][len(t)]
}
