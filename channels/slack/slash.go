package slack

import (
	"context"
	"errors"
	"strings"

	"beckon/hub"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// listItems is how many messages a list in a note shows: three blocks each.
const listItems = 10

// command takes a slash command: list, show, tell, help. The answer goes to the
// response URL: an acknowledgement holds less than 20 KB.
// It is acknowledged when what it does is done, so that Slack shows an error if
// the hub never gets that far.
func (in *inbound) command(ctx context.Context, d *deed, c *command) error {
	at := spot{user: c.UserID, channel: c.ChannelID, responseURL: c.ResponseURL, trigger: c.TriggerID}
	who, err := in.whois(ctx, slackActor{ID: c.UserID, TeamID: c.TeamID})
	if err != nil || who.Person == nil {
		d.reply(nil)
	}
	switch {
	case err != nil:
		return errors.Join(err, in.tell(ctx, at, remarkText(sayNotRead)))
	case who.Person == nil:
		return in.tell(ctx, at, who.refusal)
	}
	what, err := in.obey(ctx, d, c, who)
	d.reply(nil)
	if err != nil {
		return errors.Join(err, in.tell(ctx, at, remarkText("The hub could not look this up just now. Try again in a moment.")))
	}
	return in.tell(ctx, at, what)
}

func (in *inbound) obey(ctx context.Context, d *deed, c *command, from somebody) (remark, error) {
	who := from.Person
	words := strings.Fields(unformat(c.Text))
	name := line(c.Command, "/beckon")
	switch {
	case len(words) > 0 && strings.EqualFold(words[0], "tell"):
		return in.tellAgent(ctx, d, c, from, name), nil
	case len(words) == 0 || len(words) == 1 && strings.EqualFold(words[0], "list"):
		return in.listRemark(ctx, who, "")
	case len(words) == 2 && strings.EqualFold(words[0], "show"):
		return in.showRemark(ctx, who, words[1], name)
	case len(words) == 1 && validID(words[0], false) && strings.Contains(words[0], "_"):
		return in.showRemark(ctx, who, words[0], name)
	}
	help := name + " lists what waits for you.\n" + name + " show 2 shows the second of them, to be answered there; it takes a message's id as well.\n" +
		"In the thread of a question a reply answers it: its number, or its words, on the first line."
	if len(in.desk.DirectableAgents(who.ID)) > 0 {
		help += "\n" + name + " tell AGENT and your words: the agent gets them in its inbox."
	}
	if !strings.EqualFold(words[0], "help") {
		help = "I don't know that.\n" + help
	}
	return remarkText(help), nil
}

// showRemark is one message with its controls.
func (in *inbound) showRemark(ctx context.Context, who *hub.Person, what, name string) (remark, error) {
	var c *hub.Card
	if n, ok := number(what); ok {
		cards, _, err := in.waiting(ctx, who, "", 50)
		if err != nil {
			return remark{}, err
		}
		if n >= 1 && n <= len(cards) {
			c = cards[n-1]
		}
	} else if validID(what, false) {
		var err error
		if c, err = in.card(ctx, what, who); err != nil {
			return remark{}, err
		}
	}
	if c == nil {
		return remarkText("There is no such message for you. " + name + " lists what waits."), nil
	}
	blocks, text, _ := renderMessage(c, renderOptions{Rev: "show", Link: in.desk.PersonalLink(who.ID, c.MessageID, noteLinkLife)})
	return remarkOf(blocks, text), nil
}

// listRemark is what waits for somebody, each with a way to answer, after a word
// of explanation.
func (in *inbound) listRemark(ctx context.Context, who *hub.Person, word string) (remark, error) {
	cards, more, err := in.waiting(ctx, who, "", listItems)
	if err != nil {
		return remark{}, err
	}
	head := "Waiting for you"
	if len(cards) == 0 {
		head = "Nothing is waiting for you"
	}
	var blocks []slackgo.Block
	text := head
	if word != "" {
		blocks, text = renderNote(word)
		text += "\n" + head
	}
	blocks = append(blocks, slackgo.NewHeaderBlock(plain(head), slackgo.HeaderBlockOptionBlockID("head")))
	for i, c := range cards {
		blocks = append(blocks, homeItem(c, i)...)
		text += "\n" + itoa(i+1) + ". " + escape(cutTo(line(c.Title, "(no title)"), maxTitle)) + " · " + escape(cutTo(templates.Asker(c), maxWho))
	}
	if more {
		blocks = append(blocks, contextBlock("foot", plain("There are more in the Home tab of this app.")))
		text += "\nThere are more in the Home tab of this app."
	}
	return remarkOf(blocks, cutEscaped(text, maxTopText)), nil
}
