package hub

import (
	"crypto/subtle"
	"log/slog"
)

// hidden is all that anybody sees of a [Secret] who does not ask for it.
const hidden = "<secret>"

// Secret is a credential from the config. Printed, logged or marshalled it is
// "<secret>", also inside a struct; only [Secret.Reveal] gives it away. The zero
// Secret is one that the config does not set. Package config resolves the
// reference that the file has in its place.
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

// The ways in which a value gets printed.
func (Secret) String() string               { return hidden }
func (Secret) GoString() string             { return hidden }
func (Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
