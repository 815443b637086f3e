package mailtest

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What every server here agrees on.
const (
	Domain   = "example.test"
	Hostname = "mail." + Domain // also in the certificates
	Password = "secret"         // of every user
)

// DovecotOptions say how a [Dovecot] differs from the plain one, which has the
// users hub, alice and bob of [Domain] with [Password], INBOX and Junk, "/"
// between a folder's names, and takes passwords without TLS.
type DovecotOptions struct {
	Users     []string // local parts of more users
	TLS       bool     // STARTTLS at IMAPAddr, TLS at IMAPSAddr
	Tokens    *Tokens  // take XOAUTH2 and OAUTHBEARER with these tokens as well
	Separator string   // between a folder's names, "/" unless given
	Prefix    string   // of every folder but INBOX, such as "INBOX."
	// MostConnections is how many connections a user may have from one address,
	// 50 unless given.
	MostConnections int
	Extra           string // more lines for its configuration
}

// Dovecot is a running Dovecot. Its methods fail the test on an error.
type Dovecot struct {
	IMAPAddr  string // plain, with STARTTLS if the options say TLS
	IMAPSAddr string // TLS from the start; "" without TLS
	LMTPAddr  string
	Trust     *x509.CertPool // trusts its certificate; nil without TLS

	tb        testing.TB
	account   account
	dir, conf string
	process   *process
}

// StartDovecot starts a Dovecot that runs until the test ends.
func StartDovecot(tb testing.TB, o DovecotOptions) *Dovecot {
	tb.Helper()
	bin := find(tb, "dovecot")
	version, err := exec.Command(bin, "--version").Output()
	if err != nil {
		tb.Skipf("dovecot --version: %v", err)
	}
	if !strings.HasPrefix(string(version), "2.3.") {
		tb.Skipf("dovecot %s has another configuration language than 2.3, which this package writes", strings.TrimSpace(string(version)))
	}
	for _, needed := range []string{"imap", "lmtp"} {
		if found, _ := filepath.Glob("/usr/lib*/dovecot/" + needed); len(found) == 0 {
			tb.Skipf("dovecot's %s is not installed", needed)
		}
	}
	d := &Dovecot{tb: tb, account: unprivileged(tb)}
	d.dir = d.account.home(tb, "dv")
	d.conf = filepath.Join(d.dir, "dovecot.conf")
	d.configure(o)
	log := filepath.Join(d.dir, "log")
	d.process = &process{
		tb:   tb,
		make: func() *exec.Cmd { return d.account.command(d.dir, bin, "-F", "-c", d.conf) },
		logs: func() string { return readLog(log) },
		dial: []string{d.IMAPAddr, d.LMTPAddr},
		dir:  d.dir,
	}
	tb.Cleanup(d.Kill)
	d.process.start()
	return d
}

// configure writes all that Dovecot reads.
func (d *Dovecot) configure(o DovecotOptions) {
	d.tb.Helper()
	host, ports := loopback(d.tb, 3)
	d.IMAPAddr, d.LMTPAddr = join(host, ports[0]), join(host, ports[1])

	var users strings.Builder
	for _, name := range append([]string{"hub", "alice", "bob"}, o.Users...) {
		fmt.Fprintf(&users, "%s@%s:{PLAIN}%s:%d:%d::%s/mail/%s::\n",
			name, Domain, Password, d.account.uid, d.account.gid, d.dir, name)
	}
	d.account.write(d.tb, filepath.Join(d.dir, "users"), users.String())

	v := strings.NewReplacer(
		"$dir", d.dir, "$user", d.account.user, "$group", d.account.group, "$host", host,
		"$imaps", fmt.Sprint(ifelse(o.TLS, ports[2], 0)),
		"$imap", fmt.Sprint(ports[0]), "$lmtp", fmt.Sprint(ports[1]),
		"$ssl", ifelse(o.TLS, "yes", "no"),
		"$mechanisms", ifelse(o.Tokens != nil, "plain login xoauth2 oauthbearer", "plain login"),
		"$separator", ifelse(o.Separator == "", "/", o.Separator), "$prefix", o.Prefix,
		"$most", fmt.Sprint(ifelse(o.MostConnections == 0, 50, o.MostConnections)),
	)
	conf := v.Replace(dovecotConf)
	if o.TLS {
		d.IMAPSAddr = join(host, ports[2])
		cert, key, trust := certificate(d.tb, host)
		d.Trust = trust
		d.account.write(d.tb, filepath.Join(d.dir, "cert.pem"), cert)
		d.account.write(d.tb, filepath.Join(d.dir, "key.pem"), key)
		conf += v.Replace("ssl_cert = <$dir/cert.pem\nssl_key = <$dir/key.pem\n")
	}
	if o.Tokens != nil {
		d.account.write(d.tb, filepath.Join(d.dir, "oauth2"), fmt.Sprintf(oauthConf, o.Tokens.introspectURL()))
		conf += v.Replace("passdb {\n  driver = oauth2\n  mechanisms = xoauth2 oauthbearer\n  args = $dir/oauth2\n}\n")
	}
	d.account.write(d.tb, d.conf, conf+v.Replace(passwordConf)+o.Extra)
}

