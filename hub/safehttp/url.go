package safehttp

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURL is how many bytes a URL may have.
const MaxURL = 2048

// maxName is how many bytes a name has at most (RFC 1035, section 2.3.4, less
// the two ends of its wire form).
const maxName = 253

// CheckURL checks a URL that somebody chose, without looking anything up, and
// returns it with its host in the one form that is dialled: lower case, A-labels
// (RFC 5890), addresses as [netip.Addr] writes them, no default port. Hosts that
// parsers read in different ways are refused, whatever they might mean. The
// error is an [*Error] whose Msg goes on from the name of a field: "must begin
// with https://". It quotes nothing of the URL.
func (c *Client) CheckURL(raw string) (*url.URL, error) {
	if err := checkText(raw); err != nil {
		return nil, err
	}
	authority, err := authorityOf(raw)
	if err != nil {
		return nil, err
	}
	host, port, err := splitAuthority(authority)
	if err != nil {
		return nil, err
	}
	name, err := c.checkHost(host)
	if err != nil {
		return nil, err
	}
	u, perr := url.Parse(raw)
	if perr != nil || u.Host != authority || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, refuseURL("is not a URL such as https://agent.example.com/path")
	}
	switch {
	case u.Scheme == "http" && !(c.opt.AllowLoopback && isLoopback(name)):
		if c.opt.AllowLoopback {
			return nil, refuseURL("must begin with https://; plain http:// is for this machine only, such as http://localhost:8080/")
		}
		return nil, refuseURL("must begin with https://")
	case u.Scheme == "https" && port == "443", u.Scheme == "http" && port == "80":
		port = ""
	}
	u.RawQuery = asciiQuery(u.RawQuery)
	u.Host = name
	if strings.Contains(name, ":") {
		u.Host = "[" + name + "]"
	}
	if port != "" {
		u.Host += ":" + port
	}
	return u, nil
}

// asciiQuery percent-encodes what no request line may hold, which net/url does
// for paths alone.
func asciiQuery(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c > unicode.MaxASCII {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Authority returns host and port of a URL from [Client.CheckURL], the port
// always being there: what a connection goes to.
func Authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// checkText refuses what makes parsers disagree or a reader be fooled.
func checkText(raw string) *Error {
	switch {
	case raw == "":
		return refuseURL("is empty")
	case len(raw) > MaxURL:
		return refuseURL("has %d bytes, the limit is %d", len(raw), MaxURL)
	case !utf8.ValidString(raw):
		return refuseURL("is not UTF-8")
	case strings.ContainsFunc(raw, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return refuseURL("has a space, a backslash or an invisible character in it; percent-encode it")
	case strings.Contains(raw, "#"):
		return refuseURL("must have no fragment: leave out # and what follows")
	}
	return nil
}

// authorityOf returns what stands between the slashes of a URL, letter by letter.
func authorityOf(raw string) (string, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return "", refuseURL("must begin with https://")
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	switch {
	case authority == "":
		return "", refuseURL("names no host")
	case strings.Contains(authority, "@"):
		return "", refuseURL("must have no user name or password in front of the host")
	case strings.Contains(authority, "%"):
		return "", refuseURL("has a %% in its host; write the host plainly")
	}
	return authority, nil
}

// splitAuthority splits host from port, which is "" when there is none. An IPv6
// address comes without its brackets, and then alone has a colon.
func splitAuthority(authority string) (host, port string, err error) {
	host = authority
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
		n, perr := strconv.ParseUint(port, 10, 16)
		if perr != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "", "", refuseURL("has a port that is not a number from 1 to 65535")
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if a, perr := netip.ParseAddr(inner); !ok || perr != nil || !a.Is6() || a.Zone() != "" {
			return "", "", refuseURL("has brackets around something that is not an IPv6 address")
		}
		return inner, port, nil
	}
	if strings.Contains(host, ":") {
		return "", "", refuseURL("has more than one colon in its host; an IPv6 address goes into brackets")
	}
	return host, port, nil
}

// checkHost returns the one form of a host that may be called as far as can be
// told without a look-up.
func (c *Client) checkHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		return c.checkLiteral(netip.MustParseAddr(host))
	}
	name, err := asciiName(host)
	if err != nil {
		return "", err
	}
	labels := strings.Split(name, ".")
	if numeric(labels[len(labels)-1]) {
		// Some take 127.1, 0x7f.0.0.1 or 2130706433 for an address.
		a, perr := netip.ParseAddr(name)
		if perr != nil {
			return "", refuseURL("has a host that looks like an IPv4 address and is none; write four decimal numbers without leading zeros, or a name")
		}
		return c.checkLiteral(a)
	}
	if localName(name) {
		if c.opt.AllowLoopback {
			return name, nil
		}
		return "", refuseURL("is for this machine; the host must be on the public internet")
	}
	if len(labels) == 1 {
		return "", refuseURL("has a host without a dot; write its full name, such as agent.example.com")
	}
	if i := slices.Index(privateNames(), labels[len(labels)-1]); i >= 0 || strings.HasSuffix("."+name, ".home.arpa") {
		return "", refuseURL("has a host that is no name of the public internet")
	}
	return name, nil
}

// privateNames are top-level names that stand for nothing in public DNS: RFC
// 6762, RFC 7686, RFC 9476, and internal by ICANN's resolution of 2024-07-29.
func privateNames() []string { return []string{"local", "internal", "onion", "alt"} }

func (c *Client) checkLiteral(a netip.Addr) (string, error) {
	if a.Is4In6() {
		return "", refuseURL("has an IPv4 address written as IPv6; write it as IPv4")
	}
	if e := c.checkAddr("the host", a); e != nil {
		e.Kind = RefusedURL
		e.Msg = "has a " + judge(a) + " address, which is never called; the host must be on the public internet"
		return "", e
	}
	return a.String(), nil
}

// asciiName returns a name in lower case and A-labels. It maps nothing else: a
// name that needs it, such as one in full-width letters, is a disguise or a slip.
func asciiName(host string) (string, error) {
	if strings.HasSuffix(host, ".") {
		return "", refuseURL("has a dot at the end of its host; leave it out")
	}
	// Each letter takes at least one byte in the end, and the conversion takes
	// the square of their number.
	if utf8.RuneCountInString(host) > maxName {
		return "", refuseURL("has a host of more than %d letters", maxName)
	}
	name := strings.ToLower(host)
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) || strings.Contains("."+name, ".xn--") {
		ascii, err := idna.New(idna.ValidateForRegistration(), idna.CheckHyphens(false)).ToASCII(name)
		if err != nil {
			return "", refuseURL("has a host that is no valid international name; write it in lower case and composed letters (NFC)")
		}
		name = ascii
	}
	if !plainName(name) {
		return "", refuseURL("has a host that is no valid name; it takes letters, digits, hyphens and single dots, such as agent.example.com")
	}
	return name, nil
}

// plainName reports whether a name is one of DNS host names (RFC 1123) and
// nothing but it.
func plainName(name string) bool {
	if len(name) > maxName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}

// numeric reports whether a name that ends in this label is an address to some
// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// localName reports a name that means this machine whatever DNS says (RFC 6761,
// section 6.3).
func localName(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// isLoopback reports a host that can't be anything but this machine.
func isLoopback(name string) bool {
	a, err := netip.ParseAddr(name)
	return localName(name) || err == nil && a.IsLoopback()
}
