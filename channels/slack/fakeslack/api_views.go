package fakeslack

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// trigger is a trigger_id: good once, for three seconds.
type trigger struct {
	app   *app
	user  string
	modal string // the modal whose interaction it comes from
	made  time.Time
	used  bool
}

// newTrigger makes a trigger id; s.mu is held.
func (s *Server) newTrigger(a *app, user, modal string) string {
	now := s.clock.now()
	if len(s.triggers) > 1000 {
		maps.DeleteFunc(s.triggers, func(_ string, t *trigger) bool { return now.Sub(t.made) > time.Hour })
	}
	id := itoa(int(now.UnixMilli())) + "." + itoa(int(now.UnixNano()%1e10)) + "." + randomHex(16)
	s.triggers[id] = &trigger{app: a, user: user, modal: modal, made: now}
	return id
}

// useTrigger spends the trigger_id of a call.
func (s *Server) useTrigger(c *call) (*trigger, error) {
	t := s.triggers[c.str("trigger_id")]
	switch {
	case !c.has("trigger_id"):
		return nil, &apiError{code: "invalid_arguments", extra: object{"response_metadata": object{
			"messages": []string{"[ERROR] missing required field: trigger_id"},
		}}}
	case t == nil || t.app != c.app:
		return nil, fail("invalid_trigger_id")
	case t.used:
		return nil, fail("exchanged_trigger_id")
	case s.clock.now().Sub(t.made) > s.opts.TriggerTTL:
		return nil, fail("expired_trigger_id")
	}
	return t, nil
}

// view reads and checks the view of a call.
func (c *call) view() (object, error) {
	v, err := c.value("view")
	m, ok := v.(object)
	if err != nil || !ok {
		return nil, &apiError{code: "invalid_arguments", extra: object{"response_metadata": object{
			"messages": []string{"[ERROR] missing required field: view"},
		}}}
	}
	raw, _ := json.Marshal(m)
	if problems := validateView(m, len(raw)); len(problems) > 0 {
		return nil, failWith(problems)
	}
	return m, nil
}

// fill puts what the app sent into a view, with a new hash.
func (v *View) fill(m object) {
	str := func(name string) string { s, _ := m[name].(string); return s }
	text := func(name string) string {
		o, _ := m[name].(object)
		s, _ := o["text"].(string)
		return s
	}
	blocks, _ := m["blocks"].([]any)
	v.raw = copyJSON(m).(object)
	normalText(v.raw)
	v.Blocks = normalBlocks(blocks)
	v.Type, v.CallbackID, v.ExternalID, v.PrivateMetadata = str("type"), str("callback_id"), str("external_id"), str("private_metadata")
	v.Title, v.Submit, v.Close = text("title"), text("submit"), text("close")
	v.NotifyOnClose = m["notify_on_close"] == true
	v.ClearOnClose = m["clear_on_close"] == true
	v.Hash = itoa(int(time.Now().Unix())) + "." + randomHex(4)
	v.Revision++
}

// json is a view as Slack gives it, with the values a person has entered.
func (v *View) json(s *Server) object {
	title := v.raw["title"]
	if v.Type == "home" {
		title = object{"type": "plain_text", "text": "View Title", "emoji": true}
	}
	botID := ""
	if a := s.appByID(v.App); a != nil {
		botID = a.BotID
	}
	var previous any
	if v.PreviousID != "" {
		previous = v.PreviousID
	}
	blocks := make([]any, len(v.Blocks))
	for i, b := range v.Blocks {
		blocks[i] = copyJSON(b)
	}
	return object{
		"id": v.ID, "team_id": s.team.ID, "type": v.Type, "blocks": blocks, "private_metadata": v.PrivateMetadata,
		"callback_id": v.CallbackID, "state": object{"values": s.stateValues(v.User, v.ID, v.Blocks)}, "hash": v.Hash, "title": title,
		"clear_on_close": v.ClearOnClose, "notify_on_close": v.NotifyOnClose, "close": v.raw["close"], "submit": v.raw["submit"],
		"previous_view_id": previous, "root_view_id": v.RootID, "app_id": v.App, "external_id": v.ExternalID,
		"app_installed_team_id": s.team.ID, "bot_id": botID,
	}
}

// checkExternal holds external_id to one view at a time.
func (s *Server) checkExternal(m object, but *View) error {
	id, _ := m["external_id"].(string)
	for _, v := range s.views {
		if id != "" && v != but && v.Open && v.ExternalID == id {
			return fail("duplicate_external_id")
		}
	}
	return nil
}

