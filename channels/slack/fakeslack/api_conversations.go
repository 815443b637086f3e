package fakeslack

import (
	"encoding/base64"
	"slices"
	"strings"
)

// json is a conversation as Slack's API gives it to an app.
func (ch *channel) json(s *Server, a *app) object {
	o := object{
		"id": ch.ID, "created": ch.created, "is_archived": ch.Archived, "is_im": ch.dm, "is_mpim": false,
		"is_org_shared": false, "context_team_id": s.team.ID, "updated": ch.created * 1000,
	}
	if ch.dm {
		for _, m := range ch.Members {
			if m != a.BotUser {
				o["user"] = m
			}
		}
		return o
	}
	for k, v := range map[string]any{
		"name": ch.Name, "name_normalized": ch.Name, "is_channel": !ch.Private, "is_group": ch.Private, "is_private": ch.Private,
		"is_member": ch.has(a.BotUser), "is_general": false, "is_shared": ch.Shared, "is_ext_shared": ch.Shared,
		"is_pending_ext_shared": false, "creator": ch.creator(), "unlinked": 0, "num_members": len(ch.Members),
		"topic":   object{"value": "", "creator": "", "last_set": 0},
		"purpose": object{"value": "", "creator": "", "last_set": 0},
	} {
		o[k] = v
	}
	return o
}

func (ch *channel) creator() string {
	if len(ch.Members) == 0 {
		return ""
	}
	return ch.Members[0]
}

// conversationsOpen: https://docs.slack.dev/reference/methods/conversations.open.
// Group messages (two to eight users) are not kept by the fake.
func (s *Server) conversationsOpen(c *call) (object, error) {
	if id := c.str("channel"); id != "" {
		ch := s.channels[id]
		if ch == nil || !ch.dm || !ch.has(c.app.BotUser) {
			return nil, fail("channel_not_found")
		}
		return object{"no_op": true, "already_open": true, "channel": s.opened(c, ch)}, nil
	}
	users := strings.FieldsFunc(c.str("users"), func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case len(users) == 0:
		return nil, fail("users_list_not_supplied")
	case len(users) > 8:
		return nil, fail("too_many_users")
	case len(users) > 1:
		return nil, fail("not_implemented_by_fake")
	}
	u := s.users[users[0]]
	switch {
	case u == nil:
		return nil, fail("user_not_found")
	case u.Deleted:
		return nil, fail("user_disabled")
	case u.ID == c.app.BotUser:
		return nil, fail("cannot_dm_bot")
	case u.Bot:
		return nil, fail("cannot_dm_bot")
	case !s.sharesWorkspace(c.app, u):
		return nil, fail("user_not_visible")
	}
	before := s.dm(u.ID, c.app.BotUser, false)
	ch := s.dm(u.ID, c.app.BotUser, true)
	o := object{"channel": s.opened(c, ch)}
	if before != nil {
		o["no_op"], o["already_open"] = true, true
	}
	return o, nil
}

func (s *Server) opened(c *call, ch *channel) object {
	if c.yes("return_im") {
		return ch.json(s, c.app)
	}
	return object{"id": ch.ID}
}

func (s *Server) findChannel(c *call) (*channel, error) {
	ch := s.channels[c.str("channel")]
	if ch == nil || !s.visible(c.app, ch) {
		return nil, fail("channel_not_found")
	}
	return ch, nil
}

func (s *Server) conversationsInfo(c *call) (object, error) {
	ch, err := s.findChannel(c)
	if err != nil {
		return nil, err
	}
	return object{"channel": ch.json(s, c.app)}, nil
}

// listed are the conversations of the wanted types that an app may list.
func (s *Server) listed(c *call, memberOnly string) []any {
	types := strings.Split(c.str("types"), ",")
	if c.str("types") == "" {
		types = []string{"public_channel"}
	}
	var out []any
	for _, id := range s.chanOrder {
		ch := s.channels[id]
		kind := map[string]string{"im": "im", "group": "private_channel", "channel": "public_channel"}[ch.kind()]
		if !slices.Contains(types, kind) || !s.visible(c.app, ch) || ch.Archived && c.yes("exclude_archived") {
			continue
		}
		if memberOnly != "" && !ch.has(memberOnly) {
			continue
		}
		out = append(out, ch.json(s, c.app))
	}
	return out
}

func (s *Server) conversationsList(c *call) (object, error) {
	page, next, err := paginate(c, s.listed(c, ""), 100)
	return object{"channels": page, "response_metadata": object{"next_cursor": next}}, err
}

func (s *Server) usersConversations(c *call) (object, error) {
	user := c.str("user")
	if user == "" {
		user = c.app.BotUser
	}
	page, next, err := paginate(c, s.listed(c, user), 100)
	return object{"channels": page, "response_metadata": object{"next_cursor": next}}, err
}

func (s *Server) conversationsMembers(c *call) (object, error) {
	ch, err := s.findChannel(c)
	if err != nil {
		return nil, err
	}
	members := make([]any, len(ch.Members))
	for i, m := range ch.Members {
		members[i] = m
	}
	page, next, err := paginate(c, members, 100)
	return object{"members": page, "response_metadata": object{"next_cursor": next}}, err
}

