package mailbox_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	tokens := mailtest.StartTokens(t, "hub")
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{TLS: true, Tokens: tokens})
	trusting := &tls.Config{RootCAs: d.Trust}
	const wrong = "no-such-password"
	for name, tc := range map[string]struct {
		change  func(*mailbox.Config)
		problem []string // none: it must work
	}{
		"plain":        {change: func(c *mailbox.Config) {}},
		"PLAIN":        {change: func(c *mailbox.Config) { c.Mechanism = "plain" }},
		"LOGIN":        {change: func(c *mailbox.Config) { c.Mechanism = "LOGIN" }},
		"tls":          {change: func(c *mailbox.Config) { c.Addr, c.Security, c.TLS = d.IMAPSAddr, mailbox.TLS, trusting }},
		"starttls":     {change: func(c *mailbox.Config) { c.Security, c.TLS = mailbox.StartTLS, trusting }},
		"tokens":       {change: func(c *mailbox.Config) { c.Password, c.Tokens = "", source(t, tokens, nil) }},
		"XOAUTH2":      {change: func(c *mailbox.Config) { c.Password, c.Tokens, c.Mechanism = "", source(t, tokens, nil), "XOAUTH2" }},
		"OAUTHBEARER":  {change: func(c *mailbox.Config) { c.Password, c.Tokens, c.Mechanism = "", source(t, tokens, nil), "OAUTHBEARER" }},
		"wrong PLAIN":  {change: func(c *mailbox.Config) { c.Password = wrong }, problem: []string{"log in to " + d.IMAPAddr + " as hub@example.test", "Authentication failed", "password right?"}},
		"wrong LOGIN":  {change: func(c *mailbox.Config) { c.Password, c.Mechanism = wrong, "LOGIN" }, problem: []string{"Authentication failed"}},
		"strange user": {change: func(c *mailbox.Config) { c.Username = "nobody@example.test" }, problem: []string{"as nobody@example.test", "Authentication failed"}},
		"another's token": {
			change: func(c *mailbox.Config) {
				c.Username, c.Password, c.Tokens = "alice@example.test", "", source(t, tokens, nil)
			},
			problem: []string{"as alice@example.test", "refused the access token"},
		},
		"foreign certificate": {
			change:  func(c *mailbox.Config) { c.Addr, c.Security = d.IMAPSAddr, mailbox.TLS },
			problem: []string{"its certificate is signed by nobody whom this machine trusts"},
		},
		"foreign certificate, starttls": {
			change:  func(c *mailbox.Config) { c.Security = mailbox.StartTLS },
			problem: []string{"its certificate is signed by nobody whom this machine trusts"},
		},
		"certificate for another name": {
			change: func(c *mailbox.Config) {
				c.Security, c.TLS = mailbox.StartTLS, &tls.Config{RootCAs: d.Trust, ServerName: "imap.example.com"}
			},
			problem: []string{"its certificate is for another name", "imap.example.com"},
		},
		"tls at the wrong port": {
			change:  func(c *mailbox.Config) { c.Security, c.TLS = mailbox.TLS, trusting },
			problem: []string{"it does not speak TLS there", "starttls"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, conf := newHub(), config(d)
			conf.Processed, conf.Rejected, conf.Unmatched, conf.Failed = "", "", "", ""
			tc.change(&conf)
			r := run(t, conf, h.hooks(t))
			if tc.problem == nil {
				r.caughtUp(t)
				r.problem(t, "")
				return
			}
			r.problem(t, tc.problem...)
			if last, problem := r.Alive(); !last.IsZero() || strings.Contains(problem, wrong) || strings.Contains(problem, "access-") {
				t.Errorf("caught up %v, problem %q", last, problem)
			}
			if findings := r.Check(t.Context()); findings[len(findings)-1].OK || !strings.Contains(findings[len(findings)-1].Msg, tc.problem[0]) {
				t.Errorf("findings: %+v", findings)
			}
		})
	}
}

// store keeps a refresh token.
type store struct {
	mu    sync.Mutex
	value string
	err   error
	saves int
}

func (s *store) load(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, nil
}

func (s *store) save(_ context.Context, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.err == nil {
		s.value = value
	}
	return s.err
}

