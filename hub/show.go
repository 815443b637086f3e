package hub

import (
	"maps"
	"slices"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// card shows a message to one reader, nil for a shared place. It is the only
// way from a Message to a channel.
func (d *Directory) card(m *Message, reader *Person, v View) *Card {
	e := m.Envelope
	r := &redactor{extra: d.Redact}
	c := &Card{
		MessageID: m.ID, Revision: m.Version, ReviewURL: d.ReviewURL(m.ID), Type: e.Type, Status: m.Status,
		Title: r.text(e.Title), Priority: priorityOf(e),
		AgentID: e.Agent.ID, Project: r.text(e.Agent.Project), RunID: r.text(e.Agent.RunID), Runtime: e.Agent.Runtime,
		AcceptedAt: m.AcceptedAt, ExpiresAt: m.ExpiresAt,
		Reader: reader, AskedOf: d.askedOf(m), AskedTeam: d.askedTeam(m),
		CanAnswer: true, CanDecline: true,
	}
	if e.Type == ma2h.Notify {
		c.CanAnswer, c.CanDecline = false, false
	}
	c.MayAnswer = reader != nil && m.Status == ma2h.Open && d.mayResolve(e, &m.Plan, reader.Actor())
	c.MayDirect = reader != nil && d.mayDirect(m.AgentID, reader.ID)
	if e.Request != nil {
		c.Mode = e.Request.Mode
		c.CanAnswer = allowed(e.Request.Permissions, (*ma2h.Permissions).Respond)
		c.CanDecline = allowed(e.Request.Permissions, (*ma2h.Permissions).Ignore)
	}
	if e.Sensitive && v == Export {
		c.Hidden, c.PageOnly = true, true
		if m.Response != nil {
			c.Decision = d.decision(m)
			c.Decision.hide()
			if c.Track = r.track(m); c.Track != nil {
				c.Track.AckNote = ""
			}
		}
		c.Masked = r.masked
		return c
	}
	c.Body = r.text(e.Body)
	for _, tag := range e.Tags {
		c.Tags = append(c.Tags, r.text(tag))
	}
	if len(e.Agent.Labels) > 0 {
		c.Labels = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(e.Agent.Labels)) {
			c.Labels[r.text(name)] = r.text(e.Agent.Labels[name])
		}
	}
	for i := range e.Context {
		c.Context = append(c.Context, r.part(&e.Context[i]))
	}
	d.cardRequest(c, e, r)
	if e.Action != nil {
		c.Instructions, c.Verification = r.text(e.Action.Instructions), r.text(e.Action.Verification)
		for _, item := range checklistOf(m) {
			c.Checklist = append(c.Checklist, ma2h.ChecklistItem{Text: r.text(item.Text), Done: item.Done})
		}
	}
	if m.Response != nil {
		c.Decision = d.decision(m)
		c.Track = r.track(m)
	}
	c.Masked = r.masked
	return c
}

// cardRequest shows what an ask wants and what happens when nobody answers.
func (d *Directory) cardRequest(c *Card, e *ma2h.Envelope, r *redactor) {
	if e.Request == nil {
		return
	}
	def := e.Request.DefaultOnExpire
	if c.Mode == ma2h.Input {
		s, err := schemaOf(e, len(e.Request.Schema)) // any number of fields: it was accepted
		if err != nil {
			c.CanAnswer = false // can't happen: the schema was compiled at submit
			return
		}
		c.PageOnly = s.sensitive()
		for _, f := range s.fields {
			c.Fields = append(c.Fields, r.field(f))
		}
		if def.Kind() == '{' {
			c.OnExpireValues = s.named(def)
			for i := range c.OnExpireValues {
				c.OnExpireValues[i].Text = r.text(c.OnExpireValues[i].Text)
			}
		}
		return
	}
	for i, o := range e.Request.Options {
		opt := CardOption{N: i + 1, Value: r.text(o.Value), Label: r.text(o.Label), Description: r.text(o.Description)}
		if def.Kind() == '"' && textOf(def) == o.Value {
			opt.Default = true
			c.OnExpire = opt.Label
		}
		c.Options = append(c.Options, opt)
	}
}

func (r *redactor) part(p *ma2h.Part) CardPart {
	switch {
	case p.Text != nil:
		return CardPart{Text: r.text(*p.Text)}
	case p.File != nil:
		return CardPart{File: &ma2h.File{URI: r.text(p.File.URI), Name: r.text(p.File.Name), MimeType: r.text(p.File.MimeType)}}
	}
	return CardPart{Data: r.json(p.Data)}
}

func (r *redactor) field(f Field) Field {
	f.Title, f.Description = r.text(f.Title), r.text(f.Description)
	if f.Sensitive && f.HasDefault {
		f.Default = Mask
	} else {
		f.Default = r.text(f.Default)
	}
	return f
}

// checklistOf is a task's list with the ticks that people have made.
func checklistOf(m *Message) []ma2h.ChecklistItem {
	if m.Checklist != nil || m.Envelope.Action == nil {
		return m.Checklist
	}
	return m.Envelope.Action.Checklist
}

// allowed reads one permission; what the agent left out is allowed.
func allowed(p *ma2h.Permissions, which func(*ma2h.Permissions) *bool) bool {
	if p == nil {
		return true
	}
	b := which(p)
	return b == nil || *b
}

// decision says how a message ended, from the Response that was built then.
func (d *Directory) decision(m *Message) *Decision {
	resp, err := ma2h.ParseResponse(m.Response)
	if err != nil {
		return &Decision{Resolution: m.Status, At: m.ResolvedAt, Via: m.ResolvedVia}
	}
	out := &Decision{Resolution: resp.Resolution, At: m.ResolvedAt, Via: m.ResolvedVia, Defaulted: resp.Defaulted}
	if resp.Response == nil {
		return out
	}
	out.Actor, out.ActorName = resp.Response.Actor, d.actorName(resp.Response.Actor)
	out.Comment, out.Checklist, out.Edited = resp.Response.Comment, resp.Response.Checklist, resp.Response.Edited
	d.explainValue(out, m.Envelope, resp.Response.Value)
	return out
}

func (d *Directory) explainValue(out *Decision, e *ma2h.Envelope, value jsontext.Value) {
	r := &redactor{extra: d.Redact}
	switch value.Kind() {
	case '{':
		if s, err := schemaOf(e, len(e.Request.Schema)); err == nil {
			out.Values = s.named(value)
		}
	case '"':
		text := textOf(value)
		out.Choice = r.text(text)
		for i, o := range e.Request.Options {
			if o.Value == text {
				out.Choice, out.Option = r.text(o.Label), i+1
			}
		}
	}
}

// hide leaves what a sensitive message may say outside the page: that it was
// decided, by whom and when.
func (d *Decision) hide() {
	d.Choice, d.Option, d.Values, d.Comment, d.Checklist = "", 0, nil, "", nil
}

func (d *Directory) actorName(actor string) string {
	if id, ok := cutActor(actor, "human:"); ok {
		return d.PersonName(id)
	}
	if id, ok := cutActor(actor, "agent:"); ok {
		return id
	}
	if actor == operatorActor {
		return "the operator"
	}
	return ""
}
