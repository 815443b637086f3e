package fakemail

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// Mail is one copy of a mail in one person's mailbox.
type Mail struct {
	ID     string    // in this server
	Person string    // the address of the mailbox
	At     time.Time // when it came or went
	Raw    []byte    // as it was sent, with CRLF

	EnvelopeFrom string // what MAIL FROM said, "" for <>
	EnvelopeTo   string // what RCPT TO said, "" for what is sent

	Header      mail.Header
	From        *mail.Address   // the first, nil if there is none
	To          []*mail.Address // To and Cc
	ReplyTo     *mail.Address   // From if it names none
	Subject     string
	MessageID   string   // without the angle brackets
	References  []string // and what In-Reply-To adds, oldest first
	Text, HTML  string   // the first text part of each kind
	Attachments []string // names of the other parts, or their types

	// Problems lists what a strict server or mail program objects to, with the
	// section of the RFC. Nothing is refused for it.
	Problems []string

	Sent bool   // the person, or somebody else in a Case, has sent it
	Case Case   // what it tries, for what is sent; "" for a plain reply
	Said string // by the server, a line for each recipient whom it took
	Err  error  // of handing it to the hub; it says what the server answered

	about string // the id of the mail that it was sent for
}

// maxDepth bounds how deep parts lie in each other.
const maxDepth = 10

// parse reads a mail. What can't be read is noted as a problem.
func parse(raw []byte, utf8 bool) *Mail {
	m := &Mail{Raw: raw, Header: mail.Header{}}
	m.checkBytes(utf8)
	msg, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		m.problem("the header can't be read: %v", err)
		return m
	}
	m.Header = msg.Header
	m.checkHeader()
	m.Subject = m.decoded("Subject")
	m.From, m.ReplyTo = m.first("From"), m.first("Reply-To")
	if m.ReplyTo == nil {
		m.ReplyTo = m.From
	}
	for _, name := range []string{"To", "Cc"} {
		if list, err := m.Header.AddressList(name); err == nil {
			m.To = append(m.To, list...)
		}
	}
	if ids := messageIDs(m.Header.Get("Message-Id")); len(ids) > 0 {
		m.MessageID = ids[0]
	}
	seen := map[string]bool{}
	for _, id := range append(messageIDs(m.Header.Get("References")), messageIDs(m.Header.Get("In-Reply-To"))...) {
		if !seen[id] {
			seen[id] = true
			m.References = append(m.References, id)
		}
	}
	body, err := io.ReadAll(msg.Body)
	if err != nil {
		m.problem("the body can't be read: %v", err)
	}
	m.readPart(textproto.MIMEHeader(msg.Header), body, 0)
	return m
}

func (m *Mail) problem(format string, args ...any) {
	m.Problems = append(m.Problems, fmt.Sprintf(format, args...))
}

// decoded is a header's text with encoded words read (RFC 2047).
func (m *Mail) decoded(name string) string {
	v := m.Header.Get(name)
	d := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	s, err := d.DecodeHeader(v)
	if err != nil {
		m.problem("%s can't be decoded: %v (RFC 2047)", name, err)
		return v
	}
	return s
}

// first is the first address of a header, nil if there is none.
func (m *Mail) first(name string) *mail.Address {
	if m.Header.Get(name) == "" {
		return nil
	}
	list, err := m.Header.AddressList(name)
	if err != nil || len(list) == 0 {
		m.problem("%s is no list of addresses: %v (RFC 5322 section 3.4)", name, err)
		return nil
	}
	return list[0]
}

var messageID = regexp.MustCompile(`<([^<>@\s]+@[^<>@\s]+)>`)

// messageIDs lists the ids in a header, in their order.
func messageIDs(v string) []string {
	var out []string
	for _, g := range messageID.FindAllStringSubmatch(v, -1) {
		out = append(out, g[1])
	}
	return out
}

// readPart reads one part and those in it.
func (m *Mail) readPart(h textproto.MIMEHeader, body []byte, depth int) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case h.Get("Content-Type") == "":
		kind = "text/plain"
	case err != nil:
		m.problem("Content-Type %q: %v (RFC 2045 section 5.1)", h.Get("Content-Type"), err)
		kind = "application/octet-stream"
	}
	if depth > maxDepth {
		m.problem("parts lie in each other more than %d deep", maxDepth)
		return
	}
	if strings.HasPrefix(kind, "multipart/") {
		m.readParts(body, params["boundary"], depth)
		return
	}
	content, err := decodeTransfer(h.Get("Content-Transfer-Encoding"), body)
	if err != nil {
		m.problem("a part of type %s: %v (RFC 2045 section 6)", kind, err)
	}
	if h.Get("Content-Transfer-Encoding") == "" && !ascii(body) {
		m.problem("a part of type %s holds 8-bit bytes and does not say so (RFC 2045 section 6.1)", kind)
	}
	disposition, dparams, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	switch {
	case disposition != "attachment" && kind == "text/plain" && m.Text == "":
		m.Text = m.decodeText(content, params["charset"])
	case disposition != "attachment" && kind == "text/html" && m.HTML == "":
		m.HTML = m.decodeText(content, params["charset"])
	default:
		name := dparams["filename"]
		if name == "" {
			name = kind
		}
		m.Attachments = append(m.Attachments, name)
	}
}

func (m *Mail) readParts(body []byte, boundary string, depth int) {
	if boundary == "" {
		m.problem("a multipart part has no boundary (RFC 2046 section 5.1.1)")
		return
	}
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := r.NextRawPart()
		if err == io.EOF { //nolint:errorlint // NextRawPart returns it bare
			return
		}
		if err != nil {
			m.problem("parts between %q: %v (RFC 2046 section 5.1.1)", boundary, err)
			return
		}
		content, err := io.ReadAll(p)
		m.readPart(p.Header, content, depth+1)
		if err != nil {
			m.problem("parts between %q: %v (RFC 2046 section 5.1.1)", boundary, err)
			return
		}
	}
}

func decodeTransfer(encoding string, body []byte) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "7bit", "8bit", "binary":
		return body, nil
	case "quoted-printable":
		out, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
		return out, err
	case "base64":
		out, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(body)))
		return out, err
	}
	return body, fmt.Errorf("unknown Content-Transfer-Encoding %q", encoding)
}

// decodeText reads text in its charset and gives it line feeds alone.
func (m *Mail) decodeText(b []byte, label string) string {
	if label != "" {
		r, err := charset.NewReaderLabel(label, bytes.NewReader(b))
		if err == nil {
			b, err = io.ReadAll(r)
		}
		if err != nil {
			m.problem("the charset %q can't be read: %v", label, err)
		}
	}
	return strings.ToValidUTF8(strings.ReplaceAll(string(b), "\r\n", "\n"), "\uFFFD")
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
