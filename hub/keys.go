package hub

import (
	"crypto/ed25519"
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

// Ed25519 returns one signing key a ring entry: the first signs what the hub
// pushes, and discovery shows the public half of all, so that what a key signed
// still verifies while another replaces it.
func (k KeyRing) Ed25519() []ed25519.PrivateKey {
	seeds := k.Derive("ed25519")
	out := make([]ed25519.PrivateKey, len(seeds))
	for i, seed := range seeds {
		out[i] = ed25519.NewKeyFromSeed(seed)
	}
	return out
}

// Channel returns a channel's own keys for a purpose.
func (k KeyRing) Channel(channel, purpose string) [][]byte {
	return k.Derive(channel + " " + purpose)
}
