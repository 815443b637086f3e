package inbound

// The words of generated replies. Clients and people write the rest of a mail in
// their own language, whatever the question is in.

// tongue is one language: how its clients introduce what they quote, and how
// people sign.
type tongue struct {
	name     string
	charsets []string // besides utf-8
	// wrote is the line before a quote; %s is our From.
	wrote []string
	// block are the names of From, Sent, To and Subject in a header block.
	block [4]string
	// original is the separator line of clients that have one.
	original string
	mobile   []string // signatures of phones
	regards  string
	greeting string // "" when none is passed over
	banner   string
	re       string   // prefix of a reply's subject
	not      []string // sentences that name a choice, %s, and don't take it
	rather   []string // sentences that take another choice, %s, than the line above
}

func tongues() []tongue {
	return []tongue{
		{
			name: "en", charsets: []string{"iso-8859-1", "windows-1252"},
			wrote: []string{"On Mon, Nov 30, 2026 at 1:00 PM %s wrote:", "On 30/11/2026 13:00, %s wrote:", "On Monday, November 30th, 2026 at 13:00, %s wrote:", "On Nov 30, 2026, at 1:00 PM, %s wrote:"},
			block: [4]string{"From", "Sent", "To", "Subject"}, original: "-----Original Message-----",
			mobile: []string{"Sent from my iPhone", "Sent from my Galaxy", "Get Outlook for iOS", "Sent from Yahoo Mail for iPhone"}, regards: "Best regards,", greeting: "Hi,",
			banner: "CAUTION: This email originated from outside of the organization. Do not click links or open attachments unless you recognize the sender.", re: "Re: ", not: []string{"please do not %s", "%s? No.", "I would rather not %s", "never %s"}, rather: []string{"Actually no, better %s.", "No, %s", "I meant %s", "Sorry, %s"},
		},
		{
			name: "de", charsets: []string{"iso-8859-1", "iso-8859-15", "windows-1252"},
			wrote: []string{"Am Mo., 30. Nov. 2026 um 13:00 Uhr schrieb %s:", "Am 30.11.26 um 13:00 schrieb %s:", "Am 30.11.2026 um 13:00 schrieb %s:"},
			block: [4]string{"Von", "Gesendet", "An", "Betreff"}, original: "-----Ursprüngliche Nachricht-----",
			mobile: []string{"Von meinem iPhone gesendet", "Gesendet von Outlook für iOS", "Von meinem Samsung Galaxy Smartphone gesendet."}, regards: "Mit freundlichen Grüßen", greeting: "Hallo,",
			banner: "Sie erhalten nicht oft E-Mails von hub@hub.test. Erfahren Sie, warum dies wichtig ist", re: "AW: ", not: []string{"bitte nicht %s", "%s nicht", "auf keinen Fall %s", "%s erst morgen"}, rather: []string{"Doch lieber %s.", "Nein, %s."},
		},
		{
			name: "fr", charsets: []string{"iso-8859-1", "windows-1252"},
			wrote: []string{"Le lun. 30 nov. 2026 à 13:00, %s a écrit :", "Le 30/11/2026 à 13:00, %s a écrit :"},
			block: [4]string{"De", "Envoyé", "À", "Objet"}, original: "-----Message d'origine-----",
			mobile: []string{"Envoyé de mon iPhone", "Envoyé depuis mon appareil Galaxy"}, regards: "Cordialement,", greeting: "Bonjour,", banner: "[EXTERNE]", re: "RE : ", not: []string{"ne pas %s", "surtout pas %s", "%s seulement demain"}, rather: []string{"Finalement plutôt %s."},
		},
		{
			name: "es", charsets: []string{"iso-8859-1"},
			wrote: []string{"El lun, 30 nov 2026 a las 13:00, %s escribió:", "El 30/11/26 a las 13:00, %s escribió:"},
			block: [4]string{"De", "Enviado", "Para", "Asunto"}, original: "-----Mensaje original-----",
			mobile: []string{"Enviado desde mi iPhone"}, regards: "Saludos,", greeting: "Hola,", banner: "[EXTERNAL]", re: "RE: ", not: []string{"no %s", "%s no", "mejor no %s"}, rather: []string{"Mejor %s."},
		},
		{
			name: "it", charsets: []string{"iso-8859-1"},
			wrote: []string{"Il giorno lun 30 nov 2026 alle ore 13:00 %s ha scritto:", "Il 30/11/26 13:00, %s ha scritto:"},
			block: [4]string{"Da", "Inviato", "A", "Oggetto"}, original: "-----Messaggio originale-----",
			mobile: []string{"Inviato da iPhone"}, regards: "Cordiali saluti", banner: "[EXTERNAL]", re: "R: ", not: []string{"non %s", "%s solo domani"}, rather: []string{"Anzi, meglio %s."},
		},
		{
			name: "pt", charsets: []string{"iso-8859-1"},
			wrote: []string{"Em seg., 30 de nov. de 2026 às 13:00, %s escreveu:", "Em 30/11/2026 13:00, %s escreveu:"},
			block: [4]string{"De", "Enviado", "Para", "Assunto"}, original: "-----Mensagem original-----",
			mobile: []string{"Enviado do meu iPhone"}, regards: "Atenciosamente,", banner: "[EXTERNAL]", re: "RES: ", not: []string{"não %s", "%s só amanhã"}, rather: []string{"Melhor %s."},
		},
		{
			name: "nl", charsets: []string{"iso-8859-1"},
			wrote: []string{"Op ma 30 nov 2026 om 13:00 schreef %s:", "Op 30-11-2026 om 13:00 schreef %s:"},
			block: [4]string{"Van", "Verzonden", "Aan", "Onderwerp"}, original: "-----Oorspronkelijk bericht-----",
			mobile: []string{"Verstuurd vanaf mijn iPhone"}, regards: "Met vriendelijke groet,", banner: "[EXTERN]", re: "Antw: ", not: []string{"niet %s", "%s pas morgen"}, rather: []string{"Toch liever %s."},
		},
		{
			name: "sv", charsets: []string{"iso-8859-1"},
			wrote: []string{"Den mån 30 nov. 2026 kl 13:00 skrev %s:"},
			block: [4]string{"Från", "Skickat", "Till", "Ämne"}, original: "-----Ursprungligt meddelande-----",
			mobile: []string{"Skickat från min iPhone"}, regards: "Med vänliga hälsningar", banner: "[EXTERNAL]", re: "SV: ", not: []string{"inte %s", "%s inte"}, rather: []string{"Hellre %s."},
		},
		{
			name: "da", charsets: []string{"iso-8859-1"},
			wrote: []string{"Den man. 30. nov. 2026 kl. 13.00 skrev %s:"},
			block: [4]string{"Fra", "Sendt", "Til", "Emne"}, original: "-----Oprindelig meddelelse-----",
			mobile: []string{"Sendt fra min iPhone"}, regards: "Med venlig hilsen", banner: "[EXTERNAL]", re: "SV: ", not: []string{"ikke %s", "%s ikke"}, rather: []string{"Hellere %s."},
		},
		{
			name: "fi", charsets: []string{"iso-8859-15"},
			wrote: []string{"ma 30. marrask. 2026 klo 13.00 %s kirjoitti:"},
			block: [4]string{"Lähettäjä", "Lähetetty", "Vastaanottaja", "Aihe"}, original: "-----Alkuperäinen viesti-----",
			mobile: []string{"Lähetetty iPhonesta"}, regards: "Ystävällisin terveisin", banner: "[EXTERNAL]", re: "VS: ", not: []string{"älä %s", "ei %s"}, rather: []string{"Mieluummin %s."},
		},
		{
			name: "pl", charsets: []string{"iso-8859-2", "windows-1250"},
			wrote: []string{"pon., 30 lis 2026 o 13:00 %s napisał(a):", "W dniu 30.11.2026 o 13:00, %s pisze:"},
			block: [4]string{"Od", "Wysłano", "Do", "Temat"}, original: "-----Wiadomość oryginalna-----",
			mobile: []string{"Wysłane z iPhone'a"}, regards: "Pozdrawiam", banner: "[EXTERNAL]", re: "Odp: ", not: []string{"nie %s", "%s dopiero jutro"}, rather: []string{"Jednak lepiej %s."},
		},
		{
			name: "cs", charsets: []string{"iso-8859-2"},
			wrote: []string{"po 30. 11. 2026 v 13:00 odesílatel %s napsal:"},
			block: [4]string{"Od", "Odesláno", "Komu", "Předmět"}, original: "-----Původní zpráva-----",
			mobile: []string{"Odesláno z iPhonu"}, regards: "S pozdravem", banner: "[EXTERNAL]", re: "Re: ", not: []string{"ne %s", "%s až zítra"}, rather: []string{"Raději %s."},
		},
		{
			name: "ru", charsets: []string{"windows-1251", "koi8-r"},
			wrote: []string{"пн, 30 нояб. 2026 г. в 13:00, %s:", "30.11.2026 13:00, %s пишет:"},
			block: [4]string{"От", "Отправлено", "Кому", "Тема"}, original: "-----Исходное сообщение-----",
			mobile: []string{"Отправлено с iPhone"}, regards: "С уважением,", banner: "[EXTERNAL]", re: "Re: ", not: []string{"не %s", "%s не надо", "%s только завтра"}, rather: []string{"Лучше %s.", "Нет, %s"},
		},
		{
			name: "tr", charsets: []string{"iso-8859-9"},
			wrote: []string{"%s, 30 Kas 2026 Pzt, 13:00 tarihinde şunu yazdı:"},
			block: [4]string{"Kimden", "Gönderildi", "Kime", "Konu"}, original: "-----Özgün İleti-----",
			mobile: []string{"iPhone'umdan gönderildi"}, regards: "Saygılarımla", banner: "[EXTERNAL]", re: "YNT: ", not: []string{"%s değil", "%s yarın"}, rather: []string{"Aslında %s."},
		},
		{
			name: "he", charsets: []string{"windows-1255"},
			wrote: []string{"\u202bבתאריך יום ב׳, 30 בנוב׳ 2026 ב-13:00 מאת \u202a%s\u202c:\u202c"},
			block: [4]string{"מאת", "נשלח", "אל", "נושא"}, original: "-----Original Message-----",
			mobile: []string{"נשלח מה-iPhone שלי"}, regards: "בברכה,", banner: "[EXTERNAL]", re: "השב: ", not: []string{"לא %s", "אל %s"}, rather: []string{"בעצם עדיף %s."},
		},
		{
			name: "ja", charsets: []string{"iso-2022-jp", "shift_jis", "euc-jp"},
			wrote: []string{"2026年11月30日(月) 13:00 %s:", "2026/11/30 13:00、%sのメール:"},
			block: [4]string{"差出人", "送信日時", "宛先", "件名"}, original: "-----Original Message-----",
			mobile: []string{"iPhoneから送信"}, regards: "よろしくお願いいたします。", banner: "[EXTERNAL]", re: "Re: ", not: []string{"%sしないでください", "%sではありません", "%sは明日にしてください"}, rather: []string{"やはり %s でお願いします。"},
		},
		{
			name: "zh", charsets: []string{"gb18030", "gbk"},
			wrote: []string{"%s 于2026年11月30日周一 13:00写道：", "在 2026年11月30日，13:00，%s 写道："},
			block: [4]string{"发件人", "发送时间", "收件人", "主题"}, original: "------------------ 原始邮件 ------------------",
			mobile: []string{"发自我的iPhone"}, regards: "此致", banner: "[EXTERNAL]", re: "回复: ", not: []string{"不要%s", "不%s", "%s明天再说"}, rather: []string{"还是 %s 吧。"},
		},
		{
			name: "ko", charsets: []string{"euc-kr"},
			wrote: []string{"2026년 11월 30일 (월) 오후 1:00, %s님이 작성:"},
			block: [4]string{"보낸 사람", "보낸 날짜", "받는 사람", "제목"}, original: "-----Original Message-----",
			mobile: []string{"나의 iPhone에서 보냄"}, regards: "감사합니다.", banner: "[EXTERNAL]", re: "RE: ", not: []string{"%s 하지 마세요", "%s 말고"}, rather: []string{"아니 %s 로 해 주세요."},
		},
	}
}

// questionSets are what is asked: labels, and a sentence that takes one back.
func questionSets() [][]string {
	return [][]string{
		{"Approve", "Reject", "Defer"},
		{"Ship to prod now", "Hold for review", "Abort the change"},
		{"Freigeben", "Ablehnen", "Später"},
		{"Déployer", "Attendre", "Annuler"},
		{"Утвердить", "Отклонить"},
		{"承認", "却下", "保留"},
		{"Blue", "Green", "Red", "Yellow", "Black", "White", "Grey"},
		{"✅ Go", "⏸ Wait", "❌ Stop"},
		{"Yes, delete", "No, keep"},
	}
}
