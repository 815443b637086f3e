package config

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"beckon/hub"
)

// The decoder fills structs from nodes by their yaml tags: `yaml:"name"`, or
// `yaml:"name,single"` for a list that may be written as its only item. It
// knows strings, booleans, numbers, [time.Duration], [hub.Secret],
// [encoding.TextUnmarshaler], structs, pointers, lists and maps by string. It
// is our own because the library stops short of two things: a hint for a
// misspelt key, and errors that never repeat a value, which may be a secret.

var (
	durationType = reflect.TypeFor[time.Duration]()
	secretType   = reflect.TypeFor[hub.Secret]()
	skipType     = reflect.TypeFor[skip]()
	scalarType   = reflect.TypeFor[scalar]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// decode fills v from n and reports what does not fit. It goes on after an
// error and returns false then.
func (c *Config) decode(n *yaml.Node, v reflect.Value, p path) bool {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(t.Elem()))
		}
		return c.decode(n, v.Elem(), p)
	}
	if null(n) && t != scalarType && (t.Kind() != reflect.Struct || c.isText(t)) {
		c.noValue(n, p, t)
		return false
	}
	switch {
	case t == skipType:
		return true // whoever reads it looks at it
	case t == secretType:
		return c.decodeSecret(n, v, p)
	case t == durationType:
		return c.decodeDuration(n, v, p)
	case c.isText(t):
		return c.decodeText(n, v, p)
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.decodeStruct(n, v, p)
	case reflect.Map:
		return c.decodeMap(n, v, p)
	case reflect.Slice:
		return c.decodeSlice(n, v, p)
	default:
		return c.decodeScalar(n, v, p)
	}
}

func (c *Config) noValue(n *yaml.Node, p path, t reflect.Type) {
	what := ""
	if t.Kind() == reflect.Map && n.Value == "" {
		what = " (are the lines below it indented?)"
	}
	c.errorf(p, "has no value: give it one, or leave it out%s", what)
}

func (c *Config) isText(t reflect.Type) bool {
	return t == secretType || reflect.PointerTo(t).Implements(textType)
}

func (c *Config) decodeSecret(n *yaml.Node, v reflect.Value, p path) bool {
	if n.Kind != yaml.ScalarNode {
		c.errorf(p, "must be env:NAME or file:/path")
		return false
	}
	s, err := readSecret(n.Value, c.env)
	if err != nil {
		c.errorf(p, "%v", err)
		return false
	}
	v.Set(reflect.ValueOf(s))
	return true
}

func (c *Config) decodeDuration(n *yaml.Node, v reflect.Value, p path) bool {
	d, ok := parseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || !ok {
		c.errorf(p, "must be a time such as 10m, 24h or 30d")
		return false
	}
	v.SetInt(int64(d))
	return true
}

// parseDuration reads what [time.ParseDuration] does, and days in front.
func parseDuration(s string) (time.Duration, bool) {
	var days int64
	if before, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(before, 10, 16)
		if err != nil {
			return 0, false
		}
		if days, s = int64(n), after; s == "" {
			s = "0"
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || strings.HasPrefix(s, "+") {
		return 0, false
	}
	sum := time.Duration(days)*24*time.Hour + d
	return sum, sum >= 0 // 65535 days and the longest time.Duration wrap below zero
}

func (c *Config) decodeText(n *yaml.Node, v reflect.Value, p path) bool {
	if n.Kind != yaml.ScalarNode {
		what := "must be a single value"
		switch {
		case p[len(p)-1].key == "after":
			what = "must be a time such as 10m, 24h or 30d"
		case v.Type() == scalarType:
			what = "must be one address: write an entry for each, or name a team"
		}
		c.errorf(p, "%s", what)
		return false
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
		c.errorf(p, "%v", err)
		return false
	}
	return true
}

func (c *Config) decodeStruct(n *yaml.Node, v reflect.Value, p path) bool {
	if null(n) {
		return true
	}
	if n.Kind != yaml.MappingNode {
		c.errorf(p, "must be a mapping%s", withKeys(v.Type()))
		return false
	}
	fields := fieldsOf(v.Type())
	ok := true
	for key, value := range pairs(n) {
		f, known := fields[key.Value]
		if !known && c.full() {
			return false
		}
		if !known {
			c.report(key, p.key(key.Value), "unknown key%s", knownKeys(key.Value, v.Type()))
			ok = false
			continue
		}
		q, field := p.key(key.Value), v.Field(f.index)
		if f.single && value.Kind == yaml.MappingNode && field.Type().Elem() != secretType {
			c.errorf(q, "must be text, or a list such as [a, b]")
			ok = false
			continue
		}
		if f.single && value.Kind != yaml.SequenceNode && !null(value) {
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			ok = c.decode(value, field.Index(0), q) && ok
			continue
		}
		ok = c.decode(value, field, q) && ok
	}
	return ok
}

// fewKeys is how many keys an error names.
const fewKeys = 8

// keyNames lists the keys of a struct in their order.
func keyNames(t reflect.Type) []string {
	fields := fieldsOf(t)
	return slices.SortedFunc(maps.Keys(fields), func(a, b string) int { return fields[a].index - fields[b].index })
}

// knownKeys is the hint for a key that is none: the one that was meant, or all.
func knownKeys(written string, t reflect.Type) string {
	names := keyNames(t)
	if h := hint(written, names); h != "" {
		return h
	}
	if len(names) > fewKeys {
		return `; "beckon config" shows all that there are`
	}
	return "; there are " + strings.Join(names, ", ")
}

func withKeys(t reflect.Type) string {
	names := keyNames(t)
	if len(names) == 0 || len(names) > fewKeys {
		return ""
	}
	return " with " + strings.Join(names, ", ")
}

type field struct {
	index  int
	single bool
}

func fieldsOf(t reflect.Type) map[string]field {
	out := make(map[string]field)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch name {
		case "-":
			continue
		case "":
			name = strings.ToLower(f.Name)
		}
		out[name] = field{i, slices.Contains(strings.Split(options, ","), "single")}
	}
	return out
}

