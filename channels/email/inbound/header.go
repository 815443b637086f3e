package inbound

import (
	"bytes"
	"mime"
	"regexp"
	"slices"
	"strings"
)

// maxHeader bounds the header of a mail, in bytes, and maxFields the fields in
// it. What goes beyond is not looked at.
const (
	maxHeader = 512 << 10
	maxFields = 5000
)

// header is the header of a mail or part, in order.
type header []field

// field is one header field: its name in lower case, and its value as it stands,
// line breaks included.
type field struct{ name, value string }

// readHeader splits a mail into header and body. Lines that are no header field
// are passed over; a body without a header has none.
func readHeader(raw []byte) (h header, body []byte) {
	raw = trimMbox(raw)
	begin, end := -1, 0 // of the last field's value
	finish := func() {
		if begin >= 0 {
			h[len(h)-1].value = string(raw[begin:end])
			begin = -1
		}
	}
	defer finish()
	for pos := 0; pos < len(raw); {
		line, next := lineAt(raw, pos)
		if len(line) == 0 {
			return h, raw[next:]
		}
		if pos >= maxHeader || len(h) >= maxFields && line[0] != ' ' {
			return h, afterBlank(raw[pos:])
		}
		if line[0] == ' ' || line[0] == '\t' {
			end = pos + len(line)
			pos = next
			continue
		}
		finish()
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && isFieldName(name) {
			h = append(h, field{name: strings.ToLower(string(bytes.TrimRight(name, " \t")))})
			begin, end = pos+len(line)-len(value), pos+len(line)
		}
		pos = next
	}
	return h, nil
}

// trimMbox takes off the line that an mbox file puts in front of a mail. A mail
// whose lines end in CR alone gets line feeds.
func trimMbox(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 {
		raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	}
	raw = bytes.TrimLeft(raw, "\r\n")
	if bytes.HasPrefix(raw, []byte("From ")) || bytes.HasPrefix(raw, []byte(">From ")) {
		_, next := lineAt(raw, 0)
		return raw[next:]
	}
	return raw
}

// lineAt returns the line that begins at pos, without its end, and where the next
// one begins.
func lineAt(raw []byte, pos int) (line []byte, next int) {
	n := bytes.IndexByte(raw[pos:], '\n')
	if n < 0 {
		return bytes.TrimSuffix(raw[pos:], []byte("\r")), len(raw)
	}
	return bytes.TrimSuffix(raw[pos:pos+n], []byte("\r")), pos + n + 1
}

// afterBlank returns what follows the first blank line.
func afterBlank(raw []byte) []byte {
	for pos := 0; pos < len(raw); {
		line, next := lineAt(raw, pos)
		if pos = next; len(line) == 0 {
			return raw[next:]
		}
	}
	return nil
}

// isFieldName reports whether a line begins with a field name (RFC 5322 §2.2);
// white space before the colon is forgiven.
func isFieldName(name []byte) bool {
	name = bytes.TrimRight(name, " \t")
	return len(name) > 0 && !bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// all returns the values of every field with that name, topmost first, unfolded.
func (h header) all(name string) []string {
	var out []string
	for _, f := range h {
		if f.name == name {
			out = append(out, unfold(f.value))
		}
	}
	return out
}

// first returns the topmost value, unfolded, "" when there is none.
func (h header) first(name string) string {
	for _, f := range h {
		if f.name == name {
			return unfold(f.value)
		}
	}
	return ""
}

func (h header) has(name string) bool {
	return slices.ContainsFunc(h, func(f field) bool { return f.name == name })
}

// unfold joins the lines of a value (RFC 5322 §2.2.3).
func unfold(value string) string {
	if !strings.Contains(value, "\n") {
		return strings.TrimSpace(value)
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", ""), "\n", ""))
}

// decodeWords reads encoded words, in whatever charset. Bytes that are no UTF-8
// are read as a body's would be.
func decodeWords(s string) string {
	d := mime.WordDecoder{CharsetReader: charsetReader}
	// Two words that stand together without white space, or a word in quotes,
	// are read as well: that is what people see elsewhere.
	if out, err := d.DecodeHeader(s); err == nil {
		s = out
	}
	return decodeText([]byte(s), "")
}

// oneLine makes a line of text, with single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// mediaType reads a Content-Type or Content-Disposition, damaged ones as far as
// they go. Type and names of parameters are in lower case.
func mediaType(value string) (typ string, params map[string]string) {
	if typ, params, err := mime.ParseMediaType(value); err == nil {
		return typ, params
	}
	typ, rest, _ := strings.Cut(value, ";")
	params = map[string]string{}
	for _, m := range parameter.FindAllStringSubmatch(rest, 50) {
		name, v := strings.ToLower(m[1]), m[2]
		if len(v) > 1 && v[0] == '"' {
			v = strings.ReplaceAll(strings.Trim(v, `"`), `\`, "")
		}
		if _, twice := params[name]; !twice {
			params[name] = v
		}
	}
	return strings.ToLower(strings.TrimSpace(typ)), params
}

var parameter = regexp.MustCompile(`([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s"]*)`)
