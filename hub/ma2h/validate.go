package ma2h

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxTitle is how many runes a title may have (spec §4).
const MaxTitle = 200

// MaxAlias is how many bytes an agent's own id may have at 0.1.
const MaxAlias = 128

// legacy reports whether e speaks the founding draft, 0.1 or below.
func (e *Envelope) legacy() bool { return e.Minor < 2 }

// Validate judges all of spec §4 and §5 that needs nothing but the envelope:
// first its shape, by the schema of its version ([CodeValidation], for a push
// at 0.2 [CodeVersion]), then its meaning ([CodeInvalidField], for a well-formed
// `to` [CodeUnknownDestination]). It also fills in what the agent may leave
// out: Priority, the options of a confirm, Expires. At 0.1 a request or action
// that the type does not have is dropped.
//
// The caller judges what depends on the clock, the config or a limit: an expiry
// in the past, sizes, callback hosts and secrets, and for mode input the schema
// itself and a default against it.
func (e *Envelope) Validate() error {
	e.dropForeign()
	if err := e.shape(); err != nil {
		return err
	}
	if err := e.meaning(); err != nil {
		return err
	}
	if e.Priority == "" {
		e.Priority = Normal
	}
	if r := e.Request; r != nil && r.Mode == Confirm && r.Options == nil {
		r.Options = []Option{{Value: "approve", Label: "Approve"}, {Value: "deny", Label: "Deny"}}
		r.Implied = true
	}
	return nil
}

// dropForeign forgets, at 0.1, what does not belong to the type. From 0.2 on
// that is an error.
func (e *Envelope) dropForeign() {
	if !e.legacy() {
		e.ID = ""
		return
	}
	if e.Type != Ask {
		e.Request = nil
	}
	if e.Type != Task {
		e.Action = nil
	}
}

// shape holds e to the schema of its version.
func (e *Envelope) shape() error {
	if !slices.Contains([]Type{Notify, Ask, Task}, e.Type) {
		return enum("type", string(e.Type), "notify, ask, task")
	}
	if e.ID != "" && !validAlias(e.ID) {
		return invalid("id", "must be 1 to %d of A-Z, a-z, 0-9, '.', '_', '~', '-'", MaxAlias)
	}
	if err := e.shapeTimes(); err != nil {
		return err
	}
	if err := e.Agent.shape(); err != nil {
		return err
	}
	switch n := utf8.RuneCountInString(e.Title); {
	case n == 0:
		return invalid("title", "is required")
	case n > MaxTitle:
		return invalid("title", "has %d characters, may have %d", n, MaxTitle)
	}
	if e.Priority != "" && !slices.Contains([]Priority{Low, Normal, High, Urgent}, e.Priority) {
		return enum("priority", string(e.Priority), "low, normal, high, urgent")
	}
	for i := range e.Context {
		if err := e.Context[i].shape(i); err != nil {
			return err
		}
	}
	if err := wantObject("state", e.State); err != nil {
		return err
	}
	if err := e.shapeSessions(); err != nil {
		return err
	}
	return e.shapeVerb()
}

func (e *Envelope) shapeTimes() error {
	if e.CreatedAt == "" {
		return invalid("created_at", "is required")
	}
	if _, err := ParseTime(e.CreatedAt); err != nil {
		return invalid("created_at", "%v", err)
	}
	if e.ExpiresAt == "" {
		return nil
	}
	t, err := ParseTime(e.ExpiresAt)
	if err != nil {
		return invalid("expires_at", "%v", err)
	}
	e.Expires = t
	return nil
}

// shapeSessions checks the grammar of the inter-agent leg, which exists from
// 0.5 on (spec §4). Below, [Envelope.meaning] refuses the fields as such.
func (e *Envelope) shapeSessions() error {
	if e.Minor < 5 {
		return nil
	}
	if e.To != "" && !validAddress(e.To) {
		return invalid("to", "must be agent:<id> or agent:<id>#sess_…")
	}
	if s := e.Agent.Session; s != "" && !validSession(s) {
		return invalid("agent.session", "must be sess_…")
	}
	return nil
}

