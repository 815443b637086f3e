// Package callback delivers signed Responses to agents.
//
// [Pusher] makes one attempt: it signs the Response, with a time and an id of
// its own, posts it to the URL that the agent named, and reads from the answer
// what is to follow. It keeps nothing: when an attempt is made, how often and
// after what wait, is the outbox's and the hub's business.
//
// Whatever is not a 2xx is a [*hub.DeliveryError]. Its code is a word of package
// safehttp, "http_" and the status, or one of those below. From 0.2 on only 5xx
// and what the network did are worth another attempt, and every other status
// ends it, 408, 425 and 429 included; at 0.1 all are tried again (spec §8.3, 0.1
// §8.3). What could not be sent as it is, is permanent in every version. No part
// of an error comes from the receiver, and none is a secret.
package callback

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/hub/safehttp"
)

// Codes of an attempt that ended before anything was sent.
const (
	CodeNoKey         = "no_key"         // nothing to sign with
	CodeUnsignable    = "unsignable"     // the version has no such signature
	CodeBadCredential = "bad_credential" // absent, or no header can hold it
)

// What is read of an answer's body, though nothing is done with it: a receiver
// that is cut off while it answers may take that for a failure.
const (
	maxBody  = 64 << 10
	bodyTime = 2 * time.Second
)

// Options say how a [Pusher] works.
type Options struct {
	// AllowLoopback lets pushes go to this machine, for development.
	AllowLoopback bool
	// Timeout bounds an attempt; 0 means [safehttp.DefaultTimeout].
	Timeout time.Duration
	// Keys are the hub's own, from [SigningKeys]: the first signs what is signed
	// by Ed25519. Without any, nothing is.
	Keys []ed25519.PrivateKey
	// Resolver and RootCAs are the machine's own when nil.
	Resolver safehttp.Resolver
	RootCAs  *x509.CertPool
}

// Pusher is a [hub.Pusher]. It is safe for concurrent use.
type Pusher struct {
	client *safehttp.Client
	keys   []ed25519.PrivateKey
}

var _ hub.Pusher = (*Pusher)(nil)

// New returns a pusher.
func New(opt Options) *Pusher {
	return &Pusher{
		client: safehttp.New(safehttp.Options{
			AllowLoopback: opt.AllowLoopback, Timeout: opt.Timeout, MaxBody: maxBody, BodyTime: bodyTime,
			Resolver: opt.Resolver, RootCAs: opt.RootCAs,
		}),
		keys: opt.Keys,
	}
}

// CheckURL says what is wrong with a URL that an agent named, without looking
// anything up: its text goes on from the name of a field. A push to such a URL
// would be refused.
func (p *Pusher) CheckURL(raw string) error {
	_, err := p.client.CheckURL(raw)
	if e, ok := errors.AsType[*safehttp.Error](err); ok {
		return errors.New(e.Msg)
	}
	return err
}

// Push makes one attempt; see [hub.Pusher]. When ctx was cancelled the error is
// that and no [*hub.DeliveryError].
func (p *Pusher) Push(ctx context.Context, push hub.Push) error {
	header, derr := p.header(&push)
	if derr != nil {
		return derr
	}
	resp, err := p.client.Do(ctx, safehttp.Request{
		Method: http.MethodPost, URL: push.URL, Header: header, Body: push.Body,
	})
	if err != nil {
		return unanswered(err)
	}
	if derr := answered(push.Minor, resp, time.Now()); derr != nil {
		return derr
	}
	return nil
}

// header returns the headers of an attempt. Names are written as the spec writes
// them, though HTTP does not care.
func (p *Pusher) header(push *hub.Push) (http.Header, *hub.DeliveryError) {
	signature, derr := p.sign(push, time.Now())
	if derr != nil {
		return nil, derr
	}
	h := http.Header{
		"Content-Type":       {"application/json"},
		"User-Agent":         {"Beckon"},
		ma2h.SignatureHeader: {signature},
	}
	credential := push.Credential.Reveal()
	switch push.Scheme {
	case "", "hmac":
		return h, nil
	case "bearer":
		h["Authorization"] = []string{"Bearer " + credential}
	case "apikey":
		h["X-API-Key"] = []string{credential}
	default:
		return nil, permanent(CodeBadCredential, "there is no callback.auth.scheme of that name; it is hmac, bearer or apikey")
	}
	if credential == "" {
		return nil, permanent(CodeBadCredential, "the credential that callback.auth.token_ref names is not set")
	}
	return h, nil
}

