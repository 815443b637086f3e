package templates_test

import (
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// Deadlines around midnight, the turn of the year, and the days on which clocks
// change. In a bubble time begins at midnight of 1 January 2000, UTC.
func TestDeadline(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tests := []struct{ name, now, due, want string }{
		{"today", "2000-01-03T10:00:00+01:00", "2000-01-03T18:00:00+01:00", "answer by 18:00 (in 8 h), then: Hold"},
		{"after midnight", "2000-01-03T23:50:00+01:00", "2000-01-04T00:10:00+01:00", "answer by Tue 4 Jan, 00:10 (in 20 min), then: Hold"},
		{"after the new year", "2000-12-31T23:50:00+01:00", "2001-01-01T00:10:00+01:00", "answer by Mon 1 Jan 2001, 00:10 (in 20 min), then: Hold"},
		{"today here, tomorrow in UTC", "2000-01-04T00:10:00+01:00", "2000-01-04T00:50:00+01:00", "answer by 00:50 (in 40 min), then: Hold"},
		{"over the hour that is left out", "2000-03-26T01:30:00+01:00", "2000-03-26T03:30:00+02:00", "answer by 03:30 (in 1 h), then: Hold"},
		{"over the hour that comes twice", "2000-10-29T01:30:00+02:00", "2000-10-29T02:30:00+01:00", "answer by 02:30 (in 2 h), then: Hold"},
		{"a day of 23 hours", "2000-03-25T12:00:00+01:00", "2000-03-26T12:00:00+02:00", "answer by Sun 26 Mar, 12:00 (in 23 h), then: Hold"},
		{"the last second", "2000-01-03T17:59:59+01:00", "2000-01-03T18:00:00+01:00", "answer by 18:00 (in 1 s), then: Hold"},
		{"now", "2000-01-03T18:00:00+01:00", "2000-01-03T18:00:00+01:00", "answer by 18:00 (now), then: Hold"},
		{"just over", "2000-01-03T18:00:00.001+01:00", "2000-01-03T18:00:00+01:00", "time was up at 18:00, then: Hold"},
		{"over since yesterday", "2000-01-04T09:00:00+01:00", "2000-01-03T18:00:00+01:00", "time was up on Mon 3 Jan at 18:00, then: Hold"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(at(tt.now)))
				c := &hub.Card{
					Type: ma2h.Ask, Status: ma2h.Open, ExpiresAt: at(tt.due), OnExpire: "Hold",
					Reader: &hub.Person{ID: "alice", Location: paris},
				}
				if got := templates.Deadline(c); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}
