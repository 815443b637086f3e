package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxCommentRunes bounds a person's comment.
const MaxCommentRunes = 10000

// Identities that the hub attests besides people and agents (spec §7; the
// drafts name no actor for an expiry without default, nor for the operator).
const (
	defaultActor  = "system:default_on_expire"
	expiryActor   = "system:expiry"
	operatorActor = "system:operator"
)

func cutActor(actor, prefix string) (string, bool) { return strings.CutPrefix(actor, prefix) }

// answer is the one door that every answer passes, whatever channel it came by
// (rule 3). An error means that nothing is known to be recorded.
func (h *Hub) answer(ctx context.Context, a Answer) (Outcome, error) {
	var o Outcome
	err := h.decide(ctx, "answer", a.MessageID, func(s *Snapshot) (*Change, error) {
		c := &Change{MessageID: s.Message.ID, At: now(), Expect: s.Message.Version}
		var err error
		o, err = h.judge(h.Directory(), s, a, c)
		if err != nil {
			return nil, err
		}
		if a.Receipt.Key != "" && !(o.Kind == Unclear && a.Receipt.Reusable) {
			r := a.Receipt
			r.Outcome = o
			c.Receipt, c.Cursor = &r, r.Cursor
		}
		if c.Patch == nil && c.Receipt == nil && c.Events == nil {
			return nil, nil
		}
		if o.Kind != Accepted {
			err = s.Message.notify(s, c, a.Receipt.Channel, a.Notice, &o)
		}
		return c, err
	})
	var seen *RepeatedError
	switch {
	case errors.As(err, &seen):
		o = seen.Outcome
		o.Repeated = true
	case errors.Is(err, ErrNotFound) || errors.Is(err, ErrGone):
		o = Outcome{Kind: Refused, Reason: ReasonNotFound, MessageID: a.MessageID, Verb: a.Verb}
		if a.Receipt.Key != "" && !a.Receipt.Reusable {
			r := a.Receipt
			r.Outcome = o
			err = h.apply(ctx, &Change{At: now(), Receipt: &r, Cursor: r.Cursor})
			if errors.As(err, &seen) {
				o = seen.Outcome
				o.Repeated = true
			} else if err != nil {
				return Outcome{}, err
			}
		}
	case err != nil:
		return Outcome{}, err
	}
	h.observer.Answered(a.Receipt.Channel, o.Kind)
	return o, nil
}

// judge decides one answer on one snapshot, and writes what follows into c.
// Only agents are told about a bad value before they are told that it is too
// late (spec §8.8); for a person the decision is the better news.
func (h *Hub) judge(d *Directory, s *Snapshot, a Answer, c *Change) (Outcome, error) {
	m := s.Message
	o := Outcome{MessageID: m.ID, Verb: a.Verb, Status: m.Status, ResolutionID: m.ResolutionID}
	refused := func(r Reason, fields ...FieldError) (Outcome, error) {
		o.Kind, o.Reason, o.Fields = Refused, r, fields
		if r == ReasonInvalid {
			o.Kind = Unclear
		}
		return o, nil
	}
	person, human := cutActor(a.Actor, "human:")
	if human && d.People[person] == nil {
		return refused(ReasonUnknownPerson)
	}
	if human && !d.inAudience(m, person) && !m.postedTo(a.Receipt.Channel) {
		return refused(ReasonNotFound)
	}
	if m.Envelope.Type == ma2h.Notify {
		return refused(ReasonNotify)
	}
	may := d.mayResolve(m.Envelope, &m.Plan, a.Actor)
	if !human && !may {
		return refused(ReasonNotAllowed)
	}
	value, reason, fields := d.valid(m, a)
	if !human && reason != "" {
		return refused(reason, fields...)
	}
	if m.Status == ma2h.Open && !m.ExpiresAt.IsZero() && c.At.After(m.ExpiresAt) {
		// Nobody has run the expiry yet: this answer is too late all the same.
		if err := h.expire(d, s, c); err != nil {
			return o, err
		}
	}
	if m.Status != ma2h.Open {
		o.Kind, o.Status, o.ResolutionID, o.Decision = AlreadyResolved, m.Status, m.ResolutionID, d.told(m)
		return o, h.note(m, c, "late", a, o)
	}
	if !may {
		o.May, o.MayTeam = d.askedOf(m), d.askedTeam(m)
		o.Kind, o.Reason = Refused, ReasonNotAllowed
		return o, h.note(m, c, "refused", a, o)
	}
	if reason != "" {
		return refused(reason, fields...)
	}
	if a.Verb == VerbTick {
		o.Kind = Accepted
		return o, tick(m, c, a)
	}
	detail := &ma2h.Detail{
		Value: value, Actor: a.Actor, ResolvedAt: ma2h.FormatTime(c.At), Comment: strings.TrimSpace(a.Comment),
		Edited: a.Verb == VerbAnswer && edited(m.Envelope, value),
	}
	if m.Envelope.Type == ma2h.Task {
		detail.Checklist = m.Checklist
		if a.Checklist != nil {
			detail.Checklist = a.Checklist
		}
	}
	content := map[string]any{"actor": a.Actor, "via": a.Receipt.Channel}
	if a.Receipt.Evidence != nil {
		content["evidence"] = jsontext.Value(a.Receipt.Evidence)
	}
	if err := h.resolve(s, c, ma2h.Status(a.Verb), detail, false, a.Receipt.Channel, content); err != nil {
		return o, err
	}
	o.Kind, o.Status, o.ResolutionID, o.Decision = Accepted, m.Status, m.ResolutionID, d.told(m)
	return o, nil
}

