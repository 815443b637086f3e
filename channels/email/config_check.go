package email

import (
	"cmp"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"beckon/hub"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"
)

// maxLocal bounds the local part of our addresses, in octets. RFC 5321 §4.5.3.1.1
// allows 64, but forwarders put some 25 of their own in front.
const maxLocal = 40

// checker reports what is wrong with a section.
type checker struct {
	s  hub.Section
	ok bool
}

func (k *checker) errorf(field, format string, args ...any) {
	k.ok = false
	if k.s.Errorf != nil {
		k.s.Errorf(field, format, args...)
	}
}

// check reports what is wrong with the section and fills in what it leaves out.
func (conf *section) check(s hub.Section, d *hub.Directory) bool {
	k := &checker{s: s, ok: true}
	conf.FromName = cmp.Or(conf.FromName, "Beckon")
	conf.Plus = cmp.Or(conf.Plus, "+")
	conf.Policy = cmp.Or(conf.Policy, policyNormal)
	conf.MaxPerDay = cmp.Or(conf.MaxPerDay, defaultMaxPerDay)
	conf.checkAddresses(k, d)
	conf.checkSMTP(k)
	conf.checkInbound(k)
	conf.checkOAuth(k)
	conf.checkDKIM(k)
	if conf.MaxPerDay < 0 {
		k.errorf("max_per_day", "must be at least 1")
	}
	return k.ok
}

func (conf *section) checkAddresses(k *checker, d *hub.Directory) {
	local, domain, err := splitOwn(conf.From)
	switch {
	case conf.From == "":
		k.errorf("from", "is missing: the address that the hub's mail comes from, such as hub@example.com")
	case err != nil:
		k.errorf("from", "%v", err)
	}
	if strings.ContainsFunc(conf.FromName, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		k.errorf("from_name", "must be one line of text")
	}
	switch {
	case conf.Plus != plusOff && (len(conf.Plus) != 1 || !strings.Contains("+-=_.", conf.Plus)):
		k.errorf("plus", "must be one of + - = _ . (usually +), or off")
	case conf.Plus != plusOff && err == nil && len(local)+len(conf.Plus)+1+tokenChars > maxLocal:
		k.errorf("from", "%q is too long: with a token behind it the name in front of the @ has %d characters, and many servers forward no more than %d; use a shorter one, or plus: off",
			local, len(local)+len(conf.Plus)+1+tokenChars, maxLocal)
	}
	if !slices.Contains([]string{policyStrict, policyNormal, policyToken}, conf.Policy) {
		k.errorf("policy", "must be strict, normal or token")
	}
	if conf.AuthservNone && conf.AuthservID != "" {
		k.errorf("authserv_none", "is of no use beside authserv_id; leave one of them out")
	}
	if strings.ContainsAny(conf.AuthservID, " \t\r\n;") {
		k.errorf("authserv_id", "must be the one name that stands first in Authentication-Results, such as mx.example.com")
	}
	own := local + "@" + domain
	conf.checkPeople(k, d, own)
}

// checkPeople looks at who writes from where: no address may be two people's, and
// none the hub's own, which would make it answer itself.
func (conf *section) checkPeople(k *checker, d *hub.Directory, own string) {
	owner := map[string]string{}
	if d != nil {
		for _, id := range sortedKeys(d.People) {
			if a, err := foldAddress(d.People[id].Email); err == nil && a != "" {
				owner[a] = id
				if a == own {
					k.errorf("from", "is also the email of %s in people; give the hub a mailbox of its own", id)
				}
			}
		}
	}
	for _, id := range sortedKeys(conf.Aliases) {
		if d != nil && d.People[id] == nil {
			k.errorf("aliases."+id, "there is no person %q in people", id)
		}
		for i, alias := range conf.Aliases[id] {
			field := fmt.Sprintf("aliases.%s[%d]", id, i)
			a, err := foldAddress(alias)
			switch {
			case err != nil || a == "":
				k.errorf(field, "is no e-mail address")
			case a == own:
				k.errorf(field, "is the hub's own address")
			case owner[a] != "" && owner[a] != id:
				k.errorf(field, "is also an address of %s; an address must be one person's", owner[a])
			default:
				owner[a] = id
			}
		}
	}
}

