package callback_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"beckon/hub/callback"
)

// The example of RFC 8037, appendices A.1 to A.3.
func TestKeyOfRFC8037(t *testing.T) {
	t.Parallel()
	seed, err := base64.RawURLEncoding.DecodeString("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := callback.SigningKeys([][]byte{seed})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"keys":[{"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA",` +
		`"kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	if got := string(callback.JWKS(keys)); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// Code that is not ours reads the set, and finds the public halves and nothing
// else.
func TestJWKS(t *testing.T) {
	t.Parallel()
	keys := hubKeys(t)
	raw := callback.JWKS(keys)
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	if len(set.Keys) != 2 {
		t.Fatalf("%d keys; want 2", len(set.Keys))
	}
	for i, k := range set.Keys {
		if !k.IsPublic() || !k.Valid() || k.Use != "sig" || k.Algorithm != "EdDSA" || k.KeyID != callback.KeyID(keys[i]) {
			t.Errorf("key %d: %+v", i, k)
		}
		if !keys[i].Public().(ed25519.PublicKey).Equal(k.Key) {
			t.Errorf("key %d is another", i)
		}
		if found := set.Key(callback.KeyID(keys[i])); len(found) != 1 {
			t.Errorf("key %d is there %d times", i, len(found))
		}
		private := base64.RawURLEncoding.EncodeToString(keys[i].Seed())
		if bytes.Contains(raw, []byte(private[:12])) || strings.Contains(string(raw), `"d"`) {
			t.Errorf("key %d: the private half is there", i)
		}
	}
	if got := string(callback.JWKS(nil)); got != `{"keys":[]}` {
		t.Errorf("no keys: %s", got)
	}
}

func TestSigningKeys(t *testing.T) {
	t.Parallel()
	if a, b := hubKeys(t), hubKeys(t); !a[0].Equal(b[0]) || a[0].Equal(a[1]) {
		t.Error("a ring does not lead to keys of its own")
	}
	for _, seeds := range [][][]byte{{nil}, {make([]byte, 31)}, {make([]byte, 32), make([]byte, 64)}} {
		if keys, err := callback.SigningKeys(seeds); err == nil {
			t.Errorf("seeds of other sizes lead to %d keys", len(keys))
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value string
		want  time.Duration
	}{
		{"", 0},
		{"0", 0},
		{"1", time.Second},
		{"120", 2 * time.Minute},
		{"86400", 24 * time.Hour},
		{"86401", 24 * time.Hour},
		{"9223372036854775807", 24 * time.Hour},
		{"99999999999999999999999", 24 * time.Hour},
		{"-1", 0},
		{"+5", 0},
		{"5.5", 0},
		{"5s", 0},
		{"soon", 0},
		{"Tue, 01 Dec 2026 10:05:00 GMT", 5 * time.Minute},
		{"Tuesday, 01-Dec-26 10:05:00 GMT", 5 * time.Minute},
		{"Tue Dec  1 10:05:00 2026", 5 * time.Minute},
		{"Tue, 01 Dec 2026 09:00:00 GMT", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour},
		{"Sat, 01 Jan 0001 00:00:00 GMT", 0},
	} {
		if got := callback.RetryAfter(tt.value, now); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.value, got, tt.want)
		}
	}
}
