package ma2h_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
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

// TestDigestIsCanonical pins the corners of RFC 8785 that a digest depends on.
func TestDigestIsCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, want string }{
		{"minus zero", `{"a":-0.0}`, `{"a":0}`},
		{"exponents", `{"a":1e21,"b":1e20,"c":1e-7,"d":0.000001}`, `{"a":1e+21,"b":100000000000000000000,"c":1e-7,"d":0.000001}`},
		{"beyond 2^53", `{"a":9007199254740993}`, `{"a":9007199254740992}`},
		{"escapes", `{"a":"\u003c\/\u2028\u000f\t\"\\\u007f"}`, "{\"a\":\"</\u2028\\u000f\\t\\\"\\\\\u007f\"}"},
		{"names by UTF-16", `{"\ufb33":1,"\ud83d\ude00":2,"\u00e9":3,"a":4}`, "{\"a\":4,\"é\":3,\"😀\":2,\"\ufb33\":1}"},
		{"no normal form", `{"a":"e\u0301"}`, "{\"a\":\"e\u0301\"}"},
		{"whitespace and order", "{ \"b\" : [ 1 , null ] ,\n\"a\":{}}", `{"a":{},"b":[1,null]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ma2h.PayloadSHA256([]byte(tt.raw), nil)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(`{"response":` + tt.want + `,"state":null}`))
			if got != hex.EncodeToString(sum[:]) {
				t.Errorf("the digest is not that of %s", tt.want)
			}
		})
	}
}
