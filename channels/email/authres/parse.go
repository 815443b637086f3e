package authres

import (
	"errors"
	"strings"
)

// Header is one Authentication-Results header.
type Header struct {
	ID      string // the server's authserv-id as it stands there; "" when it names none
	Version string // "" or "1"; another one is not to be read (RFC 8601 §2.2)
	Methods []Method
}

// Method is what one check found (resinfo in RFC 8601 §2.2).
type Method struct {
	Name    string // in lower case: "dmarc", "spf", "dkim"
	Version string // "" or "1"
	Result  string // in lower case: "pass", "fail", …
	Props   []Prop
	// Odd: it holds something that the grammar has no place for. What looks
	// like a result then may be somebody's text.
	Odd bool
}

// Prop is one property of a result, such as header.from=example.com. Servers
// write some without a type; Type is empty then.
type Prop struct {
	Type, Name string // in lower case
	Value      string // unquoted
}

// Get returns the first property of that type and name.
func (m *Method) Get(typ, name string) (value string, ok bool) {
	for _, p := range m.Props {
		if p.Type == typ && p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// ErrDamaged says that a header is not one of a sound server: it ends in the
// middle of a comment or quoted string, or holds control characters.
var ErrDamaged = errors.New("damaged Authentication-Results header")

const (
	maxHeader  = 64 << 10 // bytes; servers write less than 4 KB
	maxMethods = 100
)

// Parse reads the value of an Authentication-Results header, folded or not. With
// unnamed, the header begins with a result at once, without the name of the server
// (as Microsoft 365 writes it). It returns ErrDamaged, or no error; what is odd in
// a result is marked there.
func Parse(value string, unnamed bool) (*Header, error) {
	tokens, err := scan(value)
	if err != nil {
		return nil, err
	}
	h := &Header{}
	sections := split(tokens)
	if !unnamed {
		h.readID(sections[0])
		sections = sections[1:]
	}
	if len(sections) > maxMethods {
		return nil, ErrDamaged
	}
	for _, s := range sections {
		if m := readMethod(s); m != nil {
			h.Methods = append(h.Methods, *m)
		}
	}
	return h, nil
}

// tokenKind is a kind of token.
type tokenKind int

const (
	word tokenKind = iota
	quoted
	equals
	semicolon
)

// token is a piece of the header. Gap says that white space or a comment stands
// before it.
type token struct {
	kind tokenKind
	text string
	gap  bool
}

// scan splits a header into tokens and drops comments, which may be nested
// (RFC 5322 §3.2.2).
func scan(s string) ([]token, error) {
	if len(s) > maxHeader {
		return nil, ErrDamaged
	}
	s = unfold(s)
	var out []token
	gap := false
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t':
			gap = true
			i++
			continue
		case c < ' ' || c == 0x7f:
			return nil, ErrDamaged
		case c == '(':
			n := comment(s[i:])
			if n < 0 {
				return nil, ErrDamaged
			}
			gap = true
			i += n
			continue
		case c == '"':
			text, n := quotedString(s[i:])
			if n < 0 {
				return nil, ErrDamaged
			}
			out = append(out, token{quoted, text, gap})
			i += n
		case c == ';':
			out = append(out, token{semicolon, ";", gap})
			i++
		case c == '=':
			out = append(out, token{equals, "=", gap})
			i++
		default:
			n := strings.IndexAny(s[i:], " \t\"(;=")
			if n < 0 {
				n = len(s) - i
			}
			if strings.ContainsFunc(s[i:i+n], func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return nil, ErrDamaged
			}
			out = append(out, token{word, s[i : i+n], gap})
			i += n
		}
		gap = false
	}
	return out, nil
}

// unfold takes out the line breaks of a folded header (RFC 5322 §2.2.3). Others
// stay, and are found to be control characters.
func unfold(s string) string {
	s = strings.TrimRight(s, "\r\n")
	if !strings.Contains(s, "\n") {
		return s
	}
	return strings.NewReplacer("\r\n ", " ", "\r\n\t", " ", "\n ", " ", "\n\t", " ").Replace(s)
}

