package email

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"beckon/channels/channeltest"
	"beckon/hub"

	"github.com/emersion/go-smtp"
)

// refuse is what a server says.
func refuse(code, a, b, c int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{a, b, c}, Message: text}
}

// deliveryError is what posting must fail with.
func deliveryError(t *testing.T, err error) *hub.DeliveryError {
	t.Helper()
	de, ok := errors.AsType[*hub.DeliveryError](err)
	if !ok {
		t.Fatalf("got %v, want a delivery error", err)
	}
	return de
}

func TestSendWays(t *testing.T) {
	t.Parallel()
	token := func(c *section) {
		c.SMTP.Password = hub.Secret{}
		c.IMAP.Password = hub.Secret{}
		c.OAuth = &oauthSection{TokenURL: "https://login.example.com/token", ClientID: "id", ClientSecret: hub.NewSecret("s"), Scope: "mail"}
	}
	for name, tt := range map[string]struct {
		tls    string
		mechs  []string
		change func(*section)
		user   string
	}{
		"starttls, plain":  {tlsStart, []string{"LOGIN", "PLAIN", "XOAUTH2"}, nil, "PLAIN hub@example.com"},
		"tls, login":       {tlsWhole, []string{"LOGIN"}, nil, "LOGIN hub@example.com"},
		"starttls, cram":   {tlsStart, []string{"CRAM-MD5"}, nil, "CRAM-MD5 hub@example.com"},
		"none, plain":      {tlsNone, []string{"PLAIN"}, nil, "PLAIN hub@example.com"},
		"starttls, token":  {tlsStart, []string{"PLAIN", "XOAUTH2"}, token, "XOAUTH2 hub@example.com"},
		"another user":     {tlsWhole, []string{"PLAIN"}, func(c *section) { c.SMTP.User = "apikey" }, "PLAIN apikey"},
		"without a login":  {tlsStart, nil, func(c *section) { c.SMTP.Password = hub.Secret{} }, ""},
		"no login, no TLS": {tlsNone, []string{"PLAIN"}, func(c *section) { c.SMTP.Password = hub.Secret{} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, nil, peerOptions{tls: tt.tls}, func(c *section) {
				if tt.change != nil {
					tt.change(c)
				}
			})
			w.peer.mechs = tt.mechs
			w.ch.out.tokens = fixedToken(w.peer.secret)
			p := w.mustPost(channeltest.Ask("msg_a"))
			m := w.peer.only()
			if m.user != tt.user || m.tls != (tt.tls != tlsNone) {
				t.Errorf("it came from %q, over TLS %v; want %q, %v", m.user, m.tls, tt.user, tt.tls != tlsNone)
			}
			if m.to != "alice@example.com" || m.from != "hub+b"+w.ch.verpToken(p.Ref)+"@example.com" {
				t.Errorf("it went from %s to %s", m.from, m.to)
			}
			if p.Ref != p.Thread || "<"+p.Ref+">" != parsed(t, m.raw).Header.Get("Message-ID") {
				t.Errorf("the posting is named %q in thread %q, the mail %s", p.Ref, p.Thread, parsed(t, m.raw).Header.Get("Message-ID"))
			}
		})
	}
}

type fixedToken string

func (f fixedToken) Token(context.Context) (string, error) { return string(f), nil }

