package inbound

import (
	"regexp"
	"slices"
	"strings"
)

// Half of all bounces are no multipart/report: what follows tells them by their
// sender and their words.

// daemon reports whether an address is one from which mail servers report.
func daemon(addr string) bool {
	local, _ := splitAddress(addr)
	local = plainLocal(local)
	switch local {
	case "maildaemon", "mdaemon", "mailsystem", "mmdf", "uucp", "mail", "listserverrors", "bounce", "bounces":
		return true
	}
	return strings.HasPrefix(local, "mailerdaemon") || strings.HasPrefix(local, "postmaster") || strings.HasPrefix(local, "maildelivery")
}

// fromServer reports whether the From is that of a mail server, which may have no
// address at all: "Mail Delivery Subsystem <MAILER-DAEMON>", "MAILER-DAEMON <>".
func (m *Mail) fromServer() bool {
	if addr := m.From(); addr != "" {
		return daemon(addr)
	}
	return serverName.MatchString(m.header.first("from"))
}

var serverName = regexp.MustCompile(`(?i)(mailer-daemon|postmaster|mail delivery (sub)?system)`)

// plainLocal is a local part without the signs that people put between words.
func plainLocal(local string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' {
			return -1
		}
		return r
	}, asciiLower(local))
}

// robot reports whether an address says that nobody reads it.
func robot(addr string) bool {
	local, _ := splitAddress(addr)
	switch plainLocal(local) {
	case "noreply", "donotreply", "nichtantworten", "neparepondre", "noresponder", "mailerdaemon", "autoresponder", "autoreply":
		return true
	}
	return false
}

var (
	failureSubject = regexp.MustCompile(`(?i)(` + strings.Join([]string{
		`undeliver`, `non-?deliver`, `not delivered`, `not be delivered`, `unable to deliver`, `failed delivery`, `delivery (status notification|report|notification)? ?[:(]? ?(failure|failed|error|problem)`,
		`(mail|message|e-?mail) (delivery )?(failed|failure|error|problem|rejected|bounced)`, `deliver(y|ing)[\w :"'-]* (failure|failed|error|problem)`, `failure notice`, `notification of delivery error`,
		`returned (mail|to sender|message)`, `mail system error`, `mail could not be`, `message (could )?not (be )?(sent|deliver)`, `rejected mail`, `bounced mail`, `user unknown`, `warning: could not send`, `delivery has failed`, `mail returned`, `return(ed)? receipt: fail`,
		`unzustellbar`, `nicht zugestellt`, `zustellung fehlgeschlagen`, `zustellfehler`, `non remis`, `échec de (la )?(remise|distribution)`, `non distribu`, `mancato recapito`, `non recapitabile`, `no se (puede|pudo) entregar`, `no entregad`, `não (foi )?entreg`, `onbestelbaar`, `niet (worden )?(be|af)gel`, `kunde inte levereras`, `kan ikke leveres`, `nie dostarczon`, `niedoręczon`, `nedoruč`, `не доставлен`, `недоставлен`, `配信(不能|できません|に失敗)`, `送信できません`, `退信`, `无法投递`, `반송`,
	}, "|") + `)`)
	delaySubject = regexp.MustCompile(`(?i)(` + strings.Join([]string{
		`\bdelayed?\b`, `delivery delay`, `still being retried`, `warning: (message|mail|could not send message for)`, `delivery status notification ?\(delay`, `temporarily`, `verzögert`, `verzögerung`, `retard`, `retras`, `ritard`, `vertraagd`, `задерж`, `遅延`, `延迟`,
	}, "|") + `)`)
	delayText = regexp.MustCompile(`(?i)(` + strings.Join([]string{
		`still being retried`, `will (keep|continue|be) (trying|retr|to (be )?(try|retr|attempt))`, `will (be )?retr(y|ied)`, `continue trying`, `keep trying`, `(this is a )?warning message only`, `you do not need to (resend|do anything)`, `no action is required`, `delivery attempts will continue`, `(only|just) a temporary failure`, `do not need to re-?send`, `(is|been) delayed for`, `has(n't| not) been delivered yet`, `not yet been delivered`, `has been delayed`, `delivery (is|was) delayed`, `attempts? to deliver .{0,40}will continue`, `wird weiter(hin)? versucht`, `再送を試み`,
	}, "|") + `)`)
	finalText   = regexp.MustCompile(`(?i)(giv(en|ing) up|gave up|permanent (fatal )?error|could not be delivered (for|within|after)|has been (bounced|removed|returned)|will (not|no longer) (be )?(retr|tr(y|ied))|retry time(out)? exceeded|is undeliverable)`)
	failureText = regexp.MustCompile(`(?i)(` + strings.Join([]string{
		`(could|can) ?not be (successfully )?(delivered|sent|completed)`, `(was|were|is) not (be )?(delivered|sent|accepted)`, `(wasn't|was not|weren't|isn't|am not|'m not|unable|not able|failed) (able )?to (be )?(deliver|send|relay)`, `undeliver`, `permanent (fatal )?(delivery )?(error|failure)`, `user (is )?unknown`, `unknown (user|address|recipient|local part|mailbox)`, `no such (user|address|recipient|mailbox|person|account)`, `does(n't| not) (exist|have an? .{0,20}account)`, `no mailbox (here )?(by|with) (that|this) name`, `(mailbox|account|recipient|address|quota) .{0,40}(unavailable|disabled|full|exceeded|inactive|rejected|invalid|not found|over quota)`, `over (its |their )?quota`, `delivery .{0,60}(failed|failure|unsuccessful|error)`, `(message|mail) .{0,60}(undelivered|returned|bounced|rejected|refused)`, `(host|domain) .{0,20}(unknown|not found|lookup)`, `\b5\d\d[ -]\d?`, `giving up`, `given up`,
	}, "|") + `)`)
)

