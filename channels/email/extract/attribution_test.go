package extract

import (
	"strings"
	"testing"
)

// introductions are lines above a quote as programs write them.
var introductions = []struct{ name, line string }{
	{"Gmail en", "On Mon, Nov 30, 2026 at 1:00 PM Hub <hub@hub.example.test> wrote:"},
	{"Gmail en, wrapped", "On Mon, Nov 30, 2026 at 1:00 PM Deploy Bot via Hub <\nhub+qk7m2x4c9v1p8s3tdz5w@hub.example.test> wrote:"},
	{"Gmail en, wrapped twice", "On Mon, Nov 30, 2026 at 1:00 PM Deploy Bot via Hub\n<hub+qk7m2x4c9v1p8s3tdz5w@hub.example.test>\nwrote:"},
	{"Gmail en-GB", "On Mon, 30 Nov 2026, 13:00 Hub, <hub@hub.example.test> wrote:"},
	{"Gmail de", "Am Mo., 30. Nov. 2026 um 13:00 Uhr schrieb Hub <hub@hub.example.test>:"},
	{"Gmail de, wrapped", "Am Mo., 30. Nov. 2026 um 13:00 Uhr schrieb Deploy Bot via Hub <\nhub@hub.example.test>:"},
	{"Gmail de, old", "Hub <hub@hub.example.test> schrieb am Mo., 30. Nov. 2026 um\n13:00 Uhr:"},
	{"Gmail fr", "Le lun. 30 nov. 2026 à 13:00, Hub <hub@hub.example.test> a écrit :"},
	{"Gmail fr, non-breaking space", "Le lun. 30 nov. 2026 à 13:00, Hub <hub@hub.example.test> a\u00a0écrit\u00a0:"},
	{"Gmail es", "El lun, 30 nov 2026 a las 13:00, Hub (<hub@hub.example.test>) escribió:"},
	{"Gmail it", "Il giorno lun 30 nov 2026 alle ore 13:00 Hub <hub@hub.example.test> ha scritto:"},
	{"Gmail pt-BR", "Em seg., 30 de nov. de 2026 às 13:00, Hub <hub@hub.example.test> escreveu:"},
	{"Gmail pt-PT", "Hub <hub@hub.example.test> escreveu (segunda, 30/11/2026 à(s) 13:00):"},
	{"Gmail nl", "Op ma 30 nov 2026 om 13:00 schreef Hub <hub@hub.example.test>:"},
	{"Gmail sv", "Den mån 30 nov. 2026 kl 13:00 skrev Hub <hub@hub.example.test>:"},
	{"Gmail da", "Den man. 30. nov. 2026 kl. 13.00 skrev Hub <hub@hub.example.test>:"},
	{"Gmail nb", "man. 30. nov. 2026 kl. 13:00 skrev Hub <hub@hub.example.test>:"},
	{"Gmail fi", "ma 30. marrask. 2026 klo 13.00 Hub (hub@hub.example.test) kirjoitti:"},
	{"Gmail pl", "pon., 30 lis 2026 o 13:00 Hub <hub@hub.example.test> napisał(a):"},
	{"Gmail cs", "po 30. 11. 2026 v 13:00 odesílatel Hub <hub@hub.example.test> napsal:"},
	{"Gmail sk", "po 30. 11. 2026 o 13:00 Hub <hub@hub.example.test> napísal(a):"},
	{"Gmail hu", "Hub <hub@hub.example.test> ezt írta (időpont: 2026. nov. 30., H, 13:00):"},
	{"Gmail ro", "În lun., 30 nov. 2026 la 13:00, Hub <hub@hub.example.test> a scris:"},
	{"Gmail bg", "На пн, 30.11.2026 г. в 13:00 Hub <hub@hub.example.test> написа:"},
	{"Gmail hr", "pon, 30. stu 2026. u 13:00 Hub <hub@hub.example.test> napisao je:"},
	{"Gmail sr", "пон, 30. нов 2026. у 13:00 Hub <hub@hub.example.test> је написао/ла:"},
	{"Gmail sl", "V V pon., 30. nov. 2026 ob 13:00 je oseba Hub <hub@hub.example.test> napisala:"},
	{"Gmail ru", "пн, 30 нояб. 2026 г. в 13:00, Hub <hub@hub.example.test>:"},
	{"Gmail uk", "пн, 30 лист. 2026 р. о 13:00 Hub <hub@hub.example.test> пише:"},
	{"Gmail el", "Στις Δευ 30 Νοε 2026 στις 1:00 μ.μ., ο χρήστης Hub <hub@hub.example.test> έγραψε:"},
	{"Gmail tr", "Hub <hub@hub.example.test>, 30 Kas 2026 Pzt, 13:00 tarihinde şunu yazdı:"},
	{"Gmail lt", "2026-11-30, pr, 13:00 Hub <hub@hub.example.test> rašė:"},
	{"Gmail lv", "pirmd., 2026. g. 30. nov., plkst. 13:00 — lietotājs Hub (<hub@hub.example.test>) rakstīja:"},
	{"Gmail et", "Kuupäev E, 30. november 2026 kell 13:00 kirjutas Hub <hub@hub.example.test>:"},
	{"Gmail ca", "Missatge de Hub <hub@hub.example.test> del dia dl., 30 de nov. 2026 a les 13:00:"},
	{"Gmail eu", "Hub (<hub@hub.example.test>) erabiltzaileak hau idatzi du (2026 aza. 30, al. (13:00)):"},
	{"Gmail gl", "O luns, 30 nov 2026 ás 13:00, Hub (<hub@hub.example.test>) escribiu:"},
	{"Gmail he", "\u200fבתאריך יום ב׳, 30 בנוב׳ 2026 ב-13:00 מאת \u202aHub\u202c\u200f <\u202ahub@hub.example.test\u202c\u200f>:\u200f"},
	{"Gmail ar", "في الاثنين، ٣٠ نوفمبر ٢٠٢٦ في ١:٠٠ م تمت كتابة ما يلي بواسطة \u202aHub\u202c\u200f <\u202ahub@hub.example.test\u202c\u200f>:"},
	{"Gmail fa", "در تاریخ دوشنبه ۳۰ نوامبر ۲۰۲۶،\u200f ۱۳:۰۰ Hub <hub@hub.example.test> نوشت:"},
	{"Gmail ja", "2026年11月30日(月) 13:00 Hub <hub@hub.example.test>:"},
	{"Gmail zh-CN", "Hub <hub@hub.example.test> 于2026年11月30日周一 13:00写道："},
	{"Gmail zh-TW", "Hub <hub@hub.example.test> 於 2026年11月30日週一 下午1:00寫道："},
	{"Gmail ko", "2026년 11월 30일 (월) 오후 1:00, Hub <hub@hub.example.test>님이 작성:"},
	{"Gmail vi", "Vào Th 2, 30 thg 11, 2026 vào lúc 13:00 Hub <hub@hub.example.test> đã viết:"},
	{"Gmail id", "Pada tanggal Sen, 30 Nov 2026 pukul 13.00 Hub <hub@hub.example.test> menulis:"},
	{"Gmail th", "ในวันที่ จ. 30 พ.ย. 2026 เวลา 13:00 Hub <hub@hub.example.test> เขียนว่า:"},
	{"Gmail hi", "सोम, 30 नव॰ 2026 को 1:00 pm बजे को Hub <hub@hub.example.test> ने लिखा:"},
	{"Gmail, old, no verb", "2026-11-30 13:00 GMT+01:00 Hub <hub@hub.example.test>:"},
	{"Apple en", "On Nov 30, 2026, at 1:00 PM, Hub <hub@hub.example.test> wrote:"},
	{"Apple en-GB", "On 30 Nov 2026, at 13:00, Hub <hub@hub.example.test> wrote:"},
	{"Apple, narrow space", "On Nov 30, 2026, at 1:00\u202fPM, Hub <hub@hub.example.test> wrote:"},
	{"Apple de", "Am 30.11.2026 um 13:00 schrieb Hub <hub@hub.example.test>:"},
	{"Apple fr", "Le 30 nov. 2026 à 13:00, Hub <hub@hub.example.test> a écrit :"},
	{"Apple es", "El 30 nov 2026, a las 13:00, Hub <hub@hub.example.test> escribió:"},
	{"Apple it", "Il giorno 30 nov 2026, alle ore 13:00, Hub <hub@hub.example.test> ha scritto:"},
	{"Apple nl", "Op 30 nov. 2026 om 13:00 heeft Hub <hub@hub.example.test> het volgende geschreven:"},
	{"Apple sv", "30 nov. 2026 kl. 13:00 skrev Hub <hub@hub.example.test>:"},
	{"Apple nb", "30. nov. 2026 kl. 13:00 skrev Hub <hub@hub.example.test>:"},
	{"Apple fi", "Hub <hub@hub.example.test> kirjoitti 30.11.2026 kello 13.00:"},
	{"Apple pl", "Wiadomość napisana przez Hub <hub@hub.example.test> w dniu 30.11.2026, o godz. 13:00:"},
	{"Apple cs", "30. 11. 2026 v 13:00, Hub <hub@hub.example.test>:"},
	{"Apple hu", "2026. nov. 30. dátummal, 13:00 időpontban Hub <hub@hub.example.test> írta:"},
	{"Apple ru", "30 нояб. 2026 г., в 13:00, Hub <hub@hub.example.test> написал(а):"},
	{"Apple uk", "30 лист. 2026 р. о 13:00 Hub <hub@hub.example.test> написав(ла):"},
	{"Apple tr", "Hub <hub@hub.example.test> şunları yazdı (30 Kas 2026 13:00):"},
	{"Apple el", "Στις 30 Νοε 2026, στις 13:00, ο/η Hub <hub@hub.example.test> έγραψε:"},
	{"Apple he", "ב-30 בנוב׳ 2026, בשעה 13:00, Hub <hub@hub.example.test> כתב/ה:"},
	{"Apple ar", "في ٣٠ نوفمبر ٢٠٢٦، الساعة ١:٠٠ م، كتب/كتبت Hub <hub@hub.example.test>:"},
	{"Apple ja", "2026/11/30 13:00、Hub <hub@hub.example.test>のメール:"},
	{"Apple zh-CN", "2026年11月30日 13:00，Hub <hub@hub.example.test> 写道："},
	{"Apple zh-TW", "Hub <hub@hub.example.test> 於 2026年11月30日 下午1:00 寫道："},
	{"Apple ko", "2026. 11. 30. 오후 1:00, Hub <hub@hub.example.test> 작성:"},
	{"Apple ro", "Pe 30 nov. 2026, la 13:00, Hub <hub@hub.example.test> a scris:"},
	{"Apple hr", "Hub <hub@hub.example.test> je napisao 30.11.2026. u 13:00:"},
	{"Thunderbird en", "On 30/11/2026 13:00, Hub wrote:"},
	{"Thunderbird en-US", "On 11/30/26 1:00 PM, Hub wrote:"},
	{"Thunderbird de", "Am 30.11.26 um 13:00 schrieb Hub:"},
	{"Thunderbird fr", "Le 30/11/2026 à 13:00, Hub a écrit :"},
	{"Thunderbird es", "El 30/11/2026 a las 13:00, Hub escribió:"},
	{"Thunderbird it", "Il 30/11/2026 13:00, Hub ha scritto:"},
	{"Thunderbird nl", "Op 30-11-2026 om 13:00 schreef Hub:"},
	{"Thunderbird pl", "W dniu 30.11.2026 o 13:00, Hub pisze:"},
	{"Thunderbird cs", "Dne 30. 11. 26 v 13:00 Hub napsal(a):"},
	{"Thunderbird sk", "Dňa 30. 11. 2026 o 13:00 Hub napísal(a):"},
	{"Thunderbird hu", "2026. 11. 30. 13:00 keltezéssel, Hub írta:"},
	{"Thunderbird sv", "Den 2026-11-30 kl. 13:00, skrev Hub:"},
	{"Thunderbird da", "Den 30.11.2026 kl. 13.00 skrev Hub:"},
	{"Thunderbird fi", "Hub kirjoitti 30.11.2026 klo 13.00:"},
	{"Thunderbird ru", "30.11.2026 13:00, Hub пишет:"},
	{"Thunderbird pt", "Em 30/11/2026 13:00, Hub escreveu:"},
	{"Thunderbird tr", "30.11.2026 13:00 tarihinde Hub yazdı:"},
	{"Thunderbird el", "Στις 30/11/2026 1:00 μ.μ., ο Hub έγραψε:"},
	{"Thunderbird ja", "On 2026/11/30 13:00, Hub wrote:"},
	{"Thunderbird zh", "在 2026/11/30 13:00, Hub 写道:"},
	{"Thunderbird ko", "2026-11-30 오후 1:00에 Hub 이(가) 쓴 글:"},
	{"Thunderbird lt", "2026-11-30 13:00, Hub rašė:"},
	{"Thunderbird et", "30.11.2026 13:00 kirjutas Hub:"},
	{"Thunderbird ca", "El 30/11/26 a les 13:00, Hub ha escrit:"},
	{"Thunderbird sl", "Hub je 30.11.2026 ob 13:00 napisal:"},
	{"Yahoo", "On Monday, November 30, 2026 at 01:00:00 PM GMT+1, Hub <hub@hub.example.test> wrote:"},
	{"Yahoo, old", "On Monday, November 30, 2026 1:00 PM, Hub <hub@hub.example.test> wrote:"},
	{"Yahoo de", "Am Montag, 30. November 2026 um 13:00:00 MEZ hat Hub <hub@hub.example.test> Folgendes geschrieben:"},
	{"Yahoo fr", "Le lundi 30 novembre 2026 à 13:00:00 UTC+1, Hub <hub@hub.example.test> a écrit :"},
	{"Yahoo es", "En lunes, 30 de noviembre de 2026, 13:00:00 CET, Hub <hub@hub.example.test> escribió:"},
	{"Proton", "On Monday, November 30th, 2026 at 13:00, Hub <hub@hub.example.test> wrote:"},
	{"Zoho", "---- On Mon, 30 Nov 2026 13:00:00 +0100 Hub <hub@hub.example.test> wrote ---"},
	{"Zoho, even", "---- On Mon, 30 Nov 2026 13:00:00 +0100 hub@hub.example.test wrote ----"},
	{"Fastmail", "On Mon, 30 Nov 2026, at 13:00, Hub wrote:"},
	{"HEY", "On November 30, 2026, Hub <hub@hub.example.test> wrote:"},
	{"Roundcube", "On 2026-11-30 13:00, Hub wrote:"},
	{"Roundcube de", "Am 2026-11-30 13:00, schrieb Hub:"},
	{"Horde", "Zitat von Hub <hub@hub.example.test>:"},
	{"Evolution", "On Mon, 2026-11-30 at 13:00 +0100, Hub wrote:"},
	{"Evolution de", "Am Montag, dem 30.11.2026 um 13:00 +0100 schrieb Hub:"},
	{"KMail", "On Monday, November 30, 2026 1:00:00 PM CET Hub wrote:"},
	{"KMail de", "Am Montag, 30. November 2026, 13:00:00 CET schrieb Hub:"},
	{"mutt", "On Mon, Nov 30, 2026 at 01:00:00PM +0100, Hub wrote:"},
	{"mutt, star", "* Hub <hub@hub.example.test> [2026-11-30 13:00]:"},
	{"Gnus", "Hub <hub@hub.example.test> writes:"},
	{"mu4e", "On Mon 30 Nov 2026 at 13:00, Hub <hub@hub.example.test> wrote:"},
	{"Claws", "On Mon, 30 Nov 2026 13:00:00 +0100\nHub <hub@hub.example.test> wrote:"},
	{"K-9", "Am 30. November 2026 13:00:00 MEZ schrieb Hub <hub@hub.example.test>:"},
	{"Spark", "On Nov 30, 2026, 13:00 +0100, Hub <hub@hub.example.test>, wrote:"},
	{"mail.ru", "Понедельник, 30 ноября 2026, 13:00 +03:00 от Hub <hub@hub.example.test>:"},
	{"mail.ru, short", "Mon, 30 Nov 2026 13:00:00 +0300 от Hub <hub@hub.example.test>:"},
	{"Yandex", "30.11.2026, 13:00, \"Hub\" <hub@hub.example.test>:"},
	{"Yandex, new", "Кому: Alice (alice@example.test);\n\n13:00, 30 ноября 2026 г., Hub <hub@hub.example.test>:"},
	{"163", "At 2026-11-30 13:00:00, \"Hub\" <hub@hub.example.test> wrote:"},
	{"163 zh", "在 2026-11-30 13:00:00，\"Hub\" <hub@hub.example.test> 写道："},
	{"Naver", "-----Original Message-----\nFrom: \"Hub\"<hub@hub.example.test>\nTo: <alice@example.test>\nCc:\nSent: 2026-11-30 (월) 13:00:00 (GMT+09:00)\nSubject: Deploy?"},
	{"web.de", "Gesendet: Montag, 30. November 2026 um 13:00 Uhr\nVon: \"Hub\" <hub@hub.example.test>\nAn: alice@example.test\nBetreff: [Q-101] Deploy?"},
	{"AOL", "-----Original Message-----\nFrom: Hub <hub@hub.example.test>\nTo: alice <alice@example.test>\nSent: Mon, Nov 30, 2026 1:00 pm\nSubject: Deploy?"},
	{"Notes", "From:\tHub <hub@hub.example.test>\nTo:\tAlice Example/Example\nDate:\t30.11.2026 13:00\nSubject:\tDeploy?"},
	{"Superhuman", "On Mon, Nov 30, 2026 at 1:00 PM, Hub < hub@hub.example.test > wrote:"},
	{"Front", "On November 30, 2026 at 1:00 PM GMT+1 hub@hub.example.test wrote:"},
	{"Help Scout", "On Mon, Nov 30, 2026 at 1:00 PM UTC, Hub <hub@hub.example.test> wrote:"},
	{"no date", "Hub <hub@hub.example.test> wrote:"},
	{"address as link", "On Nov 30, 2026, at 13:00, Hub <hub@hub.example.test<mailto:hub@hub.example.test>> wrote:"},
	{"Markdown link", "On Mon, Nov 30, 2026 at 1:00 PM Hub <[hub@hub.example.test](mailto:hub@hub.example.test)> wrote:"},
	{"bold", "*On Nov 30, 2026, at 13:00, Hub wrote:*"},
	{"Outlook for Mac", "On 11/30/26, 1:00 PM, \"Hub\" <hub@hub.example.test> wrote:"},
	{"Zimbra", "----- On Nov 30, 2026, at 1:00 PM, Hub hub@hub.example.test wrote:"},
	{"Zimbra fr", "----- Le 30 Nov 26, à 13:00, Hub hub@hub.example.test a écrit :"},
	{"Zimbra de", "----- Am 30. Nov 2026 um 13:00 schrieb Hub hub@hub.example.test:"},
	{"Notes", "Hub <hub@hub.example.test> wrote on 11/30/2026 01:00:00 PM:"},
	{"iNotes", "-----Hub <hub@hub.example.test> wrote: -----"},
	{"Eudora", "At 01:00 PM 11/30/2026, Hub wrote:"},
	{"usenet", "In article <1234@example.test>, Hub <hub@hub.example.test> wrote:"},
	{"wrapped after the weekday", "Am Montag,\n30. November 2026 um 13:00 schrieb Hub <hub@hub.example.test>:"},
	{"several people", "On Mon, Nov 30, 2026 at 1:00 PM Hub <hub@hub.example.test>, Bob <bob@example.test> wrote:"},
	{"Google Groups", "On Monday, November 30, 2026 at 1:00:00 PM UTC+1 hub wrote:"},
}

