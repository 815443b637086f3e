package config

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"beckon/hub"
)

// channels makes the sections.
func (c *Config) channels(factories []hub.Factory) {
	c.Sections = make(map[string]hub.Section)
	c.Directory.Channels = make(map[string]bool)
	byName := make(map[string]bool, len(factories))
	var names []string
	for _, f := range factories {
		byName[f.Name] = true
		names = append(names, f.Name)
		if f.Implicit {
			c.Directory.Channels[f.Name] = true
			c.Sections[f.Name] = c.section(f.Name, nil)
		}
	}
	p := path{}.key("channels")
	n := c.find(p)
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for key, value := range pairs(n) {
		name := key.Value
		if !byName[name] {
			h := hint(name, names)
			if h == "" {
				h = "; there are " + strings.Join(names, ", ")
			}
			c.report(key, p.key(name), "there is no such channel%s", h)
			continue
		}
		c.Directory.Channels[name] = true
		c.Sections[name] = c.section(name, value)
		if c.prints == nil {
			c.prints = make(map[string]fingerprint)
		}
		c.prints[name] = c.fingerprint(value)
	}
}

// fingerprint tells one content of a section from another, the secrets that it refers
// to included.
type fingerprint [sha256.Size]byte

func (c *Config) fingerprint(n *yaml.Node) fingerprint {
	if null(n) || len(n.Content) == 0 {
		return fingerprint{} // says as little as no section
	}
	h := sha256.New()
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		fmt.Fprintf(h, "%d %s %q %d\n", n.Kind, n.ShortTag(), n.Value, len(n.Content))
		if n.Kind == yaml.ScalarNode {
			if s, err := readSecret(n.Value, c.env); err == nil {
				fmt.Fprintf(h, "%q\n", s.Reveal())
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(n)
	return fingerprint(h.Sum(nil))
}

// ChangedSections names the channels whose section says something else than
// that of an older config, or refers to a secret that has changed since.
func (c *Config) ChangedSections(old *Config) (names []string) {
	for name := range c.Sections {
		if _, there := old.Sections[name]; !there || c.prints[name] != old.prints[name] {
			names = append(names, name)
		}
	}
	for name := range old.Sections {
		if _, still := c.Sections[name]; !still {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// section is a channel's part of the file; n is nil when the file has none.
func (c *Config) section(name string, n *yaml.Node) hub.Section {
	p := path{}.key("channels").key(name)
	s := hub.Section{Templates: c.Templates, Errorf: func(field, format string, args ...any) {
		c.errorf(append(p[:2:2], c.fieldPath(n, field)...), format, args...)
	}}
	if n != nil {
		s.Decode = func(v any) bool { return c.decode(n, reflect.ValueOf(v), p) }
	}
	return s
}

// fieldPath splits the name of a field, such as smtp.password or
// accounts[0].user, by the keys that the section has: a key may hold dots.
func (c *Config) fieldPath(n *yaml.Node, field string) (p path) {
	for field != "" {
		var s step
		s, field = nextStep(n, field)
		p = append(p, s)
		_, n = c.child(n, s)
	}
	return p
}

func nextStep(n *yaml.Node, field string) (s step, rest string) {
	if inside, ok := strings.CutPrefix(field, "["); ok {
		number, rest, _ := strings.Cut(inside, "]")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 {
			return step{"", i}, strings.TrimPrefix(rest, ".")
		}
	}
	end := strings.IndexAny(field[1:], ".[") + 1
	if end == 0 {
		end = len(field)
	}
	if n != nil && n.Kind == yaml.MappingNode {
		longest := 0
		for key := range pairs(n) {
			k := key.Value
			if after, ok := strings.CutPrefix(field, k); ok && len(k) > longest &&
				(after == "" || after[0] == '.' || after[0] == '[') {
				longest = len(k)
			}
		}
		if longest > 0 {
			end = longest
		}
	}
	return step{field[:end], -1}, strings.TrimPrefix(field[end:], ".")
}
