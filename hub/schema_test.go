package hub

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

func inputAsk(schema string) *ma2h.Envelope {
	return envelope(func(e *ma2h.Envelope) {
		e.Request = &ma2h.Request{Mode: ma2h.Input, Schema: jsontext.Value(schema)}
	})
}

const noteForm = `{"type":"object","properties":{
	"note":{"type":"string","title":"Release note","minLength":3,"maxLength":20},
	"risk":{"enum":["low","high"],"enumNames":["Low","High"],"default":"low"},
	"users":{"type":"integer","minimum":1,"maximum":10},
	"share":{"type":"number"},
	"public":{"type":"boolean"},
	"day":{"type":"string","format":"date"},
	"key":{"type":"string","x-ma2h-sensitive":true}},
	"required":["note"]}`

func TestSchemaFields(t *testing.T) {
	t.Parallel()
	s, err := schemaOf(inputAsk(noteForm), 50)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range s.fields {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "note risk users share public day key" {
		t.Errorf("fields in order: %s", got)
	}
	if f := s.fields[0]; !f.Required || f.Title != "Release note" || f.MinLength != 3 || f.MaxLength != 20 {
		t.Errorf("note = %+v", f)
	}
	if f := s.fields[1]; f.Type != FieldString || !slices.Equal(f.EnumNames, []string{"Low", "High"}) || f.Default != "low" {
		t.Errorf("risk = %+v", f)
	}
	if !s.fields[6].Sensitive || !s.sensitive() {
		t.Error("key is not sensitive")
	}
}

func TestSchemaRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, field string }{
		{"no properties", `{"type":"object"}`, "request.schema.properties"},
		{"empty", `{"properties":{}}`, "request.schema.properties"},
		{"not an object", `{"type":"array","properties":{"a":{"type":"string"}}}`, "request.schema.type"},
		{"nested object", `{"properties":{"a":{"type":"object"}}}`, "request.schema.properties.a.type"},
		{"list", `{"properties":{"a":{"type":"array","items":{}}}}`, "request.schema.properties.a.items"},
		{"two types", `{"properties":{"a":{"type":["string","null"]}}}`, "request.schema.properties.a.type"},
		{"reference", `{"properties":{"a":{"$ref":"https://example.com/s"}}}`, "request.schema.properties.a.$ref"},
		{"reference at the top", `{"$ref":"#/$defs/x","properties":{"a":{"type":"string"}}}`, "request.schema.$ref"},
		{"anyOf", `{"properties":{"a":{"anyOf":[]}}}`, "request.schema.properties.a.anyOf"},
		{"required is no list", `{"properties":{"a":{"type":"string"}},"required":"a"}`, "request.schema.required"},
		{"required names nothing", `{"properties":{"a":{"type":"string"}},"required":["b"]}`, "request.schema.required"},
		{"bad pattern", `{"properties":{"a":{"type":"string","pattern":"("}}}`, "request.schema"},
		{"look-ahead is not RE2", `{"properties":{"a":{"type":"string","pattern":"(?=x)"}}}`, "request.schema"},
		{"length is text", `{"properties":{"a":{"type":"string","minLength":"3"}}}`, "request.schema.properties.a.minLength"},
		{"property is text", `{"properties":{"a":"string"}}`, "request.schema.properties.a"},
		{"additional schema", `{"properties":{"a":{"type":"string"}},"additionalProperties":{}}`, "request.schema.additionalProperties"},
		{"too many", `{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"}}}`, "request.schema.properties"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := schemaOf(inputAsk(tt.schema), 3)
			var e *Error
			if !errors.As(err, &e) || e.Code != ma2h.CodeInvalidField || e.Field != tt.field {
				t.Errorf("err = %v, want invalid_field at %s", err, tt.field)
			}
			if err != nil && strings.Contains(err.Error(), "mem:") {
				t.Errorf("the message shows our own name of the schema: %v", err)
			}
		})
	}
}

