package slack

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// note says something: a reminder, an ephemeral note, a line in a thread.
type noteCase struct {
	Text   string          `json:"text"`
	Blocks []slackgo.Block `json:"blocks"`
}

func TestGoldenNotes(t *testing.T) {
	late := hub.Outcome{
		Kind: hub.AlreadyResolved, Status: ma2h.Answered,
		Decision: &hub.Decision{Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: at(7, 52), Via: "email", Choice: "Hold for review"},
	}
	tests := []struct {
		name string
		make func() ([]slackgo.Block, string)
		want []string
	}{
		{"note-late", func() ([]slackgo.Block, string) { return renderOutcome(late, alice()) }, []string{"Bob Roy", "Hold for review", "15:52", "by e-mail", "changed nothing"}},
		{"note-refused", func() ([]slackgo.Block, string) {
			return renderOutcome(hub.Outcome{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, May: []string{"Alice Ng", "Bob Roy"}, MayTeam: "oncall"}, nil)
		}, []string{"oncall (Alice Ng, Bob Roy)"}},
		{"note-accepted", func() ([]slackgo.Block, string) {
			return renderOutcome(hub.Outcome{Kind: hub.Accepted, Verb: hub.VerbDecline}, alice())
		}, []string{"Recorded: declined"}},
		{"note-unclear", func() ([]slackgo.Block, string) { return renderUnclear(ask()) }, []string{"1, 2 or 3", "ship, hold, abort", "Nothing has been recorded"}},
		{"note-unclear-task", func() ([]slackgo.Block, string) { return renderUnclear(task()) }, []string{"done", "Nothing has been recorded"}},
		{"note-offer", func() ([]slackgo.Block, string) {
			what := (&inbound{}).offer(ask(), reply.Sentence(ask(), &reply.Reading{Why: reply.WhyNoChoice}), " look at <!channel> & the logs\n\nfirst ")
			return what.blocks, what.text
		}, []string{"1, 2 or 3", "Nothing has been recorded", "deploybot/dev-team", "“tell” on the first line"}},
		{"note-offer-long", func() ([]slackgo.Block, string) {
			what := (&inbound{}).offer(ask(), "No.", strings.Repeat("ü", maxTellValue+1))
			return what.blocks, what.text
		}, []string{"too long for a button", "“tell” on the first line"}},
		{"note-passed", func() ([]slackgo.Block, string) {
			return renderNote(templates.Direct(&hub.DirectOutcome{Kind: hub.Accepted, AgentID: "deploybot/dev-team"}))
		}, []string{"Passed on to deploybot/dev-team"}},
		{"note-link", func() ([]slackgo.Block, string) { return renderLink(ask(), "https://beckon.example.com/k/x?a=1&b=2") }, []string{"yours alone"}},
		{"note-hostile", func() ([]slackgo.Block, string) { return renderNote("<!channel> & <@U1> @here") }, []string{"<!channel>"}},
		{"note-empty", func() ([]slackgo.Block, string) { return renderNote(" ") }, []string{"nothing to say"}},
		{"remind-ask", func() ([]slackgo.Block, string) { return renderReminder(ask(), renderOptions{}) }, []string{"Still waiting", "Answer by", "then: Hold for review", "1, 2 or 3"}},
		{"remind-task", func() ([]slackgo.Block, string) { return renderReminder(task(), renderOptions{}) }, []string{"Still waiting", "No deadline"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(at(7, 55)))
				blocks, text := tt.make()
				if tt.name != "note-empty" {
					checkMessage(t, blocks, text)
				}
				golden(t, tt.name, noteCase{Text: text, Blocks: blocks})
				said := extract(marshal(t, blocks)).all()
				for _, w := range tt.want {
					if !strings.Contains(said, w) {
						t.Errorf("it does not say %q, but:\n%s", w, said)
					}
				}
			})
		})
	}
}

func TestPlain(t *testing.T) {
	tests := []struct {
		name string
		card *hub.Card
		want []string
		not  []string
	}{
		{"ask", ask(), []string{"Ship web-app 2.3", "deploybot/dev-team", "1. Ship to prod now", "Reply in the thread with 1, 2 or 3", "|Open the page>"}, []string{"Choose here"}},
		{"form", inputAsk(), []string{"open the page"}, nil},
		{"answered", cards()["answered"], []string{"✓ Hold for review", "Alice Ng", "by e-mail"}, []string{"Reply"}},
		{"hostile", with(ask(), func(c *hub.Card) { c.Title = "<!channel> <https://evil.example|bank> & @here" }), []string{"&lt;!channel&gt;", "&amp; @\u2060here"}, []string{"<!channel", "<https://evil"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := renderPlain(tt.card)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("it lacks %q:\n%s", w, got)
				}
			}
			for _, w := range tt.not {
				if strings.Contains(got, w) {
					t.Errorf("it holds %q:\n%s", w, got)
				}
			}
		})
	}
}

// Whatever was shown before, a message that has ended has no control left.
func TestEndedHasNoControls(t *testing.T) {
	for name, c := range cards() {
		blocks, _, _ := renderMessage(c, renderOptions{})
		controls := 0
		for _, b := range blocks {
			if b.BlockType() == slackgo.MBTAction {
				controls++
			}
		}
		open := c.Status == ma2h.Open && name != "ask-not-yours" && name != "ask-nobody" || name == "sensitive-notify"
		if open != (controls > 0) {
			t.Errorf("%s has %d rows of controls", name, controls)
		}
	}
}

func TestDestroys(t *testing.T) {
	tests := []struct {
		label, description string
		want               bool
	}{
		{"Drop the table", "", true},
		{"Go", "Deletes 812 rows for good.", true},
		{"Proceed", "This can’t be undone.", true},
		{"Force-push main", "", true},
		{"Delete, do not keep a backup", "", true},
		{"Wipe", "", true},
		{"Don't delete", "", false},
		{"Keep", "Nothing is deleted.", false},
		{"Abort the change", "Revert and close.", false},
		{"Ship to prod now", "Deploy immediately.", false},
		{"Dropbox upload", "", false},
		{"Not now", "Later. Deletes the branch.", true},
	}
	for _, tt := range tests {
		if got := destroys(hub.CardOption{Label: tt.label, Description: tt.description}); got != tt.want {
			t.Errorf("%q %q: got %v, want %v", tt.label, tt.description, got, tt.want)
		}
	}
}
