package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// span is a length of time on the command line: what [time.ParseDuration]
// takes, and whole days such as "2d".
type span time.Duration

// UnmarshalText reads a span; it must be longer than nothing.
func (s *span) UnmarshalText(text []byte) error {
	d, err := parseSpan(string(text))
	if err != nil {
		return err
	}
	if d <= 0 {
		return fmt.Errorf("%q is not longer than nothing", text)
	}
	*s = span(d)
	return nil
}

func parseSpan(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is not a time span such as 90s, 10m, 36h or 2d", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time span such as 90s, 10m, 36h or 2d", s)
	}
	return d, nil
}

// left writes what is left of a wait as people say it: "2 h 09 min", "45 s".
func left(d time.Duration) string {
	d = max(0, d).Round(time.Second)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
