package slack

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"beckon/hub"
)

// Name is the channel's name in targets and receipts.
const Name = "slack"

// Factory makes the channel. A target is "@person", "#name" or the id of a
// channel.
var Factory = hub.Factory{
	Name: Name, People: true, Places: []string{"#", "C", "G"}, New: New, Section: (*section)(nil),
	Lacks: func(p *hub.Person) string {
		if p.Slack == "" && p.Email == "" { // an address may do, with lookup_by_email
			return "slack"
		}
		return ""
	},
}

var (
	_ hub.Channel     = (*Channel)(nil)
	_ hub.Updater     = (*Channel)(nil)
	_ hub.Runner      = (*Channel)(nil)
	_ hub.Pulse       = (*Channel)(nil)
	_ hub.HTTPHandler = (*Channel)(nil)
	_ hub.Checker     = (*Channel)(nil)
	_ hub.Previewer   = (*Channel)(nil)
	_ hub.LinkSender  = (*Channel)(nil)
)

// slackURL is where Slack's Web API is.
const slackURL = "https://slack.com/api/"

type section struct {
	BotToken      hub.Secret `yaml:"bot_token" json:"bot_token" doc:"The app's bot token, which begins with xoxb-." eg:"env:SLACK_BOT_TOKEN"`
	AppToken      hub.Secret `yaml:"app_token" json:"app_token" doc:"The app-level token, which begins with xapp- and has the scope connections:write. The hub then listens by Socket Mode, which needs no open port." eg:"env:SLACK_APP_TOKEN"`
	SigningSecret hub.Secret `yaml:"signing_secret" json:"signing_secret" doc:"In the place of app_token: Slack sends what people do to /slack/events below public_url, signed with this." eg:"env:SLACK_SIGNING_SECRET" off:"true"`
	LookupByEmail bool       `yaml:"lookup_by_email" json:"lookup_by_email" doc:"Whoever has no slack in people is found in Slack by email. Only for a workspace whose addresses can be trusted." eg:"true" off:"true"`
	APIURL        string     `yaml:"api_url" json:"api_url" doc:"Another Slack on this machine, for tests and demos." eg:"http://127.0.0.1:8425/api/" off:"true"`
}

// Channel is one Slack workspace. It is safe for concurrent use.
type Channel struct {
	desk    hub.Desk
	conf    section
	log     *slog.Logger
	api     *api
	people  *people
	places  *places
	queue   *queue
	doubts  doubts
	inbound *inbound
}

// New makes the channel without any I/O; it returns nil when the section is at
// fault, having reported why through it.
func New(s hub.Section, desk hub.Desk) hub.Channel {
	var conf section
	if s.Decode != nil && !s.Decode(&conf) || !conf.check(s) {
		return nil
	}
	a := newAPI(conf, desk.Log())
	c := &Channel{
		desk: desk, conf: conf, log: desk.Log(), api: a,
		people: newPeople(a, desk, conf.LookupByEmail), places: newPlaces(a, desk.State()), queue: newQueue(),
	}
	c.inbound = newInbound(c)
	return c
}

// check reports what is wrong with the section.
func (conf *section) check(s hub.Section) bool {
	ok := true
	errorf := func(field, format string, args ...any) {
		ok = false
		if s.Errorf != nil {
			s.Errorf(field, format, args...)
		}
	}
	token := func(field string, t hub.Secret, prefix, other, what string) {
		switch v := t.Reveal(); {
		case t.IsZero() || strings.HasPrefix(v, prefix):
		case strings.HasPrefix(v, other):
			errorf(field, "begins with %q, so it is the other token; %s begins with %q", other, what, prefix)
		default:
			errorf(field, "is no %s, which begins with %q", what, prefix)
		}
	}
	if conf.BotToken.IsZero() {
		errorf("bot_token", "is missing; it is on the app's page in Slack under OAuth & Permissions")
	}
	token("bot_token", conf.BotToken, "xoxb-", "xapp-", "bot token")
	token("app_token", conf.AppToken, "xapp-", "xoxb-", "app-level token")
	switch {
	case conf.AppToken.IsZero() && conf.SigningSecret.IsZero():
		errorf("app_token", "is missing: without it, or a signing_secret, nobody could answer in Slack")
	case !conf.AppToken.IsZero() && !conf.SigningSecret.IsZero():
		errorf("signing_secret", "is of no use beside app_token, by which the hub listens; leave one of them out")
	}
	if conf.APIURL != "" && !loopback(conf.APIURL) {
		errorf("api_url", "must be an http URL of this machine, such as http://127.0.0.1:8425/api/; leave it out for Slack itself")
	}
	return ok
}

// loopback reports an http URL of this machine: the tokens go there.
func loopback(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Run listens to what people do and keeps their Home tabs true, until ctx ends.
// It owns every goroutine of the channel but those of a request.
func (c *Channel) Run(ctx context.Context) error {
	defer c.api.http.CloseIdleConnections()
	return together(ctx, c.inbound.listen, c.inbound.publishHomes)
}

// together runs every part until ctx ends or one returns, and waits for all.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	all, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, len(parts))
	var wg sync.WaitGroup
	for _, part := range parts {
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

// Handlers are the HTTP routes that Slack sends to, when there is no Socket
// Mode.
func (c *Channel) Handlers() map[string]http.Handler { return c.inbound.handlers() }

// Preview lays out a card as the message that would be posted.
func (*Channel) Preview(card *hub.Card) (contentType string, body []byte, err error) {
	return Preview(card)
}

// linkLife is how long the personal link in a direct message works. It is in
// that person's own conversation with the hub, for one message.
const linkLife = 7 * 24 * time.Hour
