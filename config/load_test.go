package config_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"beckon/config"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// full has every key that there is.
const full = `
listen: 127.0.0.1:8420
public_url: https://Beckon.example.com/
store: /var/lib/beckon/beckon.db
keys: [env:KEY, env:KEY_2]
tls: {cert: CERT, key: KEYFILE}
behind_proxy: true
trusted_proxies: [10.0.0.0/8, 192.168.1.7, "::1"]
retention: 90d
limits: {envelope: 1MiB, body: 128KiB, part: 4096, parts: 8, options: 20, fields: 10, requests_per_minute: 0, open_messages: 50}
redact: ["corp-[0-9]{6}"]
templates: FOLDER
resolvers: submitter
callbacks: {v0_1: refuse, allow_loopback: true}
operators:
  ops: {token_sha256: 0123456789abcdef0123456789abcdef0123456789ABCDEF0123456789abcdef}
  night: {token: env:TOKEN_C}
people:
  alice: {name: Alice Ng, email: alice@example.com, slack: U0ALICE, tz: Asia/Singapore}
  bob:   {name: Bob Roy, email: bob@example.com, tz: Europe/Paris}
  c.d-e_f9:
teams:
  oncall: [bob, alice]
agents:
  deploybot/dev-team:
    token: [env:TOKEN_A, env:TOKEN_B]
    secrets: {MA2H_CALLBACK_SECRET: env:TOKEN_C, env:OTHER: env:SHORT}
    callbacks:
      - {host: Agent.example.com, sign: env:MA2H_CALLBACK_SECRET}
      - {host: "agent.example.com:8443", sign: OTHER}
      - {host: "[::1]:9000", sign: OTHER}
channels:
  slack: {app_token: env:SLACK_APP, bot_token: env:SLACK_BOT}
  email:
    from: hub@example.com
    smtp: {host: mail.example.com, port: 587, password: env:SMTP, starttls: true}
    poll: 1m30s
    domains: [example.com]
    rate: 0.5
    retries: 3
routes:
  - name: production
    match:
      agent: "deploybot/*"
      project: [web-*, api]
      type: ask
      priority: [high, urgent]
      tags: deploy
      runtime: [cli, cloud]
      labels: {env: prod*}
    ask: [oncall, alice, c.d-e_f9]
    post:
      - slack: "#deploys"
      - {email: "@oncall", slack: "@alice", web: c.d-e_f9}
      - {email: oncall, after: 10m}
      - {email: alice, after: 1d12h}
  - ask: alice
    resolvers: submitter
    post: [{slack: C0123456}, {web: alice}]
`

