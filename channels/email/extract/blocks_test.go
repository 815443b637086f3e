package extract

import (
	"strings"
	"testing"
)

// headerBlocks are what programs put above a mail that they quote without marks.
var headerBlocks = []struct{ name, lines string }{
	{"Outlook en", "From: Hub <hub@hub.example.test>\nSent: Monday, November 30, 2026 1:00 PM\nTo: Alice Example <alice@example.test>\nSubject: [Q-101] Deploy?"},
	{"Outlook en, no addresses", "From: Hub\nSent: Monday, November 30, 2026 1:00 PM\nTo: Alice Example\nSubject: [Q-101] Deploy?"},
	{"Outlook en, bold", "*From:* Hub <hub@hub.example.test>\n*Sent:* Monday, November 30, 2026 1:00 PM\n*To:* Alice Example <alice@example.test>\n*Subject:* [Q-101] Deploy?"},
	{"Outlook web", "________________________________\nFrom: Hub <hub@hub.example.test>\nSent: Monday, November 30, 2026 1:00:00 PM\nTo: Alice Example <alice@example.test>\nSubject: [Q-101] Deploy?"},
	{"Outlook, spread", "From: Hub <hub@hub.example.test>\n\nSent: Monday, November 30, 2026 1:00 PM\n\nTo: Alice Example <alice@example.test>\n\nSubject: [Q-101] Deploy?"},
	{"Outlook en-GB, date", "From: Hub <hub@hub.example.test>\nDate: Monday, 30 November 2026 at 13:00\nTo: Alice Example <alice@example.test>\nSubject: [Q-101] Deploy?"},
	{"Outlook de", "Von: Hub <hub@hub.example.test>\nGesendet: Montag, 30. November 2026 13:00\nAn: Alice Example <alice@example.test>\nBetreff: [Q-101] Deploy?"},
	{"Outlook de, web", "________________________________\nVon: Hub <hub@hub.example.test>\nGesendet: Montag, 30. November 2026 13:00:00\nAn: Alice Example\nCc: Bob\nBetreff: [Q-101] Deploy?\nPriorität: Hoch"},
	{"Outlook fr", "De : Hub <hub@hub.example.test>\nEnvoyé : lundi 30 novembre 2026 13:00\nÀ : Alice Example <alice@example.test>\nObjet : [Q-101] Deploy?"},
	{"Outlook fr, non-breaking space", "De\u00a0: Hub <hub@hub.example.test>\nEnvoyé\u00a0: lundi 30 novembre 2026 13:00\nÀ\u00a0: Alice Example <alice@example.test>\nObjet\u00a0: [Q-101] Deploy?"},
	{"Outlook es", "De: Hub <hub@hub.example.test>\nEnviado: lunes, 30 de noviembre de 2026 13:00\nPara: Alice Example <alice@example.test>\nAsunto: [Q-101] Deploy?"},
	{"Outlook es, web", "De: Hub <hub@hub.example.test>\nEnviado el: lunes, 30 de noviembre de 2026 13:00\nPara: Alice Example\nAsunto: [Q-101] Deploy?"},
	{"Outlook pt", "De: Hub <hub@hub.example.test>\nEnviado: segunda-feira, 30 de novembro de 2026 13:00\nPara: Alice Example <alice@example.test>\nAssunto: [Q-101] Deploy?"},
	{"Outlook it", "Da: Hub <hub@hub.example.test>\nInviato: lunedì 30 novembre 2026 13:00\nA: Alice Example <alice@example.test>\nOggetto: [Q-101] Deploy?"},
	{"Outlook nl", "Van: Hub <hub@hub.example.test>\nVerzonden: maandag 30 november 2026 13:00\nAan: Alice Example <alice@example.test>\nOnderwerp: [Q-101] Deploy?"},
	{"Outlook sv", "Från: Hub <hub@hub.example.test>\nSkickat: den 30 november 2026 13:00\nTill: Alice Example <alice@example.test>\nÄmne: [Q-101] Deploy?"},
	{"Outlook da", "Fra: Hub <hub@hub.example.test>\nSendt: 30. november 2026 13:00\nTil: Alice Example <alice@example.test>\nEmne: [Q-101] Deploy?"},
	{"Outlook nb", "Fra: Hub <hub@hub.example.test>\nSendt: mandag 30. november 2026 13:00\nTil: Alice Example <alice@example.test>\nEmne: [Q-101] Deploy?"},
	{"Outlook fi", "Lähettäjä: Hub <hub@hub.example.test>\nLähetetty: maanantai 30. marraskuuta 2026 13.00\nVastaanottaja: Alice Example <alice@example.test>\nAihe: [Q-101] Deploy?"},
	{"Outlook pl", "Od: Hub <hub@hub.example.test>\nWysłano: poniedziałek, 30 listopada 2026 13:00\nDo: Alice Example <alice@example.test>\nTemat: [Q-101] Deploy?"},
	{"Outlook cs", "Od: Hub <hub@hub.example.test>\nOdesláno: pondělí 30. listopadu 2026 13:00\nKomu: Alice Example <alice@example.test>\nPředmět: [Q-101] Deploy?"},
	{"Outlook sk", "Od: Hub <hub@hub.example.test>\nOdoslané: pondelok 30. novembra 2026 13:00\nKomu: Alice Example <alice@example.test>\nPredmet: [Q-101] Deploy?"},
	{"Outlook hu", "Feladó: Hub <hub@hub.example.test>\nElküldve: 2026. november 30., hétfő 13:00\nCímzett: Alice Example <alice@example.test>\nTárgy: [Q-101] Deploy?"},
	{"Outlook ro", "De la: Hub <hub@hub.example.test>\nTrimis: luni, 30 noiembrie 2026 13:00\nCătre: Alice Example <alice@example.test>\nSubiect: [Q-101] Deploy?"},
	{"Outlook tr", "Kimden: Hub <hub@hub.example.test>\nGönderildi: 30 Kasım 2026 Pazartesi 13:00\nKime: Alice Example <alice@example.test>\nKonu: [Q-101] Deploy?"},
	{"Outlook ru", "От: Hub <hub@hub.example.test>\nОтправлено: 30 ноября 2026 г. 13:00\nКому: Alice Example <alice@example.test>\nТема: [Q-101] Deploy?"},
	{"Outlook uk", "Від: Hub <hub@hub.example.test>\nНадіслано: 30 листопада 2026 р. 13:00\nКому: Alice Example <alice@example.test>\nТема: [Q-101] Deploy?"},
	{"Outlook bg", "От: Hub <hub@hub.example.test>\nИзпратено: понеделник, 30 ноември 2026 г. 13:00\nДо: Alice Example <alice@example.test>\nОтносно: [Q-101] Deploy?"},
	{"Outlook hr", "Šalje: Hub <hub@hub.example.test>\nPoslano: 30. studenog 2026. 13:00\nPrima: Alice Example <alice@example.test>\nPredmet: [Q-101] Deploy?"},
	{"Outlook sl", "Od: Hub <hub@hub.example.test>\nPoslano: ponedeljek, 30. november 2026 13:00\nZa: Alice Example <alice@example.test>\nZadeva: [Q-101] Deploy?"},
	{"Outlook lt", "Nuo: Hub <hub@hub.example.test>\nIšsiųsta: 2026 m. lapkričio 30 d. 13:00\nKam: Alice Example <alice@example.test>\nTema: [Q-101] Deploy?"},
	{"Outlook lv", "No: Hub <hub@hub.example.test>\nNosūtīts: pirmdiena, 2026. gada 30. novembris 13:00\nKam: Alice Example <alice@example.test>\nTēma: [Q-101] Deploy?"},
	{"Outlook et", "Saatja: Hub <hub@hub.example.test>\nSaadetud: esmaspäev, 30. november 2026 13:00\nAdressaat: Alice Example <alice@example.test>\nTeema: [Q-101] Deploy?"},
	{"Outlook el", "Από: Hub <hub@hub.example.test>\nΣτάλθηκε: Δευτέρα, 30 Νοεμβρίου 2026 1:00 μμ\nΠρος: Alice Example <alice@example.test>\nΘέμα: [Q-101] Deploy?"},
	{"Outlook ca", "De: Hub <hub@hub.example.test>\nEnviat: dilluns, 30 de novembre de 2026 13:00\nPer a: Alice Example <alice@example.test>\nTema: [Q-101] Deploy?"},
	{"Outlook he", "מאת: Hub <hub@hub.example.test>\nנשלח: יום שני 30 נובמבר 2026 13:00\nאל: Alice Example <alice@example.test>\nנושא: [Q-101] Deploy?"},
	{"Outlook ar", "من: Hub <hub@hub.example.test>\nتم الإرسال: الاثنين, نوفمبر 30, 2026 1:00 م\nإلى: Alice Example <alice@example.test>\nالموضوع: [Q-101] Deploy?"},
	{"Outlook zh-CN", "发件人: Hub <hub@hub.example.test>\n发送时间: 2026年11月30日 13:00\n收件人: Alice Example <alice@example.test>\n主题: [Q-101] Deploy?"},
	{"Outlook zh-CN, wide colon", "发件人：Hub <hub@hub.example.test>\n日期：2026年11月30日 13:00\n收件人：Alice Example <alice@example.test>\n主题：[Q-101] Deploy?"},
	{"Outlook zh-TW", "寄件者: Hub <hub@hub.example.test>\n寄件日期: 2026年11月30日 13:00\n收件者: Alice Example <alice@example.test>\n主旨: [Q-101] Deploy?"},
	{"Outlook ja", "差出人: Hub <hub@hub.example.test>\n送信日時: 2026年11月30日 13:00\n宛先: Alice Example <alice@example.test>\n件名: [Q-101] Deploy?"},
	{"Outlook ko", "보낸 사람: Hub <hub@hub.example.test>\n보낸 날짜: 2026년 11월 30일 월요일 오후 1:00\n받는 사람: Alice Example <alice@example.test>\n제목: [Q-101] Deploy?"},
	{"Outlook vi", "Từ: Hub <hub@hub.example.test>\nĐã gửi: Thứ Hai, 30 tháng 11, 2026 1:00 CH\nĐến: Alice Example <alice@example.test>\nChủ đề: [Q-101] Deploy?"},
	{"Outlook id", "Dari: Hub <hub@hub.example.test>\nDikirim: Senin, 30 November 2026 13.00\nKepada: Alice Example <alice@example.test>\nSubjek: [Q-101] Deploy?"},
	{"Outlook th", "จาก: Hub <hub@hub.example.test>\nส่ง: 30 พฤศจิกายน 2569 13:00\nถึง: Alice Example <alice@example.test>\nเรื่อง: [Q-101] Deploy?"},
	{"subject first", "Subject: [Q-101] Deploy?\nFrom: Hub <hub@hub.example.test>\nDate: Mon, 30 Nov 2026 13:00:00 +0100\nTo: alice@example.test"},
	{"Hotmail", "Date: Mon, 30 Nov 2026 13:00:00 +0100\nSubject: [Q-101] Deploy?\nFrom: hub@hub.example.test\nTo: alice@example.test"},
	{"two fields", "From: Hub <hub@hub.example.test>\nDate: Mon, 30 Nov 2026 13:00:00 +0100"},
	{"wrapped subject", "From: Hub <hub@hub.example.test>\nSent: Monday, November 30, 2026 1:00 PM\nSubject: [Q-101] Deploy build 4711 to production\nand to all the others\nTo: Alice Example <alice@example.test>"},
	{"wrapped recipients", "From: Hub <hub@hub.example.test>\nSent: Monday, November 30, 2026 1:00 PM\nTo: Alice Example <alice@example.test>; Bob Example\n<bob@example.test>\nSubject: [Q-101] Deploy?"},
	{"Original Message", "-----Original Message-----\nFrom: Hub <hub@hub.example.test>\nSent: Monday, November 30, 2026 1:00 PM\nTo: Alice Example <alice@example.test>\nSubject: [Q-101] Deploy?"},
	{"Samsung", "-------- Original message --------\nFrom: Hub <hub@hub.example.test>\nDate: 30/11/2026 13:00 (GMT+00:00)\nTo: alice@example.test\nSubject: [Q-101] Deploy?"},
	{"Samsung de", "-------- Ursprüngliche Nachricht --------\nVon: Hub <hub@hub.example.test>\nDatum: 30.11.26 13:00 (GMT+01:00)\nAn: alice@example.test\nBetreff: [Q-101] Deploy?"},
	{"Samsung fr", "-------- Message d'origine --------\nDe : Hub <hub@hub.example.test>\nDate : 30/11/2026 13:00 (GMT+01:00)\nÀ : alice@example.test\nObjet : [Q-101] Deploy?"},
	{"Samsung es", "-------- Mensaje original --------\nDe: Hub <hub@hub.example.test>\nFecha: 30/11/26 13:00 (GMT+01:00)\nA: alice@example.test\nAsunto: [Q-101] Deploy?"},
	{"Samsung pl", "-------- Oryginalna wiadomość --------\nOd: Hub <hub@hub.example.test>\nData: 30.11.2026 13:00 (GMT+01:00)\nDo: alice@example.test\nTemat: [Q-101] Deploy?"},
	{"Samsung ru", "-------- Исходное сообщение --------\nОт: Hub <hub@hub.example.test>\nДата: 30.11.2026 13:00 (GMT+03:00)\nКому: alice@example.test\nТема: [Q-101] Deploy?"},
	{"Proton, U+2010", "‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐\nOn Monday, November 30th, 2026 at 13:00, Hub <hub@hub.example.test> wrote:"},
	{"Proton, dashes of now", "------- Original Message -------\nOn Monday, November 30th, 2026 at 13:00, Hub <hub@hub.example.test> wrote:"},
	{"QQ", "------------------ 原始邮件 ------------------\n发件人: \"Hub\" <hub@hub.example.test>;\n发送时间: 2026年11月30日(星期一) 中午1:00\n收件人: \"Alice\"<alice@example.test>;\n主题: [Q-101] Deploy?"},
	{"QQ en", "------------------ Original ------------------\nFrom: \"Hub\" <hub@hub.example.test>;\nDate: Mon, Nov 30, 2026 01:00 PM\nTo: \"Alice\"<alice@example.test>;\nSubject: [Q-101] Deploy?"},
	{"163", "---- Replied Message ----\n| From | Hub<hub@hub.example.test> |\n| Date | 11/30/2026 13:00 |\n| To | <alice@example.test> |\n| Subject | [Q-101] Deploy? |"},
	{"163 zh", "---- 回复的原邮件 ----\n| 发件人 | Hub<hub@hub.example.test> |\n| 日期 | 2026年11月30日 13:00 |\n| 收件人 | <alice@example.test> |\n| 主题 | [Q-101] Deploy? |"},
	{"separator only", "-----Original Message-----"},
	{"separator sv", "-----Ursprungligt meddelande-----\nFrån: Hub [mailto:hub@hub.example.test]\nSkickat: den 30 november 2026 13:00\nTill: Alice\nÄmne: Deploy?"},
	{"separator tr", "-----Özgün İleti-----\nKimden: Hub\nGönderildi: 30 Kasım 2026 13:00\nKime: Alice\nKonu: Deploy?"},
	{"separator hu", "-----Eredeti üzenet-----"},
	{"separator cs", "---------- Původní e-mail ----------\nOd: Hub <hub@hub.example.test>\nKomu: alice@example.test\nDatum: 30. 11. 2026 13:00:00\nPředmět: Deploy?"},
	{"separator cs, Seznam", "---------- Původní zpráva ----------\nOd: Hub <hub@hub.example.test>"},
	{"separator el", "-----Αρχικό μήνυμα-----"},
	{"separator he", "-----הודעה מקורית-----"},
	{"separator ar", "-----الرسالة الأصلية-----"},
	{"separator ja", "-----元のメッセージ-----"},
	{"separator ko", "-----원본 메시지-----"},
	{"separator uk", "-----Оригінальне повідомлення-----"},
	{"separator ro", "-----Mesaj original-----"},
	{"separator hr", "-----Izvorna poruka-----"},
	{"separator vi", "-----Thư gốc-----"},
	{"separator id", "-----Pesan asli-----"},
	{"BlackBerry", "  Original Message  \nFrom: Hub\nSent: Monday, November 30, 2026 1:00 PM\nTo: Alice\nReply To: Hub\nSubject: Deploy?"},
	{"Windows Phone", "________________________________\nFrom: Hub<mailto:hub@hub.example.test>\nSent: \u200e30/\u200e11/\u200e2026 13:00\nTo: Alice<mailto:alice@example.test>\nSubject: Deploy?"},
	{"Aliyun", "------------------------------------------------------------------\n发件人：Hub <hub@hub.example.test>\n发送时间：2026年11月30日(星期一) 13:00\n收件人：Alice <alice@example.test>\n主\u3000题：Deploy?"},
	{"one line", "From: Hub <hub@hub.example.test> Sent: Monday, November 30, 2026 1:00 PM To: Alice Subject: Deploy?"},
	{"unknown language", "Zaa: Hub <hub@hub.example.test>\nZbb: 30 zz 2026 13:00\nZcc: Alice <alice@example.test>\nZdd: Deploy?"},
	{"type above", "##- Please type your reply above this line -##"},
	{"reply above", "-- Reply ABOVE THIS LINE to add a comment --"},
}

