package reply

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// cards are the kinds of messages that the properties are held against.
func cards() []*hub.Card {
	return []*hub.Card{
		shipCard(), confirmOf(), confirmOf("keep", "Keep it", "del", "Delete, now"), taskCard(),
		selectOf("a", "Ship", "b", "Ship now", "c", "3", "d", "Don't ship", "e", "批准"),
		inputOf(hub.Field{Name: "note", Type: hub.FieldString}),
		inputOf(hub.Field{Name: "n", Type: hub.FieldNumber}),
		inputOf(hub.Field{Name: "env", Type: hub.FieldString, Enum: []string{"dev", "prod"}}, hub.Field{Name: "n", Type: hub.FieldInteger, Required: true}),
	}
}

// fragments make text that comes near to an answer.
var fragments = []string{
	"ship", "Ship now", "hold", "abort", "1", "2", "3", "yes", "no", "approve", "deny", "decline", "done", "can't do", "env: prod", "n: 3", "not", "don't", "if", "or", "批准", "不",
	" ", " ", " ", "\n", "\n\n", ": ", " - ", "—", ". ", ", ", "?", "!", "...", "*", "\"", "’", "\u200b", "\u00a0", "\u202e", "2️⃣", "👍", "<br>", "٣", "\xff", "\x00", "ß", "İ",
}

func nearText() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 12), func(parts []string) string { return strings.Join(parts, "") })
}

// consistent holds what is true of every reading.
func consistent(c *hub.Card, text string, r Reading) string {
	switch {
	case (r.Verb == "") == (r.Why == ""):
		return "must be either an answer or unclear"
	case r.Why != "" && (r.Option != 0 || r.Fields != nil || r.Comment != ""):
		return "an unclear reading must keep nothing"
	case r.Option < 0 || r.Option > len(c.Options):
		return "no such option"
	case r.Verb == hub.VerbAnswer && (r.Option != 0) == (r.Fields != nil):
		return "an answer has an option or fields"
	case r.Verb != "" && r.Verb != hub.VerbAnswer && (r.Option != 0 || r.Fields != nil):
		return "only an answer has a value"
	case c.Type == ma2h.Task && (r.Verb == hub.VerbAnswer || r.Verb == hub.VerbDecline), c.Type == ma2h.Ask && (r.Verb == hub.VerbComplete || r.Verb == hub.VerbDismiss):
		return "the verb is another type's"
	case r.Verb == hub.VerbDecline && !c.CanDecline:
		return "declining is not allowed"
	case !utf8.ValidString(r.Comment) || strings.ContainsAny(r.Comment, "\x00\r"):
		return "the comment is not clean"
	case len(r.Comment) > 3*len(text):
		return "the comment is longer than the text"
	case r.Comment != trim(r.Comment):
		return "the comment is not trimmed"
	case (Sentence(c, &r) == "") != (r.Why == ""):
		return "the sentence belongs to unclear text"
	}
	return ""
}

func TestReadingIsConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cards()).Draw(t, "card")
		text := rapid.OneOf(nearText(), rapid.String()).Draw(t, "text")
		if msg := consistent(c, text, Read(c, text)); msg != "" {
			t.Fatalf("%q: %s", text, msg)
		}
	})
}

// shuffleCase replaces runes by others that differ in case only.
func shuffleCase(t *rapid.T, s string) string {
	return strings.Map(func(r rune) rune {
		for range rapid.IntRange(0, 2).Draw(t, "fold") {
			r = unicode.SimpleFold(r)
		}
		return r
	}, s)
}

func TestCaseAndSpaceDoNotMatter(t *testing.T) {
	t.Parallel()
	space := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n\r\u00a0\u200b\ufeff\u3000")))
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cards()).Draw(t, "card")
		text := strings.ToValidUTF8(nearText().Draw(t, "text"), "\ufffd")
		want := Read(c, text)
		got := Read(c, space.Draw(t, "before")+shuffleCase(t, text)+space.Draw(t, "after"))
		if len(c.Fields) > 0 { // a value keeps its case, and an unknown name is as written
			want.Fields, got.Fields, want.Field, got.Field = nil, nil, "", ""
		}
		got.Comment, want.Comment = fold(got.Comment), fold(want.Comment)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-plain +changed):\n%s", text, diff)
		}
	})
}

// optionCard draws a card with arbitrary labels.
func optionCard(t *rapid.T) *hub.Card {
	word := rapid.OneOf(rapid.StringMatching(`[A-Za-zäöüßéÀ]{1,6}( [A-Za-z0-9']{1,5}){0,2}[.!?]?`), rapid.SampledFrom([]string{"1", "2", "3", "yes", "No", "Ship: now", "A - b", "批准", "✅ Go", "-", "..."}), rapid.StringN(1, 8, -1))
	var pairs []string
	for range rapid.IntRange(1, 5).Draw(t, "options") {
		pairs = append(pairs, word.Draw(t, "value"), word.Draw(t, "label"))
	}
	return selectOf(pairs...)
}

func TestALabelAloneAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := optionCard(t)
		i := rapid.IntRange(0, len(c.Options)-1).Draw(t, "chosen")
		label := c.Options[i].Label
		lines := linesOf(label)
		if len(lines) != 1 || fold(label) == "" || literalBreak.MatchString(label) {
			t.Skip("not a line")
		}
		v := vocabularyOf(c)
		found, _ := v.match(label)
		if !slices.Contains(found, i) {
			t.Fatalf("label %q doesn't name its option", label)
		}
		comment := rapid.SampledFrom([]string{"", "\nThanks, Alice", "\n\nBob looked at it with me."}).Draw(t, "comment")
		r := Read(c, label+comment)
		if len(found) == 1 && r.Why == WhyAmbiguous {
			return // an option called Thanks, Alice
		}
		if len(found) == 1 && (r.Option != i+1 || r.Comment != strings.TrimSpace(comment)) {
			t.Fatalf("%q reads as %+v", label+comment, r)
		}
		if len(found) > 1 && r.Why != WhyAmbiguous {
			t.Fatalf("%q fits %v and reads as %+v", label, found, r)
		}
	})
}

// A text that negates a choice never makes that choice.
func TestNegationNeverAnswers(t *testing.T) {
	t.Parallel()
	negation := rapid.SampledFrom([]string{
		"not %", "don't %", "Don’t %", "do not %", "never %", "no, not %", "no, don't %", "NOT %", "I can't %", "please do not ever %", "nicht %", "ne % pas", "не %", "niet %", "% not", "no %",
		"I do\nnot %", "DO NOT *%*", "not “%”", "not\u00a0%", "not\u200b %",
	})
	glue := rapid.SampledFrom([]string{"%", "*\n%", "*\n\n%", "*: %", "* - %", "*. %", "*, %", "* %", "% *", "%\n*", "Hi,\n%", "Hi,\n*\n%", "*\nSorry: %", "*\nThanks, Bob.\n\n% please.", "*<br>%", "*! %"})
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]*hub.Card{shipCard(), confirmOf(), selectOf("x1", "Go", "x2", "Go home")}).Draw(t, "card")
		o := rapid.SampledFrom(c.Options).Draw(t, "option")
		name := rapid.SampledFrom([]string{o.Value, o.Label}).Draw(t, "name")
		text := strings.ReplaceAll(negation.Draw(t, "negation"), "%", name)
		text = strings.ReplaceAll(strings.ReplaceAll(glue.Draw(t, "glue"), "*", name), "%", text)
		if r := Read(c, shuffleCase(t, text)); r.Option == o.N {
			t.Fatalf("%q answers %s", text, o.Value)
		}
	})
}

// What a person lists, asks or makes depend on something is never an answer.
func TestHedgesNeverAnswer(t *testing.T) {
	t.Parallel()
	shapes := rapid.SampledFrom([]string{
		"%?", "% ?", "% if tests pass", "%, if tests pass", "% - if tests pass", "%: unless Bob objects", "if tests pass, %", "maybe %", "% maybe", "% or later", "%, but only tomorrow",
		"should we %", "I would %", "let's %", "% when Bob is back", "%\nif tests pass", "%\nbut only tomorrow", "%...", "~%~", "> %", "%/%", "% %", "%, %", "% - or not", "is it ok to %?", "almost %", "% 🤔",
	})
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]*hub.Card{shipCard(), confirmOf(), taskCard()}).Draw(t, "card")
		v := vocabularyOf(c)
		name := rapid.SampledFrom(slices.Sorted(func(yield func(string) bool) {
			for n := range v.byName {
				if !yield(n) {
					return
				}
			}
		})).Draw(t, "name")
		text := strings.ReplaceAll(shapes.Draw(t, "shape"), "%", name)
		if r := Read(c, text); r.Why == "" {
			t.Fatalf("%q reads as %+v", text, r)
		}
	})
}

// Long text of any shape is read in linear time. Folding it once is the measure,
// so that a slow machine doesn't matter: reading takes some ten times as long,
// and thousands of times if a step is quadratic.
func TestLongTextIsCheap(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range 100 {
		pairs = append(pairs, strings.Repeat("a ", 50)+string(rune('Ā'+i)), "label "+string(rune('Ā'+i)))
	}
	all := []*hub.Card{selectOf(pairs...), confirmOf(), inputOf(hub.Field{Name: "n", Type: hub.FieldNumber}), cards()[7]}
	for _, unit := range []string{
		"a ", "ship - ", "2\n", "yes\n", ": ", ".", "-", " -", "(", "*", "not yes ", "yes not ", "n: 1\n", "a: ", "\u200b", "1. ", "<br>", "ﷺ", "批准不", "a\n\n", "don't. ", "²", "Hi,\n", "\u0301",
	} {
		for _, first := range []string{"", "yes - ", "1\n"} {
			text := first + strings.Repeat(unit, MaxRunes/4/utf8.RuneCountInString(unit))
			start := time.Now()
			fold(text)
			limit := 500*time.Millisecond + 200*time.Since(start)
			for i, c := range all {
				start := time.Now()
				r := Read(c, text)
				if took := time.Since(start); took > limit {
					t.Errorf("%q, %q and so on for card %d took %v (%s), more than %v", first, unit, i, took, r.Why, limit)
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range fragments {
		f.Add(s, uint8(0))
	}
	f.Add("2 - because\nof Bob", uint8(4))
	f.Add("env: prod\nn: 3\n\nthanks", uint8(7))
	all := cards()
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		c := all[int(which)%len(all)]
		if msg := consistent(c, text, Read(c, text)); msg != "" {
			t.Errorf("%q: %s", text, msg)
		}
	})
}
