package fakeslack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// What may keep a person from doing something.
var (
	// ErrGone is that the message, view, control or option is not there, or not
	// for this person.
	ErrGone = errors.New("fakeslack: not there")
	// ErrNoAck is that the app did not acknowledge in time. A person sees a
	// warning sign, or "We had some trouble connecting" in a modal.
	ErrNoAck = errors.New("fakeslack: the app did not acknowledge")
	// ErrNotAllowed is that Slack does not let this person do this.
	ErrNotAllowed = errors.New("fakeslack: not allowed")
)

// Person is somebody in front of Slack.
type Person struct {
	s  *Server
	ID string
}

// Person returns the user with this id or name. It panics if there is none: the
// test is wrong then.
func (s *Server) Person(user string) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.userID(user)
	if id == "" {
		panic(fmt.Sprintf("fakeslack: no user %q", user))
	}
	return &Person{s, id}
}

// Ack is what an app acknowledged with.
type Ack struct {
	Payload json.RawMessage // may be empty
}

// Option changes how a person acts.
type Option func(*action)

// action is what is about to be done.
type action struct {
	block string
	stale *Message
	label bool
}

// InBlock picks the control in this block, for action ids that occur twice.
func InBlock(blockID string) Option { return func(a *action) { a.block = blockID } }

// ByLabel makes the action id be the text on the button instead.
func ByLabel() Option { return func(a *action) { a.label = true } }

// Stale lets a person act on a message as it stood earlier, as somebody does
// whose client has not heard of the change. It may even be deleted by now.
func Stale(m Message) Option { return func(a *action) { a.stale = &m } }

func options(opts []Option) action {
	var a action
	for _, o := range opts {
		o(&a)
	}
	return a
}

// place is where a control stands: in a message or in a view.
type place struct {
	msg  *Message
	view *View
}

func (p place) id() string {
	if p.view != nil {
		return p.view.ID
	}
	return p.msg.Channel + "/" + p.msg.TS
}

func (p place) blocks() []object {
	if p.view != nil {
		return p.view.Blocks
	}
	return p.msg.Blocks
}

// message finds one that the person sees; s.mu is held.
func (p *Person) message(channel, ts string, a action) (place, error) {
	if a.stale != nil {
		m := a.stale.clone()
		return place{msg: &m}, nil
	}
	ch := p.s.channels[p.s.channelID(channel)]
	if ch == nil {
		return place{}, fmt.Errorf("%w: channel %s", ErrGone, channel)
	}
	m := p.s.message(ch.ID, ts)
	if m == nil || !p.sees(ch, m) {
		return place{}, fmt.Errorf("%w: message %s in %s", ErrGone, ts, channel)
	}
	return place{msg: m}, nil
}

// sees says whether a message is on this person's screen.
func (p *Person) sees(ch *channel, m *Message) bool {
	return ch.has(p.ID) && !m.Deleted && (m.EphemeralTo == "" || m.EphemeralTo == p.ID)
}

// viewPlace finds the modal on top, or the Home tab; s.mu is held.
func (p *Person) viewPlace(id string) (place, error) {
	v := p.s.views[id]
	if v == nil || !v.Open || v.User != p.ID {
		return place{}, fmt.Errorf("%w: view %s", ErrGone, id)
	}
	if stack := p.s.stacks[p.ID]; v.Type == "modal" && stack[len(stack)-1] != v {
		return place{}, fmt.Errorf("%w: view %s is under another", ErrGone, id)
	}
	return place{view: v}, nil
}

// control finds an element that this person sees.
func (p *Person) control(where place, name string, a action) (block, el object, err error) {
	controls(where.blocks(), func(b, e object) {
		if el != nil || a.block != "" && b["block_id"] != a.block {
			return
		}
		if ids, ok := e["visible_to_user_ids"].([]any); ok && !slices.Contains(ids, any(p.ID)) {
			return
		}
		text, _ := e["text"].(object)
		if e["action_id"] == name && !a.label || a.label && text["text"] == name {
			block, el = b, e
		}
	})
	if el == nil {
		return nil, nil, fmt.Errorf("%w: no control %q in %s", ErrGone, name, where.id())
	}
	return block, el, nil
}

// Click presses a button of a message, by its action id. It returns when the
// app has acknowledged, and passes through a confirmation dialog.
func (p *Person) Click(ctx context.Context, channel, ts, actionID string, opts ...Option) (Ack, error) {
	return p.act(ctx, func(a action) (place, error) { return p.message(channel, ts, a) }, actionID, nil, opts)
}

// ClickView presses a button in a modal or in the Home tab.
func (p *Person) ClickView(ctx context.Context, viewID, actionID string, opts ...Option) (Ack, error) {
	return p.act(ctx, func(action) (place, error) { return p.viewPlace(viewID) }, actionID, nil, opts)
}

// Select chooses a value of an element in a message: an option's value, or what
// [Person.SubmitView] takes. Elements of an input block only keep it, unless the
// block has dispatch_action; others are sent at once.
func (p *Person) Select(ctx context.Context, channel, ts, actionID string, value any, opts ...Option) (Ack, error) {
	return p.act(ctx, func(a action) (place, error) { return p.message(channel, ts, a) }, actionID, &value, opts)
}

// SelectView chooses a value of an element in a modal or in the Home tab.
func (p *Person) SelectView(ctx context.Context, viewID, actionID string, value any, opts ...Option) (Ack, error) {
	return p.act(ctx, func(action) (place, error) { return p.viewPlace(viewID) }, actionID, &value, opts)
}

