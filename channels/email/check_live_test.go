package email

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/email/mailtest"
	"beckon/hub"
)

// site is where a hub with real mail servers lives.
type site struct {
	t       *testing.T
	dovecot *mailtest.Dovecot
	exim    *mailtest.Exim
	trust   *x509.CertPool // for the MTA
	conf    section
	logs    *logs
}

func newSite(t *testing.T, d mailtest.DovecotOptions, e mailtest.EximOptions) *site {
	t.Helper()
	s := &site{t: t, dovecot: mailtest.StartDovecot(t, d), logs: &logs{}}
	if e.LMTP == "" {
		e.LMTP = s.dovecot.LMTPAddr
	}
	s.exim = mailtest.StartExim(t, e)
	s.trust = s.exim.Trust
	s.conf = section{
		From: "hub@" + mailtest.Domain,
		IMAP: &imapSection{
			TLS: tlsNone, User: "hub@" + mailtest.Domain, Password: hub.NewSecret(mailtest.Password),
			Processed: "Beckon/Processed", Rejected: "Beckon/Rejected", Unmatched: "Beckon/Unmatched", Failed: "Beckon/Failed",
		},
		SMTP: smtpSection{TLS: tlsNone},
	}
	s.conf.IMAP.Host, s.conf.IMAP.Port = hostPort(t, s.dovecot.IMAPAddr)
	s.conf.SMTP.Host, s.conf.SMTP.Port = hostPort(t, s.exim.Addr)
	return s
}

// copy is the same servers for another test.
func (s *site) copy(t *testing.T) *site {
	one, imap := *s, *s.conf.IMAP
	one.t, one.logs, one.conf.IMAP = t, &logs{}, &imap
	return &one
}

func hostPort(t *testing.T, addr string) (host string, port uint16) {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return host, uint16(n)
}

// channel makes the hub's side of it.
func (s *site) channel() *Channel {
	s.t.Helper()
	desk := deskWithLog{channeltest.NewDesk(channeltest.Directory()), slog.New(slog.NewTextHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), nil}
	c := build(sectionOf(s.t, s.conf), desk)
	if c == nil {
		s.t.Fatal("no channel was made")
	}
	c.out.roots = s.trust
	return c
}

var anyPort = regexp.MustCompile(`127(\.\d+){3}:\d+`)

// check returns what a live check finds, with addresses and tokens that are the same
// each time. Once until is nil its time is over; a nil until gives it all its time.
func (s *site) check(until func() error) string {
	s.t.Helper()
	ctx, over := context.WithCancelCause(s.t.Context())
	defer over(nil)
	lines := make(chan string, 1)
	go func() { lines <- found(s.t, s.channel().Check(ctx, true)) }()
	if until != nil {
		if err := mailtest.Eventually(until); err != nil {
			s.t.Error(err)
		}
		over(context.DeadlineExceeded)
	}
	text := anyPort.ReplaceAllString(<-lines, "HOST:PORT")
	return regexp.MustCompile(`\+q[a-z2-7]{20}@`).ReplaceAllString(text, "+qTOKEN@")
}

// plainSite is what a check finds when all is well.
const plainSite = `ok SMTP at HOST:PORT: without signing in, no TLS, on this machine
ok imap connection: works
ok imap login: as hub@example.test
ok imap IDLE: mail is noticed at once
ok imap MOVE: mails that are done are moved
ok imap folder INBOX: 0 mails
ok imap folder Beckon/Processed: for processed mails
ok imap folder Beckon/Rejected: for rejected mails
ok imap folder Beckon/Unmatched: for unmatched mails
ok imap folder Beckon/Failed: for failed mails
ok answers: come to addresses such as hub+qTOKEN@example.test, which your mail server must let in
ok a mail from hub@example.test to hub+qTOKEN@example.test: sent and received`

