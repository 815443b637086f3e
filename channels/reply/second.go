package reply

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"beckon/hub"
)

// secondThoughts reports whether a comment takes something else than the first
// line did: "Approve", and below it "Actually no, better reject." A comment may
// name other choices, and mostly does so to say why not. It takes one when words
// for changing one's mind stand in the same sentence, or hardly any words
// besides.
func (v *vocabulary) secondThoughts(chosen int, comment string) bool {
	comment = trim(comment)
	if comment == "" {
		return false
	}
	said := sentences(comment)
	for _, line := range strings.Split(comment, "\n") { // "Sorry, no", above a name
		said = append(said, sentences(line)...)
	}
	for _, s := range said {
		words := textWords(s)
		if len(words) == 0 {
			continue
		}
		changes, denies := slices.ContainsFunc(words, changesMind), deniesFirst(words[0])
		if changes && !v.saysNo(chosen) && barelyNo(words) {
			return true
		}
		if (changes || denies) && v.takesOther(chosen, words, changes) {
			return true
		}
	}
	return false
}

// alone is how many words a sentence may have besides a name when it says no
// more than that name.
const alone = 2

// takesOther reports whether a sentence names another choice so that it may be
// meant. Its numbers and the words for yes and no mean other things as well, and
// count where they end the sentence.
func (v *vocabulary) takesOther(chosen int, words []string, changes bool) bool {
	for i := range v.choices {
		ch := &v.choices[i]
		if i == chosen || ch.verb == hub.VerbDismiss { // its names are what people say of anything
			continue
		}
		for _, n := range ch.names {
			name := wordsOf(n)
			short := len(words) <= len(name)+alone
			if named(words, name) && (short || changes && ch.verb != hub.VerbComplete) {
				return true
			}
		}
	}
	last := words[len(words)-1]
	if n, err := strconv.Atoi(last); err == nil && n >= 1 && n <= v.numbers && v.choices[chosen].option != n {
		return changes || len(words) <= 1+alone
	}
	others := v.byName[last]
	return changes && len(others) == 1 && others[0] != chosen && !slices.Contains(v.choices[others[0]].names, last)
}

// saysNo reports whether a choice is a no itself, which a "sorry, no" below it
// only says again.
func (v *vocabulary) saysNo(choice int) bool {
	ch := &v.choices[choice]
	return ch.refuses() || slices.Contains(v.byName["no"], choice) || slices.ContainsFunc(ch.names, func(n string) bool {
		return slices.ContainsFunc(wordsOf(n), negates)
	})
}

// barelyNo reports whether a sentence holds words for changing one's mind and for
// no, and nothing else: "Actually no", "doch lieber nicht".
func barelyNo(words []string) bool {
	const few = 4
	no := slices.ContainsFunc(words, func(w string) bool { return negates(w) || deniesFirst(w) })
	return no && len(words) <= few && !slices.ContainsFunc(words, func(w string) bool { return !changesMind(w) && !negates(w) && !deniesFirst(w) })
}

// named reports whether a sentence names a choice, other than to say what is not
// to be: "not reject", "better than reject". The last word may have an ending,
// "approve" in "approved" but not "go" in "good". Scripts without spaces have the
// name within a word.
func named(words, name []string) bool {
	if len(name) == 0 {
		return false
	}
	const stem = 5 // runes, from which on an ending makes no other word
	whole := name[len(name)-1]
	last := whole
	long := utf8.RuneCountInString(whole) >= stem
	if r := []rune(whole); len(r) > stem {
		last = string(r[:len(r)-1])
	}
	for i := 0; i+len(name) <= len(words); i++ {
		w := words[i+len(name)-1]
		if !slices.Equal(words[i:i+len(name)-1], name[:len(name)-1]) ||
			w != whole && !(long && strings.HasPrefix(w, last)) && !(unspaced(last) && strings.Contains(w, last)) {
			continue
		}
		if i > 0 && negates(words[i-1]) && !deniesFirst(words[i-1]) {
			continue
		}
		if i > 1 && slices.Contains(comparisons, words[i-2]+" "+words[i-1]) {
			continue
		}
		return true
	}
	return false
}

// comparisons stand before what is not taken.
var comparisons = []string{
	"rather than", "better than", "instead of", "besser als", "lieber als", "beter dan", "liever dan", "bättre än", "hellre än",
	"bedre end", "bedre enn", "hellere end", "heller enn", "lepiej niż", "raczej niż", "лучше чем", "inkább mint",
}

// changes are words with which people begin again.
var changes = set(
	"actually", "instead", "rather", "better", "correction", "meant", "prefer", "sorry", "changed", "reconsidered", "oops",
	"lieber", "besser", "doch", "stattdessen", "eigentlich", "korrektur", "sondern", "entschuldigung",
	"plutôt", "finalement", "mieux", "préfère", "pardon", "mejor", "prefiero", "perdón", "realidad",
	"piuttosto", "meglio", "anzi", "scusa", "scusate", "melhor", "prefiro", "desculpe", "aliás", "liever", "beter", "toch",
	"hellre", "bättre", "heller", "bedre", "hellere", "förlåt", "undskyld", "unnskyld", "mieluummin", "parempi",
	"raczej", "lepiej", "jednak", "raději", "radši", "lépe", "nakonec", "лучше", "вернее", "точнее", "таки", "краще",
	"inkább", "daha", "aslında", "vazgeçtim",
)

// unspacedChanges are such words in scripts in which they stand within a longer
// one, or take a prefix.
var unspacedChanges = []string{
	"やはり", "やっぱり", "訂正", "間違", "还是", "還是", "改为", "改成", "更正", "아니", "차라리", "정정", "עדיף", "בעצם", "الأفضل", "بدلا",
}

// changesMind reports whether a folded word is one with which people begin again.
func changesMind(w string) bool {
	if _, ok := changes[w]; ok {
		return true
	}
	return strings.ContainsFunc(w, unspacedOrSemitic) && slices.ContainsFunc(unspacedChanges, func(s string) bool { return strings.Contains(w, s) })
}

func unspacedOrSemitic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Hebrew, unicode.Arabic)
}

// deniesFirst reports whether a folded word at the head of a sentence denies what
// stands before it.
func deniesFirst(w string) bool {
	switch w {
	case "no", "nope", "nein", "non", "não", "nee", "nej", "nei", "nie", "ne", "нет", "ні", "hayır", "לא", "wait", "then", "so":
		return true
	}
	return false
}
