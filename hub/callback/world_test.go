package callback_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"beckon/hub"
	"beckon/hub/callback"
	"beckon/hub/ma2h"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a secret of the agent's, with ü"

// got is a push as a receiver saw it.
type got struct {
	url    string
	proto  int
	header http.Header
	body   []byte
}

// receiver is an agent's HTTPS server.
type receiver struct {
	*httptest.Server
	answer http.HandlerFunc // nil: 200

	mu  sync.Mutex
	all []got
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.EnableHTTP2 = true
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		r.mu.Lock()
		r.all = append(r.all, got{"https://" + req.Host + req.RequestURI, req.ProtoMajor, req.Header.Clone(), body})
		r.mu.Unlock()
	}
	if r.answer != nil {
		r.answer(w, req)
	}
}

// pushes returns what has come.
func (r *receiver) pushes() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.all...)
}

// roots vouches for the receiver.
func (r *receiver) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	return pool
}

// pusher returns a pusher that may call the receiver.
func (r *receiver) pusher(opt callback.Options) *callback.Pusher {
	opt.AllowLoopback, opt.RootCAs = true, r.roots()
	return callback.New(opt)
}

// rawReceiver is an HTTPS server that does with each connection what handle says,
// and then ends it. When the context ends it must be done.
func rawReceiver(t *testing.T, handle func(context.Context, net.Conn)) (url string, roots *x509.CertPool) {
	t.Helper()
	cert := newReceiver(t, nil)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: cert.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			end := context.AfterFunc(ctx, func() { conn.Close() })
			work.Go(func() {
				defer end()
				defer conn.Close()
				if conn.(*tls.Conn).Handshake() == nil {
					handle(ctx, conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		stop()
		work.Wait()
	})
	return "https://" + l.Addr().String() + "/ma2h", cert.roots()
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

// version is the wire form of a minor version.
func version(minor int) string {
	return map[int]string{0: "0.0", 1: "0.1", 2: "0.2", 3: "0.3", 4: "0.4", 5: "0.5"}[minor]
}

// response returns a Response as the hub keeps it.
func response(t *testing.T, minor int) []byte {
	t.Helper()
	edited := &ma2h.Response{
		Version: version(minor), InReplyTo: "msg_01JZ", ResolutionID: "res_1", Agent: ma2h.ResponseAgent{ID: "deploybot", RunID: "run_1"},
		Resolution: ma2h.Answered, State: []byte(`{"step": 3,"sealed":"ü<&>"}`),
		Response: &ma2h.Detail{
			Value: []byte(`{"reason":"disk\u2028full","n":1.50}`), Actor: "human:alice", ResolvedAt: "2026-12-01T10:00:00.000Z", Comment: "go",
		},
	}
	body, err := edited.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// signedPush is a push that is signed with the secret.
func signedPush(t *testing.T, minor int, url string) hub.Push {
	t.Helper()
	return hub.Push{
		MessageID: "msg_01JZ", DeliveryID: "dlv_01JZ-1", URL: url, Minor: minor, Body: response(t, minor),
		Scheme: "hmac", Signing: hub.NewSecret(secret), Algorithm: ma2h.AlgHMAC,
	}
}

// wantDelivery holds an error against what it must be.
func wantDelivery(t *testing.T, err error, code string, permanent, maybeSent bool) *hub.DeliveryError {
	t.Helper()
	e, ok := errors.AsType[*hub.DeliveryError](err)
	if !ok {
		t.Fatalf("got %v; want a DeliveryError %s", err, code)
	}
	if e.Code != code || e.Permanent != permanent || e.MaybeSent != maybeSent {
		t.Errorf("got %s, permanent %t, maybe sent %t; want %s, %t, %t", e.Code, e.Permanent, e.MaybeSent, code, permanent, maybeSent)
	}
	if e.Msg == "" || strings.HasSuffix(e.Msg, ": ") {
		t.Errorf("%s says %q", e.Code, e.Msg)
	}
	return e
}

// hubKeys are the keys of a hub with two.
func hubKeys(t *testing.T) []ed25519.PrivateKey {
	t.Helper()
	ring := hub.KeyRing{[]byte(strings.Repeat("k", 32)), []byte(strings.Repeat("l", 32))}
	keys, err := callback.SigningKeys(ring.Derive(callback.KeyPurpose))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