func TestHeaderBlocks(t *testing.T) {
	t.Parallel()
	const (
		text = "Yes, go ahead.\nBut not before Monday."
		mail = "Deploy build 4711 to production?\n\n1. Approve\n2. Reject\n"
	)
	for _, in := range headerBlocks {
		for name, body := range map[string]string{
			"above":       text + "\n\n" + in.lines + "\n\n" + mail,
			"tight":       text + "\n" + in.lines + "\n" + mail,
			"marked":      text + "\n\n> " + strings.ReplaceAll(in.lines, "\n", "\n> ") + "\n>\n> " + strings.ReplaceAll(mail, "\n", "\n> "),
			"marked mail": text + "\n\n" + in.lines + "\n\n> " + strings.ReplaceAll(mail, "\n", "\n> "),
		} {
			if r := Text(body); r.Text != text || r.Own != text {
				t.Errorf("%s, %s: text %q, cut %q", in.name, name, r.Text, r.Cut)
			}
		}
		if r := Text(in.lines+"\n\n"+mail, mail); !r.Empty() {
			t.Errorf("%s: an empty reply has the text %q", in.name, r.Own)
		}
		if r := Text(in.lines+"\n\n"+mail+"\n"+text, mail); r.Own != text {
			t.Errorf("%s: text below our mail is %q, cut %q", in.name, r.Own, r.Cut)
		}
	}
}

