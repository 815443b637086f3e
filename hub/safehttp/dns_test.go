package safehttp_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a DNS server on this machine. It answers each look-up of a name
// with the next of its answers, and with the last one from then on.
type nameServer struct {
	conn net.PacketConn

	mu    sync.Mutex
	names map[string][][]netip.Addr // by name without the last dot
	cname map[string]string
	turns map[string]int // how often a question was asked
	asked []string       // "A agent.example.com."
	// mangle, if set, has the last word on the packet that goes out; nil sends
	// none.
	mangle func(packet []byte) []byte
	rcode  dnsmessage.RCode
}

func startDNS(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, names: make(map[string][][]netip.Addr), cname: make(map[string]string), turns: make(map[string]int)}
	var done sync.WaitGroup
	done.Go(s.serve)
	t.Cleanup(func() {
		conn.Close()
		done.Wait()
	})
	return s
}

// resolver asks the server and nobody else.
func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
		if err == nil {
			// The resolver itself would wait on for some seconds.
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}}
}

// say sets the answers for a name, each a list of addresses.
func (s *nameServer) say(name string, answers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = nil
	for _, a := range answers {
		var list []netip.Addr
		for field := range strings.FieldsSeq(a) {
			list = append(list, netip.MustParseAddr(field))
		}
		s.names[name] = append(s.names[name], list)
	}
}

// set changes how the server answers.
func (s *nameServer) set(change func(*nameServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *nameServer) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func (s *nameServer) serve() {
	buf := make([]byte, 4096)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if packet := s.answer(buf[:n]); packet != nil {
			s.conn.WriteTo(packet, from) //nolint:errcheck // the client asks again
		}
	}
}

func (s *nameServer) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := m.Questions[0]
	s.asked = append(s.asked, strings.TrimPrefix(q.Type.String(), "Type")+" "+q.Name.String())
	out := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true, RCode: s.rcode},
		Questions: m.Questions,
	}
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	owner := q.Name
	if to, ok := s.cname[name]; ok {
		target := dnsmessage.MustNewName(to + ".")
		out.Answers = append(out.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: owner, Type: dnsmessage.TypeCNAME, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.CNAMEResource{CNAME: target},
		})
		name, owner = to, target
	}
	answers, known := s.names[name]
	if !known {
		out.RCode = dnsmessage.RCodeNameError
	} else {
		turn := q.Type.String() + name // A and AAAA come in any order
		now := answers[min(s.turns[turn], len(answers)-1)]
		s.turns[turn]++
		for _, a := range now {
			header := dnsmessage.ResourceHeader{Name: owner, Type: q.Type, Class: dnsmessage.ClassINET}
			switch {
			case q.Type == dnsmessage.TypeA && a.Is4():
				out.Answers = append(out.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
			case q.Type == dnsmessage.TypeAAAA && a.Is6():
				out.Answers = append(out.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
	}
	packet, err := out.Pack()
	if err != nil {
		return nil
	}
	if s.mangle != nil {
		return s.mangle(packet)
	}
	return packet
}
