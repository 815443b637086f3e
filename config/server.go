package config

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// server reads how the hub is reached and where it keeps things.
func (c *Config) server(f *file) {
	c.Listen, c.BehindProxy = f.Listen, f.BehindProxy
	c.tls(f)
	host, port, ok := c.listen(f)
	if ok {
		c.publicURL(f, host, port)
		c.certificateHost()
	} else if f.PublicURL != "" {
		c.checkURL(f.PublicURL)
	}
	c.proxies(f, ok && loopback(host))
	c.callbackRules(f, !ok || loopback(host))
	c.store(f)
	c.templates(f)
}

// listen splits the address; false when it is none, or must not be used.
func (c *Config) listen(f *file) (host, port string, ok bool) {
	p := path{}.key("listen")
	host, port, err := net.SplitHostPort(f.Listen)
	if err != nil {
		what := ""
		if strings.Contains(f.Listen, "://") {
			what = ", without http://"
		} else if strings.Count(f.Listen, ":") > 1 {
			what = "; an IPv6 address goes in brackets, such as [::1]:8420"
		}
		c.errorf(p, "must be host:port, such as %s%s", DefaultListen, what)
		return "", "", false
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 && port != "0" {
		c.errorf(p, "must end in a port, 1 to 65535")
		return "", "", false
	}
	if _, err := netip.ParseAddr(host); host != "" && host != "localhost" && err != nil {
		c.errorf(p, "must begin with an IP address, or with localhost")
		return "", "", false
	}
	if !loopback(host) && f.TLS == nil && !f.BehindProxy {
		c.errorf(p, "plain HTTP is for this machine only: set tls, or behind_proxy if a proxy speaks TLS, or listen on 127.0.0.1")
	}
	return host, port, true
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func (c *Config) publicURL(f *file, host, port string) {
	p := path{}.key("public_url")
	if c.find(p) == nil {
		switch {
		case !loopback(host):
			c.errorf(p, "is missing: people and agents need a URL to reach the hub by when it does not listen on this machine only")
		case port == "0":
		case f.TLS != nil:
			c.PublicURL = "https://" + net.JoinHostPort(host, port)
		default:
			c.PublicURL = "http://" + net.JoinHostPort(host, port)
		}
		return
	}
	u := c.checkURL(f.PublicURL)
	if u == nil {
		return
	}
	if u.Scheme == "http" && f.TLS != nil {
		c.errorf(p, "must begin with https://, for tls is set")
	}
	c.PublicURL = strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host)
	if loopback(u.Hostname()) && !loopback(host) {
		c.warnf(p, "is for this machine only, though the hub listens beyond it: nobody elsewhere can open its links")
	}
}

// checkURL parses public_url and reports what is wrong with it, without
// repeating it: it may hold a password.
func (c *Config) checkURL(s string) *url.URL {
	p := path{}.key("public_url")
	if s == "" {
		c.notEmpty(p, s)
		return nil // or not text, which the decoder has reported
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		c.errorf(p, "must be a URL such as https://beckon.example.com")
	case u.User != nil:
		c.errorf(p, "must not hold a user or password")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.ForceQuery, strings.Contains(s, "#"):
		c.errorf(p, "must be scheme and host only: the hub needs a host name to itself, without a path")
	case !validPort(u.Port()):
		c.errorf(p, "must have a port of 1 to 65535, or none")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		c.errorf(p, "must begin with https://: plain HTTP is for this machine only")
	default:
		return u
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

func (c *Config) proxies(f *file, local bool) {
	p := path{}.key("trusted_proxies")
	if !f.BehindProxy {
		if c.find(p) != nil {
			c.errorf(p, "has no use without behind_proxy: true")
		}
		return
	}
	for _, n := range f.TrustedProxies {
		c.TrustedProxies = append(c.TrustedProxies, netip.Prefix(n))
	}
	if n := c.find(p); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		c.errorf(p, "is empty, so that no proxy would be believed; leave it out if the proxy is on this machine")
	}
	if c.find(p) == nil {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		if !local {
			c.warnf(path{}.key("behind_proxy"), "only a proxy on this machine is believed; name others in trusted_proxies")
		}
	}
	for i, n := range c.TrustedProxies {
		if n.IsValid() && n.Bits() == 0 {
			c.errorf(p.at(i), "trusts everybody")
		}
	}
}

func (c *Config) callbackRules(f *file, local bool) {
	p := path{}.key("callbacks")
	c.notEmpty(p.key("v0_1"), f.Callbacks.V01)
	switch f.Callbacks.V01 {
	case "", "sign":
	case "refuse":
		c.Callbacks.RefuseV01 = true
	default:
		c.errorf(p.key("v0_1"), "must be sign or refuse%s", hint(f.Callbacks.V01, []string{"sign", "refuse"}))
	}
	c.Callbacks.AllowLoopback = f.Callbacks.AllowLoopback
	if f.Callbacks.AllowLoopback && !local {
		c.errorf(p.key("allow_loopback"), "is for development, and refused when the hub listens beyond this machine")
	}
}

func (c *Config) store(f *file) {
	p := path{}.key("store")
	scheme, _, url := strings.Cut(f.Store, "://")
	switch {
	case url && (scheme == "postgres" || scheme == "postgresql"):
		c.errorf(p, "PostgreSQL is not supported yet; give the path of a SQLite database, such as %s", DefaultStore)
	case url, strings.HasPrefix(f.Store, "file:"), strings.HasPrefix(f.Store, ":"):
		c.errorf(p, "must be the path of a database file, such as %s", DefaultStore)
	case strings.ContainsAny(f.Store, "?\x00"):
		c.errorf(p, "must be a path without ?")
	case f.Store == "":
		c.errorf(p, "is empty")
	default:
		c.Store = f.Store
	}
}

func (c *Config) templates(f *file) {
	p := path{}.key("templates")
	n := c.find(p)
	if n == nil || null(n) {
		return
	}
	if f.Templates == "" {
		c.notEmpty(p, "")
	} else if info, err := os.Stat(f.Templates); err != nil {
		c.errorf(p, "%v", plainPathError(err))
	} else if !info.IsDir() {
		c.errorf(p, "is not a folder")
	}
	c.Templates = f.Templates
}
