package safehttp_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"beckon/hub/safehttp"
)

// Whoever does not prove to be the host gets no request.
func TestTLS(t *testing.T) {
	t.Parallel()
	conf := func(certs ...tls.Certificate) *tls.Config { return &tls.Config{Certificates: certs} }
	for _, tt := range []struct {
		name  string
		conf  func(t *testing.T, w *world) *tls.Config
		url   string
		msg   string // part of what is said; "" when it is answered
		takes bool   // the server may see the request
	}{
		{"right", func(t *testing.T, w *world) *tls.Config { return conf(w.ca.issue(t, nil, agentHost)) }, "", "", true},
		{"any name below", func(t *testing.T, w *world) *tls.Config { return conf(w.ca.issue(t, nil, "*.example.com")) }, "", "", true},
		{"address", func(t *testing.T, w *world) *tls.Config { return conf(w.ca.issue(t, nil, agentAddr)) }, "https://" + agentAddr + "/", "", true},
		{"TLS 1.2", func(t *testing.T, w *world) *tls.Config {
			c := conf(w.ca.issue(t, nil, agentHost))
			c.MaxVersion = tls.VersionTLS12
			return c
		}, "", "", true},
		{"TLS 1.1", func(t *testing.T, w *world) *tls.Config {
			c := conf(w.ca.issue(t, nil, agentHost))
			c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
			return c
		}, "", "TLS 1.2 or later", false},
		{"another name", func(t *testing.T, w *world) *tls.Config { return conf(w.ca.issue(t, nil, "other.example.com")) }, "", "for another name", false},
		{"name in place of address", func(t *testing.T, w *world) *tls.Config { return conf(w.ca.issue(t, nil, agentHost)) }, "https://" + agentAddr + "/", "for another name", false},
		{"no name", func(t *testing.T, w *world) *tls.Config { return conf(w.ca.issue(t, nil)) }, "", "for another name", false},
		{"unknown authority", func(t *testing.T, w *world) *tls.Config { return conf(newAuthority(t).issue(t, nil, agentHost)) }, "", "vouches for", false},
		{"its own authority", func(t *testing.T, w *world) *tls.Config {
			template := &x509.Certificate{SerialNumber: w.ca.cert.SerialNumber, DNSNames: []string{agentHost}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
			cert, key := sign(t, template, nil)
			return conf(tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key})
		}, "", "vouches for", false},
		{"expired", func(t *testing.T, w *world) *tls.Config {
			return conf(w.ca.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, agentHost))
		}, "", "has expired", false},
		{"not yet valid", func(t *testing.T, w *world) *tls.Config {
			return conf(w.ca.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, agentHost))
		}, "", "has expired or is not valid yet", false},
		{"not for servers", func(t *testing.T, w *world) *tls.Config {
			return conf(w.ca.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, agentHost))
		}, "", "not valid for a server", false},
		{"wants a certificate, TLS 1.3", func(t *testing.T, w *world) *tls.Config {
			c := conf(w.ca.issue(t, nil, agentHost))
			c.ClientAuth = tls.RequireAnyClientCert
			return c
		}, "", "client certificate", true},
		{"wants a certificate, TLS 1.2", func(t *testing.T, w *world) *tls.Config {
			c := conf(w.ca.issue(t, nil, agentHost))
			c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
			return c
		}, "", "ask for no client certificate", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			came := make(chan struct{}, 1)
			w.put(agentAddr, listen(t, tt.conf(t, w), func(conn net.Conn) {
				came <- struct{}{}
				say("HTTP/1.1 204 No Content\r\n\r\n")(conn)
				io.Copy(io.Discard, conn) //nolint:errcheck // until it closes
			}))
			url := tt.url
			if url == "" {
				url = agentURL
			}
			resp, e := post(t, w.client(safehttp.Options{}), url)
			if tt.msg == "" {
				if e != nil || resp.Status != http.StatusNoContent {
					t.Fatalf("got %+v, %v; want 204", resp, e)
				}
				return
			}
			wantKind(t, e, safehttp.TLS, false, tt.takes)
			if e != nil && !strings.Contains(e.Msg, tt.msg) {
				t.Errorf("%q does not say %q", e.Msg, tt.msg)
			}
			if len(came) > 0 {
				t.Error("the server went on")
			}
		})
	}
}

func TestNoTLS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		handle func(net.Conn)
		kind   safehttp.Kind
		msg    string
	}{
		{"plain HTTP", say("HTTP/1.1 400 Bad Request\r\n\r\n"), safehttp.TLS, "does not speak TLS"},
		{"another protocol", say("220 mail.example.com ESMTP\r\n"), safehttp.TLS, "does not speak TLS"},
		{"hangs up", func(net.Conn) {}, safehttp.TLS, "during the TLS handshake"},
		{"half a record", say("\x16\x03\x03\x00"), safehttp.TLS, "during the TLS handshake"},
		{"nobody listens", nil, safehttp.Connect, "nothing listens there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tt.handle != nil {
				w.put(agentAddr, listen(t, nil, func(conn net.Conn) {
					tt.handle(conn)
					if tcp, ok := conn.(*net.TCPConn); ok {
						tcp.CloseWrite() //nolint:errcheck // it is over
					}
					io.Copy(io.Discard, conn) //nolint:errcheck // so that what was said arrives
				}))
			} else {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				w.put(agentAddr, l.Addr().String())
				l.Close()
			}
			_, e := post(t, w.client(safehttp.Options{}), agentURL)
			wantKind(t, e, tt.kind, false, false)
			if e != nil && !strings.Contains(e.Msg, tt.msg) {
				t.Errorf("%q does not say %q", e.Msg, tt.msg)
			}
		})
	}
}
