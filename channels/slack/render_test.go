package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
	slackgo "github.com/slack-go/slack"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Fixed times: nothing that is rendered depends on the clock.
func at(hour, minute int) time.Time { return time.Date(2026, 12, 1, hour, minute, 0, 0, time.UTC) }

func alice() *hub.Person {
	return &hub.Person{ID: "alice", Name: "Alice Ng", Slack: "U0ALICE", Location: time.FixedZone("Asia/Singapore", 8*3600)}
}

// ask is an open ask in a shared place.
func ask() *hub.Card {
	return &hub.Card{
		MessageID: "msg_01JE3ZK7Q8", ReviewURL: "https://beckon.example.com/i/msg_01JE3ZK7Q8", Type: ma2h.Ask, Status: ma2h.Open, Mode: ma2h.Select,
		Title: "Ship web-app 2.3 to production?", Priority: ma2h.High, Tags: []string{"deploy", "web"},
		Body:    "All checks passed. One migration adds an index on `orders` (about 40 s of lock).",
		AgentID: "deploybot/dev-team", Project: "web-app", RunID: "run_812", Runtime: "github-actions",
		AcceptedAt: at(7, 50), ExpiresAt: at(10, 0), OnExpire: "Hold for review",
		Options: []hub.CardOption{
			{N: 1, Value: "ship", Label: "Ship to prod now", Description: "Deploy immediately."},
			{N: 2, Value: "hold", Label: "Hold for review", Description: "Wait for a human PR review.", Default: true},
			{N: 3, Value: "abort", Label: "Abort the change", Description: "Revert and close."},
		},
		Context: []hub.CardPart{
			{File: &ma2h.File{URI: "https://ci.example.com/812/diff.patch", Name: "diff.patch", MimeType: "text/x-diff"}},
			{Data: []byte(`{"files":14,"tests":812,"risk":"medium"}`)},
			{Text: "The last deploy was yesterday.\nNo incident since."},
		},
		CanAnswer: true, CanDecline: true, AskedOf: []string{"Alice Ng", "Bob Roy"}, AskedTeam: "oncall",
	}
}

func with(c *hub.Card, f func(c *hub.Card)) *hub.Card {
	f(c)
	return c
}

func many(n int) []hub.CardOption {
	var out []hub.CardOption
	for i := 1; i <= n; i++ {
		out = append(out, hub.CardOption{N: i, Value: "v" + itoa(i), Label: "Cluster " + itoa(i)})
	}
	return out
}

func confirmAsk() *hub.Card {
	return with(ask(), func(c *hub.Card) {
		c.Mode, c.Context, c.Body = ma2h.Confirm, nil, ""
		c.OnExpire, c.ExpiresAt = "", time.Time{}
		c.Options = []hub.CardOption{{N: 1, Value: "approve", Label: "Approve"}, {N: 2, Value: "deny", Label: "Deny"}}
	})
}

func inputAsk() *hub.Card {
	return with(ask(), func(c *hub.Card) {
		c.Mode, c.Options, c.OnExpire, c.Context = ma2h.Input, nil, "", nil
		c.Title = "What goes into the release note?"
		c.OnExpireValues = []hub.NamedValue{{Name: "note", Title: "Release note", Text: "Fixes."}, {Name: "notify", Title: "Notify users", Text: "no"}}
		c.Fields = []hub.Field{
			{Name: "note", Title: "Release note", Description: "One paragraph.", Type: hub.FieldString, Required: true, MinLength: 3, MaxLength: 2000, Default: "Fixes.", HasDefault: true},
			{Name: "notify", Title: "Notify users", Type: hub.FieldBoolean, Required: true, Default: "false", HasDefault: true},
			{Name: "level", Title: "Level", Type: hub.FieldString, Enum: []string{"minor", "major"}, EnumNames: []string{"Minor change", "Major change"}},
			{Name: "share", Title: "Share of users", Type: hub.FieldNumber, Minimum: "0.5", Maximum: "100", Default: "10", HasDefault: true},
			{Name: "batch", Title: "Batch", Type: hub.FieldInteger, Minimum: "1"},
			{Name: "on", Title: "Day", Type: hub.FieldString, Format: "date", Default: "2026-12-03", HasDefault: true},
			{Name: "at", Title: "Time", Type: hub.FieldString, Format: "date-time", Default: "2026-12-03T09:00:00+08:00", HasDefault: true},
			{Name: "mail", Title: "Contact", Type: hub.FieldString, Format: "email", Default: "a@example.com", HasDefault: true},
			{Name: "link", Title: "Changelog", Type: hub.FieldString, Format: "uri", Default: "https://example.com/c", HasDefault: true},
			{Name: "tag", Title: "Tag", Type: hub.FieldString, Pattern: "^v[0-9]+$", MaxLength: 12},
		}
	})
}