// A check against a real MTA and a real mailbox that has none of the hub's folders.
func TestCheckLive(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailtest.DovecotOptions{}, mailtest.EximOptions{})
	if got := s.check(nil); got != plainSite {
		t.Errorf("got\n%s\nwant\n%s", got, plainSite)
	}
	if got := strings.Join(s.dovecot.Folders("hub"), " "); !strings.Contains(got, "Beckon/Failed Beckon/Processed Beckon/Rejected Beckon/Unmatched") {
		t.Errorf("the folders are %s", got)
	}
	mails := s.dovecot.Mails("hub", "INBOX")
	if len(mails) != 1 || len(mails[0].Flags) > 0 && mails[0].Flags[0] == `\Seen` {
		t.Fatalf("%d mails lie in INBOX, or one was changed: %v", len(mails), mails)
	}
	// Whoever reads the mailbox knows that mail as the hub's own.
	c := s.channel()
	if f, err := c.receive(t.Context(), arrival{raw: mails[0].Raw}); f != filed || err != nil || !strings.Contains(s.logs.String(), "kind=loop") {
		t.Errorf("the hub makes of its own mail: %v, %v\n%s", f, err, s.logs)
	}
	// A hub that runs may have moved it meanwhile.
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	err := mailtest.Eventually(func() error {
		if last, problem := c.Alive(); last.IsZero() {
			return context.DeadlineExceeded
		} else if problem != "" {
			t.Error(problem)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("the hub does not read its mailbox: %s", s.logs)
	}
	if got := s.check(nil); !strings.HasSuffix(got, "sent and received") {
		t.Errorf("beside a hub that runs:\n%s", got)
	}
}

func TestCheckLiveFindsFaults(t *testing.T) {
	t.Parallel()
	plain, secure := newSite(t, mailtest.DovecotOptions{}, mailtest.EximOptions{}), newSite(t, mailtest.DovecotOptions{TLS: true}, mailtest.EximOptions{TLS: true, Auth: true})
	closed := "127.0.0.1:" + freePort(t)
	for name, tt := range map[string]struct {
		secure  bool
		dovecot string // more lines for a Dovecot of its own
		change  func(*site)
		until   func(*site) error // its time is over then
		want    []string
		not     []string
	}{
		"signed in over TLS": {
			secure: true,
			change: func(s *site) { s.conf.SMTP.TLS, s.conf.SMTP.Password = tlsStart, hub.NewSecret(mailtest.Password) },
			want:   []string{"ok SMTP login at HOST:PORT: as hub@example.test, TLS by STARTTLS", "sent and received"},
		},
		"wrong password of the mailbox": {
			change: func(s *site) { s.conf.IMAP.Password = hub.NewSecret("not-the-password") },
			want: []string{
				"ok imap connection: works\nNO imap login: log in to HOST:PORT as hub@example.test: the server refused it: Authentication failed.",
				"are the user name and the password right?",
				"NO a mail from hub@example.test to hub+qTOKEN@example.test: it was sent, and whether it arrived can't be seen: log in to",
			},
		},
		"wrong password of the SMTP server": {
			secure: true,
			change: func(s *site) {
				s.conf.SMTP.TLS, s.conf.SMTP.Password = tlsStart, hub.NewSecret("not-the-password")
			},
			want: []string{"NO SMTP login at HOST:PORT: HOST:PORT does not take the user or the password (535", "look at smtp.user and smtp.password", "ok imap login"},
			not:  []string{"a mail from"},
		},
		"no password where one is wanted": {
			secure: true,
			want:   []string{"NO a mail from hub@example.test to hub+qTOKEN@example.test: HOST:PORT takes no mail for that address (550 log in first)"},
		},
		"wrong host of the mailbox": {
			change: func(s *site) { s.conf.IMAP.Host, s.conf.IMAP.Port = hostPort(s.t, closed) },
			want:   []string{"NO imap connection: connect to HOST:PORT: dial tcp HOST:PORT: connect: connection refused", "it was sent, and whether it arrived can't be seen: connect to"},
		},
		"wrong host of the SMTP server": {
			change: func(s *site) { s.conf.SMTP.Host, s.conf.SMTP.Port = hostPort(s.t, closed) },
			want:   []string{"NO SMTP at HOST:PORT: HOST:PORT can't be reached", "look at smtp.host and smtp.port", "ok imap login"},
			not:    []string{"a mail from"},
		},
		"foreign certificate of the mailbox": {
			secure: true,
			change: func(s *site) {
				s.conf.IMAP.Host, s.conf.IMAP.Port = hostPort(s.t, s.dovecot.IMAPSAddr)
				s.conf.IMAP.TLS = tlsWhole
				s.conf.SMTP.TLS, s.conf.SMTP.Password = tlsStart, hub.NewSecret(mailtest.Password)
			},
			want: []string{"NO imap connection: connect to HOST:PORT: its certificate is signed by nobody whom this machine trusts", "can't be seen"},
		},
		"foreign certificate of the SMTP server": {
			secure: true,
			change: func(s *site) { s.conf.SMTP.TLS, s.trust = tlsStart, nil },
			want:   []string{"NO SMTP at HOST:PORT: the certificate of HOST:PORT is not one that this machine trusts"},
			not:    []string{"a mail from"},
		},
		"certificate for another name": {
			change: func(s *site) {
				p := startPeer(s.t, peerOptions{tls: tlsWhole, name: "mail.example.test"})
				s.conf.SMTP.TLS, s.conf.SMTP.Host, s.conf.SMTP.Port, s.trust = tlsWhole, p.host, p.port, p.roots
			},
			want: []string{"NO SMTP at HOST:PORT: the certificate of HOST:PORT is for mail.example.test; write its name into smtp.host"},
		},
		"no TLS there": {
			change: func(s *site) { s.conf.SMTP.TLS = tlsStart },
			want:   []string{"NO SMTP at HOST:PORT: HOST:PORT does not offer STARTTLS"},
		},
		"a folder that is not there": {
			change: func(s *site) { s.conf.IMAP.Folders = []string{"Answers"} },
			want:   []string{"NO imap folders: there is no folder Answers in the mailbox; make it, or change the folders in the config"},
		},
		"a second folder that is not there": {
			change: func(s *site) { s.conf.IMAP.Folders = []string{"INBOX", "Answers"} },
			want:   []string{"NO imap folders: there is no folder Answers in the mailbox", "sent and received"},
		},
		"taken for spam": {
			change: func(s *site) { into(s, "Junk") },
			want:   []string{`NO a mail from hub@example.test to hub+qTOKEN@example.test: it lies in Junk, which the hub does not read, and so would answers. Have the server take it for no spam, or add \Junk to imap.folders`},
		},
		"spam is read": {
			change: func(s *site) { into(s, "Junk"); s.conf.IMAP.Folders = []string{"INBOX", `\Junk`} },
			want:   []string{"ok imap folder Junk: ", "sent and received"},
		},
		"put into a folder of its own": {
			dovecot: "protocol lmtp {\n  lmtp_save_to_detail_mailbox = yes\n}\nlda_mailbox_autocreate = yes\n",
			until: func(s *site) error {
				for _, f := range s.dovecot.Folders("hub") {
					if len(f) == len("q")+tokenChars && len(s.dovecot.Mails("hub", f)) == 1 {
						return nil
					}
				}
				return errors.New("no folder of the token's name has the mail")
			},
			want: []string{"it was sent and did not arrive within", "Look whether a filter put it into another folder"},
		},
		"no plus addresses": {
			dovecot: "recipient_delimiter = -\n",
			until: func(s *site) error {
				if !strings.Contains(s.exim.Log(), "550 5.1.1") {
					return errors.New("the mailbox has not refused it")
				}
				return nil
			},
			want: []string{"it was sent and did not arrive within", "a server that lets in no mail for hub+anything needs plus: off."},
		},
		"no plus addresses, and said so": {
			dovecot: "recipient_delimiter = -\n",
			change:  func(s *site) { s.conf.Plus = plusOff },
			want:    []string{"ok answers: come to hub@example.test and are known by the mail that they answer", "ok a mail from hub@example.test to hub@example.test: sent and received"},
		},
		"Message-IDs are replaced": {
			change: func(s *site) {
				into(s, "INBOX", func(raw string) string {
					return regexp.MustCompile(`(?m)^Message-ID: .*$`).ReplaceAllString(raw, "Message-ID: <0100@eu-west-1.amazonses.com>")
				})
			},
			want: []string{"sent and received"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := plain.copy(t)
			switch {
			case tt.secure:
				s = secure.copy(t)
			case tt.dovecot != "":
				s = newSite(t, mailtest.DovecotOptions{Extra: tt.dovecot}, mailtest.EximOptions{})
			}
			if tt.change != nil {
				tt.change(s)
			}
			var until func() error
			if tt.until != nil {
				until = func() error { return tt.until(s) }
			}
			got := s.check(until)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("want %q in\n%s", w, got)
				}
			}
			for _, n := range tt.not {
				if strings.Contains(got, n) {
					t.Errorf("there is %q in\n%s", n, got)
				}
			}
			if strings.Contains(got, "not-the-password") {
				t.Error("it shows the password")
			}
		})
	}
}

