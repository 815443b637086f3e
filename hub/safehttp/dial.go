package safehttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// dial connects to a host and port, by trying the addresses that it may one
// after the other, until ctx ends, the one of the whole call. Any error is an
// [*Error], or that of a context.
func (c *Client) dial(ctx context.Context, authority string) (net.Conn, error) {
	host, service, err := net.SplitHostPort(authority)
	if err != nil {
		return nil, refuseURL("names no host and port")
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, refuseURL("has a port that is not a number from 1 to 65535")
	}
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	addrs, refused := c.sift(host, addrs)
	if len(addrs) == 0 {
		return nil, refused
	}
	for i, a := range addrs {
		var conn net.Conn
		if conn, err = c.connectWithin(ctx, netip.AddrPortFrom(a, uint16(port)), len(addrs)-i); err == nil {
			// The socket ends with the call, whatever is built on it: TLS alone
			// would take five seconds more to say goodbye to who does not read.
			context.AfterFunc(ctx, func() { conn.Close() })
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, connectError(host, err)
}

// lookup returns the addresses of a host, best first (RFC 6724). It is the only
// look-up of a call.
func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if localName(host) {
		// Not to be asked of others, who might say something else.
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	// The dot keeps the machine's search list out: agent.example.com must not
	// become agent.example.com.corp.example.
	addrs, err := c.opt.Resolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, dnsError(host, err)
	}
	return addrs, nil
}

// sift returns the addresses that may be called, a few of each family, and the
// refusal of the first of the others.
func (c *Client) sift(host string, addrs []netip.Addr) (may []netip.Addr, refused *Error) {
	var n4, n6 int
	for _, a := range addrs {
		a = a.Unmap() // the look-up writes IPv4 either way
		if e := c.checkAddr(host, a); e != nil {
			if refused == nil {
				refused = e
			}
			continue
		}
		n := &n4
		if a.Is6() {
			n = &n6
		}
		if *n++; *n <= maxAddresses {
			may = append(may, a)
		}
	}
	if len(may) == 0 && refused == nil {
		refused = &Error{Kind: DNS, Msg: host + " could not be looked up: it has no address"}
	}
	return may, refused
}

// connectWithin tries an address for its share of the time that is left, of which
// as many others are yet to be tried.
func (c *Client) connectWithin(ctx context.Context, to netip.AddrPort, left int) (net.Conn, error) {
	limit := connectTimeout
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/time.Duration(left))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.connect(ctx, to)
}

// dialAddress dials one address, and looks at it again when the socket is there:
// whatever led to it, a connection begins here or not at all.
func (c *Client) dialAddress(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return &Error{Kind: RefusedAddress, Msg: "what was to be dialled is no address"}
			}
			if e := c.checkAddr("the host", at.Addr()); e != nil {
				return e
			}
			return nil
		},
	}
	return d.DialContext(ctx, "tcp", to.String())
}

// dialPlain connects to a host and port, for plain HTTP.
func (c *Client) dialPlain(ctx context.Context, _, authority string) (net.Conn, error) {
	conn, err := c.dial(ctx, authority)
	if err != nil {
		return nil, err
	}
	return quiet(conn), nil
}

// dialTLS connects to a host and port and has it prove who it is.
func (c *Client) dialTLS(ctx context.Context, _, authority string) (net.Conn, error) {
	plain, err := c.dial(ctx, authority)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		plain.Close()
		return nil, refuseURL("names no host and port")
	}
	conn := tls.Client(plain, c.tlsConfig(host))
	if err := conn.HandshakeContext(ctx); err != nil {
		plain.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, tlsError(host, err)
	}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		return conn, nil // as such, so that the transport sees it
	}
	return quiet(conn), nil
}

// quietConn is a connection on which the other side is not heard before it was
// spoken to. [http.Transport] writes what comes earlier into the log of the
// process.
type quietConn struct {
	net.Conn
	spoke chan struct{}
	once  sync.Once
}

func quiet(conn net.Conn) net.Conn {
	return &quietConn{Conn: conn, spoke: make(chan struct{})}
}

func (q *quietConn) speak() { q.once.Do(func() { close(q.spoke) }) }

func (q *quietConn) Read(b []byte) (int, error) {
	<-q.spoke
	return q.Conn.Read(b)
}

func (q *quietConn) Write(b []byte) (int, error) {
	q.speak()
	return q.Conn.Write(b)
}

func (q *quietConn) Close() error {
	q.speak()
	return q.Conn.Close()
}
