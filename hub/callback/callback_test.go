package callback_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/callback"
	"beckon/hub/ma2h"
)

// A push of each version, scheme and algorithm arrives as it was kept, with its
// credential, and with a signature that holds for it and for no other.
func TestPush(t *testing.T) {
	t.Parallel()
	keys := hubKeys(t)
	for _, minor := range []int{0, 1, 3, 4, 5} {
		for _, scheme := range []string{"", "hmac", "bearer", "apikey"} {
			for _, algorithm := range []string{ma2h.AlgHMAC, ma2h.AlgEd25519} {
				if minor < 2 && algorithm == ma2h.AlgEd25519 {
					continue
				}
				t.Run(fmt.Sprintf("0.%d %s %s", minor, scheme, algorithm), func(t *testing.T) {
					t.Parallel()
					r := newReceiver(t, nil)
					// HTTP would write scheme and host in another way.
					push := signedPush(t, minor, strings.Replace(r.URL, "https://", "HTTPS://", 1)+"/ma2h/%7Eagent?a=b%20c")
					push.Scheme, push.Algorithm = scheme, algorithm
					if algorithm == ma2h.AlgEd25519 {
						push.Signing = hub.Secret{}
					}
					if scheme == "bearer" || scheme == "apikey" {
						push.Credential = hub.NewSecret("t0ken+/=")
					}
					if err := r.pusher(callback.Options{Keys: keys}).Push(t.Context(), push); err != nil {
						t.Fatal(err)
					}
					all := r.pushes()
					if len(all) != 1 {
						t.Fatalf("%d pushes; want one", len(all))
					}
					g := all[0]
					if string(g.body) != string(push.Body) || g.header.Get("Content-Type") != "application/json" || g.proto != 2 {
						t.Errorf("got %s %v %s", "HTTP/"+strconv.Itoa(g.proto), g.header, g.body)
					}
					wantAuth, wantKey := "", ""
					switch scheme {
					case "bearer":
						wantAuth = "Bearer t0ken+/="
					case "apikey":
						wantKey = "t0ken+/="
					}
					if a, k := g.header.Get("Authorization"), g.header.Get("X-API-Key"); a != wantAuth || k != wantKey {
						t.Errorf("Authorization %q, X-API-Key %q; want %q, %q", a, k, wantAuth, wantKey)
					}
					v := ma2h.Verifier{CallbackURL: push.URL, Secrets: [][]byte{[]byte("old"), []byte(secret)}}
					if algorithm == ma2h.AlgEd25519 {
						v.Secrets, v.Ed25519Keys = nil, []ed25519.PublicKey{keys[1].Public().(ed25519.PublicKey), keys[0].Public().(ed25519.PublicKey)}
					}
					signature := g.header.Get(ma2h.SignatureHeader)
					resp, err := v.Verify(signature, g.body, time.Now())
					if err != nil || resp.InReplyTo != "msg_01JZ" {
						t.Fatalf("the signature does not hold: %+v, %v", resp, err)
					}
					if strings.Contains(signature, "jti=") != (minor >= 3) {
						t.Errorf("signature %s", signature)
					}
					v.CallbackURL = g.url // as HTTP normalises it
					if _, err := v.Verify(signature, g.body, time.Now()); minor >= 3 && !errors.Is(err, ma2h.ErrSignature) {
						t.Errorf("the URL is signed as HTTP writes it (%s), not as it was sent (%s)", g.url, push.URL)
					}
				})
			}
		}
	}
}

