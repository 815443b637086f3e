package email

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// peer is an SMTP server that keeps what it gets, and fails as a test tells it.
type peer struct {
	t     *testing.T
	srv   *smtp.Server
	ln    net.Listener
	host  string
	port  uint16
	roots *x509.CertPool

	mu    sync.Mutex
	mails []received
	conns int // connections so far
	open  []net.Conn

	// What goes wrong. Each may be nil.
	onConn func() error
	onMail func(from string) error
	onRcpt func(to string) error
	onData func(conn net.Conn, raw []byte) error // when the whole mail is there
	secret string                                // the password or token that is right
	mechs  []string
}

// received is a mail as it arrived.
type received struct {
	from, to string
	raw      []byte
	tls      bool
	user     string
}

type peerOptions struct {
	tls  string // tlsStart, tlsWhole or tlsNone
	name string // in the certificate; "" for the address
	size int64
	utf8 bool
}

func startPeer(t *testing.T, o peerOptions) *peer {
	t.Helper()
	p := &peer{t: t, host: "127.0.0.1", mechs: []string{"PLAIN"}, secret: "mail-secret"}
	p.srv = smtp.NewServer(smtp.BackendFunc(p.session))
	p.srv.Domain, p.srv.MaxMessageBytes, p.srv.EnableSMTPUTF8 = "mx.example.com", o.size, o.utf8
	p.srv.AllowInsecureAuth = o.tls == tlsNone
	p.srv.ErrorLog = log.New(io.Discard, "", 0)
	p.srv.ReadTimeout, p.srv.WriteTimeout = time.Minute, time.Minute
	var cert tls.Certificate
	cert, p.roots = newCertificate(t, o.name)
	conf := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.port = uint16(ln.Addr().(*net.TCPAddr).Port)
	switch o.tls {
	case tlsWhole:
		ln = tls.NewListener(ln, conf)
	case tlsStart:
		p.srv.TLSConfig = conf
	}
	p.ln = ln
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.srv.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = p.srv.Close()
		_ = ln.Close() // Serve may not have begun
		p.drop()
		<-done
	})
	return p
}

// drop breaks every connection.
func (p *peer) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

func (p *peer) got() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]received(nil), p.mails...)
}

func (p *peer) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns
}

// only returns the one mail that there must be.
func (p *peer) only() received {
	p.t.Helper()
	all := p.got()
	if len(all) != 1 {
		p.t.Fatalf("%d mails arrived, want 1", len(all))
	}
	return all[0]
}

func (p *peer) session(c *smtp.Conn) (smtp.Session, error) {
	p.mu.Lock()
	p.conns++
	p.open = append(p.open, c.Conn())
	f := p.onConn
	p.mu.Unlock()
	if f != nil {
		if err := f(); err != nil {
			return nil, err
		}
	}
	return &session{p: p, c: c}, nil
}

// fault changes what goes wrong, which a connection that is ending may still ask.
func (p *peer) fault(change func(*peer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func hook[F any](p *peer, get func(*peer) F) F {
	p.mu.Lock()
	defer p.mu.Unlock()
	return get(p)
}

// session is one connection.
type session struct {
	p        *peer
	c        *smtp.Conn
	from, to string
	user     string
}

func (s *session) Reset()        { s.from, s.to = "", "" }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	if f := hook(s.p, func(p *peer) func(string) error { return p.onMail }); f != nil {
		return f(from)
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	if f := hook(s.p, func(p *peer) func(string) error { return p.onRcpt }); f != nil {
		return f(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if f := hook(s.p, func(p *peer) func(net.Conn, []byte) error { return p.onData }); f != nil {
		if err := f(s.c.Conn(), raw); err != nil {
			if e, ok := errors.AsType[*smtp.SMTPError](err); !ok || e.Code != 250 {
				return err
			}
			s.keep(raw)
			return err
		}
	}
	s.keep(raw)
	return nil
}

func (s *session) keep(raw []byte) {
	_, isTLS := s.c.TLSConnectionState()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.mails = append(s.p.mails, received{s.from, s.to, raw, isTLS, s.user})
}

func (s *session) AuthMechanisms() []string { return s.p.mechs }

func (s *session) Auth(mech string) (sasl.Server, error) {
	check := func(user, secret string) error {
		if secret != s.p.secret {
			// Some servers repeat what they were told.
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "bad credentials for " + user + ": " + secret}
		}
		s.user = mech + " " + user
		return nil
	}
	switch mech {
	case "PLAIN":
		return sasl.NewPlainServer(func(_, user, password string) error { return check(user, password) }), nil
	case "LOGIN":
		return &loginServer{check: check}, nil
	case "CRAM-MD5":
		return &cramServer{secret: s.p.secret, check: check}, nil
	case "XOAUTH2":
		return &xoauth2Server{check: check}, nil
	}
	return nil, smtp.ErrAuthUnknownMechanism
}

// loginServer is the LOGIN mechanism.
type loginServer struct {
	check func(user, password string) error
	user  *string
}

func (l *loginServer) Next(response []byte) ([]byte, bool, error) {
	switch {
	case response == nil:
		return []byte("Username:"), false, nil
	case l.user == nil:
		user := string(response)
		l.user = &user
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(*l.user, string(response))
}

// cramServer is CRAM-MD5 (RFC 2195).
type cramServer struct {
	secret string
	check  func(user, password string) error
}

func (c *cramServer) Next(response []byte) ([]byte, bool, error) {
	const challenge = "<1896.697170952@mx.example.com>"
	if response == nil {
		return []byte(challenge), false, nil
	}
	user, digest, _ := strings.Cut(string(response), " ")
	m := hmac.New(md5.New, []byte(c.secret))
	m.Write([]byte(challenge))
	if digest != hex.EncodeToString(m.Sum(nil)) {
		return nil, true, c.check(user, digest)
	}
	return nil, true, c.check(user, c.secret)
}

// xoauth2Server is XOAUTH2: a refusal comes as a challenge first.
type xoauth2Server struct {
	check func(user, token string) error
	err   error
}

func (x *xoauth2Server) Next(response []byte) ([]byte, bool, error) {
	if x.err != nil {
		return nil, true, x.err
	}
	user, token, _ := strings.Cut(string(response), "\x01auth=Bearer ")
	if x.err = x.check(strings.TrimPrefix(user, "user="), strings.TrimSuffix(token, "\x01\x01")); x.err != nil {
		return []byte(`{"status":"401","schemes":"bearer","scope":"https://mail.google.com/"}`), false, nil
	}
	return nil, true, nil
}

// newCertificate makes a certificate for a name, or for 127.0.0.1, and whom to
// trust for it.
func newCertificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if name != "" {
		c.IPAddresses, c.DNSNames = nil, []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// parsed reads a mail.
func parsed(t *testing.T, raw []byte) *mail.Message {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("the mail can't be read: %v\n%s", err, raw)
	}
	return m
}

// saying has a server take a mail with words of its own.
func saying(said string) func(net.Conn, []byte) error {
	return func(net.Conn, []byte) error {
		return &smtp.SMTPError{Code: 250, EnhancedCode: smtp.NoEnhancedCode, Message: said}
	}
}
