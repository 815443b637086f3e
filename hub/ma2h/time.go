package ma2h

import (
	"errors"
	"time"
)

var errTime = errors.New("must be an RFC 3339 time such as 2026-12-01T18:00:00Z")

// ParseTime reads an RFC 3339 time and returns it in UTC. Unlike [time.Parse] it
// takes lower-case t and z and a fraction of any length (cut to nanoseconds),
// refuses a comma, and takes second 60 at 23:59 UTC. Go has no leap second: it
// becomes the last nanosecond of second 59, so that it sorts before the next
// day. A time whose offset takes it out of the years 0 to 9999 in UTC is refused,
// since nobody could write it down again.
func ParseTime(s string) (time.Time, error) {
	// yyyy-mm-ddThh:mm:ss and at least a z.
	if len(s) < 20 || s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, errTime
	}
	year, ok1 := digits(s[0:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	hour, ok4 := digits(s[11:13])
	minute, ok5 := digits(s[14:16])
	second, ok6 := digits(s[17:19])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return time.Time{}, errTime
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, errTime
	}
	nanos, rest, ok := fraction(s[19:])
	if !ok {
		return time.Time{}, errTime
	}
	offset, ok := zone(rest)
	if !ok {
		return time.Time{}, errTime
	}
	leap := second == 60
	if leap {
		second, nanos = 59, 999_999_999
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC).Add(-offset)
	if t.Year() < 0 || t.Year() > 9999 || leap && (t.Hour() != 23 || t.Minute() != 59) {
		return time.Time{}, errTime
	}
	return t, nil
}

func digits(s string) (n int, ok bool) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func daysIn(year, month int) int {
	// Day 0 of the next month is the last of this one.
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// fraction reads the part after the seconds and returns what follows it.
func fraction(s string) (nanos int, rest string, ok bool) {
	if s[0] != '.' {
		return 0, s, true
	}
	i := 1
	for scale := 100_000_000; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		nanos += int(s[i]-'0') * scale
		scale /= 10
	}
	return nanos, s[i:], i > 1
}

// zone reads z or an offset such as +08:00.
func zone(s string) (time.Duration, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != 6 || s[3] != ':' || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, ok1 := digits(s[1:3])
	minutes, ok2 := digits(s[4:6])
	if !ok1 || !ok2 || hours > 23 || minutes > 59 {
		return 0, false
	}
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true
}