func task() *hub.Card {
	return with(ask(), func(c *hub.Card) {
		c.Type, c.Mode, c.Options, c.Context, c.Body, c.OnExpire, c.ExpiresAt = ma2h.Task, "", nil, nil, "", "", time.Time{}
		c.Title, c.AgentID, c.Project, c.Priority, c.Tags = "Rotate API_SIGNING_KEY in the prod vault", "keybot", "platform", ma2h.Normal, nil
		c.Instructions = "The key is **90 days** old.\n\n1. Make a new one\n2. Store it:\n\n   ```sh\n   vault kv put prod/api key=@new.pem\n   ```\n3. Restart"
		c.Checklist = []ma2h.ChecklistItem{{Text: "Generate a new key in the secret manager", Done: true}, {Text: "Update prod secret"}}
		c.Verification = "webhook test event returns 200 with a valid signature."
	})
}

func note() *hub.Card {
	return with(ask(), func(c *hub.Card) {
		c.Type, c.Status, c.Mode, c.Options, c.ExpiresAt, c.OnExpire, c.AskedOf = ma2h.Notify, ma2h.Delivered, "", nil, time.Time{}, "", nil
		c.Title, c.CanAnswer, c.CanDecline = "Nightly backup is done", false, false
		c.Body = "# Backup\n\n| table | rows |\n|---|---|\n| orders | 812 |\n| users | 14 |\n\nSee [the log](https://ci.example.com/log), ![graph](https://ci.example.com/g.png)."
		c.Context = append(c.Context, hub.CardPart{File: &ma2h.File{URI: "javascript:alert(1)", Name: "evil"}}, hub.CardPart{Text: strings.Repeat("a long log line\n", 100)})
	})
}

func ended(c *hub.Card, d hub.Decision) *hub.Card {
	c.Status, c.Decision = d.Resolution, &d
	return c
}

// cards are every state of a message that a copy may show.
func cards() map[string]*hub.Card {
	answered := hub.Decision{
		Resolution: ma2h.Answered, Actor: "human:alice", ActorName: "Alice Ng", At: at(7, 52), Via: "email", Choice: "Hold for review", Option: 2,
		Comment: "Let's get a human eye on the migration first.",
	}
	long := answered
	long.Comment = strings.Repeat("There is a lot to say about it. ", 200)
	return map[string]*hub.Card{
		"ask-select-3":    ask(),
		"ask-select-8":    with(ask(), func(c *hub.Card) { c.Options = many(8) }),
		"ask-select-150":  with(ask(), func(c *hub.Card) { c.Options = many(150) }),
		"ask-select-long": with(ask(), func(c *hub.Card) { c.Options[0].Label = strings.Repeat("A long label ", 9) }),
		"ask-confirm":     confirmAsk(),
		"ask-destroy": with(confirmAsk(), func(c *hub.Card) {
			c.Options[0] = hub.CardOption{N: 1, Value: "drop", Label: "Drop the table", Description: "Deletes 812 rows."}
		}),
		"ask-input":        inputAsk(),
		"ask-not-yours":    with(ask(), func(c *hub.Card) { c.Reader = alice(); c.AskedOf = []string{"Bob Roy"}; c.AskedTeam = "" }),
		"ask-nobody":       with(ask(), func(c *hub.Card) { c.AskedOf, c.AskedTeam = nil, "" }),
		"ask-secret-field": with(inputAsk(), func(c *hub.Card) { c.PageOnly = true; c.Fields[0].Sensitive = true }),
		"ask-dm-secret":    with(inputAsk(), func(c *hub.Card) { c.PageOnly, c.Reader, c.MayAnswer = true, alice(), true }),
		"task":             task(),
		"task-25":          with(task(), func(c *hub.Card) { c.Checklist = steps(25) }),
		"notify":           note(),
		"sensitive":        hidden(ask()),
		"sensitive-notify": hidden(note()),
		"masked":           with(ask(), func(c *hub.Card) { c.Body = "The token is ••••."; c.Masked = 2 }),
		"answered":         ended(ask(), answered),
		"answered-input": ended(inputAsk(), hub.Decision{
			Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: at(8, 1), Via: "slack", Edited: true,
			Values: []hub.NamedValue{{Name: "note", Title: "Release note", Text: "Fixes two bugs."}, {Name: "notify", Title: "Notify users", Text: "yes"}},
		}),
		"answered-got": track(ended(ask(), answered), hub.Track{State: hub.TrackDelivered, DeliveredAt: at(7, 53)}),
		"answered-acked": track(ended(with(ask(), func(c *hub.Card) { c.Reader = alice() }), long), hub.Track{
			State: hub.TrackAcked, DeliveredAt: at(7, 53), AckedAt: at(7, 54), AckNote: "Held <!channel> & *told* ops.\n<https://evil.example|ok>",
		}),
		"answered-lost": track(ended(ask(), answered), hub.Track{State: hub.TrackExpired, ExpiredAt: at(9, 0)}),
		"answered-new":  track(ended(ask(), answered), hub.Track{}),
		"declined":      ended(ask(), hub.Decision{Resolution: ma2h.Declined, Actor: "human:alice", ActorName: "Alice Ng", At: at(7, 52), Via: "web", Comment: "Not my call.\nAsk Bob."}),
		"expired":       ended(ask(), hub.Decision{Resolution: ma2h.Expired, Actor: "system:default_on_expire", At: at(10, 0), Via: "clock", Choice: "Hold for review", Option: 2, Defaulted: true}),
		"cancelled":     ended(ask(), hub.Decision{Resolution: ma2h.Cancelled, Actor: "agent:deploybot/dev-team", ActorName: "deploybot/dev-team", At: at(7, 40), Via: "api"}),
		"completed":     ended(task(), hub.Decision{Resolution: ma2h.Completed, Actor: "human:alice", ActorName: "Alice Ng", At: at(9, 5), Via: "slack", Checklist: task().Checklist}),
		"dismissed":     ended(task(), hub.Decision{Resolution: ma2h.Dismissed, Actor: "human:alice", ActorName: "Alice Ng", At: at(9, 5), Via: "slack", Comment: "No access."}),
	}
}

