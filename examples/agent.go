//go:build ignore

// Command agent is an agent that does not wait. It asks people whether to
// deploy a release, and ends. The answer starts a new process, which knows
// nothing but what it sealed into the message's state; it verifies what it got,
// opens the state and goes on.
//
//	go run examples/agent.go ask 2.3    asks, prints the message id, ends
//	go run examples/agent.go serve      starts a process for each answer that comes
//
// The process for an answer speaks CGI, so that "serve" may as well be any web
// server that runs CGI programs, with "agent resume" as the program. Whatever
// starts processes by HTTP will do.
//
// It needs these variables, in both places:
//
//	BECKON_URL            the hub, such as https://beckon.example.com
//	BECKON_TOKEN          the agent's credential
//	BECKON_AGENT          the agent.id that it belongs to
//	AGENT_CALLBACK_URL    where the hub reaches "serve"
//	MA2H_CALLBACK_SECRET  signs what the hub pushes; the hub's config has it too
//	AGENT_STATE_SECRET    seals the state; nobody else has it, least of all the hub
//	AGENT_DIR             a folder that remembers what was done
//	AGENT_LISTEN          where "serve" listens, such as 127.0.0.1:9000
//
// Without MA2H_CALLBACK_SECRET the hub's published Ed25519 keys are used.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

// variables are what a process that is started for an answer must inherit.
var variables = []string{
	"BECKON_URL", "BECKON_TOKEN", "BECKON_AGENT", "AGENT_CALLBACK_URL",
	"MA2H_CALLBACK_SECRET", "AGENT_STATE_SECRET", "AGENT_DIR",
}

