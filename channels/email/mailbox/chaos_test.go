package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

// rounds is BECKON_ROUNDS, or a few.
func rounds(t *testing.T, few int) int {
	t.Helper()
	s := os.Getenv("BECKON_ROUNDS")
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("BECKON_ROUNDS: %v", err)
	}
	return n
}

// Everything goes wrong at once, at random: the line, the server, the handler,
// the hub. Every mail takes effect once and ends where it belongs.
func TestChaos(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	p := newProxy(t, d.IMAPAddr, 0)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))

	h, conf := newHub(), config(d)
	conf.Addr = p.Addr().String()
	conf.Timing.Command = time.Second
	fate := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return dice.IntN(12)
	}
	h.decide = func(context.Context, mailbox.Mail) (mailbox.Disposition, error) {
		switch fate() {
		case 0:
			return "", mailbox.Temporary(errors.New("the database is busy"))
		case 1:
			p.cut()
		}
		return mailbox.Processed, nil
	}
	h.outcome = func(mailbox.Mail) error {
		switch fate() {
		case 0:
			return mailbox.Temporary(errors.New("the end is unknown"))
		case 1:
			p.cut()
		}
		return nil
	}
	r := run(t, conf, h.hooks(t))
	r.caughtUp(t)
	var want []string
	for i := range rounds(t, 12) {
		for range 1 + fate()%4 {
			want = append(want, fmt.Sprintf("round %d mail %d", i, len(want)))
			d.Append("hub", "INBOX", time.Time{}, text(want[len(want)-1]))
		}
		switch fate() {
		case 0, 1:
			r.stop()
			r = run(t, conf, h.hooks(t))
		case 2, 3:
			p.cutAfter(100 + 400*fate())
		case 4:
			d.Kick("hub")
		case 5:
			d.Freeze()
			<-time.After(time.Duration(fate()) * 100 * time.Millisecond)
			d.Thaw()
		case 6:
			d.Restart()
		case 7:
			p.cut()
		default:
			p.cutAfter(0)
		}
	}
	p.cutAfter(0)
	h.until(t, "end", func() bool { return len(h.mails) == len(want) })
	got := h.bodies(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("mails %q took effect, want %q", got, want)
	}
	h.mu.Lock()
	h.decide, h.outcome = nil, nil
	h.mu.Unlock()
	r.stop()
	run(t, conf, h.hooks(t)).caughtUp(t)
	lies(t, d, "Hub/Processed", want...)
	lies(t, d, "INBOX")
	if len(h.asides()) != 0 {
		t.Errorf("set aside: %v", h.asides())
	}
}
