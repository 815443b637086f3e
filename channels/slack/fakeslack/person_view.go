package fakeslack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Submission is what became of a form.
type Submission struct {
	// Errors are the app's objections, by block id; the form stays open.
	Errors map[string]string
	// View is the modal on top afterwards, if one is open.
	View *View
}

// Incomplete is that Slack's client did not send a form, by block id.
type Incomplete map[string]string

func (e Incomplete) Error() string {
	var b strings.Builder
	b.WriteString("fakeslack: the form is not complete")
	for _, id := range slices.Sorted(maps.Keys(e)) {
		fmt.Fprintf(&b, "; %s: %s", id, e[id])
	}
	return b.String()
}

// SubmitView fills in a modal and presses its submit button. Values are by block
// id, or "block/action": a string, a list of strings for what takes many, a
// time.Time or seconds for a date with time. What is left out keeps what was
// entered before. A form that Slack's client would not send is an [Incomplete].
func (p *Person) SubmitView(ctx context.Context, viewID string, values map[string]any) (Submission, error) {
	s := p.s
	var o *outgoing
	var to *app
	var v *View
	err := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		where, err := p.viewPlace(viewID)
		if err != nil {
			return err
		}
		v = where.view
		if v.Type != "modal" || v.Submit == "" {
			return fmt.Errorf("%w: view %s has no submit button", ErrGone, viewID)
		}
		if err := p.fillIn(where, values); err != nil {
			return err
		}
		if bad := p.incomplete(v); len(bad) > 0 {
			return bad
		}
		to = s.appByID(v.App)
		payload := s.common(to, "view_submission", p.ID)
		payload["trigger_id"] = s.newTrigger(to, p.ID, v.ID)
		payload["view"], payload["response_urls"] = v.json(s), []any{}
		o = s.newOutgoing("interactive", "view_submission", "", payload, true)
		return nil
	}()
	if err != nil {
		return Submission{}, err
	}
	ack, err := p.send(ctx, to, o)
	if err != nil {
		return Submission{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	errs, err := s.submitted(to, v, ack.Payload)
	s.touch()
	return Submission{Errors: errs, View: s.top(p.ID)}, err
}

// fillIn enters values into a view's inputs.
func (p *Person) fillIn(where place, values map[string]any) error {
	used := map[string]bool{}
	var err error
	controls(where.blocks(), func(b, el object) {
		bid, _ := b["block_id"].(string)
		aid, _ := el["action_id"].(string)
		for _, key := range []string{bid, bid + "/" + aid} {
			in, ok := values[key]
			if !ok || err != nil {
				continue
			}
			used[key] = true
			var v object
			if v, err = enter(el, in); err == nil {
				p.s.setState(p.ID, where.id(), b, el, v)
			}
		}
	})
	for key := range values {
		if !used[key] && err == nil {
			err = fmt.Errorf("%w: no input %q in %s", ErrGone, key, where.id())
		}
	}
	return err
}

// incomplete is what Slack's client objects to in a form.
func (p *Person) incomplete(v *View) Incomplete {
	state := p.s.stateValues(p.ID, v.ID, v.Blocks)
	bad := Incomplete{}
	controls(v.Blocks, func(b, el object) {
		if b["type"] != "input" {
			return
		}
		bid, _ := b["block_id"].(string)
		aid, _ := el["action_id"].(string)
		values, _ := state[bid].(object)
		val, _ := values[aid].(object)
		if msg := objection(b, el, val); msg != "" {
			bad[bid] = msg
		}
	})
	return bad
}

// top is the modal on top of a user's stack; s.mu is held.
func (s *Server) top(user string) *View {
	stack := s.stacks[user]
	if len(stack) == 0 {
		return nil
	}
	v := stack[len(stack)-1].clone()
	return &v
}

// submitted does what the acknowledgement of a form says: nothing closes the
// view; errors, update, push and clear are as documented
// (https://docs.slack.dev/surfaces/modals#updating_views). s.mu is held.
func (s *Server) submitted(a *app, v *View, payload json.RawMessage) (map[string]string, error) {
	var reply struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
		View   json.RawMessage   `json:"view"`
	}
	if len(payload) > 0 && string(payload) != "null" {
		if err := json.Unmarshal(payload, &reply); err != nil {
			return nil, s.trouble(v, "the acknowledgement of a form is not an object")
		}
	}
	switch reply.Action {
	case "":
		s.closeTop(v)
	case "clear":
		s.closeAll(v.User)
	case "errors":
		return s.formErrors(v, reply.Errors)
	case "update", "push":
		m, err := decodeObject(reply.View)
		if err != nil {
			return nil, s.trouble(v, "response_action %s without a view", reply.Action)
		}
		if problems := validateView(m, len(reply.View)); len(problems) > 0 {
			return nil, s.trouble(v, "response_action %s: %s", reply.Action, problems[0])
		}
		if reply.Action == "push" {
			if _, err := s.push(a, v.User, m); err != nil {
				return nil, s.trouble(v, "response_action push: %v", err)
			}
			return nil, nil
		}
		v.fill(m)
		s.seeView(v, "view")
	default:
		return nil, s.trouble(v, "unknown response_action %q", reply.Action)
	}
	return nil, nil
}

