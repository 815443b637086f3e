package reply

import (
	"regexp"
	"strings"

	"beckon/hub"
)

// tell is the word that turns a reply into something for the agent: alone on the
// first line, or in front of the text with a colon.
var tell = regexp.MustCompile(`(?i)^tell(?: (?:it|the agent|agent))?\s*(?::\s*(.*)|)$`)

// ForAgent returns what a person wants said to the agent, when their text begins
// with "tell" and they may write to it. Nothing of such a text is an answer, even
// where a choice has that name: then it is the choice, and ForAgent says no.
func ForAgent(c *hub.Card, text string) (what string, ok bool) {
	if !c.MayDirect || c.Hidden || c.PageOnly {
		return "", false
	}
	lines := linesOf(text)
	if len(lines) == 0 {
		return "", false
	}
	m := tell.FindStringSubmatch(strings.TrimSpace(lines[0]))
	if m == nil {
		return "", false
	}
	if r := Read(c, text); r.Clear() {
		return "", false
	}
	what = strings.TrimSpace(m[1] + "\n" + strings.Join(lines[1:], "\n"))
	return what, what != ""
}
