package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

var (
	byKeys   = client.Trust{HubKeys: true}
	hubShare = []byte("a secret that the hub shares")
	bySecret = client.Trust{Secrets: [][]byte{[]byte("an older secret"), hubShare}}
)

func ids(list []*ma2h.Directive) string {
	var out []string
	for _, d := range list {
		out = append(out, d.ID)
	}
	return strings.Join(out, " ")
}

// TestInbox: directives come in order, verified, again until they are acked, and
// then no more.
func TestInbox(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		key   ma2h.SigningKey
		trust client.Trust
	}{
		"the hub's keys": {ma2h.SigningKey{Ed25519: hubKey(t)}, byKeys},
		"a secret":       {ma2h.SigningKey{Secret: hubShare}, bySecret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, ctx := newMailbox(t, tt.key), t.Context()
			c := b.client(tt.trust)
			if list, err := c.Inbox(ctx, 0, 0); len(list) != 0 || err != nil {
				t.Fatalf("empty: %v, %v", list, err)
			}
			b.send("dir_1", "Pause deploys")
			b.send("dir_2", "Go on")
			b.send("dir_3", "Stop")
			list, err := c.Inbox(ctx, 2, 0)
			if err != nil || ids(list) != "dir_1 dir_2" {
				t.Fatalf("%s, %v", ids(list), err)
			}
			d := list[0]
			if d.From != "human:alice" || d.Title != "Pause deploys" || d.Body != "Until I say otherwise." ||
				d.Priority != ma2h.High || len(d.Context) != 1 || string(d.Context[0].Data) != `{"n":1e2,"s":"<&>"}` {
				t.Errorf("%+v", d)
			}
			if n, err := c.AckInbox(ctx, []string{"dir_1", "dir_none"}, "Paused."); n != 1 || err != nil {
				t.Errorf("acked %d, %v", n, err)
			}
			if n, err := c.AckInbox(ctx, []string{"dir_1"}, ""); n != 0 || err != nil {
				t.Errorf("acked again %d, %v", n, err)
			}
			if n, err := c.AckInbox(ctx, nil, ""); n != 0 || err != nil {
				t.Errorf("acked nothing %d, %v", n, err)
			}
			if got := b.notes["dir_1"]; got != "Paused." {
				t.Errorf("the note is %q", got)
			}
			b.appear()
			if list, err = c.Inbox(ctx, 0, 0); err != nil || ids(list) != "dir_2 dir_3" {
				t.Errorf("then %s, %v", ids(list), err)
			}
		})
	}
}

