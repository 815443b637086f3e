package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// field says what a header line of a quoted mail is about.
type field byte

const (
	noField field = iota
	fieldFrom
	fieldDate
	fieldTo
	fieldCc
	fieldSubject
	fieldOther
)

const (
	maxHeaderLines = 40 // of one block
	maxFieldName   = 30 // in bytes, of the longest name with room
	maxFolded      = 3  // lines that go on with a field
)

// headers returns how many lines, from i on, are the header block of a quoted
// mail ("From: … Sent: … Subject: …"), in any order and in any language that
// fieldNames has, or 0.
func headers(lines []line, i int) int {
	if lines[i].plain || lines[i].fence || lines[i].norm == "" || small(lines[i].norm) {
		return 0
	}
	if fieldOf(lines[i].low) == noField {
		return unknownHeaders(lines, i)
	}
	b, end := blockAt(lines, i)
	if !b.sure() {
		// No part of it is one either.
		for k := i; k < end; k++ {
			lines[k].plain = true
		}
		return 0
	}
	return end - i
}

// blockAt reads fields from line i on, and returns where they end.
func blockAt(lines []line, i int) (b block, end int) {
	depth := lines[i].depth
	end = i
	for n := i; n < len(lines) && n-i < maxHeaderLines; end = n {
		l := &lines[n]
		switch {
		case l.norm == "" && l.mark == "":
			// Converters from HTML put blank lines between the fields.
			if n+1 >= len(lines) || lines[n+1].depth != depth || fieldOf(lines[n+1].low) == noField {
				return b, end
			}
			n++
		case l.depth != depth:
			return b, end
		case fieldOf(l.low) != noField:
			b.add(l.low)
			n++
		case b.sure() && named(l.low):
			n++
		default:
			more := folded(lines, n, depth)
			if more == 0 {
				return b, end
			}
			b.goesOn(lines[n : n+more])
			n += more
		}
	}
	return b, end
}

// small reports whether a line begins with a small letter, as people write the
// names of fields and programs don't.
func small(norm string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(norm, "*_| "))
	return unicode.IsLower(r)
}

// unknownHeaders is headers for languages that fieldNames does not have: at
// least three lines "name: value", of which the first has an address in brackets
// and another a date with a time.
func unknownHeaders(lines []line, i int) int {
	depth := lines[i].depth
	dated, n := false, 0
	for ; i+n < len(lines) && n < maxHeaderLines; n++ {
		l := &lines[i+n]
		if l.depth != depth || !named(l.low) {
			break
		}
		if n == 0 {
			if !angled(l.low) {
				return 0
			}
			continue
		}
		_, value, _ := strings.Cut(l.low, ":")
		c := cluesOf(value)
		dated = dated || c.dated && c.clock
	}
	if n < 3 || !dated {
		return 0
	}
	return n
}

// named reports whether a line looks like a header field, of any name.
func named(low string) bool {
	name, value, ok := strings.Cut(strings.TrimLeft(low, "*_ "), ":")
	if !ok || len(name) > 2*maxFieldName || strings.HasPrefix(value, "//") || len(strings.Fields(name)) > 3 {
		return false
	}
	name = strings.Trim(name, "*_ ")
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != ' ' && r != '-' && r != '\'' && r != '.'
	}) < 0
}

// folded returns how many lines at n go on with the field before them.
func folded(lines []line, n, depth int) int {
	l := &lines[n]
	if strings.HasPrefix(l.norm, "<") && strings.Contains(l.norm, "@") || strings.HasPrefix(l.body, "\t") ||
		strings.HasPrefix(l.body, "   ") && strings.Contains(l.norm, "@") {
		return 1
	}
	// A long subject or list of recipients, if another field comes soon.
	for k := n; k < len(lines) && k-n <= maxFolded; k++ {
		switch {
		case lines[k].depth != depth, lines[k].norm == "":
			return 0
		case fieldOf(lines[k].low) != noField:
			return k - n
		}
	}
	return 0
}

// block is what is known of a header block.
type block struct {
	seen  map[field]bool
	email bool // an address stands in it
	date  bool // a date stands in the field of the date
}

