package hub

import (
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// Verb is what a person does to a message. The terminal ones are MA2H
// resolutions; [Tick] only saves progress on a checklist.
type Verb string

// The verbs of an [Answer].
const (
	VerbAnswer   Verb = "answered"  // ask
	VerbDecline  Verb = "declined"  // ask
	VerbComplete Verb = "completed" // task
	VerbDismiss  Verb = "dismissed" // task
	VerbTick     Verb = "tick"      // task, stays open
)

// Answer is what somebody did in a channel, before the hub accepts it. The
// channel vouches for Actor and for nothing else.
type Answer struct {
	MessageID string
	Actor     string // "human:<id>" or "agent:<id>"
	Verb      Verb

	// What was chosen, for VerbAnswer; exactly one of:
	Option int               // 1 for the first option of the card
	Value  jsontext.Value    // JSON as the protocol has it: a string or an object
	Fields map[string]string // form input by field name, as typed; mode input only

	Comment   string
	Checklist []ma2h.ChecklistItem // the whole list, for a task; nil leaves it as it stands
	Receipt   Receipt
	// Notice tells the person what became of it, unless it was accepted: then
	// every copy is updated, theirs too. Nil where the channel tells them itself.
	Notice *Notice
}

// OutcomeKind is the short form of what the hub says to an Answer.
type OutcomeKind string

// The outcomes.
const (
	Accepted        OutcomeKind = "accepted"         // recorded; for VerbTick, saved
	Counted         OutcomeKind = "counted"          // a vote; more are needed
	Held            OutcomeKind = "held"             // waits for somebody to confirm it
	AlreadyResolved OutcomeKind = "already_resolved" // changed nothing; Decision says who and what
	Refused         OutcomeKind = "refused"          // changed nothing; Reason says why
	Unclear         OutcomeKind = "unclear"          // changed nothing; Fields or Reason says what to mend
)

// Reason says why an Answer was refused or unclear.
type Reason string

// The reasons.
const (
	ReasonNotFound      Reason = "not_found"           // no such message, or not for this person
	ReasonNotAllowed    Reason = "not_allowed"         // may see it, may not resolve it; May says who may
	ReasonUnknownPerson Reason = "unknown_person"      // not in the directory (any more)
	ReasonNotify        Reason = "notify"              // wants no answer
	ReasonWrongVerb     Reason = "wrong_verb"          // such as completing an ask
	ReasonNoAnswer      Reason = "answer_not_allowed"  // permissions.allow_respond is false
	ReasonNoDecline     Reason = "decline_not_allowed" // permissions.allow_ignore is false
	ReasonInvalid       Reason = "invalid"             // Fields says what
)

// FieldError says what is wrong with one field of an answer. Field is a name in
// the ask's schema, or "value", "comment", "checklist".
type FieldError struct {
	Field string `json:"field"`
	Msg   string `json:"msg"`
}

// Outcome is what the hub says to an Answer. Everything in it may be shown to
// the person who answered. It is kept with the receipt.
type Outcome struct {
	Kind      OutcomeKind  `json:"kind"`
	Reason    Reason       `json:"reason,omitempty"`
	MessageID string       `json:"message_id"`
	Verb      Verb         `json:"verb,omitempty"`
	Status    ma2h.Status  `json:"status,omitempty"`
	Decision  *Decision    `json:"decision,omitempty"` // once terminal
	May       []string     `json:"may,omitempty"`      // names of who may answer
	MayTeam   string       `json:"may_team,omitempty"` // what they are together, such as "oncall"
	Fields    []FieldError `json:"fields,omitempty"`

	ResolutionID string         `json:"resolution_id,omitempty"`
	Direct       *DirectOutcome `json:"direct,omitempty"` // of a [Direction]
	Repeated     bool           `json:"-"`                // the receipt was seen before; this is the first outcome
}

// Decision says how a message ended, in words that people read. It is the same
// on every channel.
type Decision struct {
	Resolution ma2h.Status `json:"resolution"`
	Actor      string      `json:"actor"`
	ActorName  string      `json:"actor_name"` // "Alice Ng", "deploybot/dev-team", or "" for the clock
	At         time.Time   `json:"at"`
	Via        string      `json:"via"` // channel, or "api", "admin", "clock"
	// Choice is the label of the option chosen, and Option its position from 1;
	// Values are the fields of an input, in the form's order. Sensitive values
	// are masked.
	Choice    string               `json:"choice,omitempty"`
	Option    int                  `json:"option,omitempty"`
	Values    []NamedValue         `json:"values,omitempty"`
	Comment   string               `json:"comment,omitempty"`
	Checklist []ma2h.ChecklistItem `json:"checklist,omitempty"`
	Defaulted bool                 `json:"defaulted,omitempty"`
	Edited    bool                 `json:"edited,omitempty"`
}

// NamedValue is one field of an input answer, as people read it.
type NamedValue struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text"` // "••••" when sensitive
}