// What each answer means in a version with and without retries of a 4xx.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status     int
		retryAfter string
		at01       time.Duration // the wait that is asked for
		end05      bool          // from 0.2 on it is the end
		at05       time.Duration
		unsure     bool
	}{
		{status: 300, end05: true},
		{status: 301, retryAfter: "9", at01: 9 * time.Second, end05: true},
		{status: 302, end05: true},
		{status: 303, end05: true},
		{status: 304, end05: true},
		{status: 307, end05: true},
		{status: 308, end05: true},
		{status: 400, end05: true},
		{status: 401, end05: true},
		{status: 403, end05: true},
		{status: 404, end05: true},
		{status: 405, end05: true},
		{status: 408, retryAfter: "5", at01: 5 * time.Second, end05: true},
		{status: 409, end05: true},
		{status: 410, end05: true},
		{status: 413, end05: true},
		{status: 418, end05: true},
		{status: 421, end05: true},
		{status: 425, end05: true},
		{status: 429, retryAfter: "120", at01: 2 * time.Minute, end05: true},
		{status: 429, end05: true},
		{status: 451, end05: true},
		{status: 499, end05: true},
		{status: 500, unsure: true},
		{status: 500, retryAfter: "30", at01: 30 * time.Second, at05: 30 * time.Second, unsure: true},
		{status: 501, unsure: true},
		{status: 502, unsure: true},
		{status: 503, retryAfter: "3600", at01: time.Hour, at05: time.Hour, unsure: true},
		{status: 503, retryAfter: "soon", unsure: true},
		{status: 504, unsure: true},
		{status: 599, unsure: true},
		{status: 600, unsure: true},
		{status: 999, unsure: true},
	} {
		t.Run(fmt.Sprint(tt.status, tt.retryAfter), func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.retryAfter != "" {
					w.Header().Set("Retry-After", tt.retryAfter)
				}
				w.Header().Set("Location", "https://127.0.0.1:1/")
				w.WriteHeader(tt.status)
			})
			for minor, want := range map[int]struct {
				end   bool
				after time.Duration
			}{0: {false, tt.at01}, 1: {false, tt.at01}, 3: {tt.end05, tt.at05}, 5: {tt.end05, tt.at05}} {
				err := r.pusher(callback.Options{}).Push(t.Context(), signedPush(t, minor, r.URL))
				e := wantDelivery(t, err, "http_"+strconv.Itoa(tt.status), want.end, tt.unsure)
				if e.After != want.after {
					t.Errorf("0.%d: after %s; want %s", minor, e.After, want.after)
				}
				if !strings.Contains(e.Msg, strconv.Itoa(tt.status)) {
					t.Errorf("%q does not name the status", e.Msg)
				}
			}
			if n := len(r.pushes()); n != 4 {
				t.Errorf("%d requests for 4 pushes", n)
			}
		})
	}
	url, roots := rawReceiver(t, func(_ context.Context, conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nmore") //nolint:errcheck // the client looks
		}
	})
	for minor, end := range map[int]bool{1: false, 5: true} {
		err := callback.New(callback.Options{AllowLoopback: true, RootCAs: roots}).Push(t.Context(), signedPush(t, minor, url))
		wantDelivery(t, err, "http_101", end, false)
	}
	for _, status := range []int{200, 201, 202, 204, 205, 206, 226, 299} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if err := r.pusher(callback.Options{}).Push(t.Context(), signedPush(t, 5, r.URL)); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A receiver that fails and then recovers gets the same Response, signed anew.
func TestRetry(t *testing.T) {
	t.Parallel()
	statuses := []int{500, 503, 200}
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(statuses[0])
		statuses = statuses[1:]
	})
	p, push := r.pusher(callback.Options{}), signedPush(t, 5, r.URL+"/x")
	wantDelivery(t, p.Push(t.Context(), push), "http_500", false, true)
	wantDelivery(t, p.Push(t.Context(), push), "http_503", false, true)
	if err := p.Push(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	all := r.pushes()
	if len(all) != 3 {
		t.Fatalf("%d pushes; want 3", len(all))
	}
	// One verifier for all, so that an id which came twice would be a replay.
	v := ma2h.Verifier{CallbackURL: push.URL, Secrets: [][]byte{[]byte(secret)}}
	for i, g := range all {
		if string(g.body) != string(all[0].body) {
			t.Errorf("attempt %d has another body", i+1)
		}
		if _, err := v.Verify(g.header.Get(ma2h.SignatureHeader), g.body, time.Now()); err != nil {
			t.Errorf("attempt %d: %v", i+1, err)
		}
	}
	if _, err := v.Verify(all[2].header.Get(ma2h.SignatureHeader), all[2].body, time.Now()); !errors.Is(err, ma2h.ErrReplay) {
		t.Errorf("the same again: %v; want a replay", err)
	}
}

