package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/api"
	"beckon/hub/ma2h"
)

// serve runs the real server on a loopback socket and returns its address and a
// function that shuts it down.
func (w *world) serve(change func(*http.Server)) (addr string, shutdown func()) {
	w.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	srv := api.Server(w.api, slog.New(slog.NewJSONHandler(w.log, nil)), w.api.Drain)
	if change != nil {
		change(srv)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	stopped := false
	shutdown = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			w.t.Errorf("shutdown: %v", err)
			srv.Close()
		}
		if err := <-done; err != http.ErrServerClosed { //nolint:errorlint // documented
			w.t.Errorf("serve: %v", err)
		}
	}
	w.t.Cleanup(shutdown)
	return l.Addr().String(), shutdown
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestServerTimeouts: the limits that the loris tests below shorten.
func TestServerTimeouts(t *testing.T) {
	t.Parallel()
	s := api.Server(nil, slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout != 5*time.Second || s.ReadTimeout != 0 || s.WriteTimeout <= time.Minute ||
		s.IdleTimeout == 0 || s.MaxHeaderBytes != 16<<10 {
		t.Errorf("%+v", s)
	}
}

// TestSlowHeaders: who sends headers a byte at a time is cut off.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	addr, _ := w.serve(func(s *http.Server) { s.ReadHeaderTimeout = 200 * time.Millisecond })
	c := dial(t, addr)
	began := time.Now()
	go func() {
		for _, b := range []byte("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: " + strings.Repeat("x", 1000)) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	io.Copy(io.Discard, c)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("cut off after %v", took)
	}
}

// TestSlowBody: a body that comes a byte at a time is refused in JSON and the
// connection closed, whether a handler reads it or not.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) { o.BodyTimeout = 300 * time.Millisecond })
	addr, _ := w.serve(nil)
	tests := []struct {
		name, head, want string
	}{
		{"submit", "POST /v1/messages HTTP/1.1\r\nContent-Length: 500", `"code":"validation_error"`},
		{"chunked", "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked", `"code":"validation_error"`},
		{"cancel", "POST /v1/messages/msg_1/cancel HTTP/1.1\r\nContent-Length: 500", `"code":"not_found"`},
		{"refused before it is read", "POST /v1/nothing HTTP/1.1\r\nContent-Length: 500", `"code":"not_found"`},
		{"GET with a body", "GET /healthz HTTP/1.1\r\nContent-Length: 500", `"ok":true`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, addr)
			began := time.Now()
			fmt.Fprintf(c, "%s\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n\r\n", tt.head, deployToken)
			go func() {
				for range 500 {
					if _, err := io.WriteString(c, "{"); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			}()
			got, _ := io.ReadAll(c)
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("cut off after %v", took)
			}
			if !strings.Contains(string(got), tt.want) && tt.name != "chunked" { // "{" is no chunk
				t.Errorf("answer %q, want %s", got, tt.want)
			}
		})
	}
}

// TestHugeBody: a body over the limit is refused without being taken in, with a
// length and without one.
func TestHugeBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	addr, _ := w.serve(nil)
	for _, tt := range []struct {
		name   string
		length int64
	}{{"with a length", 1 << 30}, {"chunked", -1}} {
		t.Run(tt.name, func(t *testing.T) {
			sent := &endless{}
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/v1/messages", sent)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = tt.length
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+deployToken)
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != 422 || !strings.Contains(string(body), "262144 bytes") {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if sent.n.Load() > 32<<20 {
				t.Errorf("took in %d bytes", sent.n.Load())
			}
		})
	}
}

type endless struct{ n atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.n.Add(int64(len(p)))
	return len(p), nil
}

// TestHugeHeaders: headers over the limit are refused.
func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	addr, _ := w.serve(nil)
	c := dial(t, addr)
	go io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, " 431 ") {
		t.Errorf("%q, %v", line, err)
	}
}

// TestShutdownWakesPolls: Shutdown returns at once although a poll is parked,
// and the poll gets its answer.
func TestShutdownWakesPolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	addr, shutdown := w.serve(nil)
	id := w.submit(ask(nil))
	c := dial(t, addr)
	fmt.Fprintf(c, "GET /v1/messages/%s?wait=60 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", id, deployToken)
	w.parked(1)
	began := time.Now()
	shutdown()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if took := time.Since(began); resp.StatusCode != 200 || !strings.Contains(string(body), `"status":"open"`) || took > 3*time.Second {
		t.Errorf("%d after %v: %s", resp.StatusCode, took, body)
	}
}

// TestClientLeaves: a poll whose client hangs up is let go and counted as 499.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	addr, _ := w.serve(nil)
	id := w.submit(ask(nil))
	c := dial(t, addr)
	fmt.Fprintf(c, "GET /v1/messages/%s?wait=60 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", id, deployToken)
	w.parked(1)
	c.Close()
	w.parked(0)
}

