package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"beckon/hub/admin"
	"beckon/hub/ma2h"
)

// statsCmd shows an operator what the hub holds and does now.
type statsCmd struct {
	JSON bool `help:"Print JSON."`
	remote
}

func (c *statsCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	st, err := call(sh, s, func() (*admin.Stats, error) { return s.Stats(ctx) })
	if err != nil {
		return err
	}
	if c.JSON {
		return sh.printJSON(st)
	}
	return sh.lines(statsLines(st)...)
}

func statsLines(s *admin.Stats) []string {
	pairs := []string{
		"version", s.Version,
		"running for", left(time.Duration(s.UptimeSeconds) * time.Second),
		"agents waiting", fmt.Sprint(s.Polls),
	}
	for _, t := range []ma2h.Type{ma2h.Ask, ma2h.Task} {
		pairs = append(pairs, "open "+string(t), fmt.Sprint(s.Open[t]))
	}
	for _, t := range slices.Sorted(maps.Keys(s.Open)) {
		if t != ma2h.Ask && t != ma2h.Task {
			pairs = append(pairs, "open "+string(t), fmt.Sprint(s.Open[t]))
		}
	}
	for _, l := range s.Lanes {
		words := fmt.Sprint(l.Count)
		if late := time.Since(l.Due); !l.Due.IsZero() && late > time.Second {
			words += ", overdue for " + left(late)
		}
		pairs = append(pairs, "deliveries "+l.Lane+" "+string(l.State), words)
	}
	pairs = append(pairs, "not yet sealed", fmt.Sprint(s.Unsealed))
	for _, k := range s.Checks {
		words := "ok"
		if !k.OK {
			words = "not ok: " + k.Problem
		}
		if k.LastSeconds > 0 {
			words += fmt.Sprintf(", last sign of life %s ago", left(time.Duration(k.LastSeconds)*time.Second))
		}
		pairs = append(pairs, "check "+k.Name, words)
	}
	return pairs
}
