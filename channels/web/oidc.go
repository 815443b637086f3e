package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"beckon/hub"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
)

// How the hub deals with an OpenID provider.
const (
	// providerTimeout bounds one request to it, and one discovery.
	providerTimeout = 10 * time.Second
	// maxProviderBody is the most of an answer that is read, in bytes.
	maxProviderBody = 1 << 20
	// rediscoverAfter is how old its description may get; keys have their own
	// life, since an unknown one is looked up at once.
	rediscoverAfter = 24 * time.Hour
	// maxExchanges bounds the codes that are redeemed at the same time.
	maxExchanges = 16
	maxBackoff   = time.Minute
)

// loginSection is the company login in the config.
type loginSection struct {
	Issuer       string     `yaml:"issuer" json:"issuer" doc:"The OpenID provider's issuer URL, exactly as the provider spells it. Must be https, but on this machine." eg:"https://login.example.com"`
	ClientID     string     `yaml:"client_id" json:"client_id" doc:"What the provider calls this hub. Register {public_url}/oidc/callback there as its redirect URL." eg:"beckon"`
	ClientSecret hub.Secret `yaml:"client_secret" json:"client_secret" doc:"The client's secret; none for a public client." eg:"env:OIDC_CLIENT_SECRET"`
	Name         string     `yaml:"name" json:"name" doc:"What people call this login; the page says \"Continue with\" and then this." eg:"Company login"`
	Scopes       []string   `yaml:"scopes" json:"scopes" doc:"What is asked for, instead of openid and email." eg:"[openid, email]"`
}

// login is the company login: an OpenID provider that says who somebody is.
// What it looks like is found out when it is first needed, and again once a
// day; while it can't be reached, attempts are at most a minute apart and
// everybody else is told at once.
type login struct {
	issuer   string
	clientID string
	secret   hub.Secret
	name     string
	scopes   []string
	client   *http.Client
	slots    chan struct{} // one for each exchange that may run
	used     *usedStates

	mu       sync.Mutex // held while discovering, so that one request does
	provider *provider
	found    time.Time
	failures int
	retryAt  time.Time
	err      error // of the last discovery
}

// provider is what discovery has found out.
type provider struct {
	*oidc.Provider
	verifier *oidc.IDTokenVerifier
	conf     oauth2.Config // without redirect URL
	keysURL  string
	sendsIss bool // RFC 9207: the callback names the issuer
}

// newLogin checks the section and reports what is wrong with it through errorf.
func newLogin(s *loginSection, errorf func(field, format string, args ...any)) *login {
	ok := true
	report := func(field, format string, args ...any) {
		ok = false
		errorf("oidc."+field, format, args...)
	}
	switch u, err := url.Parse(s.Issuer); {
	case s.Issuer == "":
		report("issuer", "is missing; it is the OpenID provider's URL, such as https://login.example.com")
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(s.Issuer) > 512:
		report("issuer", "must be a plain URL without user, query or fragment, such as https://login.example.com")
	case !safeURL(s.Issuer, s.Issuer):
		report("issuer", "must begin with https://; only a provider on this machine may do without")
	}
	if s.ClientID == "" || len(s.ClientID) > 512 {
		report("client_id", "is missing; it is what the provider calls this hub")
	}
	if utf8.RuneCountInString(s.Name) > 60 || strings.ContainsFunc(s.Name, func(r rune) bool { return r < ' ' }) {
		report("name", "must be plain text of at most 60 letters")
	}
	scopes := s.Scopes
	if scopes == nil {
		scopes = []string{oidc.ScopeOpenID, oidc.ScopeEmail}
	}
	if !slices.Contains(scopes, oidc.ScopeOpenID) {
		report("scopes", `must have "openid" among them`)
	}
	for i, scope := range scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			report(fmt.Sprintf("scopes[%d]", i), "must be one word, as RFC 6749 has it")
		}
	}
	if !ok {
		return nil
	}
	name := s.Name
	if name == "" {
		name = "your company login"
	}
	return &login{
		issuer: s.Issuer, clientID: s.ClientID, secret: s.ClientSecret, name: name, scopes: scopes,
		client: providerClient(), slots: make(chan struct{}, maxExchanges), used: newUsedStates(),
	}
}

// safeURL reports whether an address of a provider may be used: https, or plain
// HTTP on this machine when the issuer is there as well.
func safeURL(address, issuer string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && onLoopback(u) && strings.HasPrefix(issuer, "http://")
}

func onLoopback(u *url.URL) bool {
	if u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.IsLoopback()
}

// providerClient makes a client that goes where the operator's config and the
// provider's own description say and nowhere else: no proxy from the
// environment, and no redirect, which could carry the secret away. Sign-ins are
// rare, so no connection is kept.
func providerClient() *http.Client {
	return &http.Client{
		Timeout: providerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
		Transport: bounded{&http.Transport{
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout:    5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives:      true,
		}},
	}
}

