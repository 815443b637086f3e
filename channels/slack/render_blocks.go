package slack

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"beckon/hub"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// plain makes a plain_text object, which Slack shows as it stands: no mention,
// no link, no :emoji:. s must not be empty.
func plain(s string) *slackgo.TextBlockObject {
	off := false
	return &slackgo.TextBlockObject{Type: slackgo.PlainTextType, Text: s, Emoji: &off}
}

// mrkdwn makes a text object that Slack interprets. It is for the hub's own
// words, links and dates; verbatim keeps Slack from finding more in them.
func mrkdwn(s string) *slackgo.TextBlockObject {
	return &slackgo.TextBlockObject{Type: slackgo.MarkdownType, Text: s, Verbatim: true}
}

// escape makes s literal in mrkdwn and in a message's text. Beyond the three
// characters that Slack asks for it parts "@here" and its like, which
// chat.update might expand.
// https://docs.slack.dev/messaging/formatting-message-text#escaping
func escape(s string) string {
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '@')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i+1])
		s = s[i+1:]
		for _, word := range []string{"here", "channel", "everyone"} {
			if len(s) >= len(word) && strings.EqualFold(s[:len(word)], word) {
				b.WriteRune('\u2060')
				break
			}
		}
	}
}

// link writes a link of the hub's own; empty when there is no such URL.
func link(url, label string) string {
	href, _, ok := templates.SafeURL(url)
	if !ok || runeLen(href) > maxTextObject {
		return ""
	}
	return "<" + strings.ReplaceAll(safeTarget(href), "&", "&amp;") + "|" + escape(label) + ">"
}

// date writes a time that each reader sees by their own clock.
// Where a client can't, it is by the clock of the copy's reader, if it has one.
func date(t time.Time, reader *hub.Person) string {
	return "<!date^" + strconv.FormatInt(t.Unix(), 10) + "^" + dateFormat + "|" + escape(templates.Date(t, reader)) + ">"
}

// sentence writes pieces as mrkdwn.
func sentence(ps []templates.Piece, reader *hub.Person) string {
	var b strings.Builder
	for i, p := range ps {
		switch {
		case !p.At.IsZero():
			b.WriteString(date(p.At, reader))
		case p.Strong && i > 0 && !strings.HasSuffix(ps[i-1].Text, " "):
			b.WriteString(" " + escape(p.Text))
		default:
			b.WriteString(escape(p.Text))
		}
	}
	return b.String()
}

// line cleans agent text for one line and names it when nothing of it can be
// seen.
func line(s, otherwise string) string {
	s = templates.Line(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) {
		return otherwise
	}
	return s
}

// cutTo cuts to n runes.
func cutTo(s string, n int) string {
	s, _ = templates.Cut(s, n)
	return s
}

func button(a action, label string) *slackgo.ButtonBlockElement {
	return slackgo.NewButtonBlockElement(a.id(), "", plain(cutTo(label, maxButtonText)))
}

// context makes a context block of what is not nil, at most ten.
func contextBlock(id string, texts ...*slackgo.TextBlockObject) slackgo.Block {
	var els []slackgo.MixedElement
	for _, t := range texts {
		if t != nil && t.Text != "" && len(els) < 10 {
			els = append(els, t)
		}
	}
	if len(els) == 0 {
		return nil
	}
	return slackgo.NewContextBlock(id, els...)
}

// richBlock makes a rich_text block; nil when it would be empty.
func richBlock(id string, els []slackgo.RichTextElement) slackgo.Block {
	if len(els) == 0 {
		return nil
	}
	return slackgo.NewRichTextBlock(id, els...)
}

// join drops what is not there.
func join(blocks ...slackgo.Block) []slackgo.Block {
	var out []slackgo.Block
	for _, b := range blocks {
		if b != nil {
			out = append(out, b)
		}
	}
	return out
}