// TestSendErrors holds what becomes of everything that a server may say.
func TestSendErrors(t *testing.T) {
	t.Parallel()
	rcpt := func(err error) func(*peer) {
		return func(p *peer) { p.fault(func(p *peer) { p.onRcpt = func(string) error { return err } }) }
	}
	from := func(err error) func(*peer) {
		return func(p *peer) { p.fault(func(p *peer) { p.onMail = func(string) error { return err } }) }
	}
	data := func(err error) func(*peer) {
		return func(p *peer) { p.fault(func(p *peer) { p.onData = func(net.Conn, []byte) error { return err } }) }
	}
	breakAt := func(stage string) func(*peer) {
		return func(p *peer) {
			switch stage {
			case "MAIL":
				p.fault(func(p *peer) { p.onMail = func(string) error { p.drop(); return nil } })
			case "RCPT":
				p.fault(func(p *peer) { p.onRcpt = func(string) error { p.drop(); return nil } })
			case "DATA":
				p.fault(func(p *peer) { p.onData = func(c net.Conn, _ []byte) error { return c.Close() } })
			}
		}
	}
	for name, tt := range map[string]struct {
		o         peerOptions
		fault     func(*peer)
		change    func(*world)
		code      string
		permanent bool
		maybe     bool
		says      string
	}{
		"greylisted":            {fault: rcpt(refuse(451, 4, 7, 1, "try again later")), code: "deferred", says: "451 4.7.1 try again later"},
		"too many":              {fault: from(refuse(421, 4, 7, 0, "too many connections")), code: "busy"},
		"mailbox full for now":  {fault: rcpt(refuse(452, 4, 2, 2, "over quota")), code: "deferred"},
		"no such mailbox":       {fault: rcpt(refuse(550, 5, 1, 1, "no such user")), code: "bounced", permanent: true, says: "no mailbox of Alice Ng"},
		"mailbox full":          {fault: rcpt(refuse(552, 5, 2, 2, "full")), code: "bounced", permanent: true, says: "is full"},
		"rule":                  {fault: rcpt(refuse(550, 5, 7, 26, "unauthenticated")), code: "bounced", permanent: true, says: "SPF or DKIM"},
		"too large by RCPT":     {fault: rcpt(refuse(552, 5, 3, 4, "too big")), code: "too_large", permanent: true},
		"without words":         {fault: rcpt(&smtp.SMTPError{Code: 550, EnhancedCode: smtp.NoEnhancedCode, Message: ""}), code: "bounced", permanent: true},
		"sender":                {fault: from(refuse(553, 5, 1, 8, "who?")), code: "sender_refused", permanent: true, says: "hub@example.com"},
		"wants a login":         {fault: from(refuse(530, 5, 7, 0, "Authentication required")), code: "auth", permanent: true, says: "smtp.user"},
		"content":               {fault: data(refuse(554, 5, 7, 1, "spam")), code: "refused", permanent: true, says: "spam"},
		"content, for now":      {fault: data(refuse(451, 4, 3, 0, "scanner is away")), code: "deferred"},
		"too large at the end":  {fault: data(refuse(552, 5, 3, 4, "too big")), code: "too_large", permanent: true},
		"too large by SIZE":     {o: peerOptions{size: 2000}, code: "too_large", permanent: true, says: "2000"},
		"breaks at MAIL":        {fault: breakAt("MAIL"), code: "broken"},
		"breaks at RCPT":        {fault: breakAt("RCPT"), code: "broken"},
		"breaks after DATA":     {fault: breakAt("DATA"), code: "broken", maybe: true},
		"wrong password":        {fault: func(p *peer) { p.secret = "x" }, code: "auth", permanent: true, says: "smtp.password"},
		"no way to sign in":     {fault: func(p *peer) { p.mechs = []string{"NTLM", "GSSAPI"} }, code: "auth", permanent: true, says: "NTLM, GSSAPI"},
		"no STARTTLS":           {change: func(w *world) { w.ch.conf.SMTP.TLS = tlsStart; w.ch.out.conf.TLS = tlsStart }, code: "tls", permanent: true, says: "STARTTLS"},
		"TLS where none is":     {change: func(w *world) { w.ch.out.conf.TLS = tlsWhole }, code: "tls", says: "smtp.tls"},
		"unknown certificate":   {o: peerOptions{tls: tlsStart}, change: func(w *world) { w.ch.out.roots = nil }, code: "tls", permanent: true, says: "certificate"},
		"another's certificate": {o: peerOptions{tls: tlsWhole, name: "mail.example.net"}, code: "tls", permanent: true, says: "mail.example.net"},
		"nobody listens":        {change: func(w *world) { _ = w.peer.ln.Close() }, code: "unreachable", says: "smtp.host"},
		"no such host":          {change: func(w *world) { w.ch.out.conf.Host = "smtp.invalid" }, code: "unreachable"},
		"refused at once": {fault: func(p *peer) {
			p.fault(func(p *peer) { p.onConn = func() error { return refuse(554, 5, 7, 1, "go away") } })
		}, code: "refused", permanent: true, says: "go away"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.o.tls == "" {
				tt.o.tls = tlsNone
			}
			w := startWorld(t, nil, tt.o)
			if tt.fault != nil {
				tt.fault(w.peer)
			}
			if tt.change != nil {
				tt.change(w)
			}
			p, err := w.post(channeltest.Ask("msg_a"))
			de := deliveryError(t, err)
			if de.Code != tt.code || de.Permanent != tt.permanent || de.MaybeSent != tt.maybe || de.Msg == "" || !strings.Contains(de.Msg, tt.says) {
				t.Errorf("got %+v; want code %q, permanent %v, maybe sent %v, with %q", de, tt.code, tt.permanent, tt.maybe, tt.says)
			}
			m, err := w.ch.row(t.Context(), hashed(keyID, p.Ref))
			if err != nil {
				t.Fatal(err)
			}
			if begun := m != nil && m.State == stateBegun; begun != tt.maybe {
				t.Errorf("what is noted of the mail is %+v, want begun: %v", m, tt.maybe)
			}
		})
	}
}

