package mailbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// TokenConfig says where access tokens come from.
type TokenConfig struct {
	// URL is the token endpoint, such as
	// "https://login.microsoftonline.com/TENANT/oauth2/v2.0/token". It must be
	// https, but on this machine.
	URL          string
	ClientID     string
	ClientSecret string
	Scopes       []string
	// RefreshToken stands for a person's consent (RFC 6749 section 6). "": the
	// app asks in its own name (client credentials, section 4.4).
	RefreshToken string
	// Save keeps a refresh token that replaces the one before, and Load returns
	// what was kept last, "" for nothing. The value is a secret. Needed with a
	// RefreshToken, since some providers replace it at every use.
	Save func(ctx context.Context, value string) error
	Load func(ctx context.Context) (string, error)
	// HTTP makes the requests; nil is a client that waits half a minute.
	HTTP *http.Client
}

// TokenSource keeps an access token that is good, for the mailbox and for
// whoever sends mail. It may be used by several at once.
type TokenSource struct {
	conf TokenConfig
	busy chan struct{} // holds a token while somebody asks for one

	// Guarded by busy.
	token   string
	renew   time.Time // from when on a new one is wanted
	expires time.Time
	unsaved string // a refresh token that could not be saved yet
}

// early is how long before its end a token is replaced.
const early = 5 * time.Minute

// TokenError is why there is no access token. It holds no secret.
type TokenError struct {
	Code  string // of RFC 6749 section 5.2, such as "invalid_grant"; "" for none
	Final bool   // asking again is no use: somebody must change the config
	text  string
	err   error
}

func (e *TokenError) Error() string { return e.text }
func (e *TokenError) Unwrap() error { return e.err }

// NewTokenSource says what is wrong with the config; it asks for nothing yet.
func NewTokenSource(conf TokenConfig) (*TokenSource, error) {
	u, err := url.Parse(conf.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return nil, errors.New("the token endpoint is not a URL such as https://login.example.com/token")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return nil, fmt.Errorf("the token endpoint %s must be https: secrets go there", conf.URL)
	case conf.ClientID == "":
		return nil, errors.New("access tokens need a client id")
	case conf.RefreshToken == "" && conf.ClientSecret == "":
		return nil, errors.New("access tokens need a client secret or a refresh token")
	case conf.RefreshToken != "" && (conf.Save == nil || conf.Load == nil):
		return nil, errors.New("a refresh token needs a place to keep its successor")
	}
	if conf.HTTP == nil {
		conf.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	return &TokenSource{conf: conf, busy: make(chan struct{}, 1)}, nil
}

// Token returns an access token that is good for some minutes at least, unless
// the provider revokes it; see Refused. The error is a [*TokenError], or ctx's.
func (s *TokenSource) Token(ctx context.Context) (string, error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := s.save(ctx); err != nil {
		return "", err
	}
	if s.token != "" && time.Now().Before(s.renew) {
		return s.token, nil
	}
	err := s.ask(ctx)
	if err != nil && s.token != "" && s.unsaved == "" && time.Now().Before(s.expires) {
		return s.token, nil // the provider is away; what we have still works
	}
	if err != nil {
		return "", err
	}
	return s.token, nil
}

// Refused says that a server did not take a token, whatever its life was to be.
// If it is the one that is kept, the next Token asks for another.
func (s *TokenSource) Refused(token string) {
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	if s.token == token {
		s.token = ""
	}
}

// ask gets a new access token.
func (s *TokenSource) ask(ctx context.Context) error {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, s.conf.HTTP)
	var got *oauth2.Token
	var err error
	if s.conf.RefreshToken == "" {
		app := clientcredentials.Config{
			ClientID: s.conf.ClientID, ClientSecret: s.conf.ClientSecret, TokenURL: s.conf.URL,
			Scopes: s.conf.Scopes, AuthStyle: oauth2.AuthStyleInParams,
		}
		got, err = app.Token(ctx)
	} else {
		got, err = s.refresh(ctx)
	}
	if err != nil {
		return s.explain(ctx, err)
	}
	if strings.ContainsFunc(got.AccessToken, isControl) {
		return &TokenError{text: "the token endpoint gives out access tokens with control characters in them"}
	}
	// A provider that does not say how long a token lives means about an hour.
	expires := cmp.Or(got.Expiry, time.Now().Add(time.Hour))
	life := time.Until(expires)
	s.token, s.expires, s.renew = got.AccessToken, expires, expires.Add(-min(early, life/2))
	return s.save(ctx)
}

