package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DirectiveError says that one directive was not accepted, and why: it was
// changed on the way, comes a second time under one signature, or is another
// agent's. It is not acked, so that the hub hands it out again.
type DirectiveError struct {
	ID  string // as it says itself, "" if it has none
	Err error  // wraps an error of package ma2h
}

func (e *DirectiveError) Error() string {
	return fmt.Sprintf("directive %q is not to be trusted: %v", e.ID, e.Err)
}

func (e *DirectiveError) Unwrap() error { return e.Err }

// Inbox takes directives for this agent from its mailbox, the oldest first, and
// limit of them at most, or as many as the hub gives if that is 0. While there
// are none, it waits for as long as wait says, through restarts of the hub and
// cuts of the network; none is no error.
//
// Each was verified as [WithTrust] says, and was not acked by [Client.AckInbox]
// before. What was not accepted is an error that wraps one [*DirectiveError]
// each; then there may be directives all the same. A directive that is not acked
// comes again; see [Client.Receive] for acting on each once.
func (c *Client) Inbox(ctx context.Context, limit int, wait time.Duration) ([]*ma2h.Directive, error) {
	if wait <= 0 {
		return c.drain(ctx, c.do, limit, 0)
	}
	deadline := time.Now().Add(wait)
	for try := 0; ; {
		began := time.Now()
		list, err := c.drain(ctx, c.once, limit, max(time.Until(deadline), 0))
		_, untrusted := errors.AsType[*DirectiveError](err)
		over := ctx.Err() != nil || !time.Now().Before(deadline)
		if len(list) > 0 || untrusted || over || err != nil && !retryable(err, always) {
			return list, err
		}
		if err == nil && time.Since(began) > time.Second {
			try = 0
			continue // it was held
		}
		try++ // a hub that shuts down answers at once; don't rush back
		pause := min(pauseFor(err, try), time.Until(deadline))
		if err != nil {
			c.log.InfoContext(ctx, "the hub does not answer; the wait goes on", "op", opInbox, "try", try, "pause", pause, "err", err)
		}
		if !sleep(ctx, pause) || err != nil && !time.Now().Before(deadline) {
			return nil, err
		}
	}
}

