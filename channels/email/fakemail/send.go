package fakemail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
)

// handOver bounds how long the hub's server may take for one mail.
const handOver = 30 * time.Second

// Reply replies to a mail as the person whose mailbox it lies in: to its
// Reply-To, with the text, a signature and the quoted mail as style has it. What
// is sent is kept in the mailbox. The error is that of handing it over; it says
// what the hub's server answered.
func (s *Server) Reply(ctx context.Context, to Mail, text string, style Style) error {
	_, err := s.reply(ctx, &to, text, style)
	return err
}

func (s *Server) reply(ctx context.Context, to *Mail, text string, style Style) (Mail, error) {
	if !style.valid() {
		return Mail{}, fmt.Errorf("fakemail: there is no style %q", style)
	}
	p := s.person(to.Person)
	l, err := replyTo(to, p, text, style)
	if err != nil {
		return Mail{}, err
	}
	return s.send(ctx, to, "", l, p.Address, addressesOf(l))
}

// Write sends a mail that begins a thread, as a mailto link does (RFC 6068): to
// is one address.
func (s *Server) Write(ctx context.Context, person, to, subject, text string, style Style) error {
	_, err := s.write(ctx, person, to, subject, text, style)
	return err
}

func (s *Server) write(ctx context.Context, person, to, subject, text string, style Style) (Mail, error) {
	a, err := mail.ParseAddress(to)
	if err != nil {
		return Mail{}, fmt.Errorf("fakemail: %q is no address: %w", to, err)
	}
	if !style.valid() {
		return Mail{}, fmt.Errorf("fakemail: there is no style %q", style)
	}
	p := s.person(person)
	l := &letter{
		id: newID(hostOf(p.Address)), from: p.mail(), to: []mail.Address{*a},
		subject: subject, date: time.Now().In(p.Zone), body: style.body(text, nil, p.Zone),
	}
	l.mailer(style)
	return s.send(ctx, &Mail{Person: p.Address}, "", l, p.Address, addressesOf(l))
}

// person is who has a mailbox, or would have.
func (s *Server) person(address string) Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[key(address)]; b != nil {
		return b.Person
	}
	return withDefaults(Person{Address: address})
}

// mail is the person's address with their name, if they have one.
func (p Person) mail() mail.Address {
	if p.Name == p.Address {
		return mail.Address{Address: p.Address}
	}
	return mail.Address{Name: p.Name, Address: p.Address}
}

// replyTo writes a reply of a person.
func replyTo(m *Mail, p Person, text string, style Style) (*letter, error) {
	if m.ReplyTo == nil {
		return nil, fmt.Errorf("fakemail: the mail %q has neither From nor Reply-To, so there is nobody to reply to", m.Subject)
	}
	l := &letter{
		id: newID(hostOf(p.Address)), from: p.mail(), to: []mail.Address{*m.ReplyTo},
		subject: again(m.Subject), date: time.Now().In(p.Zone), body: style.body(text, m, p.Zone),
	}
	l.under(m)
	l.mailer(style)
	return l, nil
}

// under puts a letter into the thread of a mail (RFC 5322 section 3.6.4).
func (l *letter) under(m *Mail) {
	l.references = slices.Clone(m.References)
	if m.MessageID != "" {
		l.inReplyTo = m.MessageID
		l.references = append(l.references, m.MessageID)
	}
}

// mailer adds what a mail program says of itself.
func (l *letter) mailer(y Style) {
	switch y {
	case Apple:
		l.fields = append(l.fields, [2]string{"X-Mailer", "iPhone Mail (22G86)"})
	case Outlook:
		l.fields = append(l.fields, [2]string{"Accept-Language", "en-US"}, [2]string{"X-MS-Has-Attach", "no"})
	case Plain:
		l.fields = append(l.fields, [2]string{"User-Agent", "Thunderbird for Android"})
	}
}

// again is the subject of a reply.
func again(subject string) string {
	if len(subject) >= 3 && strings.EqualFold(subject[:3], "re:") {
		return subject
	}
	return "Re: " + subject
}

func addressesOf(l *letter) []string {
	var out []string
	for _, a := range slices.Concat(l.to, l.cc) {
		out = append(out, a.Address)
	}
	return out
}

// send hands a letter over and keeps it in the mailbox of the mail that it is
// sent for. rounds are who gets it, one delivery each.
func (s *Server) send(ctx context.Context, on *Mail, c Case, l *letter, envelopeFrom string, rounds ...[]string) (Mail, error) {
	raw := l.bytes()
	m := parse(raw, false)
	m.At, m.EnvelopeFrom, m.Sent, m.Case, m.about = l.date, envelopeFrom, true, c, on.MessageID
	stamped := s.stamped(raw, l.from.Address, envelopeFrom, l.date)
	var said []string
	var errs []error
	for _, to := range rounds {
		answer, err := s.hand(ctx, envelopeFrom, to, stamped)
		said = append(said, answer...)
		errs = append(errs, err)
	}
	m.Said, m.Err = strings.Join(said, "\n"), errors.Join(errs...)
	return s.keep(on.Person, m), m.Err
}

