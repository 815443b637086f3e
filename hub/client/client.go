// Package client is the Go client of a hub, which the command line and agents
// use.
//
// A [Client] speaks for one credential. Calls that are safe to repeat are
// repeated while the hub can't be reached, answers 5xx, or asks to come back
// later with 429: with a growing, jittered pause, never before Retry-After, and
// only as often as [WithAttempts] allows. A submit resends the very bytes that
// it was given, so that the hub knows it by its idempotency key (spec §8.1).
// [Client.Wait] has no such bound: it goes on through restarts of the hub and
// cuts of the network until the message is terminal or its context ends.
//
// An agent that does not wait is called: [Handler] takes the Responses that a
// hub pushes, verifies them and hands out each once, also over processes that
// live no longer than one push. What the agent must know to go on travels in the
// message's state, sealed by [SealState]. [Client.Receive] does the same for
// directives, what people write to an agent unasked.
//
// A refusal is an [*Error] with the hub's code and words. A hub that could not
// be reached is an [*UnreachableError]; then nothing is known to have happened.
// [ExitCode] maps both to the exit codes of the command line.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Limits of the client.
const (
	// maxAnswer bounds what the client reads of an answer.
	maxAnswer = 16 << 20
	// callTimeout is how long one try of a call may take, besides what it waits
	// on purpose.
	callTimeout = 20 * time.Second
	// maxPause caps the pause between two tries; Retry-After may ask for more.
	maxPause = 15 * time.Second
	// patience is how long a call waits for Retry-After; if the hub asks for
	// more, the call ends with its refusal. A wait has all the time it needs.
	patience = 5 * time.Minute
	// maxRetryAfter is where a Retry-After is taken for a mistake.
	maxRetryAfter = 7 * 24 * time.Hour
	firstPause    = 250 * time.Millisecond
)

// Client calls one hub with one credential. It is safe for concurrent use.
type Client struct {
	base     *url.URL
	token    string
	agentID  string
	http     *http.Client
	log      *slog.Logger
	agent    string // User-Agent
	attempts int
	plain    bool
	trust    Trust
	dedup    Dedup
	inbox    *Verifier
}

// Option changes how a Client works.
type Option func(*Client)

// WithHTTPClient sets the HTTP client. Its redirects are not followed, whatever
// it says.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) {
		own := *h
		c.http = &own
	}
}

// WithAttempts sets how often a call is tried at most; 5 by default, 1 for no
// repeats, and [math.MaxInt] for as often as its context allows.
func WithAttempts(n int) Option { return func(c *Client) { c.attempts = max(n, 1) } }

// WithLog sets where tries that failed are said, at level info. By default
// nowhere.
func WithLog(l *slog.Logger) Option { return func(c *Client) { c.log = l } }

// WithUserAgent sets the User-Agent.
func WithUserAgent(s string) Option { return func(c *Client) { c.agent = s } }

// WithPlainHTTP lets the credential travel unencrypted to a host that is not
// this machine, as in a private network of containers.
func WithPlainHTTP() Option { return func(c *Client) { c.plain = true } }

// WithDedup sets what remembers which directives were acted on. By default that
// is the memory of this client.
func WithDedup(d Dedup) Option { return func(c *Client) { c.dedup = d } }

// New returns a client of the hub at baseURL, such as https://beckon.example.com.
// AgentID is whom the token belongs to; it may be empty for an operator. Errors
// are [*UsageError].
func New(baseURL, token, agentID string, opts ...Option) (*Client, error) {
	c := &Client{
		token: token, agentID: agentID, attempts: 5, agent: "beckon-client",
		log: slog.New(slog.DiscardHandler), dedup: &MemoryDedup{},
	}
	for _, o := range opts {
		o(c)
	}
	if c.http == nil {
		c.http = &http.Client{}
	}
	// A redirect would carry the credential to a host that nobody named.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	switch {
	case err != nil:
		return nil, &UsageError{Msg: "the hub's URL must be like https://beckon.example.com"} // err would repeat it, with a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, &UsageError{Msg: fmt.Sprintf("the hub's URL must be like https://beckon.example.com, not %q", u.Redacted())}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, &UsageError{Msg: "the hub's URL must have no user, query or fragment"}
	case u.Scheme == "http" && !c.plain && !loopback(u.Hostname()):
		return nil, &UsageError{Msg: "the hub's URL is plain http, which would show the credential to the network; use https"}
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, &UsageError{Msg: "the token has a space, a line end or a character that is not ASCII in it"}
	}
	c.base = u
	c.inbox = c.Verifier("")
	return c, nil
}

// AgentID is whom the credential belongs to, as [New] was told.
func (c *Client) AgentID() string { return c.agentID }

// NewKey mints an idempotency key.
func NewKey() string { return rand.Text() }

func loopback(host string) bool {
	host = strings.ToLower(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// repeat says after which failures a call may be tried again.
type repeat int

const (
	// always: the call may run twice.
	always repeat = iota
	// unsent: only when the hub certainly did nothing, as when there was no
	// connection, or the hub said so with 429 or 503.
	unsent
)

// call is one call of the hub.
type call struct {
	op     string // for errors
	method string
	path   string // escaped
	query  url.Values
	body   []byte
	repeat repeat
	wait   time.Duration // how long the hub may hold it
}

// do calls the hub until it answers with what is not worth repeating. The
// answer's status is 2xx or 304; everything else is an error.
func (c *Client) do(ctx context.Context, call call) (*answer, error) {
	for try := 1; ; try++ {
		a, err := c.once(ctx, call)
		if err == nil || try >= c.attempts || !retryable(err, call.repeat) {
			return a, err
		}
		pause := pauseFor(err, try)
		if pause > patience {
			return nil, err
		}
		c.log.InfoContext(ctx, "the hub did not take it; trying again", "op", call.op, "try", try, "pause", pause, "err", err)
		if !sleep(ctx, pause) {
			return nil, err
		}
	}
}

// answer is what the hub sent.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// once calls the hub one time.
func (c *Client) once(ctx context.Context, call call) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+call.wait)
	defer cancel()
	req, err := c.request(ctx, call)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &UnreachableError{Op: call.op, Host: c.base.Host, Unsent: isUnsent(err), Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, &UnreachableError{Op: call.op, Host: c.base.Host, Err: err}
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%s: the answer is larger than %d bytes", call.op, maxAnswer)
	}
	if resp.StatusCode == http.StatusNotModified || resp.StatusCode/100 == 2 {
		return &answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
	}
	return nil, refusal(call.op, resp, body)
}

func (c *Client) request(ctx context.Context, call call) (*http.Request, error) {
	u := c.base.String() + call.path
	if len(call.query) > 0 {
		u += "?" + call.query.Encode()
	}
	var body io.Reader
	if call.body != nil {
		body = strings.NewReader(string(call.body))
	}
	req, err := http.NewRequestWithContext(ctx, call.method, u, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", call.op, err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if call.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.agent)
	return req, nil
}

// isUnsent reports whether err came before anything was sent.
func isUnsent(err error) bool {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return true
	}
	_, dns := errors.AsType[*net.DNSError](err)
	return dns
}