// A quote is found by the line above it, whoever wrote that, whether the quote
// is marked or not, and whether the line itself is.
func TestIntroductions(t *testing.T) {
	t.Parallel()
	const (
		text   = "Yes, go ahead.\nBut not before Monday."
		marked = "> Deploy build 4711 to production?\n>\n> 1. Approve\n> 2. Reject\n"
	)
	plain := strings.NewReplacer("> ", "", ">", "").Replace(marked)
	for _, in := range introductions {
		inside := "> " + strings.ReplaceAll(in.line, "\n", "\n> ")
		for name, body := range map[string]string{
			"marked":          text + "\n\n" + in.line + "\n\n" + marked,
			"marked, tight":   text + "\n" + in.line + "\n" + marked,
			"not marked":      text + "\n\n" + in.line + "\n\n" + plain,
			"inside the mark": text + "\n\n" + inside + "\n>\n" + marked,
			"text below":      in.line + "\n" + marked + "\n" + text + "\n",
			"CRLF":            strings.ReplaceAll(text+"\n\n"+in.line+"\n"+marked, "\n", "\r\n"),
		} {
			if r := Text(body); r.Text != text || r.Own != text || r.First != "Yes, go ahead." {
				t.Errorf("%s, %s: text %q, cut %q", in.name, name, r.Text, r.Cut)
			}
		}
		if r := Text(in.line + "\n\n" + marked); !r.Empty() {
			t.Errorf("%s: an empty reply has the text %q", in.name, r.Own)
		}
	}
}

