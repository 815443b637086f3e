package slack

import (
	"context"
	"errors"
	"strings"
	"time"

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
// and not as an answer: any reply to a notify, and what begins with "tell".
func forAgent(c *hub.Card, text string) (what string, ok bool) {
	if c.Type == ma2h.Notify && c.MayDirect && !c.Hidden && strings.TrimSpace(text) != "" {
		return text, true
	}
	return reply.ForAgent(c, text)
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

// offer is the help for a reply that is no answer, for somebody who may write to
// the agent: with a button that passes the reply on after all.
func (in *inbound) offer(c *hub.Card, help, text string) remark {
	what := remarkText(help)
	agent := cutTo(line(c.AgentID, "the agent"), 60)
	if text = strings.TrimSpace(text); runeLen(text) > maxTellValue {
		more := "It is too long to be sent to " + agent + " from here; the page takes it."
		return remarkText(help + " " + more)
	}
	b := button(action{Kind: kindTell, MessageID: c.MessageID}, "Send it to "+agent)
	b.Value = text
	what.blocks = append(what.blocks, slackgo.NewActionBlock(actionVersion+":tell", b))
	what.text += "\nIf it was meant for " + escape(agent) + ", press the button, or reply with \"tell\" on the first line and your text below it."
	return what
}

// sendIt takes the press of that button.
func (in *inbound) sendIt(ctx context.Context, d *deed, at spot, k *clicked, who *hub.Person, team string) error {
	// Pressed twice is sent once.
	r := in.receipt(d, team, at, "agent", at.channel+"/"+k.copy+"/"+k.actor.ID)
	return in.toAgent(ctx, d, at, who, k.action.MessageID, k.value.Value, r)
}

// tellAgent is /beckon tell AGENT text. The agent may be left out by somebody who
// may write to one alone.
func (in *inbound) tellAgent(ctx context.Context, d *deed, c *command, who *hub.Person, team, name string) (remark, error) {
	agents := in.desk.DirectableAgents(who.ID)
	if len(agents) == 0 {
		return remarkText("There is no agent that you may write to; whoever runs the hub can allow it."), nil
	}
	_, rest, _ := strings.Cut(strings.TrimSpace(unformat(c.Text)), " ")
	agent, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	known := false
	for _, id := range agents {
		known = known || id == agent
	}
	if !known && len(agents) == 1 && !strings.Contains(agent, "/") {
		agent, text, known = agents[0], rest, true
	}
	if text = strings.TrimSpace(text); !known || text == "" {
		return in.agentList(ctx, agents, known, agent, name), nil
	}
	r := in.receipt(d, team, spot{user: c.UserID, channel: c.ChannelID}, "tell", c.TriggerID)
	o, err := in.pass(ctx, hub.Direction{AgentID: agent, Person: who.ID, Body: text, Receipt: r})
	if err != nil {
		return remark{}, err
	}
	return remarkText(templates.Direct(&o)), nil
}

// agentList says whom somebody may write to, and when each was last seen.
func (in *inbound) agentList(ctx context.Context, agents []string, known bool, agent, name string) remark {
	s := "Write " + name + " tell AGENT and then what you want to say."
	if !known && agent != "" {
		s = cutTo(line(agent, ""), 60) + " is no agent that you may write to. " + s
	}
	s += " You may write to:"
	for i, id := range agents {
		if i == listItems {
			s += "\n… and others; the page has all of them."
			break
		}
		seen, err := in.desk.LastSeen(ctx, id)
		if err != nil {
			in.log.Warn("when an agent was seen can't be read", "agent", id, "err", err)
		}
		s += "\n• " + cutTo(line(id, ""), 100) + ", " + templates.LastSeen(seen, time.Now())
	}
	return remarkText(s)
}
