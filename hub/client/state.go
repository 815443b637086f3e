package client

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrState is what [OpenState] returns for a state that this agent did not seal,
// or that was changed since. Nothing in it may be used (spec §9.3).
var ErrState = errors.New("the state was not sealed by this agent, or was changed")

// minSecret is how many bytes a secret must have at least.
const minSecret = 16

// sealForm names how a state is sealed: AES-256-GCM with a random nonce in
// front, in base64url, under a key that HKDF-SHA256 makes of secret and agent.
const sealForm = "beckon1."

// StateKeys are what an agent seals its state with (spec §9.3). The secrets are
// the agent's own: the hub must never have them, so they are neither the token
// nor the callback secret, and they outlive the process that asked.
type StateKeys struct {
	Secrets [][]byte // at least 16 random bytes each; the first seals, all open
	AgentID string
}

// sealed is the object that stands for a sealed state.
type sealed struct {
	Sealed    string `json:"sealed"`
	ClientRef string `json:"client_ref,omitzero"`
}

// SealState encrypts what an agent must know to go on, as an object for the
// envelope's state. ClientRef is the message's client_ref, or "": it stays
// readable and is bound to the seal, as the agent's id is, so that the state of
// one job can't pass for another's.
func SealState(k StateKeys, clientRef string, plaintext []byte) (jsontext.Value, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	aead, err := k.aead(k.Secrets[0])
	if err != nil {
		return nil, err
	}
	box := aead.Seal(nil, nil, plaintext, k.bound(clientRef))
	state, err := json.Marshal(sealed{Sealed: sealForm + base64.RawURLEncoding.EncodeToString(box), ClientRef: clientRef})
	if err != nil {
		return nil, &UsageError{Msg: "the client_ref of a state must be valid UTF-8"}
	}
	return state, nil
}

// OpenState opens the state of a Response, and returns the client_ref that it
// was sealed with. The error is [ErrState], or a [*UsageError] for keys that
// can't be used.
func OpenState(k StateKeys, state []byte) (clientRef string, plaintext []byte, err error) {
	if err := k.check(); err != nil {
		return "", nil, err
	}
	var s sealed
	if err := json.Unmarshal(state, &s, json.RejectUnknownMembers(true)); err != nil {
		return "", nil, ErrState
	}
	text, ok := strings.CutPrefix(s.Sealed, sealForm)
	if !ok || strings.ContainsAny(text, "\r\n") { // which the decoder would skip
		return "", nil, ErrState
	}
	box, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", nil, ErrState
	}
	for _, secret := range k.Secrets {
		aead, err := k.aead(secret)
		if err != nil {
			return "", nil, err
		}
		if plaintext, err := aead.Open(nil, nil, box, k.bound(s.ClientRef)); err == nil {
			return s.ClientRef, plaintext, nil
		}
	}
	return "", nil, ErrState
}

func (k StateKeys) check() error {
	switch {
	case k.AgentID == "":
		return &UsageError{Msg: "sealing a state takes the agent's id"}
	case len(k.Secrets) == 0:
		return &UsageError{Msg: "sealing a state takes a secret of the agent's own"}
	}
	for _, s := range k.Secrets {
		if len(s) < minSecret {
			return &UsageError{Msg: fmt.Sprintf("a secret that seals a state must have %d bytes or more; 32 random ones are good", minSecret)}
		}
	}
	return nil
}

// aead makes the cipher of one secret. Its keys are the agent's alone, also when
// several agents share a secret.
func (k StateKeys) aead(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "beckon state 1\x00"+k.AgentID, 32)
	if err != nil {
		return nil, fmt.Errorf("key of the state: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key of the state: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// bound is what a seal covers besides the text. The length in front keeps the
// two apart.
func (k StateKeys) bound(clientRef string) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(len(k.AgentID)))
	return append(append(b, k.AgentID...), clientRef...)
}
