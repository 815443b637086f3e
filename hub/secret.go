package hub

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// hidden is all that anybody sees of a [Secret] who does not ask for it.
const hidden = "<secret>"

// maxSecret bounds a secret file, in bytes.
const maxSecret = 64 << 10

// Secret is a credential from the config. Printed, logged or marshalled it is
// "<secret>", also inside a struct; only [Secret.Reveal] gives it away. The zero
// Secret is one that the config does not set.
type Secret struct {
	// A pointer, because fmt prints the fields of unexported fields without
	// asking their methods, but not what they point to.
	value *string
}

// NewSecret returns a secret that is known already.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// ReadSecret resolves a reference, env:NAME or file:/path; env is
// [os.LookupEnv] outside of tests. White space around the value is not part of
// it. An empty value is an error, and so is anything that is not a reference:
// no error holds what was given instead, for it may be the secret itself.
func ReadSecret(ref string, env func(string) (string, bool)) (Secret, error) {
	scheme, name, _ := strings.Cut(ref, ":")
	var value string
	switch {
	case scheme == "env" && name != "":
		v, ok := env(name)
		if !ok {
			return Secret{}, fmt.Errorf("environment variable %s is not set", name)
		}
		value = v
	case scheme == "file" && filepath.IsAbs(name):
		v, err := readSecretFile(name)
		if err != nil {
			return Secret{}, err
		}
		value = v
	case scheme == "file":
		return Secret{}, errors.New("file: takes an absolute path, such as file:/etc/beckon/key")
	default:
		return Secret{}, errors.New("must be env:NAME or file:/path, not the secret itself")
	}
	value = strings.TrimSpace(value)
	if value == "" {
		return Secret{}, fmt.Errorf("%s is empty", ref)
	}
	return Secret{value: &value}, nil
}

func readSecretFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return "", err
	} else if info.IsDir() {
		return "", fmt.Errorf("read %s: is a directory", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecret {
		return "", fmt.Errorf("read %s: more than %d bytes", path, maxSecret)
	}
	return string(b), nil
}

// Reveal returns the secret, "" when it is not set.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether the secret is not set.
func (s Secret) IsZero() bool { return s.value == nil }

// Equal compares in constant time.
func (s Secret) Equal(o Secret) bool {
	return s.IsZero() == o.IsZero() && subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(o.Reveal())) == 1
}

// UnmarshalText resolves a reference with [ReadSecret] and the environment.
func (s *Secret) UnmarshalText(ref []byte) (err error) {
	*s, err = ReadSecret(string(ref), os.LookupEnv)
	return err
}

// The ways in which a value gets printed.
func (Secret) String() string               { return hidden }
func (Secret) GoString() string             { return hidden }
func (Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
