package main

import (
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// defaultWidth is how wide a terminal is that does not say it, in cells.
const defaultWidth = 80

// terminalWidth is how wide the lines on standard output may be, in cells.
func terminalWidth(f *os.File) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if n := windowWidth(f); n > 0 {
		return n
	}
	return defaultWidth
}

// useColour decides by --color, NO_COLOR (https://no-color.org) and the
// terminal.
func useColour(flag string, terminal bool) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// The few styles that there are, as SGR parameters.
const (
	styleHead = "1"  // bold
	styleGood = "32" // green
	styleBad  = "31" // red
	styleOpen = "33" // yellow
	styleDim  = "2"
)

// statusStyle is how the state of a message or a delivery is shown.
func statusStyle(s string) string {
	switch s {
	case "answered", "completed", "delivered", "done", "ok":
		return styleGood
	case "declined", "dismissed", "dead", "failed":
		return styleBad
	case "open", "pending", "running":
		return styleOpen
	}
	return styleDim
}

// paint gives s a style if there is colour.
func (sh *shell) paint(style, s string) string {
	if !sh.colour || style == "" || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// cells is how many cells of a terminal a line takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cuts s to at most n cells, and says so with an ellipsis.
func fit(s string, n int) string {
	if n <= 0 || cells(s) <= n {
		return s
	}
	left := n - 1
	for i, r := range s {
		if left -= runeCells(r); left < 0 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}
