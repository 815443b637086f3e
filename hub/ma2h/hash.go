package ma2h

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"
)

// canonical returns raw in RFC 8785 form. raw has been scanned.
func canonical(raw []byte) ([]byte, error) {
	out, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return out, nil
}

// PayloadHash identifies what an envelope says: the SHA-256 of its RFC 8785
// form as received, without agent.run_id and agent.session and with nothing
// else left out (spec §8.1). Two submits with one idempotency key are the same
// when their hashes are. It judges no more than [Scan]; the error is an
// [*Error] then.
func PayloadHash(raw []byte) ([sha256.Size]byte, error) {
	if _, err := prescan(raw, envelopeTree, MaxDepth); err != nil {
		return [sha256.Size]byte{}, err
	}
	var top map[string]jsontext.Value
	if err := json.Unmarshal(raw, &top); err != nil {
		return [sha256.Size]byte{}, syntaxError(raw, envelopeTree)
	}
	if agent := top["agent"]; agent.Kind() == '{' {
		var members map[string]jsontext.Value
		if err := json.Unmarshal(agent, &members); err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("payload hash: %w", err)
		}
		delete(members, "run_id")
		delete(members, "session")
		top["agent"] = appendMembers(nil, members)
	}
	form, err := canonical(appendMembers(make([]byte, 0, len(raw)), top))
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("payload hash: %w", err)
	}
	return sha256.Sum256(form), nil
}

// appendMembers writes an object in no particular order; the canonical form has
// its own.
func appendMembers(dst []byte, members map[string]jsontext.Value) []byte {
	o := beginObject(dst)
	for name, value := range members {
		o.raw(name, value)
	}
	return o.end()
}