func (conf *section) checkSMTP(k *checker) {
	c := &conf.SMTP
	c.TLS = cmp.Or(c.TLS, tlsStart)
	checkServer(k, "smtp", c.Host, &c.Port, c.TLS, map[string]uint16{tlsStart: 587, tlsWhole: 465, tlsNone: 25}, "smtp.example.com")
	if _, domain, err := splitOwn(conf.From); err == nil {
		c.Helo = cmp.Or(c.Helo, domain)
	}
	if strings.ContainsFunc(c.Helo, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		k.errorf("smtp.helo", "must be a host name, such as beckon.example.com")
	}
	checkLogin(k, "smtp", c.User, c.Password)
	if c.User == "" && (!c.Password.IsZero() || conf.OAuth != nil) {
		c.User = conf.From
	}
	if c.User != "" && c.Password.IsZero() && conf.OAuth == nil {
		k.errorf("smtp.password", "is missing for user %s; for access tokens, add oauth", c.User)
	}
	if !c.Password.IsZero() && conf.OAuth != nil {
		k.errorf("smtp.password", "is of no use beside oauth; leave one of them out")
	}
}

func checkServer(k *checker, section, host string, port *uint16, how string, ports map[string]uint16, eg string) {
	if host == "" {
		k.errorf(section+".host", "is missing, such as %s", eg)
	} else if strings.ContainsAny(host, ":/ \t\r\n") && net.ParseIP(host) == nil {
		k.errorf(section+".host", "must be a name or an address alone; the port goes into %s.port", section)
	}
	usual, known := ports[how]
	switch {
	case !known:
		k.errorf(section+".tls", "must be starttls, tls or none")
	case how == tlsNone && host != "" && !loopbackHost(host):
		k.errorf(section+".tls", "may be none for a server on this machine only: passwords and answers would go over the network for all to read")
	}
	if *port == 0 {
		*port = usual
	}
}

func checkLogin(k *checker, section, user string, password hub.Secret) {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if strings.ContainsFunc(user, control) {
		k.errorf(section+".user", "has a control character in it")
	}
	if strings.ContainsFunc(password.Reveal(), control) {
		k.errorf(section+".password", "has a control character in it; is there a line end at its end?")
	}
}

func (conf *section) checkInbound(k *checker) {
	if conf.IMAP == nil && conf.Listen == nil {
		k.errorf("imap", "is missing: without it, or listen, nobody could answer by mail")
	}
	if c := conf.IMAP; c != nil {
		c.TLS = cmp.Or(c.TLS, tlsWhole)
		checkServer(k, "imap", c.Host, &c.Port, c.TLS, map[string]uint16{tlsWhole: 993, tlsStart: 143, tlsNone: 143}, "imap.example.com")
		checkLogin(k, "imap", c.User, c.Password)
		if !c.Password.IsZero() && conf.OAuth != nil {
			k.errorf("imap.password", "is of no use beside oauth; leave one of them out")
		}
		c.User = cmp.Or(c.User, conf.SMTP.User, conf.From)
		if c.Password.IsZero() {
			c.Password = conf.SMTP.Password
		}
		if c.Password.IsZero() && conf.OAuth == nil {
			k.errorf("imap.password", "is missing; for access tokens, add oauth")
		}
	}
	if c := conf.Listen; c != nil {
		c.Protocol = cmp.Or(c.Protocol, protoLMTP)
		if c.Protocol != protoLMTP && c.Protocol != protoSMTP {
			k.errorf("listen.protocol", "must be lmtp or smtp")
		}
		if path, isUnix := strings.CutPrefix(c.Address, "unix:"); isUnix {
			if !strings.HasPrefix(path, "/") || len(path) > 100 {
				k.errorf("listen.address", "the path of a socket must begin with / and have at most 100 characters")
			}
		} else if host, _, err := net.SplitHostPort(c.Address); err != nil || !loopbackHost(host) {
			k.errorf("listen.address", "must be an address of this machine with a port, such as 127.0.0.1:2424, or unix:/path: whoever reaches it can hand in mail")
		}
		if c.Domain != "" && !isDomain(c.Domain) {
			k.errorf("listen.domain", "must be a domain, such as answers.example.com")
		}
	}
}

