package extract

import (
	"strings"
	"unicode"
)

// clues are what tells a line that introduces a quote from one that a person
// wrote. They don't depend on the language, save for the verbs.
type clues struct {
	email   bool // has an address
	closed  bool // ends with an address in brackets, or at least with an address
	bracket bool // and it is in brackets
	dated   bool // has a date, or a time and more numbers
	clock   bool // has a time of day
	verb    bool // has a verb of writing
	ends    bool // ends with one
	first   bool // the writer is "I" or "we"
	colon   bool // ends with a colon, or with the dashes that it began with
	ruled   bool // stands between dashes
	digit   bool // begins with a digit
	lead    bool // begins with a word as in "On …"
}

// cluesOf reads a line in lower case.
func cluesOf(low string) clues {
	var c clues
	s := strings.Trim(low, "*_ ")
	if t := strings.Trim(s, "-= "); strings.HasPrefix(s, "--") && strings.HasSuffix(s, "--") {
		s, c.ruled = t, true
	}
	t := strings.TrimRight(s, ":* ")
	c.colon = c.ruled || strings.HasSuffix(strings.TrimRight(s, "* "), ":")
	c.address(t)
	c.date(t)
	words := wordsOf(withoutAddresses(t))
	c.verbs(words, t)
	if len(words) > 0 {
		c.lead = leads[words[0]]
		c.digit = s != "" && s[0] >= '0' && s[0] <= '9'
	}
	return c
}

// address looks for a mail address.
func (c *clues) address(s string) {
	for i := 0; ; {
		at := strings.IndexByte(s[i:], '@')
		if at < 0 {
			break
		}
		at += i
		if at > 0 && at+1 < len(s) && !strings.ContainsRune(" <>\"(),:;", rune(s[at-1])) && !strings.ContainsRune(" <>\"(),:;.", rune(s[at+1])) {
			c.email = true
			tail := s[at:]
			c.bracket = c.bracket || strings.HasSuffix(s, ">") || strings.HasSuffix(s, ")") || strings.HasSuffix(s, "]")
			if !strings.ContainsAny(strings.TrimRight(tail, ">)] "), " ") || strings.Contains(tail, "<mailto:") {
				c.closed = true
			}
		}
		i = at + 1
	}
	c.bracket = c.bracket && c.closed
}

