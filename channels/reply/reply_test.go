package reply

import (
	"strings"
	"testing"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

func selectOf(pairs ...string) *hub.Card {
	c := &hub.Card{Type: ma2h.Ask, Mode: ma2h.Select, Status: ma2h.Open, AgentID: "deploybot/dev-team", Project: "web-app", CanAnswer: true, CanDecline: true}
	for i := 0; i < len(pairs); i += 2 {
		c.Options = append(c.Options, hub.CardOption{N: i/2 + 1, Value: pairs[i], Label: pairs[i+1]})
	}
	return c
}

func confirmOf(pairs ...string) *hub.Card {
	if pairs == nil {
		pairs = []string{"approve", "Approve", "deny", "Deny"}
	}
	c := selectOf(pairs...)
	c.Mode = ma2h.Confirm
	return c
}

func inputOf(fields ...hub.Field) *hub.Card {
	c := selectOf()
	c.Mode, c.Fields = ma2h.Input, fields
	for i := range c.Fields {
		if c.Fields[i].Title == "" {
			c.Fields[i].Title = c.Fields[i].Name
		}
	}
	return c
}

func taskCard() *hub.Card {
	return &hub.Card{Type: ma2h.Task, Status: ma2h.Open, AgentID: "keybot", CanAnswer: true, CanDecline: true}
}

func shipCard() *hub.Card {
	c := selectOf("ship", "Ship to prod now", "hold", "Hold for review", "abort", "Abort the change")
	c.Options[1].Description = "Wait for a human PR review."
	return c
}

// say is a compact form of a reading: the option and the comment, or the verb,
// or why not.
func say(r Reading) string {
	s := ""
	switch {
	case r.Why != "":
		return string(r.Why)
	case r.Option > 0:
		s = string(rune('0' + r.Option))
	default:
		s = string(r.Verb)
	}
	if r.Comment != "" {
		s += "|" + r.Comment
	}
	return s
}

type line struct{ text, want string }

func check(t *testing.T, c *hub.Card, tests []line) {
	t.Helper()
	for _, tt := range tests {
		if got := say(Read(c, tt.text)); got != tt.want {
			t.Errorf("Read(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"2", "2"}, {"2.", "2"}, {"2)", "2"}, {"(2)", "2"}, {"#2", "2"}, {"[2]", "2"}, {"*2*", "2"}, {"“2”", "2"}, {"- 2", "2"},
		{"option 2", "2"}, {"Option 2.", "2"}, {"choice 2", "2"}, {"number 2", "2"}, {"option #2", "no_choice"},
		{"Nr. 2", "2"}, {"opción 2", "2"}, {"选项2", "2"}, {"вариант 2", "2"}, {"№ 2", "no_choice"},
		{"2️⃣", "2"}, {"2⃣", "2"}, {":two:", "2"}, {"②", "2"}, {"２", "2"}, {"（２）", "2"}, {"٢", "2"}, {"۲", "2"}, {"२", "2"}, {"𝟐", "2"},
		{"²", "no_choice"}, {"1²", "no_choice"}, {"½", "no_choice"}, {"1٢", "no_choice"}, {"II", "no_choice"}, {"Ⅱ", "no_choice"},
		{"two", "no_choice"}, {"the second", "no_choice"}, {"2nd", "no_choice"}, {"2x", "no_choice"}, {"02", "no_choice"}, {"+2", "no_choice"},
		{"-2", "no_choice"}, {"2?", "no_choice"}, {"2 ?", "no_choice"}, {"2..", "no_choice"}, {"2…", "no_choice"}, {"~2~", "no_choice"}, {"> 2", "no_choice"},
		{"1 2", "no_choice"}, {"1,2", "no_choice"}, {"1, 2", "no_choice"}, {"1 or 2", "no_choice"}, {"1 and 2", "no_choice"}, {"1/2", "no_choice"},
		{"1-2", "no_choice"}, {"1–2", "no_choice"}, {"1.5", "no_choice"}, {"1:30", "no_choice"}, {"2.0", "no_choice"}, {"8.45am-1pm", "no_choice"},
		{"1. 2", "hedged"}, {"1 - 2", "hedged"}, {"1: 2", "hedged"}, {"1—2", "hedged"},
		{"4", "out_of_range"}, {"0", "out_of_range"}, {"44 - because", "out_of_range"}, {"999999", "out_of_range"}, {"99999999999999999999", "no_choice"},
		{"not 2", "no_choice"}, {"no, 2", "no_choice"}, {"No. 2", "no_choice"}, {"2 not", "no_choice"}, {"2 or so", "no_choice"}, {"2 please", "2"}, {"2, thanks", "2"},
		{"I choose 2", "no_choice"}, {"2 because of Bob", "no_choice"}, {"(2", "no_choice"},
	})
	check(t, selectOf("a", "A", "b", "B", "c", "C", "d", "D", "e", "E", "f", "F", "g", "G", "h", "H", "i", "I", "j", "J"), []line{
		{"10", ":"}, {"🔟", ":"}, {":keycap_ten:", ":"}, {"١٠", ":"}, {"1 0", "no_choice"}, {"11", "out_of_range"},
	})
}

func TestNamesOfChoices(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"ship", "1"}, {"Ship", "1"}, {"SHIP", "1"}, {"Ship to prod now", "1"}, {"ship  to\tprod NOW", "1"}, {"  ship  ", "1"}, {"\n\n\tship\n", "1"},
		{"ship.", "1"}, {"ship!", "1"}, {"ship!!", "1"}, {"ship,", "1"}, {"ship:", "1"}, {"ship;", "1"}, {"ship 。", "1"},
		{"*ship*", "1"}, {"_ship_", "1"}, {"`ship`", "1"}, {"**ship**", "1"}, {"```ship```", "1"}, {`"ship"`, "1"}, {"“ship”", "1"}, {"„ship“", "1"}, {"«ship»", "1"},
		{"‘ship’", "1"}, {"'ship.'", "1"}, {"\"*ship*\".", "1"}, {"[ Ship to prod now ]", "1"}, {"「ship」", "1"}, {"• ship", "1"},
		{"\u00a0ship\u00a0", "1"}, {"\u00a0“ship”\u200b\u00a0", "1"}, {"sh\u200bip", "1"}, {"\ufeffship", "1"}, {"\u200fship\u200f", "1"}, {"\u2068ship\u2069", "1"}, {"sh\u00adip", "1"},
		{"Ship\u00a0to prod\u2003now", "1"}, {"ｓｈｉｐ", "1"}, {"\u202eship", "no_choice"}, {"s\x00hip", "1"},
		{"1. Ship to prod now", "1"}, {"1) ship", "1"}, {"(1) ship", "1"}, {"1 ship", "1"}, {"option 1: ship", "1"}, {"1 - ship", "1"}, {"1. Hold for review", "ambiguous"},
		{"2. Hold for review: wait for a human PR review.", "2"},
		{"ship?", "no_choice"}, {"Ship to prod now?", "no_choice"}, {"ship ？", "no_choice"}, {"ship...", "no_choice"}, {"ship…", "no_choice"}, {"~ship~", "no_choice"},
		{"~~ship~~ hold", "no_choice"}, {"> ship", "no_choice"}, {"ship 🤔", "no_choice"}, {"shi", "no_choice"}, {"ship to prod", "no_choice"}, {"shipping", "no_choice"},
		{"ship it", "no_choice"}, {"don't ship", "no_choice"}, {"don’t ship", "no_choice"}, {"not ship", "no_choice"}, {"ship or hold", "no_choice"}, {"ship and hold", "no_choice"},
		{"no way, ship it", "no_choice"}, {"ship if tests pass", "no_choice"}, {"ship, if tests pass", "no_choice"}, {"hold, waiting for Bob", "no_choice"},
		{"please ship", "1"}, {"ship, please", "1"}, {"ship thanks", "1"}, {"bitte ship", "no_choice"}, {"thanks", "no_choice"}, {"ship thanksgiving", "no_choice"},
		{"yes", "no_choice"}, {"👍", "no_choice"}, {"ja", "no_choice"}, {"approve", "no_choice"}, {"ship all", "no_choice"}, {"@beckon ship", "no_choice"},
	})
	check(t, selectOf("e1", "Entschuldigen Sie, Straße", "e2", "Café", "e3", "ΣΊΣΥΦΟΣ"), []line{
		{"ENTSCHULDIGEN SIE, STRASSE", "1"}, {"cafe\u0301", "2"}, {"CAFÉ", "2"}, {"cafe", "no_choice"}, {"σίσυφος", "3"},
	})
	check(t, selectOf("a", "✅ Approve", "b", "🔴 Stop!", "c", "Retry?", "d", "4️⃣ Later"), []line{
		{"approve", "1"}, {"✅ approve", "1"}, {"stop", "2"}, {"Retry?", "3"}, {"retry", "3"}, {"later", "4"}, {"✅", "no_choice"},
	})
}

