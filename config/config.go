// Package config reads the config file and says everything that is wrong with
// it at once, each with file, line, column, the path of the value and, where a
// name was misspelt, what was probably meant:
//
//	beckon.yaml:14:12: routes[0].ask: no person or team "onclal" (did you mean "oncall"?)
//
// The file is YAML, read strictly: an unknown key, a wrong type, a key that
// comes twice or a secret that is empty is an error. Secrets are references
// only (env:NAME, file:/path); no error holds one, even where somebody wrote a
// secret in place of the reference.
//
// The package knows no channel. It hands each channel its section of the file
// as a [hub.Section], which keeps positions, and takes the channel's own
// errors into the same list. So a program loads, builds its channels whether
// or not there were errors, and then asks [Config.Err]:
//
//	c, err := config.Load(path, factories)
//	if c == nil {
//		return err // nothing to build channels from
//	}
//	… factory.New(c.Sections[factory.Name], desk) …
//	if err := c.Err(); err != nil {
//		return err
//	}
package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"
	"syscall"
	"time"

	"go.yaml.in/yaml/v4"

	"beckon/hub"
)

// Defaults for what the file does not say.
const (
	DefaultListen = "127.0.0.1:8420"
	DefaultStore  = "beckon.db"
)

// Config is what a config file says.
type Config struct {
	File   string // as given to Load or Parse
	Listen string // host:port
	// PublicURL has no trailing slash. It is empty when the file has none and
	// Listen has port 0: whoever listens knows the port then.
	PublicURL string
	Store     string // path of the SQLite database
	// Keys is empty when the file names none: use [KeyFile].
	Keys hub.KeyRing
	TLS  *TLS // nil: plain HTTP
	// BehindProxy: a proxy in front speaks TLS, and TrustedProxies may say who
	// the caller is. They are the loopback networks if the file names none.
	BehindProxy    bool
	TrustedProxies []netip.Prefix

	Directory *hub.Directory
	// Sections has an entry for each channel that the file configures, and for
	// each implicit one.
	Sections map[string]hub.Section
	// Templates is a folder whose files replace built-in ones; "" for none.
	Templates string
	Callbacks hub.PushRules

	// Warnings are what is legal and probably not meant, in the file's order.
	Warnings Errors

	prints map[string]fingerprint // of the channels' sections

	root  *yaml.Node
	index map[*yaml.Node]map[string]int // see child
	leaf  *x509.Certificate             // of TLS
	env   func(string) (string, bool)
	errs  Errors
	more  bool // there were more errors than anybody reads
}

// Load reads a config file. The error is [Errors] whenever the file could be
// read. With errors, the Config is nil or, so that channels can add theirs, as
// good as could be made of it: only an error-free one may be used.
func Load(path string, factories []hub.Factory) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	return Parse(path, data, factories, os.LookupEnv)
}

// patience is how long a pipe in place of a file may keep the hub waiting.
const patience = 5 * time.Second

// openFile opens a file to be read, and waits for nobody: the hub reads its
// files again while it runs, and a named pipe that nobody writes to would keep
// it from everything else. It reads as an empty file.
func openFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readFile reads at most one byte more than a config may have.
func readFile(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}

// Parse is [Load] for a file that is in memory already. Errors call it name;
// env is [os.LookupEnv] outside of tests.
func Parse(name string, data []byte, factories []hub.Factory, env func(string) (string, bool)) (*Config, error) {
	c := &Config{File: name, env: env}
	if !c.read(data) {
		return nil, c.Err()
	}
	f := newFile()
	c.decode(c.root, reflect.ValueOf(f).Elem(), nil)
	c.server(f)
	c.keys(f)
	c.directory(f)
	c.channels(factories)
	c.routes(f, factories)
	c.Warnings = c.Warnings.sorted()
	return c, c.Err()
}

// Err returns all errors so far, those that channels have reported through
// their sections included: [Errors], or nil.
func (c *Config) Err() error {
	if len(c.errs) == 0 {
		return nil
	}
	errs := c.errs.sorted()
	if c.more {
		errs = append(errs, Error{File: c.File, Msg: "there are more errors; mend these first"})
	}
	return errs
}

// IsErrors reports whether err says what is wrong with a file's content, as
// opposed to a file that can't be read.
func IsErrors(err error) bool {
	_, ok := errors.AsType[Errors](err)
	return ok
}
