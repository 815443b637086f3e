package extract

import (
	"regexp"
	"strings"
)

// isMobile reports whether a line in lower case is what a program signs with:
// "Sent from my iPhone", "Gesendet von Outlook für Android", "iPhoneから送信".
func isMobile(low string) bool {
	if len(low) < minMobile || len(low) > 3*maxMobile {
		return false
	}
	s := strings.TrimSpace(withoutLinks(low))
	if strings.HasPrefix(s, "yahoo mail:") {
		return true
	}
	if head, tail, ok := strings.Cut(s, ". "); ok && excuse.MatchString(tail) {
		s = head
	}
	s = strings.Trim(s, "*_-=~.,!\"'<>()[]| ")
	words := strings.Fields(s)
	if s == "" || len(s) > maxMobile || len(words) > 12 || strings.ContainsAny(s, "?!;@") || strings.Contains(s, ". ") {
		return false
	}
	if strings.Contains(s, ":") && !strings.HasPrefix(s, "gönderen:") && !strings.HasPrefix(s, "a következőről") {
		return false
	}
	if strings.Contains(s, ",") && (anyIn(words, clauseWords) || !devices.MatchString(s)) {
		return false
	}
	return sentFromMine.MatchString(s) || sentFromApp.MatchString(s) && devices.MatchString(s) || sentEnding.MatchString(s) && devices.MatchString(s) || isGetOutlook(s)
}

// excuse is what follows "Sent from my phone." in the same line.
var excuse = regexp.MustCompile(`^(?:please )?(?:excuse|pardon|forgive|apolog|sorry|bitte entschuld|entschuldig|veuillez excuser|disculp|desculp|scusa|excuseer|ursäkta|przepraszam)`)

// clauseWords tell a sentence from a signature.
var clauseWords = wordSet("is are was it it's then than and but so because i you we ist sind war aber und weil est mais et es pero y è ma e maar en och men i a ale и но а")

// isGetOutlook reports whether a line only says to get Outlook for a system.
func isGetOutlook(s string) bool {
	if !strings.Contains(s, "outlook") {
		return false
	}
	system := false
	for _, name := range []string{"outlook", "ios", "android", "mac", "windows"} {
		if strings.Contains(s, name) {
			system = system || name != "outlook"
			s = strings.ReplaceAll(s, name, " ")
		}
	}
	for _, w := range wordsOf(s) {
		if w != "" && !getWords[w] {
			return false
		}
	}
	return system
}

var getWords = wordSet(
	"get download for on the app holen laden sie sich für herunter beziehen herunterladen obtenez télécharger obtenir pour obtener obtén obtenga descargar para o obter obtenha baixar baixe hämta för scarica ottieni per download voor downloaden hämta hent til hanki lataa ille lle ista pobierz program dla systemu aplikację",
	"získejte stáhnout stáhněte pro získajte stiahnuť pre az a letöltése beszerzése obțineți descărcați pentru için 'u u edinin indir yükle скачайте скачать получите для завантажити завантажте отримайте изтеглете за αποκτήστε κάντε λήψη του το για קבל את הורד עבור ל",
	"الحصول على تنزيل ل لـ لنظام 获取 取得 下载 下載 获取适用于 下载适用于 取得適用於 下載適用於 适用于 適用於 的 版 版的 用 を入手 をダウンロード を入手する 用の を 다운로드 받기 용 용을 가져오기 tải tải xuống cho dapatkan unduh untuk ดาวน์โหลด สำหรับ รับ nabavite preuzmite za prenesite atsisiųskite gaukite skirtą iegūstiet lejupielādējiet hankige laadige prenez obteniu",
)

