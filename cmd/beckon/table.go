package main

import (
	"fmt"
	"strings"
	"time"
)

// table is rows of text. On a terminal it has a head, aligned columns, and is
// cut to the width of the terminal; elsewhere each row is a line with a tab
// between the cells, whole and without a head, as scripts want it.
type table struct {
	head []string
	rows [][]string
	// flex is the column that gives way when there is not enough room.
	flex int
	// state is the column that has a style by its value, -1 for none.
	state int
}

const (
	columnGap = "  "
	// minFlex is how narrow the flexible column gets, in cells; after that the
	// line is cut.
	minFlex = 12
)

func (t *table) add(values ...string) {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = clean(v)
	}
	t.rows = append(t.rows, row)
}

// write prints the table; none if there are no rows.
func (t *table) write(sh *shell) error {
	var b strings.Builder
	switch {
	case len(t.rows) == 0:
	case sh.columns > 0:
		t.aligned(sh, &b)
	default:
		for _, row := range t.rows {
			b.WriteString(strings.Join(row, "\t") + "\n")
		}
	}
	if _, err := fmt.Fprint(sh.out, b.String()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func (t *table) aligned(sh *shell, b *strings.Builder) {
	widths := t.widths(sh.columns)
	line := func(row []string, style func(int) string) {
		room := sh.columns
		for i, v := range row {
			if i > 0 {
				b.WriteString(columnGap)
				room -= len(columnGap)
			}
			v = fit(v, min(widths[i], max(room, 1)))
			n := cells(v)
			b.WriteString(sh.paint(style(i), v))
			if room -= widths[i]; i == len(row)-1 || room <= len(columnGap) {
				break
			}
			b.WriteString(strings.Repeat(" ", widths[i]-n))
		}
		b.WriteByte('\n')
	}
	line(t.head, func(int) string { return styleHead })
	for _, row := range t.rows {
		line(row, func(i int) string {
			if i == t.state {
				return statusStyle(row[i])
			}
			return ""
		})
	}
}

// widths are those of the columns, in cells, with the flexible one made
// narrower if that is needed.
func (t *table) widths(room int) []int {
	w := make([]int, len(t.head))
	total := len(columnGap) * (len(w) - 1)
	for i, h := range t.head {
		w[i] = cells(h)
		for _, row := range t.rows {
			w[i] = max(w[i], cells(row[i]))
		}
		total += w[i]
	}
	if over := total - room; over > 0 {
		w[t.flex] = max(min(w[t.flex], minFlex), w[t.flex]-over)
	}
	return w
}

// when writes a time: as people on this machine read it on a terminal, in
// RFC 3339 for scripts. The zero time is "".
func (sh *shell) when(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case sh.columns > 0:
		return t.Local().Format("2006-01-02 15:04:05")
	}
	return t.UTC().Format(time.RFC3339)
}

// ago writes how long a time is past, or ahead, in the least space on a
// terminal: "12m", "-3h". Scripts get the time itself.
func (sh *shell) ago(t time.Time) string {
	if t.IsZero() || sh.columns == 0 {
		return sh.when(t)
	}
	return shortSpan(time.Since(t))
}

// ahead is the other way round.
func (sh *shell) ahead(t time.Time) string {
	if t.IsZero() || sh.columns == 0 {
		return sh.when(t)
	}
	return shortSpan(time.Until(t))
}

func shortSpan(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%s%ds", sign, d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%s%dm", sign, d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%s%dh", sign, d/time.Hour)
	}
	return fmt.Sprintf("%s%dd", sign, d/(24*time.Hour))
}

// lines prints names and values, one pair a line. A value of "" is left out.
func (sh *shell) lines(pairs ...string) error {
	var b strings.Builder
	room := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			room = max(room, cells(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		name, value := pairs[i], clean(pairs[i+1])
		switch {
		case value == "":
		case sh.columns > 0:
			b.WriteString(sh.paint(styleHead, name) + strings.Repeat(" ", room-cells(name)) + columnGap +
				sh.paint(valueStyle(name, value), value) + "\n")
		default:
			b.WriteString(name + "\t" + value + "\n")
		}
	}
	if _, err := fmt.Fprint(sh.out, b.String()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func valueStyle(name, value string) string {
	if name == "status" {
		return statusStyle(value)
	}
	return ""
}
