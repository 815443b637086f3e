package inbound

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"beckon/channels/email/extract"

	"github.com/jhillyerd/enmime/v2"
)

// Bounds of what is looked at. What goes beyond is left out, and never makes a
// mail unreadable.
const (
	// MaxMail bounds a mail, in bytes.
	MaxMail = 25 << 20
	// maxText bounds the text of all bodies, in bytes, and maxSubject the
	// subject, as it stands.
	maxText    = 1 << 20
	maxSubject = 4 << 10
	// maxReport bounds a delivery report, in bytes.
	maxReport = 64 << 10
	// maxParts bounds the lines that may begin a part, and maxMultiparts how many
	// parts may have parts of their own, and so how deep they go.
	maxParts      = 2000
	maxMultiparts = 12
)

// Mail is a mail taken apart.
type Mail struct {
	header header
	raw    []byte // without an mbox line
	body   []byte // what follows the header, as it came

	bodies      []body
	attachments []string // file names, or types where there are none

	// What the structure says about the mail.
	report       string // report-type of multipart/report, in lower case
	delivery     []byte // message/delivery-status
	disposition  []byte // message/disposition-notification
	returned     header // of the mail that a report is about
	calendar     string // METHOD of text/calendar, in capitals; "?" when it has none
	reaction     string // the emoji
	tnef         bool
	encrypted    string // "PGP" or "S/MIME"
	damaged      string // what kept us from taking it apart, "" for nothing
	reactionOnly bool
	multiparts   int // found so far
	text         int // bytes of text so far
	nested       int // how many signed mails this one is in
}

// body is one piece of what the person wrote, in one form or in two.
type body struct{ plain, html string }

// Parse takes a mail apart. It takes anything for a mail: what is damaged is read
// as far as it goes.
func Parse(raw []byte) *Mail {
	if len(raw) > MaxMail {
		raw = raw[:MaxMail]
	}
	m := &Mail{raw: trimMbox(raw)}
	m.header, m.body = readHeader(m.raw)
	m.takeApart()
	return m
}

// Header returns the values of every header field with that name, topmost first
// and unfolded.
func (m *Mail) Header(name string) []string { return m.header.all(strings.ToLower(name)) }

// Subject returns the subject, readable and on one line.
func (m *Mail) Subject() string {
	s := m.header.first("subject")
	return oneLine(decodeWords(s[:min(len(s), maxSubject)]))
}

