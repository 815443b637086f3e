package hub

import (
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// View is how much of a message a card shows.
type View int

const (
	// Export is what leaves the hub: a message marked sensitive shows its title
	// and a link only.
	Export View = iota
	// Page is what the hub's own page shows to a person who has signed in.
	Page
)

// Card is what a channel may see of a message for one reader: no state, no
// client_ref, secrets masked. All text from the agent is untrusted: a channel
// escapes it for its own medium.
type Card struct {
	MessageID string
	Revision  int64  // grows with every change of the message
	ReviewURL string // opens a sign-in page; carries no credential
	Type      ma2h.Type
	Status    ma2h.Status
	Title     string
	Body      string // Markdown
	Priority  ma2h.Priority
	Tags      []string
	Context   []CardPart

	AgentID, Project, RunID, Runtime string
	Labels                           map[string]string

	AcceptedAt time.Time
	ExpiresAt  time.Time // zero: never
	// OnExpire says what happens at ExpiresAt: the label of the default option,
	// or the default values. Both empty: nothing is chosen.
	OnExpire       string
	OnExpireValues []NamedValue

	// An ask.
	Mode    ma2h.Mode
	Options []CardOption // of select and confirm, in the agent's order
	Fields  []Field      // of input, in the agent's order
	// A task.
	Instructions string // Markdown
	Checklist    []ma2h.ChecklistItem
	Verification string

	MayAnswer  bool // this reader, now
	MayDirect  bool // this reader may write to the agent
	CanAnswer  bool // the agent allows an answer (for a task: done)
	CanDecline bool // the agent allows declining (for a task: always)
	// PageOnly: the ask has a field that only the page may collect.
	PageOnly bool
	// Hidden: the message is sensitive and this view shows title and link only.
	Hidden bool
	// Masked counts the secrets that were masked in the agent's text.
	Masked int

	Reader    *Person  // nil for a shared place
	AskedOf   []string // names of the people who may answer
	AskedTeam string   // what they are together, such as "oncall"; "" for no one team
	Decision  *Decision
	// Track says whether the agent has the answer: nil while the message is open,
	// for a notify, and once it is withdrawn.
	Track *Track
}

// CardOption is one choice. N is its position from 1, which an Answer may use.
type CardOption struct {
	N           int
	Value       string
	Label       string
	Description string
	Default     bool // applied when the ask expires
}

// CardPart is one piece of context, exactly one of the three.
type CardPart struct {
	Text string
	Data jsontext.Value // an object, as JSON with secrets masked
	File *ma2h.File     // a link that nobody has checked
}

// FieldType is what a form field takes.
type FieldType string

// The field types of a flat schema (spec §5.2).
const (
	FieldString  FieldType = "string"
	FieldNumber  FieldType = "number"
	FieldInteger FieldType = "integer"
	FieldBoolean FieldType = "boolean"
)

// Field is one property of an input ask's flat schema.
type Field struct {
	Name        string
	Title       string // the schema's title, else Name
	Description string
	Type        FieldType
	Enum        []string // allowed values as text, in order; nil when open
	EnumNames   []string // labels for Enum, same length; nil when the schema has none
	Format      string   // "date", "date-time", "email", "uri", …
	Pattern     string
	MinLength   int // 0: none
	MaxLength   int // 0: none; in runes
	Minimum     string
	Maximum     string
	Required    bool
	Sensitive   bool
	Default     string // what the agent proposes, as text
	HasDefault  bool
}
