package inbound

import (
	"strings"
	"testing"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// What the person wrote, and what it is then.
func TestTexts(t *testing.T) {
	t.Parallel()
	mime := func(l letter, typ, body string) letter { return l.with("Content-Type: " + typ).says(body) }
	both := func(plain, html string) letter {
		return mime(aliceReply(), "multipart/alternative; boundary=b", "--b\nContent-Type: text/plain; charset=utf-8\n\n"+plain+"\n--b\nContent-Type: text/html; charset=utf-8\n\n"+html+"\n--b--\n")
	}
	utf8 := func(body string) letter { return mime(aliceReply(), "text/plain; charset=utf-8", body) }
	for _, tt := range []struct {
		name   string
		mail   letter
		kind   Kind
		option int
	}{
		{"the first line", utf8("2\n"), Answer, 2},
		{"a comment below", utf8("Reject\n\nThe migration is not done.\n"), Answer, 2},
		{"free text", utf8("Please wait until Monday.\n"), Answer, 0},
		{"yes, of three choices", utf8("Yes\n"), Answer, 0},
		{"a question back", utf8("What does the migration do?\n"), Answer, 0},
		{"a negation", utf8("Do not approve this.\n"), NeedsClarification, 0},
		{"a condition", utf8("Approve, but only after the tests pass\n"), NeedsClarification, 0},
		{"two choices", utf8("1 or 2\n"), NeedsClarification, 0},
		{"two choices, with words", utf8("1 or 2, whatever you like best\n"), NeedsClarification, 0},
		{"a number in words", utf8("Option two please\n"), NeedsClarification, 0},
		{"a number that counts", utf8("Wait for the other two teams, and for 3 more days at that\n"), Answer, 0},
		{"a question with a choice", utf8("approve or reject?\n"), NeedsClarification, 0},
		{"a number that no choice has", utf8("4\n"), NeedsClarification, 0},
		{"a choice with an ending", utf8("Approved by me\n"), NeedsClarification, 0},
		{"an emoji", utf8("👍\n"), NeedsClarification, 0},
		{"signs", utf8("??\n"), NeedsClarification, 0},
		{"nothing", utf8("\n\n"), Empty, 0},
		{"a signature", utf8("Sent from my iPhone\n"), Empty, 0},
		{"our own text", utf8("> " + strings.ReplaceAll(sentText, "\n", "\n> ") + "\n"), Empty, 0},
		{"another subject, no choice", utf8("Hi, where do I find invoice 88?\n").with("Subject: Invoice question"), AnswerSuspect, 0},
		{"another subject, a choice", utf8("Reject\n").with("Subject: my answer"), Answer, 2},
		{"another subject, a choice within", utf8("I would not approve that\n").with("Subject: my answer"), NeedsClarification, 0},
		{"no subject", utf8("See you\n").with("Subject:"), Answer, 0},

		{"both forms", both("Reject", "<p>Reject</p>"), Answer, 2},
		{"HTML alone", mime(aliceReply(), "text/html; charset=utf-8", "<div>Reject</div>\n"), Answer, 2},
		{"empty text, HTML", both("", "<p>Reject</p>"), Answer, 2},
		{"two forms that say different things", both("Approve", "<p>Reject</p>"), NeedsClarification, 0},
		{"an attachment", mime(aliceReply(), "multipart/mixed; boundary=b", "--b\n\nReject\n--b\nContent-Type: text/plain; name=a.txt\nContent-Disposition: attachment\n\nApprove\n--b--\n"), Answer, 2},
		{"only attachments", mime(aliceReply(), "multipart/mixed; boundary=b", "--b\nContent-Type: audio/mpeg; name=voice.mp3\n\nx\n--b--\n"), Unreadable, 0},
		{"winmail.dat alone", mime(aliceReply(), "multipart/mixed; boundary=b", "--b\nContent-Type: application/ms-tnef; name=winmail.dat\n\nx\n--b--\n"), Unreadable, 0},
		{"winmail.dat by its name", mime(aliceReply(), "application/octet-stream; name=\"WINMAIL.DAT\"", "x"), Unreadable, 0},
		{"winmail.dat and a text", mime(aliceReply(), "multipart/mixed; boundary=b", "--b\n\nReject\n--b\nContent-Type: application/ms-tnef; name=winmail.dat\n\nx\n--b--\n"), Answer, 2},
		{"encrypted with PGP", mime(aliceReply(), "multipart/encrypted; protocol=\"application/pgp-encrypted\"; boundary=b", "--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\nContent-Type: application/octet-stream\n\n-----BEGIN PGP MESSAGE-----\n--b--\n"), Unreadable, 0},
		{"encrypted with PGP, inline", utf8("-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n"), Unreadable, 0},
		{"encrypted with S/MIME", mime(aliceReply(), "application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", "x"), Unreadable, 0},
		{"signed with PGP, inline", utf8("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nReject\n-----BEGIN PGP SIGNATURE-----\n\nxx\n-----END PGP SIGNATURE-----\n"), Answer, 2},
		{"signed with PGP/MIME", mime(aliceReply(), "multipart/signed; boundary=b", "--b\n\nReject\n--b\nContent-Type: application/pgp-signature\n\nx\n--b--\n"), Answer, 2},
		{"Latin-1", mime(aliceReply(), "text/plain; charset=iso-8859-1", "Nicht f\xfcr mich\n"), Answer, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := hubReader(Normal).Judge(t.Context(), Parse(tt.mail.bytes()), Envelope{}, newWorld())
			if err != nil {
				t.Fatal(err)
			}
			option := 0
			if v.Reading.Clear() {
				option = v.Reading.Option
			}
			if v.Kind != tt.kind || option != tt.option || v.Records() != (option > 0) {
				t.Errorf("%s, option %d, records %v; want %s, %d; text %q, reasons %q", v.Kind, option, v.Records(), tt.kind, tt.option, v.Text, v.Reasons)
			}
		})
	}
}

