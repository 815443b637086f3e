package inbound

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"beckon/channels/reply"
	"beckon/hub"
)

const (
	pass    = "dkim=pass header.d=example.test; spf=pass smtp.mailfrom=example.test; dmarc=pass header.from=example.test"
	fail    = "dkim=none; spf=fail smtp.mailfrom=evil.test; dmarc=fail header.from=example.test"
	broken  = "dkim=fail (body hash did not verify) header.d=example.test; spf=fail smtp.mailfrom=list.test; dmarc=fail header.from=example.test"
	nothing = "none"
)

// Who may answer, by policy.
func TestIdentity(t *testing.T) {
	t.Parallel()
	alias := "From: alice.example@alias.test"
	aliasPass := "dmarc=pass header.from=alias.test"
	for _, tt := range []struct {
		name                  string
		mail                  letter
		strict, normal, token Kind
		who                   string // under normal; "" is nobody
	}{
		{"token, From and DMARC", aliceReply(), Answer, Answer, Answer, "alice"},
		{"token, From and aligned DKIM", aliceReply().results("dkim=pass header.d=mail.example.test"), Answer, Answer, Answer, "alice"},
		{"token, From and DKIM of somebody else", aliceReply().results("dkim=pass header.d=evil.test"), AnswerSuspect, Answer, Answer, "alice"},
		{"token and From, nothing checked", aliceReply().noAuth(), AnswerSuspect, Answer, Answer, "alice"},
		{"token and From, checked without result", aliceReply().results(nothing), AnswerSuspect, Answer, Answer, "alice"},
		{"token and From, DMARC failed", aliceReply().results(fail), RejectedAuth, RejectedAuth, Answer, "alice"},
		{"token and From, a signature broke on the way", aliceReply().results(broken), AnswerSuspect, AnswerSuspect, Answer, "alice"},
		{"token and From, forwarded", aliceReply().results(fail).add("X-Forwarded-To: hub@hub.test"), AnswerSuspect, AnswerSuspect, Answer, "alice"},
		{"token and From, a forwarder's envelope", aliceReply().results(fail).with("Return-Path: <SRS0=abc=xy=example.test=alice@forwarder.test>"), AnswerSuspect, AnswerSuspect, Answer, "alice"},
		{"token and From, a signature passes and DMARC fails", aliceReply().results("dkim=pass header.d=example.test; dmarc=fail"), AnswerSuspect, AnswerSuspect, Answer, "alice"},
		{"token and another From", aliceReply().with("From: mallory@evil.test").results("dmarc=pass header.from=evil.test"), IdentityMismatch, IdentityMismatch, IdentityMismatch, ""},
		{"token and another From, the display name lies", aliceReply().with(`From: "alice@example.test" <mallory@evil.test>`), IdentityMismatch, IdentityMismatch, IdentityMismatch, ""},
		{"token and another From with an address for a name", aliceReply().with("From: alice@example.test <mallory@evil.test>"), IdentityMismatch, IdentityMismatch, IdentityMismatch, ""},
		{"token and a colleague's From", aliceReply().with("From: bob@example.test"), IdentityMismatch, IdentityMismatch, IdentityMismatch, ""},
		{"token and From in another case", aliceReply().with("From: ALICE@EXAMPLE.TEST"), Answer, Answer, Answer, "alice"},
		{"token in another case", aliceReply().with("Delivered-To: "+strings.ToUpper(aliceToken), "To: "+strings.ToUpper(aliceToken)), Answer, Answer, Answer, "alice"},
		{"token and an alias on file", aliceReply().with(alias).results(aliasPass), Answer, Answer, Answer, "alice"},
		{"token and the same name at another domain", aliceReply().with("From: alice@example.test.evil.test"), IdentityMismatch, IdentityMismatch, IdentityMismatch, ""},
		{"no From", aliceReply().with("From:"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"two From fields", aliceReply().add("From: mallory@evil.test"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"two addresses in From", aliceReply().with("From: alice@example.test, mallory@evil.test"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"a From that can't be read", aliceReply().with("From: Alice"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"on behalf of", aliceReply().add("Sender: carol@example.test"), AnswerSuspect, Answer, Answer, "alice"},
		{"Sender is From", aliceReply().add("Sender: Alice <ALICE@example.test>"), Answer, Answer, Answer, "alice"},

		{"no token, In-Reply-To, From and DMARC", aliceReply().noToken(), AnswerSuspect, Answer, Answer, "alice"},
		{"no token, In-Reply-To, From and aligned DKIM", aliceReply().noToken().results("dkim=pass header.d=example.test"), AnswerSuspect, Answer, Answer, "alice"},
		{"no token, only SPF", aliceReply().noToken().results("spf=pass smtp.mailfrom=example.test"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"no token, nothing checked", aliceReply().noToken().noAuth(), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"no token, DMARC failed", aliceReply().noToken().results(fail), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"no token, another From that is proved", aliceReply().noToken().with("From: mallory@evil.test").results("dmarc=pass header.from=evil.test"), IdentityMismatch, IdentityMismatch, IdentityMismatch, ""},
		{"no token, the id of a relay", aliceReply().noToken().with("In-Reply-To: <0102018f-abcd@eu-west-1.amazonses.com>", "References:"), AnswerSuspect, Answer, Answer, "alice"},
		{"no token, our id among others", aliceReply().noToken().with("In-Reply-To: <x@y>", "References: <a@b> <"+aliceID+">, <x@y>"), AnswerSuspect, Answer, Answer, "alice"},
		{"sent to the envelope address", aliceReply().with("Delivered-To: "+aliceVERP, "To: "+aliceVERP, "In-Reply-To:", "References:"), AnswerSuspect, Answer, Answer, "alice"},
		{"sent to the envelope address, not proved", aliceReply().noAuth().with("Delivered-To: "+aliceVERP, "To: "+aliceVERP, "In-Reply-To:", "References:"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},

		{"only the subject, From and DMARC", aliceReply().noToken().with("In-Reply-To:", "References:"), AnswerSuspect, Answer, Answer, "alice"},
		{"only the subject, not proved", aliceReply().noToken().noAuth().with("In-Reply-To:", "References:"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"only the subject, another From", aliceReply().noToken().with("In-Reply-To:", "References:", "From: mallory@evil.test").results("dmarc=pass header.from=evil.test"), RejectedAuth, RejectedAuth, RejectedAuth, "alice"},
		{"only the subject, and a token that is none", aliceReply().with("Delivered-To: hub+q0000000000000000000@hub.test", "To: hub+q0000000000000000000@hub.test", "In-Reply-To:", "References:"), Unmatched, Unmatched, Unmatched, ""},
		{"only the subject, and a token that is forgotten", aliceReply().with("Delivered-To: hub@hub.test", "To: hub+qgone000000000000000@hub.test", "In-Reply-To:", "References:"), Expired, Expired, Expired, ""},
		{"our server's results are damaged", aliceReply().results("dmarc=pass (x"), AnswerSuspect, AnswerSuspect, Answer, "alice"},
		{"nothing but From", aliceReply().noToken().with("In-Reply-To:", "References:", "Subject: Approve"), Unmatched, Unmatched, Unmatched, ""},
		{"a guessed token", aliceReply().with("Delivered-To: hub+q0000000000000000000@hub.test", "To: hub+q0000000000000000000@hub.test", "In-Reply-To:", "References:", "Subject: Approve"), Unmatched, Unmatched, Unmatched, ""},
		{"a token at another domain", aliceReply().with("Delivered-To: hub@hub.test", "To: "+strings.Replace(aliceToken, "hub.test", "evil.test", 1), "In-Reply-To:", "References:", "Subject: Approve"), Unmatched, Unmatched, Unmatched, ""},
		{"a token of ours that is forgotten", aliceReply().with("Delivered-To: hub+qgone000000000000000@hub.test", "To: hub+qgone000000000000000@hub.test", "In-Reply-To:", "References:", "Subject: Approve"), Expired, Expired, Expired, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for policy, want := range map[Policy]Kind{Strict: tt.strict, Normal: tt.normal, "": tt.normal, Token: tt.token} {
				v, err := hubReader(policy).Judge(t.Context(), Parse(tt.mail.bytes()), Envelope{}, newWorld())
				if err != nil {
					t.Fatal(err)
				}
				if v.Kind != want {
					t.Errorf("policy %s: %s, want %s; reasons: %q", policy, v.Kind, want, v.Reasons)
				}
				if (policy == Normal) && v.Who != tt.who {
					t.Errorf("it is %q, want %q", v.Who, tt.who)
				}
				if v.Records() != (want == Answer) || v.Proved != (want == Answer) {
					t.Errorf("policy %s: records %v, proved %v", policy, v.Records(), v.Proved)
				}
				if want == Answer && (v.Reading.Option != 1 || v.Question.ID != "msg_1") {
					t.Errorf("option %d of %s", v.Reading.Option, v.Question.ID)
				}
			}
		})
	}
}

// What a server writes of others must not prove anything.
func TestForgedResults(t *testing.T) {
	t.Parallel()
	forged := aliceReply().noToken()
	for name, results := range map[string]string{
		"a quoted local part":           `spf=pass smtp.mailfrom="x; dmarc=pass header.from=example.test a"@evil.test; dkim=none; dmarc=fail header.from=example.test`,
		"a quoted local part, no DMARC": `spf=pass smtp.mailfrom="x; dmarc=pass header.from=example.test"@evil.test`,
		"a comment":                     `spf=pass (x; dmarc=pass header.from=example.test) smtp.mailfrom=evil.test; dmarc=fail`,
		"an open comment":               `dmarc=pass header.from=example.test; spf=pass smtp.mailfrom=x(@evil.test; dmarc=fail`,
		"an encoded word":               `spf=pass smtp.mailfrom==?utf-8?q?x;_dmarc=3Dpass?=@evil.test; dmarc=fail`,
		"DMARC of another domain":       `dmarc=pass header.from=evil.test`,
		"a bare carriage return":        "spf=pass smtp.mailfrom=x\r dmarc=pass header.from=example.test",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mail := range []letter{
				forged.results(results),
				forged.results(results).add("Authentication-Results: " + authserv + "; " + pass), // below
			} {
				v, err := hubReader(Normal).Judge(t.Context(), Parse(mail.bytes()), Envelope{}, newWorld())
				if err != nil {
					t.Fatal(err)
				}
				if v.Records() || v.Kind != RejectedAuth {
					t.Errorf("%s, %+v", v.Kind, v.Evidence)
				}
			}
		})
	}
	for name, header := range map[string]string{
		"another server":                  "Authentication-Results: mx.evil.test; " + pass,
		"our name as somebody's version":  "Authentication-Results: evil.test " + authserv + "; " + pass,
		"our name with a tail":            "Authentication-Results: " + authserv + ".evil.test; " + pass,
		"our name in a comment":           "Authentication-Results: (" + authserv + ";) evil.test; " + pass,
		"no name":                         "Authentication-Results: " + pass,
		"an encoded name":                 "Authentication-Results: =?utf-8?q?mx.hub.test?=; " + pass,
		"a field of almost that name":     "X-Authentication-Results: " + authserv + "; " + pass,
		"another server's original":       "ARC-Authentication-Results: i=1; " + authserv + "; " + pass,
		"a line in the middle of another": "X: y\rAuthentication-Results: " + authserv + "; " + pass,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := hubReader(Normal).Judge(t.Context(), Parse(forged.with("Authentication-Results:").add(header).bytes()), Envelope{}, newWorld())
			if err != nil {
				t.Fatal(err)
			}
			if v.Records() || v.Kind != RejectedAuth {
				t.Errorf("%s, %+v", v.Kind, v.Evidence)
			}
		})
	}
}

// Where a token may stand.
func TestWhereTokensAre(t *testing.T) {
	t.Parallel()
	bare := aliceReply().with("Delivered-To:", "To:", "In-Reply-To:", "References:", "Subject: x")
	for name, tt := range map[string]struct {
		mail letter
		env  Envelope
	}{
		"To":                {bare.add("To: Hub <" + aliceToken + ">"), Envelope{}},
		"To, among others":  {bare.add("To: bob@example.test, Hub <" + aliceToken + ">,\n carol@example.test"), Envelope{}},
		"To, twice":         {bare.add("To: hub@hub.test", "To: "+aliceToken), Envelope{}},
		"Cc":                {bare.add("To: bob@example.test", "Cc: "+aliceToken), Envelope{}},
		"Delivered-To":      {bare.add("Delivered-To: " + aliceToken), Envelope{}},
		"Delivered-To, 2nd": {bare.add("Delivered-To: hub@hub.test", "Delivered-To: "+aliceToken), Envelope{}},
		"X-Original-To":     {bare.add("X-Original-To: " + aliceToken), Envelope{}},
		"Envelope-To":       {bare.add("Envelope-To: " + aliceToken), Envelope{}},
		"X-Envelope-To":     {bare.add("X-Envelope-To: <" + aliceToken + ">"), Envelope{}},
		"X-Forwarded-To":    {bare.add("X-Forwarded-To: " + aliceToken), Envelope{}},
		"the envelope":      {bare.add("To: hub@hub.test"), Envelope{Known: true, From: "alice@example.test", To: []string{aliceToken}}},
		"damaged":           {bare.add("To: \"Hub <" + aliceToken), Envelope{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := hubReader(Normal).Judge(t.Context(), Parse(tt.mail.bytes()), tt.env, newWorld())
			if err != nil {
				t.Fatal(err)
			}
			if v.Kind != Answer || v.Evidence.MatchedBy != ViaToken || v.Reading.Option != 1 {
				t.Errorf("%s by %q, option %d; %q", v.Kind, v.Evidence.MatchedBy, v.Reading.Option, v.Reasons)
			}
		})
	}
}

// A reply to all holds the tokens of others as well.
func TestReplyAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, to string
		kind           Kind
		who, question  string
	}{
		{"both tokens, Alice", "alice@example.test", bobToken + ", " + aliceToken, Answer, "alice", "msg_1"},
		{"both tokens, Bob", "bob@example.test", aliceToken + ", " + bobToken, Answer, "bob", "msg_1"},
		{"Alice's token, Bob", "bob@example.test", aliceToken, IdentityMismatch, "", "msg_1"},
		{"both tokens, a stranger", "mallory@evil.test", aliceToken + ", " + bobToken, IdentityMismatch, "", "msg_1"},
		{"tokens of two questions", "alice@example.test", aliceToken + ", " + otherToken, AnswerSuspect, "alice", "msg_1"},
		{"tokens of two questions, one of them Bob's", "bob@example.test", bobToken + ", " + otherToken, Answer, "bob", "msg_1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mail := aliceReply().with("From: "+tt.from, "To: "+tt.to, "Delivered-To: hub@hub.test", "In-Reply-To:", "References:").noAuth()
			v, err := hubReader(Normal).Judge(t.Context(), Parse(mail.bytes()), Envelope{}, newWorld())
			if err != nil {
				t.Fatal(err)
			}
			if v.Kind != tt.kind || v.Who != tt.who || v.Question.ID != tt.question {
				t.Errorf("%s, %q, %s; want %s, %q, %s; %q", v.Kind, v.Who, v.Question.ID, tt.kind, tt.who, tt.question, v.Reasons)
			}
		})
	}
}

