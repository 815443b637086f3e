package listener

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// session is what is known of a mail while it comes in. LMTP reads the mail in
// another goroutine than the commands.
type session struct {
	l          *Listener
	ctx        context.Context
	peer, helo string

	mu   sync.Mutex
	from string
	to   []string
}

// replies. The texts are read by operators in the logs of their mail server.
func temporary(text string) error {
	return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: text}
}

func permanent(code int, enhanced smtp.EnhancedCode, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: text}
}

// Mail begins a mail. Every sender is welcome, the null sender too.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.to = from, nil
	return nil
}

// Rcpt asks whether we know a recipient (RFC 5321 section 3.3).
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) (err error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.l.conf.Handle)
	defer cancel()
	ok, err := s.accept(ctx, to)
	switch {
	case err != nil:
		s.l.log.Warn("whether a recipient is known can't be said now; the mail comes again", "err", err)
		return temporary("can't look the address up now, come again later")
	case !ok:
		return permanent(550, smtp.EnhancedCode{5, 1, 1}, "no such address here")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.to, to) {
		s.to = append(s.to, to)
	}
	return nil
}

func (s *session) accept(ctx context.Context, to string) (ok bool, err error) {
	defer recovered(&err)
	if hasControl(to) {
		return false, nil
	}
	return s.l.hooks.Accept(ctx, to)
}

// Data takes the mail itself (SMTP).
func (s *session) Data(r io.Reader) error { return s.take(r) }

// LMTPData takes the mail itself (LMTP). What is returned is said for every
// recipient.
func (s *session) LMTPData(r io.Reader, _ smtp.StatusCollector) error { return s.take(r) }

// take reads a mail and has it handled. The error is the reply.
func (s *session) take(r io.Reader) error {
	if chunks, ok := r.(*io.PipeReader); ok {
		// BDAT (RFC 3030) is not offered, see [conn.Write].
		_, _ = io.Copy(io.Discard, chunks)
		return permanent(502, smtp.EnhancedCode{5, 5, 1}, "BDAT is not offered here, use DATA")
	}
	s.mu.Lock()
	m := Mail{From: s.from, To: slices.Clone(s.to), Peer: s.peer, Helo: s.helo, At: time.Now()}
	s.mu.Unlock()
	var buf bytes.Buffer
	writeTrace(&buf, m)
	if _, err := buf.ReadFrom(r); err != nil {
		return s.unread(err)
	}
	m.Raw = buf.Bytes()
	ctx, cancel := context.WithTimeout(s.ctx, s.l.conf.Handle)
	defer cancel()
	err := s.handle(ctx, m)
	var refused *Refusal
	switch {
	case err == nil:
		s.l.log.Debug("a mail was taken", "peer", m.Peer, "recipients", len(m.To), "bytes", len(m.Raw))
		return nil
	case errors.As(err, &refused):
		s.l.log.Info("a mail was refused", "peer", m.Peer, "err", err)
		return permanent(554, smtp.EnhancedCode{5, 6, 0}, oneLine(refused.Msg))
	default:
		s.l.log.Error("a mail could not be handled; it comes again", "peer", m.Peer, "err", err)
		return temporary("can't take the mail now, come again later")
	}
}

// unread is the reply to a mail that did not come in whole. It may never be
// handled: what is there could be somebody's answer cut short.
func (s *session) unread(err error) error {
	var known *smtp.SMTPError
	switch {
	case errors.Is(err, smtp.ErrTooLongLine):
		return permanent(554, smtp.EnhancedCode{5, 6, 0}, fmt.Sprintf("a line of the mail is longer than %d bytes", s.l.conf.MaxLine))
	case errors.As(err, &known):
		return known // too big
	}
	s.l.log.Debug("a mail did not come in whole", "peer", s.peer, "err", err)
	return temporary("the mail did not come in whole, come again later")
}

func (s *session) handle(ctx context.Context, m Mail) (err error) {
	defer recovered(&err)
	return s.l.hooks.Handle(ctx, m)
}

// Reset forgets a mail that was begun.
func (s *session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.to = "", nil
}

// Logout does nothing: what there is ends with the connection.
func (s *session) Logout() error { return nil }

// writeTrace writes what whoever delivers a mail writes before it (RFC 5321
// section 4.4), so that the envelope is not lost.
func writeTrace(w *bytes.Buffer, m Mail) {
	if !hasControl(m.From) {
		fmt.Fprintf(w, "Return-Path: <%s>\r\n", m.From)
	}
	for _, to := range m.To {
		fmt.Fprintf(w, "Delivered-To: %s\r\n", to)
	}
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// oneLine makes a text fit for a reply.
func oneLine(s string) string {
	const most = 200
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }), " ")
	return s[:min(len(s), most)]
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}
