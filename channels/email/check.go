package email

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
)

// checkTimeout bounds a login, and reachTimeout the question whether a server can
// be reached at all.
const (
	checkTimeout = 20 * time.Second
	reachTimeout = 5 * time.Second
)

// Check says what is not set up right. It signs in at the SMTP server and at the
// mailbox, and makes the folders there that mails are moved to. A machine that
// reaches no mail server is a fault only when live, since a config may be checked
// anywhere. Live also sends a mail from the hub to itself and waits for it.
func (c *Channel) Check(ctx context.Context, live bool) []hub.Finding {
	out, ok := c.checkSMTP(ctx, live)
	out = append(out, c.checkReceiving(ctx, live)...)
	out = append(out, c.checkAddresses()...)
	if live && ok {
		out = append(out, c.checkRoundTrip(ctx)...)
	}
	for i := range out {
		if f := &out[i]; f.OK && f.Msg == "" {
			f.Msg = "works"
		}
	}
	return out
}

// checkSMTP signs in and looks at what the server offers.
func (c *Channel) checkSMTP(ctx context.Context, live bool) (out []hub.Finding, ok bool) {
	what, how := "SMTP login at "+c.server(), "as "+c.conf.SMTP.User
	if c.conf.SMTP.User == "" {
		what, how = "SMTP at "+c.server(), "without signing in"
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := c.out.dial(ctx)
	if err != nil {
		return []hub.Finding{c.finding(what, err, live)}, false
	}
	defer c.out.close(conn)
	out = append(out, hub.Finding{OK: true, What: what, Msg: how + ", " + tlsWords(c.conf.SMTP.TLS)})
	if !has(conn.smtp, "PIPELINING") && !has(conn.smtp, "8BITMIME") && !has(conn.smtp, "SIZE") {
		out = append(out, hub.Finding{OK: true, What: "SMTP extensions", Msg: "the server names none, so that its limits show only when a mail is refused"})
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
		return notTested(what)
	}
	return hub.Finding{What: what, Msg: de.Msg}
}

func notTested(what string) hub.Finding {
	return hub.Finding{OK: true, What: what, Msg: "not tested, since it can't be reached from here (--live makes that a problem)"}
}

// checkReceiving asks whatever receives, unless the machine does not get as far.
func (c *Channel) checkReceiving(ctx context.Context, live bool) []hub.Finding {
	if conf := c.conf.IMAP; conf != nil && !live {
		at := net.JoinHostPort(conf.Host, strconv.Itoa(int(conf.Port)))
		d := net.Dialer{Timeout: reachTimeout}
		conn, err := d.DialContext(ctx, "tcp", at)
		if err != nil {
			return []hub.Finding{notTested("imap login at " + at)}
		}
		_ = conn.Close()
	}
	var out []hub.Finding
	for _, check := range c.checks {
		out = append(out, check(ctx, live)...)
	}
	return out
}

// checkAddresses says which addresses answers and bounces come to, since the mail
// server must let them in, and who gets no mail.
func (c *Channel) checkAddresses() []hub.Finding {
	f := hub.Finding{OK: true, What: "answers", Msg: "come to " + c.own.address() + " and are known by the mail that they answer"}
	if c.own.plus != "" {
		example := c.tokenAddress(tokenReply, strings.Repeat("x", tokenChars))
		f.Msg = "come to addresses such as " + example + ", which your mail server must let in"
	}
	out := []hub.Finding{f}
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
