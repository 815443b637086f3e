package inbound

import (
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"beckon/channels/email/authres"
)

// canonical returns an address in the form in which two are compared: the domain
// as A-labels in lower case, and ASCII letters of the local part in lower case.
// Letters beyond ASCII are left alone, since some of them fold to ASCII ones. ""
// when it is no address.
func canonical(addr string) string {
	at := strings.LastIndexByte(addr, '@')
	if at < 1 || at == len(addr)-1 {
		return ""
	}
	return asciiLower(addr[:at]) + "@" + authres.Domain(addr[at+1:])
}

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// splitAddress returns both halves of an address.
func splitAddress(addr string) (local, domain string) {
	at := strings.LastIndexByte(addr, '@')
	if at < 0 {
		return addr, ""
	}
	return addr[:at], addr[at+1:]
}

// author reads the From of a mail: exactly one address, in canonical form. Why
// says what is wrong with it, for operators.
func (h header) author() (addr, why string) {
	values := h.all("from")
	switch {
	case len(values) == 0:
		return "", "it has no From"
	case len(values) > 1:
		return "", "it has more than one From field"
	}
	if strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "", "its From has control characters"
	}
	list, err := new(mail.AddressParser).ParseList(withoutWords(values[0]))
	switch {
	case err == nil && len(list) > 1:
		return "", "its From has more than one address"
	case strings.HasSuffix(values[0], ";"):
		return "", "its From is a group"
	case err == nil && len(list) == 1:
		addr = canonical(list[0].Address)
	default:
		addr = canonical(onlyAngle(values[0]))
	}
	if addr == "" {
		return "", "its From has no address that can be read"
	}
	return addr, ""
}

// withoutWords puts a quoted string in the place of encoded words: a display name is
// ignored, so that an unknown charset in it must not make the address unreadable.
func withoutWords(s string) string {
	return encodedWord.ReplaceAllString(s, `"?"`)
}

var encodedWord = regexp.MustCompile(`=\?[^?\s]*\?[BbQq]\?[^?]*\?=`)

// onlyAngle returns the one address in angle brackets that a value ends in,
// whatever its display name is made of, "" when there are more or something
// follows it.
func onlyAngle(s string) string {
	s = strings.TrimSpace(s)
	if strings.Count(s, "<") != 1 || strings.Count(s, ">") != 1 || !strings.HasSuffix(s, ">") {
		return ""
	}
	inner := s[strings.IndexByte(s, '<')+1 : len(s)-1]
	if strings.ContainsAny(inner, " \t,;:\"()\\") || strings.Count(inner, "@") != 1 {
		return ""
	}
	return inner
}

// onBehalf returns the Sender of a mail when it is not its author, as it stands
// when it can't be read.
func (h header) onBehalf(author string) string {
	for _, v := range h.all("sender") {
		a, err := mail.ParseAddress(withoutWords(v))
		if err != nil {
			if v = oneLine(v); v != "" {
				return v
			}
			continue
		}
		if c := canonical(a.Address); c != author {
			return c
		}
	}
	return ""
}

// recipientFields are where the address that a mail was sent to may stand: what
// the sender wrote, and what servers note when they deliver or forward.
func recipientFields() []string {
	return []string{
		"to", "cc", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to",
		"x-forwarded-to", "x-delivered-to", "x-rcpt-to", "x-real-to", "apparently-to", "resent-to",
	}
}

// addressLike finds what may be an address, in fields of any state of repair.
var addressLike = regexp.MustCompile(`[^\s<>,;:"'()\[\]\\]+@[^\s<>,;:"'()\[\]\\]+`)

// recipients returns all that the mail may have been sent to, in the case that it
// stands there, each once.
func (m *Mail) recipients(env Envelope) []string {
	var out []string
	seen := map[string]bool{}
	add := func(s string) {
		for _, a := range addressLike.FindAllString(s, maxFields) {
			a = strings.Trim(unwrap(a), ".")
			if c := canonical(a); c != "" && !seen[c] {
				seen[c] = true
				out = append(out, a)
			}
		}
	}
	for _, to := range env.To {
		add(to)
	}
	for _, name := range recipientFields() {
		for _, v := range m.header.all(name) {
			add(v)
		}
	}
	return out
}

// unwrap takes off what BATV put in front of an envelope address of ours
// (prvs=TAG=local@domain).
func unwrap(addr string) string {
	if rest, ok := strings.CutPrefix(asciiLower(addr), "prvs="); ok {
		if _, after, ok := strings.Cut(rest, "="); ok {
			return addr[len(addr)-len(after):]
		}
	}
	return addr
}

// isOurs reports whether an address is one of ours, or a plus address of one.
func (r *Reader) isOurs(addr string) bool {
	local, domain := splitAddress(canonical(addr))
	return domain != "" && slices.ContainsFunc(r.Addresses, func(a string) bool {
		l, d := splitAddress(canonical(a))
		return d == domain && (local == l || strings.HasPrefix(local, l+"+"))
	})
}

// atOurDomain reports whether an address may be one that we made.
func (r *Reader) atOurDomain(addr string) bool {
	_, domain := splitAddress(canonical(addr))
	return domain != "" && slices.ContainsFunc(r.Addresses, func(a string) bool {
		_, d := splitAddress(canonical(a))
		return d == domain
	})
}

// bracketed finds the ids in a list of them; a fold may stand in the middle of one.
var bracketed = regexp.MustCompile(`<([^<>]{1,1000})>`)

// messageIDs returns the ids in a field, in order, also in a list that lost its
// brackets or has commas and comments in it.
func messageIDs(value string) []string {
	var out []string
	for _, m := range bracketed.FindAllStringSubmatch(value, maxFields) {
		if id := strings.Join(strings.Fields(m[1]), ""); id != "" {
			out = append(out, id)
		}
	}
	return append(out, addressLike.FindAllString(bracketed.ReplaceAllString(value, " "), maxFields)...)
}

// answered returns the ids of the mails that this one answers, newest first, each
// once.
func (h header) answered() []string {
	var out []string
	for _, name := range []string{"in-reply-to", "references"} {
		for _, v := range h.all(name) {
			ids := messageIDs(v)
			slices.Reverse(ids)
			out = append(out, ids...)
		}
	}
	return unique(out)
}

// unique keeps the first of equal strings.
func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		twice := seen[s]
		seen[s] = true
		return twice
	})
}
