package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/config"
)

// newPair returns a certificate and its key in PEM.
func newPair(t *testing.T, serial int64, until time.Time) (cert, key []byte) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: until, DNSNames: []string{"hub"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, priv.Public(), priv)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pk})
}

// A certificate is read again when its files change, never without need, and
// files that can't be used change nothing but the log.
func TestCertificateRefresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	var log bytes.Buffer
	modified := time.Now().Add(-time.Hour)
	put := func(name string, data []byte, mode os.FileMode) {
		t.Helper()
		modified = modified.Add(time.Second) // as coarse as a file system's clock may be
		for _, err := range []error{
			os.WriteFile(name, data, mode), os.Chmod(name, mode), os.Chtimes(name, modified, modified),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	year := time.Now().AddDate(1, 0, 0)
	expired, expiredKey := newPair(t, 1, time.Now().Add(-time.Hour))
	put(files.Cert, expired, 0o644)
	put(files.Key, expiredKey, 0o600)
	c, err := newCertificate(&files, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(expired)
	shows := func(serial int64, problem string) {
		t.Helper()
		got, err := handshake(t, c, pool)
		if got != serial || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("a client sees serial %d, %v; want %d, %s", got, err, serial, problem)
		}
	}
	says := func(what string) {
		t.Helper()
		if what == "" && log.Len() > 0 || what != "" && strings.Count(log.String(), what) != 1 {
			t.Errorf("the log says %q, want %q once", log.String(), what)
		}
		log.Reset()
	}
	shows(1, "expired")

	good, goodKey := newPair(t, 2, year)
	pool.AppendCertsFromPEM(good)
	put(files.Cert, good, 0o644)
	c.refresh() // the key is still the old one
	says("private key does not match public key")
	shows(1, "expired")
	c.refresh()
	says("") // it has been said
	put(files.Key, goodKey, 0o600)
	c.refresh()
	says("read again")
	shows(2, "")

	put(files.Key, goodKey, 0o644)
	c.refresh()
	says("can be read by others")
	shows(2, "")
	put(files.Key, goodKey, 0o600)
	c.refresh()
	says("read again")

	if err := os.Remove(files.Cert); err != nil {
		t.Fatal(err)
	}
	c.refresh()
	says("no such file")
	shows(2, "")
	if err := c.use(files); err == nil {
		t.Error("a reload takes files that are not there")
	}
	shows(2, "")
}

// handshake connects to a server with the certificate, over a pipe.
func handshake(t *testing.T, c *certificate, pool *x509.CertPool) (serial int64, err error) {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() {
		s := tls.Server(server, c.config())
		done <- s.Handshake()
		_ = server.Close()
	}()
	// Our own verification is the usual one, but for noting what was shown.
	k := tls.Client(client, &tls.Config{InsecureSkipVerify: true, ServerName: "hub", VerifyConnection: func(s tls.ConnectionState) error {
		serial = s.PeerCertificates[0].SerialNumber.Int64()
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: "hub", Roots: pool})
		return err
	}})
	err = k.HandshakeContext(t.Context())
	_ = client.Close()
	<-done
	return serial, err
}
