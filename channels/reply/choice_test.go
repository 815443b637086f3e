package reply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"2", "2"},
		{"2.", "2"},
		{"2)", "2"},
		{"(2)", "2"},
		{"#2", "2"},
		{"[2]", "2"},
		{"*2*", "2"},
		{"“2”", "2"},
		{"- 2", "2"},
		{"option 2", "2"},
		{"Option 2.", "2"},
		{"choice 2", "2"},
		{"number 2", "2"},
		{"option #2", "no_choice"},
		{"Nr. 2", "2"},
		{"opción 2", "2"},
		{"选项2", "2"},
		{"вариант 2", "2"},
		{"№ 2", "no_choice"},
		{"2️⃣", "2"},
		{"2⃣", "2"},
		{":two:", "2"},
		{"②", "2"},
		{"２", "2"},
		{"（２）", "2"},
		{"٢", "2"},
		{"۲", "2"},
		{"२", "2"},
		{"𝟐", "2"},
		{"²", "no_choice"},
		{"1²", "no_choice"},
		{"½", "no_choice"},
		{"1٢", "no_choice"},
		{"II", "no_choice"},
		{"Ⅱ", "no_choice"},
		{"two", "no_choice"},
		{"the second", "no_choice"},
		{"2nd", "no_choice"},
		{"2x", "no_choice"},
		{"02", "no_choice"},
		{"+2", "no_choice"},
		{"-2", "no_choice"},
		{"2?", "no_choice"},
		{"2 ?", "no_choice"},
		{"2..", "no_choice"},
		{"2…", "no_choice"},
		{"~2~", "no_choice"},
		{"> 2", "no_choice"},
		{"1 2", "no_choice"},
		{"1,2", "no_choice"},
		{"1, 2", "no_choice"},
		{"1 or 2", "no_choice"},
		{"1 and 2", "no_choice"},
		{"1/2", "no_choice"},
		{"1-2", "no_choice"},
		{"1–2", "no_choice"},
		{"1.5", "no_choice"},
		{"1:30", "no_choice"},
		{"2.0", "no_choice"},
		{"8.45am-1pm", "no_choice"},
		{"1. 2", "hedged"},
		{"1 - 2", "hedged"},
		{"1: 2", "hedged"},
		{"1—2", "hedged"},
		{"4", "out_of_range"},
		{"0", "out_of_range"},
		{"44 - because", "out_of_range"},
		{"999999", "out_of_range"},
		{"99999999999999999999", "no_choice"},
		{"not 2", "no_choice"},
		{"no, 2", "no_choice"},
		{"No. 2", "no_choice"},
		{"2 not", "no_choice"},
		{"2 or so", "no_choice"},
		{"2 please", "2"},
		{"2, thanks", "2"},
		{"I choose 2", "no_choice"},
		{"2 because of Bob", "no_choice"},
		{"(2", "no_choice"},
	})
	check(t, selectOf("a", "A", "b", "B", "c", "C", "d", "D", "e", "E", "f", "F", "g", "G", "h", "H", "i", "I", "j", "J"), []line{
		{"10", ":"}, {"🔟", ":"}, {":keycap_ten:", ":"}, {"١٠", ":"}, {"1 0", "no_choice"}, {"11", "out_of_range"},
	})
}

func TestNamesOfChoices(t *testing.T) {
	t.Parallel()
	check(t, shipCard(), []line{
		{"ship", "1"},
		{"Ship", "1"},
		{"SHIP", "1"},
		{"Ship to prod now", "1"},
		{"ship  to\tprod NOW", "1"},
		{"  ship  ", "1"},
		{"\n\n\tship\n", "1"},
		{"ship.", "1"},
		{"ship!", "1"},
		{"ship!!", "1"},
		{"ship,", "1"},
		{"ship:", "1"},
		{"ship;", "1"},
		{"ship 。", "1"},
		{"*ship*", "1"},
		{"_ship_", "1"},
		{"`ship`", "1"},
		{"**ship**", "1"},
		{"```ship```", "1"},
		{`"ship"`, "1"},
		{"“ship”", "1"},
		{"„ship“", "1"},
		{"«ship»", "1"},
		{"‘ship’", "1"},
		{"'ship.'", "1"},
		{"\"*ship*\".", "1"},
		{"[ Ship to prod now ]", "1"},
		{"「ship」", "1"},
		{"• ship", "1"},
		{"\u00a0ship\u00a0", "1"},
		{"\u00a0“ship”\u200b\u00a0", "1"},
		{"sh\u200bip", "1"},
		{"\ufeffship", "1"},
		{"\u200fship\u200f", "1"},
		{"\u2068ship\u2069", "1"},
		{"sh\u00adip", "1"},
		{"Ship\u00a0to prod\u2003now", "1"},
		{"ｓｈｉｐ", "1"},
		{"\u202eship", "no_choice"},
		{"s\x00hip", "1"},
		{"ship\x00", "1"},
		{"1. Ship to prod now", "1"},
		{"1) ship", "1"},
		{"(1) ship", "1"},
		{"1 ship", "1"},
		{"option 1: ship", "1"},
		{"1 - ship", "1"},
		{"1. Hold for review", "ambiguous"},
		{"2. Hold for review: wait for a human PR review.", "2"},
		{"ship?", "no_choice"},
		{"Ship to prod now?", "no_choice"},
		{"ship ？", "no_choice"},
		{"ship...", "no_choice"},
		{"ship…", "no_choice"},
		{"~ship~", "no_choice"},
		{"~~ship~~ hold", "no_choice"},
		{"> ship", "no_choice"},
		{"ship 🤔", "no_choice"},
		{"shi", "no_choice"},
		{"ship to prod", "no_choice"},
		{"shipping", "no_choice"},
		{"ship it", "no_choice"},
		{"don't ship", "no_choice"},
		{"don’t ship", "no_choice"},
		{"not ship", "no_choice"},
		{"ship or hold", "no_choice"},
		{"ship and hold", "no_choice"},
		{"no way, ship it", "no_choice"},
		{"ship if tests pass", "no_choice"},
		{"ship, if tests pass", "no_choice"},
		{"hold, waiting for Bob", "no_choice"},
		{"please ship", "1"},
		{"ship, please", "1"},
		{"ship thanks", "1"},
		{"bitte ship", "no_choice"},
		{"thanks", "no_choice"},
		{"ship thanksgiving", "no_choice"},
		{"yes", "no_choice"},
		{"👍", "no_choice"},
		{"ja", "no_choice"},
		{"approve", "no_choice"},
		{"ship all", "no_choice"},
		{"@beckon ship", "no_choice"},
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
	check(t, selectOf("a", "Well,", "b", "Bye"), []line{{"Well,\nBob agrees", "1|Bob agrees"}, {"Well\nBob agrees", "1|Bob agrees"}, {"Bye,\nBob agrees", "hedged"}})
	c := selectOf("v1", "same", "v2", "same")
	if diff := cmp.Diff([]int{1, 2}, Read(c, "same").Fits); diff != "" {
		t.Errorf("Fits (-want +got):\n%s", diff)
	}
}
