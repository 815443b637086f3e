package hub

import (
	"errors"
	"fmt"
	"time"

	"beckon/hub/ma2h"
)

// Error is how the domain refuses or fails. The edge turns Code into an HTTP
// status or an exit code; Msg is for whoever asked, Err for the log only.
type Error struct {
	Code  ma2h.Code
	Op    string // what was tried, such as "submit"
	Field string // dotted path of the field at fault, if one is
	Msg   string
	Err   error // cause, never shown to an agent or a person

	// RetryAfter goes with CodeRateLimited.
	RetryAfter time.Duration
	// Message identifies what a 409 already_terminal is about.
	Message *Message
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of err, [ma2h.CodeInternal] for an error that is
// nobody's refusal.
func CodeOf(err error) ma2h.Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*ma2h.Error](err); ok {
		return e.Code
	}
	return ma2h.CodeInternal
}

func refuse(code ma2h.Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// What a store says to the domain.
var (
	// ErrNotFound: no such row.
	ErrNotFound = errors.New("not found")
	// ErrGone: the message was purged; its tombstone says who submitted it.
	ErrGone = errors.New("gone")
	// ErrStale: the message has changed since the snapshot; decide again.
	ErrStale = errors.New("stale")
)

// DuplicateError is what a store says to an insert whose idempotency key or
// alias the agent has used before.
type DuplicateError struct{ ID string }

func (e *DuplicateError) Error() string { return "duplicate of " + e.ID }

// RepeatedError is what a store says to a change whose receipt it has seen:
// nothing was applied, and this is what the first one led to.
type RepeatedError struct{ Outcome Outcome }

func (e *RepeatedError) Error() string { return "receipt seen before" }
