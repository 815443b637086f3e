package email

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/mail"
	"strings"
	"sync"
	"time"

	"beckon/channels/email/listener"
	"beckon/channels/email/mailbox"
	"beckon/hub"
	"beckon/templates"
)

// awaitTimeout bounds the way of a mail from the hub to itself.
const awaitTimeout = 2 * time.Minute

// selfMail is a mail from the hub to itself, by which it is seen that the server
// takes mail from that address, and that mail arrives where the hub looks.
type selfMail struct {
	id string // its Message-ID, which a relay may replace
	// name stands in a header of ours as well, and nobody can guess it.
	name string
	// to is an address as answers come to, with a token that leads to nothing.
	to string
}

func (c *Channel) newSelfMail() *selfMail {
	id := c.messageID("check "+rand.Text(), 0)
	name, _, _ := strings.Cut(id, "@")
	return &selfMail{id: id, name: name, to: c.tokenAddress(tokenReply, encodeToken(c.mac("check", id)))}
}

// checkRoundTrip sends such a mail and looks out for it.
func (c *Channel) checkRoundTrip(ctx context.Context) []hub.Finding {
	m := c.newSelfMail()
	await := c.awaitSelf
	switch {
	case await != nil:
	case c.conf.Listen == nil:
		await = c.awaitInMailbox
	default:
		f := hub.Finding{OK: true, What: "listening at " + c.conf.Listen.Address, Msg: "the address is free; the check listens there for a moment"}
		e, err := c.listenFor(ctx, m)
		switch {
		case err == nil:
			defer e.stop()
			return []hub.Finding{f, c.roundTrip(ctx, m, e.wait)}
		case !errors.Is(err, errTaken) && !errors.Is(err, errForbidden):
			f.OK, f.Msg = false, whole(err)+"; would the hub get there, which may run as another user?"
			return []hub.Finding{f}
		}
		f.Msg = err.Error()
		m.to = c.own.local + "@" + c.own.reply // a hub that runs refuses a token that it does not know
		return []hub.Finding{f, c.roundTrip(ctx, m, nil)}
	}
	return []hub.Finding{c.roundTrip(ctx, m, await)}
}

// roundTrip sends the mail and waits for it; a nil await can't tell.
func (c *Channel) roundTrip(ctx context.Context, m *selfMail, await func(ctx context.Context, messageID string) error) hub.Finding {
	f := hub.Finding{What: "a mail from " + c.own.address() + " to " + m.to}
	if err := c.sendSelf(ctx, m); err != nil {
		return c.unsent(f.What, m, err)
	}
	if await == nil {
		f.OK, f.Msg = true, "handed over; whether it arrives can't be watched from here: the log of the hub that runs then has \"a mail came in\" with kind=loop"
		return f
	}
	wait, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	began := time.Now()
	if err := await(wait, m.id); err != nil {
		f.Msg = c.lost(err, time.Since(began))
		return f
	}
	f.OK, f.Msg = true, "sent and received"
	return f
}

// sendSelf sends the mail.
func (c *Channel) sendSelf(ctx context.Context, m *selfMail) error {
	text, err := c.set.Render(&templates.Mail{Kind: templates.MailTest})
	if err != nil {
		return err
	}
	l := c.letter(m.id, mail.Address{Name: displayName(c.conf.FromName), Address: m.to}, text)
	l.message, l.envelope = m.name, c.tokenAddress(tokenVERP, c.verpToken(m.id)) // as every mail about a message
	data, err := l.write(c.seal)
	if err != nil {
		return err
	}
	_, err = c.out.send(ctx, outgoing{from: l.envelope, to: m.to, data: data, begin: func(context.Context) error { return nil }})
	return err
}

// unsent says why the mail did not go out. That the server does not know an address
// of the hub's is nobody else's address being wrong.
func (c *Channel) unsent(what string, m *selfMail, err error) hub.Finding {
	e, ok := errors.AsType[*sendError](err)
	said := ""
	if ok && e.code/100 == 5 {
		said = " (" + strings.TrimPrefix(e.Error(), e.stage+": ") + ")"
	}
	f := hub.Finding{What: what}
	switch {
	case said == "":
		return c.finding(what, err, true)
	case e.stage == stageRcpt && m.to == c.own.address():
		f.Msg = c.server() + " takes no mail for that address" + said + "; look at from, which must be a mailbox of the hub's own"
	case e.stage == stageRcpt:
		f.Msg = c.server() + " takes no mail for that address" + said + "; have it let mail in for " + c.own.local + c.own.plus + "anything (plus addressing), or set plus to off"
	case c.own.plus != "" && (e.stage == stageMail || strings.Contains(e.text, "SendAs")): // Exchange says SendAsDenied at the end
		f.Msg = c.server() + " lets the hub send nothing with the envelope address " + c.own.local + c.own.plus + "b…, to which bounces come" + said +
			"; have it let the hub send as that, or set plus to off"
	default:
		return c.finding(what, err, true)
	}
	return f
}