// told is how a message ended as an Outcome says it, which any channel may show:
// of a sensitive message not what was chosen (rule 11). The page has the rest.
func (d *Directory) told(m *Message) *Decision {
	out := d.decision(m)
	if m.Envelope.Sensitive {
		out.hide()
	}
	return out
}

// postedTo reports whether a copy went to a shared place of the channel, so
// that whoever acts there has seen the message.
func (m *Message) postedTo(channel string) bool {
	return slices.ContainsFunc(m.Plan.Targets, func(t Planned) bool { return t.Channel == channel && t.Place != "" })
}

// note records that somebody tried and nothing changed.
func (h *Hub) note(m *Message, c *Change, kind string, a Answer, o Outcome) error {
	if c.Patch == nil {
		c.Patch = PatchOf(m)
	}
	err := m.record(c, kind, map[string]any{"actor": a.Actor, "via": a.Receipt.Channel, "verb": a.Verb, "reason": o.Reason})
	c.Patch.Head = m.Head
	return err
}

// tick saves progress on a task that stays open.
func tick(m *Message, c *Change, a Answer) error {
	done := 0
	for _, item := range a.Checklist {
		if item.Done {
			done++
		}
	}
	m.Checklist = a.Checklist
	err := m.record(c, "ticked", map[string]any{"actor": a.Actor, "via": a.Receipt.Channel, "done": done, "of": len(a.Checklist)})
	c.Patch = PatchOf(m)
	return err
}

// resolve makes a message terminal: the Response is built here, once, and every
// copy that stands is to be updated. It moves s.Message to its new state.
func (h *Hub) resolve(s *Snapshot, c *Change, status ma2h.Status, detail *ma2h.Detail, defaulted bool, via string, content map[string]any) error {
	m := s.Message
	m.Status, m.ResolvedAt, m.ResolutionID, m.ResolvedVia = status, c.At, newResolutionID(), via
	resp := ma2h.Response{
		Version: fmt.Sprintf("0.%d", m.Minor()), InReplyTo: m.VisibleID(), ResolutionID: m.ResolutionID,
		Agent:      ma2h.ResponseAgent{ID: m.Envelope.Agent.ID, RunID: m.Envelope.Agent.RunID},
		Resolution: status, Response: detail, Defaulted: defaulted, State: m.Envelope.State,
	}
	var err error
	if m.Response, err = resp.Marshal(); err != nil {
		return fmt.Errorf("response to %s: %w", m.ID, err)
	}
	c.DropPending = true
	for i := range s.Postings {
		h.addUpdate(m, c, &s.Postings[i])
	}
	addPush(m, c)
	content["resolution_id"] = m.ResolutionID
	if detail != nil && !secretive(m.Envelope) {
		if detail.Comment != "" {
			content["comment"] = detail.Comment
		}
		if detail.Value != nil {
			content["value"] = detail.Value
		}
	}
	err = m.record(c, string(status), content)
	c.Patch = PatchOf(m)
	return err
}

// secretive reports whether the history keeps nothing of what people say to a
// message: it is sensitive, or asks for something that is.
func secretive(e *ma2h.Envelope) bool {
	if e.Sensitive || e.Request == nil || e.Request.Mode != ma2h.Input {
		return e.Sensitive
	}
	s, err := schemaOf(e, len(e.Request.Schema))
	return err != nil || s.sensitive()
}

// addUpdate enqueues what makes a copy tell the truth. A channel without
// Update shows its copies live.
func (h *Hub) addUpdate(m *Message, c *Change, p *Posting) {
	if _, ok := h.channel(p.Target.Channel).(Updater); !ok {
		return
	}
	u := m.newDelivery(KindUpdate, p.Target, -1, c.At, c.At)
	u.Posting = p.Seq
	c.Deliveries = append(c.Deliveries, u)
}

// expire ends an open message whose time is up (spec §7): the default, if the
// agent gave one, is applied by the clock and never by a person.
func (h *Hub) expire(d *Directory, s *Snapshot, c *Change) error {
	m := s.Message
	detail := &ma2h.Detail{Actor: expiryActor, ResolvedAt: ma2h.FormatTime(c.At)}
	defaulted := false
	if r := m.Envelope.Request; r != nil && r.DefaultOnExpire != nil && r.DefaultOnExpire.Kind() != 'n' {
		detail.Actor, detail.Value, defaulted = defaultActor, r.DefaultOnExpire, true
	}
	return h.resolve(s, c, ma2h.Expired, detail, defaulted, LaneClock,
		map[string]any{"actor": detail.Actor, "expires_at": ma2h.FormatTime(m.ExpiresAt), "defaulted": defaulted})
}