// job is what the agent must know to go on.
type job struct {
	Release string `json:"release"`
	Step    string `json:"step"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "ask":
		err = ask(ctx, args[1])
	case len(args) == 1 && args[0] == "serve":
		err = serve(ctx)
	case len(args) == 1 && args[0] == "resume":
		err = resume()
	default:
		err = errors.New("say ask RELEASE, serve or resume")
	}
	if err != nil {
		slog.Error("agent", "pid", os.Getpid(), "err", err)
		os.Exit(client.ExitCode(err))
	}
}

// hub is the hub, and what its signatures are checked with. The memory of
// signatures is on the disk, since a process sees one only.
func hub() (*client.Client, error) {
	t := client.Trust{Replays: &client.FileReplays{Dir: memory()}}
	if s := os.Getenv("MA2H_CALLBACK_SECRET"); s != "" {
		t.Secrets = [][]byte{[]byte(s)}
	} else {
		t.HubKeys = true
	}
	return client.New(os.Getenv("BECKON_URL"), os.Getenv("BECKON_TOKEN"), os.Getenv("BECKON_AGENT"), client.WithTrust(t))
}

func memory() string { return filepath.Join(os.Getenv("AGENT_DIR"), "memory") }

// stateKeys seal the state. While a secret is replaced, the old one comes second.
func stateKeys() client.StateKeys {
	return client.StateKeys{Secrets: [][]byte{[]byte(os.Getenv("AGENT_STATE_SECRET"))}, AgentID: os.Getenv("BECKON_AGENT")}
}

// ask asks whether to deploy a release. Asking again for the same release asks
// nobody twice: the envelope is kept, and sent again as it was.
func ask(ctx context.Context, release string) error {
	c, err := hub()
	if err != nil {
		return err
	}
	kept := filepath.Join(os.Getenv("AGENT_DIR"), "ask-"+filepath.Base(release)+".json")
	envelope, err := os.ReadFile(kept)
	if errors.Is(err, os.ErrNotExist) {
		if envelope, err = newEnvelope(release); err == nil {
			err = keep(kept, envelope)
		}
	}
	if err != nil {
		return err
	}
	ack, err := c.Submit(ctx, envelope)
	if err != nil {
		return err
	}
	slog.Info("asked; this process ends", "pid", os.Getpid(), "message", ack.ID)
	fmt.Println(ack.ID)
	return nil
}

// newEnvelope writes the ask. The reference ties the state to this release.
func newEnvelope(release string) ([]byte, error) {
	plain, err := json.Marshal(job{Release: release, Step: "deploy"})
	if err != nil {
		return nil, err
	}
	ref := "release " + release
	state, err := client.SealState(stateKeys(), ref, plain)
	if err != nil {
		return nil, err
	}
	auth := &ma2h.Auth{Scheme: "hmac", SecretRef: "env:MA2H_CALLBACK_SECRET"}
	if os.Getenv("MA2H_CALLBACK_SECRET") == "" {
		auth = nil
	}
	return json.Marshal(ma2h.Envelope{
		Version: "0.5", Type: ma2h.Ask, CreatedAt: ma2h.FormatTime(time.Now()),
		Agent:          ma2h.Agent{ID: os.Getenv("BECKON_AGENT"), RunID: client.NewKey(), Runtime: "cli"},
		Title:          "Deploy " + release + "?",
		IdempotencyKey: client.NewKey(), ClientRef: ref, State: state,
		Request: &ma2h.Request{
			Mode:     ma2h.Select,
			Options:  []ma2h.Option{{Value: "ship", Label: "Ship now"}, {Value: "hold", Label: "Hold"}},
			Callback: &ma2h.Callback{Mode: "push", URL: os.Getenv("AGENT_CALLBACK_URL"), Auth: auth},
		},
	})
}

// keep writes a file whole or not at all.
func keep(path string, b []byte) error {
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// serve starts a process of this program for each push, four at a time: whoever
// can reach it can't have it start any number.
func serve(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	start := &cgi.Handler{Path: self, Args: []string{"resume"}, Root: "/", InheritEnv: variables, Stderr: os.Stderr}
	room := make(chan struct{}, 4)
	srv := &http.Server{
		Addr:        os.Getenv("AGENT_LISTEN"),
		ReadTimeout: 15 * time.Second, // a body that does not come
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case room <- struct{}{}:
				defer func() { <-room }()
				start.ServeHTTP(w, r)
			default:
				http.Error(w, "busy; come back", http.StatusServiceUnavailable)
			}
		}),
	}
	done := make(chan error, 1)
	go func() { done <- srv.ListenAndServe() }()
	slog.Info("serving", "pid", os.Getpid(), "listen", srv.Addr)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// What was begun is finished.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return srv.Shutdown(ctx)
}

// resume is the process that an answer has started.
func resume() error {
	c, err := hub()
	if err != nil {
		return err
	}
	return cgi.Serve(client.Handler(client.HandlerOptions{
		Verifier:   c.Verifier(os.Getenv("AGENT_CALLBACK_URL")),
		Dedup:      &client.FileDedup{Dir: memory()},
		OnResponse: goOn,
		Log:        slog.Default(),
	}))
}

// goOn does what is to be done next. It is called once for each answer.
func goOn(_ context.Context, r *ma2h.Response) error {
	ref, plain, err := client.OpenState(stateKeys(), r.State)
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrRefused, err)
	}
	var j job
	if err := json.Unmarshal(plain, &j); err != nil || ref != "release "+j.Release {
		return fmt.Errorf("%w: the state is of another job", client.ErrRefused)
	}
	if r.Response == nil {
		return fmt.Errorf("%w: an ask has an answer", client.ErrRefused)
	}
	answer := string(r.Resolution)
	if r.Resolution == ma2h.Answered {
		answer = string(r.Response.Value)
	}
	f, err := os.OpenFile(filepath.Join(os.Getenv("AGENT_DIR"), "done"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s: %s by %s, process %d\n", j.Step, j.Release, answer, r.Response.Actor, os.Getpid())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	slog.Info("went on", "pid", os.Getpid(), "message", r.InReplyTo, "resolution", r.Resolution)
	return nil
}