// shapeVerb checks request and action, and that the type has what it needs.
func (e *Envelope) shapeVerb() error {
	switch {
	case e.Request != nil && e.Type != Ask:
		return invalid("request", "belongs to an ask, this is a %s", e.Type)
	case e.Action != nil && e.Type != Task:
		return invalid("action", "belongs to a task, this is %s", article(e.Type))
	case e.Type == Ask && e.Request == nil:
		return invalid("request", "is required for an ask")
	case e.Type == Task && e.Action == nil:
		return invalid("action", "is required for a task")
	case e.Type != Notify && e.IdempotencyKey == "" && !e.legacy():
		return invalid("idempotency_key", "is required for %s", article(e.Type))
	}
	if e.Request != nil {
		return e.Request.shape(e.Minor)
	}
	if e.Action != nil {
		return e.Action.shape(e.Minor)
	}
	return nil
}

func article(t Type) string {
	if t == Ask {
		return "an ask"
	}
	return "a " + string(t)
}

func (a *Agent) shape() error {
	switch {
	case a.ID == "" && a.RunID == "" && a.Runtime == "":
		return invalid("agent", "is required, with id, run_id and runtime")
	case a.ID == "":
		return invalid("agent.id", "is required")
	case a.RunID == "":
		return invalid("agent.run_id", "is required")
	}
	switch a.Runtime {
	case "github-actions", "cli", "cloud", "desktop", "openclaw", "other":
		return nil
	}
	return enum("agent.runtime", a.Runtime, "github-actions, cli, cloud, desktop, openclaw, other")
}

// shape checks the part at index i: exactly one of text, data and file, the one
// that kind names.
func (p *Part) shape(i int) error {
	field := func(name string) string { return fmt.Sprintf("context[%d]%s", i, name) }
	switch p.Kind {
	case "text", "data", "file":
	default:
		return enum(field(".kind"), p.Kind, "text, data, file")
	}
	for _, m := range []struct {
		kind string
		has  bool
	}{{"text", p.Text != nil}, {"data", p.Data != nil}, {"file", p.File != nil}} {
		switch {
		case m.has && m.kind != p.Kind:
			return invalid(field("."+m.kind), "does not belong to a part of kind %s", p.Kind)
		case !m.has && m.kind == p.Kind:
			return invalid(field("."+m.kind), "is required in a part of kind %s", p.Kind)
		}
	}
	if p.Data != nil && p.Data.Kind() != '{' {
		return wantObject(field(".data"), p.Data)
	}
	if p.Metadata != nil && p.Metadata.Kind() != '{' {
		return wantObject(field(".metadata"), p.Metadata)
	}
	if p.File != nil {
		if _, err := parseURI(p.File.URI); err != nil {
			return invalid(field(".file.uri"), "%v", err)
		}
	}
	return nil
}

func (r *Request) shape(minor int) error {
	switch r.Mode {
	case Select:
		if len(r.Options) == 0 {
			return invalid("request.options", "needs at least one option in mode select")
		}
	case Confirm:
		if r.Options != nil && len(r.Options) != 2 {
			return invalid("request.options", "must be two in mode confirm, or left out for approve and deny")
		}
	case Input:
		if r.Schema == nil {
			return invalid("request.schema", "is required in mode input")
		}
	default:
		return enum("request.mode", string(r.Mode), "select, input, confirm")
	}
	if err := wantObject("request.schema", r.Schema); err != nil {
		return err
	}
	switch k := r.DefaultOnExpire.Kind(); {
	case r.DefaultOnExpire == nil, k == '"', k == '{', k == 'n':
	default:
		return invalid("request.default_on_expire", "must be a string, an object or null, is %s", kindName(k))
	}
	if err := shapeResolvers("request.allowed_resolvers", r.AllowedResolvers, minor); err != nil {
		return err
	}
	return r.Callback.shape("request.callback", minor)
}

func (a *Action) shape(minor int) error {
	if err := shapeResolvers("action.allowed_resolvers", a.AllowedResolvers, minor); err != nil {
		return err
	}
	return a.Callback.shape("action.callback", minor)
}

