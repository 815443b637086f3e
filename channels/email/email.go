package email

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"log/slog"
	"strings"
	"sync"

	"beckon/channels/email/inbound"
	"beckon/channels/email/listener"
	"beckon/channels/email/mailbox"
	"beckon/hub"
	"beckon/templates"
)

// Name is the channel's name in targets and receipts.
const Name = "email"

// Factory makes the channel. A target is a person or a team.
var Factory = hub.Factory{
	Name: Name, People: true, New: New, Section: (*section)(nil),
	Lacks: func(p *hub.Person) string {
		if p.Email == "" {
			return "email"
		}
		return ""
	},
}

var (
	_ hub.Channel    = (*Channel)(nil)
	_ hub.Updater    = (*Channel)(nil)
	_ hub.Teller     = (*Channel)(nil)
	_ hub.Runner     = (*Channel)(nil)
	_ hub.Pulse      = (*Channel)(nil)
	_ hub.Checker    = (*Channel)(nil)
	_ hub.Previewer  = (*Channel)(nil)
	_ hub.LinkSender = (*Channel)(nil)
)

// Channel is one address of the hub's. It is safe for concurrent use.
type Channel struct {
	desk hub.Desk
	conf section
	own  ownAddress
	log  *slog.Logger
	set  *templates.MailSet
	out  *mailer
	rate *limiter
	seal *sealer // nil: mail goes out without a DKIM signature

	reader  *inbound.Reader
	tokens  *mailbox.TokenSource // nil: passwords
	mailbox *mailbox.Reader      // nil: no mailbox is read

	listener *listener.Listener // nil: no mail server hands mail over

	// parts are what Run runs, and checks what Check asks besides sending; a part
	// that receives adds its own.
	parts  []func(context.Context) error
	checks []func(ctx context.Context, live bool) []hub.Finding
	// awaitSelf waits until the hub has received the mail with a Message-ID that
	// it sent to itself. Nil: nobody can tell.
	awaitSelf func(ctx context.Context, messageID string) error
}

// ownAddress is the hub's address and what is made of it.
type ownAddress struct {
	local, domain string // of From, in lower case
	reply         string // domain of the addresses with tokens
	plus          string // "" when there are none
	instance      string // marks our mails; no secret
}

// New makes the channel without any I/O; it returns nil when the section is at
// fault, having reported why through it.
func New(s hub.Section, desk hub.Desk) hub.Channel {
	c := build(s, desk)
	if c == nil {
		return nil // and not a nil *Channel
	}
	return c
}

func build(s hub.Section, desk hub.Desk) *Channel {
	var conf section
	if s.Decode != nil && !s.Decode(&conf) || !conf.check(s, desk.Directory()) {
		return nil
	}
	set, err := templates.NewMail(s.Templates)
	if err != nil {
		if s.Errorf != nil {
			s.Errorf("templates", "%v", err)
		}
		return nil
	}
	c := &Channel{desk: desk, conf: conf, log: desk.Log(), set: set, rate: newLimiter(conf.MaxPerDay), seal: newSealer(conf.DKIM)}
	c.own = ownOf(&conf, desk.Directory())
	c.out = newMailer(&conf.SMTP, c.log)
	c.out.oauth = conf.OAuth != nil
	c.parts = append(c.parts, c.out.tend)
	if err := c.receiveBy(); err != nil {
		if s.Errorf != nil {
			s.Errorf("", "%v", err)
		}
		return nil
	}
	return c
}

func ownOf(conf *section, d *hub.Directory) ownAddress {
	local, domain, _ := splitOwn(conf.From) // check has looked at it
	own := ownAddress{local: local, domain: domain, reply: domain, plus: conf.Plus}
	if conf.Plus == plusOff {
		own.plus = ""
	}
	if conf.Listen != nil && conf.Listen.Domain != "" {
		own.reply = strings.ToLower(conf.Listen.Domain)
	}
	url := ""
	if d != nil {
		url = d.PublicURL
	}
	sum := sha256.Sum256([]byte("beckon instance\n" + local + "@" + domain + "\n" + url))
	own.instance = strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
	return own
}

// address is From.
func (o *ownAddress) address() string { return o.local + "@" + o.domain }

// Run looks after the channel's connections and reads what comes in, until ctx
// ends. It owns every goroutine of the channel.
func (c *Channel) Run(ctx context.Context) error {
	all, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, len(c.parts))
	var wg sync.WaitGroup
	for _, part := range c.parts {
		wg.Go(func() {
			defer cancel()
			errs <- part(all)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return <-errs
}
