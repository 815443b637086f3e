package ma2h_test

import (
	"fmt"
	"time"

	"beckon/hub/ma2h"
)

// An agent that gets its Responses pushed checks each before it acts.
func ExampleVerifier() {
	secret := []byte("shared with the hub by its operator")
	const url = "https://agent.example.com/ma2h/resume"

	// The hub's side: build once, sign each attempt.
	r := ma2h.Response{
		Version: "0.5", InReplyTo: "msg_1", ResolutionID: "res_1", Resolution: ma2h.Answered,
		Agent: ma2h.ResponseAgent{ID: "deploybot/dev-team", RunID: "run_1"},
		Response: &ma2h.Detail{
			Value: []byte(`"hold"`), Actor: "human:alice", ResolvedAt: ma2h.FormatTime(time.Now()),
		},
	}
	body, err := r.Marshal()
	if err != nil {
		fmt.Println(err)
		return
	}
	header, err := ma2h.SignResponse(ma2h.SigningKey{Secret: secret}, url, body, time.Now(), ma2h.NewJTI())
	if err != nil {
		fmt.Println(err)
		return
	}

	// The agent's side: header and body as they came.
	v := ma2h.Verifier{Secrets: [][]byte{secret}, CallbackURL: url}
	got, err := v.Verify(header, body, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Response.Actor, got.Resolution, string(got.Response.Value))
	_, err = v.Verify(header, body, time.Now())
	fmt.Println(err)
	// Output:
	// human:alice answered "hold"
	// signature was seen before
}
