package email

import (
	"context"
	"crypto/rand"
	"errors"
	"net/mail"
	"strings"
	"time"

	"beckon/hub"
	"beckon/templates"
)

// checkTimeout bounds a login, and awaitTimeout the way of a mail from the hub to
// itself.
const (
	checkTimeout = 20 * time.Second
	awaitTimeout = 2 * time.Minute
)

// Check says what is not set up right. It signs in at the SMTP server and asks
// whatever receives to do the same. A machine that reaches no mail server is a
// fault only when live, since a config may be checked anywhere. Live also sends a
// mail from the hub to itself and waits for it.
func (c *Channel) Check(ctx context.Context, live bool) []hub.Finding {
	out, ok := c.checkSMTP(ctx, live)
	for _, check := range c.checks {
		out = append(out, check(ctx, live)...)
	}
	out = append(out, c.checkAddresses()...)
	if live && ok {
		out = append(out, c.checkRoundTrip(ctx)...)
	}
	return out
}

// checkSMTP signs in and looks at what the server offers.
func (c *Channel) checkSMTP(ctx context.Context, live bool) (out []hub.Finding, ok bool) {
	what := "SMTP login at " + c.server()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := c.out.dial(ctx)
	if err != nil {
		return []hub.Finding{c.finding(what, err, live)}, false
	}
	defer c.out.close(conn)
	if c.conf.SMTP.User == "" {
		what = "SMTP at " + c.server() + " (without signing in)"
	}
	out = append(out, hub.Finding{OK: true, What: what + ", " + tlsWords(c.conf.SMTP.TLS)})
	if !has(conn.smtp, "PIPELINING") && !has(conn.smtp, "8BITMIME") && !has(conn.smtp, "SIZE") {
		out = append(out, hub.Finding{OK: true, What: "SMTP extensions (the server names none, so that its limits show only when a mail is refused)"})
	}
	return out, true
}

func tlsWords(how string) string {
	switch how {
	case tlsStart:
		return "TLS by STARTTLS"
	case tlsWhole:
		return "TLS from the start"
	}
	return "no TLS, on this machine"
}

// finding says what an error means for what was checked.
func (c *Channel) finding(what string, err error, live bool) hub.Finding {
	de, ok := errors.AsType[*hub.DeliveryError](c.explain(err, "the hub", false))
	switch {
	case !ok:
		return hub.Finding{What: what, Msg: "it was interrupted"}
	case !live && (de.Code == "unreachable" || de.Code == "timeout"):
		return hub.Finding{OK: true, What: what + ", not tested: it can't be reached from here (--live makes that a problem)"}
	}
	return hub.Finding{What: what, Msg: de.Msg}
}

// checkAddresses says which addresses answers and bounces come to, since the mail
// server must let them in, and who gets no mail.
func (c *Channel) checkAddresses() []hub.Finding {
	var out []hub.Finding
	if c.own.plus == "" {
		out = append(out, hub.Finding{OK: true, What: "answers come to " + c.own.address() + " and are known by the mail that they answer"})
	} else {
		example := c.tokenAddress(tokenReply, strings.Repeat("x", tokenChars))
		out = append(out, hub.Finding{OK: true, What: "answers come to addresses such as " + example + ", which your mail server must let in"})
	}
	d := c.desk.Directory()
	for _, id := range sortedKeys(d.People) {
		p := d.People[id]
		if p.Email == "" {
			continue
		}
		if _, err := c.recipient(p); err != nil {
			out = append(out, c.finding("mail to "+p.Name, err, true))
		}
	}
	return out
}

// checkRoundTrip sends a mail from the hub to itself. It is the only way to see
// that the server takes mail from that address, and that mail arrives where the
// hub looks.
func (c *Channel) checkRoundTrip(ctx context.Context) []hub.Finding {
	what := "a mail from " + c.own.address() + " to itself"
	id := c.messageID("check "+rand.Text(), 0)
	text, err := c.set.Render(&templates.Mail{Kind: templates.MailTest})
	if err == nil {
		err = c.sendAlone(ctx, mail.Address{Name: displayName(c.conf.FromName), Address: c.own.address()}, text, id)
	}
	if err != nil {
		return []hub.Finding{c.finding(what, err, true)}
	}
	if c.awaitSelf == nil {
		return []hub.Finding{{OK: true, What: what + ", sent"}}
	}
	began := time.Now()
	wait, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	if err := c.awaitSelf(wait, id); err != nil {
		return []hub.Finding{{What: what, Msg: "it was sent and did not arrive within " + templates.Span(time.Since(began)) +
			" (" + short(err) + "); look whether it lies in another folder, such as Junk, and add that to imap.folders"}}
	}
	return []hub.Finding{{OK: true, What: what + ", sent and received"}}
}
