package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
)

// Key is one key of the config file.
type Key struct {
	Path string // "agents.ID.token", "routes[].match.type"
	Name string // the last step of Path
	Doc  string // what it is for
	Type string // what it takes, in words
	// Example is a value in YAML; one that begins with a line break is in block
	// style. Default says that it is what a file without the key gets.
	Example string
	Default bool
	Off     bool // the reference has it as a comment
	Keys    []Key

	item  string // of a mapping by name: an example of a name
	list  bool   // a list of what Keys describe
	extra string // more items, in YAML
}

// Reference returns every key that there is, those of the channels' sections
// included, in the order in which they are written. It is made from the types
// that the file is read into, so it can't miss one.
func Reference(factories []hub.Factory) []Key {
	keys := keysOf(reflect.ValueOf(newFile()).Elem(), "")
	for i := range keys {
		if keys[i].Name != "channels" {
			continue
		}
		for _, f := range factories {
			section := Key{
				Path: "channels." + f.Name, Name: f.Name, Type: "mapping", Example: "{}",
				Doc: "The section of the channel " + f.Name + ".",
			}
			if v := reflect.ValueOf(f.Section); v.IsValid() {
				if v.IsNil() {
					v = reflect.New(v.Type().Elem())
				}
				section.Keys = keysOf(v.Elem(), section.Path+".")
			}
			keys[i].Default = false
			keys[i].Keys = append(keys[i].Keys, section)
		}
	}
	return keys
}

// keysOf describes the fields of a struct that holds the defaults.
func keysOf(v reflect.Value, prefix string) (out []Key) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		k := Key{
			Path: prefix + name, Name: name, Doc: f.Tag.Get("doc"), Example: f.Tag.Get("eg"), Off: f.Tag.Get("off") != "",
			Type: typeWords(f.Type), item: f.Tag.Get("key"), extra: f.Tag.Get("also"),
		}
		if options == "single" {
			k.Type = typeWords(f.Type.Elem()) + ", or a " + k.Type
		}
		k.describe(v.Field(i))
		out = append(out, k)
	}
	return out
}

// describe fills in what follows from the value, which is the default.
func (k *Key) describe(v reflect.Value) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t, v = t.Elem(), reflect.New(t.Elem()).Elem()
	}
	switch {
	case nested(t):
		k.Keys = keysOf(v, k.Path+".")
		return
	case t.Kind() == reflect.Map && nested(t.Elem()):
		k.Keys = keysOf(reflect.New(t.Elem()).Elem(), k.Path+".ID.")
		return
	case t.Kind() == reflect.Slice && nested(t.Elem()):
		k.list = true
		k.Keys = keysOf(reflect.New(t.Elem()).Elem(), k.Path+"[].")
		return
	}
	if k.Example == "" {
		k.Example, k.Default = literal(v), true
	}
}

// nested reports whether a type is a mapping with keys of its own.
func nested(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != skipType && t != secretType && !reflect.PointerTo(t).Implements(textType)
}

// literal writes a default as the file has it.
func literal(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		if days := x / (24 * time.Hour); days > 0 && x%(24*time.Hour) == 0 {
			return fmt.Sprintf("%dd", days)
		}
		s := x.String()
		if before, ok := strings.CutSuffix(s, "m0s"); ok {
			s = before + "m"
		}
		if before, ok := strings.CutSuffix(s, "h0m"); ok {
			s = before + "h"
		}
		return s
	case size:
		switch {
		case x >= 1<<20 && x%(1<<20) == 0:
			return fmt.Sprintf("%dMiB", x>>20)
		case x >= 1<<10 && x%(1<<10) == 0:
			return fmt.Sprintf("%dKiB", x>>10)
		}
		return strconv.Itoa(int(x))
	case string:
		if x == "" {
			return `""`
		}
		return x
	case bool, int, uint, uint16, float64:
		return fmt.Sprint(x)
	}
	switch v.Kind() {
	case reflect.Slice:
		return "[]"
	case reflect.Map, reflect.Struct:
		return "{}"
	}
	return ""
}

