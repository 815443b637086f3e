package safehttp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"beckon/hub/safehttp"
)

func ok(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }

// A name that has an address which may not be called is never called there,
// whatever else it has and in whatever order.
func TestResolvers(t *testing.T) {
	t.Parallel()
	const six = "2606:2800:220:1::1"
	for _, tt := range []struct {
		name   string
		answer string
		dials  []string // nil: refused
	}{
		{"public", agentAddr, []string{agentAddr}},
		{"public IPv6", six, []string{six}},
		{"private", "10.0.0.1", nil},
		{"loopback", "127.0.0.1", nil},
		{"loopback, another", "127.9.9.9", nil},
		{"this network", "0.1.2.3", nil},
		{"loopback IPv6", "::1", nil},
		{"unspecified", "0.0.0.0", nil},
		{"unspecified IPv6", "::", nil},
		{"metadata", "169.254.169.254", nil},
		{"metadata IPv6", "fd00:ec2::254", nil},
		{"metadata of Azure", "168.63.129.16", nil},
		{"metadata of Alibaba", "100.100.100.200", nil},
		{"metadata of Oracle", "192.0.0.192", nil},
		{"shared", "100.64.0.1", nil},
		{"documentation", "203.0.113.7", nil},
		{"benchmark", "198.18.0.1", nil},
		{"multicast", "224.0.0.251", nil},
		{"broadcast", "255.255.255.255", nil},
		{"reserved", "240.0.0.1", nil},
		{"link-local IPv6", "fe80::1", nil},
		{"unique-local", "fc00::1", nil},
		{"site-local", "fec0::1", nil},
		{"multicast IPv6", "ff02::1", nil},
		{"mapped loopback", "::ffff:127.0.0.1", nil},
		{"mapped private", "::ffff:10.0.0.1", nil},
		{"mapped metadata", "::ffff:169.254.169.254", nil},
		{"mapped public", "::ffff:" + agentAddr, []string{agentAddr}},
		{"compatible", "::127.0.0.1", nil},
		{"NAT64", "64:ff9b::7f00:1", nil},
		{"NAT64, local", "64:ff9b:1::7f00:1", nil},
		{"6to4", "2002:7f00:1::", nil},
		{"Teredo", "2001:0:1:2:3:4:5:6", nil},
		{"ISATAP", "2606:2800:220:1:0:5efe:7f00:1", nil},
		{"documentation IPv6", "2001:db8::1", nil},
		{"discard", "100::1", nil},
		{"private and public", "10.0.0.1 " + agentAddr, []string{agentAddr}},
		{"public and private", agentAddr + " 10.0.0.1", []string{agentAddr}},
		{"public IPv4 and loopback IPv6", agentAddr + " ::1", []string{agentAddr}},
		{"public IPv6 and loopback IPv4", six + " 127.0.0.1", []string{six}},
		{"many private, one public", "10.0.0.1 127.0.0.1 169.254.169.254 192.168.0.1 ::1 fe80::1 fd00::1 " + agentAddr, []string{agentAddr}},
		{"all private", "10.0.0.1 127.0.0.1 169.254.169.254 ::1 fe80::1 ::ffff:127.0.0.1", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.dns.say(agentHost, tt.answer)
			w.serve(agentAddr, http.HandlerFunc(ok))
			w.put(six, w.behind[netip.MustParseAddrPort(agentAddr+":443")])
			resp, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/x")
			var want []string
			for _, a := range tt.dials {
				want = append(want, netip.AddrPortFrom(netip.MustParseAddr(a), 443).String())
			}
			if got := w.dials(); !slices.Equal(got, want) {
				t.Errorf("dialled %v; want %v", got, want)
			}
			if tt.dials != nil {
				if e != nil || resp.Status != http.StatusNoContent {
					t.Errorf("got %+v, %v; want 204", resp, e)
				}
				return
			}
			wantKind(t, e, safehttp.RefusedAddress, true, false)
			if !e.Addr.IsValid() || strings.Contains(e.Msg, e.Addr.String()) {
				t.Errorf("%+v: want the address, and not in what people are told", e)
			}
		})
	}
}

