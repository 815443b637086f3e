package mailbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
)

// kind is what sort of trouble ended a connection; it says when to try again.
type kind int

const (
	network kind = iota // the connection, or the server
	busy                // the server has too many connections, or says that it can't now
	auth                // it refused the login
	ours                // the hub could not store something
	lost                // another hub has the lease now
)

// trouble is why a connection ended, in words for operators.
type trouble struct {
	kind kind
	text string // what is wrong and what to do
	err  error
}

func (t *trouble) Error() string { return t.text }
func (t *trouble) Unwrap() error { return t.err }

func newTrouble(k kind, err error, format string, args ...any) *trouble {
	return &trouble{kind: k, text: fmt.Sprintf(format, args...), err: err}
}

// explain makes a trouble of any error that a connection ends with.
func explain(doing string, err error) *trouble {
	var known *trouble
	var no *imap.Error
	switch {
	case errors.As(err, &known) && known.err == errSlow:
		return newTrouble(network, err, "%s: %s", doing, known.text)
	case errors.As(err, &known):
		return known
	case errors.As(err, &no) && isBusy(no):
		return newTrouble(busy, err, "%s: the server says it has too much to do: %s", doing, serverSays(no))
	case errors.As(err, &no):
		return newTrouble(network, err, "%s: the server says: %s", doing, serverSays(no))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return newTrouble(network, err, "%s: the server closed the connection", doing)
	default:
		return newTrouble(network, err, "%s: %s", doing, oneLine(err.Error()))
	}
}

// connectTrouble says why there is no connection.
func connectTrouble(addr string, err error) *trouble {
	var invalid *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var dns *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return newTrouble(network, err, "connect to %s: its certificate is signed by nobody whom this machine trusts (%s); it needs one from a known authority, or this machine must trust its own", addr, oneLine(err.Error()))
	case errors.As(err, &wrongName):
		return newTrouble(network, err, "connect to %s: its certificate is for another name (%s); use the name that is in the certificate", addr, oneLine(err.Error()))
	case errors.As(err, &invalid):
		return newTrouble(network, err, "connect to %s: its certificate is not valid: %s", addr, oneLine(err.Error()))
	case errors.As(err, &header):
		return newTrouble(network, err, "connect to %s: it does not speak TLS there; is the port right, or is security to be starttls?", addr)
	case errors.As(err, &dns):
		return newTrouble(network, err, "connect to %s: there is no such host (%s)", addr, oneLine(err.Error()))
	default:
		return explain("connect to "+addr, err)
	}
}

// tooMany is how servers say that there are too many connections, in words
// (Gmail, Yahoo, Dovecot, Courier, Exchange).
var tooMany = regexp.MustCompile(`(?i)too many|simultaneous|maximum number of conn|connection limit|limit exceeded|rate limit|try again later|temporar|throttl|server unavailable|backend`)

// locked is how servers say that an account was tried too often: going on at it
// makes that worse.
var locked = regexp.MustCompile(`(?i)locked|blocked|disabled|(login|failed|sign-?in|authentication) (attempt|failure)`)

// isBusy reports whether a refusal is about the server and not about us (RFC
// 5530).
func isBusy(no *imap.Error) bool {
	switch no.Code {
	case imap.ResponseCodeUnavailable, imap.ResponseCodeLimit, imap.ResponseCodeInUse, "THROTTLED", "SERVERBUG":
		return true
	case imap.ResponseCodeAuthenticationFailed, imap.ResponseCodeAuthorizationFailed, imap.ResponseCodeExpired:
		return false
	}
	return tooMany.MatchString(no.Text) && !locked.MatchString(no.Text)
}

// serverSays is a server's text for operators.
func serverSays(no *imap.Error) string {
	text := oneLine(no.Text)
	if text == "" {
		text = string(no.Type)
	}
	if no.Code != "" && no.Code != imap.ResponseCodeAlert {
		return fmt.Sprintf("%s [%s]", text, oneLine(string(no.Code)))
	}
	return text
}

// oneLine cuts foreign text to a line that can be shown and logged.
func oneLine(s string) string {
	const most = 300
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), isControl), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// backoff says how long to wait before the next connection.
type backoff struct {
	t      Timing
	failed int // in a row, other than refused logins
	denied int // refused logins in a row
}

// after returns the wait after a trouble.
func (b *backoff) after(k kind) time.Duration {
	switch k {
	case lost:
		return 0
	case auth:
		b.denied++
		return jitter(doubled(b.t.AuthWait, b.denied, b.t.MaxAuth))
	case busy:
		b.failed++
		return jitter(b.t.MaxBackoff)
	default:
		b.failed++
		return jitter(doubled(b.t.Backoff, b.failed, b.t.MaxBackoff))
	}
}

// well forgets failures: the reader caught up.
func (b *backoff) well() { b.failed, b.denied = 0, 0 }

// doubled returns first, doubled n-1 times, at most most.
func doubled(first time.Duration, n int, most time.Duration) time.Duration {
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// jitter takes off up to a quarter, so that hubs and mailboxes that failed
// together don't try again together.
func jitter(d time.Duration) time.Duration {
	if d < 4 {
		return d
	}
	return d - rand.N(d/4)
}

// sleep waits, and reports false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