func (b *block) add(low string) {
	if b.seen == nil {
		b.seen = make(map[field]bool)
	}
	for name, value := range fieldsIn(low) {
		b.seen[name] = true
		c := cluesOf(value)
		b.email = b.email || c.email
		b.date = b.date || name == fieldDate && strings.ContainsAny(value, "0123456789")
	}
}

func (b *block) goesOn(lines []line) {
	for i := range lines {
		b.email = b.email || strings.Contains(lines[i].norm, "@")
	}
}

// sure reports whether the block surely is one: "To: production" and "From:
// staging" are what a person may write as well.
func (b *block) sure() bool {
	switch n := len(b.seen); n {
	case 0, 1:
		return false
	case 2:
		return b.seen[fieldDate] && b.date && (b.seen[fieldFrom] || b.email) || b.email && b.seen[fieldFrom]
	case 3:
		return b.date || b.email || b.seen[fieldSubject]
	}
	return true
}

// fieldOf returns what a line in lower case is a field of.
func fieldOf(low string) field {
	s := strings.TrimLeft(low, "*_•- ")
	if row, ok := strings.CutPrefix(s, "|"); ok { // a table, as NetEase sends it
		name, _, _ := strings.Cut(row, "|")
		return fieldNames[strings.Trim(name, "*_: ")]
	}
	n := strings.IndexByte(s, ':')
	if n <= 0 || n > maxFieldName {
		return noField
	}
	return fieldNames[strings.Trim(s[:n], "*_ ")]
}

