package reply

import "testing"

// A comment that takes another choice than the first line makes the reply
// unclear; one that only speaks of it does not.
func TestSecondThoughts(t *testing.T) {
	t.Parallel()
	approve := selectOf("approve", "Approve", "reject", "Reject", "later", "Ask me later")
	check(t, approve, []line{
		{"Approve\n\nActually no, better reject.", "hedged"},
		{"Approve\n\nActually, reject it", "hedged"},
		{"Approve\n\nSorry, reject", "hedged"},
		{"Approve\nNo, reject it", "hedged"},
		{"Approve\n\nOn reflection I think that this should better\nbe rejected", "hedged"},
		{"Approve\n\nThen ask me later", "hedged"},
		{"Approve\n\nActually, take 2", "hedged"},
		{"Approve\n\nNo, 2.", "hedged"},
		{"1\n\nActually 3", "hedged"},
		{"Approve\n\nActually no.", "hedged"},
		{"Approve\n\nSorry, no\nAlice", "hedged"},
		{"Approve\n\nBetter not.", "hedged"},
		{"Approve! Sorry, I would decline", "hedged"},
		{"Approve\nActually I decline", "hedged"},
		{"decline\n\nActually, approve", "hedged"},
		{"Approve\n\nDoch lieber nicht.", "hedged"},
		{"Approve\n\nNein, lieber reject.", "hedged"},
		{"Approve\n\nFinalement plutôt reject", "hedged"},
		{"Approve\n\nMejor reject.", "hedged"},
		{"Approve\n\nAnzi, meglio reject.", "hedged"},
		{"Approve\n\nMelhor reject", "hedged"},
		{"Approve\n\nToch liever reject", "hedged"},
		{"Approve\n\nHellre reject.", "hedged"},
		{"Approve\n\nJednak reject", "hedged"},
		{"Approve\n\nЛучше reject", "hedged"},
		{"Approve\n\nВсё-таки reject", "hedged"},
		{"Approve\n\nInkább reject", "hedged"},

		{"Approve\n\nActually the tests look great.", "1|Actually the tests look great."},
		{"Approve\n\nI had to reject the first one, this one is fine.", "1|I had to reject the first one, this one is fine."},
		{"Approve\n\nIt's better than reject", "1|It's better than reject"},
		{"Approve\n\nI'd rather not reject this again.", "1|I'd rather not reject this again."},
		{"Approve\n\nLet's do this instead of rejecting it.", "1|Let's do this instead of rejecting it."},
		{"Approve\n\nDas ist besser als reject", "1|Das ist besser als reject"},
		{"Approve\n\nSorry for the delay!", "1|Sorry for the delay!"},
		{"Approve\n\nSorry for the delay! Bob wanted to reject it.", "1|Sorry for the delay! Bob wanted to reject it."},
		{"Approve\n\nNo objections from me.", "1|No objections from me."},
		{"Approve\n\nActually no objections here", "1|Actually no objections here"},
		{"Approve\n\nActually 2 of us looked at it.", "1|Actually 2 of us looked at it."},
		{"Approve\n\nActually, approve it today", "1|Actually, approve it today"},
		{"Reject\n\nSorry, no.", "2|Sorry, no."},
		{"Reject\n\nActually no.", "2|Actually no."},
		{"decline\n\nSorry, no.", "declined|Sorry, no."},
		{"1\nDon't forget to tell ops", "1|Don't forget to tell ops"},
		{"decline\nnot mine, better ask Bob", "declined|not mine, better ask Bob"},
	})
	check(t, shipCard(), []line{
		{"Ship\n\nActually the tests look great", "1|Actually the tests look great"},
		{"1\nDon't forget to tell ops", "1|Don't forget to tell ops"},
		{"Ship\n\nActually, better hold", "hedged"},
		{"Ship\n\nBetter to have it out before the hold begins on Monday.", "hedged"}, // only a reader can tell
		{"Ship\n\nThe hold was lifted.", "1|The hold was lifted."},
	})
	check(t, confirmOf(), []line{
		{"Yes\n\nActually no.", "hedged"},
		{"Yes\n\nSorry, no", "hedged"},
		{"yes\nActually, no objections", "1|Actually, no objections"},
		{"No\n\nActually yes.", "hedged"},
		{"no\n\nSorry, no", "2|Sorry, no"},
		{"Ja\n\nDoch lieber nein", "hedged"},
	})
	check(t, selectOf("批准", "批准", "拒绝", "拒绝"), []line{
		{"批准\n\n还是拒绝吧。", "hedged"},
		{"批准\n\n更正：拒绝", "hedged"},
		{"批准\n\n昨天拒绝过一次。", "1|昨天拒绝过一次。"},
	})
	check(t, selectOf("承認", "承認", "却下", "却下"), []line{{"承認\n\nやはり却下でお願いします。", "hedged"}, {"承認\n\nお疲れ様です。", "1|お疲れ様です。"}})
	check(t, selectOf("승인", "승인", "거절", "거절"), []line{{"승인\n\n아니 거절해 주세요", "hedged"}, {"승인\n\n감사합니다", "1|감사합니다"}})
	check(t, selectOf("אישור", "אישור", "דחייה", "דחייה"), []line{{"אישור\n\nבעצם דחייה", "hedged"}, {"אישור\n\nתודה", "1|תודה"}})
	check(t, taskCard(), []line{
		{"can't do\n\nActually, done.", "hedged"},
		{"can't do\nSorry, it can't be done from here by me alone", "dismissed|Sorry, it can't be done from here by me alone"},
		{"done\n\nSorry, I can't join the call.", "completed|Sorry, I can't join the call."},
	})
}

func TestChangesAreFolded(t *testing.T) {
	t.Parallel()
	for w := range changes {
		if got := textWords(w); len(got) != 1 || got[0] != w {
			t.Errorf("%q reads as %q", w, got)
		}
	}
	for _, w := range unspacedChanges {
		if fold(w) != w {
			t.Errorf("%q folds to %q", w, fold(w))
		}
	}
	for _, w := range comparisons {
		if fold(w) != w {
			t.Errorf("%q folds to %q", w, fold(w))
		}
	}
}