// conversationsJoin: https://docs.slack.dev/reference/methods/conversations.join.
func (s *Server) conversationsJoin(c *call) (object, error) {
	ch, err := s.findChannel(c)
	switch {
	case err != nil:
		return nil, err
	case ch.dm || ch.Private:
		return nil, fail("method_not_supported_for_channel_type")
	case ch.Archived:
		return nil, fail("is_archived")
	}
	if !ch.has(c.app.BotUser) {
		ch.Members = append(ch.Members, c.app.BotUser)
	}
	return object{"channel": ch.json(s, c.app)}, nil
}

// readable finds a channel whose messages the app may read.
func (s *Server) readable(c *call) (*channel, error) {
	ch, err := s.findChannel(c)
	if err != nil {
		return nil, err
	}
	if !ch.has(c.app.BotUser) {
		return nil, fail("not_in_channel")
	}
	need := map[string]string{"im": "im:history", "group": "groups:history", "channel": "channels:history"}[ch.kind()]
	if !slices.Contains(c.app.Scopes, need) {
		return nil, &apiError{code: "missing_scope", extra: object{"needed": need, "provided": strings.Join(c.app.Scopes, ",")}}
	}
	return ch, nil
}

// inRange holds a message to oldest and latest.
func inRange(c *call, ts string) bool {
	oldest, latest, inclusive := c.str("oldest"), c.str("latest"), c.yes("inclusive")
	if oldest != "" && (tsLess(ts, oldest) || ts == oldest && !inclusive) {
		return false
	}
	return latest == "" || !tsLess(latest, ts) && (ts != latest || inclusive)
}

// tsLess compares two timestamps of any number of decimals.
func tsLess(a, b string) bool {
	as, au, _ := strings.Cut(a, ".")
	bs, bu, _ := strings.Cut(b, ".")
	if len(as) != len(bs) {
		return len(as) < len(bs)
	}
	pad := func(s string) string { return (s + "000000")[:6] }
	return as < bs || as == bs && pad(au) < pad(bu)
}

// listing is a message with what listings add to it.
func (s *Server) listing(c *call, ch *channel, m *Message) object {
	o := m.json(s)
	if m.Metadata != nil && c.yes("include_all_metadata") {
		o["metadata"] = cloneJSON(m.Metadata)
	}
	s.threadInfo(ch, m, o)
	return o
}

// threadInfo adds what the first message of a thread tells about its replies.
func (s *Server) threadInfo(ch *channel, m *Message, o object) {
	if m.ThreadTS != m.TS {
		return
	}
	users, latest, count := []string{}, "", 0
	for _, r := range ch.messages {
		if r.ThreadTS == m.TS && r.IsReply() && !r.Deleted && r.EphemeralTo == "" {
			count++
			latest = r.TS
			if !slices.Contains(users, r.User) {
				users = append(users, r.User)
			}
		}
	}
	if count > 0 {
		o["reply_count"], o["reply_users_count"], o["reply_users"], o["latest_reply"] = count, len(users), users, latest
		o["subscribed"], o["is_locked"] = false, false
	}
}

// conversationsHistory: https://docs.slack.dev/reference/methods/conversations.history.
func (s *Server) conversationsHistory(c *call) (object, error) {
	ch, err := s.readable(c)
	if err != nil {
		return nil, err
	}
	var list []any
	for _, m := range slices.Backward(ch.messages) {
		if m.Deleted || m.EphemeralTo != "" || m.IsReply() && !m.Broadcast || !inRange(c, m.TS) {
			continue
		}
		list = append(list, s.listing(c, ch, m))
	}
	page, next, err := paginate(c, list, 100)
	o := object{"messages": page, "has_more": next != "", "pin_count": 0}
	if next != "" {
		o["response_metadata"] = object{"next_cursor": next}
	}
	return o, err
}

// conversationsReplies: the parent first, then its replies.
func (s *Server) conversationsReplies(c *call) (object, error) {
	ch, err := s.readable(c)
	if err != nil {
		return nil, err
	}
	parent := s.message(ch.ID, c.str("ts"))
	if parent == nil {
		return nil, fail("thread_not_found")
	}
	root := parent.TS
	if parent.IsReply() {
		root = parent.ThreadTS
	}
	var list []any
	for _, m := range ch.messages {
		if m.Deleted || m.EphemeralTo != "" || m.TS != root && m.ThreadTS != root {
			continue
		}
		if m.TS == root || inRange(c, m.TS) {
			list = append(list, s.listing(c, ch, m))
		}
	}
	page, next, err := paginate(c, list, 1000)
	o := object{"messages": page, "has_more": next != ""}
	if next != "" {
		o["response_metadata"] = object{"next_cursor": next}
	}
	return o, err
}

// paginate cuts one page out of a list: cursor and limit.
func paginate(c *call, list []any, limit int) (page []any, next string, err error) {
	limit = c.int("limit", limit)
	if limit < 1 || limit > maxHistory+1 {
		return nil, "", fail("invalid_limit")
	}
	at := 0
	if cur := c.str("cursor"); cur != "" {
		raw, derr := base64.StdEncoding.DecodeString(cur)
		n, ok := strings.CutPrefix(string(raw), "at:")
		at = indexOf(n)
		if derr != nil || !ok || at < 0 || at > len(list) {
			return nil, "", fail("invalid_cursor")
		}
	}
	end := min(at+limit, len(list))
	if end < len(list) {
		next = base64.StdEncoding.EncodeToString([]byte("at:" + itoa(end)))
	}
	return append([]any{}, list[at:end]...), next, nil
}
