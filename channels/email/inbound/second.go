package inbound

import (
	"slices"
	"strings"
	"unicode"

	"beckon/channels/reply"
	"beckon/hub"
)

// secondThoughts reports whether a comment takes another choice than the first line
// did: "Approve", and below it "Actually no, better reject." A comment may name
// other choices, and mostly does so to say why not; it takes one when words for
// changing one's mind stand in the same sentence, or hardly any others.
func secondThoughts(c *hub.Card, r *reply.Reading) bool {
	if !r.Clear() || r.Option == 0 || r.Comment == "" {
		return false
	}
	const alone = 2 // words besides the name, in a sentence that only names it
	for _, s := range strings.FieldsFunc(r.Comment, func(r rune) bool { return strings.ContainsRune(".!?;\n。！？", r) }) {
		words := foldWords(s)
		for _, o := range c.Options {
			name := foldWords(o.Label)
			if o.N == r.Option || !hasWords(words, name) && !hasWords(words, foldWords(o.Value)) {
				continue
			}
			if slices.ContainsFunc(words, changesMind) || len(words) > 0 && deniesFirst(words[0]) && len(words) <= len(name)+alone {
				return true
			}
		}
	}
	return false
}

// changesMind reports whether a folded word is one of those with which people
// begin again; in scripts without spaces it stands within a longer one.
func changesMind(w string) bool {
	switch w {
	case "actually", "instead", "rather", "better", "correction", "meant", "prefer", "sorry", "changed", "reconsidered", "oops",
		"lieber", "besser", "doch", "stattdessen", "eigentlich", "korrektur", "sondern", "entschuldigung",
		"plutôt", "finalement", "mieux", "préfère", "pardon", "mejor", "prefiero", "perdón", "realidad",
		"piuttosto", "meglio", "anzi", "scusa", "melhor", "prefiro", "desculpe", "aliás", "liever", "beter", "toch",
		"hellre", "bättre", "heller", "bedre", "hellere", "förlåt", "undskyld", "mieluummin", "parempi", "raczej", "lepiej", "jednak",
		"raději", "radši", "lépe", "nakonec", "лучше", "вернее", "точнее", "всё-таки", "краще", "inkább", "daha", "aslında", "vazgeçtim":
		return true
	}
	if !strings.ContainsFunc(w, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Hebrew, unicode.Arabic)
	}) {
		return false
	}
	return slices.ContainsFunc([]string{"やはり", "やっぱり", "訂正", "間違", "还是", "還是", "改为", "改成", "更正", "아니", "차라리", "정정", "עדיף", "בעצם", "الأفضل", "بدلا"}, func(s string) bool { return strings.Contains(w, s) })
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
