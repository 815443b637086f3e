package config

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"beckon/hub"
)

// KeyFile reads the hub's key from a file of its own, or makes one with 32
// random bytes in base64 that only its owner may read. It refuses a file that
// others can read, and one that holds less than [hub.MinKeyBytes]. Keep a copy
// of it apart from the database: without it links and cookies that are out
// stop working, with it anybody can make them.
func KeyFile(path string) (ring hub.KeyRing, created bool, err error) {
	ring, err = readKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, false, err
	}
	if err := makeKeyFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, fmt.Errorf("make key file: %w", err)
	} else if err == nil {
		created = true
	}
	ring, err = readKeyFile(path)
	return ring, created, err
}

func readKeyFile(path string) (hub.KeyRing, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	defer f.Close()
	if err := private(f); err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	key, err := parseKey(string(b))
	if err != nil {
		return nil, fmt.Errorf("key file %s %w", path, err)
	}
	return hub.KeyRing{key}, nil
}

// private refuses a file that everybody may read or write.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory", f.Name())
	}
	if m := info.Mode().Perm(); m&0o007 != 0 {
		return fmt.Errorf("%s can be read by others (mode %04o); run: chmod 600 %s", f.Name(), m, f.Name())
	}
	return nil
}

// makeKeyFile writes a new key and returns once it is on the disk.
func makeKeyFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(path) // ours: O_EXCL made it
		}
	}()
	key := make([]byte, hub.MinKeyBytes)
	rand.Read(key)
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// parseKey decodes a key from base64. No error holds any of it.
func parseKey(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("is empty")
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("does not hold base64, as `openssl rand -base64 32` makes it")
	}
	if len(key) < hub.MinKeyBytes {
		return nil, fmt.Errorf("holds %d bytes, a key has at least %d", len(key), hub.MinKeyBytes)
	}
	return key, nil
}

// keys reads the key ring.
func (c *Config) keys(f *file) {
	p := path{}.key("keys")
	if n := c.find(p); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		c.errorf(p, "is empty; without the key a key file is made beside the database")
	}
	for i, s := range f.Keys {
		if s.IsZero() {
			continue // reported by the decoder
		}
		p := p.at(i)
		if name, ok := strings.CutPrefix(c.find(p).Value, "file:"); ok {
			if err := privateFile(name); err != nil {
				c.errorf(p, "%v", err)
				continue
			}
		}
		key, err := parseKey(s.Reveal())
		if err != nil {
			c.errorf(p, "%v", err)
			continue
		}
		for _, other := range c.Keys {
			if string(other) == string(key) {
				c.errorf(p, "is the same key as one before")
			}
		}
		c.Keys = append(c.Keys, key)
	}
}

func privateFile(name string) error {
	f, err := openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return private(f)
}
