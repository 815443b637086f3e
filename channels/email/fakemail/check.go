package fakemail

import (
	"bytes"
	"net/mail"
	"strings"
)

// checkBytes looks at what a server looks at before it reads anything.
func (m *Mail) checkBytes(utf8 bool) {
	long := false
	for line := range bytes.SplitSeq(m.Raw, []byte("\r\n")) {
		long = long || len(line) > 998
	}
	if long {
		m.problem("a line has more than 998 octets (RFC 5322 section 2.1.1)")
	}
	if left := bytes.ReplaceAll(m.Raw, []byte("\r\n"), nil); bytes.ContainsAny(left, "\r\n") {
		m.problem("a carriage return or a line feed stands alone (RFC 5322 section 2.3)")
	}
	if bytes.IndexByte(m.Raw, 0) >= 0 {
		m.problem("there is a NUL (RFC 5322 section 4)")
	}
	head, _, found := bytes.Cut(m.Raw, []byte("\r\n\r\n"))
	if !found {
		m.problem("no empty line ends the header (RFC 5322 section 2.1)")
	}
	if !utf8 && !ascii(head) {
		m.problem("the header holds 8-bit bytes, sent without SMTPUTF8 (RFC 6532)")
	}
}

// once are the headers of which there may be one (RFC 5322 section 3.6).
var once = []string{
	"Date", "From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Message-Id", "In-Reply-To", "References", "Subject",
	"Mime-Version", "Content-Type", "Content-Transfer-Encoding", "Auto-Submitted",
}

// checkHeader looks at what a mail must have, and have once.
func (m *Mail) checkHeader() {
	for _, name := range once {
		if n := len(m.Header[name]); n > 1 {
			m.problem("%s stands there %d times (RFC 5322 section 3.6)", name, n)
		}
	}
	for _, name := range []string{"From", "Message-Id"} {
		if m.Header.Get(name) == "" {
			m.problem("there is no %s (RFC 5322 section 3.6)", name)
		}
	}
	if _, err := m.Header.Date(); err != nil {
		m.problem("Date: %v (RFC 5322 section 3.6.1)", err)
	}
	if v := m.Header.Get("Message-Id"); v != "" && len(messageIDs(v)) != 1 {
		m.problem("Message-ID %q is not one id (RFC 5322 section 3.6.4)", v)
	}
	if list, err := m.Header.AddressList("From"); err == nil && len(list) > 1 && m.Header.Get("Sender") == "" {
		m.problem("several From and no Sender (RFC 5322 section 3.6.2)")
	}
	for _, name := range []string{"From", "Reply-To", "To"} {
		list, _ := m.Header.AddressList(name)
		for _, a := range list {
			m.checkLocal(name, a)
		}
	}
}

// checkLocal keeps to the length that servers hold people to.
func (m *Mail) checkLocal(name string, a *mail.Address) {
	if i := strings.LastIndexByte(a.Address, '@'); i > 64 {
		m.problem("%s: the local part has %d octets, 64 are allowed (RFC 5321 section 4.5.3.1.1)", name, i)
	}
}