// forwarded are what programs put above a mail that is passed on.
var forwarded = []string{
	"---------- Forwarded message ---------\nFrom: Hub <hub@hub.example.test>\nDate: Mon, Nov 30, 2026 at 1:00 PM\nSubject: Deploy?\nTo: <alice@example.test>",
	"Begin forwarded message:\n\nFrom: Hub <hub@hub.example.test>\nSubject: Deploy?\nDate: 30 November 2026 at 13:00:00 CET\nTo: alice@example.test",
	"Anfang der weitergeleiteten Nachricht:\n\nVon: Hub <hub@hub.example.test>\nBetreff: Deploy?\nDatum: 30. November 2026 um 13:00:00 MEZ\nAn: alice@example.test",
	"Début du message réexpédié :\n\nDe: Hub <hub@hub.example.test>\nObjet: Deploy?\nDate: 30 novembre 2026 à 13:00:00 UTC+1\nÀ: alice@example.test",
	"-------- Weitergeleitete Nachricht --------\nBetreff: \tDeploy?\nDatum: \tMon, 30 Nov 2026 13:00:00 +0100\nVon: \tHub <hub@hub.example.test>\nAn: \talice@example.test",
	"-------- Forwarded Message --------\nSubject: \tDeploy?\nDate: \tMon, 30 Nov 2026 13:00:00 +0100\nFrom: \tHub <hub@hub.example.test>\nTo: \talice@example.test",
	"---------- Пересылаемое сообщение ----------\n30.11.2026, 13:00, \"Hub\" <hub@hub.example.test>:",
	"------- Forwarded Message -------\nFrom: Hub <hub@hub.example.test>\nDate: On Monday, November 30th, 2026 at 13:00\nSubject: Deploy?\nTo: alice@example.test",
	"---------- 转发的邮件 ----------\n发件人: Hub <hub@hub.example.test>\n日期: 2026年11月30日 13:00\n主题: Deploy?\n收件人: alice@example.test",
}

// Of a mail that is passed on, what stands above it is the text; if there is
// nothing, the mail itself is, without its header.
func TestForwarded(t *testing.T) {
	t.Parallel()
	const mail = "The disk is full.\nPlease look."
	for _, head := range forwarded {
		if r := Text("For you.\n\n" + head + "\n\n" + mail); r.Text != "For you." {
			t.Errorf("%q: text %q, cut %q", head, r.Text, r.Cut)
		}
		if r := Text(head + "\n\n\n" + mail); r.Text != mail {
			t.Errorf("%q with nothing above: text %q, cut %q", head, r.Text, r.Cut)
		}
		if r := Text(head+"\n\n\n"+mail, mail); !r.Empty() {
			t.Errorf("%q of our own mail: text %q, cut %q", head, r.Text, r.Cut)
		}
	}
}
