package reply

import (
	"slices"
	"strings"

	"beckon/hub"
)

// readInput reads the fields of a form.
func readInput(c *hub.Card, lines []string) Reading {
	v := &vocabulary{byName: map[string][]int{}}
	v.add(choice{verb: hub.VerbDecline}, declineWords...)
	f := &form{card: c, fields: c.Fields}
	open := len(c.Fields) == 1 && f.fields[0].Type == hub.FieldString && f.fields[0].Enum == nil
	if rest := pastGreeting(c, lines); rest != nil && !open && !f.isField(lines[0]) {
		lines = rest
	}
	if len(c.Fields) == 1 {
		return f.readOne(v, lines, open)
	}
	if h := v.read(lines[0]); h.why == "" && !f.isField(lines[0]) {
		if slices.ContainsFunc(lines[1:], f.isField) {
			return Reading{Why: WhyAmbiguous}
		}
		return v.answer(c, h, lines[1:])
	}
	return f.readMany(lines)
}

// form is what an input ask wants.
type form struct {
	card   *hub.Card
	fields []hub.Field
}

// keyed is a line read as name and value.
type keyed struct {
	name  string // as written
	value string
	fits  []int // fields that have this name; empty when none does
}

// maxKey bounds the length of a field's name on its line, in bytes: the hub
// takes names of 200 characters.
const maxKey = 1000

// key reads a line as "name: value" or "name = value". A name may hold a colon
// itself; the first split at which a field is found counts.
func (f *form) key(line string) (k keyed, ok bool) {
	rest, at, tries := line, 0, 0
	for tries < 4 {
		i := strings.IndexAny(rest, ":=：＝")
		if i < 0 || at+i > maxKey {
			break
		}
		sep := len("=")
		if !strings.ContainsRune(":=", rune(rest[i])) {
			sep = len("：")
		}
		name := line[:at+i]
		at += i + sep
		rest = line[at:]
		tries++
		if blank(name) {
			continue
		}
		this := keyed{name: trim(name), value: trim(rest)}
		for _, m := range []string{"**", "*", "_"} { // *name:* value
			n, before := strings.CutPrefix(this.name, m)
			value, after := strings.CutPrefix(this.value, m)
			if before && after {
				this.name, this.value = n, trim(value)
				break
			}
		}
		this.fits = f.named(this.name)
		if len(this.fits) > 0 {
			return this, true
		}
		if !ok {
			k, ok = this, true
		}
	}
	return k, ok
}

// named returns the fields with this name or title.
func (f *form) named(name string) []int {
	want := tidy(fold(name))
	var out []int
	for i := range f.fields {
		if want == tidy(fold(f.fields[i].Name)) || want == tidy(fold(f.fields[i].Title)) {
			out = append(out, i)
		}
	}
	return out
}

func (f *form) isField(line string) bool {
	k, ok := f.key(line)
	return ok && len(k.fits) > 0
}

// readOne reads the only field of a form. An open one takes any text.
func (f *form) readOne(v *vocabulary, lines []string, open bool) Reading {
	field := &f.fields[0]
	if k, ok := f.key(lines[0]); ok && len(k.fits) > 0 {
		lines = append([]string{k.value}, lines[1:]...)
	} else if h := v.read(lines[0]); h.why == "" {
		_, isValue := valueOf(field, lines[0])
		switch {
		case open && (len(lines) > 1 || h.rest != ""):
			return Reading{Why: WhyAmbiguous} // to decline, or a text that begins so
		case open || !isValue:
			return v.answer(f.card, h, lines[1:])
		}
	}
	if open {
		value := trim(strings.Join(lines, "\n"))
		if value == "" {
			return Reading{Why: WhyEmpty}
		}
		return f.answer(map[string]string{field.Name: value}, "")
	}
	value, ok := valueOf(field, lines[0])
	if !ok {
		return Reading{Why: WhyBadValue, Field: field.Name}
	}
	below := lines[1:]
	if takenBack(below, []string{tidy(fold(lines[0])), fold(value)}, false) || slices.ContainsFunc(below, func(l string) bool { return otherValue(field, value, l) }) {
		return Reading{Why: WhyHedged}
	}
	return f.answer(map[string]string{field.Name: value}, trim(strings.Join(below, "\n")))
}

