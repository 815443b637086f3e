package safehttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub/safehttp"
)

// patience is how long a test waits for what never comes.
const patience = 300 * time.Millisecond

const agentURL = "https://" + agentHost + "/ma2h/resolve?a=b%20c&a=d"

// A call arrives as it was made, by both versions of HTTP, and says nothing
// else.
func TestDo(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var got *http.Request
			var body []byte
			srv := w.serve(agentAddr, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				rw.Header().Set("X-Answer", "yes")
				rw.WriteHeader(http.StatusAccepted)
				io.WriteString(rw, "taken") //nolint:errcheck // the client looks
			}))
			if version == 1 {
				srv.TLS.NextProtos = []string{"http/1.1"}
			}
			resp, err := w.client(safehttp.Options{MaxBody: 100}).Do(t.Context(), safehttp.Request{
				Method: "POST", URL: agentURL, Body: []byte(`{"x":"é"}`),
				Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer t"}, "User-Agent": {"Beckon"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if resp.Status != 202 || string(resp.Body) != "taken" || resp.Partial || resp.Header.Get("X-Answer") != "yes" {
				t.Errorf("answer %+v", resp)
			}
			if got.ProtoMajor != version || got.Method != "POST" || got.RequestURI != "/ma2h/resolve?a=b%20c&a=d" || got.Host != agentHost || string(body) != `{"x":"é"}` {
				t.Errorf("%s %s %s at %s: %s", got.Proto, got.Method, got.RequestURI, got.Host, body)
			}
			var names []string
			for name := range got.Header {
				names = append(names, name)
			}
			slices.Sort(names)
			want := []string{"Authorization", "Content-Length", "Content-Type", "User-Agent"}
			if version == 1 {
				want = []string{"Authorization", "Connection", "Content-Length", "Content-Type", "User-Agent"}
			}
			if !slices.Equal(names, want) {
				t.Errorf("headers %v; want %v", names, want)
			}
		})
	}
}

