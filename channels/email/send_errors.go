package email

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"

	"beckon/hub"
	"beckon/templates"
)

// The stages of handing a mail over, for the log and for what an error means.
const (
	stageDial  = "connect"
	stageTLS   = "TLS"
	stageToken = "access token"
	stageAuth  = "login"
	stageMail  = "MAIL FROM"
	stageRcpt  = "RCPT TO"
	stageNote  = "note"
	stageData  = "DATA"
	stageBody  = "the text"
	stageEnd   = "the end of the text"
)

var (
	errNoStartTLS = errors.New("the server does not offer STARTTLS")
	errNoTokens   = errors.New("nothing gives out access tokens")
	errNoWay      = errors.New("the server offers no way to sign in that the hub knows")
)

// sendError is where handing a mail over failed, and what the server said.
type sendError struct {
	stage    string
	code     int    // of the reply (RFC 5321 §4.2), 0 when there was none
	enhanced string // RFC 3463, such as "5.1.1"; "" when the reply has none
	text     string // of the reply, one line
	err      error  // when there was no reply
	maybe    bool   // the server may have the mail all the same
	refused  bool   // an access token, which is replaced
}

func (e *sendError) Error() string {
	if e.code != 0 {
		return fmt.Sprintf("%s: %d %s", e.stage, e.code, e.text)
	}
	if e.err == nil {
		return e.stage + ": " + e.text
	}
	return e.stage + ": " + e.err.Error()
}

func (e *sendError) Unwrap() error { return e.err }

// clean reports that the server has refused and waits for the next command.
func (e *sendError) clean() bool {
	switch e.stage {
	case stageMail, stageRcpt, stageData, stageEnd:
		return e.code != 0 && e.code != 421
	case stageNote:
		return true
	}
	return false
}

// stale reports what comes of using a connection that the server has given up:
// no reply, or one that says so, before the mail was begun.
func (e *sendError) stale() bool {
	switch e.stage {
	case stageMail:
		return e.code == 0 || e.code/100 == 4 || e.code == 503
	case stageRcpt:
		return e.code == 0 || e.code == 421
	}
	return false
}

var enhancedCode = regexp.MustCompile(`^([245]\.\d{1,3}\.\d{1,3})\b\s*`)

// failed takes a reply apart.
func failed(stage string, err error) *sendError {
	e := &sendError{stage: stage, err: err}
	if t, ok := errors.AsType[*textproto.Error](err); ok {
		e.code, e.text, e.err = t.Code, t.Msg, nil
		if m := enhancedCode.FindStringSubmatch(t.Msg); m != nil {
			e.enhanced, e.text = m[1], t.Msg[len(m[0]):]
			// A reply of several lines has the code on each (RFC 2034 §4).
			e.text = strings.ReplaceAll(e.text, "\n"+m[1], " ")
		}
		e.text, _ = templates.Cut(templates.Line(e.text), 200)
	}
	return e
}

// explain turns a failure into what the outbox and people need to know. to is whom
// the mail was for; doubt says that an earlier try may have got through.
func (c *Channel) explain(err error, to string, doubt bool) error {
	if err == nil {
		return nil
	}
	if de, ok := errors.AsType[*hub.DeliveryError](err); ok {
		return de
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	e, ok := errors.AsType[*sendError](err)
	var de *hub.DeliveryError
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !ok:
		de = temporary("timeout", "there was not enough time to hand the mail to "+c.server(), err)
	case !ok:
		de = temporary("error", "the hub could not send it", err)
	case e.code != 0:
		de = c.replied(e, to)
	default:
		de = c.broke(e)
	}
	de.MaybeSent = (doubt || ok && e.maybe) && !de.Permanent
	return de
}

// server is what people call the SMTP server.
func (c *Channel) server() string {
	return net.JoinHostPort(c.conf.SMTP.Host, strconv.Itoa(int(c.conf.SMTP.Port)))
}