// reads takes a request and all that belongs to it.
func reads(_ context.Context, conn net.Conn) {
	if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
		io.Copy(io.Discard, req.Body) //nolint:errcheck // the client looks
	}
}

// says answers a request with a text.
func says(text string) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		reads(ctx, conn)
		io.WriteString(conn, text) //nolint:errcheck // the client looks
	}
}

// goesOn answers with a text and does not stop there.
func goesOn(text string) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		says(text)(ctx, conn)
		for {
			if _, err := conn.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}
}

// Receivers that don't answer as HTTP says they should.
func TestBadReceivers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		handle func(context.Context, net.Conn)
		code   string // "" for a push that arrived
	}{
		{"closes at once", func(context.Context, net.Conn) {}, "broken"},
		{"closes when it has read", reads, "broken"},
		{"closes in the middle of the header", says("HTTP/1.1 200 OK\r\nContent-"), "broken"},
		{"garbage", says("\x15\x03\x01garbage\r\n\r\n"), "broken"},
		{"garbage status", says("HTTP/1.1 2OO OK\r\n\r\n"), "broken"},
		{"endless header", goesOn("HTTP/1.1 200 OK\r\nX: "), "broken"},
		{"says so before it is told", func(ctx context.Context, conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n") //nolint:errcheck // the client looks
			reads(ctx, conn)
		}, "http_503"},

		// Its status counts, whatever comes after.
		{"endless body", goesOn("HTTP/1.1 200 OK\r\n\r\n"), ""},
		{"closes in the middle of the body", says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"), ""},
		{"body never comes", func(ctx context.Context, conn net.Conn) {
			says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")(ctx, conn)
			<-ctx.Done()
		}, ""},
		{"garbage chunks", says("HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n"), ""},
		{"fails with an endless body", goesOn("HTTP/1.1 500 Oh no\r\n\r\n"), "http_500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, roots := rawReceiver(t, tt.handle)
			// None of these may take as long as a call may.
			p := callback.New(callback.Options{AllowLoopback: true, RootCAs: roots, Timeout: time.Hour})
			for _, minor := range []int{1, 5} {
				err := p.Push(t.Context(), signedPush(t, minor, url))
				if tt.code != "" {
					wantDelivery(t, err, tt.code, false, true)
				} else if err != nil {
					t.Errorf("0.%d: %v", minor, err)
				}
			}
		})
	}
}

// A body that has no end is let go soon, however fast it comes.
func TestBodyIsNotKept(t *testing.T) {
	t.Parallel()
	wrote := make(chan int, 1)
	url, roots := rawReceiver(t, func(ctx context.Context, conn net.Conn) {
		says("HTTP/1.1 200 OK\r\n\r\n")(ctx, conn)
		total := 0
		for {
			n, err := conn.Write(make([]byte, 1<<16))
			if total += n; err != nil {
				wrote <- total
				return
			}
		}
	})
	if err := callback.New(callback.Options{AllowLoopback: true, RootCAs: roots}).Push(t.Context(), signedPush(t, 5, url)); err != nil {
		t.Fatal(err)
	}
	if n := <-wrote; n > 32<<20 { // most of it in buffers on the way
		t.Errorf("%d bytes of the body went out", n)
	}
}

