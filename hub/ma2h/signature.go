package ma2h

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of a signature header. What hubs send has about 100 bytes.
const (
	maxSignature = 1024
	maxJTI       = 256
	maxUnix      = 1<<38 - 1 // seconds; the year 10680
)

// Signature is a parsed [SignatureHeader].
type Signature struct {
	T    string // unix seconds, as sent: they are signed as this string
	Time time.Time
	JTI  string // "" at 0.1
	V1   string // hex at 0.1, base64url later; the version says which
}

// ParseSignatureHeader reads the value of a [SignatureHeader]:
// t=…,jti=…,v1=… in any order, with blanks around the parts. Unknown parts are
// skipped; t and v1 are required, and none of the three may come twice. The
// error wraps [ErrSignatureHeader] and quotes nothing.
func ParseSignatureHeader(s string) (Signature, error) {
	bad := func(msg string) (Signature, error) {
		return Signature{}, fmt.Errorf("%w: %s", ErrSignatureHeader, msg)
	}
	if len(s) > maxSignature {
		return bad("too long")
	}
	var sig Signature
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.Trim(part, " \t"), "=")
		if !ok {
			return bad("a part is not name=value")
		}
		var into *string
		switch name {
		case "t":
			into = &sig.T
		case "jti":
			into = &sig.JTI
		case "v1":
			into = &sig.V1
		default:
			continue
		}
		switch {
		case *into != "":
			return bad(name + " comes twice")
		case value == "" || !visible(value):
			return bad(name + " is empty or not plain text")
		}
		*into = value
	}
	if sig.T == "" || sig.V1 == "" {
		return bad("t and v1 are required")
	}
	if len(sig.JTI) > maxJTI {
		return bad("jti is too long")
	}
	unix, err := strconv.ParseInt(sig.T, 10, 64)
	if err != nil || !canonicalInt(sig.T) || unix > maxUnix {
		return bad("t is not a time in unix seconds")
	}
	sig.Time = time.Unix(unix, 0).UTC()
	return sig, nil
}

// visible reports whether s is ASCII without blanks and control characters.
func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// DecodeMAC decodes the v1 of 0.3 and later. It is well-formed when it is
// base64url with no padding or exactly the right one, and decodes to at least 32
// bytes; nothing more is asked, so that what looks like hex passes too (vector
// dp-025).
func DecodeMAC(v1 string) ([]byte, bool) {
	body := strings.TrimRight(v1, "=")
	if pad := len(v1) - len(body); pad != 0 && pad != (4-len(body)%4)%4 {
		return nil, false
	}
	// The decoder skips line breaks, so look at the alphabet first.
	for _, c := range []byte(body) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return nil, false
		}
	}
	sum, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || len(sum) < 32 {
		return nil, false
	}
	return sum, true
}

// decodeHexMAC decodes the v1 of 0.1.
func decodeHexMAC(v1 string) ([]byte, bool) {
	sum, err := hex.DecodeString(v1)
	return sum, err == nil && len(sum) == 32
}
