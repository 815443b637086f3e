package slack

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// maxTellValue is how much of a reply a button carries, in runes: Slack's limit
// on the value of a button.
// https://docs.slack.dev/reference/block-kit/block-elements/button-element
const maxTellValue = 2000

// ShowsTrack: a card says when the agent got the answer.
func (*Channel) ShowsTrack() bool { return true }

// forAgent returns what somebody wrote for the agent in the thread of a message,
// and not as an answer: what begins with "tell", and any reply to a notify.
func forAgent(c *hub.Card, text string) (what string, ok bool) {
	if what, ok := reply.ForAgent(c, text); ok {
		return what, true
	}
	return text, c.Type == ma2h.Notify && offers(c, text)
}

// offers reports whether a text may be passed on to the agent of a message. About
// a sensitive one people write on the page.
func offers(c *hub.Card, text string) bool {
	return c != nil && c.MayDirect && !c.Hidden && !c.PageOnly && strings.TrimSpace(text) != ""
}

// pass passes something on to an agent. It tries again after a failure, which the
// receipt makes safe.
func (in *inbound) pass(ctx context.Context, x hub.Direction) (o hub.DirectOutcome, err error) {
	for _, wait := range []time.Duration{0, tellPause, 3 * tellPause} {
		if wait > 0 && !sleep(ctx, wait) {
			break
		}
		if o, err = in.desk.Direct(ctx, x); err == nil {
			return o, nil
		}
	}
	in.log.Error("what somebody wrote to an agent could not be passed on", "agent", x.AgentID, "message", x.About, "err", err)
	return o, err
}

const sayNotPassed = "The hub could not pass this on just now. Nothing is known to be passed on; try again in a moment."

// toAgent passes on what somebody wrote about a message, and says what came of it.
func (in *inbound) toAgent(ctx context.Context, d *deed, at spot, who *hub.Person, messageID, text string, r hub.Receipt) error {
	o, err := in.pass(ctx, hub.Direction{Person: who.ID, About: messageID, Body: text, Receipt: r})
	d.reply(nil)
	return in.tellPassed(ctx, at, r, o, err)
}

// overhears takes a reply of somebody whom the message was not for and who sees
// it in a channel, as everybody there sees a notify. done is false when nothing
// in it is for the agent, or not from them; then nothing was said.
func (in *inbound) overhears(ctx context.Context, d *deed, at spot, who *hub.Person, messageID, text string, r hub.Receipt) (done bool, err error) {
	if len(in.desk.DirectableAgents(who.ID)) == 0 || strings.TrimSpace(text) == "" {
		return false, nil
	}
	what, tells := reply.ForAgent(&hub.Card{Type: ma2h.Notify, MayDirect: true}, text)
	if !tells {
		out, err := in.probe(ctx, messageID, who, r)
		if err != nil || out.Reason != hub.ReasonNotify {
			return false, nil // an error comes again where it is told
		}
		what = text
	}
	r.Key = "to-agent/" + r.Key // the first one is that of an answer
	o, err := in.pass(ctx, hub.Direction{Person: who.ID, About: messageID, Body: what, Receipt: r})
	if o.Reason == hub.ReasonNotAllowed || o.Reason == hub.ReasonNotFound {
		return false, nil
	}
	d.reply(nil)
	return true, in.tellPassed(ctx, at, r, o, err)
}

// tellPassed says what became of something for an agent.
func (in *inbound) tellPassed(ctx context.Context, at spot, r hub.Receipt, o hub.DirectOutcome, err error) error {
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText(sayNotPassed)))
	}
	if !in.told.first("direct/" + r.Key) {
		return nil
	}
	what := remarkText(templates.Direct(&o))
	what.final = o.Kind == hub.Accepted
	return in.tell(ctx, at, what)
}

// offer is what is said to a reply that is no answer, for somebody who may write
// to the agent: with a button that passes the reply on after all.
func (in *inbound) offer(c *hub.Card, help, text string) remark {
	agent := cutTo(line(c.AgentID, "the agent"), 60)
	const how = "reply with “tell” on the first line and your text below it."
	if text = strings.TrimSpace(text); runeLen(text) > maxTellValue {
		return remarkText(help + "\nIt is too long for a button. If it was meant for " + agent + ", " + how)
	}
	what := remarkText(help + "\nIf it was meant for " + agent + ", press the button, or " + how)
	b := button(action{Kind: kindTell, MessageID: c.MessageID}, "Send it to "+agent)
	b.Value = text
	what.blocks = append(what.blocks, slackgo.NewActionBlock(actionVersion+":tell", b))
	return what
}

