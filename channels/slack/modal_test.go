package slack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
	slackgo "github.com/slack-go/slack"
)

func TestGoldenModals(t *testing.T) {
	from := origin{Channel: "C0DEPLOYS", TS: "1796099379.000200"}
	views := map[string]slackgo.ModalViewRequest{
		"modal-input":   askModal(inputAsk(), from),
		"modal-comment": askModal(ask(), from),
		"modal-select":  askModal(with(ask(), func(c *hub.Card) { c.Options = many(40) }), from),
		"modal-decline": declineModal(ask(), from),
		"modal-task":    askModal(with(task(), func(c *hub.Card) { c.Checklist = steps(12) }), from),
		"modal-cant":    declineModal(task(), from),
		"modal-link":    linkModal(ask(), "https://beckon.example.com/k/personal?a=1&b=2"),
		"modal-note":    noteModal("Recorded", "Recorded: Hold for review."),
		"modal-hostile": askModal(hostileForm(), from),
		"modal-big-enum": askModal(with(inputAsk(), func(c *hub.Card) {
			c.Fields = []hub.Field{{Name: "x", Type: hub.FieldString, Enum: values(120), Required: true, Default: "v7", HasDefault: true}}
		}), from),
	}
	for name, v := range views {
		t.Run(name, func(t *testing.T) {
			checkView(t, v)
			golden(t, name, v)
			if v.Submit == nil {
				return
			}
			o, ok := parseOrigin(v.PrivateMetadata)
			if !ok || o.MessageID == "" || o.Channel != "C0DEPLOYS" || o.TS != "1796099379.000200" {
				t.Errorf("origin came back as %+v, %v", o, ok)
			}
			a, ok := parseAction(v.CallbackID, "")
			if !ok || a.MessageID != o.MessageID {
				t.Errorf("callback_id %q says %+v, %v", v.CallbackID, a, ok)
			}
		})
	}
}

func values(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "v"+itoa(i))
	}
	return out
}

// hostileForm has proposals and limits that Slack would refuse as they are.
func hostileForm() *hub.Card {
	return with(inputAsk(), func(c *hub.Card) {
		c.Title = "<!channel> \u202Edlrow"
		c.Fields = []hub.Field{
			{Name: "a", Title: "<!here>", Description: strings.Repeat("d", 3000), Type: hub.FieldString, MinLength: 9, MaxLength: 5},
			{Name: "b", Title: "\u200B", Type: hub.FieldNumber, Minimum: "1e3", Maximum: "2E4", Default: "1e999", HasDefault: true},
			{Name: "c", Type: hub.FieldInteger, Minimum: "5", Maximum: "1", Default: "2.5", HasDefault: true},
			{Name: "d", Type: hub.FieldString, Format: "date", Default: "tomorrow", HasDefault: true},
			{Name: "e", Type: hub.FieldString, Format: "date-time", Default: "1970-01-01T00:00:00Z", HasDefault: true},
			{Name: "f", Type: hub.FieldString, Format: "email", Default: "nobody", HasDefault: true},
			{Name: "g", Type: hub.FieldString, Format: "uri", Default: "javascript:alert(1)", HasDefault: true},
			{Name: "h", Type: hub.FieldString, Enum: []string{"", "", strings.Repeat("x", 500)}, Required: true},
			{Name: "i", Type: hub.FieldString, MaxLength: 3, Default: "longer", HasDefault: true},
			{Name: "j", Type: hub.FieldString, MaxLength: 99999, MinLength: 3000},
			{Name: "k", Type: hub.FieldString, Format: "time", Pattern: "^[0-9:]+$"},
			{Name: "l", Type: hub.FieldInteger, Minimum: "5", Default: "2", HasDefault: true},
		}
	})
}