var (
	// sentFromMine say whose device it is, so any device will do.
	sentFromMine = regexp.MustCompile(`^(?:` + strings.Join([]string{
		`sent (?:from|via|using|on|with|by) (?:my|the all new|a mobile device|mobile)\b.*`, `(?:composed|written|typed|dictated) on (?:my|a) (?:phone|iphone|mobile|tablet|ipad)\b.*`,
		`(?:diese (?:nachricht|e-mail|mail) wurde )?von (?:meinem|meiner|unterwegs)\b.*(?:gesendet|gesandt|geschickt|geschrieben)`, `gesendet (?:von|mit) (?:meinem|meiner|unterwegs).*`,
		`envoyé (?:de|depuis|à partir de|avec|via) (?:mon|ma|un mobile|mobile)\b.*`, `enviado (?:desde|de|con|por|a partir de) (?:mi|mis|un dispositivo|móvil)\b.*`, `enviado (?:do|de|a partir do|a partir de|pelo|através do) (?:meu|minha)\b.*`,
		`inviato (?:dal|da|con il|con|tramite) (?:mio|mia)\b.*`, `(?:verstuurd|verzonden|gestuurd) (?:vanaf|vanop|van|met|via) (?:mijn|m'n)\b.*`, `enviat des del? (?:meu|mi)\b.*`, `trimis (?:de pe|din|cu|de la) .*meu`,
		`skickat från (?:min|mitt)\b.*`, `sendt fra (?:min|mitt)\b.*`, `sendt frá .*`, `lähetetty (?:\S+ )?(?:minun |omalta )\S+.*`, `wysłan[eoy] z (?:mojego|mojej|telefonu|iphone)\b.*`, `odesláno z (?:mého|mojí|mobilního|iphonu|ipadu)\b.*`, `odoslané z (?:môjho|mojej|mobilu|iphonu|ipadu)\b.*`,
		`poslano (?:s|sa|z|iz) (?:mog|mojega|mojeg|moj)\b.*`, `(?:el)?küldve (?:az? )?\S+.*`, `a következőről küldve: .*`, `отправлено с (?:моего|моей|мобильного|iphone)(?: .*)?`, `(?:надіслано|відправлено) з (?:мого|моєї|iphone)(?: .*)?`, `изпратено от моя.*`, `στάλθηκε από (?:το|τη|την|τον) .*`, `εστάλη από το .*`,
		`išsiųsta iš (?:mano|iphone).*`, `nosūtīts no (?:mana|iphone).*`, `saadetud (?:minu|mu) .*`, `(?:dikirim|dihantar) (?:dari|daripada) \S+ (?:saya|anda)\b.*`, `dikirim dari .*(?:saya|ku)`, `gửi từ .*của tôi`, `được gửi từ .*`,
		`נשלח מ.*`, `(?:تم الإرسال|تم الارسال|أرسلت|ارسلت|أرسل|ارسل|مرسل) من .*`, `.*(?:tarafımdan|cihazımdan|telefonumdan|['’]?(?:den|dan|ten|tan|umdan|ümden|ımdan|imden) gönderildi)`, `(?:发自|發自|发送自|發送自|来自)我的.*`, `从我的.*(?:发送|发出)`, `從我的.*(?:傳送|寄出|發送)`, `從我的.*`, `.*から送信(?:しました|されました)?`, `.*에서 (?:보냄|보낸 메일|보냈습니다)`, `ส่งจาก.*(?:ของฉัน|iphone|android).*`, `मेरे .* से भेजा गया`,
	}, "|") + `)$`)

	// sentFromApp must name a device or a program that is known.
	sentFromApp = regexp.MustCompile(`^(?:` + strings.Join([]string{
		`(?:sent|delivered|composed|written) (?:from|via|using|with|on|by|securely with|securely from)\b.*`, `(?:gesendet|versendet|geschrieben|verschickt) (?:von|mit|über|aus|via)\b.*`, `envoyé (?:de|depuis|à partir|avec|via|par|à l'aide)\b.*`,
		`(?:enviado|enviada|enviat) (?:desde|de|do|da|con|com|por|via|pelo|a partir|mediante|a través|através|des)\b.*`, `(?:inviato|inviata|spedito) (?:da|dal|con|tramite|via)\b.*`, `(?:verstuurd|verzonden) (?:vanaf|vanuit|van|met|via)\b.*`,
		`skickat (?:från|med|via)\b.*`, `sendt (?:fra|med|via)\b.*`, `lähetetty .*`, `wysłan[eoya] (?:z|przy|za|przez)\b.*`, `(?:odesláno|odoslané) (?:z|ze|zo|pomocí|přes|cez)\b.*`, `poslano (?:s|sa|z|iz|putem)\b.*`, `(?:trimis|expediat) (?:de|din|cu|prin)\b.*`,
		`(?:отправлено|отправлена) (?:с|из|через|от|при) .*`, `(?:надіслано|відправлено) (?:з|із|через|за) .*`, `изпратен[оа]? (?:от|с|чрез) .*`, `στάλθηκε .*`, `εστάλη .*`, `išsiųsta .*`, `nosūtīts .*`, `saadetud .*`, `(?:dikirim|dihantar) .*`, `(?:đã )?gửi từ .*`, `נשלח .*`, `gönderen:? .*`,
		`(?:发自|發自|发送自|發送自|来自|來自|从|從|通过|使用|由).*`, `(?:傳送自|寄自|自).*`, `ส่งจาก.*`,
	}, "|") + `)$`)
	sentEnding = regexp.MustCompile(`(?:gesendet|gönderildi|から送信|より送信|에서 보냄|에서 전송됨|發送|发送|傳送|lähetetty|küldve|küldött)$`)
	devices    = regexp.MustCompile(`iphone|ipad|ipod|android|galaxy|samsung|blackberry|huawei|xiaomi|redmi|oneplus|nokia|\bpixel\b|phone|mobil|mobiel|móvil|celular|tablet|handy|telefon|telefoon|téléphone|cellulare|телефон|handheld|device|gerät|appareil|dispositivo|apparaat|устройств|пристро|mail|post\b|outlook|yahoo|proton|mailbox|spark|typeapp|k-9|windows|verizon|t-mobile|at&t|sony|xperia|motorola|htc|superhuman|\bfront\b|\bhey\b|newton|thunderbird|zoho|tutanota|tuta\b|edison|\bnine\b|boxer|icloud|\baol\b|web\.de|gmx|яндекс|yandex|почт|\bqq\b|网易|網易|邮箱|郵件|邮件|手机|手機|canary|shortwave|missive|spike|vivo|oppo|realme|honor|\bzte\b|lenovo|asus|apple|\bmac\b|macbook|\bwatch\b|ios\b|lumia|workspace|notes|zimbra|roundcube|evolution|kmail|mutt|\bmailspring\b|mimestream|携帯|スマート|アイフォン|아이폰|갤럭시|휴대폰|네이버|naver|daum|هاتف|جهاز|الايفون|الآيفون|הטלפון|אייפון|κινητό|συσκευή|мобилн|мобільн`)
)

