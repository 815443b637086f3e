package mailbox

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"
)

// Security is how the connection is kept private.
type Security string

// The ways. Without TLS a password and everybody's mail travel readable.
const (
	TLS      Security = "tls"      // from the start, usually port 993 (RFC 8314)
	StartTLS Security = "starttls" // after a command, usually port 143
	Plain    Security = "none"     // not at all: on this machine only
)

// Config says which mailbox is read and how.
type Config struct {
	Addr     string      // "imap.example.com:993"
	Security Security    // TLS unless given
	TLS      *tls.Config // to trust other certificates than the system does; nil usually
	// AllowPlain lets Security be Plain to another machine. For networks that
	// are private by other means.
	AllowPlain bool

	Username string
	Password string       // or
	Tokens   *TokenSource // for XOAUTH2 and OAUTHBEARER
	// Mechanism is how to log in: "LOGIN", "PLAIN", "XOAUTH2" or "OAUTHBEARER".
	// "" takes the best that the server offers.
	Mechanism string

	// Folders are the folders to read, the one where mail arrives first; INBOX
	// unless given. A name that begins with "\" is a role (RFC 6154), such as
	// "\Junk": the folder that the server uses for it, whatever its name. "/"
	// stands for whatever separates names at the server.
	Folders []string
	// Where mails go once they are done. They are made if they are not there.
	// "" leaves such mails where they are.
	Processed, Rejected, Unmatched, Failed string

	// Backfill is how far back a folder is read that was never read before; 0 is
	// not at all.
	Backfill time.Duration
	// MaxSize is the size in bytes beyond which only the beginning of a mail is
	// fetched; 25 MB unless given.
	MaxSize int64

	Timing Timing
}

// Timing is how long things take; zero fields have the values named here.
type Timing struct {
	Command time.Duration // an answer may take: 30 s
	CatchUp time.Duration // between two looks at the mailbox, whatever IDLE says: 5 min
	Idle    time.Duration // one IDLE: 9 min; RFC 2177 allows 29, many networks less
	Poll    time.Duration // between two looks when the server has no IDLE: 60 s
	Handle  time.Duration // the handler may take: 2 min
	Lease   time.Duration // a lease holds: 30 s; it is renewed after a third
	Retry   time.Duration // until a mail whose handler failed is tried again: 10 s, then 6 times as long

	Backoff    time.Duration // until the next connection after a failure: 1 s, doubled
	MaxBackoff time.Duration // 5 min, also when the server has too many connections
	AuthWait   time.Duration // after a refused login: 5 min, doubled
	MaxAuth    time.Duration // 1 h
}

const (
	defaultMaxSize = 25 << 20
	// beginning is how much is fetched of a mail that is too big: its headers and
	// first part, in all likelihood.
	beginning = 1 << 20
	// window is how far below the newest mail one may still appear: UIDs can
	// arrive out of order when a server has several front ends.
	window = 50
	// rescan is how far back is read again when UIDs became void.
	rescan = 14 * 24 * time.Hour
	// tries is how often a mail is handled before it is set aside, and fetchTries
	// how often it is fetched, which may fail for reasons that pass.
	tries      = 3
	fetchTries = 5
	// keyword marks mails that are done, where the server keeps keywords.
	keyword = "$BeckonDone"
)

func (t Timing) withDefaults() Timing {
	t.Command = cmp.Or(t.Command, 30*time.Second)
	t.CatchUp = cmp.Or(t.CatchUp, 5*time.Minute)
	t.Idle = cmp.Or(t.Idle, 9*time.Minute)
	t.Poll = cmp.Or(t.Poll, time.Minute)
	t.Handle = cmp.Or(t.Handle, 2*time.Minute)
	t.Lease = cmp.Or(t.Lease, 30*time.Second)
	t.Retry = cmp.Or(t.Retry, 10*time.Second)
	t.Backoff = cmp.Or(t.Backoff, time.Second)
	t.MaxBackoff = cmp.Or(t.MaxBackoff, 5*time.Minute)
	t.AuthWait = cmp.Or(t.AuthWait, 5*time.Minute)
	t.MaxAuth = cmp.Or(t.MaxAuth, time.Hour)
	return t
}

// Disposition is what becomes of a mail that is done.
type Disposition string

// The dispositions; any other is Leave. Processed and rejected mails are marked as seen; unmatched
// and failed ones are not, since somebody should look at them.
const (
	Processed Disposition = "processed"
	Rejected  Disposition = "rejected"
	// Unmatched belongs to nothing that the hub knows. In another folder than the
	// first it is left alone.
	Unmatched Disposition = "unmatched"
	Failed    Disposition = "failed" // can't be handled
	Leave     Disposition = "leave"  // neither flagged nor moved
)

