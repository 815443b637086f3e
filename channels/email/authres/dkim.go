package authres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/emersion/go-msgauth/dkim"
)

// maxSignatures bounds the signatures that are checked, each of which asks DNS.
const maxSignatures = 5

// LookupTXT asks DNS for the TXT records of a name.
type LookupTXT func(ctx context.Context, name string) ([]string, error)

// CheckDKIM checks the signatures of a mail ourselves, for a server that writes no
// results. Raw is the mail as it came, From the domain of its From address.
// Only DKIM is filled in: without SPF there is no DMARC result. The keys change, so
// this is to be done soon after the mail came.
func CheckDKIM(ctx context.Context, raw []byte, from string, lookup LookupTXT) Verdict {
	v := Verdict{By: Own, DMARC: None, DKIM: None, SPF: None}
	checks, err := verify(raw, func(name string) ([]string, error) { return lookup(ctx, name) })
	if err != nil && len(checks) == 0 {
		return v
	}
	seen := false
	for _, c := range checks {
		if !SameOrganization(c.Domain, from) {
			continue
		}
		r := Pass
		switch {
		case dkim.IsTempFail(c.Err):
			r = TempError
		case c.Err != nil:
			r = Fail
		}
		// One good signature is enough (RFC 6376 §6.1): nobody but the domain
		// can have made it.
		if !seen || v.DKIM != Pass && (r == Pass || r == TempError) {
			v.DKIM, v.DKIMDomain = r, Domain(c.Domain)
		}
		seen = true
	}
	return v
}

// verify keeps a signature that breaks the library from breaking us.
func verify(raw []byte, lookup func(string) ([]string, error)) (checks []*dkim.Verification, err error) {
	defer func() {
		if p := recover(); p != nil {
			checks, err = nil, fmt.Errorf("check DKIM: %v", p)
		}
	}()
	return dkim.VerifyWithOptions(bytes.NewReader(crlf(raw)), &dkim.VerifyOptions{
		LookupTXT:        lookup,
		MaxVerifications: maxSignatures,
	})
}

// crlf gives every line the end that it had on the wire, which is what was
// signed; files on a disk often have lost it.
func crlf(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("\n")) || bytes.Count(raw, []byte("\n")) == bytes.Count(raw, []byte("\r\n")) {
		return raw
	}
	out := make([]byte, 0, len(raw)+len(raw)/32)
	for i, c := range raw {
		if c == '\n' && (i == 0 || raw[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}