func (s *Server) formErrors(v *View, errs map[string]string) (map[string]string, error) {
	if len(errs) == 0 {
		return nil, s.trouble(v, "response_action errors without errors")
	}
	for id := range errs {
		ok := slices.ContainsFunc(v.Blocks, func(b object) bool { return b["block_id"] == id && b["type"] == "input" })
		if !ok {
			return nil, s.trouble(v, "response_action errors names %q, which is no input block of the view", id)
		}
	}
	s.sight(v.User, Sight{Kind: "view", View: v.clone(), Text: fmt.Sprint(errs)})
	return errs, nil
}

// trouble is what a person sees when an acknowledgement makes no sense.
func (s *Server) trouble(v *View, format string, args ...any) error {
	s.problem(format, args...)
	s.sight(v.User, Sight{Kind: "notice", Text: "We had some trouble connecting. Try again?"})
	return fmt.Errorf("%w: "+format, append([]any{ErrNoAck}, args...)...)
}

// closeTop takes a view off its stack. s.mu is held.
func (s *Server) closeTop(v *View) {
	v.Open = false
	stack := slices.DeleteFunc(slices.Clone(s.stacks[v.User]), func(x *View) bool { return x == v })
	s.stacks[v.User] = stack
	delete(s.states, v.User+" "+v.ID)
}

func (s *Server) closeAll(user string) {
	for _, v := range s.stacks[user] {
		v.Open = false
	}
	delete(s.stacks, user)
}

// CloseView presses the close button of the modal on top; what is under it
// shows again. The app is told if it asked for that.
func (p *Person) CloseView(ctx context.Context, viewID string) error {
	return p.close(ctx, viewID, false)
}

// CloseAll presses the X of a modal: the whole stack goes, and the app is told
// with is_cleared.
func (p *Person) CloseAll(ctx context.Context, viewID string) error {
	return p.close(ctx, viewID, true)
}

func (p *Person) close(ctx context.Context, viewID string, all bool) error {
	s := p.s
	var o *outgoing
	var to *app
	err := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		where, err := p.viewPlace(viewID)
		if err != nil {
			return err
		}
		v := where.view
		if v.Type != "modal" {
			return fmt.Errorf("%w: view %s is no modal", ErrGone, viewID)
		}
		told := v
		if all {
			told = s.stacks[p.ID][0]
		}
		to = s.appByID(v.App)
		payload := s.common(to, "view_closed", p.ID)
		payload["view"], payload["is_cleared"] = told.json(s), all
		payload["view"].(object)["state"] = object{"values": object{}} // it carries no input values
		if all {
			s.closeAll(p.ID)
		} else {
			s.closeTop(v)
		}
		if told.NotifyOnClose {
			o = s.newOutgoing("interactive", "view_closed", "", payload, false)
		}
		s.touch()
		return nil
	}()
	if err != nil || o == nil {
		return err
	}
	_, err = p.send(ctx, to, o)
	return err
}

// command are the fields of a slash command
// (https://docs.slack.dev/interactivity/implementing-slash-commands).
func (s *Server) command(a *app, user string, ch *channel, command, text string) object {
	return object{
		"token": a.VerificationToken, "team_id": s.team.ID, "team_domain": s.team.Domain, "channel_id": ch.ID,
		"channel_name": s.channelName(ch.ID), "user_id": user, "user_name": s.users[user].Name, "command": command,
		"text": typed(text), "api_app_id": a.ID, "is_enterprise_install": fmt.Sprint(s.opts.Enterprise.ID != ""),
		"response_url": s.newHook("commands", a, user, ch.ID, ""), "trigger_id": s.newTrigger(a, user, ""),
	}
}