// TestInboxRefuses: each way in which a directive is not to be trusted is named,
// the others come through, and it is not acked.
func TestInboxRefuses(t *testing.T) {
	t.Parallel()
	key := ma2h.SigningKey{Ed25519: hubKey(t)}
	seen, err := ma2h.SignDirective(key, []byte(`{"ma2h_version":"0.5","type":"directive","id":"dir_bad","from":"human:alice",`+
		`"to":"agent:deploybot/dev-team","created_at":"2026-12-01T10:00:00Z","title":"Bad"}`), time.Now(), "jti_seen")
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, with string) func(string, string) (string, string) {
		return func(d, s string) (string, string) { return strings.Replace(d, old, with, 1), s }
	}
	tests := []struct {
		name   string
		mangle func(directive, signature string) (string, string)
		want   error
	}{
		{"title changed", change("Bad", "Bat"), ma2h.ErrSignature},
		{"body changed", change("otherwise", "Otherwise"), ma2h.ErrSignature},
		{"priority changed", change(`"high"`, `"low"`), ma2h.ErrSignature},
		{"tag taken away", change(`"tags":["freeze"],`, ``), ma2h.ErrSignature},
		{"context changed", change(`1e2`, `1e3`), ma2h.ErrSignature},
		{"author changed", change("alice", "alicf"), ma2h.ErrSignature},
		{"id changed", change("dir_bad", "dir_bae"), ma2h.ErrSignature},
		{"addressee changed", change(deploybot, deploybot+"2"), ma2h.ErrSignature},
		{"version changed", change(`"0.5"`, `"0.4"`), ma2h.ErrSignature},
		{"a request beside it", change(`"x_new"`, `"request":{"mode":"confirm"},"x_new"`), ma2h.ErrDocument},
		{"state beside it", change(`"x_new"`, `"state":{},"x_new"`), ma2h.ErrDocument},
		{"no signature", func(d, _ string) (string, string) { return d, "" }, ma2h.ErrSignatureHeader},
		{"another name of the header", func(d, s string) (string, string) {
			return d, strings.Replace(s, "MA2H", "M2H", 1)
		}, ma2h.ErrSignatureHeader},
		{"time changed", func(d, s string) (string, string) {
			return d, strings.Replace(s, "t=17", "t=18", 1)
		}, ma2h.ErrWindow},
		{"no directive", func(_, s string) (string, string) { return "null", s }, ma2h.ErrDocument},
		{"a text", func(_, s string) (string, string) { return `"dir_bad"`, s }, ma2h.ErrDocument},
		{"of another directive", func(d, _ string) (string, string) { return d, seen }, ma2h.ErrSignature},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newMailbox(t, key)
			c := b.client(byKeys)
			b.mangle = func(d, s string) (string, string) {
				if strings.Contains(d, "dir_bad") {
					return tt.mangle(d, s)
				}
				return d, s
			}
			b.send("dir_1", "Good")
			b.send("dir_bad", "Bad")
			b.send("dir_2", "Good")
			list, err := c.Inbox(t.Context(), 0, time.Minute)
			e, ok := errors.AsType[*client.DirectiveError](err)
			if ids(list) != "dir_1 dir_2" || !ok || !errors.Is(err, tt.want) {
				t.Fatalf("%s, %v", ids(list), err)
			}
			if e.ID != "" && !strings.HasPrefix(e.ID, "dir_ba") || strings.Contains(err.Error(), "otherwise") {
				t.Errorf("it says %v", err)
			}
			if b.acks != 0 {
				t.Error("it was acked")
			}
		})
	}
}

// TestInboxOfAnother: a directive that is signed well, but for another agent, is
// refused, and so is the same signature twice.
func TestInboxOfAnother(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Ed25519: hubKey(t)})
	c := b.client(byKeys)
	b.put("dir_1", []byte(`{"ma2h_version":"0.5","type":"directive","id":"dir_1","from":"human:alice","to":"agent:other/bot",`+
		`"created_at":"2026-12-01T10:00:00Z","title":"For another"}`))
	if list, err := c.Inbox(t.Context(), 0, 0); len(list) != 0 || !errors.Is(err, ma2h.ErrAddressee) {
		t.Errorf("%v, %v", list, err)
	}
	b.set(func() { b.queue = nil })

	b.send("dir_2", "Once")
	var first string
	b.set(func() {
		b.mangle = func(d, s string) (string, string) {
			if first == "" {
				first = s
			}
			return d, first
		}
	})
	if list, err := c.Inbox(t.Context(), 0, 0); ids(list) != "dir_2" || err != nil {
		t.Fatalf("%v, %v", list, err)
	}
	b.appear()
	if list, err := c.Inbox(t.Context(), 0, 0); len(list) != 0 || !errors.Is(err, ma2h.ErrReplay) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestInboxNeedsKeys: without keys nothing is taken; with keys that can't be had