// Receivers that keep a push until its time is up.
func TestSlowReceivers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(context.Context, net.Conn)
	}{
		{"reads one byte and no more", func(_ context.Context, conn net.Conn) {
			conn.Read(make([]byte, 1)) //nolint:errcheck // it was sent
		}},
		{"never answers", reads},
		{"slow status line", says("HTTP/1.1 2")},
		{"slow header", says("HTTP/1.1 200 OK\r\nX-Slow: ")},
	} {
		for _, minor := range []int{1, 5} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				within := newLapse(t)
				url, roots := rawReceiver(t, func(ctx context.Context, conn net.Conn) {
					tt.before(ctx, conn)
					within.end()
					<-ctx.Done()
				})
				err := callback.New(callback.Options{AllowLoopback: true, RootCAs: roots}).Push(within, signedPush(t, minor, url))
				wantDelivery(t, err, "timeout", false, true)
			})
		}
	}
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		url, roots := rawReceiver(t, func(ctx context.Context, _ net.Conn) { <-ctx.Done() })
		err := callback.New(callback.Options{AllowLoopback: true, RootCAs: roots, Timeout: 100 * time.Millisecond}).Push(t.Context(), signedPush(t, 5, url))
		if e, ok := errors.AsType[*hub.DeliveryError](err); !ok || e.Code != "timeout" || e.Permanent {
			t.Errorf("got %v; want a timeout", err)
		}
	})
}

// static is a resolver with one answer.
type static []netip.Addr

func (s static) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if len(s) == 0 {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}
	return s, nil
}

// What the network does is tried again in every version; what may not be called
// never is.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	_, port, _ := net.SplitHostPort(r.Listener.Addr().String())
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	to := func(addrs ...string) (s static) {
		for _, a := range addrs {
			s = append(s, netip.MustParseAddr(a))
		}
		return s
	}
	for _, tt := range []struct {
		name, url string
		opt       callback.Options
		code      string
		permanent bool
	}{
		{"private", "https://agent.example.com/", callback.Options{Resolver: to("10.0.0.1")}, "refused_address", true},
		{"metadata", "https://agent.example.com/", callback.Options{Resolver: to("169.254.169.254", "::1")}, "refused_address", true},
		{"loopback without the switch", "https://127.0.0.1:" + port + "/", callback.Options{}, "refused_url", true},
		{"loopback by name without the switch", "https://agent.example.com:" + port + "/", callback.Options{Resolver: to("127.0.0.1")}, "refused_address", true},
		{"private with the switch", "https://agent.example.com/", callback.Options{AllowLoopback: true, Resolver: to("10.0.0.1")}, "refused_address", true},
		{"plain HTTP", "http://agent.example.com/", callback.Options{AllowLoopback: true}, "refused_url", true},
		{"user name", "https://user:pass@agent.example.com/", callback.Options{}, "refused_url", true},
		{"no such name", "https://agent.example.com/", callback.Options{Resolver: to()}, "dns", false},
		{"nobody listens", "https://" + free.Addr().String() + "/", callback.Options{AllowLoopback: true}, "connect", false},
		{"unknown certificate", r.URL, callback.Options{AllowLoopback: true}, "tls", false},
		{"certificate for another name", "https://agent.invalid.example.org:" + port + "/", callback.Options{AllowLoopback: true, Resolver: to("127.0.0.1"), RootCAs: r.roots()}, "tls", false},
	} {
		for _, minor := range []int{1, 5} {
			err := callback.New(tt.opt).Push(t.Context(), signedPush(t, minor, tt.url))
			t.Run(tt.name, func(t *testing.T) { wantDelivery(t, err, tt.code, tt.permanent, false) })
		}
	}
	if n := len(r.pushes()); n != 0 {
		t.Errorf("%d pushes arrived", n)
	}
}