func TestAmbiguousChoices(t *testing.T) {
	t.Parallel()
	check(t, selectOf("s", "Ship", "n", "Ship now"), []line{
		{"ship", "1"}, {"ship now", "2"}, {"ship now: checked", "2|checked"}, {"ship. now", "hedged"}, {"ship: now", "hedged"}, {"ship - checked", "1|checked"}, {"shi", "no_choice"},
	})
	check(t, selectOf("a", "3", "b", "Two", "c", "One"), []line{
		{"3", "ambiguous"}, {"#3", "ambiguous"}, {"1", "1"}, {"c", "3"}, {"a", "1"},
	})
	check(t, selectOf("3", "1", "b", "2", "1", "3"), []line{{"1", "ambiguous"}, {"2", "2"}, {"3", "ambiguous"}})
	check(t, selectOf("x", "1", "y", "2"), []line{{"1", "1"}, {"2", "2"}, {"3", "out_of_range"}})
	check(t, selectOf("10", "ten", "20", "twenty"), []line{{"10", "1"}, {"20", "2"}, {"2", "2"}, {"30", "out_of_range"}})
	check(t, selectOf("v1", "same", "v2", "SAME", "other", "v1"), []line{
		{"same", "ambiguous"}, {"Same.", "ambiguous"}, {"v1", "ambiguous"}, {"v2", "2"}, {"other", "3"}, {"1", "1"},
	})
	check(t, selectOf("a", "Go", "b", "Go!"), []line{{"go", "ambiguous"}, {"Go!", "ambiguous"}, {"a", "1"}})
	check(t, selectOf("a", "Ship", "b", "Don't ship"), []line{
		{"Don't ship", "2"}, {"don’t ship", "2"}, {"2. Don't ship", "2"}, {"2 - don't ship", "2"}, {"ship", "1"}, {"1 - don't ship", "ambiguous"}, {"ship: don't ship", "hedged"},
	})
	c := selectOf("v1", "same", "v2", "same")
	if diff := cmp.Diff([]int{1, 2}, Read(c, "same").Fits); diff != "" {
		t.Errorf("Fits (-want +got):\n%s", diff)
	}
}

