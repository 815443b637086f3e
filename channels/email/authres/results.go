package authres

import (
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Result is what a check found, in the words of RFC 8601 §2.7. Any other word is
// None.
type Result string

// The results.
const (
	Pass      Result = "pass"
	None      Result = "none" // not checked, nothing to check, or not said
	Neutral   Result = "neutral"
	Policy    Result = "policy"
	TempError Result = "temperror" // may be known later
	PermError Result = "permerror"
	SoftFail  Result = "softfail"
	Fail      Result = "fail"
)

// byBadness has the worst result last.
var byBadness = []Result{Pass, None, Neutral, TempError, Policy, PermError, SoftFail, Fail}

func worse(a, b Result) Result {
	if slices.Index(byBadness, a) >= slices.Index(byBadness, b) {
		return a
	}
	return b
}

// resultOf reads a result as servers write it.
func resultOf(s string) Result {
	switch r := Result(s); {
	case slices.Contains(byBadness, r):
		return r
	case s == "hardfail":
		return Fail
	}
	return None
}

// Verdict is what is known about the From domain of a mail.
type Verdict struct {
	// By is who says so: the server's id, [Unnamed], or [Own]; "" when nobody
	// does.
	By    string
	DMARC Result // for the From domain
	DKIM  Result // of a signature that is aligned with the From domain
	SPF   Result // of the envelope's domain, whichever that is

	DKIMDomain string // of the signature that DKIM is about; "" when there is none
	SPFDomain  string // of MAIL FROM
	// Damaged: our server's header was meddled with, or can't be read.
	Damaged bool
}

// Who may have made a [Verdict] besides a named server.
const (
	Unnamed = "unnamed" // a header that names no server
	Own     = "own"     // we checked ourselves
)

// Proved reports whether the From domain vouches for the mail.
func (v *Verdict) Proved() bool { return v.DMARC == Pass || v.DKIM == Pass }

// Trusted reads the verdict of our own server out of all Authentication-Results
// headers of a mail, topmost first, with their values as they stand. Id is the
// name under which our server writes them, and letter case does not matter. With
// unnamed, our server writes no name: then the topmost header counts if it has
// none, and no other. From is the domain of the From address.
//
// Headers below the topmost of our server may be forged: it removes only some of
// what others wrote in its name (RFC 8601 §5).
func Trusted(headers []string, id string, unnamed bool, from string) Verdict {
	v := Verdict{DMARC: None, DKIM: None, SPF: None}
	for i, value := range headers {
		name := serverID(value)
		switch {
		case unnamed && i == 0 && name == "":
			v.By = Unnamed
		case id != "" && strings.EqualFold(name, id):
			v.By = name
		case id == "":
			return v // only the topmost could count, and this is it
		default:
			continue
		}
		h, err := Parse(value, v.By == Unnamed)
		if err != nil {
			v.Damaged = true
			return v
		}
		if h.Version == "" || h.Version == "1" {
			v.read(h, from)
		} else {
			v.By = ""
		}
		return v
	}
	return v
}

// serverID returns the id at the head of a header, and "" when it begins with a
// result at once. Of a damaged header it takes the first word, so that one of our
// own server is not passed over for another below.
func serverID(value string) string {
	tokens, err := scan(value)
	if err != nil {
		first := strings.TrimLeft(unfold(value), " \t")
		if i := strings.IndexAny(first, " \t;(\""); i >= 0 {
			first = first[:i]
		}
		tokens = []token{{kind: word, text: first}}
	}
	var h Header
	h.readID(split(tokens)[0])
	if strings.Contains(h.ID, "=") {
		return ""
	}
	return h.ID
}

// read takes over the results of a header.
func (v *Verdict) read(h *Header, from string) {
	seen := map[string]bool{}
	take := func(into *Result, method string, r Result) {
		if seen[method] {
			r = worse(*into, r)
		}
		seen[method] = true
		*into = r
	}
	for i := range h.Methods {
		m := &h.Methods[i]
		r := resultOf(m.Result)
		if m.Version != "" && m.Version != "1" || m.Odd && r == Pass {
			r = None
		}
		switch m.Name {
		case "dmarc":
			if d, ok := m.Get("header", "from"); ok && r == Pass && !SameOrganization(domainOf(d), from) {
				r = None // about some other From
			}
			take(&v.DMARC, "dmarc", r)
		case "spf":
			take(&v.SPF, "spf", r)
			if d, ok := m.Get("smtp", "mailfrom"); ok && v.SPFDomain == "" {
				v.SPFDomain = domainOf(d)
			}
		case "dkim":
			d := signer(m)
			if d == "" && r == Pass || d != "" && !SameOrganization(d, from) {
				continue // says nothing about From
			}
			take(&v.DKIM, "dkim", r)
			if d != "" {
				v.DKIMDomain = d
			}
		}
	}
}

// signer returns the domain of a signature: header.d, else that of header.i.
func signer(m *Method) string {
	if d, ok := m.Get("header", "d"); ok {
		return domainOf(d)
	}
	i, _ := m.Get("header", "i")
	return domainOf(i)
}

// domainOf returns the domain of an address or domain, as [Domain] does.
func domainOf(s string) string {
	s = strings.Trim(s, "<> ")
	return Domain(s[strings.LastIndexByte(s, '@')+1:])
}

// Domain returns a domain in the form in which two are compared: A-labels, lower
// case, without a dot at the end.
func Domain(s string) string {
	s = strings.TrimSuffix(s, ".")
	if a, err := idna.Lookup.ToASCII(s); err == nil {
		return a
	}
	return strings.ToLower(s)
}

// SameOrganization reports whether two domains are aligned in DMARC's relaxed
// mode: they have the same organizational domain (RFC 7489 §3.1.1).
func SameOrganization(a, b string) bool {
	a, b = Domain(a), Domain(b)
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	orgA, errA := publicsuffix.EffectiveTLDPlusOne(a)
	orgB, errB := publicsuffix.EffectiveTLDPlusOne(b)
	return errA == nil && errB == nil && orgA == orgB
}