// signOffs are the words before a name. Thanks are not among them: they say
// something.
var signOffs = phraseSet(
	// English
	"best regards", "kind regards", "kindest regards", "warm regards", "warmest regards", "regards", "best", "all the best", "best wishes", "warm wishes", "many regards", "with regards", "with best regards", "with kind regards",
	"with best wishes", "sincerely", "yours sincerely", "sincerely yours", "yours truly", "yours faithfully", "yours", "respectfully", "respectfully yours", "cordially", "kind rgds", "br", "b.r", "kr", "rgds", "bests", "best rgds",
	"thanks and regards", "thanks & regards", "thanks and best regards", "thanks & best regards", "thank you and best regards", "thank you and kind regards", "thanks and kind regards", "many thanks and best regards", "warmly", "take care", "love", "have a nice day", "have a great day",
	// German
	"mit freundlichen grüßen", "mit freundlichen grüssen", "mit freundlichem gruß", "mit freundlichem gruss", "mit besten grüßen", "mit besten grüssen", "mit herzlichen grüßen", "mit lieben grüßen", "mit vielen grüßen", "mit freundlichen gruessen", "freundliche grüße", "freundliche grüsse", "freundlicher gruß", "beste grüße", "beste grüsse", "besten gruß", "viele grüße", "viele grüsse", "vielen gruß",
	"liebe grüße", "liebe grüsse", "lieben gruß", "herzliche grüße", "herzliche grüsse", "schöne grüße", "schöne grüsse", "schönen gruß", "grüße", "grüsse", "gruß", "gruss", "gruesse", "viele gruesse", "mfg", "lg", "vg", "glg", "bg", "hochachtungsvoll", "es grüßt", "mit sonnigen grüßen", "einen schönen tag", "herzlichst", "beste gruesse",
	// French
	"cordialement", "bien cordialement", "très cordialement", "bien à vous", "bien à toi", "sincères salutations", "meilleures salutations", "salutations", "salutations distinguées", "cdlt", "cdt", "bien sincèrement", "sincèrement", "amicalement", "bien amicalement", "amitiés", "respectueusement", "avec mes salutations", "belle journée", "bonne journée", "bonne réception", "à bientôt", "bises",
	// Spanish, Catalan, Portuguese, Italian, Romanian
	"saludos", "un saludo", "saludos cordiales", "cordiales saludos", "un cordial saludo", "cordialmente", "atentamente", "atte", "muy atentamente", "un abrazo", "abrazos", "salutacions", "salutacions cordials", "una salutació", "atentament", "cordialment", "salut",
	"cumprimentos", "com os melhores cumprimentos", "melhores cumprimentos", "os melhores cumprimentos", "atenciosamente", "att", "abraços", "abraço", "um abraço", "saudações", "com os meus cumprimentos", "grato", "grata",
	"cordiali saluti", "distinti saluti", "saluti", "cari saluti", "un saluto", "un caro saluto", "tanti saluti", "i migliori saluti", "cordialità", "buona giornata", "a presto", "buon lavoro",
	"cu stimă", "cu stima", "cu respect", "toate cele bune", "o zi bună", "o zi buna", "salutări", "numai bine", "cu drag", "cu prietenie", "cele bune",
	// Dutch, Scandinavian, Finnish, Icelandic
	"met vriendelijke groet", "met vriendelijke groeten", "vriendelijke groet", "vriendelijke groeten", "met hartelijke groet", "hartelijke groet", "hartelijke groeten", "groet", "groeten", "groetjes", "mvg", "m.v.g", "met groet", "hoogachtend", "fijne dag", "gr",
	"med vänliga hälsningar", "med vänlig hälsning", "vänliga hälsningar", "vänlig hälsning", "vänligen", "hälsningar", "hälsning", "bästa hälsningar", "med bästa hälsningar", "mvh", "mvh.", "hälsar", "med venlig hilsen", "venlig hilsen", "venlige hilsner", "med venlige hilsner", "de bedste hilsner", "bedste hilsner", "hilsen", "hilsner", "kærlig hilsen", "vh", "dbh", "med vennlig hilsen", "vennlig hilsen", "beste hilsen", "med hilsen", "vennlige hilsener",
	"terveisin", "ystävällisin terveisin", "parhain terveisin", "terveiset", "terv", "yt", "t", "ystävällisesti", "kunnioittavasti", "lämpimin terveisin", "kveðja", "bestu kveðjur", "með kveðju", "kær kveðja",
	// Slavic, Baltic
	"pozdrawiam", "pozdrawiam serdecznie", "serdecznie pozdrawiam", "z poważaniem", "z wyrazami szacunku", "pozdrowienia", "pozdr", "z pozdrowieniami", "łączę pozdrowienia", "miłego dnia", "pozdrawiamy",
	"s pozdravem", "s přátelským pozdravem", "pozdravy", "hezký den", "s úctou", "zdraví", "přeji hezký den", "s pozdravom", "s priateľským pozdravom", "pekný deň", "lep pozdrav", "lp", "lepo pozdravljeni", "s spoštovanjem", "pozdrav", "srdačan pozdrav", "lijep pozdrav", "s poštovanjem", "srdačno", "lep pozdrav", "sa poštovanjem", "s štovanjem",
	"с уважением", "с наилучшими пожеланиями", "всего доброго", "всего хорошего", "всего наилучшего", "хорошего дня", "искренне ваш", "с почтением", "с приветом", "з повагою", "з найкращими побажаннями", "усього найкращого", "гарного дня", "щиро", "з пошаною", "с уважение", "поздрави", "с най-добри пожелания", "сърдечни поздрави", "срдачан поздрав", "поздрав", "со почит", "з павагай",
	"pagarbiai", "geriausi linkėjimai", "su pagarba", "linkėjimai", "ar cieņu", "cieņā", "ar laba vēlējumiem", "sveicieni", "lugupidamisega", "parimate soovidega", "tervitades", "tervitustega", "parimat",
	// Hungarian, Turkish, Greek, Albanian
	"üdvözlettel", "tisztelettel", "üdv", "üdvözlet", "szívélyes üdvözlettel", "baráti üdvözlettel", "köszönettel", "saygılarımla", "saygılarımızla", "iyi çalışmalar", "iyi günler", "sevgiler", "selamlar", "kolay gelsin", "en iyi dileklerimle",
	"με εκτίμηση", "με φιλικούς χαιρετισμούς", "χαιρετισμούς", "χαιρετισμοί", "φιλικά", "με τιμή", "πολλούς χαιρετισμούς", "ευχαριστώ και χαιρετισμούς", "me respekt", "përshëndetje", "me nderime",
	// Semitic, Asian
	"בברכה", "בכבוד רב", "ברכות", "כל טוב", "בהוקרה", "יום טוב", "מע التحية", "مع التحية", "تحياتي", "مع خالص التحية", "مع تحياتي", "مع أطيب التحيات", "خالص التحيات", "تحية طيبة", "أطيب التحيات", "وتفضلوا بقبول فائق الاحترام", "با احترام", "با تشکر",
	"此致", "敬礼", "敬禮", "祝好", "顺祝商祺", "順頌商祺", "此致 敬礼", "敬上", "谨启", "祝工作顺利", "敬具", "草々", "以上", "拝", "올림", "드림", "감사합니다 드림", "trân trọng", "thân mến", "thân ái", "trân trọng kính chào", "kính thư", "salam", "hormat saya", "hormat kami", "salam hormat", "ขอแสดงความนับถือ", "ด้วยความเคารพ", "ด้วยความนับถือ", "सादर", "lihat",
)