// into puts a server in the place of the MTA which files what it takes itself, as
// one with a spam filter does, or changes it on the way.
func into(s *site, folder string, change ...func(string) string) {
	p := startPeer(s.t, peerOptions{tls: tlsNone})
	p.fault(func(p *peer) {
		p.onData = func(_ net.Conn, raw []byte) error {
			for _, f := range change {
				raw = []byte(f(string(raw)))
			}
			s.dovecot.Append("hub", folder, time.Time{}, raw)
			return nil
		}
	})
	s.conf.SMTP.Host, s.conf.SMTP.Port = p.host, p.port
}

// ownMX makes a site whose mail server hands the hub's mail over at an address.
func ownMX(t *testing.T, port string) *site {
	t.Helper()
	s := newSite(t, mailtest.DovecotOptions{}, mailtest.EximOptions{Other: "127.0.0.1:" + port, OtherUsers: []string{"hub"}})
	s.conf.IMAP, s.conf.Listen = nil, &listenSection{Address: "127.0.0.1:" + port}
	return s
}

// freePort is one on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestCheckLiveOfAnOwnMX(t *testing.T) {
	t.Parallel()
	s := ownMX(t, freePort(t))
	want := `ok SMTP at HOST:PORT: without signing in, no TLS, on this machine
ok answers: come to addresses such as hub+qTOKEN@example.test, which your mail server must let in
ok listening at HOST:PORT: the address is free; the check listens there for a moment
ok a mail from hub@example.test to hub+qTOKEN@example.test: sent and received`
	if got := s.check(nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	// Beside a hub that runs.
	c := s.channel()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	if err := mailtest.Eventually(func() error {
		if c.listener.Addr() == "" {
			return context.DeadlineExceeded
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got := s.check(nil)
	for _, w := range []string{
		"ok listening at HOST:PORT: somebody does already, as a hub does that runs",
		`ok a mail from hub@example.test to hub@example.test: handed over; whether it arrives can't be watched from here: the log of the hub that runs then has "a mail came in" with kind=loop`,
	} {
		if !strings.Contains(got, w) {
			t.Errorf("want %q in\n%s", w, got)
		}
	}
	if err := mailtest.Eventually(func() error {
		if !strings.Contains(s.logs.String(), `msg="a mail came in" kind=loop`) {
			return context.DeadlineExceeded
		}
		return nil
	}); err != nil {
		t.Errorf("the hub that runs did not get it:\n%s\n%s", s.logs, s.exim.Log())
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCheckLiveOfAnOwnMXFindsFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*site)
		until  func(*site) error
		want   []string
		not    string
	}{
		"handed to somebody else": {
			until: func(s *site) error {
				if !strings.Contains(s.exim.Log(), "Connection refused") {
					return errors.New("the MTA has not tried to hand it over")
				}
				return nil
			},
			change: func(s *site) { s.conf.Listen.Address = "127.0.0.1:" + freePort(s.t) },
			want:   []string{"NO a mail from hub@example.test to hub+qTOKEN@example.test: it was sent and did not arrive within", "Look into the log and the queue of your mail server: does it hand mail for this address over to HOST:PORT, and may it connect there?"},
		},
		"no such folder": {
			change: func(s *site) { s.conf.Listen.Address = "unix:" + filepath.Join(dir, "none", "lmtp") },
			want:   []string{"NO listening at unix:" + dir, "no such file or directory; would the hub get there, which may run as another user?"},
			not:    "a mail from",
		},
		"a file in its place": {
			change: func(s *site) { s.conf.Listen.Address = "unix:" + filepath.Join(dir, "file") },
			want:   []string{"file is there and is not a socket; take it away or choose another path"},
			not:    "a mail from",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownMX(t, freePort(t))
			tt.change(s)
			var until func() error
			if tt.until != nil {
				until = func() error { return tt.until(s) }
			}
			got := s.check(until)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("want %q in\n%s", w, got)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("there is %q in\n%s", tt.not, got)
			}
		})
	}
}

