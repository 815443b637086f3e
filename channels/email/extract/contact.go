package extract

import (
	"regexp"
	"strings"
)

// What makes a line a part of a signature. A bare number is no telephone: people
// answer with numbers, so a label or a plus sign must be there too.
var (
	phone = regexp.MustCompile(`(?:^|[^\pL\pN])(?:t|p|m|f|o|d|c|w|h|tel|tél|tf|tlf|telefon|telefono|teléfono|telefone|telephone|téléphone|téléph|phone|ph|mobile|mobil|móvil|movil|portable|port|cell|cellular|celular|fax|direct|durchwahl|handy|office|desk|work|puh|gsm|bel|bel mij|` +
		`тел|моб|факс|телефон|мобильный|τηλ|κιν|φαξ|טל|טלפון|נייד|هاتف|جوال|电话|電話|手机|手機|传真|直通|전화|휴대폰|핸드폰|hp|whatsapp|đt|điện thoại|โทร)\.?\s*[:.]?\s*(?:mij\s*)?[+(]?\d[\d ()./-]{5,}`)
	phonePlus    = regexp.MustCompile(`^\W{0,3}\+\d{1,3}[\d ()./-]{6,}\W{0,3}(?:<[^>]*>)?$`)
	addressAlone = regexp.MustCompile(`^(?:[\pL-]{1,10}\s?[:.|]\s?)?<?[\w.+-]+@[\w-]+(?:\.[\w-]+)+>?(?:\s?<mailto:[^>]*>)?$`)
	siteAlone    = regexp.MustCompile(`^(?:[\pL]{1,10}\s?[:.|]\s?)?<?(?:https?://|www\.)[^\s]+>?(?:\s?<https?:[^>]*>)?$|^(?:web|site|website)\s+[\w.-]+\.\w{2,}(?:\s?<https?:[^>]*>)?$`)
	picture      = regexp.MustCompile(`^\W{0,2}(?:\[(?:image|cid|logo|bild|imagen|immagine|afbeelding|photo|inline image|picture|img)[: .][^\]]*\]|<(?:image|img|cid)[^>]*>)\W{0,2}$`)
	postcode     = regexp.MustCompile(`(?:^|[^\pL\pN])(?:\d{4,6} ?[a-z]{0,2},? \pL{3,}|[a-z]{2},? \d{5}|[a-z]{1,2}\d[a-z\d]? \d[a-z]{2})(?:$|[^\pL\pN])`)
)

// contact says how surely a line belongs to a signature: 2 for a telephone,
// an address or the like, 1 for a title or a street, 0 for anything else.
func contact(l *line) int {
	s := strings.ReplaceAll(strings.Trim(l.low, "*_ "), "*", "")
	if s == "" || len(s) > 300 {
		return 0
	}
	if picture.MatchString(s) {
		return 2
	}
	words := wordsOf(s)
	if len(words) > 14 && !strings.Contains(s, "|") || sentence(l.norm) {
		return 0
	}
	number := strings.ContainsAny(s, "0123456789")
	switch {
	case addressAlone.MatchString(s), siteAlone.MatchString(s), number && (phonePlus.MatchString(s) || phone.MatchString(s)),
		anyIn(words, registers):
		return 2
	case piped(s), len(words) <= 10 && anyIn(words, titles), len(words) <= 6 && len(words) > 0 && networks[words[0]]:
		return 1
	case number && (anyIn(words, streets) || postcode.MatchString(s) || streetEnd(words)):
		return 1
	}
	return 0
}

func anyIn(words []string, set map[string]bool) bool {
	for _, w := range words {
		if set[w] {
			return true
		}
	}
	return false
}

// streetEnd finds "Musterstraße" and its like.
func streetEnd(words []string) bool {
	for _, w := range words {
		for _, end := range []string{"straße", "strasse", "str", "gasse", "straat", "laan", "gatan", "vägen", "veien", "vej", "katu", "allee", "platz"} {
			if len(w) > len(end)+2 && strings.HasSuffix(w, end) {
				return true
			}
		}
	}
	return false
}

var (
	titles = wordSet(
		"manager director engineer developer designer officer ceo cto cfo coo ciso cio president consultant analyst architect administrator admin specialist coordinator assistant associate partner founder co-founder owner lead head professor lecturer student recruiter scientist researcher supervisor executive representative accountant sre devops",
		"leiter leiterin leitung geschäftsführer geschäftsführerin entwickler entwicklerin berater beraterin referent referentin sachbearbeiter sachbearbeiterin abteilung vorstand inhaber ingenieur prokurist assistenz",
		"directeur directrice responsable ingénieur développeur développeuse chef gérant présidente président consultante adjoint service gerente directora jefe jefa ingeniero ingeniera responsabile direttore direttrice ingegnere diretor diretora engenheiro engenheira gestor coordenador coordenadora",
		"eigenaar hoofd medewerker adviseur ontwikkelaar ansvarig utvecklare chefsingenjör udvikler leder sjef utvikler rådgiver johtaja päällikkö kehittäjä asiantuntija kierownik dyrektor specjalista inżynier programista vedoucí ředitel vývojář konateľ riaditeľ vezető igazgató mérnök fejlesztő inginer müdür müdürü mühendis uzman uzmanı",
		"менеджер директор инженер начальник руководитель специалист разработчик бухгалтер отдел відділ інженер керівник розробник мениджър ръководител διευθυντής μηχανικός υπεύθυνος מנהל מנהלת מפתח מהנדס سكرتير مدير مهندس",
		"经理 工程师 总监 部 主任 部長 課長 マネージャー エンジニア 팀장 대리 과장 부장 gmbh ag kg ltd llc inc corp plc pty sarl sas bv nv oy oyj ab asa aps srl spa sro kft zrt doo ооо зао тов university universität université universidad università team department abteilung",
	)
	streets   = wordSet("street st road rd avenue ave boulevard blvd lane ln suite floor drive drv highway hwy strasse platz weg allee box postfach rue calle via viale piazza plaza rua avenida av ul ulica utca út tér gate gata gatan vägen katu tie plein room ул улица пр проспект вул вулиця бул")
	registers = wordSet("kvk btw iban bic swift vat ustid ust-id ust-idnr ust steuernummer hrb hra amtsgericht registergericht handelsregister geschäftsführer geschäftsführerin geschäftsführung siret siren rcs cif nif cnpj orgnr krs nip regon ičo dič cégjegyzékszám adószám инн огрн едрпоу")
	networks  = wordSet("linkedin twitter facebook instagram xing github mastodon youtube skype blog website")
)