// Mail of our own, of programs, and about nothing of ours.
func TestKinds(t *testing.T) {
	t.Parallel()
	null := func(l letter) letter { return l.with("Return-Path: <>") }
	report := func(action, status, more string) letter {
		l := null(aliceReply().with("From: MAILER-DAEMON@mx.test", "To: "+aliceVERP, "Delivered-To: "+aliceVERP, "In-Reply-To:", "References:", "Subject: Delivery Status Notification", "Auto-Submitted: auto-replied").noAuth())
		return l.with("Content-Type: multipart/report; report-type=delivery-status; boundary=b").says("--b\n\nIt is as follows.\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\nFinal-Recipient: rfc822; alice@example.test\nAction: " + action + "\nStatus: " + status + "\n" + more + "\n--b\nContent-Type: text/rfc822-headers\n\nMessage-ID: <" + aliceID + ">\nSubject: 1. Approve\n--b--\n")
	}
	words := func(subject, text string) letter {
		return null(aliceReply().with("From: MAILER-DAEMON@mx.test", "To: "+aliceVERP, "Delivered-To: "+aliceVERP, "In-Reply-To:", "References:", "Subject: "+subject).noAuth()).says(text)
	}
	alternative := func(parts string) letter {
		return aliceReply().with("Content-Type: multipart/alternative; boundary=b").says("--b\n" + strings.ReplaceAll(parts, "--\n", "--b\n") + "\n--b--\n")
	}
	for _, tt := range []struct {
		name string
		mail letter
		kind Kind
		note string // "-": whatever
	}{
		{"our own address", aliceReply().with("From: hub@hub.test"), Loop, ""},
		{"our own address with a token", aliceReply().with("From: " + bobToken), Loop, ""},
		{"our address as the Sender", aliceReply().add("Sender: hub@hub.test"), Loop, ""},
		{"the mark of this hub", aliceReply().add(InstanceHeader + ": HUB-1"), Loop, ""},
		{"the mark of another hub", aliceReply().add(InstanceHeader + ": hub-2"), Answer, ""},
		{"the id of a mail of ours", aliceReply().with("Message-ID: <" + aliceID + ">"), Loop, ""},

		{"failed", report("failed", "5.1.1", ""), BounceFailed, "no such address"},
		{"failed, in capitals", report("FAILED", "5.2.2", ""), BounceFailed, "mailbox full"},
		{"failed after days", report("failed", "4.4.7", ""), BounceFailed, "the mail server gave up after trying for a while"},
		{"failed by policy", report("failed", "5.7.1", ""), BounceFailed, "refused by the other side's policy"},
		{"exim: the truth is in the diagnostic", report("failed", "5.0.0", "Diagnostic-Code: smtp; 550 5.1.1 <alice@example.test> User doesn't exist"), BounceFailed, "no such address"},
		{"failed, with a comment", report("failed (oh no)", "5.1.1 (bad)", ""), BounceFailed, "no such address"},
		{"delayed", report("delayed", "4.4.1", ""), BounceDelayed, "not delivered yet; the mail server is still trying"},
		{"delayed, as if it were final", report("delayed", "5.4.1", ""), BounceDelayed, "-"},
		{"delivered", report("delivered", "2.0.0", ""), DeliveryReceipt, ""},
		{"relayed", report("relayed", "2.0.0", ""), DeliveryReceipt, ""},
		{"expanded", report("expanded", "2.0.0", ""), DeliveryReceipt, ""},
		{"no action", report("", "5.1.1", ""), BounceFailed, "no such address"},
		{"an action of its own making", report("bounced", "4.2.2", ""), BounceDelayed, "-"},
		{"two recipients, ours failed", report("delivered", "2.0.0", "\nFinal-Recipient: rfc822; alice@example.test\nAction: failed\nStatus: 5.1.1\n"), BounceFailed, "no such address"},
		{"two recipients, another failed", report("delivered", "2.0.0", "\nFinal-Recipient: rfc822; bob@b.test\nAction: failed\nStatus: 5.1.1\n"), DeliveryReceipt, ""},
		{"two unknown recipients, one failed", report("delivered", "2.0.0", "\nFinal-Recipient: rfc822; carol@b.test\nAction: failed\nStatus: 5.1.1\n").with("Delivered-To: hub@hub.test", "To: hub@hub.test"), DeliveryReceipt, ""},

		{"qmail", words("failure notice", "Hi. This is the qmail-send program at mail.test.\nI'm afraid I wasn't able to deliver your message.\nThis is a permanent error; I've given up.\n\n<alice@example.test>:\nThis address no longer accepts mail.\n\n--- Below this line is a copy of the message.\n\n1. Approve\n"), BounceFailed, "-"},
		{"exim's warning", words("Warning: message 1abc delayed 24 hours", "This message was created automatically by mail delivery software.\nA message that you sent has not yet been delivered to one or more of its recipients after more than 24 hours on the queue.\nNo action is required on your part. Delivery attempts will continue for some time.\n"), BounceDelayed, "-"},
		{"a server's words that say nothing", words("Mail", "x"), BounceFailed, "-"},
		{"a server without an address", words("Returned mail", "User unknown").with("From: MAILER-DAEMON <>"), BounceFailed, "-"},
		{"exim's header", words("x", "y").with("From: bob@b.test", "Return-Path: <bob@b.test>", "Delivered-To: "+aliceToken).add("X-Failed-Recipients: alice@example.test"), BounceFailed, "-"},
		{"an absence that went to the envelope address", null(aliceReply().with("To: "+aliceVERP, "Delivered-To: "+aliceVERP)).says("I am away until 7 December. Mails could not be delivered to my brain."), AutoReply, "I am away until 7 December."},
		{"an absence from a system address, to the envelope address", null(aliceReply().with("From: vacation@example.test", "To: "+aliceVERP, "Delivered-To: "+aliceVERP, "Subject: Out of office: Alice")).says("Back on Monday."), AutoReply, "Back on Monday."},

		{"a read receipt", null(aliceReply().with("Content-Type: multipart/report; report-type=disposition-notification; boundary=b")).says("--b\n\nYour mail was read.\n--b\nContent-Type: message/disposition-notification\n\nOriginal-Message-ID: <" + aliceID + ">\nDisposition: manual-action/MDN-sent-manually; displayed\n--b--\n"), ReadReceipt, ""},
		{"an answer to an invitation", alternative("\nAlice has accepted.\n--\nContent-Type: text/calendar; method=REPLY\n\nBEGIN:VCALENDAR\nMETHOD:REPLY\nEND:VCALENDAR"), Calendar, ""},
		{"an invitation", alternative("\nJoin us\n--\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR"), Calendar, ""},
		{"a calendar's subject", aliceReply().with("Subject: Accepted: [" + aliceTag + "] Ship web-app 2.3?").says("Alice has accepted this event."), Calendar, ""},
		{"an answer under a calendar's subject", aliceReply().with("Subject: Accepted: [" + aliceTag + "] Ship web-app 2.3?"), Answer, ""},
		{"Gmail's reaction", alternative("\n👍 Alice reacted via Gmail\n--\nContent-Type: text/vnd.google.email-reaction+json\n\n{\"version\": 1, \"emoji\": \"👍\"}\n--\nContent-Type: text/html\n\n<div>👍</div>"), Reaction, ""},
		{"a reaction of RFC 9078", aliceReply().with("Content-Disposition: reaction", "Content-Type: text/plain; charset=utf-8").says("👍\n"), Reaction, ""},
		{"a reaction of RFC 9078 with a text", aliceReply().with("Content-Type: multipart/mixed; boundary=b").says("--b\nContent-Disposition: reaction\n\n👍\n--b\n\nReject\n--b--\n"), Answer, ""},
		{"Outlook's reaction", aliceReply().says("Alice Example reacted to your message:\n\n👍\n"), Reaction, ""},
		{"Outlook's reaction above our mail", aliceReply().says("Alice Example reacted to your message:\n\nShip web-app 2.3?\n\n1. Approve\n"), Reaction, ""},
		{"Outlook's reaction in German", aliceReply().with("Content-Type: text/plain; charset=utf-8").says("Alice Example hat auf Ihre Nachricht reagiert:\n"), Reaction, ""},

		{"Auto-Submitted", aliceReply().add("Auto-Submitted: auto-replied (vacation)").says("Approve"), AutoReply, "-"},
		{"Auto-Submitted with a parameter", aliceReply().add("Auto-Submitted: Auto-Generated; owner=x"), AutoReply, "-"},
		{"Auto-Submitted with a comment in front", aliceReply().add("Auto-Submitted: (x) auto-replied"), AutoReply, "-"},
		{"Auto-Submitted: no", aliceReply().add("Auto-Submitted: no"), Answer, ""},
		{"Auto-Submitted: No, really", aliceReply().add("Auto-Submitted: No (a person)"), Answer, ""},
		{"the null sender", null(aliceReply()), AutoReply, "-"},
		{"X-Autoreply", aliceReply().add("X-Autoreply: yes"), AutoReply, "-"},
		{"X-Autoreply: no", aliceReply().add("X-Autoreply: no"), Answer, ""},
		{"Precedence: auto_reply", aliceReply().add("Precedence: auto_reply"), AutoReply, "-"},
		{"Precedence: bulk", aliceReply().add("Precedence: bulk"), Answer, ""},
		{"Precedence: list, from a list", aliceReply().add("Precedence: list", "List-Id: <team.example.test>"), Answer, ""},
		{"X-Auto-Response-Suppress is no sign", aliceReply().add("X-Auto-Response-Suppress: All"), Answer, ""},
		{"Exchange's rule", aliceReply().add("X-MS-Exchange-Inbox-Rules-Loop: alice@example.test"), AutoReply, "-"},
		{"a subject in English", aliceReply().with("Subject: Automatic reply: [" + aliceTag + "] Ship web-app 2.3?").says("I am out of the office until 7 Dec. Approve"), AutoReply, "I am out of the office until 7 Dec."},
		{"a subject in Japanese", aliceReply().with("Subject: =?utf-8?B?6Ieq5YuV5b+c562UOiBbUS03RjNLMk1d?="), AutoReply, "-"},
		{"a subject after Re:", aliceReply().with("Subject: Re: Abwesenheitsnotiz: [" + aliceTag + "]"), AutoReply, "-"},
		{"a subject that only begins like one", aliceReply().with("Subject: Absent friends"), Answer, ""},
		{"a robot of another address", aliceReply().with("From: no-reply@example.test").noAuth(), AutoReply, "-"},
		{"a spam complaint", aliceReply().with("From: fbl@isp.test", "Content-Type: multipart/report; report-type=feedback-report; boundary=b").says("--b\n\nx\n--b--\n"), AutoReply, "-"},

		{"spam", aliceReply().noToken().with("From: Deals <promo@spam.test>", "In-Reply-To:", "References:", "Subject: 1. Approve your prize").noAuth(), Unmatched, ""},
		{"spam from a robot", aliceReply().noToken().with("From: no-reply@spam.test", "In-Reply-To:", "References:", "Subject: Out of office: prize").add("Precedence: junk").noAuth(), Unmatched, ""},
		{"not a mail at all", letter{nil, "\x00\x01\x02"}, Unmatched, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := hubReader(Normal).Judge(t.Context(), Parse(tt.mail.bytes()), Envelope{}, newWorld())
			if err != nil {
				t.Fatal(err)
			}
			if v.Kind != tt.kind || tt.note != "-" && v.Note != tt.note || tt.note == "-" && v.Note == "" {
				t.Errorf("%s, note %q; want %s, %q; reasons: %q; bounce: %+v", v.Kind, v.Note, tt.kind, tt.note, v.Reasons, v.Bounce)
			}
			if v.Records() != (tt.kind == Answer) {
				t.Errorf("%s records: %v", v.Kind, v.Records())
			}
			if len(v.Reasons) == 0 || v.Key == "" {
				t.Errorf("reasons %q, key %q", v.Reasons, v.Key)
			}
		})
	}
}

