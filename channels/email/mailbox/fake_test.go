package mailbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/channels/email/mailbox"
)

// fakeMail is a mail in a fake's INBOX.
type fakeMail struct {
	uid  int
	raw  string
	date time.Time
}

// fake is an IMAP server with one folder that does what servers should not do.
// It speaks over pipes, so that a test can own its time.
type fake struct {
	caps string
	// say answers a command before the fake does. It returns the lines to send
	// (after "* " or a tag of its own), and whether that was all; nil answers
	// nothing at all, ever.
	say func(c *fakeConn, tag, command string) (lines []string, all bool)
	// saying is held by say, which several connections call.
	saying sync.Mutex
	// item writes one answer to FETCH, nil the usual way.
	item func(seq int, m fakeMail, body bool) string

	mu       sync.Mutex
	mails    []fakeMail
	validity int
	next     int
	noNext   bool // next is not said
	flags    string
	commands []string
	logins   []time.Time
	conns    []*fakeConn
}

// fakeConn is one connection to a fake.
type fakeConn struct {
	net.Conn
	mu   sync.Mutex
	idle bool
	tag  string // of the IDLE
	deaf bool   // says nothing any more
}

func (c *fakeConn) send(lines ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range lines {
		if c.deaf {
			return
		}
		_, _ = io.WriteString(c.Conn, line+"\r\n")
	}
}

func newFake() *fake {
	return &fake{caps: "IMAP4rev1 IDLE MOVE UIDPLUS AUTH=PLAIN SASL-IR", validity: 7, next: 1, flags: `\Seen \*`}
}

// config reads the fake with the usual timing.
func (f *fake) config() mailbox.Config {
	return mailbox.Config{Addr: "imap.example.com:143", Security: mailbox.Plain, AllowPlain: true, Username: "hub", Password: "secret", Processed: "Done", Failed: "Failed"}
}

// reader makes a reader of the fake. start runs it and wait ends it.
func (f *fake) reader(t *testing.T, conf mailbox.Config, h *hub) *mailbox.Reader {
	t.Helper()
	hooks := h.hooks(t)
	hooks.Log = slog.New(slog.DiscardHandler)
	r, err := mailbox.New(conf, hooks)
	if err != nil {
		t.Fatal(err)
	}
	r.SetDialer(f.dial)
	return r
}

// dial is the way to the fake.
func (f *fake) dial(context.Context, string) (net.Conn, error) {
	client, server := net.Pipe()
	c := &fakeConn{Conn: server}
	f.mu.Lock()
	f.conns = append(f.conns, c)
	f.mu.Unlock()
	go f.serve(c)
	return client, nil
}

// deliver adds mails and tells whoever idles.
func (f *fake) deliver(bodies ...string) {
	f.mu.Lock()
	for _, b := range bodies {
		f.mails = append(f.mails, fakeMail{f.next, "Subject: x\r\n\r\n" + b + "\r\n", time.Now()})
		f.next++
	}
	n, conns := len(f.mails), slices.Clone(f.conns)
	f.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		idle := c.idle
		c.mu.Unlock()
		if idle {
			c.send(fmt.Sprintf("* %d EXISTS", n))
		}
	}
}

func (f *fake) serve(c *fakeConn) {
	defer c.Close()
	c.send("* OK hello")
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		tag, command, _ := strings.Cut(line, " ")
		if line == "DONE" {
			command = line
			c.mu.Lock()
			c.idle = false
			c.mu.Unlock()
		}
		f.mu.Lock()
		f.commands = append(f.commands, command)
		if strings.HasPrefix(command, "AUTHENTICATE") || strings.HasPrefix(command, "LOGIN") {
			f.logins = append(f.logins, time.Now())
		}
		say := f.say
		f.mu.Unlock()
		if say != nil {
			f.saying.Lock()
			lines, all := say(c, tag, command)
			f.saying.Unlock()
			c.send(lines...)
			if all {
				continue
			}
		}
		f.answer(c, tag, command)
	}
}

// answer does what a server should do.
func (f *fake) answer(c *fakeConn, tag, command string) {
	f.mu.Lock()
	lines := f.lines(c, tag, command)
	f.mu.Unlock()
	c.send(lines...)
}

