package email

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"beckon/channels/channeltest"
	"beckon/config"
	"beckon/hub"
)

// parse reads a config with a section for email, and returns what was made of it
// and what is wrong.
func parse(t *testing.T, yaml string) (*Channel, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{
			"SMTP": "smtp-secret", "IMAP": "imap-secret", "LINE": "sec\x07ret", "CLIENT": "client-secret", "REFRESH": "refresh-secret",
			"DKIM": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		}[name]
		return v, ok
	}
	text := "people:\n  alice: {name: Alice, email: alice@example.com}\n  bob: {name: Bob, email: Bob@Bücher.example}\nroutes:\n  - ask: [alice]\nchannels:\n  email:\n"
	for line := range strings.Lines(yaml) {
		text += "    " + line
	}
	c, err := config.Parse("beckon.yaml", []byte(text+"\n"), []hub.Factory{Factory}, env)
	if c == nil {
		t.Fatal(err)
	}
	desk := channeltest.NewDesk(c.Directory)
	ch := build(c.Sections[Name], desk)
	if err := c.Err(); err != nil {
		return ch, err.Error()
	}
	return ch, ""
}

const plainConfig = "from: hub@example.com\nsmtp: {host: smtp.example.com, password: env:SMTP}\nimap: {host: imap.example.com}\n"

func TestConfig(t *testing.T) {
	t.Parallel()
	ch, errs := parse(t, plainConfig)
	if ch == nil {
		t.Fatal(errs)
	}
	got := fmt.Sprintf("%s:%d %s %s %s; %s:%d %s %s; %s %s %d", ch.conf.SMTP.Host, ch.conf.SMTP.Port, ch.conf.SMTP.TLS, ch.conf.SMTP.User, ch.conf.SMTP.Helo,
		ch.conf.IMAP.Host, ch.conf.IMAP.Port, ch.conf.IMAP.TLS, ch.conf.IMAP.User, ch.conf.Policy, ch.conf.Plus, ch.conf.MaxPerDay)
	const want = "smtp.example.com:587 starttls hub@example.com example.com; imap.example.com:993 tls hub@example.com; normal + 200"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if ch.conf.IMAP.Password.Reveal() != "smtp-secret" {
		t.Error("the mailbox has not the password of SMTP")
	}
	ch, errs = parse(t, "from: hub@example.com\nsmtp: {host: smtp.office365.com}\nimap: {host: outlook.office365.com}\n"+
		"oauth: {provider: microsoft, tenant: contoso.example.com, client_id: id, client_secret: env:CLIENT}\nauthserv_none: true\n"+
		"dkim: {selector: beckon, key: env:DKIM}\naliases: {alice: [a@example.org]}\npolicy: strict\nplus: off")
	if ch == nil {
		t.Fatal(errs)
	}
	if o := ch.conf.OAuth; o.TokenURL != "https://login.microsoftonline.com/contoso.example.com/oauth2/v2.0/token" || o.Scope != microsoftScope {
		t.Errorf("tokens come from %s for %s", o.TokenURL, o.Scope)
	}
	if ch.seal == nil || ch.seal.domain != "example.com" || ch.own.plus != "" || ch.conf.SMTP.User != "hub@example.com" {
		t.Errorf("signed by %+v, addresses %+v, user %q", ch.seal, ch.own, ch.conf.SMTP.User)
	}
	ch, errs = parse(t, "from: hub@example.com\nsmtp: {host: 127.0.0.1, tls: none}\nlisten: {address: \"unix:/run/beckon/lmtp\", domain: answers.example.com}")
	if ch == nil {
		t.Fatal(errs)
	}
	if ch.own.reply != "answers.example.com" || ch.conf.SMTP.Port != 25 || ch.conf.SMTP.User != "" || ch.conf.Listen.Protocol != protoLMTP {
		t.Errorf("got %+v, %+v", ch.own, ch.conf.SMTP)
	}
}