// A name whose address changes between two look-ups is dialled at what was
// checked. There is one look-up a call.
func TestRebinding(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "10.0.0.1"} {
		t.Run(second, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.serve(agentAddr, http.HandlerFunc(ok))
			w.dns.say(agentHost, agentAddr, second)
			c := w.client(safehttp.Options{})
			if _, err := c.CheckURL("https://" + agentHost + "/"); err != nil {
				t.Fatal(err)
			}
			if asked := w.dns.questions(); len(asked) != 0 {
				t.Errorf("the check of a URL asks for %v", asked)
			}
			if _, e := post(t, c, "https://"+agentHost+"/"); e != nil {
				t.Errorf("while it is public: %v", e)
			}
			asked := w.dns.questions()
			slices.Sort(asked)
			if want := []string{"A agent.example.com.", "AAAA agent.example.com."}; !slices.Equal(asked, want) {
				t.Errorf("a call asks for %v; want %v", asked, want)
			}
			for range 3 {
				_, e := post(t, c, "https://"+agentHost+"/")
				wantKind(t, e, safehttp.RefusedAddress, true, false)
			}
			if got, want := w.dials(), []string{agentAddr + ":443"}; !slices.Equal(got, want) {
				t.Errorf("dialled %v; want %v", got, want)
			}
		})
	}
}

// With nothing put in the place of anything: a server on this machine hears of no
// name that leads to it.
func TestNothingArrives(t *testing.T) {
	t.Parallel()
	var accepted atomic.Int32
	addr := listen(t, nil, func(net.Conn) { accepted.Add(1) })
	_, port, _ := net.SplitHostPort(addr)
	dns := startDNS(t)
	for _, answer := range []string{
		"127.0.0.1", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::127.0.0.1", "127.0.0.2", "127.255.255.254",
		"64:ff9b::7f00:1", "2002:7f00:1::1", "127.0.0.1 127.0.0.2 ::1 10.0.0.1",
	} {
		dns.say(agentHost, answer)
		c := safehttp.New(safehttp.Options{Resolver: dns.resolver()})
		_, e := post(t, c, "https://"+agentHost+":"+port+"/")
		wantKind(t, e, safehttp.RefusedAddress, true, false)
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections came in", n)
	}
}

// The last step refuses as well, whatever chose the address: no socket of a
// refused address ever connects.
func TestDialAddressRefuses(t *testing.T) {
	t.Parallel()
	var accepted atomic.Int32
	addr := listen(t, nil, func(net.Conn) { accepted.Add(1) })
	port := netip.MustParseAddrPort(addr).Port()
	c := safehttp.New(safehttp.Options{})
	for _, a := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "0.0.0.0", "::", "127.0.0.2", "10.0.0.1", "169.254.169.254", "fe80::1%lo"} {
		conn, err := c.DialAddress(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(a), port))
		if err == nil {
			conn.Close()
			t.Errorf("%s is dialled", a)
		} else if !strings.Contains(err.Error(), string(safehttp.RefusedAddress)) {
			t.Errorf("%s: %v; want a refusal", a, err)
		}
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections came in", n)
	}
	dev := safehttp.New(safehttp.Options{AllowLoopback: true})
	for _, a := range []string{"0.0.0.0", "::", "10.0.0.1", "169.254.169.254"} {
		if conn, err := dev.DialAddress(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(a), port)); err == nil {
			conn.Close()
			t.Errorf("%s is dialled with the switch for loopback", a)
		}
	}
	conn, err := dev.DialAddress(t.Context(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port))
	if err != nil {
		t.Fatalf("loopback with the switch for it: %v", err)
	}
	conn.Close()
}

// The switch opens names with a loopback address as well, and asks nobody what
// localhost means.
func TestLoopbackByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := listen(t, nil, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") //nolint:errcheck // the client looks
		io.Copy(io.Discard, conn)                                            //nolint:errcheck // until it closes
	})
	_, port, _ := net.SplitHostPort(addr)
	c := w.client(safehttp.Options{AllowLoopback: true})
	for _, host := range []string{"localhost", "agent.localhost", "127.0.0.1"} {
		if resp, e := post(t, c, "http://"+host+":"+port+"/"); e != nil || resp.Status != 200 {
			t.Errorf("%s: %+v, %v", host, resp, e)
		}
	}
	if asked := w.dns.questions(); len(asked) != 0 {
		t.Errorf("localhost was asked for: %v", asked)
	}
	w.dns.say(agentHost, "127.0.0.1", "10.0.0.1")
	_, e := post(t, c, "https://"+agentHost+":"+port+"/")
	wantKind(t, e, safehttp.TLS, false, false) // so it was dialled
	_, e = post(t, c, "https://"+agentHost+":"+port+"/")
	wantKind(t, e, safehttp.RefusedAddress, true, false)
}

