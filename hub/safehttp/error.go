package safehttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
)

// Kind is what kept a call from being answered.
type Kind string

// The kinds. The first three are permanent.
const (
	RefusedURL     Kind = "refused_url"     // see [Client.CheckURL]
	RefusedAddress Kind = "refused_address" // the host has no address that may be called
	BadRequest     Kind = "bad_request"     // a header can't be sent

	DNS      Kind = "dns"      // the name could not be looked up
	Connect  Kind = "connect"  // no address took the connection
	TLS      Kind = "tls"      // the other side did not prove who it is
	Timeout  Kind = "timeout"  // the time was up
	Broken   Kind = "broken"   // what came back is no HTTP answer
	Canceled Kind = "canceled" // the caller's context was cancelled
)

// Error is a call that was not answered, or a URL that may not be called. No part
// of it comes from the other side, and the host is all it has of the request.
type Error struct {
	Kind Kind
	Msg  string // what is wrong and what to do, for whoever chose the URL
	// Addr is what a refused address was, if one was. Msg leaves it out: what
	// names mean in here is for operators only.
	Addr netip.Addr
	// Sent: the request may have arrived all the same.
	Sent bool

	cause error // a sentinel without text of others
}

func (e *Error) Error() string {
	s := string(e.Kind) + ": " + e.Msg
	if e.Addr.IsValid() {
		s += " (" + e.Addr.WithZone("").String() + ")"
	}
	return s
}

// Unwrap returns [context.Canceled], [context.DeadlineExceeded] or an error
// number of the system, if one of these was the cause.
func (e *Error) Unwrap() error { return e.cause }

// Permanent reports whether trying again is no use.
func (e *Error) Permanent() bool {
	return e.Kind == RefusedURL || e.Kind == RefusedAddress || e.Kind == BadRequest
}

func refuseURL(format string, args ...any) *Error {
	return &Error{Kind: RefusedURL, Msg: fmt.Sprintf(format, args...)}
}

// phase is how far a call came.
type phase int

const (
	waiting  phase = iota // for a connection to come free
	dialling              // look-up, connection, TLS
	sent                  // the request may be under way
)

// failed says in our own words how a call to a host failed. Only an error of
// this package keeps what it says.
func failed(call context.Context, host string, p phase, err error) *Error {
	e, ours := errors.AsType[*Error](err)
	if !ours {
		e = brokenError(host, err)
	}
	e.Sent = p == sent
	switch {
	case e.Permanent():
	case errors.Is(call.Err(), context.Canceled):
		e.Kind, e.Msg, e.cause = Canceled, "the call to "+host+" was given up", context.Canceled
	case call.Err() != nil || errors.Is(e, context.DeadlineExceeded):
		e.Kind, e.cause = Timeout, context.DeadlineExceeded
		e.Msg = host + [...]string{
			waiting:  " was not called in time: too many calls to it are under way",
			dialling: " took no connection in time",
			sent:     " did not answer in time",
		}[p]
	}
	return e
}

// brokenError says what came instead of an answer.
func brokenError(host string, err error) *Error {
	e := &Error{Kind: Broken, cause: sentinel(err)}
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case isOp && op.Op == "remote error": // an alert: TLS 1.3 misses a client's certificate only now
		e.Kind, e.Msg = TLS, host+" ended TLS; it may ask for a client certificate, which it does not get"
	case hungUp(err):
		e.Msg = host + " closed the connection without an answer"
	default:
		e.Msg = host + " answered with something that is not HTTP, or with too long a header"
	}
	return e
}

// hungUp reports whether the other side ended the connection.
func hungUp(err error) bool {
	for _, target := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// sentinel returns the part of an error that has no text of others in it.
func sentinel(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return nil
}

// tlsError says why a handshake failed.
func tlsError(host string, err error) *Error {
	e := &Error{Kind: TLS, cause: sentinel(err)}
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, noRoots := errors.AsType[x509.SystemRootsError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case noTLS:
		e.Msg = host + " does not speak TLS on that port"
	case unknown, noRoots:
		e.Msg = "nobody whom this machine trusts vouches for the certificate of " + host
	case otherName:
		e.Msg = "the certificate of " + host + " is for another name"
	case bad && invalid.Reason == x509.Expired:
		e.Msg = "the certificate of " + host + " has expired or is not valid yet"
	case bad:
		e.Msg = "the certificate of " + host + " is not valid for a server"
	case hungUp(err):
		e.Msg = host + " closed the connection during the TLS handshake"
	default:
		e.Msg = host + " ended the TLS handshake; it must speak TLS 1.2 or later and ask for no client certificate"
	}
	return e
}

// dnsError says why a name could not be looked up.
func dnsError(host string, err error) *Error {
	e := &Error{Kind: DNS, Msg: host + " could not be looked up: the name servers give no answer"}
	if d, ok := errors.AsType[*net.DNSError](err); ok && d.IsNotFound {
		e.Msg = host + " could not be looked up: there is no such name, or it has no address"
	}
	return e
}

// connectError says why no address took a connection.
func connectError(host string, err error) *Error {
	e := &Error{Kind: Connect, Msg: host + " can't be reached", cause: sentinel(err)}
	if errors.Is(err, syscall.ECONNREFUSED) {
		e.Msg = host + " refuses the connection: nothing listens there"
	}
	return e
}
