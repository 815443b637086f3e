package web

import (
	"bytes"
	"fmt"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// Preview shows a message's page as somebody would see it who may answer: one
// HTML file that needs nothing else, whose forms lead nowhere.
func (c *Channel) Preview(card *hub.Card) (contentType string, body []byte, err error) {
	shown := *card
	shown.MayAnswer = card.Status == ma2h.Open && card.Type != ma2h.Notify
	css := c.set.CSS()
	body, err = c.set.Page("item", &templates.ItemPage{
		Page: templates.Page{CSS: css.Path}, Card: &shown, Action: "#", Steps: shown.Checklist,
		Fields: formFields(&shown, nil), Parts: parts(shown.Context, "#"),
	})
	if err != nil {
		return "", nil, fmt.Errorf("preview: %w", err)
	}
	link := fmt.Appendf(nil, `<link rel="stylesheet" href="%s">`, css.Path)
	style := append(append([]byte("<style>"), css.Body...), "</style>"...)
	return "text/html; charset=utf-8", bytes.Replace(body, link, style, 1), nil
}
