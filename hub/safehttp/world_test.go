package safehttp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"beckon/hub/safehttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority vouches for the servers of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key = sign(t, template, nil)
	a.pool.AddCert(a.cert)
	return a
}

// issue returns a certificate for names and addresses, after a change to it.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate), names ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	if change != nil {
		change(template)
	}
	cert, key := sign(t, template, a)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func sign(t *testing.T, template *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// world is a public internet on this machine: a name server, and servers that
// stand behind public addresses.
type world struct {
	t   *testing.T
	dns *nameServer
	ca  *authority

	mu     sync.Mutex
	behind map[netip.AddrPort]string // what stands behind an address
	dialed []netip.AddrPort
}

// agentHost is the server that a world begins with, and agentAddr where it is.
const (
	agentHost = "agent.example.com"
	agentAddr = "93.184.216.34"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dns: startDNS(t), ca: newAuthority(t), behind: make(map[netip.AddrPort]string)}
	w.dns.say(agentHost, agentAddr)
	return w
}

// client returns a client that lives in the world. What it dials beyond the
// checks is recorded; nothing stands behind most addresses.
func (w *world) client(opt safehttp.Options) *safehttp.Client {
	opt.Resolver, opt.RootCAs = w.dns.resolver(), w.ca.pool
	c := safehttp.New(opt)
	c.SetConnect(func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, to)
		real := w.behind[to]
		w.mu.Unlock()
		if safehttp.Judge(to.Addr()) != "" {
			return c.DialAddress(ctx, to) // which has its own check
		}
		if real == "" {
			return nil, errors.New("nobody there")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", real)
	})
	return c
}

// serve puts a TLS server behind port 443 of an address.
func (w *world) serve(addr string, h http.Handler, names ...string) *httptest.Server {
	w.t.Helper()
	if len(names) == 0 {
		names = []string{agentHost}
	}
	srv := httptest.NewUnstartedServer(h)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{w.ca.issue(w.t, nil, names...)}}
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	w.t.Cleanup(srv.Close)
	w.put(addr, srv.Listener.Addr().String())
	return srv
}

func (w *world) put(addr, real string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behind[netip.AddrPortFrom(netip.MustParseAddr(addr), 443)] = real
}

// raw puts a server behind an address that does with a connection what handle
// says, after a TLS handshake if secure. A connection ends with handle.
func (w *world) raw(addr string, secure bool, handle func(net.Conn)) {
	w.t.Helper()
	var conf *tls.Config
	if secure {
		conf = &tls.Config{Certificates: []tls.Certificate{w.ca.issue(w.t, nil, agentHost)}}
	}
	w.put(addr, listen(w.t, conf, handle))
}

// listen serves connections until the test ends, and then closes them.
func listen(t *testing.T, conf *tls.Config, handle func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			work.Go(func() {
				defer conn.Close()
				if conf == nil {
					handle(conn)
					return
				}
				secure := tls.Server(conn, conf)
				if secure.Handshake() == nil {
					handle(secure)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return l.Addr().String()
}

// dials returns what was dialled since the last time.
func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, a := range w.dialed {
		out = append(out, a.String())
	}
	w.dialed = nil
	slices.Sort(out)
	return out
}

// lapse is a context whose time is up when somebody says so, and not by a clock
// that a busy machine does not keep.
type lapse struct {
	context.Context
	up   chan struct{}
	once sync.Once
}

func newLapse(t *testing.T) *lapse {
	return &lapse{Context: t.Context(), up: make(chan struct{})}
}

func (l *lapse) end()                  { l.once.Do(func() { close(l.up) }) }
func (l *lapse) Done() <-chan struct{} { return l.up }

func (l *lapse) Err() error {
	select {
	case <-l.up:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// post calls a URL.
func post(t *testing.T, c *safehttp.Client, url string) (*safehttp.Response, *safehttp.Error) {
	t.Helper()
	return postWithin(t.Context(), t, c, url)
}

func postWithin(ctx context.Context, t *testing.T, c *safehttp.Client, url string) (*safehttp.Response, *safehttp.Error) {
	t.Helper()
	resp, err := c.Do(ctx, safehttp.Request{
		Method: "POST", URL: url, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"x":1}`),
	})
	if err == nil {
		return resp, nil
	}
	e, ok := errors.AsType[*safehttp.Error](err)
	if !ok {
		t.Fatalf("%s: %T %v; want an Error", url, err, err)
	}
	return resp, e
}

// wantKind holds an error against what it must be.
func wantKind(t *testing.T, e *safehttp.Error, kind safehttp.Kind, permanent, sent bool) {
	t.Helper()
	if e == nil {
		t.Fatalf("no error; want %s", kind)
	}
	if e.Kind != kind || e.Permanent() != permanent || e.Sent != sent {
		t.Errorf("got %+v (permanent %t); want %s, permanent %t, sent %t", e, e.Permanent(), kind, permanent, sent)
	}
}
