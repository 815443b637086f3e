package safehttp_test

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"beckon/hub/safehttp"
)

// The first and last address of each range, and their neighbours outside.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ addr, want string }{
		{"0.0.0.0", "unspecified"},
		{"0.0.0.1", "this-network"},
		{"0.255.255.255", "this-network"},
		{"1.0.0.0", ""},
		{"9.255.255.255", ""},
		{"10.0.0.0", "private"},
		{"10.255.255.255", "private"},
		{"11.0.0.0", ""},
		{"100.63.255.255", ""},
		{"100.64.0.0", "shared"},
		{"100.127.255.255", "shared"},
		{"100.128.0.0", ""},
		{"126.255.255.255", ""},
		{"127.0.0.0", "loopback"},
		{"127.255.255.255", "loopback"},
		{"128.0.0.0", ""},
		{"168.63.129.15", ""},
		{"168.63.129.16", "metadata"},
		{"168.63.129.17", ""},
		{"169.253.255.255", ""},
		{"169.254.0.0", "link-local"},
		{"169.254.169.254", "link-local"},
		{"169.254.255.255", "link-local"},
		{"169.255.0.0", ""},
		{"172.15.255.255", ""},
		{"172.16.0.0", "private"},
		{"172.31.255.255", "private"},
		{"172.32.0.0", ""},
		{"191.255.255.255", ""},
		{"192.0.0.0", "protocol"},
		{"192.0.0.255", "protocol"},
		{"192.0.1.0", ""},
		{"192.0.1.255", ""},
		{"192.0.2.0", "documentation"},
		{"192.0.2.255", "documentation"},
		{"192.0.3.0", ""},
		{"192.31.195.255", ""},
		{"192.31.196.1", "protocol"},
		{"192.52.193.1", "protocol"},
		{"192.88.98.255", ""},
		{"192.88.99.1", "transition"},
		{"192.88.100.0", ""},
		{"192.167.255.255", ""},
		{"192.168.0.0", "private"},
		{"192.168.255.255", "private"},
		{"192.169.0.0", ""},
		{"192.175.48.1", "protocol"},
		{"198.17.255.255", ""},
		{"198.18.0.0", "benchmark"},
		{"198.19.255.255", "benchmark"},
		{"198.20.0.0", ""},
		{"198.51.100.77", "documentation"},
		{"198.51.101.0", ""},
		{"203.0.112.255", ""},
		{"203.0.113.0", "documentation"},
		{"203.0.114.0", ""},
		{"223.255.255.255", ""},
		{"224.0.0.0", "multicast"},
		{"239.255.255.255", "multicast"},
		{"240.0.0.0", "reserved"},
		{"255.255.255.254", "reserved"},
		{"255.255.255.255", "broadcast"},

		{"::", "unspecified"},
		{"::1", "loopback"},
		{"::2", "transition"},
		{"::127.0.0.1", "transition"},
		{"::ffff:127.0.0.1", "loopback"},
		{"::ffff:10.1.2.3", "private"},
		{"::ffff:169.254.169.254", "link-local"},
		{"::ffff:8.8.8.8", ""},
		{"::ffff:0:8.8.8.8", "reserved"}, // SIIT, RFC 2765
		{"64:ff9b::8.8.8.8", "transition"},
		{"64:ff9b::ffff:ffff", "transition"},
		{"64:ff9b:1::1", "transition"},
		{"64:ff9b:2::1", "reserved"},
		{"100::", "discard"},
		{"100::ffff:ffff:ffff:ffff", "discard"},
		{"100:0:0:1::", "reserved"},
		{"1fff:ffff::1", "reserved"},
		{"2000::1", ""},
		{"2001::1", "transition"},
		{"2001:0:ffff::1", "transition"},
		{"2001:1::1", "protocol"},
		{"2001:2::1", "benchmark"},
		{"2001:10::1", "protocol"},
		{"2001:20::1", "protocol"},
		{"2001:1ff:ffff::1", "protocol"},
		{"2001:200::1", ""},
		{"2001:db7::1", ""},
		{"2001:db8::1", "documentation"},
		{"2001:db9::1", ""},
		{"2002::", "transition"},
		{"2002:808:808::1", "transition"},
		{"2002:ffff::1", "transition"},
		{"2003::1", ""},
		{"2606:4700::1111", ""},
		{"2606:4700::5efe:808:808", "transition"},
		{"2606:4700::200:5efe:808:808", "transition"},
		{"2606:4700::100:5efe:808:808", ""},
		{"2606:4700:0:0:5efe::1", ""},
		{"2620:4f:8000::1", "protocol"},
		{"3ffe::1", ""},
		{"3fff::1", "documentation"},
		{"3fff:fff:ffff::1", "documentation"},
		{"3fff:1000::1", ""},
		{"4000::1", "reserved"},
		{"5f00::1", "protocol"},
		{"fbff::1", "reserved"},
		{"fc00::1", "private"},
		{"fd00:ec2::254", "private"},
		{"fdff:ffff::1", "private"},
		{"fe00::1", "reserved"},
		{"fe80::1", "link-local"},
		{"fe80::1%eth0", "link-local"},
		{"2606:4700::1111%eth0", "link-local"},
		{"febf:ffff::1", "link-local"},
		{"fec0::1", "private"},
		{"feff:ffff::1", "private"},
		{"ff00::1", "multicast"},
		{"ff0e::1", "multicast"},
	} {
		if got := safehttp.Judge(netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.addr, got, tt.want)
		}
	}
	if got := safehttp.Judge(netip.Addr{}); got == "" {
		t.Error("no address at all is public")
	}
}

// Nothing that the standard library knows to be special is public, and an
// address that is mapped into IPv6 is judged as the one that it reaches.
func TestJudgeAgreesWithNet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")
		four := netip.AddrFrom4([4]byte(b[:4]))
		for _, a := range []netip.Addr{four, netip.AddrFrom16([16]byte(b))} {
			known := a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || !a.IsGlobalUnicast()
			if known && safehttp.Judge(a) == "" {
				t.Fatalf("%s is taken for public", a)
			}
		}
		if got, want := safehttp.Judge(netip.AddrFrom16(four.As16())), safehttp.Judge(four); got != want {
			t.Fatalf("%s is %q, and %q when mapped into IPv6", four, want, got)
		}
	})
}
