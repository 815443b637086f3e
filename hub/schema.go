package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// flatSchema is the compiled schema of an input ask (spec §5.2): an object of
// strings, numbers, booleans and enums.
type flatSchema struct {
	fields   []Field
	compiled *jsonschema.Schema
}

// keywords are what a property of a flat schema may say; a value is the JSON
// kind that it must have, 0 for any. Only these reach the compiler, so a schema
// can refer to nothing outside itself.
var keywords = map[string]jsontext.Kind{
	"type": '"', "enum": '[', "const": 0, "default": 0, "format": '"', "pattern": '"',
	"minLength": '0', "maxLength": '0', "minimum": '0', "maximum": '0',
	"exclusiveMinimum": '0', "exclusiveMaximum": '0', "multipleOf": '0',
}

// notFlat are keywords that would make the schema more than a form.
var notFlat = []string{
	"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "properties",
	"patternProperties", "items", "prefixItems", "dependentSchemas", "dependentRequired",
	"additionalItems", "contains", "propertyNames", "unevaluatedProperties", "$defs", "definitions",
}

// schemaOf compiles the schema of an input ask. Errors name the field within
// the envelope.
func schemaOf(e *ma2h.Envelope, maxFields int) (*flatSchema, error) {
	const at = "request.schema"
	bad := func(field, format string, args ...any) (*flatSchema, error) {
		return nil, refuse(ma2h.CodeInvalidField, field, format, args...)
	}
	root := members(e.Request.Schema)
	for _, name := range notFlat {
		if _, ok := root.get(name); ok && name != "properties" {
			return bad(at+"."+name, "is not allowed: a schema here is flat (string, number, boolean, enum)")
		}
	}
	if t, ok := root.get("type"); ok && string(t) != `"object"` {
		return bad(at+".type", `must be "object"`)
	}
	props, ok := root.get("properties")
	if !ok || props.Kind() != '{' {
		return bad(at+".properties", "is missing or not an object: name the fields of the form")
	}
	var required []string
	if r, ok := root.get("required"); ok {
		if json.Unmarshal(r, &required) != nil {
			return bad(at+".required", "must be a list of field names")
		}
	}
	s := &flatSchema{}
	doc := map[string]any{"type": "object"}
	clean := map[string]any{}
	list := members(props)
	if len(list) == 0 || len(list) > maxFields {
		return bad(at+".properties", "has %d fields, 1 to %d are allowed (max_fields)", len(list), maxFields)
	}
	for _, p := range list {
		f, keep, err := fieldOf(p.name, p.value, e.Minor)
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(required, p.name)
		s.fields = append(s.fields, f)
		clean[p.name] = keep
	}
	for _, name := range required {
		if clean[name] == nil {
			return bad(at+".required", "names %q, which is not among the properties", name)
		}
	}
	doc["properties"] = clean
	if len(required) > 0 {
		doc["required"] = toAny(required)
	}
	if a, ok := root.get("additionalProperties"); ok {
		switch a.Kind() {
		case 't':
		case 'f':
			doc["additionalProperties"] = false
		default:
			return bad(at+".additionalProperties", "must be true or false here")
		}
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:schema", doc); err != nil {
		return bad(at, "is not a schema")
	}
	var err error
	if s.compiled, err = c.Compile("mem:schema"); err != nil {
		return bad(at, "is not a valid schema: %s", compileReason(err))
	}
	return s, nil
}

