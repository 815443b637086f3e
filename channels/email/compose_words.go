package email

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxEncodedWord bounds an encoded word so that the first fits on the line of its
// field's name. RFC 2047 §2 allows 75.
const maxEncodedWord = 60

// encodeSubject writes a subject for its header: ASCII as it stands, and the rest as
// encoded words. What the hub puts in front stays readable for whoever sorts mail by
// it.
func encodeSubject(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if plainHeader(s) {
		return s
	}
	front := ""
	if i := strings.Index(s, "] "); i >= 0 && plainHeader(s[:i]) {
		front, s = s[:i+2], s[i+2:]
	}
	return front + strings.Join(encodedWords(s), " ")
}

// plainHeader reports text that stands for itself in a header.
func plainHeader(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return !strings.Contains(s, "=?")
}

// encodedWords writes text as encoded words (RFC 2047), in the shorter of the two
// encodings. No word ends within a character.
func encodedWords(s string) []string {
	const room = maxEncodedWord - len("=?UTF-8?Q??=")
	quoted := func(s string) (n int) {
		for i := range len(s) {
			n += len(quoteByte(s[i]))
		}
		return n
	}
	encode, size := quoteWord, quoted
	if quoted(s) > base64.StdEncoding.EncodedLen(len(s)) {
		encode, size = base64Word, func(s string) int { return base64.StdEncoding.EncodedLen(len(s)) }
	}
	var words []string
	start := 0
	for i, r := range s {
		if i > start && size(s[start:i+utf8.RuneLen(r)]) > room {
			words = append(words, encode(s[start:i]))
			start = i
		}
	}
	return append(words, encode(s[start:]))
}

func base64Word(s string) string {
	return "=?UTF-8?B?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func quoteWord(s string) string {
	var b strings.Builder
	b.WriteString("=?UTF-8?Q?")
	for i := range len(s) {
		b.WriteString(quoteByte(s[i]))
	}
	b.WriteString("?=")
	return b.String()
}

// quoteByte is one byte in the "Q" encoding, with what is safe everywhere in a
// header left as it is.
func quoteByte(c byte) string {
	switch {
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!*+-/.,'()", c) >= 0:
		return string(rune(c))
	case c == ' ':
		return "_"
	}
	return fmt.Sprintf("=%02X", c)
}
