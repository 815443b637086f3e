package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TrackState says whether the agent has what became of its ask or task (spec
// §14.2). It never changes what was decided.
type TrackState string

// The states of a track. Each but the first two is final.
const (
	TrackNone      TrackState = ""                   // the agent has not got it yet
	TrackDelivered TrackState = "delivered-to-agent" // a push's 2xx, or the agent's own read
	TrackAcked     TrackState = "acknowledged"       // the agent said so
	TrackExpired   TrackState = "expired"            // retention passed first: it never will; from 0.5 on
)

// Track is how far a Response has come on its way back to the agent.
type Track struct {
	State       TrackState
	DeliveredAt time.Time
	AckedAt     time.Time
	AckNote     string    // what the agent said to it; untrusted, "" for nothing
	ExpiredAt   time.Time // of TrackExpired
}

// TrackShower is a channel whose copies say whether the agent got the answer:
// they are updated when that changes. It is found by type assertion, and is an
// [Updater] too.
type TrackShower interface {
	ShowsTrack() bool
}

// MaxNoteRunes bounds the note of an acknowledgement.
const MaxNoteRunes = 2000

// tracked reports whether a message has an answer that goes back.
func tracked(m *Message) bool {
	return m.Status != ma2h.Open && m.Envelope.Type != ma2h.Notify
}

// advance moves the track of s.Message, records that, and has the copies that
// show it say so. The patch of c becomes that of the whole message.
func (h *Hub) advance(s *Snapshot, c *Change, t Track, kind string, content map[string]any) error {
	m := s.Message
	m.Track = t
	for i := range s.Postings {
		if p := &s.Postings[i]; trackShown(m) && h.showsTrack(p.Target.Channel) && !updatePending(s, c, p.Seq) {
			h.addUpdate(m, c, p)
		}
	}
	if err := m.record(c, kind, content); err != nil {
		return err
	}
	c.Patch = PatchOf(m)
	c.Patch.Track = &m.Track
	return nil
}

// trackShown reports whether people are told of the track. An agent that has
// withdrawn its own message need not be told that it did.
func trackShown(m *Message) bool { return tracked(m) && m.Status != ma2h.Cancelled }

func (h *Hub) showsTrack(channel string) bool {
	shower, ok := h.channel(channel).(TrackShower)
	return ok && shower.ShowsTrack()
}

// updatePending reports whether a copy is about to be updated anyway: that update
// will show the track as it is by then, or be followed by one that does, see
// recordUpdate. Whether it has begun nobody can say here, for a claim changes no
// version.
func updatePending(s *Snapshot, c *Change, posting int) bool {
	pending := func(d Delivery) bool {
		return d.Kind == KindUpdate && d.Posting == posting && (d.State == Pending || d.State == Running)
	}
	return slices.ContainsFunc(s.Deliveries, pending) || slices.ContainsFunc(c.Deliveries, pending)
}

// recordUpdate follows an update that is done: if the track has moved since its
// card was made, the copy is to be updated again.
func (h *Hub) recordUpdate(s *Snapshot, c *Change, d *Delivery, shown Track) {
	if !trackShown(s.Message) || s.Message.Track == shown || !h.showsTrack(d.Target.Channel) || updatePending(s, c, d.Posting) {
		return
	}
	for i := range s.Postings {
		if s.Postings[i].Seq == d.Posting {
			h.addUpdate(s.Message, c, &s.Postings[i])
		}
	}
}

// stamp decides what the agent's own read of an ended message means for its
// track: that the agent has it, or, once its retention has passed, that it came
// too late (spec §14.2; expired is final).
func (h *Hub) stamp(s *Snapshot, c *Change) error {
	m := s.Message
	if h.Directory().unseen(m, c.At) {
		return h.expireTrack(s, c)
	}
	t := m.Track
	t.State, t.DeliveredAt = TrackDelivered, c.At
	return h.advance(s, c, t, "delivered_to_agent", map[string]any{"via": "read"})
}

// unseen reports whether the retention of a Response passed before the agent got
// it. The state exists from 0.5 on only, and not for what was withdrawn: there no
// person waits to be heard.
func (d *Directory) unseen(m *Message, at time.Time) bool {
	return m.Track.State == TrackNone && trackShown(m) && m.Minor() >= 5 && d.Retention > 0 && at.Sub(m.ResolvedAt) > d.Retention
}

func (h *Hub) expireTrack(s *Snapshot, c *Change) error {
	t := s.Message.Track
	t.State, t.ExpiredAt = TrackExpired, c.At
	return h.advance(s, c, t, "never_picked_up", map[string]any{"resolved_at": ma2h.FormatTime(s.Message.ResolvedAt)})
}

// taken records that the submitter has the Response, before it is rendered, and
// returns the message as it is then. When that can't be stored the agent gets
// its answer all the same: it matters more than who knows of it.
func (h *Hub) taken(ctx context.Context, m *Message) *Message {
	if !tracked(m) || m.Track.State != TrackNone {
		return m
	}
	after, err := h.stampRead(ctx, m)
	if err != nil {
		h.log.Warn("not recorded that the agent read its answer", "message", m.ID, "err", err)
		return m
	}
	return after
}

// stampRead is on the way from a person's click to the waiting agent. Where no
// copy shows the track, the message that was just read is enough to decide on.
func (h *Hub) stampRead(ctx context.Context, m *Message) (*Message, error) {
	if !h.copiesShowTrack(m) {
		after := *m
		c := &Change{MessageID: m.ID, At: now(), Expect: m.Version}
		if err := h.stamp(&Snapshot{Message: &after}, c); err != nil {
			return nil, err
		}
		err := h.apply(ctx, c)
		if err == nil {
			after.Version++
			h.committed(&after, m.Status, c)
			return &after, nil
		}
		if !errors.Is(err, ErrStale) {
			return nil, err
		}
	}
	var after *Message
	err := h.decide(ctx, "read", m.ID, func(s *Snapshot) (*Change, error) {
		after = s.Message
		if after.Track.State != TrackNone {
			return nil, nil
		}
		c := &Change{MessageID: after.ID, At: now(), Expect: after.Version}
		return c, h.stamp(s, c)
	})
	return after, err
}

func (h *Hub) copiesShowTrack(m *Message) bool {
	for _, t := range m.Plan.Targets {
		if h.showsTrack(t.Channel) {
			return true
		}
	}
	return false
}

// deliveryOf is the "delivery" object of a message's body (spec §8.2), nil while
// there is nothing to say.
func deliveryOf(m *Message) ([]byte, error) {
	t := &m.Track
	if !tracked(m) || t.State == TrackNone {
		return nil, nil
	}
	var w struct {
		State          TrackState `json:"state"`
		DeliveredAt    string     `json:"delivered_at,omitzero"`
		AcknowledgedAt string     `json:"acknowledged_at,omitzero"`
		Ack            *ma2h.Ack  `json:"ack,omitzero"`
	}
	w.State = t.State
	if !t.DeliveredAt.IsZero() {
		w.DeliveredAt = ma2h.FormatTime(t.DeliveredAt)
	}
	if t.State == TrackAcked {
		w.AcknowledgedAt, w.Ack = ma2h.FormatTime(t.AckedAt), ackOf(m)
	}
	b, err := json.Marshal(&w)
	if err != nil {
		return nil, fmt.Errorf("delivery of %s: %w", m.ID, err)
	}
	return b, nil
}

// ackOf is the acknowledgement as the hub attests it, in its own version (spec
// §14.1).
func ackOf(m *Message) *ma2h.Ack {
	a := &ma2h.Ack{
		Version: hubVersion(), Type: "ack", InReplyTo: m.VisibleID(), By: "agent:" + m.AgentID,
		AckedAt: ma2h.FormatTime(m.Track.AckedAt), ResolutionID: &m.ResolutionID,
	}
	if m.Track.AckNote != "" {
		a.Note = &m.Track.AckNote
	}
	return a
}

func hubVersion() string { return fmt.Sprintf("0.%d", ma2h.MaxMinor) }

// Ack is an agent's acknowledgement of the answer that it got, by POST
// /v1/messages/{id}/ack (spec §14.3). The first one is kept and returned to every
// later one. CodeNotAcknowledgeable while there is nothing that the agent got.
func (h *Hub) Ack(ctx context.Context, agent *Agent, id string, raw []byte) (*ma2h.Ack, error) {
	m, err := h.find(ctx, agent.ID, id)
	if err != nil {
		return nil, err
	}
	note, err := readAck(raw)
	if err != nil {
		return nil, err
	}
	var out *ma2h.Ack
	err = h.decide(ctx, "ack", m.ID, func(s *Snapshot) (*Change, error) {
		m := s.Message
		if m.Track.State != TrackAcked {
			if err := acknowledgeable(m); err != nil {
				return nil, err
			}
			c := &Change{MessageID: m.ID, At: now(), Expect: m.Version}
			t := m.Track
			t.State, t.AckedAt, t.AckNote = TrackAcked, c.At, note
			content := map[string]any{"actor": agent.Actor()}
			if note != "" && !secretive(m.Envelope) {
				content["note"] = note
			}
			err := h.advance(s, c, t, "acknowledged", content)
			out = ackOf(m)
			return c, err
		}
		out = ackOf(m)
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func acknowledgeable(m *Message) error {
	why := ""
	switch {
	case m.Envelope.Type == ma2h.Notify:
		why = "a notify has no answer to acknowledge"
	case m.Status == ma2h.Open:
		why = "the message is still open"
	case m.Track.State == TrackNone:
		why = "the answer was not delivered yet; read the message first"
	case m.Track.State == TrackExpired:
		why = "the answer was kept for its retention and never picked up"
	default:
		return nil
	}
	return refuse(ma2h.CodeNotAcknowledgeable, "", "%s", why)
}

// readAck reads the body of an acknowledgement: {"note"?, "resolution_id"?}, or
// nothing. Which resolution it is about the hub knows better; what else the body
// says is ignored.
func readAck(raw []byte) (note string, err error) {
	if len(raw) == 0 {
		return "", nil
	}
	var w struct {
		Note         jsontext.Value `json:"note"`
		ResolutionID jsontext.Value `json:"resolution_id"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return "", &Error{Code: ma2h.CodeValidation, Msg: `the body must be a JSON object such as {"note": "on it"}`, Err: err}
	}
	if w.ResolutionID != nil && w.ResolutionID.Kind() != '"' {
		return "", refuse(ma2h.CodeValidation, "resolution_id", "must be a string")
	}
	return readNote(w.Note)
}

// readNote reads what an agent says to an acknowledgement. It is for people, so
// what no person can see is left out.
func readNote(v jsontext.Value) (string, error) {
	if v == nil {
		return "", nil
	}
	if v.Kind() != '"' {
		return "", refuse(ma2h.CodeValidation, "note", "must be a string")
	}
	note := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, textOf(v)))
	if n := utf8.RuneCountInString(note); n > MaxNoteRunes {
		return "", refuse(ma2h.CodeInvalidField, "note", "has %d characters, the limit is %d", n, MaxNoteRunes)
	}
	return note, nil
}

// ExpireTracks ends, at most limit of them, the tracks of Responses whose
// retention passed before their agents got them: people then see that nobody
// will. It returns how many; call it again while that is limit. It comes before
// such messages are purged.
func (h *Hub) ExpireTracks(ctx context.Context, limit int) (int, error) {
	d := h.Directory()
	if d.Retention <= 0 {
		return 0, nil
	}
	ids, err := h.store.Unseen(ctx, now().Add(-d.Retention), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		err := h.decide(ctx, "expire track", id, func(s *Snapshot) (*Change, error) {
			c := &Change{MessageID: id, At: now(), Expect: s.Message.Version}
			if !h.Directory().unseen(s.Message, c.At) {
				return nil, nil
			}
			return c, h.expireTrack(s, c)
		})
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrGone) {
			return 0, fmt.Errorf("end the track of %s: %w", id, err)
		}
	}
	return len(ids), nil
}

// track shows a message's track on a card, nil when there is none to show.
func (r *redactor) track(m *Message) *Track {
	if !trackShown(m) {
		return nil
	}
	t := m.Track
	t.AckNote = r.text(t.AckNote)
	return &t
}
