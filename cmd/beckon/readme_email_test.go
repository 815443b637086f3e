package main

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"net/mail"
	"net/smtp"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"beckon/channels/email/mailtest"
)

// mailSymptoms are the rows of the table of symptoms that need mail servers.
func mailSymptoms() []string {
	return []string{
		"does not take the user or the password", "are the user name and the password right?", "whom this machine trusts",
		"takes no mail for that address", "the mailbox can't be read", "nothing came in about it", "kind=identity_mismatch", "kind=rejected_auth",
		"kind=answer_suspect", "bounced",
	}
}

// town is a provider of mail on this machine: the README's smtp.example.com and
// imap.example.com.
type town struct {
	t       *testing.T
	dir     string
	dovecot *mailtest.Dovecot
	exim    *mailtest.Exim
	conf    string
	env     []string
}

// newTown sets mail up as the README says.
func newTown(t *testing.T) *town {
	t.Helper()
	m := &town{t: t, dir: t.TempDir()}
	m.dovecot = mailtest.StartDovecot(t, mailtest.DovecotOptions{TLS: true, Users: []string{"beckon"}})
	m.exim = mailtest.StartExim(t, mailtest.EximOptions{LMTP: m.dovecot.LMTPAddr, TLS: true, Auth: true})
	conf := blocks(t, "email")[1]
	for host, addr := range map[string]string{"smtp.example.com": m.exim.Addr, "imap.example.com": m.dovecot.IMAPSAddr} {
		ip, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		conf = regexp.MustCompile(`host: `+regexp.QuoteMeta(host)+`([,\n]\s*)`).ReplaceAllString(conf, "host: "+ip+"${1}port: "+port+"${1}")
	}
	m.conf = strings.ReplaceAll(conf, "example.com", mailtest.Domain)
	if strings.Count(m.conf, "port: ") != 2 {
		t.Fatalf("the config names no smtp.example.com or imap.example.com:\n%s", m.conf)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	m.conf = "listen: 127.0.0.1:" + port + "\nstore: beckon.db\noperators: {ops: {token: env:OPS_TOKEN}}\n" + m.conf
	m.write(m.conf)
	trust := filepath.Join(m.dir, "trust.pem")
	if err := os.WriteFile(trust, append(certificateAt(t, m.dovecot.IMAPSAddr), submissionCertificate(t, m.exim.Addr)...), 0o600); err != nil {
		t.Fatal(err)
	}
	m.env = []string{
		"SSL_CERT_FILE=" + trust, "MAIL_PASSWORD=" + mailtest.Password, "DEPLOYBOT_TOKEN=" + testToken, "OPS_TOKEN=" + bossToken,
		"BECKON_URL=http://127.0.0.1:" + port, "BECKON_TOKEN=" + testToken, "BECKON_AGENT=deploybot/dev-team",
	}
	return m
}

func (m *town) write(conf string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "beckon.yaml"), []byte(conf), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// run runs a command to its end, whatever that is, and returns what it says.
func (m *town) run(line string, env ...string) string {
	m.t.Helper()
	p := start(m.t, m.dir, append(m.env[:len(m.env):len(m.env)], env...), line+"\nexit 0")
	p.wait(m.t)
	return p.text()
}

func inPEM(c *tls.ConnectionState) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.PeerCertificates[0].Raw})
}

// certificateAt is what a server shows that speaks TLS from the start.
func certificateAt(t *testing.T, addr string) []byte {
	t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}) // it is to be trusted from now on
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	state := c.ConnectionState()
	return inPEM(&state)
}

// submissionCertificate is what a server shows after STARTTLS.
func submissionCertificate(t *testing.T, addr string) []byte {
	t.Helper()
	c, err := smtp.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.StartTLS(&tls.Config{InsecureSkipVerify: true}); err != nil {
		t.Fatal(err)
	}
	state, _ := c.TLSConnectionState()
	return inPEM(&state)
}

// mails waits until somebody has n mails, and returns the last.
func (m *town) mails(user string, n int) *mail.Message {
	m.t.Helper()
	var last *mail.Message
	err := mailtest.Eventually(func() error {
		all := m.dovecot.Mails(user, "INBOX")
		if len(all) < n {
			return fmt.Errorf("%s has %d mails, want %d", user, len(all), n)
		}
		var err error
		last, err = mail.ReadMessage(bytes.NewReader(all[n-1].Raw))
		return err
	})
	if err != nil {
		m.t.Fatalf("%v\n%s", err, m.exim.Log())
	}
	return last
}

