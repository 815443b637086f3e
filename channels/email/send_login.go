package email

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	gosmtp "github.com/wneessen/go-mail/smtp"
)

// login signs in by the best way that the server offers and the config allows.
func (m *mailer) login(ctx context.Context, c *conn) error {
	if m.conf.User == "" {
		return nil
	}
	_, list := c.smtp.Extension("AUTH")
	ways := strings.Fields(strings.ToUpper(list))
	if m.oauth {
		return m.loginToken(ctx, c, ways)
	}
	password := m.conf.Password.Reveal()
	plain := m.conf.TLS == tlsNone // on this machine: the config allows no other
	var auth gosmtp.Auth
	switch {
	case slices.Contains(ways, "PLAIN"):
		auth = gosmtp.PlainAuth("", m.conf.User, password, m.conf.Host, plain)
	case slices.Contains(ways, "LOGIN"):
		auth = gosmtp.LoginAuth(m.conf.User, password, m.conf.Host, plain)
	case slices.Contains(ways, "CRAM-MD5"):
		auth = gosmtp.CRAMMD5Auth(m.conf.User, password)
	default:
		return &sendError{stage: stageAuth, err: errNoWay, text: strings.Join(ways, ", ")}
	}
	if err := c.smtp.Auth(auth); err != nil {
		e := failed(stageAuth, err)
		e.text = without(e.text, password)
		return e
	}
	return nil
}

// without takes a secret out of what a server said, which some repeat.
func without(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "<secret>")
			s = strings.ReplaceAll(s, base64.StdEncoding.EncodeToString([]byte(secret)), "<secret>")
		}
	}
	return s
}

// loginToken signs in with an access token.
func (m *mailer) loginToken(ctx context.Context, c *conn, ways []string) error {
	if !slices.Contains(ways, "XOAUTH2") {
		return &sendError{stage: stageAuth, err: errNoWay, text: strings.Join(ways, ", ")}
	}
	if m.tokens == nil {
		return &sendError{stage: stageToken, err: errNoTokens}
	}
	token, err := m.tokens.Token(ctx)
	if err != nil {
		return &sendError{stage: stageToken, err: err}
	}
	x := &xoauth2{user: m.conf.User, token: token}
	if err := c.smtp.Auth(x); err != nil {
		e := failed(stageAuth, err)
		e.text = without(e.text, token)
		if x.status != "" {
			e.text = strings.TrimSpace(e.text + " (status " + x.status + ")")
		}
		if r, ok := m.tokens.(refuser); ok && e.code != 0 {
			// The next try asks for another token.
			r.Refused(token)
			e.refused = true
		}
		return e
	}
	return nil
}

// xoauth2 is a SASL mechanism of Google's and Microsoft's.
// https://developers.google.com/workspace/gmail/imap/xoauth2-protocol
type xoauth2 struct {
	user, token string
	status      string // that the server gave with its refusal
}

// Start implements [gosmtp.Auth].
func (x *xoauth2) Start(s *gosmtp.ServerInfo) (mech string, toServer []byte, err error) {
	if !s.TLS && !loopbackHost(s.Name) {
		return "", nil, errors.New("unencrypted connection")
	}
	return "XOAUTH2", []byte("user=" + x.user + "\x01auth=Bearer " + x.token + "\x01\x01"), nil
}

// Next implements [gosmtp.Auth]. A challenge says why the token is refused; the
// empty answer to it brings the refusal itself.
func (x *xoauth2) Next(challenge []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	var why struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(challenge, &why) == nil && len(why.Status) <= 8 {
		x.status = headerWord(why.Status)
	}
	return []byte{}, nil
}
