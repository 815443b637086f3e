package inbound

import (
	"encoding/json"
	"regexp"
	"strings"
)

// emojiOf returns the emoji of a reaction: of Gmail's JSON
// (https://developers.google.com/workspace/gmail/reactions/format) or of the text
// that RFC 9078 has.
func emojiOf(s string) string {
	var gmail struct{ Emoji string }
	if json.Unmarshal([]byte(s), &gmail) == nil && gmail.Emoji != "" {
		s = gmail.Emoji
	}
	r := []rune(oneLine(printable(s)))
	return string(r[:min(len(r), 16)])
}

// reacted finds the mail that Outlook sends for a reaction; no header marks it.
// The words come after the name, or in some languages around it.
var reacted = regexp.MustCompile(`(?i)^\S.{0,120}(` + strings.Join([]string{
	`reacted to your message`, `liked your message`, `reacted via gmail`,
	`hat auf (ihre|deine) nachricht reagiert`, `hat mit .{1,40} auf (ihre|deine) nachricht reagiert`,
	`a réagi à (votre|ton) message`, `ha reaccionado a (tu|su) mensaje`, `reaccionó a (tu|su) mensaje`,
	`ha reagito al (tuo|suo) messaggio`, `heeft gereageerd op (uw|je) bericht`, `reagiu à sua mensagem`,
	`reagerade på ditt meddelande`, `reagerede på din meddelelse`, `reagerte på meldingen din`,
	`reagoi viestiisi`, `zareagował(a|\(a\))? na twoją wiadomość`, `reagoval(a)? na vaši zprávu`,
	`iletinize tepki verdi`, `отреагировал(а)? на ваше сообщение`, `さんがあなたのメッセージにリアクションしました`, `对你的邮件做出了反应`, `님이 메시지에 반응했습니다`,
}, "|") + `)[.:]?\s*(<\S*>)?\W*$`)

// reactionLine reports whether a text is the mail that stands for a reaction, which
// says so in its first line.
func reactionLine(text string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return reacted.MatchString(strings.TrimSpace(first))
}

// calendarMethod finds METHOD in a calendar object (RFC 5546 §1.4).
func calendarMethod(content []byte) string {
	m := methodLine.FindSubmatch(content)
	if m == nil {
		return ""
	}
	return strings.ToUpper(string(m[1]))
}

var methodLine = regexp.MustCompile(`(?im)^METHOD:\s*([A-Za-z-]+)`)

// calendarSubject is how calendars title what people do with an invitation.
var calendarSubject = regexp.MustCompile(`(?i)^(accepted|tentative(ly accepted)?|declined|canceled|cancelled|new time proposed|` +
	`zugesagt|angenommen|mit vorbehalt|abgelehnt|abgesagt|accepté|provisoire|refusé|aceptad[oa]|provisional|rechazad[oa]|` +
	`accettato|provvisorio|rifiutato|geaccepteerd|voorlopig|geweigerd|aceito|aceite|recusad[oa]|accepterat|preliminärt|avböjt|` +
	`accepteret|foreløbig|afvist|godtatt|avslått|hyväksytty|alustava|hylätty|zaakceptowano|wstępnie zaakceptowano|odrzucono|` +
	`přijato|odmítnuto|elfogadva|elutasítva|kabul edildi|reddedildi|принято|отклонено|承諾済み?|辞退|已接受|已拒绝|수락됨|거절됨)\s*[:：]`)
