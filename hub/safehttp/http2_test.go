package safehttp_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"beckon/hub/safehttp"
)

// peer is the other side of an HTTP/2 connection, which writes what frames it
// likes.
type peer struct {
	*http2.Framer
	conn   net.Conn
	fields bytes.Buffer
	enc    *hpack.Encoder
	up     func() // the time of the call is up
}

// block returns header fields, name after value, in their compressed form.
func (p *peer) block(fields ...string) []byte {
	p.fields.Reset()
	for i := 0; i < len(fields); i += 2 {
		p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) //nolint:errcheck // into memory
	}
	return bytes.Clone(p.fields.Bytes())
}

// headers answers stream 1.
func (p *peer) headers(end bool, fields ...string) error {
	return p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block(fields...), EndHeaders: true, EndStream: end})
}

// An HTTP/2 receiver can do nothing that HTTP/1 can't, and leaves nothing behind.
func TestHostileHTTP2(t *testing.T) {
	t.Parallel()
	hang := func(p *peer) { io.Copy(io.Discard, p.conn) } //nolint:errcheck // until it closes
	flood := func(p *peer, frame func() error) {
		for i := 0; frame() == nil; i++ {
			if i == 1000 {
				p.up()
			}
		}
	}
	for _, tt := range []struct {
		name   string
		serve  func(*peer)
		kind   safehttp.Kind // "" for an answer
		status int
	}{
		{"fine", func(p *peer) { p.headers(true, ":status", "204"); hang(p) }, "", 204},
		{"endless body", func(p *peer) {
			p.headers(false, ":status", "200")
			for p.WriteData(1, false, make([]byte, 16<<10)) == nil {
			}
		}, "", 200},
		{"body never comes", func(p *peer) { p.headers(false, ":status", "200"); hang(p) }, "", 200},
		{"stream broken in the body", func(p *peer) {
			p.headers(false, ":status", "200")
			p.WriteRSTStream(1, http2.ErrCodeInternal)
			hang(p)
		}, "", 200},
		{"hangs", func(p *peer) { p.up(); hang(p) }, safehttp.Timeout, 0},
		{"closes", func(*peer) {}, safehttp.Broken, 0},
		{"goes away", func(p *peer) { p.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("hunter2")); hang(p) }, safehttp.Broken, 0},
		{"refuses the stream", func(p *peer) { p.WriteRSTStream(1, http2.ErrCodeRefusedStream); hang(p) }, safehttp.Broken, 0},
		{"asks for HTTP/1", func(p *peer) { p.WriteRSTStream(1, http2.ErrCodeHTTP11Required); hang(p) }, safehttp.Broken, 0},
		{"garbage", func(p *peer) { io.WriteString(p.conn, "HTTP/1.1 200 OK\r\n\r\n"); hang(p) }, safehttp.Broken, 0},
		{"frame too large", func(p *peer) { p.conn.Write([]byte("\xff\xff\xff\x00\x00\x00\x00\x00\x01")); hang(p) }, safehttp.Broken, 0},
		{"bad compression", func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\xff\xff\xff\xff\xff\xff"), EndHeaders: true})
			hang(p)
		}, safehttp.Broken, 0},
		{"no status", func(p *peer) { p.headers(true, "x", "y"); hang(p) }, safehttp.Broken, 0},
		{"status that is none", func(p *peer) { p.headers(true, ":status", "hunter2"); hang(p) }, safehttp.Broken, 0},
		{"header too large", func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block(":status", "200")})
			for range 1000 {
				if p.WriteContinuation(1, false, p.block("x-many", string(bytes.Repeat([]byte("x"), 4096)))) != nil {
					return
				}
			}
			p.WriteContinuation(1, true, nil)
			hang(p)
		}, safehttp.Broken, 0},
		{"endless hints", func(p *peer) {
			for p.headers(false, ":status", "103", "link", "</x>") == nil {
			}
		}, safehttp.Broken, 0},
		{"a flood of pings", func(p *peer) {
			go io.Copy(io.Discard, p.conn) //nolint:errcheck // until it closes
			flood(p, func() error { return p.WritePing(false, [8]byte{}) })
		}, safehttp.Timeout, 0},
		{"a flood of settings", func(p *peer) {
			go io.Copy(io.Discard, p.conn) //nolint:errcheck // until it closes
			flood(p, func() error { return p.WriteSettings() })
		}, safehttp.Timeout, 0},
		{"pings, and never reads", func(p *peer) {
			flood(p, func() error { return p.WritePing(false, [8]byte{}) })
		}, safehttp.Timeout, 0},
		{"no room to send", func(p *peer) {
			p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			p.up()
			hang(p)
		}, safehttp.Timeout, 0},
		{"no stream allowed", func(p *peer) {
			p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			p.up()
			hang(p)
		}, safehttp.Timeout, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, ctx := newWorld(t), newLapse(t)
			conf := &tls.Config{Certificates: []tls.Certificate{w.ca.issue(t, nil, agentHost)}, NextProtos: []string{"h2"}}
			w.put(agentAddr, listen(t, conf, func(conn net.Conn) {
				if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
					return
				}
				p := &peer{Framer: http2.NewFramer(conn, conn), conn: conn, up: ctx.end}
				p.enc = hpack.NewEncoder(&p.fields)
				if p.WriteSettings() != nil {
					return
				}
				for { // until the request has come
					f, err := p.ReadFrame()
					if err != nil {
						return
					}
					if _, ok := f.(*http2.HeadersFrame); ok {
						break
					}
				}
				tt.serve(p)
			}))
			resp, e := postWithin(ctx, t, w.client(safehttp.Options{MaxBody: 100, BodyTime: patience}), agentURL)
			if tt.kind != "" {
				wantKind(t, e, tt.kind, false, true)
			} else if e != nil || resp.Status != tt.status {
				t.Errorf("got %+v, %v; want %d", resp, e, tt.status)
			}
		})
	}
}