// What a person writes is not taken for the line above a quote.
func TestNoIntroductions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Yes.\nOn 30 Nov 2026 at 13:00 we deploy, as I wrote.\nThen we wait.",
		"Here is what Bob wrote:\nhold\nuntil Monday",
		"The log of 2026-11-30 says:\n\nerror 17",
		"I wrote on 30.11.2026 at 13:00:\nhold it",
		"Deploy on 2026-11-30 at 13:00 and tell bob@example.com\nThanks",
		"At 10:30 on Monday 30 November:\n- stop\n- deploy",
		"1. Approve\n2. On Monday, bob@example.com will check",
		"Send it to:\nbob@example.com\ncarol@example.com",
		"To: production\nFrom: staging",
		"From: staging\nTo: production\n\nand then wait",
		"Von: Berlin\nNach: Hamburg",
		"Date: tomorrow\nPlace: here",
		"Subject: is fine\nand the rest as well",
		"-- wait\n-- then deploy",
		"On your host run:\n\n    deploy 4711\n\nand write down what it says.",
		"Wait until 30.11.2026 13:00:\nBob is away.",
		"Le client a écrit :\non attend",
		"Version 1.2.3 of 2026-11-30 is good.\nbob@example.com agrees",
		"Was ist mit dem Rest, den Bob schrieb?\nMorgen um 13:00 geht es weiter.",
	} {
		if r := Text(text); r.Text != text {
			t.Errorf("%q reads as %q, cut %q", text, r.Text, r.Cut)
		}
	}
}