// footerStart are lines that servers, lists and programs write below a mail.
var footerStart = regexp.MustCompile(`^[*_\[(]*(?:` + strings.Join([]string{
	`you (?:received|are receiving|get|got) this (?:message|email|e-mail|mail|because)`, `you(?:'re| are) receiving this`, `to unsubscribe\b`, `unsubscribe(?: here| from this)?\b.{0,40}$`, `this (?:message|e-?mail|mail) (?:has been|was) (?:scanned|checked|sent (?:to|via|through|by|from)|delivered)`, `(?:this|diese|deze) (?:e-?mail|message) (?:and any|and its|contains|is intended|may contain|including|is confidential|is for)`,
	`(?:virus-free|virenfrei|libre de virus|sans virus|garanti sans virus|exento de virus|priva di virus|virusvrij|virusfri|без вирусов|livre de vírus)\b`, `avast logo`, `checked by avg`, `no virus found`, `este correo electrónico ha sido comprobado`, `l'absence de virus`, `diese e-mail wurde von avast`, `reply to this email directly or view it on`, `you are receiving this because`, `visit topic\b.*to respond`, `disclaimer:`, `disclaimer$`, `confidentiality (?:notice|note)`, `legal (?:notice|disclaimer)`,
	`think before you print`, `please (?:consider the environment|think before|do not print|don't print)`, `before printing`, `bitte (?:denken sie an die umwelt|prüfen sie|drucken sie)`, `pensez à l'environnement`, `n'imprimez`, `save (?:paper|a tree)`, `sent via .{1,40} mailing list`, `mailing list:?$`, `to (?:view this discussion|stop receiving (?:these|this))\b`, `view this discussion on`, `manage your (?:subscription|preferences)`, `visit your group`,
	`-----begin pgp (?:public key block|signature)`, `(?:scanned|powered) by .{1,60}$`, `this communication (?:is|may|and)`, `notice of confidentiality`, `click here to report this email as spam`, `external email disclaimer`, `secured by .{1,60}$`, `vertraulichkeitshinweis`, `haftungsausschluss`, `rechtlicher hinweis`, `aviso legal`, `aviso de (?:privacidad|confidencialidad)`, `avis de confidentialité`, `avvertenza`, `informativa privacy`, `klauzula (?:poufności|informacyjna)`, `upozornění:`, `конфиденциальность`,
}, "|") + `)`)

