package ma2h

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The actors of an expiry (spec §6, §7). The second is our own name: the drafts
// give none for an expiry without a default.
const (
	ActorDefault = "system:default_on_expire"
	ActorExpiry  = "system:expiry"
)

// Marshal writes r as the hub sends it (spec §6). State and value go out as the
// bytes that came. The hub calls it once, when the message becomes terminal, and
// keeps the bytes: every read, push and digest uses those. The error says that r
// is no valid Response.
func (r *Response) Marshal() ([]byte, error) {
	o := beginObject(make([]byte, 0, 512+len(r.State)))
	o.str("ma2h_version", r.Version)
	o.str("in_reply_to", r.InReplyTo)
	o.str("resolution_id", r.ResolutionID)
	o.name("agent")
	a := beginObject(o.b)
	a.str("id", r.Agent.ID)
	a.str("run_id", r.Agent.RunID)
	o.b = a.end()
	o.str("resolution", string(r.Resolution))
	if r.Response != nil {
		o.name("response")
		o.b = appendDetail(o.b, r.Response)
	}
	o.bool("defaulted", r.Defaulted)
	o.rawIf("state", r.State)
	raw := o.end()
	if _, err := ParseResponse(raw); err != nil {
		return nil, fmt.Errorf("response to %s: %w", r.InReplyTo, err)
	}
	return raw, nil
}

func appendDetail(dst []byte, d *Detail) []byte {
	o := beginObject(dst)
	o.rawIf("value", d.Value)
	if d.Edited {
		o.bool("edited", true)
	}
	o.str("actor", d.Actor)
	o.str("resolved_at", d.ResolvedAt)
	o.strIf("comment", d.Comment)
	if d.Checklist != nil {
		o.name("checklist")
		o.b = appendList(o.b, d.Checklist, appendItem)
	}
	return o.end()
}

// wireItem is a [ChecklistItem] that tells false from absent.
type wireItem struct {
	Text *string `json:"text"`
	Done *bool   `json:"done"`
}

func itemsTree() *node {
	return listOf(object(map[string]*node{"text": {}, "done": {}}))
}

// items turns a checklist as read into ours.
func items(field string, list []wireItem, wantDone bool) ([]ChecklistItem, error) {
	if list == nil {
		return nil, nil
	}
	out := make([]ChecklistItem, len(list))
	for i, w := range list {
		switch {
		case w.Text == nil:
			return nil, invalid(fmt.Sprintf("%s[%d].text", field, i), "is required")
		case w.Done == nil && wantDone:
			return nil, invalid(fmt.Sprintf("%s[%d].done", field, i), "is required")
		}
		out[i] = ChecklistItem{Text: *w.Text, Done: w.Done != nil && *w.Done}
	}
	return out, nil
}

func responseTree() *node {
	return object(map[string]*node{
		"ma2h_version": {filled: true}, "in_reply_to": {filled: true}, "resolution_id": {filled: true},
		"agent":      object(map[string]*node{"id": {filled: true}, "run_id": {filled: true}}),
		"resolution": {filled: true},
		"response": object(map[string]*node{
			"value": {opaque: true}, "edited": {}, "actor": {filled: true}, "resolved_at": {filled: true},
			"comment": {}, "checklist": itemsTree(),
		}),
		"defaulted": {},
		"state":     {opaque: true},
	})
}

// ParseResponse reads a Response strictly and holds it to the schema of its
// version (v0.5/response.schema.json): resolution_id is res_… and every
// checklist item says whether it is done from 0.5 on, and resolution_id may be
// absent at 0.1. Whether the resolution fits the message is for the reader to
// judge. The error is an [*Error].
func ParseResponse(raw []byte) (*Response, error) {
	type detail struct {
		Value      jsontext.Value `json:"value"`
		Edited     bool           `json:"edited"`
		Actor      string         `json:"actor"`
		ResolvedAt string         `json:"resolved_at"`
		Comment    string         `json:"comment"`
		Checklist  []wireItem     `json:"checklist"`
	}
	var w struct {
		Version      string         `json:"ma2h_version"`
		InReplyTo    string         `json:"in_reply_to"`
		ResolutionID string         `json:"resolution_id"`
		Agent        ResponseAgent  `json:"agent"`
		Resolution   Status         `json:"resolution"`
		Response     *detail        `json:"response"`
		Defaulted    bool           `json:"defaulted"`
		State        jsontext.Value `json:"state"`
	}
	if err := decode(raw, &w, sentDepth, responseTree); err != nil {
		return nil, err
	}
	minor, err := parseVersion(w.Version)
	if err != nil {
		return nil, err
	}
	r := &Response{
		Version: w.Version, InReplyTo: w.InReplyTo, ResolutionID: w.ResolutionID, Agent: w.Agent,
		Resolution: w.Resolution, Defaulted: w.Defaulted, State: w.State,
	}
	if d := w.Response; d != nil {
		r.Response = &Detail{
			Value: d.Value, Edited: d.Edited, Actor: d.Actor, ResolvedAt: d.ResolvedAt, Comment: d.Comment,
		}
		if r.Response.Checklist, err = items("response.checklist", d.Checklist, minor >= 5); err != nil {
			return nil, err
		}
	}
	if err := r.check(minor); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Response) check(minor int) error {
	switch {
	case r.InReplyTo == "":
		return invalid("in_reply_to", "is required")
	case r.ResolutionID == "" && minor >= 2:
		return invalid("resolution_id", "is required")
	case minor >= 5 && (!strings.HasPrefix(r.ResolutionID, "res_") || len(r.ResolutionID) == len("res_")):
		return invalid("resolution_id", "must be res_… from 0.5 on")
	case r.Agent.ID == "":
		return invalid("agent.id", "is required")
	case r.Agent.RunID == "":
		return invalid("agent.run_id", "is required")
	case !slices.Contains([]Status{Answered, Declined, Cancelled, Expired, Completed, Dismissed}, r.Resolution):
		return enum("resolution", string(r.Resolution), "answered, declined, cancelled, expired, completed, dismissed")
	case r.Defaulted && r.Resolution != Expired:
		return invalid("resolution", "must be expired when defaulted is true")
	}
	if err := wantObject("state", r.State); err != nil {
		return err
	}
	if r.Response == nil {
		return nil
	}
	return r.checkDetail()
}

func (r *Response) checkDetail() error {
	d := r.Response
	if d.Value != nil && !isObjectOrString(d.Value) {
		return invalid("response.value", "must be a string or an object, is %s", kindName(d.Value.Kind()))
	}
	switch {
	case !validActor(d.Actor):
		return invalid("response.actor", "must be human:<id>, agent:<id> or system:<id>")
	case r.Defaulted && d.Actor != ActorDefault:
		return invalid("response.actor", "must be %s when defaulted is true", ActorDefault)
	case d.ResolvedAt == "":
		return invalid("response.resolved_at", "is required")
	case d.Checklist != nil && slices.Contains([]Status{Answered, Declined, Cancelled}, r.Resolution):
		return invalid("response.checklist", "belongs to a task, %s is for asks", r.Resolution)
	}
	if _, err := ParseTime(d.ResolvedAt); err != nil {
		return invalid("response.resolved_at", "%v", err)
	}
	return nil
}

// decode reads a document that has no version to be judged first.
func decode(raw []byte, into any, most int, tree func() *node) error {
	t, err := scan(raw, tree, most)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return typeError(err, tree)
	}
	_, err = walkIf(t, raw, tree)
	return err
}
