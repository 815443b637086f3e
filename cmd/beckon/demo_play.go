package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// player is the agent of the demo: it sends, waits and prints.
type player struct {
	sh     *shell
	client *client.Client
	file   string // where the round is kept; "" for nowhere

	mu sync.Mutex // one Response at a time is printed
}

// round makes the demo's messages the same over several runs: the hub knows a
// repeated envelope and sends nobody a second copy.
type round struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
}

// sent is a message that is out.
type sent struct {
	*ma2h.Envelope
	ack *client.Ack
}

// play sends the messages, says what to do, and prints each Response. It returns
// nil once all are answered, and the context's error if that ends first.
func (p *player) play(ctx context.Context, url, link string) error {
	out, err := p.send(ctx)
	if err != nil {
		return err
	}
	p.greet(url, link, out)

	errs := make([]error, len(out))
	var wg sync.WaitGroup
	for i, s := range out {
		if s.Type != ma2h.Notify {
			wg.Go(func() { errs[i] = p.follow(ctx, s) })
		}
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return p.sh.print("\nEverything is answered. The hub goes on running, so you can look at the page again. Ctrl-C ends the demo.")
}

// send sends the kept round again, or a new one if that is over.
func (p *player) send(ctx context.Context) ([]sent, error) {
	r, kept, err := p.load()
	if err != nil {
		return nil, err
	}
	if kept {
		out, err := p.submit(ctx, r)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Code == ma2h.CodeIdempotencyConflict {
			kept = false // it was sent by a version with other words
		} else if err != nil || waiting(out) {
			return out, err
		}
	}
	if r, err = p.next(); err != nil {
		return nil, err
	}
	return p.submit(ctx, r)
}

// waiting reports whether something is open.
func waiting(out []sent) bool {
	for _, s := range out {
		if s.ack.Status == ma2h.Open {
			return true
		}
	}
	return false
}

func (p *player) load() (r round, ok bool, err error) {
	if p.file == "" {
		return r, false, nil
	}
	b, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("read the kept demo: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil || r.ID == "" {
		return r, false, usage("%s is not the file that the demo wrote; remove it to start anew", p.file)
	}
	return r, true, nil
}

func (p *player) next() (round, error) {
	r := round{ID: rand.Text(), Started: time.Now().UTC().Truncate(time.Second)}
	if p.file == "" {
		return r, nil
	}
	b, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(p.file, b, 0o600)
	}
	if err != nil {
		return r, fmt.Errorf("keep the demo: %w", err)
	}
	return r, nil
}

func (p *player) submit(ctx context.Context, r round) ([]sent, error) {
	var out []sent
	for name, e := range demoMessages() {
		e.Version, e.CreatedAt = protocol, ma2h.FormatTime(r.Started)
		e.Agent = ma2h.Agent{ID: demoAgent, RunID: "run_" + r.ID, Runtime: "other", Project: "web-app"}
		e.IdempotencyKey = "demo-" + r.ID + "-" + name
		if e.Request != nil && e.Request.DefaultOnExpire != nil {
			e.ExpiresAt = ma2h.FormatTime(r.Started.Add(24 * time.Hour))
		}
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("write the demo's %s: %w", name, err)
		}
		ack, err := p.client.Submit(ctx, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, sent{e, ack})
	}
	return out, nil
}

func (p *player) greet(url, link string, out []sent) {
	w := p.sh.out
	fmt.Fprintf(w, "Beckon runs on %s, on this machine only.\n\n", url)
	fmt.Fprintf(w, "Open this link; it signs you in:\n\n  %s\n\n", link)
	fmt.Fprintf(w, "An agent, %s, has sent you this:\n\n", demoAgent)
	for _, s := range out {
		state := ""
		if s.ack.Status != ma2h.Open && s.Type != ma2h.Notify {
			state = " (" + string(s.ack.Status) + " earlier)"
		}
		fmt.Fprintf(w, "  %-6s  %s%s\n", s.Type, s.Title, state)
	}
	fmt.Fprint(w, "\nAnswer on the page. What the agent receives appears here. Ctrl-C ends the demo.\n")
}

// follow waits for one Response and prints it with the time that it took from
// the click to here.
func (p *player) follow(ctx context.Context, s sent) error {
	m, err := p.client.Wait(ctx, s.ack.ID)
	got := time.Now()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	took := ""
	if s.ack.Status == ma2h.Open && m.Response != nil && m.Response.Response != nil {
		if at, err := ma2h.ParseTime(m.Response.Response.ResolvedAt); err == nil {
			took = fmt.Sprintf(", %d ms from the click to the agent", max(0, got.Sub(at).Milliseconds()))
		}
	}
	fmt.Fprintf(p.sh.out, "\n%s\n%s%s\n", s.Title, ending(m), took)
	return p.printResponse(m)
}

func (p *player) printResponse(m *client.Message) error {
	var raw struct {
		Response jsontext.Value `json:"response"`
	}
	if err := json.Unmarshal(m.Body, &raw); err != nil {
		return fmt.Errorf("read the Response: %w", err)
	}
	if err := raw.Response.Indent(jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("read the Response: %w", err)
	}
	return p.sh.print(string(raw.Response))
}