// shapeResolvers checks the grammar of spec §9.1; from 0.5 on an agent is named
// by the addresses of §4.
func shapeResolvers(field string, list []string, minor int) error {
	for i, s := range list {
		switch {
		case !validActor(s):
			return invalid(fmt.Sprintf("%s[%d]", field, i), "must be human:<id>, agent:<id> or system:<id>")
		case minor >= 5 && strings.HasPrefix(s, "agent:") && !validAddress(s):
			return invalid(fmt.Sprintf("%s[%d]", field, i), "must be agent:<id> or agent:<id>#sess_… from 0.5 on")
		}
	}
	return nil
}

// shape checks a callback (spec §8.3), of which push has no meaning at 0.2.
func (c *Callback) shape(field string, minor int) error {
	if c == nil {
		return nil
	}
	if c.Mode != "push" && c.Mode != "pull" {
		return enum(field+".mode", c.Mode, "push, pull")
	}
	if c.Mode == "push" && c.URL == "" {
		return invalid(field+".url", "is required for push")
	}
	if c.URL != "" {
		if _, err := parseURI(c.URL); err != nil {
			return invalid(field+".url", "%v", err)
		}
	}
	if err := c.Auth.shape(field+".auth", minor); err != nil {
		return err
	}
	if c.Mode == "push" && minor == 2 {
		return &Error{
			Code: CodeVersion, Field: field + ".mode",
			Msg: "push has no usable signature at 0.2; send 0.3 or later, or use pull",
		}
	}
	return nil
}

// shape checks the reference that a scheme takes; 0.1 has no such rule.
func (a *Auth) shape(field string, minor int) error {
	if a == nil {
		return nil
	}
	want, wrong := "token_ref", "secret_ref"
	has, hasWrong := a.TokenRef, a.SecretRef
	switch a.Scheme {
	case "hmac":
		want, wrong, has, hasWrong = wrong, want, hasWrong, has
	case "bearer", "apikey":
	default:
		return enum(field+".scheme", a.Scheme, "hmac, bearer, apikey")
	}
	switch {
	case minor < 2:
		return nil
	case has == "":
		return invalid(field+"."+want, "is required for scheme %s", a.Scheme)
	case hasWrong != "":
		return invalid(field+"."+wrong, "does not belong to scheme %s, which takes %s", a.Scheme, want)
	}
	return nil
}

// enum says that a value is missing or not one of a few.
func enum(field, value, want string) error {
	if value == "" {
		return invalid(field, "is required: one of %s", want)
	}
	return invalid(field, "must be one of %s", want)
}

// wantObject refuses a raw value that is there and no object.
func wantObject(field string, raw jsontext.Value) error {
	if raw == nil || raw.Kind() == '{' {
		return nil
	}
	return invalid(field, "must be an object, is %s", kindName(raw.Kind()))
}

func validAlias(s string) bool {
	return len(s) <= MaxAlias && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._~-", r))
	})
}

// validActor reports whether s is human:…, agent:… or system:… on one line.
func validActor(s string) bool {
	kind, id, ok := strings.Cut(s, ":")
	return ok && id != "" && (kind == "human" || kind == "agent" || kind == "system") && !breaksLine(id)
}

// validAddress reports whether s is agent:<id> or agent:<id>#sess_… (spec §4):
// the first # ends the id.
func validAddress(s string) bool {
	rest, ok := strings.CutPrefix(s, "agent:")
	if !ok || breaksLine(rest) {
		return false
	}
	id, session, qualified := strings.Cut(rest, "#")
	return id != "" && (!qualified || validSession(session))
}

func validSession(s string) bool {
	return len(s) > len("sess_") && strings.HasPrefix(s, "sess_") && !breaksLine(s)
}

// breaksLine reports whether s holds a control character or a line break.
func breaksLine(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029'
	})
}

// parseURI reads an absolute URI. The error does not quote it.
func parseURI(s string) (*url.URL, error) {
	if u, err := url.Parse(s); err == nil && u.IsAbs() && !strings.ContainsAny(s, " <>\"") {
		return u, nil
	}
	return nil, errURI
}
