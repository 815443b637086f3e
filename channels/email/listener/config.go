package listener

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"time"
)

// Protocol is what the listener speaks.
type Protocol string

// The protocols. LMTP is for a mail server that delivers, and answers for each
// recipient; SMTP is for one that relays, or that has no LMTP.
const (
	LMTP Protocol = "lmtp"
	SMTP Protocol = "smtp"
)

// Config says where mail is taken and how much of it. Zero fields have the
// values named here.
type Config struct {
	// Addr is "127.0.0.1:2424", "[::1]:2424", "localhost:2424", or the absolute
	// path of a unix socket.
	Addr     string
	Protocol Protocol // LMTP
	Name     string   // of this machine, in greetings: "beckon"
	// AllowRemote lets Addr be reached from elsewhere. Anybody there can then
	// send mail in any name, so something must keep strangers away.
	AllowRemote bool
	// SocketMode is who may connect to a unix socket: 0660, the user and the
	// group of the hub.
	SocketMode fs.FileMode

	MaxSize        int64 // bytes of a mail: 25 MB
	MaxRecipients  int   // of a mail: 100
	MaxConnections int   // at a time: 50
	MaxLine        int   // bytes of a line: 1 MB

	Idle   time.Duration // for the next command, and for all of a mail: 5 min
	Write  time.Duration // for an answer to be taken: 1 min
	Handle time.Duration // for the handler: 2 min
	Grace  time.Duration // for handlers when the hub ends: 10 s
}

// Mail is one mail that came in.
type Mail struct {
	From string // of the envelope; "" for the null sender, as of bounces
	// To are the recipients of the envelope that were accepted, each once, as
	// they were written. There is one at least.
	To []string
	// Raw is the mail, with Return-Path and a Delivered-To for each recipient
	// before what was sent.
	Raw  []byte
	Peer string // who sent it: "127.0.0.1:4711", or "unix"
	Helo string // the name that they gave
	At   time.Time
}

// Hooks are what the listener asks of the hub. Both functions are needed.
type Hooks struct {
	// Accept reports whether mail for an address is ours: a token that was given
	// out, whatever became of it since, an address for bounces, the From address.
	// The sender may have changed its case. An error is a temporary failure.
	Accept func(ctx context.Context, rcpt string) (bool, error)
	// Handle takes a mail. When it returns without error the mail is committed.
	// An error is a temporary failure, and the mail comes again, unless it is a
	// [*Refusal].
	Handle func(ctx context.Context, m Mail) error
	Log    *slog.Logger // slog.Default unless given
}

// Refusal is the handler's error for a mail that is not taken and must not come
// again. The sender's mail server tells the sender.
type Refusal struct {
	Msg string // for the sender, one line
}

func (r *Refusal) Error() string { return r.Msg }

// prepare fills in what is not given, and says what is wrong.
func (c Config) prepare() (Config, error) {
	c.Protocol = cmp.Or(c.Protocol, LMTP)
	c.Name = cmp.Or(c.Name, "beckon")
	c.SocketMode = cmp.Or(c.SocketMode, 0o660)
	c.MaxSize = cmp.Or(c.MaxSize, 25<<20)
	c.MaxRecipients = cmp.Or(c.MaxRecipients, 100)
	c.MaxConnections = cmp.Or(c.MaxConnections, 50)
	c.MaxLine = cmp.Or(c.MaxLine, 1<<20)
	c.Idle = cmp.Or(c.Idle, 5*time.Minute)
	c.Write = cmp.Or(c.Write, time.Minute)
	c.Handle = cmp.Or(c.Handle, 2*time.Minute)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	var errs []error
	if c.Protocol != LMTP && c.Protocol != SMTP {
		errs = append(errs, fmt.Errorf("protocol %q is neither lmtp nor smtp", c.Protocol))
	}
	if c.MaxSize < 0 || c.MaxRecipients < 0 || c.MaxConnections < 0 || c.MaxLine < 0 {
		errs = append(errs, errors.New("a limit of the mail listener is negative"))
	}
	if strings.ContainsFunc(c.Name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		errs = append(errs, fmt.Errorf("the name %q of the mail listener has a space in it", c.Name))
	}
	return c, errors.Join(append(errs, c.checkAddr())...)
}

// isSocket reports whether Addr is a unix socket.
func (c Config) isSocket() bool { return strings.HasPrefix(c.Addr, "/") }

// longestSocket is what a unix socket's path may be on Linux, without its end;
// elsewhere it is a little less (sun_path of unix(7)).
const longestSocket = 107

func (c Config) checkAddr() error {
	if c.isSocket() {
		if len(c.Addr) > longestSocket {
			return fmt.Errorf("the path of the socket %s is longer than %d bytes, which the system does not allow", c.Addr, longestSocket)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil || port == "" {
		return fmt.Errorf("the mail listener's address %q is neither host and port, such as 127.0.0.1:2424, nor the absolute path of a socket", c.Addr)
	}
	ip := net.ParseIP(host)
	if !c.AllowRemote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("the mail listener's address %s can be reached from elsewhere, and whoever reaches it can send mail in any name; use 127.0.0.1, [::1] or a socket", c.Addr)
	}
	return nil
}
