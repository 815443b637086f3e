package hub

import (
	"crypto/hkdf"
	"crypto/sha256"
)

// MinKeyBytes is the least that a key file may hold.
const MinKeyBytes = 32

// KeyRing holds the hub's keys: the first signs, all verify.
type KeyRing [][]byte

// Derive returns one 32-byte key a ring entry for a purpose, by HKDF with the
// purpose as label, so that a key for links never verifies a cookie.
func (k KeyRing) Derive(purpose string) [][]byte {
	out := make([][]byte, 0, len(k))
	for _, secret := range k {
		key, err := hkdf.Key(sha256.New, secret, nil, "beckon "+purpose, 32)
		if err != nil {
			panic("hkdf: " + err.Error()) // 32 bytes of SHA-256 never fail
		}
		out = append(out, key)
	}
	return out
}

// Channel returns a channel's own keys for a purpose.
func (k KeyRing) Channel(channel, purpose string) [][]byte {
	return k.Derive(channel + " " + purpose)
}