// TestSendAgain holds that a mail whose end nobody saw goes out again under the
// same name, and one that was taken does not.
func TestSendAgain(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	var n atomic.Int32
	w.peer.fault(func(p *peer) {
		p.onData = func(c net.Conn, raw []byte) error {
			if n.Add(1) == 1 {
				// Taken, and the answer is lost.
				w.peer.mu.Lock()
				w.peer.mails = append(w.peer.mails, received{raw: raw})
				w.peer.mu.Unlock()
				_ = c.Close()
				return errors.New("nobody hears this")
			}
			return nil
		}
	})
	card := channeltest.Ask("msg_a")
	r := w.request(card)
	_, err := w.ch.Post(t.Context(), r)
	if de := deliveryError(t, err); !de.MaybeSent {
		t.Fatalf("got %+v, want one that may have been sent", de)
	}
	r.Attempt, r.MaybeSent = 2, true
	for range 2 {
		if _, err := w.ch.Post(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Attempt++
	}
	all := w.peer.got()
	if len(all) != 2 {
		t.Fatalf("%d mails arrived, want 2", len(all))
	}
	a, b := parsed(t, all[0].raw).Header, parsed(t, all[1].raw).Header
	for _, name := range []string{"Message-Id", "Subject", "Reply-To", "Content-Type"} {
		if a.Get(name) != b.Get(name) {
			t.Errorf("%s is %q, then %q", name, a.Get(name), b.Get(name))
		}
	}
}

// TestSlowServer holds that a server that takes its time is not waited for longer
// than there is time.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stage string
		maybe bool
	}{"at RCPT": {"RCPT", false}, "after DATA": {"DATA", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, nil, peerOptions{tls: tlsNone})
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			reached := make(chan struct{}, 1)
			wait := func() { reached <- struct{}{}; <-over }
			w.peer.fault(func(p *peer) {
				p.onRcpt = func(string) error {
					if tt.stage == "RCPT" {
						wait()
					}
					return nil
				}
			})
			w.peer.fault(func(p *peer) { p.onData = func(net.Conn, []byte) error { wait(); return nil } })
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := w.ch.Post(ctx, w.request(channeltest.Ask("msg_a")))
			if de := deliveryError(t, err); de.Code != "timeout" || de.Permanent || de.MaybeSent != tt.maybe {
				t.Errorf("got %+v, want a time-out, maybe sent: %v", de, tt.maybe)
			}
			<-reached

			// A hub that stops is no failed delivery.
			ctx, stop := context.WithCancel(t.Context())
			go func() { <-reached; stop() }()
			_, err = w.ch.Post(ctx, w.request(channeltest.Ask("msg_b")))
			if _, ok := errors.AsType[*hub.DeliveryError](err); ok || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want that it was cancelled", err)
			}
		})
	}
}

