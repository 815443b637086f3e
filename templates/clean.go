package templates

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes untrusted text fit for one line, such as a title or a label: line
// breaks, tabs and control characters become spaces, runs of spaces become one,
// and what could reorder or hide neighbouring text is shown as U+FFFD or
// dropped. It escapes nothing: that is the medium's own work.
func Line(s string) string {
	return strings.Join(strings.Fields(clean(s, false)), " ")
}

// Text does for text of several lines what [Line] does for one: line breaks and
// tabs stay.
func Text(s string) string { return clean(s, true) }

func clean(s string, lines bool) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if lines {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case lines && (r == '\n' || r == '\t'):
			return r
		case r == '\u2028' || r == '\u2029' || unicode.IsControl(r):
			return ' '
		case isBidiControl(r):
			return '\uFFFD' // a reader should see that something was here
		case isInvisible(r):
			return -1
		}
		return r
	}, s)
}

// isBidiControl reports the embeddings, overrides and isolates of Unicode
// TR #9, which can make text read as something else. The marks (U+200E, U+200F,
// U+061C) can't and stay.
func isBidiControl(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// isInvisible reports characters that carry hidden text. The joiners (U+200C,
// U+200D) stay: Persian and emoji need them.
func isInvisible(r rune) bool {
	return r == '\u200B' || r == '\uFEFF' || r >= '\u2060' && r <= '\u2064' || r >= 0xE0000 && r <= 0xE007F
}

// Cut shortens s to at most n runes, and says so with an ellipsis as the last of
// them. It reports whether anything was cut.
func Cut(s string, n int) (string, bool) {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s, false
	}
	if n <= 0 {
		return "", true
	}
	i, k := 0, 0
	for i = range s {
		if k == n-1 {
			break
		}
		k++
	}
	return strings.TrimRightFunc(s[:i], unicode.IsSpace) + "…", true
}

// SafeURL returns a link target that a page may offer, and the host that a
// person should see beside it. ok is false for every scheme but http, https and
// mailto, and for a relative reference, which would point at the hub itself.
func SafeURL(raw string) (href, host string, ok bool) {
	raw = strings.TrimSpace(raw)
	if strings.ContainsFunc(raw, func(r rune) bool {
		return unicode.IsControl(r) || isBidiControl(r) || isInvisible(r)
	}) {
		return "", "", false
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Hostname() == "" {
			return "", "", false
		}
		return u.String(), hostWords(u.Host), true
	case "mailto":
		if u.Opaque == "" {
			return "", "", false
		}
		addr, err := url.PathUnescape(u.Opaque)
		if err != nil {
			return "", "", false
		}
		return u.String(), Line(addr), true
	}
	return "", "", false
}

// hostWords warns of a host with letters beyond ASCII, which may look like
// another one.
func hostWords(host string) string {
	host = Line(host)
	for _, r := range host {
		if r > unicode.MaxASCII {
			return host + ", not plain Latin letters"
		}
	}
	return host
}
