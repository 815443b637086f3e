package ma2h

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Type tells the three verbs apart (spec §4).
type Type string

// The three verbs (spec §5).
const (
	Notify Type = "notify"
	Ask    Type = "ask"
	Task   Type = "task"
)

// Priority says how urgent a message is; [Normal] when the agent says nothing.
type Priority string

// The priorities of spec §4, lowest first.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
	Urgent Priority = "urgent"
)

// Mode is the kind of decision that an ask wants (spec §5.2).
type Mode string

// The modes of an ask.
const (
	Select  Mode = "select"
	Input   Mode = "input"
	Confirm Mode = "confirm"
)

// Status is where a message stands: open, delivered, or one of the terminal
// values, which are also the resolutions of a Response (spec §7).
type Status string

// The statuses of the human leg.
const (
	Open      Status = "open"
	Delivered Status = "delivered" // a notify, from acceptance on
	Answered  Status = "answered"  // ask
	Declined  Status = "declined"  // ask
	Cancelled Status = "cancelled" // ask
	Completed Status = "completed" // task
	Dismissed Status = "dismissed" // task
	Expired   Status = "expired"   // ask, task
)

// Terminal reports whether s can never change again. A notify is terminal on
// delivery (spec §5.1).
func (s Status) Terminal() bool { return s != Open }

// Envelope is a message as an agent sent it (spec §4), fields that the
// protocol knows only. Values that the hub hands on untouched stay raw.
type Envelope struct {
	// Minor is N of the declared version "0.N".
	Minor int `json:"-"`
	// Expires is ExpiresAt in UTC, filled by [Envelope.Validate]; zero: never.
	Expires time.Time `json:"-"`

	Version        string         `json:"ma2h_version"`
	ID             string         `json:"id,omitzero"` // honoured at 0.1 only, as an alias
	Type           Type           `json:"type"`
	CreatedAt      string         `json:"created_at"` // informational
	Agent          Agent          `json:"agent"`
	To             string         `json:"to,omitzero"` // inter-agent leg, refused
	Title          string         `json:"title"`
	Body           string         `json:"body,omitzero"` // Markdown, untrusted
	Priority       Priority       `json:"priority,omitzero"`
	Tags           []string       `json:"tags,omitzero"`
	Context        []Part         `json:"context,omitzero"`
	State          jsontext.Value `json:"state,omitzero"` // opaque: never inspected, never logged
	ClientRef      string         `json:"client_ref,omitzero"`
	IdempotencyKey string         `json:"idempotency_key,omitzero"`
	ExpiresAt      string         `json:"expires_at,omitzero"`
	Sensitive      bool           `json:"sensitive,omitzero"`
	Request        *Request       `json:"request,omitzero"`
	Action         *Action        `json:"action,omitzero"`
}

// Agent describes who sent a message (spec §4.1).
type Agent struct {
	ID      string            `json:"id"`
	RunID   string            `json:"run_id"`
	Runtime string            `json:"runtime"`
	Session string            `json:"session,omitzero"` // inter-agent leg, refused
	Project string            `json:"project,omitzero"`
	Labels  map[string]string `json:"labels,omitzero"`
}

// Part is one piece of context (spec §4.2): exactly one of text, data, file.
type Part struct {
	Kind     string         `json:"kind"` // "text", "data" or "file"
	Text     *string        `json:"text,omitzero"`
	Data     jsontext.Value `json:"data,omitzero"` // an object
	File     *File          `json:"file,omitzero"`
	Metadata jsontext.Value `json:"metadata,omitzero"` // an object
}

// File points at a file that the hub never fetches (spec §9.6).
type File struct {
	URI      string `json:"uri"`
	Name     string `json:"name,omitzero"`
	MimeType string `json:"mime_type,omitzero"`
}

// Request is the decision that an ask wants (spec §5.2).
type Request struct {
	Mode            Mode           `json:"mode"`
	Options         []Option       `json:"options,omitzero"`
	Schema          jsontext.Value `json:"schema,omitzero"` // flat JSON Schema, mode input
	Permissions     *Permissions   `json:"permissions,omitzero"`
	DefaultOnExpire jsontext.Value `json:"default_on_expire,omitzero"` // string, object or null
	// AllowedResolvers is nil when the agent named none; an empty list is nobody.
	AllowedResolvers []string  `json:"allowed_resolvers,omitzero"`
	Callback         *Callback `json:"callback,omitzero"`

	// Implied says that the agent named no options for a confirm and that
	// [Envelope.Validate] has filled in approve and deny (spec §5.2).
	Implied bool `json:"-"`
}

// Option is one choice of a select or confirm.
type Option struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
}

// Permissions says what a person may do with an ask; nil means yes.
type Permissions struct {
	AllowAccept  *bool `json:"allow_accept,omitzero"`
	AllowEdit    *bool `json:"allow_edit,omitzero"`
	AllowRespond *bool `json:"allow_respond,omitzero"`
	AllowIgnore  *bool `json:"allow_ignore,omitzero"`
}

// Action is the manual work that a task asks for (spec §5.3).
type Action struct {
	Instructions     string          `json:"instructions"`
	Checklist        []ChecklistItem `json:"checklist,omitzero"`
	Verification     string          `json:"verification,omitzero"`
	AllowedResolvers []string        `json:"allowed_resolvers,omitzero"`
	Callback         *Callback       `json:"callback,omitzero"`
}

// ChecklistItem is one step of a task. Done is always written: a Response at
// 0.5 must state it.
type ChecklistItem struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
}

// Callback says how an agent wants its Response (spec §8.3).
type Callback struct {
	Mode string `json:"mode"` // "push" or "pull"
	URL  string `json:"url,omitzero"`
	Auth *Auth  `json:"auth,omitzero"`
}

// Auth names, never holds, the credential of a callback.
type Auth struct {
	Scheme    string `json:"scheme"` // "hmac", "bearer" or "apikey"
	SecretRef string `json:"secret_ref,omitzero"`
	TokenRef  string `json:"token_ref,omitzero"`
}

// Response is what goes back to the agent (spec §6).
type Response struct {
	Version      string         `json:"ma2h_version"`
	InReplyTo    string         `json:"in_reply_to"`
	ResolutionID string         `json:"resolution_id"`
	Agent        ResponseAgent  `json:"agent"`
	Resolution   Status         `json:"resolution"`
	Response     *Detail        `json:"response,omitzero"`
	Defaulted    bool           `json:"defaulted"`
	State        jsontext.Value `json:"state,omitzero"`
}

// ResponseAgent is the caller that a Response goes back to.
type ResponseAgent struct {
	ID    string `json:"id"`
	RunID string `json:"run_id"`
}

// Detail is the inner part of a Response: what was decided, by whom, when.
type Detail struct {
	Value      jsontext.Value  `json:"value,omitzero"` // a string, or an object for mode input
	Edited     bool            `json:"edited,omitzero"`
	Actor      string          `json:"actor"` // attested by the hub: human:…, agent:… or system:…
	ResolvedAt string          `json:"resolved_at"`
	Comment    string          `json:"comment,omitzero"`
	Checklist  []ChecklistItem `json:"checklist,omitzero"`
}

// ResolveRequest is the body of POST /v1/messages/{id}/resolve (spec §8.8).
type ResolveRequest struct {
	Resolution Status          `json:"resolution"`
	Value      jsontext.Value  `json:"value,omitzero"`
	Comment    string          `json:"comment,omitzero"`
	Checklist  []ChecklistItem `json:"checklist,omitzero"`
}

// SubmitAck is the body of the 202 (spec §8.1). The schema is closed.
type SubmitAck struct {
	ID        string `json:"id"`
	Status    Status `json:"status"`
	PollURL   string `json:"poll_url"`
	ReviewURL string `json:"review_url"`
}

// Resolved is the 200 of resolve and cancel (spec §8.8, §8.4).
type Resolved struct {
	ID           string `json:"id"`
	Status       Status `json:"status"`
	ResolutionID string `json:"resolution_id,omitzero"`
}

// ErrorBody is the body of every refusal (spec §8.5). A late cancel or resolve
// also carries the message's id, status and resolution.
type ErrorBody struct {
	Error      ErrorDetail `json:"error"`
	ID         string      `json:"id,omitzero"`
	Status     Status      `json:"status,omitzero"`
	Resolution Status      `json:"resolution,omitzero"`
}

// ErrorDetail says what is wrong and what to do.
type ErrorDetail struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// MaxMinor is the newest minor version that the hub answers in (0.5).
const MaxMinor = 5

// TimeFormat is how the hub writes a time: RFC 3339, UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime writes t as the hub does on the wire.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeFormat) }

// Respond is the leave to answer; nil when the agent said nothing, which allows
// it. It may be called on nil, like Ignore and Edit.
func (p *Permissions) Respond() *bool {
	if p == nil {
		return nil
	}
	return p.AllowRespond
}

// Ignore is the leave to decline.
func (p *Permissions) Ignore() *bool {
	if p == nil {
		return nil
	}
	return p.AllowIgnore
}

// Edit is the leave to change what the agent proposed.
func (p *Permissions) Edit() *bool {
	if p == nil {
		return nil
	}
	return p.AllowEdit
}
