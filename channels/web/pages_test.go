package web_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// told is a desk with a history.
type told struct {
	*channeltest.Desk
	events []hub.Event
}

func (d told) History(context.Context, string, string) ([]hub.Event, error) { return d.events, nil }

// changingRE is what differs between two pages that say the same.
var changingRE = regexp.MustCompile(`(name="(?:csrf|nonce)" value="|/assets/web\.\w+\?v=)[\w-]+`)

// The whole of a page, for a handful of cards. In a bubble it is midnight of
// 1 January 2000, UTC, and 8:00 in Singapore.
func TestPagesGolden(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *hub.Card)
		events []string
	}{
		{"ask", nil, []string{"submitted", `{}`, "posted", `{"target":"web:alice"}`}},
		{"answered", func(c *hub.Card) {
			c.Status, c.MayAnswer = ma2h.Answered, false
			c.Decision = &hub.Decision{Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: time.Now().Add(-8 * time.Minute), Via: "email", Choice: "Hold for review", Option: 2, Comment: "Not before <lunch>."}
		}, []string{"submitted", `{}`, "late", `{"actor":"human:alice","via":"web"}`}},
		{"defaulted", func(c *hub.Card) {
			c.Status, c.MayAnswer = ma2h.Expired, false
			c.Decision = &hub.Decision{Resolution: ma2h.Expired, Actor: "system:default_on_expire", At: time.Now(), Via: "clock", Choice: "Hold for review", Option: 2, Defaulted: true}
		}, nil},
		{"form", func(c *hub.Card) {
			c.Mode, c.Options, c.OnExpire = ma2h.Input, nil, ""
			c.OnExpireValues = []hub.NamedValue{{Name: "n", Title: "Replicas", Text: "3"}}
			c.Fields = []hub.Field{
				{Name: "n", Title: "Replicas", Description: "How many.", Type: hub.FieldInteger, Minimum: "1", Maximum: "9", Required: true, Default: "3", HasDefault: true},
				{Name: "ok", Title: "Notify users", Type: hub.FieldBoolean},
				{Name: "at", Title: "Not before", Type: hub.FieldString, Format: "date-time", Default: "2000-01-02T09:00:30Z", HasDefault: true},
				{Name: "key", Title: "API key", Type: hub.FieldString, Sensitive: true, Default: "••••", HasDefault: true},
			}
		}, nil},
		{"task", func(c *hub.Card) {
			c.Type, c.Mode, c.Options, c.OnExpire, c.ExpiresAt = ma2h.Task, "", nil, "", time.Time{}
			c.Instructions, c.Verification = "Rotate *it*.", "The test event returns 200."
			c.Checklist = []ma2h.ChecklistItem{{Text: "Generate a new key", Done: true}, {Text: "Update prod"}}
		}, nil},
		{"reader", func(c *hub.Card) {
			c.MayAnswer, c.AskedTeam = false, "oncall"
			c.Context = []hub.CardPart{
				{Text: "one line"},
				{Data: []byte(`{"files":14,"risk":{"level":"medium","why":["migration","lock"]},"note":"","none":null}`)},
				{File: &ma2h.File{URI: "https://ci.example.com/d", Name: "diff.patch", MimeType: "text/x-diff"}},
			}
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				desk := told{Desk: channeltest.NewDesk(channeltest.Directory())}
				for i := 0; i+1 < len(tt.events); i += 2 {
					desk.events = append(desk.events, hub.Event{At: time.Now().Add(-time.Hour), Kind: tt.events[i], Content: []byte(tt.events[i+1])})
				}
				c := channeltest.Ask("msg_a")
				if tt.change != nil {
					tt.change(c)
				}
				desk.Put(c)
				base := desk.Directory().PublicURL
				v := newVisitor(t, web.New(hub.Section{}, desk), base)
				v.open(web.Link(desk.Keys(web.LinkKeys), base, channeltest.Reader, "", time.Now().Add(time.Hour)))
				golden(t, tt.name+".html", changingRE.ReplaceAllString(v.get("/i/msg_a").body, `$1…`))
			})
		})
	}
}

// golden compares with a file of testdata/pages, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "pages", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, d)
	}
}