// lost says what became of a mail that was sent and is not there.
func (c *Channel) lost(err error, after time.Duration) string {
	astray, isAstray := errors.AsType[*mailbox.Astray](err)
	switch {
	case isAstray:
		return "it lies in " + astray.Folder + ", which the hub does not read, and so would answers. Have the server take it for no spam, or add \\Junk to imap.folders"
	case !errors.Is(err, context.DeadlineExceeded):
		return "it was sent, and whether it arrived can't be seen: " + whole(err)
	}
	s := "it was sent and did not arrive within " + templates.Span(after) + " (" + whole(err) + "). "
	if c.conf.Listen != nil {
		return s + "Look into the log and the queue of your mail server: does it hand mail for this address over to " + c.conf.Listen.Address + ", and may it connect there?"
	}
	s += "Look whether a filter put it into another folder, which imap.folders must name"
	if c.own.plus != "" {
		s += "; a server that lets in no mail for " + c.own.local + c.own.plus + "anything needs plus: off"
	}
	return s + "."
}

// whole is an error on one line that may be long, since it says what to do.
func whole(err error) string {
	s, _ := templates.Cut(templates.Line(err.Error()), 500)
	return s
}

// awaitInMailbox waits until the mail is in the mailbox. A relay may have replaced
// its Message-ID, and some servers search for no other header of ours.
func (c *Channel) awaitInMailbox(ctx context.Context, id string) error {
	name, _, _ := strings.Cut(id, "@")
	_, err := c.mailbox.Await(ctx, mailbox.Header{Name: "Message-ID", Value: id}, mailbox.Header{Name: messageHeader, Value: name})
	return err
}

// Why the check can't listen where a hub that runs most likely does.
var (
	errTaken     = errors.New("somebody does already, as a hub does that runs")
	errForbidden = errors.New("only the user and the group of the socket may connect there, and this user is neither")
)

// ear listens in the place of the hub, for one mail. Everything else is told to
// come again, so that nothing gets lost meanwhile.
type ear struct {
	heard chan struct{} // closed when the mail came
	ended chan struct{} // closed when it does not listen any more
	err   error         // why, once ended is closed
	stop  func()        // and waits for the end
}

// listenFor begins to listen for a mail where the hub would.
func (c *Channel) listenFor(ctx context.Context, m *selfMail) (*ear, error) {
	conf := listener.Config{
		Addr: strings.TrimPrefix(c.conf.Listen.Address, "unix:"), Protocol: listener.Protocol(c.conf.Listen.Protocol), Grace: time.Second,
	}
	if err := c.isTaken(ctx); err != nil {
		return nil, err
	}
	e := &ear{heard: make(chan struct{}), ended: make(chan struct{})}
	again := errors.New("the hub is being checked")
	came := sync.OnceFunc(func() { close(e.heard) })
	l, err := listener.New(conf, listener.Hooks{
		Accept: func(_ context.Context, rcpt string) (bool, error) {
			if strings.EqualFold(strings.Trim(rcpt, "<>"), m.to) {
				return true, nil
			}
			return false, again
		},
		Handle: func(_ context.Context, in listener.Mail) error {
			if !bytes.Contains(in.Raw, []byte(m.name)) {
				return again
			}
			came()
			return nil
		},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(e.ended)
		e.err = l.Run(ctx)
	}()
	e.stop = func() {
		cancel()
		<-e.ended
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for l.Addr() == "" {
		select {
		case <-tick.C:
		case <-e.ended:
			cancel()
			if inner := errors.Unwrap(e.err); inner != nil {
				return nil, inner // without the address, which the finding has
			}
			return nil, e.err
		}
	}
	return e, nil
}

// isTaken finds out whether somebody listens at the hub's address.
func (c *Channel) isTaken(ctx context.Context) error {
	network, addr := "tcp", c.conf.Listen.Address
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	d := net.Dialer{Timeout: reachTimeout}
	conn, err := d.DialContext(ctx, network, addr)
	switch {
	case err == nil:
		_ = conn.Close()
		return errTaken
	case errors.Is(err, fs.ErrPermission):
		return errForbidden
	}
	return nil // whatever else is wrong shows when the listener tries
}

// wait waits for the mail; its name is known.
func (e *ear) wait(ctx context.Context, _ string) error {
	select {
	case <-e.heard:
		return nil
	case <-e.ended:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // which ends the listening, too
		return context.Cause(ctx)
	}
	return e.err
}