func (conf *section) checkOAuth(k *checker) {
	c := conf.OAuth
	if c == nil {
		return
	}
	switch c.Provider {
	case "microsoft":
		if c.Tenant == "" && c.TokenURL == "" {
			k.errorf("oauth.tenant", "is missing: the id or domain of the Microsoft 365 directory")
		}
		c.TokenURL = cmp.Or(c.TokenURL, fmt.Sprintf(microsoftTokenURL, url.PathEscape(c.Tenant)))
		c.Scope = cmp.Or(c.Scope, microsoftScope)
	case "google":
		c.TokenURL, c.Scope = cmp.Or(c.TokenURL, googleTokenURL), cmp.Or(c.Scope, googleScope)
	case "":
		if c.TokenURL == "" {
			k.errorf("oauth.token_url", "is missing; or name a provider, microsoft or google")
		}
	default:
		k.errorf("oauth.provider", "must be microsoft or google; for another one, leave it out and write token_url and scope")
	}
	if u, err := url.Parse(c.TokenURL); c.TokenURL != "" && (err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopbackHost(u.Hostname()))) {
		k.errorf("oauth.token_url", "must be an https URL, such as https://login.example.com/token: secrets go there")
	}
	if c.ClientID == "" {
		k.errorf("oauth.client_id", "is missing: the app's id at the provider")
	}
	if c.ClientSecret.IsZero() && c.RefreshToken.IsZero() {
		k.errorf("oauth.client_secret", "is missing; without it, a refresh_token is needed")
	}
}

func (conf *section) checkDKIM(k *checker) {
	c := conf.DKIM
	if c == nil {
		return
	}
	_, domain, err := splitOwn(conf.From)
	c.Domain = cmp.Or(strings.ToLower(c.Domain), domain)
	// DMARC counts a signature of the same organisation only (RFC 7489 §3.1.1).
	if err == nil && c.Domain != domain && !strings.HasSuffix(domain, "."+c.Domain) {
		k.errorf("dkim.domain", "must be %s, as in from, or a domain above it: no other signature counts for it", domain)
	}
	if !isDomain(c.Selector) {
		k.errorf("dkim.selector", "is missing or no name: the key stands in DNS at selector._domainkey.%s", c.Domain)
	}
	if c.Key.IsZero() {
		k.errorf("dkim.key", "is missing: the private key in PEM")
	} else if _, err := gomail.PrivKeyFromPEM([]byte(c.Key.Reveal())); err != nil {
		k.errorf("dkim.key", "is no private key in PEM, RSA or Ed25519")
	}
}

// splitOwn reads the hub's own address, which must be plain ASCII: it stands in
// Message-IDs and envelopes, where many servers take nothing else.
func splitOwn(addr string) (local, domain string, err error) {
	a, err := mail.ParseAddress(addr)
	if err != nil || a.Name != "" || a.Address != addr {
		return "", "", fmt.Errorf("must be an e-mail address alone, such as hub@example.com; the name goes into from_name")
	}
	i := strings.LastIndexByte(addr, '@')
	local, domain = strings.ToLower(addr[:i]), strings.ToLower(addr[i+1:])
	for _, r := range local {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_+=", r) {
			return "", "", fmt.Errorf("may hold letters, digits and . - _ = + in front of the @")
		}
	}
	if !isDomain(domain) {
		return "", "", fmt.Errorf("must end in a domain in ASCII, such as example.com or xn--bcher-kva.example")
	}
	return local, domain, nil
}

// foldAddress returns an address in the form in which two are compared; "" for
// none.
func foldAddress(addr string) (string, error) {
	if addr == "" {
		return "", nil
	}
	a, err := mail.ParseAddress(addr)
	if err != nil {
		return "", fmt.Errorf("%q is no e-mail address", addr)
	}
	i := strings.LastIndexByte(a.Address, '@')
	domain, err := idna.Lookup.ToASCII(a.Address[i+1:])
	if err != nil {
		return "", fmt.Errorf("%q has no domain that can be looked up", addr)
	}
	return strings.ToLower(a.Address[:i]) + "@" + domain, nil
}

// isDomain reports a host name in ASCII (RFC 1123 §2.1).
func isDomain(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
	}
	return true
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