func TestFitsModal(t *testing.T) {
	field := func(f hub.Field) *hub.Card { return with(inputAsk(), func(c *hub.Card) { c.Fields = []hub.Field{f} }) }
	tests := []struct {
		name string
		card *hub.Card
		want bool
	}{
		{"form", inputAsk(), true},
		{"choice", ask(), true},
		{"task", task(), true},
		{"too many choices", with(ask(), func(c *hub.Card) { c.Options = many(101) }), false},
		{"as many choices as a select has", with(ask(), func(c *hub.Card) { c.Options = many(100) }), true},
		{"too many fields", with(inputAsk(), func(c *hub.Card) { c.Fields = make([]hub.Field, 91) }), false},
		{"a secret field", field(hub.Field{Name: "x", Type: hub.FieldString, Sensitive: true}), false},
		{"longer than an input takes", field(hub.Field{Name: "x", Type: hub.FieldString, MinLength: 3001}), false},
		{"a longer proposal", field(hub.Field{Name: "x", Type: hub.FieldString, Default: strings.Repeat("x", 3001), HasDefault: true}), false},
		{"a proposal that a picker can't show", field(hub.Field{Name: "x", Type: hub.FieldString, Format: "date", Default: "tomorrow", HasDefault: true}), false},
		{"a proposal that cleaning would change", field(hub.Field{Name: "x", Type: hub.FieldString, Default: "a\u202Eb", HasDefault: true}), false},
		{"sensitive", hidden(inputAsk()), false},
		{"a list beyond 250 KB", field(hub.Field{Name: "x", Type: hub.FieldString, Enum: values(5000)}), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fitsModal(tt.card); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// act is an input's value as Slack sends it.
func act(kind string, f func(a *slackgo.BlockAction)) map[string]slackgo.BlockAction {
	a := slackgo.BlockAction{Type: slackgo.ActionType(kind)}
	f(&a)
	return map[string]slackgo.BlockAction{"id": a}
}

func typed(s string) map[string]slackgo.BlockAction {
	return act("plain_text_input", func(a *slackgo.BlockAction) { a.Value = s })
}

func chosen(kind, v string) map[string]slackgo.BlockAction {
	return act(kind, func(a *slackgo.BlockAction) { a.SelectedOption.Value = v })
}

func TestReadForm(t *testing.T) {
	c := inputAsk()
	c.Reader = alice()
	got := readModal(c, viewValues{
		"f1": typed("Fixes two bugs."),
		"f2": chosen("radio_buttons", "1"),
		"f3": chosen("radio_buttons", "2"),
		"f4": act("number_input", func(a *slackgo.BlockAction) { a.Value = "12.5" }),
		"f5": act("number_input", func(*slackgo.BlockAction) {}),
		"f6": act("datepicker", func(a *slackgo.BlockAction) { a.SelectedDate = "2026-12-04" }),
		"f7": act("datetimepicker", func(a *slackgo.BlockAction) {
			a.SelectedDateTime = time.Date(2026, 12, 4, 1, 30, 0, 0, time.UTC).Unix()
		}),
		"f8":         act("email_text_input", func(a *slackgo.BlockAction) { a.Value = "b@example.com" }),
		"f10":        typed(""),
		"f99":        typed("no such field"),
		blockComment: typed("  ok \n"),
	})
	want := submission{
		Fields: map[string]string{
			"note": "Fixes two bugs.", "notify": "true", "level": "major", "share": "12.5", "batch": "", "on": "2026-12-04",
			"at": "2026-12-04T09:30:00+08:00", "mail": "b@example.com", "tag": "",
		},
		Comment: "ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What was not touched must come back as the agent proposed it: an ask may
// forbid edits.
func TestUntouchedTime(t *testing.T) {
	c := inputAsk()
	for _, proposed := range []string{"2026-12-03T09:00:00+08:00", "2026-12-03T01:00:42.5Z", "2026-12-03t01:00:00z"} {
		c.Fields[6].Default = proposed
		d, err := time.Parse(time.RFC3339, strings.ToUpper(proposed))
		if err != nil {
			t.Fatal(err)
		}
		got := readField(c, c.Fields[6], act("datetimepicker", func(a *slackgo.BlockAction) { a.SelectedDateTime = d.Truncate(time.Minute).Unix() })["id"])
		if proposed == strings.ToUpper(proposed) && got != proposed {
			t.Errorf("%s came back as %s", proposed, got)
		}
	}
}

func TestReadChoiceAndTask(t *testing.T) {
	got := readModal(ask(), viewValues{blockChoice: chosen("radio_buttons", "2"), blockComment: typed("because")})
	if diff := cmp.Diff(submission{Option: 2, Comment: "because"}, got); diff != "" {
		t.Errorf("choice (-want +got):\n%s", diff)
	}
	c := with(task(), func(c *hub.Card) { c.Checklist = steps(12) })
	got = readModal(c, viewValues{
		"checks1": act("checkboxes", func(a *slackgo.BlockAction) {
			a.SelectedOptions = []slackgo.OptionBlockObject{{Value: "2"}, {Value: "11"}}
		}),
		"checks11":  act("checkboxes", func(a *slackgo.BlockAction) { a.SelectedOptions = []slackgo.OptionBlockObject{{Value: "12"}} }),
		blockEnding: chosen("radio_buttons", endCant),
	})
	var done []int
	for i, item := range got.Checklist {
		if item.Done {
			done = append(done, i+1)
		}
	}
	if diff := cmp.Diff([]int{2, 12}, done); diff != "" || !got.Dismiss || len(got.Checklist) != 12 {
		t.Errorf("dismiss %v, done items (-want +got):\n%s", got.Dismiss, diff)
	}
	if !c.Checklist[3].Done {
		t.Error("the card's own list was changed")
	}
}

func TestTickChecklist(t *testing.T) {
	c := with(task(), func(c *hub.Card) { c.Checklist = steps(12) }) // 4, 8 and 12 are done
	tests := []struct {
		name     string
		first    int
		selected []string
		want     []int
	}{
		{"tick", 1, []string{"1", "4", "8"}, []int{1, 4, 8, 12}},
		{"untick all of a group", 1, nil, []int{12}},
		{"second group", 11, []string{"11"}, []int{4, 8, 11}},
		{"values of another group", 11, []string{"1", "x", "13", "-1"}, []int{4, 8}},
		{"no such group", 21, []string{"21"}, nil},
		{"not a group's first", 2, []string{"2"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []int
			for i, item := range tickChecklist(c, tt.first, tt.selected) {
				if item.Text != c.Checklist[i].Text {
					t.Errorf("item %d has another text", i+1)
				}
				if item.Done {
					got = append(got, i+1)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestModalErrors(t *testing.T) {
	tests := []struct {
		name string
		card *hub.Card
		errs []hub.FieldError
		want map[string]string
	}{
		{"field", inputAsk(), []hub.FieldError{{Field: "share", Msg: "must be 0.5 or more"}}, map[string]string{"f4": "Must be 0.5 or more"}},
		{"unknown field", inputAsk(), []hub.FieldError{{Field: "x", Msg: "is not a field"}}, map[string]string{"comment": "X: is not a field"}},
		{"two at one place", inputAsk(), []hub.FieldError{{Field: "value", Msg: "a"}, {Field: "comment", Msg: "b"}}, map[string]string{"comment": "A; B"}},
		{"choice", ask(), []hub.FieldError{{Field: "value", Msg: "is not one of the options"}}, map[string]string{"choice": "Is not one of the options"}},
		{"checklist", task(), []hub.FieldError{{Field: "checklist", Msg: "has 1 item"}}, map[string]string{"checks1": "Has 1 item"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := modalErrors(tt.card, tt.errs)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			view := askModal(tt.card, origin{})
			for id := range got {
				if !hasInput(view.Blocks.BlockSet, id) {
					t.Errorf("the view has no input %q", id)
				}
			}
		})
	}
}

func hasInput(blocks []slackgo.Block, id string) bool {
	for _, b := range blocks {
		if b.BlockType() == slackgo.MBTInput && b.ID() == id {
			return true
		}
	}
	return false
}

// A view_submission as Slack sends it is read.
func TestReadSample(t *testing.T) {
	dir := os.Getenv("BECKON_SHARED")
	if dir == "" {
		t.Skip("BECKON_SHARED is not set: no samples of what Slack sends")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "data", "slack-samples", "view_submission.json"))
	if err != nil {
		t.Fatal(err)
	}
	var in slackgo.InteractionCallback
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Fatal(err)
	}
	types := 0
	for _, actions := range in.View.State.Values {
		for _, a := range actions {
			if a.Type != "" {
				types++
			}
			readField(inputAsk(), inputAsk().Fields[0], a)
		}
	}
	if types == 0 {
		t.Error("no value has a type, which readField goes by")
	}
}

func TestHome(t *testing.T) {
	list := func(n int) []*hub.Card {
		var out []*hub.Card
		for i := range n {
			c := with(ask(), func(c *hub.Card) { c.MessageID, c.Reader, c.MayAnswer = "msg_"+itoa(i), alice(), true })
			switch i % 4 {
			case 1:
				c = hidden(c)
			case 2:
				c.Type, c.Mode, c.Options, c.Title = ma2h.Task, "", nil, strings.Repeat("A long task ", 20)
			}
			out = append(out, c)
		}
		return out
	}
	tests := []struct {
		name  string
		cards []*hub.Card
		o     homeOptions
		want  []string
	}{
		{"home-0", nil, homeOptions{Link: "https://beckon.example.com/"}, []string{"Nothing is waiting for you"}},
		{"home-3", list(3), homeOptions{Link: "https://beckon.example.com/"}, []string{"Waiting for you", "Open", "Answer"}},
		{"home-50", list(50), homeOptions{Link: "https://beckon.example.com/", Paged: true}, []string{"Newest", "More"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := homeView(tt.cards, tt.o)
			checkView(t, v)
			golden(t, tt.name, v)
			if n := len(v.Blocks.BlockSet); n > maxHomeBlocks {
				t.Errorf("%d blocks, want at most %d", n, maxHomeBlocks)
			}
			for _, b := range v.Blocks.BlockSet {
				switch b := b.(type) {
				case *slackgo.ActionBlock:
					for _, e := range b.Elements.ElementSet {
						checkHomeAction(t, e.(*slackgo.ButtonBlockElement).ActionID)
					}
				case *slackgo.SectionBlock:
					checkHomeAction(t, b.Accessory.ButtonElement.ActionID)
				}
			}
			said := extract(marshal(t, v)).all()
			for _, w := range tt.want {
				if !strings.Contains(said, w) {
					t.Errorf("it does not say %q", w)
				}
			}
		})
	}
}

func checkHomeAction(t *testing.T, id string) {
	t.Helper()
	if _, ok := parseAction(id, ""); !ok {
		t.Errorf("the control %q can't be read", id)
	}
}
