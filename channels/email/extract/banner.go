package extract

import (
	"regexp"
	"strings"
)

// maxBanner is how many lines a warning at the top has.
const maxBanner = 12

var (
	// bannerStart are the first words of warnings that gateways put above a
	// mail from outside.
	bannerStart = regexp.MustCompile(`^\W{0,6}(?:` + strings.Join([]string{
		`\[?(?:external|extern|externe|externo|esterno|ext|outside)(?: (?:e-?mail|sender|mail|message|source|absender|afzender|nachricht))?\]?\W{0,4}$`, `external (?:e-?mail|sender|message|source)\b\W`, `\[(?:external|extern|ext)[^\]]*\]`,
		`(?:caution|warning|attention|alert|notice|achtung|warnung|vorsicht|hinweis|waarschuwing|let op|attenzione|atención|aviso|cuidado|atenção|uwaga|varning|advarsel|varoitus|pozor|figyelem|atenție|dikkat|внимание|увага|προσοχή|זהירות|تحذير|注意|警告|주의).{0,80}(?:extern|outside|originat|außerhalb|ausserhalb|внешн|зовнішн|zewn|külső|vanjsk|zunanj|外部|ulko|ekstern|estern|hors de|fuera de|fora d|εξωτερικ|חיצוני|خارج|dışar|harici|외부)`,
		`(?:this|the) (?:e-?mail|message) (?:originated|came|comes|was sent|has been sent|is) from (?:an )?(?:outside|external)`, `this (?:e-?mail|message) (?:originated|came) (?:from )?outside`, `(?:you|some people who received this message) don't often (?:get|receive) e?-?mails? from`, `sie erhalten nicht (?:oft|häufig) e-mails von`, `(?:vous n'obtenez pas souvent|vous ne recevez pas souvent) d(?:'|e )`, `no suele recibir correos? electrónicos? de`,
		`non si ricevono spesso messaggi`, `non ricevi spesso e-?mail`, `você não costuma receber e-?mails de`, `não é habitual receber`, `u ontvangt niet vaak e-mail`, `je ontvangt niet vaak`, `du får inte ofta e-post från`, `du modtager ikke ofte mails fra`, `du får ikke ofte e-post fra`, `nie otrzymujesz często wiadomości`, `sähköpostia ei usein`, `často nedostáváte`, `вы (?:нечасто|редко) получаете (?:письма|сообщения)`, `bu kişiden sık`, `diese e-mail (?:kommt|stammt) (?:von|aus|nicht)`, `cet e-?mail provient`, `zjqcmqryfpfptbannerstart`, `this message (?:is from|needs your attention)`, `from an external (?:sender|source)`,
	}, "|") + `)`)
	// bannerMore are words of the lines that follow in the same paragraph.
	bannerMore = regexp.MustCompile(`(?:^|[^\pL])(?:links?|attachments?|click|sender|recogni[sz]e|safe|organi[sz]ation|company|learn why|learn more|important|report|phishing|suspicious|trusted|verify|unless|content|external|absender|anhänge|klicken|öffnen|vertrauen|sicher|wichtig|erfahren|expéditeur|pièces|cliquez|remitente|adjuntos|importante|mittente|allegati|afzender|bijlagen|koppelingen|avsändare|bilagor|nadawc\pL*|załącznik\pL*|odkaz\pL*|отправител\pL*|вложени\pL*|ссылк\pL*|bannerend|zjqcmqryfpfptbannerend|aka\.ms)(?:$|[^\pL])`)
)

// withoutBanner takes warnings off the top.
func withoutBanner(lines []line) ([]line, bool) {
	cut := false
	for {
		lines = trim(lines)
		if len(lines) == 0 || !lines[0].own() || !bannerStart.MatchString(lines[0].low) || len(lines[0].low) > 1000 {
			return lines, cut
		}
		n := 1
		if strings.Contains(lines[0].low, "bannerstart") {
			for n < len(lines) && n < maxBanner && !strings.Contains(lines[n-1].low, "bannerend") {
				n++
			}
		}
		for n < len(lines) && n < maxBanner && lines[n].own() && (bannerMore.MatchString(lines[n].low) || isRule(&lines[n])) {
			n++
		}
		lines, cut = lines[n:], true
	}
}