// privacy are words of a disclaimer. Two of them in a long paragraph are enough.
var privacy = []*regexp.Regexp{
	regexp.MustCompile(`confidential|vertraulich|confidentiel|confidencial|riservat|vertrouwelijk|konfidentiell|fortrolig|luottamuksel|poufn|důvěrn|dôvern|bizalmas|confidenți|gizli|конфиденциал|конфіденцій|поверител|εμπιστευτικ|חסוי|سري|保密|机密|機密|기밀|bảo mật|rahasia|ลับ`),
	regexp.MustCompile(`intended (?:recipient|addressee|solely|only|for)|solely for|addressee|unauthori[sz]ed|empfänger|adressat|destinataire|destinatari|geadresseerde|bestemd voor|mottagare|modtager|mottaker|vastaanotta|adresat|adresát|címzett|destinatar|alıcı|получател|адресат|одержувач|παραλήπτ|נמען|المستلم|المرسل إليه|收件人|受信者|수신자|người nhận|penerima|ผู้รับ`),
	regexp.MustCompile(`privileged|prohibited|in error|by mistake|delete|disclos|disseminat|liability|irrtümlich|löschen|nicht gestattet|untersagt|interdit|erreur|supprim|prohibid|proibid|error|eliminar|vietat|errore|cancella|verboden|vergissing|verwijder|förbjud|misstag|radera|fejl|slet|virhe|poista|zabronion|błęd|usuń|zakázán|omyl|smaž|törölj|eroare|interzis|yasak|hata|запрещ|ошибк|удал|помилк|видал|грешка|λάθος|διαγράψ|טעות|خطأ|删除|禁止|誤って|삭제|nhầm|kesalahan`),
}

