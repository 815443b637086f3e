package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What the limiter allows and keeps.
const (
	// failuresPerMinute is how many 401s an address gets a minute, and at once.
	failuresPerMinute = 30
	// limiterIdle is after how long an unused bucket is full again for sure, so
	// that forgetting it changes nothing.
	limiterIdle = 2 * time.Minute
	// maxBuckets bounds the addresses that are told apart; more share a bucket.
	maxBuckets = 10_000
)

// limiter holds one token bucket an agent and one an address. Buckets live in
// memory only: after a restart everybody begins with a full one.
type limiter struct {
	mu       sync.Mutex
	agents   map[string]*bucket
	failures map[netip.Prefix]*bucket
	overflow *bucket
	swept    time.Time
}

type bucket struct {
	rate      *rate.Limiter
	perMinute int
	used      time.Time
}

func newLimiter() *limiter {
	return &limiter{
		agents:   make(map[string]*bucket),
		failures: make(map[netip.Prefix]*bucket),
		overflow: newBucket(failuresPerMinute, failuresPerMinute),
		swept:    time.Now(),
	}
}

func newBucket(perMinute, burst int) *bucket {
	return &bucket{rate: rate.NewLimiter(rate.Limit(float64(perMinute)/60), burst), perMinute: perMinute}
}

// agent takes one request of an agent from its bucket and returns 0, or how
// long to wait. The bucket holds ten seconds' worth, at least 10 and at most a
// minute's. A limit of 0 is none; a limit that has changed since begins with a
// full bucket.
func (l *limiter) agent(id string, perMinute int) time.Duration {
	if perMinute <= 0 {
		return 0
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	b := l.agents[id]
	if b == nil || b.perMinute != perMinute {
		b = newBucket(perMinute, min(perMinute, max(10, perMinute/6)))
		l.agents[id] = b
	}
	return b.take(now)
}

// failure takes one failed authentication of an address from its bucket.
func (l *limiter) failure(addr netip.Prefix) time.Duration {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	b := l.failures[addr]
	switch {
	case b != nil:
	case len(l.failures) >= maxBuckets:
		b = l.overflow
	default:
		b = newBucket(failuresPerMinute, failuresPerMinute)
		l.failures[addr] = b
	}
	return b.take(now)
}

func (b *bucket) take(now time.Time) time.Duration {
	b.used = now
	if b.rate.AllowN(now, 1) {
		return 0
	}
	// Reserve only to learn the delay, and give it back.
	r := b.rate.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	r.CancelAt(now)
	return max(wait, time.Millisecond)
}

// sweep forgets idle buckets, at most once in limiterIdle.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < limiterIdle {
		return
	}
	l.swept = now
	for id, b := range l.agents {
		if now.Sub(b.used) >= limiterIdle {
			delete(l.agents, id)
		}
	}
	for addr, b := range l.failures {
		if now.Sub(b.used) >= limiterIdle {
			delete(l.failures, addr)
		}
	}
}

// remote is the network that a request comes from: an IPv4 address, or the /64
// that one host has of IPv6.
func (a *API) remote(r *http.Request) netip.Prefix {
	addr := a.client(r)
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // 32 and 64 are always in range; no address has no prefix
	return p
}

// client is the address that a request comes from. Behind a trusted proxy it is
// the last address of X-Forwarded-For that no trusted proxy has; what stands
// before it may be invented. It is the zero address when nothing is known.
func (a *API) client(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && a.trusted(addr); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = hop
	}
	return addr.Unmap().WithZone("")
}

func (a *API) trusted(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range a.o.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
