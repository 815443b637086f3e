package slack

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// event takes an event. https://docs.slack.dev/reference/events
func (in *inbound) event(ctx context.Context, d *deed, e *eventEnvelope) error {
	switch e.Event.Type {
	case "message":
		return in.message(ctx, d, &e.Event)
	case "app_home_opened":
		d.reply(nil)
		if e.Event.Tab != "" && e.Event.Tab != "home" {
			return nil // the tab of direct messages
		}
		in.homes.turn(e.Event.User, "")
		return in.opened(ctx, slackActor{ID: e.Event.User})
	case "tokens_revoked", "app_uninstalled":
		d.reply(nil)
		return in.checkToken(ctx)
	case "channel_id_changed":
		return in.moved(ctx, e.Event.OldChannel, e.Event.NewChannel)
	}
	if e.Type == "app_rate_limited" {
		in.log.Error("Slack held back events of a whole minute: replies in threads may be missing; clicks are not events")
	}
	return nil
}

// checkToken asks Slack whether the bot token still works, having heard that one
// of the app's tokens does not.
func (in *inbound) checkToken(ctx context.Context) error {
	err := in.c.api.call(ctx, "auth.test", nil, nil)
	if e, ok := errors.AsType[*apiError](err); ok && !passing(e) && e.Code != codeLimited {
		in.ill.set(troubleToken, "Slack no longer takes the bot token ("+e.Code+"): install the app again and put its new token into the config")
		return err
	}
	return nil
}

// moved remembers that a conversation has another id now, as happens when a
// private one is shared: copies go to the new one, and those that stand keep the
// name that they had.
func (in *inbound) moved(ctx context.Context, from, to string) error {
	if from == "" || to == "" {
		return nil
	}
	in.c.places.changed(ctx, from, to)
	in.c.places.put(ctx, "was:"+to, from)
	return nil
}

// posting finds a copy by its name; nil when it is none of the hub's.
func (in *inbound) posting(ctx context.Context, ref string) (*hub.Posting, error) {
	p, err := in.desk.FindPosting(ctx, Name, ref)
	if !errors.Is(err, hub.ErrNotFound) {
		return p, err
	}
	channel, ts, ok := parseRef(ref)
	if !ok {
		return nil, nil
	}
	was := in.c.places.get(ctx, "was:"+channel)
	if was.ID == "" {
		return nil, nil
	}
	p, err = in.desk.FindPosting(ctx, Name, was.ID+"/"+ts)
	if errors.Is(err, hub.ErrNotFound) {
		return nil, nil
	}
	return p, err
}

// typedByPerson reports a message that somebody wrote: no edit, no deletion, no
// join, and nothing that a bot, a workflow or another app wrote.
func typedByPerson(m *slackEvent) bool {
	switch m.Subtype {
	case "", "thread_broadcast", "file_share", "me_message":
		return m.User != "" && m.BotID == "" && m.AppID == "" && m.Channel != "" && m.TS != ""
	}
	return false
}

// message takes what somebody wrote, where it concerns the hub: in the thread of
// a copy, or to the hub itself.
func (in *inbound) message(ctx context.Context, d *deed, m *slackEvent) error {
	if !typedByPerson(m) {
		return nil
	}
	at := spot{user: m.User, channel: m.Channel, thread: cmp.Or(m.Thread, m.TS)}
	if m.Thread == "" || m.Thread == m.TS {
		if m.Kind != "im" {
			return nil
		}
		return in.direct(ctx, d, at, m)
	}
	p, err := in.thread(ctx, m)
	switch {
	case err != nil:
		d.reply(nil)
		return errors.Join(err, in.tell(ctx, at, remarkText(sayReplyAgain)))
	case p == nil && m.Kind == "im":
		return in.direct(ctx, d, at, m) // below something of their own
	case p == nil:
		return nil
	case p.MessageID == "":
		d.reply(nil)
		return in.once(ctx, at, m, remarkText("I know no question in this thread (any more). Nothing has been recorded."))
	}
	return in.reply(ctx, d, at, p.MessageID, m)
}

// How long a reply waits for the copy that it answers to be recorded: the copy
// stands in Slack before the hub has heard that it does.
const (
	threadTries = 8
	threadPause = 400 * time.Millisecond
)

