package main

import (
	"errors"
	"fmt"

	"beckon/config"
	"beckon/hub/client"
)

// The codes are the client's, which agents written in Go use too; these are
// decided here.
const (
	exitOK    = client.ExitAnswered
	exitUsage = client.ExitUsage
)

// exitError ends the command with a code, and a message unless it is empty.
type exitError struct {
	code int
	msg  string
}

func (e *exitError) Error() string { return e.msg }

// usage says what is wrong with the command line and what to do.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// fail says what went wrong, once, and returns the exit code.
func fail(sh *shell, err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		if e.msg != "" {
			sh.say("beckon: %s", e.msg)
		}
		return e.code
	}
	if e, ok := errors.AsType[config.Errors](err); ok {
		// One a line and nothing before it, as editors want them.
		sh.say("%v", e)
		return exitUsage
	}
	sh.say("beckon: %v", err)
	return client.ExitCode(err)
}
