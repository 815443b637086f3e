package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"beckon/hub"
	"beckon/hub/callback"
	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// TestHandlerTakesWhatTheHubPushes: what the hub's own pusher sends reaches the
// agent, at every version and with every credential, and what the agent answers
// is to the hub what it means.
func TestHandlerTakesWhatTheHubPushes(t *testing.T) {
	t.Parallel()
	keys, err := callback.SigningKeys([][]byte{bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	pusher := callback.New(callback.Options{AllowLoopback: true, Keys: keys})
	for _, tt := range []struct {
		version, scheme, alg string
	}{
		{"0.1", "hmac", ma2h.AlgHMAC},
		{"0.1", "bearer", ma2h.AlgHMAC},
		{"0.3", "hmac", ma2h.AlgHMAC},
		{"0.4", "", ma2h.AlgHMAC},
		{"0.5", "apikey", ma2h.AlgHMAC},
		{"0.5", "bearer", ma2h.AlgEd25519},
		{"0.3", "", ma2h.AlgEd25519},
	} {
		t.Run(tt.version+" "+tt.scheme+" "+tt.alg, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			s := httptest.NewServer(mux)
			defer s.Close()
			url := s.URL + "/ma2h?x=%2f"
			var fails error
			calls := 0
			mux.Handle("/ma2h", client.Handler(client.HandlerOptions{
				Verifier: &ma2h.Verifier{
					Secrets: [][]byte{hubShare}, Ed25519Keys: []ed25519.PublicKey{keys[0].Public().(ed25519.PublicKey)}, CallbackURL: url,
				},
				OnResponse: func(_ context.Context, r *ma2h.Response) error {
					calls++
					if r.Version != tt.version || string(r.State) != `{"sealed":"secret state"}` {
						t.Errorf("%+v", r)
					}
					return fails
				},
			}))
			p := hub.Push{
				MessageID: "msg_1", URL: url, Minor: int(tt.version[2] - '0'), Body: fmt.Appendf(nil, answered, tt.version),
				Scheme: tt.scheme, Credential: hub.NewSecret("a token"), Signing: hub.NewSecret(string(hubShare)), Algorithm: tt.alg,
			}
			fails = errors.New("broken")
			err := pusher.Push(t.Context(), p)
			if e, ok := errors.AsType[*hub.DeliveryError](err); !ok || e.Permanent {
				t.Errorf("an agent that fails: %v", err)
			}
			fails = client.ErrRefused
			err = pusher.Push(t.Context(), p)
			if e, ok := errors.AsType[*hub.DeliveryError](err); !ok || e.Permanent != (tt.version != "0.1") {
				t.Errorf("an agent that refuses: %v", err)
			}
			fails = nil
			for range 2 { // the second after a 200 that the hub did not hear
				if err := pusher.Push(t.Context(), p); err != nil {
					t.Error(err)
				}
			}
			if calls != 3 {
				t.Errorf("%d calls", calls)
			}
			p.Signing, p.Algorithm = hub.NewSecret("another secret"), ma2h.AlgHMAC
			if err := pusher.Push(t.Context(), p); err == nil || calls != 3 {
				t.Errorf("another key: %v, %d calls", err, calls)
			}
		})
	}
}
