package ma2h

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SignatureHeader is the name of the HTTP header that carries a signature.
const SignatureHeader = "MA2H-Signature"

// The names of the signature algorithms, as a hub advertises them (spec §8.0).
const (
	AlgHMAC    = "hmac-sha256"
	AlgEd25519 = "ed25519"
)

// SigningKey signs what a hub sends. Exactly one field is set.
type SigningKey struct {
	Secret  []byte             // HMAC-SHA256; a configured secret's UTF-8 bytes
	Ed25519 ed25519.PrivateKey // not for 0.1
}

// sign returns the raw signature of msg.
func (k SigningKey) sign(msg []byte) ([]byte, error) {
	switch {
	case len(k.Secret) > 0 && k.Ed25519 != nil:
		return nil, errors.New("signing key: has both a secret and an Ed25519 key")
	case len(k.Secret) > 0:
		return mac(k.Secret, msg), nil
	case len(k.Ed25519) == ed25519.PrivateKeySize:
		return ed25519.Sign(k.Ed25519, msg), nil
	}
	return nil, errors.New("signing key: is empty or has the wrong size")
}

func mac(secret, msg []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(msg)
	return m.Sum(nil)
}

// NewJTI returns a fresh id for one signature: "jti_" and 130 random bits.
func NewJTI() string { return "jti_" + rand.Text() }

// SignedContext is what a signature of a Response covers from 0.3 on (spec
// §9.2).
type SignedContext struct {
	CallbackURL   string // as the agent sent it, never re-encoded
	ID            string // equals InReplyTo
	InReplyTo     string
	JTI           string
	Version       string
	PayloadSHA256 string // by [PayloadSHA256]
	Resolution    string
	ResolutionID  string
	ResolvedAt    string // "" stands for null: a Response without detail
	T             string // unix seconds, as in the header
}

// Canonical returns the bytes that are signed.
func (c *SignedContext) Canonical() ([]byte, error) {
	o := beginObject(nil)
	o.str("callback_url", c.CallbackURL)
	o.str("id", c.ID)
	o.str("in_reply_to", c.InReplyTo)
	o.str("jti", c.JTI)
	o.str("ma2h_version", c.Version)
	o.str("payload_sha256", c.PayloadSHA256)
	o.str("resolution", c.Resolution)
	o.str("resolution_id", c.ResolutionID)
	if c.ResolvedAt == "" {
		o.raw("resolved_at", []byte("null"))
	} else {
		o.str("resolved_at", c.ResolvedAt)
	}
	o.str("t", c.T)
	return canonical(o.end())
}

// PayloadSHA256 is the digest of what a Response hands over: the lower-case hex
// SHA-256 of {"response":…,"state":…} in canonical form, with null for nil. Give
// it the bytes as sent or received.
func PayloadSHA256(response, state []byte) (string, error) {
	o := beginObject(nil)
	o.raw("response", orNull(response))
	o.raw("state", orNull(state))
	return digest(o.end())
}

func orNull(raw []byte) []byte {
	if raw == nil {
		return []byte("null")
	}
	return raw
}

