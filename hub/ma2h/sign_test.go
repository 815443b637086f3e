package ma2h_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub/ma2h"
)

// fixedContext is the signed_context of a dp vector.
type fixedContext struct {
	CallbackURL   string `json:"callback_url"`
	ID            string `json:"id"`
	InReplyTo     string `json:"in_reply_to"`
	JTI           string `json:"jti"`
	Version       string `json:"ma2h_version"`
	PayloadSHA256 string `json:"payload_sha256"`
	AckSHA256     string `json:"ack_sha256"`
	Resolution    string `json:"resolution"`
	ResolutionID  string `json:"resolution_id"`
	ResolvedAt    string `json:"resolved_at"`
	T             string `json:"t"`
	From          string `json:"from"`
	To            string `json:"to"`
	By            string `json:"by"`
}

func (c fixedContext) signed() *ma2h.SignedContext {
	return &ma2h.SignedContext{
		CallbackURL: c.CallbackURL, ID: c.ID, InReplyTo: c.InReplyTo, JTI: c.JTI, Version: c.Version,
		PayloadSHA256: c.PayloadSHA256, Resolution: c.Resolution, ResolutionID: c.ResolutionID,
		ResolvedAt: c.ResolvedAt, T: c.T,
	}
}

func (c fixedContext) time(t *testing.T) time.Time {
	t.Helper()
	unix, err := strconv.ParseInt(c.T, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(unix, 0)
}

type payload struct {
	Response json.RawMessage `json:"response"`
	State    json.RawMessage `json:"state"`
}

// body is the push that a payload and a context belong to.
func (c fixedContext) body(p payload) []byte {
	return []byte(`{"ma2h_version":"` + c.Version + `","in_reply_to":"` + c.InReplyTo + `","resolution_id":"` + c.ResolutionID +
		`","agent":{"id":"deploybot/dev-team","run_id":"r"},"resolution":"` + c.Resolution +
		`","response":` + string(p.Response) + `,"defaulted":false,"state":` + string(p.State) + `}`)
}

func mustCanonical(t *testing.T, c interface{ Canonical() ([]byte, error) }) string {
	t.Helper()
	b, err := c.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestVectorPush runs dp-001 (signature) and dp-003 (tampered payload).
func TestVectorPush(t *testing.T) {
	t.Parallel()
	var v struct {
		TestKey   string       `json:"test_key"`
		Payload   payload      `json:"payload"`
		Context   fixedContext `json:"signed_context"`
		Canonical string       `json:"canonical_jcs"`
		Header    string       `json:"header"`
	}
	vector(t, "dp-001", &v)
	var tampered struct {
		Payload payload `json:"tampered_payload"`
	}
	vector(t, "dp-003", &tampered)

	sum, err := ma2h.PayloadSHA256(v.Payload.Response, v.Payload.State)
	if err != nil || sum != v.Context.PayloadSHA256 {
		t.Errorf("payload_sha256 %s, %v, want %s", sum, err, v.Context.PayloadSHA256)
	}
	if got := mustCanonical(t, v.Context.signed()); got != v.Canonical {
		t.Errorf("canonical form\n%s\nwant\n%s", got, v.Canonical)
	}
	body, now := v.Context.body(v.Payload), v.Context.time(t)
	key := ma2h.SigningKey{Secret: []byte(v.TestKey)}
	header, err := ma2h.SignResponse(key, v.Context.CallbackURL, body, now, v.Context.JTI)
	if err != nil || ma2h.SignatureHeader+": "+header != v.Header {
		t.Errorf("header %s, %v, want %s", header, err, v.Header)
	}

	verifier := func() *ma2h.Verifier {
		return &ma2h.Verifier{Secrets: [][]byte{[]byte("old"), []byte(v.TestKey)}, CallbackURL: v.Context.CallbackURL}
	}
	one := verifier()
	if _, err := one.Verify(header, v.Context.body(tampered.Payload), now); !errors.Is(err, ma2h.ErrSignature) {
		t.Errorf("tampered payload: %v", err)
	}
	if _, err := one.Verify(header, body, now.Add(120*time.Second)); err != nil {
		t.Errorf("honest, at the end of the window: %v", err)
	}
	if _, err := one.Verify(header, body, now.Add(-120*time.Second)); !errors.Is(err, ma2h.ErrReplay) {
		t.Errorf("replayed: %v", err)
	}
	for _, off := range []time.Duration{-121 * time.Second, 121 * time.Second} {
		if _, err := verifier().Verify(header, body, now.Add(off)); !errors.Is(err, ma2h.ErrWindow) {
			t.Errorf("off by %v: %v", off, err)
		}
	}
}

// TestVectorNumbers runs dp-004 from the vector's own text, which has numbers
// that no decoder may touch.
func TestVectorNumbers(t *testing.T) {
	t.Parallel()
	var v struct {
		Payload payload `json:"payload"`
		Sum     string  `json:"payload_sha256"`
	}
	vector(t, "dp-004", &v)
	sum, err := ma2h.PayloadSHA256(v.Payload.Response, v.Payload.State)
	if err != nil || sum != v.Sum {
		t.Errorf("got %s, %v, want %s", sum, err, v.Sum)
	}
}

// TestVectorDirective runs dp-005 (signature), dp-006 (tampered addressee) and
// points 5 and 6 of dp-007 (another's directive, a replay).
func TestVectorDirective(t *testing.T) {
	t.Parallel()
	var v struct {
		TestKey   string          `json:"test_key"`
		Directive json.RawMessage `json:"directive"`
		Context   fixedContext    `json:"signed_context"`
		Canonical string          `json:"canonical_jcs"`
		Header    string          `json:"header"`
	}
	vector(t, "dp-005", &v)
	var tampered struct {
		Directive json.RawMessage `json:"tampered_directive"`
	}
	vector(t, "dp-006", &tampered)

	sum, err := ma2h.DirectiveSHA256(v.Directive)
	if err != nil || sum != v.Context.PayloadSHA256 {
		t.Errorf("payload_sha256 %s, %v", sum, err)
	}
	c := &ma2h.DirectiveContext{
		From: v.Context.From, ID: v.Context.ID, JTI: v.Context.JTI, Version: v.Context.Version,
		PayloadSHA256: sum, T: v.Context.T, To: v.Context.To,
	}
	if got := mustCanonical(t, c); got != v.Canonical {
		t.Errorf("canonical form\n%s\nwant\n%s", got, v.Canonical)
	}
	now := v.Context.time(t)
	signature, err := ma2h.SignDirective(ma2h.SigningKey{Secret: []byte(v.TestKey)}, v.Directive, now, v.Context.JTI)
	if err != nil || signature != v.Header {
		t.Errorf("signature %s, %v, want %s", signature, err, v.Header)
	}
	verifier := &ma2h.Verifier{Secrets: [][]byte{[]byte(v.TestKey)}}
	if _, err := verifier.VerifyDirective(signature, tampered.Directive, "victim/other-bot", now); !errors.Is(err, ma2h.ErrSignature) {
		t.Errorf("tampered: %v", err)
	}
	if _, err := verifier.VerifyDirective(signature, v.Directive, "victim/other-bot", now); !errors.Is(err, ma2h.ErrAddressee) {
		t.Errorf("another's: %v", err)
	}
	d, err := verifier.VerifyDirective(signature, v.Directive, "deploybot/dev-team", now)
	if err != nil || d.ID != v.Context.ID {
		t.Errorf("honest: %+v, %v", d, err)
	}
	if _, err := verifier.VerifyDirective(signature, v.Directive, "deploybot/dev-team", now); !errors.Is(err, ma2h.ErrReplay) {
		t.Errorf("replayed: %v", err)
	}
}

// TestVectorAck runs dp-008 and dp-009 as fixtures of the signer.
func TestVectorAck(t *testing.T) {
	t.Parallel()
	var v struct {
		TestKey   string          `json:"test_key"`
		Ack       json.RawMessage `json:"ack"`
		Context   fixedContext    `json:"signed_context"`
		Canonical string          `json:"canonical_jcs"`
		Header    string          `json:"header"`
	}
	vector(t, "dp-008", &v)
	var tampered struct {
		Ack json.RawMessage `json:"tampered_ack"`
	}
	vector(t, "dp-009", &tampered)
	a, err := ma2h.ParseAck(v.Ack)
	if err != nil {
		t.Fatal(err)
	}
	c := &ma2h.AckContext{
		AckSHA256: v.Context.AckSHA256, By: v.Context.By, InReplyTo: v.Context.InReplyTo,
		JTI: v.Context.JTI, Version: v.Context.Version, T: v.Context.T,
	}
	if sum, err := ma2h.AckSHA256(a); err != nil || sum != v.Context.AckSHA256 {
		t.Errorf("ack_sha256 %s, %v", sum, err)
	}
	if got := mustCanonical(t, c); got != v.Canonical {
		t.Errorf("canonical form\n%s\nwant\n%s", got, v.Canonical)
	}
	now := v.Context.time(t)
	header, err := ma2h.SignAck(ma2h.SigningKey{Secret: []byte(v.TestKey)}, a, now, v.Context.JTI)
	if err != nil || ma2h.SignatureHeader+": "+header != v.Header {
		t.Errorf("header %s, %v, want %s", header, err, v.Header)
	}
	verifier := &ma2h.Verifier{Secrets: [][]byte{[]byte(v.TestKey)}}
	if _, err := verifier.VerifyAck(header, tampered.Ack, now); !errors.Is(err, ma2h.ErrSignature) {
		t.Errorf("tampered: %v", err)
	}
	if _, err := verifier.VerifyAck(header, v.Ack, now); err != nil {
		t.Errorf("honest: %v", err)
	}
}

// TestVectorMAC runs dp-025.
func TestVectorMAC(t *testing.T) {
	t.Parallel()
	var v struct {
		TestKey   string       `json:"test_key"`
		Context   fixedContext `json:"signed_context"`
		Canonical string       `json:"canonical_jcs"`
		V1        string       `json:"v1"`
		Cases     []struct {
			Value     string `json:"value"`
			Expect    string `json:"expect"`
			Length    int    `json:"decoded_length"`
			Identical string `json:"decodes_identically_to"`
		} `json:"cases"`
	}
	vector(t, "dp-025", &v)
	if got := mustCanonical(t, v.Context.signed()); got != v.Canonical {
		t.Errorf("canonical form\n%s\nwant\n%s", got, v.Canonical)
	}
	for _, c := range v.Cases {
		got, ok := ma2h.DecodeMAC(c.Value)
		if ok != (c.Expect == "well-formed") || c.Length != 0 && len(got) != c.Length || !ok && got != nil {
			t.Errorf("%s: %v, %d bytes, want %s", c.Value, ok, len(got), c.Expect)
		}
		if c.Identical != "" {
			if same, _ := ma2h.DecodeMAC(c.Identical); !bytes.Equal(same, got) {
				t.Errorf("%s does not decode like %s", c.Value, c.Identical)
			}
		}
	}
	if len(v.Cases) == 0 {
		t.Error("no cases")
	}
}

func TestDecodeMAC(t *testing.T) {
	t.Parallel()
	sum := bytes.Repeat([]byte{0xfb}, 64)
	for _, n := range []int{32, 33, 34, 64} {
		for _, enc := range []*base64.Encoding{base64.RawURLEncoding, base64.URLEncoding} {
			s := enc.EncodeToString(sum[:n])
			if got, ok := ma2h.DecodeMAC(s); !ok || !bytes.Equal(got, sum[:n]) {
				t.Errorf("%s: %x, %v", s, got, ok)
			}
			for _, broken := range []string{s + "=", s[:20] + "\n" + s[20:], s + "\n", "=" + s, s[:10] + "=" + s[10:]} {
				if n%3 == 2 && broken == s+"=" && enc == base64.RawURLEncoding {
					continue // exactly the right padding
				}
				if _, ok := ma2h.DecodeMAC(broken); ok {
					t.Errorf("accepted %q", broken)
				}
			}
		}
	}
	for _, s := range []string{"", "=", "====", "A", strings.Repeat("A", 41)} {
		if _, ok := ma2h.DecodeMAC(s); ok {
			t.Errorf("accepted %q", s)
		}
	}
}

func TestParseSignatureHeader(t *testing.T) {
	t.Parallel()
	good := []string{
		"t=1749050910,jti=j,v1=abc", "v1=abc,t=1749050910,jti=j", " t=1749050910 ,\tjti=j, v1=abc ",
		"t=1749050910,jti=j,v1=abc,v2=x,t2=", "t=1749050910,jti=j,v1=abc,v2=x,v2=y",
	}
	for _, s := range good {
		sig, err := ma2h.ParseSignatureHeader(s)
		if err != nil || sig.T != "1749050910" || sig.JTI != "j" || sig.V1 != "abc" || sig.Time.Unix() != 1749050910 {
			t.Errorf("%q: %+v, %v", s, sig, err)
		}
	}
	if sig, err := ma2h.ParseSignatureHeader("t=0,v1=ab=="); err != nil || sig.V1 != "ab==" || sig.JTI != "" {
		t.Errorf("padding: %+v, %v", sig, err)
	}
	bad := []string{
		"", ",", "t=1", "v1=a", "t=1,v1=", "t=,v1=a", "t=1,v1=a,", "t=1,,v1=a", "t=1,t=1,v1=a", "t=1,v1=a,v1=a",
		"t=1,jti=j,jti=j,v1=a", "t=1,jti=,v1=a", "t=+1,v1=a", "t=-1,v1=a", "t=01,v1=a", "t=1.0,v1=a", "t=1e3,v1=a",
		"t=99999999999999999999,v1=a", "t=999999999999,v1=a", "t= 1,v1=a", "t=1,v1=a b", "t=1,v1=é", "t=1,jti=a\x00b,v1=a",
		"t=1;v1=a", "T=1,V1=a", "t:1,v1:a", "t=1,jti=" + strings.Repeat("j", 300) + ",v1=a", "t=1,v1=" + strings.Repeat("a", 2000),
		"MA2H-Signature: t=1,v1=a", "t=1,v1=a\r\n",
	}
	for _, s := range bad {
		if sig, err := ma2h.ParseSignatureHeader(s); !errors.Is(err, ma2h.ErrSignatureHeader) {
			t.Errorf("%q: %+v, %v", s, sig, err)
		}
	}
}

const callbackURL = "https://agent.example.com/ma2h?x=%2f"

func TestSignAndVerify(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("correct horse battery staple")
	now := time.Unix(1_800_000_000, 0)
	for _, version := range []string{"0.1", "0.3", "0.4", "0.5"} {
		for _, alg := range []string{ma2h.AlgHMAC, ma2h.AlgEd25519} {
			t.Run(version+" "+alg, func(t *testing.T) {
				key, v := ma2h.SigningKey{Secret: secret}, &ma2h.Verifier{Secrets: [][]byte{secret}, CallbackURL: callbackURL}
				if alg == ma2h.AlgEd25519 {
					key, v = ma2h.SigningKey{Ed25519: private}, &ma2h.Verifier{Ed25519Keys: []ed25519.PublicKey{public}, CallbackURL: callbackURL}
				}
				r := response()
				r.Version = version
				body := mustMarshal(t, r)
				header, err := ma2h.SignResponse(key, callbackURL, body, now, ma2h.NewJTI())
				if version == "0.1" && alg == ma2h.AlgEd25519 {
					if err == nil {
						t.Fatal("signed 0.1 with Ed25519")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := v.Verify(header, body, now.Add(time.Minute))
				if err != nil || got.ResolutionID != "res_1" {
					t.Fatalf("%+v, %v", got, err)
				}
				tampered := edit(t, string(body), `"hold"`, `"ship"`)
				if _, err := v.Verify(header, tampered, now); !errors.Is(err, ma2h.ErrSignature) {
					t.Errorf("tampered: %v", err)
				}
			})
		}
	}
}

// TestVerifyNamesTheFailure: each way to fail has its own error.
func TestVerifyNamesTheFailure(t *testing.T) {
	t.Parallel()
	secret := []byte("correct horse battery staple")
	key := ma2h.SigningKey{Secret: secret}
	now := time.Unix(1_800_000_000, 0)
	body := mustMarshal(t, response())
	sign := func(body []byte, url string) string {
		t.Helper()
		header, err := ma2h.SignResponse(key, url, body, now, ma2h.NewJTI())
		if err != nil {
			t.Fatal(err)
		}
		return header
	}
	header := sign(body, callbackURL)
	legacyResponse := response()
	legacyResponse.Version = "0.1"
	legacy := mustMarshal(t, legacyResponse)
	legacyHeader := sign(legacy, callbackURL)
	asVersion := func(v string) []byte { return edit(t, string(body), `"0.5"`, `"`+v+`"`) }
	withoutJTI := "t=1800000000,v1=" + header[strings.Index(header, "v1=")+3:]

	tests := []struct {
		name   string
		v      *ma2h.Verifier
		header string
		body   []byte
		now    time.Time
		want   error
	}{
		{"no header", nil, "", body, now, ma2h.ErrSignatureHeader},
		{"no jti", nil, withoutJTI, body, now, ma2h.ErrSignatureHeader},
		{"no JSON", nil, header, []byte("x"), now, ma2h.ErrDocument},
		{"duplicate names", nil, header, edit(t, string(body), `"value"`, `"value":"ship","value"`), now, ma2h.ErrDocument},
		{"0.2", nil, header, asVersion("0.2"), now, ma2h.ErrUnsignable},
		{"1.0", nil, header, asVersion("1.0"), now, ma2h.ErrDocument},
		{"version said to be 0.1", nil, header, asVersion("0.1"), now, ma2h.ErrSignature},
		{"version said to be 0.4", nil, header, asVersion("0.4"), now, ma2h.ErrSignature},
		{"0.1 said to be 0.5", nil, legacyHeader + ",jti=j", edit(t, string(legacy), `"0.1"`, `"0.5"`), now, ma2h.ErrSignature},
		{"no key", &ma2h.Verifier{CallbackURL: callbackURL}, header, body, now, ma2h.ErrNoKey},
		{"no key at 0.1", &ma2h.Verifier{CallbackURL: callbackURL}, legacyHeader, legacy, now, ma2h.ErrNoKey},
		{"empty secret", &ma2h.Verifier{Secrets: [][]byte{{}}, CallbackURL: callbackURL}, header, body, now, ma2h.ErrSignature},
		{"no callback URL", &ma2h.Verifier{Secrets: [][]byte{secret}}, header, body, now, ma2h.ErrNoCallbackURL},
		{"another URL", nil, sign(body, "https://agent.example.com/ma2h?x=/"), body, now, ma2h.ErrSignature},
		{"another secret", &ma2h.Verifier{Secrets: [][]byte{[]byte("x")}, CallbackURL: callbackURL}, header, body, now, ma2h.ErrSignature},
		{"too old", nil, header, body, now.Add(121 * time.Second), ma2h.ErrWindow},
		{"too new", nil, header, body, now.Add(-121 * time.Second), ma2h.ErrWindow},
		{"too old for its window", &ma2h.Verifier{Secrets: [][]byte{secret}, CallbackURL: callbackURL, Window: time.Second}, header, body, now.Add(2 * time.Second), ma2h.ErrWindow},
		{"0.1 too old", nil, legacyHeader, legacy, now.Add(301 * time.Second), ma2h.ErrWindow},
		{"0.1 body respaced", nil, legacyHeader, append([]byte(" "), legacy...), now, ma2h.ErrSignature},
		{"0.1 signature as base64url", nil, "t=1800000000,v1=" + strings.Repeat("A", 43), legacy, now, ma2h.ErrSignature},
		{"t changed", nil, strings.Replace(header, "1800000000", "1800000001", 1), body, now, ma2h.ErrSignature},
		{"actor changed", nil, header, edit(t, string(body), "alice", "mallory"), now, ma2h.ErrSignature},
		{"state dropped", nil, header, edit(t, string(body), `"state":`, `"stat":`), now, ma2h.ErrSignature},
		{"resolution changed", nil, header, edit(t, string(body), `"resolution":"answered"`, `"resolution":"declined"`), now, ma2h.ErrSignature},
		{"resolution_id changed", nil, header, edit(t, string(body), "res_1", "res_2"), now, ma2h.ErrSignature},
		{"in_reply_to changed", nil, header, edit(t, string(body), "msg_1", "msg_2"), now, ma2h.ErrSignature},
		{"signed but no Response", nil, sign(asVersion("0.5"), callbackURL), edit(t, string(body), "deploybot/dev-team", ""), now, ma2h.ErrDocument},
	}
	all := []error{
		ma2h.ErrSignatureHeader, ma2h.ErrDocument, ma2h.ErrUnsignable, ma2h.ErrNoKey, ma2h.ErrNoCallbackURL,
		ma2h.ErrWindow, ma2h.ErrSignature, ma2h.ErrReplay, ma2h.ErrAddressee,
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := tt.v
			if v == nil {
				v = &ma2h.Verifier{Secrets: [][]byte{secret}, CallbackURL: callbackURL}
			}
			r, err := v.Verify(tt.header, tt.body, tt.now)
			if r != nil || !errors.Is(err, tt.want) {
				t.Fatalf("got %v, %v, want %v", r, err, tt.want)
			}
			if n := len(slices.DeleteFunc(slices.Clone(all), func(e error) bool { return !errors.Is(err, e) })); n != 1 {
				t.Errorf("%v is %d of the errors", err, n)
			}
		})
	}
}

// TestVerifyReadsWhitespaceAndOrderAlike: from 0.3 on the digest is over the
// canonical form, so a proxy that respaces JSON breaks nothing.
func TestVerifyReadsWhitespaceAndOrderAlike(t *testing.T) {
	t.Parallel()
	secret := []byte("correct horse battery staple")
	now := time.Unix(1_800_000_000, 0)
	body := mustMarshal(t, response())
	header, err := ma2h.SignResponse(ma2h.SigningKey{Secret: secret}, callbackURL, body, now, "jti_1")
	if err != nil {
		t.Fatal(err)
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, body, "", "\t"); err != nil {
		t.Fatal(err)
	}
	v := &ma2h.Verifier{Secrets: [][]byte{secret}, CallbackURL: callbackURL}
	if _, err := v.Verify(header, spaced.Bytes(), now); err != nil {
		t.Error(err)
	}
}

// TestTaskWithoutDetail: a Response of 0.3 without detail signs resolved_at and
// response as null.
func TestTaskWithoutDetail(t *testing.T) {
	t.Parallel()
	secret := []byte("correct horse battery staple")
	now := time.Unix(1_800_000_000, 0)
	r := response()
	r.Resolution, r.Response, r.State = ma2h.Completed, nil, nil
	body := mustMarshal(t, r)
	header, err := ma2h.SignResponse(ma2h.SigningKey{Secret: secret}, callbackURL, body, now, "jti_1")
	if err != nil {
		t.Fatal(err)
	}
	v := &ma2h.Verifier{Secrets: [][]byte{secret}, CallbackURL: callbackURL}
	if got, err := v.Verify(header, body, now); err != nil || got.Response != nil {
		t.Errorf("%+v, %v", got, err)
	}
	c := ma2h.SignedContext{}
	if got := mustCanonical(t, &c); !strings.Contains(got, `"resolved_at":null`) {
		t.Errorf("canonical form %s", got)
	}
}

func TestSignResponseRefuses(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	r := response()
	r.Version = "0.2"
	body := mustMarshal(t, r)
	if _, err := ma2h.SignResponse(ma2h.SigningKey{Secret: []byte("s")}, callbackURL, body, now, "j"); !errors.Is(err, ma2h.ErrUnsignable) {
		t.Errorf("0.2: %v", err)
	}
	body = mustMarshal(t, response())
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]ma2h.SigningKey{
		"no key": {}, "short key": {Ed25519: private[:31]}, "two keys": {Secret: []byte("s"), Ed25519: private},
	} {
		if _, err := ma2h.SignResponse(key, callbackURL, body, now, "j"); err == nil {
			t.Errorf("signed with %s", name)
		}
	}
}

func TestMemoryReplays(t *testing.T) {
	t.Parallel()
	var m ma2h.MemoryReplays
	now := time.Unix(1_800_000_000, 0)
	if !m.Add("a", now, now.Add(time.Minute)) || m.Add("a", now.Add(time.Minute), now.Add(time.Hour)) {
		t.Error("remembers the wrong thing")
	}
	if !m.Add("a", now.Add(time.Minute+1), now.Add(2*time.Minute)) {
		t.Error("never forgets")
	}
	// Of many at once, one is first.
	var wg sync.WaitGroup
	var mu sync.Mutex
	first := 0
	for range 16 {
		wg.Go(func() {
			if m.Add("b", now, now.Add(time.Minute)) {
				mu.Lock()
				first++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first != 1 {
		t.Errorf("%d were first", first)
	}
}

// FuzzSignatureHeader: nothing panics, and what is accepted is what was sent.
func FuzzSignatureHeader(f *testing.F) {
	f.Add("t=1749050910,jti=jti_1,v1=Ryfm6kkeIKl80WEanB__dxoyL6bg5yFF33bRpu_3cxc")
	f.Add("t=1,v1=ab==")
	f.Add("t=1,t=2,v1=a")
	f.Add(" v1=a\t,t=0,x=,")
	f.Fuzz(func(t *testing.T, s string) {
		sig, err := ma2h.ParseSignatureHeader(s)
		if err != nil {
			return
		}
		if sig.T == "" || sig.V1 == "" || strconv.FormatInt(sig.Time.Unix(), 10) != sig.T {
			t.Fatalf("%q: %+v", s, sig)
		}
		again := "t=" + sig.T + ",v1=" + sig.V1
		if sig.JTI != "" {
			again += ",jti=" + sig.JTI
		}
		if got, err := ma2h.ParseSignatureHeader(again); err != nil || got != sig {
			t.Fatalf("%q: %+v, %v, want %+v", again, got, err, sig)
		}
		mac, ok := ma2h.DecodeMAC(sig.V1)
		if ok && len(mac) < 32 {
			t.Fatalf("%q: %d bytes", sig.V1, len(mac))
		}
	})
}

func BenchmarkSignResponse(b *testing.B) {
	body := mustMarshal(b, response())
	key := ma2h.SigningKey{Secret: []byte("correct horse battery staple")}
	now := time.Unix(1_800_000_000, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ma2h.SignResponse(key, callbackURL, body, now, "jti_1"); err != nil {
			b.Fatal(err)
		}
	}
}
