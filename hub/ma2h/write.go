package ma2h

import "github.com/go-json-experiment/json/jsontext"

// An objectWriter appends the members of one JSON object. It exists because
// values of an agent must go out as the very bytes that came: json.Marshal
// compacts and re-escapes raw values, and escapes <, > and & besides.
type objectWriter struct {
	b     []byte
	comma bool
}

func beginObject(dst []byte) objectWriter { return objectWriter{b: append(dst, '{')} }

func (o *objectWriter) end() []byte { return append(o.b, '}') }

func (o *objectWriter) name(name string) {
	if o.comma {
		o.b = append(o.b, ',')
	}
	o.comma = true
	o.b = append(appendString(o.b, name), ':')
}

// str writes a string, empty or not.
func (o *objectWriter) str(name, value string) {
	o.name(name)
	o.b = appendString(o.b, value)
}

// strIf writes a string unless it is empty.
func (o *objectWriter) strIf(name, value string) {
	if value != "" {
		o.str(name, value)
	}
}

// raw writes a JSON value as it is.
func (o *objectWriter) raw(name string, value []byte) {
	o.name(name)
	o.b = append(o.b, value...)
}

// rawIf writes a JSON value as it is, unless it is nil.
func (o *objectWriter) rawIf(name string, value []byte) {
	if value != nil {
		o.raw(name, value)
	}
}

func (o *objectWriter) bool(name string, value bool) {
	o.name(name)
	if value {
		o.b = append(o.b, "true"...)
	} else {
		o.b = append(o.b, "false"...)
	}
}

func (o *objectWriter) boolPtr(name string, value *bool) {
	if value != nil {
		o.bool(name, *value)
	}
}

// strs writes a list of strings unless it is nil; an empty list is [].
func (o *objectWriter) strs(name string, list []string) {
	if list == nil {
		return
	}
	o.name(name)
	o.b = appendList(o.b, list, appendString)
}

func appendString[S ~string](dst []byte, s S) []byte {
	// Invalid UTF-8 is replaced; nothing that was parsed has any.
	out, _ := jsontext.AppendQuote(dst, s)
	return out
}

func appendList[T any](dst []byte, list []T, item func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, v)
	}
	return append(dst, ']')
}