// act does one thing with one control.
func (p *Person) act(ctx context.Context, find func(action) (place, error), name string, value *any, opts []Option) (Ack, error) {
	a := options(opts)
	s := p.s
	var o *outgoing
	var to *app
	err := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		where, err := find(a)
		if err != nil {
			return err
		}
		block, el, err := p.control(where, name, a)
		if err != nil {
			return err
		}
		did, dispatch, err := p.use(where, block, el, value)
		if err != nil || !dispatch {
			return err
		}
		to = s.appOf(where)
		if to == nil {
			return fmt.Errorf("%w: %s is no app's", ErrGone, where.id())
		}
		if to.NoInteractivity {
			return fmt.Errorf("%w: this app has not been configured for this feature", ErrNotAllowed)
		}
		o = s.newOutgoing("interactive", "block_actions", "", s.blockActions(to, p.ID, where, did), where.view != nil)
		return nil
	}()
	if err != nil || o == nil {
		return Ack{}, err
	}
	return p.send(ctx, to, o)
}

// use makes the "actions" entry of an interaction and keeps what was entered.
func (p *Person) use(where place, block, el object, value *any) (did object, dispatch bool, err error) {
	kind, _ := el["type"].(string)
	did = object{"type": kind, "action_id": el["action_id"], "block_id": block["block_id"], "action_ts": p.s.newTS()}
	switch {
	case kind == "overflow" && value != nil:
		opt, err := findOption(el, fmt.Sprint(*value))
		did["selected_option"] = opt
		return did, true, err
	case valueKey(kind) == "":
		if value != nil {
			return nil, false, fmt.Errorf("fakeslack: a %s takes no value", kind)
		}
		for _, k := range []string{"text", "value", "style", "confirm"} {
			if el[k] != nil {
				did[k] = cloneJSON(el[k])
			}
		}
		return did, true, nil
	case value == nil:
		return nil, false, fmt.Errorf("fakeslack: a %s needs a value", kind)
	}
	v, err := enter(el, *value)
	if err != nil {
		return nil, false, err
	}
	p.s.setState(p.ID, where.id(), block, el, v)
	did[valueKey(kind)] = cloneJSON(v[valueKey(kind)])
	return did, block["type"] != "input" || block["dispatch_action"] == true, nil
}

func (s *Server) appOf(where place) *app {
	if where.view != nil {
		return s.appByID(where.view.App)
	}
	return s.appByBot(where.msg.BotID)
}

// send delivers an interaction or a command and waits for the acknowledgement.
func (p *Person) send(ctx context.Context, a *app, o *outgoing) (Ack, error) {
	reply, err := p.s.attempt(ctx, a, o, 0, "")
	var no *errNoAck
	if errors.As(err, &no) {
		p.s.notice(p.ID, "This app did not respond ("+no.reason+").")
		return Ack{}, fmt.Errorf("%w: %s", ErrNoAck, no.reason)
	}
	return Ack{Payload: reply}, err
}

// userJSON is the user of an interaction.
func (s *Server) userJSON(id string) object {
	u := s.users[id]
	return object{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": u.TeamID}
}

// common are the fields of every interaction; team is null in an org-wide
// install (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
func (s *Server) common(a *app, typ, user string) object {
	o := object{
		"type": typ, "user": s.userJSON(user), "api_app_id": a.ID, "token": a.VerificationToken,
		"team": object{"id": s.team.ID, "domain": s.team.Domain}, "enterprise": nil, "is_enterprise_install": false,
	}
	if e := s.opts.Enterprise; e.ID != "" {
		o["team"], o["enterprise"], o["is_enterprise_install"] = nil, object{"id": e.ID, "name": e.Name}, true
	}
	return o
}

// blockActions is the payload of a click. A view's has no channel, message or
// response_url; an ephemeral message is not included.
func (s *Server) blockActions(a *app, user string, where place, did object) object {
	o := s.common(a, "block_actions", user)
	o["actions"] = []object{did}
	if v := where.view; v != nil {
		o["container"] = object{"type": "view", "view_id": v.ID}
		o["view"] = v.json(s)
		modal := ""
		if v.Type == "modal" {
			modal = v.ID
		}
		o["trigger_id"] = s.newTrigger(a, user, modal)
		return o
	}
	m := where.msg
	container := object{"type": "message", "message_ts": m.TS, "channel_id": m.Channel, "is_ephemeral": m.EphemeralTo != ""}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	o["container"], o["trigger_id"] = container, s.newTrigger(a, user, "")
	o["channel"] = object{"id": m.Channel, "name": s.channelName(m.Channel)}
	if m.EphemeralTo == "" {
		o["message"] = m.json(s)
	}
	o["state"] = object{"values": s.stateValues(user, where.id(), m.Blocks)}
	o["response_url"] = s.newHook("actions", a, user, m.Channel, m.TS)
	return o
}

// channelName is what interactions and commands call a channel.
func (s *Server) channelName(id string) string {
	switch ch := s.channels[id]; {
	case ch == nil:
		return ""
	case ch.dm:
		return "directmessage"
	case ch.Private:
		return "privategroup"
	default:
		return ch.Name
	}
}

// Sight is one thing that a person got to see.
type Sight struct {
	At      time.Time
	Kind    string // "message", "update", "delete"; "open", "push", "view", "home"; "notice"
	Message Message
	View    View
	Text    string // of a notice of Slack's own
}
