package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hub stands for what keeps effects and cursors, in one transaction, and knows
// a mail that it had.
type hub struct {
	mu      sync.Mutex
	cursors map[string]string
	effects map[string]int // by key; 1 each if all is well
	done    map[string]mailbox.Disposition
	mails   []mailbox.Mail // as they took effect
	calls   map[string]int // of Handle, by key
	aside   map[string]error
	changed chan struct{}

	// What a test makes of it. decide is called before the effect, outcome after.
	decide  func(ctx context.Context, m mailbox.Mail) (mailbox.Disposition, error)
	outcome func(m mailbox.Mail) error
	down    error // of everything
}

func newHub() *hub {
	return &hub{
		cursors: make(map[string]string), effects: make(map[string]int), calls: make(map[string]int),
		done: make(map[string]mailbox.Disposition), aside: make(map[string]error), changed: make(chan struct{}),
	}
}

func (h *hub) hooks(t testing.TB) mailbox.Hooks {
	return mailbox.Hooks{
		Handle: h.handle, SetAside: h.setAside, LoadCursor: h.load, SaveCursor: h.save,
		Log: slog.New(slog.NewTextHandler(logTo{t}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// logTo writes a log that shows when a test fails.
type logTo struct{ testing.TB }

func (w logTo) Write(p []byte) (int, error) {
	w.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (h *hub) handle(ctx context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
	h.mu.Lock()
	h.calls[m.Key]++
	decide, outcome := h.decide, h.outcome
	h.mu.Unlock()
	d := mailbox.Processed
	if decide != nil {
		var err error
		if d, err = decide(ctx, m); err != nil {
			h.poke()
			return "", err
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	h.mu.Lock()
	if h.down != nil {
		h.mu.Unlock()
		return "", mailbox.Temporary(h.down)
	}
	h.cursors[m.Folder] = m.Cursor
	if first, ok := h.done[m.Key]; ok {
		d = first
	} else {
		h.effects[m.Key]++
		h.done[m.Key] = d
		h.mails = append(h.mails, m)
	}
	h.mu.Unlock()
	h.poke()
	if outcome != nil {
		return d, outcome(m)
	}
	return d, nil
}

func (h *hub) setAside(_ context.Context, m mailbox.Mail, cause error) error {
	h.mu.Lock()
	defer h.poke()
	defer h.mu.Unlock()
	if h.down != nil {
		return h.down
	}
	h.aside[m.Key] = cause
	h.cursors[m.Folder] = m.Cursor
	return nil
}

func (h *hub) load(_ context.Context, folder string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cursors[folder], h.down
}

func (h *hub) save(_ context.Context, folder, cursor string) error {
	h.mu.Lock()
	defer h.poke()
	defer h.mu.Unlock()
	if h.down != nil {
		return h.down
	}
	h.cursors[folder] = cursor
	return nil
}

// poke wakes whoever waits.
func (h *hub) poke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.changed)
	h.changed = make(chan struct{})
}

// until waits until ok holds, which is called with the hub locked.
func (h *hub) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(40 * time.Second)
	for {
		h.mu.Lock()
		good, changed := ok(), h.changed
		h.mu.Unlock()
		if good {
			return
		}
		select {
		case <-changed:
		case <-late:
			h.mu.Lock()
			defer h.mu.Unlock()
			t.Fatalf("no %s; effects %v, set aside %v, cursors %v", what, h.effects, h.aside, h.cursors)
		}
	}
}

// called returns how often a mail was handed to Handle.
func (h *hub) called(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[key]
}

func (h *hub) allCalls() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.calls)
}

func (h *hub) cursor(folder string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cursors[folder]
}

// asides returns what was set aside, and why.
func (h *hub) asides() map[string]error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.aside)
}

// took returns the mails that took effect, in order.
func (h *hub) took() []mailbox.Mail {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mails)
}

// bodies returns the last line of every mail that took effect, in order, and
// fails the test if any took effect twice.
func (h *hub) bodies(t *testing.T) []string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, n := range h.effects {
		if n != 1 {
			t.Errorf("mail %s took effect %d times", key, n)
		}
	}
	var all []string
	for _, m := range h.mails {
		all = append(all, body(m.Raw))
	}
	return all
}

func body(raw []byte) string {
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// expect waits for mails with these last lines, in this order, and nothing else.
func (h *hub) expect(t *testing.T, want ...string) {
	t.Helper()
	h.until(t, fmt.Sprintf("mails %q", want), func() bool { return len(h.mails) >= len(want) })
	if got := h.bodies(t); !slices.Equal(got, want) {
		t.Fatalf("mails %q took effect, want %q", got, want)
	}
}

// fast is a timing for tests with a real server.
var fast = mailbox.Timing{
	Command: 5 * time.Second, CatchUp: time.Minute, Handle: 10 * time.Second, Retry: time.Millisecond,
	Backoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond, AuthWait: 50 * time.Millisecond, MaxAuth: 100 * time.Millisecond,
	Lease: 3 * time.Second, Poll: 100 * time.Millisecond,
}

// config reads hub@example.test at a Dovecot.
func config(d *mailtest.Dovecot) mailbox.Config {
	return mailbox.Config{
		Addr: d.IMAPAddr, Security: mailbox.Plain, Username: "hub@example.test", Password: mailtest.Password,
		Processed: "Hub/Processed", Rejected: "Hub/Rejected", Unmatched: "Hub/Unmatched", Failed: "Hub/Failed",
		Timing: fast,
	}
}

// reader is one that runs.
type reader struct {
	*mailbox.Reader
	stop func() // waits for its end; may be called twice
}

// run makes a reader and runs it until the test ends, or stop is called.
func run(t *testing.T, conf mailbox.Config, hooks mailbox.Hooks, setup ...func(*mailbox.Reader)) reader {
	t.Helper()
	r, err := mailbox.New(conf, hooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range setup {
		f(r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return reader{r, stop}
}

// caughtUp waits until the reader has caught up after now.
func (r reader) caughtUp(t *testing.T) {
	t.Helper()
	since := time.Now()
	err := mailtest.Eventually(func() error {
		if last, problem := r.Alive(); !last.After(since) {
			return fmt.Errorf("last caught up %v, problem %q", last, problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// problem waits until the reader reports a problem that contains all of these.
func (r reader) problem(t *testing.T, parts ...string) {
	t.Helper()
	err := mailtest.Eventually(func() error {
		_, problem := r.Alive()
		for _, part := range parts {
			if !strings.Contains(problem, part) {
				return fmt.Errorf("the problem is %q, without %q", problem, part)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// text is a mail whose last line is s.
func text(s string) []byte {
	return mailtest.Text(s, "From: alice@example.test", "To: hub@example.test", "Subject: Re: one", "Message-ID: <"+strings.ReplaceAll(s, " ", ".")+"@client.test>")
}

// lies waits until a folder holds the mails with these last lines, in any order.
func lies(t *testing.T, d *mailtest.Dovecot, folder string, want ...string) []mailtest.Mail {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	var mails []mailtest.Mail
	err := mailtest.Eventually(func() error {
		mails = d.Mails("hub", folder)
		var got []string
		for _, m := range mails {
			got = append(got, body(m.Raw))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			less := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(got, s) })
			more := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return slices.Contains(want, s) })
			return fmt.Errorf("%s holds %d mails, want %d; it lacks %q and has %q", folder, len(got), len(want), less, more)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return mails
}