// it is the hub that is not there, and no directive that is wrong.
func TestInboxNeedsKeys(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Ed25519: hubKey(t)})
	b.send("dir_1", "x")
	_, err := b.client(client.Trust{}).Inbox(t.Context(), 0, 0)
	if client.ExitCode(err) != client.ExitUsage || b.polls != 0 {
		t.Errorf("no trust: %v", err)
	}
	c, err := client.New(b.srv.URL, "agent-token", "", client.WithTrust(byKeys), client.WithHTTPClient(b.srv.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Inbox(t.Context(), 0, 0); client.ExitCode(err) != client.ExitUsage {
		t.Errorf("no agent: %v", err)
	}
	if _, err := b.client(client.Trust{Secrets: [][]byte{hubShare}}).Inbox(t.Context(), 0, 0); !errors.Is(err, ma2h.ErrSignature) {
		t.Errorf("a secret where the hub has a key: %v", err)
	}
	b.appear()
	b.set(func() {
		b.answer = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/.well-known/ma2h" {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
	})
	_, err = b.client(byKeys).Inbox(t.Context(), 0, 0)
	if _, wrong := errors.AsType[*client.DirectiveError](err); wrong || client.ExitCode(err) != client.ExitUnreachable {
		t.Errorf("no keys: %v", err)
	}
}

// TestInboxAfterTheHubsKeyChanged: the keys are read again.
func TestInboxAfterTheHubsKeyChanged(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Ed25519: hubKey(t)})
	c := b.client(byKeys)
	b.send("dir_1", "x")
	if list, err := c.Inbox(t.Context(), 0, 0); ids(list) != "dir_1" || err != nil {
		t.Fatalf("%v, %v", list, err)
	}
	b.set(func() { b.key = ma2h.SigningKey{Ed25519: hubKey(t)} })
	b.appear()
	// Not at once: whoever sends signatures that don't hold can't make it ask
	// again and again.
	if list, err := c.Inbox(t.Context(), 0, 0); len(list) != 0 || !errors.Is(err, ma2h.ErrSignature) {
		t.Errorf("at once: %v, %v", list, err)
	}
	c.ForgetWhenKeysWereRead()
	b.appear()
	if list, err := c.Inbox(t.Context(), 0, 0); ids(list) != "dir_1" || err != nil {
		t.Errorf("later: %v, %v", list, err)
	}
}

// TestInboxWaits: it waits for the first directive, through a hub that is not
// there, answers 5xx, or asks to come back later.
func TestInboxWaits(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	var n atomic.Int32
	b.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.FormValue("wait") == "" {
			b.t.Error("it does not ask the hub to hold")
		}
		switch n.Add(1) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
			return true
		case 3:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		case 4:
			return false // none
		case 5:
			b.queue = []*letter{{id: "dir_1", raw: []byte(`{"ma2h_version":"0.5","type":"directive","id":"dir_1","from":"human:alice",` +
				`"to":"agent:` + deploybot + `","created_at":"2026-12-01T10:00:00Z","title":"x"}`)}}
		}
		return false
	}
	list, err := b.client(bySecret).Inbox(t.Context(), 1, time.Minute)
	if ids(list) != "dir_1" || err != nil || n.Load() != 5 {
		t.Errorf("%s, %v after %d polls", ids(list), err, n.Load())
	}
}

func TestInboxWaitEnds(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	c := b.client(bySecret)
	if list, err := c.Inbox(t.Context(), 0, 300*time.Millisecond); len(list) != 0 || err != nil {
		t.Errorf("none: %v, %v", list, err)
	}
	if b.polls > 4 {
		t.Errorf("%d polls: it rushed", b.polls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.set(func() {
		b.answer = func(http.ResponseWriter, *http.Request) bool { cancel(); return false }
	})
	if list, err := c.Inbox(ctx, 0, time.Hour); len(list) != 0 || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v, %v", list, err)
	}
	for status, code := range map[int]int{401: 7, 404: 7, 503: 8} {
		b.set(func() {
			b.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }
		})
		if _, err := c.Inbox(t.Context(), 0, 100*time.Millisecond); client.ExitCode(err) != code {
			t.Errorf("%d: exit code %d, %v", status, client.ExitCode(err), err)
		}
	}
	for _, body := range []string{``, `{}`, `[]`, `{"messages":null}`, `{"messages":[1]}`, `{"messages":[{"directive":{"a":1,"a":1}}]}`} {
		b.set(func() {
			b.answer = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(body)); return true }
		})
		if list, err := c.Inbox(t.Context(), 0, 100*time.Millisecond); len(list) != 0 || err == nil {
			t.Errorf("%s: %v, %v", body, list, err)
		}
	}
}