func TestFormValue(t *testing.T) {
	t.Parallel()
	s, err := schemaOf(inputAsk(noteForm), 50)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		in    map[string]string
		value string
		errs  string
	}{
		{
			"all",
			map[string]string{"note": "a \"b\"", "risk": "high", "users": "3", "share": "0.50", "public": "true", "day": "2026-12-01"},
			`{"note":"a \"b\"","risk":"high","users":3,"share":0.50,"public":true,"day":"2026-12-01"}`, "",
		},
		{"empty optional fields are left out", map[string]string{"note": "abc", "risk": "", "users": " ", "day": ""}, `{"note":"abc"}`, ""},
		{"line breaks stay", map[string]string{"note": "a\nb"}, `{"note":"a\nb"}`, ""},
		{"required", map[string]string{"note": ""}, "", "note is required"},
		{"not there", map[string]string{}, "", "note is required"},
		{"too short", map[string]string{"note": "ab"}, "", "note must have at least 3 characters"},
		{"length counts runes", map[string]string{"note": strings.Repeat("é", 20)}, `{"note":"` + strings.Repeat("é", 20) + `"}`, ""},
		{"too long", map[string]string{"note": strings.Repeat("é", 21)}, "", "note must have at most 20 characters"},
		{"no number", map[string]string{"note": "abc", "users": "many"}, "", "users must be a number, such as 12 or 0.5"},
		{"infinity is no number", map[string]string{"note": "abc", "share": "Inf"}, "", "share must be a number, such as 12 or 0.5"},
		{"hexadecimal is no number", map[string]string{"note": "abc", "share": "0x10"}, "", "share must be a number, such as 12 or 0.5"},
		{"not whole", map[string]string{"note": "abc", "users": "1.5"}, "", "users must be a whole number"},
		{"too small", map[string]string{"note": "abc", "users": "0"}, "", "users must be at least 1"},
		{"not in the enum", map[string]string{"note": "abc", "risk": "middle"}, "", "risk is not one of the allowed values"},
		{"not a date", map[string]string{"note": "abc", "day": "2026-02-30"}, "", "day must be a valid date"},
		{"not a boolean", map[string]string{"note": "abc", "public": "maybe"}, "", "public must be yes or no"},
		{
			"all that is wrong",
			map[string]string{"note": "", "risk": "middle", "users": "1.5", "share": "much", "public": "maybe", "day": "x"},
			"",
			"note is required; risk is not one of the allowed values; users must be a whole number; share must be a number, such as 12 or 0.5; public must be yes or no; day must be a valid date",
		},
		{"unknown field", map[string]string{"note": "abc", "evil": "1"}, "", "evil is not a field of this form"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, errs := s.read(tt.in, &redactor{})
			var got []string
			for _, e := range errs {
				got = append(got, e.Field+" "+e.Msg)
			}
			if strings.Join(got, "; ") != tt.errs {
				t.Errorf("errors %q, want %q", got, tt.errs)
			}
			if tt.errs == "" && string(v) != tt.value {
				t.Errorf("value %s, want %s", v, tt.value)
			}
		})
	}
}

func TestNamedMasksSensitive(t *testing.T) {
	t.Parallel()
	s, err := schemaOf(inputAsk(noteForm), 50)
	if err != nil {
		t.Fatal(err)
	}
	got := s.named(jsontext.Value(`{"key":"hunter2","public":true,"risk":"high","other":1}`))
	want := []NamedValue{{"risk", "risk", "High"}, {"public", "public", "yes"}, {"key", "key", Mask}}
	if !slices.Equal(got, want) {
		t.Errorf("named = %+v", got)
	}
}

