package extract

import (
	"regexp"
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
// A line that stands once in a mail of ours is ours once in each mail that is
// quoted: whoever copies "2. Hold" below the quoted question has answered.
type sent struct {
	lines   map[string]int // how often a line stands in a mail of ours
	words   map[string]bool
	pairs   map[[2]string]bool
	triples map[[3]string]bool
	markers map[string]bool // "-- reply above this line --"

	used map[string]int // how often a line was met in the quoted mail of now
}

// rememberSent returns nil if we sent nothing. The mails are plain text or HTML.
func rememberSent(mails []string) *sent {
	var s *sent
	room := maxSent
	for _, mail := range mails {
		if mail = strings.TrimSpace(mail); mail == "" || room <= 0 {
			continue
		}
		mail, _ = capped(mail, room)
		room -= len(mail)
		if s == nil {
			s = &sent{
				lines: make(map[string]int), words: make(map[string]bool), pairs: make(map[[2]string]bool),
				triples: make(map[[3]string]bool), markers: make(map[string]bool), used: make(map[string]int),
			}
		}
		if isHTML(mail) {
			s.add(linesOf(mail, true).lines)
		} else {
			s.add(split(clean(mail)))
		}
	}
	return s
}

// isHTML reports whether a mail of ours is HTML: it begins like a whole page.
func isHTML(mail string) bool {
	begin := lower(mail[:min(len(mail), 20)])
	return strings.HasPrefix(begin, "<!doctype") || strings.HasPrefix(begin, "<html")
}

func (s *sent) add(lines []line) {
	count := make(map[string]int)
	var words []string
	for i := range lines {
		k := key(lines[i].norm)
		if k == "" {
			continue
		}
		count[k]++
		if marker(lines[i].norm) {
			s.markers[k] = true
		}
		words = append(words, strings.Fields(k)...)
	}
	// Text and HTML of a mail are one mail, so the higher number counts.
	for k, n := range count {
		s.lines[k] = max(s.lines[k], n)
	}
	for i, w := range words {
		s.words[w] = true
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

// address is what a link leads to. That of a mail of ours is not known later: a
// personal link is another one each time.
var address = regexp.MustCompile(`https?://[^\s<>]+`)

// key is what is compared of a line: without the links that converters put
// into it and without where others lead, without markup, and "" for lines
// without letters and digits.
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
	if strings.Contains(norm, "://") {
		norm = address.ReplaceAllLiteralString(norm, "")
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
	return s != nil && l.norm != "" && s.lines[key(l.norm)] > 0
}

// next says that another quoted mail begins.
func (s *sent) next() {
	if s != nil && len(s.used) > 0 {
		clear(s.used)
	}
}

// take reports whether line i is ours, and uses it up.
func (s *sent) take(lines []line, i int) bool {
	if s == nil || lines[i].norm == "" {
		return false
	}
	k := key(lines[i].norm)
	if n := s.lines[k]; n > 0 {
		s.used[k]++
		return s.used[k] <= n
	}
	words := strings.Fields(k)
	return s.row(words) && (i > 0 && s.goesOn(&lines[i-1], words) || i+1 < len(lines) && s.goesOn(&lines[i], strings.Fields(key(lines[i+1].norm))))
}

// has reports whether the words of a line follow each other in a mail of ours,
// so that the line may be a part of it in another layout.
func (s *sent) has(l *line) bool {
	if s == nil {
		return false
	}
	words := strings.Fields(key(l.norm))
	if len(words) == 1 {
		return s.words[words[0]]
	}
	return len(words) > 0 && s.row(words)
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