// instruction is what a template asks the writer to leave alone.
var instruction = regexp.MustCompile(`^\W{0,2}(?:please )?(?:do not|don't|bitte nicht|ne pas|no|non|niet|nicht) (?:change|edit|modify|alter|remove|delete|ändern|modifier|modifique|modificare|wijzigen)?.{0,40}\b(?:address|subject|betreff|adresse|objet|sujet|asunto|oggetto|onderwerp|line below|text below)\b.{0,40}\W$`)

// maxFooter is how many lines from the end a footer is looked for.
const maxFooter = 120

// footer finds what a server, a list or a program wrote at the end.
func footer(lines []line, from int) int {
	for i := max(from, len(lines)-maxFooter); i < len(lines); i++ {
		if footerBegins(lines, i) {
			return i
		}
	}
	return len(lines)
}

// footerBegins reports whether line i begins a footer: after a blank or a drawn
// line, with known words, or a paragraph that is a disclaimer.
func footerBegins(lines []line, i int) bool {
	l := &lines[i]
	if !l.own() || l.fence || i > 0 && lines[i-1].norm != "" && !isRule(&lines[i-1]) {
		return false
	}
	if footerStart.MatchString(l.low) {
		return true
	}
	return disclaims(lines[i:])
}

// disclaims reports whether the first paragraph of lines is a disclaimer.
func disclaims(lines []line) bool {
	var b strings.Builder
	for i := range lines {
		if lines[i].norm == "" || lines[i].depth > 0 || b.Len() > 2000 {
			break
		}
		b.WriteString(lines[i].low)
		b.WriteByte(' ')
	}
	s := b.String()
	if len(s) < 80 {
		return false
	}
	n := 0
	for _, re := range privacy {
		if re.MatchString(s) {
			n++
		}
	}
	return n == len(privacy) || n == len(privacy)-1 && len(s) > 150 && thisMail.MatchString(s)
}

// thisMail are the first words of a disclaimer.
var thisMail = regexp.MustCompile(`^\W{0,3}(?:(?:this|the (?:information|content)s?\b.{0,40}\b(?:this)) (?:e-?mail|message|communication|transmission)|th(?:is|e) (?:e-?mail|message)|(?:diese|dieses) (?:e-?mail|nachricht|mail)|(?:ce|cet|le présent) (?:message|courriel|e-?mail)|(?:este|esta|o presente) (?:mensaje|correo|e-?mail|mensagem|comunica)|(?:questo|questa|il presente) (?:messaggio|e-?mail|comunicazione)|(?:dit|deze) (?:bericht|e-?mail)|det(?:ta|te) (?:meddelande|mail|e-post)|denne (?:e-?mail|e-?post|mail|besked)|tämä (?:viesti|sähköposti)|niniejsza|ta wiadomość|tato zpráva|tento e-?mail|táto správa|ez az? (?:üzenet|e-?mail)|acest (?:mesaj|e-?mail)|bu (?:e-?posta|ileti|mesaj)|это (?:сообщение|письмо)|данное (?:сообщение|письмо)|цей лист|це повідомлення)`)

// withoutNotes takes out single lines that no person wrote: pictures at the end,
// and what a template says of itself.
func withoutNotes(lines []line, from int) ([]line, []string) {
	var why []string
	for len(lines) > from && picture.MatchString(lines[len(lines)-1].low) {
		lines = trimEnd(lines[:len(lines)-1])
		why = append(why, "picture")
	}
	kept := lines[:0:0]
	for i := range lines {
		if l := &lines[i]; i >= from && l.own() && len(l.low) < 200 && instruction.MatchString(l.low) && strings.HasPrefix(l.norm, "(") {
			why = append(why, "note of a template")
			continue
		}
		kept = append(kept, lines[i])
	}
	return trimEnd(kept), why
}
