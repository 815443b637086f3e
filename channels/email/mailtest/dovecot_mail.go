package mailtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
)

// Mail is a mail as it lies in a folder.
type Mail struct {
	UID   uint32
	Flags []string // "\Seen", "$Keyword"; sorted
	Date  time.Time
	Raw   []byte
}

// Deliver hands a mail to Dovecot by LMTP, as an MTA would, to each of the
// recipients. A from of "" is the null sender. Line ends may be bare.
func (d *Dovecot) Deliver(from string, raw []byte, to ...string) {
	d.tb.Helper()
	if err := LMTP("tcp", d.LMTPAddr, from, raw, to...); err != nil {
		d.tb.Fatalf("deliver: %v", err)
	}
}

// LMTP hands a mail to whatever takes LMTP at the address. The error joins
// every recipient's, a [*smtp.SMTPError] each.
func LMTP(network, addr, from string, raw []byte, to ...string) error {
	conn, err := net.DialTimeout(network, addr, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	c := smtp.NewClientLMTP(conn)
	if err := c.Hello("client.test"); err != nil {
		return err
	}
	if err := c.Mail(from, nil); err != nil {
		return err
	}
	for _, rcpt := range to {
		if err := c.Rcpt(rcpt, nil); err != nil {
			return fmt.Errorf("%s: %w", rcpt, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(CRLF(raw)); err != nil {
		return err
	}
	if _, err := w.CloseWithLMTPResponse(); err != nil {
		var each smtp.LMTPDataError
		if !errors.As(err, &each) {
			return err
		}
		var all []error
		for rcpt, err := range each {
			all = append(all, fmt.Errorf("%s: %w", rcpt, err))
		}
		return errors.Join(all...)
	}
	return c.Quit()
}

// CRLF gives a mail the line ends that travel.
func CRLF(raw []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

// Text makes a small mail. Headers are whole lines, such as "Subject: x".
func Text(body string, headers ...string) []byte {
	return CRLF([]byte(strings.Join(headers, "\n") + "\n\n" + body + "\n"))
}

// Mails returns what lies in a folder, nothing when there is no such folder,
// and changes nothing there.
func (d *Dovecot) Mails(user, folder string) []Mail {
	d.tb.Helper()
	c := d.client(user)
	defer c.close()
	if _, result := c.try("EXAMINE %s", quote(folder)); strings.HasPrefix(result, "NO") && strings.Contains(result, "doesn't exist") {
		return nil
	} else if !strings.HasPrefix(result, "OK") {
		d.tb.Fatalf("look into %s: %s", folder, result)
	}
	var mails []Mail
	for _, r := range c.run("UID FETCH 1:* (FLAGS INTERNALDATE BODY.PEEK[])") {
		m := fetched.FindStringSubmatch(r.line)
		if m == nil || len(r.literals) != 1 {
			continue
		}
		uid, _ := strconv.ParseUint(m[1], 10, 32)
		date, err := time.Parse("_2-Jan-2006 15:04:05 -0700", m[3])
		if err != nil {
			d.tb.Fatalf("imap: %v", err)
		}
		mail := Mail{UID: uint32(uid), Flags: strings.Fields(m[2]), Date: date, Raw: r.literals[0]}
		slices.Sort(mail.Flags)
		mails = append(mails, mail)
	}
	return mails
}

// fetched is how Dovecot says what [Dovecot.Mails] asks for.
var fetched = regexp.MustCompile(`^\* \d+ FETCH \(UID (\d+) FLAGS \(([^)]*)\) INTERNALDATE "([^"]+)" BODY\[\] \{\}\)$`)

// Folders returns the names of a user's folders, sorted.
func (d *Dovecot) Folders(user string) []string {
	d.tb.Helper()
	c := d.client(user)
	defer c.close()
	var names []string
	for _, r := range c.run(`LIST "" "*"`) {
		m := listed.FindStringSubmatch(r.line)
		if m == nil {
			continue
		}
		name := m[1]
		if len(r.literals) == 1 {
			name = string(r.literals[0])
		} else if strings.HasPrefix(name, `"`) {
			name = unescape.Replace(name[1 : len(name)-1])
		}
		names = append(names, c.fromUTF7(name))
	}
	slices.Sort(names)
	return names
}

var (
	listed   = regexp.MustCompile(`^\* LIST \([^)]*\) (?:NIL|"\\?.") (.+)$`)
	unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// Create makes a folder.
func (d *Dovecot) Create(user, folder string) {
	d.tb.Helper()
	c := d.client(user)
	defer c.close()
	c.run("CREATE %s", quote(folder))
}

// Append puts mails into a folder as a mail program does, with a date of their
// own unless it is zero, and returns the UID of the last.
func (d *Dovecot) Append(user, folder string, date time.Time, raws ...[]byte) uint32 {
	d.tb.Helper()
	c := d.client(user)
	defer c.close()
	var last uint32
	for _, raw := range raws {
		last = c.append(folder, date, CRLF(raw))
	}
	return last
}

// Flag sets a flag on mails of a folder, as somebody who reads there does.
func (d *Dovecot) Flag(user, folder, flag string, uids ...uint32) {
	d.tb.Helper()
	c := d.client(user)
	defer c.close()
	c.run("SELECT %s", quote(folder))
	for _, uid := range uids {
		c.run("UID STORE %d +FLAGS.SILENT (%s)", uid, flag)
	}
}

// UIDValidity returns the folder's, as RFC 9051 section 2.3.1.1 has it.
func (d *Dovecot) UIDValidity(user, folder string) uint32 {
	d.tb.Helper()
	c := d.client(user)
	defer c.close()
	for _, r := range c.run("EXAMINE %s", quote(folder)) {
		if _, after, ok := strings.Cut(r.line, "[UIDVALIDITY "); ok {
			number, _, _ := strings.Cut(after, "]")
			validity, err := strconv.ParseUint(number, 10, 32)
			if err != nil {
				d.tb.Fatal(err)
			}
			return uint32(validity)
		}
	}
	d.tb.Fatalf("%s has no UIDVALIDITY", folder)
	return 0
}

// Renumber gives a folder another UIDVALIDITY, as happens when a mailbox is
// restored from a backup or moved to another server: every UID is void.
func (d *Dovecot) Renumber(user, folder string, validity uint32) {
	d.tb.Helper()
	d.Doveadm("mailbox", "update", "-u", Address(user), "--uid-validity", fmt.Sprint(validity), folder)
	if got := d.UIDValidity(user, folder); got != validity {
		d.tb.Fatalf("the UIDVALIDITY of %s is %d, not %d", folder, got, validity)
	}
}