// asking writes down what it is asked for.
type asking struct {
	safehttp.Resolver
	hosts []string
}

func (a *asking) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	a.hosts = append(a.hosts, host)
	return a.Resolver.LookupNetIP(ctx, network, host)
}

// A name is looked up as it is, and not below the domain of this machine, where
// somebody else might have it.
func TestNoSearchList(t *testing.T) {
	t.Parallel()
	a := &asking{Resolver: newWorld(t).dns.resolver()}
	_, e := post(t, safehttp.New(safehttp.Options{Resolver: a}), "https://nobody.example.com/")
	wantKind(t, e, safehttp.DNS, false, false)
	if want := []string{"nobody.example.com."}; !slices.Equal(a.hosts, want) {
		t.Errorf("looked up %v; want %v", a.hosts, want)
	}
}

// What name servers do wrong is the network's fault, and is tried again.
func TestNameServerTrouble(t *testing.T) {
	t.Parallel()
	t.Run("no such name", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		_, e := post(t, w.client(safehttp.Options{}), "https://nobody.example.com/")
		wantKind(t, e, safehttp.DNS, false, false)
		for _, q := range w.dns.questions() {
			if !strings.HasSuffix(q, " nobody.example.com.") {
				t.Errorf("asked for %s", q)
			}
		}
	})
	t.Run("no address", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.dns.say(agentHost, "")
		_, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/")
		wantKind(t, e, safehttp.DNS, false, false)
	})
	t.Run("alias of a private name", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.dns.set(func(s *nameServer) { s.cname[agentHost] = "localhost" })
		w.dns.say("localhost", "127.0.0.1")
		_, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/")
		wantKind(t, e, safehttp.RefusedAddress, true, false)
	})
	t.Run("alias of a public name", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.serve(agentAddr, http.HandlerFunc(ok))
		w.dns.set(func(s *nameServer) { s.cname[agentHost] = "edge.example.net" })
		w.dns.say("edge.example.net", agentAddr)
		if _, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/"); e != nil {
			t.Error(e)
		}
	})
	t.Run("garbage, then out of time", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.dns.set(func(s *nameServer) {
			s.mangle = func(packet []byte) []byte { return append([]byte("garbage"), packet...) }
		})
		_, e := post(t, w.client(safehttp.Options{Timeout: patience}), "https://"+agentHost+"/")
		wantKind(t, e, safehttp.Timeout, false, false)
	})
	t.Run("the server fails", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.dns.set(func(s *nameServer) { s.rcode = dnsmessage.RCodeServerFailure })
		_, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/")
		wantKind(t, e, safehttp.DNS, false, false)
	})
	t.Run("hundreds of addresses", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf("93.184.0.%d", i), fmt.Sprintf("10.0.0.%d", i))
		}
		w.dns.say(agentHost, strings.Join(all, " "))
		_, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/")
		wantKind(t, e, safehttp.Connect, false, false)
		if got := w.dials(); len(got) == 0 || len(got) > 4 {
			t.Errorf("dialled %v; want at most four", got)
		}
	})
}

// An address that does not answer is followed by the next.
func TestNextAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dns.say(agentHost, "93.184.0.1 93.184.0.2 10.0.0.1")
	srv := w.serve("93.184.0.1", http.HandlerFunc(ok))
	w.put("93.184.0.2", srv.Listener.Addr().String())
	for _, dead := range []string{"93.184.0.1", "93.184.0.2"} {
		w.put("93.184.0.1", srv.Listener.Addr().String())
		w.put("93.184.0.2", srv.Listener.Addr().String())
		w.put(dead, "")
		if _, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/"); e != nil {
			t.Errorf("while %s is dead: %v", dead, e)
		}
	}
	// When every one is dead it is the network's fault, private ones among them
	// or not.
	w.put("93.184.0.1", "")
	w.put("93.184.0.2", "")
	_, e := post(t, w.client(safehttp.Options{}), "https://"+agentHost+"/")
	wantKind(t, e, safehttp.Connect, false, false)
}
