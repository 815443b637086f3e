package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"beckon/hub"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/oauth2"
)

// Why a company login did not lead to a person.
var (
	// errDown: the provider could not be asked.
	errDown = errors.New("the provider can't be reached")
	// errNoEmail: it says who it is, but not by an e-mail address that it has
	// verified.
	errNoEmail = errors.New("the provider gives no verified e-mail address")
)

// identity is what a provider says of somebody who has signed in there.
type identity struct {
	email    string    // verified
	authTime time.Time // zero when it does not say
}

// identify redeems a code and returns whom it stands for. Everything that
// OpenID Connect Core 3.1.3.7 asks for is checked; an error means nobody.
func (l *login) identify(ctx context.Context, p *provider, redirect, code string, f *flow) (*identity, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, l.client), providerTimeout)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: too many logins at once", errDown)
	}
	conf := p.conf
	conf.RedirectURL = redirect
	token, err := conf.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return nil, exchangeError(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, errors.New("the provider sent no ID token")
	}
	// Signature, algorithm, issuer, audience, expiry.
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, verifyError(err)
	}
	said, err := l.readClaims(id, f.Nonce)
	if err != nil {
		return nil, err
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, fmt.Errorf("access token: %w", err)
		}
	}
	who := &identity{authTime: said.authTime()}
	account := &said.account
	if account.Email == nil {
		// Core 5.4: with a code, the e-mail may be at the UserInfo endpoint only.
		if account, err = l.userInfo(ctx, p, token, said.Subject); err != nil {
			return nil, err
		}
	}
	if who.email, err = account.verified(); err != nil {
		return nil, err
	}
	return who, nil
}

// exchangeError keeps the provider's error code, and no more of what it sent.
func exchangeError(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.Response != nil {
		err = fmt.Errorf("redeem the code: %s, error %q", e.Response.Status, cut(e.ErrorCode))
		if e.Response.StatusCode >= http.StatusInternalServerError {
			return fmt.Errorf("%w: %w", errDown, err)
		}
		return err
	}
	return verifyError(fmt.Errorf("redeem the code: %w", err))
}

// verifyError tells what the network did from what the provider said.
func verifyError(err error) error {
	if _, network := errors.AsType[*url.Error](err); network {
		return fmt.Errorf("%w: %w", errDown, brief(err))
	}
	return brief(err)
}

// claims are the parts of an ID token that the hub looks at itself. They are
// read with exact names and no name twice, unlike by encoding/json: an account
// that can add a claim "Email" must not become somebody else.
type claims struct {
	account
	Issuer   string         `json:"iss"`
	Audience jsontext.Value `json:"aud"`
	Party    string         `json:"azp"`
	Nonce    string         `json:"nonce"`
	AuthTime jsontext.Value `json:"auth_time"`
}

// account is what an ID token and UserInfo both say.
type account struct {
	Subject  string         `json:"sub"`
	Email    *string        `json:"email"`
	Verified jsontext.Value `json:"email_verified"`
}

func (l *login) readClaims(id *oidc.IDToken, nonce string) (*claims, error) {
	var raw jsontext.Value
	if err := id.Claims(&raw); err != nil {
		return nil, fmt.Errorf("read the ID token: %w", err)
	}
	var c claims
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("read the ID token: %w", brief(err))
	}
	audience, err := c.audience()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the ID token: %w", err)
	case c.Issuer != l.issuer || c.Issuer != id.Issuer:
		return nil, fmt.Errorf("the ID token was issued by %q", cut(c.Issuer))
	case !slices.Contains(audience, l.clientID):
		return nil, errors.New("the ID token is for somebody else")
	case c.Party != l.clientID && (c.Party != "" || len(audience) > 1):
		return nil, fmt.Errorf("the ID token was given to %q", cut(c.Party))
	case subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(nonce)) != 1:
		return nil, errors.New("the ID token has another nonce")
	case c.Subject == "" || c.Subject != id.Subject:
		return nil, errors.New("the ID token names no subject")
	}
	return &c, nil
}

// audience is one string or several.
func (c *claims) audience() ([]string, error) {
	if c.Audience.Kind() == '"' {
		var one string
		err := json.Unmarshal(c.Audience, &one)
		return []string{one}, err
	}
	var several []string
	err := json.Unmarshal(c.Audience, &several)
	return several, err
}

func (c *claims) authTime() time.Time {
	var seconds float64
	if len(c.AuthTime) == 0 || json.Unmarshal(c.AuthTime, &seconds) != nil || seconds <= 0 || seconds > 1e11 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// verified returns the e-mail address, if the provider has seen to it that it
// is the account's own. Some providers write the flag as a string.
func (a *account) verified() (string, error) {
	if a.Email == nil || *a.Email == "" {
		return "", errNoEmail
	}
	if v := string(a.Verified); v != "true" && v != `"true"` {
		return "", fmt.Errorf("%w: %q is not verified", errNoEmail, cut(*a.Email))
	}
	return *a.Email, nil
}

// userInfo asks the UserInfo endpoint, which must speak of the same subject
// (Core 5.3.2).
func (l *login) userInfo(ctx context.Context, p *provider, token *oauth2.Token, subject string) (*account, error) {
	if p.UserInfoEndpoint() == "" {
		return nil, errNoEmail
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, verifyError(fmt.Errorf("ask UserInfo: %w", err))
	}
	var raw jsontext.Value
	if err := info.Claims(&raw); err != nil {
		return nil, fmt.Errorf("read UserInfo: %w", err)
	}
	var a account
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read UserInfo: %w", brief(err))
	}
	if a.Subject != subject {
		return nil, errors.New("UserInfo speaks of another subject")
	}
	return &a, nil
}

// byEmail returns the one person with an e-mail address, or nil. Letters beyond
// ASCII must be the same: folding them would make two addresses one.
func byEmail(d *hub.Directory, email string) *hub.Person {
	var found *hub.Person
	for _, p := range d.People {
		if p.Email == "" || lower(p.Email) != lower(email) {
			continue
		}
		if found != nil {
			return nil
		}
		found = p
	}
	return found
}

// lower folds ASCII only.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// cut bounds what somebody else chose, for a log.
func cut(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}
