package mailtest_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/smtp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"beckon/channels/email/mailtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mails waits for n mails in a folder.
func mails(t *testing.T, d *mailtest.Dovecot, user, folder string, n int) []mailtest.Mail {
	t.Helper()
	var got []mailtest.Mail
	err := mailtest.Eventually(func() error {
		if got = d.Mails(user, folder); len(got) != n {
			return fmt.Errorf("%s of %s holds %d mails, want %d", folder, user, len(got), n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestDovecotKeepsMail(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	raw := mailtest.Text("Hello\n.dot", "From: alice@example.test", "Subject: one")
	d.Deliver("alice@example.test", raw, "hub+q.token@example.test")
	d.Deliver("alice@example.test", raw, "alice@example.test", "bob@example.test")
	d.Deliver("", raw, "hub@example.test")

	got := mails(t, d, "hub", "INBOX", 2)
	if !bytes.Contains(got[0].Raw, []byte("Delivered-To: hub+q.token@example.test")) {
		t.Errorf("the address with its detail is lost:\n%s", got[0].Raw)
	}
	if !bytes.HasSuffix(got[0].Raw, []byte("\r\n\r\nHello\r\n.dot\r\n")) {
		t.Errorf("the body is not what was sent:\n%q", got[0].Raw)
	}
	mails(t, d, "bob", "INBOX", 1)
	mails(t, d, "alice", "INBOX", 1)

	d.Create("hub", "Prüfung 1/ü & x")
	date := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	uid := d.Append("hub", "Prüfung 1/ü & x", date, raw, raw)
	d.Flag("hub", "Prüfung 1/ü & x", "$Done", uid)
	kept := mails(t, d, "hub", "Prüfung 1/ü & x", 2)
	if kept[1].UID != uid || !kept[1].Date.Equal(date) || !slices.Contains(kept[1].Flags, "$Done") || slices.Contains(kept[0].Flags, "$Done") {
		t.Errorf("appended: %+v", kept)
	}
	if folders := d.Folders("hub"); !slices.Equal(folders, []string{"INBOX", "Junk", "Prüfung 1", "Prüfung 1/ü & x"}) {
		t.Errorf("folders: %q", folders)
	}
	d.Renumber("hub", "INBOX", 4242)
	mails(t, d, "hub", "INBOX", 2)
}

func TestDovecotRefusesStrangers(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	err := mailtest.LMTP("tcp", d.LMTPAddr, "", mailtest.Text("x"), "nobody-here@example.test")
	if err == nil || !strings.Contains(err.Error(), "nobody-here@example.test") {
		t.Errorf("mail to a user that is not there: %v", err)
	}
}

func TestDovecotFaults(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	d.Deliver("", mailtest.Text("x"), "hub@example.test")

	c := dial(t, d.IMAPAddr)
	say(t, c, "a LOGIN hub@example.test secret")
	d.Freeze()
	if _, err := fmt.Fprint(c, "b NOOP\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a frozen server answered: %d bytes, %v", n, err)
	}
	d.Thaw()
	say(t, c, "c NOOP")

	d.Kick("hub")
	ends(t, c)

	c = dial(t, d.IMAPAddr)
	d.Kill()
	ends(t, c)
	if conn, err := net.Dial("tcp", d.IMAPAddr); err == nil {
		conn.Close()
		t.Error("a killed server takes connections")
	}
	d.Restart()
	mails(t, d, "hub", "INBOX", 1)
	d.Restart()
	mails(t, d, "hub", "INBOX", 1)
}

// dial returns a connection that has been greeted.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return c
}

// say sends a tagged command and waits for its OK.
func say(t *testing.T, c net.Conn, command string) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(c, command+"\r\n"); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for ok := "\r\n" + command[:1] + " OK"; !strings.Contains("\r\n"+string(got), ok); {
		b := make([]byte, 4096)
		n, err := c.Read(b)
		if err != nil {
			t.Fatalf("%s: %v after %q", command, err, got)
		}
		got = append(got, b[:n]...)
	}
}

// ends waits until the server has closed the connection.
func ends(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stays open")
	}
}

func TestDovecotTLS(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{TLS: true})
	trusting := &tls.Config{RootCAs: d.Trust, ServerName: mailtest.Hostname}

	c, err := tls.Dial("tcp", d.IMAPSAddr, trusting)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	say(t, c, "a LOGIN hub@example.test secret")

	open := dial(t, d.IMAPAddr)
	say(t, open, "a STARTTLS")
	c = tls.Client(open, trusting)
	say(t, c, "b LOGIN hub@example.test secret")

	if c, err := tls.Dial("tcp", d.IMAPSAddr, nil); err == nil {
		c.Close()
		t.Error("the certificate is trusted by everybody")
	}
}