// No call leads to another: neither a redirect nor a cookie nor a connection.
func TestCallsAreAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var conns, elsewhere atomic.Int32
	var cookies []string
	status := http.StatusOK
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		cookies = append(cookies, r.Header["Cookie"]...)
		http.SetCookie(rw, &http.Cookie{Name: "session", Value: "1"})
		rw.Header().Set("Location", r.URL.Query().Get("to"))
		rw.Header().Set("Alt-Svc", `h2="127.0.0.1:1"`)
		rw.WriteHeader(status)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{w.ca.issue(t, nil, agentHost)}}
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	w.put(agentAddr, srv.Listener.Addr().String())
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer target.Close()

	c := w.client(safehttp.Options{MaxBody: 100})
	calls := int32(0)
	for _, status = range []int{200, 201, 300, 301, 302, 303, 304, 305, 307, 308, 401, 407, 421} {
		for _, to := range []string{"http://169.254.169.254/latest/meta-data/", target.URL, "https://" + agentHost + "/again"} {
			calls++
			resp, e := post(t, c, "https://"+agentHost+"/?to="+to)
			if e != nil || resp.Status != status || resp.Header.Get("Location") != to {
				t.Fatalf("%d to %s: got %+v, %v", status, to, resp, e)
			}
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
	if len(cookies) > 0 {
		t.Errorf("cookies came back: %v", cookies)
	}
	if n := conns.Load(); n != calls {
		t.Errorf("%d connections for %d calls", n, calls)
	}
	if n := len(w.dials()); n != int(calls) {
		t.Errorf("%d dials for %d calls", n, calls)
	}
	if n := c.Calls(); n != 0 {
		t.Errorf("%d hosts are remembered", n)
	}
}

// Not parallel: it changes the environment.
func TestNoProxyFromEnvironment(t *testing.T) {
	var proxied atomic.Int32
	proxy := listen(t, nil, func(net.Conn) { proxied.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://"+proxy)
	}
	t.Setenv("NO_PROXY", "")
	w := newWorld(t)
	w.serve(agentAddr, http.HandlerFunc(ok))
	if _, e := post(t, w.client(safehttp.Options{}), agentURL); e != nil {
		t.Error(e)
	}
	if n := proxied.Load(); n != 0 {
		t.Errorf("%d connections to the proxy", n)
	}
}

// A body is read as far as is wanted, and its end changes nothing of the answer.
func TestBody(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\n"
	hold := func(conn net.Conn) { io.Copy(io.Discard, conn) } //nolint:errcheck // until it closes
	for _, tt := range []struct {
		name    string
		opt     safehttp.Options
		answer  func(net.Conn)
		want    string
		partial bool
	}{
		{"whole", safehttp.Options{MaxBody: 5}, say(head + "Content-Length: 5\r\n\r\nhello"), "hello", false},
		{"one more", safehttp.Options{MaxBody: 4}, say(head + "Content-Length: 5\r\n\r\nhello"), "hell", true},
		{"chunked", safehttp.Options{MaxBody: 5}, say(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), "hello", false},
		{"bad chunks", safehttp.Options{MaxBody: 50}, say(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\nzz\r\n"), "hel", true},
		{"endless trailer", safehttp.Options{MaxBody: 50}, endless(head+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"), "", true},
		{"until it closes", safehttp.Options{MaxBody: 50}, say(head + "\r\nhello"), "hello", false},
		{"breaks off", safehttp.Options{MaxBody: 50}, say(head + "Content-Length: 500\r\n\r\nhello"), "hello", true},
		{"endless", safehttp.Options{MaxBody: 10}, endless(head+"\r\n", "0123456789abcdef"), "0123456789", true},
		{"not wanted", safehttp.Options{}, endless(head+"\r\n", "0123456789abcdef"), "", true},
		{"never comes", safehttp.Options{MaxBody: 50, BodyTime: patience}, func(conn net.Conn) {
			say(head + "Content-Length: 5\r\n\r\nhe")(conn)
			hold(conn)
		}, "he", true},
		{"not compressed", safehttp.Options{MaxBody: 50}, say(head + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08"), "\x1f\x8b\x08", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.raw(agentAddr, true, func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					tt.answer(conn)
				}
			})
			resp, e := post(t, w.client(tt.opt), agentURL)
			if e != nil {
				t.Fatal(e)
			}
			if resp.Status != 200 || string(resp.Body) != tt.want || resp.Partial != tt.partial {
				t.Errorf("got %d %q, partial %t; want 200 %q, partial %t", resp.Status, resp.Body, resp.Partial, tt.want, tt.partial)
			}
		})
	}
}

// say answers with a text.
func say(text string) func(net.Conn) {
	return func(conn net.Conn) { io.WriteString(conn, text) } //nolint:errcheck // the client looks
}

// endless answers with a text and then, until the client has enough, with
// another over and over.
func endless(first, then string) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := io.WriteString(conn, first); err != nil {
			return
		}
		many := strings.Repeat(then, 1000)
		for {
			if _, err := io.WriteString(conn, many); err != nil {
				return
			}
		}
	}
}

// What is no answer is an error that says so, in bounded time and memory.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer func(net.Conn)
	}{
		{"nothing", func(net.Conn) {}},
		{"half a status line", say("HTTP/1.1 20")},
		{"half a header", say("HTTP/1.1 200 OK\r\nContent-Le")},
		{"garbage", say("\x00\x01\x02garbage\r\n\r\n")},
		{"another protocol", say("SSH-2.0-OpenSSH_9.9\r\n")},
		{"no status", say("HTTP/1.1 abc\r\n\r\n")},
		{"HTTP/2 preface", say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
		{"no colon", say("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n")},
		{"two lengths", say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")},
		{"negative length", say("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")},
		{"unknown encoding", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\n")},
		{"endless status line", endless("HTTP/1.1 200 ", "0123456789abcdef")},
		{"endless header", endless("HTTP/1.1 200 OK\r\n", "X-Many: 0123456789\r\n")},
		{"endless hints", endless("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")},
		{"endless going on", endless("", "HTTP/1.1 100 Continue\r\n\r\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.raw(agentAddr, true, func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					tt.answer(conn)
				}
			})
			_, e := post(t, w.client(safehttp.Options{}), agentURL)
			wantKind(t, e, safehttp.Broken, false, true)
		})
	}
}