func (s *Server) newView(a *app, user string, m object) *View {
	v := &View{ID: newID("V0"), User: user, App: a.ID, Open: true}
	v.RootID = v.ID
	v.fill(m)
	s.views[v.ID] = v
	return v
}

func viewArgs(m object) error {
	if m["type"] != "modal" {
		return failWith([]Problem{{Pointer: "/view/type", Message: "must be one of: modal", Error: "invalid_arguments"}})
	}
	return nil
}

// viewsOpen: https://docs.slack.dev/reference/methods/views.open.
func (s *Server) viewsOpen(c *call) (object, error) {
	t, err := s.useTrigger(c)
	if err != nil {
		return nil, err
	}
	m, err := c.view()
	if err == nil {
		err = viewArgs(m)
	}
	if err == nil {
		err = s.checkExternal(m, nil)
	}
	if err != nil {
		return nil, err
	}
	t.used = true
	for _, old := range s.stacks[t.user] {
		old.Open = false
	}
	v := s.newView(c.app, t.user, m)
	s.stacks[t.user] = []*View{v}
	s.seeView(v, "open")
	return object{"view": v.json(s)}, nil
}

// viewsPush: https://docs.slack.dev/reference/methods/views.push. The trigger
// comes from an interaction in the modal that it is pushed on.
func (s *Server) viewsPush(c *call) (object, error) {
	t, err := s.useTrigger(c)
	if err != nil {
		return nil, err
	}
	m, err := c.view()
	if err == nil {
		err = viewArgs(m)
	}
	if err == nil {
		err = s.checkExternal(m, nil)
	}
	if err != nil {
		return nil, err
	}
	if t.modal == "" || len(s.stacks[t.user]) == 0 {
		return nil, fail("not_found")
	}
	v, err := s.push(c.app, t.user, m)
	if err != nil {
		return nil, err
	}
	t.used = true
	return object{"view": v.json(s)}, nil
}

// push puts a view on a user's stack; s.mu is held.
func (s *Server) push(a *app, user string, m object) (*View, error) {
	stack := s.stacks[user]
	if len(stack) >= modalStack {
		return nil, fail("push_limit_reached")
	}
	v := s.newView(a, user, m)
	if len(stack) > 0 {
		v.RootID, v.PreviousID = stack[0].ID, stack[len(stack)-1].ID
	}
	s.stacks[user] = append(slices.Clone(stack), v)
	s.seeView(v, "push")
	return v, nil
}

// viewsUpdate: https://docs.slack.dev/reference/methods/views.update.
func (s *Server) viewsUpdate(c *call) (object, error) {
	var v *View
	if id := c.str("view_id"); id != "" {
		v = s.views[id]
	} else if ext := c.str("external_id"); ext != "" {
		for _, x := range s.views {
			if x.Open && x.ExternalID == ext {
				v = x
			}
		}
	}
	if v == nil || !v.Open || v.App != c.app.ID {
		return nil, fail("not_found")
	}
	if h := c.str("hash"); h != "" && h != v.Hash {
		return nil, fail("hash_conflict")
	}
	m, err := c.view()
	if err != nil {
		return nil, err
	}
	if m["type"] != v.Type {
		return nil, failWith([]Problem{{Pointer: "/view/type", Message: "must be one of: " + v.Type, Error: "invalid_arguments"}})
	}
	if err := s.checkExternal(m, v); err != nil {
		return nil, err
	}
	v.fill(m)
	s.seeView(v, "update")
	return object{"view": v.json(s)}, nil
}

// viewsPublish: https://docs.slack.dev/reference/methods/views.publish.
func (s *Server) viewsPublish(c *call) (object, error) {
	user := s.users[c.str("user_id")]
	if user == nil {
		return nil, fail("invalid_arguments")
	}
	if c.app.NoHome {
		return nil, fail("not_enabled")
	}
	m, err := c.view()
	if err != nil {
		return nil, err
	}
	if m["type"] != "home" {
		return nil, failWith([]Problem{{Pointer: "/view/type", Message: "must be one of: home", Error: "invalid_arguments"}})
	}
	key := user.ID + " " + c.app.ID
	v := s.homes[key]
	if h := c.str("hash"); h != "" && (v == nil || h != v.Hash) {
		return nil, fail("hash_conflict")
	}
	if err := s.checkExternal(m, v); err != nil {
		return nil, err
	}
	if v == nil {
		v = s.newView(c.app, user.ID, m)
		s.homes[key] = v
	} else {
		v.fill(m)
	}
	s.seeView(v, "home")
	return object{"view": v.json(s)}, nil
}