func TestEdited(t *testing.T) {
	t.Parallel()
	s, err := schemaOf(inputAsk(`{"properties":{"n":{"type":"number","default":1.50},"s":{"type":"string","default":"a"},"x":{"type":"string"}}}`), 50)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, value, want string }{
		{"as proposed", `{"n":1.5,"s":"a","x":"new"}`, ""},
		{"number changed", `{"n":2,"s":"a"}`, "n"},
		{"text changed", `{"n":1.5,"s":"b"}`, "s"},
		{"taken out", `{"s":"a"}`, "n"},
	}
	for _, tt := range tests {
		if got := strings.Join(s.edited(jsontext.Value(tt.value)), " "); got != tt.want {
			t.Errorf("%s: edited = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A schema that is dear to compile is refused before it is compiled, and an
// answer compiles nothing.
func TestSchemaCost(t *testing.T) {
	t.Parallel()
	l := DefaultLimits
	text := func(keyword, value string) string {
		return `{"properties":{"a":{"type":"string","` + keyword + `":` + value + `}}}`
	}
	many := `{"properties":{`
	for i := range 50 {
		many += fmt.Sprintf(`"f%d":{"type":"string","pattern":"^[a-z]{900}$"},`, i)
	}
	many = many[:len(many)-1] + "}}"
	tests := []struct{ name, schema, field string }{
		{"repetitions", text("pattern", `"`+strings.Repeat("x{1000}", 3000)+`"`), "request.schema.properties.a.pattern"},
		{"nested ones", text("pattern", `"((((abcdefghijklmnop){10}){10}){10})"`), "request.schema.properties.a.pattern"},
		{"a long one", text("pattern", `"`+strings.Repeat("ship", 3000)+`"`), "request.schema.properties.a.pattern"},
		{"over many fields", many, "request.schema.properties.f11.pattern"},
		{"a long enum", text("enum", `["`+strings.Repeat(`x","`, 100)+`x"]`), "request.schema.properties.a.enum"},
		{"what people write", text("pattern", `"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`), ""},
		{"a text of up to 1000", text("pattern", `"^.{1,1000}$"`), ""},
		{"no expression", text("pattern", `"("`), "request.schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			err := checkInput(inputAsk(tt.schema), l)
			got := ""
			if e, ok := errors.AsType[*Error](err); ok {
				got = e.Field
			}
			if got != tt.field || (err != nil) != (tt.field != "") {
				t.Errorf("%v, want %s", err, tt.field)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
	s, err := schemaOf(inputAsk(text("format", `"regex"`)), 50)
	if err != nil || s.check([]byte(`{"a":"("}`)) != nil {
		t.Errorf("an answer is compiled: %v", err)
	}
}

// Numbers with huge exponents or many digits cost no more than others.
func TestNumberCost(t *testing.T) {
	t.Parallel()
	tiny, long := "1e-999999", "1."+strings.Repeat("3", 100000)
	schema := `{"properties":{`
	value := "{"
	for i := range 50 {
		schema += fmt.Sprintf(`"f%d":{"type":"number","minimum":%s,"multipleOf":0.5},`, i, tiny)
		value += fmt.Sprintf(`"f%d":%s,`, i, tiny)
	}
	start := time.Now()
	s, err := schemaOf(inputAsk(schema+`"long":{"type":"number","maximum":`+long+`}}}`), 51)
	if err != nil {
		t.Fatal(err)
	}
	if errs := s.check([]byte(value + `"long":` + long + "}")); errs != nil {
		t.Errorf("%.300v", errs)
	}
	if errs := s.check([]byte(`{"f0":1.0000000000000001e-999998,"f1":-1e-3,"f2":0.75,"long":1.34}`)); len(errs) != 4 {
		t.Errorf("%.300v", errs) // f1 twice
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}

// What an agent wrote is quoted in an error only as far as it helps.
func TestErrorsStayShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab|", 20000)
	s, err := schemaOf(inputAsk(`{"properties":{"a":{"type":"string","pattern":"^(`+long+`)$"}}}`), 50)
	if err != nil {
		t.Fatal(err)
	}
	if errs := s.check([]byte(`{"a":"x"}`)); len(errs) != 1 || len(errs[0].Msg) > 500 || !strings.Contains(errs[0].Msg, "pattern ^(ab|") {
		t.Errorf("%.600v", errs)
	}
	if _, err := schemaOf(inputAsk(`{"properties":{"a":{"type":"string","pattern":"(?=`+long+`)"}}}`), 50); err == nil || len(err.Error()) > 500 {
		t.Errorf("%.600v", err)
	}
	if l := optionList([]ma2h.Option{{Value: long}, {Value: "b"}}); len(l) > 500 || !strings.HasSuffix(l, ", b") {
		t.Errorf("%.600s", l)
	}
}
