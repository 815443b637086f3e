package reply

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold brings text into the form in which it is compared: without case, width,
// composition, invisible characters and runs of white space, and with straight
// quotation marks.
func fold(s string) string {
	s = compatible(strings.Map(plain, s))
	s = compatible(cases.Fold().String(s))
	return strings.Join(strings.Fields(s), " ")
}

// compatible is NFKC, except for superscripts, fractions and the like: "1²" is
// not "12".
func compatible(s string) string {
	var b strings.Builder
	start := 0
	for i, r := range s {
		if unicode.Is(unicode.No, r) {
			b.WriteString(norm.NFKC.String(s[start:i]))
			b.WriteRune(r)
			start = i + len(string(r))
		}
	}
	if start == 0 {
		return norm.NFKC.String(s)
	}
	b.WriteString(norm.NFKC.String(s[start:]))
	return b.String()
}

// plain maps a rune to what is compared, or drops it.
func plain(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', 'ʼ', '´', '′', '＇':
		return '\''
	case '“', '”', '„', '‟', '«', '»', '″':
		return '"'
	case '−':
		return '-'
	}
	if invisible(r) || unicode.IsControl(r) && !unicode.IsSpace(r) || r >= 0x1f3fb && r <= 0x1f3ff { // skin tones
		return -1
	}
	return r
}

// invisible reports whether r shows nothing. The two overrides of direction
// are not among them: what they wrap is shown backwards, and reads as nothing.
func invisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0xfeff,
		r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202c,
		r >= 0x2060 && r <= 0x206f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

func spaceOrInvisible(r rune) bool { return unicode.IsSpace(r) || invisible(r) }

// trim takes white space and invisible characters off both ends.
func trim(s string) string { return strings.TrimFunc(s, spaceOrInvisible) }

func blank(s string) bool { return trim(s) == "" }

// maxLayers bounds how often markup and quotation marks are taken off.
const maxLayers = 8

// tidy takes off folded text what doesn't change what it names: a bullet, marks
// at its end, and quotation marks or markup around it.
func tidy(s string) string {
	for range maxLayers {
		t := unwrap(unmark(unbullet(s)))
		if t == s {
			break
		}
		s = t
	}
	return s
}

func unbullet(s string) string {
	for _, b := range []string{"- ", "* ", "• ", "¡"} {
		if t, ok := strings.CutPrefix(s, b); ok && t != "" {
			return strings.TrimSpace(t)
		}
	}
	return s
}

// unmark takes marks off the end. Dots that trail off are a doubt, and stay.
func unmark(s string) string {
	t := strings.TrimRight(s, ".!,;:。、 ")
	if t == "" || strings.Contains(s[len(t):], "..") {
		return s
	}
	return t
}

func unwrap(s string) string {
	const open, shut = "\"'`*_([「『", "\"'`*_)]」』"
	first, last := []rune(open), []rune(shut)
	r := []rune(s)
	if len(r) < 3 {
		return s
	}
	if i := slices.Index(first, r[0]); i >= 0 && last[i] == r[len(r)-1] {
		return strings.TrimSpace(string(r[1 : len(r)-1]))
	}
	return s
}

// undecorated is a folded label without emoji at its ends and without a final
// question mark: what people type of it.
func undecorated(s string) string {
	t := strings.TrimFunc(s, func(r rune) bool { return unicode.Is(unicode.So, r) || unicode.IsSpace(r) })
	if r := []rune(t); len(r) > 2 && r[1] == keycap {
		t = strings.TrimSpace(string(r[2:]))
	}
	return tidy(strings.TrimSpace(strings.TrimRight(t, "?")))
}

// wordsOf splits folded text into words, which keep their apostrophes.
func wordsOf(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	})
	out := words[:0]
	for _, w := range words {
		if w = strings.Trim(w, "'"); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// textWords folds prose and splits it. Characters without width part words
// here, so that none can hide a negation.
func textWords(s string) []string {
	return wordsOf(fold(strings.ReplaceAll(strings.ReplaceAll(s, "\u200b", " "), "\u2060", " ")))
}

// indexWords finds the words of key in a row, from the given place, or -1.
func indexWords(words, key []string, from int) int {
	for i := from; len(key) > 0 && i+len(key) <= len(words); i++ {
		if words[i] == key[0] && slices.Equal(words[i:i+len(key)], key) {
			return i
		}
	}
	return -1
}