func asForm(fields object) url.Values {
	form := url.Values{}
	for k, v := range fields {
		form.Set(k, fmt.Sprint(v))
	}
	return form
}

// showReply shows what a command was acknowledged with: text or a message, to
// the person alone unless it says in_channel. Over a socket only objects count
// (github.com/slackapi/node-slack-sdk/issues/1455).
func (s *Server) showReply(a *app, user string, ch *channel, ack Ack) {
	if len(ack.Payload) == 0 || string(ack.Payload) == "null" {
		return
	}
	m, err := decodeObject(ack.Payload)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if a.RequestURL == "" {
			s.problem("the acknowledgement of a command over a socket is not an object")
			return
		}
		m = object{"text": string(ack.Payload)}
	}
	if problems := validateMessage(m, false); len(problems) > 0 {
		s.problem("the acknowledgement of a command: %s", problems[0])
		return
	}
	if !empty(m) {
		if e := s.respond(&hook{app: a, user: user, channel: ch.ID}, m); e != nil {
			s.problem("the acknowledgement of a command: %v", e)
		}
	}
}

// keptSights bounds what is remembered for each person.
const keptSights = 5000

// sight notes that somebody saw something; s.mu is held.
func (s *Server) sight(user string, x Sight) {
	x.At = s.clock.now()
	s.news[user]++
	list := append(s.sights[user], x)
	if len(list) > keptSights {
		list = slices.Clone(list[len(list)-keptSights/2:])
	}
	s.sights[user] = list
}

// see notes a message for everybody who sees it. s.mu is held.
func (s *Server) see(ch *channel, m *Message, kind string) {
	copied := m.clone()
	for _, id := range ch.Members {
		if u := s.users[id]; u == nil || u.Bot || m.EphemeralTo != "" && m.EphemeralTo != id {
			continue
		}
		s.sight(id, Sight{Kind: kind, Message: copied})
	}
}

func (s *Server) seeView(v *View, kind string) { s.sight(v.User, Sight{Kind: kind, View: v.clone()}) }

// notice is a word of Slack's own to one person.
func (s *Server) notice(user, text string) {
	s.locked(func() { s.sight(user, Sight{Kind: "notice", Text: text}); s.touch() })
}

// Seen lists all that the person got to see, oldest first.
func (p *Person) Seen() []Sight {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return slices.Clone(p.s.sights[p.ID])
}

// WaitSight waits until the person has seen something that want accepts.
func (p *Person) WaitSight(ctx context.Context, want func(Sight) bool) (Sight, error) {
	var got Sight
	err := p.s.wait(ctx, func() bool {
		i := slices.IndexFunc(p.s.sights[p.ID], want)
		if i >= 0 {
			got = p.s.sights[p.ID][i]
		}
		return i >= 0
	})
	return got, err
}

// Messages lists what the person sees in a channel, oldest first, threads and
// what is only for them included.
func (p *Person) Messages(channel string) []Message {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	var out []Message
	if ch := p.s.channels[p.s.channelID(channel)]; ch != nil {
		for _, m := range ch.messages {
			if p.sees(ch, m) {
				out = append(out, m.clone())
			}
		}
	}
	return out
}

// WaitMessage waits until the person sees a message that want accepts, in any
// channel of theirs.
func (p *Person) WaitMessage(ctx context.Context, want func(Message) bool) (Message, error) {
	return p.s.WaitMessage(ctx, func(m Message) bool {
		ch := p.s.channels[m.Channel]
		return p.sees(ch, &m) && want(m)
	})
}

// DM is the id of the direct messages with the first app, "" if there are none.
func (p *Person) DM() string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if ch := p.s.dm(p.ID, p.s.apps[0].BotUser, false); ch != nil {
		return ch.ID
	}
	return ""
}

// Modal is the modal on top of the person's screen, nil if there is none.
func (p *Person) Modal() *View {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.top(p.ID)
}

// WaitModal waits until a modal that want accepts is on top.
func (p *Person) WaitModal(ctx context.Context, want func(View) bool) (View, error) {
	var got View
	err := p.s.wait(ctx, func() bool {
		if v := p.s.top(p.ID); v != nil && want(*v) {
			got = *v
			return true
		}
		return false
	})
	return got, err
}

// Home is the person's Home tab of the first app, and whether one is published.
func (p *Person) Home() (View, bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	v := p.s.homes[p.ID+" "+p.s.apps[0].ID]
	if v == nil {
		return View{}, false
	}
	return v.clone(), true
}
