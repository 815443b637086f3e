package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wire answers requests without a network, so that time can be a test's own.
type wire func(*http.Request) (*http.Response, error)

func (f wire) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const testIssuer = "https://login.example.com"

func describe(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	doc := fmt.Sprintf(`{"issuer":%q,"authorization_endpoint":"%[1]s/a","token_endpoint":"%[1]s/t","jwks_uri":"%[1]s/k"}`, testIssuer)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(doc)), Request: r,
	}, nil
}

func testLogin(t *testing.T, f wire) *login {
	t.Helper()
	l := newLogin(&loginSection{Issuer: testIssuer, ClientID: "beckon"}, func(field, format string, args ...any) {
		t.Errorf(field+": "+format, args...)
	})
	l.client.Transport = f
	return l
}

// While a provider is down, attempts get rarer, and nobody waits for them but
// the one who makes them.
func TestDiscoveryBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries, down := 0, true
		l := testLogin(t, func(r *http.Request) (*http.Response, error) {
			tries++
			if down {
				return nil, errors.New("down")
			}
			return describe(r)
		})
		for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute} {
			for range 3 {
				if _, err := l.discover(t.Context()); err == nil || tries != i+1 {
					t.Fatalf("try %d: %d requests, error %v", i+1, tries, err)
				}
			}
			time.Sleep(pause - time.Millisecond)
			if _, _ = l.discover(t.Context()); tries != i+1 {
				t.Fatalf("try %d came again before %v", i+1, pause)
			}
			time.Sleep(time.Millisecond)
		}
		down = false
		for range 3 {
			if _, err := l.discover(t.Context()); err != nil || tries != 9 {
				t.Fatalf("back again: %d requests, error %v", tries, err)
			}
		}
		// A day later it is looked at again; the old description still serves.
		time.Sleep(rediscoverAfter)
		down = true
		for range 3 {
			if _, err := l.discover(t.Context()); err != nil || tries != 10 {
				t.Fatalf("a day later: %d requests, error %v", tries, err)
			}
		}
	})
}

// A provider that says nothing holds nobody for long, and whoever leaves does
// not take the attempt away from others.
func TestDiscoveryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := testLogin(t, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		})
		begun := time.Now()
		if _, err := l.discover(t.Context()); err == nil || time.Since(begun) > providerTimeout {
			t.Errorf("it took %v, error %v", time.Since(begun), err)
		}
		time.Sleep(time.Minute)
		l.client.Transport = wire(describe)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.discover(gone); err != nil {
			t.Errorf("somebody who left broke it: %v", err)
		}
	})
}

func TestUsedStates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUsedStates()
		until := time.Now().Add(flowLife)
		if !u.add("a", until) || u.add("a", until) {
			t.Error("a state works other than once")
		}
		for i := range maxUsedStates + 100 {
			if !u.add(fmt.Sprint(i), until) {
				t.Fatalf("state %d is refused", i)
			}
		}
		if len(u.order) != maxUsedStates || len(u.until) != maxUsedStates || u.add(fmt.Sprint(maxUsedStates+99), until) {
			t.Errorf("%d and %d are remembered", len(u.order), len(u.until))
		}
		time.Sleep(flowLife)
		if !u.add("b", time.Now().Add(flowLife)) || len(u.order) != 1 || len(u.until) != 1 {
			t.Errorf("%d and %d are remembered after their time", len(u.order), len(u.until))
		}
	})
}

func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimit(3)
		for i := range 3 {
			if !l.allow("alice") {
				t.Fatalf("number %d is refused", i+1)
			}
			time.Sleep(time.Minute)
		}
		if l.allow("alice") || !l.allow("bob") {
			t.Error("the limit is not each one's own")
		}
		time.Sleep(limitSpan - 3*time.Minute - time.Millisecond)
		if l.allow("alice") {
			t.Error("allowed before the first has passed")
		}
		time.Sleep(time.Millisecond)
		if !l.allow("alice") || l.allow("alice") {
			t.Error("one more is allowed when one has passed")
		}
		// Many strangers cost bounded memory, and don't lock out who is known.
		for i := range maxLimited + 100 {
			l.allow(fmt.Sprint("stranger ", i))
		}
		if len(l.seen) > maxLimited+1 {
			t.Errorf("%d are remembered", len(l.seen))
		}
		if l.allow("one more") || !l.allow("bob") {
			t.Error("beyond the bound all share a limit, and nobody else does")
		}
		time.Sleep(limitSpan)
		if !l.allow("one more") || len(l.seen) != 1 {
			t.Errorf("%d are remembered after their time", len(l.seen))
		}
	})
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ to, path, message string }{
		{"/", "/", ""},
		{"", "/", ""},
		{"/i/msg_01J", "/i/msg_01J", "msg_01J"},
		{"/i/A.b-c_d~9", "/i/A.b-c_d~9", "A.b-c_d~9"},
		{"//evil.example", "/", ""},
		{"https://evil.example/i/msg_1", "/", ""},
		{"/i//evil.example", "/", ""},
		{`/i/\evil.example`, "/", ""},
		{"/i/..", "/", ""},
		{"/i/.", "/", ""},
		{"/i/", "/", ""},
		{"/i/msg_1/answer", "/", ""},
		{"/i/msg_1?x", "/", ""},
		{"/i/msg_1\r\nSet-Cookie: x", "/", ""},
		{"/i/%2e%2e", "/", ""},
		{"/i/" + strings.Repeat("x", 129), "/", ""},
		{"/signout", "/", ""},
		{"/oidc/start", "/", ""},
		{"javascript:alert(1)", "/", ""},
	}
	for _, tt := range tests {
		if path, message := localPath(tt.to); path != tt.path || message != tt.message {
			t.Errorf("%q leads to %q (%q), want %q (%q)", tt.to, path, message, tt.path, tt.message)
		}
	}
}

func TestClientOf(t *testing.T) {
	t.Parallel()
	tests := []struct{ remote, want string }{
		{"203.0.113.9:4711", "203.0.113.9"},
		{"203.0.113.9", "203.0.113.9"},
		{"[::ffff:203.0.113.9]:4711", "203.0.113.9"},
		{"[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"},
		{"2001:db8:1:2::1", "2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:4711", "fe80::/64"},
		{"@", ""},
	}
	for _, tt := range tests {
		if got := clientOf(&http.Request{RemoteAddr: tt.remote}); got != tt.want {
			t.Errorf("%s counts as %q, want %q", tt.remote, got, tt.want)
		}
	}
}

// Codes that wait for a slow provider don't pile up.
func TestExchangesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := testLogin(t, func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
				return describe(r)
			}
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		})
		p, err := l.discover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 * maxExchanges {
			wg.Go(func() {
				if _, err := l.identify(t.Context(), p, "https://beckon.example.com/oidc/callback", "code", new(flow)); !errors.Is(err, errDown) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		if n := len(l.slots); n != maxExchanges {
			t.Errorf("%d run at once", n)
		}
		begun := time.Now()
		wg.Wait()
		if took := time.Since(begun); took > providerTimeout || len(l.slots) != 0 {
			t.Errorf("it took %v, and %d are still running", took, len(l.slots))
		}
	})
}
