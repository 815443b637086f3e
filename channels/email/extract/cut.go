package extract

import "strings"

// run returns the lines that are kept.
func (c *cutter) run() []line {
	var banner bool
	if c.lines, banner = withoutBanner(trim(c.lines)); banner {
		c.note("banner")
	}
	c.take()
	first := c.firstMail()
	if first < 0 {
		return c.alone()
	}
	before := c.signed(flat(c.pieces[:first]), false)
	rest := c.afterMail(first, !blank(before))
	switch {
	case len(rest) == 0:
		return before
	case blank(before):
		c.unsure = c.loose && !c.belowOurs(rest)
		return c.below(rest)
	}
	return c.around(before, rest)
}

// belowOurs reports whether all text stands below lines that are ours.
func (c *cutter) belowOurs(rest []piece) bool {
	for _, p := range rest {
		if p.kind == own && !blank(p.lines) {
			return c.ours >= 0 && p.from+leading(p.lines) > c.ours
		}
	}
	return true
}

// firstMail returns the first piece that belongs to a quoted mail, or -1.
func (c *cutter) firstMail() int {
	for i, p := range c.pieces {
		if p.kind == head || p.kind == quote && p.mail {
			return i
		}
	}
	return -1
}

// alone keeps all of a body that quotes no mail, but for its signature, and for
// a quote at its end that a program made.
func (c *cutter) alone() []line {
	lines := c.signed(flat(c.pieces), false)
	n := len(lines)
	for n > 0 && (lines[n-1].depth > 0 || lines[n-1].norm == "") {
		n--
	}
	if n > 0 && n < len(lines) && mailLike(lines[n:]) {
		c.note("quote at the end")
		lines = c.signed(lines[:n], false)
	}
	return lines
}

// signed takes the signature off. above says that more text stands above.
func (c *cutter) signed(lines []line, above bool) []line {
	lines, why := unsigned(lines, above)
	for _, w := range why {
		c.note(w)
	}
	return lines
}

// afterMail returns the pieces from the quoted mail on up to the last that
// somebody wrote, and nothing if there is none. above says that something
// stands above the mail.
func (c *cutter) afterMail(first int, above bool) []piece {
	pieces := c.pieces[first:]
	for n := len(pieces) - 1; n >= 0; n-- {
		p := &pieces[n]
		if p.kind != own || blank(p.lines) {
			continue
		}
		kept := c.signed(p.lines, above || ownBefore(pieces[:n]))
		if !blank(kept) {
			p.lines = append(p.lines[:leading(p.lines):leading(p.lines)], kept...)
			return pieces[:n+1]
		}
		p.lines = nil
	}
	return nil
}

// leading returns how many blank lines stand at the beginning.
func leading(lines []line) int { return len(lines) - len(trimStart(lines)) }

func ownBefore(pieces []piece) bool {
	for _, p := range pieces {
		if p.kind == own && !blank(p.lines) {
			return true
		}
	}
	return false
}

// below keeps what stands below a quoted mail. Answers between quotes are kept
// with the quotes, and with the line that says whose they are.
func (c *cutter) below(rest []piece) []line {
	written := 0
	for i, p := range rest {
		if p.kind == own && !blank(p.lines) && (i == len(rest)-1 || quoteBetween(rest[i+1:])) {
			written++
		}
	}
	if written > 1 {
		return c.inline(rest)
	}
	var lines []line
	for _, p := range rest {
		if p.kind == own {
			lines = append(lines, p.lines...)
		}
	}
	for lines = trim(lines); len(lines) > 0 && isRule(&lines[0]); {
		lines = trim(lines[1:])
	}
	return lines
}

// quoteBetween reports whether a quote comes before the next text.
func quoteBetween(pieces []piece) bool {
	for _, p := range pieces {
		if p.kind == own && !blank(p.lines) {
			return false
		}
		if p.kind == quote {
			return true
		}
	}
	return false
}

// inline keeps text and quotes in order.
func (c *cutter) inline(rest []piece) []line {
	var lines []line
	for i, p := range rest {
		if p.kind == head {
			if i > 0 || !p.soft {
				continue
			}
			for k := range p.lines {
				p.lines[k].attr = true
			}
		}
		lines = append(lines, p.lines...)
	}
	return trim(lines)
}

// around keeps what stands above and below a quoted mail, with the quote, since
// the text below answers it, unless it is a sign-off only.
func (c *cutter) around(before []line, rest []piece) []line {
	lines := append(before[:len(before):len(before)], line{})
	signOff := onlySignOff(rest)
	for _, p := range rest {
		switch {
		case p.kind == own && signOff:
			lines = append(lines, trim(p.lines)...)
		case p.kind == own || p.kind == quote && !signOff:
			lines = append(lines, p.lines...)
		}
	}
	return trim(lines)
}

// onlySignOff reports whether pieces hold no more text than a sign-off.
func onlySignOff(pieces []piece) bool {
	n := 0
	for _, p := range pieces {
		for i := range p.lines {
			if l := &p.lines[i]; p.kind == own && l.norm != "" {
				if n++; n > 3 || n == 1 && !startsSignOff(l.low) || n > 1 && !isName(l.norm) {
					return false
				}
			}
		}
	}
	return n > 0
}

// startsSignOff is looser than signsOff: "Regards, Roman".
func startsSignOff(low string) bool {
	head, _, _ := strings.Cut(low, ",")
	return signsOff(low) || signOffs[strings.TrimSpace(head)]
}

func flat(pieces []piece) []line {
	var lines []line
	for _, p := range pieces {
		lines = append(lines, p.lines...)
	}
	return trim(lines)
}