// Whatever a receiver is busy with, a call ends when its time is up.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	read := func(conn net.Conn) {
		http.ReadRequest(bufio.NewReader(conn)) //nolint:errcheck // it was sent
	}
	for _, tt := range []struct {
		name   string
		secure bool
		serve  func(conn net.Conn, up func())
	}{
		{"never reads, before TLS", false, func(_ net.Conn, up func()) { up() }},
		{"reads one byte and no more", true, func(conn net.Conn, up func()) {
			conn.Read(make([]byte, 1)) //nolint:errcheck // it was sent
			up()
		}},
		{"silence", true, func(conn net.Conn, up func()) { read(conn); up() }},
		{"silence in the header", true, func(conn net.Conn, up func()) {
			read(conn)
			say("HTTP/1.1 200 OK\r\nX: ")(conn)
			up()
		}},
		{"one byte at a time", true, func(conn net.Conn, up func()) {
			read(conn)
			for i := range 1 << 20 {
				if _, err := conn.Write([]byte("H")); err != nil {
					return
				}
				if i == 1000 {
					up()
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, ctx, stop := newWorld(t), newLapse(t), make(chan struct{})
			w.raw(agentAddr, tt.secure, func(conn net.Conn) {
				tt.serve(conn, ctx.end)
				<-stop
			})
			t.Cleanup(func() { close(stop) })
			_, err := w.client(safehttp.Options{}).Do(ctx, safehttp.Request{
				Method: "POST", URL: agentURL, Body: make([]byte, 16<<20), // more than the buffers on the way take
			})
			e, _ := errors.AsType[*safehttp.Error](err)
			wantKind(t, e, safehttp.Timeout, false, tt.secure)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is no DeadlineExceeded", err)
			}
		})
	}
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		w, stop := newWorld(t), make(chan struct{})
		w.raw(agentAddr, true, func(net.Conn) { <-stop })
		t.Cleanup(func() { close(stop) })
		_, e := post(t, w.client(safehttp.Options{Timeout: patience}), agentURL)
		if e == nil || e.Kind != safehttp.Timeout {
			t.Errorf("got %v; want a timeout", e)
		}
	})
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.raw(agentAddr, true, func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			cancel()
		}
		io.Copy(io.Discard, conn) //nolint:errcheck // until it closes
	})
	c := w.client(safehttp.Options{})
	_, err := c.Do(ctx, safehttp.Request{Method: "POST", URL: agentURL})
	e, _ := errors.AsType[*safehttp.Error](err)
	wantKind(t, e, safehttp.Canceled, false, true)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not Canceled", err)
	}
	_, err = c.Do(ctx, safehttp.Request{Method: "POST", URL: agentURL}) // from the beginning
	e, _ = errors.AsType[*safehttp.Error](err)
	wantKind(t, e, safehttp.Canceled, false, false)

	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = c.Do(late, safehttp.Request{Method: "POST", URL: agentURL})
	e, _ = errors.AsType[*safehttp.Error](err)
	wantKind(t, e, safehttp.Timeout, false, false)
}

// One host takes so many connections at once and no more; another host does not
// wait for it.
func TestConnectionsPerHost(t *testing.T) {
	t.Parallel()
	const most, calls = 3, 12
	w := newWorld(t)
	var now, peak atomic.Int32
	entered, leave := make(chan struct{}, calls), make(chan struct{})
	w.serve(agentAddr, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		entered <- struct{}{}
		<-leave
		now.Add(-1)
	}))
	w.dns.say("other.example.com", "93.184.216.35")
	w.serve("93.184.216.35", http.HandlerFunc(ok), "other.example.com")
	c := w.client(safehttp.Options{MaxPerHost: most})

	var work sync.WaitGroup
	for range calls {
		work.Go(func() {
			if _, e := post(t, c, agentURL); e != nil {
				t.Error(e)
			}
		})
	}
	for range most {
		<-entered
	}
	if _, e := post(t, c, "https://other.example.com/"); e != nil {
		t.Errorf("another host: %v", e)
	}
	short, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := c.Do(short, safehttp.Request{Method: "POST", URL: agentURL})
	e, _ := errors.AsType[*safehttp.Error](err)
	wantKind(t, e, safehttp.Timeout, false, false)
	close(leave)
	work.Wait()
	if n := peak.Load(); n != most {
		t.Errorf("%d connections at once; want %d", n, most)
	}
	if n := c.Calls(); n != 0 {
		t.Errorf("%d hosts are remembered", n)
	}
}

func TestBadHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client(safehttp.Options{})
	for _, h := range []http.Header{
		{"Authorization": {"Bearer secret\r\nX: y"}},
		{"Authorization": {"Bearer secret\n"}},
		{"Authorization": {"Bearer sec\x00ret"}},
		{"Authorization": {"fine", "Bearer secret\r"}},
		{"Bad Name": {"secret"}},
		{"": {"secret"}},
	} {
		_, err := c.Do(t.Context(), safehttp.Request{Method: "POST", URL: agentURL, Header: h})
		e, _ := errors.AsType[*safehttp.Error](err)
		wantKind(t, e, safehttp.BadRequest, true, false)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v shows a secret", err)
		}
	}
	_, err := c.Do(t.Context(), safehttp.Request{Method: "PO ST", URL: agentURL})
	e, _ := errors.AsType[*safehttp.Error](err)
	wantKind(t, e, safehttp.BadRequest, true, false)
	if got := w.dials(); len(got) != 0 {
		t.Errorf("dialled %v", got)
	}
}
