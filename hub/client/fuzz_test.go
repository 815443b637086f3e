package client_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// FuzzOpenState: nothing opens but what was sealed, and nothing panics.
func FuzzOpenState(f *testing.F) {
	k := stateKeys(newSecret, oldSecret)
	state, err := client.SealState(k, "job-7", []byte("deploy"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(state))
	f.Add([]byte(`{"sealed":"beckon1.AAAA","client_ref":"job-7"}`))
	f.Add([]byte(`{"sealed":"beckon1."}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		ref, plain, err := client.OpenState(k, b)
		if err == nil && (ref != "job-7" || string(plain) != "deploy") || err != nil && (ref != "" || plain != nil) {
			t.Fatalf("%q, %q, %v", ref, plain, err)
		}
	})
}

// FuzzHandler: whatever comes, only what the hub signed reaches the agent, and
// the answer is one that there is.
func FuzzHandler(f *testing.F) {
	body := fmt.Sprintf(answered, "0.5")
	honest := signed(f, ma2h.SigningKey{Secret: hubShare}, body)
	legacy := signed(f, ma2h.SigningKey{Secret: hubShare}, fmt.Sprintf(answered, "0.1"))
	f.Add(honest.header[0], honest.body)
	f.Add(legacy.header[0], legacy.body)
	f.Add("t=1,v1=a", []byte(`{"ma2h_version":"0.1"}`))
	f.Fuzz(func(t *testing.T, header string, b []byte) {
		called := false
		h := client.Handler(client.HandlerOptions{Verifier: secretVerifier(), OnResponse: func(_ context.Context, r *ma2h.Response) error {
			called = true
			if r.InReplyTo != "msg_1" || string(r.Response.Value) != `"ship"` || r.Response.Actor != "human:alice" {
				t.Errorf("%+v", r)
			}
			return nil
		}})
		w := push{http.MethodPost, "application/json", []string{header}, b}.to(h)
		switch w.Code {
		case 200:
			if !called || !bytes.Contains(b, []byte("msg_1")) {
				t.Errorf("200 for %q, %q", header, b)
			}
		case 400, 401:
			if called {
				t.Errorf("%d after the call", w.Code)
			}
		default:
			t.Errorf("%d %s for %q, %q", w.Code, w.Body, header, b)
		}
	})
}
