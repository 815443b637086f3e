package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newPair returns a certificate for beckon.example.com and its key, in PEM.
func newPair(t *testing.T, from, until time.Time) (cert, key string) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: from, NotAfter: until, DNSNames: []string{"beckon.example.com"},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, priv.Public(), priv)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pk}))
}

func TestTLSFiles(t *testing.T) {
	t.Parallel()
	now := time.Now()
	cert, key := newPair(t, now.Add(-time.Hour), now.AddDate(1, 0, 0))
	_, otherKey := newPair(t, now.Add(-time.Hour), now.AddDate(1, 0, 0))
	expired, expiredKey := newPair(t, now.AddDate(-1, 0, 0), now.AddDate(0, 0, -1))
	early, earlyKey := newPair(t, now.AddDate(0, 0, 2), now.AddDate(1, 0, 0))
	soon, soonKey := newPair(t, now.Add(-time.Hour), now.AddDate(0, 0, 3))
	tests := []struct {
		name, cert, key string
		mode            os.FileMode
		url             string
		err, warning    string // DIR stands for the folder
	}{
		{"good", cert, key, 0o600, "https://beckon.example.com", "", ""},
		{"the group may read the key", cert, key, 0o640, "https://beckon.example.com", "", ""},
		{
			"others may read the key", cert, key, 0o644, "https://beckon.example.com",
			"b.yaml:3:8: tls.key: DIR/k can be read by others (mode 0644); run: chmod 600 DIR/k", "",
		},
		{
			"another key", cert, otherKey, 0o600, "https://beckon.example.com",
			"b.yaml:1:1: tls: certificate and key: private key does not match public key", "",
		},
		{
			"exchanged", key, cert, 0o600, "https://beckon.example.com",
			"b.yaml:2:9: tls.cert: DIR/c holds a key, not a certificate; are cert and key exchanged?\n" +
				"b.yaml:3:8: tls.key: DIR/k holds a certificate, not a key; are cert and key exchanged?", "",
		},
		{
			"no PEM", "hello", "world", 0o600, "https://beckon.example.com",
			"b.yaml:2:9: tls.cert: DIR/c holds no certificate in PEM (-----BEGIN CERTIFICATE-----)\n" +
				"b.yaml:3:8: tls.key: DIR/k holds no key in PEM (-----BEGIN PRIVATE KEY-----)", "",
		},
		{
			"cut short", cert[:100], key, 0o600, "https://beckon.example.com",
			"b.yaml:2:9: tls.cert: DIR/c is cut short, or is no PEM", "",
		},
		{
			"a passphrase", cert, strings.ReplaceAll(key, "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"), 0o600, "https://beckon.example.com",
			"b.yaml:3:8: tls.key: DIR/k needs a passphrase; the hub can't ask for one (openssl pkey takes it out)", "",
		},
		{"expired", expired, expiredKey, 0o600, "https://beckon.example.com", "", "b.yaml:2:9: tls.cert: the certificate has expired on " + day(now.AddDate(0, 0, -1)) + "; nobody will accept it"},
		{"not valid yet", early, earlyKey, 0o600, "https://beckon.example.com", "", "b.yaml:2:9: tls.cert: the certificate is not valid before " + day(now.AddDate(0, 0, 2)) + "; is this machine's clock right?"},
		{"expires soon", soon, soonKey, 0o600, "https://beckon.example.com", "", "b.yaml:2:9: tls.cert: the certificate expires on " + day(now.AddDate(0, 0, 3)) + "; renew it (new files are taken without a restart)"},
		{"another host", cert, key, 0o600, "https://hub.example.com", "", "b.yaml:4:13: public_url: the certificate of tls.cert is not for hub.example.com"},
		{"plain public URL", cert, key, 0o600, "http://localhost:8420", "b.yaml:4:13: public_url: must begin with https://, for tls is set", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "c"), tt.cert, 0o644)
			write(t, filepath.Join(dir, "k"), tt.key, tt.mode)
			text := "tls:\n  cert: " + dir + "/c\n  key: " + dir + "/k\npublic_url: " + tt.url + "\npeople: {alice: {}}\nroutes: [{ask: alice, post: [{web: alice}]}]\n"
			c, _, err := load("b.yaml", text)
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "DIR")
			}
			if got != tt.err {
				t.Errorf("got  %s\nwant %s", got, tt.err)
			}
			warnings := strings.Join(lines(c.Warnings), "\n")
			if err == nil && warnings != tt.warning {
				t.Errorf("warnings: %s\nwant %s", warnings, tt.warning)
			}
		})
	}
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }
