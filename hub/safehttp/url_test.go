package safehttp_test

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"beckon/hub/safehttp"
)

// hostile are URLs that no call may go to, by the trick that they try. Each is
// refused when it comes in, before any name is looked up.
func hostile() map[string][]string {
	return map[string][]string{
		"scheme": {
			"http://agent.example.com/", "ftp://agent.example.com/", "file:///etc/passwd", "gopher://agent.example.com/",
			"javascript:alert(1)", "//agent.example.com/", "agent.example.com", "/path", "https:agent.example.com",
			"https:/agent.example.com", "https:///agent.example.com", "https://", "https://?x", "https:\\\\agent.example.com\\",
			"jar:https://agent.example.com!/", "unix:///run/docker.sock", "dict://127.0.0.1:11211/", "://agent.example.com/", "",
		},
		"loopback": {
			"https://127.0.0.1/", "https://127.0.0.1:8443/", "https://127.255.255.254/", "https://localhost/", "https://LOCALHOST/",
			"https://a.localhost/", "https://[::1]/", "https://[0:0:0:0:0:0:0:1]/", "https://[::1]:8443/", "http://localhost/", "http://127.0.0.1/",
		},
		"another way to write 127.0.0.1": {
			"https://2130706433/", "https://0x7f000001/", "https://0x7F.0x0.0x0.0x1/", "https://017700000001/", "https://0177.0.0.1/",
			"https://0177.0.0.01/", "https://127.1/", "https://127.0.1/", "https://0x7f.1/", "https://127.0.0.1./", "https://127.0.0.01/",
			"https://127.0.0.0x1/", "https://0x/", "https://0/", "https://1/", "https://127.0.0.1.0/", "https://127.0.0.256/", "https://4294967296/",
			"https://agent.example.com.0x7f/", "https://agent.example.1/",
		},
		"another script": {
			"https://127。0。0。1/", "https://127．0．0．1/", "https://127｡0｡0｡1/", "https://１２７.0.0.1/", "https://①②⑦.⓪.⓪.①/",
			"https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "https://ｌocalhost/", "https://ℓocalhost/", "https://agent．example．com/", "https://agent.exam\u00adple.com/",
			"https://agent.exam\u200bple.com/", "https://agent.example.com\u202e/", "https://١٢٧.٠.٠.١/", "https://bu\u0308cher.example.com/",
			"https://xn--a/", "https://xn--.example.com/", "https://xn--localhost-.com/", "https://xn--127-.example.com/",
		},
		"percent": {
			"https://%31%32%37.0.0.1/", "https://127%2e0%2e0%2e1/", "https://local%68ost/", "https://127.0.0.1%00.example.com/",
			"https://agent.example.com%2f@127.0.0.1/", "https://agent.example.com%40127.0.0.1/", "https://127%E3%80%820.0.1/", "https://%/",
		},
		"user name": {
			"https://user@agent.example.com/", "https://user:pass@agent.example.com/", "https://agent.example.com@127.0.0.1/",
			"https://@agent.example.com/", "https://:@agent.example.com/", "https://agent.example.com:443@127.0.0.1/",
			"https://127.0.0.1:80@agent.example.com/", "https://a@b@agent.example.com/", "https://agent.example.com;@127.0.0.1/",
		},
		"parsers disagree": {
			"https://agent.example.com\\@127.0.0.1/", "https://agent.example.com\\.127.0.0.1/", "https://127.0.0.1\\agent.example.com/",
			"https://agent.example.com#@127.0.0.1/", "https://agent.example.com/#", "https://agent.example.com/#x",
			"https://agent.example.com\t/", "https://agent.exa\nmple.com/", "https://agent.example.com/\r\nX: y", " https://agent.example.com/",
			"https://agent.example.com/ ", "https://agent.example.com /", "https://agent.example.com/\x00", "https://agent.example.com/\x7f",
			"https://agent.example.com/\u2028", "https://agent.example.com/\xff", "https://agent.example.com/a b", "https://agent.example.com&127.0.0.1/",
			"https://agent.example.com,127.0.0.1/", "https://agent.example.com;127.0.0.1/", "https://(agent.example.com)/", "https://{agent}.example.com/",
			"https://agent.example.com$.evil.example/", "https://*.example.com/", "https://agent_x.example.com/", "https://agent.example.com|127.0.0.1/",
			"https://agent.example.com/%zz", "https://<agent.example.com>/", "https://\"agent.example.com\"/",
		},
		"port": {
			"https://agent.example.com:/", "https://agent.example.com:0/", "https://agent.example.com:65536/", "https://agent.example.com:99999999999/",
			"https://agent.example.com:-1/", "https://agent.example.com:0443/", "https://agent.example.com:+443/", "https://agent.example.com:https/",
			"https://agent.example.com:443:443/", "https://agent.example.com:4 43/", "https://:443/", "https://[::1]:/", "https://agent.example.com:٤٤٣/",
		},
		"form of the host": {
			"https://agent.example.com./", "https://agent.example.com../", "https://.agent.example.com/", "https://agent..example.com/", "https://./",
			"https://-agent.example.com/", "https://agent-.example.com/", "https://" + strings.Repeat("a", 64) + ".example.com/",
			"https://" + strings.Repeat("a.", 127) + "com/", "https://" + strings.Repeat("字", 254) + ".example.com/", "https://agent/", "https://intranet/", "https://metadata/", "https://router.local/",
			"https://db.internal/", "https://metadata.google.internal/computeMetadata/v1/", "https://nas.home.arpa/", "https://home.arpa/", "https://x.onion/", "https://x.alt/",
			"https://agent.example.com/" + strings.Repeat("a", safehttp.MaxURL),
		},
		"brackets": {
			"https://[127.0.0.1]/", "https://[agent.example.com]/", "https://[]/", "https://[/", "https://]/", "https://[::1/", "https://::1]/", "https://::1/",
			"https://[::1]x/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[v1.a]/", "https://[::1::]/", "https://[0x7f::1]/", "https://2606:4700::1/",
			"https://[::ffff:93.184.216.34%25x]/", "https://x[2606:4700::1]/",
		},
		"IPv4 that is not public": {
			"https://0.0.0.0/", "https://0.1.2.3/", "https://10.0.0.1/", "https://100.64.0.1/", "https://100.100.100.200/", "https://169.254.169.254/latest/meta-data/",
			"https://169.254.170.2/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://192.0.0.192/", "https://192.0.2.1/", "https://192.88.99.1/",
			"https://198.18.0.1/", "https://198.19.255.255/", "https://198.51.100.1/", "https://203.0.113.1/", "https://224.0.0.1/", "https://239.255.255.255/",
			"https://240.0.0.1/", "https://255.255.255.255/", "https://168.63.129.16/",
		},
		"IPv6 that is not public": {
			"https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:169.254.169.254]/", "https://[::ffff:93.184.216.34]/",
			"https://[0:0:0:0:0:ffff:0a00:1]/", "https://[::127.0.0.1]/", "https://[::7f00:1]/", "https://[::ffff:0:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
			"https://[64:ff9b::169.254.169.254]/", "https://[64:ff9b:1::a00:1]/", "https://[2002:7f00:1::]/", "https://[2002:a9fe:a9fe::1]/",
			"https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "https://[2001:db8::1]/", "https://[2001:2::1]/", "https://[2001:10::1]/", "https://[2001:20::1]/",
			"https://[3fff::1]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[fd20:ce::254]/", "https://[fe80::1]/", "https://[fe80::a9fe:a9fe]/", "https://[fec0::1]/",
			"https://[ff02::1]/", "https://[100::1]/", "https://[5f00::1]/", "https://[4000::1]/", "https://[1::1]/", "https://[2606:4700::5efe:7f00:1]/", "https://[2606:4700::200:5efe:a00:1]/",
		},
	}
}

func TestHostileURLs(t *testing.T) {
	t.Parallel()
	c := safehttp.New(safehttp.Options{})
	count := 0
	for trick, urls := range hostile() {
		for _, raw := range urls {
			count++
			u, err := c.CheckURL(raw)
			e, ok := errors.AsType[*safehttp.Error](err)
			if !ok {
				t.Errorf("%s: %q: got %v, %v; want a refusal", trick, raw, u, err)
				continue
			}
			if e.Kind != safehttp.RefusedURL || !e.Permanent() || e.Sent || e.Msg == "" {
				t.Errorf("%s: %q: got %+v; want a refused_url", trick, raw, e)
			}
			// A call refuses it as well, whoever forgot to check.
			if _, err := c.Do(t.Context(), safehttp.Request{Method: "POST", URL: raw}); err == nil || err.Error() != e.Error() {
				t.Errorf("%s: %q: a call says %v; want %v", trick, raw, err, e)
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d hostile URLs", count)
	}
	t.Logf("%d hostile URLs", count)
}

// A refusal says what to change.
func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	c, dev := safehttp.New(safehttp.Options{}), safehttp.New(safehttp.Options{AllowLoopback: true})
	for _, tt := range []struct {
		client    *safehttp.Client
		raw, want string
	}{
		{c, "", "is empty"},
		{c, "agent.example.com/x", "must begin with https://"},
		{c, "http://agent.example.com/", "must begin with https://"},
		{c, "ws://agent.example.com/", "must begin with https://"},
		{dev, "http://agent.example.com/", "must begin with https://; plain http:// is for this machine only, such as http://localhost:8080/"},
		{c, "https:///x", "names no host"},
		{c, "https://u:p@agent.example.com/", "must have no user name or password in front of the host"},
		{c, "https://agent%2eexample.com/", "has a % in its host; write the host plainly"},
		{c, "https://agent.example.com/%", "is not a URL such as https://agent.example.com/path"},
		{c, "https://agent.example.com/#top", "must have no fragment: leave out # and what follows"},
		{c, "https://agent.example.com\\x", "has a space, a backslash or an invisible character in it; percent-encode it"},
		{c, "https://agent.example.com/a b", "has a space, a backslash or an invisible character in it; percent-encode it"},
		{c, "https://agent.example.com/\xff", "is not UTF-8"},
		{c, "https://agent.example.com:99999/", "has a port that is not a number from 1 to 65535"},
		{c, "https://agent.example.com./", "has a dot at the end of its host; leave it out"},
		{c, "https://agent/", "has a host without a dot; write its full name, such as agent.example.com"},
		{c, "https://agent_1.example.com/", "has a host that is no valid name; it takes letters, digits, hyphens and single dots, such as agent.example.com"},
		{c, "https://ａgent.example.com/", "has a host that is no valid international name; write it in lower case and composed letters (NFC)"},
		{c, "https://0177.0.0.1/", "has a host that looks like an IPv4 address and is none; write four decimal numbers without leading zeros, or a name"},
		{c, "https://10.0.0.1/", "has a private address, which is never called; the host must be on the public internet"},
		{c, "https://[::ffff:8.8.8.8]/", "has an IPv4 address written as IPv6; write it as IPv4"},
		{c, "https://2606:4700::1/", "has more than one colon in its host; an IPv6 address goes into brackets"},
		{c, "https://[agent]/", "has brackets around something that is not an IPv6 address"},
		{c, "https://localhost/", "is for this machine; the host must be on the public internet"},
		{c, "https://db.internal/", "has a host that is no name of the public internet"},
		{c, "https://agent.example.com/" + strings.Repeat("x", 3000), "has 3026 bytes, the limit is 2048"},
		{c, "https://" + strings.Repeat("a.", 200) + "com/", "has a host of more than 253 letters"},
	} {
		_, err := tt.client.CheckURL(tt.raw)
		if e, ok := errors.AsType[*safehttp.Error](err); !ok || e.Msg != tt.want {
			t.Errorf("%q: got %v; want %q", tt.raw, err, tt.want)
		}
	}
}

func TestGoodURLs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw, want, authority string
		loopback             bool
	}{
		{raw: "https://agent.example.com/", want: "https://agent.example.com/", authority: "agent.example.com:443"},
		{raw: "https://agent.example.com", want: "https://agent.example.com", authority: "agent.example.com:443"},
		{raw: "HTTPS://Agent.Example.COM/Path", want: "https://agent.example.com/Path", authority: "agent.example.com:443"},
		{raw: "https://agent.example.com:443/", want: "https://agent.example.com/", authority: "agent.example.com:443"},
		{raw: "https://agent.example.com:8443/a?b=c&d=%20", want: "https://agent.example.com:8443/a?b=c&d=%20", authority: "agent.example.com:8443"},
		{raw: "https://agent.example.com/a//../b/./c", want: "https://agent.example.com/a//../b/./c", authority: "agent.example.com:443"},
		{raw: "https://agent.example.com/%2F%2e%41", want: "https://agent.example.com/%2F%2e%41", authority: "agent.example.com:443"},
		{raw: "https://agent.example.com/x@y:z?u=https://127.0.0.1/@", want: "https://agent.example.com/x@y:z?u=https://127.0.0.1/@", authority: "agent.example.com:443"},
		{raw: "https://agent.example.com?x", want: "https://agent.example.com?x", authority: "agent.example.com:443"},
		{raw: "https://bücher.example.com/ä", want: "https://xn--bcher-kva.example.com/%C3%A4", authority: "xn--bcher-kva.example.com:443"},
		{raw: "https://agent.example.com/?q=ü&x=%C3%BC&<>", want: "https://agent.example.com/?q=%C3%BC&x=%C3%BC&<>", authority: "agent.example.com:443"},
		{raw: "https://BÜCHER.example.com/", want: "https://xn--bcher-kva.example.com/", authority: "xn--bcher-kva.example.com:443"},
		{raw: "https://xn--bcher-kva.example.com/", want: "https://xn--bcher-kva.example.com/", authority: "xn--bcher-kva.example.com:443"},
		{raw: "https://例え.テスト/", want: "https://xn--r8jz45g.xn--zckzah/", authority: "xn--r8jz45g.xn--zckzah:443"},
		{raw: "https://r1---sn-4g5e.example.com/", want: "https://r1---sn-4g5e.example.com/", authority: "r1---sn-4g5e.example.com:443"},
		{raw: "https://1.agent.example.com/", want: "https://1.agent.example.com/", authority: "1.agent.example.com:443"},
		{raw: "https://127.0.0.1.nip.example/", want: "https://127.0.0.1.nip.example/", authority: "127.0.0.1.nip.example:443"},
		{raw: "https://93.184.216.34/", want: "https://93.184.216.34/", authority: "93.184.216.34:443"},
		{raw: "https://[2606:4700:0:0::1111]:8443/", want: "https://[2606:4700::1111]:8443/", authority: "[2606:4700::1111]:8443"},
		{raw: "https://agent.example.com:65535/", want: "https://agent.example.com:65535/", authority: "agent.example.com:65535"},

		{raw: "http://localhost:8080/x", want: "http://localhost:8080/x", authority: "localhost:8080", loopback: true},
		{raw: "http://LocalHost", want: "http://localhost", authority: "localhost:80", loopback: true},
		{raw: "http://agent.localhost/", want: "http://agent.localhost/", authority: "agent.localhost:80", loopback: true},
		{raw: "http://127.0.0.1:80/", want: "http://127.0.0.1/", authority: "127.0.0.1:80", loopback: true},
		{raw: "http://[::1]:9000/", want: "http://[::1]:9000/", authority: "[::1]:9000", loopback: true},
		{raw: "https://127.7.7.7/", want: "https://127.7.7.7/", authority: "127.7.7.7:443", loopback: true},
		{raw: "https://localhost/", want: "https://localhost/", authority: "localhost:443", loopback: true},
		{raw: "https://agent.example.com/", want: "https://agent.example.com/", authority: "agent.example.com:443", loopback: true},
	} {
		c := safehttp.New(safehttp.Options{AllowLoopback: tt.loopback})
		u, err := c.CheckURL(tt.raw)
		if err != nil {
			t.Errorf("%q: %v", tt.raw, err)
			continue
		}
		if got := u.String(); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.raw, got, tt.want)
		}
		if got := safehttp.Authority(u); got != tt.authority {
			t.Errorf("%q: goes to %s, want %s", tt.raw, got, tt.authority)
		}
		if _, err := safehttp.New(safehttp.Options{}).CheckURL(tt.raw); tt.loopback == (err == nil) && !strings.Contains(tt.raw, "example") {
			t.Errorf("%q: without the switch for loopback: %v", tt.raw, err)
		}
	}
}

