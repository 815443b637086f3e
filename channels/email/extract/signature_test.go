package extract

import (
	"strings"
	"testing"
)

// mobileSignatures are what telephones and programs sign with.
var mobileSignatures = []string{
	"Sent from my iPhone", "Sent from my iPad", "Sent from my Galaxy", "Sent from my Samsung Galaxy smartphone.", "Sent from my Wiko RIDGE FAB 4G", "Sent from my Verizon, Samsung Galaxy smartphone", "Sent via the Samsung Galaxy S24, an AT&T 5G smartphone",
	"Sent from my BlackBerry 10 smartphone.", "Sent from my Android phone with K-9 Mail. Please excuse my brevity.", "Sent from my mobile device", "Sent from my phone", "Sent from mobile", "Sent from Mail for Windows", "Sent from Mail<https://go.microsoft.com/fwlink/?LinkId=550986> for Windows",
	"Sent from Mail for Windows 10", "Sent from Outlook for iOS", "Sent from Outlook for Android<https://aka.ms/AAb9ysg>", "Get Outlook for iOS<https://aka.ms/o0ukef>", "Get Outlook for Android", "Get Outlook for Mac", "Sent from Outlook", "Sent from Yahoo Mail for iPhone", "Sent from Yahoo Mail on Android<https://go.onelink.me/107872968?pid=x>",
	"Yahoo Mail: Search, Organize, Conquer", "Sent from AOL Mobile Mail", "Sent from Gmail Mobile", "Sent with Proton Mail secure email.", "Sent with [Proton Mail](https://proton.me/) secure email.", "Sent from Proton Mail for iOS", "Sent from Proton Mail Android", "Sent via Superhuman iOS", "Sent via Superhuman ( https://sprh.mn/?vip=x )", "Sent from Spark", "Sent with Spark",
	"Sent from TypeApp", "Sent from BlueMail", "Sent from Nine", "Sent from Mailbird", "Sent from myMail for iOS", "Sent from Mail.ru app for Android", "Sent from my Huawei phone", "Sent with AquaMail for Android\nhttps://www.mobisystems.com/aqua-mail", "Sent with Airmail", "Sent with Zoho Mail", "Sent from Canary", "Sent with Shortwave", "Sent using Zoho Mail", "Sent from HEY",
	"Von meinem iPhone gesendet", "Von meinem iPad gesendet", "Von meinem Samsung Galaxy Smartphone gesendet.", "Von meinem Mobiltelefon gesendet", "Gesendet von meinem iPhone", "Gesendet von Mail für Windows", "Gesendet von Outlook für Android<https://aka.ms/AAb9ysg>", "Gesendet mit der GMX Mail App", "Gesendet mit der WEB.DE Mail App", "Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.", "Gesendet von Yahoo Mail auf Android", "Outlook für iOS beziehen", "Von unterwegs gesendet", "Diese Nachricht wurde von meinem Android Mobiltelefon mit WEB.DE Mail gesendet.", "Holen Sie sich Outlook für iOS", "Gesendet mit Proton Mail.",
	"Envoyé de mon iPhone", "Envoyé depuis mon téléphone", "Envoyé depuis mon smartphone Samsung Galaxy.", "Envoyé à partir de Outlook pour Android", "Envoyé de mon appareil Samsung", "Télécharger Outlook pour iOS", "Envoyé depuis l'application Mail Orange", "Envoyé à partir de Courrier pour Windows", "Envoyé avec Proton Mail", "Obtenez Outlook pour Android",
	"Enviado desde mi iPhone", "Enviado desde mi Samsung Mobile de Telcel", "Enviado desde Outlook para Android", "Enviado desde Correo para Windows", "Obtener Outlook para iOS", "Enviado desde Yahoo Mail para Android", "Enviado do meu iPhone", "Enviado do meu Galaxy", "Enviado do Outlook para Android", "Enviado do Yahoo Mail no Android", "Obter o Outlook para Android", "Obter o Outlook para iOS", "Enviado a partir do meu smartphone Samsung Galaxy.", "Enviado do Email para Windows", "Enviat des del meu iPhone",
	"Inviato da iPhone", "Inviato dal mio iPhone", "Inviato da Outlook per Android", "Ottieni Outlook per Android", "Scarica Outlook per iOS", "Inviato dal mio dispositivo Samsung", "Inviato da Posta per Windows", "Inviato da Libero Mail", "Trimis de pe iPhone", "Trimis de pe iPhone-ul meu", "Obțineți Outlook pentru Android",
	"Verstuurd vanaf mijn iPhone", "Verzonden vanaf mijn Galaxy", "Verstuurd vanaf mijn Samsung-apparaat", "Outlook voor iOS downloaden", "Outlook voor Android downloaden", "Verzonden vanuit Outlook voor Android", "Verzonden met Proton Mail", "Download Outlook voor Android",
	"Skickat från min iPhone", "Skickat från min Samsung Galaxy-smartphone.", "Skickat från Outlook för Android", "Hämta Outlook för iOS", "Skickat från Yahoo Mail för iPhone", "Sendt fra min iPhone", "Sendt fra min Galaxy", "Sendt fra Outlook til Android", "Hent Outlook til Android", "Sendt fra Mail til Windows", "Sendt fra min Samsung Galaxy-smarttelefon.", "Hent Outlook for iOS",
	"Lähetetty iPhonesta", "Lähetetty iPhonestani", "Lähetetty Galaxy-laitteestani", "Lähetetty Outlookista Androidille", "Hanki Outlook for iOS", "Hanki Outlook Androidille", "Lähetetty Windowsin Sähköpostista",
	"Wysłane z iPhone'a", "Wysłano z iPhone'a", "Wysłane z mojego iPhone'a", "Wysłane z Galaxy", "Wysłane z urządzenia Samsung", "Wysłane z programu Outlook dla systemu Android", "Pobierz program Outlook dla systemu iOS", "Wysłane z aplikacji mobilnej Onet Poczta", "Wysłane z telefonu Samsung",
	"Odesláno z iPhonu", "Odesláno z mého iPhonu", "Odesláno z mobilního zařízení Samsung", "Odesláno z Outlooku pro Android", "Získejte Outlook pro iOS", "Odoslané z iPhonu", "Odoslané z môjho iPhonu", "Odoslané z telefónu Samsung", "Získajte Outlook pre Android", "Poslano sa iPhone-a", "Poslano z mojega iPhona", "Poslano s mog iPhonea", "Preuzmite Outlook za Android",
	"Küldve az iPhone-omról", "Az iPhone készülékemről küldve", "Elküldve az iPhone-omról", "A következőről küldve: Outlook Android", "Az Android Outlook letöltése", "Gönderen: iPhone", "iPhone'umdan gönderildi", "iPhone'dan gönderildi", "Samsung cihazımdan gönderildi", "Android için Outlook'u edinin", "iOS için Outlook'u edinin",
	"Отправлено с iPhone", "Отправлено с моего iPhone", "Отправлено из мобильной Почты Mail", "Отправлено из мобильной Яндекс Почты", "Отправлено с моего Galaxy", "Отправлено из Почты для Windows", "Скачайте Outlook для Android", "Получите Outlook для iOS", "Отправлено через Proton Mail", "Надіслано з iPhone", "Надіслано з мого iPhone", "Відправлено з iPhone", "Надіслано з Outlook для Android", "Изпратено от моя iPhone", "Изпратено от iPhone",
	"Στάλθηκε από το iPhone μου", "Εστάλη από το iPhone μου", "Αποκτήστε το Outlook για Android", "Išsiųsta iš mano iPhone", "Išsiųsta iš iPhone", "Nosūtīts no mana iPhone", "Nosūtīts no iPhone", "Saadetud minu iPhone'ist", "Dikirim dari iPhone saya", "Dikirim dari ponsel Samsung saya", "Dihantar daripada iPhone saya", "Dapatkan Outlook untuk Android", "Gửi từ iPhone của tôi", "Được gửi từ iPhone của tôi", "Tải Outlook cho Android",
	"נשלח מה-iPhone שלי", "נשלח מהאייפון שלי", "נשלח מהטלפון שלי", "קבל את Outlook עבור iOS", "تم الإرسال من iPhone", "أرسلت من الـ iPhone", "\u202bأُرسلت من الـ iPhone\u202c", "مرسل من الايفون", "الحصول على Outlook لـ Android",
	"发自我的 iPhone", "发自我的iPad", "發自我的 iPhone", "从我的 iPhone 发送", "從我的 iPhone 傳送", "發送自我的 Galaxy", "发自我的小米手机", "发自网易邮箱大师", "来自QQ邮箱", "发送自 Windows 版邮件应用", "获取 Outlook for iOS", "获取适用于 Android 的 Outlook", "取得 iOS 版 Outlook", "从 Yahoo 邮箱发送",
	"iPhoneから送信", "iPadから送信", "私のiPhoneから送信", "Galaxyから送信", "Outlook for iOS を入手", "Android 用 Outlook を入手", "iOS 用 Outlook を入手", "Windows 版のメールから送信", "나의 iPhone에서 보냄", "내 iPhone에서 보냄", "iPhone에서 보냄", "내 Galaxy 스마트폰에서 보냈습니다.", "Android용 Outlook 다운로드", "iOS용 Outlook 받기", "ส่งจาก iPhone ของฉัน", "ดาวน์โหลด Outlook สำหรับ Android", "मेरे iPhone से भेजा गया",
}

