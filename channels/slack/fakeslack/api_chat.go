package fakeslack

import (
	"slices"
	"unicode/utf8"
)

// content reads and checks text, blocks, attachments and metadata of a call.
// given says which of them were there.
func (c *call) content(update bool) (body object, err error) {
	body = object{}
	for _, name := range []string{"text", "markdown_text"} {
		if c.has(name) {
			body[name] = c.str(name)
		}
	}
	for name, code := range map[string]string{
		"blocks": "invalid_blocks_format", "attachments": "invalid_attachments", "metadata": "invalid_metadata_format",
	} {
		v, err := c.value(name)
		if err != nil {
			return nil, fail(code)
		}
		if v != nil {
			body[name] = v
		}
	}
	if md, ok := body["metadata"].(object); ok && len(md) == 0 && update {
		body["metadata"] = nil // {} removes it
	}
	if problems := validateMessage(body, update); len(problems) > 0 {
		return nil, failWith(problems)
	}
	return body, nil
}

// apply puts content into a message.
func (m *Message) apply(body object) {
	if t, ok := body["text"].(string); ok {
		m.Text = t
		if utf8.RuneCountInString(t) > truncateText {
			m.Text = string([]rune(t)[:truncateText])
		}
	}
	if t, ok := body["markdown_text"].(string); ok {
		m.Text = t
		m.Blocks = normalBlocks([]any{object{"type": "markdown", "text": t}})
	}
	if b, ok := body["blocks"].([]any); ok {
		m.Blocks = normalBlocks(b)
		if m.Text == "" {
			m.Text = fallbackText(m.Blocks)
		}
	}
	if a, ok := body["attachments"].([]any); ok {
		m.Attachments = copyJSON(a).([]any)
	}
	if md, ok := body["metadata"]; ok {
		m.Metadata, _ = copyJSON(md).(object)
	}
}

// fallbackText is what Slack makes of blocks for notifications when a message
// has no text. Its exact form is not documented: this is the text of the
// blocks, in order.
func fallbackText(blocks []object) string {
	out := ""
	for _, b := range blocks {
		if t, ok := b["text"].(object); ok {
			if s, ok := t["text"].(string); ok {
				if out != "" {
					out += " "
				}
				out += s
			}
		}
	}
	return out
}

// postable finds the channel to post to, opening direct messages as
// chat.postMessage does.
func (s *Server) postable(c *call) (*channel, error) {
	arg := c.str("channel")
	if arg == "" {
		return nil, fail("channel_not_found")
	}
	if u := s.users[arg]; u != nil {
		if u.Deleted || u.Bot || !s.sharesWorkspace(c.app, u) {
			return nil, fail("channel_not_found")
		}
		if c.app.NoMessagesTab {
			return nil, fail("messages_tab_disabled")
		}
		return s.dm(u.ID, c.app.BotUser, true), nil
	}
	ch := s.channels[s.channelID(arg)]
	if ch == nil || !s.visible(c.app, ch) {
		return nil, fail("channel_not_found")
	}
	if ch.Archived {
		return nil, fail("is_archived")
	}
	if ch.dm && c.app.NoMessagesTab {
		return nil, fail("messages_tab_disabled")
	}
	if !ch.has(c.app.BotUser) && !slices.Contains(c.app.Scopes, "chat:write.public") {
		return nil, fail("not_in_channel")
	}
	return ch, nil
}

// visible says whether an app knows that a channel exists: private ones only
// from within.
func (s *Server) visible(a *app, ch *channel) bool {
	return ch.has(a.BotUser) || !ch.Private && !ch.dm
}

// sharesWorkspace says whether an app may write to a user: a member of the
// workspace, or a stranger that it shares a channel with.
func (s *Server) sharesWorkspace(a *app, u *User) bool {
	if u.TeamID == s.team.ID {
		return true
	}
	for _, ch := range s.channels {
		if ch.has(u.ID) && ch.has(a.BotUser) {
			return true
		}
	}
	return false
}

// chatPostMessage: https://docs.slack.dev/reference/methods/chat.postMessage.
func (s *Server) chatPostMessage(c *call) (object, error) {
	ch, err := s.postable(c)
	if err != nil {
		return nil, err
	}
	body, err := c.content(false)
	if err != nil {
		return nil, err
	}
	if empty(body) {
		return nil, fail("no_text")
	}
	key := c.app.ID + " " + ch.ID + " " + c.str("client_msg_id")
	if s.deduping && c.has("client_msg_id") {
		if ts, ok := s.dedupe[key]; ok {
			m := s.message(ch.ID, ts)
			if m == nil {
				return nil, fail("duplicate_message_not_found")
			}
			return s.posted(ch, m), nil
		}
	}
	m := s.newBotMessage(c, ch)
	m.apply(body)
	if err := s.thread(c, ch, m); err != nil {
		return nil, err
	}
	m.ClientMsgID = c.str("client_msg_id")
	m.Broadcast = c.yes("reply_broadcast") && m.IsReply()
	if m.Broadcast {
		m.Subtype = "thread_broadcast"
	}
	s.store(ch, m)
	if c.has("client_msg_id") {
		s.dedupe[key] = m.TS
	}
	return s.posted(ch, m), nil
}

// empty says whether there is nothing to show.
func empty(body object) bool {
	text, _ := body["text"].(string)
	md, _ := body["markdown_text"].(string)
	blocks, _ := body["blocks"].([]any)
	att, _ := body["attachments"].([]any)
	return text == "" && md == "" && len(blocks) == 0 && len(att) == 0
}