// hand gives a mail to whom it is for: to people here, and otherwise to the hub.
func (s *Server) hand(ctx context.Context, from string, to []string, raw []byte) (said []string, err error) {
	var hub []string
	for _, a := range to {
		s.mu.Lock()
		here := s.boxes[key(a)] != nil
		s.mu.Unlock()
		if !here {
			hub = append(hub, a)
			continue
		}
		m := parse(bytes.Clone(raw), false)
		m.EnvelopeFrom, m.EnvelopeTo, m.At = from, a, time.Now()
		s.keep(a, m)
		said = append(said, "delivered to "+a)
	}
	if len(hub) == 0 {
		return said, nil
	}
	more, err := s.handHub(ctx, from, hub, raw)
	return append(said, more...), err
}

// handHub gives a mail to the hub's server. It returns a line for each
// recipient whom that took, and an error for the others.
func (s *Server) handHub(ctx context.Context, from string, to []string, raw []byte) ([]string, error) {
	s.mu.Lock()
	addr := s.hub
	s.mu.Unlock()
	if addr == "" {
		return nil, errors.New("fakemail: no address of the hub's server is set, so the mail can't be handed over")
	}
	ctx, cancel := context.WithTimeout(ctx, handOver)
	defer cancel()
	network := "tcp"
	if strings.ContainsRune(addr, '/') || strings.ContainsRune(addr, '\\') {
		network = "unix"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("fakemail: the hub's server can't be reached: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	said, err := converse(conn, !s.opts.HubSMTP, from, to, raw)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("fakemail: the hub's server did not answer within %s: %w", handOver, err)
	}
	return said, err
}

func converse(conn net.Conn, lmtp bool, from string, to []string, raw []byte) (said []string, err error) {
	c := smtp.NewClient(conn)
	if lmtp {
		c = smtp.NewClientLMTP(conn)
	}
	c.CommandTimeout, c.SubmissionTimeout = handOver, handOver
	if err := c.Hello("mail.test"); err != nil {
		return nil, answered("the greeting", err)
	}
	opts := &smtp.MailOptions{}
	if ok, _ := c.Extension("8BITMIME"); ok && !ascii(raw) {
		opts.Body = smtp.Body8BitMIME
	}
	if err := c.Mail(from, opts); err != nil {
		return nil, answered("MAIL FROM:<"+from+">", err)
	}
	var errs []error
	taken := 0
	for _, a := range to {
		if err := c.Rcpt(a, nil); err != nil {
			errs = append(errs, answered(a, err))
			continue
		}
		taken++
	}
	if taken == 0 {
		_ = c.Quit()
		return nil, errors.Join(errs...)
	}
	said, err = data(c, lmtp, to, raw)
	_ = c.Quit() // what counts was said before
	return said, errors.Join(errors.Join(errs...), err)
}

// data sends the mail itself.
func data(c *smtp.Client, lmtp bool, to []string, raw []byte) (said []string, err error) {
	w, err := c.Data()
	if err != nil {
		return nil, answered("DATA", err)
	}
	if _, err := w.Write(raw); err != nil {
		return nil, fmt.Errorf("fakemail: send the mail: %w", err)
	}
	if !lmtp {
		r, err := w.CloseWithResponse()
		if err != nil {
			return nil, answered("the mail", err)
		}
		return []string{"250 " + r.StatusText}, nil
	}
	replies, err := w.CloseWithLMTPResponse()
	for _, a := range to {
		if r := replies[a]; r != nil {
			said = append(said, a+": 250 "+r.StatusText)
		}
	}
	refused, ok := errors.AsType[smtp.LMTPDataError](err)
	if !ok {
		if err != nil {
			err = answered("the mail", err)
		}
		return said, err
	}
	var errs []error
	for _, a := range to {
		if e := refused[a]; e != nil {
			errs = append(errs, answered(a, e))
		}
	}
	return said, errors.Join(errs...)
}

// refusal is an error with what the server said, as it said it.
type refusal struct {
	said string
	err  error
}

func (e *refusal) Error() string { return e.said }

func (e *refusal) Unwrap() error { return e.err }

func answered(to string, err error) error {
	e, ok := errors.AsType[*smtp.SMTPError](err)
	if !ok {
		return fmt.Errorf("fakemail: the hub's server, to %s: %w", to, err)
	}
	enhanced := ""
	if e.EnhancedCode[0] > 0 {
		enhanced = fmt.Sprintf("%d.%d.%d ", e.EnhancedCode[0], e.EnhancedCode[1], e.EnhancedCode[2])
	}
	return &refusal{fmt.Sprintf("fakemail: the hub's server answers %s: %d %s%s", to, e.Code, enhanced, strings.ReplaceAll(e.Message, "\n", " ")), err}
}