// sendIt takes the press of that button.
func (in *inbound) sendIt(ctx context.Context, d *deed, at spot, k *clicked, who *hub.Person, team string) error {
	// Pressed twice is sent once.
	r := in.receipt(d, team, at, "agent", at.channel+"/"+k.copy+"/"+k.actor.ID)
	return in.toAgent(ctx, d, at, who, k.action.MessageID, k.value.Value, r)
}

// tellAgain is for how long the same words from the same person are taken for
// the same act. Slack does not send a command again by itself
// (https://docs.slack.dev/interactivity/implementing-slash-commands): it shows an
// error after three seconds and leaves the words where they were typed, so that
// people send them again, and no id is the same then.
const tellAgain = time.Minute

// tellAgent is /beckon tell AGENT text. The agent may be left out by somebody who
// may write to one alone.
func (in *inbound) tellAgent(ctx context.Context, d *deed, c *command, from somebody, name string) remark {
	agents := in.desk.DirectableAgents(from.Person.ID)
	if len(agents) == 0 {
		return remarkText("There is no agent that you may write to; whoever runs the hub can allow it.")
	}
	_, rest := cutWord(unformat(c.Text))
	word, text := cutWord(rest)
	i := slices.IndexFunc(agents, func(id string) bool { return strings.EqualFold(id, word) }) // a phone writes capitals
	if i < 0 && len(agents) == 1 && !strings.Contains(word, "/") {
		i, text = 0, rest
	}
	if i < 0 || text == "" {
		return in.agentList(ctx, agents, i >= 0, word, name)
	}
	h := sha256.Sum256([]byte(strings.Join([]string{from.team, c.UserID, agents[i], text}, "\n")))
	act := hex.EncodeToString(h[:])
	key := in.said.key(act, cmp.Or(c.TriggerID, rand.Text()))
	r := in.receipt(d, from.team, spot{user: c.UserID, channel: c.ChannelID}, "tell", key)
	o, err := in.pass(ctx, hub.Direction{AgentID: agents[i], Person: from.Person.ID, Body: text, Receipt: r})
	switch {
	case err != nil:
		return remarkText(sayNotPassed)
	case o.Kind != hub.Accepted:
		in.said.forget(act)
	case o.Repeated:
		return remarkText(templates.Direct(&o) + " It was passed on once, and the same words are not sent again within a minute.")
	}
	return remarkText(templates.Direct(&o))
}

// cutWord cuts the first word off a text.
func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// agentList says whom somebody may write to, and when each was last seen.
func (in *inbound) agentList(ctx context.Context, agents []string, known bool, agent, name string) remark {
	s := "Write " + name + " tell AGENT and then what you want to say."
	if !known && agent != "" {
		s = cutTo(line(agent, ""), 60) + " is no agent that you may write to. Nothing was passed on. " + s
	}
	s += " You may write to:"
	for i, id := range agents {
		if i == listItems {
			s += "\n… and others; the page has all of them."
			break
		}
		s += "\n• " + cutTo(line(id, ""), 100)
		seen, err := in.desk.LastSeen(ctx, id)
		if err != nil {
			in.log.Warn("when an agent was seen can't be read", "agent", id, "err", err)
			continue
		}
		s += ", " + templates.LastSeen(seen, time.Now())
	}
	return remarkText(s)
}

// acts remembers for a while the key of each act, so that the same act, begun
// again, has the same key. It saves an agent from reading the same thing twice;
// forgetting one early costs no more than that.
type acts struct {
	mu sync.Mutex
	of map[string]begun
}

type begun struct {
	key string
	at  time.Time
}

// key returns the key of an act: the one that it began with, else the new one.
func (a *acts) key(act, key string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(a.of, func(_ string, b begun) bool { return now.Sub(b.at) > tellAgain })
	if b, ok := a.of[act]; ok {
		return b.key
	}
	if a.of == nil {
		a.of = map[string]begun{}
	}
	a.of[act] = begun{key, now}
	return key
}

func (a *acts) forget(act string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, act)
}
