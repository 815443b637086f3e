package app

import (
	"errors"
	"slices"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// MessageReport says what would become of an envelope.
type MessageReport struct {
	// Code, Field and Refusal say why the hub would refuse it; Code is "" for
	// one that it would take.
	Code    ma2h.Code `json:"code,omitempty"`
	Field   string    `json:"field,omitempty"`
	Refusal string    `json:"refusal,omitempty"`

	Version   string    `json:"ma2h_version,omitempty"`
	Type      ma2h.Type `json:"type,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Title     string    `json:"title,omitempty"` // as people would see it
	Sensitive bool      `json:"sensitive,omitempty"`
	Route     string    `json:"route,omitempty"`
	*ReachReport
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Expiry    string     `json:"expiry,omitempty"` // when, and what happens then, in words
	Masked    int        `json:"masked"`           // secrets that people would not see
}

// dryRun judges an envelope as its agent's submit would be judged.
func dryRun(d *hub.Directory, agentID string, raw []byte) *MessageReport {
	sent, _, _, _, err := ma2h.Peek(raw)
	if err == nil && agentID == "" {
		agentID = sent
	}
	agent := d.Agents[agentID]
	if agent == nil {
		// Judged as the only agent there is, so that what else is wrong shows.
		agent = &hub.Agent{ID: agentID}
	}
	x, err := unstored(d).Explain(agent, raw)
	if err == nil && d.Agents[agentID] == nil {
		err = unknownAgent(d, agentID)
	}
	if err != nil {
		return refusal(err)
	}
	reach := reachReport(d, x.Reach)
	out := &MessageReport{
		Version: x.Version, Type: x.Card.Type, Agent: agentID, Title: templates.Line(x.Card.Title),
		Sensitive: x.Card.Hidden, Route: x.Route, ReachReport: &reach, Masked: x.Card.Masked,
	}
	if at := x.Card.ExpiresAt; !at.IsZero() {
		out.ExpiresAt = &at
		out.Expiry = templates.Date(at, nil) + " (" + templates.In(at) + "); " + expiry(x.Card)
	}
	return out
}

func unknownAgent(d *hub.Directory, id string) error {
	ids := make([]string, 0, len(d.Agents))
	for id := range d.Agents {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	known := strings.Join(ids, ", ")
	if known == "" {
		known = "none"
	}
	return &hub.Error{Code: ma2h.CodeAgentMismatch, Field: "agent.id", Msg: "the config has no agent " + id + " (there are: " + known + ")"}
}

func refusal(err error) *MessageReport {
	out := &MessageReport{Code: hub.CodeOf(err), Refusal: err.Error()}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		out.Field, out.Refusal = e.Field, e.Msg
	} else if e, ok := errors.AsType[*ma2h.Error](err); ok {
		out.Field, out.Refusal = e.Field, e.Msg
	}
	return out
}

// expiry says what happens when nobody has answered by then.
func expiry(c *hub.Card) string {
	switch {
	case c.OnExpire != "":
		return "then " + c.OnExpire + " is applied"
	case len(c.OnExpireValues) > 0:
		return "then this is applied: " + templates.Values(c.OnExpireValues)
	case c.Hidden:
		return "then its default is applied, if it has one"
	}
	return "then it ends without an answer"
}