func (f *fake) lines(c *fakeConn, tag, command string) []string {
	ok := tag + " OK done"
	word, rest, _ := strings.Cut(command, " ")
	if word == "UID" {
		var w string
		w, rest, _ = strings.Cut(rest, " ")
		word += " " + w
	}
	switch word {
	case "CAPABILITY":
		return []string{"* CAPABILITY " + f.caps, ok}
	case "LIST":
		if strings.HasSuffix(rest, `""`) {
			return []string{`* LIST (\Noselect) "/" ""`, ok}
		}
		name := strings.Trim(strings.TrimPrefix(rest, `"" `), `"`)
		return []string{`* LIST () "/" ` + name, ok}
	case "SELECT", "EXAMINE":
		all := []string{
			fmt.Sprintf("* %d EXISTS", len(f.mails)),
			fmt.Sprintf("* OK [UIDVALIDITY %d] ok", f.validity),
		}
		if !f.noNext {
			all = append(all, fmt.Sprintf("* OK [UIDNEXT %d] ok", f.next))
		}
		if f.flags != "" {
			all = append(all, fmt.Sprintf("* OK [PERMANENTFLAGS (%s)] ok", f.flags))
		}
		return append(all, tag+" OK [READ-WRITE] done")
	case "UID SEARCH":
		out := "* SEARCH"
		for _, m := range f.mails {
			if f.wanted(rest, m) {
				out += " " + strconv.Itoa(m.uid)
			}
		}
		return []string{out, ok}
	case "UID FETCH", "FETCH":
		return append(f.fetch(word, rest), ok)
	case "UID MOVE":
		f.mails = slices.DeleteFunc(f.mails, func(m fakeMail) bool { return f.wanted("UID "+rest, m) })
		return []string{ok}
	case "IDLE":
		c.mu.Lock()
		c.idle, c.tag = true, tag
		c.mu.Unlock()
		return []string{"+ idling"}
	case "DONE":
		return []string{c.tag + " OK idle ends"}
	default:
		return []string{ok}
	}
}

// wanted reports whether a search or a set of UIDs is about a mail.
func (f *fake) wanted(rest string, m fakeMail) bool {
	_, sets, ok := strings.Cut(rest, "UID ")
	if !ok {
		return true
	}
	last := f.mails[len(f.mails)-1].uid
	if _, since, ok := strings.Cut(rest, `SINCE "`); ok {
		day, err := time.Parse(`2-Jan-2006"`, since)
		if err != nil || m.date.Before(day) {
			return false
		}
	}
	for part := range strings.SplitSeq(strings.Fields(sets)[0], ",") {
		first, end, isRange := strings.Cut(part, ":")
		a, _ := strconv.Atoi(first)
		b := a
		if end == "*" {
			a, b = min(a, last), max(a, last)
		} else if isRange {
			b, _ = strconv.Atoi(end)
		}
		if m.uid >= a && m.uid <= b {
			return true
		}
	}
	return false
}

func (f *fake) fetch(word, rest string) []string {
	var all []string
	set, _, _ := strings.Cut(rest, " ")
	for i, m := range f.mails {
		if word == "FETCH" && set != strconv.Itoa(i+1) || word == "UID FETCH" && !f.wanted("UID "+set, m) {
			continue
		}
		body := strings.Contains(rest, "BODY.PEEK[]")
		if f.item != nil {
			if line := f.item(i+1, m, body); line != "" {
				all = append(all, line)
			}
			continue
		}
		all = append(all, item(i+1, m, body))
	}
	return all
}

// item is the usual answer to FETCH.
func item(seq int, m fakeMail, body bool) string {
	if body {
		return fmt.Sprintf("* %d FETCH (UID %d BODY[] {%d}\r\n%s)", seq, m.uid, len(m.raw), m.raw)
	}
	return fmt.Sprintf(`* %d FETCH (UID %d INTERNALDATE "%s" RFC822.SIZE %d FLAGS (\Recent))`,
		seq, m.uid, m.date.Format("_2-Jan-2006 15:04:05 -0700"), len(m.raw))
}

// said returns the commands that were given and match.
func (f *fake) said(pattern string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	re := regexp.MustCompile(pattern)
	var all []string
	for _, c := range f.commands {
		if re.MatchString(c) {
			all = append(all, c)
		}
	}
	return all
}
