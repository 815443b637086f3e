package ma2h_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub/ma2h"
)

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

// brokenReplays can't tell.
type brokenReplays struct{}

func (brokenReplays) Add(string, time.Time, time.Time) (bool, error) {
	return true, errors.New("the disk is full")
}

// TestVerifyWithoutReplayCache: what can't be told from a replay is not accepted,
// and has an error of its own, since it may be accepted later.
func TestVerifyWithoutReplayCache(t *testing.T) {
	t.Parallel()
	secret := []byte("correct horse battery staple")
	now := time.Unix(1_800_000_000, 0)
	body := mustMarshal(t, response())
	header, err := ma2h.SignResponse(ma2h.SigningKey{Secret: secret}, callbackURL, body, now, "jti_1")
	if err != nil {
		t.Fatal(err)
	}
	v := &ma2h.Verifier{Secrets: [][]byte{secret}, CallbackURL: callbackURL, Replays: brokenReplays{}}
	r, err := v.Verify(header, body, now)
	if r != nil || !errors.Is(err, ma2h.ErrReplayCache) || errors.Is(err, ma2h.ErrReplay) {
		t.Errorf("%v, %v", r, err)
	}
}

func TestMemoryReplays(t *testing.T) {
	t.Parallel()
	var m ma2h.MemoryReplays
	now := time.Unix(1_800_000_000, 0)
	add := func(jti string, now, until time.Time) bool {
		t.Helper()
		fresh, err := m.Add(jti, now, until)
		if err != nil {
			t.Error(err)
		}
		return fresh
	}
	if !add("a", now, now.Add(time.Minute)) || add("a", now.Add(time.Minute), now.Add(time.Hour)) {
		t.Error("remembers the wrong thing")
	}
	if !add("a", now.Add(time.Minute+1), now.Add(2*time.Minute)) {
		t.Error("never forgets")
	}
	// Of many at once, one is first.
	var wg sync.WaitGroup
	var mu sync.Mutex
	first := 0
	for range 16 {
		wg.Go(func() {
			if add("b", now, now.Add(time.Minute)) {
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