func TestCommentOnTheSameLine(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"2 - because of the lock", "2|because of the lock"}, {"2: because of the lock", "2|because of the lock"}, {"2 — because of Bob", "2|because of Bob"}, {"2—Bob asked", "2|Bob asked"},
		{"2 -- Bob asked", "2|Bob asked"}, {"2 – Bob asked", "2|Bob asked"}, {"2. Bob asked", "2|Bob asked"}, {"ship. Bob is on call!", "1|Bob is on call!"}, {"*ship* - Bob asked", "1|Bob asked"},
		{"ship! Great work.", "1|Great work."}, {"Hold for review: проверит Боб", "2|проверит Боб"}, {"ship - Bob asked\nand more\nthings", "hedged"}, {"ship - Bob asked\nMore to say.", "1|Bob asked\nMore to say."},
		{"ship: 3 tests are slow", "hedged"}, {"ship: because tests don't fail", "hedged"}, {"ship - if tests pass", "hedged"}, {"ship: tests pass?", "hedged"},
		{"ship: no hold", "hedged"}, {"ship - rather hold", "hedged"}, {"2 - not", "hedged"}, {"2: not now", "hedged"}, {"ship: wait for Bob", "hedged"}, {"ship. But later", "hedged"},
		{"ship - 不要", "hedged"}, {"ship: לא", "hedged"}, {"ship: 🤔", "hedged"}, {"ship - hold on", "hedged"}, {"ship: nicht heute", "hedged"}, {"ship - sauf erreur", "hedged"},
		{"2- because", "no_choice"}, {"2 -because", "no_choice"}, {"2:because", "no_choice"}, {"2, because", "no_choice"}, {"2 (because)", "no_choice"}, {"2; because", "no_choice"},
		{"ship: do\u200bn't ship", "hedged"}, {"ship - not\u200bnow", "hedged"}, {"2 - \u200b", "no_choice"}, {"ship. I meant Bob", "hedged"}, {"not: ship", "no_choice"},
		{"ship<br>Bob asked", "1|Bob asked"}, {"ship<BR/><BR>\nBob asked <br>", "1|Bob asked <br>"}, {"<br>", "empty"}, {"ship<br>hold", "ambiguous"},
	})
}

