package templates

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	texttemplate "text/template"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

//go:embed email/mail.txt email/mail.html
var mailFiles embed.FS

// MailKind is what a mail is for.
type MailKind string

// The kinds of mail. All but the last two belong to the thread of a message.
const (
	MailAsk        MailKind = "ask"        // the message itself, whatever its type
	MailRemind     MailKind = "remind"     // it still waits
	MailEnded      MailKind = "ended"      // it has ended: how
	MailOutcome    MailKind = "outcome"    // what the hub said to a reply
	MailLate       MailKind = "late"       // a reply came after the end
	MailUnclear    MailKind = "unclear"    // a reply did not say plainly what is meant
	MailUnreadable MailKind = "unreadable" // a reply could not be read
	MailDoubt      MailKind = "doubt"      // a reply may be somebody else's
	MailLink       MailKind = "link"       // a link to sign in
	MailTest       MailKind = "test"       // to the hub itself
)

// Mail is what a mail says. Agent text in it is untrusted.
type Mail struct {
	Kind MailKind
	Card *hub.Card // nil for the kinds without a message
	Page string    // opens the message's page; the only link but for mailto ones
	Tag  string    // of the subject, such as "Q-7F3K2M"

	Reply   MailReply
	Write   map[int]string // mailto URLs by option: they begin the answer
	Outcome *hub.Outcome   // for MailOutcome
	Help    string         // for MailUnclear: why, and what would be understood
	From    string         // for MailDoubt: the other address, "" when it was the person's own
	Link    string         // for MailLink
	Expires time.Time      // of Link
	Reader  *hub.Person    // for MailLink
}

// MailText is a mail as it is sent. Subject has one line; Text and HTML say the
// same.
type MailText struct{ Subject, Text, HTML string }

// MaxMailHTML bounds the HTML of a mail, in bytes. Gmail shows the first 102 kB
// of one and hides the rest.
const MaxMailHTML = 90 << 10

// MailSet is a loaded set of templates for mail. It is read-only and safe for
// concurrent use.
type MailSet struct {
	text *texttemplate.Template
	html *template.Template
}

// NewMail loads the templates of mail. A file in dir, dir/email/mail.txt or
// dir/email/mail.html, replaces the embedded one; an empty dir replaces none.
// Both are run with a mail of every kind, so that a mistake is an error at start.
func NewMail(dir string) (*MailSet, error) {
	src := source{dir: dir}
	if err := src.check(); err != nil {
		return nil, err
	}
	s := &MailSet{}
	plain, err := src.mail("email/mail.txt")
	if err != nil {
		return nil, err
	}
	rich, err := src.mail("email/mail.html")
	if err != nil {
		return nil, err
	}
	var errs []error
	if s.text, err = texttemplate.New("email/mail.txt").Funcs(texttemplate.FuncMap{"indent": indentLines}).Option("missingkey=error").Parse(plain); err != nil {
		errs = append(errs, src.wrapMail(err))
	}
	if s.html, err = template.New("email/mail.html").Option("missingkey=error").Parse(rich); err != nil {
		errs = append(errs, src.wrapMail(err))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, m := range MailSamples() {
		v := m.view(0)
		for _, err := range []error{s.text.Execute(io.Discard, v), s.html.Execute(io.Discard, v)} {
			if err != nil {
				errs = append(errs, src.wrapMail(err))
			}
		}
		if len(errs) > 0 {
			return nil, errors.Join(errs...)
		}
	}
	return s, nil
}

// mail reads a file of the operator's folder or else the embedded one.
func (s source) mail(name string) (string, error) {
	if s.dir != "" {
		b, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err == nil {
			return string(b), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("templates: %w", err)
		}
	}
	b, err := mailFiles.ReadFile(name)
	return string(b), err
}

func (s source) wrapMail(err error) error {
	if s.dir == "" {
		return err
	}
	return fmt.Errorf("templates in %s: %w", s.dir, err)
}

// Render writes a mail. One that would be too large says less, and says so.
func (s *MailSet) Render(m *Mail) (MailText, error) {
	if m.Card == nil && m.Kind != MailLink && m.Kind != MailTest {
		return MailText{}, fmt.Errorf("mail %q: there is no message that it is about", m.Kind)
	}
	out := MailText{Subject: m.subjectOf()}
	for level := 0; ; level++ {
		v := m.view(level)
		var plain, rich bytes.Buffer
		if err := s.text.Execute(&plain, v); err != nil {
			return MailText{}, fmt.Errorf("mail %q: %w", m.Kind, err)
		}
		if err := s.html.Execute(&rich, v); err != nil {
			return MailText{}, fmt.Errorf("mail %q: %w", m.Kind, err)
		}
		out.Text, out.HTML = tidy(plain.String()), rich.String()
		if len(out.HTML) <= MaxMailHTML || level == maxLevel {
			return out, nil
		}
	}
}

// indentLines sets all lines but the first as far in as a value's name stands.
func indentLines(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }

// tidy takes away the blank lines and spaces that a template leaves, and what would
// end the mail early.
func tidy(s string) string {
	var b strings.Builder
	blank := 0
	for line := range strings.Lines(strings.TrimSpace(s)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" {
			blank++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if blank > 0 {
				b.WriteString("\n")
			}
		}
		blank = 0
		b.WriteString(plainLine(line))
	}
	b.WriteString("\n")
	return b.String()
}

// MailSamples are mails of every kind, filled.
func MailSamples() []*Mail {
	who := &hub.Person{ID: "alice", Name: "Alice Ng", Email: "alice@example.com", Location: time.UTC}
	var all []*Mail
	for _, c := range sampleCards(who) {
		c.Fields = []hub.Field{{Name: "n", Title: "T", Description: "D", Type: hub.FieldString, Required: true}, {Name: "m", Title: "m", Type: hub.FieldBoolean}}
		c.Context = []hub.CardPart{{Text: "text"}, {Data: []byte(`{"a":[1,2]}`)}, {File: &ma2h.File{URI: "https://example.com/d", Name: "d"}}}
		m := Mail{
			Card: c, Page: c.ReviewURL, Tag: "Q-7F3K2M", Reply: MailReply{Numbers: "1 or 2", Decline: true, Takes: []string{"text", "yes or no"}},
			Write:   map[int]string{1: "mailto:hub@example.com?subject=Q&body=1"},
			Outcome: &hub.Outcome{Kind: hub.AlreadyResolved, Decision: c.Decision}, Help: "I couldn't read that.", From: "a@example.org",
		}
		for _, k := range []MailKind{MailAsk, MailRemind, MailEnded, MailOutcome, MailLate, MailUnclear, MailUnreadable, MailDoubt} {
			one := m
			one.Kind = k
			all = append(all, &one)
		}
	}
	return append(all,
		&Mail{Kind: MailLink, Link: "https://beckon.example.com/l/x", Expires: time.Now().Add(time.Hour)},
		&Mail{Kind: MailTest},
	)
}
