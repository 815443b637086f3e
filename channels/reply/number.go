package reply

import (
	"strings"
	"unicode"
)

// keycap is the mark that makes a digit a key.
const keycap = '\u20e3'

// numberPrefixes are what people write before the number of a choice. "No." is
// not among them: it is also the word no.
var numberPrefixes = []string{
	"option", "choice", "number", "nr.", "nr", "nummer", "opción", "opção", "opzione", "optie", "opcja", "вариант", "选项", "#",
}

// leadingNumber reads a number at the start of folded text, and returns what
// follows it. It fails when the number is only a part of something, as in 2nd,
// 1.5, 2:30 or 02.
func leadingNumber(s string) (n int, rest string, ok bool) {
	for _, p := range numberPrefixes {
		if t, cut := strings.CutPrefix(s, p); cut {
			s = strings.TrimSpace(t)
			break
		}
	}
	s, open := strings.CutPrefix(s, "(")
	n, s, ok = digits(s)
	if !ok {
		return 0, "", false
	}
	s, _ = strings.CutPrefix(s, string(keycap))
	end := strings.TrimPrefix(s, ")")
	switch {
	case open && end == s:
		return 0, "", false
	case end == s:
		if end = strings.TrimPrefix(s, "."); end == s {
			end = strings.TrimPrefix(s, ":")
		}
	}
	if end != "" && end[0] != ' ' {
		return 0, "", false
	}
	return n, strings.TrimSpace(end), true
}

// digits reads a run of decimal digits of one script, without a leading zero,
// or one circled number.
func digits(s string) (n int, rest string, ok bool) {
	var script rune // the zero of the run
	count := 0
	for i, r := range s {
		zero, value, isDigit := digit(r)
		if !isDigit {
			if count == 0 && r >= '①' && r <= '⑳' {
				return int(r-'①') + 1, s[i+len(string(r)):], true
			}
			return n, s[i:], count > 0
		}
		if count > 0 && (zero != script || n == 0) || count == 6 {
			return 0, "", false
		}
		script, n, count = zero, n*10+value, count+1
	}
	return n, "", count > 0
}

// digit returns the value of a decimal digit and the zero that goes with it.
// Unicode keeps each set of ten together, zero first.
func digit(r rune) (zero rune, value int, ok bool) {
	if r >= '0' && r <= '9' {
		return '0', int(r - '0'), true
	}
	if r < 0x80 || !unicode.Is(unicode.Nd, r) {
		return 0, 0, false
	}
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			value = int(r-rune(t.Lo)) % 10
			return r - rune(value), value, true
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			value = int(r-rune(t.Lo)) % 10
			return r - rune(value), value, true
		}
	}
	return 0, 0, false
}

// plainNumber reads one whole number as JSON writes it; a plus sign may stand
// before it. Digits of another script become ASCII. There are no thousands
// separators and no decimal comma, which mean different things in different
// places.
func plainNumber(s string) (string, bool) {
	s = strings.TrimPrefix(unmark(unwrap(fold(s))), "+")
	var b strings.Builder
	var script rune
	for _, r := range s {
		zero, value, ok := digit(r)
		switch {
		case ok && script != 0 && zero != script:
			return "", false
		case ok:
			script = zero
			b.WriteByte(byte('0' + value))
		default:
			b.WriteRune(r)
		}
	}
	s = b.String()
	return s, isNumber(s)
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, s := cutDigits(s)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if t, ok := strings.CutPrefix(s, "."); ok {
		var part string
		if part, s = cutDigits(t); part == "" {
			return false
		}
	}
	if t, ok := strings.CutPrefix(s, "e"); ok {
		if t != "" && (t[0] == '+' || t[0] == '-') {
			t = t[1:]
		}
		var part string
		if part, s = cutDigits(t); part == "" {
			return false
		}
	}
	return s == ""
}

func cutDigits(s string) (d, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}