// withoutAddresses takes what stands between < and > out, and mail addresses.
func withoutAddresses(s string) string {
	if !strings.ContainsAny(s, "<@") {
		return s
	}
	var b strings.Builder
	depth := 0
	for _, r := range s {
		switch {
		case r == '<':
			depth++
			b.WriteByte(' ')
		case r == '>' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	if depth > 0 { // never closed: it was none
		return s
	}
	words := strings.Fields(b.String())
	kept := words[:0]
	for _, w := range words {
		if !strings.Contains(w, "@") {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// number is a run of digits in a line.
type number struct {
	value, digits int
	before        string // what stands between it and the number before, trimmed
}

func numbersIn(s string) []number {
	var out []number
	for i, end := 0, 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		n := number{before: strings.TrimSpace(s[end:i])}
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n.value = min(n.value*10+int(s[i]-'0'), 1<<20)
			n.digits++
		}
		out, end = append(out, n), i
	}
	return out
}

// year reports whether a number is a year of our calendar, of the Islamic or
// Persian one, or of the Thai one.
func (n number) year() bool {
	v := n.value
	return n.digits == 4 && (v >= 1970 && v <= 2100 || v >= 1380 && v <= 1500 || v >= 2500 && v <= 2600)
}

// date looks for a date and a time of day. It knows numbers only: the names of
// months and days differ in every language, and the numbers don't.
func (c *clues) date(s string) {
	numbers := numbersIn(s)
	year, day, full := false, false, false
	for i, n := range numbers {
		year = year || n.year()
		day = day || n.digits <= 2 && n.value <= 59
		if i == 0 {
			continue
		}
		last := numbers[i-1]
		joined := len(n.before) == 1 && strings.Contains("./-", n.before)
		if joined && i > 1 && last.before == n.before && n.digits <= 4 {
			full = true // 30.11.2026
		}
		if last.digits > 2 || n.digits != 2 || n.value > 59 {
			continue
		}
		switch n.before {
		case ":", "h", "時", "시", "点":
			c.clock = true
		case ".": // 13.00, but not the 30.11 of a date
			c.clock = c.clock || !(i > 1 && last.before == ".") && !(i+1 < len(numbers) && numbers[i+1].before == ".")
		}
	}
	c.dated = full || year && day || c.clock && len(numbers) >= 3
}

// verbs looks for a verb of writing, and whether the line ends with it.
func (c *clues) verbs(words []string, s string) {
	last := len(words) - 1
	for last > 0 && fillers[words[last]] {
		last--
	}
	for i, w := range words {
		if !verbs[w] {
			continue
		}
		c.verb = true
		c.ends = c.ends || i == last
		if i > 0 && selves[words[i-1]] {
			c.first = true
		}
	}
	for _, v := range verbEndings { // scripts without spaces
		if strings.HasSuffix(strings.TrimRightFunc(s, unicode.IsPunct), v) {
			c.verb, c.ends = true, true
		}
	}
}

// wordSet makes a set of words, which stand in a string parted by spaces. They
// are brought into the form in which lines are compared.
func wordSet(words ...string) map[string]bool {
	set := make(map[string]bool)
	for _, s := range words {
		for w := range strings.FieldsSeq(lower(normal(s))) {
			set[w] = true
		}
	}
	return set
}

// phraseSet makes a set of phrases.
func phraseSet(phrases ...string) map[string]bool {
	set := make(map[string]bool, len(phrases))
	for _, p := range phrases {
		set[lower(normal(p))] = true
	}
	return set
}

// verbs are the words that say that somebody wrote, without auxiliaries.
var verbs = wordSet(
	"wrote writes sent", // en
	"schrieb schrieben schreibt geschrieben geschriewen",                                           // de, lb
	"schreef geschreven schrijft skryf geskryf",                                                    // nl, af
	"écrit ecrit écrivait écrivit",                                                                 // fr
	"escribió escribio escrito escribe escreveu escreveram escribiu escreve",                       // es, pt, gl
	"scritto scrisse scriveva escrigué escriure escrit idatzi",                                     // it, ca, eu
	"skrev skriver skreiv skrifaði skrivaði",                                                       // sv, da, nb, nn, is, fo
	"kirjoitti kirjutas rakstīja rašė parašė rašo uzrakstīja",                                      // fi, et, lv, lt
	"napisał napisała napisali napisano napisana pisze",                                            // pl
	"napsal napsala napsali napísal napísala napísali píše napisao napisala napisal napisali piše", // cs, sk, hr, sr, sl
	"írta írt scris yazdı yazmış yazdi shkroi kiteb",                                               // hu, ro, tr, sq, mt
	"написал написала написали написано пишет писал писала написав пише писав напісаў піша написа напиша жазды", // ru, uk, be, bg, mk, sr, kk
	"έγραψε έγραψαν",                                    // el
	"כתב כתבה כתבו כתב/ה נכתב",                          // he
	"كتب كتبت كتبوا كتابة نوشت",                         // ar, fa
	"menulis viết sumulat isinulat andika",              // id, ms, vi, tl
	"เขียน เขียนว่า ने लिखा लिखा",                       // th, hi
	"ysgrifennodd scríobh",                              // cy, ga
	"quoting zitat citando citation citat cytat citace", // "Quoting X <x@y>:"
)

// verbEndings are verbs of writing in scripts that need no spaces.
var verbEndings = []string{
	"写道", "寫道", "写到", "写了", "來信", "来信", "撰写", "書きました", "書いた", "書き込みました", "のメッセージ", "さんからのメール",
	"님이 작성", "쓴 글", "쓴 글에서", "작성", "작성함", "작성하였습니다", "썼습니다", "씀", "เขียน", "เขียนว่า", "ได้เขียน", "ლწერდა", "დაწერა", "գրել է", "написал(а)", "napisał(a)", "napsal(a)", "napísal(a)",
}

// fillers may follow the verb: "wrote the following".
var fillers = wordSet(
	"a the following this das folgende folgendes følgende följande seuraavaa seuraavasti volgende lo siguiente o seguinte quanto segue",
	"ce qui suit la je som sljedeće sledeće următoarele toto następujące а ла ло ли наступне следующее ما يلي at on nhu sau như",
)

// selves are the writers that introduce no quote.
var selves = wordSet("i we you ich wir du sie yo ik wij jag vi")

// leads are the words that a line which introduces a quote often begins with.
var leads = wordSet(
	"on at in from am um vom den der die le la les en el a as às em no na il in data alle op kl pe ma ti ke to la su",
	"w dnu dne dňa dnia dana dňa v ve во в у на от від pada vào lúc στις την ביום בתאריך في در në më tanggal",
	"pe la luni data wiadomość mesajul på þann il-ħadd kuupäeval",
	"在 于 於",
)