// A mail that comes again is a duplicate, and nobody can use up the key of a mail
// of somebody else.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld()
	judge := func(l letter) *Verdict {
		t.Helper()
		v, err := hubReader(Normal).Judge(t.Context(), Parse(l.bytes()), Envelope{}, w)
		if err != nil {
			t.Fatal(err)
		}
		w.seen[v.Key] = true
		return v
	}
	steps := []struct {
		name string
		mail letter
		want Kind
	}{
		{"a forgery with the id of the reply to come", aliceReply().noToken().results(fail), RejectedAuth},
		{"a forgery by a stranger", aliceReply().with("From: mallory@evil.test"), IdentityMismatch},
		{"the reply", aliceReply(), Answer},
		{"the same again", aliceReply(), Duplicate},
		{"the copy that came by the other address", aliceReply().with("Delivered-To: hub@hub.test"), Duplicate},
		{"the copy that a list changed", aliceReply().says("Approve\n\n_____\nlist footer\n"), Duplicate},
		{"the forgery again", aliceReply().noToken().results(fail), Duplicate},
		{"the forgery in other words", aliceReply().noToken().results(fail).says("Reject"), RejectedAuth},
		{"another reply", aliceReply().with("Message-ID: <2@mail.example.test>"), Answer},
		{"a reply without an id", aliceReply().with("Message-ID:"), Answer},
		{"the same again", aliceReply().with("Message-ID:"), Duplicate},
		{"another reply without an id", aliceReply().with("Message-ID:").says("Reject"), Answer},
		{"the same id to another question", aliceReply().with("To: "+otherToken, "Delivered-To: "+otherToken), Answer},
	}
	for _, s := range steps {
		v := judge(s.mail)
		if v.Kind != s.want {
			t.Errorf("%s: %s, want %s; %q", s.name, v.Kind, s.want, v.Reasons)
		}
		if v.Kind == Duplicate && (v.Records() || v.Text != "") {
			t.Errorf("%s: a duplicate records or says %q", s.name, v.Text)
		}
	}
}

