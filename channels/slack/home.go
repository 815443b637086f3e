package slack

import (
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// homeItems is how many messages a Home tab shows at once: three blocks each,
// within 100 blocks. https://docs.slack.dev/surfaces/app-home
const homeItems = 30

// homeOptions are what the cards do not know.
type homeOptions struct {
	Link  string // of the person's list on the page, without credential; may be empty
	More  bool   // there are more after these cards
	Paged bool   // these are not the first
}

// homeView is a person's inbox: what waits for them, newest first, each with a
// way to answer. More than [homeItems] cards make a further page.
func homeView(cards []*hub.Card, o homeOptions) slackgo.HomeTabViewRequest {
	more := o.More || len(cards) > homeItems
	if len(cards) > homeItems {
		cards = cards[:homeItems]
	}
	head := "Waiting for you"
	if len(cards) == 0 {
		head = "Nothing is waiting for you"
	}
	blocks := []slackgo.Block{slackgo.NewHeaderBlock(plain(head), slackgo.HeaderBlockOptionBlockID("head"))}
	for i, c := range cards {
		blocks = append(blocks, homeItem(c, i)...)
	}
	var nav []slackgo.BlockElement
	if o.Paged {
		nav = append(nav, button(action{Kind: kindHome}, "Newest"))
	}
	if more && len(cards) > 0 {
		nav = append(nav, button(action{Kind: kindHome, MessageID: cards[len(cards)-1].MessageID}, "More"))
	}
	if len(nav) > 0 {
		blocks = append(blocks, slackgo.NewActionBlock("nav", nav...))
	}
	foot := "What was decided lately is on the page."
	if l := link(o.Link, "page"); l != "" {
		foot = "What was decided lately is on the " + l + "."
	}
	blocks = append(blocks, contextBlock("foot", mrkdwn(foot)))
	return slackgo.HomeTabViewRequest{Type: slackgo.VTHomeTab, CallbackID: actionVersion + ":home", Blocks: slackgo.Blocks{BlockSet: blocks}}
}

// homeItem is one message: title and button, who asks and until when, a line.
func homeItem(c *hub.Card, i int) []slackgo.Block {
	id := func(name string) string { return name + itoa(i+1) }
	title := slackgo.NewSectionBlock(plain(cutTo(line(c.Title, "(no title)"), maxTitle)), nil, nil, slackgo.SectionBlockOptionBlockID(id("title")))
	if b := homeButton(c); b != nil {
		title.Accessory = slackgo.NewAccessory(b)
	}
	r := &renderer{c: c, b: newBudget(maxTotal)}
	who := r.who(templates.Limit(c)).(*slackgo.ContextBlock)
	who.BlockID = id("who")
	d := slackgo.NewDividerBlock()
	d.BlockID = id("line")
	return []slackgo.Block{title, who, d}
}

func homeButton(c *hub.Card) *slackgo.ButtonBlockElement {
	switch {
	case c.Status != ma2h.Open, c.Hidden, c.PageOnly, !c.MayAnswer, !c.CanAnswer, !fitsModal(c):
		return button(action{Kind: kindOpen, MessageID: c.MessageID}, "Open")
	}
	return button(action{Kind: kindForm, MessageID: c.MessageID}, "Answer")
}