func (s *Server) newBotMessage(c *call, ch *channel) *Message {
	return &Message{
		Channel: ch.ID, TS: s.newTS(), User: c.app.BotUser, BotID: c.app.BotID, AppID: c.app.ID, TeamID: s.team.ID,
		NoUnfurl: c.no("unfurl_links") && c.no("unfurl_media"), SentAt: s.clock.now(),
	}
}

// thread puts a message into a thread. A parent that is gone leaves it outside,
// as Slack does without a word; a reply is no parent.
func (s *Server) thread(c *call, ch *channel, m *Message) error {
	ts := c.str("thread_ts")
	if ts == "" {
		return nil
	}
	parent := s.message(ch.ID, ts)
	switch {
	case parent == nil || parent.EphemeralTo != "":
		return nil
	case parent.IsReply():
		return fail("cannot_reply_to_message")
	}
	m.ThreadTS, parent.ThreadTS = ts, ts
	return nil
}

// store adds a message and tells everybody: apps by events, people by sight.
func (s *Server) store(ch *channel, m *Message) {
	ch.messages = append(ch.messages, m)
	s.see(ch, m, "message")
	if m.EphemeralTo == "" {
		ev := m.json(s)
		s.emitMessage(ch, ev, m.Text)
	}
	s.touch()
}

// posted is the answer to a post or an update.
func (s *Server) posted(ch *channel, m *Message) object {
	msg := m.json(s)
	if m.Metadata != nil {
		msg["metadata"] = cloneJSON(m.Metadata)
	}
	return object{"channel": ch.ID, "ts": m.TS, "message": msg}
}

// chatPostEphemeral: https://docs.slack.dev/reference/methods/chat.postEphemeral.
func (s *Server) chatPostEphemeral(c *call) (object, error) {
	ch, err := s.postable(c)
	if err != nil {
		return nil, err
	}
	user := s.users[c.str("user")]
	if user == nil || !ch.has(user.ID) {
		return nil, fail("user_not_in_channel")
	}
	body, err := c.content(false)
	if err != nil {
		return nil, err
	}
	if empty(body) {
		return nil, fail("no_text")
	}
	m := s.newBotMessage(c, ch)
	m.EphemeralTo = user.ID
	m.apply(body)
	if err := s.thread(c, ch, m); err != nil {
		return nil, err
	}
	s.store(ch, m)
	return object{"message_ts": m.TS}, nil
}

// chatUpdate: https://docs.slack.dev/reference/methods/chat.update. Text without
// blocks removes the blocks; neither keeps both.
func (s *Server) chatUpdate(c *call) (object, error) {
	ch := s.channels[c.str("channel")] // an id: a user id won't do here
	if ch == nil || !s.visible(c.app, ch) {
		return nil, fail("channel_not_found")
	}
	if ch.Archived {
		return nil, fail("is_inactive")
	}
	m := s.message(ch.ID, c.str("ts"))
	if m == nil || m.EphemeralTo != "" {
		return nil, fail("message_not_found")
	}
	if m.BotID != c.app.BotID {
		return nil, fail("cant_update_message")
	}
	body, err := c.content(true)
	if err != nil {
		return nil, err
	}
	_, hasBlocks := body["blocks"]
	_, hasMeta := body["metadata"]
	_, hasAtt := body["attachments"]
	if !hasBlocks && !hasMeta && !hasAtt && body["text"] == nil && body["markdown_text"] == nil {
		return nil, fail("no_text")
	}
	before := m.json(s)
	if body["text"] != nil && !hasBlocks {
		m.Blocks = nil
	}
	m.apply(body)
	if len(m.Blocks) == 0 {
		m.Blocks = nil
	}
	if hasBlocks && len(m.Blocks) > 0 {
		m.EditedTS = "" // with blocks there is no "(edited)"
	} else {
		m.EditedTS = s.newTS()
	}
	m.Revision++
	s.see(ch, m, "update")
	s.emitChanged(ch, m, before)
	reply := s.posted(ch, m)
	reply["text"] = m.Text
	return reply, nil
}

// chatDelete: https://docs.slack.dev/reference/methods/chat.delete.
func (s *Server) chatDelete(c *call) (object, error) {
	ch, m, err := s.findMessage(c, "ts")
	if err != nil {
		return nil, err
	}
	if m.BotID != c.app.BotID {
		return nil, fail("cant_delete_message")
	}
	s.remove(ch, m)
	return object{"channel": ch.ID, "ts": m.TS}, nil
}

// remove deletes a message and says so; s.mu is held.
func (s *Server) remove(ch *channel, m *Message) {
	before := m.json(s)
	m.Deleted = true
	m.Revision++
	s.see(ch, m, "delete")
	ts := s.newTS()
	s.emitMessage(ch, object{
		"type": "message", "subtype": "message_deleted", "hidden": true, "deleted_ts": m.TS,
		"previous_message": before, "ts": ts,
	}, "")
	s.touch()
}

// chatGetPermalink: https://docs.slack.dev/reference/methods/chat.getPermalink.
func (s *Server) chatGetPermalink(c *call) (object, error) {
	ch, m, err := s.findMessage(c, "message_ts")
	if err != nil {
		return nil, err
	}
	return object{"channel": ch.ID, "permalink": s.permalink(m)}, nil
}