func TestDovecotTokens(t *testing.T) {
	t.Parallel()
	tokens := mailtest.StartTokens(t, "hub")
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{Tokens: tokens})
	token := tokens.Issue()
	x := base64.StdEncoding.EncodeToString([]byte("user=hub@example.test\x01auth=Bearer " + token + "\x01\x01"))
	say(t, dial(t, d.IMAPAddr), "a AUTHENTICATE XOAUTH2 "+x)
	say(t, dial(t, d.IMAPAddr), "a LOGIN hub@example.test secret")

	tokens.ExpireAll()
	c := dial(t, d.IMAPAddr)
	if _, err := fmt.Fprintf(c, "a AUTHENTICATE XOAUTH2 %s\r\n", x); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(line, "+ ") {
		t.Errorf("an expired token: %q, %v", line, err)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	tokens := mailtest.StartTokens(t, "hub")
	client := &http.Client{Transport: &http.Transport{}}
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, client)
	defer client.CloseIdleConnections()
	app := clientcredentials.Config{ClientID: tokens.ClientID, ClientSecret: tokens.ClientSecret, TokenURL: tokens.URL}
	token, err := app.Token(ctx)
	if err != nil || token.AccessToken != "access-1" || time.Until(token.Expiry) < 50*time.Minute {
		t.Fatalf("client credentials: %+v, %v", token, err)
	}
	tokens.Rotate()
	user := oauth2.Config{ClientID: tokens.ClientID, ClientSecret: tokens.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: tokens.URL}}
	token, err = user.TokenSource(ctx, &oauth2.Token{RefreshToken: "refresh-0"}).Token()
	if err != nil || token.AccessToken != "access-2" || token.RefreshToken != tokens.Refresh() || token.RefreshToken == "refresh-0" {
		t.Fatalf("refresh token: %+v, %v", token, err)
	}
	var refused *oauth2.RetrieveError
	if _, err = user.TokenSource(ctx, &oauth2.Token{RefreshToken: "refresh-0"}).Token(); !errors.As(err, &refused) || refused.ErrorCode != "invalid_grant" {
		t.Errorf("a refresh token that was replaced: %v", err)
	}
	tokens.Revoke()
	if _, err := app.Token(ctx); !errors.As(err, &refused) || refused.ErrorCode != "invalid_client" {
		t.Errorf("a revoked client: %v", err)
	}
	if want := []string{"client_credentials", "refresh_token", "refresh_token"}; !slices.Equal(tokens.Grants()[:3], want) {
		t.Errorf("grants: %q, want %q", tokens.Grants(), want)
	}
}

func TestEximDeliversAndBounces(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	e := mailtest.StartExim(t, mailtest.EximOptions{LMTP: d.LMTPAddr})
	raw := mailtest.Text("Hello", "From: alice@example.test", "To: hub@example.test", "Subject: one")
	if err := smtp.SendMail(e.Addr, nil, "alice@example.test", []string{"hub+q.token@example.test"}, raw); err != nil {
		t.Fatal(err)
	}
	got := mails(t, d, "hub", "INBOX", 1)
	for _, want := range []string{"Return-path: <alice@example.test>", "Envelope-to: hub+q.token@example.test", "Delivered-To: hub+q.token@example.test"} {
		if !bytes.Contains(got[0].Raw, []byte(want)) {
			t.Errorf("no %q in\n%s", want, got[0].Raw)
		}
	}

	if err := smtp.SendMail(e.Addr, nil, "hub+b.7@example.test", []string{"nosuchuser@example.test"}, raw); err != nil {
		t.Fatal(err)
	}
	bounce := mails(t, d, "hub", "INBOX", 2)[1].Raw
	for _, want := range []string{"Delivered-To: hub+b.7@example.test", "Return-path: <>", "multipart/report", "Action: failed", "5.1.1"} {
		if !bytes.Contains(bounce, []byte(want)) {
			t.Errorf("no %q in the bounce\n%s", want, bounce)
		}
	}
	if err := smtp.SendMail(e.Addr, nil, "alice@example.test", []string{"x@elsewhere.test"}, raw); err == nil {
		t.Error("it relays")
	}
}

func TestEximKeepsWhatCantGoOut(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	e := mailtest.StartExim(t, mailtest.EximOptions{LMTP: d.LMTPAddr})
	d.Kill()
	if err := smtp.SendMail(e.Addr, nil, "alice@example.test", []string{"hub@example.test"}, mailtest.Text("Hello")); err != nil {
		t.Fatal(err)
	}
	e.Restart()
	d.Restart()
	mails(t, d, "hub", "INBOX", 1)
}

func TestEximSubmission(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	e := mailtest.StartExim(t, mailtest.EximOptions{LMTP: d.LMTPAddr, TLS: true, Auth: true})
	submit := func(password string) error {
		host, _, _ := net.SplitHostPort(e.Addr)
		c, err := smtp.Dial(e.Addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.StartTLS(&tls.Config{RootCAs: e.Trust, ServerName: mailtest.Hostname}); err != nil {
			return err
		}
		if password != "" {
			if err := c.Auth(smtp.PlainAuth("", "hub@example.test", password, host)); err != nil {
				return err
			}
		}
		if err := c.Mail("hub@example.test"); err != nil {
			return err
		}
		if err := c.Rcpt("alice@example.test"); err != nil {
			return err
		}
		w, err := c.Data()
		if err != nil {
			return err
		}
		if _, err := w.Write(mailtest.Text("Hello")); err != nil {
			return err
		}
		return errors.Join(w.Close(), c.Quit())
	}
	if err := submit(mailtest.Password); err != nil {
		t.Errorf("submit: %v\n%s", err, e.Log())
	}
	if err := submit("wrong"); err == nil {
		t.Error("it takes any password")
	}
	if err := submit(""); err == nil {
		t.Error("it takes mail without a password")
	}
	mails(t, d, "alice", "INBOX", 1)
}
