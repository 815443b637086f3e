package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// renewWithin is when a certificate that expires is worth a warning.
const renewWithin = 14 * 24 * time.Hour

// TLS names the files that the hub serves TLS with, in PEM.
type TLS struct {
	Cert, Key string
}

// Load reads the files. It refuses a key that others can read, and one that is
// not the certificate's.
func (t *TLS) Load() (*tls.Certificate, error) {
	cert, err := certPEM(t.Cert)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	key, err := keyPEM(t.Key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	return pair(cert, key)
}

func pair(cert, key []byte) (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %s", strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &c, nil
}

// certPEM reads a file that must hold a certificate.
func certPEM(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.Contains(b, []byte("PRIVATE KEY-----")) && !bytes.Contains(b, []byte("CERTIFICATE-----")):
		return nil, fmt.Errorf("%s holds a key, not a certificate; are cert and key exchanged?", name)
	case !bytes.Contains(b, []byte("-----BEGIN CERTIFICATE-----")):
		return nil, fmt.Errorf("%s holds no certificate in PEM (-----BEGIN CERTIFICATE-----)", name)
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, fmt.Errorf("%s is cut short, or is no PEM", name)
	}
	return b, nil
}

// keyPEM reads a file that must hold a key, and that nobody else may read.
func keyPEM(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := private(f); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.Contains(b, []byte("ENCRYPTED")):
		return nil, fmt.Errorf("%s needs a passphrase; the hub can't ask for one (openssl pkey takes it out)", name)
	case !bytes.Contains(b, []byte("PRIVATE KEY-----")) && bytes.Contains(b, []byte("CERTIFICATE-----")):
		return nil, fmt.Errorf("%s holds a certificate, not a key; are cert and key exchanged?", name)
	case !bytes.Contains(b, []byte("PRIVATE KEY-----")):
		return nil, fmt.Errorf("%s holds no key in PEM (-----BEGIN PRIVATE KEY-----)", name)
	}
	return b, nil
}

// tls reads the section, and the files that it names.
func (c *Config) tls(f *file) {
	if f.TLS == nil {
		return
	}
	p := path{}.key("tls")
	if n := c.find(p); n.Kind != yaml.MappingNode && !null(n) {
		return // reported by the decoder
	}
	whole := true
	for _, v := range []struct{ key, value string }{{"cert", f.TLS.Cert}, {"key", f.TLS.Key}} {
		if n := c.find(p.key(v.key)); n == nil {
			c.errorf(p.key(v.key), "is missing: tls needs both, cert and key, as files in PEM")
			whole = false
		} else if v.value == "" {
			c.notEmpty(p.key(v.key), v.value)
			whole = false
		}
	}
	if !whole {
		return
	}
	cert, err := certPEM(f.TLS.Cert)
	if err != nil {
		c.errorf(p.key("cert"), "%v", plainPathError(err))
	}
	key, kerr := keyPEM(f.TLS.Key)
	if kerr != nil {
		c.errorf(p.key("key"), "%v", plainPathError(kerr))
	}
	if err != nil || kerr != nil {
		return
	}
	both, err := pair(cert, key)
	if err != nil {
		c.errorf(p, "%v", err)
		return
	}
	c.TLS = &TLS{Cert: f.TLS.Cert, Key: f.TLS.Key}
	c.leaf = both.Leaf
	c.validity(both.Leaf)
}

// certificateHost warns of a certificate that is for another host than people
// and agents call.
func (c *Config) certificateHost() {
	u, err := url.Parse(c.PublicURL)
	if c.leaf == nil || c.PublicURL == "" || err != nil {
		return
	}
	if c.leaf.VerifyHostname(u.Hostname()) != nil {
		c.warnf(path{}.key("public_url"), "the certificate of tls.cert is not for %s", u.Hostname())
	}
}

// validity warns of a certificate that browsers and agents refuse, or soon
// will.
func (c *Config) validity(leaf *x509.Certificate) {
	p, now := path{}.key("tls").key("cert"), time.Now()
	switch {
	case now.After(leaf.NotAfter):
		c.warnf(p, "the certificate has expired on %s; nobody will accept it", day(leaf.NotAfter))
	case now.Before(leaf.NotBefore):
		c.warnf(p, "the certificate is not valid before %s; is this machine's clock right?", day(leaf.NotBefore))
	case leaf.NotAfter.Sub(now) < renewWithin:
		c.warnf(p, "the certificate expires on %s; renew it (new files are taken without a restart)", day(leaf.NotAfter))
	}
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }

// plainPathError leaves out what was done to the file: "no such file or
// directory" says enough.
func plainPathError(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}
