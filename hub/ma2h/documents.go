package ma2h

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseResolveRequest reads the body of POST /v1/messages/{id}/resolve (schema
// v0.5/resolve-request.schema.json). Whether verb and value fit the message is
// the hub's to judge. The error is an [*Error] with [CodeValidation].
func ParseResolveRequest(raw []byte) (*ResolveRequest, error) {
	var w struct {
		Resolution Status         `json:"resolution"`
		Value      jsontext.Value `json:"value"`
		Comment    string         `json:"comment"`
		Checklist  []wireItem     `json:"checklist"`
	}
	err := decode(raw, &w, MaxDepth, func() *node {
		return object(map[string]*node{
			"resolution": {filled: true}, "value": {opaque: true}, "comment": {}, "checklist": itemsTree(),
		})
	})
	if err != nil {
		return nil, err
	}
	switch w.Resolution {
	case Answered, Declined, Completed, Dismissed:
	case Cancelled:
		return nil, invalid("resolution", "can't be cancelled; POST …/cancel withdraws a message")
	default:
		return nil, enum("resolution", string(w.Resolution), "answered, declined, completed, dismissed")
	}
	switch {
	case w.Resolution == Answered && w.Value == nil:
		return nil, invalid("value", "is required when resolution is answered")
	case w.Resolution != Answered && w.Value != nil:
		return nil, invalid("value", "belongs to answered, not to %s", w.Resolution)
	case w.Value != nil && !isObjectOrString(w.Value):
		return nil, invalid("value", "must be a string or an object, is %s", kindName(w.Value.Kind()))
	case w.Checklist != nil && (w.Resolution == Answered || w.Resolution == Declined):
		return nil, invalid("checklist", "belongs to a task, %s is for asks", w.Resolution)
	}
	checklist, err := items("checklist", w.Checklist, true)
	if err != nil {
		return nil, err
	}
	return &ResolveRequest{Resolution: w.Resolution, Value: w.Value, Comment: w.Comment, Checklist: checklist}, nil
}

// Ack says that an agent got what was meant for it (spec §14.1).
type Ack struct {
	Version      string  `json:"ma2h_version"` // 0.4 or later
	Type         string  `json:"type"`         // "ack"
	InReplyTo    string  `json:"in_reply_to"`
	By           string  `json:"by"` // attested by the hub
	AckedAt      string  `json:"acked_at"`
	Note         *string `json:"note,omitzero"` // untrusted
	ResolutionID *string `json:"resolution_id,omitzero"`
}

// ParseAck reads an acknowledgement (schema v0.5/ack.schema.json). The error is
// an [*Error].
func ParseAck(raw []byte) (*Ack, error) {
	var a Ack
	err := decode(raw, &a, MaxDepth, func() *node {
		return object(map[string]*node{
			"ma2h_version": {filled: true}, "type": {filled: true}, "in_reply_to": {filled: true},
			"by": {filled: true}, "acked_at": {filled: true}, "note": {}, "resolution_id": {},
		})
	})
	if err != nil {
		return nil, err
	}
	if _, err := minorSince(a.Version, 4); err != nil {
		return nil, err
	}
	switch {
	case a.Type != "ack":
		return nil, enum("type", a.Type, "ack")
	case a.InReplyTo == "":
		return nil, invalid("in_reply_to", "is required")
	case !validActor(a.By):
		return nil, invalid("by", "must be human:<id>, agent:<id> or system:<id>")
	}
	if err := checkTime("acked_at", a.AckedAt); err != nil {
		return nil, err
	}
	return &a, nil
}

// Presence says whether an agent has been about lately (spec §15.3).
type Presence struct {
	AgentID          string `json:"agent_id"`
	State            string `json:"state"`              // "online", "offline" or "unknown"
	LastSeen         string `json:"last_seen,omitzero"` // unless unknown
	FreshnessSeconds int64  `json:"freshness_seconds"`  // how old an "online" may be
}

// ParsePresence reads the body of GET /v1/agents/{id}/presence (schema
// v0.5/presence.schema.json). The error is an [*Error].
func ParsePresence(raw []byte) (*Presence, error) {
	var p Presence
	err := decode(raw, &p, MaxDepth, func() *node {
		return object(map[string]*node{
			"agent_id": {filled: true}, "state": {filled: true}, "last_seen": {filled: true}, "freshness_seconds": {},
		})
	})
	if err != nil {
		return nil, err
	}
	switch {
	case p.AgentID == "":
		return nil, invalid("agent_id", "is required")
	case !slices.Contains([]string{"online", "offline", "unknown"}, p.State):
		return nil, enum("state", p.State, "online, offline, unknown")
	case p.FreshnessSeconds < 1:
		return nil, invalid("freshness_seconds", "must be at least 1")
	case p.State == "unknown" && p.LastSeen != "":
		return nil, invalid("last_seen", "must be left out when state is unknown")
	case p.State == "unknown":
		return &p, nil
	}
	if err := checkTime("last_seen", p.LastSeen); err != nil {
		return nil, err
	}
	return &p, nil
}

// Directive is what a person writes to an agent, as the agent gets it (spec
// §13.1). Its text drives an agent: trust it only once its signature, shape and
// addressee are checked, as [Verifier.VerifyDirective] does.
type Directive struct {
	Version   string   `json:"ma2h_version"` // 0.4 or later
	Type      string   `json:"type"`         // "directive"
	ID        string   `json:"id"`           // what the agent acts once by
	From      string   `json:"from"`         // attested by the hub
	To        string   `json:"to"`           // agent:<id>
	CreatedAt string   `json:"created_at"`
	Title     string   `json:"title"`
	Body      string   `json:"body,omitzero"`
	Priority  Priority `json:"priority,omitzero"`
	Tags      []string `json:"tags,omitzero"`
	Context   []Part   `json:"context,omitzero"`
	ExpiresAt string   `json:"expires_at,omitzero"`
	Sensitive bool     `json:"sensitive,omitzero"`
}

func directiveTree() *node {
	word, text := &node{filled: true}, &node{}
	return object(map[string]*node{
		"ma2h_version": word, "type": word, "id": word, "from": word, "to": word, "created_at": word,
		"title": text, "body": text, "priority": word, "tags": listOf(text), "context": listOf(partTree()),
		"expires_at": word, "sensitive": {},
	})
}

// ParseDirective reads a delivered directive and holds it to its schema
// (v0.5/inbound-message.schema.json, the directive branch). The error is an
// [*Error].
func ParseDirective(raw []byte) (*Directive, error) {
	var w struct {
		Directive
		// A directive asks for nothing back (spec §13.1).
		Request jsontext.Value `json:"request"`
		Action  jsontext.Value `json:"action"`
		State   jsontext.Value `json:"state"`
	}
	if err := decode(raw, &w, MaxDepth, directiveTree); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		raw  jsontext.Value
	}{{"request", w.Request}, {"action", w.Action}, {"state", w.State}} {
		if f.raw != nil {
			return nil, invalid(f.name, "does not belong to a directive")
		}
	}
	d := &w.Directive
	if err := d.check(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Directive) check() error {
	minor, err := minorSince(d.Version, 4)
	if err != nil {
		return err
	}
	to, isAgent := strings.CutPrefix(d.To, "agent:")
	from, isHuman := strings.CutPrefix(d.From, "human:")
	if !isHuman {
		from, isHuman = strings.CutPrefix(d.From, "system:")
	}
	switch {
	case d.Type != "directive":
		return enum("type", d.Type, "directive")
	case d.ID == "":
		return invalid("id", "is required")
	case minor >= 5 && (!strings.HasPrefix(d.ID, "dir_") || len(d.ID) == len("dir_")):
		return invalid("id", "must be dir_… from 0.5 on")
	case !isHuman || from == "" || breaksLine(from):
		return invalid("from", "must be human:<id> or system:<id>")
	case !isAgent || to == "" || breaksLine(to):
		return invalid("to", "must be agent:<id>")
	case minor >= 5 && !validAddress(d.To):
		return invalid("to", "must be agent:<id> or agent:<id>#sess_…")
	case d.Title == "":
		return invalid("title", "is required")
	case utf8.RuneCountInString(d.Title) > MaxTitle:
		return invalid("title", "may have %d characters", MaxTitle)
	case d.Priority != "" && !slices.Contains([]Priority{Low, Normal, High, Urgent}, d.Priority):
		return enum("priority", string(d.Priority), "low, normal, high, urgent")
	}
	for i := range d.Context {
		if err := d.Context[i].shape(i); err != nil {
			return err
		}
	}
	if d.ExpiresAt != "" {
		if err := checkTime("expires_at", d.ExpiresAt); err != nil {
			return err
		}
	}
	return checkTime("created_at", d.CreatedAt)
}

// ParseSubmitAck reads the body of a 202 (spec §8.1), as a client does: a status
// that is not known yet is let through. The error is an [*Error].
func ParseSubmitAck(raw []byte) (*SubmitAck, error) {
	var a SubmitAck
	err := decode(raw, &a, MaxDepth, func() *node {
		return object(map[string]*node{
			"id": {filled: true}, "status": {filled: true}, "poll_url": {filled: true}, "review_url": {},
		})
	})
	if err != nil {
		return nil, err
	}
	switch {
	case a.ID == "":
		return nil, invalid("id", "is required")
	case a.Status == "":
		return nil, invalid("status", "is required")
	}
	if _, err := parseURI(a.PollURL); err != nil {
		return nil, invalid("poll_url", "%v", err)
	}
	return &a, nil
}

// minorSince reads the version of a document that exists since 0.least.
func minorSince(version string, least int) (int, error) {
	if version == "" {
		return 0, invalid("ma2h_version", "is required")
	}
	minor, err := parseVersion(version)
	if err == nil && minor < least {
		err = invalid("ma2h_version", "must be 0.%d or later", least)
	}
	return minor, err
}

func checkTime(field, s string) error {
	if s == "" {
		return invalid(field, "is required")
	}
	if _, err := ParseTime(s); err != nil {
		return invalid(field, "%v", err)
	}
	return nil
}
