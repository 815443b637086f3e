package reply

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

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
	if strings.Contains(comment, "\n") {
		for _, line := range strings.Split(comment, "\n") { // "Sorry, no", above a name
			said = append(said, sentences(line)...)
		}
	}
	names := v.proseNames()
	for _, s := range said {
		words := textWords(s)
		if len(words) == 0 {
			continue
		}
		changes, denies := slices.ContainsFunc(words, changesMind), deniesFirst(words[0])
		if changes && !v.saysNo(chosen) && barelyNo(words) {
			return true
		}
		if (changes || denies) && v.takesOther(chosen, names, words, changes) {
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
func (v *vocabulary) takesOther(chosen int, names [][]name, words []string, changes bool) bool {
	for i := range v.choices {
		ch := &v.choices[i]
		if i == chosen || ch.verb == hub.VerbDismiss { // its names are what people say of anything
			continue
		}
		for k := range names[i] {
			n := &names[i][k]
			short := len(words) <= len(n.before)+1+alone
			if n.in(words) && (short || changes && ch.verb != hub.VerbComplete) {
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

// name is one name of a choice as prose has it: the last word may have an ending,
// "approve" in "approved" but not "go" in "good". Scripts without spaces have the
// name within a word.
type name struct {
	before []string // its words but the last
	last   string
	stem   string // of the last; "" when an ending makes another word
	within string // "" in scripts with spaces
}

// proseNames are the names of each choice.
func (v *vocabulary) proseNames() [][]name {
	const stem = 5 // runes
	out := make([][]name, len(v.choices))
	for i := range v.choices {
		for _, s := range v.choices[i].names {
			words := wordsOf(s)
			if len(words) == 0 {
				continue
			}
			n := name{before: words[:len(words)-1], last: words[len(words)-1]}
			short := n.last
			r := []rune(n.last)
			if len(r) > stem {
				short = string(r[:len(r)-1])
			}
			if len(r) >= stem {
				n.stem = short
			}
			if unspaced(n.last) {
				n.within = short
			}
			out[i] = append(out[i], n)
		}
	}
	return out
}

// is reports whether a word is the last one of the name.
func (n *name) is(w string) bool {
	return w == n.last || n.stem != "" && strings.HasPrefix(w, n.stem) || n.within != "" && strings.Contains(w, n.within)
}

// in reports whether a sentence has the name, other than to say what is not to
// be: "not reject", "better than reject".
func (n *name) in(words []string) bool {
	for end := len(n.before); end < len(words); end++ {
		i := end - len(n.before)
		switch {
		case !n.is(words[end]) || !slices.Equal(words[i:end], n.before):
		case i > 0 && negates(words[i-1]) && !deniesFirst(words[i-1]):
		case i > 1 && slices.Contains(comparisons, words[i-2]+" "+words[i-1]):
		default:
			return true
		}
	}
	return false
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