// reply puts an answer into the hub's mailbox, as if it had come from outside.
func (m *town) reply(asked *mail.Message, from, text string, headers ...string) {
	m.t.Helper()
	to := strings.Trim(asked.Header.Get("Reply-To"), "<>")
	m.dovecot.Deliver(from, mailtest.Text(text, append(headers,
		"From: <"+from+">", "To: "+to, "Subject: Re: "+asked.Header.Get("Subject"), "In-Reply-To: "+asked.Header.Get("Message-ID"),
		fmt.Sprintf("Message-ID: <%d@phone.test>", time.Now().UnixNano()))...), to)
}

// TestReadmeMail sets a mailbox up as the README says, asks and answers, and
// spoils it in the ways that the table of symptoms explains.
func TestReadmeMail(t *testing.T) {
	t.Parallel()
	m := newTown(t)
	out := m.run(blocks(t, "email")[0])
	for _, want := range []string{
		`ok       email: SMTP login at \S+: as beckon@example\.test, TLS by STARTTLS`, `ok       email: imap login: as beckon@example\.test`,
		`ok       email: imap folder Beckon/Processed: for processed mails`,
		`ok       email: a mail from beckon@example\.test to beckon\+q[a-z2-7]{20}@example\.test: sent and received`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("want %s in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\nproblem") {
		t.Errorf("there is a problem:\n%s", out)
	}
	said := m.spoil() + m.answers()
	for _, symptom := range mailSymptoms() {
		if !strings.Contains(said, symptom) {
			t.Errorf("%q is not seen in\n%s", symptom, said)
		}
		if !strings.Contains(readme(t), "`"+symptom+"`") {
			t.Errorf("the README does not explain %q", symptom)
		}
	}
}

// spoil makes the set-up wrong in several ways, and returns what people see then.
func (m *town) spoil() string {
	m.t.Helper()
	check := blocks(m.t, "email")[0]
	said := m.run(check, "MAIL_PASSWORD=wrong") + m.run(check, "SSL_CERT_FILE=/dev/null")
	elsewhere := strings.Replace(m.conf, "from: beckon@example.test\n    smtp: {", "from: beckon@elsewhere.test\n    smtp: {user: beckon@example.test, ", 1)
	m.write(elsewhere)
	said += m.run(check)
	m.write(m.conf)
	deaf := start(m.t, m.dir, append(m.env, "MAIL_PASSWORD=wrong"), "exec beckon serve")
	said += deaf.await(m.t, "the mailbox can't be read")
	deaf.interrupt(m.t)
	return said
}

// answers runs the hub with a bob who has no mailbox, and returns what operators
// see of replies that don't count and of a mail that bounces.
func (m *town) answers() string {
	m.t.Helper()
	m.write(strings.NewReplacer("from: beckon", "authserv_id: mx.example.test\n    from: beckon", "bob@", "nosuchuser@").Replace(m.conf))
	hub := start(m.t, m.dir, m.env, "exec beckon serve")
	hub.await(m.t, "the folder is read for the first time")
	const ops, ask = "BECKON_TOKEN=" + bossToken + " ", " --option ship=Ship --option hold=Hold 2>/dev/null"
	id := strings.TrimSpace(m.run(`beckon ask "Ship?"` + ask))
	asked := m.mails("alice", 1)
	said := m.run(ops + "beckon mail show " + id)

	const forged = "Authentication-Results: mx.example.test; dmarc=fail header.from=example.test"
	m.reply(asked, "eve@example.test", "ship")
	said += hub.await(m.t, "kind=identity_mismatch message="+id)
	m.reply(asked, "alice@example.test", "ship", forged)
	said += hub.await(m.t, "kind=rejected_auth message="+id)
	m.reply(asked, "alice@example.test", "ship", forged, "X-Forwarded-To: beckon@example.test")
	said += hub.await(m.t, "kind=answer_suspect message="+id)
	m.reply(asked, "alice@example.test", "2\n\nLet us wait for Monday.")
	if got := m.run("beckon wait " + id + " --wait 30s 2>/dev/null"); got != "hold\n" {
		m.t.Errorf("the agent got %q", got)
	}
	if got := m.run(ops + "beckon mail show " + id); strings.Count(got, "\nSubject: Re: ") != 4 || !strings.Contains(got, "From: <eve@example.test>") {
		m.t.Errorf("the mails that came in:\n%s", got)
	}

	id = strings.TrimSpace(m.run(`beckon ask "And now?"` + ask))
	// Before that mail there were the first one, one doubt and the confirmation.
	m.reply(m.mails("alice", 4), "alice@example.test", "I am away until 7 December.", "Auto-Submitted: auto-replied")
	hub.await(m.t, "kind=auto_reply message="+id)
	hub.await(m.t, "kind=bounce_failed message="+id)
	events := m.run(ops + "beckon events " + id)
	for _, want := range []string{"away\t\tnote=I am away until 7 December.", "escalated", "posted\t\tattempt=1 target=email:bob"} {
		if !strings.Contains(events, want) {
			m.t.Errorf("want %q in\n%s", want, events)
		}
	}
	hub.interrupt(m.t)
	return said + events
}

// TestReadmeMailServer has Exim ask a hub about recipients as the README sets it
// up, and Postfix read what is for it, where there is one.
func TestReadmeMailServer(t *testing.T) {
	t.Parallel()
	sections := blocks(t, "email-section")
	section := sections[len(sections)-1]
	socket := regexp.MustCompile(`unix:(/[a-z/]+)`).FindStringSubmatch(section)
	postfix := blocks(t, "postfix")[0]
	if socket == nil || !strings.Contains(postfix, "lmtp:unix:"+socket[1]+"}") {
		t.Errorf("Postfix hands mail over elsewhere than at the socket of\n%s", section)
	}
	if postconf, err := exec.LookPath("postconf"); err == nil {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.cf"), []byte("compatibility_level = 3.6\n"+postfix), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(postconf, "-c", dir, "-n").CombinedOutput(); err != nil || strings.Contains(string(out), "warning: /") {
			t.Errorf("postconf: %v\n%s", err, out)
		}
	}

	dir := t.TempDir()
	web, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	lmtp, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	section = strings.Replace(section, "unix:"+socket[1], "127.0.0.1:"+lmtp, 1)
	conf := "listen: 127.0.0.1:" + web + "\nstore: beckon.db\n" + inPlace(t, blocks(t, "email")[1], section)
	if err := os.WriteFile(filepath.Join(dir, "beckon.yaml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	exim := eximAsTheReadmeSays(t, lmtp)
	if got := exim("beckon@answers.example.com"); !strings.HasPrefix(got, "451 ") {
		t.Errorf("without a hub: %s; want the mail to come again", got)
	}
	hub := start(t, dir, []string{"DEPLOYBOT_TOKEN=" + testToken}, "exec beckon serve")
	hub.await(t, "msg=\"mail is taken\"")
	for rcpt, want := range map[string]string{
		"beckon@answers.example.com": "250 ", "BECKON@Answers.example.com": "250 ",
		"beckon+qaaaaaaaaaaaaaaaaaaaa@answers.example.com": "550 ", "postmaster@answers.example.com": "550 ",
	} {
		if got := exim(rcpt); !strings.HasPrefix(got, want) {
			t.Errorf("mail to %s: %s; want %s", rcpt, got, want)
		}
	}
	hub.interrupt(t)
}

// eximAsTheReadmeSays returns what an Exim with the README's lines answers to RCPT,
// when the hub is at a port.
func eximAsTheReadmeSays(t *testing.T, port string) func(rcpt string) string {
	t.Helper()
	bin, err := exec.LookPath("exim4")
	if err != nil {
		bin = "/usr/sbin/exim4"
		if _, err := os.Stat(bin); err != nil {
			t.Skip("exim4 is not installed")
		}
	}
	who, err := user.Current()
	if err == nil && who.Uid == "0" {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?m)^#.*\n`).Split(strings.ReplaceAll(blocks(t, "exim")[0], "2424", port), -1)
	if len(parts) != 4 {
		t.Fatalf("%d parts for Exim, want an ACL, a router and a transport", len(parts)-1)
	}
	dir, err := os.MkdirTemp("", "exim") // nobody else can get into a folder of the test's
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conf := fmt.Sprintf("primary_hostname = mx.example.com\nspool_directory = %[1]s\nlog_file_path = %[1]s/log-%%s\nexim_user = %[2]s\nexim_group = %[3]s\n"+
		"never_users =\nacl_smtp_rcpt = rcpt\ntls_advertise_hosts =\nhost_lookup =\nrfc1413_hosts =\nkeep_environment =\n"+
		"begin acl\nrcpt:\n%[4]s  accept domains = answers.example.com\nbegin routers\n%[5]sbegin transports\n%[6]s", dir, who.Uid, who.Gid, parts[1], parts[2], parts[3])
	file := filepath.Join(dir, "exim.conf")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	return func(rcpt string) string {
		cmd := exec.Command(bin, "-C", file, "-bhc", "127.0.0.2")
		cmd.Stdin = strings.NewReader("HELO client.test\r\nMAIL FROM:<x@client.test>\r\nRCPT TO:<" + rcpt + ">\r\nQUIT\r\n")
		out, err := cmd.Output()
		replies := regexp.MustCompile(`(?m)^\d{3} .*$`).FindAllString(string(out), -1)
		if len(replies) != 5 {
			t.Fatalf("exim: %v\n%s", err, out)
		}
		return replies[3]
	}
}
