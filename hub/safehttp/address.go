package safehttp

import "net/netip"

// special is a range of addresses that is not part of the public internet.
type special struct {
	prefix netip.Prefix
	what   string
}

func ranges(list ...string) []special {
	out := make([]special, 0, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		out = append(out, special{netip.MustParsePrefix(list[i]), list[i+1]})
	}
	return out
}

// What is set apart, from the registries of special-purpose addresses
// (https://www.iana.org/assignments/iana-ipv4-special-registry and
// iana-ipv6-special-registry), anycast services included, plus what clouds use
// for themselves. The first that fits names the address.
var (
	special4 = ranges(
		"0.0.0.0/32", "unspecified",
		"0.0.0.0/8", "this-network", // RFC 791
		"10.0.0.0/8", "private", // RFC 1918
		"100.64.0.0/10", "shared", // RFC 6598; Alibaba's metadata 100.100.100.200
		"127.0.0.0/8", "loopback", // RFC 1122
		"168.63.129.16/32", "metadata", // Azure's WireServer, in public space
		"169.254.0.0/16", "link-local", // RFC 3927; metadata 169.254.169.254
		"172.16.0.0/12", "private", // RFC 1918
		"192.0.0.0/24", "protocol", // RFC 6890; Oracle's metadata 192.0.0.192
		"192.0.2.0/24", "documentation", // RFC 5737
		"192.31.196.0/24", "protocol", // AS112, RFC 7535
		"192.52.193.0/24", "protocol", // AMT, RFC 7450
		"192.88.99.0/24", "transition", // 6to4 relays, RFC 7526
		"192.168.0.0/16", "private", // RFC 1918
		"192.175.48.0/24", "protocol", // AS112, RFC 7534
		"198.18.0.0/15", "benchmark", // RFC 2544
		"198.51.100.0/24", "documentation", // RFC 5737
		"203.0.113.0/24", "documentation", // RFC 5737
		"224.0.0.0/4", "multicast", // RFC 1112
		"255.255.255.255/32", "broadcast", // RFC 919
		"240.0.0.0/4", "reserved", // RFC 1112
	)
	special6 = ranges(
		"::/128", "unspecified", // RFC 4291
		"::1/128", "loopback", // RFC 4291
		"::/96", "transition", // IPv4-compatible, RFC 4291
		"64:ff9b::/96", "transition", // NAT64, RFC 6052
		"64:ff9b:1::/48", "transition", // NAT64, RFC 8215
		"100::/64", "discard", // RFC 6666
		"2001::/32", "transition", // Teredo, RFC 4380
		"2001:2::/48", "benchmark", // RFC 5180
		"2001::/23", "protocol", // RFC 2928, ORCHID included
		"2001:db8::/32", "documentation", // RFC 3849
		"2002::/16", "transition", // 6to4, RFC 3056
		"2620:4f:8000::/48", "protocol", // AS112, RFC 7534
		"3fff::/20", "documentation", // RFC 9637
		"5f00::/16", "protocol", // SRv6, RFC 9602
		"fc00::/7", "private", // unique-local, RFC 4193; AWS's metadata fd00:ec2::254
		"fe80::/10", "link-local", // RFC 4291
		"fec0::/10", "private", // site-local, RFC 3879
		"ff00::/8", "multicast", // RFC 4291
	)
	// globalUnicast is all that IANA gives out (RFC 4291, section 2.4): what is
	// set apart tomorrow is refused today.
	globalUnicast = netip.MustParsePrefix("2000::/3")
)

// judge returns what kind of address it is, "" for a public one, which may be
// called. An IPv4-mapped address is judged as the IPv4 address that it reaches.
// A network may translate any prefix of its own to IPv4 (RFC 6052, section 2.2),
// which can't be seen from here.
func judge(a netip.Addr) (what string) {
	if a.Zone() != "" || !a.IsValid() {
		return "link-local"
	}
	a = a.Unmap()
	list := special4
	if a.Is6() {
		list = special6
	}
	for _, s := range list {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	if a.Is6() {
		switch b := a.As16(); {
		case !globalUnicast.Contains(a):
			return "reserved"
		case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
			return "transition" // ISATAP, RFC 5214
		}
	}
	return ""
}

// checkAddr returns the refusal of an address that may not be called.
func (c *Client) checkAddr(host string, a netip.Addr) *Error {
	what := judge(a)
	if what == "" || what == "loopback" && c.opt.AllowLoopback {
		return nil
	}
	return &Error{Kind: RefusedAddress, Addr: a, Msg: host + " has a " + what + " address, which is never called; the host must be on the public internet"}
}
