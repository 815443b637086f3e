package extract

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

const ask = "Deploy build 4711 to production?\n\n1. Approve\n2. Reject\n3. Defer\n\nReply with the number or the word."

// marked is the ask as a quote.
func marked(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") }

const wrote = "On Mon, Nov 30, 2026 at 1:00 PM Hub <hub@hub.example.test> wrote:"

// Where people write, and what they leave of the mail that they answer.
func TestPlaces(t *testing.T) {
	t.Parallel()
	quote := marked(ask)
	for _, tc := range []struct{ name, body, text, own string }{
		{"above", "Approve\n\n" + wrote + "\n\n" + quote, "Approve", "Approve"},
		{"below", wrote + "\n" + quote + "\n\nApprove\n\n-- \nAlice", "Approve", "Approve"},
		{"below, no blank line", wrote + "\n" + quote + "\nApprove", "Approve", "Approve"},
		{"below, and a quote at the end", wrote + "\n" + quote + "\n\nApprove\n\n> more\n> of it", "Approve", "Approve"},
		{"nothing", wrote + "\n\n" + quote, "", ""},
		{"nothing, and a signature", "-- \nAlice\n\n" + wrote + "\n" + quote, "", ""},
		{"nothing at all", "", "", ""},
		{"white space", " \n\t\n\u00a0\u200b\n", "", ""},
		{
			"between", wrote + "\n\n> First?\n\nYes.\n\n> Second?\n\nNo.\n\n> Third?\n",
			wrote + "\n\n> First?\n\nYes.\n\n> Second?\n\nNo.", "Yes.\n\n\nNo.",
		},
		{
			"between, tight", wrote + "\n> First?\nYes.\n> Second?\nNo.\n",
			wrote + "\n> First?\nYes.\n> Second?\nNo.", "Yes.\nNo.",
		},
		{
			"above and between", "See below.\n\n" + wrote + "\n> First?\n\nYes.\n\n> Second?\n",
			"See below.\n\n> First?\n\nYes.", "See below.\n\n\nYes.",
		},
		{"above, and a sign-off below", "Approve\n\n" + wrote + "\n" + quote + "\n\nRegards, Roman", "Approve\n\nRegards, Roman", "Approve\n\nRegards, Roman"},
		{"own quote at the end", "I mean this one:\n\n> hold it", "I mean this one:\n\n> hold it", "I mean this one:"},
		{"own quote in the middle", "As you said:\n\n> hold it\n\nSo hold it.", "As you said:\n\n> hold it\n\nSo hold it.", "As you said:\n\n\nSo hold it."},
		{"own quote above the mail", "As you said:\n> hold it\nSo hold it.\n\n" + wrote + "\n" + quote, "As you said:\n> hold it\nSo hold it.", "As you said:\nSo hold it."},
		{"own quote at the beginning", "> hold it\n\nYes.", "> hold it\n\nYes.", "Yes."},
		{"quote of a program without a line above", "Approve\n\n> Hello,\n>\n> Deploy it?\n> 1. Approve\n>\n> Hub", "Approve", "Approve"},
		{"torn quote", "Yes.\n\n" + wrote + "\n> This is a line of the quote that was too long for the program that sent\nit on\n> and this is the next.", "Yes.", "Yes."},
		{"torn link", "Yes.\n\n" + wrote + "\n> See (https://example.test/a/b\n?c=3dd518)\n> and this.", "Yes.", "Yes."},
		{"iOS", "1.\n\nSent from my iPhone\n\n> On Nov 30, 2026, at 1:00 PM, Hub <hub@hub.example.test> wrote:\n> \n> \ufeff\n" + quote, "1.", "1."},
		{"empty iOS", "\n\nSent from my iPhone\n\n> On Nov 30, 2026, at 1:00 PM, Hub <hub@hub.example.test> wrote:\n> \n" + quote, "", ""},
		{"thread", "Approve\n\n" + wrote + "\n> No.\n>\n> " + wrote + "\n>> Deploy?\n", "Approve", "Approve"},
		{"thread without marks", "Approve\n\n" + wrote + "\n\nNo.\n\n" + wrote + "\n\nDeploy?\n", "Approve", "Approve"},
		{"keycap", "3\ufe0f\u20e3\n\n" + wrote + "\n" + quote, "3\ufe0f\u20e3", "3\ufe0f\u20e3"},
		{"curly and zero width", "\u00a0\u201cApprove\u201d\u200b \n\n" + wrote + "\n" + quote, "\u00a0\u201cApprove\u201d", "\u00a0\u201cApprove\u201d"},
		{"line breaks of mailto", "Approve<BR><BR>Sent from my iPhone", "Approve", "Approve"},
		{"NUL and C0", "App\x00ro\x07ve\n\n" + wrote + "\n" + quote, "Approve", "Approve"},
		{"list footer after the quote", "Approve\n\n" + wrote + "\n" + quote + "\n\n_______________________________________________\nTeam mailing list\nTeam@lists.example.test", "Approve", "Approve"},
		{"disclaimer after the quote", "Approve\n\n" + wrote + "\n" + quote + "\n\nThis e-mail is confidential and intended only for the addressee. If you have received it in error, please delete it.", "Approve", "Approve"},
		{"initials", "Hello\n\n" + wrote + "\n> Hi\n\nYes.\n\nAW> and\nAW> this\n", "Hello\n\n> Hi\n\nYes.", "Hello\n\n\nYes."},
		{"line end lost", "Approve On Mon, Nov 30, 2026 at 1:00 PM Hub <hub@hub.example.test> wrote:\n" + quote, "Approve", "Approve"},
		{"line end lost, no marks", "Approve On Mon, Nov 30, 2026 at 1:00 PM, Hub wrote:\n\n" + ask, "Approve", "Approve"},
		{"line end lost before a separator", "Approve -----Original Message-----\nFrom: Hub\n\n" + ask, "Approve", "Approve"},
		{"numbers of an answer", "4011 3000 1234 5678\n4011 3000 8765 4321\n\n" + wrote + "\n" + quote, "4011 3000 1234 5678\n4011 3000 8765 4321", "4011 3000 1234 5678\n4011 3000 8765 4321"},
		{"fields", "name: Alice\nfrom: a@example.test\nto: b@example.test\ndate: 2026-11-30\n\n" + wrote + "\n" + quote, "name: Alice\nfrom: a@example.test\nto: b@example.test\ndate: 2026-11-30", "name: Alice\nfrom: a@example.test\nto: b@example.test\ndate: 2026-11-30"},
	} {
		for _, sent := range [][]string{nil, {ask}} {
			if r := Text(tc.body, sent...); r.Text != tc.text || r.Own != tc.own {
				t.Errorf("%s, %d mails sent: text %q, own %q, cut %q; want %q, %q", tc.name, len(sent), r.Text, r.Own, r.Cut, tc.text, tc.own)
			}
		}
	}
}

// What we sent ourselves is not what they wrote.
func TestSent(t *testing.T) {
	t.Parallel()
	const long = "Please look at the build of the new service for the northern region and say whether it may go to production tonight.\n\n1. Ship it to production now\n2. Hold it until somebody has looked\n\nReply with the number or the word."
	const wrapped = "Please look at the build of the new service for the northern region and\nsay whether it may go to production\ntonight.\n\n1. Ship it to production now\n2. Hold it until somebody has\nlooked\n\nReply with the number or the word."
	for _, tc := range []struct{ name, body, sent, own string }{
		{"whole mail, without any mark", ask, ask, ""},
		{"above our mail, without any mark", "Approve\n\n" + ask, ask, "Approve"},
		{"below our mail, without any mark", ask + "\n\nApprove", ask, "Approve"},
		{"below our mail, an option as it is", ask + "\n\n2. Reject", ask, "2. Reject"},
		{"below the quoted mail, an option as it is", wrote + "\n" + marked(ask) + "\n\n2. Reject", ask, "2. Reject"},
		{"only one line that is ours", "1. Approve", ask, "1. Approve"},
		{"only two lines that are ours", "1. Approve\n2. Reject", ask, "1. Approve\n2. Reject"},
		{"no marks below the line", wrote + "\n\n" + ask, ask, ""},
		{"no marks, answer below", wrote + "\n\n" + ask + "\n\nApprove", ask, "Approve"},
		{"no marks, answer between", wrote + "\n\nDeploy build 4711 to production?\n\nYes, but wait.\n\n1. Approve\n2. Reject\n3. Defer", ask, "Yes, but wait."},
		{"no marks, wrapped", wrote + "\n\n" + wrapped, long, ""},
		{"no marks, wrapped, answer below", wrote + "\n\n" + wrapped + "\n\nShip it to production now", long, "Ship it to production now"},
		{"links that a program adds", wrote + "\n\nDeploy build 4711 to production?<https://hub.example.test/x>\n\n*1. Approve*\n2. Reject<mailto:x@y.zz>\n3. Defer\n\nReply with the number or the word.", ask, ""},
		{"full width and direction marks", wrote + "\n\n\u200fDeploy build 4711 to production？\n１. Approve\n2.\u00a0Reject\n3. Defer", ask, ""},
		{"quote without a line above", marked(ask) + "\n\nApprove", ask, "Approve"},
		{"quote without a line above, at the end", "Approve\n\n> 1. Approve\n> 2. Reject", ask, "Approve"},
		{"see below", "My answers are below.\n\nFrom: Hub <hub@hub.example.test>\nSent: Monday, November 30, 2026 1:00 PM\nTo: Alice\nSubject: Deploy?\n\nDeploy build 4711 to production?\nYes, please.\n1. Approve\n2. Reject\n3. Defer\n\nReply with the number or the word.", ask, "My answers are below.\n\n\nYes, please."},
		{"below, said of something else", "The log is below.\n\nFrom: Hub <hub@hub.example.test>\nSent: Monday, November 30, 2026 1:00 PM\nTo: Alice\nSubject: Deploy?\n\nSomething else\nthat we never sent", ask, "The log is below."},
		{"marker", "Approve\n\n-- Reply above this line --\n\nDeploy", "-- Reply above this line --\n" + ask, "Approve"},
		{"marker in another language", "Ja\n\n— Bitte über dieser Zeile antworten —\n\nDeploy", "— Bitte über dieser Zeile antworten —\n" + ask, "Ja"},
		{"marker, written below", "-- Reply above this line --\n\n" + ask + "\n\nApprove", "-- Reply above this line --\n\n" + ask, "Approve"},
		{"same words with other letters are theirs", wrote + "\n\n" + ask + "\n\nREPLY WITH THE NUMBER OR THE WORD.", ask, "REPLY WITH THE NUMBER OR THE WORD."},
	} {
		if r := Text(tc.body, tc.sent); r.Own != tc.own {
			t.Errorf("%s: own %q, want %q; text %q, cut %q", tc.name, r.Own, tc.own, r.Text, r.Cut)
		}
	}
	// An answer is theirs, whatever we sent, above the quote.
	if r := Text("1. Approve\n\n"+wrote+"\n"+marked(ask), ask); r.Own != "1. Approve" {
		t.Errorf("own %q", r.Own)
	}
}

func TestPGP(t *testing.T) {
	t.Parallel()
	body := pgpSigned + "\nHash: SHA256\n\nApprove\n- - a point\n\n- -- \nAlice\n" + pgpSignature + "\n\niHUEARYIAB0\n" + pgpEnd + "\n"
	if r := Text(body); r.Text != "Approve\n- a point" {
		t.Errorf("text %q, cut %q", r.Text, r.Cut)
	}
	if r := Text(body + "\nSent via list"); !strings.HasPrefix(r.Text, "Approve") {
		t.Errorf("text %q", r.Text)
	}
	if r := Text(pgpSigned + "\nApprove\n"); r.Text != "Approve" {
		t.Errorf("without a header: %q", r.Text)
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	r := Text("Approve\n\n" + strings.Repeat("é", MaxBytes))
	if !r.Truncated || r.First != "Approve" || strings.ContainsRune(r.Text, '\ufffd') || len(r.Text) > MaxBytes {
		t.Errorf("truncated %v, first %q, %d bytes", r.Truncated, r.First, len(r.Text))
	}
	if r := Text(strings.Repeat("a", MaxBytes)); r.Truncated {
		t.Error("a body of MaxBytes is truncated")
	}
	if r := HTML("<p>Approve</p><p>" + strings.Repeat("é ", MaxBytes)); !r.Truncated || r.First != "Approve" || len(r.Text) > MaxBytes+100 {
		t.Errorf("HTML: truncated %v, first %q, %d bytes", r.Truncated, r.First, len(r.Text))
	}
	if r := HTML("<style>" + strings.Repeat(" ", MaxBytes) + "</style><p>Approve</p>"); r.Truncated || r.Text != "Approve" {
		t.Errorf("below long styles: truncated %v, text %q", r.Truncated, r.Text)
	}
}

func TestFlowed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		delSp      bool
		want       string
	}{
		{"paragraph", "One two \nthree\n\nfour\n", false, "One two three\n\nfour\n"},
		{"CRLF", "One \r\ntwo\r\n", false, "One two\n"},
		{"DelSp", "Ein Wo \nrt\n", true, "Ein Wort\n"},
		{"DelSp keeps spaces", "Please wait  \nuntil\n", true, "Please wait until\n"},
		{"quotes", "> One \n> two\n>> three \n> four\nfive\n", false, "> One two\n>> three \n> four\nfive\n"},
		{"quotes apart", "> One \nmine\n", false, "> One \nmine\n"},
		{"stuffed", " > not a quote\n From here\n  two\n", false, "> not a quote\nFrom here\n two\n"},
		{"stuffed quote", "> > one\n", false, "> > one\n"},
		{"signature", "Yes \n-- \nAlice \nExample\n", false, "Yes \n-- \nAlice Example\n"},
		{"signature in a quote", "> Yes\n> -- \n> Bob\n", false, "> Yes\n> -- \n> Bob\n"},
		{"flowed at the end", "Yes ", false, "Yes \n"},
		{"empty", "", false, "\n"},
	} {
		if got := Flowed(tc.body, tc.delSp); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	// The reason for it: a line that stands out only when joined.
	r := Text(Flowed("Please wait un \ntil the migr \nation ends.\n\nOn Mon, Nov 30, 2026 at 1:00 PM Hub \n<hub@hub.example.test> wrote:\n> Deploy \n> it?\n", true))
	if r.Text != "Please wait until the migration ends." {
		t.Errorf("text %q, cut %q", r.Text, r.Cut)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	if got := Join("Yes.", " \n", "But wait.\n", "", "___\nlist"); got != "Yes.\nBut wait.\n___\nlist\n" {
		t.Errorf("joined %q", got)
	}
}

// The bodies of the mail samples, decoded as far as this test needs it, read as
// the samples say.
func TestSamples(t *testing.T) {
	t.Parallel()
	var index struct {
		Context struct{ Text string }
		Samples []struct {
			File   string
			Kind   string
			Answer *string
		}
	}
	if err := json.NewDecoder(shared(t, "data", "email-samples", "index.json")).Decode(&index); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, s := range index.Samples {
		if s.Answer == nil && s.Kind != "empty" || s.Kind == "reaction" {
			continue
		}
		raw, err := io.ReadAll(shared(t, "data", "email-samples", s.File))
		if err != nil {
			t.Fatal(err)
		}
		text, html := bodies(t, raw)
		want := ""
		if s.Answer != nil {
			want = *s.Answer
		}
		for _, sent := range [][]string{nil, {index.Context.Text}} {
			r := Body(text, html, sent...)
			if got := key(normal(strings.ReplaceAll(r.First, "\u20e3", ""))); strings.Trim(got, `"`) != strings.Trim(key(normal(want)), `"`) {
				t.Errorf("%s: first line %q, want %q; cut %q", s.File, r.First, want, r.Cut)
			}
			read++
		}
	}
	if read < 60 {
		t.Errorf("only %d samples were read", read)
	}
}

// bodies returns the first inline text part and the first HTML part of a mail.
func bodies(t *testing.T, raw []byte) (text, html string) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return part(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Header.Get("Content-Disposition"), m.Body)
}

func part(contentType, encoding, disposition string, body io.Reader) (text, html string) {
	kind, params, _ := mime.ParseMediaType(contentType)
	switch strings.ToLower(encoding) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	if strings.HasPrefix(kind, "multipart/") {
		for r := multipart.NewReader(body, params["boundary"]); ; {
			p, err := r.NextRawPart()
			if err != nil {
				return text, html
			}
			t, h := part(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p.Header.Get("Content-Disposition"), p)
			if text == "" {
				text = t
			}
			if html == "" {
				html = h
			}
		}
	}
	if strings.HasPrefix(disposition, "attachment") {
		return "", ""
	}
	b, _ := io.ReadAll(body)
	e, err := htmlindex.Get(params["charset"])
	if err != nil && !utf8.Valid(b) {
		e, err = charmap.Windows1252, nil
	}
	if err == nil {
		b, _ = e.NewDecoder().Bytes(b)
	}
	switch {
	case kind == "text/html":
		return "", string(b)
	case params["format"] == "flowed":
		return Flowed(string(b), params["delsp"] == "yes"), ""
	}
	return string(b), ""
}
