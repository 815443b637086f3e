package web_test

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/web"
	"beckon/hub"
)

var ownScript = regexp.MustCompile(`<script src="/assets/web\.js\?v=[\w-]+" defer></script>`)

func TestConformance(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, func(t *testing.T, desk *channeltest.Desk) channeltest.Bench {
		ch := web.New(hub.Section{}, desk)
		base := desk.Directory().PublicURL
		v := newVisitor(t, ch, base)
		v.open(web.Link(desk.Keys(web.LinkKeys), base, channeltest.Reader, "", time.Now().Add(time.Hour)))
		return channeltest.Bench{
			Channel: ch, Target: hub.Target{Channel: web.Name, Person: channeltest.Reader}, Live: true,
			Copies: func(t *testing.T, id string) int {
				return strings.Count(v.get("/").body, `href="/i/`+id+`"`)
			},
			Read: func(t *testing.T, id string) channeltest.Seen {
				page := v.get("/i/" + id).body
				// The page's own script is no agent's.
				return channeltest.Seen{Text: textOf(page), Raw: ownScript.ReplaceAllString(page, "")}
			},
			Answer: func(t *testing.T, id string, option int) string {
				return v.send(id, "answer", url.Values{"option": {strconv.Itoa(option)}}).text()
			},
			Secrets: []string{v.cookies[0].Value},
		}
	})
}
