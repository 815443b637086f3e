package reply

import "testing"

func TestGreeting(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"Hi,\n\n2", "2"},
		{"Hello team,\nship\nThanks", "1|Thanks"},
		{"Hi deploybot,\n\n2", "2"},
		{"Dear all,\nhold", "2"},
		{"Guten Tag,\n2", "2"},
		{"Hi deploybot/dev-team!\n2", "2"},
		{"こんにちは。\n2", "2"},
		{"Hi", "no_choice"},
		{"Hi,\n", "no_choice"},
		{"Hi 2", "no_choice"},
		{"Hi, ship", "no_choice"},
		{"Hi wait,\n2", "no_choice"},
		{"Hi Bob, don't\n2", "no_choice"},
		{"Hi all?\n2", "no_choice"},
		{"Hi,\nHello,\n2", "no_choice"},
		{"Hi,\nnot 2", "no_choice"},
		{"Hi, where do I find invoice 88?", "no_choice"},
	})
	check(t, selectOf("hi", "Hi", "b", "Bye"), []line{{"Hi,\nBye", "ambiguous"}, {"Hi", "1"}})
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	check(t, confirmOf(), []line{
		{"yes", "1"},
		{"Yes.", "1"},
		{"y", "1"},
		{"YEP", "1"},
		{"approve", "1"},
		{"Approved", "1"},
		{"ok", "1"},
		{"Okay!", "1"},
		{"👍", "1"},
		{"👍🏽", "1"},
		{":+1:", "1"},
		{":+1::skin-tone-3:", "1"},
		{":thumbsup:", "1"},
		{"1", "1"},
		{"no", "2"},
		{"N", "2"},
		{"nope", "2"},
		{"Deny", "2"},
		{"denied", "2"},
		{"rejected", "2"},
		{"👎", "2"},
		{":-1:", "2"},
		{"2", "2"},
		{"no thanks", "2"},
		{"No, thank you.", "2"},
		{"yes please", "1"},
		{"ja", "1"},
		{"Ja, bitte", "1"},
		{"nein", "2"},
		{"Nein danke", "2"},
		{"oui", "1"},
		{"Non, merci.", "2"},
		{"Sí", "1"},
		{"¡Sí!", "1"},
		{"si", "1"},
		{"sì", "1"},
		{"sim", "1"},
		{"não", "2"},
		{"nee", "2"},
		{"nie", "2"},
		{"Да", "1"},
		{"НЕТ", "2"},
		{"はい", "1"},
		{"はい、お願いします。", "1"},
		{"いいえ", "2"},
		{"是", "1"},
		{"否", "2"},
		{"נעם", "no_choice"},
		{"כן", "1"},
		{"\u200fלא\u200f", "2"},
		{"نعم", "1"},
		{"예", "1"},
		{"hayır", "2"},
		{"tak", "no_choice"},
		{"da", "no_choice"},
		{"ne", "no_choice"},
		{"好", "no_choice"},
		{"go ahead", "no_choice"},
		{"lgtm", "no_choice"},
		{"sure", "no_choice"},
		{"fine", "no_choice"},
		{"ok?", "no_choice"},
		{"yes?", "no_choice"},
		{"yes...", "no_choice"},
		{"yes no", "no_choice"},
		{"yes/no", "no_choice"},
		{"yes or no", "no_choice"},
		{"👍👎", "no_choice"},
		{"👍 👍", "no_choice"},
		{"👍 Alice Example reacted via Gmail", "no_choice"},
		{"👍\nAlice Example reacted via Gmail", "hedged"},
		{"ok, thanks", "hedged"},
		{"OK. I'll look at it.", "hedged"},
		{"ok\n\nI'll look at it.", "hedged"},
		{"👍 thanks", "hedged"},
		{":+1: thanks", "no_choice"},
		{":+1:\nBob", "hedged"},
		{"Hi,\nok", "1"},
		{"no, don't approve", "no_choice"},
		{"No. Don't approve.", "hedged"},
		{"No: we can't approve this", "hedged"},
		{"yes, don't approve", "no_choice"},
		{"yes - but not now", "hedged"},
		{"yes: do not", "hedged"},
		{"do not approve this.", "no_choice"},
		{"disapprove", "no_choice"},
		{"disallow", "no_choice"},
		{"not approved", "no_choice"},
		{"unapproved", "no_choice"},
		{"no way", "no_choice"},
		{"I don't approve", "no_choice"},
		{"I approve", "1"},
		{"never approve", "no_choice"},
		{"approve all", "no_choice"},
		{"yes go ahead", "no_choice"},
		{"Ja, bitte ausrollen.", "no_choice"},
		{"Да, согласен", "no_choice"},
		{"approve\nno, don't approve", "hedged"},
		{"yes\nno", "ambiguous"},
		{"yes\n\nBob knows.", "1|Bob knows."},
		{"no\nThe window is closed.", "2|The window is closed."},
		{"Yes. Bob agrees.", "1|Bob agrees."},
		{"decline", "declined"},
		{"approve or reject?", "no_choice"},
		{"Approve, but only for staging", "no_choice"},
	})
	check(t, confirmOf("keep", "Keep", "delete", "Delete"), []line{{"yes", "no_choice"}, {"no", "no_choice"}, {"ok", "no_choice"}, {"👍", "no_choice"}, {"delete", "2"}, {"1", "1"}})
	check(t, confirmOf("no", "Keep it", "yes", "Delete it"), []line{{"yes", "2"}, {"ja", "2"}, {"no", "1"}, {"nein", "1"}, {"delete it", "2"}})
	check(t, confirmOf("del", "Yes, delete it", "keep", "No, keep it"), []line{{"yes", "1"}, {"no", "2"}, {"y", "1"}, {"nope", "2"}})
	check(t, confirmOf("approve", "Deny", "deny", "Approve"), []line{{"yes", "no_choice"}, {"approve", "ambiguous"}, {"1", "1"}})
	check(t, confirmOf("approve", "Deny", "x", "Keep"), []line{{"yes", "no_choice"}, {"no", "no_choice"}, {"1", "1"}})
	check(t, confirmOf("approve", "Approve", "hold", "Hold"), []line{{"yes", "1"}, {"no", "no_choice"}, {"hold", "2"}})
	check(t, confirmOf("ok", "OK", "no", "No"), []line{{"ok, thanks", "1"}, {"ok\nBob", "1|Bob"}, {"👍\nBob", "hedged"}})
	check(t, selectOf("yes", "Yes", "no", "No", "later", "Later"), []line{{"yes", "1"}, {"y", "no_choice"}, {"ja", "no_choice"}, {"👍", "no_choice"}, {"no", "2"}})
}