func TestMobileSignatures(t *testing.T) {
	t.Parallel()
	const text = "Ja.\nAber erst am Montag."
	for _, s := range mobileSignatures {
		for _, body := range []string{
			text + "\n\n" + s + "\n",
			text + "\n" + s,
			text + "\n\n" + s + "\n\nOn 30/11/2026 13:00, Hub wrote:\n> Deploy?\n",
			text + "\n\n> On 30/11/2026 13:00, Hub wrote:\n> Deploy?\n\n" + s,
		} {
			if r := Text(body); r.Text != text || r.Own != text {
				t.Errorf("%q: text %q, cut %q", body, r.Text, r.Cut)
				break
			}
		}
		if r := Text("\n\n" + s + "\n\nOn 30/11/2026 13:00, Hub wrote:\n> Deploy?\n"); !r.Empty() {
			t.Errorf("%q alone: text %q", s, r.Own)
		}
		if r := Text(s + "\n\n" + text); r.Text != text {
			t.Errorf("%q above the text: text %q", s, r.Text)
		}
	}
}

func TestNoMobileSignatures(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Fine.\n\nSent from my desk, is much easier than from a telephone.",
		"Fine.\n\nSent from the build server, it needs 10 minutes.",
		"Where was it sent from?\nSent from Berlin to Paris",
		"Gesendet von Bob?\nNein, gesendet von Carol.",
		"Enviado por Bob.",
		"The mail was sent from my iPhone, but it should come from the server.",
		"Get Outlook for him",
		"Wait.\n\nDownload the build first",
	} {
		if r := Text(text); r.Text != text {
			t.Errorf("%q reads as %q, cut %q", text, r.Text, r.Cut)
		}
	}
}