// Kill ends it at once: every connection is gone, and so is the port. What was
// delivered stays. See Restart.
func (d *Dovecot) Kill() { d.tb.Helper(); d.process.kill() }

// Restart starts it again at the same addresses, after Kill or instead of it.
func (d *Dovecot) Restart() {
	d.tb.Helper()
	d.process.kill()
	d.unlock()
	d.process.start()
}

// unlock removes what killed processes had locked. Dovecot would do so itself,
// after two minutes.
func (d *Dovecot) unlock() {
	d.tb.Helper()
	err := filepath.WalkDir(filepath.Join(d.dir, "mail"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		d.tb.Error(err)
	}
}

// Freeze stops every process of it where it stands: connections stay open, the
// kernel even takes new ones, and nobody answers.
func (d *Dovecot) Freeze() { d.tb.Helper(); d.process.signal(syscall.SIGSTOP) }

// Thaw lets it go on after Freeze.
func (d *Dovecot) Thaw() { d.tb.Helper(); d.process.signal(syscall.SIGCONT) }

// Kick drops every connection of a user; there may be none.
func (d *Dovecot) Kick(user string) {
	d.tb.Helper()
	out, err := d.doveadm("kick", Address(user))
	if err != nil && !strings.Contains(out, "no users kicked") {
		d.tb.Fatalf("doveadm kick: %v\n%s", err, out)
	}
}

// Doveadm runs Dovecot's own command for operators and returns what it prints.
func (d *Dovecot) Doveadm(args ...string) string {
	d.tb.Helper()
	out, err := d.doveadm(args...)
	if err != nil {
		d.tb.Fatalf("doveadm %v: %v\n%s", args, err, out)
	}
	return out
}

func (d *Dovecot) doveadm(args ...string) (string, error) {
	d.tb.Helper()
	cmd := d.account.command(d.dir, find(d.tb, "doveadm"), append([]string{"-c", d.conf}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Log returns the end of what it logged.
func (d *Dovecot) Log() string { return d.process.logs() }

// Address returns a user's address; a name that is one already stays as it is.
func Address(user string) string {
	if strings.Contains(user, "@") {
		return user
	}
	return user + "@" + Domain
}

func ifelse[T any](cond bool, yes, no T) T {
	if cond {
		return yes
	}
	return no
}

// dovecotConf is for Dovecot 2.3, which takes one setting a line. It looks for
// new mail every second where inotify fails it.
const dovecotConf = `base_dir = $dir/base
state_dir = $dir/state
log_path = $dir/log
protocols = imap lmtp
listen = $host
ssl = $ssl
disable_plaintext_auth = no
auth_mechanisms = $mechanisms
auth_failure_delay = 0
auth_verbose = yes
default_internal_user = $user
default_internal_group = $group
default_login_user = $user
default_client_limit = 1000
first_valid_uid = 1
last_valid_uid = 0
first_valid_gid = 1
mail_location = maildir:~/Maildir
mail_fsync = never
mail_max_userip_connections = $most
mailbox_list_index = yes
mailbox_idle_check_interval = 1 secs
recipient_delimiter = +
userdb {
  driver = passwd-file
  args = username_format=%u $dir/users
}
namespace inbox {
  inbox = yes
  separator = $separator
  prefix = $prefix
  mailbox Junk {
    auto = subscribe
    special_use = \Junk
  }
}
protocol lmtp {
  postmaster_address = postmaster@example.test
  lmtp_save_to_detail_mailbox = no
}
service anvil {
  chroot =
}
service auth {
  chroot =
}
service stats {
  chroot =
}
service imap-login {
  chroot =
  inet_listener imap {
    port = $imap
  }
  inet_listener imaps {
    port = $imaps
    ssl = yes
  }
}
service lmtp {
  chroot =
  inet_listener lmtp {
    port = $lmtp
  }
}
`

// passwordConf comes after a passdb for tokens.
const passwordConf = `passdb {
  driver = passwd-file
  args = scheme=PLAIN username_format=%u $dir/users
}
`

const oauthConf = `introspection_mode = get
introspection_url = %s?token=
username_attribute = email
active_attribute = active
active_value = true
`