// refresh uses the newest refresh token. Another hub may be doing the same at
// this moment; then the newest is that hub's a moment later.
func (s *TokenSource) refresh(ctx context.Context) (*oauth2.Token, error) {
	user := oauth2.Config{
		ClientID: s.conf.ClientID, ClientSecret: s.conf.ClientSecret, Scopes: s.conf.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: s.conf.URL, AuthStyle: oauth2.AuthStyleInParams},
	}
	used := ""
	for {
		refresh, err := s.refreshToken(ctx)
		if err != nil {
			return nil, err
		}
		got, err := user.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" && used == "" {
			used = refresh
			if newest, err := s.refreshToken(ctx); err == nil && newest != refresh {
				continue
			}
		}
		if err == nil && got.RefreshToken != "" && got.RefreshToken != refresh {
			s.unsaved = got.RefreshToken
		}
		return got, err
	}
}

// kept is what Save keeps: a refresh token, and which configured one it came
// from, so that a new one in the config wins.
type kept struct {
	From  string `json:"from"`
	Token string `json:"token"`
}

func (s *TokenSource) from() string {
	sum := sha256.Sum256([]byte(s.conf.RefreshToken))
	return hex.EncodeToString(sum[:8])
}

// refreshToken returns the newest refresh token, which another hub may have got.
func (s *TokenSource) refreshToken(ctx context.Context) (string, error) {
	value, err := s.conf.Load(ctx)
	if err != nil {
		return "", &TokenError{text: "the refresh token that was kept can't be read", err: err}
	}
	var k kept
	if value != "" && json.Unmarshal([]byte(value), &k) == nil && k.From == s.from() && k.Token != "" {
		return k.Token, nil
	}
	return s.conf.RefreshToken, nil
}

// save keeps a refresh token that is not kept yet. Until that is done nothing
// else goes on, for after a restart the old one would be refused.
func (s *TokenSource) save(ctx context.Context) error {
	if s.unsaved == "" {
		return nil
	}
	value, err := json.Marshal(kept{From: s.from(), Token: s.unsaved})
	if err == nil {
		err = s.conf.Save(ctx, string(value))
	}
	if err != nil {
		return &TokenError{text: "the new refresh token can't be kept; it is tried again, and must not be lost", err: err}
	}
	s.unsaved = ""
	return nil
}

// explain says why the endpoint gave no token.
func (s *TokenSource) explain(ctx context.Context, err error) error {
	var known *TokenError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	}
	host := s.conf.URL
	if u, err := url.Parse(s.conf.URL); err == nil {
		host = u.Host
	}
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		// A *url.Error names the URL, which is no secret, and never the form.
		return &TokenError{text: fmt.Sprintf("no access token from %s: %s", host, oneLine(err.Error())), err: err}
	}
	what := strings.TrimSpace(oneLine(refused.ErrorCode + " " + refused.ErrorDescription))
	if what == "" && refused.Response != nil {
		what = refused.Response.Status
	}
	e := &TokenError{Code: refused.ErrorCode, text: fmt.Sprintf("no access token from %s: %s", host, what)}
	switch refused.ErrorCode {
	case "invalid_grant":
		e.Final = true
		if s.conf.RefreshToken != "" {
			e.text += "; the refresh token is no longer valid: sign in again and put the new one into the config"
		}
	case "invalid_client", "unauthorized_client":
		e.Final = true
		e.text += "; are the client id and the client secret right, and has the secret run out?"
	case "invalid_scope", "invalid_request", "unsupported_grant_type":
		e.Final = true
		e.text += "; the app or the scope is not set up for this"
	}
	return e
}
