package client_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// An agent that has ended leaves what it must know in the message's state.
func ExampleSealState() {
	keys := client.StateKeys{
		Secrets: [][]byte{[]byte("32 random bytes that only this agent has")},
		AgentID: "deploybot/dev-team",
	}
	state, err := client.SealState(keys, "release 2.3", []byte(`{"step":"deploy"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	// The state travels through the hub and back; whoever gets it opens it.
	ref, plain, err := client.OpenState(keys, state)
	fmt.Println(ref, string(plain), err)
	// Output: release 2.3 {"step":"deploy"} <nil>
}

// A server that takes the answers to an agent's asks. See examples/agent.go for
// one whose process ends in between.
func ExampleHandler() {
	c, err := client.New("https://beckon.example.com", os.Getenv("BECKON_TOKEN"), "deploybot/dev-team",
		client.WithTrust(client.Trust{HubKeys: true}))
	if err != nil {
		fmt.Println(err)
		return
	}
	http.Handle("/ma2h", client.Handler(client.HandlerOptions{
		Verifier: c.Verifier("https://agent.example.com/ma2h"), // letter by letter as in the callback
		Dedup:    &client.FileDedup{Dir: "/var/lib/deploybot/done"},
		OnResponse: func(_ context.Context, r *ma2h.Response) error {
			fmt.Println(r.InReplyTo, r.Resolution)
			return nil
		},
	}))
}

// What people write to an agent unasked is acted on once, and they read the note.
func ExampleClient_Receive() {
	c, err := client.New("https://beckon.example.com", os.Getenv("BECKON_TOKEN"), "deploybot/dev-team",
		client.WithTrust(client.Trust{HubKeys: true}), client.WithDedup(&client.FileDedup{Dir: "/var/lib/deploybot/done"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for ctx.Err() == nil {
		_, err := c.Receive(ctx, 0, time.Minute, func(_ context.Context, d *ma2h.Directive) (string, error) {
			fmt.Println(d.From, "says", d.Title)
			return "Done.", nil
		})
		if err != nil {
			fmt.Println(err) // a directive that was changed on the way, or one that failed
		}
		if client.ExitCode(err) == client.ExitRefused {
			return // the hub does not want to hear from this agent
		}
	}
}
