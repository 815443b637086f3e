package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

func TestTokensAreKeptAndRenewed(t *testing.T) {
	t.Parallel()
	tokens := mailtest.StartTokens(t, "hub")
	s := source(t, tokens, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if token, err := s.Token(t.Context()); err != nil || token != "access-1" {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
	wg.Wait()
	s.Refused("access-0") // an old one
	if token, _ := s.Token(t.Context()); token != "access-1" {
		t.Errorf("a token that was replaced long ago made it ask again: %q", token)
	}
	s.Refused("access-1")
	if token, _ := s.Token(t.Context()); token != "access-2" {
		t.Errorf("after a refusal: %q", token)
	}
	if g := tokens.Grants(); !slices.Equal(g, []string{"client_credentials", "client_credentials"}) {
		t.Errorf("grants: %q", g)
	}
}

// provider is a token endpoint in the test's own time.
type provider struct {
	lives    []time.Duration // of the tokens, in turn; 0 is not said
	down     bool
	given    int
	requests []time.Time
}

func (p *provider) RoundTrip(*http.Request) (*http.Response, error) {
	p.requests = append(p.requests, time.Now())
	if p.down {
		return nil, errors.New("no route to host")
	}
	answer := map[string]any{"access_token": fmt.Sprint("token ", p.given), "token_type": "Bearer"}
	if life := p.lives[min(p.given, len(p.lives)-1)]; life > 0 {
		answer["expires_in"] = int(life.Seconds())
	}
	p.given++
	body, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(body))),
	}, err
}

// Tokens are replaced five minutes before their end, and at half their life if
// that is short; while the provider is away the old one serves to its end.
func TestTokensAreRenewedEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{lives: []time.Duration{time.Hour, 4 * time.Minute, 0, time.Hour}}
		s, err := mailbox.NewTokenSource(mailbox.TokenConfig{
			URL: "https://login.example.com/token", ClientID: "id", ClientSecret: "s3cret", HTTP: &http.Client{Transport: p},
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		expect := func(at time.Duration, want string) {
			t.Helper()
			time.Sleep(time.Until(began.Add(at)))
			token, err := s.Token(t.Context())
			if want == "" {
				var none *mailbox.TokenError
				if !errors.As(err, &none) || none.Final || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "no access token from login.example.com") {
					t.Errorf("after %s: %q, %v", at, token, err)
				}
				return
			}
			if err != nil || token != want {
				t.Errorf("after %s: %q, %v; want %q", at, token, err, want)
			}
		}
		expect(0, "token 0")
		expect(54*time.Minute, "token 0")
		p.down = true
		expect(56*time.Minute, "token 0")
		p.down = false
		expect(57*time.Minute, "token 1") // lives until 61
		expect(58*time.Minute, "token 1")
		expect(59*time.Minute+time.Second, "token 2") // for an hour, as nothing is said
		expect(113*time.Minute, "token 2")
		expect(115*time.Minute, "token 3")
		p.down = true
		expect(174*time.Minute, "token 3")
		expect(176*time.Minute, "")
	})
}

// A refresh token that the provider replaces is kept before anything else goes
// on, since the old one is void.
func TestRefreshTokenIsReplaced(t *testing.T) {
	t.Parallel()
	tokens := mailtest.StartTokens(t, "hub")
	tokens.Rotate()
	kept := &store{err: errors.New("disk full")}
	s := source(t, tokens, kept)
	if token, err := s.Token(t.Context()); err == nil || token != "" || !strings.Contains(err.Error(), "can't be kept") {
		t.Errorf("the new refresh token was not kept, and yet: %q, %v", token, err)
	}
	if _, err := s.Token(t.Context()); err == nil {
		t.Error("it was not kept at the second time either")
	}
	kept.err = nil
	token, err := s.Token(t.Context())
	if err != nil || token != "access-1" || len(tokens.Grants()) != 1 {
		t.Errorf("kept at last: %q, %v, grants %q", token, err, tokens.Grants())
	}
	if strings.Contains(kept.value, "refresh-0") || !strings.Contains(kept.value, tokens.Refresh()) {
		t.Errorf("kept is %s", kept.value)
	}

	// The next process goes on with what was kept.
	if token, err = source(t, tokens, kept).Token(t.Context()); err != nil || token != "access-2" {
		t.Errorf("after a restart: %q, %v", token, err)
	}
	// And so does another hub, whose own memory is old.
	s.Refused("access-1")
	if token, err = s.Token(t.Context()); err != nil || token != "access-3" {
		t.Errorf("another hub: %q, %v", token, err)
	}

	// A new one in the config is worth more than one that is kept.
	again, err := mailbox.NewTokenSource(mailbox.TokenConfig{
		URL: tokens.URL, ClientID: tokens.ClientID, ClientSecret: tokens.ClientSecret,
		RefreshToken: tokens.Refresh(), Load: func(context.Context) (string, error) {
			return strings.ReplaceAll(kept.value, tokens.Refresh(), "stale"), nil
		}, Save: kept.save,
	})
	if err != nil {
		t.Fatal(err)
	}
	if token, err = again.Token(t.Context()); err != nil || token != "access-4" {
		t.Errorf("a new refresh token in the config: %q, %v", token, err)
	}
}

func TestTokensAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*mailtest.Tokens)
		kept  *store
		want  string
		final bool
	}{
		"client":  {(*mailtest.Tokens).Revoke, nil, "are the client id and the client secret right", true},
		"down":    {func(k *mailtest.Tokens) { k.Fail(503) }, nil, "503", false},
		"refresh": {func(k *mailtest.Tokens) { k.Void() }, new(store), "sign in again", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens := mailtest.StartTokens(t, "hub")
			s := source(t, tokens, tc.kept)
			tc.spoil(tokens)
			_, err := s.Token(t.Context())
			var refused *mailbox.TokenError
			if !errors.As(err, &refused) || refused.Final != tc.final || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v", err)
			}
			for _, secret := range []string{"client-secret", "refresh-0"} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("a secret in %v", err)
				}
			}
		})
	}
}

func TestNewTokenSourceChecksItsConfig(t *testing.T) {
	t.Parallel()
	keep := new(store)
	for name, tc := range map[string]struct {
		conf mailbox.TokenConfig
		want string
	}{
		"good":         {mailbox.TokenConfig{URL: "https://login.example.com/token", ClientID: "i", ClientSecret: "s"}, ""},
		"good refresh": {mailbox.TokenConfig{URL: "https://login.example.com/token", ClientID: "i", RefreshToken: "r", Load: keep.load, Save: keep.save}, ""},
		"no URL":       {mailbox.TokenConfig{ClientID: "i", ClientSecret: "s"}, "not a URL"},
		"open":         {mailbox.TokenConfig{URL: "http://login.example.com/token", ClientID: "i", ClientSecret: "s"}, "must be https"},
		"password":     {mailbox.TokenConfig{URL: "https://u:p@login.example.com/token", ClientID: "i", ClientSecret: "s"}, "not a URL"},
		"no id":        {mailbox.TokenConfig{URL: "https://login.example.com/token", ClientSecret: "s"}, "client id"},
		"no secret":    {mailbox.TokenConfig{URL: "https://login.example.com/token", ClientID: "i"}, "client secret or a refresh token"},
		"no place":     {mailbox.TokenConfig{URL: "https://login.example.com/token", ClientID: "i", RefreshToken: "r"}, "keep its successor"},
	} {
		if _, err := mailbox.NewTokenSource(tc.conf); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
