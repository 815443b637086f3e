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
// only. It uses no colour.
func (sh *shell) spin(line func() string) (stop func()) {
	if !sh.term || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(250 * time.Millisecond)
		defer t.Stop()
		for i := 0; ; i++ {
			// Return, clear to the end, and no wrapping of a line that is too long.
			fmt.Fprintf(sh.err, "\r\x1b[K\x1b[?7l%c %s\x1b[?7h", frames[i%len(frames)], line())
			select {
			case <-t.C:
			case <-quit:
				fmt.Fprint(sh.err, "\r\x1b[K")
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
func waitingLine(m *client.Message, deadline time.Time) string {
	s := "waiting for an answer"
	if who := postedTo(m); who != "" {
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

// postedTo names the places that a message was posted to.
func postedTo(m *client.Message) string {
	if m.Beckon == nil {
		return ""
	}
	var names []string
	for _, d := range m.Beckon.Deliveries {
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