// signed are texts with signatures; what stands before "^^^" is kept.
var signedTexts = []struct{ name, body string }{
	{"delimiter", "2\n^^^\n-- \nAlice Example, Team 1\nRoom 3, +49 30 1"},
	{"delimiter without space", "2\n^^^\n--\nAlice"},
	{"delimiter, em dash", "2\n^^^\n—\nAlice Example"},
	{"delimiter, underscores", "2\n^^^\n__\nlist mailing list\nlist@lists.example.test"},
	{"delimiter after delimiter", "2\n^^^\n-- \nAlice\n-- \nSent by list"},
	{"long underscores", "Approve\n^^^\n_______________________________________________\nTeam mailing list\nTeam@lists.example.test\nhttps://lists.example.test/team"},
	{"dashes with a name", "Approve\n^^^\n-----\nAlice Example\nExample GmbH"},
	{"stars", "Approve\n^^^\n*****************\nAlice Example\nTel. +49 30 1234567"},
	{"sign-off", "Approve\n^^^\nBest regards,\nAlice"},
	{"sign-off, apart", "Approve\n^^^\nBest regards,\n\nAlice Example"},
	{"sign-off alone", "Approve\n^^^\nKind regards"},
	{"sign-off, one line", "Approve\n^^^\nBest regards, Alice"},
	{"sign-off with title", "Approve\n^^^\nKind regards,\n\nAlice Example\nHead of Operations\nExample Ltd"},
	{"sign-off de", "Ja.\n^^^\nMit freundlichen Grüßen\nAlice Beispiel"},
	{"sign-off de, i.A.", "Ja.\n^^^\nMit freundlichen Grüßen\n\ni. A. Alice Beispiel\nBeispiel GmbH\nTel.: +49 30 1234567"},
	{"sign-off de, short", "Ja.\n^^^\nLG\nAlice"},
	{"sign-off de, one line", "Ja.\n^^^\nViele Grüße Alice"},
	{"sign-off de/en", "Ja.\n^^^\nMit freundlichen Grüßen / Best regards\n\nAlice Beispiel"},
	{"sign-off de/en, two lines", "Ja.\n^^^\nMit freundlichen Grüßen\nBest regards\n\nAlice Beispiel"},
	{"sign-off fr", "Oui.\n^^^\nBien cordialement,\nAlice Exemple"},
	{"sign-off es", "Sí.\n^^^\nUn saludo,\nAlicia"},
	{"sign-off pt", "Sim.\n^^^\nAtenciosamente,\nAlice"},
	{"sign-off it", "Sì.\n^^^\nCordiali saluti\nAlice"},
	{"sign-off nl", "Ja.\n^^^\nMet vriendelijke groet,\n\nAlice Voorbeeld"},
	{"sign-off sv", "Ja.\n^^^\nMed vänliga hälsningar\nAlice"},
	{"sign-off da", "Ja.\n^^^\nMed venlig hilsen\nAlice"},
	{"sign-off nb", "Ja.\n^^^\nMvh\nAlice"},
	{"sign-off fi", "Kyllä.\n^^^\nYstävällisin terveisin\nAlice"},
	{"sign-off pl", "Tak.\n^^^\nPozdrawiam,\nAlicja"},
	{"sign-off cs", "Ano.\n^^^\nS pozdravem\nAlice"},
	{"sign-off sk", "Áno.\n^^^\nS pozdravom,\nAlica"},
	{"sign-off hu", "Igen.\n^^^\nÜdvözlettel:\nAlíz"},
	{"sign-off ro", "Da.\n^^^\nCu stimă,\nAlice"},
	{"sign-off tr", "Evet.\n^^^\nSaygılarımla,\nAlice"},
	{"sign-off ru", "Да.\n^^^\nС уважением,\nАлиса Иванова"},
	{"sign-off uk", "Так.\n^^^\nЗ повагою,\nАліса"},
	{"sign-off bg", "Да.\n^^^\nПоздрави,\nАлиса"},
	{"sign-off hr", "Da.\n^^^\nSrdačan pozdrav,\nAlice"},
	{"sign-off sl", "Da.\n^^^\nLep pozdrav,\nAlice"},
	{"sign-off lt", "Taip.\n^^^\nPagarbiai\nAlisa"},
	{"sign-off lv", "Jā.\n^^^\nAr cieņu\nAlise"},
	{"sign-off et", "Jah.\n^^^\nLugupidamisega\nAlice"},
	{"sign-off el", "Ναι.\n^^^\nΜε εκτίμηση,\nΑλίκη"},
	{"sign-off he", "כן.\n^^^\nבברכה,\nאליס"},
	{"sign-off ar", "نعم.\n^^^\nمع خالص التحية،\nأليس"},
	{"sign-off zh", "好。\n^^^\n此致\n敬礼\n\n王小明"},
	{"sign-off vi", "Vâng.\n^^^\nTrân trọng,\nAn"},
	{"sign-off ca", "Sí.\n^^^\nSalutacions,\nAlícia"},
	{"contact block", "Reject.\n^^^\nAlice Example\nRelease Manager | Example GmbH\nT +49 30 1234567"},
	{"contact block, long", "Reject.\n^^^\nAlice Example\nHead of Platform\n\nExample GmbH\nMusterstraße 1, 10115 Berlin\nTel: +49 30 1234567\nMobil: +49 151 1234567\nalice@example.test\nwww.example.test\n\nAmtsgericht Berlin HRB 12345\nGeschäftsführer: Bob Beispiel"},
	{"contact block, bars", "Reject.\n^^^\n*Alice Example* | Senior Engineer\nExample Inc. | 1 Main Street, Springfield, IL 62701\nO: (555) 123-4567 | M: (555) 987-6543\nalice@example.test | www.example.test<http://www.example.test>"},
	{"name and titles", "Reject.\n^^^\nAlice Example\nRelease Manager\nExample GmbH"},
	{"contact block ja", "いいえ\n^^^\n--------------------\n株式会社例\n山田 太郎\nTEL: 03-1234-5678\n--------------------"},
	{"contact block zh", "不行\n^^^\n王小明\n产品经理\n手机：138 0013 8000\n邮箱：wang@example.test"},
	{"disclaimer, short", "Approve\n^^^\nThis message is confidential and was written for the use of Example Ltd and of its customers only. Whoever else reads it should please delete it at once and tell us."},
	{"contact block below thanks", "Reject.\n\nThanks,\n^^^\nAlice Example\nEngineering Manager\n+1 555 123 4567\nwww.example.test"},
	{"contact block, picture", "Reject.\n^^^\nAlice Example\nDesigner\n[cid:image001.png@01D12345.6789ABCD]\nTel: 030 1234567"},
	{"contact block fr", "Refusé.\n^^^\nAlice Exemple\nResponsable technique\nTél. : 01 23 45 67 89\nPort. : 06 12 34 56 78"},
	{"contact block ru", "Нет.\n^^^\nАлиса Иванова\nменеджер проекта\nтел. +7 495 123-45-67\nwww.example.test"},
	{"disclaimer", "Approve\n^^^\nThis e-mail is confidential and intended only for the recipient. If you have received it in error, please delete it and tell the sender."},
	{"disclaimer de", "Ja.\n^^^\nDiese E-Mail enthält vertrauliche Informationen. Wenn Sie nicht der richtige Empfänger sind oder diese E-Mail irrtümlich erhalten haben, löschen Sie sie bitte."},
	{"disclaimer fr", "Oui.\n^^^\nCe message est confidentiel et à l'usage exclusif de ses destinataires. Si vous le recevez par erreur, merci de le supprimer et d'en avertir l'expéditeur."},
	{"disclaimer es", "Sí.\n^^^\nEste mensaje es confidencial y va dirigido exclusivamente a su destinatario. Si lo ha recibido por error, le rogamos eliminarlo."},
	{"sign-off and disclaimer", "Approve\n^^^\nBest regards,\nAlice\n\nThis message may contain confidential or privileged information. If you are not the intended recipient, any disclosure is prohibited."},
	{"contact block and print", "Approve\n^^^\nAlice Example\nManager\nTel: 030 1234567\n\nPlease consider the environment before printing this e-mail."},
	{"virus", "Approve\n^^^\nVirus-free. www.avast.com <https://www.avast.com/sig-email>"},
	{"virus de", "Ja.\n^^^\nVirenfrei. www.avast.com"},
	{"Google Groups", "Approve\n^^^\n--\nYou received this message because you are subscribed to the Google Groups \"ops\" group.\nTo unsubscribe from this group, send an email to ops+unsubscribe@example.test."},
	{"unsubscribe", "Approve\n^^^\nYou are receiving this email because you are on call.\nUnsubscribe"},
	{"picture", "Approve\n^^^\n[image: image.png]"},
	{"rule only", "Approve\n^^^\n---------------------"},
	{"name with a dash", "It is fine with me.\n^^^\n-Alice Example"},
	{"template", "Approve\n^^^\n(Do not change the address or the subject.)"},
	{"postscript", "Approve"}, // see TestPostscript
	{"only a delimiter", "^^^\n-- \nAlice Example"},
	{"phone and name after a mail", "1\n^^^\nSent from my iPhone\n\nAlice Example\nTel: 030 1234567"},
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	const quoted = "\n\nOn 30/11/2026 13:00, Hub wrote:\n> Deploy build 4711?\n>\n> 1. Approve\n"
	for _, s := range signedTexts {
		text, signature, _ := strings.Cut(s.body, "^^^\n")
		text = strings.TrimSpace(text)
		whole := strings.TrimPrefix(text+"\n\n"+signature, "\n\n")
		for name, body := range map[string]string{
			"alone":       whole,
			"above":       whole + quoted,
			"below":       strings.TrimSpace(quoted) + "\n\n" + whole,
			"after quote": text + quoted + "\n" + signature,
		} {
			if name == "after quote" && (text == "" || signature == "") {
				continue
			}
			if r := Text(body); r.Text != text {
				t.Errorf("%s, %s: text %q, cut %q", s.name, name, r.Text, r.Cut)
			}
		}
	}
}

