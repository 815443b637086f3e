package extract

import (
	"strings"
	"unicode"
)

// maxSent bounds, in bytes, what is remembered of the mails that we sent.
const maxSent = MaxBytes

// sent knows what we wrote in a thread, so that it is not taken for what the
// person wrote. A line is ours if it is equal to one of ours, or if it is a part
// of one that a client wrapped anew: each three words that follow each other in
// it, and across its end or beginning, do so in a mail of ours.
//
// A line that we sent once is ours once: whoever copies "2. Hold" below the
// quoted question has answered.
type sent struct {
	left    map[string]int // how often a line may still be ours
	pairs   map[[2]string]bool
	triples map[[3]string]bool
	markers map[string]bool // "-- reply above this line --"
}

// rememberSent returns nil if we sent nothing.
func rememberSent(texts []string) *sent {
	var s *sent
	room := maxSent
	for _, text := range texts {
		if len(text) > room {
			text = text[:room]
		}
		room -= len(text)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if s == nil {
			s = &sent{make(map[string]int), make(map[[2]string]bool), make(map[[3]string]bool), make(map[string]bool)}
		}
		s.add(text)
	}
	return s
}

func (s *sent) add(text string) {
	var words []string
	for _, l := range split(clean(text)) {
		k := key(l.norm)
		if k == "" {
			continue
		}
		s.left[k]++
		if marker(l.norm) {
			s.markers[k] = true
		}
		words = append(words, strings.Fields(k)...)
	}
	for i := range words {
		if i+1 < len(words) {
			s.pairs[[2]string(words[i:i+2])] = true
		}
		if i+2 < len(words) {
			s.triples[[3]string(words[i:i+3])] = true
		}
	}
}

// marker reports whether a line asks to reply above it: words between dashes.
func marker(norm string) bool {
	return len(norm) > 8 && strings.HasPrefix(norm, "-") && strings.HasSuffix(norm, "-") && hasLetter(norm)
}

// key is what is compared of a line: without the links that converters put
// into it, without markup, and "" for lines without letters and digits.
func key(norm string) string {
	if strings.ContainsAny(norm, "<[(*_") {
		norm = withoutLinks(norm)
		norm = strings.Map(func(r rune) rune {
			if r == '*' || r == '_' {
				return -1
			}
			return r
		}, norm)
	}
	if strings.IndexFunc(norm, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) < 0 {
		return ""
	}
	return strings.Join(strings.Fields(norm), " ")
}

// withoutLinks takes out "<https://…>", "[https://…]", "(mailto:…)".
func withoutLinks(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "<[(")
		if i < 0 {
			break
		}
		end := strings.IndexAny(s[i:], ">])")
		if end < 0 {
			break
		}
		inside := s[i+1 : i+end]
		b.WriteString(s[:i])
		if link(inside) {
			b.WriteByte(' ')
		} else {
			b.WriteString(s[i : i+end+1])
		}
		s = s[i+end+1:]
	}
	b.WriteString(s)
	return b.String()
}

func link(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "mailto:") || strings.HasPrefix(s, "tel:") || strings.HasPrefix(s, "cid:")
}

// knows reports whether a line as a whole is a line that we sent.
func (s *sent) knows(l *line) bool {
	if s == nil || l.norm == "" {
		return false
	}
	_, ok := s.left[key(l.norm)]
	return ok
}

// take reports whether line i is ours, and uses it up.
func (s *sent) take(lines []line, i int) bool {
	if s == nil || lines[i].norm == "" {
		return false
	}
	k := key(lines[i].norm)
	if n, known := s.left[k]; known {
		s.left[k] = max(n-1, 0)
		return n > 0
	}
	words := strings.Fields(k)
	return s.row(words) && (i > 0 && s.goesOn(&lines[i-1], words) || i+1 < len(lines) && s.goesOn(&lines[i], strings.Fields(key(lines[i+1].norm))))
}

// row reports whether words follow each other in a mail of ours.
func (s *sent) row(words []string) bool {
	for i := range len(words) - 2 {
		if !s.triples[[3]string(words[i:i+3])] {
			return false
		}
	}
	return len(words) != 2 || s.pairs[[2]string(words)]
}

// goesOn reports whether, in a mail of ours, words follow those of the line
// that stands before them.
func (s *sent) goesOn(before *line, words []string) bool {
	was := strings.Fields(key(before.norm))
	if len(was) == 0 || len(words) == 0 {
		return false
	}
	across := append(was[max(0, len(was)-2):len(was):len(was)], words[:min(2, len(words))]...)
	return len(across) > 2 && s.row(across)
}

// marks reports whether a line is our "reply above this line".
func (s *sent) marks(l *line) bool { return s != nil && len(s.markers) > 0 && s.markers[key(l.norm)] }