// broke explains a failure in which the server said nothing.
func (c *Channel) broke(e *sendError) *hub.DeliveryError {
	at := c.server()
	name, certificate := errors.AsType[x509.HostnameError](e.err)
	timeout := isTimeout(e.err)
	switch {
	case errors.Is(e.err, errNoStartTLS):
		return permanent("tls", at+" does not offer STARTTLS; if it speaks TLS from the start, set smtp.tls to tls (and its port, usually 465)")
	case certificate:
		return permanent("tls", "the certificate of "+at+" is for "+templates.Names(name.Certificate.DNSNames)+"; write its name into smtp.host")
	case isCertificate(e.err):
		return permanent("tls", "the certificate of "+at+" is not one that this machine trusts ("+short(e.err)+")")
	case e.stage == stageTLS && !timeout:
		return temporary("tls", "TLS with "+at+" does not come about ("+short(e.err)+"); smtp.tls must be tls for a port that speaks it from the start, and starttls for others", e)
	case errors.Is(e.err, errNoWay):
		return permanent("auth", "the hub can't sign in at "+at+": it offers "+orWord(e.text, "nothing")+", and the hub has "+c.has())
	case e.stage == stageToken:
		return temporary("oauth", "there is no access token for "+at+": "+short(e.err), e)
	case e.stage == stageNote:
		return temporary("store", "the hub could not note that the mail goes out, so it did not", e)
	case e.stage == stageDial && !timeout:
		return temporary("unreachable", at+" can't be reached ("+short(e.err)+"); look at smtp.host and smtp.port, and at the network of the hub", e)
	case timeout:
		return temporary("timeout", at+" did not answer in time ("+e.stage+")", e)
	}
	return temporary("broken", at+" broke the connection off ("+e.stage+")", e)
}

// has names the credentials that the config gives.
func (c *Channel) has() string {
	if c.conf.OAuth != nil {
		return "an access token (XOAUTH2)"
	}
	return "a password (PLAIN, LOGIN, CRAM-MD5)"
}

// replied explains what the server said.
func (c *Channel) replied(e *sendError, to string) *hub.DeliveryError {
	at := c.server()
	said := strings.TrimSpace(strconv.Itoa(e.code) + " " + e.enhanced + " " + e.text)
	if e.code/100 != 5 { // 4yz, and what makes no sense
		code := "deferred"
		if e.code == 421 || e.code == 451 && e.stage == stageDial {
			code = "busy"
		}
		return temporary(code, at+" puts the mail off: "+said, e)
	}
	de := &hub.DeliveryError{Permanent: true, Err: e}
	switch {
	case e.stage == stageAuth && e.refused:
		// The token is replaced, so the next try may do.
		de.Permanent = false
		de.Code, de.Msg = "auth", at+" does not take the access token ("+said+"); look at oauth, and whether the app may send as "+c.conf.SMTP.User
	case e.stage == stageAuth:
		de.Code, de.Msg = "auth", at+" does not take the user or the password ("+said+"); look at smtp.user and smtp.password"
	case e.code == 530 || e.enhanced == "5.7.0" && e.stage == stageMail:
		de.Code, de.Msg = "auth", at+" wants the hub to sign in ("+said+"); give smtp.user and smtp.password"
	case e.enhanced == "5.3.4" || e.enhanced == "5.2.3" || e.code == 552 && e.enhanced != "5.2.2":
		de.Code, de.Msg = "too_large", at+" takes no mail of this size: "+said
	case e.stage == stageDial || e.stage == stageTLS:
		de.Code, de.Msg = "refused", at+" refuses the hub: "+said
	case e.stage == stageMail:
		de.Code, de.Msg = "sender_refused", at+" takes no mail from "+c.own.address()+" ("+said+"); look at from"
	case e.stage == stageRcpt:
		return c.bounced(e, to, said)
	default:
		de.Code, de.Msg = "refused", "the mail is refused: "+said
	}
	return de
}

// bounced explains why there is no delivering to somebody.
func (c *Channel) bounced(e *sendError, to, said string) *hub.DeliveryError {
	de := &hub.DeliveryError{Permanent: true, Err: e, Code: "bounced", Msg: "mail to " + to + " is refused: " + said}
	switch {
	case e.enhanced == "5.2.2":
		de.Msg = "the mailbox of " + to + " is full: " + said
	case e.enhanced == "5.1.1" || e.enhanced == "5.1.10" || e.enhanced == "5.1.2" || e.enhanced == "5.2.1":
		de.Msg = "there is no mailbox of " + to + " at the email in people: " + said
	case e.enhanced == "5.6.7":
		de.Msg = "the address of " + to + " can't be written to: " + e.text
	case strings.HasPrefix(e.enhanced, "5.7."):
		de.Msg = "mail to " + to + " is refused by a rule; often the hub's own SPF or DKIM is why: " + said
	}
	return de
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &invalid)
}

// short is an error on one line, without what the hub's config says anyway.
func short(err error) string {
	s, _ := templates.Cut(templates.Line(err.Error()), 160)
	return s
}

func orWord(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