// fieldsIn returns the fields of a line, which may hold several in a row, and
// their values.
func fieldsIn(low string) map[field]string {
	out := make(map[field]string)
	last, start := fieldOf(low), strings.IndexByte(low, ':')+1
	if last == noField {
		return out
	}
	for {
		n := strings.IndexByte(low[start:], ':')
		if n < 0 || len(out) > 8 {
			break
		}
		n += start
		w := strings.LastIndexFunc(low[start:n], func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' })
		name := strings.TrimSpace(low[start+w+1 : n])
		if f := fieldNames[name]; f != noField && len(name) > 2 {
			out[last] += low[:n]
			last = f
		}
		start = n + 1
	}
	out[last] += low
	return out
}

// fieldNames are the names of header fields as mail programs translate them.
var fieldNames = names(map[field][]string{
	fieldFrom: {
		"from|reply-to|reply to|sender|author|von|absender|antwort an|de|expéditeur|expediteur|remitente|remetente|da|mittente|van|afzender|från|avsändare|fra|avsender|afsender",
		"lähettäjä|keneltä|od|nadawca|odesílatel|odesilatel|odosielateľ|feladó|küldő|de la|expeditor|kimden|gönderen|от|от кого|отправитель|від|від кого|відправник|подател|изпращач|от:|από|αποστολέας",
		"מאת|من|المرسل|از|发件人|發件人|寄件者|寄件人|差出人|送信者|보낸 사람|보낸사람|발신|발신인|từ|người gửi|dari|pengirim|daripada|จาก|ผู้ส่ง|nuo|siuntėjas|no|sūtītājs|saatja|kellelt|pošiljatelj|пошиљалац|pošiljalac|šalje|nga|frá|sendandi|nork|de part de|oddo",
	},
	fieldDate: {
		"date|sent|sent on|sent at|received|datum|gesendet|gesendet am|datum und uhrzeit|envoyé|envoyé le|envoye|date d'envoi|enviado|enviado el|enviada em|enviado em|enviada|fecha|data|inviato|data invio|inviata|verzonden|verzonden op|verstuurd|skickat|skickades|skickat den|sendt|dato|sendt den|lähetetty|päivämäärä|päiväys|pvm",
		"wysłano|wysłane|data wysłania|odesláno|odoslané|dátum|elküldve|küldve|küldés dátuma|trimis|trimis la|data trimiterii|dată|tarih|gönderildi|gönderilme tarihi|gönderim tarihi|дата|отправлено|дата отправки|надіслано|изпратено|изпратен|ημερομηνία|στάλθηκε|εστάλη",
		"תאריך|נשלח|التاريخ|تاريخ الإرسال|أرسلت|تم الإرسال|تاریخ|发送时间|發送時間|发送日期|寄件日期|日期|时间|時間|傳送時間|送信日時|日時|送信日|보낸 날짜|날짜|일시|보낸날짜|ngày|đã gửi|ngày gửi|tanggal|dikirim|terkirim|tarikh|dihantar|วันที่|ส่ง|ส่งเมื่อ|išsiųsta|data ir laikas|nosūtīts|datums|saadetud|kuupäev|poslano|датум|послато|poslato|dërguar|sendt kl|enviat|dagsetning|bidaltze-data",
	},
	fieldTo: {
		"to|an|empfänger|à|a|destinataire|destinataires|pour|para|destinatario|destinatário|al|aan|naar|till|til|mottagare|vastaanottaja|kenelle|do|adresat|komu|pro|címzett|către|catre|destinatar|kime|alıcı|кому|получатель|до|получател|одержувач|προς|παραλήπτης",
		"אל|נמען|إلى|الى|المستلم|به|收件人|收件者|宛先|받는 사람|받는사람|수신|수신인|đến|tới|người nhận|kepada|ke|untuk|ถึง|ผู้รับ|kam|kas|kam:|saaja|kellele|za|prima|прима|për|nori|viðtakandi|gavėjas|saņēmējs",
	},
	fieldCc: {
		"cc|bcc|kopie|copie|copia|cópia|kopia|kopi|kopio|kópia|másolat|bilgi|копия|копія|копие|κοιν|κοινοποίηση|עותק|نسخة|抄送|副本|참조|đồng gửi|สำเนา|kópía|kopija|koopia|cópia oculta|blindkopie|cc:|kopie an|másolatot kap|dk|в копии",
	},
	fieldSubject: {
		"subject|betreff|betrifft|objet|sujet|asunto|assunto|oggetto|onderwerp|ämne|emne|aihe|otsikko|temat|předmět|předmet|predmet|tárgy|subiect|konu|тема|тема письма|относно|θέμα|נושא|الموضوع|موضوع|主题|主 题|主題|主 題|主旨|标题|標題|件名|제목|chủ đề|tiêu đề|subjek|perihal|perkara|judul|หัวเรื่อง|เรื่อง|tema|temats|tēma|teema|zadeva|naslov|наслов|предмет|assumpte|gaia|efni|lënda|subjekt",
	},
	fieldOther: {
		"importance|priority|attachments|attachment|reply-to address|organization|wichtigkeit|priorität|anlagen|anhänge|anlage|pièces jointes|pièce jointe|importance haute|importancia|datos adjuntos|adjuntos|anexos|anexo|prioridade|allegati|priorità|bijlagen|urgentie|bilagor|prioritet|vedlegg|vedhæftede filer|liitteet|tärkeys|załączniki|ważność|přílohy|důležitost|prílohy|mellékletek|fontosság|atașări|önem|ekler|вложения|важность|вкладення|συνημμένα|附件|重要性|添付ファイル|重要度|첨부 파일|첨부|중요도|message-id|x-mailer|content-type|mime-version|in-reply-to|references|list-id|mailing-list|signed by|mailed-by|security",
	},
})

func names(by map[field][]string) map[string]field {
	out := make(map[string]field)
	for f, lists := range by {
		for _, list := range lists {
			for name := range strings.SplitSeq(list, "|") {
				out[lower(normal(name))] = f
			}
		}
	}
	return out
}

// separator reports whether a line says that a quoted mail follows, as in
// "-----Original Message-----".
func separator(l *line) bool {
	if l.norm == "" || len(l.low) > 120 || l.fence {
		return false
	}
	s := strings.Trim(l.low, "-_=*~#>+|.: ")
	dashes := len(l.low) - len(strings.TrimLeft(l.low, "-_=*~# "))
	if plainSeparators[s] {
		return dashes > 0 || strings.HasSuffix(l.low, ":") || forwards[s]
	}
	if dashes < 2 || !strings.HasSuffix(l.low, "--") && !strings.HasSuffix(l.low, "__") && !strings.HasSuffix(l.low, "- -") {
		return false
	}
	words := wordsOf(s)
	if len(words) > 7 {
		return false
	}
	for _, w := range words {
		if messageWords[w] {
			return true
		}
	}
	for _, w := range messageEndings {
		if strings.HasSuffix(s, w) {
			return true
		}
	}
	return false
}

// messageWords are the words for a message, one of which stands between the
// dashes of a separator.
var messageWords = wordSet(
	"message mail e-mail email appointment nachricht mensaje mensagem messaggio bericht berichten meddelelse meddelande besked melding viesti sähköposti",
	"wiadomość zpráva zprávy správa üzenet mesaj mesajul ileti iletisi e-posta сообщение письмо повідомлення лист съобщение писмо порака порука",
	"μήνυμα הודעה رسالة الرسالة پیام thư nhắn pesan mesej poruka sporočilo laiškas žinutė ziņojums vēstule kiri sõnum missatge mezua skilaboð mesazhi",
	"original originale forwarded weitergeleitete",
)

// messageEndings are such words in scripts without spaces.
var messageEndings = []string{
	"邮件", "郵件", "邮件原件", "原始信息", "原文", "引用", "メッセージ", "元のメール", "원본 메시지", "메시지", "메일", "원본메일", "ข้อความต้นฉบับ", "ข้อความ", "संदेश", "წერილი",
}

// forwards are separators that need neither dashes nor a colon.
var forwards = phraseSet(
	"begin forwarded message", "anfang der weitergeleiteten nachricht", "anfang der weitergeleiteten e-mail", "début du message réexpédié", "début du message transféré",
	"inicio del mensaje reenviado", "início da mensagem reencaminhada", "início da mensagem encaminhada", "inizio messaggio inoltrato", "begin doorgestuurd bericht", "vidarebefordrat brev",
	"start på vidarebefordrat meddelande", "videresendt melding", "videresendt besked", "start på videresendt besked", "początek przekazywanej wiadomości", "välitetty viesti alkaa", "edelleenlähetetty viesti",
	"začátek přeposílané zprávy", "začiatok preposlanej správy", "továbbított levél kezdete", "început mesaj redirecționat", "iletilmiş iletinin başlangıcı", "iletilen ileti başlangıcı",
	"начало переадресованного сообщения", "початок переадресованого повідомлення", "开始转发的邮件", "開始轉寄郵件", "転送されたメッセージ", "전달된 메시지 시작", "بداية الرسالة المعاد توجيهها", "תחילת ההודעה שהועברה", "αρχή προωθημένου μηνύματος",
)

// plainSeparators are those that also come without dashes, with a colon.
var plainSeparators = union(forwards, phraseSet(
	"original message", "original mail", "original email", "forwarded message", "ursprüngliche nachricht", "originalnachricht", "weitergeleitete nachricht", "message d'origine", "message original", "message transféré",
	"mensaje original", "mensaje reenviado", "mensagem original", "messaggio originale", "messaggio inoltrato", "oorspronkelijk bericht", "doorgestuurd bericht", "ursprungligt meddelande", "originalmeddelande",
	"oprindelig meddelelse", "oprindelig besked", "opprinnelig melding", "alkuperäinen viesti", "oryginalna wiadomość", "wiadomość oryginalna", "původní zpráva", "pôvodná správa", "eredeti üzenet", "mesaj original", "orijinal mesaj", "özgün ileti",
	"исходное сообщение", "пересылаемое сообщение", "пересланное сообщение", "оригінальне повідомлення", "оригинално съобщение", "αρχικό μήνυμα", "הודעה מקורית", "الرسالة الأصلية", "原始邮件", "原始郵件", "元のメッセージ", "원본 메시지",
	"tin nhắn gốc", "thư gốc", "pesan asli", "izvorna poruka", "originalna poruka", "izvirno sporočilo", "originalus laiškas", "sākotnējais ziņojums", "algne kiri", "missatge original",
))

func union(sets ...map[string]bool) map[string]bool {
	out := make(map[string]bool)
	for _, s := range sets {
		for k := range s {
			out[k] = true
		}
	}
	return out
}