func TestCommentBelow(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"2\nbecause tests don't pass", "2|because tests don't pass"}, {"2\r\n\r\nLet's get a human eye on it.\r\n", "2|Let's get a human eye on it."},
		{"ship\n\nThanks,\nAlice", "1|Thanks,\nAlice"}, {"2\nNo test covers it.", "2|No test covers it."}, {"2\rold mac", "2|old mac"}, {"2\u2028new line", "2|new line"},
		{"hold\n1. tests are red\n2. Bob is away", "2|1. tests are red\n2. Bob is away"},
		{"ship\nhold", "ambiguous"}, {"1\n2", "ambiguous"}, {"1\n\n\n2.", "ambiguous"}, {"ship\nship", "1|ship"}, {"ship\n1", "1|1"}, {"2\ndecline", "ambiguous"},
		{"1. Ship to prod now\n2. Hold for review\n3. Abort the change", "ambiguous"}, {"1. Ship to prod now: deploy immediately.\n2. Hold for review: wait.", "ambiguous"}, {"ship\nhold: for Bob", "ambiguous"},
		{"ship\nif tests pass", "hedged"}, {"ship\nBut wait until six", "hedged"}, {"ship,\n\nunless Bob objects", "hedged"}, {"1\nor 2", "hedged"}, {"1\nand 2", "hedged"}, {"ship\naber erst morgen", "hedged"},
		{"ship\nnot", "hedged"}, {"ship\nActually, do not ship", "hedged"}, {"ship\nOn reflection:\nplease do not ever\nship this", "hedged"}, {"2\nSorry, not 2", "hedged"}, {"ship\nscratch that", "hedged"},
		{"ship\nSorry, I meant hold!", "hedged"}, {"ship\n\nWait.", "hedged"}, {"ship\ndon't!", "hedged"}, {"ship\nPlease ship not", "hedged"}, {"ship\nbitte nicht ship machen", "hedged"}, {"ship\n但是要等", "hedged"},
		{"ship\nAs discussed with Bob", "1|As discussed with Bob"}, {"ship\nas long as Bob agrees", "hedged"}, {"ship\nI am not worried.", "1|I am not worried."},
	})
	check(t, selectOf("批准", "批准", "拒绝", "拒绝"), []line{{"批准", "1"}, {"批准\n谢谢", "1|谢谢"}, {"批准\n请不要批准", "hedged"}, {"不批准", "no_choice"}, {"批准：不", "hedged"}})
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"Hi,\n\n2", "2"}, {"Hello team,\nship\nThanks", "1|Thanks"}, {"Hi deploybot,\n\n2", "2"}, {"Dear all,\nhold", "2"}, {"Guten Tag,\n2", "2"}, {"Hi deploybot/dev-team!\n2", "2"}, {"こんにちは。\n2", "2"},
		{"Hi", "no_choice"}, {"Hi,\n", "no_choice"}, {"Hi 2", "no_choice"}, {"Hi, ship", "no_choice"}, {"Hi wait,\n2", "no_choice"}, {"Hi Bob, don't\n2", "no_choice"}, {"Hi all?\n2", "no_choice"},
		{"Hi,\nHello,\n2", "no_choice"}, {"Hi,\nnot 2", "no_choice"}, {"Hi, where do I find invoice 88?", "no_choice"},
	})
	check(t, selectOf("hi", "Hi", "b", "Bye"), []line{{"Hi,\nBye", "ambiguous"}, {"Hi", "1"}})
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	check(t, confirmOf(), []line{
		{"yes", "1"}, {"Yes.", "1"}, {"y", "1"}, {"YEP", "1"}, {"approve", "1"}, {"Approved", "1"}, {"ok", "1"}, {"Okay!", "1"}, {"👍", "1"}, {"👍🏽", "1"}, {":+1:", "1"}, {":+1::skin-tone-3:", "1"}, {":thumbsup:", "1"}, {"1", "1"},
		{"no", "2"}, {"N", "2"}, {"nope", "2"}, {"Deny", "2"}, {"denied", "2"}, {"rejected", "2"}, {"👎", "2"}, {":-1:", "2"}, {"2", "2"}, {"no thanks", "2"}, {"No, thank you.", "2"}, {"yes please", "1"},
		{"ja", "1"}, {"Ja, bitte", "1"}, {"nein", "2"}, {"Nein danke", "2"}, {"oui", "1"}, {"Non, merci.", "2"}, {"Sí", "1"}, {"¡Sí!", "1"}, {"si", "1"}, {"sì", "1"}, {"sim", "1"}, {"não", "2"}, {"nee", "2"}, {"nie", "2"},
		{"Да", "1"}, {"НЕТ", "2"}, {"はい", "1"}, {"はい、お願いします。", "1"}, {"いいえ", "2"}, {"是", "1"}, {"否", "2"}, {"נעם", "no_choice"}, {"כן", "1"}, {"\u200fלא\u200f", "2"}, {"نعم", "1"}, {"예", "1"}, {"hayır", "2"},
		{"tak", "no_choice"}, {"da", "no_choice"}, {"ne", "no_choice"}, {"好", "no_choice"}, {"go ahead", "no_choice"}, {"lgtm", "no_choice"}, {"sure", "no_choice"}, {"fine", "no_choice"}, {"ok?", "no_choice"}, {"yes?", "no_choice"}, {"yes...", "no_choice"},
		{"yes no", "no_choice"}, {"yes/no", "no_choice"}, {"yes or no", "no_choice"}, {"👍👎", "no_choice"}, {"👍 👍", "no_choice"}, {"👍 Alice Example reacted via Gmail", "no_choice"}, {"👍\nAlice Example reacted via Gmail", "hedged"},
		{"no, don't approve", "no_choice"}, {"No. Don't approve.", "hedged"}, {"No: we can't approve this", "hedged"}, {"yes, don't approve", "no_choice"}, {"yes - but not now", "hedged"}, {"yes: do not", "hedged"},
		{"do not approve this.", "no_choice"}, {"disapprove", "no_choice"}, {"disallow", "no_choice"}, {"not approved", "no_choice"}, {"unapproved", "no_choice"}, {"no way", "no_choice"}, {"I don't approve", "no_choice"}, {"I approve", "1"}, {"never approve", "no_choice"},
		{"approve all", "no_choice"}, {"yes go ahead", "no_choice"}, {"Ja, bitte ausrollen.", "no_choice"}, {"Да, согласен", "no_choice"}, {"approve\nno, don't approve", "hedged"}, {"yes\nno", "ambiguous"}, {"yes\n\nBob knows.", "1|Bob knows."},
		{"no\nThe window is closed.", "2|The window is closed."}, {"Yes. Bob agrees.", "1|Bob agrees."}, {"decline", "declined"}, {"approve or reject?", "no_choice"}, {"Approve, but only for staging", "no_choice"},
	})
	check(t, confirmOf("keep", "Keep", "delete", "Delete"), []line{{"yes", "no_choice"}, {"no", "no_choice"}, {"ok", "no_choice"}, {"👍", "no_choice"}, {"delete", "2"}, {"1", "1"}})
	check(t, confirmOf("no", "Keep it", "yes", "Delete it"), []line{{"yes", "2"}, {"ja", "2"}, {"no", "1"}, {"nein", "1"}, {"delete it", "2"}})
	check(t, confirmOf("del", "Yes, delete it", "keep", "No, keep it"), []line{{"yes", "1"}, {"no", "2"}, {"y", "1"}, {"nope", "2"}})
	check(t, confirmOf("approve", "Deny", "deny", "Approve"), []line{{"yes", "no_choice"}, {"approve", "ambiguous"}, {"1", "1"}})
	check(t, confirmOf("approve", "Approve", "hold", "Hold"), []line{{"yes", "1"}, {"no", "no_choice"}, {"hold", "2"}})
	check(t, selectOf("yes", "Yes", "no", "No", "later", "Later"), []line{{"yes", "1"}, {"y", "no_choice"}, {"ja", "no_choice"}, {"👍", "no_choice"}, {"no", "2"}})
}