func track(c *hub.Card, t hub.Track) *hub.Card {
	c.Track = &t
	return c
}

func steps(n int) []ma2h.ChecklistItem {
	var out []ma2h.ChecklistItem
	for i := 1; i <= n; i++ {
		out = append(out, ma2h.ChecklistItem{Text: "Step " + itoa(i) + strings.Repeat(" and so on", i%9), Done: i%4 == 0})
	}
	return out
}

// hidden is how the hub exports a sensitive message: title and link.
func hidden(c *hub.Card) *hub.Card {
	c.Hidden, c.PageOnly = true, true
	c.Body, c.Context, c.Options, c.Tags, c.OnExpire = "", nil, nil, nil, ""
	return c
}

func TestGoldenCards(t *testing.T) {
	for name, c := range cards() {
		t.Run(name, func(t *testing.T) {
			o := renderOptions{Rev: "dlv1.1"}
			if c.Reader != nil {
				o.Link = "https://beckon.example.com/k/personal"
			}
			blocks, text, cut := renderMessage(c, o)
			checkMessage(t, blocks, text)
			golden(t, name, preview{Text: text, Blocks: blocks, Cut: cut})
		})
	}
}

// checkMessage holds a message against Slack's limits, ours, and the rule that
// mrkdwn holds the hub's own words only.
func checkMessage(t testing.TB, blocks []slackgo.Block, text string) {
	t.Helper()
	raw := marshal(t, map[string]any{"channel": "C1", "text": text, "blocks": blocks})
	for _, p := range fakeslack.ValidateMessage(raw) {
		t.Errorf("Slack would refuse it: %s", p)
	}
	for _, p := range fakeslack.ValidateUpdate(raw) {
		t.Errorf("Slack would refuse the update: %s", p)
	}
	if text == "" {
		t.Error("there is no text for notifications")
	}
	said := extract(marshal(t, blocks))
	if n := runeLen(said.all()); n > maxTotal {
		t.Errorf("%d characters in all, want at most %d", n, maxTotal)
	}
	ids := map[string]bool{}
	for _, b := range blocks {
		if b.ID() == "" || ids[b.ID()] {
			t.Errorf("block_id %q is empty or comes twice", b.ID())
		}
		ids[b.ID()] = true
	}
}

func checkView(t testing.TB, view any) {
	t.Helper()
	for _, p := range fakeslack.ValidateView(marshal(t, view)) {
		t.Errorf("Slack would refuse it: %s", p)
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	got := marshal(t, v)
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// said is the text of blocks as people read it, by how Slack treats it.
type said struct {
	literal []string // plain_text and rich_text
	mrkdwn  []string
}

func (s said) all() string {
	return strings.Join(s.literal, "\n") + "\n" + strings.Join(s.mrkdwn, "\n")
}

// extract collects every text of a JSON tree of blocks. The runs of one
// rich_text section make one text.
func extract(raw []byte) said {
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(err)
	}
	var s said
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			text, isText := v["text"].(string)
			switch v["type"] {
			case "mrkdwn":
				s.mrkdwn = append(s.mrkdwn, text)
				return
			case "plain_text":
				s.literal = append(s.literal, text)
				return
			case "rich_text_section", "rich_text_quote", "rich_text_preformatted":
				var b strings.Builder
				for _, e := range v["elements"].([]any) {
					run := e.(map[string]any)
					if t, ok := run["text"].(string); ok {
						b.WriteString(t)
					}
					if t, ok := run["fallback"].(string); ok {
						b.WriteString(t)
					}
				}
				s.literal = append(s.literal, b.String())
				return
			}
			if isText {
				s.literal = append(s.literal, text)
			}
			for _, k := range []string{"text", "title", "submit", "close", "blocks", "elements", "element", "accessory", "label", "hint", "options", "option_groups", "description", "placeholder", "confirm", "deny", "initial_value"} {
				if e, ok := v[k]; ok {
					if str, ok := e.(string); ok && k == "initial_value" {
						s.literal = append(s.literal, str)
					} else if !ok {
						walk(e)
					}
				}
			}
		}
	}
	walk(tree)
	return s
}