// typeWords says what a type is read from.
func typeWords(t reflect.Type) string {
	switch {
	case t == secretType:
		return "secret, env:NAME or file:/path"
	case t == durationType:
		return "time, such as 90s, 10m or 30d"
	case t == reflect.TypeFor[size]():
		return "size in bytes, such as 4096 or 64KiB"
	case t == reflect.TypeFor[network]():
		return "address or network"
	case t == scalarType:
		return "text"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeWords(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "list: " + typeWords(t.Elem())
	case reflect.Map:
		return "mapping by name: " + typeWords(t.Elem())
	case reflect.Struct:
		return "mapping"
	}
	return "number"
}

// FindKey returns the key that a path such as routes.match leads to, without
// the names and indices on the way; nil when there is none.
func FindKey(keys []Key, path string) *Key {
	first, rest, more := strings.Cut(path, ".")
	first, _, _ = strings.Cut(first, "[")
	for i := range keys {
		if k := &keys[i]; k.Name == first {
			if !more {
				return k
			}
			if found := FindKey(k.Keys, rest); found != nil {
				return found
			}
			// A name in between, such as that of a person.
			if _, after, ok := strings.Cut(rest, "."); ok && k.item != "" {
				return FindKey(k.Keys, after)
			}
			if k.item != "" {
				return k
			}
		}
	}
	return nil
}

// referenceHead begins the reference.
const referenceHead = `# Every key that there is, each with an example or its default. Keys may be left
# out, but for routes; one that begins with # here is off, since it does not go
# with the others. Secrets are references only, env:NAME or file:/path. Times are
# such as 90s, 10m, 24h or 30d.
#
# This file is written by "beckon config", from what the program reads.
`

// ReferenceYAML writes the whole reference as a config file with comments.
func ReferenceYAML(factories []hub.Factory) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, k := range Reference(factories) {
		b.WriteByte('\n')
		b.WriteString(k.YAML())
	}
	return b.String()
}

// YAML writes the key and what is below it as in a config file, with comments.
func (k *Key) YAML() string { return strings.Join(k.lines(0), "\n") + "\n" }

// lines writes a key as it stands at that depth.
func (k *Key) lines(depth int) []string {
	doc := k.Doc
	if k.Default {
		doc += " The default."
	}
	out := comment(doc, 79-2*depth)
	var body []string
	block, isBlock := strings.CutPrefix(k.Example, "\n")
	switch {
	case len(k.Keys) == 0 && !isBlock:
		body = []string{k.Name + ": " + k.Example}
	case len(k.Keys) == 0:
		body = append([]string{k.Name + ":"}, indent(strings.Split(block, "\n"))...)
	default:
		body = append([]string{k.Name + ":"}, indent(k.content(depth+1))...)
	}
	if k.Off {
		for i := range body {
			body[i] = "#" + body[i]
		}
	}
	return append(out, body...)
}

// content writes what is below a key.
func (k *Key) content(depth int) (out []string) {
	if k.list || k.item != "" {
		depth++
	}
	for i := range k.Keys {
		out = append(out, k.Keys[i].lines(depth)...)
	}
	var extra []string
	if k.extra != "" {
		extra = strings.Split(k.extra, "\n")
	}
	switch {
	case k.list:
		out = item(out)
		if extra != nil {
			out = append(out, item(extra)...)
		}
	case k.item != "":
		out = append(append([]string{k.item + ":"}, indent(out)...), extra...)
	}
	return out
}

// item makes lines an item of a list. Comments in front stay in front.
func item(lines []string) []string {
	lines = indent(lines)
	for i, line := range lines {
		if strings.HasPrefix(line, "  # ") {
			lines[i] = line[2:]
			continue
		}
		lines[i] = "- " + line[2:]
		break
	}
	return lines
}

func indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = "  " + line
	}
	return out
}

// comment wraps text into lines of at most width letters, "# " included.
func comment(text string, width int) (out []string) {
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width && line != "#" {
			out = append(out, line)
			line = "#"
		}
		line += " " + word
	}
	if line != "#" {
		out = append(out, line)
	}
	return out
}

// ReferenceMarkdown writes the reference as a table.
func ReferenceMarkdown(factories []hub.Factory) string {
	var b strings.Builder
	b.WriteString("| key | takes | what it is for |\n|---|---|---|\n")
	var walk func(keys []Key)
	walk = func(keys []Key) {
		for i := range keys {
			k := &keys[i]
			doc := k.Doc
			if k.Default {
				doc += " Default: `" + k.Example + "`."
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Path, k.Type, strings.ReplaceAll(doc, "|", `\|`))
			walk(k.Keys)
		}
	}
	walk(Reference(factories))
	return b.String()
}
