package callback

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// KeyPurpose is what [hub.KeyRing.Derive] is given for the seeds of
// [SigningKeys].
const KeyPurpose = "ed25519"

// SigningKeys returns the hub's Ed25519 keys from 32-byte seeds, as a key ring
// derives them: the first signs, and all are published. To renew the hub's key
// without an agent that has not heard of it, add the new one at the end, and move
// it to the front when agents have had time to read it.
func SigningKeys(seeds [][]byte) ([]ed25519.PrivateKey, error) {
	keys := make([]ed25519.PrivateKey, 0, len(seeds))
	for i, seed := range seeds {
		if len(seed) != ed25519.SeedSize {
			return nil, fmt.Errorf("signing key %d: the seed has %d bytes, it must have %d", i+1, len(seed), ed25519.SeedSize)
		}
		keys = append(keys, ed25519.NewKeyFromSeed(seed))
	}
	return keys, nil
}

// JWKS returns the public halves of keys as a JWK set (RFC 7517, RFC 8037), in
// order. It tells nothing of the private ones.
func JWKS(keys []ed25519.PrivateKey) []byte {
	set := make([]string, 0, len(keys))
	for _, key := range keys {
		// All parts are base64url, so nothing needs escaping.
		set = append(set, fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA","kid":"%s","x":"%s"}`, KeyID(key), publicX(key)))
	}
	return []byte(`{"keys":[` + strings.Join(set, ",") + `]}`)
}

// KeyID names a key by the thumbprint of its public half (RFC 7638, RFC 8037
// appendix A.3).
func KeyID(key ed25519.PrivateKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + publicX(key) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func publicX(key ed25519.PrivateKey) string {
	return base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}
