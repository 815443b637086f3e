package inbound

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// holds fails when a verdict breaks a rule that holds for every mail.
func holds(t *testing.T, v *Verdict, from string) {
	t.Helper()
	kinds := []Kind{
		Answer, AnswerSuspect, NeedsClarification, Empty, Unreadable, LateAnswer, Expired, IdentityMismatch, RejectedAuth, Unmatched,
		Duplicate, Loop, AutoReply, Reaction, Calendar, ReadReceipt, DeliveryReceipt, BounceDelayed, BounceFailed,
	}
	switch {
	case !slices.Contains(kinds, v.Kind):
		t.Errorf("kind %q", v.Kind)
	case len(v.Reasons) == 0 || v.Key == "":
		t.Errorf("%s without a reason or key", v.Kind)
	case v.Proved && (v.Question == nil || !v.Question.has(from)):
		t.Errorf("proved, and From %q is nobody", from)
	case v.Records() && (!v.Proved || v.Kind != Answer):
		t.Errorf("%s records, proved %v", v.Kind, v.Proved)
	case v.Kind.FromPerson() && v.Question != nil && !v.Proved:
		t.Errorf("%s, and the person is not proved", v.Kind)
	case v.Kind == IdentityMismatch && v.Who != "":
		t.Errorf("somebody else's mail is %s's", v.Who)
	}
	said := append([]string{v.Text, v.Own, v.First, v.Note, v.Evidence.From, v.Evidence.Sender, v.Evidence.EnvelopeFrom, v.Evidence.MessageID, v.Evidence.DKIMDomain}, v.Reasons...)
	if b := v.Bounce; b != nil {
		said = append(said, b.Recipient, b.Status, b.Diagnostic)
	}
	for _, s := range said {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%q commands a screen, or is no UTF-8", s)
		}
	}
}

// FuzzParse takes anything for a mail.
func FuzzParse(f *testing.F) {
	f.Add(aliceReply().bytes())
	f.Add([]byte("From x\nFrom: a@a.test\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\nAction: failed\n\n\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550 5.1.1 x\n--b\nContent-Type: message/rfc822\n\nMessage-ID: <x@y>\n"))
	f.Add([]byte("Content-Type: multipart/alternative; boundary=\n\n--\nContent-Type: text/html; charset=utf-16\nContent-Transfer-Encoding: base64\n\n//4=\n----"))
	f.Add([]byte("Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\nMIAGCSqGSIb3DQEHAqCA"))
	f.Add([]byte("To: " + aliceToken + "\nFrom: alice@example.test\nContent-Type: text/plain; format=flowed; delsp=yes; charset=iso-2022-jp\n\n> > 1 \n\x1b$B"))
	f.Add([]byte("From: alice@example.test\nTo: " + aliceToken + "\nSender: \xff\x1b[31m\nMessage-ID: <\xff>\nReturn-Path: <\xc2\x9b2J@x>\nAuto-Submitted: \xff\x07\n\n\xc2\x9b2J\r1\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := Parse(raw)
		v, err := hubReader(Normal).Judge(t.Context(), m, Envelope{}, newWorld())
		if err != nil {
			t.Fatal(err)
		}
		holds(t, v, m.From())
	})
}

// FuzzJudge is a forger who knows an id of ours, but no token, and whose mail our
// server has seen fail. Whatever headers and body he adds, it is no answer of
// Alice's.
func FuzzJudge(f *testing.F) {
	f.Add("Authentication-Results: mx.hub.test; dmarc=pass header.from=example.test", "Approve")
	f.Add("Sender: alice@example.test\nResent-From: alice@example.test\nX: ", "Approve\n")
	f.Add(" folded; dmarc=pass header.from=example.test", "1")
	f.Add("Content-Type: multipart/mixed; boundary=b", "--b\nAuthentication-Results: mx.hub.test; dmarc=pass\nFrom: alice@example.test\n\nApprove\n--b--")
	f.Add("From: alice@example.test\nReturn-Path: <>\nAuto-Submitted: no", "2. Reject")
	f.Add("To: hub+@hub.test\nCc: HUB+QK7M2X4C9V1P8S3TDZ5@hub.test\nSubject: [Q-7F3K2M]", "3")
	f.Fuzz(func(t *testing.T, headers, body string) {
		if strings.Contains(strings.ToLower(headers), aliceToken) {
			return // then it is no guess
		}
		forged := aliceReply().noToken().results(fail).add(headers).says(body)
		for _, policy := range []Policy{Strict, Normal, Token} {
			m := Parse(forged.bytes())
			v, err := hubReader(policy).Judge(t.Context(), m, Envelope{}, newWorld())
			if err != nil {
				t.Fatal(err)
			}
			holds(t, v, m.From())
			if v.Records() || v.Proved {
				t.Errorf("%s under %s: %q\n%s", v.Kind, policy, v.Reasons, forged.bytes())
			}
		}
	})
}