// thread finds the copy in whose thread somebody wrote. nil: the thread is none
// of the hub's. A posting without a message: it began with something else that
// the hub said.
func (in *inbound) thread(ctx context.Context, m *slackEvent) (*hub.Posting, error) {
	for try := 1; ; try++ {
		p, err := in.posting(ctx, m.Channel+"/"+m.Thread)
		if p != nil {
			return p, nil
		}
		if err == nil {
			me, err := in.c.api.whoami(ctx)
			if err != nil || m.Parent != me.User {
				return nil, err
			}
		}
		if try == threadTries || !sleep(ctx, threadPause) {
			return &hub.Posting{}, err
		}
	}
}

// once tells somebody something about what they wrote, unless the same message
// was talked about before: Slack repeats events, and once sent one message under
// eleven event ids (github.com/slackapi/node-slack-sdk/issues/2141).
func (in *inbound) once(ctx context.Context, at spot, m *slackEvent, what remark) error {
	if !in.told.first("reply/" + m.Channel + "/" + m.TS) {
		return nil
	}
	return in.tell(ctx, at, what)
}

// maxTerse is how long a text is that may well be meant as an answer, in runes.
const maxTerse = 40

// reply takes what somebody wrote in the thread of a message.
func (in *inbound) reply(ctx context.Context, d *deed, at spot, messageID string, m *slackEvent) error {
	who, err := in.whois(ctx, slackActor{ID: m.User, TeamID: cmp.Or(m.Source, m.Team)})
	if err != nil {
		d.reply(nil)
		return errors.Join(err, in.tell(ctx, at, remarkText(sayReplyAgain)))
	}
	if who.Person == nil {
		d.reply(nil)
		return in.once(ctx, at, m, who.refusal)
	}
	c, err := in.card(ctx, messageID, who.Person)
	if err != nil {
		d.reply(nil)
		return errors.Join(err, in.tell(ctx, at, remarkText(sayReplyAgain)))
	}
	r := in.receipt(d, who.team, at, "reply", m.Channel+"/"+m.TS)
	text := in.plainText(ctx, m.Text)
	if c == nil {
		if done, err := in.overhears(ctx, d, at, who.Person, messageID, text, r); done {
			return err
		}
		// What there is to choose from is not for them, so whether it is an answer can't be told.
		return in.bystander(ctx, d, at, messageID, who.Person, r, utf8.RuneCountInString(text) <= maxTerse, nil)
	}
	if what, ok := forAgent(c, text); ok {
		return in.toAgent(ctx, d, at, who.Person, messageID, what, r)
	}
	read := reply.Read(c, text)
	switch {
	case c.Status != ma2h.Open || !c.MayAnswer:
		var offer func(string) remark
		if !read.Clear() && offers(c, text) {
			offer = func(said string) remark { return in.offer(c, said, text) }
		}
		return in.bystander(ctx, d, at, messageID, who.Person, r, read.Clear(), offer)
	case !read.Clear():
		d.reply(nil)
		return in.help(ctx, at, m, c, &read, who.Person, text)
	}
	a := hub.Answer{MessageID: messageID, Actor: who.Actor(), Receipt: r}
	read.Fill(&a)
	out, err := in.record(ctx, a)
	d.reply(nil)
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText(sayReplyAgain)))
	}
	return in.tellOutcome(ctx, at, r.Key, out, who.Person)
}

// bystander answers somebody who can't answer, or comes late. People talk in
// threads: what reads like an answer is answered each time, anything else once
// in a while. offer, if there is one, adds to what is said.
func (in *inbound) bystander(ctx context.Context, d *deed, at spot, messageID string, who *hub.Person, r hub.Receipt, clear bool, offer func(said string) remark) error {
	out, err := in.probe(ctx, messageID, who, r)
	d.reply(nil)
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText(sayReplyAgain)))
	}
	if !clear && !in.told.first("aside/"+at.channel+"/"+at.thread+"/"+at.user+"/"+string(out.Status)) {
		return nil
	}
	if offer != nil {
		if !in.told.first("outcome/" + r.Key) {
			return nil
		}
		return in.tell(ctx, at, offer(templates.Outcome(out, who)))
	}
	return in.tellOutcome(ctx, at, r.Key, out, who)
}

