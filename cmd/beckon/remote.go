package main

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"os"
	"strings"

	"beckon/config"
	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// remote says which hub to talk to, and as whom.
type remote struct {
	URL       string `help:"The hub; http://127.0.0.1:8420 if nothing is said." env:"BECKON_URL" placeholder:"URL"`
	TokenFile string `help:"Read the credential from this file, not from BECKON_TOKEN." placeholder:"FILE"`
	Agent     string `help:"The agent that the credential belongs to." env:"BECKON_AGENT" placeholder:"ID"`

	// Token is not a flag, since others can read a command line.
	Token string `kong:"-"`
}

// author says what a message tells of its sender.
type author struct {
	remote
	RunID string `help:"The run that the message belongs to; otherwise a random one." env:"BECKON_RUN_ID,GITHUB_RUN_ID" placeholder:"ID"`
}

var errNoAgent = usage("say which agent this is: set BECKON_AGENT, or use --agent")

// connect makes a client for the hub; it calls nothing yet.
func (r *remote) connect() (*session, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	r.URL = cmp.Or(r.URL, "http://"+config.DefaultListen)
	p := &pulse{next: http.DefaultTransport}
	c, err := client.New(r.URL, token, r.Agent, client.WithUserAgent("beckon/"+version()), client.WithHTTPClient(&http.Client{Transport: p}))
	if err != nil {
		return nil, err
	}
	return &session{c, p}, nil
}

func (r *remote) token() (string, error) {
	if r.TokenFile == "" {
		if t := strings.TrimSpace(os.Getenv("BECKON_TOKEN")); t != "" {
			return t, nil
		}
		return "", usage("there is no credential: set BECKON_TOKEN, or use --token-file (\"beckon token\" makes one)")
	}
	b, err := readFile(r.TokenFile)
	if err != nil {
		return "", usage("--token-file: %v", err)
	}
	t := strings.TrimSpace(string(b))
	if t == "" {
		return "", usage("--token-file: %s is empty", r.TokenFile)
	}
	return t, nil
}

// sender is the agent that a message comes from.
func (r *author) sender() (ma2h.Agent, error) {
	if r.Agent == "" {
		return ma2h.Agent{}, errNoAgent
	}
	return ma2h.Agent{ID: r.Agent, RunID: r.runID(), Runtime: runtimeName()}, nil
}

func (r *author) runID() string {
	if r.RunID == "" {
		r.RunID = "run_" + rand.Text()
	}
	return r.RunID
}

// runtimeName is where this runs, in the protocol's words.
func runtimeName() string {
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		return "github-actions"
	}
	return "cli"
}