func TestNoSignatures(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Regards",              // alone, it is all that was written
		"Best regards,\nAlice", // and so is this
		"4011 3000 1234 5678",  // talon #129
		"Approve\n\n4011 3000\n4011 3001\n4011 3002",
		"The numbers:\n\n4011 3000 1234 5678\n4011 3000 1234 5679\n4011 3000 1234 5680",
		"2\n\n+49 30 1234567",
		"Please call\n\nBob Smith\n+49 30 1234567",
		"Use these:\n\nhttps://example.test/a\nhttps://example.test/b",
		"Ask them:\n\nbob@example.test\ncarol@example.test",
		"Hold\n\nAlice",
		"Two things.\n\n- Approve\n- Tell Bob",
		"Wait.\n\n---\n\nThen deploy it, but only if the tests pass.",
		"Thanks,\nbut not today.",
		"Best regards to your team.\nWe deploy on Monday.",
		"All the best\nThis one is good to go, so deploy it today.",
		"Hi,\n\nBest, if we wait until Monday.\nThen deploy.",
		"The password is in the safe, this is confidential.",
		"a -- b\n\nand c",
		"```\n--\nAlice\n```\nis the signature",
		"Approve\n\n1. first\n2. second\n3. third",
		"Thanks,\nAlice",
		"Cheers",
		"Call me on +49 30 1234567 before you deploy.\n\nIt is urgent.",
		"- yes\n- no\n- -Alice",
	} {
		if r := Text(text); r.Text != text {
			t.Errorf("%q reads as %q, cut %q", text, r.Text, r.Cut)
		}
	}
}

