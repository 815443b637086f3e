package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"beckon/config"
)

const (
	// renewEvery is how often the files of the certificate are looked at.
	renewEvery = 30 * time.Second
	// complainEvery is how often files that can't be used are logged again.
	complainEvery = time.Hour
)

// certificate is what the hub shows to those who connect by TLS. It is read
// again when its files change, so that a renewal needs no restart; files that
// can't be used leave the old one in place.
type certificate struct {
	log  *slog.Logger
	cert atomic.Pointer[tls.Certificate]

	mu         sync.Mutex
	files      config.TLS
	seen       [2]stamp // of the files when they were last read
	complained time.Time
}

// stamp tells one content of a file from another without reading it.
type stamp struct {
	modified time.Time
	size     int64
}

func stampsOf(files config.TLS) (out [2]stamp) {
	for i, name := range []string{files.Cert, files.Key} {
		if info, err := os.Stat(name); err == nil {
			out[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return out
}

// newCertificate reads the files, which may be none: then it is nil.
func newCertificate(files *config.TLS, log *slog.Logger) (*certificate, error) {
	if files == nil {
		return nil, nil
	}
	c := &certificate{log: log}
	return c, c.use(*files)
}

// use reads the certificate from these files from now on. On an error nothing
// changes.
func (c *certificate) use(files config.TLS) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := stampsOf(files)
	cert, err := files.Load()
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	c.files, c.seen, c.complained = files, seen, time.Time{}
	c.cert.Store(cert)
	return nil
}

// refresh reads the files again if they have changed. One of them may be
// written before the other: then they don't fit for a moment.
func (c *certificate) refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	seen := stampsOf(c.files)
	changed := seen != c.seen
	if !changed && (c.complained.IsZero() || now.Sub(c.complained) < complainEvery) {
		return
	}
	cert, err := c.files.Load()
	c.seen = seen
	if err != nil {
		c.complained = now
		c.log.Error("the new files of tls can't be used; the old certificate stays", "expires", c.cert.Load().Leaf.NotAfter, "err", err)
		return
	}
	c.complained = time.Time{}
	c.cert.Store(cert)
	c.log.Info("the certificate was read again", "expires", cert.Leaf.NotAfter)
}

// config is for a server: TLS 1.2 or newer, and HTTP/2 for those who want it.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if cert := c.cert.Load(); cert != nil {
				return cert, nil
			}
			return nil, errors.New("no certificate")
		},
	}
}
