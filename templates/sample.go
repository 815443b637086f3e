package templates

import (
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// Samples returns filled data for every page, by template name. [New] runs the
// templates with it, and whoever writes one may look at what there is to show.
func Samples() map[string][]any {
	who := &hub.Person{ID: "alice", Name: "Alice Ng", Email: "alice@example.com", Location: time.UTC}
	live := Live{Self: "/", Watch: "/watch", Revision: "1", Now: time.Now()}
	page := Page{CSS: "/assets/web.css", JS: "/assets/web.js", Live: live, Person: who, Whole: true, CSRF: "csrf", SignOut: "/signout"}
	var items []any
	for _, c := range sampleCards(who) {
		p := &ItemPage{
			Page: page, Card: c, Nonce: "nonce", Action: "/i/" + c.MessageID,
			Notice: &Notice{Text: "Nothing has been recorded yet.", Mend: []Link{{Label: "T: is missing", Href: "#f1"}}}, Steps: c.Checklist,
			Comment: "typed", Reason: "typed", Lost: "typed", ExpandDecline: true,
			Tell:    &TellForm{Agent: "deploybot/dev-team", Seen: "seen just now", Text: "typed", Error: "is too long"},
			Errors:  map[string]string{"comment": "is too long", "value": "is missing", "checklist": "has another length"},
			History: []HistoryLine{{At: c.AcceptedAt, Text: "submitted"}},
			Parts: []Part{
				{Text: "text", Cut: true, Raw: "/i/msg_1/part/1", Fold: true, Summary: "text", Lines: 1},
				DataPart([]byte(`{"files":14,"risk":{"level":"medium","flags":["a","b"]}}`)),
				{File: &FileLink{Name: "diff.patch", Type: "text/x-diff", Href: "https://example.com/d", Host: "example.com"}},
				{File: &FileLink{Name: "local"}},
			},
		}
		for _, control := range []string{"text", "area", "password", "number", "date", "datetime", "email", "url", "radio", "select"} {
			p.Fields = append(p.Fields, FormField{
				Field: hub.Field{Name: "n", Title: "T", Description: "D", Type: hub.FieldString, MinLength: 2, Sensitive: control == "password"},
				ID:    "f1", Name: "f1", Control: control, Hint: "at most 9 characters", Error: "is missing", Zone: "UTC",
				Choices: []Choice{{Value: "a", Label: "A", Chosen: true}},
			})
		}
		items = append(items, p)
	}
	cards := sampleCards(who)
	problems := make([]any, 0, len(ProblemKinds()))
	for _, k := range ProblemKinds() {
		problems = append(problems, &ProblemPage{Page: page, Kind: k})
	}
	return map[string][]any{
		"item":    items,
		"list":    sampleLists(page, cards),
		"signin":  sampleSignIns(page),
		"tell":    sampleTells(page),
		"problem": problems,
	}
}

func sampleTells(page Page) []any {
	return []any{
		&TellPage{Page: page},
		&TellPage{
			Page: page, Nonce: "nonce", Notice: &Notice{Good: true, Text: "Passed on."}, Form: TellForm{Text: "typed", Error: "is too long"}, More: "/tell?before=dir_1",
			Agents: []TellAgent{{ID: "deploybot/dev-team", Seen: "seen just now", Chosen: true}, {ID: "other/bot", Seen: "not seen yet"}},
			Sent:   []TellLine{{At: time.Now(), Agent: "deploybot/dev-team", Title: "Wait", Body: "for the tests", State: "waits for the agent"}},
		},
	}
}

func sampleLists(page Page, cards []*hub.Card) []any {
	filter := []Filter{{Name: "agent", Label: "Agent", Choices: []Choice{{Label: "Any"}, {Value: "a", Label: "a", Chosen: true}}}}
	var out []any
	for _, show := range Shows() {
		out = append(out, &ListPage{
			Page: page, Show: show, Tabs: []Link{{Label: "Waiting", Href: "/", Current: true}}, Filters: filter, Filtered: true, Clear: "/", Paged: true, MayTell: true,
			Sections: []Section{{Kind: "open", Rows: cards[:2], More: "/?before=msg_1"}, {Kind: "past", Rows: cards[2:], More: "/?past=msg_1", Looked: 1000}},
		})
		for _, kind := range []string{"open", "others", "past", "answered", "all"} {
			out = append(out, &ListPage{Page: page, Show: show, Sections: []Section{{Kind: kind}}})
		}
	}
	return out
}

func sampleCards(who *hub.Person) []*hub.Card {
	base := hub.Card{
		MessageID: "msg_1", ReviewURL: "https://beckon.example.com/i/msg_1", Type: ma2h.Ask, Status: ma2h.Open,
		Title: "Ship web-app 2.3 to production?", Body: "All checks passed.", Priority: ma2h.High, Tags: []string{"deploy"},
		AgentID: "deploybot/dev-team", Project: "web-app", RunID: "run_1", Runtime: "cli",
		AcceptedAt: time.Now().Add(-time.Hour), ExpiresAt: time.Now().Add(time.Hour), OnExpire: "Hold for review",
		MayAnswer: true, CanAnswer: true, CanDecline: true, Masked: 1, Reader: who, AskedOf: []string{"Alice Ng", "Bob Roy"},
	}
	sel := base
	sel.Mode = ma2h.Select
	sel.Options = []hub.CardOption{
		{N: 1, Value: "ship", Label: "Ship to prod now", Description: "Deploy immediately."},
		{N: 2, Value: "hold", Label: "Hold for review", Description: "Wait for a human PR review.", Default: true},
	}
	input := base
	input.Mode = ma2h.Input
	watch := sel
	watch.MayAnswer = false
	task := base
	task.Type, task.Mode = ma2h.Task, ""
	task.Instructions, task.Verification = "Rotate it.", "The test event returns 200."
	task.Checklist = []ma2h.ChecklistItem{{Text: "Generate a new key", Done: true}, {Text: "Update prod secret"}}
	done := task
	done.Status = ma2h.Completed
	done.Decision = &hub.Decision{
		Resolution: ma2h.Completed, Actor: who.Actor(), ActorName: who.Name, At: time.Now(), Via: "web",
		Comment: "done", Checklist: task.Checklist, Values: []hub.NamedValue{{Name: "n", Title: "T", Text: "x"}},
	}
	held := sel
	held.Status = ma2h.Answered
	held.Decision = &hub.Decision{
		Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: time.Now(), Via: "email",
		Choice: "Hold for review", Option: 2, Comment: "Let's get a human eye on the migration first.",
	}
	note := base
	note.Type, note.Status, note.Mode, note.Hidden = ma2h.Notify, ma2h.Delivered, "", true
	return []*hub.Card{&sel, &input, &watch, &task, &done, &held, &note}
}
