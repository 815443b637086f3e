package fakeslack

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

func (s *Server) apiTest(c *call) (object, error) {
	if e := c.str("error"); e != "" {
		return nil, fail(e)
	}
	return object{}, nil
}

func (s *Server) authTest(c *call) (object, error) {
	o := object{
		"url": s.workspaceURL(), "team": s.team.Name, "team_id": s.team.ID, "user": c.app.Name,
		"user_id": c.app.BotUser, "bot_id": c.app.BotID, "is_enterprise_install": s.opts.Enterprise.ID != "",
	}
	if id := s.opts.Enterprise.ID; id != "" {
		o["enterprise_id"] = id
	}
	return o, nil
}

func (s *Server) teamInfo(*call) (object, error) {
	return object{"team": object{"id": s.team.ID, "name": s.team.Name, "domain": s.team.Domain, "url": s.workspaceURL()}}, nil
}

func (s *Server) botsInfo(c *call) (object, error) {
	a := s.appByBot(c.str("bot"))
	if a == nil {
		return nil, fail("bot_not_found")
	}
	return object{"bot": a.botProfile(s)}, nil
}

// blocksValidate: https://docs.slack.dev/reference/methods/blocks.validate.
func (s *Server) blocksValidate(c *call) (object, error) {
	blocks, err := c.value("blocks")
	if err != nil || blocks == nil {
		return nil, fail("invalid_blocks_format")
	}
	raw, _ := json.Marshal(blocks)
	if problems := ValidateBlocks(raw, OnMessage); len(problems) > 0 {
		return nil, failWith(problems)
	}
	return object{}, nil
}

// appsConnectionsOpen gives a socket address that works once.
func (s *Server) appsConnectionsOpen(c *call) (object, error) {
	if c.app.RequestURL != "" {
		return nil, fail("socket_mode_not_enabled")
	}
	ticket := newUUID()
	c.app.tickets[ticket] = true
	q := url.Values{"ticket": {ticket}, "app_id": {c.app.ID}}
	return object{"url": "ws" + strings.TrimPrefix(s.URL(), "http") + "/link/?" + q.Encode()}, nil
}

// findMessage resolves channel and timestamp arguments.
func (s *Server) findMessage(c *call, tsArg string) (*channel, *Message, error) {
	ch := s.channels[s.resolveChannel(c.app, c.str("channel"))]
	if ch == nil || !s.visible(c.app, ch) {
		return nil, nil, fail("channel_not_found")
	}
	m := s.message(ch.ID, c.str(tsArg))
	if m == nil || m.EphemeralTo != "" {
		return ch, nil, fail("message_not_found")
	}
	return ch, m, nil
}

func (s *Server) reactionsAdd(c *call) (object, error) {
	ch, m, err := s.findMessage(c, "timestamp")
	if err != nil {
		return nil, err
	}
	name := c.str("name")
	if name == "" || strings.ContainsAny(name, ": ") {
		return nil, fail("invalid_name")
	}
	if slices.Contains(m.Reactions[name], c.app.BotUser) {
		return nil, fail("already_reacted")
	}
	s.react(ch, m, c.app.BotUser, name)
	return object{}, nil
}

func (s *Server) reactionsRemove(c *call) (object, error) {
	_, m, err := s.findMessage(c, "timestamp")
	if err != nil {
		return nil, err
	}
	name := c.str("name")
	if !slices.Contains(m.Reactions[name], c.app.BotUser) {
		return nil, fail("no_reaction")
	}
	m.Reactions[name] = slices.DeleteFunc(slices.Clone(m.Reactions[name]), func(u string) bool { return u == c.app.BotUser })
	if len(m.Reactions[name]) == 0 {
		delete(m.Reactions, name)
	}
	m.Revision++
	return object{}, nil
}

// react adds a reaction and tells the apps; s.mu is held.
func (s *Server) react(ch *channel, m *Message, user, name string) {
	if m.Reactions == nil {
		m.Reactions = map[string][]string{}
	}
	m.Reactions[name] = append(slices.Clone(m.Reactions[name]), user)
	m.Revision++
	s.emit(ch, "reaction_added", object{
		"type": "reaction_added", "user": user, "reaction": name, "item_user": m.User,
		"item": object{"type": "message", "channel": ch.ID, "ts": m.TS}, "event_ts": s.newTS(),
	})
}
