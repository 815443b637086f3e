package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// spin shows a line that stays up to date until stop is called, on a terminal
// only; "" shows nothing. It uses no colour.
func (sh *shell) spin(line func() string) (stop func()) {
	if !sh.term || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		shown := false
		for i := 0; ; i++ {
			if text := line(); text != "" {
				// Return, clear to the end, and no wrapping of a line that is too long.
				fmt.Fprintf(sh.err, "\r\x1b[K\x1b[?7l%c %s\x1b[?7h", frames[i%len(frames)], text)
				shown = true
			} else if shown {
				fmt.Fprint(sh.err, "\r\x1b[K")
				shown = false
			}
			select {
			case <-t.C:
			case <-quit:
				if shown {
					fmt.Fprint(sh.err, "\r\x1b[K")
				}
				return
			}
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}

// waitingLine says whom a message waits for and how long.
func waitingLine(m *client.Message, deadline time.Time, down bool) string {
	s := "waiting for an answer"
	if down {
		s = noAnswer
	} else if who := postedTo(m); who != "" {
		s = "waiting for " + who
	}
	if exp, err := ma2h.ParseTime(m.ExpiresAt); err == nil && (deadline.IsZero() || exp.Before(deadline)) {
		deadline = exp
	}
	if !deadline.IsZero() {
		s += " · " + left(time.Until(deadline)) + " left"
	}
	return s + " · ^C keeps it open"
}

// soon is how far ahead a delivery may be to count as under way.
const soon = 5 * time.Second

// postedTo names the places that a message was posted to, or is about to be.
func postedTo(m *client.Message) string {
	if m.Beckon == nil {
		return ""
	}
	var names []string
	for _, d := range m.Beckon.Deliveries {
		if d.State == "dead" || d.State == "dropped" || time.Until(d.Due) > soon {
			continue
		}
		if t := oneLine(d.Target); t != "" && !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	const most = 3
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}
