package reply

import "strings"

// The words in this file are folded, as [fold] leaves them; a test holds that.
// They are few on purpose: a word is here only if it can't mean anything else.

// yesWords and noWords answer a yes-or-no question. Left out because another
// language reads them otherwise: tak (yes in Polish, thanks in Danish), da
// (Russian, German), ne (Slavic, Greek), ei (Finnish, Portuguese), так, 好.
var (
	yesWords = []string{
		"yes", "y", "yep", "yup", "yeah", // English
		"ja",             // German, Dutch, Swedish, Danish, Norwegian
		"oui",            // French
		"si", "sí", "sì", // Spanish, Italian
		"sim",       // Portuguese
		"да",        // Russian, Bulgarian
		"evet",      // Turkish
		"igen",      // Hungarian
		"はい",        // Japanese
		"はい、お願いします", // yes, please
		"是", "是的",   // Chinese
		"예", "네", // Korean
		"نعم", // Arabic
		"כן",  // Hebrew
	}
	noWords = []string{
		"no", "n", "nope", // English, Spanish, Italian
		"nein",       // German
		"non",        // French
		"não", "nao", // Portuguese
		"nee",        // Dutch
		"nej", "nei", // Swedish, Danish, Norwegian
		"nie",       // Polish
		"нет", "ні", // Russian, Ukrainian
		"hayır",  // Turkish
		"nem",    // Hungarian
		"いいえ",    // Japanese
		"否", "不", // Chinese
		"아니요", "아니오", // Korean
		"لا", // Arabic
		"לא", // Hebrew
	}
)

// confirmYesWords and confirmNoWords are further answers to a confirm. "Go
// ahead", "LGTM", "sure" and "fine" are not: to "Shall I stop?" they could mean
// either.
var (
	confirmYesWords = []string{"approve", "approved", "i approve", "ok", "okay", "👍", ":+1:", ":thumbsup:"}
	confirmNoWords  = []string{"deny", "denied", "reject", "rejected", "👎", ":-1:", ":thumbsdown:"}
)

// acknowledgements answer a confirm only as the whole text: "OK, thanks" and
// "OK. I'll look at it" say no more than that somebody has read it.
var acknowledgements = []string{"ok", "okay", "👍", ":+1:", ":thumbsup:"}

// yesNames and noNames are what else an option of a confirm may be called to be
// its yes or its no.
var (
	yesNames = []string{"accept", "allow", "confirm", "true"}
	noNames  = []string{"decline", "refuse", "disallow", "false"}
)

var (
	declineWords  = []string{"decline", "declined", "i decline"}
	completeWords = []string{"done", "complete", "completed", "finished"}
	dismissWords  = []string{"can't do", "can't do it", "can't", "cannot", "cannot do", "cannot do it", "cant do", "cant", "dismiss"}
)

// courtesies may follow a choice and say nothing about it.
var courtesies = []string{
	"please", "thanks", "thank you", "thx", "bitte", "danke", "merci", "svp", "s'il vous plaît", "por favor", "gracias",
	"obrigado", "obrigada", "grazie", "per favore", "alstublieft", "bedankt", "tack", "tak", "пожалуйста", "спасибо",
}

var (
	greetings = []string{
		"hi", "hello", "hey", "dear", "good morning", "good afternoon", "good evening", "hallo", "guten tag", "guten morgen",
		"guten abend", "moin", "bonjour", "bonsoir", "salut", "hola", "buenos días", "buenas tardes", "olá", "bom dia",
		"ciao", "buongiorno", "hoi", "goedemorgen", "cześć", "dzień dobry", "привет", "здравствуйте", "добрый день",
		"こんにちは", "お疲れ様です", "你好", "您好",
	}
	addressees = []string{"all", "team", "there", "everyone", "everybody", "folks", "both", "beckon", "zusammen", "alle", "à tous", "a todos", "a tutti"}
)

// negations are single words; words ending in n't are recognised besides.
var negations = set(
	"not", "no", "non", "never", "none", "nothing", "neither", "nor", "without", "cannot", "dont", "doesnt", "cant", "wont",
	"shouldnt", "mustnt", "nope", "nah", "stop", "cancel", "abort", "against", "refuse", "reject", "deny", "wrong", "mistake",
	"nicht", "nein", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "ohne",
	"ne", "pas", "jamais", "aucun", "aucune", "sans", "rien", "nunca", "jamás", "ningún", "sin", "ni",
	"não", "nao", "sem", "nem", "mai", "senza", "né", "nessun", "nessuno", "niet", "geen", "nooit", "zonder", "nee",
	"nigdy", "bez", "не", "нет", "ни", "нельзя", "никогда", "без", "ні", "inte", "ikke", "ikkje", "ej", "nej", "nei",
	"aldrig", "aldri", "ingen", "utan", "uden", "ei", "älä", "není", "nikdy", "soha", "değil", "hayır", "yok", "nu",
	"tidak", "jangan", "không",
)

