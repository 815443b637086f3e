package fakeslack

import (
	"encoding/base64"
	"slices"
	"strings"
)

// authorization says for whom an event is sent.
func (s *Server) authorization(a *app) object {
	return object{
		"enterprise_id": s.enterpriseID(), "team_id": s.team.ID, "user_id": a.BotUser, "is_bot": true,
		"is_enterprise_install": s.opts.Enterprise.ID != "",
	}
}

// enterpriseID is null without an organization.
func (s *Server) enterpriseID() any {
	if id := s.opts.Enterprise.ID; id != "" {
		return id
	}
	return nil
}

// wrap puts an event into its outer envelope
// (https://docs.slack.dev/apis/events-api/#event-type-structure).
func (s *Server) wrap(a *app, event object, shared bool) (payload object, id string) {
	id = "Ev" + newID("0")
	return object{
		"token": a.VerificationToken, "team_id": s.team.ID, "context_team_id": s.team.ID, "context_enterprise_id": s.enterpriseID(),
		"api_app_id": a.ID, "event": event, "type": "event_callback", "event_id": id, "event_time": s.clock.now().Unix(),
		"authorizations": []object{s.authorization(a)}, "is_ext_shared_channel": shared,
		"event_context": "4-" + base64.RawURLEncoding.EncodeToString([]byte(id)),
	}, id
}

// emit queues an event for every app that subscribes to it and, when it happens
// in a channel, is a member there. s.mu is held.
func (s *Server) emit(ch *channel, subscription string, event object) {
	for _, a := range s.apps {
		if ch != nil && !ch.has(a.BotUser) {
			continue
		}
		s.emitTo(a, ch != nil && ch.Shared, subscription, event)
	}
}

func (s *Server) emitTo(a *app, shared bool, subscription string, event object) {
	if !slices.Contains(a.Events, subscription) {
		return
	}
	payload, id := s.wrap(a, cloneJSON(event), shared)
	typ, _ := event["type"].(string)
	if sub, ok := event["subtype"].(string); ok {
		typ += "." + sub
	}
	o := s.newOutgoing("events_api", typ, id, payload, false)
	select {
	case a.queue <- o:
	default:
		s.problem("the event queue of %s is full", a.ID)
	}
}

// emitMessage sends a message event: the subscription depends on the kind of
// channel. A mention of the bot is sent a second time, as app_mention.
func (s *Server) emitMessage(ch *channel, event object, text string) {
	event = cloneJSON(event)
	event["channel"], event["channel_type"] = ch.ID, ch.kind()
	event["event_ts"] = event["ts"]
	if event["subtype"] == "thread_broadcast" {
		if ts, ok := event["thread_ts"].(string); ok {
			if root := s.message(ch.ID, ts); root != nil {
				o := root.json(s)
				s.threadInfo(ch, root, o)
				event["root"] = o
			}
		}
	}
	s.emit(ch, map[string]string{"im": "message.im", "group": "message.groups", "channel": "message.channels"}[ch.kind()], event)
	if ch.dm || event["bot_id"] != nil {
		return
	}
	for _, a := range s.apps {
		if ch.has(a.BotUser) && strings.Contains(text, "<@"+a.BotUser+">") {
			mention := cloneJSON(event)
			mention["type"] = "app_mention"
			delete(mention, "channel_type")
			s.emitTo(a, ch.Shared, "app_mention", mention)
		}
	}
}

// emitChanged sends message_changed: the data is under "message".
func (s *Server) emitChanged(ch *channel, m *Message, before object) {
	s.emitMessage(ch, object{
		"type": "message", "subtype": "message_changed", "hidden": true, "message": m.json(s), "previous_message": before,
		"ts": s.newTS(),
	}, "")
}

// RevokeTokens makes an app's bot token invalid, with the event that tells it.
func (s *Server) RevokeTokens(appID string) {
	s.locked(func() {
		if a := s.appByID(appID); a != nil {
			a.tokenError = "token_revoked"
			s.emitTo(a, false, "tokens_revoked", object{
				"type": "tokens_revoked", "tokens": object{"oauth": []string{}, "bot": []string{a.BotUser}}, "event_ts": s.newTS(),
			})
		}
	})
}

// SetTokenError makes every call with an app's tokens fail with code, such as
// "account_inactive"; "" makes them good again.
func (s *Server) SetTokenError(appID, code string) {
	s.locked(func() {
		if a := s.appByID(appID); a != nil {
			a.tokenError = code
		}
	})
}

// SetScopes replaces the scopes of an app's bot token.
func (s *Server) SetScopes(appID string, scopes ...string) {
	s.locked(func() {
		if a := s.appByID(appID); a != nil {
			a.Scopes = scopes
		}
	})
}

// ChangeChannelID gives a channel another id, as happens when a private channel
// is shared, and sends channel_id_changed.
func (s *Server) ChangeChannelID(from, to string) {
	s.locked(func() {
		ch := s.channels[from]
		if ch == nil {
			return
		}
		delete(s.channels, from)
		ch.ID = to
		s.channels[to] = ch
		for i, id := range s.chanOrder {
			if id == from {
				s.chanOrder[i] = to
			}
		}
		for _, m := range ch.messages {
			m.Channel = to
		}
		s.emit(ch, "channel_id_changed", object{
			"type": "channel_id_changed", "old_channel_id": from, "new_channel_id": to, "event_ts": s.newTS(),
		})
	})
}

// AppRateLimited tells an app that it got too many events in a minute
// (https://docs.slack.dev/reference/events/app_rate_limited).
func (s *Server) AppRateLimited(appID string) {
	s.locked(func() {
		if a := s.appByID(appID); a != nil {
			o := s.newOutgoing("events_api", "app_rate_limited", "", object{
				"token": a.VerificationToken, "type": "app_rate_limited", "team_id": s.team.ID,
				"minute_rate_limited": s.clock.now().Unix() / 60 * 60, "api_app_id": a.ID,
			}, false)
			a.queue <- o
		}
	})
}

// Invite adds users (ids or names, bots included) to a channel.
func (s *Server) Invite(channel string, users ...string) {
	s.locked(func() {
		ch := s.channels[s.channelID(channel)]
		if ch == nil {
			return
		}
		for _, name := range users {
			if id := s.userID(name); id != "" && !ch.has(id) {
				ch.Members = append(ch.Members, id)
				s.emit(ch, "member_joined_channel", object{
					"type": "member_joined_channel", "user": id, "channel": ch.ID, "channel_type": "C", "team": s.team.ID, "event_ts": s.newTS(),
				})
			}
		}
		s.touch()
	})
}

// Kick removes users from a channel.
func (s *Server) Kick(channel string, users ...string) {
	s.locked(func() {
		if ch := s.channels[s.channelID(channel)]; ch != nil {
			ch.Members = slices.DeleteFunc(ch.Members, func(m string) bool {
				return slices.ContainsFunc(users, func(u string) bool { return s.userID(u) == m })
			})
			s.touch()
		}
	})
}

// Archive archives a channel.
func (s *Server) Archive(channel string) {
	s.locked(func() {
		if ch := s.channels[s.channelID(channel)]; ch != nil {
			ch.Archived = true
			s.touch()
		}
	})
}

// Deactivate deactivates an account.
func (s *Server) Deactivate(user string) {
	s.locked(func() {
		if u := s.users[s.userID(user)]; u != nil {
			u.Deleted = true
			s.touch()
		}
	})
}
