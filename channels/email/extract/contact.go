package extract

import (
	"regexp"
	"strings"
)

// What makes a line a part of a signature. A bare number is no telephone: people
// answer with numbers, so a label, a plus sign or a name must be there too.
var (
	phoneLabelled = regexp.MustCompile(`(?i)(?:^|[|•·,;/(\s])(?:t|p|m|f|o|d|c|e|w|tel|tél|telefon|telefono|teléfono|telefone|telephone|téléphone|phone|ph|mobile|mobil|móvil|portable|cell|cellular|fax|direct|durchwahl|handy|office|desk|work|puh|tlf|gsm|bel|bel mij|тел|моб|телефон|τηλ|κιν|טל|נייד|هاتف|جوال|电话|電話|手机|手機|传真|전화|휴대폰|hp|whatsapp)\.?\s*[:.]?\s*(?:mij\s*)?[+(]?\d[\d ()./-]{5,}`)
	phonePlus     = regexp.MustCompile(`^\W{0,3}\+\d{1,3}[\d ()./-]{6,}\W{0,3}(?:<[^>]*>)?$`)
	addressAlone  = regexp.MustCompile(`(?i)^(?:e-?mail|mail|e|m|courriel|correo|почта|邮箱|郵件)?\s?[:.|]?\s?<?[\w.+-]+@[\w-]+(?:\.[\w-]+)+>?(?:\s?<mailto:[^>]*>)?$`)
	siteAlone     = regexp.MustCompile(`(?i)^(?:web|website|site|www|w|internet|url|homepage)?\s?[:.|]?\s?<?(?:https?://|www\.)[^\s]+>?(?:\s?<https?:[^>]*>)?$|^web\s+[\w.-]+\.\w{2,}\b`)
	registry      = regexp.MustCompile(`(?i)\b(?:kvk|btw|iban|bic|vat|ust-?id|ustid|steuernummer|hrb|hra|amtsgericht|registergericht|handelsregister|gesch(?:ä|ae)ftsf(?:ü|ue)hrer(?:in)?|vorstand|aufsichtsrat|siret|siren|rcs|cif|nif|cnpj|p\.? ?iva|partita iva|org\.? ?nr|orgnr|cvr|krs|nip|regon|ičo|dič|ico|cégjegyzék|adószám|company (?:no|number|reg)|registered (?:in|office)|инн|огрн)\b.{0,3}[:.#]?`)
	picture       = regexp.MustCompile(`(?i)^\W{0,2}(?:\[(?:image|cid|logo|bild|imagen|immagine|afbeelding|photo|inline image|picture)\b[^\]]*\]|<image[^>]*>|<img[^>]*>|<cid:[^>]*>)\W{0,2}$`)
	street        = regexp.MustCompile(`(?i)\b(?:street|str\.|st\.|road|rd\.|avenue|ave\.?|boulevard|blvd|lane|suite|floor|strasse|platz|p\.?o\.? box|postfach|rue|calle|via|viale|piazza|plaza|rua|ul\.|ulica|g\.|gatan|vägen|katu|tie|laan|weg|plein|room)\b|straße|straat|gasse|gatan|vägen|ул\.|` +
		`\b\d{4,6} ?[A-Z]{0,2},? \p{Lu}\p{L}+|\b[A-Z]{2} \d{5}\b|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b`)
	social = regexp.MustCompile(`(?i)^(?:\W{0,2}(?:linkedin|twitter|facebook|instagram|xing|github|mastodon|youtube|skype|blog|website|book a meeting|schedule a (?:call|meeting))\b\W{0,3}(?:<[^>]*>)?\s*[|·•]?)+`)
	title  = regexp.MustCompile(`(?i)\b(?:manager|director|engineer|developer|designer|officer|ceo|cto|cfo|coo|ciso|head of|president|consultant|analyst|architect|administrator|specialist|coordinator|assistant|associate|partner|founder|co-founder|owner|lead|leiter(?:in)?|leitung|geschäftsführer(?:in)?|entwickler(?:in)?|berater(?:in)?|referent(?:in)?|sachbearbeiter(?:in)?|directeur|directrice|responsable|ingénieur|chef de|gerente|director[ae]|jefe|ingenier[oa]|responsabile|direttore|diretor[ae]?|eigenaar|hoofd|medewerker|chef|ansvarig|utvecklare|udvikler|kierownik|dyrektor|specjalista|vedoucí|ředitel|vezető|mérnök|müdür|mühendis|uzman|менеджер|директор|инженер|начальник|руководитель|специалист|team|department|abteilung|professor|lecturer|student|gmbh|ag|ltd|llc|inc|s\.?a\.?r?\.?l?|b\.?v\.?|oy|ab|a/s|s\.r\.l|sp\. z o\.o|s\.r\.o|kft|university|universität|université)\b`)
)