// sentence reports whether a line is one, whatever else it holds: "Call me on
// +49 30 1234567 before you deploy."
func sentence(s string) bool {
	words := strings.Fields(s)
	if len(words) < 4 || strings.Contains(s, "|") {
		return false
	}
	small := 0
	for _, w := range words {
		if w[0] >= 'a' && w[0] <= 'z' && len(w) > 1 && !strings.ContainsAny(w, "@.:/0123456789") && !nameParts[w] && !titles[strings.Trim(w, ",;")] {
			small++
		}
	}
	return strings.IndexByte(".?!", s[len(s)-1]) >= 0 && small >= 2 || small >= 3 && small*2 > len(words)
}

// piped reports whether a line has short parts between bars or dots.
func piped(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '|' || r == '•' || r == '·' })
	if len(parts) < 2 || strings.HasPrefix(s, "|") || strings.Contains(s, "||") { // a table, or code
		return false
	}
	for _, p := range parts {
		if len(strings.Fields(p)) > 6 || !hasLetter(p) && !strings.ContainsAny(p, "0123456789") {
			return false
		}
	}
	return true
}

// sureContact is how sure a signature must be that nothing but its look gives
// away: a telephone and a title, say.
const sureContact = 3

// contacts finds a signature that nothing introduces: at the end, a name, with
// titles, telephones and addresses below it.
func contacts(lines []line, from int) int {
	first := 0
	if from > 0 { // the first paragraph is what somebody wrote
		for first < len(lines) && lines[first].norm != "" {
			first++
		}
	}
	sure := 0
	for end, rows := len(lines), 0; end > first; {
		start := paragraph(lines, end)
		if rows += end - start; rows > maxSignature+5 || start < first {
			break
		}
		score, at := signatureParagraph(lines[start:end])
		if score == 0 {
			break
		}
		sure += score
		if begins(&lines[start+at]) && (sure >= sureContact || titled(lines[start+at:end])) {
			return owner(lines, start+at, first)
		}
		if at > 0 {
			break
		}
		for end = start; end > 0 && lines[end-1].norm == ""; {
			end--
		}
	}
	return len(lines)
}

// paragraph returns the beginning of the paragraph that ends at a line.
func paragraph(lines []line, end int) int {
	for end > 0 && lines[end-1].norm != "" {
		end--
	}
	return end
}

// begins reports whether a signature can begin with a line.
func begins(l *line) bool { return isName(l.norm) || piped(l.norm) }

// titled reports whether a paragraph is a full name and two titles or more.
func titled(para []line) bool {
	if len(para) < 3 || len(strings.Fields(para[0].norm)) < 2 || contact(&para[0]) > 0 {
		return false
	}
	for i := 1; i < len(para); i++ {
		if contact(&para[i]) == 0 {
			return false
		}
	}
	return true
}

// owner returns the beginning of a signature whose part from i on was found:
// above a company may stand whose signature it is, in a paragraph of its own.
func owner(lines []line, i, first int) int {
	if contact(&lines[i]) == 0 {
		return i // it began with a person
	}
	end := i
	for end > 0 && lines[end-1].norm == "" {
		end--
	}
	start := paragraph(lines, end)
	if end == i || start < first || end-start > 4 || !isName(lines[start].norm) || len(strings.Fields(lines[start].norm)) < 2 {
		return i
	}
	for k := start; k < end; k++ {
		if l := &lines[k]; l.depth > 0 || isProse(l) {
			return i
		}
	}
	return start
}

// signatureParagraph returns how surely a paragraph is a part of a signature,
// and where the signature begins in it: a line such as "Thanks," may stand above
// a name in the same paragraph.
func signatureParagraph(para []line) (score, at int) {
	for i := len(para) - 1; i >= 0; i-- {
		l := &para[i]
		c := contact(l)
		if l.depth > 0 || l.fence || c == 0 && isProse(l) || i < len(para)-1 && c == 0 && strings.HasSuffix(l.norm, ",") {
			at = i + 1
			break
		}
		score += c
	}
	if at == len(para) || at > 0 && !begins(&para[at]) {
		return 0, 0
	}
	return score, at
}