func TestDecline(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"decline", "declined"},
		{"Decline.", "declined"},
		{"I decline", "declined"},
		{"declined", "declined"},
		{"decline\nI can't judge this, ask Bob.", "declined|I can't judge this, ask Bob."},
		{"decline: not my team", "declined|not my team"},
		{"decline: wait, ship", "hedged"},
		{"don't decline", "no_choice"},
		{"decline?", "no_choice"},
		{"decline\nship", "ambiguous"},
		{"decline\nno, don't decline", "hedged"},
		{"decline to ship", "no_choice"},
	})
	no := shipCard()
	no.CanDecline = false
	check(t, no, []line{{"decline", "no_decline"}, {"decline\nbecause", "no_decline"}, {"ship", "1"}})
	check(t, selectOf("accept", "Accept", "decline", "Decline the offer"), []line{{"decline", "2"}, {"I decline", "no_choice"}, {"declined", "no_choice"}})
}

func TestTask(t *testing.T) {
	t.Parallel()
	check(t, taskCard(), []line{
		{"done", "completed"},
		{"Done!", "completed"},
		{"completed", "completed"},
		{"finished.", "completed"},
		{"done, thanks", "completed"},
		{"done\nRotated both keys.", "completed|Rotated both keys."},
		{"done: rotated both keys", "completed|rotated both keys"},
		{"can't do", "dismissed"},
		{"Can’t do it.", "dismissed"},
		{"cannot", "dismissed"},
		{"dismiss", "dismissed"},
		{"can't do: no access to the vault", "dismissed|no access to the vault"},
		{"can't do\nI have no access, can't log in.", "dismissed|I have no access, can't log in."},
		{"not done", "no_choice"},
		{"done?", "no_choice"},
		{"almost done", "no_choice"},
		{"done except the last", "no_choice"},
		{"done: except the last", "hedged"},
		{"done\nnot done yet", "hedged"},
		{"done\ncan't", "ambiguous"},
		{"undone", "no_choice"},
		{"1", "no_choice"},
		{"1 done", "no_choice"},
		{"yes", "no_choice"},
		{"ok", "no_choice"},
		{"👍", "no_choice"},
		{"can do", "no_choice"},
		{"decline", "no_choice"},
		{"can't dismiss", "no_choice"},
		{"done. Not really.", "hedged"},
	})
}