// digest is the lower-case hex SHA-256 of raw in canonical form.
func digest(raw []byte) (string, error) {
	form, err := canonical(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}

// signable is what of a Response goes into its signed context.
type signable struct {
	Version      string         `json:"ma2h_version"`
	InReplyTo    string         `json:"in_reply_to"`
	ResolutionID string         `json:"resolution_id"`
	Resolution   string         `json:"resolution"`
	Response     jsontext.Value `json:"response"`
	State        jsontext.Value `json:"state"`
}

// context rebuilds the signed context of the Response in body.
func (s *signable) context(callbackURL, jti, t string) (*SignedContext, error) {
	var detail struct {
		ResolvedAt string `json:"resolved_at"`
	}
	if s.Response != nil {
		if err := json.Unmarshal(s.Response, &detail); err != nil {
			return nil, invalid("response", "must be an object whose resolved_at is a string")
		}
	}
	sum, err := PayloadSHA256(s.Response, s.State)
	if err != nil {
		return nil, err
	}
	return &SignedContext{
		CallbackURL: callbackURL, ID: s.InReplyTo, InReplyTo: s.InReplyTo, JTI: jti, Version: s.Version,
		PayloadSHA256: sum, Resolution: s.Resolution, ResolutionID: s.ResolutionID,
		ResolvedAt: detail.ResolvedAt, T: t,
	}, nil
}

// SignResponse signs a Response that is pushed to callbackURL (the string as
// the agent sent it) and returns the value of the header. body is the Response
// exactly as it goes out; its version picks the form: below 0.2 an HMAC over
// time and body, from 0.3 on the signed context of spec §9.2. At 0.2 a push can't
// be signed and is an error. Give every attempt its own now and jti ([NewJTI]).
func SignResponse(key SigningKey, callbackURL string, body []byte, now time.Time, jti string) (string, error) {
	var s signable
	if err := decode(body, &s, sentDepth, responseTree); err != nil {
		return "", fmt.Errorf("sign response: %w", err)
	}
	minor, err := parseVersion(s.Version)
	if err != nil {
		return "", fmt.Errorf("sign response: %w", err)
	}
	t := strconv.FormatInt(now.Unix(), 10)
	switch {
	case minor == 2:
		return "", ErrUnsignable
	case minor < 2:
		if len(key.Secret) == 0 || key.Ed25519 != nil {
			return "", errors.New("sign response: 0.1 takes a secret only")
		}
		return "t=" + t + ",v1=" + hex.EncodeToString(mac(key.Secret, legacyInput(t, body))), nil
	}
	c, err := s.context(callbackURL, jti, t)
	if err != nil {
		return "", fmt.Errorf("sign response: %w", err)
	}
	return signContext(key, c, jti, t)
}

// legacyInput is what 0.1 signs: "<t>.<raw body>".
func legacyInput(t string, body []byte) []byte {
	return append([]byte(t+"."), body...)
}

// signContext signs a context and writes the header value.
func signContext(key SigningKey, c interface{ Canonical() ([]byte, error) }, jti, t string) (string, error) {
	msg, err := c.Canonical()
	if err != nil {
		return "", err
	}
	sig, err := key.sign(msg)
	if err != nil {
		return "", err
	}
	return "t=" + t + ",jti=" + jti + ",v1=" + base64.RawURLEncoding.EncodeToString(sig), nil
}

// DirectiveContext is what the signature of a directive covers (spec §9.7).
type DirectiveContext struct {
	From, ID, JTI, Version, PayloadSHA256, T, To string
}

// Canonical returns the bytes that are signed.
func (c *DirectiveContext) Canonical() ([]byte, error) {
	o := beginObject(nil)
	o.str("from", c.From)
	o.str("id", c.ID)
	o.str("jti", c.JTI)
	o.str("ma2h_version", c.Version)
	o.str("payload_sha256", c.PayloadSHA256)
	o.str("t", c.T)
	o.str("to", c.To)
	return canonical(o.end())
}

// DirectiveSHA256 is the digest of what a directive says: the lower-case hex
// SHA-256 of {"directive":{…}} in canonical form, with title, body, priority,
// tags and context as far as they are in raw (spec §9.7).
func DirectiveSHA256(raw []byte) (string, error) {
	var w struct {
		Title    jsontext.Value `json:"title"`
		Body     jsontext.Value `json:"body"`
		Priority jsontext.Value `json:"priority"`
		Tags     jsontext.Value `json:"tags"`
		Context  jsontext.Value `json:"context"`
	}
	if err := decode(raw, &w, MaxDepth, directiveTree); err != nil {
		return "", err
	}
	o := beginObject(nil)
	o.name("directive")
	in := beginObject(o.b)
	in.rawIf("title", w.Title)
	in.rawIf("body", w.Body)
	in.rawIf("priority", w.Priority)
	in.rawIf("tags", w.Tags)
	in.rawIf("context", w.Context)
	o.b = in.end()
	return digest(o.end())
}

// directiveContext rebuilds the signed context of the directive in raw.
func directiveContext(d *Directive, raw []byte, jti, t string) (*DirectiveContext, error) {
	sum, err := DirectiveSHA256(raw)
	if err != nil {
		return nil, err
	}
	return &DirectiveContext{
		From: d.From, ID: d.ID, JTI: jti, Version: d.Version, PayloadSHA256: sum, T: t, To: d.To,
	}, nil
}

// SignDirective signs a directive as it is handed out, and returns what an
// inbox entry carries: the name of the header and its value (spec §8.7). Give
// every delivery its own now and jti.
func SignDirective(key SigningKey, raw []byte, now time.Time, jti string) (string, error) {
	d, err := ParseDirective(raw)
	if err != nil {
		return "", fmt.Errorf("sign directive: %w", err)
	}
	t := strconv.FormatInt(now.Unix(), 10)
	c, err := directiveContext(d, raw, jti, t)
	if err != nil {
		return "", fmt.Errorf("sign directive: %w", err)
	}
	value, err := signContext(key, c, jti, t)
	if err != nil {
		return "", fmt.Errorf("sign directive: %w", err)
	}
	return SignatureHeader + ": " + value, nil
}

// AckContext is what the signature of a pushed ack covers (spec §14.4).
type AckContext struct {
	AckSHA256, By, InReplyTo, JTI, Version, T string
}

// Canonical returns the bytes that are signed.
func (c *AckContext) Canonical() ([]byte, error) {
	o := beginObject(nil)
	o.str("ack_sha256", c.AckSHA256)
	o.str("by", c.By)
	o.str("in_reply_to", c.InReplyTo)
	o.str("jti", c.JTI)
	o.str("ma2h_version", c.Version)
	o.str("t", c.T)
	return canonical(o.end())
}

// AckSHA256 is the digest of an ack: the lower-case hex SHA-256 of acked_at, by,
// in_reply_to, note and resolution_id in canonical form, absent ones as null
// (spec §14.4).
func AckSHA256(a *Ack) (string, error) {
	o := beginObject(nil)
	o.str("acked_at", a.AckedAt)
	o.str("by", a.By)
	o.str("in_reply_to", a.InReplyTo)
	for _, m := range []struct {
		name  string
		value *string
	}{{"note", a.Note}, {"resolution_id", a.ResolutionID}} {
		if m.value == nil {
			o.raw(m.name, []byte("null"))
		} else {
			o.str(m.name, *m.value)
		}
	}
	return digest(o.end())
}

// SignAck signs an ack that is pushed and returns the value of the header.
func SignAck(key SigningKey, a *Ack, now time.Time, jti string) (string, error) {
	t := strconv.FormatInt(now.Unix(), 10)
	c, err := ackContext(a, jti, t)
	if err != nil {
		return "", fmt.Errorf("sign ack: %w", err)
	}
	return signContext(key, c, jti, t)
}

func ackContext(a *Ack, jti, t string) (*AckContext, error) {
	sum, err := AckSHA256(a)
	if err != nil {
		return nil, err
	}
	return &AckContext{AckSHA256: sum, By: a.By, InReplyTo: a.InReplyTo, JTI: jti, Version: a.Version, T: t}, nil
}
