package extract

import "strings"

const (
	// maxAttribution bounds the line that introduces a quote, in bytes, when
	// its parts are joined.
	maxAttribution = 700
	// maxWrapped is how many lines such a line is wrapped over, blank ones not
	// counted. "On … X\n\n<\nmailto:X <x@y>\n> wrote:" takes four.
	maxWrapped = 4
)

// attribution returns how many lines, from i on, introduce a quote ("On …, X
// wrote:"), or 0. All of them have the same depth.
func attribution(lines []line, i int) int {
	if lines[i].attr {
		n := 1
		for i+n < len(lines) && (lines[i+n].attr || lines[i+n].raw == "" && lines[i+n].mark == "" && i+n+1 < len(lines) && lines[i+n+1].attr) {
			n++
		}
		return n
	}
	first := &lines[i]
	if first.norm == "" || first.fence || len(first.low) > maxAttribution {
		return 0
	}
	c := cluesOf(first.low)
	if c.introduces(first.low, quoteFollows(lines, i+1, first.depth)) {
		return 1
	}
	if c.opens(first.low) {
		return wrapped(lines, i)
	}
	// "On Monday,": what comes next is whole without it.
	if i+1 < len(lines) && c.lead && !c.dated && strings.HasSuffix(first.low, ",") && len(strings.Fields(first.low)) < 8 && lines[i+1].depth == first.depth {
		if next := cluesOf(lines[i+1].low); next.dated && next.introduces(lines[i+1].low, false) {
			return 2
		}
	}
	return 0
}

// wrapped returns how many lines make a line that introduces a quote and was
// wrapped, or 0. The first of them opens one.
func wrapped(lines []line, i int) int {
	joined := lines[i].low
	depth := lines[i].depth
	for n, parts := 1, 1; i+n < len(lines) && parts < maxWrapped; n++ {
		l := &lines[i+n]
		if l.norm == "" {
			// Only an address may come after a blank line.
			if i+n+1 >= len(lines) || lines[i+n].depth != depth || !strings.HasPrefix(lines[i+n+1].norm, "<") {
				return 0
			}
			continue
		}
		part := l.low
		if l.depth != depth {
			if l.depth != depth+1 || strings.Count(joined, "<") <= strings.Count(joined, ">") {
				return 0
			}
			part = ">" + part // the end of an address, not a quote mark
		}
		parts++
		joined += " " + part
		if len(joined) > maxAttribution {
			return 0
		}
		if strings.Count(joined, "<") > strings.Count(joined, ">") {
			continue
		}
		if c := cluesOf(joined); c.introduces(joined, quoteFollows(lines, i+n+1, depth)) {
			return n + 1
		}
		if c := cluesOf(part); c.lead && c.dated { // that is another one
			return 0
		}
	}
	return 0
}

// introduces reports whether a whole line introduces a quote. A quote that
// follows it makes up for clues that lack.
func (c *clues) introduces(low string, quoteFollows bool) bool {
	if c.first && !(quoteFollows && c.dated) {
		return false
	}
	switch {
	case c.ruled:
		return c.verb && (c.email || c.dated || len(wordsOf(low)) <= 6)
	case c.ends && c.colon && c.email: // X <x@y> wrote:
		return true
	case c.ends && c.colon && c.dated: // On 3 May, X wrote:
		return c.clock || c.lead || c.digit || quoteFollows
	case c.ends && c.email && c.dated: // … wrote
		return true
	case c.verb && c.bracket && c.colon: // Quoting X <x@y>:
		return true
	case c.colon && c.dated && c.clock && angled(low): // Message of X <x@y> of 3 May at 13:00:
		return true
	case c.verb && c.dated && c.colon: // X schrieb am 3. Mai um 13:00:
		return c.email || c.clock
	case c.colon && c.dated && c.closed: // 2026-11-30 13:00 X <x@y>:
		return c.bracket || c.digit || quoteFollows
	case quoteFollows && c.colon:
		return c.email || c.dated && c.clock || c.ends && len(wordsOf(low)) <= 6
	case quoteFollows && c.dated && c.email: // 2011/4/7 X <x@y>
		return c.closed
	}
	return false
}

// angled reports whether an address in angle brackets is on the line.
func angled(low string) bool {
	n := strings.IndexByte(low, '<')
	return n >= 0 && strings.Contains(low[n:], "@") && strings.Contains(low[n:], ">")
}

// opens reports whether a line may be the first part of a wrapped one.
func (c *clues) opens(low string) bool {
	if strings.HasSuffix(low, ".") && !strings.HasSuffix(low, " p.m.") && !strings.HasSuffix(low, " a.m.") ||
		strings.HasSuffix(low, "!") || strings.HasSuffix(low, "?") || c.colon {
		return false
	}
	return c.dated && (c.lead || c.digit || c.email || c.clock || secondWordIsNumber(low)) || c.email && (c.verb || strings.HasSuffix(low, "<")) ||
		strings.LastIndexByte(low, '<') > strings.LastIndexByte(low, '>') || c.lead && c.verb
}

// secondWordIsNumber tells "pe 20. lokakuuta …" from prose.
func secondWordIsNumber(low string) bool {
	f := strings.Fields(low)
	return len(f) > 1 && f[1][0] >= '0' && f[1][0] <= '9'
}

// quoteFollows reports whether a quote begins at line i or after blank lines.
func quoteFollows(lines []line, i, depth int) bool {
	for n := 0; i < len(lines) && n < 5; i, n = i+1, n+1 {
		l := &lines[i]
		if l.depth > depth {
			return true
		}
		if l.norm != "" || l.mark != "" {
			return false
		}
	}
	return false
}
