package fakeslack

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Reply writes a message: in a thread, or in the channel if threadTS is "".
func (p *Person) Reply(channel, threadTS, text string) (Message, error) {
	return p.say(channel, threadTS, text, "", nil)
}

// Broadcast replies in a thread and shows the reply in the channel too.
func (p *Person) Broadcast(channel, threadTS, text string) (Message, error) {
	return p.say(channel, threadTS, text, "thread_broadcast", nil)
}

// Upload shares a text file, with a comment; its content is not kept.
func (p *Person) Upload(channel, threadTS, text, filename string) (Message, error) {
	s := p.s
	return p.say(channel, threadTS, text, "file_share", object{"upload": false, "display_as_bot": false, "files": []any{object{
		"id": newID("F0"), "name": filename, "mimetype": "text/plain", "filetype": "text", "size": 120, "mode": "snippet",
		"is_external": false, "url_private": s.URL() + "/files-pri/" + s.team.ID + "/" + filename,
	}}})
}

func (p *Person) say(channel, threadTS, text, subtype string, extra object) (Message, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.channels[s.channelID(channel)]
	u := s.users[p.ID]
	switch {
	case ch == nil || !ch.has(p.ID):
		return Message{}, fmt.Errorf("%w: channel %s", ErrGone, channel)
	case ch.Archived || u.Deleted:
		return Message{}, fmt.Errorf("%w: %s can't write in %s", ErrNotAllowed, u.Name, channel)
	case ch.dm && s.readOnlyTab(ch):
		return Message{}, fmt.Errorf("%w: sending messages to this app has been turned off", ErrNotAllowed)
	}
	m := &Message{
		Channel: ch.ID, TS: s.newTS(), User: p.ID, TeamID: u.TeamID, Text: typed(text), Blocks: typedBlocks(text),
		ClientMsgID: newUUID(), Subtype: subtype, Broadcast: subtype == "thread_broadcast", SentAt: s.clock.now(),
	}
	if threadTS != "" {
		parent := s.message(ch.ID, threadTS)
		if parent == nil || !p.sees(ch, parent) {
			return Message{}, fmt.Errorf("%w: thread %s", ErrGone, threadTS)
		}
		if parent.IsReply() {
			parent = s.message(ch.ID, parent.ThreadTS)
		}
		m.ThreadTS, parent.ThreadTS = parent.TS, parent.TS
	}
	ch.messages = append(ch.messages, m)
	s.see(ch, m, "message")
	ev := m.json(s)
	for k, v := range extra {
		ev[k] = v
	}
	s.emitMessage(ch, ev, m.Text)
	s.touch()
	return m.clone(), nil
}

func (s *Server) readOnlyTab(ch *channel) bool {
	return slices.ContainsFunc(s.apps, func(a *app) bool { return ch.has(a.BotUser) && (a.ReadOnlyTab || a.NoMessagesTab) })
}

// Edit changes an own message.
func (p *Person) Edit(channel, ts, text string) error {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	where, err := p.message(channel, ts, action{})
	if err != nil {
		return err
	}
	m := where.msg
	if m.User != p.ID {
		return fmt.Errorf("%w: not one's own message", ErrNotAllowed)
	}
	before := m.json(s)
	m.Text, m.Blocks, m.EditedTS = typed(text), typedBlocks(text), s.newTS()
	m.Revision++
	ch := s.channels[m.Channel]
	s.see(ch, m, "update")
	s.emitChanged(ch, m, before)
	s.touch()
	return nil
}

// Delete removes a message: an own one, or any, as a workspace admin can.
func (p *Person) Delete(channel, ts string) error {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	where, err := p.message(channel, ts, action{})
	if err != nil {
		return err
	}
	s.remove(s.channels[where.msg.Channel], where.msg)
	return nil
}

// React adds an emoji, by its name without colons.
func (p *Person) React(channel, ts, name string) error {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	where, err := p.message(channel, ts, action{})
	if err != nil {
		return err
	}
	if slices.Contains(where.msg.Reactions[name], p.ID) {
		return nil
	}
	s.react(s.channels[where.msg.Channel], where.msg, p.ID, name)
	s.touch()
	return nil
}

// Slash runs a command such as "/beckon list" in a channel. What the app
// acknowledges with is shown to the person, or to the channel if it says so.
func (p *Person) Slash(ctx context.Context, channelID, line string) (Ack, error) {
	s := p.s
	command, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	var o *outgoing
	var to *app
	var ch *channel
	err := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		ch = s.channels[s.channelID(channelID)]
		if ch == nil || !ch.has(p.ID) {
			return fmt.Errorf("%w: channel %s", ErrGone, channelID)
		}
		i := slices.IndexFunc(s.apps, func(a *app) bool { return slices.Contains(a.Commands, command) })
		if i < 0 {
			return fmt.Errorf("%w: %s is not a valid command", ErrGone, command)
		}
		to = s.apps[i]
		fields := s.command(to, p.ID, ch, command, strings.TrimSpace(text))
		o = s.newOutgoing("slash_commands", command, "", fields, true)
		o.form = asForm(fields)
		return nil
	}()
	if err != nil {
		return Ack{}, err
	}
	ack, err := p.send(ctx, to, o)
	if err == nil {
		s.showReply(to, p.ID, ch, ack)
	}
	return ack, err
}

// OpenHome opens the app's Home tab, which the app is told, and returns it as it
// stands; it is empty until the app has published one.
func (p *Person) OpenHome() View { return p.openTab("home") }

// OpenMessages opens the messages tab of the app and returns the id of the
// direct messages.
func (p *Person) OpenMessages() string {
	p.openTab("messages")
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.dm(p.ID, p.s.apps[0].BotUser, true).ID
}

func (p *Person) openTab(tab string) View {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[0]
	dm := s.dm(p.ID, a.BotUser, true)
	ev := object{"type": "app_home_opened", "user": p.ID, "channel": dm.ID, "tab": tab, "event_ts": s.newTS()}
	v := s.homes[p.ID+" "+a.ID]
	if v != nil && tab == "home" {
		ev["view"] = v.json(s)
	}
	s.emitTo(a, false, "app_home_opened", ev)
	s.touch()
	if v == nil {
		return View{}
	}
	return v.clone()
}