// certificate writes a key pair for TLS.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	c, k := newPair(t, time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0))
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, cert, c, 0o644)
	write(t, key, k, 0o600)
	return cert, key
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func TestFullConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, keyFile := certificate(t, dir)
	text := strings.NewReplacer("CERT,", cert+",", "KEYFILE", keyFile, "FOLDER", dir).Replace(full)
	c, b, err := load("beckon.yaml", text)
	if err != nil {
		t.Fatal(err)
	}

	equal := func(what string, want, got any, opts ...cmp.Option) {
		t.Helper()
		if diff := cmp.Diff(want, got, opts...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	equal("listen", "127.0.0.1:8420", c.Listen)
	equal("public_url", "https://beckon.example.com", c.PublicURL)
	equal("store", "/var/lib/beckon/beckon.db", c.Store)
	equal("tls", &config.TLS{Cert: cert, Key: keyFile}, c.TLS)
	equal("templates", dir, c.Templates)
	equal("callbacks", hub.PushRules{RefuseV01: true, AllowLoopback: true}, c.Callbacks)
	if len(c.Keys) != 2 || string(c.Keys[0]) != "0123456789abcdef0123456789abcdef" {
		t.Errorf("keys = %q", c.Keys)
	}
	equal("trusted_proxies", "[10.0.0.0/8 192.168.1.7/32 ::1/128]", fmt.Sprint(c.TrustedProxies))

	d := c.Directory
	equal("directory's url", c.PublicURL, d.PublicURL)
	singapore, paris := location(t, "Asia/Singapore"), location(t, "Europe/Paris")
	equal("people", map[string]*hub.Person{
		"alice":    {ID: "alice", Name: "Alice Ng", Email: "alice@example.com", Slack: "U0ALICE", Location: singapore},
		"bob":      {ID: "bob", Name: "Bob Roy", Email: "bob@example.com", Location: paris},
		"c.d-e_f9": {ID: "c.d-e_f9", Name: "c.d-e_f9", Location: time.UTC},
	}, d.People, cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() }))
	equal("teams", map[string][]string{"oncall": {"bob", "alice"}}, d.Teams)
	equal("retention", 90*24*time.Hour, d.Retention)
	equal("limits", hub.Limits{
		Envelope: 1 << 20, Body: 128 << 10, Part: 4096, Parts: 8, Options: 20, Fields: 10, OpenMessages: 50,
	}, d.Limits)
	equal("redact", "corp-[0-9]{6}", d.Redact[0].String())
	equal("channels", map[string]bool{"slack": true, "email": true, "web": true}, d.Channels)
	if !d.ResolversSubmitter {
		t.Error("resolvers: submitter is lost")
	}

	for _, token := range []string{"token-of-a-0123456789", "token-of-b-0123456789"} {
		if a := d.AgentByToken(token); a == nil || a.ID != "deploybot/dev-team" {
			t.Errorf("agent of a token = %v", a)
		}
	}
	if o := d.OperatorByToken("token-of-c-0123456789"); o == nil || o.ID != "night" {
		t.Errorf("operator of a token = %v", o)
	}
	equal("operator's hash", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		fmt.Sprintf("%x", d.Operators["ops"].Tokens[0]))
	agent := d.Agents["deploybot/dev-team"]
	equal("secret", "token-of-c-0123456789", agent.Secrets["MA2H_CALLBACK_SECRET"].Reveal())
	equal("secret", "abc", agent.Secrets["OTHER"].Reveal())
	equal("callback hosts", []hub.CallbackHost{
		{Host: "agent.example.com", Sign: "MA2H_CALLBACK_SECRET"},
		{Host: "agent.example.com:8443", Sign: "OTHER"},
		{Host: "[::1]:9000", Sign: "OTHER"},
	}, agent.Callbacks)

	equal("slack", "xoxb-1-secret", b.slack.BotToken.Reveal())
	retries := uint(3)
	want := &emailSection{From: "hub@example.com", Poll: 90 * time.Second, Domains: []string{"example.com"}, Rate: 0.5, Retries: &retries}
	want.SMTP.Host, want.SMTP.Port, want.SMTP.StartTLS, want.SMTP.Password = "mail.example.com", 587, true, hub.NewSecret("smtp-secret")
	equal("email", want, b.email)
	if !b.web {
		t.Error("the implicit channel has no section")
	}

	equal("routes", []hub.Route{
		{
			Name: "production", Submitter: true,
			Match: &hub.Match{
				Agent: []string{"deploybot/*"}, Project: []string{"web-*", "api"}, Runtime: []string{"cli", "cloud"},
				Type: []ma2h.Type{ma2h.Ask}, Priority: []ma2h.Priority{ma2h.High, ma2h.Urgent},
				Tags: []string{"deploy"}, Labels: map[string]string{"env": "prod*"},
			},
			Ask: []string{"bob", "alice", "c.d-e_f9"},
			Post: []hub.Entry{
				{Targets: []hub.Target{{Channel: "slack", Place: "#deploys"}}},
				{Targets: []hub.Target{
					{Channel: "email", Person: "bob"},
					{Channel: "email", Person: "alice"},
					{Channel: "slack", Person: "alice"},
					{Channel: "web", Person: "c.d-e_f9"},
				}},
				{Targets: []hub.Target{{Channel: "email", Person: "bob"}, {Channel: "email", Person: "alice"}}, After: 10 * time.Minute},
				{Targets: []hub.Target{{Channel: "email", Person: "alice"}}, After: 36 * time.Hour},
			},
		},
		{
			Name: "routes[1]", Submitter: true, Ask: []string{"alice"},
			Post: []hub.Entry{
				{Targets: []hub.Target{{Channel: "slack", Place: "C0123456"}}},
				{Targets: []hub.Target{{Channel: "web", Person: "alice"}}},
			},
		},
	}, d.Routes)
	equal("warnings", []string{
		"beckon.yaml:51:10: routes[0].ask: has no effect with resolvers: submitter",
		"beckon.yaml:57:10: routes[1].ask: has no effect with resolvers: submitter",
	}, lines(c.Warnings))
}

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func lines(e config.Errors) (out []string) {
	for _, err := range e {
		out = append(out, err.Error())
	}
	return out
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, _, err := load("beckon.yaml", "routes: [{}]\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != config.DefaultListen || c.Store != config.DefaultStore || c.PublicURL != "http://127.0.0.1:8420" {
		t.Errorf("listen %q, store %q, public_url %q", c.Listen, c.Store, c.PublicURL)
	}
	if c.TLS != nil || c.BehindProxy || len(c.Keys) != 0 || c.TrustedProxies != nil {
		t.Errorf("tls %v, proxy %v, keys %d, proxies %v", c.TLS, c.BehindProxy, len(c.Keys), c.TrustedProxies)
	}
	d := c.Directory
	if diff := cmp.Diff(hub.DefaultLimits, d.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if d.Retention != 30*24*time.Hour || d.ResolversSubmitter || len(d.Routes) != 1 || d.Routes[0].Match != nil || d.Routes[0].Ask != nil {
		t.Errorf("retention %s, submitter %v, routes %+v", d.Retention, d.ResolversSubmitter, d.Routes)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, config, url, proxies string }{
		{"another port", "listen: 127.0.0.1:9000", "http://127.0.0.1:9000", "[]"},
		{"a port to be chosen", "listen: 127.0.0.1:0", "", "[]"},
		{"IPv6", "listen: '[::1]:8420'", "http://[::1]:8420", "[]"},
		{"localhost", "listen: localhost:8420", "http://localhost:8420", "[]"},
		{"public URL on this machine", "public_url: http://localhost:8420/", "http://localhost:8420", "[]"},
		{
			"behind a proxy", "listen: 0.0.0.0:8420\nbehind_proxy: true\npublic_url: https://b.example.com:8443",
			"https://b.example.com:8443", "[127.0.0.0/8 ::1/128]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := load("beckon.yaml", tt.config+"\nroutes: [{}]\n")
			if err != nil {
				t.Fatal(err)
			}
			if c.PublicURL != tt.url {
				t.Errorf("public_url = %q, want %q", c.PublicURL, tt.url)
			}
			if got := fmt.Sprint(append([]netip.Prefix{}, c.TrustedProxies...)); got != tt.proxies {
				t.Errorf("trusted_proxies = %s, want %s", got, tt.proxies)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	c, _, err := load("beckon.yaml", `listen: 0.0.0.0:8420
public_url: https://beckon.example.com
behind_proxy: true
people: {alice: {}}
teams:
  unused: [alice]
  used: [alice]
agents:
  bot: {token: env:SHORT}
routes:
  - match: {agent: ["bot", "deploybot/*"], runtime: laptop}
    ask: used
    post: [{web: alice}]
  - match: {project: x}
    post: [{web: alice}]
  - match: {project: x}
    post: [{web: alice}]
  - ask: alice
  - post: [{web: alice}]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"beckon.yaml:3:15: behind_proxy: only a proxy on this machine is believed; name others in trusted_proxies",
		"beckon.yaml:6:11: teams.unused: no route uses this team",
		"beckon.yaml:9:16: agents.bot.token: is shorter than 16 letters and can be guessed",
		"beckon.yaml:11:28: routes[0].match.agent: no agent of this file matches",
		"beckon.yaml:11:53: routes[0].match.runtime: no runtime matches; there are github-actions, cli, cloud, desktop, openclaw, other",
		"beckon.yaml:16:5: routes[2]: can never match: routes[1] has the same match",
		"beckon.yaml:18:5: routes[3]: posts nowhere",
		"beckon.yaml:19:5: routes[4]: can never match: routes[3] has no match and takes everything",
	}
	if diff := cmp.Diff(want, lines(c.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "beckon.yaml")
	secret := filepath.Join(dir, "token")
	t.Setenv("BECKON_TEST_TOKEN", "from-the-environment")
	write(t, secret, " from-the-file-system\n", 0o600)
	write(t, name, "agents:\n  a: {token: env:BECKON_TEST_TOKEN}\n  b: {token: file:"+secret+"}\nroutes: [{}]\n", 0o600)
	c, err := config.Load(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for token, id := range map[string]string{"from-the-environment": "a", "from-the-file-system": "b"} {
		if a := c.Directory.AgentByToken(token); a == nil || a.ID != id {
			t.Errorf("token of %s belongs to %v", id, a)
		}
	}

	write(t, name, "lissen: x\nroutes: [{}]\n", 0o600)
	_, err = config.Load(name, nil)
	if !config.IsErrors(err) || !strings.HasPrefix(err.Error(), name+":1:1: lissen: ") {
		t.Errorf("err = %v", err)
	}
	_, err = config.Load(filepath.Join(dir, "none.yaml"), nil)
	if err == nil || config.IsErrors(err) || !os.IsNotExist(unwrap(err)) {
		t.Errorf("err = %v", err)
	}
}

func unwrap(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || os.IsNotExist(err) {
			return err
		}
		err = u.Unwrap()
	}
}

// Whatever field a channel names, the error stands somewhere in its section.
func TestSectionErrorPositions(t *testing.T) {
	t.Parallel()
	text := `channels:
  email:
    from: hub@example.com
    smtp:
      host: mail.example.com
    accounts: [{user: a}]
    a.b: {c: 1}
routes: [{}]
`
	tests := []struct{ field, want string }{
		{"", "beckon.yaml:2:3: channels.email: x"},
		{"from", "beckon.yaml:3:11: channels.email.from: x"},
		{"smtp", "beckon.yaml:4:5: channels.email.smtp: x"},
		{"smtp.host", "beckon.yaml:5:13: channels.email.smtp.host: x"},
		{"smtp.password", "beckon.yaml:4:5: channels.email.smtp.password: x"},
		{"imap.host", "beckon.yaml:2:3: channels.email.imap.host: x"},
		{"accounts[0].user", "beckon.yaml:6:23: channels.email.accounts[0].user: x"},
		{"accounts[0].password", "beckon.yaml:6:16: channels.email.accounts[0].password: x"},
		{"accounts[3].user", "beckon.yaml:6:15: channels.email.accounts[3].user: x"},
		{"a.b.c", "beckon.yaml:7:14: channels.email.a.b.c: x"},
		{"[", "beckon.yaml:2:3: channels.email[\"[\"]: x"},
		{".", "beckon.yaml:2:3: channels.email..: x"},
	}
	for _, tt := range tests {
		t.Run(tt.field, func(t *testing.T) {
			c, err := config.Parse("beckon.yaml", []byte(text), factories(new(built)), env)
			if err != nil {
				t.Fatal(err)
			}
			c.Sections["email"].Errorf(tt.field, "%s", "x")
			if got := fmt.Sprint(c.Err()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	c, err := config.Parse("beckon.yaml", []byte(text), factories(new(built)), env)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sections["web"]
	if s.Decode != nil {
		t.Error("a section that the file does not have can be decoded")
	}
	s.Errorf("link_ttl", "x")
	if got := fmt.Sprint(c.Err()); got != "beckon.yaml:1:1: channels.web.link_ttl: x" {
		t.Errorf("got %s", got)
	}
}