// While a check listens in the place of the hub, nobody's answer gets lost.
func TestCheckTakesNobodysAnswer(t *testing.T) {
	t.Parallel()
	s := ownMX(t, freePort(t))
	c := s.channel()
	m := c.newSelfMail()
	e, err := c.listenFor(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	defer e.stop()
	answer := mailtest.Text("2", "From: alice@example.com", "Subject: Re: ship it?")
	for _, to := range []string{"hub@example.test", "hub+qaaaaaaaaaaaaaaaaaaaa@example.test", m.to} {
		if err := mailtest.LMTP("tcp", s.conf.Listen.Address, "alice@example.com", answer, to); err == nil || !strings.Contains(err.Error(), "4") || strings.Contains(err.Error(), "550") {
			t.Errorf("mail to %s: %v; want it to come again", to, err)
		}
	}
	select {
	case <-e.heard:
		t.Error("somebody's answer passed for the mail of the check")
	default:
	}
	// Its own may come in upper case, and twice.
	own := mailtest.Text("hello", "Message-ID: <"+m.id+">")
	for range 2 {
		if err := mailtest.LMTP("tcp", s.conf.Listen.Address, "hub@example.test", own, strings.ToUpper(m.to)); err != nil {
			t.Error(err)
		}
	}
	if err := e.wait(t.Context(), m.id); err != nil {
		t.Error(err)
	}
	e.stop()
	if conn, err := net.Dial("tcp", s.conf.Listen.Address); err == nil {
		_ = conn.Close()
		t.Error("it still listens")
	}
}