func TestDecline(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"decline", "declined"}, {"Decline.", "declined"}, {"I decline", "declined"}, {"declined", "declined"}, {"decline\nI can't judge this, ask Bob.", "declined|I can't judge this, ask Bob."}, {"decline: not my team", "declined|not my team"},
		{"decline: wait, ship", "hedged"}, {"don't decline", "no_choice"}, {"decline?", "no_choice"}, {"decline\nship", "ambiguous"}, {"decline\nno, don't decline", "hedged"}, {"decline to ship", "no_choice"},
	})
	no := shipCard()
	no.CanDecline = false
	check(t, no, []line{{"decline", "no_decline"}, {"decline\nbecause", "no_decline"}, {"ship", "1"}})
	check(t, selectOf("accept", "Accept", "decline", "Decline the offer"), []line{{"decline", "2"}, {"I decline", "no_choice"}, {"declined", "no_choice"}})
}

func TestTask(t *testing.T) {
	t.Parallel()
	check(t, taskCard(), []line{
		{"done", "completed"}, {"Done!", "completed"}, {"completed", "completed"}, {"finished.", "completed"}, {"done, thanks", "completed"}, {"done\nRotated both keys.", "completed|Rotated both keys."}, {"done: rotated both keys", "completed|rotated both keys"},
		{"can't do", "dismissed"}, {"Can’t do it.", "dismissed"}, {"cannot", "dismissed"}, {"dismiss", "dismissed"}, {"can't do: no access to the vault", "dismissed|no access to the vault"}, {"can't do\nI have no access, can't log in.", "dismissed|I have no access, can't log in."},
		{"not done", "no_choice"}, {"done?", "no_choice"}, {"almost done", "no_choice"}, {"done except the last", "no_choice"}, {"done: except the last", "hedged"}, {"done\nnot done yet", "hedged"}, {"done\ncan't", "ambiguous"}, {"undone", "no_choice"},
		{"1", "no_choice"}, {"1 done", "no_choice"}, {"yes", "no_choice"}, {"ok", "no_choice"}, {"👍", "no_choice"}, {"can do", "no_choice"}, {"decline", "no_choice"}, {"can't dismiss", "no_choice"}, {"done. Not really.", "hedged"},
	})
}