// pairs yields the keys and values of a mapping; of a key that comes twice the
// first.
func pairs(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if seen[key.Value] {
				continue
			}
			seen[key.Value] = true
			if !yield(key, n.Content[i+1]) {
				return
			}
		}
	}
}

// decodeMap keeps an entry whose value does not fit, so that other parts of the
// file may name it.
func (c *Config) decodeMap(n *yaml.Node, v reflect.Value, p path) bool {
	t := v.Type()
	if n.Kind != yaml.MappingNode {
		example := "by name, such as NAME: …"
		if t.Elem() == scalarType {
			example = "such as {web: alice}"
		}
		c.errorf(p, "must be a mapping %s", example)
		return false
	}
	v.Set(reflect.MakeMap(t))
	ok := true
	for key, value := range pairs(n) {
		item := reflect.New(t.Elem()).Elem()
		ok = c.decode(value, item, p.key(key.Value)) && ok
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(t.Key()), item)
	}
	return ok
}

func (c *Config) decodeSlice(n *yaml.Node, v reflect.Value, p path) bool {
	if n.Kind != yaml.SequenceNode {
		example := "such as [a, b]"
		if k := v.Type().Elem().Kind(); k == reflect.Struct && nested(v.Type().Elem()) || k == reflect.Map {
			example = `whose items begin with "- "`
		}
		c.errorf(p, "must be a list, %s", example)
		return false
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	ok := true
	for i, item := range n.Content {
		if null(item) {
			c.noValue(item, p.at(i), v.Type().Elem())
			ok = false
			continue
		}
		ok = c.decode(item, v.Index(i), p.at(i)) && ok
	}
	return ok
}

func (c *Config) decodeScalar(n *yaml.Node, v reflect.Value, p path) bool {
	want := ""
	switch v.Kind() {
	case reflect.String:
		want = "must be text"
		if n.Kind == yaml.ScalarNode {
			if n.ShortTag() == "!!str" {
				v.SetString(n.Value)
				return true
			}
			want = "must be text; put it in quotes"
		}
	case reflect.Bool:
		want = "must be true or false"
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
			if b, err := strconv.ParseBool(n.Value); err == nil {
				v.SetBool(b)
				return true
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		want = "must be a whole number"
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
			if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil && !v.OverflowInt(i) {
				v.SetInt(i)
				return true
			}
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		want = "must be a whole number, not negative"
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
			if i, err := strconv.ParseUint(n.Value, 10, 64); err == nil && !v.OverflowUint(i) {
				v.SetUint(i)
				return true
			}
		}
	case reflect.Float32, reflect.Float64:
		want = "must be a number"
		if n.Kind == yaml.ScalarNode {
			if f, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
				v.SetFloat(f)
				return true
			}
		}
	default:
		panic(fmt.Sprintf("config: a field of type %s at %s can't be read", v.Type(), p))
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		want += ", without quotes"
	}
	c.errorf(p, "%s", want)
	return false
}
