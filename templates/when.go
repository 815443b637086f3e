package templates

import (
	"fmt"
	"time"

	"beckon/hub"
)

// zone returns where the reader's clock stands. A shared place has no reader:
// its times are UTC and say so.
func zone(reader *hub.Person) (loc *time.Location, suffix string) {
	if reader == nil || reader.Location == nil {
		return time.UTC, " UTC"
	}
	return reader.Location, ""
}

// Clock writes t by the reader's clock: "15:52" on the reader's today,
// "Tue 1 Dec, 15:52" in the same year, else with the year.
func Clock(t time.Time, reader *hub.Person) string {
	s, suffix := clock(t, reader)
	return s + suffix
}

func clock(t time.Time, reader *hub.Person) (s, suffix string) {
	loc, suffix := zone(reader)
	now := time.Now().In(loc)
	t = t.In(loc)
	switch {
	case sameDay(t, now):
		return t.Format("15:04"), suffix
	case t.Year() == now.Year():
		return t.Format("Mon 2 Jan, 15:04"), suffix
	}
	return t.Format("Mon 2 Jan 2006, 15:04"), suffix
}

// at is Clock inside a sentence: "at 15:52", "on Tue 1 Dec at 15:52".
func at(t time.Time, reader *hub.Person) string {
	loc, suffix := zone(reader)
	now := time.Now().In(loc)
	t = t.In(loc)
	switch {
	case sameDay(t, now):
		return "at " + t.Format("15:04") + suffix
	case t.Year() == now.Year():
		return "on " + t.Format("Mon 2 Jan at 15:04") + suffix
	}
	return "on " + t.Format("Mon 2 Jan 2006 at 15:04") + suffix
}

func sameDay(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}

// Date writes t in full by the reader's clock, for a place where it is read
// days later: "Tue 1 Dec 2026, 18:00".
func Date(t time.Time, reader *hub.Person) string {
	loc, suffix := zone(reader)
	return t.In(loc).Format("Mon 2 Jan 2006, 15:04") + suffix
}

// In says how long it is until t: "in 2 h 10 min"; "now" once it has come.
func In(t time.Time) string {
	d := time.Until(t)
	if d <= 0 {
		return "now"
	}
	return "in " + Span(d)
}

// Ago says how long ago t was: "2 h 10 min ago", "just now" within a minute.
func Ago(t time.Time) string {
	d := time.Since(t)
	if d < time.Minute {
		return "just now"
	}
	return Span(d) + " ago"
}

// Span writes a duration in its two largest units, rounded down: "3 d 4 h",
// "2 h 10 min", "45 min", "30 s".
func Span(d time.Duration) string {
	two := func(a int, ua string, b int, ub string) string {
		if b == 0 {
			return fmt.Sprintf("%d %s", a, ua)
		}
		return fmt.Sprintf("%d %s %d %s", a, ua, b, ub)
	}
	s := int(d / time.Second)
	switch {
	case s >= 24*3600:
		return two(s/86400, "d", s%86400/3600, "h")
	case s >= 3600:
		return two(s/3600, "h", s%3600/60, "min")
	case s >= 60:
		return fmt.Sprintf("%d min", s/60)
	}
	return fmt.Sprintf("%d s", max(s, 1))
}