// TestPollOutlivesBodyTimeout: a body deadline does not cut a poll on the same
// connection.
func TestPollOutlivesBodyTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *hub.Directory, o *api.Options) { o.BodyTimeout = 200 * time.Millisecond })
	addr, _ := w.serve(nil)
	c := dial(t, addr)
	br := bufio.NewReader(c)
	e := ask(nil)
	fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s", deployToken, len(e), e)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	r := &reply{t: t, body: string(body)}
	fmt.Fprintf(c, "GET /v1/messages/%s?wait=1 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", r.text("id"), deployToken)
	resp, err = http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
		t.Errorf("%d %s, %v", resp.StatusCode, body, err)
	}
}

// parked waits until so many polls are parked.
func (w *world) parked(n int) {
	w.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); {
		got := w.send("GET", "/metrics", "", "").body
		if strings.Contains(got, fmt.Sprintf("\nbeckon_polls_parked %d\n", n)) {
			return
		}
		runtime.Gosched()
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("never %d polls", n)
}

const parkEnv = "BECKON_TEST_PARK"

// parkPolls is the client process of BenchmarkParkedPolls: it opens polls and
// holds them until its standard input ends.
func parkPolls() bool {
	v := os.Getenv(parkEnv)
	if v == "" {
		return false
	}
	var addr, id string
	var n int
	if _, err := fmt.Sscan(v, &addr, &id, &n); err != nil {
		panic(err)
	}
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", addr) //nolint:noctx // the process is the bound
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(c, "GET /v1/messages/%s?wait=60 HTTP/1.1\r\nHost: hub\r\nUser-Agent: beckon-client\r\nAccept: application/json\r\nAuthorization: Bearer %s\r\n\r\n", id, deployToken)
		conns[i] = c
	}
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(conns)
	return true
}

// BenchmarkParkedPolls reports how much memory, stacks included, the server
// holds for one parked poll, and what net/http alone would. The clients are
// another process.
func BenchmarkParkedPolls(b *testing.B) {
	b.Run("hub", func(b *testing.B) {
		w := newWorld(b, func(d *hub.Directory, _ *api.Options) { d.Limits.RequestsPerMinute = 0 })
		addr, shutdown := w.serve(nil)
		defer shutdown()
		park(b, addr, w.submit(ask(nil)), w.parked)
	})
	b.Run("bare", func(b *testing.B) {
		var parked atomic.Int64
		srv := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			parked.Add(1)
			defer parked.Add(-1)
			<-r.Context().Done()
		})}
		l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(l) }()
		defer func() { srv.Close(); <-done }()
		park(b, l.Addr().String(), "msg_1", func(n int) {
			for parked.Load() != int64(n) {
				time.Sleep(5 * time.Millisecond)
			}
		})
	})
}

func park(b *testing.B, addr, id string, parked func(int)) {
	const polls = 5000
	for b.Loop() {
		before := inUse()
		cmd := exec.CommandContext(b.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), parkEnv+"="+fmt.Sprintf("%s %s %d", addr, id, polls))
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		parked(polls)
		heap, stack := inUse().minus(before)
		b.ReportMetric(float64(heap+stack)/polls, "B/poll")
		b.ReportMetric(float64(heap)/polls, "heapB/poll")
		b.ReportMetric(float64(stack)/polls, "stackB/poll")
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		parked(0)
	}
}

type memory struct{ heap, stack int64 }

// inUse is what is in use once garbage is gone and stacks have shrunk, which
// takes them one collection a halving.
func inUse() memory {
	for range 6 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{heap: int64(m.HeapAlloc), stack: int64(m.StackInuse)}
}

func (m memory) minus(o memory) (heap, stack int64) { return m.heap - o.heap, m.stack - o.stack }

// BenchmarkSubmit is a submit through the whole API and a real store.
func BenchmarkSubmit(b *testing.B) {
	w := newWorld(b, func(d *hub.Directory, _ *api.Options) {
		d.Limits.RequestsPerMinute, d.Limits.OpenMessages = 0, 0
	})
	b.ReportAllocs()
	for b.Loop() {
		w.send("POST", "/v1/messages", deployToken, ask(nil)).want(202, "")
	}
}

// BenchmarkRefusal is the price of the API alone: routing, credential, limit,
// scan, error body, log and metrics.
func BenchmarkRefusal(b *testing.B) {
	w := newWorld(b, func(d *hub.Directory, _ *api.Options) { d.Limits.RequestsPerMinute = 0 })
	b.ReportAllocs()
	for b.Loop() {
		w.send("POST", "/v1/messages", deployToken, "{").want(400, ma2h.CodeValidation)
	}
}
