// Package safehttp calls URLs that others chose, so that they can reach nothing
// which only this machine can reach.
//
// [Client.CheckURL] is for the moment when such a URL comes in, and tells
// whoever chose it what is wrong. It looks nothing up, so it proves little: a
// name may point elsewhere a second later. [Client.Do] therefore checks each
// address at the moment it is dialled, once among the answers of the look-up,
// which happens once a call, and again on the socket, so that no second answer
// can slip in. Public unicast addresses are dialled and nothing else: neither
// what the registries of IANA set apart nor what carries an IPv4 address inside
// an IPv6 one. There is one exception, for development: loopback.
//
// A call is one connection and one request. There are no redirects, proxies,
// cookies, retries or connections that are used again, so nothing of one call
// shows in another. Time, header, body and the connections to one host are
// bounded.
//
// Any failure is an [*Error], written by this package alone: it holds nothing of
// the request but the host, and nothing that the other side said, which might be
// the credential it was sent. [Error.Permanent] tells a refusal, which trying
// again does not mend, from what the network did.
package safehttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/http/httpguts"
)

// What holds when the options say nothing, and for everybody.
const (
	DefaultTimeout    = 15 * time.Second
	DefaultMaxPerHost = 8

	connectTimeout = 5 * time.Second // of one address
	maxAddresses   = 4               // of one name that are tried, of each family
	maxHeader      = 32 << 10        // bytes of an answer's header
)

// Options say how a [Client] works. The zero value is fit for production.
type Options struct {
	// AllowLoopback lets calls go to this machine, by plain http as well. It is
	// for development and opens nothing else.
	AllowLoopback bool
	// Timeout bounds a whole call, from the wait for a free connection to the
	// last byte of the answer. 0 means [DefaultTimeout].
	Timeout time.Duration
	// MaxBody is how many bytes of an answer's body are read at most; what is
	// beyond is left. 0: none are.
	MaxBody int64
	// BodyTime bounds the reading of the body within Timeout; 0 sets no other
	// bound.
	BodyTime time.Duration
	// MaxPerHost is how many connections to one host and port there are at once;
	// further calls wait. 0 means [DefaultMaxPerHost].
	MaxPerHost int
	// Resolver looks names up, which are fully qualified; nil means
	// [net.DefaultResolver].
	Resolver Resolver
	// RootCAs vouch for the other side; nil means the machine's own.
	RootCAs *x509.CertPool
}

// Resolver is what of a [net.Resolver] is used.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Client calls URLs that others chose. It is safe for concurrent use and needs
// no closing.
type Client struct {
	opt       Options
	hosts     hosts
	transport *http.Transport
	// connect dials one address that was checked. Tests put another in its place
	// to reach what stands in for a public address.
	connect func(context.Context, netip.AddrPort) (net.Conn, error)
}

// New returns a client.
func New(opt Options) *Client {
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultTimeout
	}
	if opt.MaxPerHost <= 0 {
		opt.MaxPerHost = DefaultMaxPerHost
	}
	if opt.Resolver == nil {
		opt.Resolver = net.DefaultResolver
	}
	c := &Client{opt: opt, hosts: hosts{most: opt.MaxPerHost}}
	c.connect = c.dialAddress
	c.transport = &http.Transport{
		Proxy:                  nil, // not even from the environment
		DialContext:            c.dialPlain,
		DialTLSContext:         c.dialTLS,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a small body stays small
		MaxResponseHeaderBytes: maxHeader,
	}
	return c
}

// Request is one call.
type Request struct {
	Method string
	URL    string // as it was chosen; Do checks it again
	Header http.Header
	Body   []byte
}

// Response is an answer, whatever its status. A redirect is an answer as well.
type Response struct {
	Status int
	Header http.Header
	Body   []byte // at most MaxBody bytes
	// Partial: there was or may have been more of the body. The status stands
	// all the same.
	Partial bool
}

// Do makes a call. The error is an [*Error].
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	u, err := c.CheckURL(r.URL)
	if err != nil {
		return nil, err
	}
	host := Authority(u)
	req, err := newRequest(u, &r)
	if err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	release, err := c.hosts.acquire(call, host)
	if err != nil {
		return nil, failed(call, host, waiting, err)
	}
	defer release()
	// A connection of its own: the transport's pool would share it.
	conn, err := c.transport.NewClientConn(call, u.Scheme, host)
	if err != nil {
		return nil, failed(call, host, dialling, err)
	}
	defer conn.Close()
	resp, err := conn.RoundTrip(req.WithContext(call))
	if err != nil {
		return nil, failed(call, host, sent, err)
	}
	out := &Response{Status: resp.StatusCode, Header: resp.Header}
	out.Body, out.Partial = c.readBody(resp.Body, conn)
	return out, nil
}

// newRequest makes the request of a call to a URL that was checked.
func newRequest(u *url.URL, r *Request) (*http.Request, error) {
	req, err := http.NewRequest(r.Method, "", bytes.NewReader(r.Body))
	if err != nil {
		return nil, &Error{Kind: BadRequest, Msg: "the request has no method that HTTP knows"}
	}
	for name, values := range r.Header {
		for _, v := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) {
				return nil, &Error{Kind: BadRequest, Msg: "a header of the request has a line break or another sign that no header may have"}
			}
		}
	}
	req.URL, req.Host = u, u.Host
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	if len(r.Body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
	}
	req.Close = true // HTTP/1 hears that nothing more comes
	return req, nil
}

// readBody reads what is wanted of a body. Whether it ends well changes nothing:
// the other side has answered.
func (c *Client) readBody(body io.ReadCloser, conn io.Closer) (read []byte, partial bool) {
	// Closing the connection ends a read that waits, and spares the closing of
	// the body from reading the rest.
	defer body.Close()
	defer conn.Close()
	if c.opt.BodyTime > 0 {
		t := time.AfterFunc(c.opt.BodyTime, func() { conn.Close() })
		defer t.Stop()
	}
	if c.opt.MaxBody == 0 {
		return nil, body != http.NoBody
	}
	read, err := io.ReadAll(io.LimitReader(body, c.opt.MaxBody))
	if err != nil {
		return read, true
	}
	n, err := body.Read(make([]byte, 1))
	return read, n > 0 || err != io.EOF
}

// tlsConfig returns what a call by TLS to a host needs.
func (c *Client) tlsConfig(host string) *tls.Config {
	return &tls.Config{
		ServerName: host,
		MinVersion: tls.VersionTLS12,
		RootCAs:    c.opt.RootCAs,
		NextProtos: []string{"h2", "http/1.1"},
	}
}
