package email

import (
	"bytes"
	"crypto"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"

	"beckon/channels/email/inbound"
	"beckon/hub"
	"beckon/templates"

	"github.com/emersion/go-msgauth/dkim"
	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"
)

// letter is one mail, ready to be written. All of it is ours but the texts, which
// templates made inert, and the names.
type letter struct {
	fromName string
	from     string // the hub's own address
	to       mail.Address
	replyTo  string // "" for a mail that wants no answer
	envelope string // where bounces go

	id         string   // Message-ID, without < and >
	inReplyTo  string   // the mail that this one follows, "" for none
	references []string // the thread, oldest first
	boundary   string
	date       time.Time

	text      templates.MailText
	answers   bool   // it answers a mail of the person's: auto-replied
	suppress  string // which automatic answers Exchange is not to send
	message   string // id of the message that it is about, "" for none
	kind      string // for Feedback-ID
	agent     string
	listID    string
	instance  string
	encoding8 bool // readable as it stands; for previews
}

// What Exchange is asked not to answer with. Away is wanted: it says that the
// person won't answer.
// https://learn.microsoft.com/openspecs/exchange_server_protocols/ms-oxcmail
const (
	suppressAll     = "All"
	suppressButAway = "DR, RN, NRN, AutoReply"
)

// Headers of ours besides those of the standards.
const (
	// instanceHeader marks our mails, so that none of them is taken for an answer.
	instanceHeader = inbound.InstanceHeader
	// messageHeader says which message a mail is about, for whoever debugs.
	messageHeader = "X-Beckon-Message"
)

// maxReferences bounds the thread that a mail names.
const maxReferences = 20

// write makes the bytes of a mail, with CRLF, signed when there is a signer.
func (l *letter) write(seal *sealer) ([]byte, error) {
	encoding := gomail.EncodingQP
	if l.encoding8 {
		encoding = gomail.NoEncoding
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithCharset(gomail.CharsetUTF8), gomail.WithEncoding(encoding), gomail.WithBoundary(l.boundary))
	m.FromMailAddress(&mail.Address{Name: l.fromName, Address: l.from})
	m.ToMailAddress(&l.to)
	if l.replyTo != "" {
		m.ReplyToMailAddress(&mail.Address{Address: l.replyTo})
	}
	m.SetGenHeader(gomail.HeaderSubject, encodeSubject(l.text.Subject))
	m.SetDateWithValue(l.date)
	m.SetMessageIDWithValue(l.id)
	set := func(h gomail.Header, value string) {
		if value != "" {
			m.SetGenHeader(h, value)
		}
	}
	if l.inReplyTo != "" {
		set(gomail.HeaderInReplyTo, "<"+l.inReplyTo+">")
	}
	if refs := l.references; len(refs) > 0 {
		if len(refs) > maxReferences { // the first is the thread's
			refs = append(refs[:1:1], refs[len(refs)-maxReferences+1:]...)
		}
		set(gomail.HeaderReferences, "<"+strings.Join(refs, "> <")+">")
	}
	auto := "auto-generated" // RFC 3834 §5
	if l.answers {
		auto = "auto-replied"
	}
	set("Auto-Submitted", auto)
	set("X-Auto-Response-Suppress", l.suppress)
	set("List-Id", l.listID) // RFC 2919: people sort by it. There is no list to post to
	set("x-ms-reactions", "disallow")
	set("Feedback-ID", l.feedbackID())
	set(gomail.HeaderContentLang, "en")
	set(instanceHeader, l.instance)
	set(messageHeader, headerWord(l.message))
	m.SetBodyString(gomail.TypeTextPlain, l.text.Text)
	m.AddAlternativeString(gomail.TypeTextHTML, l.text.HTML)
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("email: write: %w", err)
	}
	raw, err := seal.sign(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("email: sign: %w", err)
	}
	return raw, nil
}

// feedbackID sorts what receivers report on our mail: kind:agent:hub:sender.
// https://support.google.com/a/answer/6254652
func (l *letter) feedbackID() string {
	_, host, _ := strings.Cut(l.from, "@")
	agent := headerWord(l.agent)
	if agent == "" {
		agent = "hub"
	}
	return l.kind + ":" + agent + ":beckon:" + host
}

// headerWord makes one short word of a name, of characters that mean nothing in a
// header.
func headerWord(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/-", r) {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), 60)]
}

// displayName is what an address stands beside: one line, within what mail programs
// show, and without characters that could pass for another address.
func displayName(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\"@,;:\\", r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, templates.Line(s))
	s, _ = templates.Cut(templates.Line(s), 60)
	return s
}

// personAddress is where a person's mail goes; reason says why there is no such
// place.
func personAddress(p *hub.Person) (a mail.Address, reason string) {
	if p.Email == "" {
		return a, "has no email in people"
	}
	parsed, err := mail.ParseAddress(p.Email)
	if err != nil {
		return a, "has an email in people that is no address"
	}
	i := strings.LastIndexByte(parsed.Address, '@')
	domain, err := idna.Lookup.ToASCII(parsed.Address[i+1:])
	if err != nil {
		return a, "has an email in people whose domain can't be looked up"
	}
	return mail.Address{Name: displayName(p.Name), Address: parsed.Address[:i] + "@" + domain}, ""
}

// sealer signs mail (RFC 6376). A nil sealer leaves it as it is.
type sealer struct {
	domain, selector string
	key              crypto.Signer
}

// signedHeaders are what a signature covers: all that a reader or the way back
// depends on. Of those that stand there twice nobody can add another, nor any of
// those that a mail lacks.
func signedHeaders() []string {
	return []string{
		"From", "From", "To", "To", "Reply-To", "Reply-To", "Subject", "Subject", "Date", "Message-ID", "In-Reply-To", "References",
		"MIME-Version", "Content-Type", "Content-Type", "Auto-Submitted", "List-Id",
	}
}

func newSealer(conf *dkimSection) *sealer {
	if conf == nil {
		return nil
	}
	key, err := gomail.PrivKeyFromPEM([]byte(conf.Key.Reveal()))
	if err != nil { // check has looked at it
		return nil
	}
	return &sealer{conf.Domain, conf.Selector, key}
}

// sign puts a signature in front of a mail. It is not go-mail's own: that breaks a
// list of headers which is longer than a line, and the signature with it.
func (s *sealer) sign(raw []byte) ([]byte, error) {
	if s == nil {
		return raw, nil
	}
	var b bytes.Buffer
	err := dkim.Sign(&b, bytes.NewReader(raw), &dkim.SignOptions{
		Domain: s.domain, Selector: s.selector, Signer: s.key, HeaderKeys: signedHeaders(),
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
	})
	return b.Bytes(), err
}
