package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/hub/app"
)

// pair is a certificate in two files.
type pair struct {
	dir  string
	pool *x509.CertPool
}

// write makes a new certificate for 127.0.0.1.
func (p *pair) write(t *testing.T, serial int64, until time.Time) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, priv.Public(), priv)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	p.pool.AppendCertsFromPEM(cert)
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pk})} {
		if err := os.WriteFile(filepath.Join(p.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// handshake returns the serial number that the server shows, and whether a
// client that checks it goes on.
func (p *pair) handshake(addr string, version uint16) (serial int64, err error) {
	var shown int64
	c, err := tls.Dial("tcp", addr, &tls.Config{
		RootCAs: p.pool, MinVersion: version, MaxVersion: version,
	})
	if err == nil {
		shown = c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		err = c.Close()
	}
	return shown, err
}

func TestTLS(t *testing.T) {
	t.Parallel()
	p := &pair{dir: t.TempDir(), pool: x509.NewCertPool()}
	p.write(t, 1, time.Now().AddDate(1, 0, 0))
	text := fmt.Sprintf(yaml, filepath.Join(t.TempDir(), "beckon.db")) +
		fmt.Sprintf("tls: {cert: %s/cert.pem, key: %s/key.pem}\n", p.dir, p.dir)
	a, err := app.New(t.Context(), parse(t, text), app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	addr := a.Addr().String()
	if a.URL() != "https://"+addr {
		t.Errorf("the public URL is %s", a.URL())
	}

	// HTTP/2, from a client that checks the certificate; a poll is parked on it.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.pool}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	do := func(method, path, body string) (string, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, a.URL()+path, strings.NewReader(body))
		if err != nil {
			return "", err.Error()
		}
		req.Header.Set("Authorization", "Bearer "+botToken)
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return "", err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return "", err.Error()
		}
		return resp.Proto + " " + resp.Status, string(b)
	}
	status, ack := do("POST", "/v1/messages", envelope("k1", func(m map[string]any) {
		m["request"].(map[string]any)["allowed_resolvers"] = []string{"agent:deploybot/dev-team"}
	}))
	if status != "HTTP/2.0 202 Accepted" {
		t.Fatalf("submit: %s %s", status, ack)
	}
	_, id, _ := strings.Cut(ack, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	polled := make(chan string, 1)
	go func() {
		status, body := do("GET", "/v1/messages/"+id+"?wait=30", "")
		polled <- status + body
	}()
	waitFor(t, func() bool {
		_, m := do("GET", "/metrics", "")
		return strings.Contains(m, "beckon_polls_parked 1\n")
	})

	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		if serial, err := p.handshake(addr, version); (err == nil) != ok || ok && serial != 1 {
			t.Errorf("%s: serial %d, %v", tls.VersionName(version), serial, err)
		}
	}

	// A renewed certificate is shown after a reload, and the parked poll stays.
	p.write(t, 2, time.Now().AddDate(1, 0, 0))
	if serial, _ := p.handshake(addr, tls.VersionTLS13); serial != 1 {
		t.Errorf("before the reload: serial %d", serial)
	}
	if err := a.Reload(parse(t, text)); err != nil {
		t.Fatal(err)
	}
	if serial, err := p.handshake(addr, tls.VersionTLS13); serial != 2 || err != nil {
		t.Errorf("after the reload: serial %d, %v", serial, err)
	}
	if status, body := do("POST", "/v1/messages/"+id+"/resolve", `{"resolution":"answered","value":"ship"}`); !strings.Contains(status, "200") {
		t.Fatalf("resolve: %s %s", status, body)
	}
	if got := <-polled; !strings.HasPrefix(got, "HTTP/2.0 200") || !strings.Contains(got, `"status":"answered"`) {
		t.Errorf("the parked poll got %s", got)
	}

	// Plain HTTP on the same port gets no answer that could be mistaken for one.
	resp, err := http.Get("http://" + addr + "/healthz")
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP: %s", resp.Status)
		}
	}

	// Without tls it would be another server.
	err = a.Reload(parse(t, strings.Replace(text, "tls:", "# tls:", 1)))
	if err == nil || !strings.Contains(err.Error(), "tls can't change") {
		t.Errorf("without tls: %v", err)
	}
}