// Where the server says nothing, a signature proves the sender.
func TestOwnDKIM(t *testing.T) {
	t.Parallel()
	r := hubReader(Normal)
	r.LookupTXT = func(context.Context, string) ([]string, error) {
		return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	}
	signed := aliceReply().noToken().noAuth().add("DKIM-Signature: v=1; a=rsa-sha256; d=example.test; s=s; h=From; bh=AA==; b=AA==")
	v, err := r.Judge(t.Context(), Parse(signed.bytes()), Envelope{}, newWorld())
	if err != nil {
		t.Fatal(err)
	}
	if v.Kind != RejectedAuth || !v.Again || v.Evidence.AuthServ != "own" || v.Evidence.DKIM != "temperror" {
		t.Errorf("DNS is down: %s, again %v, %+v", v.Kind, v.Again, v.Evidence)
	}
}

// An error of the finder's decides nothing.
func TestFinderFails(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.err = errors.New("the database is locked")
	v, err := hubReader(Normal).Judge(t.Context(), Parse(aliceReply().bytes()), Envelope{}, w)
	if v != nil || !errors.Is(err, w.err) {
		t.Errorf("%v, %v", v, err)
	}
}

// A mail to a thousand addresses of ours makes us look up few of them.
func TestLooksUpLittle(t *testing.T) {
	t.Parallel()
	w := newWorld()
	many := strings.Repeat("hub+x@hub.test, ", 10)
	for i := range 1000 {
		many += "hub+" + strings.Repeat("a", i%50) + string(rune('a'+i%26)) + "@hub.test,\n <" + strings.Repeat("b", i%60) + "@x.test> "
	}
	mail := aliceReply().add("Cc: "+many, "References: "+many).with("Subject: " + strings.Repeat("[Q-AAAA] [Q-BBBB] ", 100))
	if _, err := hubReader(Normal).Judge(t.Context(), Parse(mail.bytes()), Envelope{}, w); err != nil {
		t.Fatal(err)
	}
	if w.asked > 3*maxLookups {
		t.Errorf("looked up %d times", w.asked)
	}
}

// Evidence is whole, and holds nothing that the mail did not prove.
func TestEvidence(t *testing.T) {
	t.Parallel()
	v, err := hubReader(Normal).Judge(t.Context(), Parse(aliceReply().add("Sender: carol@example.test").bytes()), Envelope{}, newWorld())
	if err != nil {
		t.Fatal(err)
	}
	want := Evidence{
		From: "alice@example.test", Sender: "carol@example.test", EnvelopeFrom: "alice@example.test", MessageID: "1@mail.example.test",
		MatchedBy: ViaToken, Policy: Normal, AuthServ: authserv, DMARC: "pass", DKIM: "pass", DKIMDomain: "example.test", SPF: "pass",
	}
	if v.Evidence != want {
		t.Errorf("%+v, want %+v", v.Evidence, want)
	}
	if v.Reading.Why != "" || v.Reading.Verb != hub.VerbAnswer {
		t.Errorf("%+v", v.Reading)
	}
	if (reply.Reading{}).Why != "" {
		t.Error("a reading that was never made would be clear")
	}
}
