package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"beckon/hub"
)

const (
	callTimeout  = 10 * time.Second // of one call
	maxAnswer    = 8 << 20          // bytes of one answer: a page of history has many blocks
	maxWait      = time.Hour        // the longest Retry-After that is believed
	maxErrorText = 200              // of what Slack says about an error
)

// api calls Slack's Web API. It retries nothing: the outbox does. A method that
// Slack has limited is not called again before its time
// (https://docs.slack.dev/apis/web-api/rate-limits).
type api struct {
	url      string // ends in a slash
	bot, app hub.Secret
	http     *http.Client
	timeout  time.Duration // of one call
	tag      string        // names the app in the state: another app has other ids
	log      *slog.Logger

	mu    sync.Mutex
	until map[string]time.Time // by method: not before
	who   *identity
}

func newAPI(conf section, log *slog.Logger) *api {
	base := slackURL
	proxy := http.ProxyFromEnvironment
	if conf.APIURL != "" {
		base = strings.TrimSuffix(conf.APIURL, "/") + "/"
		proxy = nil
	}
	return &api{
		url: base, bot: conf.BotToken, app: conf.AppToken, timeout: callTimeout, tag: tagOf(conf.BotToken), log: log, until: map[string]time.Time{},
		http: &http.Client{
			Transport: &bounded{&http.Transport{
				Proxy: proxy, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
				TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: callTimeout,
				MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
			}},
			Timeout: callTimeout + 5*time.Second, // a call's context is shorter
			// The token must not follow a redirect to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// tagOf names an app by its token, of which it gives nothing away.
func tagOf(token hub.Secret) string {
	sum := sha256.Sum256([]byte("beckon slack app\n" + token.Reveal()))
	return hex.EncodeToString(sum[:4])
}

// bounded keeps answers from filling the memory.
type bounded struct{ *http.Transport }

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// apiError is a call that failed. It never holds a token, an argument or the
// URL of a response.
type apiError struct {
	Method string
	// Code is Slack's own word, such as "channel_not_found", or one of the
	// codes below.
	Code             string
	Needed, Provided string        // of missing_scope
	Messages         []string      // what Slack finds wrong with blocks
	After            time.Duration // of codeLimited
	MaybeDone        bool          // the call may have had its effect
	Err              error
}

// Codes of failures that are not Slack's words.
const (
	codeLimited     = "rate_limited"
	codeUnreachable = "unreachable" // nothing was sent
	codeTimeout     = "timeout"     // no answer in time
	codeBroken      = "broken"      // the answer broke off or made no sense
	codeHTTP        = "http_"       // and the status
)

func (e *apiError) Error() string {
	s := "slack: " + e.Method + ": " + e.Code
	if e.Needed != "" {
		s += " (needed: " + e.Needed + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *apiError) Unwrap() error { return e.Err }

// slackSaid reports whether err is Slack saying one of the words.
func slackSaid(err error, words ...string) bool {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return false
	}
	for _, w := range words {
		if e.Code == w {
			return true
		}
	}
	return false
}

// call calls a method with the bot token, and decodes the answer into out, which
// may be nil. Any error is an [*apiError], or the context's own when it was
// cancelled.
func (a *api) call(ctx context.Context, method string, args url.Values, out any) error {
	_, err := a.do(ctx, a.bot, method, args, out)
	return err
}

// do calls a method and returns the headers of the answer.
func (a *api) do(ctx context.Context, token hub.Secret, method string, args url.Values, out any) (http.Header, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("slack: %s: %w", method, err)
	}
	if wait := a.limited(method); wait > 0 {
		return nil, &apiError{Method: method, Code: codeLimited, After: wait}
	}
	call, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var sent atomic.Bool
	call = httptrace.WithClientTrace(call, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req, err := http.NewRequestWithContext(call, http.MethodPost, a.url+method, strings.NewReader(args.Encode()))
	if err != nil {
		return nil, &apiError{Method: method, Code: codeBroken, Err: errors.New("no request can be made")}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, a.failed(ctx, method, sent.Load(), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusTooManyRequests {
		wait := a.limit(method, resp.Header.Get("Retry-After"))
		return resp.Header, &apiError{Method: method, Code: codeLimited, After: wait}
	}
	if err != nil {
		return resp.Header, a.failed(ctx, method, true, err)
	}
	if resp.StatusCode != http.StatusOK {
		// Whatever stands in front of Slack may have let the call through.
		return resp.Header, &apiError{Method: method, Code: codeHTTP + strconv.Itoa(resp.StatusCode), MaybeDone: resp.StatusCode >= 500}
	}
	return resp.Header, a.read(method, body, out)
}

// failed makes an error of a call without an answer. The transport's own error
// names the URL, which is left out.
func (a *api) failed(ctx context.Context, method string, sent bool, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("slack: %s: %w", method, context.Canceled)
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	e := &apiError{Method: method, Code: codeBroken, MaybeDone: sent, Err: err}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		e.Code = codeTimeout
	} else if !sent {
		e.Code = codeUnreachable
	}
	return e
}

// answer is what every answer has. https://docs.slack.dev/apis/web-api/
type answer struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Provided string `json:"provided"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

func (a *api) read(method string, body []byte, out any) error {
	var r answer
	if err := json.Unmarshal(body, &r); err != nil && !r.OK && r.Error == "" {
		// The decoder quotes what it can't read, so its error is left out.
		return &apiError{Method: method, Code: codeBroken, MaybeDone: true, Err: errors.New("the answer is no JSON")}
	}
	if !r.OK {
		return a.refused(method, &r)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &apiError{Method: method, Code: codeBroken, MaybeDone: true, Err: errors.New("the answer has another shape")}
	}
	return nil
}

func (a *api) refused(method string, r *answer) error {
	code := r.Error
	if !validID(code, false) || len(code) > 60 {
		code = "unknown_error"
	}
	e := &apiError{Method: method, Code: code, Needed: cutTo(line(r.Needed, ""), maxErrorText), Provided: cutTo(line(r.Provided, ""), 2*maxErrorText)}
	for _, m := range r.Metadata.Messages[:min(len(r.Metadata.Messages), 5)] {
		e.Messages = append(e.Messages, cutTo(line(m, ""), maxErrorText))
	}
	switch code {
	case "ratelimited": // seldom: with HTTP 200
		e.Code, e.After = codeLimited, a.limit(method, "")
	case "fatal_error", "internal_error", "request_timeout", "service_unavailable":
		// "Some aspect of the operation may have succeeded."
		// https://docs.slack.dev/reference/methods/chat.postMessage
		e.MaybeDone = true
	}
	return e
}

// limited is how long a method must rest.
func (a *api) limited(method string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(time.Until(a.until[method]), 0)
}

// limit makes a method rest for the seconds of a Retry-After.
func (a *api) limit(method, seconds string) time.Duration {
	wait := 5 * time.Second // says nothing
	if n, err := strconv.Atoi(strings.TrimSpace(seconds)); err == nil && n > 0 {
		wait = min(time.Duration(min(n, 1<<20))*time.Second, maxWait)
	}
	a.log.Warn("Slack limits a method", "method", method, "wait", wait)
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := time.Now().Add(wait); at.After(a.until[method]) {
		a.until[method] = at
	}
	return wait
}

// identity is who the bot token belongs to.
type identity struct {
	Team       string `json:"team_id"`
	Enterprise string `json:"enterprise_id"`
	TeamName   string `json:"team"`
	User       string `json:"user_id"` // the bot's own
	UserName   string `json:"user"`
	Bot        string `json:"bot_id"`
	URL        string `json:"url"`
}

// whoami asks Slack once who the hub is there.
func (a *api) whoami(ctx context.Context) (*identity, error) {
	a.mu.Lock()
	who := a.who
	a.mu.Unlock()
	if who != nil {
		return who, nil
	}
	who = new(identity)
	if err := a.call(ctx, "auth.test", nil, who); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.who = who
	return who, nil
}

// respond sends a message to a response_url, which is a secret: whoever has it
// may write there. It works five times within thirty minutes.
// https://docs.slack.dev/interactivity/handling-user-interaction
func (a *api) respond(ctx context.Context, responseURL string, message map[string]any) error {
	const method = "response_url"
	if !a.own(responseURL) {
		return &apiError{Method: method, Code: "invalid_url"}
	}
	body, err := json.Marshal(message)
	if err != nil {
		return &apiError{Method: method, Code: codeBroken, Err: err}
	}
	call, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(call, http.MethodPost, responseURL, strings.NewReader(string(body)))
	if err != nil {
		return &apiError{Method: method, Code: "invalid_url"}
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := a.http.Do(req)
	if err != nil {
		return a.failed(ctx, method, true, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return a.failed(ctx, method, true, err)
	}
	if resp.StatusCode == http.StatusOK && !strings.HasPrefix(string(text), "{") {
		return nil // "ok"
	}
	if err := a.read(method, text, nil); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &apiError{Method: method, Code: codeHTTP + strconv.Itoa(resp.StatusCode)}
	}
	return nil
}

// own reports a URL of Slack's, or of the Slack of api_url.
func (a *api) own(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.User != nil {
		return false
	}
	base, err := url.Parse(a.url)
	if err != nil {
		return false
	}
	if a.url != slackURL {
		return u.Scheme == base.Scheme && u.Host == base.Host
	}
	return u.Scheme == "https" && u.Host == "hooks.slack.com"
}