// TestReceive: each directive is acted on once, whatever fails and however often
// it comes.
func TestReceive(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	dedup := &client.FileDedup{Dir: t.TempDir()}
	c, ctx := b.client(bySecret, client.WithDedup(dedup)), t.Context()
	var acted []string
	fails := map[string]error{"dir_2": errors.New("broken")}
	act := func(_ context.Context, d *ma2h.Directive) (string, error) {
		if err := fails[d.ID]; err != nil {
			return "", err
		}
		acted = append(acted, d.ID)
		return "Done: " + d.Title, nil
	}
	b.send("dir_1", "One")
	b.send("dir_2", "Two")
	b.send("dir_3", "Three")
	n, err := c.Receive(ctx, 0, 0, act)
	if n != 2 || err == nil || !errors.Is(err, fails["dir_2"]) || b.waiting() != 1 || b.notes["dir_3"] != "Done: Three" {
		t.Fatalf("%d, %v, %d waiting, %v", n, err, b.waiting(), b.notes)
	}
	delete(fails, "dir_2")

	// The ack is lost: another process acks it again and does not act.
	b.appear()
	b.set(func() {
		b.answer = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				panic(http.ErrAbortHandler)
			}
			return false
		}
	})
	if n, err := c.Receive(ctx, 0, 0, act); n != 1 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
	b.appear()
	b.set(func() { b.answer = nil })
	if n, err := b.client(bySecret, client.WithDedup(dedup)).Receive(ctx, 0, 0, act); n != 0 || err != nil || b.waiting() != 0 {
		t.Errorf("%d, %v, %d waiting", n, err, b.waiting())
	}
	if !slices.Equal(acted, []string{"dir_1", "dir_3", "dir_2"}) {
		t.Errorf("acted on %v", acted)
	}
}

// TestReceiveOverlaps: what comes again while it is acted on is left alone.
func TestReceiveOverlaps(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	dedup := &client.MemoryDedup{}
	one, two := b.client(bySecret, client.WithDedup(dedup)), b.client(bySecret, client.WithDedup(dedup))
	b.send("dir_1", "Slow")
	n, err := one.Receive(t.Context(), 0, 0, func(ctx context.Context, _ *ma2h.Directive) (string, error) {
		b.appear()
		n, err := two.Receive(ctx, 0, 0, func(context.Context, *ma2h.Directive) (string, error) {
			t.Error("acted on twice")
			return "", nil
		})
		if n != 0 || err != nil || b.acks != 0 {
			t.Errorf("meanwhile %d, %v, %d acks", n, err, b.acks)
		}
		return "", nil
	})
	if n != 1 || err != nil || b.waiting() != 0 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestAckInboxRefuses(t *testing.T) {
	t.Parallel()
	b := newMailbox(t, ma2h.SigningKey{Secret: hubShare})
	c := b.client(bySecret)
	if _, err := c.AckInbox(t.Context(), []string{"dir_1", ""}, ""); client.ExitCode(err) != client.ExitUsage {
		t.Errorf("no id: %v", err)
	}
	if _, err := c.AckInbox(t.Context(), []string{"dir_1"}, "\xff"); client.ExitCode(err) != client.ExitUsage {
		t.Errorf("a note that is no text: %v", err)
	}
	broken := b.client(bySecret, client.WithDedup(&client.FileDedup{}))
	if _, err := broken.AckInbox(t.Context(), []string{"dir_1"}, ""); err == nil || b.acks != 0 {
		t.Errorf("can't be remembered: %v", err)
	}
	b.send("dir_1", "x")
	if list, err := broken.Inbox(t.Context(), 0, 0); len(list) != 0 || err == nil {
		t.Errorf("can't be looked up: %v, %v", list, err)
	}
}