// otherValue reports whether a line of the comment is a value too, and not the
// one that was given.
func otherValue(field *hub.Field, given, line string) bool {
	v, ok := valueOf(field, line)
	return ok && v != given
}

// readMany reads a line for each field, and then perhaps a comment.
func (f *form) readMany(lines []string) Reading {
	values := map[string]string{}
	var comment []string
	parted := false // a blank line came before this one
	for i, line := range lines {
		if blank(line) {
			parted = true
			continue
		}
		k, _ := f.key(line)
		switch {
		case len(k.fits) > 1:
			return Reading{Why: WhyTwice, Field: k.name}
		case len(k.fits) == 1:
			if r := f.take(values, &f.fields[k.fits[0]], k.value); r.Why != "" {
				return r
			}
			parted = false
			continue
		case !parted || len(values) == 0:
			return Reading{Why: WhyUnknownField, Field: shortName(k.name)}
		}
		comment = lines[i:]
		if name, ok := f.misplaced(comment, len(values) < len(f.fields)); ok {
			return Reading{Why: WhyUnknownField, Field: shortName(name)}
		}
		break
	}
	if takenBack(comment, nil, false) {
		return Reading{Why: WhyHedged}
	}
	return f.answer(values, trim(strings.Join(comment, "\n")))
}

// misplaced finds a field in a comment, where it would be lost. While fields are
// missing, what only looks like one may be misspelt.
func (f *form) misplaced(comment []string, missing bool) (name string, ok bool) {
	for _, line := range comment {
		if k, ok := f.key(line); ok && (missing || len(k.fits) > 0) {
			return k.name, true
		}
	}
	return "", false
}

// take puts one value into the answer. An empty one is a field left out.
func (f *form) take(values map[string]string, field *hub.Field, text string) Reading {
	if _, twice := values[field.Name]; twice {
		return Reading{Why: WhyTwice, Field: field.Name}
	}
	if text == "" {
		return Reading{}
	}
	value, ok := valueOf(field, text)
	if !ok {
		return Reading{Why: WhyBadValue, Field: field.Name}
	}
	values[field.Name] = value
	return Reading{}
}

// answer is the reading of a form that has all it must have.
func (f *form) answer(values map[string]string, comment string) Reading {
	var missing []string
	for i := range f.fields {
		if _, ok := values[f.fields[i].Name]; !ok && f.fields[i].Required {
			missing = append(missing, f.fields[i].Name)
		}
	}
	switch {
	case missing != nil:
		return Reading{Why: WhyMissing, Missing: missing}
	case len(values) == 0:
		return Reading{Why: WhyEmpty}
	}
	return Reading{Verb: hub.VerbAnswer, Fields: values, Comment: comment}
}

// valueOf reads what was written for a field, as the hub takes it. It fails
// when the text is not plainly one value; an open string takes any.
func valueOf(field *hub.Field, text string) (string, bool) {
	if field.Enum == nil && field.Type == hub.FieldString {
		return trim(text), true
	}
	if field.Enum == nil && len(text) > longWords {
		return "", false
	}
	f := fold(text)
	t := tidy(f)
	if field.Enum != nil {
		return enumValue(field, f, t)
	}
	switch field.Type {
	case hub.FieldBoolean:
		switch {
		case t == "true" || t == "on" || slices.Contains(yesWords, t):
			return "true", true
		case t == "false" || t == "off" || slices.Contains(noWords, t):
			return "false", true
		}
		return "", false
	case hub.FieldNumber, hub.FieldInteger:
		return plainNumber(text)
	}
	return "", false
}

// enumValue finds the one value that has this value or label.
func enumValue(field *hub.Field, f, t string) (string, bool) {
	found := -1
	for i, value := range field.Enum {
		names := []string{fold(value), tidy(fold(value))}
		if i < len(field.EnumNames) {
			label := fold(field.EnumNames[i])
			names = append(names, label, tidy(label), undecorated(label))
		}
		if slices.Contains(names, f) || slices.Contains(names, t) {
			if found >= 0 {
				return "", false
			}
			found = i
		}
	}
	if found < 0 {
		return "", false
	}
	return field.Enum[found], true
}

// shortName cuts what may be a whole line that somebody wrote.
func shortName(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