// comment returns how long the comment is that s begins with, -1 if it has no
// end.
func comment(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		case 0, '\r', '\n':
			return -1
		}
	}
	return -1
}

// quotedString returns the text of the quoted string that s begins with, and how
// long that is, -1 if it has no end.
func quotedString(s string) (text string, n int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), i + 1
		case '\\':
			if i++; i == len(s) {
				return "", -1
			}
			b.WriteByte(s[i])
		case 0, '\r', '\n':
			return "", -1
		default:
			b.WriteByte(c)
		}
	}
	return "", -1
}

// split splits tokens at semicolons. There is at least one section.
func split(tokens []token) [][]token {
	sections := [][]token{nil}
	for _, t := range tokens {
		if t.kind == semicolon {
			sections = append(sections, nil)
			continue
		}
		sections[len(sections)-1] = append(sections[len(sections)-1], t)
	}
	return sections
}

// readID reads what stands before the first semicolon: the server's id, which
// may be quoted, and perhaps a version. Anything more makes it no id that anybody
// has configured.
func (h *Header) readID(s []token) {
	pieces := joined(s)
	if len(pieces) > 0 {
		h.ID = pieces[0].text
	}
	if len(pieces) > 1 {
		h.Version = pieces[1].text
	}
	if len(pieces) > 2 {
		h.ID = ""
	}
}

// joined puts together what stands without a gap.
func joined(s []token) []token {
	var out []token
	for _, t := range s {
		if len(out) > 0 && !t.gap {
			last := &out[len(out)-1]
			last.text += t.text
			if t.kind != last.kind {
				last.kind = quoted // mixed: no plain word
			}
			continue
		}
		out = append(out, t)
	}
	return out
}

// readMethod reads one result. It returns nil for an empty section, and for
// "none" alone, which says that there are no results.
func readMethod(s []token) *Method {
	if len(s) == 0 || len(s) == 1 && s[0].kind == word && strings.EqualFold(s[0].text, "none") {
		return nil
	}
	m := &Method{}
	key, value, rest, odd := readPair(s)
	m.Odd = odd || value.kind != word
	name, version, _ := strings.Cut(key, "/")
	m.Name, m.Version, m.Result = name, version, strings.ToLower(value.text)
	for len(rest) > 0 {
		key, value, rest, odd = readPair(rest)
		m.Odd = m.Odd || odd
		if key == "" {
			continue
		}
		typ, name, ok := strings.Cut(key, ".")
		if !ok {
			typ, name = "", key
		}
		m.Props = append(m.Props, Prop{typ, name, value.text})
	}
	return m
}

// readPair reads "key = value" and returns what follows. The key may have white
// space around its "." or "/"; the value is all that stands together, since
// servers leave "=" in addresses unquoted. What stands in front of the key and
// belongs to nothing is odd.
func readPair(s []token) (key string, value token, rest []token, odd bool) {
	i := 0
	for ; i < len(s) && s[i].kind != equals; i++ {
		if s[i].kind == quoted {
			odd = true
		}
		switch t := s[i].text; {
		case key == "", !s[i].gap, strings.HasSuffix(key, "."), strings.HasSuffix(key, "/"),
			strings.HasPrefix(t, "."), strings.HasPrefix(t, "/"):
			key += t
		default:
			key, odd = t, true
		}
	}
	if i == len(s) {
		return "", token{}, nil, true // words that are no pair
	}
	key = strings.ToLower(key)
	if key == "" {
		odd = true
	}
	i++
	// An empty value, and then the next pair: "smtp.mailfrom= smtp.helo=x".
	if i == len(s) || s[i].gap && i+1 < len(s) && s[i].kind == word && s[i+1].kind == equals && !s[i+1].gap {
		return key, token{kind: word}, s[i:], odd
	}
	value = s[i]
	for i++; i < len(s) && !s[i].gap; i++ {
		value.text += s[i].text
		if s[i].kind != word {
			value.kind = quoted
		}
	}
	return key, value, s[i:], odd
}