// TestConfigErrors holds that each mistake is named where it is, and says what to
// do.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	with := func(line string) string { return plainConfig + line }
	for name, tt := range map[string]struct{ yaml, at, says string }{
		"nothing":             {"policy: normal", "channels.email.from", "is missing"},
		"no smtp":             {"policy: normal", "channels.email.smtp.host", "is missing"},
		"no way in":           {"from: hub@example.com\nsmtp: {host: h}", "channels.email.imap", "nobody could answer"},
		"from with a name":    {strings.Replace(plainConfig, "hub@example.com", "\"Hub <hub@example.com>\"", 1), "channels.email.from", "from_name"},
		"from without domain": {strings.Replace(plainConfig, "hub@example.com", "hub@", 1), "channels.email.from", "e-mail address"},
		"from beyond ASCII":   {strings.Replace(plainConfig, "hub@example.com", "hub@bücher.example", 1), "channels.email.from", "xn--"},
		"from is quoted":      {strings.Replace(plainConfig, "hub@example.com", "'\"h b\"@example.com'", 1), "channels.email.from", "address alone"},
		"from has a comma":    {strings.Replace(plainConfig, "hub@example.com", "h/b@example.com", 1), "channels.email.from", "in front of the @"},
		"from is long":        {strings.Replace(plainConfig, "hub@example.com", strings.Repeat("h", 19)+"@example.com", 1), "channels.email.from", "plus: off"},
		"from is a person's":  {strings.Replace(plainConfig, "hub@example.com", "Alice@example.com", 1), "channels.email.from", "alice"},
		"unknown key":         {with("polcy: strict"), "channels.email.polcy", "policy"},
		"policy":              {with("policy: none"), "channels.email.policy", "strict, normal or token"},
		"plus":                {with("plus: \"++\""), "channels.email.plus", "off"},
		"max":                 {with("max_per_day: -1"), "channels.email.max_per_day", "at least 1"},
		"authserv twice":      {with("authserv_id: mx\nauthserv_none: true"), "channels.email.authserv_none", "leave one"},
		"authserv":            {with("authserv_id: \"mx; dmarc=pass\""), "channels.email.authserv_id", "first"},
		"alias of nobody":     {with("aliases: {alise: [a@example.org]}"), "channels.email.aliases.alise", "no person"},
		"alias is none":       {with("aliases: {alice: [nonsense]}"), "channels.email.aliases.alice", "no e-mail address"},
		"alias of two":        {with("aliases: {alice: [bob@xn--bcher-kva.example]}"), "channels.email.aliases.alice", "bob"},
		"alias is the hub's":  {with("aliases: {alice: [HUB@example.com]}"), "channels.email.aliases.alice", "own address"},
		"smtp host":           {"from: hub@example.com\nsmtp: {host: \"smtp.example.com:587\"}\nlisten: {address: \"127.0.0.1:1\"}", "channels.email.smtp.host", "smtp.port"},
		"smtp tls":            {"from: hub@example.com\nsmtp: {host: h, tls: ssl}\nlisten: {address: \"127.0.0.1:1\"}", "channels.email.smtp.tls", "starttls, tls or none"},
		"smtp in the open":    {"from: hub@example.com\nsmtp: {host: smtp.example.com, tls: none}\nlisten: {address: \"127.0.0.1:1\"}", "channels.email.smtp.tls", "on this machine only"},
		"smtp no password":    {"from: hub@example.com\nsmtp: {host: h, user: u}\nlisten: {address: \"127.0.0.1:1\"}", "channels.email.smtp.password", "oauth"},
		"a control character": {"from: hub@example.com\nsmtp: {host: h, password: env:LINE}\nlisten: {address: \"127.0.0.1:1\"}", "channels.email.smtp.password", "control character"},
		"imap in the open":    {strings.Replace(plainConfig, "imap.example.com}", "imap.example.com, tls: none}", 1), "channels.email.imap.tls", "on this machine only"},
		"imap no password":    {"from: hub@example.com\nsmtp: {host: 127.0.0.1, tls: none}\nimap: {host: h}", "channels.email.imap.password", "oauth"},
		"listen to all":       {"from: hub@example.com\nsmtp: {host: h}\nlisten: {address: \"0.0.0.0:2424\"}", "channels.email.listen.address", "of this machine"},
		"listen where":        {"from: hub@example.com\nsmtp: {host: h}\nlisten: {address: \"2424\"}", "channels.email.listen.address", "with a port"},
		"listen socket":       {"from: hub@example.com\nsmtp: {host: h}\nlisten: {address: \"unix:lmtp\"}", "channels.email.listen.address", "begin with /"},
		"listen protocol":     {"from: hub@example.com\nsmtp: {host: h}\nlisten: {address: \"127.0.0.1:1\", protocol: http}", "channels.email.listen.protocol", "lmtp or smtp"},
		"listen domain":       {"from: hub@example.com\nsmtp: {host: h}\nlisten: {address: \"127.0.0.1:1\", domain: \"@x\"}", "channels.email.listen.domain", "must be a domain"},
		"oauth and password":  {with("oauth: {provider: google, client_id: i, client_secret: env:CLIENT}"), "channels.email.smtp.password", "leave one"},
		"oauth provider":      {with("oauth: {provider: yahoo, client_id: i, client_secret: env:CLIENT}"), "channels.email.oauth.provider", "microsoft or google"},
		"oauth tenant":        {with("oauth: {provider: microsoft, client_id: i, client_secret: env:CLIENT}"), "channels.email.oauth.tenant", "is missing"},
		"oauth url":           {with("oauth: {token_url: \"http://login.example.com\", client_id: i, client_secret: env:CLIENT}"), "channels.email.oauth.token_url", "https"},
		"oauth nothing":       {with("oauth: {}"), "channels.email.oauth.token_url", "name a provider"},
		"oauth id":            {with("oauth: {provider: google, client_secret: env:CLIENT}"), "channels.email.oauth.client_id", "is missing"},
		"oauth secret":        {with("oauth: {provider: google, client_id: i}"), "channels.email.oauth.client_secret", "refresh_token"},
		"dkim domain":         {with("dkim: {domain: example.net, selector: s, key: env:DKIM}"), "channels.email.dkim.domain", "example.com"},
		"dkim selector":       {with("dkim: {key: env:DKIM}"), "channels.email.dkim.selector", "_domainkey.example.com"},
		"dkim key":            {with("dkim: {selector: s, key: env:SMTP}"), "channels.email.dkim.key", "PEM"},
		"dkim no key":         {with("dkim: {selector: s}"), "channels.email.dkim.key", "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch, errs := parse(t, tt.yaml)
			if ch != nil && errs == "" {
				t.Fatal("it is taken")
			}
			found := false
			for line := range strings.Lines(errs) {
				found = found || strings.Contains(line, tt.at+":") && strings.Contains(line, tt.says)
			}
			if !found {
				t.Errorf("want %s … %q in:\n%s", tt.at, tt.says, errs)
			}
			for _, secret := range []string{"smtp-secret", "imap-secret", "client-secret", "PRIVATE KEY"} {
				if strings.Contains(errs, secret) {
					t.Errorf("the error holds a secret: %s", errs)
				}
			}
		})
	}
}

// TestLacks holds that the config's reader can say who gets no mail.
func TestLacks(t *testing.T) {
	t.Parallel()
	if got := Factory.Lacks(&hub.Person{}); got != "email" {
		t.Errorf("without an address somebody lacks %q", got)
	}
	if got := Factory.Lacks(&hub.Person{Email: "a@example.com"}); got != "" {
		t.Errorf("with an address somebody lacks %q", got)
	}
}