// What can't be signed or sent is refused before anything is dialled.
func TestUnfit(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	keys := hubKeys(t)
	for _, tt := range []struct {
		name   string
		minor  int
		change func(*hub.Push)
		keys   []ed25519.PrivateKey
		code   string
		msg    string
	}{
		{"0.2", 2, func(*hub.Push) {}, nil, callback.CodeUnsignable, "send 0.3 or later"},
		{"0.2 by Ed25519", 2, func(p *hub.Push) { p.Algorithm = ma2h.AlgEd25519 }, keys, callback.CodeUnsignable, "send 0.3 or later"},
		{"0.1 by Ed25519", 1, func(p *hub.Push) { p.Algorithm = ma2h.AlgEd25519 }, keys, callback.CodeUnsignable, "a 0.1 Response is signed with a secret"},
		{"no secret", 5, func(p *hub.Push) { p.Signing = hub.Secret{} }, nil, callback.CodeNoKey, "the secret that signs is not set"},
		{"no secret at 0.1", 1, func(p *hub.Push) { p.Signing = hub.Secret{} }, nil, callback.CodeNoKey, "the secret that signs is not set"},
		{"no key of the hub's", 5, func(p *hub.Push) { p.Algorithm = ma2h.AlgEd25519 }, nil, callback.CodeNoKey, "this hub has no key for Ed25519"},
		{"no algorithm", 5, func(p *hub.Push) { p.Algorithm = "" }, keys, callback.CodeNoKey, "there is no such algorithm"},
		{"unknown algorithm", 5, func(p *hub.Push) { p.Algorithm = "none" }, keys, callback.CodeNoKey, "there is no such algorithm"},
		{"unknown scheme", 5, func(p *hub.Push) { p.Scheme = "basic" }, nil, callback.CodeBadCredential, "it is hmac, bearer or apikey"},
		{"bearer without a token", 5, func(p *hub.Push) { p.Scheme = "bearer" }, nil, callback.CodeBadCredential, "token_ref names is not set"},
		{"apikey without a key", 5, func(p *hub.Push) { p.Scheme = "apikey" }, nil, callback.CodeBadCredential, "token_ref names is not set"},
		{"line break in the token", 5, func(p *hub.Push) { p.Scheme, p.Credential = "bearer", hub.NewSecret("hunter2\n") }, nil, callback.CodeBadCredential, "mend the secret"},
		{"header in the key", 5, func(p *hub.Push) { p.Scheme, p.Credential = "apikey", hub.NewSecret("hunter2\r\nX-Evil: 1") }, nil, callback.CodeBadCredential, "mend the secret"},
		{"no Response", 5, func(p *hub.Push) { p.Body = nil }, nil, callback.CodeUnsignable, "can't be signed"},
		{"half a Response", 5, func(p *hub.Push) { p.Body = p.Body[:len(p.Body)/2] }, nil, callback.CodeUnsignable, "can't be signed"},
		{"twice a name", 5, func(p *hub.Push) { p.Body = []byte(`{"ma2h_version":"0.5","state":{"hunter2":1,"hunter2":2}}`) }, nil, callback.CodeUnsignable, "can't be signed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			push := signedPush(t, tt.minor, r.URL)
			tt.change(&push)
			err := r.pusher(callback.Options{Keys: tt.keys}).Push(t.Context(), push)
			if e := wantDelivery(t, err, tt.code, true, false); !strings.Contains(e.Msg, tt.msg) {
				t.Errorf("%q does not say %q", e.Msg, tt.msg)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), "hunter2") {
				t.Errorf("%v tells a secret", err)
			}
		})
	}
	t.Cleanup(func() {
		if n := len(r.pushes()); n != 0 {
			t.Errorf("%d pushes arrived", n)
		}
	})
}

// A shutdown is no failed attempt, so it is no DeliveryError.
func TestShutdown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		cancel()
		<-req.Context().Done()
	})
	err := r.pusher(callback.Options{}).Push(ctx, signedPush(t, 5, r.URL))
	if _, ok := errors.AsType[*hub.DeliveryError](err); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want that the context was cancelled", err)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	p := callback.New(callback.Options{})
	if err := p.CheckURL("https://agent.example.com/ma2h"); err != nil {
		t.Error(err)
	}
	if err := p.CheckURL("http://agent.example.com/ma2h"); err == nil || err.Error() != "must begin with https://" {
		t.Errorf("plain HTTP: %v", err)
	}
}
