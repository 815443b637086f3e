package slack

import (
	"bytes"
	"encoding/json"
	"fmt"

	"beckon/hub"

	slackgo "github.com/slack-go/slack"
)

// preview is what a message looks like, in Slack's own form: it may be pasted
// into the Block Kit Builder.
type preview struct {
	Text   string          `json:"text"`
	Blocks []slackgo.Block `json:"blocks"`
	Cut    []string        `json:"cut,omitempty"`
}

// Preview lays out a card as the message that would be posted, as JSON.
func Preview(c *hub.Card) (contentType string, body []byte, err error) {
	blocks, text, cut := renderMessage(c, renderOptions{Rev: "preview"})
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(preview{Text: text, Blocks: blocks, Cut: cut}); err != nil {
		return "", nil, fmt.Errorf("preview of %s: %w", c.MessageID, err)
	}
	return "application/json", b.Bytes(), nil
}