// TestConnectionsAreKept holds that mails share connections, that none is kept for
// nothing, and that one which the server gave up costs nothing.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsStart})
	w.ch.out.idleIn = 300 * time.Millisecond
	w.run()
	for _, id := range []string{"msg_a", "msg_b", "msg_c"} {
		w.mustPost(channeltest.Ask(id))
	}
	if n := w.peer.connections(); n != 1 && n != 2 { // go-smtp counts a session for each hello
		t.Errorf("%d connections for three mails, want 1", n)
	}
	// A refusal does not end the connection.
	before := w.peer.connections()
	w.peer.fault(func(p *peer) { p.onRcpt = func(string) error { return refuse(550, 5, 1, 1, "no") } })
	if _, err := w.post(channeltest.Ask("msg_d")); err == nil {
		t.Fatal("it went out")
	}
	w.peer.fault(func(p *peer) { p.onRcpt = nil })
	w.mustPost(channeltest.Ask("msg_e"))
	if n := w.peer.connections(); n != before {
		t.Errorf("%d connections after a refusal, want %d", n, before)
	}
	// What is idle is closed; the next mail opens another.
	w.until("the connection is closed", func() bool {
		w.ch.out.mu.Lock()
		defer w.ch.out.mu.Unlock()
		return len(w.ch.out.idle) == 0
	})
	w.mustPost(channeltest.Ask("msg_f"))
	// One that the server has closed is not used, and the mail is not lost.
	w.peer.drop()
	w.mustPost(channeltest.Ask("msg_g"))
	if n := len(w.peer.got()); n != 6 {
		t.Errorf("%d mails arrived, want 6", n)
	}
}

// TestKeptConnectionIsRefused holds that a server which has had enough of a
// connection gets the mail on another.
func TestKeptConnectionIsRefused(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	w.run()
	var n atomic.Int32
	w.peer.fault(func(p *peer) {
		p.onMail = func(string) error {
			if n.Add(1) == 2 {
				return refuse(421, 4, 7, 0, "too many mails on this connection")
			}
			return nil
		}
	})
	w.mustPost(channeltest.Ask("msg_a"))
	w.mustPost(channeltest.Ask("msg_b"))
	if len(w.peer.got()) != 2 || n.Load() != 3 {
		t.Errorf("%d mails after %d tries, want 2 after 3", len(w.peer.got()), n.Load())
	}
}

// TestTokenIsReplaced holds that an access token which a server does not take is
// asked for anew.
func TestTokenIsReplaced(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsStart}, func(c *section) {
		c.SMTP.Password, c.IMAP.Password = hub.Secret{}, hub.Secret{}
		c.OAuth = &oauthSection{Provider: "google", ClientID: "id", ClientSecret: hub.NewSecret("s")}
	})
	w.peer.mechs, w.peer.secret = []string{"XOAUTH2"}, "new"
	src := &tokens{list: []string{"old", "new"}}
	w.ch.out.tokens = src
	_, err := w.post(channeltest.Ask("msg_a"))
	if de := deliveryError(t, err); de.Code != "auth" || de.Permanent || !strings.Contains(de.Msg, "status 401") || strings.Contains(de.Error(), "old") {
		t.Errorf("got %+v, want a refused login that may work next time", de)
	}
	w.mustPost(channeltest.Ask("msg_a"))
	if src.refused != "old" {
		t.Errorf("the token %q was called refused, want old", src.refused)
	}
	src.err = errors.New("the refresh token is no longer valid")
	_, err = w.post(channeltest.Ask("msg_b"))
	if de := deliveryError(t, err); de.Code != "oauth" || !strings.Contains(de.Msg, "refresh token") {
		t.Errorf("got %+v, want that there is no token", de)
	}
}

type tokens struct {
	list    []string
	refused string
	err     error
}

func (s *tokens) Token(context.Context) (string, error) { return s.list[0], s.err }

func (s *tokens) Refused(token string) {
	s.refused = token
	s.list = s.list[1:]
}

// TestAddressesBeyondASCII holds that a domain goes out in ASCII, and a name only
// where it can.
func TestAddressesBeyondASCII(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		email, to string
		utf8      bool
		code      string
	}{
		"domain":                 {"alice@bücher.example", "alice@xn--bcher-kva.example", false, ""},
		"name":                   {"älice@example.com", "älice@example.com", true, ""},
		"name, and server can't": {"älice@example.com", "", false, "bounced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := channeltest.Directory()
			d.People["alice"].Email = tt.email
			w := startWorld(t, channeltest.NewDesk(d), peerOptions{tls: tlsNone, utf8: tt.utf8})
			_, err := w.post(channeltest.Ask("msg_a"))
			if tt.code != "" {
				if de := deliveryError(t, err); de.Code != tt.code || !de.Permanent {
					t.Errorf("got %+v, want %s", de, tt.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := w.peer.only(); m.to != tt.to {
				t.Errorf("it went to %s, want %s", m.to, tt.to)
			}
		})
	}
}