// bounceWords says what a mail that is no report tells about a delivery: "failed",
// "delayed", or "" for nothing.
func (m *Mail) bounceWords() string {
	subject, text := m.Subject(), m.programText()
	switch {
	case delaySubject.MatchString(subject) && !failureSubject.MatchString(subject):
		return "delayed"
	case delayText.MatchString(text) && !finalText.MatchString(text):
		return "delayed"
	case failureSubject.MatchString(subject), failureText.MatchString(text):
		return "failed"
	}
	return ""
}

// programText is the beginning of what a program wrote, up to the mail that it
// returns.
func (m *Mail) programText() string {
	const enough = 16 << 10
	text := m.plainText()
	text = text[:min(len(text), enough)]
	if at := returnedMail.FindStringIndex(text); at != nil && at[0] > 0 {
		text = text[:at[0]]
	}
	return text
}

// returnedMail finds where the copy of the returned mail begins.
var returnedMail = regexp.MustCompile(`(?im)^[ \t>]*(-{2,}.{0,60}(copy of|original|returned|unsent|message header|your message|headers of).{0,60}$|return-path:|received: from|.{0,40}(copy of (your|the)|original) (message|mail).{0,40}:?\s*$)`)

// wordsReport makes a report of a bounce that is none.
func (m *Mail) wordsReport(action string) recipientReport {
	text := m.programText()
	r := recipientReport{action: action}
	if to := m.header.first("x-failed-recipients"); to != "" {
		r.recipient = addressLike.FindString(to)
	}
	for _, line := range strings.Split(text, "\n") {
		line = oneLine(line)
		if a := addressLike.FindString(line); r.recipient == "" && a != "" && !daemon(canonical(a)) {
			r.recipient = a
		}
		if r.diagnostic == "" && (enhanced.MatchString(line) || replyCode.MatchString(line)) {
			r.diagnostic = line
		}
	}
	if r.diagnostic == "" {
		lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return !failureText.MatchString(l) })
		if len(lines) > 0 {
			r.diagnostic = oneLine(lines[0])
		}
	}
	r.recipient = strings.Trim(r.recipient, ".:")
	return r.settled()
}
