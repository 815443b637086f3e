package ma2h

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how many levels of objects and lists a document may have, the
// outermost included.
const MaxDepth = 64

// sentDepth is the same for what a hub sends: state and value stand up to two
// levels deeper there than where they came in.
const sentDepth = MaxDepth + 2

// Scan checks that raw is one JSON object that every strict reader understands
// alike: UTF-8, no lone surrogate, no duplicate name at any depth, no number
// that a double can't hold, at most [MaxDepth] levels and nothing after it.
// Memory is bounded by the length of raw. The error is an [*Error] with
// [CodeValidation].
func Scan(raw []byte) error {
	_, err := scan(raw, envelopeTree, MaxDepth)
	return err
}

// traits are what the cheap pass over a document has noticed.
type traits struct {
	null  bool // a null outside of strings
	empty bool // an empty string, as a name or a value
}

// scan is [Scan] for a document of the given shape, with at most so many levels.
func scan(raw []byte, tree func() *node, most int) (traits, error) {
	t, err := prescan(raw, tree, most)
	if err != nil {
		return t, err
	}
	if !jsontext.Value(raw).IsValid() {
		return t, syntaxError(raw, tree)
	}
	return t, nil
}

// prescan checks what jsontext does not: emptiness, kind, depth and the range
// of numbers. It runs first, so that jsontext, which recurses into nested
// values, never meets a deep one. It takes for granted that the rest is JSON;
// whatever is not, jsontext finds.
func prescan(raw []byte, tree func() *node, most int) (t traits, err error) {
	if err := checkStart(raw); err != nil {
		return t, err
	}
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '"':
			n := stringLen(raw[i:])
			t.empty = t.empty || n == 2
			i += n
			continue
		case '{', '[':
			if depth++; depth > most {
				return t, invalid(fieldAt(raw, int64(i), tree), "is nested deeper than %d levels", most)
			}
		case '}', ']':
			depth--
		case 'n':
			t.null = true
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n := numberLen(raw[i:])
			if !inRange(raw[i : i+n]) {
				return t, invalid(fieldAt(raw, int64(i), tree), "is a number outside the range of an IEEE double")
			}
			i += n
			continue
		}
		i++
	}
	return t, nil
}

func checkStart(raw []byte) error {
	if len(bytes.Trim(raw, "\x00 \t\r\n")) == 0 {
		return invalid("", "the body is empty")
	}
	if bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) {
		return invalid("", "the body starts with a byte order mark; send UTF-8 without one")
	}
	switch start := bytes.TrimLeft(raw, " \t\r\n"); start[0] {
	case '{':
		return nil
	case '[', '"', 'n', 't', 'f', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return invalid("", "the body must be a JSON object, is %s", kindName(jsontext.Value(start).Kind()))
	}
	return invalid("", "the body is not JSON")
}

// stringLen returns the length of the JSON string that b starts with, quotes
// included, or of b if the string does not end.
func stringLen(b []byte) int {
	for i := 1; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		end := i + n
		slashes := 0
		for end-1-slashes > 0 && b[end-1-slashes] == '\\' {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

func numberLen(b []byte) int {
	for i, c := range b {
		switch {
		case '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
		default:
			return i
		}
	}
	return len(b)
}

// inRange reports whether a double can hold number. Only long ones and those
// with an exponent can overflow; what is no number is left to jsontext.
func inRange(number []byte) bool {
	if len(number) < 300 && !bytes.ContainsAny(number, "eE") {
		return true
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return !errors.Is(err, strconv.ErrRange)
}

// fieldAt names the field that the byte at offset belongs to.
func fieldAt(raw []byte, offset int64, tree func() *node) string {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		_, err := dec.ReadToken()
		if err != nil || dec.InputOffset() > offset {
			return tree().field(dec.StackPointer())
		}
	}
}

// syntaxError says why jsontext does not take raw. The text of jsontext's own
// error is not used, since it quotes the document.
func syntaxError(raw []byte, tree func() *node) error {
	if !utf8.Valid(raw) {
		return invalid("", "invalid UTF-8 at byte %d", invalidUTF8(raw))
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if err := dec.SkipValue(); err == nil {
		return invalid("", "there is data after the JSON object, at byte %d", dec.InputOffset())
	} else if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		field := tree().field(e.JSONPointer)
		text := e.Err.Error()
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			return invalid(field, "occurs twice in the same object")
		case strings.Contains(text, "surrogate"):
			return invalid(field, "holds a lone surrogate, at byte %d", e.ByteOffset)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return invalid("", "the JSON ends early, at byte %d", len(raw))
		}
		return invalid(field, "the JSON is malformed at byte %d", e.ByteOffset)
	}
	return invalid("", "the body is not JSON")
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8.
func invalidUTF8(raw []byte) (at int) {
	for at < len(raw) {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return at
}

// invalid makes the error of a wrong shape, a 400.
func invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeValidation, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// meaningless makes the error of a wrong meaning, a 422.
func meaningless(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidField, Field: field, Msg: fmt.Sprintf(format, args...)}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "nothing"
}