// source gets tokens in the app's name, or with a refresh token if there is a
// store for it.
func source(t *testing.T, tokens *mailtest.Tokens, kept *store) *mailbox.TokenSource {
	t.Helper()
	conf := mailbox.TokenConfig{URL: tokens.URL, ClientID: tokens.ClientID, ClientSecret: tokens.ClientSecret}
	if kept != nil {
		conf.RefreshToken, conf.Load, conf.Save = "refresh-0", kept.load, kept.save
	}
	s, err := mailbox.NewTokenSource(conf)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A token that the server no longer takes is replaced, whatever its life was to
// be; when that is refused too it is said.
func TestTokenEndsBeforeItsTime(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"XOAUTH2", "OAUTHBEARER"} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			tokens := mailtest.StartTokens(t, "hub")
			tokens.Rotate()
			d := mailtest.StartDovecot(t, mailtest.DovecotOptions{Tokens: tokens})
			h, conf, kept := newHub(), config(d), new(store)
			conf.Password, conf.Tokens, conf.Mechanism = "", source(t, tokens, kept), mechanism
			r := run(t, conf, h.hooks(t))
			r.caughtUp(t)
			tokens.ExpireAll()
			// The connection stands though its token ended.
			d.Deliver("", text("one"), "hub@example.test")
			h.expect(t, "one")
			d.Kick("hub")
			d.Deliver("", text("two"), "hub@example.test")
			h.expect(t, "one", "two")
			if n := len(tokens.Grants()); n != 2 {
				t.Errorf("%d tokens were asked for, want 2", n)
			}
			if !strings.Contains(kept.value, tokens.Refresh()) {
				t.Errorf("the refresh token %s was not kept: %s", tokens.Refresh(), kept.value)
			}

			tokens.Revoke()
			tokens.ExpireAll()
			d.Kick("hub")
			r.problem(t, "no access token from 127.0.0.1", "invalid_", "?")
			r.stop()
		})
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	good := mailbox.Config{Addr: "imap.example.com:993", Username: "u", Password: "p"}
	hooks := newHub().hooks(t)
	for name, tc := range map[string]struct {
		change func(*mailbox.Config)
		want   string // "": it is fine
	}{
		"good":                  {func(c *mailbox.Config) {}, ""},
		"no port":               {func(c *mailbox.Config) { c.Addr = "imap.example.com" }, "needs a host and a port"},
		"no host":               {func(c *mailbox.Config) { c.Addr = ":993" }, "needs a host and a port"},
		"plain to elsewhere":    {func(c *mailbox.Config) { c.Security = mailbox.Plain }, "use tls or starttls"},
		"plain when told":       {func(c *mailbox.Config) { c.Security, c.AllowPlain = mailbox.Plain, true }, ""},
		"plain to here":         {func(c *mailbox.Config) { c.Security, c.Addr = mailbox.Plain, "[::1]:143" }, ""},
		"plain to a look-alike": {func(c *mailbox.Config) { c.Security, c.Addr = mailbox.Plain, "localhost.example.com:143" }, "use tls or starttls"},
		"strange security":      {func(c *mailbox.Config) { c.Security = "ssl" }, "none of tls, starttls, none"},
		"no user":               {func(c *mailbox.Config) { c.Username = "" }, "needs a user name"},
		"line end in password":  {func(c *mailbox.Config) { c.Password = "p\n" }, "line end"},
		"no password":           {func(c *mailbox.Config) { c.Password = "" }, "either a password or a source of tokens"},
		"wrong mechanism":       {func(c *mailbox.Config) { c.Mechanism = "xoauth2" }, "none of LOGIN, PLAIN"},
		"wildcard":              {func(c *mailbox.Config) { c.Folders = []string{"INBOX", "a*"} }, "does not allow"},
		"twice":                 {func(c *mailbox.Config) { c.Folders = []string{"INBOX", "INBOX"} }, "named twice"},
		"moves in a circle":     {func(c *mailbox.Config) { c.Processed = "inbox" }, "is read, so nothing can be moved there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := good
			tc.change(&conf)
			_, err := mailbox.New(conf, hooks)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := mailbox.New(mailbox.Config{Security: "ssl"}, hooks); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all that is wrong is said: %v", err)
	}
}

// What can't be connected to is told apart.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"no such host": {&net.DNSError{Err: "no such host", Name: "imap.example.com", IsNotFound: true}, "there is no such host"},
		"refused":      {errors.New("connection refused"), "connect to imap.example.com:993: connection refused"},
		"certificate":  {&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := mailbox.Config{Addr: "imap.example.com:993", Username: "u", Password: "p", Timing: mailbox.Timing{Backoff: time.Millisecond}}
			r := run(t, conf, newHub().hooks(t), func(r *mailbox.Reader) {
				r.SetDialer(func(context.Context, string) (net.Conn, error) { return nil, tc.err })
			})
			r.problem(t, tc.want)
		})
	}
}