// negationsAfter follow what they negate.
var negationsAfter = []string{"not", "never", "nicht", "nie", "niet", "pas", "ikke", "inte"}

// unspacedNegations are parts of words, in scripts without spaces.
var unspacedNegations = []string{"不", "没", "沒", "別", "别", "勿", "未", "無", "无", "禁", "拒", "否", "ない", "ません", "ずに", "するな", "だめ", "ダメ", "안", "않", "마세", "말", "못", "ไม่", "อย่า"}

// hedges make a choice depend on something, or less than certain.
var hedges = []string{
	"if", "unless", "until", "till", "when", "once", "after", "before", "provided", "providing", "assuming", "pending", "subject to",
	"except", "but", "though", "although", "however", "only", "or", "maybe", "perhaps", "probably", "possibly", "unsure", "guess",
	"instead", "rather", "wait", "as long as", "as soon as", "later", "depends", "depending", "otherwise", "else",
	"wenn", "falls", "sofern", "sobald", "solange", "nachdem", "bevor", "bis", "erst", "ausser", "aber", "jedoch",
	"nur", "oder", "vielleicht", "eventuell", "mais", "si", "quand", "dès", "après", "avant", "sauf", "seulement", "ou", "peut être",
	"pero", "cuando", "después", "antes", "salvo", "solo", "sólo", "quizás", "mas", "se", "quando", "depois", "exceto", "só", "talvez",
	"ma", "dopo", "tranne", "forse", "oppure", "maar", "als", "indien", "tenzij", "zodra", "nadat", "alleen", "misschien",
	"ale", "jeśli", "jeżeli", "gdy", "chyba", "lub", "albo", "tylko", "но", "если", "когда", "после", "пока", "или", "только", "может",
	"men", "om", "hvis", "när", "når", "eller", "kanske", "måske",
}

// continuations begin a line that goes on with the sentence of the choice.
var continuations = []string{
	"but", "if", "unless", "until", "till", "when", "once", "after", "provided", "providing", "assuming", "except", "only", "or", "and",
	"not", "though", "although", "however", "as long as", "as soon as", "aber", "wenn", "falls", "sofern", "sobald", "nachdem", "erst",
	"ausser", "nur", "oder", "und", "nicht", "jedoch", "mais", "si", "quand", "dès", "après", "sauf", "seulement", "ou", "et", "pas",
	"pero", "cuando", "después", "salvo", "solo", "sólo", "o", "y", "mas", "se", "quando", "depois", "exceto", "só", "ma", "dopo", "tranne",
	"maar", "als", "indien", "tenzij", "zodra", "nadat", "niet", "alleen", "ale", "jeśli", "jeżeli", "gdy", "lub", "albo", "tylko",
	"но", "если", "когда", "после", "или", "и", "только", "не", "а", "men", "hvis", "eller",
}

var unspacedContinuations = []string{"但", "如果", "若", "除非", "等", "或", "不", "ただし", "でも", "もし", "しかし", "ただ", "하지만", "만약"}

// retractions take back what was said.
var retractions = []string{
	"i meant", "i mean", "meant to say", "scratch that", "strike that", "never mind", "nevermind", "on second thought",
	"on second thoughts", "changed my mind", "ignore that", "ignore this", "ignore my", "disregard", "take that back",
	"take it back", "no wait", "wait no", "oops", "my mistake", "don't do it", "don't do this", "don't do that", "do not do it",
	"do not do this", "do not do that", "reacted via gmail", "reacted to your message",
}

// retractingLines take back what was said when they stand on a line alone.
var retractingLines = []string{"don't", "do not", "no", "not", "nope", "never", "wait", "stop", "hold on", "cancel", "cancel that", "not yet", "nein", "nicht", "non", "nee", "нет", "stopp"}

func set(words ...string) map[string]struct{} {
	m := make(map[string]struct{}, len(words))
	for _, w := range words {
		m[w] = struct{}{}
	}
	return m
}

// shortcode reads the names that Slack gives to the emoji that answer.
func shortcode(folded string) string {
	switch folded {
	case ":one:":
		return "1"
	case ":two:":
		return "2"
	case ":three:":
		return "3"
	case ":four:":
		return "4"
	case ":five:":
		return "5"
	case ":six:":
		return "6"
	case ":seven:":
		return "7"
	case ":eight:":
		return "8"
	case ":nine:":
		return "9"
	case ":keycap_ten:", "🔟":
		return "10"
	}
	return withoutTone(folded)
}

// withoutTone drops Slack's skin tone from the name of an emoji.
func withoutTone(folded string) string {
	if i := strings.Index(folded, ":skin-tone-"); i > 0 {
		return folded[:i]
	}
	return folded
}
