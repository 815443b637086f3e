package fakemail

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
)

// letter is a mail to be sent.
type letter struct {
	id         string // without the angle brackets
	from       mail.Address
	to, cc     []mail.Address
	subject    string
	inReplyTo  string
	references []string
	date       time.Time
	fields     [][2]string // further headers, in their order
	body       part
}

// part is one part of a letter's body.
type part struct {
	kind  string // Content-Type
	text  string // with line feeds alone
	as    string // Content-Transfer-Encoding; quoted-printable if empty
	parts []part // of a multipart kind, then text is unused
}

func newID(host string) string { return strings.ToLower(rand.Text()) + "@" + host }

func hostOf(address string) string {
	_, host, _ := strings.Cut(address, "@")
	return cmp.Or(host, "mail.test")
}

// bytes writes the letter as it travels.
func (l *letter) bytes() []byte {
	var b bytes.Buffer
	field(&b, "From", l.from.String())
	addresses(&b, "To", l.to)
	addresses(&b, "Cc", l.cc)
	field(&b, "Subject", mime.QEncoding.Encode("utf-8", oneLine(l.subject)))
	field(&b, "Date", l.date.Format(time.RFC1123Z))
	field(&b, "Message-ID", "<"+l.id+">")
	if l.inReplyTo != "" {
		field(&b, "In-Reply-To", "<"+l.inReplyTo+">")
	}
	if len(l.references) > 0 {
		field(&b, "References", "<"+strings.Join(l.references, "> <")+">")
	}
	for _, f := range l.fields {
		field(&b, f[0], f[1])
	}
	field(&b, "MIME-Version", "1.0")
	l.body.write(&b)
	return b.Bytes()
}

func addresses(b *bytes.Buffer, name string, list []mail.Address) {
	if len(list) == 0 {
		return
	}
	all := make([]string, 0, len(list))
	for _, a := range list {
		all = append(all, a.String())
	}
	field(b, name, strings.Join(all, ", "))
}

// oneLine takes line breaks out of what a form gave.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// field writes a header, folded at spaces where it gets long (RFC 5322 section
// 2.2.3).
func field(b *bytes.Buffer, name, value string) {
	b.WriteString(name + ":")
	at := len(name) + 1
	for word := range strings.SplitSeq(value, " ") {
		if at > len(name)+1 && at+1+len(word) > 76 {
			b.WriteString("\r\n")
			at = 0
		}
		b.WriteString(" " + word)
		at += 1 + len(word)
	}
	b.WriteString("\r\n")
}

// write writes the part's header, an empty line and the part.
func (p part) write(b *bytes.Buffer) {
	if len(p.parts) > 0 {
		boundary := rand.Text()
		field(b, "Content-Type", p.kind+`; boundary="`+boundary+`"`)
		b.WriteString("\r\n")
		for _, sub := range p.parts {
			b.WriteString("--" + boundary + "\r\n")
			sub.write(b)
			b.WriteString("\r\n")
		}
		b.WriteString("--" + boundary + "--\r\n")
		return
	}
	field(b, "Content-Type", p.kind)
	as := cmp.Or(p.as, "quoted-printable")
	if as == "8bit" && longest(p.text) > 998 { // RFC 5322 section 2.1.1
		as = "quoted-printable"
	}
	field(b, "Content-Transfer-Encoding", as)
	b.WriteString("\r\n")
	text := strings.ReplaceAll(p.text, "\n", "\r\n")
	switch as {
	case "quoted-printable":
		w := quotedprintable.NewWriter(b)
		_, _ = w.Write([]byte(text)) // a buffer takes everything
		_ = w.Close()
	case "base64":
		enc := base64.StdEncoding.EncodeToString([]byte(text))
		for len(enc) > 76 {
			b.WriteString(enc[:76] + "\r\n")
			enc = enc[76:]
		}
		b.WriteString(enc)
	default:
		b.WriteString(text)
	}
	if !bytes.HasSuffix(b.Bytes(), []byte("\r\n")) {
		b.WriteString("\r\n")
	}
}

func longest(text string) int {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n = max(n, len(line))
	}
	return n
}

// stamped puts before a mail what the hub's own server would: which server it came
// from and, if asked for, what it made of the sender. A mail that was not sent
// by the domain of its From fails DMARC.
func (s *Server) stamped(raw []byte, from, envelopeFrom string, at time.Time) []byte {
	var b bytes.Buffer
	if id := s.opts.AuthservID; id != "" {
		host := hostOf(from)
		by := host
		if envelopeFrom != "" {
			by = hostOf(envelopeFrom)
		}
		verdict := "dkim=pass header.d=" + host + "; dmarc=pass"
		if !strings.EqualFold(by, host) {
			verdict = "dkim=none; dmarc=fail"
		}
		field(&b, "Authentication-Results", id+"; spf=pass smtp.mailfrom="+by+"; "+verdict+" header.from="+host)
	}
	field(&b, "Received", "from mail.test (localhost [127.0.0.1]) by "+cmp.Or(s.opts.AuthservID, "mx.test")+" with ESMTP; "+at.Format(time.RFC1123Z))
	b.Write(raw)
	return b.Bytes()
}