// sign returns a fresh signature of the Response (spec §9.2).
func (p *Pusher) sign(push *hub.Push, now time.Time) (string, *hub.DeliveryError) {
	var key ma2h.SigningKey
	switch push.Algorithm {
	case ma2h.AlgHMAC:
		key.Secret = []byte(push.Signing.Reveal())
		if len(key.Secret) == 0 {
			return "", permanent(CodeNoKey, "the secret that signs is not set")
		}
	case ma2h.AlgEd25519:
		if len(p.keys) == 0 {
			return "", permanent(CodeNoKey, "this hub has no key for Ed25519; sign with a secret")
		}
		if push.Minor < 2 {
			return "", permanent(CodeUnsignable, "a 0.1 Response is signed with a secret; send 0.3 or later")
		}
		key.Ed25519 = p.keys[0]
	default:
		return "", permanent(CodeNoKey, "there is no such algorithm; it is "+ma2h.AlgHMAC+" or "+ma2h.AlgEd25519)
	}
	signature, err := ma2h.SignResponse(key, push.URL, push.Body, now, ma2h.NewJTI())
	switch {
	case errors.Is(err, ma2h.ErrUnsignable):
		return "", permanent(CodeUnsignable, "a 0.2 Response has no signature; send 0.3 or later, or read it by GET")
	case err != nil:
		// What is wrong with it is no matter for whoever reads errors: it holds
		// what a person answered.
		return "", permanent(CodeUnsignable, "the Response can't be signed; read it by GET")
	}
	return signature, nil
}

func permanent(code, msg string) *hub.DeliveryError {
	return &hub.DeliveryError{Code: code, Msg: msg, Permanent: true}
}

// unanswered is what follows from an attempt without an answer.
func unanswered(err error) error {
	e, ok := errors.AsType[*safehttp.Error](err)
	switch {
	case !ok || e.Kind == safehttp.Canceled:
		return fmt.Errorf("push: %w", err)
	case e.Kind == safehttp.BadRequest: // all other headers are our own
		return permanent(CodeBadCredential, "the credential has a line break or another sign that no HTTP header may have; mend the secret")
	}
	out := &hub.DeliveryError{Code: string(e.Kind), Msg: e.Msg, Permanent: e.Permanent(), MaybeSent: e.Sent, Err: e.Unwrap()}
	if e.Kind == safehttp.RefusedURL {
		out.Msg = "callback.url " + e.Msg
	}
	if e.Addr.IsValid() {
		out.Err = errors.New("the address is " + e.Addr.String())
	}
	return out
}

// answered is what follows from an answer: nil from a 2xx.
func answered(minor int, resp *safehttp.Response, now time.Time) *hub.DeliveryError {
	status := resp.Status
	// What HTTP has no class for counts as 5xx (RFC 9110, section 15).
	failing := status < 100 || status >= 500
	if status >= 200 && status < 300 {
		return nil
	}
	e := &hub.DeliveryError{
		Code: "http_" + strconv.Itoa(status), Msg: "the receiver answered " + strconv.Itoa(status) + ": " + said(status),
		Permanent: minor >= 2 && !failing, MaybeSent: failing,
	}
	if !e.Permanent {
		e.After = retryAfter(resp.Header.Get("Retry-After"), now)
	}
	return e
}

// said puts a status into words, with what to do about it.
func said(status int) string {
	switch {
	case status >= 300 && status < 400:
		return "it redirects, and redirects are never followed; put the final URL into callback.url"
	case status == 401, status == 403:
		return "it refuses the credential or the signature; compare its secrets with the agent's in the config"
	case status == 404:
		return "it has nothing at the path of callback.url"
	case status == 405:
		return "it takes no POST at callback.url"
	case status == 410:
		return "it is gone for good"
	case status == 413:
		return "it takes no Response of this size"
	case status == 429:
		return "it asks for fewer requests"
	case status >= 400 && status < 500:
		return "it refuses the Response"
	case status == 503:
		return "it is not available now"
	case status >= 500 && status < 600:
		return "it failed"
	}
	return "that is no answer to a POST"
}

// retryAfter reads a Retry-After (RFC 9110, section 10.2.3), at most
// [hub.MaxPushDuration]; 0 when there is none that makes sense.
func retryAfter(value string, now time.Time) time.Duration {
	const most = hub.MaxPushDuration
	if n, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(n, uint64(most/time.Second))) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return most
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), most)
}
