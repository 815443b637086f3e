package email

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// readMailbox makes the part that reads the mailbox.
func (c *Channel) readMailbox() error {
	conf := c.conf.IMAP
	if conf == nil {
		return nil
	}
	security := map[string]mailbox.Security{tlsWhole: mailbox.TLS, tlsStart: mailbox.StartTLS, tlsNone: mailbox.Plain}[conf.TLS]
	mc := mailbox.Config{
		Addr: net.JoinHostPort(conf.Host, strconv.Itoa(int(conf.Port))), Security: security,
		Username: conf.User, Folders: conf.Folders, Backfill: conf.Backfill,
		// Within what health takes for silence.
		Timing:    mailbox.Timing{CatchUp: 2 * time.Minute},
		Processed: conf.Processed, Rejected: conf.Rejected, Unmatched: conf.Unmatched, Failed: conf.Failed,
	}
	if c.tokens != nil {
		mc.Tokens = c.tokens
	} else {
		mc.Password = conf.Password.Reveal()
	}
	account := strings.ToLower(conf.User + "@" + conf.Host)
	cursorKey := func(folder string) string { return "cursor/" + account + "/" + folder }
	owner := rand.Text()
	state := c.desk.State()
	cursorOf := func(m mailbox.Mail) *hub.Cursor {
		return &hub.Cursor{Channel: Name, Key: cursorKey(m.Folder), Value: m.Cursor}
	}
	handle := func(ctx context.Context, m mailbox.Mail, last bool) (filing, error) {
		return c.receive(ctx, arrival{raw: m.Raw, last: last, cursor: cursorOf(m)})
	}
	reader, err := mailbox.New(mc, mailbox.Hooks{
		Handle: func(ctx context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
			f, err := handle(ctx, m, false)
			if err != nil {
				return "", passing(err)
			}
			return dispositions[f], nil
		},
		SetAside: func(ctx context.Context, m mailbox.Mail, cause error) error {
			c.log.Error("a mail can't be handled, and is set aside", "mail", m.Key, "err", cause)
			if errors.Is(cause, errAgain) {
				_, err := handle(ctx, m, true)
				return err
			}
			_, err := c.pass(ctx, hub.Receipt{Account: c.own.address(), Key: "aside " + m.Key, Raw: m.Raw, Cursor: cursorOf(m)})
			return err
		},
		LoadCursor: func(ctx context.Context, folder string) (string, error) {
			return state.GetState(ctx, Name, cursorKey(folder))
		},
		SaveCursor: func(ctx context.Context, folder, cursor string) error {
			return state.PutState(ctx, Name, cursorKey(folder), cursor)
		},
		Lease: func(ctx context.Context, ttl time.Duration) (bool, error) {
			return state.Lease(ctx, Name+" "+account, owner, time.Now(), ttl)
		},
		Log: c.log,
	})
	if err != nil {
		return err
	}
	c.mailbox = reader
	c.parts = append(c.parts, reader.Run)
	c.checks = append(c.checks, func(ctx context.Context, _ bool) []hub.Finding {
		var out []hub.Finding
		for _, f := range reader.Check(ctx) {
			out = append(out, hub.Finding(f))
		}
		return out
	})
	return nil
}

// dispositions are the folders by what became of a mail.
var dispositions = map[filing]mailbox.Disposition{
	filed: mailbox.Processed, refused: mailbox.Rejected, unmatched: mailbox.Unmatched,
}

// passing marks what has nothing to do with the mail, such as a database that is
// away: the same mail is tried again then, and none after it.
func passing(err error) error {
	e, ok := errors.AsType[*hub.Error](err)
	if errors.Is(err, errLookUp) || ok && e.Code == ma2h.CodeUnavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return mailbox.Temporary(err)
	}
	return err
}