// A question that is no longer open changes for nobody.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Question)
		mail   letter
		kind   Kind
		text   string
	}{
		{"answered", func(q *Question) { q.State = Resolved }, aliceReply().says("Reject"), LateAnswer, "Reject"},
		{"over", func(q *Question) { q.State = Over }, aliceReply(), Expired, ""},
		{"kept no longer", func(q *Question) { q.Card = nil }, aliceReply(), Expired, ""},
		{"answered, and the sender is somebody else", func(q *Question) { q.State = Resolved }, aliceReply().with("From: mallory@evil.test"), IdentityMismatch, "Approve"},
		{"answered, and a program writes", func(q *Question) { q.State = Resolved }, aliceReply().add("Auto-Submitted: auto-replied"), AutoReply, ""},
		{"over, and nobody proved anything", func(q *Question) { q.State = Over }, aliceReply().noToken().noAuth(), RejectedAuth, ""},
		{"sensitive", func(q *Question) { q.Sensitive = true; q.Card.Hidden = true }, aliceReply().says("my password is x"), Answer, ""},
		{"a sensitive field", func(q *Question) { q.Card.PageOnly = true }, aliceReply().says("my password is x"), Answer, ""},
		{"wants no answer", func(q *Question) { q.Card.Type = ma2h.Notify }, aliceReply().says("Thanks"), Answer, "Thanks"},
		{"takes any text", func(q *Question) { openText(q.Card) }, aliceReply().says("Because of the tests"), Answer, "Because of the tests"},
		{"takes any text, and the subject is another", func(q *Question) { openText(q.Card) }, aliceReply().with("Subject: Lunch").says("Where do we go?"), AnswerSuspect, "Where do we go?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			for _, q := range w.questions() {
				tt.change(q)
			}
			v, err := hubReader(Normal).Judge(t.Context(), Parse(tt.mail.bytes()), Envelope{}, w)
			if err != nil {
				t.Fatal(err)
			}
			if v.Kind != tt.kind || v.Text != tt.text || v.Own != tt.text {
				t.Errorf("%s, text %q, own %q; want %s, %q; %q", v.Kind, v.Text, v.Own, tt.kind, tt.text, v.Reasons)
			}
			if v.Records() != (tt.name == "takes any text") {
				t.Errorf("records: %v", v.Records())
			}
			for _, r := range v.Reasons {
				if strings.Contains(r, "password") {
					t.Errorf("a reason holds the text: %q", r)
				}
			}
		})
	}
}

func openText(c *hub.Card) {
	c.Mode, c.Options = ma2h.Input, nil
	c.Fields = []hub.Field{{Name: "why", Title: "Why", Type: hub.FieldString}}
}
