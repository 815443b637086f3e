package inbound

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crlf makes a mail of lines that are easy to write down.
func crlf(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }

func TestParseBodies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, mail  string
		want        []body
		attachments []string
	}{
		{"plain text", "Content-Type: text/plain\n\nYes\n", []body{{plain: "Yes\n"}}, nil},
		{"no type at all, UTF-8 within", "Subject: x\n\nGrüße\n", []body{{plain: "Grüße\n"}}, nil},
		{"HTML", "Content-Type: text/html; charset=utf-8\n\n<p>Yes</p>\n", []body{{html: "<p>Yes</p>\n"}}, nil},
		{"quoted-printable", "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: Quoted-Printable\n\nGr=FC=DFe=\n und=20mehr\n", []body{{plain: "Grüße und mehr\n"}}, nil},
		{"broken quoted-printable", "Content-Transfer-Encoding: quoted-printable\n\n100=% a = b =\n", []body{{plain: "100=% a = b "}}, nil},
		{"base64", "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte("Grüße")) + "\n", []body{{plain: "Grüße"}}, nil},
		{"base64 that breaks off", "Content-Transfer-Encoding: base64\n\nQXBwcm92\nZQ", []body{{plain: "Approve"}}, nil},
		{"an unknown encoding", "Content-Transfer-Encoding: x-uue\n\nYes\n", []body{{plain: "Yes\n"}}, nil},
		{"both forms", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nYes\n--b\nContent-Type: text/html\n\n<p>Yes</p>\n--b--\n", []body{{plain: "Yes", html: "<p>Yes</p>"}}, nil},
		{"both forms, HTML with pictures", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nYes\n--b\nContent-Type: multipart/related; boundary=bb\n\n--bb\nContent-Type: text/html\n\n<p>Yes</p>\n--bb\nContent-Type: image/png; name=logo.png\nContent-Disposition: inline\n\nx\n--bb--\n--b--\n", []body{{plain: "Yes", html: "<p>Yes</p>"}}, []string{"logo.png"}},
		{"both forms, and another one", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nYes\n--b\nContent-Type: text/x-amp-html\n\n<amp>No</amp>\n--b\nContent-Type: text/html\n\n<p>Yes</p>\n--b--\n", []body{{plain: "Yes", html: "<p>Yes</p>"}}, nil},
		{"text in several parts", "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nYes\n--b\nContent-Type: image/jpeg; name=a.jpg\nContent-Disposition: inline; filename=a.jpg\n\nx\n--b\nContent-Type: text/plain\n\nbut look\n--b--\n", []body{{plain: "Yes"}, {plain: "but look"}}, []string{"a.jpg"}},
		{"text as a file", "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSee attached\n--b\nContent-Type: text/plain; name=answer.txt\nContent-Disposition: attachment; filename=answer.txt\n\nReject\n--b\nContent-Type: text/plain; name=\"more.txt\"\n\nReject\n--b--\n", []body{{plain: "See attached"}}, []string{"answer.txt", "more.txt"}},
		{"a signed mail", "Content-Type: multipart/signed; boundary=b; protocol=\"application/pgp-signature\"\n\n--b\nContent-Type: text/plain\n\nYes\n--b\nContent-Type: application/pgp-signature\n\nNo\n--b--\n", []body{{plain: "Yes"}}, nil},
		{"a mail that holds another", "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nfyi\n--b\nContent-Type: message/rfc822\n\nSubject: x\n\nReject\n--b--\n", []body{{plain: "fyi"}}, []string{"message/rfc822"}},
		{"a multipart that is not closed", "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nYes\n", []body{{plain: "Yes\n"}}, nil},
		{"a boundary that got lost", "Content-Type: multipart/mixed\n\npreamble\n--b\nContent-Type: text/plain\n\nYes\n--b--\n", []body{{plain: "Yes"}}, nil},
		{"a boundary that is nowhere", "Content-Type: multipart/mixed; boundary=b\n\nYes\n", []body{{plain: "Yes\n"}}, nil},
		{"a boundary in quotes, with spaces", "Content-Type: multipart/mixed; boundary=\"a b=\"\n\n--a b=\n\nYes\n--a b=--\n", []body{{plain: "Yes"}}, nil},
		{"a boundary that begins another", "Content-Type: multipart/mixed; boundary=\"b\"\n\n--b\nContent-Type: multipart/alternative; boundary=\"bb\"\n\n--bb\nContent-Type: text/plain\n\nYes\n--bb--\n--b\nContent-Type: text/plain\n\nfooter\n--b--\n", []body{{plain: "Yes"}, {plain: "footer"}}, nil},
		{"format=flowed", "Content-Type: text/plain; format=flowed; delsp=yes\n\ncus \ntomer\n", []body{{plain: "customer\n"}}, nil},
		{"NUL and other controls", "Content-Type: text/plain\n\nY\x00e\x07s\n", []body{{plain: "Yes\n"}}, nil},
		{"nothing", "", []body{{}}, nil},
		{"header without body", "Subject: x\n", []body{{}}, nil},
		{"only a file", "Content-Type: application/pdf; name=a.pdf\n\nx\n", nil, []string{"a.pdf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := Parse(crlf(tt.mail))
			if d := cmp.Diff(tt.want, m.bodies, cmp.AllowUnexported(body{})); d != "" {
				t.Errorf("bodies (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.attachments, m.attachments); d != "" {
				t.Errorf("attachments (-want +got):\n%s", d)
			}
			if m.damaged != "" {
				t.Error(m.damaged)
			}
		})
	}
}

// What a mail can do to a parser, it does here; the test is that it ends, and
// that the text in front is read.
func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	text := "Content-Type: text/plain\n\nYes\n"
	nested := "Content-Type: multipart/mixed; boundary=b0\n\n--b0\n" + text
	for i := range 3000 {
		nested += fmt.Sprintf("--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n--b%d\n\nx\n", i, i+1, i+1)
	}
	for name, mail := range map[string]string{
		"a hundred thousand parts":   "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + text + strings.Repeat("--b\n\n\n", 100_000),
		"parts in parts":             nested,
		"boundaries that don't fit":  "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + text + strings.Repeat("--x\n", 200_000),
		"a header of a part":         "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + text + "--b\n" + strings.Repeat("X: y\n", 200_000),
		"a type of many parameters":  "Content-Type: multipart/mixed; boundary=b" + strings.Repeat("; a=b", 50_000) + "\n\n--b\n" + text,
		"a line without an end":      "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + text + "--b\n\n" + strings.Repeat("x", 3<<20),
		"one text of many megabytes": text + strings.Repeat("lorem ipsum\n", 400_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := Parse(crlf(mail))
			if len(m.bodies) == 0 || !strings.HasPrefix(m.bodies[0].plain, "Yes") {
				t.Errorf("%d bodies; %s", len(m.bodies), m.damaged)
			}
			for _, b := range m.bodies {
				if len(b.plain) > maxText {
					t.Errorf("a body of %d bytes", len(b.plain))
				}
			}
		})
	}
}

// der builds an element of DER.
func der(tag byte, content ...string) string {
	c := strings.Join(content, "")
	switch n := len(c); {
	case n < 0x80:
		return string([]byte{tag, byte(n)}) + c
	default:
		return string([]byte{tag, 0x82, byte(n >> 8), byte(n)}) + c
	}
}

// indefinite builds an element without a length, as Outlook does.
func indefinite(tag byte, content ...string) string {
	return string([]byte{tag, 0x80}) + strings.Join(content, "") + "\x00\x00"
}

func TestSMIME(t *testing.T) {
	t.Parallel()
	const (
		oidSigned    = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"
		oidEnveloped = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03"
		oidData      = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
		version      = "\x02\x01\x01"
		inner        = "Content-Type: text/plain; charset=utf-8\r\n\r\nApprove\r\n"
	)
	algorithms := der(0x31)
	for _, tt := range []struct {
		name, cms string
		want      []body
		encrypted string
	}{
		{"signed", der(0x30, oidSigned, der(0xa0, der(0x30, version, algorithms, der(0x30, oidData, der(0xa0, der(0x04, inner)))))), []body{{plain: "Approve\n"}}, ""},
		{"signed, in pieces of unknown length", indefinite(0x30, oidSigned, indefinite(0xa0, indefinite(0x30, version, algorithms, indefinite(0x30, oidData, indefinite(0xa0, indefinite(0x24, der(0x04, inner[:20]), der(0x04, inner[20:]))))))), []body{{plain: "Approve\n"}}, ""},
		{"encrypted", der(0x30, oidEnveloped, der(0xa0, der(0x30, version))), nil, "S/MIME"},
		{"signed, and the text is elsewhere", der(0x30, oidSigned, der(0xa0, der(0x30, version, algorithms, der(0x30, oidData)))), nil, "S/MIME"},
		{"broken off", der(0x30, oidSigned, der(0xa0, "\x30\x82\xff\xff")), nil, "S/MIME"},
		{"a length beyond all bounds", "\x30\x84\xff\xff\xff\xff" + oidSigned, nil, "S/MIME"},
		{"lengths that never end", strings.Repeat("\x30\x80", 1000), nil, "S/MIME"},
		{"nothing", "", nil, "S/MIME"},
		{"signed text that is itself encrypted", der(0x30, oidSigned, der(0xa0, der(0x30, version, algorithms, der(0x30, oidData, der(0xa0, der(0x04, "Content-Type: application/pkcs7-mime\r\n\r\nx")))))), nil, "S/MIME"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := Parse([]byte("Content-Type: application/pkcs7-mime; smime-type=whatever; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte(tt.cms))))
			if d := cmp.Diff(tt.want, m.bodies, cmp.AllowUnexported(body{})); d != "" || m.encrypted != tt.encrypted {
				t.Errorf("encrypted %q, bodies (-want +got):\n%s", m.encrypted, d)
			}
		})
	}
}

func TestUnarmoured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"signed", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nApprove\n- -- \nAlice\n-----BEGIN PGP SIGNATURE-----\n\nxx\n-----END PGP SIGNATURE-----\n", "Approve\n-- \nAlice\n\n"},
		{"text around", "Hi\n-----BEGIN PGP SIGNED MESSAGE-----\n\nApprove\n-----BEGIN PGP SIGNATURE-----\nxx\n-----END PGP SIGNATURE-----\nlist footer\n", "Hi\nApprove\n\nlist footer\n"},
		{"no end", "-----BEGIN PGP SIGNED MESSAGE-----\n\nApprove\n", "-----BEGIN PGP SIGNED MESSAGE-----\n\nApprove\n"},
		{"no blank line", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: x\n-----BEGIN PGP SIGNATURE-----\n", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: x\n-----BEGIN PGP SIGNATURE-----\n"},
		{"quoted", "> -----BEGIN PGP SIGNED MESSAGE-----\n", "> -----BEGIN PGP SIGNED MESSAGE-----\n"},
		{"none", "Approve\n", "Approve\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := unarmoured(tt.in); got != tt.want {
				t.Errorf("unarmoured = %q, want %q", got, tt.want)
			}
		})
	}
}