// valid checks an answer's verb, permissions, value, comment and checklist, and
// returns the value as the protocol has it.
func (d *Directory) valid(m *Message, a Answer) (value jsontext.Value, r Reason, errs []FieldError) {
	e := m.Envelope
	verbs := []Verb{VerbAnswer, VerbDecline}
	if e.Type == ma2h.Task {
		verbs = []Verb{VerbComplete, VerbDismiss, VerbTick}
	}
	if !slices.Contains(verbs, a.Verb) {
		return nil, ReasonWrongVerb, nil
	}
	if e.Request != nil {
		if a.Verb == VerbAnswer && !allowed(e.Request.Permissions, (*ma2h.Permissions).Respond) {
			return nil, ReasonNoAnswer, nil
		}
		if a.Verb == VerbDecline && !allowed(e.Request.Permissions, (*ma2h.Permissions).Ignore) {
			return nil, ReasonNoDecline, nil
		}
	}
	if a.Verb == VerbAnswer {
		value, errs = d.readValue(e, a)
	} else if a.Value != nil || a.Option != 0 || a.Fields != nil {
		errs = append(errs, FieldError{"value", "goes with an answer only"})
	}
	if n := utf8.RuneCountInString(a.Comment); n > MaxCommentRunes {
		errs = append(errs, FieldError{"comment", fmt.Sprintf("has %d characters, the limit is %d", n, MaxCommentRunes)})
	} else if !utf8.ValidString(a.Comment) {
		errs = append(errs, FieldError{"comment", "is not valid UTF-8"})
	}
	if msg := d.checkChecklist(e, a); msg != "" {
		errs = append(errs, FieldError{"checklist", msg})
	}
	if errs != nil {
		return nil, ReasonInvalid, errs
	}
	return value, "", nil
}

// readValue turns what was chosen or typed into the value of the Response.
func (d *Directory) readValue(e *ma2h.Envelope, a Answer) (jsontext.Value, []FieldError) {
	one := func(msg string) []FieldError { return []FieldError{{"value", msg}} }
	if e.Request.Mode != ma2h.Input {
		options := e.Request.Options
		switch {
		case a.Option < 0 || a.Option > len(options):
			return nil, one("is not one of the options")
		case a.Option > 0:
			return quote(options[a.Option-1].Value), nil
		case a.Value.Kind() != '"':
			return nil, one("must be one of the options (" + optionList(options) + ")")
		}
		text := textOf(a.Value)
		for _, o := range options {
			if o.Value == text {
				return quote(text), nil
			}
		}
		return nil, one("is not one of the options (" + optionList(options) + ")")
	}
	s, err := schemaOf(e, len(e.Request.Schema))
	if err != nil {
		return nil, one("can't be checked: " + err.Error())
	}
	value := a.Value
	var errs []FieldError
	if a.Fields != nil {
		value, errs = s.read(a.Fields, &redactor{extra: d.Redact})
	} else {
		errs = s.check(value)
	}
	if errs != nil {
		return nil, errs
	}
	if !allowed(e.Request.Permissions, (*ma2h.Permissions).Edit) {
		for _, name := range s.edited(value) {
			errs = append(errs, FieldError{name, "can't be changed: the agent proposed it and does not allow edits"})
		}
	}
	return value, errs
}

// edited reports whether a person changed a value that the agent proposed.
func edited(e *ma2h.Envelope, value jsontext.Value) bool {
	if e.Request == nil || e.Request.Mode != ma2h.Input {
		return false
	}
	s, err := schemaOf(e, len(e.Request.Schema))
	return err == nil && len(s.edited(value)) > 0
}

// checkChecklist holds a list against the task's, and puts the task's own texts
// back into it.
func (d *Directory) checkChecklist(e *ma2h.Envelope, a Answer) string {
	if a.Checklist == nil {
		if a.Verb == VerbTick {
			return "is missing"
		}
		return ""
	}
	if e.Action == nil {
		return "goes with a task only"
	}
	if len(a.Checklist) != len(e.Action.Checklist) {
		return fmt.Sprintf("has %d items, the task has %d", len(a.Checklist), len(e.Action.Checklist))
	}
	r := &redactor{extra: d.Redact}
	for i, item := range a.Checklist {
		// A channel knows the text as its card shows it, with secrets masked.
		if want := e.Action.Checklist[i].Text; item.Text != want && item.Text != r.text(want) {
			return fmt.Sprintf("item %d is not the task's item %d", i+1, i+1)
		}
		a.Checklist[i].Text = e.Action.Checklist[i].Text
	}
	return ""
}

func quote(s string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, s)
	return v
}

func optionList(options []ma2h.Option) string {
	names := make([]string, 0, len(options))
	for i, o := range options {
		if i == 10 {
			names = append(names, "…")
			break
		}
		names = append(names, brief(o.Value))
	}
	return strings.Join(names, ", ")
}