// drain asks for directives by ask.
func (c *Client) drain(ctx context.Context, ask func(context.Context, call) (*answer, error), limit int, wait time.Duration) ([]*ma2h.Directive, error) {
	if c.agentID == "" {
		return nil, &UsageError{Msg: "a mailbox is an agent's: say which agent this is"}
	}
	if t := c.trust; len(t.Secrets) == 0 && len(t.Keys) == 0 && !t.HubKeys {
		return nil, &UsageError{Msg: "say how to verify directives: with the hub's own keys, or with a secret that it shares"}
	}
	cl := call{op: opInbox, method: http.MethodGet, path: "/v1/inbox", query: url.Values{}}
	if limit > 0 {
		cl.query.Set("max", strconv.Itoa(limit))
	}
	if s := min(int64(wait/time.Second), int64(pollHold/time.Second)); s > 0 {
		cl.wait = time.Duration(s) * time.Second
		cl.query.Set("wait", strconv.FormatInt(s, 10))
	}
	a, err := ask(ctx, cl)
	if err != nil {
		return nil, err
	}
	var body struct {
		Messages []delivered `json:"messages"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil || body.Messages == nil {
		return nil, unreadable(opInbox, err)
	}
	return c.accept(ctx, body.Messages)
}

// delivered is one entry of a mailbox, the directive as it came.
type delivered struct {
	Directive jsontext.Value `json:"directive"`
	Signature string         `json:"signature"`
}

// accept verifies what was delivered. What was acted on before is acked again.
func (c *Client) accept(ctx context.Context, entries []delivered) ([]*ma2h.Directive, error) {
	var list []*ma2h.Directive
	var again []string
	var errs []error
	for _, e := range entries {
		d, err := c.inbox.VerifyDirective(ctx, e.Signature, e.Directive, time.Now())
		if err != nil && !isUntrusted(err) { // for want of the hub's keys: the rest won't do better
			errs = append(errs, fmt.Errorf("%s: %w", opInbox, err))
			break
		}
		if err != nil {
			var named struct {
				ID string `json:"id"`
			}
			_ = json.Unmarshal(e.Directive, &named)
			errs = append(errs, &DirectiveError{ID: named.ID, Err: err})
			continue
		}
		done, err := wasDone(ctx, c.dedup, directiveKey(d.ID))
		switch {
		case errors.Is(err, ErrBusy): // of another, who will ack it
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: directive %s: %w", opInbox, d.ID, err))
		case done:
			again = append(again, d.ID)
		default:
			list = append(list, d)
		}
	}
	if len(again) > 0 {
		if _, err := c.ackInbox(ctx, again, ""); err != nil {
			c.log.InfoContext(ctx, "directives that were acted on before could not be acked", "err", err)
		}
	}
	return list, errors.Join(errs...)
}

// isUntrusted reports whether err is about the directive, and not about keys or
// a memory that may be there later.
func isUntrusted(err error) bool {
	return slices.ContainsFunc([]error{
		ma2h.ErrSignatureHeader, ma2h.ErrDocument, ma2h.ErrWindow, ma2h.ErrSignature, ma2h.ErrReplay, ma2h.ErrAddressee,
	}, func(kind error) bool { return errors.Is(err, kind) })
}

func directiveKey(id string) string { return "directive " + id }

// AckInbox tells the hub, and by it the people who wrote, that the agent has
// acted on directives, with a note for them or "". They won't come again; that
// is remembered here before the hub is told. It returns how many the hub did not
// know of yet: ids that it does not know count for nothing.
func (c *Client) AckInbox(ctx context.Context, ids []string, note string) (int, error) {
	for _, id := range ids {
		if id == "" {
			return 0, &UsageError{Msg: "the directive's id is missing"}
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	for _, id := range ids {
		if _, err := c.dedup.Once(ctx, directiveKey(id), func(context.Context) error { return nil }); err != nil {
			return 0, fmt.Errorf("%s: directive %s: %w", opInboxAck, id, err)
		}
	}
	return c.ackInbox(ctx, ids, note)
}

func (c *Client) ackInbox(ctx context.Context, ids []string, note string) (int, error) {
	body, err := json.Marshal(struct {
		IDs  []string `json:"ids"`
		Note string   `json:"note,omitzero"`
	}{ids, note})
	if err != nil {
		return 0, errNote
	}
	var out struct {
		Acked int `json:"acked"`
	}
	err = c.json(ctx, call{op: opInboxAck, method: http.MethodPost, path: "/v1/inbox/ack", body: body}, &out)
	return out.Acked, err
}

// Receive takes directives as [Client.Inbox] does and has act deal with one
// after the other, in the order that keeps each from being lost and from being
// dealt with twice (spec §13.4): it is verified, reserved, acted on, remembered
// as done, and acked with the note that act returned. One that act fails on
// comes again. It returns how many were dealt with now.
func (c *Client) Receive(ctx context.Context, limit int, wait time.Duration, act func(context.Context, *ma2h.Directive) (note string, err error)) (int, error) {
	list, err := c.Inbox(ctx, limit, wait)
	errs := []error{err}
	n := 0
	for _, d := range list {
		var note string
		acted, err := c.dedup.Once(ctx, directiveKey(d.ID), func(ctx context.Context) (err error) {
			note, err = act(ctx, d)
			return err
		})
		if acted {
			n++
		}
		if err == nil {
			_, err = c.ackInbox(ctx, []string{d.ID}, note)
		}
		if err != nil && !errors.Is(err, ErrBusy) {
			errs = append(errs, fmt.Errorf("directive %s: %w", d.ID, err))
		}
	}
	return n, errors.Join(errs...)
}
