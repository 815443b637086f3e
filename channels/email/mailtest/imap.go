package mailtest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// imapClient is as much of an IMAP client (RFC 3501) as looking into a mailbox
// takes. It shares nothing with the one that is tested, knows Dovecot's way of
// saying things only, and fails the test on everything that is not OK.
type imapClient struct {
	tb   testing.TB
	conn net.Conn
	r    *bufio.Reader
	tag  int
}

// client logs in as a user, over the plain port.
func (d *Dovecot) client(user string) *imapClient {
	d.tb.Helper()
	// One that has just begun takes connections before it takes users.
	var c *imapClient
	err := Eventually(func() error {
		conn, err := net.DialTimeout("tcp", d.IMAPAddr, patience)
		if err != nil {
			return err
		}
		if err = conn.SetDeadline(time.Now().Add(patience)); err == nil {
			c = &imapClient{tb: d.tb, conn: conn, r: bufio.NewReader(conn)}
			_, err = c.r.ReadString('\n') // the greeting
		}
		if err != nil {
			_ = conn.Close()
		}
		return err
	})
	if err != nil {
		d.tb.Fatalf("imap: %v", err)
	}
	c.run("LOGIN %s %s", quote(Address(user)), quote(Password))
	return c
}

func (c *imapClient) close() { _ = c.conn.Close() }

// response is one response: the line, with "{}" where its literals were.
type response struct {
	line     string
	literals [][]byte
}

// response reads one.
func (c *imapClient) response() response {
	c.tb.Helper()
	var r response
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.tb.Fatalf("imap: %v", err)
		}
		line = strings.TrimRight(line, "\r\n")
		open := strings.LastIndexByte(line, '{')
		if open < 0 || !strings.HasSuffix(line, "}") {
			r.line += line
			return r
		}
		n, err := strconv.Atoi(line[open+1 : len(line)-1])
		if err != nil {
			r.line += line
			return r
		}
		literal := make([]byte, n)
		if _, err := io.ReadFull(c.r, literal); err != nil {
			c.tb.Fatalf("imap: %v", err)
		}
		r.line += line[:open] + "{}"
		r.literals = append(r.literals, literal)
	}
}

// try sends a command and returns what came before its result, and that.
func (c *imapClient) try(format string, args ...any) (data []response, result string) {
	c.tb.Helper()
	c.tag++
	tag := "m" + strconv.Itoa(c.tag) + " "
	if _, err := fmt.Fprintf(c.conn, tag+format+"\r\n", args...); err != nil {
		c.tb.Fatalf("imap: %v", err)
	}
	for {
		r := c.response()
		if result, ok := strings.CutPrefix(r.line, tag); ok {
			return data, result
		}
		if strings.HasPrefix(r.line, "+") {
			return data, "+"
		}
		data = append(data, r)
	}
}

// run sends a command that must succeed.
func (c *imapClient) run(format string, args ...any) []response {
	c.tb.Helper()
	data, result := c.try(format, args...)
	if !strings.HasPrefix(result, "OK") && result != "+" {
		c.tb.Fatalf("imap: %s: %s", fmt.Sprintf(format, args...), result)
	}
	return data
}

// append is the one command with a literal of ours. It returns the UID that
// the mail got (RFC 4315).
func (c *imapClient) append(folder string, date time.Time, raw []byte) uint32 {
	c.tb.Helper()
	when := ""
	if !date.IsZero() {
		when = date.Format(`"_2-Jan-2006 15:04:05 -0700" `)
	}
	c.run("APPEND %s %s{%d}", quote(folder), when, len(raw))
	if _, err := c.conn.Write(append(raw[:len(raw):len(raw)], "\r\n"...)); err != nil {
		c.tb.Fatalf("imap: %v", err)
	}
	for {
		r := c.response()
		if !strings.HasPrefix(r.line, "m") {
			continue
		}
		_, after, ok := strings.Cut(r.line, "[APPENDUID ")
		_, after, _ = strings.Cut(after, " ")
		number, _, _ := strings.Cut(after, "]")
		uid, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil {
			c.tb.Fatalf("imap: append to %s: %s", folder, r.line)
		}
		return uint32(uid)
	}
}

// quote writes a name or password as a quoted string, a folder's name in the
// modified UTF-7 of RFC 3501 section 5.1.3.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(toUTF7(s)) + `"`
}

func plain(r rune) bool { return r >= ' ' && r <= '~' && r != '&' }

func toUTF7(s string) string {
	var out strings.Builder
	var odd []rune
	flush := func() {
		if len(odd) == 0 {
			return
		}
		var wide []byte
		for _, u := range utf16.Encode(odd) {
			wide = append(wide, byte(u>>8), byte(u))
		}
		out.WriteString("&" + strings.ReplaceAll(base64.RawStdEncoding.EncodeToString(wide), "/", ",") + "-")
		odd = nil
	}
	for _, r := range s {
		if !plain(r) && r != '&' {
			odd = append(odd, r)
			continue
		}
		flush()
		out.WriteRune(r)
		if r == '&' {
			out.WriteByte('-')
		}
	}
	flush()
	return out.String()
}

func (c *imapClient) fromUTF7(s string) string {
	c.tb.Helper()
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "&")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		code, rest, _ := strings.Cut(after, "-")
		s = rest
		if code == "" {
			out.WriteByte('&')
			continue
		}
		wide, err := base64.RawStdEncoding.DecodeString(strings.ReplaceAll(code, ",", "/"))
		if err != nil || len(wide)%2 != 0 {
			c.tb.Fatalf("imap: %q is not modified UTF-7", code)
		}
		var units []uint16
		for i := 0; i < len(wide); i += 2 {
			units = append(units, uint16(wide[i])<<8|uint16(wide[i+1]))
		}
		out.WriteString(string(utf16.Decode(units)))
	}
}