func toAny(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// compileReason says which keyword is wrong without the compiler's URLs.
func compileReason(err error) string {
	msg := err.Error()
	if i := strings.LastIndex(msg, "- at "); i >= 0 {
		msg = strings.TrimSpace(msg[i+5:])
	}
	msg = strings.ReplaceAll(strings.ReplaceAll(msg, "mem:schema#", ""), "\n", " ")
	if r := []rune(msg); len(r) > 300 { // it quotes the schema
		return string(r[:300]) + "…"
	}
	return msg
}

// fieldOf reads one property, and returns what of it the compiler gets.
func fieldOf(name string, raw jsontext.Value, minor int) (Field, map[string]any, error) {
	at := "request.schema.properties." + name
	f := Field{Name: name, Title: name}
	if raw.Kind() != '{' {
		return f, nil, refuse(ma2h.CodeInvalidField, at, "must be an object")
	}
	if name == "" || utf8.RuneCountInString(name) > 200 {
		return f, nil, refuse(ma2h.CodeInvalidField, "request.schema.properties", "a field name has 1 to 200 characters")
	}
	keep := map[string]any{}
	for _, m := range members(raw) {
		if slices.Contains(notFlat, m.name) {
			return f, nil, refuse(ma2h.CodeInvalidField, at+"."+m.name, "is not allowed: a schema here is flat (string, number, boolean, enum)")
		}
		kind, ok := keywords[m.name]
		if ok && kind != 0 && m.value.Kind() != kind {
			return f, nil, refuse(ma2h.CodeInvalidField, at+"."+m.name, "must be a %s", kindName(kind))
		}
		// The format "regex" would compile whatever an answer says.
		if ok && m.name != "default" && (m.name != "format" || textOf(m.value) != "regex") {
			v, err := decodeJSON(m.value)
			if err != nil {
				return f, nil, refuse(ma2h.CodeInvalidField, at+"."+m.name, "is not JSON")
			}
			keep[m.name] = v
		}
		f.take(m.name, m.value, minor)
	}
	if f.Type == "" {
		f.Type = typeOfEnum(f.Enum, keep["enum"])
	}
	switch f.Type {
	case FieldString, FieldNumber, FieldInteger, FieldBoolean:
	default:
		return f, nil, refuse(ma2h.CodeInvalidField, at+".type", "must be string, number, integer or boolean")
	}
	if f.EnumNames != nil && len(f.EnumNames) != len(f.Enum) {
		f.EnumNames = nil // labels that don't fit are no labels
	}
	return f, keep, nil
}

// take fills the form's side of a keyword.
func (f *Field) take(name string, v jsontext.Value, minor int) {
	text := func() string { return textOf(v) }
	switch name {
	case "type":
		f.Type = FieldType(text())
	case "title":
		if s := strings.TrimSpace(text()); s != "" {
			f.Title = s
		}
	case "description":
		f.Description = text()
	case "format":
		f.Format = text()
	case "pattern":
		f.Pattern = text()
	case "minLength":
		f.MinLength, _ = strconv.Atoi(text())
	case "maxLength":
		f.MaxLength, _ = strconv.Atoi(text())
	case "minimum":
		f.Minimum = text()
	case "maximum":
		f.Maximum = text()
	case "default":
		if k := v.Kind(); k != '{' && k != '[' && k != 'n' {
			f.Default, f.HasDefault = text(), true
		}
	case "enum", "enumNames":
		var list []string
		for _, e := range elements(v) {
			list = append(list, textOf(e))
		}
		if name == "enum" {
			f.Enum = list
		} else {
			f.EnumNames = list
		}
	case "x-ma2h-sensitive":
		f.Sensitive = f.Sensitive || v.Kind() == 't'
	case "sensitive": // the founding document's name (0.1 §9)
		f.Sensitive = f.Sensitive || (minor <= 1 && v.Kind() == 't')
	}
}

// typeOfEnum lets {"enum": […]} stand without a type when its values agree.
func typeOfEnum(enum []string, values any) FieldType {
	list, _ := values.([]any)
	if len(enum) == 0 || len(list) == 0 {
		return ""
	}
	switch list[0].(type) {
	case string:
		return FieldString
	case bool:
		return FieldBoolean
	case json.Number:
		return FieldNumber
	}
	return ""
}

// value builds the JSON object that a form's input stands for. Empty optional
// fields are left out. It returns every field that can't be read.
func (s *flatSchema) value(in map[string]string, r *redactor) (jsontext.Value, []FieldError) {
	var errs []FieldError
	out := []byte{'{'}
	add := func(name string, v []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), v...)
	}
	for i := range s.fields {
		f := &s.fields[i]
		text := in[f.Name]
		if f.HasDefault && (text == r.field(*f).Default || (f.Sensitive && text == "")) {
			text = f.Default // the form showed it masked or not at all: it stands
		}
		if f.Type != FieldString {
			text = strings.TrimSpace(text)
		}
		if text == "" { // for a person, an empty field is one not filled in
			if f.Required {
				errs = append(errs, FieldError{f.Name, "is required"})
			}
			continue
		}
		v, msg := f.parse(text)
		if msg != "" {
			errs = append(errs, FieldError{f.Name, msg})
			continue
		}
		add(f.Name, v)
	}
	for name := range in {
		if !slices.ContainsFunc(s.fields, func(f Field) bool { return f.Name == name }) {
			errs = append(errs, FieldError{name, "is not a field of this form"})
		}
	}
	return append(out, '}'), errs
}

