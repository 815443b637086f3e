package safehttp_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"

	"beckon/hub/safehttp"
)

// Nobody is heard before they were spoken to: net/http would put into the log of
// the process what comes before its request.
func TestQuiet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scheme string
		end          func(conn net.Conn) // what lets a read go on
	}{
		{"plain, spoken to", "http", func(conn net.Conn) { conn.Write([]byte("x")) }},
		{"TLS, spoken to", "https", func(conn net.Conn) { conn.Write([]byte("x")) }},
		{"plain, closed", "http", func(conn net.Conn) { conn.Close() }},
		{"TLS, closed", "https", func(conn net.Conn) { conn.Close() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ca := newAuthority(t) // of the bubble's time
				cert := ca.issue(t, nil, agentAddr)
				c := safehttp.New(safehttp.Options{RootCAs: ca.pool})
				c.SetConnect(func(context.Context, netip.AddrPort) (net.Conn, error) {
					ours, theirs := net.Pipe()
					if tt.scheme == "https" {
						theirs = tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{cert}})
					}
					go func() {
						defer theirs.Close()
						theirs.Write([]byte("220 unasked\r\n")) //nolint:errcheck // the test reads it, or closes
						theirs.Read(make([]byte, 1))            //nolint:errcheck // what it was told
					}()
					return ours, nil
				})
				conn, err := c.Dial(t.Context(), tt.scheme, agentAddr+":443")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				heard := make(chan struct{})
				go func() {
					defer close(heard)
					conn.Read(make([]byte, 100)) //nolint:errcheck // that it returns is all
				}()
				synctest.Wait()
				select {
				case <-heard:
					t.Error("the other side was heard before it was spoken to")
				default:
				}
				tt.end(conn)
				<-heard
			})
		})
	}
}
