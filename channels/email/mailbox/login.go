package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-sasl"
)

// The mechanisms that take an access token: Google's and Microsoft's own, and
// the one of RFC 7628. Microsoft has only the first.
const (
	xoauth2     = "XOAUTH2"
	oauthBearer = sasl.OAuthBearer
)

// connect returns a connection that is logged in. A token that the server
// refuses is asked for anew once, since tokens can end before their time.
func (r *Reader) connect(ctx context.Context) (*conn, error) {
	c, token, err := r.connectOnce(ctx)
	var t *trouble
	if err == nil || token == "" || !errors.As(err, &t) || t.kind != auth {
		return c, err
	}
	r.conf.Tokens.Refused(token)
	r.log.Info("the mail server refused the access token; asking for a new one", "err", err)
	c, _, err = r.connectOnce(ctx)
	return c, err
}

// connectOnce connects and logs in. It returns the access token it used.
func (r *Reader) connectOnce(ctx context.Context) (c *conn, token string, err error) {
	if r.conf.Tokens != nil {
		if token, err = r.conf.Tokens.Token(ctx); err != nil {
			return nil, "", tokenTrouble(err)
		}
	}
	c, err = r.dial(ctx)
	if err != nil {
		return nil, token, connectTrouble(r.conf.Addr, err)
	}
	if err := r.login(ctx, c, token); err != nil {
		_ = c.raw.Close()
		_ = c.client.Close()
		return nil, token, err
	}
	return c, token, nil
}

// login logs in, unless the server says that it knows who we are.
func (r *Reader) login(ctx context.Context, c *conn, token string) error {
	if err := c.ask(ctx); err != nil {
		return explain("ask "+r.conf.Addr+" what it can do", err)
	}
	if c.client.State() == imap.ConnStateAuthenticated {
		return nil
	}
	mechanism, err := r.mechanism(c.caps)
	if err != nil {
		return err
	}
	err = c.step(ctx, func() error {
		if mechanism == sasl.Login {
			return c.client.Login(r.conf.Username, r.conf.Password).Wait()
		}
		return c.client.Authenticate(r.saslClient(mechanism, token))
	})
	if err != nil {
		return r.loginTrouble(mechanism, err)
	}
	// What a server can do is more after the login. The client asks for that by
	// itself, but only after it has said that the login is done: one more answer
	// makes sure that it has begun.
	err = c.step(ctx, func() error { return c.client.Noop().Wait() })
	if err == nil {
		err = c.ask(ctx)
	}
	if err != nil {
		return explain("ask "+r.conf.Addr+" what it can do", err)
	}
	return nil
}

// ask learns what the server can do now.
func (c *conn) ask(ctx context.Context) error {
	return c.step(ctx, func() (err error) {
		if c.caps = c.client.Caps(); c.caps == nil {
			c.caps, err = c.client.Capability().Wait()
		}
		return err
	})
}

// mechanism chooses how to log in.
func (r *Reader) mechanism(caps imap.CapSet) (string, error) {
	if r.conf.Mechanism != "" {
		return r.conf.Mechanism, nil
	}
	offers := func(m string) bool { return caps.Has(imap.AuthCap(m)) }
	if r.conf.Tokens != nil {
		switch {
		case offers(xoauth2):
			return xoauth2, nil
		case offers(oauthBearer):
			return oauthBearer, nil
		}
		return "", newTrouble(auth, nil, "log in to %s: it takes no access tokens (neither %s nor %s); use a password", r.conf.Addr, xoauth2, oauthBearer)
	}
	switch {
	case offers(sasl.Plain):
		return sasl.Plain, nil
	case !caps.Has(imap.CapLoginDisabled):
		return sasl.Login, nil
	case r.conf.Security == Plain:
		return "", newTrouble(auth, nil, "log in to %s: it takes no password without TLS; use tls or starttls", r.conf.Addr)
	}
	return "", newTrouble(auth, nil, "log in to %s: it takes no passwords; use access tokens (Microsoft 365 and Gmail need them)", r.conf.Addr)
}

func (r *Reader) saslClient(mechanism, token string) sasl.Client {
	switch mechanism {
	case xoauth2:
		return &xoauth2Client{user: r.conf.Username, token: token}
	case oauthBearer:
		host, port, _ := net.SplitHostPort(r.conf.Addr)
		number, _ := strconv.Atoi(port)
		return sasl.NewOAuthBearerClient(&sasl.OAuthBearerOptions{Username: r.conf.Username, Token: token, Host: host, Port: number})
	default:
		return sasl.NewPlainClient("", r.conf.Username, r.conf.Password)
	}
}

// loginTrouble tells a refusal from a server that has no time, and says what to
// do about it.
func (r *Reader) loginTrouble(mechanism string, err error) *trouble {
	doing := fmt.Sprintf("log in to %s as %s", r.conf.Addr, r.conf.Username)
	var no *imap.Error
	var token *tokenRefused
	var bearer *sasl.OAuthBearerError
	switch {
	case errors.As(err, &no) && isBusy(no):
		return explain(doing, err)
	case errors.As(err, &token):
		return newTrouble(auth, err, "%s: the server refused the access token (status %s); may this app read this mailbox by IMAP?", doing, oneLine(token.status))
	case errors.As(err, &bearer):
		return newTrouble(auth, err, "%s: the server refused the access token (status %s); may this app read this mailbox by IMAP?", doing, oneLine(bearer.Status))
	case errors.As(err, &no) && r.conf.Tokens != nil:
		return newTrouble(auth, err, "%s: the server refused the access token: %s; may this app read this mailbox by IMAP, and does %s exist?", doing, serverSays(no), r.conf.Username)
	case errors.As(err, &no) && no.Type == imap.StatusResponseTypeBad:
		return newTrouble(auth, err, "%s: the server does not take %s: %s", doing, mechanism, serverSays(no))
	case errors.As(err, &no):
		return newTrouble(auth, err, "%s: the server refused it: %s; are the user name and the password right? Gmail and others want a password that is made for one app", doing, serverSays(no))
	default:
		return explain(doing, err)
	}
}

// tokenTrouble says why there is no access token.
func tokenTrouble(err error) *trouble {
	var refused *TokenError
	if errors.As(err, &refused) && refused.Final {
		return newTrouble(auth, err, "%s", refused.Error())
	}
	return newTrouble(network, err, "%s", oneLine(err.Error()))
}

// xoauth2Client is the mechanism XOAUTH2, as Google and Microsoft document it.
type xoauth2Client struct{ user, token string }

func (c *xoauth2Client) Start() (mechanism string, response []byte, err error) {
	return xoauth2, []byte("user=" + c.user + "\x01auth=Bearer " + c.token + "\x01\x01"), nil
}

// Next gets the reason for a refusal, in JSON. It must end the exchange by an
// error: the empty answer that the protocol wants is one that go-imap can't
// send.
func (c *xoauth2Client) Next(challenge []byte) ([]byte, error) {
	var why struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(challenge, &why); err != nil || why.Status == "" {
		why.Status = strings.TrimSpace(string(challenge))
	}
	return nil, &tokenRefused{status: why.Status}
}

// tokenRefused is a refusal of XOAUTH2.
type tokenRefused struct{ status string }

func (e *tokenRefused) Error() string { return "XOAUTH2: status " + oneLine(e.status) }