// MessageID returns the Message-ID without < and >, "" when there is none.
func (m *Mail) MessageID() string {
	if ids := messageIDs(m.header.first("message-id")); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// From returns the address of the author in the form in which two are compared,
// "" when there is none or more than one.
func (m *Mail) From() string {
	addr, _ := m.header.author()
	return addr
}

// takeApart reads the parts. Whatever breaks the library leaves a mail without
// parts.
func (m *Mail) takeApart() {
	defer func() {
		if p := recover(); p != nil {
			m.damaged = fmt.Sprintf("its parts can't be read: %v", p)
		}
	}()
	root, err := m.parser().ReadParts(m.source())
	if err != nil {
		m.damaged = fmt.Sprintf("its parts can't be read: %v", err)
		return
	}
	root.Header = nil // ours counts
	if root.FirstChild == nil && isMultipart(m.header) {
		m.bodies = []body{m.textBody(m.body, nil)} // its boundary is nowhere
		return
	}
	m.bodies = m.walk(root, m.header)
}

// parser is the MIME library, which is to find the parts and undo their transfer
// encoding. Types, charsets and names are read here: so that there is one opinion
// about them, and no guessing of charsets.
func (m *Mail) parser() *enmime.Parser {
	return enmime.NewParser(
		enmime.SkipMalformedParts(true),
		enmime.MultipartWOBoundaryAsSinglePart(true),
		enmime.MaxStoredPartErrors(10),
		enmime.SetReadPartErrorPolicy(func(*enmime.Part, error) bool { return true }),
		enmime.SetCustomParseMediaType(func(value string) (string, map[string]string, []string, error) {
			typ, params := mediaType(value)
			if b := params["boundary"]; strings.HasPrefix(typ, "multipart/") && b != "" && m.multiparts < maxMultiparts {
				m.multiparts++
				return typ, map[string]string{"boundary": b}, nil, nil
			}
			return "application/octet-stream", nil, nil, nil
		}),
	)
}

// source is the mail for the library: of the header what it needs, and the body,
// cut where it has more parts than any mail of a person.
func (m *Mail) source() io.Reader {
	var b bytes.Buffer
	typ, params := mediaType(m.header.first("content-type"))
	if strings.HasPrefix(typ, "multipart/") {
		boundary := params["boundary"]
		if boundary == "" || strings.ContainsAny(boundary, "\r\n\"\\") {
			boundary = guessBoundary(m.body)
		}
		fmt.Fprintf(&b, "Content-Type: %s; boundary=\"%s\"\r\n", typ, boundary)
	} else {
		b.WriteString("Content-Type: application/octet-stream\r\n")
		if e := strings.ToLower(oneLine(m.header.first("content-transfer-encoding"))); e == "base64" || e == "quoted-printable" {
			b.WriteString("Content-Transfer-Encoding: " + e + "\r\n")
		}
	}
	b.WriteString("\r\n")
	rest := m.body
	for range maxParts {
		i := bytes.Index(rest, []byte("\n--"))
		if i < 0 {
			return io.MultiReader(&b, bytes.NewReader(m.body))
		}
		rest = rest[i+1:]
	}
	return io.MultiReader(&b, bytes.NewReader(m.body[:len(m.body)-len(rest)]))
}

// guessBoundary finds the boundary of a multipart whose header lost it.
func guessBoundary(body []byte) string {
	for pos := 0; pos < len(body); {
		line, next := lineAt(body, pos)
		if b, ok := bytes.CutPrefix(line, []byte("--")); ok && len(bytes.TrimSpace(b)) > 0 && !bytes.ContainsAny(b, "\"\\") {
			return string(bytes.TrimRight(b, " \t"))
		}
		pos = next
	}
	return "none"
}

func isMultipart(h header) bool {
	typ, _ := mediaType(h.first("content-type"))
	return strings.HasPrefix(typ, "multipart/")
}

// partHeader is the header of a part as the library read it.
func partHeader(p *enmime.Part) header {
	var h header
	for _, name := range []string{"Content-Type", "Content-Disposition", "Content-Transfer-Encoding", "Content-Description"} {
		if v := p.Header.Get(name); v != "" {
			h = append(h, field{strings.ToLower(name), v})
		}
	}
	return h
}

// walk returns the bodies in a part, in order, and notes what else is there.
func (m *Mail) walk(p *enmime.Part, h header) []body {
	typ, params := mediaType(h.first("content-type"))
	if p.FirstChild == nil {
		return m.leaf(p, h)
	}
	switch typ {
	case "multipart/alternative":
		return m.alternative(p)
	case "multipart/signed":
		return m.walk(p.FirstChild, partHeader(p.FirstChild)) // and then the signature
	case "multipart/encrypted":
		m.encrypted = "PGP"
	case "multipart/report":
		m.report = strings.ToLower(params["report-type"])
	}
	var out []body
	for c := p.FirstChild; c != nil; c = c.NextSibling {
		out = append(out, m.walk(c, partHeader(c))...)
	}
	return out
}

// alternative makes one body of the forms of a text.
func (m *Mail) alternative(p *enmime.Part) []body {
	var b body
	for c := p.FirstChild; c != nil; c = c.NextSibling {
		var plain, html []string
		for _, part := range m.walk(c, partHeader(c)) {
			if part.plain != "" {
				plain = append(plain, part.plain)
			}
			if part.html != "" {
				html = append(html, part.html)
			}
		}
		if strings.TrimSpace(b.plain) == "" && len(plain) > 0 {
			b.plain = joined(plain)
		}
		if b.html == "" {
			b.html = strings.Join(html, "<br>")
		}
	}
	if b == (body{}) {
		return nil
	}
	return []body{b}
}

// leaf reads a part that has none of its own.
func (m *Mail) leaf(p *enmime.Part, h header) []body {
	typ, params := mediaType(h.first("content-type"))
	disposition, dparams := mediaType(h.first("content-disposition"))
	name := strings.ToLower(decodeWords(firstOf(dparams["filename"], params["name"])))
	if disposition == "reaction" { // RFC 9078
		m.reaction = emojiOf(decodeText(p.Content, params["charset"]))
		return nil
	}
	if typ == "application/pkcs7-mime" || typ == "application/x-pkcs7-mime" {
		return m.smime(p.Content)
	}
	if m.special(typ, params, name, p.Content) {
		return nil
	}
	text := typ == "" || typ == "text/plain" || typ == "text/html" || typ == "text/markdown"
	if !text || disposition == "attachment" || name != "" {
		if !text && disposition == "" && name == "" && strings.HasPrefix(typ, "text/") {
			return nil // a form for other programs, such as text/x-amp-html
		}
		m.attachments = append(m.attachments, firstOf(name, typ))
		return nil
	}
	return []body{m.textBody(p.Content, h)}
}

// textBody reads text in the charset and form that its header says.
func (m *Mail) textBody(content []byte, h header) body {
	typ, params := mediaType(h.first("content-type"))
	content = content[:min(len(content), maxText-m.text)]
	m.text += len(content)
	text := strings.ReplaceAll(decodeText(content, params["charset"]), "\r\n", "\n")
	if typ == "text/html" {
		return body{html: text}
	}
	if strings.EqualFold(params["format"], "flowed") {
		text = extract.Flowed(text, strings.EqualFold(params["delsp"], "yes"))
	}
	return body{plain: text}
}

// special notes the parts that say what a mail is. It reports whether the part is
// one.
func (m *Mail) special(typ string, params map[string]string, name string, content []byte) bool {
	switch typ {
	case "message/delivery-status", "message/global-delivery-status":
		m.delivery = append(append(m.delivery, content[:min(len(content), maxReport)]...), "\r\n\r\n"...)
	case "message/disposition-notification", "message/global-disposition-notification":
		m.disposition = content[:min(len(content), maxReport)]
	case "message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers", "text/rfc822":
		if m.returned == nil {
			m.returned, _ = readHeader(content[:min(len(content), maxHeader)])
		}
		if m.report == "" {
			m.attachments = append(m.attachments, firstOf(name, typ))
		}
	case "text/calendar", "application/ics":
		m.calendar = firstOf(strings.ToUpper(params["method"]), calendarMethod(content), "?")
	case "text/vnd.google.email-reaction+json":
		m.reaction = emojiOf(string(content))
		m.reactionOnly = true // its other parts repeat it
	case "application/ms-tnef", "application/vnd.ms-tnef":
		m.tnef = true
	case "application/pgp-encrypted":
		m.encrypted = "PGP"
	default:
		m.tnef = m.tnef || name == "winmail.dat"
		return name == "winmail.dat"
	}
	return true
}

// firstOf returns the first string that is not empty.
func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