// read is value and check in one: it returns every field that is at fault, so
// that a form is mended once.
func (s *flatSchema) read(in map[string]string, r *redactor) (jsontext.Value, []FieldError) {
	value, errs := s.value(in, r)
	unread := len(errs) > 0
	for _, e := range s.check(value) {
		// Of a field that could not be read, and of the whole without it, the
		// schema says nothing that a person could act on.
		known := slices.ContainsFunc(errs, func(had FieldError) bool { return had.Field == e.Field })
		if unread && (known || e.Field == "value") {
			continue
		}
		errs = append(errs, e)
	}
	place := func(e FieldError) int {
		return slices.IndexFunc(s.fields, func(f Field) bool { return f.Name == e.Field })
	}
	slices.SortStableFunc(errs, func(a, b FieldError) int { return place(a) - place(b) })
	return value, errs
}

// parse reads what a person typed as the field's JSON value.
func (f *Field) parse(text string) (v []byte, msg string) {
	switch f.Type {
	case FieldBoolean:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return []byte("true"), ""
		case "false", "no", "off", "0":
			return []byte("false"), ""
		}
		return nil, "must be yes or no"
	case FieldNumber, FieldInteger:
		n := jsontext.Value(strings.TrimPrefix(text, "+"))
		if x, err := strconv.ParseFloat(text, 64); err != nil || x != x || !n.IsValid() || n.Kind() != '0' {
			return nil, "must be a number, such as 12 or 0.5"
		}
		return n, ""
	}
	v, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, "is not valid text"
	}
	return v, ""
}

// check validates an object against the schema, in words that people can act
// on. Nothing in them repeats the value.
func (s *flatSchema) check(value jsontext.Value) []FieldError {
	if value.Kind() != '{' {
		return []FieldError{{"value", "must be an object with the fields of the form"}}
	}
	doc, err := decodeJSON(value)
	if err != nil {
		return []FieldError{{"value", "is not JSON"}}
	}
	err = s.compiled.Validate(doc)
	if err == nil {
		return nil
	}
	ve, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []FieldError{{"value", "does not fit the schema"}}
	}
	return explain(ve, nil)
}

// edited reports whether the value differs from what the agent proposed, and
// which fields do.
func (s *flatSchema) edited(value jsontext.Value) []string {
	given := members(value)
	var changed []string
	for i := range s.fields {
		f := &s.fields[i]
		if !f.HasDefault {
			continue
		}
		if v, ok := given.get(f.Name); !ok || !sameText(f, textOf(v)) {
			changed = append(changed, f.Name)
		}
	}
	return changed
}

func sameText(f *Field, text string) bool {
	if f.Type == FieldNumber || f.Type == FieldInteger {
		a, errA := strconv.ParseFloat(text, 64)
		b, errB := strconv.ParseFloat(f.Default, 64)
		return errA == nil && errB == nil && a == b
	}
	return text == f.Default
}

// named renders an object as people read it, in the form's order; sensitive
// values are masked.
func (s *flatSchema) named(value jsontext.Value) []NamedValue {
	given := members(value)
	var out []NamedValue
	for i := range s.fields {
		f := &s.fields[i]
		v, ok := given.get(f.Name)
		if !ok {
			continue
		}
		text := textOf(v)
		switch {
		case f.Sensitive:
			text = Mask
		case f.EnumNames != nil:
			if n := slices.Index(f.Enum, text); n >= 0 {
				text = f.EnumNames[n]
			}
		case f.Type == FieldBoolean:
			text = map[string]string{"true": "yes", "false": "no"}[text]
		}
		out = append(out, NamedValue{Name: f.Name, Title: f.Title, Text: text})
	}
	return out
}

func (s *flatSchema) sensitive() bool {
	return slices.ContainsFunc(s.fields, func(f Field) bool { return f.Sensitive })
}

// checkInput compiles an input ask's schema and holds the default against it.
func checkInput(e *ma2h.Envelope, l Limits) error {
	if e.Request == nil || e.Request.Mode != ma2h.Input {
		return nil
	}
	if err := checkCost(e, l); err != nil {
		return err
	}
	s, err := schemaOf(e, l.Fields)
	if err != nil {
		return err
	}
	def := e.Request.DefaultOnExpire
	if def == nil || def.Kind() == 'n' {
		return nil
	}
	if def.Kind() == '"' { // a 0.1 message may only give a string
		return refuse(ma2h.CodeInvalidField, "request.default_on_expire", "must be an object that fits the schema, or null")
	}
	if errs := s.check(def); errs != nil {
		return refuse(ma2h.CodeInvalidField, "request.default_on_expire", "does not fit the schema: %s %s", errs[0].Field, errs[0].Msg)
	}
	return nil
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