// Mail is one mail as it lies in a folder.
type Mail struct {
	// Key names the mail in this mailbox for good: folder, UIDVALIDITY and UID.
	// The same text in another folder, or after UIDs became void, has another.
	Key         string
	Folder      string // as the server calls it
	UIDValidity uint32
	UID         uint32
	Date        time.Time // INTERNALDATE: when it arrived; zero if the server doesn't say
	Size        int64     // RFC822.SIZE, which servers may get wrong; 0 if unknown
	Flags       []string
	// Raw is the mail. Truncated: it is bigger than [Config.MaxSize], and Raw is
	// its beginning. Nil for a mail that is set aside because the server does not
	// give it out.
	Raw       []byte
	Truncated bool
	// Cursor is what [Hooks.LoadCursor] must return for the folder when the mail
	// is done.
	Cursor string
}

// Hooks are what the reader asks of the hub. Handle, LoadCursor and SaveCursor
// are needed.
type Hooks struct {
	// Handle takes a mail. When it returns without error, the mail's effect and
	// its cursor are committed. It may be called again with the same Key.
	Handle func(ctx context.Context, m Mail) (Disposition, error)
	// SetAside records a mail that can't be handled, with its cursor, in one
	// transaction. Nil: only the cursor is saved.
	SetAside func(ctx context.Context, m Mail, cause error) error
	// LoadCursor returns what was last stored for a folder, "" for a folder that
	// was never read.
	LoadCursor func(ctx context.Context, folder string) (string, error)
	// SaveCursor stores a cursor that comes without a mail.
	SaveCursor func(ctx context.Context, folder, cursor string) error
	// Lease takes or renews the right to read this mailbox, for ttl, and reports
	// whether this hub has it. A ttl of 0 gives it back. Nil: there is one hub.
	Lease func(ctx context.Context, ttl time.Duration) (bool, error)
	Log   *slog.Logger // slog.Default unless given
}

// Temporary marks a handler's error as one that has nothing to do with the
// mail, such as a database that is away: the mail is not counted as tried.
func Temporary(err error) error {
	if err == nil {
		return nil
	}
	return &temporary{err}
}

type temporary struct{ error }

func (t *temporary) Unwrap() error { return t.error }

// prepare fills in what is not given, and says what is wrong.
func (c Config) prepare() (Config, error) {
	c.Timing = c.Timing.withDefaults()
	c.Security = cmp.Or(c.Security, TLS)
	c.MaxSize = cmp.Or(c.MaxSize, defaultMaxSize)
	c.Mechanism = strings.ToUpper(c.Mechanism)
	if len(c.Folders) == 0 {
		c.Folders = []string{"INBOX"}
	}
	return c, errors.Join(c.checkServer(), c.checkLogin(), c.checkFolders())
}

func (c Config) checkServer() error {
	host, port, err := net.SplitHostPort(c.Addr)
	switch {
	case err != nil || host == "" || port == "":
		return fmt.Errorf("the IMAP server %q needs a host and a port, such as imap.example.com:993", c.Addr)
	case !slices.Contains([]Security{TLS, StartTLS, Plain}, c.Security):
		return fmt.Errorf("security %q is none of tls, starttls, none", c.Security)
	case c.Security == Plain && !c.AllowPlain && !isLoopback(host):
		return fmt.Errorf("without TLS the mailbox at %s would be read in the open; use tls or starttls", c.Addr)
	}
	return nil
}

func (c Config) checkLogin() error {
	switch {
	case c.Username == "":
		return errors.New("the mailbox needs a user name")
	case strings.ContainsFunc(c.Username, isControl) || strings.ContainsFunc(c.Password, isControl):
		return errors.New("the mailbox's user name or password has a control character in it; is there a line end at its end?")
	case (c.Password == "") == (c.Tokens == nil):
		return errors.New("the mailbox needs either a password or a source of tokens")
	}
	need := []string{"", "LOGIN", "PLAIN"}
	if c.Tokens != nil {
		need = []string{"", xoauth2, oauthBearer}
	}
	if !slices.Contains(need, c.Mechanism) {
		return fmt.Errorf("mechanism %q is none of %s", c.Mechanism, strings.Join(need[1:], ", "))
	}
	return nil
}

func (c Config) checkFolders() error {
	var errs []error
	target := []string{c.Processed, c.Rejected, c.Unmatched, c.Failed}
	for i, name := range slices.Concat(c.Folders, target) {
		reads := i < len(c.Folders)
		switch {
		case name == "" && reads:
			errs = append(errs, errors.New("a folder to read has no name"))
		case strings.ContainsFunc(name, isControl) || strings.ContainsAny(name, "*%"):
			errs = append(errs, fmt.Errorf("the folder name %q has a character in it that IMAP does not allow", name))
		case reads && slices.Contains(c.Folders[:i], name):
			errs = append(errs, fmt.Errorf("folder %q is named twice", name))
		case !reads && name != "" && slices.ContainsFunc(c.Folders, func(f string) bool { return strings.EqualFold(f, name) }):
			errs = append(errs, fmt.Errorf("folder %q is read, so nothing can be moved there", name))
		}
	}
	return errors.Join(errs...)
}

// target returns the folder for a disposition as configured.
func (c Config) target(d Disposition) string {
	switch d {
	case Processed:
		return c.Processed
	case Rejected:
		return c.Rejected
	case Unmatched:
		return c.Unmatched
	case Failed:
		return c.Failed
	default:
		return ""
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