// contact says how surely a line belongs to a signature: 2 for a telephone,
// an address or the like, 1 for a title or a street, 0 for anything else.
func contact(l *line) int {
	s := strings.Trim(l.norm, "*_ ")
	if s == "" || len(s) > 300 {
		return 0
	}
	s = strings.ReplaceAll(s, "*", "")
	if picture.MatchString(s) {
		return 2
	}
	if len(strings.Fields(s)) > 14 && !strings.Contains(s, "|") || sentence(s) {
		return 0
	}
	switch {
	case phonePlus.MatchString(s), addressAlone.MatchString(s), siteAlone.MatchString(s), phoneLabelled.MatchString(s), registry.MatchString(s):
		return 2
	case social.MatchString(s), piped(s):
		return 1
	case title.MatchString(s) && len(strings.Fields(s)) <= 8, street.MatchString(s) && strings.ContainsAny(s, "0123456789,"):
		return 1
	}
	return 0
}

// sentence reports whether a line is one, whatever else it holds: "Call me on
// +49 30 1234567 before you deploy."
func sentence(s string) bool {
	words := strings.Fields(s)
	if len(words) < 4 {
		return false
	}
	small := 0
	for _, w := range words {
		if w[0] >= 'a' && w[0] <= 'z' && len(w) > 1 && hasLetter(w) && !strings.ContainsAny(w, "@.:/") && !nameParts[w] {
			small++
		}
	}
	last := s[len(s)-1]
	return strings.IndexByte(".?!", last) >= 0 && small >= 2 || small >= 3 && small*2 > len(words)
}

// piped reports whether a line has short parts between bars or dots.
func piped(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '|' || r == '•' || r == '·' })
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		if len(strings.Fields(p)) > 6 {
			return false
		}
	}
	return true
}

// contacts finds a signature that nothing introduces: a name, with titles,
// telephones and addresses below it, at the end.
func contacts(lines []line, from int) int {
	first := 0
	if from > 0 {
		first = firstParagraphEnd(lines)
	}
	best, sure, seen := len(lines), 0, 0
	for end := len(lines); end > first; {
		start := end
		for start > 0 && lines[start-1].norm != "" {
			start--
		}
		para := lines[start:end]
		if seen += len(para); seen > maxSignature+5 {
			break
		}
		score, at := signatureParagraph(para)
		if score == 0 && !(best < len(lines) && sure < 4 && at == 0 && len(para) <= 2 && nameAlone(para)) || start+at < first {
			break
		}
		sure += score
		best = start + at
		if at > 0 || isName(lines[best].norm) || piped(lines[best].norm) {
			if sure >= 3 {
				return best
			}
		}
		if at > 0 {
			break
		}
		end = start
		for end > 0 && lines[end-1].norm == "" {
			end--
		}
	}
	if best < len(lines) && sure >= 4 {
		return best
	}
	return len(lines)
}

// firstParagraphEnd returns the end of the first paragraph, which is what
// somebody wrote, whatever it looks like.
func firstParagraphEnd(lines []line) int {
	for i := range lines {
		if lines[i].norm == "" {
			return i
		}
	}
	return len(lines)
}

// signatureParagraph returns how surely a paragraph is a part of a signature,
// and where the signature begins in it: a sign-off such as "Thanks," may stand
// above a name in the same paragraph.
func signatureParagraph(para []line) (score, at int) {
	for i := len(para) - 1; i >= 0; i-- {
		l := &para[i]
		c := contact(l)
		if l.depth > 0 || l.fence || c == 0 && isProse(l) {
			at = i + 1
			break
		}
		if i < len(para)-1 && c == 0 && !isName(l.norm) && strings.HasSuffix(l.norm, ",") {
			at = i + 1
			break
		}
		score += c
	}
	if at == len(para) {
		return 0, 0
	}
	if at > 0 && !isName(para[at].norm) && !piped(para[at].norm) {
		return 0, 0
	}
	return score, at
}

// nameAlone reports whether a paragraph is a full name, with a title perhaps.
func nameAlone(para []line) bool {
	return isName(para[0].norm) && len(strings.Fields(para[0].norm)) >= 2
}
