package callback_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"beckon/hub"
	"beckon/hub/callback"
	"beckon/hub/ma2h"
)

// pushed makes a push and returns it as it arrived.
func pushed(t *testing.T, minor int, algorithm string) (hub.Push, got) {
	t.Helper()
	r := newReceiver(t, nil)
	push := signedPush(t, minor, r.URL+"/ma2h/resolve?a=b")
	push.Algorithm = algorithm
	if err := r.pusher(callback.Options{Keys: hubKeys(t)}).Push(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	all := r.pushes()
	if len(all) != 1 {
		t.Fatalf("%d pushes", len(all))
	}
	return push, all[0]
}

// bound is what of a Response its signature covers from 0.3 on: neither who it
// goes to nor defaulted are, and value and state are in their canonical form
// (spec §9.2).
func bound(t *testing.T, r *ma2h.Response) ma2h.Response {
	t.Helper()
	out := *r
	out.Agent, out.Defaulted = ma2h.ResponseAgent{}, false
	out.Response = new(ma2h.Detail)
	*out.Response = *r.Response
	for _, raw := range []*jsontext.Value{&out.Response.Value, &out.State} {
		form, err := jcs.Transform(*raw)
		if err != nil {
			t.Fatal(err)
		}
		*raw = form
	}
	return out
}

// A push in which one byte was changed on the way, of body, signature or URL, is
// refused by whoever verifies it, or says what it said in all that is signed. At
// 0.1 every byte of the body is signed, and no URL.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		minor     int
		algorithm string
	}{{1, ma2h.AlgHMAC}, {3, ma2h.AlgHMAC}, {5, ma2h.AlgHMAC}, {5, ma2h.AlgEd25519}} {
		t.Run(fmt.Sprintf("0.%d %s", tt.minor, tt.algorithm), func(t *testing.T) {
			t.Parallel()
			push, g := pushed(t, tt.minor, tt.algorithm)
			now, public := time.Now(), hubKeys(t)[0].Public().(ed25519.PublicKey)
			verify := func(signature string, body []byte, url string) (*ma2h.Response, error) {
				v := ma2h.Verifier{CallbackURL: url}
				if tt.algorithm == ma2h.AlgHMAC {
					v.Secrets = [][]byte{[]byte(secret)}
				} else {
					v.Ed25519Keys = []ed25519.PublicKey{public}
				}
				return v.Verify(signature, body, now)
			}
			signature := g.header.Get(ma2h.SignatureHeader)
			whole, err := verify(signature, g.body, push.URL)
			if err != nil {
				t.Fatal(err)
			}
			refused, harmless := 0, 0
			check := func(what string, at int, signature string, body []byte, url string) {
				r, err := verify(signature, body, url)
				switch {
				case err != nil:
					refused++
				case tt.minor >= 3 && reflect.DeepEqual(bound(t, r), bound(t, whole)):
					harmless++
				default:
					t.Errorf("%s, byte %d: %q is taken for the Response, as %+v", what, at, body, r)
				}
			}
			for at := range g.body {
				for _, b := range others(g.body[at]) {
					if b != g.body[at] {
						changed := bytes.Clone(g.body)
						changed[at] = b
						check("body", at, signature, changed, push.URL)
					}
				}
				check("body without", at, signature, append(bytes.Clone(g.body[:at]), g.body[at+1:]...), push.URL)
			}
			check("body and more", len(g.body), signature, append(bytes.Clone(g.body), '}'), push.URL)
			if tt.minor < 3 && harmless > 0 {
				t.Errorf("%d changes of a 0.1 body pass", harmless)
			}
			seen := harmless
			for at := range signature {
				changed := []byte(signature)
				changed[at] ^= 1
				if at == len(signature)-1 && sameMAC(signature, string(changed)) {
					continue // the last letter has bits to spare
				}
				check("signature", at, string(changed), g.body, push.URL)
			}
			if tt.minor >= 3 {
				for at := range push.URL {
					changed := []byte(push.URL)
					changed[at] ^= 1
					check("URL", at, signature, g.body, string(changed))
				}
			}
			if harmless != seen {
				t.Errorf("%d changes of the signature or the URL pass", harmless-seen)
			}
			t.Logf("%d changes refused, %d change nothing that is signed", refused, harmless)
		})
	}
}

// others are bytes to put in the place of one: one for each round.
func others(b byte) []byte {
	all := []byte{b ^ 1, ' ', b ^ 0x20, '"', '0', b ^ 2, '\\', '}'}
	return all[:min(rounds(2), len(all))]
}

// sameMAC reports whether two signatures differ in how they are written alone.
func sameMAC(a, b string) bool {
	mac := func(s string) []byte {
		sig, err := ma2h.ParseSignatureHeader(s)
		if err != nil {
			return nil
		}
		sum, _ := ma2h.DecodeMAC(sig.V1)
		return sum
	}
	return mac(a) != nil && bytes.Equal(mac(a), mac(b))
}

// rounds is BECKON_ROUNDS, or n.
func rounds(n int) int {
	if v, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS")); err == nil && v > 0 {
		return v
	}
	return n
}

// The parts that people and agents act on are signed, each byte of them.
func TestEveryByteOfWhatMattersCounts(t *testing.T) {
	t.Parallel()
	push, g := pushed(t, 5, ma2h.AlgHMAC)
	for _, part := range []string{
		`"disk`, `1.50`, `human:alice`, `2026-12-01T10:00:00.000Z`, `"comment":"go"`, `"step": 3`, `sealed`,
		`msg_01JZ`, `res_1`, `answered`, `"0.5"`, `reason`, `actor`,
	} {
		start := bytes.Index(g.body, []byte(part))
		if start < 0 {
			t.Fatalf("no %s in %s", part, g.body)
		}
		for at := start; at < start+len(part); at++ {
			for _, bit := range []byte{1, 2, 4, 0x20} {
				if g.body[at] == ' ' {
					continue // between tokens, where it says nothing
				}
				changed := bytes.Clone(g.body)
				changed[at] ^= bit
				v := ma2h.Verifier{CallbackURL: push.URL, Secrets: [][]byte{[]byte(secret)}}
				if r, err := v.Verify(g.header.Get(ma2h.SignatureHeader), changed, time.Now()); err == nil {
					t.Errorf("%s: %s is taken for the Response, as %+v", part, changed, r)
				}
			}
		}
	}
}

// Over HTTP/1 the names of the headers are those of the spec, for receivers that
// compare them letter by letter.
func TestHeaderNames(t *testing.T) {
	t.Parallel()
	heads := make(chan string, 1)
	url, roots := rawReceiver(t, func(_ context.Context, conn net.Conn) {
		var head strings.Builder
		if req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &head))); err == nil {
			io.Copy(io.Discard, req.Body) //nolint:errcheck // the client looks
		}
		heads <- head.String()
		io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n") //nolint:errcheck // the client looks
	})
	push := signedPush(t, 5, url)
	push.Scheme, push.Credential = "apikey", hub.NewSecret("k")
	if err := callback.New(callback.Options{AllowLoopback: true, RootCAs: roots}).Push(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	head := <-heads
	for _, line := range []string{"POST /ma2h HTTP/1.1", "MA2H-Signature: t=", "X-API-Key: k", "Content-Type: application/json", "User-Agent: Beckon"} {
		if !strings.Contains("\r\n"+head, "\r\n"+line) {
			t.Errorf("no %q in %s", line, head)
		}
	}
}