// help says why a reply is no answer and what would be one. The first time it is
// a reply in the thread, which stays; after that a note, so that two people who
// talk are not talked over, and to whom may write to the agent always. What only the page may collect gets a link, which
// nobody else sees, and nothing of the text is kept.
func (in *inbound) help(ctx context.Context, at spot, m *slackEvent, c *hub.Card, read *reply.Reading, who *hub.Person, text string) error {
	key := "reply/" + m.Channel + "/" + m.TS
	if !in.told.first(key) {
		return nil
	}
	what := remarkText(reply.Sentence(c, read))
	if read.Why == reply.WhyPageOnly {
		l := in.linkRemark(c, who)
		return in.tell(ctx, at, remark{blocks: append(what.blocks[:1:1], l.blocks[1:]...), text: what.text + "\n" + l.text})
	}
	if offers(c, text) {
		return in.tell(ctx, at, in.offer(c, reply.Sentence(c, read), text))
	}
	if !at.private() && !in.told.first("help/"+at.channel+"/"+at.thread+"/"+at.user) {
		return in.tell(ctx, at, what)
	}
	args, err := content(what.text, what.blocks)
	if err != nil {
		return err
	}
	args.Set("channel", at.channel)
	args.Set("thread_ts", at.thread)
	args.Set("client_msg_id", keyOf(key, 0).uuid()) // a repeated event of a hub that was started again
	err = in.keepTrying(ctx, func(ctx context.Context) error { return in.c.api.call(ctx, "chat.postMessage", args, nil) })
	if err != nil && ctx.Err() == nil {
		return errors.Join(err, in.tell(ctx, at, what))
	}
	return err
}

// direct takes what somebody wrote to the hub outside any thread: which question
// it might answer is not to be guessed.
func (in *inbound) direct(ctx context.Context, d *deed, at spot, m *slackEvent) error {
	d.reply(nil)
	who, err := in.whois(ctx, slackActor{ID: m.User, TeamID: cmp.Or(m.Source, m.Team)})
	switch {
	case err != nil:
		return errors.Join(err, in.tell(ctx, at, remarkText(sayReplyAgain)))
	case who.Person == nil:
		return in.once(ctx, at, m, who.refusal)
	}
	if !in.told.first("reply/" + m.Channel + "/" + m.TS) {
		return nil
	}
	list, err := in.listRemark(ctx, who.Person, "I read answers in the thread of a question. Nothing has been recorded.")
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText(sayNotRead)))
	}
	return in.tell(ctx, at, list)
}

// plainText is what somebody typed: Slack escapes three characters, wraps links
// and mentions, and names emoji.
// https://docs.slack.dev/messaging/formatting-message-text
func (in *inbound) plainText(ctx context.Context, s string) string {
	if me, err := in.c.api.whoami(ctx); err == nil {
		s = strings.TrimPrefix(strings.TrimSpace(s), "<@"+me.User+">")
	}
	return unformat(s)
}

// unformat undoes what Slack does to a text that somebody typed.
func unformat(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			break
		}
		end := strings.IndexByte(s[i:], '>')
		if end < 0 {
			break
		}
		b.WriteString(s[:i])
		b.WriteString(unwrap(s[i+1 : i+end]))
		s = s[i+end+1:]
	}
	b.WriteString(s)
	return strings.NewReplacer(emoji()...).Replace(b.String())
}

// unwrap is what stood in a pair of angle brackets when it was typed.
func unwrap(s string) string {
	target, label, labelled := strings.Cut(s, "|")
	switch {
	case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"), strings.HasPrefix(target, "!"):
		sign := target[:1]
		if sign == "!" {
			sign = "@"
			if strings.HasPrefix(target, "!date") {
				sign = ""
			}
		}
		if labelled && label != "" {
			return sign + strings.TrimPrefix(label, sign)
		}
		return sign + target[1:]
	case labelled:
		return label
	}
	return strings.TrimPrefix(target, "mailto:")
}

// emoji are the replacements of what Slack writes for characters that mean
// something in an answer; the escaped characters come last in a text, so that
// none is undone twice.
func emoji() []string {
	return []string{
		":+1:", "👍", ":thumbsup:", "👍", ":-1:", "👎", ":thumbsdown:", "👎",
		":skin-tone-2:", "", ":skin-tone-3:", "", ":skin-tone-4:", "", ":skin-tone-5:", "", ":skin-tone-6:", "",
		":one:", "1", ":two:", "2", ":three:", "3", ":four:", "4", ":five:", "5", ":six:", "6", ":seven:", "7", ":eight:", "8", ":nine:", "9",
		"&lt;", "<", "&gt;", ">", "&amp;", "&",
	}
}