func TestNeverRead(t *testing.T) {
	t.Parallel()
	notify := &hub.Card{Type: ma2h.Notify}
	page, hidden := shipCard(), shipCard()
	page.PageOnly, hidden.Hidden = true, true
	tests := []struct {
		name string
		card *hub.Card
		text string
		want Reading
	}{
		{"notify", notify, "ship", Reading{Why: WhyNoAnswerWanted}},
		{"page only", page, "ship\nsecret", Reading{Why: WhyPageOnly}},
		{"hidden", hidden, "decline", Reading{Why: WhyPageOnly}},
		{"empty", shipCard(), "", Reading{Why: WhyEmpty}},
		{"white space", shipCard(), " \r\n\u00a0\n\u200b\ufeff\x00\n", Reading{Why: WhyEmpty}},
		{"too long", shipCard(), "ship\n" + strings.Repeat("x", MaxRunes), Reading{Why: WhyTooLong}},
		{"unclear keeps nothing", shipCard(), "ship if\nsecret", Reading{Why: WhyNoChoice}},
		{"no options", selectOf(), "1", Reading{Why: WhyNoChoice}},
		{"invalid UTF-8", shipCard(), "sh\xffip", Reading{Why: WhyNoChoice}},
		{"invalid UTF-8 in the comment", shipCard(), "ship\n\xff", Reading{Verb: hub.VerbAnswer, Option: 1, Comment: "\ufffd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Read(tt.card, tt.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	a := hub.Answer{MessageID: "msg_1", Actor: "human:alice"}
	r := Read(shipCard(), "2\nwait for Bob")
	if !r.Clear() {
		t.Fatal(r.Why)
	}
	r.Fill(&a)
	want := hub.Answer{MessageID: "msg_1", Actor: "human:alice", Verb: hub.VerbAnswer, Option: 2, Comment: "wait for Bob"}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
