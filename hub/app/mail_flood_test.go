package app_test

import (
	"fmt"
	"net/smtp"
	"strings"
	"sync"
	"testing"

	"beckon/channels/email/mailtest"
	"beckon/hub"
)

// robots answer everything at once, and say in no header that they are none.
var robots = []string{
	"Thank you for your message. We will get back to you as soon as possible.",
	"Your ticket #2 has been created. An agent will answer within 1 day.",
	"Yes, we got your mail! This mailbox is not read.",
	"Hello,\n\nI am no longer with the company.\n\nRegards",
}

// A robot that answers every mail of ours, ours to its answers too, and that
// nothing in its mails gives away, gets a bounded number of mails and answers
// nothing.
func TestMailLoop(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	ask := s.asks("ask", 1, nil)[0]
	task := s.asks("task", 1, func(m map[string]any) {
		m["type"] = "task"
		m["action"] = map[string]any{"instructions": "Look at the report."}
		delete(m, "request")
	})[0]
	note := s.asks("note", 1, func(m map[string]any) {
		m["type"] = "notify"
		m["body"] = "It is done."
		delete(m, "request")
	})[0]
	n := 0
	for _, q := range []asked{ask, task, note} {
		for range 200 {
			n++
			raw := "From: alice@example.test\nTo: " + q.token + "\nSubject: Re: " + q.subject + "\nMessage-ID: <" + fmt.Sprint(n) + "@robot.test>\n\n" + robots[n%len(robots)] + "\n"
			if err := s.hand("alice@example.test", raw, q.token); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.told(q.id); got != hub.MaxNotices {
			t.Errorf("%d notices, want %d", got, hub.MaxNotices)
		}
		if got := len(s.about("alice", q.id, 1+hub.MaxNotices)); got != 1+hub.MaxNotices {
			t.Errorf("%d mails", got)
		}
	}
	for _, q := range []asked{ask, task} {
		if got := s.status(q.id); got != "open" {
			t.Errorf("it is %s", got)
		}
	}
	if got := s.receipts(); got != n {
		t.Errorf("%d receipts for %d mails", got, n)
	}
	if got := len(s.log.kinds()); got != n {
		t.Errorf("%d lines in the log for %d mails", got, n)
	}
}

// A robot that only answers what it gets stops with us: round by round, through
// real servers.
func TestMailLoopStops(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	q := s.asks("ask", 1, nil)[0]
	for i := range 1 + hub.MaxNotices {
		m := s.about("alice", q.id, i+1)[i]
		s.reply("alice@example.test", m, robots[i%len(robots)])
		want := i + 1
		err := mailtest.Eventually(func() error {
			if got := s.receipts(); got != want {
				return fmt.Errorf("%d mails came in, want %d", got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := s.told(q.id); got != hub.MaxNotices {
		t.Errorf("%d notices", got)
	}
	if got := s.status(q.id); got != "open" {
		t.Errorf("it is %s", got)
	}
}

// Two hubs that each have the other for a person do not talk to each other.
func TestTwoHubs(t *testing.T) {
	t.Parallel()
	one := newSiege(t, "", "email: alice@example.test", "email: list@example.test")
	two := &siege{office: office{dovecot: one.dovecot, exim: one.exim}, socket: one.socket + "2", db: one.db + "2", log: &mailLog{}}
	two.yaml = strings.NewReplacer(one.socket, two.socket, one.db, two.db,
		"from: hub@example.test", "from: list@example.test", "email: list@example.test", "email: hub@example.test").Replace(one.yaml)
	two.process = startLogged(t, two.yaml, two.log)
	two.open()
	a, b := one.submit(envelope("one", nil)), two.submit(envelope("two", nil))

	// What exim puts into the second one's mailbox is handed to it from there.
	seen := 0
	pump := func() {
		all := two.dovecot.Mails("list", "INBOX")
		for _, m := range all[seen:] {
			seen++
			_ = two.hand("hub@example.test", string(m.Raw), "list@example.test")
			// The worst: it answers to where answers go, whatever it is.
			for line := range strings.Lines(string(m.Raw)) {
				if to, ok := strings.CutPrefix(line, "Reply-To: "); ok {
					body := strings.ReplaceAll(string(m.Raw), "From: ", "X-From: ")
					_ = one.hand("list@example.test", "From: list@example.test\r\n"+body, bare(strings.TrimSpace(to)))
				}
			}
		}
	}
	err := mailtest.Eventually(func() error {
		pump()
		if x, y := len(one.log.kinds()), len(two.log.kinds()); x < 2 || y < 1 {
			return fmt.Errorf("%d and %d mails came in", x, y)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, one.exim.Log())
	}
	if x, y := one.told(a), two.told(b); x+y != 0 {
		t.Errorf("%d and %d notices; %q %q", x, y, one.log.kinds(), two.log.kinds())
	}
	if x, y := one.status(a), two.status(b); x != "open" || y != "open" {
		t.Errorf("they are %s and %s", x, y)
	}
}

// bounceOf is what a server writes about a mail that it could not deliver.
func bounceOf(n int, mail string) string {
	return "From: Mail Delivery System <mailer-daemon@mx.example.test>\nSubject: Undelivered Mail Returned to Sender\nMessage-ID: <" + fmt.Sprint(n) + ".bounce@mx.example.test>\n" +
		"MIME-Version: 1.0\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: text/plain\n\nIt could not be delivered.\n" +
		"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.test\n\nFinal-Recipient: rfc822; alice@example.test\nAction: failed\nStatus: 5.2.2\n\n" +
		"--b\nContent-Type: text/rfc822-headers\n\n" + mail + "\n--b--\n"
}

// A notice that comes back is answered by no notice, however often.
func TestBouncesOfNotices(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	q := s.asks("ask", 1, nil)[0]
	if err := s.hand("alice@example.test", letter(q, fromAlice, "What is it?"), q.token); err != nil {
		t.Fatal(err)
	}
	help := s.about("alice", q.id, 2)[1]
	verp := bare(help.Header.Get("Return-Path"))
	if verp == q.verp {
		t.Errorf("both mails have %s", verp)
	}
	for i := range 50 {
		if err := s.hand("", bounceOf(i, "Message-ID: "+help.Header.Get("Message-ID")), verp); err != nil {
			t.Fatal(err)
		}
	}
	for i, kind := range s.log.kinds()[1:] {
		if kind != "bounce_failed" {
			t.Errorf("bounce %d is %s", i, kind)
		}
	}
	if n := s.told(q.id); n != 1 {
		t.Errorf("%d notices, want the help", n)
	}
	if n := s.count(`SELECT count(*) FROM delivery WHERE kind = 'post' AND message_id = $1`, q.id); n != 2 {
		t.Errorf("the message goes to %d people, want 2", n)
	}
	if got := s.status(q.id); got != "open" {
		t.Errorf("it is %s", got)
	}
}

// automaticMails are signs of an automatic reply, headers and subjects, with
// texts that would answer the question.
func automaticMails() []string {
	headers := []string{
		"Auto-Submitted: auto-replied", "Auto-Submitted: auto-generated; owner=x", "AUTO-SUBMITTED: (comment) Auto-Replied",
		"X-Autoreply: yes", "X-Autorespond: 1", "X-Auto-Response-Suppress: All\nAuto-Submitted: auto-generated",
		"Precedence: auto_reply", "X-Precedence: auto-reply", "Delivered-To: Autoresponder", "X-Vacation: yes",
		"X-MS-Exchange-Inbox-Rules-Loop: alice@example.test", "X-Yahoo-AutoResponse: 1",
	}
	subjects := []string{
		"Automatic reply: ", "Out of Office: ", "Out of Office AutoReply: ", "Out of Office Re: ", "Automatische Antwort: ", "Abwesenheitsnotiz: ", "Réponse automatique : ",
		"Respuesta automática: ", "Risposta automatica: ", "Automatisch antwoord: ", "Resposta automática: ", "Autosvar: ", "Automatiskt svar: ",
		"Automaattinen vastaus: ", "Odpowiedź automatyczna: ", "Automatická odpověď: ", "Automatikus válasz: ", "Otomatik Yanıt: ",
		"Автоматический ответ: ", "Автоматична відповідь: ", "Αυτόματη απάντηση: ", "מענה אוטומטי: ", "رد تلقائي: ", "自動応答: ", "自动答复: ", "自動回覆: ", "자동 회신: ",
	}
	texts := []string{"1", "yes", "Ship to prod now", "hold", "I am away until 7 December. 2"}
	var out []string
	for i := range 500 {
		sign, subject := headers[i%len(headers)]+"\n", "Re: S"
		if i%2 == 1 { // the subject alone
			sign, subject = "", subjects[i/2%len(subjects)]+"S"
		}
		out = append(out, sign+"From: Alice Ng <alice@example.test>\nSubject: "+subject+"\nMessage-ID: <auto."+fmt.Sprint(i)+"@example.test>\nContent-Type: text/plain; charset=utf-8\n\n"+texts[i%len(texts)]+"\n")
	}
	return out
}

// A storm of automatic replies answers nothing and is not answered.
func TestStormOfAutomaticReplies(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	q := s.asks("ask", 1, nil)[0]
	mails := automaticMails()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; i < len(mails); i += 4 {
				raw := strings.Replace(mails[i], "S\nMessage-ID", q.subject+"\nMessage-ID", 1)
				if err := s.hand("alice@example.test", raw, q.token); err != nil {
					t.Errorf("mail %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	kinds := s.log.kinds()
	for _, kind := range kinds {
		if kind != "auto_reply" {
			t.Fatalf("one is %s:\n%s", kind, s.log.text())
		}
	}
	if len(kinds) != len(mails) || s.receipts() != len(mails) {
		t.Errorf("%d lines in the log and %d receipts for %d mails", len(kinds), s.receipts(), len(mails))
	}
	if got := s.told(q.id); got != 0 {
		t.Errorf("%d notices", got)
	}
	if n := s.count(`SELECT count(*) FROM delivery WHERE message_id = $1`, q.id); n != 2 {
		t.Errorf("%d deliveries, want those to alice and bob", n)
	}
	if got := s.status(q.id); got != "open" {
		t.Errorf("it is %s", got)
	}
}

// A reply to all, with others and a list in Cc, is one answer: the copy by the
// list changes nothing, and nobody but the people who were asked hears of it.
func TestReplyToAll(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	q := s.asks("ask", 1, nil)[0]
	header := "From: Alice Ng <alice@example.test>\r\nTo: " + q.token + "\r\nCc: bob@example.test, list@example.test, eve@example.test, " + q.bob + "\r\n" +
		"Message-ID: <all@phone.test>\r\nIn-Reply-To: " + q.ref + "\r\nSubject: Re: "
	to := []string{q.token, "bob@example.test", "list@example.test", "eve@example.test", q.bob}
	if err := smtp.SendMail(s.exim.Addr, nil, "alice@example.test", to, []byte(header+q.subject+"\r\n\r\nhold\r\n")); err != nil {
		t.Fatal(err)
	}
	if resolution, value, _ := s.response(q.id); resolution != "answered by human:alice" || value != "hold" {
		t.Errorf("got %s %q\n%s\n%s", resolution, value, s.log.text(), s.exim.Log())
	}
	copied := "Received: from list.test\nList-Id: <all.example.test>\nList-Post: <mailto:list@example.test>\nPrecedence: list\n" + header + "[all] " + q.subject + "\n\nship\n\n-- \nall mailing list\n"
	for _, rcpt := range []string{q.token, q.bob, "hub@example.test"} {
		if err := s.hand("list-bounces@example.test", copied, rcpt); err != nil {
			t.Errorf("by the list to %s: %v", rcpt, err)
		}
	}
	if _, value, _ := s.response(q.id); value != "hold" {
		t.Errorf("the answer is %q now", value)
	}
	if n := s.told(q.id); n > 1 {
		t.Errorf("%d notices", n)
	}
	if n := len(s.about("alice", q.id, 2)); n != 2 {
		t.Errorf("alice has %d mails of ours", n)
	}
	if n := len(s.about("bob", q.id, 2)); n != 2 {
		t.Errorf("bob has %d mails of ours", n)
	}
	for _, user := range []string{"list", "eve"} {
		if n := len(s.mails(user, 1)); n != 1 {
			t.Errorf("%s has %d mails, want alice's", user, n)
		}
	}
}