func TestPostscript(t *testing.T) {
	t.Parallel()
	r := Text("Approve\n\nBest regards,\nAlice\n\nP.S. Not before six.\n\nOn 30/11/2026 13:00, Hub wrote:\n> Deploy?")
	if want := "Approve\n\nP.S. Not before six."; r.Text != want {
		t.Errorf("text %q, want %q, cut %q", r.Text, want, r.Cut)
	}
}

func TestBanners(t *testing.T) {
	t.Parallel()
	const text = "Approve"
	for _, banner := range []string{
		"[EXTERNAL]",
		"[EXTERNAL EMAIL]",
		"EXTERNAL EMAIL: Do not click links or open attachments.",
		"CAUTION: This email originated from outside of the organization. Do not click links or open attachments unless you recognize the sender and know the content is safe.",
		"CAUTION: This email originated from outside of the organization.\nDo not click links or open attachments unless you recognize the sender.",
		"*** CAUTION: EXTERNAL SENDER ***",
		"WARNING: This email came from outside the company.",
		"You don't often get email from alice@example.test. Learn why this is important<https://aka.ms/LearnAboutSenderIdentification>",
		"Some people who received this message don't often get email from alice@example.test. Learn why this is important",
		"Sie erhalten nicht oft E-Mails von alice@example.test. Erfahren Sie, warum dies wichtig ist",
		"Warnung: Externe E-Mail",
		"ACHTUNG: Diese E-Mail kommt von außerhalb der Organisation. Bitte keine Links anklicken.",
		"ATTENTION : Cet e-mail provient d'un expéditeur externe.",
		"Vous n'obtenez pas souvent d'e-mail à partir de alice@example.test. Découvrez pourquoi cela est important",
		"No suele recibir correos electrónicos de alice@example.test. Descubra por qué esto es importante",
		"U ontvangt niet vaak e-mail van alice@example.test. Meer informatie over waarom dit belangrijk is",
		"Let op: deze e-mail komt van een externe afzender",
		"注意：このメールは外部から送信されました。",
		"Внимание! Это письмо пришло от внешнего отправителя.",
		"ZjQcmQRYFpfptBannerStart\nThis Message Is From an External Sender\nThis message came from outside your organization.\nZjQcmQRYFpfptBannerEnd",
		"[EXTERNAL]\n\nYou don't often get email from alice@example.test. Learn why this is important",
	} {
		for _, body := range []string{banner + "\n\n" + text, banner + "\n\n" + text + "\n\nOn 30/11/2026 13:00, Hub wrote:\n> Deploy?\n"} {
			if r := Text(body); r.Text != text {
				t.Errorf("%q: text %q, cut %q", body, r.Text, r.Cut)
			}
		}
		if r := Text(banner + "\n\nOn 30/11/2026 13:00, Hub wrote:\n> Deploy?\n"); !r.Empty() {
			t.Errorf("%q alone: text %q", banner, r.Text)
		}
	}
	for _, text := range []string{
		"Warning: this will take an hour.\nDo it anyway.",
		"Caution is needed here.",
		"Attention: the mail queue is full.",
		"External links are broken.",
		"Extern is fine with me",
	} {
		if r := Text(text); r.Text != text {
			t.Errorf("%q reads as %q, cut %q", text, r.Text, r.Cut)
		}
	}
}
