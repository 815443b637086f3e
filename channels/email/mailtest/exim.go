package mailtest

import (
	"crypto/x509"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// EximOptions say where an [Exim] sends mail for [Domain], and what it asks of
// whoever sends mail to it.
type EximOptions struct {
	// LMTP is where mail goes: "host:port", usually [Dovecot.LMTPAddr].
	LMTP string
	// Other is where mail for the users in OtherUsers goes instead, with
	// whatever stands behind their "+": "host:port" or the path of a unix socket.
	Other      string
	OtherUsers []string

	TLS   bool   // offer STARTTLS
	Auth  bool   // take mail only from users with [Password], by PLAIN or LOGIN
	Extra string // more lines for the main part of its configuration
}

// Exim is a running Exim. It takes mail for [Domain] alone, tries again every
// second or two what did not go out, and sends a bounce, from the null sender, to
// the envelope's sender for what was refused for good.
type Exim struct {
	Addr  string         // SMTP
	Trust *x509.CertPool // trusts its certificate; nil without TLS

	process *process
}

// StartExim starts an Exim that runs until the test ends.
func StartExim(tb testing.TB, o EximOptions) *Exim {
	tb.Helper()
	bin := find(tb, "exim4", "exim")
	if out, err := exec.Command(bin, "-bV").CombinedOutput(); err != nil || !strings.Contains(string(out), "lmtp") {
		tb.Skipf("this exim has no lmtp transport: %v", err)
	}
	a := unprivileged(tb)
	dir := a.home(tb, "ex")
	host, ports := loopback(tb, 1)
	e := &Exim{Addr: join(host, ports[0])}

	conf := filepath.Join(dir, "exim.conf")
	a.write(tb, conf, eximConfig(dir, host, a, o))
	if o.TLS {
		cert, key, trust := certificate(tb, host)
		e.Trust = trust
		a.write(tb, filepath.Join(dir, "cert.pem"), cert)
		a.write(tb, filepath.Join(dir, "key.pem"), key)
	}
	e.process = &process{
		tb:   tb,
		make: func() *exec.Cmd { return a.command(dir, bin, "-C", conf, "-bdf", "-q1s", "-oX", e.Addr) },
		logs: func() string { return readLog(filepath.Join(dir, "log-main"), filepath.Join(dir, "log-panic")) },
		dial: []string{e.Addr},
		dir:  dir,
	}
	tb.Cleanup(e.Kill)
	e.process.start()
	return e
}

// Kill ends it at once. What it took and did not hand on waits for Restart.
func (e *Exim) Kill() { e.process.tb.Helper(); e.process.kill() }

// Restart starts it again at the same address, after Kill or instead of it.
func (e *Exim) Restart() {
	e.process.tb.Helper()
	e.process.kill()
	e.process.start()
}

// Freeze stops every process of it where it stands; Thaw lets it go on.
func (e *Exim) Freeze() { e.process.tb.Helper(); e.process.signal(syscall.SIGSTOP) }

// Thaw lets it go on after Freeze.
func (e *Exim) Thaw() { e.process.tb.Helper(); e.process.signal(syscall.SIGCONT) }

// Log returns the end of what it logged.
func (e *Exim) Log() string { return e.process.logs() }

// eximConfig writes an Exim's configuration. The parts have an order that can't
// be changed.
func eximConfig(dir, host string, a account, o EximOptions) string {
	other := ""
	if o.Other != "" {
		other = fmt.Sprintf("other:\n  driver = manualroute\n  domains = +local_domains\n  local_parts = %s\n"+
			"  local_part_suffix = +*\n  local_part_suffix_optional\n  transport = %s\n  route_list = %s\n  self = send\n",
			strings.Join(o.OtherUsers, " : "), ifelse(isSocket(o.Other), "socket", "other_lmtp"),
			ifelse(isSocket(o.Other), "*", "* "+hostOf(o.Other)+" byname"))
		if isSocket(o.Other) {
			// An accept router, for there is no host to go to.
			other = fmt.Sprintf("other:\n  driver = accept\n  domains = +local_domains\n  local_parts = %s\n"+
				"  local_part_suffix = +*\n  local_part_suffix_optional\n  transport = socket\n",
				strings.Join(o.OtherUsers, " : "))
		}
	}
	_, port := cutPort(o.LMTP)
	_, otherPort := cutPort(o.Other)
	return strings.NewReplacer(
		"$DIR", dir, "$HOSTNAME", Hostname, "$HOST", host, "$USER", a.user, "$GROUP", a.group,
		"$DOMAIN", Domain, "$PASSWORD", Password,
		"$TLS", ifelse(o.TLS, "tls_advertise_hosts = *\ntls_certificate = "+dir+"/cert.pem\ntls_privatekey = "+dir+"/key.pem\n",
			"tls_advertise_hosts =\n"),
		"$EXTRA", o.Extra,
		"$WHO", ifelse(o.Auth, "  deny message = log in first\n    !authenticated = *\n", ""),
		"$OTHERROUTER", other,
		"$LMTPHOST", hostOf(o.LMTP), "$LMTPPORT", port,
		"$OTHERPORT", ifelse(otherPort == "", "24", otherPort), "$SOCKET", ifelse(isSocket(o.Other), o.Other, "/nowhere"),
	).Replace(eximConf)
}

func isSocket(addr string) bool { return strings.HasPrefix(addr, "/") }

func hostOf(addr string) string { host, _ := cutPort(addr); return host }

func cutPort(addr string) (host, port string) {
	host, port, _ = strings.Cut(addr, ":")
	return host, port
}

const eximConf = `primary_hostname = $HOSTNAME
qualify_domain = $DOMAIN
domainlist local_domains = $DOMAIN
spool_directory = $DIR/spool
log_file_path = $DIR/log-%s
pid_file_path = $DIR/exim.pid
exim_user = $USER
exim_group = $GROUP
trusted_users = $USER
never_users =
local_interfaces = $HOST
host_lookup =
dns_ipv4_lookup =
rfc1413_hosts =
keep_environment =
smtp_accept_max = 200
smtp_accept_max_per_host = 200
message_size_limit = 40M
local_from_check = false
deliver_drop_privilege = true
smtputf8_advertise_hosts = *
acl_smtp_rcpt = rcpt
acl_smtp_data = data
acl_smtp_predata = data
$TLS$EXTRA
begin acl
rcpt:
$WHO  accept domains = +local_domains
  deny message = relay not permitted
data:
  accept
begin routers
$OTHERROUTERall:
  driver = manualroute
  domains = +local_domains
  transport = lmtp
  route_list = * $LMTPHOST byname
  self = send
begin transports
lmtp:
  driver = smtp
  protocol = lmtp
  port = $LMTPPORT
  allow_localhost
  hosts_try_fastopen =
  rcpt_include_affixes
  return_path_add
  delivery_date_add
  envelope_to_add
other_lmtp:
  driver = smtp
  protocol = lmtp
  port = $OTHERPORT
  allow_localhost
  hosts_try_fastopen =
  rcpt_include_affixes
  return_path_add
  delivery_date_add
  envelope_to_add
socket:
  driver = lmtp
  socket = $SOCKET
  user = $USER
  group = $GROUP
  batch_max = 100
  rcpt_include_affixes
  return_path_add
  delivery_date_add
  envelope_to_add
begin retry
* * F,1h,1s
begin rewrite
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${if and{{match{$auth2}{\N@$DOMAIN$\N}}{eq{$auth3}{$PASSWORD}}}}
  server_set_id = $auth2
login:
  driver = plaintext
  public_name = LOGIN
  server_prompts = Username:: : Password::
  server_condition = ${if and{{match{$auth1}{\N@$DOMAIN$\N}}{eq{$auth2}{$PASSWORD}}}}
  server_set_id = $auth1
`