// bounded cuts bodies off, with an error.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxProviderBody)
	}
	return resp, err
}

// discover returns the provider, finding it out if need be.
func (l *login) discover(ctx context.Context) (*provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	fresh := l.provider != nil && now.Sub(l.found) < rediscoverAfter
	if !fresh && !now.Before(l.retryAt) {
		// Not for this visitor alone, so it goes on if they leave.
		l.found, l.provider, l.err = l.refresh(context.WithoutCancel(ctx))
	}
	if l.provider == nil {
		return nil, l.err
	}
	return l.provider, nil
}

// refresh returns a provider found out now, or the old one with the error.
func (l *login) refresh(ctx context.Context) (time.Time, *provider, error) {
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	p, err := l.fetch(ctx)
	if err != nil {
		l.failures++
		l.retryAt = time.Now().Add(min(maxBackoff, time.Second<<min(l.failures-1, 10)))
		return l.found, l.provider, err
	}
	l.failures, l.retryAt = 0, time.Time{}
	return time.Now(), p, nil
}

// fetch reads the provider's description (OpenID Connect Discovery 1.0, 4) and
// refuses what would send a code or a secret over the wire in the clear.
func (l *login) fetch(ctx context.Context) (*provider, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, l.client), l.issuer)
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", l.issuer, brief(err))
	}
	var doc struct {
		Auth     string   `json:"authorization_endpoint"`
		Token    string   `json:"token_endpoint"`
		Keys     string   `json:"jwks_uri"`
		UserInfo string   `json:"userinfo_endpoint"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		PKCE     []string `json:"code_challenge_methods_supported"`
		SendsIss bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := p.Claims(&doc); err != nil {
		return nil, fmt.Errorf("discover %s: %w", l.issuer, err)
	}
	for name, address := range map[string]string{
		"authorization_endpoint": doc.Auth, "token_endpoint": doc.Token, "jwks_uri": doc.Keys, "userinfo_endpoint": doc.UserInfo,
	} {
		if !safeURL(address, l.issuer) && (address != "" || name != "userinfo_endpoint") {
			return nil, fmt.Errorf("discover %s: %s is %q, which is not an https URL", l.issuer, name, address)
		}
	}
	if len(doc.PKCE) > 0 && !slices.Contains(doc.PKCE, "S256") {
		return nil, fmt.Errorf("discover %s: the provider takes PKCE by %q only, not S256", l.issuer, doc.PKCE)
	}
	endpoint := p.Endpoint()
	// Basic is the default (Discovery 3). Trying both, as oauth2 would, could
	// use the code up.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	basic := len(doc.Methods) == 0 || slices.Contains(doc.Methods, "client_secret_basic")
	if l.secret.IsZero() || !basic {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &provider{
		Provider: p, keysURL: doc.Keys, sendsIss: doc.SendsIss,
		verifier: p.Verifier(&oidc.Config{ClientID: l.clientID}),
		conf: oauth2.Config{
			ClientID: l.clientID, ClientSecret: l.secret.Reveal(), Endpoint: endpoint, Scopes: l.scopes,
		},
	}, nil
}

// brief cuts an error that may quote a whole answer.
func brief(err error) error {
	if s := err.Error(); len(s) > 300 {
		return errors.New(strings.ToValidUTF8(s[:300], "") + " …")
	}
	return err
}

// Check says whether the company login is set up right, as far as that can be
// seen without signing in.
func (c *Channel) Check(ctx context.Context, _ bool) []hub.Finding {
	l := c.login
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found, p, err := l.refresh(ctx)
	l.found, l.provider, l.err = found, p, err
	if err != nil {
		return []hub.Finding{{What: "oidc discovery", Msg: err.Error()}}
	}
	findings := []hub.Finding{{OK: true, What: "oidc discovery"}}
	keys := hub.Finding{OK: true, What: "oidc keys"}
	if err := l.checkKeys(ctx, p); err != nil {
		keys.OK, keys.Msg = false, err.Error()
	}
	return append(findings, keys, hub.Finding{OK: true, What: "oidc redirect URL to register: " + c.callbackURL()})
}

// jwk is as much of a key as checkKeys looks at.
type jwk struct {
	Kty string `json:"kty"`
}

// checkKeys looks whether the provider publishes a key that could sign.
func (l *login) checkKeys(ctx context.Context, p *provider) error {
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.keysURL, http.NoBody)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("read keys: %s answers %s", p.keysURL, resp.Status)
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.UnmarshalRead(resp.Body, &set); err != nil {
		return fmt.Errorf("read keys of %s: %w", p.keysURL, err)
	}
	signs := func(k jwk) bool { return k.Kty == "RSA" || k.Kty == "EC" || k.Kty == "OKP" }
	if !slices.ContainsFunc(set.Keys, signs) {
		return fmt.Errorf("read keys: %s has no key that could sign", p.keysURL)
	}
	return nil
}