// The switch for development opens loopback and nothing else.
func TestLoopbackSwitchOpensLoopbackOnly(t *testing.T) {
	t.Parallel()
	c := safehttp.New(safehttp.Options{AllowLoopback: true})
	opened := map[string]bool{"loopback": true}
	for trick, urls := range hostile() {
		for _, raw := range urls {
			u, err := c.CheckURL(raw)
			if err != nil {
				continue
			}
			host := u.Hostname()
			a, perr := netip.ParseAddr(host)
			if !opened[trick] || host != "localhost" && host != "a.localhost" && (perr != nil || !a.IsLoopback()) {
				t.Errorf("%s: %q is let through as %s", trick, raw, u)
			}
		}
	}
	for _, raw := range hostile()["loopback"] {
		if _, err := c.CheckURL(raw); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
	for _, raw := range []string{"http://agent.example.com/", "http://10.0.0.1/", "http://0.0.0.0/", "http://[::]/", "http://localhost.example.com/", "http://127.0.0.1.example.com/", "http://93.184.216.34/"} {
		if u, err := c.CheckURL(raw); err == nil {
			t.Errorf("%q is let through as %s", raw, u)
		}
	}
}

// Whatever CheckURL lets through it lets through again, unchanged, and net/url
// and the hosts of it agree on where it goes.
func FuzzCheckURL(f *testing.F) {
	for _, urls := range hostile() {
		for _, raw := range urls {
			f.Add(raw)
		}
	}
	f.Add("https://bücher.example.com:8443/ä?x=@")
	c := safehttp.New(safehttp.Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := c.CheckURL(raw)
		if err != nil {
			if e, ok := errors.AsType[*safehttp.Error](err); !ok || e.Kind != safehttp.RefusedURL {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Host != strings.ToLower(u.Host) {
			t.Fatalf("%q: let through as %s", raw, u)
		}
		if a, perr := netip.ParseAddr(u.Hostname()); perr == nil && safehttp.Judge(a) != "" {
			t.Fatalf("%q: goes to a %s address", raw, safehttp.Judge(a))
		}
		again, err := c.CheckURL(u.String())
		if err != nil && len(u.String()) <= safehttp.MaxURL { // what is written out may have grown
			t.Fatalf("%q: its own form %s is refused: %v", raw, u, err)
		}
		if err == nil && again.Host != u.Host {
			t.Fatalf("%q: %s has become %s", raw, u, again)
		}
		theirs, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if isASCII(theirs.Host) && !strings.EqualFold(strings.TrimSuffix(theirs.Host, ":443"), u.Host) && !strings.Contains(u.Host, "[") {
			t.Fatalf("%q: goes to %s, and to others to %s", raw, u.Host, theirs.Host)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > '~' })
}
