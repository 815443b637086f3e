package listener_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"beckon/channels/email/listener"
)

// When the hub ends, a mail that is being handled is finished and acknowledged,
// and everybody else is told to come again.
func TestEndIsGraceful(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), make(chan struct{})
	h := &hub{handle: func(context.Context, listener.Mail) error {
		close(started)
		<-finish
		return nil
	}}
	r := run(t, listener.Config{}, h)
	idle, half, busy := r.begin(t), r.begin(t), r.begin(t)
	for _, c := range []*client{half, busy} {
		c.says("MAIL FROM:<alice@example.test>", "250")
		c.says("RCPT TO:<hub@example.test>", "250")
		c.says("DATA", "354")
	}
	fmt.Fprint(half, "Subject: x\r\n\r\nAppr")
	fmt.Fprint(busy, "Subject: x\r\n\r\n.\r\n")
	<-started
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.stop()
	}()
	idle.reads("421 4.4.2")
	half.reads("451 4.3.0")
	half.reads("421 4.4.2")
	select {
	case <-ended:
		t.Error("it ended before the mail was handled")
	default:
	}
	close(finish)
	busy.reads("250 2.0.0")
	busy.reads("421 4.4.2")
	<-ended
	if len(h.taken()) != 1 {
		t.Errorf("%d mails were taken", len(h.taken()))
	}
	if _, err := net.Dial(r.network, r.addr); err == nil {
		t.Error("it still listens")
	}
	if last, problem := r.Alive(); !last.IsZero() || problem == "" {
		t.Errorf("alive at %v, problem %q", last, problem)
	}
}

// A handler that takes longer than the hub has time for is cut off, and its
// mail is not acknowledged.
func TestEndIsNotForEver(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	h := &hub{handle: func(ctx context.Context, _ listener.Mail) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}}
	r := run(t, listener.Config{Grace: 50 * time.Millisecond}, h)
	c := r.begin(t)
	c.says("MAIL FROM:<alice@example.test>", "250")
	c.says("RCPT TO:<hub@example.test>", "250")
	c.says("DATA", "354")
	fmt.Fprint(c, "Subject: x\r\n\r\n.\r\n")
	<-started
	r.stop()
	if code, text, err := c.text.ReadResponse(0); err == nil && code != 451 {
		t.Errorf("the reply is %d %s", code, text)
	}
	if len(h.taken()) != 0 {
		t.Errorf("%d mails were taken", len(h.taken()))
	}
}
